"""The check that a graph is distance-regular, on its links and not on its name."""

from __future__ import annotations

import numpy as np

from topodesign.topology.topology import IntArray, Topology

IntersectionArray = tuple[tuple[int, ...], tuple[int, ...]]


def intersection_array(topology: Topology) -> IntersectionArray | None:
    """Return the intersection array of a distance-regular graph, None for any other topology.

    For nodes u, v at distance i, b_i counts the neighbours of v at distance i + 1 from u, and c_i those at distance
    i - 1. The graph is distance-regular when these depend on i alone; that is checked for every pair of nodes.

    Parameters
    ----------
    topology
        Any; the answer is None unless it is connected, every link has its reverse, and there are no self-loops,
        parallel links or switches.

    Returns
    -------
    tuple of two tuples or None
        (b_0, ..., b_{D-1}) and (c_1, ..., c_D) with D the diameter.

    References
    ----------
    Brouwer, Cohen and Neumaier, Distance-Regular Graphs, section 4.1; Efficient Direct-Connect Topologies,
    Definition 15.
    """
    simple = topology.is_duplex and not topology.self_loops and bool(np.all(topology.capacity == 1))
    if not simple or topology.switches or topology.nodes < 2 or np.any(topology.out_ports == 0):
        return None
    nearer: dict[int, int] = {}
    farther: dict[int, int] = {}
    block = max(1, 2**22 // len(topology.src))
    for start in range(0, topology.nodes, block):
        distance = _distances(topology, np.arange(start, min(start + block, topology.nodes)))
        if np.any(distance < 0):
            return None
        step = distance[:, topology.dst] - distance[:, topology.src]
        for counts, direction in ((nearer, -1), (farther, 1)):
            count = np.add.reduceat(step == direction, topology.indptr[:-1], axis=1, dtype=np.int64)
            for i in range(int(distance.max()) + 1):
                values = count[distance == i]
                if len(values) and np.any(values != counts.setdefault(i, int(values[0]))):
                    return None
    diameter = max(nearer)
    return tuple(farther[i] for i in range(diameter)), tuple(nearer[i] for i in range(1, diameter + 1))


def _distances(topology: Topology, sources: IntArray) -> IntArray:
    """Return the distance of every node from every source, -1 where there is no path; shape (sources, nodes)."""
    distance = np.full((len(sources), topology.nodes), -1, dtype=np.int64)
    front = np.zeros(distance.shape, dtype=bool)
    front[np.arange(len(sources)), sources] = True
    step = 0
    while front.any():
        distance[front] = step
        reached = np.zeros(distance.shape, dtype=bool)
        row, link = np.nonzero(front[:, topology.src])
        reached[row, topology.dst[link]] = True
        front = reached & (distance < 0)
        step += 1
    return distance
