"""What the commands do with fabrics and the trees on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from topodesign.cli.sources import fabric_of, names_fabric
from topodesign.errors import InfeasibleError, ParameterError, SpecError, TooLargeError
from topodesign.fabric import Fabric
from topodesign.forest.multicast import Pruned, prune
from topodesign.library import build
from topodesign.rates import smallest_number_of_trees
from topodesign.schedulers import Method
from topodesign.simulate_trees import TreeSimulation, simulate_trees
from topodesign.tree_file import TreeHeader, load_trees
from topodesign.tree_schedule import TreeCollective, TreeSchedule
from topodesign.units import format_bandwidth
from topodesign.verify_trees import TreeReport, verify_trees

AnyMethod = Method | Literal["forest"]
ROOTED = frozenset({"broadcast", "reduce"})


def goes_over_trees(
    source: str, collective: TreeCollective, method: AnyMethod, fixed_k: int | None, root: str | None
) -> bool:
    """Return whether a schedule is to be made of trees.

    Raises
    ------
    ParameterError
        If options exclude each other.
    """
    trees = method == "forest" or (method == "auto" and (collective in ROOTED or names_fabric(source)))
    if not trees:
        if collective in ROOTED:
            raise ParameterError(f"{collective} goes over trees; use --method forest")
        for option, value in (("--fixed-k", fixed_k), ("--root", root)):
            if value is not None:
                raise ParameterError(f"{option} is for trees; use --method forest")
    elif (root is None) == (collective in ROOTED):
        verb, what = ("needs", "give one with --root") if root is None else ("has no", "leave --root out")
        raise ParameterError(f"{collective} {verb} root; {what}")
    return trees


def plan(
    source: str, collective: TreeCollective, fixed_k: int | None, root: str | None
) -> tuple[Fabric, TreeSchedule, str | None]:
    """Read or build a fabric and make the schedule; of an allreduce also tell which of its kinds was chosen and why."""
    from topodesign.forest.schedule import allreduce_schedule, forest_schedule  # noqa: PLC0415  heavy

    fabric = fabric_of(source)
    number = None if root is None else fabric.number(root)
    if collective == "allreduce" and fixed_k is None:
        return fabric, *allreduce_schedule(fabric.topology)
    return fabric, forest_schedule(fabric.topology, collective, k=fixed_k, root=number), None


def plan_that_fits(
    source: str,
    collective: TreeCollective,
    fixed_k: int | None,
    root: str | None,
    compile_schedule: Callable[[TreeSchedule], str],
) -> tuple[str, str | None]:
    """Make a schedule that compiles: without ``fixed_k`` with fewer trees per root where the best has too many.

    Concurrent phases of an allreduce are given up first.

    Returns
    -------
    tuple
        The program, and how and why its trees differ from the best, or None if they do not.
    """
    fabric, best, _ = plan(source, collective, fixed_k, root)
    schedule, why = best, None
    while True:
        try:
            text = compile_schedule(schedule)
        except (InfeasibleError, TooLargeError) as error:
            if schedule.concurrent:
                fewer = smallest_number_of_trees(fabric, collective)
            else:
                fewer = trees_per_root(schedule) // 2
            if fixed_k is not None or not fewer:
                raise
            why = why or str(error)
            _, schedule, _ = plan(source, collective, fewer, root)
        else:
            trees = f"{trees_per_root(schedule)} trees per root"
            turn = ", one phase after the other" if best.concurrent else ""
            return text, why and f"with {trees}{turn}, since of the best ones {why}"


def trees_of(path: Path) -> tuple[Fabric, TreeSchedule, TreeHeader, TreeReport]:
    """Read a tree schedule file and check all that it says: the schedule, the claimed rate and the spec."""
    fabric, schedule, header = load_trees(path)
    report = verify_trees(schedule, header.claim)
    if header.spec is not None:
        try:
            right = build(header.spec) == schedule.topology
        except SpecError:
            right = False
        if not right:
            problem = f"the spec {header.spec[:100]!r} in the file does not give the links in the file"
            report = replace(report, ok=False, problems=(*report.problems, problem))
    return fabric, schedule, header, report


def right_trees(path: Path) -> tuple[Fabric, TreeSchedule]:
    """Read a tree schedule file that the verifier accepts.

    Raises
    ------
    ParameterError
        If it does not.
    """
    fabric, schedule, _, report = trees_of(path)
    if not report.ok:
        raise ParameterError(f"{path} is no right schedule:\n{report}")
    return fabric, schedule


def trees_per_root(schedule: TreeSchedule) -> int:
    """Return the weight of the trees of the root with most of them, in one phase."""
    totals: dict[tuple[bool, int], int] = {}
    for tree, (root, weight) in enumerate(zip(schedule.root.tolist(), schedule.weight.tolist(), strict=True)):
        key = tree < schedule.reduce_trees, root
        totals[key] = totals.get(key, 0) + weight
    return max(totals.values(), default=0)


def record(fabric: Fabric, schedule: TreeSchedule) -> dict[str, Any]:
    """Return what there is to say about a schedule, for JSON."""
    bandwidth = _algorithmic_bandwidth(fabric, schedule)
    pruned = _in_network(fabric, schedule)
    return {
        "fabric": fabric.name,
        "nodes": len(fabric.compute),
        "switches": len(fabric.topology.switches),
        "collective": schedule.collective,
        "method": "forest",
        "concurrent": schedule.concurrent,
        "k": trees_per_root(schedule),
        "trees": len(schedule),
        "height": schedule.height,
        "inv_x": str((1 if schedule.collective in ROOTED else len(fabric.compute)) / bandwidth),
        "algorithmic_bandwidth": str(bandwidth),
        "algorithmic_bandwidth_GBps": float(bandwidth) / 1e9,
        "in_network": None
        if pruned is None
        else {
            "traffic_saved": str(pruned.saved),
            "node_traffic_saved": str(pruned.saved_at_nodes),
            "height": pruned.height,
        },
    }


def summary(fabric: Fabric, schedule: TreeSchedule) -> str:
    """Return the same for people."""
    bandwidth = _algorithmic_bandwidth(fabric, schedule)
    switches = len(fabric.topology.switches)
    text = (
        f"{schedule.collective} on {fabric.name}: {len(fabric.compute)} nodes, {switches} switch(es)\n"
        f"algorithmic bandwidth {float(bandwidth) / 1e9:.6g} GB/s ({format_bandwidth(8 * bandwidth)})\n"
        f"{'up to ' if schedule.concurrent else ''}{trees_per_root(schedule)} tree(s) per root, "
        f"{len(schedule)} different ones, height {schedule.height}"
    )
    pruned = _in_network(fabric, schedule)
    return text if pruned is None else f"{text}\n{pruned}"


def _algorithmic_bandwidth(fabric: Fabric, schedule: TreeSchedule) -> Fraction:
    """Return bytes of the whole data per second."""
    if schedule.collective in ROOTED:
        shards = 1
    else:
        shards = len(fabric.compute) if schedule.shard is None else sum(schedule.shard)
    return shards * fabric.unit / schedule.inverse_rate


def _in_network(fabric: Fabric, schedule: TreeSchedule) -> Pruned | None:
    if not fabric.multicast | fabric.aggregation:
        return None
    return prune(schedule, fabric.multicast, fabric.aggregation)


def simulate_file(
    path: Path, alpha: Fraction, sizes: tuple[Fraction, ...], bandwidth: Fraction | None, failed: tuple[str, ...]
) -> list[tuple[TreeSimulation, str]]:
    """Time the schedule in a file; each result comes with its description.

    Parameters
    ----------
    bandwidth
        Bits per second of a node over all its links, for a topology without bandwidths of its own; None keeps what the
        file says.
    failed
        Links as ``A,B`` with names, or numbers where there are no others.
    """
    fabric, schedule = right_trees(path)
    unit = 8 * fabric.unit
    if bandwidth is not None:
        if fabric.names != tuple(map(str, range(len(fabric.names)))):
            raise ParameterError(f"{path} has bandwidths of its own; leave out --bandwidth")
        unit = bandwidth / max(1, int(fabric.topology.out_ports[list(fabric.compute)].max()))
    links = [_link(fabric, text) for text in failed]
    results = [simulate_trees(schedule, alpha=alpha, size=size, unit=unit, failed_links=links) for size in sizes]
    return [(result, result.describe(fabric.names.__getitem__)) for result in results]


def _link(fabric: Fabric, text: str) -> tuple[int, int]:
    ends = text.split(",")
    if len(ends) != 2:
        raise ParameterError(f"a failed link is written A,B with the names of its ends, not {text[:100]!r}")
    return fabric.number(ends[0].strip()), fabric.number(ends[1].strip())
