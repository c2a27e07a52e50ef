"""The best allreduce by trees of any kind, and whether a reduce-scatter followed by an allgather reaches it.

ForestColl, appendix F. Every node v may be the root of any share x(v) of the data, and reduction and broadcast may
divide the links between them as they like, at the same time. Data go from compute node to compute node over paths
through switches. With y(p) and z(p) the broadcast and the reduction traffic of path p, the throughput is the optimum of

    max X = sum of x   with   y(paths out of B) >= x(B)  and  z(paths into B) >= x(B)   for every set B of compute
                              nodes but not all, and y + z over all paths through e <= b(e)   for every link e.

Sets are found by maximum flows and paths by cheapest ways, as they are needed; a solver of floats finds the numbers,
and none of them is believed. Rounded to fractions, its solution is checked by exact flows and scaled until it is
feasible; and its prices bound X from above by the duality of linear programs: with weights of sets, every node in sets
of weight one together, and link prices such that the cheapest way from u to v costs at least the weight of the
broadcast sets that the way leaves and at least that of the reduction sets that it enters, X is at most the price of all
links.

One such proof needs no program. If m disjoint sets of vertices have all compute nodes in them, all data cross into (or
all out of) every set twice, but for the shares of its own roots: X is at most the capacity of the links into all of
them over 2 (m - 1). If every node is in a bottleneck of the allgather, such as its box, that is what a reduce-scatter
followed by an allgather reaches. It holds for any number of nodes.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.forest.optimum import optimum
from topodesign.solve.maxflow import compute_nodes, rooted_network, scaled, violated_cuts
from topodesign.topology.topology import MAX_CAPACITY, Topology

Phase = Literal["broadcast", "reduction"]
PHASES: tuple[Phase, ...] = ("broadcast", "reduction")
Path = tuple[int, ...]
"""A compute node, switches, a compute node."""
Cut = tuple[Phase, frozenset[int]]
"""Compute nodes whose shares a broadcast must let out, or a reduction must let in."""

_Bound = tuple[Fraction, dict[Cut, Fraction], tuple[Fraction, ...]]
"""A bound on the throughput, with the weights and prices that prove it."""

MOST_NODES = 64
"""Compute nodes up to which the linear program is solved."""

_ROUNDS = 300
_DENOMINATORS = (12, 60, 1000)  # tried for the numbers of the solver; at last multiples of 1 / _GRID
_GRID = 2**24
_SLACK = 1e-7
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class AllreduceOptimum:
    """How fast an allreduce can be, in units of capacity: M bytes take ``M / (throughput * unit)``.

    Attributes
    ----------
    throughput
        What can be reached, exactly.
    bound
        What no allreduce beats that goes through trees of compute nodes.
    composed
        What a reduce-scatter followed by an allgather reaches: N over the sum of the 1/x* of both.
    roots
        Share of the data that each compute node, ascending, is the root of.
    traffic
        Bandwidth over every path in use, by phase, which reaches ``throughput``; empty where that is ``composed``.
    cuts
        The sets that bind and their weights, which together with ``prices`` prove the bound.
    prices
        One for every link of the topology.
    """

    throughput: Fraction
    bound: Fraction
    composed: Fraction
    roots: tuple[Fraction, ...]
    traffic: Mapping[Phase, Mapping[Path, Fraction]]
    cuts: Mapping[Cut, Fraction]
    prices: tuple[Fraction, ...]

    @property
    def exact(self) -> bool:
        """Whether what can be reached and the bound are the same."""
        return self.throughput == self.bound

    @property
    def composed_is_best(self) -> bool:
        """Whether it is proven that nothing beats a reduce-scatter followed by an allgather."""
        return self.composed == self.bound


def allreduce_optimum(topology: Topology) -> AllreduceOptimum:
    """Return the throughput of the best allreduce through trees, with a proof that none is better.

    Parameters
    ----------
    topology
        Compute nodes, and switches that only forward. For more than ``MOST_NODES`` compute nodes no linear program is
        solved: ``throughput`` is ``composed``, with the bound that disjoint sets prove.

    Raises
    ------
    TopologyError, InfeasibleError, TooLargeError
        As :func:`topodesign.forest.optimum.optimum`.

    Notes
    -----
    ForestColl, appendix F, linear program (6), with cuts in the place of its flows and paths in that of its
    multi-commodity flow.
    """
    nodes = [int(node) for node in compute_nodes(topology)]
    times = [optimum(graph).inverse_rate for graph in (topology, topology.transpose())]
    composed = len(nodes) / sum(times, Fraction(0))
    throughput, roots = composed, tuple(Fraction(1, len(nodes)) for _ in nodes)
    traffic: dict[Phase, dict[Path, Fraction]] = {}
    bounds = list(_apart(topology, nodes, times))
    bound, cuts, prices = min(bounds, key=lambda one: one[0])
    if bound == composed or len(nodes) > MOST_NODES:
        return AllreduceOptimum(throughput, bound, composed, roots, traffic, cuts, prices)
    solution = _solve(topology, nodes, float(composed))
    bound, cuts, prices = min((*bounds, *_bounds(topology, nodes, solution)), key=lambda one: one[0])
    if bound > composed:
        throughput, roots, traffic = max(
            [(throughput, roots, traffic), *_feasible(topology, nodes, solution)], key=lambda one: one[0]
        )
    return AllreduceOptimum(throughput, bound, composed, roots, traffic, cuts, prices)


@dataclass(frozen=True, eq=False)
class _Solution:
    """What the solver says, in floats: share of every node, traffic of paths, weight of sets, price of links."""

    share: NDArray[np.float64]
    traffic: dict[tuple[Phase, Path], float]
    weight: dict[Cut, float]
    price: NDArray[np.float64]


# -- the solver -------------------------------------------------------------------------------------------------------


def _solve(topology: Topology, nodes: list[int], known: float) -> _Solution:
    """Solve with some sets and paths and add what is violated, until nothing is (or, without an end, for long).

    More sets only lower the result, so it is also enough if it is no more than what is known to be reached.
    """
    everyone = frozenset(nodes)
    cuts: dict[Cut, None] = {}
    for node in nodes:
        cuts |= dict.fromkeys((phase, side) for phase in PHASES for side in (frozenset({node}), everyone - {node}))
    paths = dict.fromkeys(_ways(topology, nodes, 1 / topology.capacity).values())
    paths |= dict.fromkeys(_ways(topology, nodes, np.ones(len(topology.src))).values())
    paths |= {(u, v): None for u, v, _ in topology.links() if u != v and {u, v} <= everyone}
    for _ in range(_ROUNDS):
        solution = _linear_program(topology, nodes, list(cuts), list(paths))
        more = dict.fromkeys(cut for phase in PHASES for cut in _violated(nodes, solution, phase))
        worth = {pair: max(costs) for pair, costs in _leaving(nodes, solution.weight).items()}
        cheap = {
            way: None
            for pair, way in _ways(topology, nodes, solution.price).items()
            if _price(topology, solution.price, way) < worth[pair] - _SLACK and way not in paths
        }
        enough = not more.keys() - cuts.keys() or float(solution.share.sum()) <= known * (1 + _SLACK)
        if enough and not cheap:
            break
        cuts |= more
        paths |= cheap
    return solution


def _linear_program(topology: Topology, nodes: list[int], cuts: list[Cut], paths: list[Path]) -> _Solution:
    """Solve with these sets and paths; of the best solutions take one with most traffic, which other sets bind less."""
    from scipy.optimize import linprog  # noqa: PLC0415  heavy
    from scipy.sparse import coo_array, vstack  # noqa: PLC0415

    columns = [(phase, path) for path in paths for phase in PHASES]
    entries = [(row, at, 1.0) for row, (_, side) in enumerate(cuts) for at, node in enumerate(nodes) if node in side]
    inside = np.array([[node in side for _, side in cuts] for node in range(topology.nodes)])
    reduces = np.array([phase == "reduction" for phase, _ in cuts])
    for column, (phase, path) in enumerate(columns, len(nodes)):
        first, last = (path[-1], path[0]) if phase == "reduction" else (path[0], path[-1])
        crossed = inside[first] & ~inside[last] & (reduces == (phase == "reduction"))
        entries += [(row, column, -1.0) for row in np.flatnonzero(crossed).tolist()]
        entries += [(len(cuts) + link, column, 1.0) for link in _links(topology, path)]
    rows, places, factors = zip(*entries, strict=True)
    shape = len(cuts) + len(topology.src), len(nodes) + len(columns)
    matrix = coo_array((factors, (rows, places)), shape=shape).tocsr()
    limits = np.r_[np.zeros(len(cuts)), topology.capacity.astype(float)]
    shares = np.r_[np.ones(len(nodes)), np.zeros(len(columns))]
    result = linprog(-shares, A_ub=matrix, b_ub=limits, method="highs")
    dual = np.maximum(-result.ineqlin.marginals, 0)
    kept = vstack((matrix, coo_array(-shares[None, :]))).tocsr()
    full = linprog(shares - 1, A_ub=kept, b_ub=np.r_[limits, result.fun * (1 - _TOLERANCE)], method="highs-ds")
    values = np.maximum(result.x if full.x is None else full.x, 0)
    return _Solution(
        values[: len(nodes)],
        dict(zip(columns, values[len(nodes) :].tolist(), strict=True)),
        dict(zip(cuts, dual[: len(cuts)].tolist(), strict=True)),
        dual[len(cuts) :],
    )


def _violated(nodes: list[int], solution: _Solution, phase: Phase) -> list[Cut]:
    """Return sets that let out (or in) clearly less than their shares, one for every node that goes short."""
    total = _between(solution.traffic, phase)
    unit = _GRID / float(solution.share.sum())
    graph = _logical(nodes, total, phase)
    amount = {(nodes.index(u), nodes.index(v)): value for (u, v), value in total.items()}
    capacity = np.array([int(amount[u, v] * unit) for u, v in _pairs(graph, phase)], dtype=np.int64)
    demand = (solution.share * unit).astype(np.int64)
    found = []
    for side in violated_cuts(graph, capacity, demand):
        out = side[graph.src] & ~side[graph.dst]
        if demand[side].sum() - capacity[out].sum() > _GRID * _SLACK + len(capacity):
            found.append((phase, frozenset(nodes[at] for at in np.flatnonzero(side).tolist())))
    return found


def _between(traffic: Mapping[tuple[Phase, Path], Any], phase: Phase) -> dict[tuple[int, int], Any]:
    """Return the traffic of one phase from node to node."""
    total: dict[tuple[int, int], Any] = {}
    for (kind, path), value in traffic.items():
        if kind == phase and value:
            total[path[0], path[-1]] = total.get((path[0], path[-1]), 0) + value
    return total


def _logical(
    nodes: list[int], total: Mapping[tuple[int, int], Any], phase: Phase, capacity: Sequence[int] | None = None
) -> Topology:
    """Return the graph of compute nodes, counted from 0, in which sets must let out their shares."""
    place = {node: at for at, node in enumerate(nodes)}
    src, dst = (np.array([place[pair[end]] for pair in total], dtype=np.int64) for end in (0, 1))
    if phase == "reduction":
        src, dst = dst, src
    return Topology.from_arrays(len(nodes), src, dst, None if capacity is None else np.array(capacity, dtype=np.int64))


def _pairs(graph: Topology, phase: Phase) -> list[tuple[int, int]]:
    """Return the links of a logical graph in the direction of the data."""
    return [(v, u) if phase == "reduction" else (u, v) for u, v, _ in graph.links()]


# -- paths and their prices -------------------------------------------------------------------------------------------


def _ways(topology: Topology, nodes: list[int], price: Sequence[Any] | NDArray[Any]) -> dict[tuple[int, int], Path]:
    """Return the cheapest way from each compute node to each other one that is reached through switches alone."""
    ways = {}
    for root in nodes:
        cost: dict[int, Any] = {root: 0}
        before = {root: root}
        queue: list[tuple[Any, int]] = [(0, root)]
        while queue:
            spent, at = heapq.heappop(queue)
            if spent > cost[at] or (at != root and at not in topology.switches):
                continue
            for link in range(int(topology.indptr[at]), int(topology.indptr[at + 1])):
                to, total = int(topology.dst[link]), spent + price[link]
                if to not in cost or total < cost[to]:
                    cost[to], before[to] = total, at
                    heapq.heappush(queue, (total, to))
        for node in nodes:
            if node in before and node != root:
                way = [node]
                while way[-1] != root:
                    way.append(before[way[-1]])
                ways[root, node] = tuple(way[::-1])
    return ways


def _links(topology: Topology, path: Path) -> list[int]:
    """Return the links that a path goes over."""
    return [
        int(topology.indptr[u] + np.searchsorted(topology.dst[topology.indptr[u] : topology.indptr[u + 1]], v))
        for u, v in pairwise(path)
    ]


def _price(topology: Topology, price: Sequence[Any] | NDArray[Any], path: Path) -> Any:
    return sum(price[link] for link in _links(topology, path))


def _leaving(nodes: list[int], weight: Mapping[Cut, Any]) -> dict[tuple[int, int], tuple[Any, Any]]:
    """Return for every pair (u, v) the weight of broadcast sets left, and of reduction sets entered, from u to v."""
    result: dict[tuple[int, int], tuple[Any, Any]] = dict.fromkeys(permutations(nodes, 2), (0, 0))
    for (phase, side), value in weight.items():
        if value:
            for a, b in product(sorted(side), sorted(set(nodes) - side)):
                pair = (a, b) if phase == "broadcast" else (b, a)
                out, into = result[pair]
                result[pair] = (out + value, into) if phase == "broadcast" else (out, into + value)
    return result


# -- exact certificates -----------------------------------------------------------------------------------------------


def _rounded(values: Sequence[float], most: int) -> list[Fraction]:
    """Return fractions of denominators up to ``most``, for ``_GRID`` multiples of one small number."""
    if most < _GRID:
        return [Fraction(value).limit_denominator(most) for value in values]
    unit = Fraction(2) ** math.frexp(max(values))[1] / _GRID
    return [round(value / unit) * unit for value in values]


def _apart(topology: Topology, nodes: list[int], times: Sequence[Fraction]) -> Iterator[_Bound]:
    """Yield bounds from disjoint sets of vertices that have every compute node in one of them.

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
            weight = Fraction(1, 2 * (count - 1))
            prices = tuple(weight * (v in place and place[v] != place.get(u)) for u, v in ways)
            bound = sum(map(Fraction.__mul__, prices, map(Fraction, topology.capacity.tolist())), Fraction(0))
            sides = [frozenset(node for node in nodes if place[node] != at) for at in range(count)]
            yield bound, {(phase, side): weight for phase in PHASES for side in sides}, prices


