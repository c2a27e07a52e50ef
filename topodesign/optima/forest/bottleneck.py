"""The best throughput of a fabric and the cut that limits it.

ForestColl, sections 4 and 5.2.

Every compute node v has a shard of size w(v), one by default, which is to reach all the others. If a set S of vertices
excludes some compute node, the shards inside it must leave over its links, so that the time per unit of shard is at
least

    1/x* = max over such S of w(S) / (capacity of the links out of S)

and spanning trees that reach this bound exist (Theorem 5). The maximum is found by Newton's iteration instead of the
paper's binary search: a guess is either right, or a maximum flow finds a set with a larger ratio, the next guess.

That trees reach the bound takes as much capacity into every switch as out of it. Elsewhere what trees can use is a
balanced part of the capacities (:mod:`topodesign.optima.forest.balance`), and 1/x* is the least that such a part has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError, TopologyError
from topodesign.optima.forest.balance import always_balanced, usable_part
from topodesign.solve import flow_kernels
from topodesign.solve.maxflow import (
    LARGEST,
    Side,
    compute_nodes,
    crossing,
    make_rooted_network,
    scale_capped,
    settle,
    sum_demand,
    worst_ratio,
)
from topodesign.topology.shifts import distinct_nodes
from topodesign.topology.topology import MAX_CAPACITY, IntArray, Topology

_REMEMBERED = 16


@dataclass(frozen=True)
class TreeRate:
    """The best throughput and why it is not higher."""

    # 1/x*: time per unit of shard on links that carry their capacity per unit of time. An allgather of M bytes
    # with equal shards takes at least ``M / N * inverse_rate``.
    inverse_rate: Fraction
    # nothing has a smaller ``inverse_rate`` than this. The two are the same for balanced switches; for others
    # they could differ by what a solver of floats is inexact.
    bound: Fraction
    # the sending side S of a bottleneck cut: ``inverse_rate`` is the sum of the shard sizes inside over the
    # capacity that is usable on the links out. Of those looked at, one with the fewest links; if there are any,
    # one where that is all capacity.
    cut: frozenset[int]
    # places of the links that anything as fast has to fill: those out of the cut, if that is all their capacity,
    # or else those with a price in the proof of the bound; none where there is no proof
    binding: tuple[int, ...]
    # k of Proposition 3: with so many trees per root (and unit of shard size), each of which carries
    # ``tree_rate``, every link holds a whole number of trees
    trees: int
    tree_rate: Fraction  # capacity that one tree takes on each of its links; ``trees * tree_rate * inverse_rate == 1``
    # what trees can use at this throughput: the topology itself, or if it has switches that more capacity leads
    # into than out of, or the reverse, a part that is balanced
    usable: Topology
    # capacity of the topology that a capacity of one in ``usable`` stands for; 1 where all of it is usable
    grain: Fraction


@dataclass(frozen=True)
class Gain:
    """What a larger capacity of a group of links would buy."""

    doubled: Fraction  # ``inverse_rate`` with twice the capacity in the group
    limit: Fraction  # ``inverse_rate`` when the group no longer matters; 0 if every bottleneck goes through it
    # the least factor of the group's capacity that reaches ``limit``; None where no factor does (a limit of 0)
    useful_factor: Fraction | None


def optimum(
    topology: Topology, *, weights: Sequence[int] | None = None, names: Sequence[str] | None = None
) -> TreeRate:
    """Compute the exact best throughput of an allgather.

    Of the transpose it is that of a reduce-scatter.

    Parameters
    ----------
    topology
        Compute nodes and switches; at least two compute nodes.
    weights
        Relative shard sizes of the compute nodes in ascending order, 0 for a node that only receives; equal if None.
        A single 1 asks for the best broadcast from that node.
    names
        What messages call the vertices; their numbers if None.

    Raises
    ------
    TopologyError
        If there are fewer than two compute nodes.
    ParameterError
        If the weights do not fit the compute nodes, are negative or all zero.
    InfeasibleError
        If some compute node cannot be reached from one that has a shard; the message names both.
    TooLargeError
        If the capacities and weights need more than 64 bits.
    """
    demand = shard_sizes(topology, weights)
    _check_reach(topology, demand, names)
    found = solve_rate(topology, tuple(demand.tolist()))
    return replace(found, usable=topology) if found.usable == topology else found


@lru_cache(maxsize=_REMEMBERED)
def solve_rate(topology: Topology, weights: tuple[int, ...]) -> TreeRate:
    """Return the cached optimum for shard sizes."""
    demand = np.array(weights, dtype=np.int64)
    part = usable_part(topology, topology.capacity, demand)
    usable, grain = topology, Fraction(1)
    if np.any(part.capacity != topology.capacity):
        usable = with_capacity(topology, part.capacity)
        whole = zip(topology.capacity.tolist(), part.capacity.tolist(), strict=True)
        grain = min(Fraction(capacity, used) for capacity, used in whole if used)
    share = part.inverse_rate * grain  # time per unit of shard on the usable links
    common = math.gcd(share.denominator, *np.unique(usable.capacity).tolist())
    cut = _bottleneck(topology, topology.capacity, demand, part.inverse_rate)
    binding = crossing(topology, cut)
    if not cut.any():
        cut = _bottleneck(topology, part.capacity, demand, share)
        binding = np.array([price > 0 for price in part.prices]) & (part.inverse_rate == part.bound)
    return TreeRate(
        inverse_rate=part.inverse_rate,
        bound=part.bound,
        cut=frozenset(np.flatnonzero(cut).tolist()),
        binding=tuple(np.flatnonzero(binding).tolist()),
        trees=share.denominator // common,
        tree_rate=Fraction(common, share.numerator) * grain,
        usable=usable,
        grain=grain,
    )


def sensitivity(
    topology: Topology, groups: Sequence[NDArray[np.bool_]], *, weights: Sequence[int] | None = None
) -> list[Gain]:
    """Return the gain of raising the capacity of each group of links."""
    demand = shard_sizes(topology, weights)
    _check_reach(topology, demand, None)
    gains = []
    for group in groups:
        twice = np.where(group, 2 * topology.capacity, topology.capacity)
        doubled = usable_part(topology, twice, demand).inverse_rate
        limit = usable_part(topology, topology.capacity, demand, group).inverse_rate
        gains.append(Gain(doubled, limit, _useful_factor(topology, group, demand, limit) if limit else None))
    return gains


def tree_capacities(topology: Topology, tree_rate: Fraction) -> Topology:
    """Return the topology of tree counts per link at a rate."""
    counts = [int(capacity / tree_rate) for capacity in topology.capacity.tolist()]
    return with_capacity(topology, np.array([min(count, LARGEST) for count in counts], dtype=np.int64))


def with_capacity(topology: Topology, capacity: IntArray) -> Topology:
    """Return the topology with other capacities, without zero links."""
    most = int(capacity.max(initial=0))
    if most > MAX_CAPACITY:
        trees = most if most < LARGEST else "2^62 or more"
        raise TooLargeError(
            f"a link would carry {trees} trees, more than {MAX_CAPACITY}; fix a small number of trees per node, "
            "or give the links bandwidths with a larger common divisor"
        )
    kept = capacity > 0
    return Topology.from_arrays(
        topology.nodes, topology.src[kept], topology.dst[kept], capacity[kept], switches=topology.switches
    )


def shard_sizes(topology: Topology, weights: Sequence[int] | None) -> IntArray:
    """Return the checked shard sizes of the compute nodes; ones if None."""
    count = topology.nodes - len(topology.switches)
    if count < 2:
        raise TopologyError(f"a collective requires at least 2 compute nodes, not {count}")
    if weights is None:
        return np.ones(count, dtype=np.int64)
    if len(weights) != count:
        raise ParameterError(f"{len(weights)} shard sizes for {count} compute nodes")
    if min(weights) < 0 or max(weights) == 0:
        raise ParameterError("shard sizes must not be negative, and one at least must be positive")
    if sum(weights) >= LARGEST:
        raise TooLargeError("shard sizes are too large for 64 bits")
    return np.array(weights, dtype=np.int64)


def _check_reach(topology: Topology, demand: IntArray, names: Sequence[str] | None) -> None:
    """Raise InfeasibleError if a node cannot get another's shard."""
    nodes = compute_nodes(topology)
    roots = nodes[demand > 0]
    # if the first root reaches all nodes, and all roots reach it, then all roots reach all nodes
    for graph, wanted, what in ((topology, nodes, "be reached from"), (topology.transpose(), roots, "reach")):
        network = make_rooted_network(graph, np.ones_like(graph.capacity), np.ones_like(demand))
        flow_kernels.search(network, np.zeros_like(network.capacity), roots[0], -1)
        lost = [str(node) if names is None else names[node] for node in wanted if network.level[node] < 0]
        if lost:
            root = str(roots[0]) if names is None else names[roots[0]]
            more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
            raise InfeasibleError(f"no collective exists: {', '.join(lost[:5])}{more} cannot {what} {root}")


