"""Inner loops of concurrent flows: shortest paths with whole lengths."""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import Ints, tiered


@tiered(lambda source, indptr, dst, *_: 4 * len(dst))
def shortest_tree(source: int, indptr: Ints, dst: Ints, length: Ints, distance: Ints, via: Ints, order: Ints) -> int:
    """Dijkstra's search from one node; of several shortest paths the first that is met is kept.

    Parameters
    ----------
    source
        Where to start.
    indptr, dst, length
        CSR arcs of N nodes with their lengths, none negative. In plain Python they may be integers of any size.
    distance, via, order
        Shape ``(N,)``, written in place: how far each node is, the arc that leads to it (-1 for the source), and the
        nodes in the order in which they are reached; -1 where there is no path.

    Returns
    -------
    int
        Number of nodes reached.
    """
    nodes = len(indptr) - 1
    heap = np.empty(nodes, np.int64)
    place = np.empty(nodes, np.int64)  # in the heap; -1 before, -2 after
    for node in range(nodes):
        distance[node] = -1
        via[node] = -1
        order[node] = -1
        place[node] = -1
    distance[source] = 0
    heap[0] = source
    place[source] = 0
    size, reached = 1, 0
    while size > 0:
        node = heap[0]
        place[node] = -2
        order[reached] = node
        reached += 1
        size -= 1
        if size > 0:
            last = heap[size]
            hole = 0
            while 2 * hole + 1 < size:
                child = 2 * hole + 1
                if child + 1 < size and distance[heap[child + 1]] < distance[heap[child]]:
                    child += 1
                if distance[heap[child]] >= distance[last]:
                    break
                heap[hole] = heap[child]
                place[heap[hole]] = hole
                hole = child
            heap[hole] = last
            place[last] = hole
        near = distance[node]
        for arc in range(indptr[node], indptr[node + 1]):
            other = dst[arc]
            if place[other] == -2:
                continue
            far = near + length[arc]
            if place[other] == -1:
                hole = size
                size += 1
            elif far < distance[other]:
                hole = place[other]
            else:
                continue
            distance[other] = far
            via[other] = arc
            while hole > 0 and distance[heap[(hole - 1) // 2]] > far:
                heap[hole] = heap[(hole - 1) // 2]
                place[heap[hole]] = hole
                hole = (hole - 1) // 2
            heap[hole] = other
            place[other] = hole
    return reached
