"""``topodesign wire show``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.options import format_flags
from topodesign.cli.answers import Command, json_option, print_answer, tell
from topodesign.cli.options import PATH, flag, offer
from topodesign.cli.sources import get_given_options
from topodesign.cli.wire.options import table_option
from topodesign.wiring.bringup.options import BringupOptions


@click.command(name="show", cls=Command)
@click.argument("plan", type=PATH)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@flag("--loss", "Compare the optical loss of every link with its budget.")
@flag("--addresses", "List interfaces and addresses, as 'wire export --format bringup' writes them.")
@table_option
@offer(BringupOptions, section="With --addresses")
@json_option
def command(plan: Path, names: tuple[str, ...], loss: bool, addresses: bool, tables: Any, **options: Any) -> int:
    """Trace a cable, port or host of a plan; list loss or addresses.

    NAME is a cable (C11, F1, F1-2), a host, a port of a host (host01:eth0, host01:eth0/2) or of a panel (panel:4, or
    one side of it: panel:4B), or the text of a label. Without NAME prints the plan. Losses are those of the inventory;
    what it does not specify is not counted, and named. With --loss the exit status is 1 if a link exceeds its budget.

    Examples: topodesign wire show plan.json C11 host01:eth0/4, topodesign wire show plan.json --loss
    """
    given = get_given_options(click.get_current_context())
    if loss + addresses + bool(names) > 1:
        raise click.UsageError("NAME, --loss and --addresses cannot be used together.")
    wrong = sorted(given & set(options)) if not addresses else []
    if wrong:
        raise click.UsageError(f"{format_flags(wrong)} requires --addresses.")
    if tables and not loss:
        raise click.UsageError("--table requires --loss.")
    if addresses:
        tell(topodesign.bringup(plan, **options))
        return 0
    wiring = topodesign.load_wiring(plan)
    if loss:
        losses = wiring.loss_budget(dict(tables))
        tell(losses)
        return 0 if losses.ok else 1
    if not names:
        tell(wiring)
        return 0
    traces = [topodesign.show_wiring(wiring, name) for name in names]
    records = [trace.record() for trace in traces]
    print_answer("\n".join(map(str, traces)), {"traces": records}, lambda: records)
    return 0
