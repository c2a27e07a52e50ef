"""Tree schedules of a fabric: optimum, switch removal and tree packing put together (ForestColl, sections 5 and 6)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from topodesign.errors import ParameterError, TooLargeError
from topodesign.forest.fixed import fixed_optimum, smallest_trees
from topodesign.forest.optimum import optimum, shard_sizes
from topodesign.forest.packing import pack_trees
from topodesign.forest.splitting import Split, remove_switches
from topodesign.solve.maxflow import compute_nodes
from topodesign.topology import IntArray, Topology
from topodesign.tree_schedule import MAX_WEIGHT, TreeCollective, TreeSchedule

ROOTED = ("broadcast", "reduce")
MOST_SMALL = 8
"""Largest number of trees per root that a frontier tries besides the best."""


@dataclass(frozen=True)
class FrontierRow:
    """What so many trees per root reach: time by bandwidth, and the height that small sizes feel."""

    k: int
    inverse_rate: Fraction
    height: int


def forest_schedule(
    topology: Topology,
    collective: TreeCollective,
    *,
    k: int | None = None,
    root: int | None = None,
    shard: Sequence[int] | None = None,
) -> TreeSchedule:
    """Return a schedule over spanning trees, as fast as any for large sizes unless ``k`` is given.

    Parameters
    ----------
    topology
        Compute nodes and switches; as much capacity into each switch as out of it.
    collective
        Reduce-scatter and reduce are allgather and broadcast on the transpose, run backwards. An allreduce is a
        reduce-scatter and then an allgather.
    k
        Number of trees per root (per unit of shard size); the smallest that reaches the optimum if None.
    root
        The root of a broadcast or reduce, a compute node.
    shard
        Relative shard sizes of the compute nodes in ascending order; equal if None.

    Raises
    ------
    ParameterError
        If ``k`` is below one, the root or the shards do not fit the collective or the topology.
    TopologyError
        If there are fewer than two compute nodes or a switch is not balanced.
    InfeasibleError
        If some compute node cannot be reached from another.
    TooLargeError
        If the capacities and shards need more than 64 bits.
    """
    sizes = _sizes(topology, collective, root, shard)
    forward: TreeCollective = "broadcast" if collective in ROOTED else "allgather"

    def spreading(graph: Topology) -> TreeSchedule:
        return _out_trees(graph, forward, k, sizes)

    if collective == forward:
        return spreading(topology)
    if topology.is_duplex:
        out = spreading(topology)
        back = out.reverse()
        return _in_turn(back, out) if collective == "allreduce" else back
    back = replace(spreading(topology.transpose()).reverse(), topology=topology)
    return _in_turn(back, spreading(topology)) if collective == "allreduce" else back


def frontier(topology: Topology, numbers: Iterable[int] | None = None) -> list[FrontierRow]:
    """Return which numbers of trees per root pay: of an allgather, time by bandwidth against height.

    Parameters
    ----------
    topology
        As for :func:`forest_schedule`.
    numbers
        Numbers of trees to try; 1 to ``MOST_SMALL`` and the smallest best one if None.

    Returns
    -------
    list of FrontierRow
        Those that no other beats in both, fastest first; of equals the smallest k.

    Raises
    ------
    ParameterError, TopologyError, InfeasibleError, TooLargeError
        As :func:`forest_schedule`.
    """
    if numbers is None:
        best = smallest_trees(topology)
        numbers = {*range(1, min(best, MOST_SMALL + 1)), best}
    rows = []
    for k in sorted(numbers):
        schedule = forest_schedule(topology, "allgather", k=k)
        rows.append(FrontierRow(k, schedule.inverse_rate, schedule.height))
    rows.sort(key=lambda row: (row.inverse_rate, row.height, row.k))
    return [row for i, row in enumerate(rows) if all(row.height < other.height for other in rows[:i])]


def _sizes(
    topology: Topology, collective: TreeCollective, root: int | None, shard: Sequence[int] | None
) -> tuple[int, ...] | None:
    """Return the shard sizes; a single one for a root."""
    if collective not in ROOTED:
        if root is not None:
            raise ParameterError(f"{collective} has no root")
        return None if shard is None else tuple(shard)
    if shard is not None:
        raise ParameterError(f"{collective} has one shard, without a size")
    compute = compute_nodes(topology).tolist()
    if root not in compute:
        raise ParameterError(f"{collective} needs a compute node as its root, not {root}")
    return tuple(int(node == root) for node in compute)


def _out_trees(
    topology: Topology, collective: TreeCollective, k: int | None, sizes: tuple[int, ...] | None
) -> TreeSchedule:
    """Return an allgather or a broadcast."""
    best = optimum(topology, weights=sizes)
    k = smallest_trees(topology, weights=sizes, best=best) if k is None else k
    fixed = fixed_optimum(topology, k, weights=sizes, best=best)
    numbers = [k * size for size in shard_sizes(topology, sizes).tolist()]
    split = remove_switches(fixed.topology, numbers)
    packing = pack_trees(split.topology, [(node, number) for node, number in enumerate(numbers) if number])
    nodes = np.array(split.nodes)
    trees = len(packing.root)
    tree = np.repeat(np.arange(trees), len(nodes) - 1)
    dst = packing.order[:, 1:].ravel()
    src = packing.parent[tree, dst]
    edge, weight, route = _routed(split, src, dst, packing.weight[tree])
    length = np.diff(split.hop_start)[route]
    hop_start = np.concatenate(([0], np.cumsum(length)))
    place = np.arange(hop_start[-1]) + np.repeat(split.hop_start[route] - hop_start[:-1], length)
    return TreeSchedule(
        collective=collective,
        topology=topology,
        rate=fixed.tree_rate,
        root=nodes[packing.root],
        weight=packing.weight,
        tree=tree,
        src=nodes[src],
        dst=nodes[dst],
        route_edge=edge,
        route_weight=weight,
        hop_start=hop_start,
        hop=split.hop[place],
        reduce_trees=0,
        shard=None if collective == "broadcast" else sizes,
    )


def _routed(split: Split, src: IntArray, dst: IntArray, weight: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Share the routes of every logical link among the tree edges that use it.

    All links are laid end to end, each as long as its capacity. Routes tile them; the tree edges of a link lie at its
    beginning, and take the routes that they lie on.

    Returns
    -------
    tuple
        Tree edge, amount and route, ordered by tree edge.
    """
    logical = split.topology
    link = np.searchsorted(logical.src * logical.nodes + logical.dst, src * logical.nodes + dst)
    order = np.argsort(link, kind="stable")
    ends = np.cumsum(weight[order])
    used = np.bincount(link, minlength=len(logical.src) + 1)
    before = np.concatenate(([0], ends))[np.cumsum(used) - used]  # weight of the edges of earlier links
    start = np.empty_like(weight)
    start[order] = ends - weight[order] + (np.cumsum(logical.capacity) - logical.capacity - before[:-1])[link[order]]
    route_end = np.cumsum(split.route_amount)
    first = np.searchsorted(route_end, start, side="right")
    count = np.searchsorted(route_end, start + weight, side="left") - first + 1
    edge = np.repeat(np.arange(len(weight)), count)
    route = np.arange(len(edge)) + np.repeat(first - (np.cumsum(count) - count), count)
    begin = np.maximum(start[edge], route_end[route] - split.route_amount[route])
    return edge, np.minimum((start + weight)[edge], route_end[route]) - begin, route


