"""Which host should be which node, so that as much as possible of an existing wiring can stay as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from topodesign.errors import ParameterError
from topodesign.topology import IntArray, Topology

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_EXHAUSTED = 16
"""Nodes up to which all relabellings are gone through, as far as the effort allows."""

_MOST_NODES = 4096  # matrices of this many nodes squared are kept
_BRANCHES = 2**22
_GROUP = 2**14
_PROPOSALS = 2**22
_STARTS = 4
_REFINED = 2**23  # table entries that the search for an isomorphism may look at: some five seconds


@dataclass(frozen=True)
class Relabelling:
    """Which host each node goes to.

    Attributes
    ----------
    place
        Host of each node, by number.
    kept
        Links of the existing wiring that stay.
    proven
        Whether it is proven that no other relabelling keeps more.
    """

    place: tuple[int, ...]
    kept: int
    proven: bool


@dataclass(frozen=True)
class Isomorphism:
    """Whether two topologies are the same but for the order of their nodes.

    Attributes
    ----------
    place
        ``place[v]`` is the node of the first topology that node v of the second is, None if there is no such order or
        none was found.
    decided
        Whether the search came to an end.
    """

    place: tuple[int, ...] | None
    decided: bool


def relabel(existing: Topology, wanted: Topology, *, seed: int = 0) -> Relabelling:
    """Place the nodes of a wanted topology on the nodes of an existing one so that many links stay.

    Self-loops do not count. The order as it is comes first, then an isomorphism, then swaps of two nodes by annealing,
    from several starts; up to ``MOST_EXHAUSTED`` nodes a branch and bound over all relabellings, of which those that an
    automorphism turns into each other count once, then proves the best or finds better.

    Parameters
    ----------
    existing, wanted
        Topologies; the existing one may have more nodes.
    seed
        Of the annealing.

    Raises
    ------
    ParameterError
        If the wanted topology has more nodes, or there are too many.
    """
    nodes = existing.nodes
    if wanted.nodes > nodes:
        raise ParameterError(f"{wanted.nodes} nodes do not fit on {nodes} hosts")
    if nodes > _MOST_NODES:
        raise ParameterError(f"relabelling takes at most {_MOST_NODES} nodes, not {nodes}")
    have, want = _matrix(existing, nodes), _matrix(wanted, nodes)
    best = _same(have, want)
    most = int(min(have.sum(), want.sum()))
    if best.kept < most and nodes == wanted.nodes:
        found = isomorphism(_plain(existing), _plain(wanted))
        if found.place is not None:
            best = Relabelling(found.place, most, proven=True)
    if best.kept < most:
        best = _anneal(have, want, best, seed)
    if best.kept < most and nodes <= MOST_EXHAUSTED:
        best = _exhaust(have, want, best)
    place = best.place[: wanted.nodes]
    return Relabelling(place, best.kept, proven=best.proven or best.kept == most)


def isomorphism(existing: Topology, wanted: Topology, *, effort: int = _REFINED) -> Isomorphism:
    """Look for the order of the nodes of one topology in which it is the other, capacities included.

    The nodes of both get colours that are refined together until nodes of one colour have alike neighbours. Then nodes
    of one colour are matched in order. If that is no isomorphism, a node is matched with each node of its colour on the
    other side in turn, and the colours are refined again.

    Parameters
    ----------
    existing, wanted
        Any topologies.
    effort
        Table entries that the search may look at before it gives up undecided.
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
            if _moved(wanted, place) == existing:
                return Isomorphism(tuple(place.tolist()), decided=True)
            pending.append(_branches(colours, only_first=existing.vertex_transitive and len(pending) == 1))
    return Isomorphism(None, decided=True)


def _plain(topology: Topology) -> Topology:
    """Return the topology without self-loops; what is known of its symmetry stays true."""
    real = topology.src != topology.dst
    return Topology.from_arrays(
        topology.nodes,
        topology.src[real],
        topology.dst[real],
        topology.capacity[real],
        representatives=topology.representatives,
    )


def _moved(topology: Topology, place: IntArray) -> Topology:
    return Topology.from_arrays(
        topology.nodes,
        place[topology.src],
        place[topology.dst],
        topology.capacity,
        switches=[int(place[node]) for node in topology.switches],
    )


