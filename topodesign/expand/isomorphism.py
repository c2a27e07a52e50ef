"""The isomorphism from a topology to its transpose, where there is one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from topodesign.errors import InfeasibleError
from topodesign.topology import IntArray, Topology

_MOST_WORK = 2**25
"""Table entries that the search may look at: some five seconds."""


def mirror(topology: Topology) -> IntArray:
    """Return a permutation g of the nodes, shape ``(nodes,)``, such that link uv has the capacity of link g(v)g(u).

    The nodes of G and of its transpose get colours that are refined together until nodes of one colour have alike
    neighbours. Then nodes of one colour are matched in order. If that is no isomorphism, a node of G is matched with
    each node of its colour on the other side in turn, and the colours are refined again.

    Raises
    ------
    InfeasibleError
        If there is none, or none is found with reasonable effort.
    """
    nodes = topology.nodes
    if topology.is_duplex:
        return np.arange(nodes)
    ports = _ports(topology)
    pending = [iter([np.zeros(2 * nodes, dtype=np.int64)])]
    work = 0
    while pending:
        colours = next(pending[-1], None)
        if colours is None:
            pending.pop()
            continue
        colours, rounds = _refine(colours, ports)
        work += rounds * ports[0].size
        if work > _MOST_WORK:
            raise InfeasibleError("no isomorphism of the topology to its transpose is found with reasonable effort")
        order, image = np.argsort(colours[:nodes], kind="stable"), np.argsort(colours[nodes:], kind="stable")
        if not np.array_equal(colours[order], colours[nodes + image]):
            continue
        match = np.empty(nodes, dtype=np.int64)
        match[order] = image
        if _mirrors(topology, match):
            return match
        pending.append(_branches(colours, only_first=topology.vertex_transitive and len(pending) == 1))
    raise InfeasibleError("the topology is not isomorphic to its transpose")


def _mirrors(topology: Topology, match: IntArray) -> bool:
    source, target = match[topology.dst], match[topology.src]
    order = np.lexsort((target, source))
    return (
        np.array_equal(source[order], topology.src)
        and np.array_equal(target[order], topology.dst)
        and np.array_equal(topology.capacity[order], topology.capacity)
    )


def _ports(topology: Topology) -> tuple[IntArray, IntArray]:
    """Return the neighbours of the nodes of G and then of its transpose, and the links' capacities.

    Both have the shape (2, 2 * nodes, distinct neighbours): along links out and along links in. Where a node has fewer
    neighbours the capacity is 0.
    """
    nodes = topology.nodes
    tail = np.concatenate((topology.src, topology.dst + nodes))
    head = np.concatenate((topology.dst, topology.src + nodes))
    capacity = np.tile(topology.capacity, 2)
    width = int(np.bincount(tail).max())
    neighbour = np.zeros((2, 2 * nodes, width), dtype=np.int64)
    weight = np.zeros_like(neighbour)
    for side, (here, there) in enumerate(((tail, head), (head, tail))):
        order = np.argsort(here, kind="stable")
        row = here[order]
        place = np.arange(len(row)) - np.searchsorted(row, row)
        neighbour[side, row, place] = there[order]
        weight[side, row, place] = capacity[order]
    return neighbour, weight


def _refine(colours: IntArray, ports: tuple[IntArray, IntArray]) -> tuple[IntArray, int]:
    """Split colours until nodes of one colour have alike neighbours; return the colours and the number of rounds."""
    neighbour, capacity = ports
    count, rounds = 0, 0
    kinds = np.unique(capacity, return_inverse=True)[1].reshape(capacity.shape)
    while True:
        rounds += 1
        seen = np.where(capacity > 0, colours[neighbour] * (kinds.max() + 1) + kinds, -1)
        seen.sort(axis=2)
        looks = np.concatenate((colours[:, None], *seen), axis=1)
        values, colours = np.unique(looks, axis=0, return_inverse=True)
        colours = colours.reshape(-1)
        if len(values) == count:
            return colours, rounds
        count = len(values)


def _branches(colours: IntArray, *, only_first: bool) -> Iterator[IntArray]:
    """Match the first node of the smallest colour with each node of the other side in turn, or with the first alone."""
    nodes = len(colours) // 2
    size = np.bincount(colours[:nodes])
    colour = int(np.argmin(np.where(size > 1, size, len(colours))))
    node = int(np.argmax(colours[:nodes] == colour))
    for image in np.flatnonzero(colours[nodes:] == colour)[: 1 if only_first else None].tolist():
        branch = colours.copy()
        branch[[node, nodes + image]] = len(size)
        yield branch