def _in_turn(first: TreeSchedule, second: TreeSchedule) -> TreeSchedule:
    """Return the allreduce of a reduce-scatter and then an allgather; rates become one by scaling the weights."""
    rate = Fraction(
        math.gcd(first.rate.numerator * second.rate.denominator, second.rate.numerator * first.rate.denominator),
        first.rate.denominator * second.rate.denominator,
    )
    columns = {name: [column, second.columns()[name]] for name, column in first.columns().items()}
    for part, schedule in enumerate((first, second)):
        factor = int(schedule.rate / rate)
        if factor * int(schedule.weight.max()) > MAX_WEIGHT:
            raise TooLargeError("the rates of reduce-scatter and allgather have no common part large enough; fix k")
        for name in ("weight", "route_weight"):
            columns[name][part] = columns[name][part] * factor
    columns["tree"][1] = columns["tree"][1] + len(first)
    columns["route_edge"][1] = columns["route_edge"][1] + len(first.tree)
    columns["hop_start"][1] = columns["hop_start"][1][1:] + len(first.hop)
    return TreeSchedule(
        collective="allreduce",
        topology=first.topology,
        rate=rate,
        **{name: np.concatenate(parts) for name, parts in columns.items()},
        reduce_trees=len(first),
        shard=first.shard,
    )
