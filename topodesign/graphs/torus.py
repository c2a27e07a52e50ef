"""Tori and twisted tori: quotients of the integer grid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.graphs.sizes import integer_root
from topodesign.topology.family import make_family, never
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology, check_buildable


def _find_torus(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    """Yield the fewest sides of least diameter."""
    best: tuple[int, int, tuple[int, ...]] | None = None
    for twos in range(degree % 2, degree + 1, 2):
        rest, odd = divmod(nodes, 2**twos)
        if odd:
            break
        for sides in factorings(rest, (degree - twos) // 2, 3):
            candidate = sum(side // 2 for side in sides) + twos, len(sides) + twos, (2,) * twos + sides
            best = candidate if best is None else min(best, candidate)
    if best is not None and best[2] != (2,) * degree:  # that one is the hypercube
        yield best[2]


def _find_twisted(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    """Yield sides a and 2a, where the twist makes up for the uneven sides."""
    if degree % 2 == 0 and degree >= 4:
        k = degree // 2
        for long in range(1, k):
            rest, odd = divmod(nodes, 2**long)
            a = integer_root(rest, k)
            if odd == 0 and a >= 2 and a**k == rest:
                yield (a,) * (k - long) + (2 * a,) * long


def factorings(product: int, count: int, least: int) -> Iterator[tuple[int, ...]]:
    """Yield ascending tuples of ``count`` factors with a product.

    None is below ``least``.
    """
    if count == 0:
        if product == 1:
            yield ()
        return
    if count == 1:
        if product >= least:
            yield (product,)
        return
    for factor in range(least, product + 1):
        if factor**count > product:
            return
        if product % factor == 0:
            for rest in factorings(product // factor, count - 1, factor):
                yield (factor, *rest)


@make_family(_find_torus, size=("prod(sides)", "2 for each side, 1 for a side of 2", "torus(4,4)"))
def torus(*sides: int) -> Topology:
    """Torus: a bidirectional ring along every dimension.

    The node (x0, x1, ...) is x0 + a(x1 + b(x2 + ...)).

    A side takes two ports of a node, a side of 2 only one: its ring is a single duplex link, so that ``torus(2,2,2)``
    is ``hypercube(3)``. The diameter is the sum of floor(side/2).

    References
    ----------
    Efficient Direct-Connect Topologies, appendix F.
    """
    _check(sides)
    return _grid(sides, np.diag(np.array(sides, dtype=np.int64)))


@make_family(_find_twisted, size=("prod(sides)", "2*len(sides)", "twistedtorus(3,6)"))
def twistedtorus(*sides: int) -> Topology:
    """Twisted torus: wraps along a side a shift longer ones by a.

    Otherwise as ``torus``.

    In other words the integer grid modulo one vector for each dimension: its side a along itself, and -a along every
    strictly longer dimension. On two dimensions of sides a and 2a this is the rectangular twisted torus, whose diameter
    is a where the plain torus has floor(a/2) + a, and on a, a, 2a and a, 2a, 2a the prismatic ones. Equal sides have no
    twist. A dimension takes one port if going forth and back along it is the same, else two.

    References
    ----------
    Camara et al., Twisted Torus Topologies for Enhanced Interconnection Networks (2010).
    """
    _check(sides)
    size = np.array(sides, dtype=np.int64)
    lattice = np.diag(size) - np.where(size[None, :] > size[:, None], size[:, None], 0)
    return _grid(sides, lattice)


def _check(sides: tuple[int, ...]) -> None:
    if not sides:
        raise ParameterError("give at least one side, as in torus(4,4)")
    nodes = 1
    for side in sides:
        require_at_least("every side", side, 2)
        nodes *= side
        check_buildable(nodes, 0)
    check_buildable(nodes, 2 * len(sides) * nodes)


def _grid(sides: tuple[int, ...], lattice: IntArray) -> Topology:
    """Return the Cayley graph of Z^k modulo the rows of ``lattice``.

    With the unit vectors and their opposites.

    Row i has ``sides[i]`` at i, and else entries only for dimensions of larger side: taking the dimensions by ascending
    side, one pass brings any vector into the box of representatives.
    """
    targets = []
    for forth, back in _steps(sides, lattice, 1, -1):
        targets += [forth] if np.array_equal(forth, back) else [forth, back]
    target = np.stack(targets)
    nodes = target.shape[1]
    symmetry = Symmetry(nodes, (0,), lambda: (forth for (forth,) in _steps(sides, lattice, 1)))
    return Topology.from_arrays(nodes, np.broadcast_to(np.arange(nodes), target.shape), target, symmetry=symmetry)


def _steps(sides: tuple[int, ...], lattice: IntArray, *lengths: int) -> Iterator[list[IntArray]]:
    """Yield the targets of steps of some lengths along each dimension."""
    place = np.cumprod((1, *sides[:-1]))
    coordinates = np.arange(int(place[-1]) * sides[-1])[:, None] // place % np.array(sides)
    ascending = sorted(range(len(sides)), key=sides.__getitem__)

    def reduced(vectors: IntArray) -> IntArray:
        for i in ascending:
            vectors = vectors - vectors[:, i : i + 1] // sides[i] * lattice[i]
        return vectors

    for unit in np.eye(len(sides), dtype=np.int64):
        yield [reduced(coordinates + length * unit) @ place for length in lengths]


@make_family(never, size=("prod(sides)", "2 for each side, 1 for a side of 2", "mesh(4,4)"))
def mesh(*sides: int) -> Topology:
    """Mesh: duplex links between neighbours along every dimension.

    The node (x0, x1, ...) is x0 + a(x1 + b(x2 + ...)).

    As ``torus`` without the links that go round. Nodes on the rim have ports to spare, so no search offers a mesh; it
    is there to be compared with.

    References
    ----------
    TACOS: Topology-Aware Collective Algorithm Synthesizer for Distributed Machine Learning (2D mesh).
    """
    if not sides:
        raise ParameterError("give at least one side, as in mesh(4,4)")
    for side in sides:
        require_at_least("every side", side, 2)
    nodes = math.prod(sides)
    check_buildable(nodes, 2 * len(sides) * nodes)
    node, place = np.arange(nodes), 1
    ends = []
    for side in sides:
        left = node[node // place % side < side - 1]
        ends += [(left, left + place), (left + place, left)]
        place *= side
    return Topology.from_arrays(nodes, *(np.concatenate(column) for column in zip(*ends, strict=True)))
