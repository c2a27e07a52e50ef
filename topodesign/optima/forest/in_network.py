"""The best allreduce where switches add and copy: in-trees and out-trees that go through capable switches as vertices.

A switch that aggregates may take part in an in-tree as a node does, adding up what it receives, and one that
multicasts in an out-tree; one that can do both may be the root. Such a switch is a *relay* of the trees that it is a
vertex of, and only forwards for the others. So the out-trees with the same relays P span the nodes and P, and the
in-trees with the same relays Q span the nodes and Q: each of these *families* is what ForestColl packs, with capacities
of its own that are balanced at every switch that is no relay. The throughput is the optimum of

    max X = sum of x   with, for every family F of one phase,  c_F(links out of S) >= x_F(S)
    for every set S of vertices that leaves out some node or relay of F (a reduction is seen from the root),
    the x_F of each phase adding up to x at every root, and the c_F of all to at most c on every link.

Families join the program as the prices of its solution show that they have a tree which is worth it. Bounds are from a
program with one family a phase in which capable switches are free: they need not be reached, may be roots, and may
create and swallow data as they like; from prices of the links at which the cheapest pair of trees is known; and from
sets that part the nodes, which all data have to enter. A root that is a switch must be able to do both, or be where the
only way from one that adds to one that copies leads; if all that can do one can do the other, there is no such way that
matters.

Programs grow by sets that maximum flows find violated and are proved in fractions, as in
:mod:`topodesign.optima.forest.allreduce`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.optima.forest.allreduce import PHASES, AllreduceRate, Phase, allreduce_optimum
from topodesign.optima.forest.bottleneck import with_capacity
from topodesign.optima.forest.cut_program import CutProgram
from topodesign.optima.forest.switch_removal import Split, remove_switches
from topodesign.solve.certificate import Certificate, common_denominator
from topodesign.solve.maxflow import LARGEST, Side, balanced_part, compute_nodes, crossing, violated_cuts, worst_ratio
from topodesign.solve.program import NO_BOUND, Entries, Program
from topodesign.topology.topology import IntArray, Topology

Powers = Mapping[Phase, frozenset[int]]  # by phase, the switches that can do what it takes: copy, or add

MOST_NODES = 128  # compute nodes up to which the linear programs are solved
MOST_TRIED = 5
"""Switches that can copy, or add, up to which the cheapest trees are looked for with every set of them as relays."""

_TURNS = 20
_MOST_FAMILIES = 16  # that join a program at a time
_SCALES = (1, 2, 3, 4, 6, 8, 12, 24, 60, 840, 10**6)
_PRICE = 2**40
_FINE = 2**16
_NEVER = 2**60


@dataclass(frozen=True, eq=False)
class Family:
    """Trees of a phase with the same relays, as links between their vertices; a reduction is seen from the root."""

    phase: Phase
    relays: frozenset[int]  # the switches that they span beside the compute nodes
    roots: tuple[int, ...]  # how many of the trees each compute node or relay, ascending, is the root of
    split: Split  # links between compute nodes and relays, and what these are in the fabric


@dataclass(frozen=True, eq=False)
class InNetworkOptimum(AllreduceRate):
    """The best allreduce through trees in which capable switches are vertices."""

    families: tuple[Family, ...] = ()  # trees that reach the throughput; none where no relay is of use
    rate: Fraction = Fraction(1)  # capacity that a tree takes on a link

    @property
    def in_network(self) -> bool:
        """Whether switches copy and add in what can be reached."""
        return bool(self.families)


def in_network_optimum(topology: Topology, multicast: frozenset[int], aggregation: frozenset[int]) -> InNetworkOptimum:
    """Return the throughput of the best allreduce through trees in which these switches copy and add.

    Beyond ``MOST_NODES`` compute nodes no program is solved: what is reached is what a reduce-scatter and an allgather
    reach, below the narrowest cut.
    """
    plain = allreduce_optimum(topology)
    best = InNetworkOptimum(plain.throughput, plain.bound, plain.composed)
    if not multicast | aggregation:
        return best
    best = replace(best, bound=narrowest(topology))
    if not best.exact and len(compute_nodes(topology)) <= MOST_NODES:
        best = _grown(topology, {"broadcast": multicast, "reduction": aggregation}, best)
    return replace(best, composed=plain.composed)


def _grown(topology: Topology, powers: Powers, best: InNetworkOptimum) -> InNetworkOptimum:
    """Return what families of trees reach, and the bound, where they are better than what is known."""
    multicast, aggregation = powers["broadcast"], powers["reduction"]
    nested = multicast <= aggregation or aggregation <= multicast
    roots = multicast & aggregation if nested else multicast | aggregation  # that matter, beside compute nodes
    program = _Cuts(topology, multicast & aggregation)
    more = [(phase, relays) for phase, power in powers.items() for relays in dict.fromkeys((frozenset(), power))]
    for turn in range(_TURNS):
        for phase, relays in more:
            program.add(_Part(topology, phase, relays))
        solution = program.settle(best.throughput, best.bound)
        bounds = [best.bound]
        best = max((best, *program.reached(solution)), key=lambda one: one.throughput)
        if turn == 0 and best.throughput < bounds[0]:
            free = _Cuts(topology, roots)
            for phase, power in powers.items():
                free.add(_Part(topology, phase, power | roots, free=True))
            bounds.append(free.bound(free.settle(best.throughput, bounds[0])))
        if best.throughput < min(bounds):
            prices = _Prices(program, solution)
            more = prices.cheap(powers)
            if max(map(len, powers.values())) <= MOST_TRIED:
                bounds.append(prices.bound(powers, roots))
        best = replace(best, bound=min(bounds))
        if best.exact or not more:
            break
    return best


def promoted(topology: Topology, relays: frozenset[int]) -> Topology:
    """Return the topology with some switches as compute nodes."""
    return Topology.from_arrays(
        topology.nodes, topology.src, topology.dst, topology.capacity, switches=topology.switches - relays
    )


def narrowest(topology: Topology) -> Fraction:
    """Return the least capacity into a set of vertices with compute nodes inside and outside: no allreduce has more."""
    demand = np.zeros(topology.nodes - len(topology.switches), dtype=np.int64)
    demand[0] = 1
    return 1 / max(worst_ratio(graph, graph.capacity, demand) for graph in (topology, topology.transpose()))


def _subsets(power: frozenset[int]) -> Iterator[frozenset[int]]:
    """Yield all sets of switches."""
    for size in range(len(power) + 1):
        yield from map(frozenset, itertools.combinations(sorted(power), size))


class _Part:
    """One family in a program: its graph, seen from the root, with columns for links and roots."""

    def __init__(self, topology: Topology, phase: Phase, relays: frozenset[int], *, free: bool = False) -> None:
        self.phase, self.relays = phase, relays
        graph = promoted(topology, relays)
        links = np.arange(len(topology.src))
        self.graph = graph if phase == "broadcast" else graph.transpose()
        self.order = links if phase == "broadcast" else np.lexsort((topology.src, topology.dst))
        self.vertices = compute_nodes(graph)
        self.sinks = compute_nodes(topology) if free else self.vertices
        self.flow = self.share = np.zeros(0, dtype=np.int64)
        self.rows: set[bytes] = set()


class _Cuts(CutProgram[InNetworkOptimum]):
    """The linear program of some families, and of their sets that are known; these switches may be roots, too."""

    def __init__(self, topology: Topology, relays: frozenset[int]) -> None:
        self.topology = topology
        self.parts: list[_Part] = []
        self.known: set[tuple[Phase, frozenset[int]]] = set()
        self.program = program = Program(unit=int(topology.capacity.max()))
        self.nodes = compute_nodes(topology)
        roots = sorted({*self.nodes.tolist(), *relays})
        self.total = program.add_columns(len(roots), cost=-1)
        nothing = Entries((), (), ())
        self.price = program.add_rows(len(topology.src), nothing, upper=topology.capacity)
        own = Entries(np.arange(len(roots)), self.total, -1)
        self.worth = {phase: program.add_rows(len(roots), own, lower=0, upper=0) for phase in PHASES}
        self.roots = {root: at for at, root in enumerate(roots)}

    def add(self, part: _Part) -> None:
        """Let trees of another family take part."""
        self.parts.append(part)
        self.known.add((part.phase, part.relays))
        links, graph = len(part.order), part.graph
        used = Entries(self.price[part.order], np.arange(links), 1)
        part.flow = self.program.add_columns(links, upper=self.topology.capacity[part.order], entries=used)
        able = np.array([vertex in self.roots for vertex in part.vertices.tolist()])
        rows = self.worth[part.phase][[self.roots[vertex] for vertex in part.vertices[able].tolist()]]
        shares = Entries(rows, np.flatnonzero(able), 1)
        most = np.where(able, NO_BOUND, 0)
        part.share = self.program.add_columns(len(able), upper=most, entries=shares)
        switches = np.array(sorted(graph.switches), dtype=np.int64)[:, None]
        switch, link = np.nonzero((graph.dst == switches) | (graph.src == switches))
        sign = np.where(graph.dst[link] == switches[switch, 0], 1, -1)
        self.program.add_rows(len(switches), Entries(switch, part.flow[link], sign), lower=0, upper=0)
        at = np.arange(graph.nodes)
        for node in part.vertices.tolist():
            for side in (at == node, at != node):
                if not side[part.sinks].all():
                    self._add(part, side)

    def bound(self, solution: Certificate) -> Fraction:
        """Return what no trees of these families exceed: the optimum of the sets that are known, if it is proven."""
        if solution.proven:
            return sum((solution.columns[at] for at in self.total.tolist()), Fraction(0))
        least = self.program.bound(_SCALES)
        if least is None:
            raise TooLargeError("the bandwidths are too far apart to find the best allreduce; round them")
        return -least

    def _reached(self, values: IntArray, scale: Fraction) -> InNetworkOptimum:
        del scale
        shares = self._even([np.maximum(values[part.share], 0) for part in self.parts])
        live = [(part, share) for part, share in zip(self.parts, shares, strict=True) if share.any()]
        if not live:
            raise InfeasibleError("there are no trees")
        flows = [balanced_part(part.graph, np.maximum(values[part.flow], 0)) for part, _ in live]
        ratio = max(worst_ratio(part.graph, flow, share) for (part, share), flow in zip(live, flows, strict=True))
        ratio = max(ratio, Fraction(1))
        divisor = np.gcd.reduce(np.concatenate([*flows, *(share for _, share in live)]))
        times = ratio.numerator, ratio.denominator
        if max(int(flow.max()) for flow in flows) // divisor * times[0] >= 2**31:
            raise TooLargeError("the trees are too thin")
        flows = [flow // divisor * times[0] for flow in flows]
        used = np.zeros(len(self.topology.src), dtype=np.int64)
        for (part, _), flow in zip(live, flows, strict=True):
            used[part.order] += flow
        pressure = max(map(Fraction, used.tolist(), self.topology.capacity.tolist()))
        families = []
        for (part, share), flow in zip(live, flows, strict=True):
            numbers = (share // divisor * times[1]).tolist()
            split = remove_switches(with_capacity(part.graph, flow), numbers)
            families.append(Family(part.phase, part.relays, tuple(numbers), split))
        reached = sum(sum(one.roots) for one in families if one.phase == "broadcast") / pressure
        return InNetworkOptimum(reached, reached, reached, tuple(families), 1 / pressure)

    def _even(self, shares: list[IntArray]) -> list[IntArray]:
        """Return shares of the families, lowered so that every root has as many in both phases."""
        sums = {phase: np.zeros(self.topology.nodes, dtype=np.int64) for phase in PHASES}
        for part, share in zip(self.parts, shares, strict=True):
            sums[part.phase][part.vertices] += share
        least = np.minimum(*sums.values())
        spare = {phase: whole - least for phase, whole in sums.items()}
        result = []
        for part, share in zip(self.parts, shares, strict=True):
            less = np.minimum(share, spare[part.phase][part.vertices])
            spare[part.phase][part.vertices] -= less
            result.append(share - less)
        return result

    def _add_violated(self, values: IntArray, scale: Fraction, slack: float) -> int:
        del scale
        added = 0
        for part in self.parts:
            share, flow = np.maximum(values[part.share], 0), np.maximum(values[part.flow], 0)
            for side in violated_cuts(part.graph, flow, share, ends=part.sinks):
                wanted = int(share[side[part.vertices]].sum())
                if wanted - int(flow[crossing(part.graph, side)].sum()) > slack:
                    added += self._add(part, side)
        return added

    def _add(self, part: _Part, side: Side) -> bool:
        """Add the row of a set of a family, x(S) - c(out of S) <= 0; return whether it is new."""
        if side.tobytes() in part.rows:
            return False
        part.rows.add(side.tobytes())
        inside, links = part.share[side[part.vertices]], part.flow[crossing(part.graph, side)]
        columns = np.concatenate((inside, links))
        value = np.where(np.arange(len(columns)) < len(inside), 1, -1)
        self.program.add_rows(1, Entries(np.zeros_like(columns), columns, value), upper=0)
        return True


# -- trees that are cheap at the prices of a solution ------------------------------------------------------------------


class _Prices:
    """Prices of links and worths of roots, in whole numbers, and what trees cost with them.

    Nothing depends on where the prices are from: whatever they are, all trees of a throughput X cost X times the
    cheapest pair of an in-tree and an out-tree with the same root at least, and no more than all links together.
    """

    def __init__(self, program: _Cuts, solution: Certificate) -> None:
        self.topology, self.nodes, self.known = program.topology, program.nodes, program.known
        prices = [max(-solution.prices[row], Fraction(0)) for row in program.price.tolist()]
        worths = [[solution.prices[row] for row in program.worth[phase].tolist()] for phase in PHASES]
        scale = Fraction(common_denominator(prices))
        if scale * max(prices) * self.topology.nodes >= _PRICE:
            scale = _PRICE / (max(prices) * self.topology.nodes)
        self.prices = np.array([round(price * scale) for price in prices], dtype=np.int64)
        self.worth = {
            phase: {root: max(-_PRICE, min(int(of[at] * scale), _PRICE)) for root, at in program.roots.items()}
            for phase, of in zip(PHASES, worths, strict=True)
        }
        widest, capacity = int(program.topology.capacity.max()), program.topology.capacity
        spent = np.minimum(-(-widest // capacity), _FINE // self.topology.nodes - 1)
        self.costs = self.prices * _FINE + spent  # of trees that cost the same, those that take less are better

    def bound(self, powers: Powers, able: frozenset[int]) -> Fraction:
        """Return what the prices prove, by the cheapest trees of all sets of relays; these switches may be roots."""
        roots = [*self.nodes.tolist(), *sorted(able)]
        pair = np.zeros(len(roots), dtype=np.int64)
        for phase, power in powers.items():
            least = np.full(len(roots), _NEVER)
            for relays in _subsets(power):
                for at, root in enumerate(roots):
                    ways, vertices = self._ways(phase, relays | (able & {root}), self.prices)
                    least[at] = min(least[at], _cheapest_tree(ways, vertices.index(root)))
            pair += np.minimum(least, _NEVER)
        cheapest = int(pair.min())
        if not cheapest:
            return Fraction(LARGEST)
        return Fraction(sum(map(int.__mul__, self.prices.tolist(), self.topology.capacity.tolist())), cheapest)

    def cheap(self, powers: Powers) -> list[tuple[Phase, frozenset[int]]]:
        """Return families that have a tree which costs less than its root is worth, and are not known."""
        found: dict[tuple[Phase, frozenset[int]], int] = {}
        for phase, power in powers.items():
            if len(power) <= MOST_TRIED:
                gains = {relays: self._gain(phase, relays) for relays in _subsets(power)}
            else:
                gains = self._improved(phase, power)
            found |= {(phase, relays): gain for relays, gain in gains.items() if gain > 0}
        order = sorted(found, key=lambda one: (-found[one], len(one[1]), sorted(one[1]), one[0]))
        both = [(phase, relays) for _, relays in order for phase in PHASES if relays <= powers[phase]]
        return [one for one in dict.fromkeys(both) if one not in self.known][:_MOST_FAMILIES]

    def _improved(self, phase: Phase, power: frozenset[int]) -> dict[frozenset[int], int]:
        """Return sets of relays that no switch more or less makes better, found from none, from all and from each."""
        gains: dict[frozenset[int], int] = {}

        def gain(relays: frozenset[int]) -> int:
            if relays not in gains:
                gains[relays] = self._gain(phase, relays)
            return gains[relays]

        best = {}
        for start in (frozenset(), power, *(frozenset({one}) for one in sorted(power))):
            at = start
            while True:
                near = max((at ^ {one} for one in sorted(power)), key=gain)
                if gain(near) <= gain(at):
                    break
                at = near
            best[at] = gain(at)
        return best

    def _gain(self, phase: Phase, relays: frozenset[int]) -> int:
        """Return by how much the best root is worth more than its cheapest tree."""
        ways, vertices = self._ways(phase, relays, self.costs)
        count, dear = len(vertices), 2 * _PRICE * _FINE  # so dear that there is one root
        every = np.full((count + 1, count + 1), _NEVER)
        every[:count, :count] = ways
        for at, vertex in enumerate(vertices):
            if vertex in self.worth[phase]:
                every[count, at] = dear - _FINE * self.worth[phase][vertex]
        return dear - _cheapest_tree(every, count)

    def _ways(self, phase: Phase, relays: frozenset[int], cost: IntArray) -> tuple[IntArray, list[int]]:
        """Return what ways between vertices of trees through other switches cost, away from the root."""
        topology = self.topology
        src, dst = (topology.src, topology.dst)[:: 1 if phase == "broadcast" else -1]
        ways = np.full((topology.nodes, topology.nodes), _NEVER)
        ways[src, dst] = cost
        for switch in sorted(topology.switches - relays):
            np.minimum(ways, ways[:, switch, None] + ways[None, switch, :], out=ways)
        np.minimum(ways, _NEVER, out=ways)
        vertices = [v for v in range(topology.nodes) if v not in topology.switches or v in relays]
        return ways[np.ix_(vertices, vertices)], vertices


def _cheapest_tree(cost: IntArray, root: int) -> int:
    """Return the cost of the cheapest spanning out-tree (Chu and Liu 1965, Edmonds 1967), ``_NEVER`` if there is none.

    Every vertex takes its cheapest link in, whose cost all its links in give up; circles of these become one vertex.
    """
    total = 0
    while True:
        count = len(cost)
        every = np.arange(count)
        cost = cost.copy()
        cost[every, every] = _NEVER
        parent = cost.argmin(axis=0)
        least = cost[parent, every]
        least[root] = 0
        if least.max() >= _NEVER:
            return _NEVER
        total += int(least.sum())
        parent[root] = root
        end = parent
        for _ in range(count.bit_length()):
            end = end[end]
        on_circle = np.zeros(count, dtype=bool)
        on_circle[end] = True
        on_circle[root] = False
        if not on_circle.any():
            return total
        lowest = np.where(on_circle, every, count)
        step = np.where(on_circle, parent, every)
        for _ in range(count.bit_length()):
            lowest, step = np.minimum(lowest, lowest[step]), step[step]
        label = np.unique(np.where(on_circle, lowest, every), return_inverse=True)[1]
        cost = np.where(cost < _NEVER, cost - least, _NEVER)
        merged = np.full((int(label.max()) + 1,) * 2, _NEVER)
        np.minimum.at(merged, (label[:, None], label[None, :]), cost)
        cost, root = merged, int(label[root])
