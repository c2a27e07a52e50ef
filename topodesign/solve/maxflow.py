"""Exact cut conditions by integer maximum flow.

The question is always the same (ForestColl, Theorems 1 and 5): when every compute node v sends ``demand[v]`` to all the
others, is there a set S of vertices, some compute node outside, that must let out more than its links carry:
``demand(S) > capacity out of S``? A source with a link of capacity ``demand[v]`` to every compute node v answers it: no
such set exists if and only if the maximum flow from the source to each compute node is the whole demand, and otherwise
the minimum cut is the set that is short of most.

:func:`maximum_flow` is for everything else that is a maximum flow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.solve import flow_kernels
from topodesign.topology.topology import IntArray, Topology

Side = NDArray[np.bool_]  # for every vertex, whether it is on the sending side of a cut

LARGEST = 2**62  # flows stay below it, so that no sum of two wraps round


def compute_nodes(topology: Topology) -> IntArray:
    """Return the nodes that are not switches, ascending."""
    compute = np.ones(topology.nodes, dtype=bool)
    compute[sorted(topology.switches)] = False
    return np.flatnonzero(compute)


def crossing(topology: Topology, side: Side) -> NDArray[np.bool_]:
    """Return which links lead out of the sending side."""
    return side[topology.src] & ~side[topology.dst]


class Flow(NamedTuple):
    """A maximum flow: value, arc flows, and the side of a minimum cut."""

    value: int
    amount: list[int]
    side: Side


def maximum_flow(vertices: int, src: IntArray, dst: IntArray, capacity: Sequence[int], *, start: int, end: int) -> Flow:
    """Return an exact maximum flow between two vertices, without parallel arcs."""
    arcs = list(zip(src.tolist(), dst.tolist(), capacity, strict=True))
    wanted = sum(amount for u, _, amount in arcs if u == start) + 1  # more than there is, so that a cut is found
    if max(wanted, *capacity, 0) < LARGEST:
        network = flow_kernels.make_network(vertices, src, dst, np.array(capacity, dtype=np.int64), len(arcs))
        flow = np.zeros(len(arcs), dtype=np.int64)
        value = flow_kernels.push(network, flow, start, end, wanted)
        return Flow(int(value), flow.tolist(), network.level >= 0)
    import networkx as nx  # noqa: PLC0415  heavy

    graph = nx.DiGraph()
    graph.add_nodes_from(range(vertices))
    graph.add_edges_from((u, v, {"capacity": amount}) for u, v, amount in arcs)
    value, carried = nx.maximum_flow(graph, start, end)
    _, (before, _) = nx.minimum_cut(graph, start, end)
    return Flow(value, [carried[u][v] for u, v, _ in arcs], np.isin(np.arange(vertices), sorted(before)))


def matching_flow(usable: IntArray, supply: list[int], room: list[int]) -> Flow:
    """Return a maximum flow from rows to columns over nonzero pairs.

    Vertices are the rows, then the columns; ``amount`` is of the rows, then of the pairs by rows, then of the columns.
    """
    rows, columns = usable.shape
    source, sink = rows + columns, rows + columns + 1
    row, column = np.nonzero(usable)
    src = np.concatenate((np.full(rows, source), row, rows + np.arange(columns)))
    dst = np.concatenate((np.arange(rows), rows + column, np.full(columns, sink)))
    amount = [*supply, *(supply[at] for at in row.tolist()), *room]
    return maximum_flow(sink + 1, src, dst, amount, start=source, end=sink)


def make_rooted_network(topology: Topology, capacity: IntArray, demand: IntArray) -> flow_kernels.Network:
    """Return the network with a source linked to each compute node.

    The source is vertex ``topology.nodes``, its links come last.

    TooLargeError: the demands do not add up in 64 bits.
    """
    total = sum(demand.tolist())
    if total >= LARGEST:
        raise TooLargeError("capacities or shard weights are too large, or have too little in common, for 64 bits")
    nodes = compute_nodes(topology)
    links = len(topology.src) + len(nodes)
    return flow_kernels.make_network(
        topology.nodes + 1,
        np.concatenate((topology.src, np.full(len(nodes), topology.nodes))),
        np.concatenate((topology.dst, nodes)),
        np.concatenate((capacity, demand)),
        links,
    )


def scale_capped(values: IntArray, factor: int) -> IntArray:
    """Return non-negative values times a factor, capped at 2^62."""
    if not len(values) or int(values.max()) * factor < LARGEST:
        return values * factor
    return np.array([min(value * factor, LARGEST) for value in values.tolist()], dtype=np.int64)


def find_violated_cut(
    topology: Topology, capacity: IntArray, demand: IntArray, begin: int = 0, *, ends: IntArray | None = None
) -> tuple[int, Side | None]:
    """Return a set of vertices with too small out-links, or None.

    Compute nodes that have to be served are ``ends``, all if None: where symmetry takes every other node to one of
    them, and keeps capacities and demands, all are served if these are. Those before the place ``begin`` are known to
    be served. Return the place of the first one that is not, and the sending side of a minimum cut before it; None if
    all are.
    """
    sinks = compute_nodes(topology) if ends is None else ends
    return _find_unserved(make_rooted_network(topology, capacity, demand), topology, sinks, begin, int(demand.sum()))


def iterate_violated_cuts(topology: Topology, capacity: IntArray, demand: IntArray) -> Iterator[Side]:
    """Yield a violated cut for each compute node that is not served."""
    sinks = compute_nodes(topology)
    network, wanted = make_rooted_network(topology, capacity, demand), int(demand.sum())
    sink, side = _find_unserved(network, topology, sinks, 0, wanted)
    while side is not None:
        yield side
        sink, side = _find_unserved(network, topology, sinks, sink + 1, wanted)


def _find_unserved(
    network: flow_kernels.Network, topology: Topology, sinks: IntArray, begin: int, wanted: int
) -> tuple[int, Side | None]:
    """Return the next unserved sink, and a cut's sending side before it."""
    flow = np.zeros(len(network.capacity), dtype=np.int64)
    sink = flow_kernels.first_unserved(network, flow, sinks, begin, wanted)
    return sink, None if sink == len(sinks) else network.level[: topology.nodes] >= 0


