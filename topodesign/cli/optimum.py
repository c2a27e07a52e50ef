"""``topodesign optimum``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.work_options import OwnWorkOptions
from topodesign.cli.answers import Command, form, json_option, print_json, say
from topodesign.cli.options import SPEC, collective_of, flag, offer, option, whole
from topodesign.cli.progress import progress_bar
from topodesign.fabrics.options import PartOptions
from topodesign.schedulers.options import ShapeOptions

if TYPE_CHECKING:
    from topodesign.collectives import Collective


@click.command(name="optimum", cls=Command)
@click.argument("fabric", type=SPEC)
@collective_of("allgather", "Whose bottleneck and number of trees to tell")
@offer(ShapeOptions, "root", "fixed_k", "shards")
@offer(PartOptions)
@offer(OwnWorkOptions, "alpha", "bandwidth")
@option("--scan K", "Compare 1 to K trees per root.", type=whole(1, 1000))
@flag(
    "--frontier",
    "Show which numbers of trees per root pay: fewer have less bandwidth, but lower trees and so less latency.",
)
@option(
    "--size sizes SIZE...",
    "Tell how long this much data takes with each number of trees that pays, or of --scan. May be repeated.",
)
@option(
    "--proof/--no-proof",
    "Whether to ask if any allreduce beats reduce-scatter and then allgather; above 128 nodes by cuts alone.",
    default=True,
)
@option(
    "--cost costs CLASS=COST...",
    "What a unit of data costs on links of a class, 0 if unsaid: tells the least cost of an all-to-all, scatter or "
    "gather at the best throughput. May be repeated.",
)
@option(
    "--method",
    "forest: trees of nodes, switches only forward; fluid: memory and switches copy and add as the fabric says, and "
    "links may share limits.",
    words=["auto", "forest", "fluid"],
    default="auto",
)
@option("--gap PART", "For fluid: stop when so near to what is proven, such as 1%.", default="0", show_default=False)
@option("--mirrored/--standard", "For fluid: solve what is alike once, or everything one by one.", default=True)
@json_option
def command(
    fabric: str,
    collective: Collective,
    scan: int | None,
    frontier: bool,
    **options: Any,
) -> None:
    """Find the best throughput of collectives on a fabric, and the links that keep it from being higher.

    FABRIC is a file of a network, in any format, or a spec such as 'mi250(2)' or 'torus(8,8)' (quote it); see
    'topodesign info fabrics'.

    Algorithmic bandwidth is the whole data over the time, without latency. Times, for each --size, are those of trees
    as pipelines of as many chunks as are best, as 'topodesign simulate' tells.

    Example: topodesign optimum 'mi250(2)' --collective allreduce --frontier --size 100MiB
    """
    if options["sizes"] and not (scan or frontier or options["fixed_k"]):
        from topodesign.plans.trees import TREE_COLLECTIVES  # noqa: PLC0415  NumPy, which help does without

        if not collective.like(*TREE_COLLECTIVES) or options["method"] == "fluid":
            raise click.UsageError(
                "--size is for trees of --method forest; 'topodesign methods' has times of all plans."
            )
        frontier = True  # the numbers of trees that pay, with their times
    with progress_bar("looking for the optimum") as progress:
        result = topodesign.optimum(fabric, collective, scan=scan or 0, compare=frontier, progress=progress, **options)
        answer: Any = str(result) if form() == "text" else result.record()
    if form() == "text":
        say(answer)
    else:
        print_json(answer, result.to_records)
