"""``topodesign evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.options import flag_of
from topodesign.base.work_options import OwnWorkOptions
from topodesign.cli.answers import form, json_option, show, tell
from topodesign.cli.drawing import PAGE, DrawingCommand, get_plot_kind, give, plot_option
from topodesign.cli.options import SPEC, collective_of, offer, option, setting, whole
from topodesign.cli.progress import progress_bar
from topodesign.cli.sources import get_given_options, tell_of_names
from topodesign.fabrics.options import PlaceOptions
from topodesign.pricing.efforts import EFFORTS
from topodesign.schedulers.options import ShapeOptions

_WORK = ("alpha", "sizes", "bandwidth")
_OF_TOPOLOGY = {*_WORK, "effort", "tolerance", "deferred", "all_sources"}
_OF_FABRIC = {*_WORK, "collective", "root", "fixed_k", "shards", "only", "others", "without", "costs", "tolerance"}
_OF_FABRIC |= {"scan", "frontier", "proof", "method", "mirrored"}
_OF_GROUPS = {"collective", "group", "placement", "others", "without", "root"}
_OF_TRAFFIC = {"traffic", "piece", "tokens", "seed", "effort", "bandwidth", "table", "only", "others", "without"}
_KEYWORDS = {"tolerance": "gap", "frontier": "compare"}
"""Keywords of options that Python calls otherwise."""
_SELECT = _OF_FABRIC - _OF_TOPOLOGY  # options that ask for the throughput of a topology


@click.command(name="evaluate", cls=DrawingCommand)
@click.argument("network", type=SPEC)
@collective_of(None, "Collective whose throughput and bottleneck to compute. For a fabric: [default: allreduce]")
@offer(ShapeOptions, "root")
@offer(OwnWorkOptions, "alpha")
@option("--size sizes SIZE...", "Data size, such as 1MiB: computes times. Repeatable.")
@offer(OwnWorkOptions, "bandwidth")
@offer(PlaceOptions, "only", "others", "without", "group", "placement")
@offer(ShapeOptions, "shards")
@option(
    "--traffic FILE|NAME:NUMBER",
    "All-to-all of non-uniform traffic: a .csv file (src,dst,amount, or a row for every sender), or a distribution: "
    "zipf:1.2 (some experts are popular), top2:1.2 (two experts for each token), dirichlet:0.3.",
)
@option(
    "--effort",
    "Computing time against precision of all-to-all: quick takes up to two seconds, auto is exact up to about 100 "
    "nodes without symmetry.",
    words=EFFORTS,
    default="quick",
)
@option("--tolerance PART", "Accuracy of approximate results, such as 1%.  [default: 1%; for fabrics exact]")
@option(
    "--prices costs CLASS=COST...",
    "Cost of a unit of data on links of a class: computes the minimum cost of an all-to-all, scatter or gather at the "
    "best throughput. Repeatable.",
)
@option(
    "--against NAMES...",
    "In a report on a topology (-o FILE.html): networks to compare with, as for 'topodesign compare'. Repeatable.",
)
@plot_option("structure", "boxes", "bottleneck", "distances", "orbits")
@setting("trees", "Trees per root.", "fixed_k", type=whole(1, 10**6))
@setting("max-trees", "Compare 1 to N trees per root.", "scan", type=whole(1, 1000))
@setting("pareto", "List the numbers of trees per root that pay, with --size their times.", "frontier", type=bool)
@setting("proof", "Whether to check if any allreduce beats reduce-scatter and then allgather.", type=bool, default=True)
@option(
    "--algorithm method",
    "Throughput by trees of nodes (forest), or by a fluid of what switches add and copy.",
    words=["auto", "forest", "fluid"],
    default="auto",
)
@setting("symmetry", "For fluid: solve equivalent parts once.", "mirrored", type=bool, default=True)
@setting("all-sources", "Compute from every node, even if symmetry makes it needless.", type=bool, default=False)
@setting("deferred", "Whether to search deferred schedules.", type=bool)
@setting("piece", "With --traffic: bytes of a piece, such as a token.", default="8KiB")
@setting("tokens", "With a distribution: tokens of each node.", type=int)
@setting("seed", "With a distribution: random seed.", type=int)
@setting("table", "With --traffic: file to write the traffic to, as src,dst,amount.", type=click.Path(path_type=Path))
@json_option
def command(network: str, plot_kind: str | None, **options: Any) -> None:
    """Compute the cost of a topology or the throughput of a fabric.

    NETWORK is a topology spec (quote it), a fabric such as 'dgx_a100(2)', or a file. For a topology prints steps and
    BW factor, times, and the lower bounds. For a fabric, or with --collective, prints the throughput, its proof and the
    bottleneck. With --group: concurrent groups. With --traffic: non-uniform all-to-all. -o FILE.svg draws the network,
    -o FILE.html writes a report.

    Examples: topodesign evaluate 'line(circulant(16,3,4),3)' --size 1MiB --size 1GiB,
    topodesign evaluate 'mi250(2)' --collective allgather
    """
    given = get_given_options(click.get_current_context()) - {"network", "plot_kind"}
    kind = get_plot_kind(plot_kind, "structure")
    if "shards" in given and "traffic" not in given and str(options["collective"]) == "all-to-all":
        options["traffic"] = options["shards"]
        given -= {"shards", "collective"}
    if kind is not None:
        _draw(network, kind, given, options)
    elif options["against"]:
        raise click.UsageError("--against requires -o FILE.html; 'topodesign compare NETWORK ...' prints a table.")
    else:
        _answer(network, given, options)


def _answer(network: Any, given: set[str], options: dict[str, Any]) -> None:
    """Evaluate a network and print the result."""
    asked = {_KEYWORDS.get(name, name): options[name] for name in given - {"table"}}
    table, place = True, network
    if options["traffic"] is not None:
        _refuse(given - _OF_TRAFFIC, "--traffic")
        parts = {name: asked.pop(name) for name in ("only", "others", "without") if name in asked}
        if parts:
            place = topodesign.select_part(topodesign.as_fabric(network, asked.pop("bandwidth", None)), **parts)
        asked |= {"traffic": options["traffic"], "exact": asked.pop("effort", None) == "exact"}
    elif options["group"]:
        _refuse(given - _OF_GROUPS, "--group")
        table = False
    elif given & _SELECT or not _is_topology(network):
        _refuse(given - _OF_FABRIC, "a throughput")
        asked |= _trees_with_times(options)
        table = False
    else:
        _refuse(given - _OF_TOPOLOGY, "the cost of a topology")
    with progress_bar("evaluating") as progress:
        found: Any = topodesign.evaluate(place, progress=progress, **asked)
        text = "" if table or form() != "text" else found.heading() if options["group"] else str(found)
    if options["table"] is not None:
        found.save(options["table"])
    if table and options["traffic"] is None:
        tell_of_names(found.topology)
    if table:
        show(found)
    else:
        tell(found, text)


def _is_topology(network: str) -> bool:
    """Return whether a text names a plain topology."""
    from topodesign.fabrics.places import as_place  # noqa: PLC0415  NumPy, which help does without

    return isinstance(as_place(network), topodesign.Topology)


def _refuse(wrong: set[str], what: str) -> None:
    """Raise UsageError for options that mean nothing for what is computed."""
    flags = {"costs": "--prices", "sizes": "--size"}
    if wrong:
        names = ", ".join(flags.get(name, flag_of(name)) for name in sorted(wrong))
        raise click.UsageError(f"{names} cannot be combined with {what}; remove it.")


def _trees_with_times(options: dict[str, Any]) -> dict[str, bool]:
    """Return the option that lists numbers of trees if sizes are given without it.

    Raises
    ------
    click.UsageError
        If there are sizes, and no trees.
    """
    if not options["sizes"] or options["scan"] or options["frontier"] or options["fixed_k"]:
        return {}
    from topodesign.collectives import ALLREDUCE  # noqa: PLC0415  not for help
    from topodesign.plans.chunk_ops import TREE_COLLECTIVES  # noqa: PLC0415  NumPy, which help does without

    if not (options["collective"] or ALLREDUCE).like(*TREE_COLLECTIVES) or options["method"] == "fluid":
        raise click.UsageError("--size requires trees; 'topodesign compare NETWORK --algorithm all' prints all times.")
    return {"compare": True}


def _draw(network: str, kind: str, given: set[str], options: dict[str, Any]) -> None:
    """Draw a network, or write the report on it."""
    if kind == PAGE:
        _refuse(given - {*_WORK, "collective", "against"}, "a report")
        asked = {name: options[name] for name in (*_WORK, "against") if name in given}
        give(topodesign.report_page(network, collective=options["collective"], **asked))
    elif kind == "cut":
        from topodesign.collectives import ALLREDUCE  # noqa: PLC0415  not for help

        _refuse(given - {"collective"}, "--plot-kind bottleneck")
        give(topodesign.plot(topodesign.optimum(network, options["collective"] or ALLREDUCE), "cut"))
    else:
        _refuse(given, f"--plot-kind {kind}")
        give(topodesign.plot(network, kind))
