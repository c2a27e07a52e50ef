"""Deferred schedules: shortest-path schedules in which shards that nobody waits for are taken when links have room.

An SPFF schedule hands every shard on at once, so that a step is as long as the fullest layer of any node is large, and
all others wait. Most nodes are ends of a shard's way, though: nobody gets the shard from them. Such a shard may come at
any later step, over any neighbour that has it, and only those that forward it are bound to their step. So there are as
many steps as in an SPFF schedule, and links are evenly full over all steps together: what a node takes over one link
comes near (N-1)/d shards wherever its neighbours can bring them, also where layers are not alike. Shards stay whole.

What must be forwarded is chosen shard by shard, so that few nodes have to; which shards are taken at a step is a
maximum flow at every node. No other schedule is claimed to be worse.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Cost
from topodesign.base.errors import DisconnectedError, TooLargeError, TopologyError
from topodesign.base.pieces import in_pieces
from topodesign.pricing.closed_form import layer_loads
from topodesign.pricing.deferral_kernels import CLASS_BITS, CLASSES, NOT_YET, choose_relays, deliver
from topodesign.topology.topology import IntArray, Topology

MOST_NODES = 4096
"""Larger topologies would take too much memory: some twenty bytes for every two nodes."""
MOST_WORK = 2**35
"""Steps times nodes times links that are looked at for one schedule; some minutes."""
_MOST_LINKS = 63 - CLASS_BITS
_CORES = os.cpu_count() or 1
_WORK_PER_THREAD = 2**20
"""Links times shards below which a second thread does not pay."""
_WORK_PER_PIECE = 2**22
"""Links times shards that take about as long as a piece should."""
_Links = tuple[IntArray, IntArray, NDArray[np.int32], NDArray[np.int16]]
_Tried = tuple[int, int, NDArray[np.int16], NDArray[np.uint8]]
"""Shards over a link in all steps, the first step that defers, and for each receiver and shard step and link."""


@dataclass(frozen=True)
class Deferral:
    """A deferred allgather of whole shards.

    Attributes
    ----------
    loads
        Shards that a unit of link capacity carries at most, step by step.
    time, source
        Arrays of shape ``(N, N)``: the step at which node v gets shard s, and from which neighbour; 0 and 0 for its
        own shard.
    """

    loads: tuple[Fraction, ...]
    time: NDArray[np.int16]
    source: NDArray[np.int32]

    def cost(self, topology: Topology) -> Cost:
        """Return steps and bandwidth factor on the topology that it is for."""
        return Cost(len(self.loads), Fraction(topology.degree, topology.nodes) * sum(self.loads))


def price_deferred(topology: Topology, progress: Callable[[float], None] | None = None) -> Cost:
    """Return the cost of the deferred reduce-scatter: the allgather of the transpose, reversed in time.

    Parameters and errors are those of :func:`defer`.
    """
    transpose = topology.transpose()
    return defer(transpose, progress).cost(transpose)


def why_not(topology: Topology, steps: int, most: int | None = None) -> str | None:
    """Return why there is no deferred schedule of a topology with a diameter, or None if it is not too large.

    ``most`` is how much work it may be, at most and by default :data:`MOST_WORK`.
    """
    if topology.nodes > MOST_NODES:
        return f"deferred schedules are for at most {MOST_NODES} nodes, not {topology.nodes}"
    if steps * topology.nodes * len(topology.src) > min(MOST_WORK, MOST_WORK if most is None else most):
        return f"a deferred schedule of {topology.nodes} nodes in {steps} steps takes too long to find"
    return None


def defer(topology: Topology, progress: Callable[[float], None] | None = None) -> Deferral:
    """Return the best deferred allgather that was found.

    Tried is deferring in the later half of the steps, then in more or fewer while that helps.

    Parameters
    ----------
    topology
        Strongly connected, without switches.
    progress
        Called with the share of what is to be tried at most.

    Raises
    ------
    DisconnectedError
        If some node does not reach some other.
    TopologyError
        If there are switches, or more than 61 links into a node.
    TooLargeError
        If there are more than 4096 nodes, or too much work.
    """
    transpose = topology.transpose()
    layers = layer_loads(transpose)
    nodes, steps = topology.nodes, len(layers)
    if (why := why_not(topology, steps)) is not None:
        raise TooLargeError(why)
    into = _single_links(transpose)
    widest = int(np.diff(into[0]).max(initial=0))
    if widest > _MOST_LINKS:
        raise TopologyError(f"deferred schedules are for at most {_MOST_LINKS} links into a node, not {widest}")
    every = np.arange(nodes)
    by_shard, forwards = np.empty((nodes, nodes), np.int16), np.zeros((nodes, steps + 1), np.int32)
    if choose_relays(every, topology.indptr, topology.dst, *into, every, by_shard, forwards) < 0:
        raise DisconnectedError("some nodes do not reach each other")
    code = np.ascontiguousarray(by_shard.T)
    del by_shard, forwards
    search = _Search((*into, np.empty((0, 0), np.int32), code), layers, progress)
    return _counted(topology, into[0], *search.best())


class _Search:
    """Deferring from one step on or another.

    Parameters
    ----------
    links
        The arrays ``first``, ``other``, ``moved`` and ``code`` of :mod:`topodesign.pricing.deferral_kernels`.
    layers
        What a unit of link capacity carries at each step if nothing is deferred.
    progress
        Called with the share of what is to be tried at most.
    """

    def __init__(self, links: _Links, layers: list[Fraction], progress: Callable[[float], None] | None) -> None:
        first, other, _, code = self._links = links
        self._distance = code // CLASSES
        self._rooms = [-(-load.numerator // load.denominator) for load in layers]
        self._work = max(1, len(other) // len(code)) * code.shape[1]
        self._workers = min(_CORES, 1 + len(code) * self._work // _WORK_PER_THREAD)
        self._least = -(-(code.shape[1] - 1) // int(np.diff(first).min()))
        self._progress = progress

    def best(self) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
        """Return the step at which each receiver gets each shard, 0 for its own, and over which of its links."""
        steps = len(self._rooms)
        middle = max(1, steps // 2)
        best = self._tried(middle)
        for way in (1, -1):
            back = middle + way
            while 1 <= back < steps and best[0] > self._least:
                other = self._tried(back)
                if other[0] >= best[0]:
                    break
                best, back = other, back + way
            if back > middle + 1:
                break
        _, start, time, link = best
        for step in range(1, start):  # nothing is deferred, so all that comes near has room
            self._deliver(time, link, step, self._rooms[step - 1], take=True)
        return time, link

    def _tried(self, back: int) -> _Tried:
        """Return the schedule that defers in the last step and so many before it."""
        steps = len(self._rooms)
        if self._progress is not None:
            self._progress(min(1.0, back / steps))
        start = max(1, steps - back)
        time = np.where(self._distance < start, self._distance, np.int16(NOT_YET))
        link = np.zeros(time.shape, np.uint8)
        total = sum(self._rooms[: start - 1])
        for step in range(start, steps):
            room = self._deliver(time, link, step, 0, take=False)
            total += self._deliver(time, link, step, room, take=True)
        return total + self._deliver(time, link, steps, 0, take=True), start, time, link

    def _deliver(self, time: NDArray[np.int16], link: NDArray[np.uint8], step: int, room: int, *, take: bool) -> int:
        """Do what the kernel of this name does for all receivers: what they take depends on earlier steps alone."""
        rooms = [room] * self._workers
        last = step == len(self._rooms)

        def some(worker: int, begin: int, end: int) -> None:
            rooms[worker] = deliver(begin, end, *self._links, time, link, step, last, rooms[worker], take)

        first = max(1, min(_WORK_PER_PIECE // self._work, -(-len(time) // self._workers)))
        in_pieces(len(time), some, first=first, workers=self._workers)
        return max(rooms)


def _counted(topology: Topology, first: IntArray, time: NDArray[np.int16], link: NDArray[np.uint8]) -> Deferral:
    """Return the schedule with the neighbours that shards come from and the loads, counted link by link."""
    order = np.lexsort((topology.src, topology.dst))
    order = order[topology.src[order] != topology.dst[order]]
    capacity = topology.capacity[order]
    pair = np.repeat(np.arange(len(order)), capacity)  # of each single link, of which one pair of nodes has several
    came = time > 0
    over = pair[(first[:-1, None] + link)[came]]
    source = np.zeros(time.shape, np.int32)
    source[came] = topology.src[order][over]
    steps = int(time.max(initial=0))
    counts = np.bincount((time[came].astype(np.int64) - 1) * len(order) + over, minlength=steps * len(order)).reshape(
        steps, -1
    )
    kinds = np.unique(capacity).tolist()
    loads = (max(Fraction(int(row[capacity == kind].max()), kind) for kind in kinds) for row in counts)
    return Deferral(tuple(loads), time, source)


def _single_links(topology: Topology) -> tuple[IntArray, IntArray]:
    """Return the links out of each node, one for each unit of capacity and none that leads back: starts and ends."""
    useful = topology.src != topology.dst
    source, target, capacity = topology.src[useful], topology.dst[useful], topology.capacity[useful]
    first = np.searchsorted(np.repeat(source, capacity), np.arange(topology.nodes + 1))
    return first.astype(np.int64), np.repeat(target, capacity)
