"""Random insertions and deletions of nodes.

A new node is put in the middle of d links; a deleted one has its in-links joined to its out-links.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from topodesign.base.errors import ParameterError, TopodesignError
from topodesign.graphs.expansions.delete import delete
from topodesign.graphs.expansions.insert import insert
from topodesign.graphs.loops import find_loops
from topodesign.search.target import Target
from topodesign.topology.topology import Topology


def iterate_resized(base: Topology, target: Target, count: int, rng: np.random.Generator) -> Iterator[Topology]:
    """Yield the base with up to a number of random insertions or deletions."""
    change = target.nodes - base.nodes
    for _ in range(count):
        try:
            made = (
                _insert_nodes(base, change, target.duplex, rng)
                if change > 0
                else _delete_nodes(base, -change, target, rng)
            )
        except TopodesignError:
            continue  # the draw does not fit
        if made.degree == target.degree and made.is_regular and (made.is_duplex or not target.duplex):
            yield made


def _insert_nodes(base: Topology, count: int, duplex: bool, rng: np.random.Generator) -> Topology:
    """Insert nodes into random links, of different nodes if possible.

    At odd degree a new duplex node has a port left, which stays free as a self-loop until the next one is put there.
    """
    degree = base.degree
    links = _links_apart(base, count * (degree // 2 if duplex else degree), duplex, rng)
    if not duplex:
        return insert(base, *(end for link in links for end in link))
    ends: list[int] = []
    free = find_loops(base).tolist() if degree % 2 else []
    for new in range(base.nodes, base.nodes + count):
        for _ in range(degree // 2):
            u, w = links.pop()
            ends += [u, w, w, u]
        if degree % 2:
            at, free = (free[0], []) if free else (new, [new])
            ends += [at, at]
    return insert(base, *ends)


def _links_apart(base: Topology, count: int, duplex: bool, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Draw different links, if possible without a common node."""
    order = rng.permutation(len(base.src))
    links = list(zip(base.src[order].tolist(), base.dst[order].tolist(), strict=True))
    if duplex:
        links = [(u, w) for u, w in links if u < w]
    apart: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    taken: set[int] = set()
    for link in links:
        (others if taken.intersection(link) else apart).append(link)
        if apart[-1:] == [link]:
            taken.update(link)
    if len(links) < count:
        raise ParameterError(f"{len(links)} links are too few to put {count} ends in")
    return (apart + others)[:count]


def _delete_nodes(base: Topology, count: int, target: Target, rng: np.random.Generator) -> Topology:
    """Delete random nodes; duplex links are joined in pairs.

    At odd degree two neighbours go, or the node with a free port, or a node leaves one at a neighbour.
    """
    topology = base
    numbers: list[int] = []
    while count:
        v = int(rng.integers(topology.nodes))
        if not target.duplex:
            chosen = [(v, rng.permutation(target.degree).tolist())]
        elif target.degree % 2 == 0:
            chosen = [(v, _pairing(target.degree, None, rng))]
        elif len(free := find_loops(topology)):
            chosen = [(int(free[0]), _pairing(target.degree - 1, None, rng))]
        elif count == 1:
            chosen = [(v, _pairing(target.degree, int(rng.integers(target.degree)), rng))]
        else:
            heads = np.repeat(topology.neighbours(v), topology.capacity[topology.src == v])
            place = int(rng.integers(target.degree))
            w = int(heads[place])
            chosen = [(v, _pairing(target.degree, place, rng)), (w - (w > v), _pairing(target.degree - 1, None, rng))]
        step = [number for node, order in chosen for number in (node, _number(order))]
        topology = delete(topology, *step)
        numbers += step
        count -= len(chosen)
    return delete(base, *numbers)


def _pairing(size: int, single: int | None, rng: np.random.Generator) -> list[int]:
    """Return a random fixed-point-free involution."""
    order = [place for place in rng.permutation(size).tolist() if place != single]
    image = list(range(size))
    for one, other in zip(order[::2], order[1::2], strict=True):
        image[one], image[other] = other, one
    return image


def _number(order: Sequence[int]) -> int:
    """Return the number of a permutation among all in lexicographic order."""
    left, number = list(range(len(order))), 0
    for value in order:
        number = number * len(left) + left.index(value)
        left.remove(value)
    return number
