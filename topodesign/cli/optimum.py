"""``topodesign optimum``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.base.work_options import OwnWorkOptions
from topodesign.cli.answers import Command, form, json_option, print_json, say, show, tell
from topodesign.cli.options import FOLDER, SPEC, collective_of, flag, offer, option, whole
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import check_new
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
@flag("--failures", "Rank all single failures, of links, nodes and switches, by what they cost; nothing else is told.")
@option(
    "--plans DIR", "With --failures: a new directory for a plan for each, which 'topodesign replan' reads.", type=FOLDER
)
@option("--gap PART", "For fluid: stop when so near to what is proven, such as 1%.", default="0", show_default=False)
@option("--mirrored/--standard", "For fluid: solve what is alike once, or everything one by one.", default=True)
@option(
    "--upgrade prices CLASS=COST...",
    "What one more link of a class costs, or so much more bandwidth: InfiniBand=900 or InfiniBand=900/25GB/s. Tells "
    "what to buy to reach --target, or within --budget. May be repeated; if unsaid, what the file's prices say.",
)
@option("--target RATE", "Algorithmic bandwidth to buy links for, such as 400GB/s.")
@option("--budget COST", "What all links to buy may cost.")
@json_option
def command(
    fabric: str,
    collective: Collective,
    scan: int | None,
    frontier: bool,
    failures: bool,
    plans: Path | None,
    prices: tuple[str, ...],
    target: str | None,
    budget: str | None,
    **options: Any,
) -> None:
    """Find the best throughput of collectives on a fabric, and the links that keep it from being higher.

    FABRIC is a file of a network, in any format, or a spec such as 'mi250(2)' or 'torus(8,8)' (quote it); see
    'topodesign fabric --help'.

    Algorithmic bandwidth is the whole data over the time, without latency. Times, for each --size, are those of trees
    as pipelines of as many chunks as are best, as 'topodesign simulate' tells.

    Example: topodesign optimum 'mi250(2)' --collective allreduce --frontier --size 100MiB
    """
    if failures:
        given = {"scan": scan, "frontier": frontier, "upgrade": prices, "target": target, "budget": budget, **options}
        _failures(fabric, collective, plans, given)
        return
    if plans is not None:
        raise click.UsageError("--plans goes with --failures; 'topodesign schedule' makes one plan.")
    if prices or target or budget:
        _upgrade(fabric, collective, scan, frontier, prices=prices, target=target, budget=budget, **options)
        return
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


def _failures(fabric: str, collective: Collective, plans: Path | None, given: dict[str, Any]) -> None:
    """Print what each single failure costs, or make a plan for each."""
    defaults = {param.name: param.default for param in click.get_current_context().command.params}
    place, method = topodesign.as_fabric(fabric, given.pop("bandwidth")), given.pop("method")
    part = topodesign.part_of(place, given.pop("only"), given.pop("others"), given.pop("without"))
    wrong = next((name for name, value in given.items() if value and value != defaults.get(name, value)), None)
    if wrong is not None:
        raise click.UsageError(f"--{wrong.replace('_', '-')} does not go with --failures.")
    if plans is None:
        with progress_bar("pricing failures") as progress:
            show(topodesign.single_failures(part, collective, method=method, progress=progress))
        return
    check_new(plans)
    with progress_bar("making plans") as progress:
        made = topodesign.failure_plans(part, collective, method=method, progress=progress)
    made.save(plans)
    show(made)


def _upgrade(fabric: str, collective: Collective, scan: int | None, frontier: bool, **options: Any) -> None:
    """Print what to buy."""
    if (options["target"] is None) == (options["budget"] is None):
        raise click.UsageError("give either --target RATE or --budget COST for what to buy.")
    options["prices"] = options["prices"] or None
    asked = {"--scan": scan, "--frontier": frontier, "--fixed-k": options.pop("fixed_k")}
    asked |= {"--size": options.pop("sizes"), "--cost": options.pop("costs"), "--gap": options.pop("gap") != "0"}
    asked |= {"--method fluid": options.pop("method") == "fluid"}
    wrong = next((flag for flag, value in asked.items() if value), None)
    if wrong is not None:
        raise click.UsageError(f"{wrong} does not go with --upgrade, --target or --budget.")
    del options["alpha"], options["proof"], options["mirrored"]
    with progress_bar("looking for the cheapest upgrade"):
        result = topodesign.upgrade(fabric, collective=collective, **options)
    tell(result)
