"""Isomorphisms between topologies, and to a transpose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.topology.topology import IntArray, Topology

_EFFORT = 2**23
_MIRROR_EFFORT = 2**25  # table entries that a search may look at: some seconds


@dataclass(frozen=True)
class Isomorphism:
    """The answer whether two topologies are equal up to node order."""

    # place[v] is the node of the first topology that node v of the second is, None if there is no such order or none
    # was found
    place: tuple[int, ...] | None
    decided: bool  # whether the search came to an end


def mirror(topology: Topology) -> IntArray:
    """Return an isomorphism g to the transpose, shape ``(nodes,)``.

    Link uv has the capacity of link g(v)g(u).
    """
    if topology.is_duplex:
        return np.arange(topology.nodes)
    found = isomorphism(topology.transpose(), topology, effort=_MIRROR_EFFORT)
    if not found.decided:
        raise InfeasibleError("no isomorphism of the topology to its transpose is found with reasonable effort")
    if found.place is None:
        raise InfeasibleError("the topology is not isomorphic to its transpose")
    return np.array(found.place, dtype=np.int64)


def isomorphism(existing: Topology, wanted: Topology, *, effort: int = _EFFORT) -> Isomorphism:
    """Return the node order in which one topology is the other.

    Capacities included.

    The nodes of both get colours that are refined together until nodes of one colour have alike neighbours. Then nodes
    of one colour are matched in order. If that is no isomorphism, a node is matched with each node of its colour on the
    other side in turn, and the colours are refined again.

    * ``existing``, ``wanted``: any topologies.
    * ``effort``: table entries that the search may look at before it gives up undecided.
    """
    nodes = wanted.nodes
    if existing.nodes != nodes or sorted(existing.capacity.tolist()) != sorted(wanted.capacity.tolist()):
        return Isomorphism(None, decided=True)
    if wanted.vertex_transitive and not existing.vertex_transitive:  # then it is the side to choose one node on
        turned = isomorphism(wanted, existing, effort=effort)
        back = None if turned.place is None else tuple(np.argsort(turned.place).tolist())
        return Isomorphism(back, turned.decided)
    ports = _ports(wanted, existing)
    pending: list[Iterator[IntArray]] = [iter([np.zeros(2 * nodes, dtype=np.int64)])]
    while pending:
        colours = next(pending[-1], None)
        if colours is None:
            pending.pop()
            continue
        colours, rounds = _refine(colours, ports)
        effort -= rounds * ports[0].size
        if effort < 0 and len(pending) > 1:
            return Isomorphism(None, decided=False)
        order, image = np.argsort(colours[:nodes], kind="stable"), np.argsort(colours[nodes:], kind="stable")
        if np.array_equal(colours[order], colours[nodes + image]):
            place = np.empty(nodes, dtype=np.int64)
            place[order] = image
            if _permute(wanted, place) == existing:
                return Isomorphism(tuple(place.tolist()), decided=True)
            pending.append(_branches(colours, only_first=existing.vertex_transitive and len(pending) == 1))
    return Isomorphism(None, decided=True)


def _permute(topology: Topology, place: IntArray) -> Topology:
    return Topology.from_arrays(
        topology.nodes,
        place[topology.src],
        place[topology.dst],
        topology.capacity,
        switches=[int(place[node]) for node in topology.switches],
    )


def _ports(wanted: Topology, existing: Topology) -> tuple[IntArray, IntArray]:
    """Return the neighbours of both topologies' nodes, and capacities.

    Both have the shape (2, 2 * nodes, distinct neighbours): along links out and along links in. Where a node has fewer
    neighbours the capacity is 0.
    """
    nodes = wanted.nodes
    tail = np.concatenate((wanted.src, existing.src + nodes))
    head = np.concatenate((wanted.dst, existing.dst + nodes))
    capacity = np.concatenate((wanted.capacity, existing.capacity))
    width = max(int(np.bincount(ends).max(initial=0)) for ends in (tail, head))
    neighbour = np.zeros((2, 2 * nodes, width), dtype=np.int64)
    weight = np.zeros_like(neighbour)
    for side, (here, there) in enumerate(((tail, head), (head, tail))):
        order = np.argsort(here, kind="stable")
        row = here[order]
        column = np.arange(len(row)) - np.searchsorted(row, row)
        neighbour[side, row, column] = there[order]
        weight[side, row, column] = capacity[order]
    return neighbour, weight


def _refine(colours: IntArray, ports: tuple[IntArray, IntArray]) -> tuple[IntArray, int]:
    """Split colours until nodes of one colour have like neighbours."""
    neighbour, capacity = ports
    count, rounds = 0, 0
    values, kinds = np.unique(capacity, return_inverse=True)
    kinds = kinds.reshape(capacity.shape)
    while True:
        rounds += 1
        seen = np.where(capacity > 0, colours[neighbour] * len(values) + kinds, -1)
        seen.sort(axis=2)
        looks, colours = np.unique(np.concatenate((colours[:, None], *seen), axis=1), axis=0, return_inverse=True)
        colours = colours.reshape(-1)
        if len(looks) == count:
            return colours, rounds
        count = len(looks)


def _branches(colours: IntArray, *, only_first: bool) -> Iterator[IntArray]:
    """Match the first node of the smallest colour with each node opposite."""
    nodes = len(colours) // 2
    size = np.bincount(colours[:nodes])
    colour = int(np.argmin(np.where(size > 1, size, 2 * nodes)))
    node = int(np.argmax(colours[:nodes] == colour))
    for image in np.flatnonzero(colours[nodes:] == colour)[: 1 if only_first else None].tolist():
        branch = colours.copy()
        branch[[node, nodes + image]] = len(size)
        yield branch