def _bottleneck(topology: Topology, capacity: IntArray, demand: IntArray, ratio: Fraction) -> Side:
    """Return the sending side of a cut of a ratio, with few links."""
    wanted = scale_capped(demand, ratio.denominator)
    network = make_rooted_network(topology, scale_capped(capacity, ratio.numerator), wanted)
    ends = distinct_nodes(topology, demand, capacity)
    return flow_kernels.narrowest_tight_cut(network, len(topology.src), compute_nodes(topology), wanted, ends)


def _useful_factor(topology: Topology, group: NDArray[np.bool_], demand: IntArray, limit: Fraction) -> Fraction:
    """Return the least factor on a group at which 1/x* is minimal."""

    def amounts(factor: Fraction) -> tuple[IntArray, IntArray]:
        other = scale_capped(topology.capacity, limit.numerator * factor.denominator)
        grown = scale_capped(topology.capacity, limit.numerator * factor.numerator)
        return np.where(group, grown, other), scale_capped(demand, limit.denominator * factor.denominator)

    def raised(_: Fraction, side: Side) -> Fraction:
        return needed(crossing(topology, side).astype(int).tolist(), Fraction(sum_demand(topology, demand, side)))

    def needed(prices: Sequence[Fraction], worth: Fraction) -> Fraction:
        """Return the factor at which priced links carry a given worth."""
        sums = [Fraction(0), Fraction(0)]
        for grows, capacity, price in zip(group.tolist(), topology.capacity.tolist(), prices, strict=True):
            sums[grows] += capacity * price
        return (worth / limit - sums[0]) / sums[1]

    ends = distinct_nodes(topology, demand, group)
    factor = settle(topology, Fraction(1), amounts, raised, ends=ends)
    while not always_balanced(topology, topology.capacity, group):  # cuts alone do not tell
        grown, other = (scale_capped(topology.capacity, part) for part in (factor.numerator, factor.denominator))
        if max(grown.max(), other.max()) >= LARGEST:
            raise TooLargeError("what more capacity of a group of links buys takes more than 64 bits to find")
        part = usable_part(topology, np.where(group, grown, other), demand)
        if part.inverse_rate * factor.denominator <= limit:
            return factor
        more = needed(part.prices, part.worth)
        if more <= factor:
            return factor
        factor = more
    return factor


def narrowest(topology: Topology) -> Fraction:
    """Return the least capacity into a set between compute nodes."""
    demand = np.zeros(topology.nodes - len(topology.switches), dtype=np.int64)
    demand[0] = 1
    return 1 / max(worst_ratio(graph, graph.capacity, demand) for graph in (topology, topology.transpose()))
