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

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Cost
from topodesign.base.errors import DisconnectedError, TooLargeError, TopologyError
from topodesign.pricing.closed_form import layer_loads
from topodesign.pricing.deferral_kernels import CLASSES, choose_relays, deliver
from topodesign.topology.topology import IntArray, Topology

MOST_NODES = 4096
"""Larger topologies would take too much memory: some ten bytes for every two nodes."""
MOST_WORK = 2**35
"""Steps times nodes times links that are looked at for one schedule; some minutes."""
_MOST_LINKS = 63 - CLASSES
_Tried = tuple[int, NDArray[np.int16], NDArray[np.int16]]
"""Shards over a link in all steps, and for each node and shard the step and over which of the node's links it comes."""


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


def why_not(topology: Topology, steps: int) -> str | None:
    """Return why there is no deferred schedule of a topology with a diameter, or None if it is not too large."""
    if topology.nodes > MOST_NODES:
        return f"deferred schedules are for at most {MOST_NODES} nodes, not {topology.nodes}"
    if steps * topology.nodes * len(topology.src) > MOST_WORK:
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
    out, into = (topology.indptr, topology.dst), _single_links(transpose)
    widest = int(np.diff(into[0]).max(initial=0))
    if widest > _MOST_LINKS:
        raise TopologyError(f"deferred schedules are for at most {_MOST_LINKS} links into a node, not {widest}")
    distance, relay = np.empty((nodes, nodes), np.int16), np.empty((nodes, nodes), np.uint8)
    if choose_relays(*out, *into, distance, relay) < 0:
        raise DisconnectedError("some nodes do not reach each other")
    rooms = [-(-load.numerator // load.denominator) for load in layers]
    least = -(-(nodes - 1) // int(np.diff(into[0]).min()))

    def tried(back: int) -> _Tried:
        """Return the schedule that defers in so many last steps."""
        if progress is not None:
            progress(min(1.0, back / steps))
        time, link = np.zeros((nodes, nodes), np.int16), np.zeros((nodes, nodes), np.int16)
        total = 0
        for step in range(1, steps + 1):
            what = (*into, *out, distance, relay, time, link, step, step == steps)
            room = rooms[step - 1] if step < steps - back else deliver(*what, 0, False)
            total += deliver(*what, room, True)
        return total, time, link

    middle = max(1, steps // 2)
    best = tried(middle)
    for way in (1, -1):
        back = middle + way
        while 1 <= back < steps and best[0] > least:
            other = tried(back)
            if other[0] >= best[0]:
                break
            best, back = other, back + way
        if back > middle + 1:
            break
    return _counted(topology, into[0], best[1], best[2])


def _counted(topology: Topology, first: IntArray, time: NDArray[np.int16], link: NDArray[np.int16]) -> Deferral:
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
