"""The best throughput that a fabric allows, and the cut that allows no more (ForestColl, sections 4 and 5.2).

Every compute node v has a shard of size w(v), one if not told otherwise, which is to reach all the others. If a set S
of vertices leaves some compute node out, the shards inside it must leave over its links, so that the time per unit of
shard is at least

    1/x* = max over such S of w(S) / (capacity of the links out of S)

and spanning trees that reach this bound exist (Theorem 5). The maximum is found by Newton's iteration instead of the
paper's binary search: a guess is either right, or a maximum flow finds a set with a larger ratio, the next guess.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.errors import InfeasibleError, ParameterError, TooLargeError, TopologyError
from topodesign.solve.maxflow import (
    LARGEST,
    Side,
    compute_nodes,
    crossing,
    rooted_network,
    scaled,
    settle,
)
from topodesign.topology import MAX_CAPACITY, IntArray, Topology


@dataclass(frozen=True)
class Optimum:
    """The best throughput and why it is not higher.

    Attributes
    ----------
    inverse_rate
        1/x*: time per unit of shard on links that carry their capacity per unit of time. An allgather of M bytes with
        equal shards takes at least ``M / N * inverse_rate``.
    cut
        The sending side S of a bottleneck cut: ``inverse_rate`` is the sum of the shard sizes inside over the capacity
        of the links out. Of those looked at, one with the fewest links.
    trees
        k of Proposition 3: with so many trees per root (and unit of shard size), each of which carries ``tree_rate``,
        every link holds a whole number of trees.
    tree_rate
        Capacity that one tree takes on each of its links; ``trees * tree_rate * inverse_rate == 1``.
    """

    inverse_rate: Fraction
    cut: frozenset[int]
    trees: int
    tree_rate: Fraction


@dataclass(frozen=True)
class Gain:
    """What a larger capacity of a group of links would buy.

    Attributes
    ----------
    doubled
        ``inverse_rate`` with twice the capacity in the group.
    limit
        ``inverse_rate`` when the group no longer matters; 0 if every bottleneck goes through it.
    useful_factor
        The least factor of the group's capacity that reaches ``limit``; None where no factor does (a limit of 0).
    """

    doubled: Fraction
    limit: Fraction
    useful_factor: Fraction | None


def optimum(topology: Topology, *, weights: Sequence[int] | None = None, names: Sequence[str] | None = None) -> Optimum:
    """Return the best throughput of an allgather (or, reversed, a reduce-scatter of the transpose), exactly.

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
    ratio = _least_ratio(topology, topology.capacity, demand)
    p, q = ratio.numerator, ratio.denominator
    common = math.gcd(q, *np.unique(topology.capacity).tolist())
    return Optimum(ratio, _bottleneck(topology, demand, ratio), q // common, Fraction(common, p))


def sensitivity(
    topology: Topology, groups: Sequence[NDArray[np.bool_]], *, weights: Sequence[int] | None = None
) -> list[Gain]:
    """Return, for each group of links (a mask over them), what raising its capacity would buy.

    Raises
    ------
    TopologyError, ParameterError, InfeasibleError, TooLargeError
        As :func:`optimum`.
    """
    demand = shard_sizes(topology, weights)
    _check_reach(topology, demand, None)
    return [_gain(topology, np.asarray(group, dtype=bool), demand) for group in groups]


def tree_capacities(topology: Topology, tree_rate: Fraction) -> Topology:
    """Return the topology with the number of trees of this rate that each link can carry; links that carry none go.

    Raises
    ------
    TooLargeError
        If a link would carry more trees than a capacity may say.
    """
    counts = [int(capacity / tree_rate) for capacity in topology.capacity.tolist()]
    if max(counts, default=0) > MAX_CAPACITY:
        raise TooLargeError(
            f"a link would carry {max(counts)} trees, more than {MAX_CAPACITY}; fix a small number of trees per node, "
            "or give the links bandwidths with a larger common divisor"
        )
    return with_capacity(topology, np.array(counts, dtype=np.int64))


def with_capacity(topology: Topology, capacity: IntArray) -> Topology:
    """Return the topology with other capacities; links of capacity zero go."""
    kept = capacity > 0
    return Topology.from_arrays(
        topology.nodes, topology.src[kept], topology.dst[kept], capacity[kept], switches=topology.switches
    )


def shard_sizes(topology: Topology, weights: Sequence[int] | None) -> IntArray:
    """Return the shard sizes of the compute nodes, checked; ones if None."""
    count = topology.nodes - len(topology.switches)
    if count < 2:
        raise TopologyError(f"a collective needs at least 2 compute nodes, not {count}")
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
    """Raise InfeasibleError if a compute node cannot get the shard of another."""
    from topodesign.solve import flow_kernels  # noqa: PLC0415  numba is heavy

    nodes = compute_nodes(topology)
    roots = nodes[demand > 0]
    # if the first root reaches all nodes, and all roots reach it, then all roots reach all nodes
    for graph, wanted, what in ((topology, nodes, "be reached from"), (topology.transpose(), roots, "reach")):
        network = rooted_network(graph, np.ones_like(graph.capacity), np.ones_like(demand))
        flow_kernels.search(network, np.zeros_like(network.capacity), roots[0], -1)
        lost = [str(node) if names is None else names[node] for node in wanted if network.level[node] < 0]
        if lost:
            root = str(roots[0]) if names is None else names[roots[0]]
            more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
            raise InfeasibleError(f"no collective exists: {', '.join(lost[:5])}{more} cannot {what} {root}")


def _least_ratio(
    topology: Topology, capacity: IntArray, demand: IntArray, unlimited: NDArray[np.bool_] | None = None
) -> Fraction:
    """Return 1/x*; links may be unlimited, and the ratio is 0 where no other link counts."""

    def amounts(ratio: Fraction) -> tuple[IntArray, IntArray]:
        available, wanted = scaled(capacity, ratio.numerator), scaled(demand, ratio.denominator)
        return available if unlimited is None else np.where(unlimited, LARGEST, available), wanted

    def raised(_: Fraction, side: Side) -> Fraction:
        return _ratio(topology, capacity, demand, side)

    start = Fraction(0)
    for node in compute_nodes(topology).tolist():
        for side in (np.arange(topology.nodes) == node, np.arange(topology.nodes) != node):
            out = crossing(topology, side)
            if out.any() and not (unlimited is not None and unlimited[out].any()):
                start = max(start, _ratio(topology, capacity, demand, side))
    return settle(topology, start, amounts, raised)


def _ratio(topology: Topology, capacity: IntArray, demand: IntArray, side: Side) -> Fraction:
    inside = demand[side[compute_nodes(topology)]]
    return Fraction(sum(inside.tolist()), int(capacity[crossing(topology, side)].sum()))


def _bottleneck(topology: Topology, demand: IntArray, ratio: Fraction) -> frozenset[int]:
    """Return the sending side of a cut that meets the ratio exactly, with few links."""
    from topodesign.solve import flow_kernels  # noqa: PLC0415  numba is heavy

    wanted = scaled(demand, ratio.denominator)
    network = rooted_network(topology, scaled(topology.capacity, ratio.numerator), wanted)
    side = flow_kernels.narrowest_tight_cut(network, len(topology.src), compute_nodes(topology), wanted)
    return frozenset(np.flatnonzero(side).tolist())


def _gain(topology: Topology, group: NDArray[np.bool_], demand: IntArray) -> Gain:
    doubled = _least_ratio(topology, np.where(group, 2 * topology.capacity, topology.capacity), demand)
    limit = _least_ratio(topology, topology.capacity, demand, group)
    if limit == 0:
        return Gain(doubled, limit, None)

    def amounts(factor: Fraction) -> tuple[IntArray, IntArray]:
        other = scaled(topology.capacity, limit.numerator * factor.denominator)
        grown = scaled(topology.capacity, limit.numerator * factor.numerator)
        return np.where(group, grown, other), scaled(demand, limit.denominator * factor.denominator)

    def raised(_: Fraction, side: Side) -> Fraction:
        out = crossing(topology, side)
        needed = Fraction(sum(demand[side[compute_nodes(topology)]].tolist())) / limit
        fixed, grown = (int(topology.capacity[out & part].sum()) for part in (~group, group))
        return (needed - fixed) / grown

    return Gain(doubled, limit, settle(topology, Fraction(1), amounts, raised))
