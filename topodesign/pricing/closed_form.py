"""The exact cost of the best SPFF schedule, without building it.

SPFF: shortest path, farthest first.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from topodesign.base.compiled import LARGEST
from topodesign.base.cost import Cost
from topodesign.base.errors import TopologyError
from topodesign.base.progress import Progress, in_pieces, iterate_with_progress
from topodesign.pricing import kernels
from topodesign.solve.maxflow import matching_flow
from topodesign.topology.topology import IntArray, Topology, make_disconnected_error

_CORES = os.cpu_count() or 1
_MAX_PORTS = 2**20
_MAX_WIDE_WORK = 2**31
"""Links times sources times neighbours that the slower way for many neighbours takes; tens of seconds."""
_WORK_PER_THREAD = 2**19  # links times sources below which a second thread does not pay
_FIRST = 32  # nodes after which a topology may be ruled out
_SPREAD = 7919  # a prime, which puts nodes that are close by number far apart
_WORK_PER_PIECE = 2**22  # links times sources that take about as long as a piece should


def price(topology: Topology, *, all_sources: bool = False, progress: Progress | None = None) -> Cost:
    """Price the best SPFF reduce-scatter on a topology exactly.

    The best SPFF allgather costs what a reduce-scatter on the transpose costs (Theorem 1): the same if the topology is
    isomorphic to its transpose, as every duplex topology is, else as many steps but maybe another bandwidth factor.

    Parameters
    ----------
    topology
        Any strongly connected topology without switches. Parallel links share a load by their capacity; self-loops and
        unused ports count towards the degree d but carry nothing.
    all_sources
        Look at every node even if the topology's construction proves that some are enough.
    progress
        Called now and then with the share of the nodes that have been looked at.

    Returns
    -------
    Cost
        steps = diameter, and y = (d/N) * sum over distances x of max over nodes u of U(u, x).

    Raises
    ------
    DisconnectedError
        If some node does not reach some other.
    TopologyError
        If there are switches (shortest-path schedules are for direct-connect fabrics) or too many ports to add up.

    References
    ----------
    Efficient Direct-Connect Topologies, equations (1) and (2) and Theorem 20.
    """
    _check(topology)
    sources = np.arange(topology.nodes) if all_sources else sources_of(topology)
    return cost_of(topology, *largest_loads(topology, sources, progress))


def price_at_least(topology: Topology, sources: int) -> Cost:
    """Return a lower bound on :func:`price` from a few nodes.

    Steps and every load are maxima over the nodes, so those of some nodes are lower bounds.
    """
    _check(topology)
    some = sources_of(topology)
    return cost_of(topology, *largest_loads(topology, some[:: -(-len(some) // sources)]))


def price_unless(topology: Topology, ruled_out: Callable[[Cost], bool]) -> tuple[Cost, Cost] | None:
    """Return the costs of reduce-scatter and allgather, or None once ruled out.

    Parameters
    ----------
    topology
        As for :func:`price`.
    ruled_out
        Whether a topology whose mean of both costs no less than this is of no use. It is asked after 32, 96, 224 nodes
        and so on, spread over the topology, of which both ways are looked at.
    """
    _check(topology)
    some = sources_of(topology)
    spread = some[np.argsort(np.arange(len(some)) * _SPREAD % len(some), kind="stable")]
    ways = [topology] if topology.is_duplex else [topology, topology.transpose()]
    loads: list[tuple[IntArray, IntArray]] = []
    for begin, end in itertools.pairwise(_double_pieces(len(spread))):
        more = [largest_loads(way, spread[begin:end]) for way in ways]
        loads = list(map(larger, loads, more)) if loads else more
        there, back = (cost_of(topology, *one) for one in (loads[0], loads[-1]))
        if ruled_out(there.average_with(back)):
            return None
    return there, back


def _double_pieces(count: int) -> Iterator[int]:
    """Yield the ends of pieces, each twice as long as the one before."""
    end, piece = 0, _FIRST
    while end < count:
        yield end
        end, piece = end + piece, 2 * piece
    yield count


def layer_loads(topology: Topology, *, all_sources: bool = False) -> list[Fraction]:
    """Return max over nodes u of U(u, x), for x = 1 to the diameter.

    In shards per unit of capacity.

    See :func:`price` for parameters and errors.
    """
    _check(topology)
    loads = largest_loads(topology, np.arange(topology.nodes) if all_sources else sources_of(topology))
    return [Fraction(p, q) for p, q in zip(*(column.tolist() for column in loads), strict=True)]


def sources_of(topology: Topology) -> IntArray:
    """Return one node of each class that symmetry proves alike."""
    return np.array(topology.representatives or range(topology.nodes), dtype=np.int64)


def largest_loads(topology: Topology, sources: IntArray, progress: Progress | None = None) -> tuple[IntArray, IntArray]:
    """Return the largest U(u, x) over sources u, for x = 1, 2, ....

    As numerators and denominators.
    """
    widest = int(np.diff(topology.indptr).max())
    if widest > kernels.MAX_NEIGHBOURS:
        if len(sources) * len(topology.src) * widest > _MAX_WIDE_WORK:
            raise TopologyError(f"too large to price with more than {kernels.MAX_NEIGHBOURS} neighbours a node")
        loads = wide_layer_loads(topology, sources, progress)
        return np.array([load.numerator for load in loads]), np.array([load.denominator for load in loads])
    workers = min(_CORES, 1 + len(sources) * len(topology.src) // _WORK_PER_THREAD)
    rows = [_Loads(topology) for _ in range(workers)]
    in_pieces(
        len(sources),
        lambda worker, begin, end: rows[worker].add(sources[begin:end]),
        first=max(1, min(_WORK_PER_PIECE // max(1, len(topology.src)), -(-len(sources) // workers))),
        workers=workers,
        progress=progress,
    )
    return functools.reduce(larger, (row.get_loads() for row in rows))


class _Loads:
    """The largest loads from the sources seen so far."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._numerator = np.zeros(topology.nodes, dtype=np.int64)
        self._denominator = np.ones(topology.nodes, dtype=np.int64)
        self._farthest = 0

    def add(self, sources: IntArray) -> None:
        """Look at some sources."""
        nodes, links = np.array(sources), self._topology
        farthest = kernels.worst_loads(
            nodes, links.indptr, links.dst, links.capacity, self._numerator, self._denominator
        )
        if farthest < 0:
            raise make_disconnected_error(self._topology)
        self._farthest = max(self._farthest, farthest)

    def get_loads(self) -> tuple[IntArray, IntArray]:
        """Return numerators and denominators, by distance from 1."""
        return self._numerator[1 : self._farthest + 1], self._denominator[1 : self._farthest + 1]