def _matrix(topology: Topology, nodes: int) -> NDArray[np.int32]:
    matrix = np.zeros((nodes, nodes), dtype=np.int32)
    matrix[topology.src, topology.dst] = topology.capacity
    np.fill_diagonal(matrix, 0)
    return matrix


def _same(have: NDArray[np.int32], want: NDArray[np.int32]) -> Relabelling:
    return Relabelling(tuple(range(len(have))), int(np.minimum(have, want).sum()), proven=False)


def _anneal(have: NDArray[np.int32], want: NDArray[np.int32], best: Relabelling, seed: int) -> Relabelling:
    from topodesign.solve import relabel_kernels as kernels  # noqa: PLC0415  compiled code, slow to import

    nodes = len(have)
    rows = [np.flatnonzero(matrix[row] + matrix[:, row]) for matrix in (want, have) for row in range(nodes)]
    near = np.concatenate(rows).astype(np.int64)
    start = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    rng = np.random.default_rng(seed)
    proposals = min(_PROPOSALS, 2**12 * nodes)
    for attempt in range(_STARTS):
        place = np.array(best.place, dtype=np.int64) if attempt % 2 == 0 else rng.permutation(nodes)
        state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
        warmth = kernels.ONE // (8 if attempt % 2 == 0 else 3)
        kept = kernels.anneal(have, want, near, start, place, proposals, warmth, state)
        if kept > best.kept:
            best = Relabelling(tuple(place.tolist()), int(kept), proven=False)
    return best


def _exhaust(have: NDArray[np.int32], want: NDArray[np.int32], best: Relabelling) -> Relabelling:
    """Improve a relabelling or prove that it is the best, if that can be done with the effort."""
    from topodesign.solve import relabel_kernels as kernels  # noqa: PLC0415  compiled code, slow to import

    groups = [_symmetries(matrix) for matrix in (have, want)]
    one, other, group = (want, have, groups[0]) if len(groups[0]) >= len(groups[1]) else (have, want, groups[1])
    match = np.full(len(have), -1, dtype=np.int64)
    both_ways = np.array_equal(have, have.T) and np.array_equal(want, want.T)
    branches = kernels.exhaust(
        one, other, _search_order(one), group, match, best.kept, 2 if both_ways else 1, _BRANCHES
    )
    if match[0] >= 0:
        place = match if one is want else np.argsort(match)
        kept = int(np.minimum(want, have[np.ix_(place, place)]).sum())
        best = Relabelling(tuple(place.tolist()), kept, proven=False)
    return Relabelling(best.place, best.kept, proven=branches >= 0)


def _symmetries(matrix: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a group of automorphisms, a row each: all, or those that fix so many nodes that they can be listed."""
    from topodesign.solve import relabel_kernels as kernels  # noqa: PLC0415  compiled code, slow to import

    nodes = len(matrix)
    found = np.empty((_GROUP, nodes), dtype=np.int32)
    order = _search_order(matrix)
    counts = (kernels.automorphisms(matrix, order, fixed, found, 2**26) for fixed in range(nodes + 1))
    return found[: next(count for count in counts if count > 0)].copy()


def _search_order(matrix: NDArray[np.int32]) -> IntArray:
    """Return the nodes so that each has as many links as possible to those before it."""
    linked = (matrix + matrix.T).astype(np.int64)
    score = linked.sum(axis=1)
    order = np.empty(len(matrix), dtype=np.int64)
    for place in range(len(matrix)):
        order[place] = np.argmax(score)
        score += linked[order[place]] * len(matrix) * int(linked.max(initial=0))
        score[order[: place + 1]] = -1
    return order


def _ports(wanted: Topology, existing: Topology) -> tuple[IntArray, IntArray]:
    """Return the neighbours of the nodes of both topologies, one after the other, and the links' capacities.

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
    """Split colours until nodes of one colour have alike neighbours; return the colours and the number of rounds."""
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
    """Match the first node of the smallest colour with each node of the other side in turn, or with the first alone."""
    nodes = len(colours) // 2
    size = np.bincount(colours[:nodes])
    colour = int(np.argmin(np.where(size > 1, size, 2 * nodes)))
    node = int(np.argmax(colours[:nodes] == colour))
    for image in np.flatnonzero(colours[nodes:] == colour)[: 1 if only_first else None].tolist():
        branch = colours.copy()
        branch[[node, nodes + image]] = len(size)
        yield branch
