"""Engines: how ways and lanes are chosen.

* W. J. Dally and C. L. Seitz, Deadlock-Free Message Routing in Multiprocessor Interconnection Networks (1987): lanes
  that change where a ring is crossed (``dateline``).
* M. D. Schroeder et al., Autonet (1991): ``up-down``.
* T. Skeie, O. Lysne, I. Theiss, Layered Shortest Path (LASH) Routing (2002): ``layers``, first fit.
* J. Domke, T. Hoefler, W. E. Nagel, Deadlock-Free Oblivious Routing for Arbitrary Topologies (2011): ``cycles``.
* J. Domke, T. Hoefler, S. Matsuoka, Routing on the Dependency Graph (2016): the idea of ``confined``.
* J. Kim et al., Technology-Driven, Highly-Scalable Dragonfly Topology (2008): ``groups``, a lane more in each group.
* L. G. Valiant, A Scheme for Fast Parallel Communication (1982): ``valiant``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topodesign.base.errors import DisconnectedError
from topodesign.schedulers.baselines.torus_schemes import grid_of
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.routes import detour_kernels, lane_kernels
from topodesign.wiring.routes.ways import MOST_HOPS, Ways, pairs_of, ways_of

MOST_LANES = 15  # data lanes of InfiniBand
_PASSES = 3  # times that balanced paths are routed, knowing what all others load


@dataclass(frozen=True, eq=False)
class Question:
    """What is to be routed."""

    topology: Topology  # the links
    weight: IntArray  # how much goes from each vertex to each other, integers
    lanes: int  # the most lanes
    seed: int = 0  # settles the order of targets

    @cached_property
    def ends(self) -> IntArray:
        """The vertices that send and receive."""
        return np.setdiff1d(np.arange(self.topology.nodes), list(self.topology.switches))

    @cached_property
    def order(self) -> IntArray:
        """The ends in the order in which they are routed to; with the seed 0 as they are."""
        return self.ends if not self.seed else np.random.default_rng(self.seed).permutation(self.ends)

    @cached_property
    def balanced(self) -> tuple[IntArray, IntArray]:
        """The steps of balanced shortest paths, and a lane for all."""
        _, steps, lane = _grown(self, 0, _PASSES)
        return steps, lane

    @cached_property
    def least_hops(self) -> int:
        """The links of shortest paths of all pairs together."""
        return len(ways_of(self.topology, self.ends, *self.balanced).hop)

    @cached_property
    def network(self) -> lane_kernels.Network:
        """The links as kernels take them."""
        one = self.topology
        loop = one.src == one.dst
        ports = np.diff(one.indptr)[one.dst]
        ends, switches = np.ones(one.nodes, dtype=np.int64), np.zeros(one.nodes, dtype=np.int64)
        switches[list(one.switches)] = 1
        into = np.argsort(one.dst, kind="stable")
        into = into[~loop[into]]
        common = np.lcm.reduce(one.capacity) if len(one.capacity) else 1
        return lane_kernels.Network(
            one.src.copy(),
            one.dst.copy(),
            one.indptr.astype(np.int64),
            into,
            np.searchsorted(one.dst[into], np.arange(one.nodes + 1)),
            np.concatenate(([0], np.cumsum(ports))),
            switches if one.switches else ends.copy(),
            ends - switches,
            common // one.capacity,
        )

    def room(self, lanes: int) -> tuple[IntArray, IntArray, IntArray, lane_kernels.Bytes, IntArray]:
        """Return empty steps, lanes, loads, states and ranks."""
        nodes, links = self.topology.nodes, len(self.topology.src)
        return (
            np.full((nodes, nodes), -1, dtype=np.int64),
            np.zeros((nodes, nodes), dtype=np.int64),
            np.zeros(links, dtype=np.int64),
            np.zeros((lanes, int(self.network.first[-1])), dtype=np.int8),
            np.tile(np.arange(links), (lanes, 1)),
        )


def _grown(question: Question, lanes: int, passes: int = 1) -> tuple[int, IntArray, IntArray]:
    """Return the lanes in use, steps and lanes; over balanced shortest paths where there are none."""
    steps, lane, load, state, rank = question.room(lanes)
    for _ in range(passes):
        used = lane_kernels.grow_trees(
            question.network, question.order, question.weight, steps, lane, load, state, rank
        )
    if used < -1:
        alone = " over switches alone, which pass messages on where there are any" if question.topology.switches else ""
        raise DisconnectedError(f"node {-2 - used} cannot reach all others{alone}")
    return used, steps, lane


def fitted(question: Question) -> Ways | None:
    """Shortest paths chosen so that they fit into low lanes."""
    used, steps, lane = _grown(question, question.lanes)
    return None if used < 0 else ways_of(question.topology, question.ends, steps, lane)


def layers(question: Question) -> Ways | None:
    """Balanced shortest paths, each pair in the first lane that it fits (LASH)."""
    steps, lane = question.balanced
    _, _, _, state, rank = question.room(question.lanes)
    used = lane_kernels.fit_lanes(question.network, question.order, steps, lane, state, rank)
    return None if used < 0 else ways_of(question.topology, question.ends, steps, lane)


def cycles(question: Question) -> Ways | None:
    """Balanced shortest paths, of each cycle the rarest turn a lane up (DFSSSP)."""
    ways = _balanced(question)
    lane = np.zeros(len(ways.source), dtype=np.int64)
    used = detour_kernels.break_cycles(question.network, ways.start, ways.hop, lane, question.lanes)
    return None if used < 0 else ways.in_lanes(np.repeat(lane, ways.lengths))


def _balanced(question: Question) -> Ways:
    """Return balanced shortest paths, whatever lanes they would take."""
    return ways_of(question.topology, question.ends, *question.balanced)


def descents(question: Question) -> Ways | None:
    """Balanced shortest paths, a lane more wherever an order of the links goes down that suits most of them."""
    steps, lane = question.balanced
    _, _, _, state, rank = question.room(1)
    lane_kernels.fit_lanes(question.network, question.order, steps, lane.copy(), state, rank)
    ways = _balanced(question)
    place = rank[0][ways.hop]
    down = np.concatenate(([False], place[1:] < place[:-1]))
    down[ways.start[:-1]] = False
    so_far = np.cumsum(down)
    return _if_few(question, ways.in_lanes(so_far - np.repeat(so_far[ways.start[:-1]], ways.lengths)))


def hops(question: Question) -> Ways | None:
    """Balanced shortest paths, a lane more at every hop."""
    ways = _balanced(question)
    lane = np.arange(len(ways.hop)) - np.repeat(ways.start[:-1], ways.lengths)
    return _if_few(question, ways.in_lanes(lane))


@dataclass(frozen=True, eq=False)
class _Groups:
    """A dragonfly in which every two groups have one link."""

    question: Question
    group: IntArray
    gate: IntArray  # the node of one group with the link to another, by both groups

    @classmethod
    def of(cls, question: Question) -> _Groups | None:
        """Return the groups; None where the network is no dragonfly."""
        topology = question.topology
        if topology.spec is None or topology.spec.name != "dragonflygroups":
            return None
        group = np.arange(topology.nodes) // int(str(topology.spec.args[0]))
        src, dst = group[topology.src], group[topology.dst]
        gate = np.full((group[-1] + 1,) * 2, -1)
        gate[src, dst] = topology.src
        return cls(question, group, gate)

    def towards(self, node: IntArray, target: IntArray) -> IntArray:
        """Return the way of each pair, a row of nodes each: to the link between the groups, over it, and on."""
        here, there = self.group[node], self.group[target]
        out = np.where(here == there, node, self.gate[here, there])
        into = np.where(here == there, node, self.gate[there, here])
        return np.stack((node, out, into, target), axis=1)

    def ways(self, nodes: IntArray, source: IntArray, target: IntArray) -> Ways:
        """Return ways through rows of nodes, some of which may follow themselves: a lane more in each group."""
        before, after = nodes[:, :-1], nodes[:, 1:]
        moves = before != after
        topology = self.question.topology
        lane = np.cumsum(self.group[before] != self.group[after], axis=1) - (self.group[before] != self.group[after])
        link = topology.link_index(before[moves], after[moves])
        start = np.concatenate(([0], np.cumsum(moves.sum(axis=1))))
        return Ways(topology, source, target, start, link, lane[moves])


def groups(question: Question) -> Ways | None:
    """To the one link between two groups of a dragonfly and on from there, a lane more in each group (Kim and Dally).

    Such ways have one link between groups at most, so that two lanes do. Some are longer than a way through a third
    group, which shortest paths may take.
    """
    found = _Groups.of(question)
    if found is None:
        return None
    source, target = pairs_of(question.ends)
    return _if_few(question, found.ways(found.towards(source, target), source, target))


def valiant(question: Question) -> Ways | None:
    """By way of a node drawn for each pair, in lanes of their own from there on; of a dragonfly by way of a group.

    Whatever the traffic is, links are about as full as those of an all-to-all twice over (Valiant 1982).
    """
    if question.topology.switches or question.topology.nodes < 3:  # ends alone have ways to them
        return None
    source, target = pairs_of(question.ends)
    draws = np.random.default_rng(question.seed)
    found = _Groups.of(question)
    if found is not None:
        here, there = found.group[source], found.group[target]
        count = len(found.gate)
        between = draws.integers(0, count, len(source))
        between = np.where((between == here) | (between == there) | (here == there), there, between)
        entry = np.where(between == there, source, found.gate[between, here])
        first = np.where((between == there)[:, None], source[:, None], found.towards(source, entry))
        nodes = np.concatenate((first, found.towards(entry, target)[:, 1:]), axis=1)
        return _if_few(question, found.ways(nodes, source, target))
    halves = Question(question.topology, question.weight, question.lanes // 2, question.seed)
    ways = fitted(halves) if halves.lanes else None
    if ways is None or 2 * len(ways.hop) > MOST_HOPS:
        return None
    return ways.joined(draws.choice(question.ends, len(source)))


def dateline(question: Question) -> Ways | None:
    """One side of a torus after another, the other lane once a ring has been crossed where it closes."""
    grid = grid_of(question.topology)
    if grid is None:
        return None
    ways = ways_of(question.topology, question.ends, grid.steps, np.zeros((question.topology.nodes,) * 2, np.int64))
    before, after = (grid.coordinates[:, end[ways.hop]] for end in (question.topology.src, question.topology.dst))
    side = np.argmax(before != after, axis=0)
    hop = np.arange(len(side))
    closes = np.abs(before[side, hop] - after[side, hop]) > 1
    begins = np.concatenate(([True], side[1:] != side[:-1]))
    begins[ways.start[:-1]] = True
    crossed = np.cumsum(closes)
    first = np.maximum.accumulate(np.where(begins, hop, 0))
    return _if_few(question, ways.in_lanes(crossed - (crossed - closes)[first]))


def _if_few(question: Question, ways: Ways) -> Ways | None:
    return ways if ways.lanes <= question.lanes else None


def _heights(topology: Topology) -> detour_kernels.Heights | None:
    """Return the order from the most central vertex that passes on; None where a link has no way back."""
    if not topology.is_duplex:
        return None
    from scipy.sparse import csr_array  # noqa: PLC0415  heavy
    from scipy.sparse.csgraph import breadth_first_order, shortest_path  # noqa: PLC0415

    graph = csr_array((np.ones(len(topology.src)), (topology.src, topology.dst)), shape=(topology.nodes,) * 2)
    passing = np.array(sorted(topology.switches) or range(topology.nodes))
    far = shortest_path(graph, unweighted=True, indices=passing)
    order, before = breadth_first_order(graph, int(passing[np.argmin(far.sum(axis=1))]))
    if len(order) < topology.nodes:
        raise DisconnectedError("some nodes cannot reach each other")
    height = np.empty(topology.nodes, dtype=np.int64)
    height[order] = np.arange(len(order))
    tree = (before[topology.dst] == topology.src) | (before[topology.src] == topology.dst)
    return detour_kernels.Heights(order.astype(np.int64), height, tree.astype(np.int64))


def up_down(question: Question) -> Ways | None:
    """First up a spanning tree, then down: one lane (up*/down*)."""
    found = _heights(question.topology)
    if found is None:
        return None
    steps, lane, load, _, _ = question.room(0)
    every = found._replace(inside=np.ones_like(found.inside))
    detour_kernels.up_and_down(question.network, question.order, question.weight, every, steps, load)
    return ways_of(question.topology, question.ends, steps, lane)


def confined(question: Question) -> Ways | None:
    """Ways inside the dependency graph of so many lanes, with detours (after Nue)."""
    return _confined(question, tree=True)


def turns(question: Question) -> Ways | None:
    """Up and down, and all other turns besides that close no cycle, in so many lanes."""
    return _confined(question, tree=False)


def _confined(question: Question, *, tree: bool) -> Ways | None:
    found = _heights(question.topology)
    if found is None:
        return None
    steps, lane, load, state, rank = question.room(question.lanes)
    heights = found if tree else found._replace(inside=np.ones_like(found.inside))
    detour_kernels.confine_trees(
        question.network, question.order, question.weight, heights, steps, lane, load, state, rank
    )
    return ways_of(question.topology, question.ends, steps, lane)


ENGINES: dict[str, Callable[[Question], Ways | None]] = {
    "fitted": fitted,
    "layers": layers,
    "cycles": cycles,
    "descents": descents,
    "hops": hops,
    "groups": groups,
    "valiant": valiant,
    "dateline": dateline,
    "up-down": up_down,
    "confined": confined,
    "turns": turns,
}
"""By name; each returns None where it takes more lanes than there are, or is for other networks."""
