"""The description of trees on a fabric, and what switches that copy or add save on them: in-network multicast.

ForestColl, section 5.6. All edges of a tree carry the same data, so a switch that multicasts needs them once, and
serves those that other nodes of the tree would have reached; an in-tree is an out-tree run backwards, with switches
that aggregate. The throughput stays what it is, since every node still has to receive or send all shards; the traffic
goes down, and often the height. What is left is for planning only: a compiled program sends the trees as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from topodesign.base.cost import Rate
from topodesign.base.declared import Declared, key
from topodesign.base.units import format_rate, format_time
from topodesign.base.wording import counted
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.measure import TreeFigures, per_root, tree_figures
from topodesign.plans.orbit_trees import OrbitTrees
from topodesign.plans.trees import Trees
from topodesign.topology.topology import IntArray, Topology

Interval = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Pruned:
    """What is left of a tree schedule when switches multicast and aggregate.

    Row i says: of the data of ``tree[i]``, cut into as many units as its weight, the units ``lo[i] <= unit < hi[i]`` go
    from ``src[i]`` to ``dst[i]`` over a physical link. A compute node or a capable switch may send a unit of an
    out-tree to several and receive one of an in-tree from several; any other switch passes on as often as it receives.
    """

    schedule: Trees  # the whole schedule
    tree: IntArray  # int64 columns; the rows of a tree are in the order of the data
    src: IntArray
    dst: IntArray
    lo: IntArray
    hi: IntArray
    # weight that every link of the topology carries, in-trees and out-trees apart, shape ``(2, links)``
    before: IntArray
    after: IntArray
    height: int  # steps from compute node to compute node on the longest way, as ``schedule.height`` counts them

    @property
    def saved(self) -> Fraction:
        """Share of the traffic of all links that is saved."""
        return _saved(self.before, self.after)

    @property
    def saved_at_nodes(self) -> Fraction:
        """Share that is saved of the traffic that compute nodes send in out-trees and receive in in-trees."""
        topology = self.schedule.topology
        inner = np.array([v in topology.switches for v in range(topology.nodes)])
        near = np.stack((~inner[topology.dst], ~inner[topology.src]))
        return _saved(self.before[near], self.after[near])

    def __str__(self) -> str:
        return (
            f"switches that multicast or aggregate save {float(self.saved):.1%} of the traffic of all links and "
            f"{float(self.saved_at_nodes):.1%} of what nodes send in out-trees or receive in in-trees; "
            f"height {self.height} instead of {self.schedule.height}"
        )


def _saved(before: IntArray, after: IntArray) -> Fraction:
    return 1 - Fraction(int(after.sum()), max(1, int(before.sum())))


def prune(schedule: Trees, multicast: frozenset[int], aggregation: frozenset[int]) -> Pruned:
    """Omit the traffic that switches which copy (multicast) and add (aggregation) make needless (ForestColl, 5.6).

    The edges are taken from the root outwards; an edge starts at the last switch on its route that has the data by
    then. Routes of equal data are put side by side, so that trees whose weight is split over several routes save too.
    """
    topology = schedule.topology
    rows: list[tuple[int, int, int, int, int]] = []
    heights = np.zeros((2, topology.nodes), dtype=np.int64)  # of in-trees and out-trees, by root
    for tree in range(len(schedule)):
        reduces = tree < schedule.reduce_trees
        kept, height = _prune_tree(schedule, tree, aggregation if reduces else multicast)
        if reduces:
            kept = [(dst, src, lo, hi) for src, dst, lo, hi in reversed(kept)]
        rows += [(tree, *row) for row in kept]
        root = int(schedule.root[tree])
        heights[int(reduces), root] = max(heights[int(reduces), root], height)
    trees, src, dst, lo, hi = columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    after = _loads(topology, schedule.reduce_trees, columns)
    highest = heights.sum(axis=0).max() if schedule.concurrent else heights.max(axis=1).sum()
    return Pruned(schedule, trees, src, dst, lo, hi, schedule.link_loads, after, int(highest))


def _prune_tree(schedule: Trees, tree: int, capable: frozenset[int]) -> tuple[list[tuple[int, int, int, int]], int]:
    """Return (src, dst, lo, hi) of the links that still carry data, from the root outwards, and the height."""
    edges = _routes_from_root(schedule, tree, capable)
    cuts = sorted({end for routes in edges for interval, _ in routes for end in interval})
    kept, height = [], 0
    for lo, hi in itertools.pairwise(cuts):
        level = {int(schedule.root[tree]): 0}
        for routes in edges:
            way = next(hops for (begin, end), hops in routes if begin <= lo < end)
            start = max(at for at, vertex in enumerate(way[:-1]) if vertex in level)
            kept += [(u, v, lo, hi) for u, v in itertools.pairwise(way[start:])]
            reached = level[way[start]] + (way[start] not in capable)
            level.update((vertex, reached) for vertex in way[start + 1 :] if vertex in capable or vertex == way[-1])
        height = max(height, *level.values())
    return kept, height


def _routes_from_root(schedule: Trees, tree: int, capable: frozenset[int]) -> list[list[tuple[Interval, list[int]]]]:
    """Return for every edge of a tree, those near the root first, its routes with the units that they carry.

    The routes of an edge take their units in the order of the capable switches on them.
    """
    reduces = tree < schedule.reduce_trees
    first, last = np.searchsorted(schedule.tree, (tree, tree + 1)).tolist()
    order = range(first, last)[::-1] if reduces else range(first, last)
    depth = {int(schedule.root[tree]): 0}
    edges = []
    for edge in order:
        routes = sorted(
            _routes(schedule, edge, reduces=reduces),
            key=lambda route: ([v for v in route[1] if v in capable], route[1]),
        )
        near, far = routes[0][1][0], routes[0][1][-1]
        depth[far] = depth[near] + 1
        intervals, at = [], 0
        for weight, way in routes:
            intervals.append(((at, at + weight), way))
            at += weight
        edges.append((depth[far], intervals))
    return [intervals for _, intervals in sorted(edges, key=lambda edge: edge[0])]


def _routes(schedule: Trees, edge: int, *, reduces: bool) -> Iterator[tuple[int, list[int]]]:
    """Yield weight and nodes of the routes of an edge, away from the root."""
    first, last = np.searchsorted(schedule.route_edge, (edge, edge + 1)).tolist()
    for route in range(first, last):
        way = schedule.hop[schedule.hop_start[route] : schedule.hop_start[route + 1]].tolist()
        yield int(schedule.route_weight[route]), way[::-1] if reduces else way


def _loads(topology: Topology, reduce_trees: int, columns: IntArray) -> IntArray:
    """Return the weight that every link carries, in-trees and out-trees apart."""
    tree, src, dst, lo, hi = columns
    link = topology.link_index(src, dst)
    loads = np.zeros((2, len(topology.src)), dtype=np.int64)
    np.add.at(loads, ((tree >= reduce_trees).astype(np.int64), link), hi - lo)
    return loads


@dataclass(frozen=True, slots=True)
class Saved(Declared):
    """What switches that copy or add save of trees."""

    pruned: Pruned

    KEYS = (
        key("traffic_saved=pruned.saved", "Part of all traffic that switches which copy or add save."),
        key("node_traffic_saved=pruned.saved_at_nodes", "The same of what nodes send."),
        key("height=pruned.height", "Height of the trees then."),
    )


@dataclass(frozen=True)
class TreeFacts(Declared):
    """A schedule over trees on a fabric."""

    fabric: Fabric
    schedule: Trees | OrbitTrees

    KEYS = (
        key("fabric=fabric.name", "What it is called."),
        key("nodes=len(fabric.compute)", "Nodes that compute."),
        key("switches=len(fabric.topology.switches)", "Switches."),
        key("collective=schedule.collective.name", "What is done."),
        "method",
        key("concurrent=own.concurrent", "Whether both halves of an allreduce run at the same time."),
        "shards",
        "k",
        key("trees=schedule.sends", "Different trees."),
        key("height=reached.height", "Links of the longest way in a tree."),
        key("inv_x_star=reached.inverse_rate", "Seconds that a byte of a shard takes at best: 1/x*."),
        "*rate relays in_network",
    )

    @property
    def own(self) -> Trees:
        """The trees, or those that a symmetry takes to all others."""
        return self.schedule.own

    @cached_property
    def reached(self) -> TreeFigures:
        """What the trees reach."""
        return tree_figures(self.fabric, self.schedule)

    @property
    def k(self) -> int | Fraction:
        """Trees per root."""
        return self.reached.k.numerator if self.reached.k.denominator == 1 else self.reached.k

    @property
    def method(self) -> str:
        """How it was made."""
        return "in-network" if len(self.own.relays) else "forest"

    @property
    def shards(self) -> dict[str, int] | None:
        """Sizes of shards by node, where --shards gave them; else null."""
        shard = self.own.shard
        names = (self.fabric.names[node] for node in self.fabric.compute)
        return None if shard is None else dict(zip(names, shard, strict=True))

    @property
    def rate(self) -> Rate:
        """The bandwidth."""
        return Rate(self.reached.bandwidth)

    @property
    def relays(self) -> list[str]:
        """Switches that add or copy in trees."""
        return [self.fabric.names[switch] for switch in self.own.relays.tolist()]

    @property
    def in_network(self) -> Saved | None:
        """With switches that copy or add; null without."""
        pruned = _in_network(self.fabric, self.schedule)
        return None if pruned is None else Saved(pruned)


def tree_summary(fabric: Fabric, schedule: Trees | OrbitTrees) -> str:
    """Return the same for people."""
    reached, own, number = tree_figures(fabric, schedule), schedule.own, schedule.sends
    time = format_time(reached.inverse_rate * 10**9)
    groups = f" in {own.groups} groups at once" if own.groups > 1 else ""
    kept = f", kept as {len(own)}" if len(own) < number else ""
    lines = [
        f"algorithmic bandwidth {format_rate(reached.bandwidth)}{groups}, 1/x* = {time} per GB of shard",
        f"{per_root(fabric, schedule)}, {number} different ones{kept}, height {reached.height}",
    ]
    if len(own.relays):
        through = counted(len(own.relays), "switch", "switches")
        lines[1] = f"{counted(number, 'different tree')} through {through} that copy or add, height {reached.height}"
    pruned = _in_network(fabric, schedule)
    return "\n".join(lines if pruned is None else [*lines, str(pruned)])


def _in_network(fabric: Fabric, schedule: Trees | OrbitTrees) -> Pruned | None:
    own = schedule.own
    if len(own.relays) or own.collective.group is not None or not fabric.multicast | fabric.aggregation:
        return None
    if schedule.folded is not None:  # shares of traffic are the same of all images if these switches stay such
        kept = all(
            {int(image[switch]) for switch in able} == able
            for able in (fabric.multicast, fabric.aggregation)
            for image in schedule.folded.generators
        )
        if not kept:
            return None
    return prune(own, fabric.multicast, fabric.aggregation)
