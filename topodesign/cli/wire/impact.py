"""``topodesign wire impact``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from topodesign.base.errors import ParameterError
from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import PATH, option, whole
from topodesign.cli.progress import progress_bar
from topodesign.cli.wire.options import seed_option, throughput_option
from topodesign.wiring.failures.impact import KINDS
from topodesign.wiring.failures.report import failure_impact, failure_of
from topodesign.wiring.plan.files import load_wiring

_KINDS = {kind.replace(" ", "-"): kind for kind in KINDS}


@click.command(name="impact", cls=Command)
@click.argument("plan", type=PATH)
@option("--host HOST", "A dead host.")
@option("--port DEVICE:PORT", "A dead port of a host, with all its lanes, or of a panel.")
@option("--cable CABLE", "A dead patch, fixed cable, leg of one or trunk.")
@option("--kind kinds", "Rank only these; may be repeated.", words=_KINDS, multiple=True)
@option("--top", "How many of each kind to show.", type=whole(1), default=3)
@throughput_option
@seed_option
@json_option
def command(
    plan: Path, host: str | None, port: str | None, cable: str | None, kinds: tuple[str, ...], top: int, **options: Any
) -> None:
    """Say what a dead port, cable or host costs and how to patch around it; without one, rank all single failures.

    Steps and bandwidth factor y are those of the schedule made anew for what is left (SPFF), y in parts of the
    bandwidth that a host had before. Of failures that a symmetry of the wiring turns into each other one is shown.

    Example: topodesign wire impact plan.json --host host03
    """
    wiring = load_wiring(plan)
    try:
        failure = failure_of(wiring, host=host, port=port, cable=cable)
    except ParameterError as error:
        raise click.UsageError(f"{error}.") from None
    if failure is not None and kinds:
        raise click.UsageError("--kind ranks failures; leave it out with a given one.")
    with progress_bar("pricing failures") as progress:
        report = failure_impact(
            wiring, failure, kinds=[_KINDS[kind] for kind in kinds or _KINDS], top=top, progress=progress, **options
        )
    tell(report)