def _tight_sets(topology: Topology, nodes: list[int], time: Fraction) -> list[frozenset[int]]:
    """Return the smallest sets around nodes that can take in no more than an allgather in that time needs."""
    from topodesign.solve import flow_kernels  # noqa: PLC0415  numba is heavy

    demand = scaled(np.ones(len(nodes), dtype=np.int64), time.denominator)
    network = rooted_network(topology, scaled(topology.capacity, time.numerator), demand)
    rows = flow_kernels.least_tight_sets(network, np.array(nodes), int(demand.sum()))
    return list(dict.fromkeys(frozenset(np.flatnonzero(row).tolist()) for row in rows if not row[nodes].all()))


def _bounds(topology: Topology, nodes: list[int], solution: _Solution) -> list[_Bound]:
    """Return bounds on the throughput that hold exactly, with the weights and prices that prove each."""
    found = []
    for most in (*_DENOMINATORS, _GRID):
        numbers = _rounded(list(solution.weight.values()), most)
        weight = {cut: number for cut, number in zip(solution.weight, numbers, strict=True) if number}
        price = _rounded(solution.price.tolist(), most)
        least = min(sum((w for (_, side), w in weight.items() if node in side), Fraction(0)) for node in nodes)
        common = math.lcm(*(value.denominator for value in price))
        whole = [int(value * common) for value in price]
        worth = {pair: max(both) for pair, both in _leaving(nodes, weight).items()}
        costs = {
            pair: Fraction(_price(topology, whole, way), common) for pair, way in _ways(topology, nodes, whole).items()
        }
        if not least or any(worth[pair] and not cost for pair, cost in costs.items()):
            continue
        raised = max((worth[pair] / cost for pair, cost in costs.items() if cost), default=Fraction(1))
        weight = {cut: value / least for cut, value in weight.items()}
        price = [value * raised / least for value in price]
        bound = sum(map(Fraction.__mul__, price, map(Fraction, topology.capacity.tolist())), Fraction(0))
        found.append((bound, weight, tuple(price)))
    return found


