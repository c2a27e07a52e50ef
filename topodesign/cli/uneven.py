"""``topodesign uneven``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.work_options import OwnWorkOptions
from topodesign.cli.answers import Command, json_option, show
from topodesign.cli.options import SPEC, flag, offer, option, output_option, seed_option
from topodesign.cli.progress import progress_bar


@click.command(name="uneven", cls=Command)
@click.argument("place", type=SPEC)
@option(
    "--matrix FILE|NAME:NUMBER",
    "How many pieces go from each node to each: a .csv file (src,dst,amount, or a line for every sender), or experts "
    "drawn for tokens: zipf:1.2 (the same are popular with all nodes), top2:1.2 (each token goes to two), "
    "dirichlet:0.3 (each node has favourites).",
    required=True,
)
@option("--piece SIZE", "Bytes of a piece, such as a token.", default="8KiB")
@option("--tokens", "How many each node draws.  [default: 4096]", type=int)
@seed_option("Settles what is drawn.  [default: 0]", default=None)
@flag("--exact", "Solve the linear program at larger sizes too; else within proven bounds.")
@offer(OwnWorkOptions, "bandwidth")
@output_option("Write the traffic as a table src,dst,amount, for 'schedule --shards' and 'routes --traffic'.", "CSV")
@json_option
def command(place: str, output: Path | None, **options: Any) -> None:
    """Price an all-to-all in which each node has another amount for each, and what a plan for even traffic loses.

    PLACE is a spec (quote it), a file of links, or a fabric. The price is that of the best flow by bandwidth, proven
    exactly for small sizes. Beside it stands the same traffic over the paths of a best flow for even traffic.

    Example: topodesign uneven 'torus(4,4)' --matrix zipf:1.2
    """
    with progress_bar("pricing") as progress:
        found = topodesign.price_uneven(place, progress=progress, **options)
    if output is not None:
        found.save(output)
    show(found)
