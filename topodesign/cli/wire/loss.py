"""``topodesign wire loss``."""

from __future__ import annotations

from pathlib import Path

import click

from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import PATH
from topodesign.cli.wire.options import table_option
from topodesign.wiring.plan.files import load_wiring


@click.command(name="loss", cls=Command)
@click.argument("plan", type=PATH)
@table_option
@json_option
def command(plan: Path, tables: tuple[tuple[str, Path], ...]) -> int:
    """Hold the loss of every link against what its optics stand.

    The inventory says the losses: of panel ports, trunks and circuits, of a connector, a kilometre of fibre and a
    splice, and the budget of a host's ports. What it does not say is not counted, and named. Exit status 1 if a link
    loses too much, or goes by a circuit that the table of its switch does not have.

    Example: topodesign wire loss plan.json
    """
    losses = load_wiring(plan).loss_budget(dict(tables))
    tell(losses)
    return 0 if losses.ok else 1
