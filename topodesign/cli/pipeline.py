"""``topodesign pipeline``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.options import Option, Whole
from topodesign.cli.answers import Command, csv_option, json_option, tell
from topodesign.cli.options import SPEC, collective_of, offer, root_option, work_options
from topodesign.cli.progress import progress_bar
from topodesign.fabrics.options import PlaceOptions
from topodesign.schedulers.options import ShapeOptions

if TYPE_CHECKING:
    from topodesign.collectives import Collective


@click.command(name="pipeline", cls=Command)
@click.argument("topology", type=SPEC)
@collective_of("broadcast", "What is sent")
@root_option
@offer(PlaceOptions, "only", "group", "placement")
@work_options
@offer(ShapeOptions, "chunks", chunks=Option("Chunks of the data of a tree at most.", Whole(1, 2**16), 256, "C"))
@json_option
@csv_option
def command(topology: str, collective: Collective, chunks: int, **options: Any) -> None:
    """Show what every number of steps buys a broadcast in bandwidth, and what is fastest for a size.

    From the fewest steps there can be to the bandwidth of the least cut, by spanning trees whose data go in chunks, one
    behind the other. `topodesign schedule --method pipeline --size SIZE` writes the fastest.

    Example: topodesign pipeline 'torus(4,4)' --root 0 --size 64KiB --size 1GiB
    """
    with progress_bar("packing trees"):
        found = topodesign.pipeline_frontier(topology, collective, most_chunks=chunks, **options)
    tell(found)
