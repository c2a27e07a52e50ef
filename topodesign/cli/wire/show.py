"""``topodesign wire show``."""

from __future__ import annotations

from pathlib import Path

import click

from topodesign.cli.answers import Command, json_option, print_answer, tell
from topodesign.cli.options import PATH
from topodesign.wiring.exports.trace import trace_wiring
from topodesign.wiring.plan.files import load_wiring


@click.command(name="show", cls=Command)
@click.argument("plan", type=PATH)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@json_option
def command(plan: Path, names: tuple[str, ...]) -> None:
    """Say where a cable, a port or a host of a plan leads, a line each; without NAME, what the plan is.

    NAME is a cable (C11, F1, F1-2), a host, a port of a host (host01:eth0, host01:eth0/2) or of a panel (panel:4, or
    one side of it: panel:4B), or what is printed on a label.

    Example: topodesign wire show plan.json C11 host01:eth0/4
    """
    wiring = load_wiring(plan)
    if not names:
        tell(wiring)
        return
    traces = [trace_wiring(wiring, name) for name in names]
    records = [trace.record() for trace in traces]
    print_answer("\n".join(map(str, traces)), {"traces": records}, lambda: records)