def larger(one: tuple[IntArray, IntArray], other: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray]:
    """Return the larger of two fractions at each distance.

    A distance that only one has counts for that one.
    """
    (p, q), (r, s) = sorted((one, other), key=lambda pair: -len(pair[0]))
    more = r * q[: len(r)] > p[: len(r)] * s
    return (
        np.concatenate((np.where(more, r, p[: len(r)]), p[len(r) :])),
        np.concatenate((np.where(more, s, q[: len(r)]), q[len(r) :])),
    )


def distances(topology: Topology, source: int) -> IntArray:
    """Return distances from a source, shape ``(nodes,)``; -1 if unreachable."""
    nodes = topology.nodes
    distance, queue = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64)
    kernels.search(source, topology.indptr, topology.dst, distance, np.empty(nodes, dtype=np.uint64), queue)
    return distance


def girth(topology: Topology, *, all_sources: bool = False, progress: Progress | None = None) -> int | None:
    """Return the length of the shortest directed cycle, or None.

    Self-loops do not count.

    Parameters are those of :func:`price`.
    """
    return _shortest_cycle(topology, all_sources, progress, undirected=False)


def compute_undirected_girth(
    topology: Topology, *, all_sources: bool = False, progress: Progress | None = None
) -> int | None:
    """Return the length of the shortest undirected cycle, or None.

    Of a duplex topology; no link is taken back and forth.

    Parallel links and self-loops are no cycles. Other parameters are those of :func:`price`.
    """
    return _shortest_cycle(topology, all_sources, progress, undirected=True)


