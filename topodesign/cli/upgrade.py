"""``topodesign upgrade``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import SPEC, collective_option, offer, option, root_option
from topodesign.cli.progress import progress_bar
from topodesign.fabrics.options import PartOptions
from topodesign.schedulers.options import ShapeOptions

if TYPE_CHECKING:
    from topodesign.collectives import Collective


@click.command(name="upgrade", cls=Command)
@click.argument("fabric", type=SPEC)
@option(
    "--prices CLASS=COST...",
    "Price of one more link of a class, or of that much bandwidth: InfiniBand=900 or InfiniBand=900/25GB/s.  "
    "[default: prices in the file]. Repeatable.",
)
@option("--target RATE", "Throughput to reach, such as 400GB/s.")
@option("--budget COST", "Maximum cost of all links.")
@collective_option
@root_option
@offer(ShapeOptions, "shards")
@offer(PartOptions)
@option("--bandwidth RATE", "Bandwidth of a node over all its links.  [default: 100Gbps; fabrics have their own]")
@json_option
def command(fabric: str, collective: Collective, **options: Any) -> None:
    """Find the cheapest links to buy for a throughput.

    Pass either --target or --budget. FABRIC is a fabric such as 'mi250(2)' (quote it), a topology or a file.

    Example: topodesign upgrade 'dgx_a100(2)' --prices InfiniBand=900 --target 350GB/s
    """
    if (options["target"] is None) == (options["budget"] is None):
        raise click.UsageError("upgrade requires either --target RATE or --budget COST.")
    options["prices"] = options["prices"] or None
    with progress_bar("looking for the cheapest upgrade"):
        result = topodesign.upgrade(fabric, collective=collective, **options)
    tell(result)