def settle(
    topology: Topology,
    start: Fraction,
    amounts: Callable[[Fraction], tuple[IntArray, IntArray]],
    raised: Callable[[Fraction, Side], Fraction],
    *,
    ends: IntArray | None = None,
) -> Fraction:
    """Raise a number until no cut is violated (Newton's iteration), exactly.

    ``amounts`` are capacities and demands at a number, at which a cut that is met stays met above; ``raised`` is the
    least number at which a cut that is violated at its first argument is met.
    """
    number, served = start, 0
    while True:
        capacity, demand = amounts(number)
        served, side = find_violated_cut(topology, capacity, demand, served, ends=ends)
        if side is None:
            return number
        number = raised(number, side)


def worst_ratio(
    topology: Topology,
    capacity: IntArray,
    demand: IntArray,
    unlimited: NDArray[np.bool_] | None = None,
    *,
    ends: IntArray | None = None,
) -> Fraction:
    """Return the largest ratio of demand to out-capacity over vertex sets.

    The topology's own capacities play no part. Sets that ``unlimited`` links leave have a ratio of zero.
    InfeasibleError: something must leave a set and nothing can; TooLargeError: the numbers do not fit into 64 bits.
    """
    limits = None if unlimited is None else np.where(unlimited, LARGEST, 0)

    def amounts(ratio: Fraction) -> tuple[IntArray, IntArray]:
        available = scale_capped(capacity, ratio.numerator)
        return available if limits is None else np.maximum(available, limits), scale_capped(demand, ratio.denominator)

    def ratio_of(_: Fraction, side: Side) -> Fraction:
        return _ratio(sum_demand(topology, demand, side), int(capacity[crossing(topology, side)].sum()))

    start = _ratio_of_nodes(topology, capacity, demand, unlimited, compute_nodes(topology) if ends is None else ends)
    return settle(topology, start, amounts, ratio_of, ends=ends)


def _ratio(wanted: int, room: int) -> Fraction:
    if wanted and not room:
        raise InfeasibleError("no links lead out of some vertices whose data must get out")
    return Fraction(wanted, max(room, 1))


def _ratio_of_nodes(
    topology: Topology, capacity: IntArray, demand: IntArray, unlimited: NDArray[np.bool_] | None, nodes: IntArray
) -> Fraction:
    """Return the largest ratio over single nodes and their complements."""
    own = np.zeros(topology.nodes, dtype=np.int64)
    own[compute_nodes(topology)] = demand
    total, proper = sum(demand.tolist()), topology.src != topology.dst
    pairs: set[tuple[int, int]] = set()
    for ends, rest in ((topology.src, False), (topology.dst, True)):
        room, barred = np.zeros(topology.nodes, dtype=np.int64), np.zeros(topology.nodes, dtype=bool)
        np.add.at(room, ends[proper], capacity[proper])
        if unlimited is not None:
            barred[ends[proper & unlimited]] = True
        some = nodes[~barred[nodes]]
        pairs.update(zip((total - own[some] if rest else own[some]).tolist(), room[some].tolist(), strict=True))
    return max((_ratio(*pair) for pair in pairs), default=Fraction(0))


def sum_demand(topology: Topology, demand: IntArray, side: Side) -> int:
    """Return the demand of all compute nodes on the sending side."""
    return sum(demand[side[compute_nodes(topology)]].tolist())


def surplus(topology: Topology, capacity: IntArray) -> IntArray:
    """Return each switch's capacity in less that out, ascending."""
    more = np.zeros(topology.nodes, dtype=np.int64)
    np.add.at(more, topology.dst, capacity)
    np.subtract.at(more, topology.src, capacity)
    return more[sorted(topology.switches)]


def balance_switches(topology: Topology, capacity: IntArray) -> IntArray:
    """Return capacities without the excess into or out of a switch.

    What is omitted is a flow from switches with more out than in, to those with more in than out; where either are
    short of the other, nodes are the other end, as they need no balance.
    """
    more = surplus(topology, capacity)
    switches = np.array(sorted(topology.switches), dtype=np.int64)
    anyone, source, sink = range(topology.nodes, topology.nodes + 3)
    vertex = np.full(topology.nodes, anyone)
    vertex[switches] = switches
    short, over, rest = switches[more < 0], switches[more > 0], int(more.sum())
    src = np.concatenate((vertex[topology.src], np.full(len(short), source), over, [source, anyone]))
    dst = np.concatenate((vertex[topology.dst], short, np.full(len(over), sink), [anyone, sink]))
    room = np.concatenate((capacity, -more[more < 0], more[more > 0], [max(rest, 0), max(-rest, 0)]))
    network = flow_kernels.make_network(topology.nodes + 3, src, dst, room, len(room))
    flow = np.zeros(len(room), dtype=np.int64)
    flow_kernels.push(network, flow, source, sink, LARGEST)
    part: IntArray = capacity - flow[: len(capacity)]
    return part
