"""Lower bounds of chunk schedules over a network, in ticks."""

from __future__ import annotations

import math

import numpy as np

from topodesign.base.compiled import LARGEST
from topodesign.base.errors import TooLargeError
from topodesign.collectives.collective import EVERYONE
from topodesign.optima.forest.bottleneck import optimum, with_capacity
from topodesign.schedulers.time_expanded.event_kernels import queue_for, reach
from topodesign.schedulers.time_expanded.network import Chunks, Network, list_missing
from topodesign.topology.topology import IntArray

CUTS = 64  # most nodes of a network of which all cuts are looked at
_MAX_WAYS = 2**24  # most pairs of a source and a link of which all distances are looked at
_GRAIN = 2**20
_MAX_SETS = 16  # bandwidths whose sets of nodes are looked at


def bound_of(network: Network, chunks: Chunks) -> int:
    """Return a lower bound of every schedule, in ticks.

    It is the longest of: the shortest way of every chunk; what the links into a node need for all that it lacks, and
    those out of a node for all that others lack; what all links need together, where every chunk goes to one node; and
    where all nodes need everything, what the links out of any set of nodes need (the optimum of ForestColl, for which
    links carry a chunk per time that one keeps them busy).
    """
    node, chunk = list_missing(chunks)
    if not len(node):
        return 0
    nodes = network.topology.nodes
    queue = queue_for(nodes, nodes + len(network.takes))
    early = np.full((1, nodes), LARGEST, dtype=np.int64)
    np.minimum.at(early[0], chunks.at, chunks.since)
    reach(network.web, queue, early, False)
    into = fewest_ticks(network, np.bincount(node, minlength=nodes), early[0], into=True)
    needed = np.unique(chunk)
    out = fewest_ticks(network, np.bincount(chunks.at[needed], minlength=nodes), early[0], into=False)
    return max(into, out, _longest_way(network, chunks, node, chunk), _cuts(network, chunks))


def fewest_ticks(network: Network, count: IntArray, early: IntArray, *, into: bool) -> int:
    """Return the minimum ticks for node links to pass their chunks.

    It is the maximum over the nodes. With ``into`` it counts the links into a node, and otherwise those out of it.
    """
    web, topology = network.web, network.topology
    real = np.flatnonzero((topology.src != topology.dst) & (early[topology.src] < LARGEST))
    place = web.port_start[real + 1] - 1 if into else web.port_start[real]
    port = web.port[place]
    end = (topology.dst if into else topology.src)[real]
    # A port at a node lets a chunk through whenever the quickest of its links would.
    doors, door = np.unique(np.stack((end, port)), axis=1, return_inverse=True)
    first, busy = (np.full(doors.shape[1], LARGEST, dtype=np.int64) for _ in range(2))
    np.minimum.at(first, door, np.maximum(early[topology.src], web.opens)[real] + web.takes[real])
    np.minimum.at(busy, door, web.hold[place])
    low, high = np.zeros(len(count), dtype=np.int64), np.full(len(count), LARGEST - 1, dtype=np.int64)
    while np.any(low < high):
        middle = low + (high - low) // 2
        late = middle[doors[0]] - first
        passed = np.zeros(len(count), dtype=np.int64)
        np.add.at(passed, doors[0], np.where(late >= 0, np.minimum(late // busy + 1, 2**31), 0))
        enough = passed >= count
        high, low = np.where(enough, middle, high), np.where(enough, low, middle + 1)
    return int(low[(count > 0) & (low < LARGEST - 1)].max(initial=0))


def bound_of_sums(network: Network, chunks: int) -> int:
    """Return a lower bound, in ticks, of an all-node allreduce.

    However sums are made: into k sets are the nodes divided, and of every chunk at least 2 (k - 1) sends go from set to
    set. For let one set be the first that all contributions have reached. Each other set has sent one on a way that has
    ended there by then, and gets what completes it no sooner; and a send that is both would have to go on to the first
    set, too late. (With a node a set it is the theorem on gossip one way: Harary and Schwenk, The Communication Problem
    on Graphs and Digraphs, 1974.) Looked at are single nodes, and those that links quicker than some join.
    """
    topology = network.topology
    if network.routes is not None or topology.switches:
        return 0
    from scipy.sparse import coo_array  # noqa: PLC0415  heavy
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    real = np.flatnonzero(topology.src != topology.dst)
    src, dst, busy, takes = topology.src[real], topology.dst[real], network.busy[real], network.takes[real]
    part, sets, best = np.arange(topology.nodes), topology.nodes, 0
    for slow in np.unique(busy).tolist()[:_MAX_SETS]:
        between, count = np.flatnonzero(part[src] != part[dst]), 2 * (sets - 1) * chunks
        if not len(between):
            break
        low, high = 0, int(takes[between].max()) + count * int(busy[between].min())
        while low < high:
            middle = (low + high) // 2
            late = middle - takes[between]
            enough = np.where(late >= 0, late // busy[between] + 1, 0).sum() >= count
            low, high = (low, middle) if enough else (middle + 1, high)
        quick, best = busy <= slow, max(best, low)
        web = coo_array((np.ones(quick.sum()), (src[quick], dst[quick])), shape=(topology.nodes, topology.nodes))
        sets, part = connected_components(web, directed=False)
    return best


def _longest_way(network: Network, chunks: Chunks, node: IntArray, chunk: IntArray) -> int:
    """Return the tick bound from longest routes and total load."""
    nodes, links = network.topology.nodes, len(network.takes)
    sources = np.unique(chunks.at[chunk])
    every = sources[: max(1, _MAX_WAYS // max(1, links))]
    since = np.full((len(every), nodes), LARGEST, dtype=np.int64)
    earliest = np.full(nodes, LARGEST, dtype=np.int64)
    np.minimum.at(earliest, chunks.at, chunks.since)
    since[np.arange(len(every)), every] = earliest[every]
    reach(network.web, queue_for(nodes, nodes + links), since, False)
    row = np.searchsorted(every, chunks.at[chunk])
    known = (row < len(every)) & (every[np.minimum(row, len(every) - 1)] == chunks.at[chunk])
    ways = since[row[known], node[known]]
    longest = int(ways[ways < LARGEST].max(initial=0))
    if np.any(chunks.goal == EVERYONE) or not known.all() or network.overlap:
        return longest
    # Every send takes a port of a link for as long as the chunk is under way.
    own = ways - earliest[chunks.at[chunk]]
    return max(longest, -(-int(own[ways < LARGEST].sum()) // max(1, len(np.unique(network.web.port)))))


def _cuts(network: Network, chunks: Chunks) -> int:
    """Return the tick bound from the tightest node set."""
    topology = network.topology
    own = np.bincount(chunks.at, minlength=topology.nodes)
    shared = len(network.web.port) != len(network.takes)
    if (
        topology.nodes > CUTS
        or shared
        or network.routes is not None
        or np.any(chunks.team)
        or np.any(chunks.goal != EVERYONE)
    ):
        return 0
    real = topology.src != topology.dst
    common = math.lcm(*set(network.busy[real].tolist()))
    least = int(network.busy[real].min())
    scale = min(_GRAIN * least, common)
    capacity = np.array(
        [-(-scale // busy) if used else 0 for busy, used in zip(network.busy.tolist(), real, strict=True)]
    )
    try:
        best = optimum(with_capacity(topology, capacity), weights=own.tolist())
    except TooLargeError:
        return 0
    # More capacity than links have, and so no more time than they need.
    return -int(-(best.bound * scale) // 1)