def _feasible(
    topology: Topology, nodes: list[int], solution: _Solution
) -> list[tuple[Fraction, tuple[Fraction, ...], dict[Phase, dict[Path, Fraction]]]]:
    """Return throughputs that are reached exactly, with the shares of the roots and the traffic that reach each."""
    found = []
    for most in (*_DENOMINATORS, _GRID):
        share = _rounded(solution.share.tolist(), most)
        numbers = _rounded(list(solution.traffic.values()), most)
        traffic = {key: number for key, number in zip(solution.traffic, numbers, strict=True) if number}
        load = [Fraction(0)] * len(topology.src)
        for (_, path), value in traffic.items():
            for link in _links(topology, path):
                load[link] += value
        pressure = max(value / capacity for value, capacity in zip(load, topology.capacity.tolist(), strict=True))
        ratio = max(_largest_ratio(nodes, share, _between(traffic, phase), phase) for phase in PHASES)
        if ratio < math.inf:
            scaled = {
                phase: {path: value / pressure for (kind, path), value in traffic.items() if kind == phase}
                for phase in PHASES
            }
            total = sum(share, Fraction(0))
            found.append((total / (Fraction(ratio) * pressure), tuple(value / total for value in share), scaled))
    return found


def _largest_ratio(
    nodes: list[int], share: list[Fraction], total: Mapping[tuple[int, int], Fraction], phase: Phase
) -> Fraction | float:
    """Return the largest ratio of the shares of a set to what it lets out; infinite if that cannot be found."""
    common = math.lcm(*(value.denominator for value in (*share, *total.values())))
    capacity = [int(value * common) for value in total.values()]
    if max(capacity) > MAX_CAPACITY:
        return math.inf
    try:
        graph = _logical(nodes, total, phase, capacity)
        return optimum(graph, weights=[int(value * common) for value in share]).inverse_rate
    except (InfeasibleError, TooLargeError):
        return math.inf