def _shortest_cycle(
    topology: Topology, all_sources: bool, progress: Progress | None, *, undirected: bool
) -> int | None:
    sources = np.arange(topology.nodes) if all_sources else sources_of(topology)
    found = LARGEST

    def look(_worker: int, begin: int, end: int) -> None:
        nonlocal found
        found = kernels.shortest_cycle(sources[begin:end], topology.indptr, topology.dst, undirected, found)

    first = max(1, _WORK_PER_PIECE // max(1, len(topology.src)))
    in_pieces(len(sources), look, first=first, progress=progress)
    return found if found < LARGEST else None


def _check(topology: Topology) -> None:
    if topology.switches:
        raise TopologyError("shortest-path schedules require a direct-connect topology, without switches")
    if topology.nodes < 2:
        raise TopologyError("a collective requires at least 2 nodes")
    if topology.degree > _MAX_PORTS:
        raise TopologyError(f"at most {_MAX_PORTS} ports per node can be added up, not {topology.degree}")


def cost_of(topology: Topology, numerator: IntArray, denominator: IntArray) -> Cost:
    """Return the cost of the largest loads at x = 1, 2, ....

    d/N times their sum.
    """
    total = Fraction(0)
    for q in np.unique(denominator).tolist():  # far quicker than adding up fractions one by one
        total += Fraction(int(numerator[denominator == q].sum()), q)
    return Cost(len(numerator), Fraction(topology.degree, topology.nodes) * total)


def fullest(load: IntArray, capacity: IntArray) -> Fraction:
    """Return the largest load of a link over its capacity."""
    return max(Fraction(int(load[capacity == room].max()), room) for room in np.unique(capacity).tolist())


def wide_layer_loads(topology: Topology, sources: IntArray, progress: Progress | None = None) -> list[Fraction]:
    """Return :func:`largest_loads` by maximum flows.

    Array-wise, for any number of neighbours.
    """
    loads: list[Fraction] = []
    for source in iterate_with_progress(sources.tolist(), progress):
        for x, (hops, capacity, _) in enumerate(next_hops(topology, source)):
            if x == len(loads):
                loads.append(Fraction(0))
            groups, count = np.unique(hops, axis=0, return_counts=True)
            loads[x] = largest_ratio(groups, count, capacity, loads[x])
    return loads


def next_hops(topology: Topology, source: int) -> list[tuple[IntArray, IntArray, IntArray]]:
    """Return next hops, capacities and destinations for each distance.

    Next hops are of shape destinations x neighbours, 0 or 1.
    """
    row = slice(topology.indptr[source], topology.indptr[source + 1])
    useful = topology.dst[row] != source
    neighbours, capacity = topology.dst[row][useful], topology.capacity[row][useful]
    hops = np.zeros((topology.nodes, len(neighbours)), dtype=np.int64)
    hops[neighbours, np.arange(len(neighbours))] = 1
    seen = np.zeros(topology.nodes, dtype=bool)
    seen[source] = True
    seen[neighbours] = True
    layers, frontier = [(hops[neighbours], capacity, neighbours)], neighbours
    while not seen.all():
        inside = np.zeros(topology.nodes, dtype=bool)
        inside[frontier] = True
        onward = inside[topology.src] & ~seen[topology.dst]
        if not onward.any():
            raise make_disconnected_error(topology)
        np.bitwise_or.at(hops, topology.dst[onward], hops[topology.src[onward]])
        frontier = np.unique(topology.dst[onward])
        seen[frontier] = True
        layers.append((hops[frontier], capacity, frontier))
    return layers


def largest_ratio(groups: IntArray, count: IntArray, capacity: IntArray, least: Fraction) -> Fraction:
    """Return the largest ratio of required use to capacity over link sets.

    At least ``least``; Dinkelbach's method.

    * ``groups``, ``count``: which links each kind of node can use, 0 or 1, shape ``(kinds, links)``, and how many there
      are of it.
    * ``capacity``: of each link.
    * ``least``: what the result is at least.
    """
    ratio = max(least, Fraction(int(count.sum()), int(capacity.sum())))
    while (links := _overfull_links(groups, count, capacity, ratio)) is not None:
        inside = ~np.any(groups[:, ~links], axis=1)
        ratio = Fraction(int(count[inside].sum()), int(capacity[links].sum()))
    return ratio


def _overfull_links(groups: IntArray, count: IntArray, capacity: IntArray, ratio: Fraction) -> np.ndarray | None:
    """Return a minimum cut as a mask of links, or None if the ratio suffices."""
    supply = [ratio.denominator * number for number in count.tolist()]
    room = [ratio.numerator * ports for ports in capacity.tolist()]
    flow = matching_flow(groups, supply, room)
    return None if flow.value == sum(supply) else flow.side[len(groups) :][: len(capacity)]
