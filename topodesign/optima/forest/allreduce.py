"""The best allreduce by trees of any kind, with its proof.

ForestColl, appendix F. Every node v may be the root of any share x(v) of the data, and reduction and broadcast may
divide the links between them as they like, at the same time. Each phase has a capacity on every link, b(e) and r(e),
and as much of it goes into each switch as comes out. Then switches can be removed without loss
(:mod:`topodesign.optima.forest.switch_removal`), and the throughput is the optimum of

    max X = sum of x   with   b(links out of S) >= x(S)  and  r(links into S) >= x(S)   for every set S of vertices but
                              some compute node,  b + r <= c on every link,  b and r balanced at every switch.

One linear program holds the sets that turned out to matter, and is solved again from where it was whenever maximum
flows find more. It ends with fractions that are proven optimal for these sets, and maximum flows in integers decide
whether they are for all. Its prices bound X from above, as anyone can check: with weights of sets, every compute node
in sets of weight one together, and link prices such that the cheapest way through switches from compute node u to v
costs at least the weight of the broadcast sets that have u and not v, and at least that of the reduction sets that have
v and not u, X is at most the price of all links.

One such proof needs no program. If m disjoint sets of vertices have all compute nodes in them, all data cross into (or
all out of) every set twice, but for the shares of its own roots: X is at most the capacity of the links into all of
them over 2 (m - 1). If every node is in a bottleneck of the allgather, such as its box, that is what a reduce-scatter
followed by an allgather reaches. It holds for any number of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import compress, pairwise
from typing import Literal

import numpy as np

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.optima.forest.balance import switch_balance
from topodesign.optima.forest.bottleneck import optimum, with_capacity
from topodesign.optima.forest.switch_removal import check_balance, remove_switches
from topodesign.solve import flow_kernels
from topodesign.solve.certificate import Certificate, common_denominator
from topodesign.solve.maxflow import (
    LARGEST,
    Side,
    balance_switches,
    compute_nodes,
    crossing,
    iterate_violated_cuts,
    make_rooted_network,
    scale_capped,
    sum_demand,
    surplus,
    worst_ratio,
)
from topodesign.solve.program import Entries, Program
from topodesign.topology.topology import IntArray, Topology

Phase = Literal["broadcast", "reduction"]
PHASES: tuple[Phase, ...] = ("broadcast", "reduction")
Path = tuple[int, ...]  # A compute node, switches, a compute node
Cut = tuple[Phase, frozenset[int]]  # compute nodes whose shares a broadcast must let out, or a reduction must let in

_Bound = tuple[Fraction, dict[Cut, Fraction], tuple[Fraction, ...]]
"""A bound on the throughput, with the weights and prices that prove it."""
_Halves = Mapping[Phase, tuple[Topology, tuple[int, ...], Fraction]]
"""By phase, as a broadcast: balanced capacities, how much each compute node is the root of, and how many times as much
that is as the fabric has."""
_Reached = tuple[Fraction, tuple[Fraction, ...], _Halves]
"""A throughput, with the shares of the roots and the capacities that reach it."""

MAX_NODES = 128  # compute nodes up to which the linear program is solved
_ROUNDS = 1000
_GRID = 2**24  # as long as integers on a grid find cuts, they do; then the fractions that are optimal decide
_SLACK = 1e-7


@dataclass(frozen=True)
class AllreduceRate:
    """An allreduce rate: M bytes take ``M / (throughput * unit)``."""

    throughput: Fraction  # what can be reached, exactly
    bound: Fraction  # what no allreduce beats that goes through trees of compute nodes (and of capable switches)
    composed: Fraction  # what a reduce-scatter and then an allgather reach: N over the sum of the 1/x* of both

    @property
    def exact(self) -> bool:
        """Whether what can be reached and the bound are the same."""
        return self.throughput == self.bound


@dataclass(frozen=True)
class AllreduceOptimum(AllreduceRate):
    """The best allreduce through trees, proven by sets and prices."""

    roots: tuple[Fraction, ...]  # share of the data that each compute node, ascending, is the root of
    cuts: Mapping[Cut, Fraction]  # sets and their weights, which together with the prices prove the bound
    prices: tuple[Fraction, ...]  # one for every link of the topology
    halves: _Halves  # what each phase has of the links, which reaches ``throughput``; empty where that is ``composed``

    @cached_property
    def traffic(self) -> Mapping[Phase, Mapping[Path, Fraction]]:
        """Bandwidth over each used path, by phase, without switches.

        That costs more than all else, and by Theorem 7 it always succeeds, so that only schedules ask for it.
        """
        found: dict[Phase, dict[Path, Fraction]] = {}
        for phase, (graph, share, pressure) in self.halves.items():
            split = remove_switches(graph, share)
            paths = found[phase] = {}
            for amount, (begin, end) in zip(
                split.route_amount.tolist(), pairwise(split.hop_start.tolist()), strict=True
            ):
                path = tuple(split.hop[begin:end].tolist())
                paths[path if phase == "broadcast" else path[::-1]] = amount / pressure
        return found


def allreduce_optimum(topology: Topology) -> AllreduceOptimum:
    """Compute the throughput of the best allreduce through trees.

    ForestColl, appendix F, linear program (6), with cuts in the place of its flows, and the removal of switches in that
    of its multi-commodity flow between compute nodes. Beyond ``MAX_NODES`` compute nodes no program is solved: then it
    is ``composed``, with the bound that disjoint sets prove.
    """
    nodes = [int(node) for node in compute_nodes(topology)]
    times = [optimum(graph).inverse_rate for graph in (topology, topology.transpose())]
    composed = len(nodes) / sum(times, Fraction(0))
    throughput, roots = composed, tuple(Fraction(1, len(nodes)) for _ in nodes)
    halves: _Halves = {}
    bounds: list[_Bound] = []
    for found in _bound_disjoint(topology, nodes, times):
        bounds.append(found)
        if found[0] == composed:  # none is lower
            break
    bound, cuts, prices = min(bounds, key=lambda one: one[0])
    if bound == composed or len(nodes) > MAX_NODES:
        return AllreduceOptimum(throughput, bound, composed, roots, cuts, prices, halves)
    program = _Cuts(topology)
    solution = program.settle(composed, bound)
    bound, cuts, prices = min((bound, cuts, prices), program.bound(solution), key=lambda one: one[0])
    if bound > composed:
        known = throughput, roots, halves
        throughput, roots, halves = max(known, *program.read_throughputs(solution), key=lambda one: one[0])
    return AllreduceOptimum(throughput, bound, composed, roots, cuts, prices, halves)


def compute_composed_rate(topology: Topology) -> Fraction:
    """Return the rate of reduce-scatter and then allgather."""
    times = [optimum(graph).inverse_rate for graph in (topology, topology.transpose())]
    return (topology.nodes - len(topology.switches)) / sum(times, Fraction(0))


def not_looked_for(topology: Topology) -> str:
    """Return what is not computed at a size, if anything."""
    count = topology.nodes - len(topology.switches)
    if count <= MAX_NODES:
        return ""
    above = f"above {MAX_NODES} nodes, here {count}"
    return f"by cuts alone: {above}, trees are looked for of one phase after the other"


# -- a proof without a program ----------------------------------------------------------------------------------------


def _bound_disjoint(topology: Topology, nodes: list[int], times: Sequence[Fraction]) -> Iterator[_Bound]:
    """Yield bounds from disjoint sets with all compute nodes.

    The sets are bottlenecks of the allgather (links into them count) or of the reduce-scatter (links out of them), the
    smallest or the largest first as far as they are disjoint, and the nodes that are left.
    """
    inward = list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    outward = [(v, u) for u, v in inward]
    for graph, time, ways in ((topology, times[0], inward), (topology.transpose(), times[1], outward)):
        tight = _tight_sets(graph, nodes, time)
        for largest_first in (False, True):
            place: dict[int, int] = {}
            count = 0
            for one in (*sorted(tight, key=len, reverse=largest_first), *({node} for node in nodes)):
                if place.keys().isdisjoint(one):
                    place |= dict.fromkeys(one, count)
                    count += 1
            weight, nothing = Fraction(1, 2 * (count - 1)), Fraction(0)
            crosses = [v in place and place[v] != place.get(u) for u, v in ways]
            prices = tuple(weight if cut else nothing for cut in crosses)
            bound = weight * sum(topology.capacity[crosses].tolist())
            team = np.array([place[node] for node in nodes])
            sides = [frozenset(compress(nodes, (team != at).tolist())) for at in range(count)]
            yield bound, {(phase, side): weight for phase in PHASES for side in sides}, prices


def _tight_sets(topology: Topology, nodes: list[int], time: Fraction) -> list[frozenset[int]]:
    """Return the smallest tight sets around nodes for an allgather."""
    demand = scale_capped(np.ones(len(nodes), dtype=np.int64), time.denominator)
    network = make_rooted_network(topology, scale_capped(topology.capacity, time.numerator), demand)
    rows = flow_kernels.least_tight_sets(network, np.array(nodes), int(demand.sum()))
    different = {row.tobytes(): row for row in rows}.values()  # nodes of a box have one set
    return list(dict.fromkeys(frozenset(np.flatnonzero(row).tolist()) for row in different if not row[nodes].all()))


# -- the program ------------------------------------------------------------------------------------------------------


class _Cuts:
    """The linear program of the sets that are known.

    Its columns are x, then b, then what neither phase uses, and r is the rest of c. Nothing is unused where capacities
    are balanced at all switches: the reduction may as well take what the broadcast leaves.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology, self.back = topology, topology.transpose()
        self.turned = np.lexsort((topology.src, topology.dst))  # places of links of the transpose
        self.nodes = compute_nodes(topology)
        links, capacity = len(topology.src), topology.capacity
        self.program = program = Program(unit=int(capacity.max()))
        self.total = program.add_columns(len(self.nodes), cost=-1)
        self.out = program.add_columns(links, upper=capacity)
        excess = surplus(topology, capacity)
        self.unused = program.add_columns(links, upper=capacity if excess.any() else 0)
        balance = switch_balance(topology)
        switch, link = np.nonzero(balance)
        self.potential = [
            program.add_rows(len(balance), Entries(switch, part[link], balance[switch, link]), lower=more, upper=more)
            for part, more in ((self.out, 0), (self.unused, excess))
        ]
        both = Entries(np.tile(np.arange(links), 2), np.concatenate((self.out, self.unused)), 1)
        program.add_rows(links, both, upper=capacity)
        self.rows: dict[tuple[Phase, bytes], int] = {}
        for node in self.nodes.tolist():
            for side in (np.arange(topology.nodes) == node, np.arange(topology.nodes) != node):
                for phase in PHASES:
                    self._add(phase, side)

    def settle(self, known: Fraction, bound: Fraction) -> Certificate:
        """Solve and add cuts until none is violated or none can help."""
        scale = Fraction(_GRID) / bound
        for _ in range(_ROUNDS):
            self.program.solve()
            values = self.program.values(scale)
            more_is_left = int(values[self.total].sum()) > known * scale + len(values)
            if more_is_left and self._add_violated(values, scale, _GRID * _SLACK + len(values)):
                continue
            solution = self.program.certificate()
            whole = _whole(solution.columns)
            if not solution.proven or sum(solution.columns[at] for at in self.total.tolist()) <= known or whole is None:
                return solution
            if not self._add_violated(*whole, 0):
                return solution
        return self.program.certificate()

    def read_throughputs(self, solution: Certificate) -> Iterator[_Reached]:
        """Yield exactly feasible throughputs of a solution."""
        scale = Fraction(_GRID) / max(solution.columns)
        rounded = np.array([int(value * scale) for value in solution.columns], dtype=np.int64), scale
        for whole in (_whole(solution.columns), rounded):
            try:
                if whole is not None:
                    yield self._read_throughput(*whole)
                    return
            except (InfeasibleError, TooLargeError):
                continue

    def bound(self, solution: Certificate) -> _Bound:
        """Return a valid throughput bound from any prices, with its proof.

        Prices of sets are weights, scaled to one for the node that has least; those of switches are potentials, whose
        differences add up to nothing on the way from node to node.
        """
        topology, nodes = self.topology, set(self.nodes.tolist())
        weight: dict[Cut, Fraction] = {}
        price = self._potentials(solution)
        for (phase, key), row in self.rows.items():
            if (worth := -solution.prices[row]) > 0:
                side = np.frombuffer(key, dtype=bool)
                inside = frozenset(np.flatnonzero(side).tolist()) & nodes
                weight[phase, inside] = weight.get((phase, inside), Fraction(0)) + worth
                for link in np.flatnonzero(self._crossing(phase, side)).tolist():
                    price[phase][link] += worth
        least = min(sum((w for (_, side), w in weight.items() if node in side), Fraction(0)) for node in nodes)
        if not least:
            raise TooLargeError("the bandwidths are too far apart to find the best allreduce; round them")
        prices = tuple(max(*both, Fraction(0)) / least for both in zip(*price.values(), strict=True))
        bound = sum(map(Fraction.__mul__, prices, map(Fraction, topology.capacity.tolist())), Fraction(0))
        return bound, {cut: value / least for cut, value in weight.items()}, prices

    def _read_throughput(self, values: IntArray, scale: Fraction) -> _Reached:
        share, out, into = self._parts(values, scale)
        graphs, parts = (self.topology, self.back), (out, into)
        balanced = [balance_switches(graph, part) for graph, part in zip(graphs, parts, strict=True)]
        ratio = max(worst_ratio(graph, part, share) for graph, part in zip(graphs, balanced, strict=True))
        share = np.array([int(one / ratio) for one in share.tolist()], dtype=np.int64)
        used = balanced[0].copy()
        used[self.turned] += balanced[1]
        pressure = max(map(Fraction, used.tolist(), self.topology.capacity.tolist()))
        halves: dict[Phase, tuple[Topology, tuple[int, ...], Fraction]] = {}
        for phase, graph, part in zip(PHASES, graphs, balanced, strict=True):
            half = with_capacity(graph, part)
            check_balance(half)
            halves[phase] = half, tuple(share.tolist()), pressure
        total = int(share.sum())
        return total / pressure, tuple(Fraction(one, total) for one in share.tolist()), halves

    def _parts(self, values: IntArray, scale: Fraction) -> tuple[IntArray, IntArray, IntArray]:
        """Return shares, and capacities of both phases."""
        out = np.maximum(values[self.out], 0)
        spent = out + np.maximum(values[self.unused], 0)
        most = np.array([int(capacity * scale) for capacity in self.topology.capacity.tolist()], dtype=np.int64)
        return np.maximum(values[self.total], 0), out, np.maximum(most - spent, 0)[self.turned]

    def _add_violated(self, values: IntArray, scale: Fraction, slack: float) -> int:
        share, out, into = self._parts(values, scale)
        added = 0
        for phase, graph, capacity in zip(PHASES, (self.topology, self.back), (out, into), strict=True):
            for side in iterate_violated_cuts(graph, capacity, share):
                if sum_demand(graph, share, side) - int(capacity[crossing(graph, side)].sum()) > slack:
                    added += self._add(phase, side)
        return added

    def _add(self, phase: Phase, side: Side) -> bool:
        """Add the row of a vertex set; return whether it is new."""
        if (phase, side.tobytes()) in self.rows:
            return False
        inside, links = self.total[side[self.nodes]], np.flatnonzero(self._crossing(phase, side))
        if phase == "broadcast":
            columns, signs, most = self.out[links], -1, 0
        else:
            columns = np.concatenate((self.out[links], self.unused[links]))
            signs, most = 1, int(self.topology.capacity[links].sum())
        columns = np.concatenate((inside, columns))
        value = np.where(np.arange(len(columns)) < len(inside), 1, signs)
        row = self.program.add_rows(1, Entries(np.zeros_like(columns), columns, value), upper=most)
        self.rows[phase, side.tobytes()] = int(row[0])
        return True

    def _crossing(self, phase: Phase, side: Side) -> Side:
        """Return the links out of a set, or into it in a reduction."""
        return crossing(self.topology, side if phase == "broadcast" else ~side)

    def _potentials(self, solution: Certificate) -> dict[Phase, list[Fraction]]:
        """Return the potential difference of every link, by phase.

        Only switches have one. A reduction is what the other columns leave, so their prices count against it.
        """
        balance = switch_balance(self.topology)
        rises = []
        for rows in self.potential:
            rise = [Fraction(0)] * balance.shape[1]
            for switch, link in np.argwhere(balance).tolist():
                rise[link] += int(balance[switch, link]) * solution.prices[rows[switch]]
            rises.append(rise)
        own, unused = rises
        return {
            "broadcast": [one - other for one, other in zip(own, unused, strict=True)],
            "reduction": [-other for other in unused],
        }


def _whole(columns: Sequence[Fraction]) -> tuple[IntArray, Fraction] | None:
    """Return integer columns and their scale; None beyond 64 bits."""
    common = common_denominator(columns)
    if common * sum(columns) >= LARGEST:
        return None
    return np.array([int(value * common) for value in columns], dtype=np.int64), Fraction(common)
