"""``topodesign catalog improve``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.work_options import ImproveOptions
from topodesign.catalog.exchange import OBJECTIVES
from topodesign.cli.answers import Command, json_option, show
from topodesign.cli.options import (
    FOLDER,
    catalog_option,
    degrees_option,
    nodes_option,
    offer,
    option,
    time_limit_option,
)
from topodesign.cli.progress import progress_bar
from topodesign.search.strategies import NAMES


@click.command(name="improve", cls=Command)
@nodes_option("N or a range, such as 3..2048.", required=True)
@degrees_option("A degree or a range.", required=True)
@option(
    "-o --output",
    "Directory for the files, one per degree. A degree that has one there goes on from it.",
    type=FOLDER,
    required=True,
)
@time_limit_option("60s", "How long to search.")
@option("--cabling", "Only these.", words=["both", "duplex", "simplex"], default="both")
@option(
    "--only",
    "Turns of one kind; lifts and steps look for one step less, near-lines takes nodes out of line graphs, "
    "order-degree exchanges cables of duplex topologies, cycles looks for duplex ones that a rotation keeps, "
    "deferral looks for deferred schedules of the rows.",
    words=NAMES,
)
@option(
    "--for objective",
    "What should take less. Topologies kept for all-to-all alone go into files of their own.",
    words=OBJECTIVES,
    default="allreduce",
)
@offer(ImproveOptions)
@catalog_option
@json_option
def command(nodes: range, degrees: range, output: Path, cabling: str, **options: Any) -> None:
    """Search for topologies that beat the catalog's, where that gains most a second, and expand what is found.

    Searches quotients (voltage lifts whose base changes too), neighbours and links one by one, and finds deferred
    schedules, which cost less than SPFF on most topologies. Nothing that is in the catalog gets worse. The files are
    written every minute, so a run that is stopped goes on where it was. What each kind of
    search took and gained is told in the end.

    Example: topodesign catalog improve -n 25 -d 2 -o better --time-limit 20s
    """
    if nodes.start < 3 or degrees.start < 2:
        raise click.UsageError("A catalog is of at least 3 nodes and degree 2.")
    with progress_bar("searching") as progress:
        found = topodesign.improve_catalog(
            output,
            nodes,
            degrees,
            duplex={"both": None, "duplex": True, "simplex": False}[cabling],
            progress=progress,
            **options,
        )
    show(found)
