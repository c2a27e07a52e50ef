"""``topodesign routed``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.work_options import WorkOptions
from topodesign.cli.answers import Command, json_option, show
from topodesign.cli.options import SPEC, offer, option
from topodesign.cli.progress import progress_bar
from topodesign.pricing.mix import PRICED


@click.command(name="routed", cls=Command)
@click.argument("topology", type=SPEC)
@option("--collective", "What to compare them for.", words=PRICED, default="allreduce")
@option(
    "--hop TIME",
    "Latency of a message for each link that it goes over, the first too, beside --alpha.",
    default="300ns",
)
@offer(WorkOptions)
@option("--plot FILE", "Picture of the times of these ways over the size.")
@json_option
def command(topology: str, plot: Path | None, **options: Any) -> None:
    """Compare schemes whose messages pass through nodes with schedules from neighbour to neighbour.

    TOPOLOGY is a spec (quote it) or a file of links. On tori, hypercubes and rings messages go along the sides, else
    over shortest paths; what links carry is counted exactly. `topodesign schedule --method` makes the plan of a scheme.

    Example: topodesign routed 'torus(8,8)' --alpha 1us --size 64KiB --size 64MiB
    """
    with progress_bar("counting") as progress:
        found = topodesign.routed(topology, progress=progress, **options)
    if plot is not None:
        found.plot("passing").save(plot)
    show(found)
