"""A group of automorphisms that proves which nodes are equivalent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import distinct, seal_array
from topodesign.base.compiled import tier_kernel
from topodesign.base.errors import TopologyError

Nodes = NDArray[np.int64]
Permutation = NDArray[np.int32]


class Links(Protocol):
    """The links, capacities and switches that a symmetry needs."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""

    @property
    def src(self) -> Nodes:
        """Where links start, shape ``(links,)``."""

    @property
    def dst(self) -> Nodes:
        """Where links end."""

    @property
    def capacity(self) -> Nodes:
        """Their capacities."""

    @property
    def switches(self) -> frozenset[int]:
        """Nodes that only forward."""

    def link_index(self, src: NDArray[Any], dst: NDArray[Any]) -> Nodes:
        """Return the index of links, -1 where there is none."""


@dataclass(frozen=True, eq=False)
class Symmetry:
    """Automorphisms that generate a group, and a node of every orbit.

    A permutation is an array p of shape ``(nodes,)`` that takes node v to ``p[v]``. The generators are made when they
    are first asked for: pricing needs the representatives alone, and building a topology costs the same with and
    without them. :meth:`check` proves them on the links.
    """

    nodes: int  # number of nodes N that the group acts on
    # nodes of which every other one is an image. They may be more than there are orbits.
    representatives: tuple[int, ...]
    # returns the generators, integer arrays of shape (nodes,); it holds on to nothing large
    make: Callable[[], Iterable[NDArray[Any]]] = field(repr=False)

    def __post_init__(self) -> None:
        if not all(0 <= node < self.nodes for node in self.representatives):
            raise TopologyError(f"representatives must be among nodes 0 to {self.nodes - 1}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the generators in place of the function that makes them."""
        return Symmetry, (self.nodes, self.representatives, partial(tuple, self.generators))

    @cached_property
    def generators(self) -> Permutation:
        """The generators, a read-only int32 array of shape ``(g, nodes)``."""
        rows = [np.asarray(row).astype(np.int32) for row in self.make()]
        for number, row in enumerate(rows):
            if row.shape != (self.nodes,) or not _is_permutation(row):
                raise TopologyError(f"generator {number} is not a permutation of {self.nodes} nodes")
        return seal_array(np.array(rows, dtype=np.int32).reshape(-1, self.nodes))

    @cached_property
    def inverses(self) -> Permutation:
        """The inverses of the generators, row by row."""
        inverses = np.empty_like(self.generators)
        np.put_along_axis(inverses, self.generators, np.arange(self.nodes, dtype=np.int32)[None, :], axis=1)
        return seal_array(inverses)

    @cached_property
    def orbit_of(self) -> Nodes:
        """The smallest node of every node's orbit, int64 of shape ``(nodes,)``."""
        return seal_array(orbits_under(self.nodes, self.generators))

    def orbits(self) -> tuple[Nodes, ...]:
        """Return the orbits, each ascending, in order of their smallest nodes."""
        order = np.argsort(self.orbit_of, kind="stable")
        starts = np.flatnonzero(np.diff(self.orbit_of[order], prepend=-1))
        return tuple(seal_array(orbit) for orbit in np.split(order, starts[1:]))

    def link_orbits(self, topology: Links) -> Nodes:
        """Return the smallest link of every link's orbit.

        int64 of shape ``(links,)``.
        """
        return link_orbits_under(topology, self.generators)

    @cached_property
    def represented_by(self) -> Nodes:
        """The first representative of every node's orbit, -1 if none.

        int64 of shape ``(nodes,)``.
        """
        chosen = np.full(self.nodes, -1, dtype=np.int64)
        last_first = np.array(self.representatives[::-1], dtype=np.int64)
        chosen[self.orbit_of[last_first]] = last_first
        return seal_array(chosen[self.orbit_of])

    def check(self, topology: Links) -> None:
        """Prove that generators are automorphisms and representatives suffice.

        Every node must be an image of a representative.

        The check is exact: every link is looked up where each generator takes it, with its capacity.
        """
        if self.nodes != topology.nodes:
            raise TopologyError(f"the symmetry is of {self.nodes} nodes, the topology has {topology.nodes}")
        switch = np.zeros(self.nodes, dtype=np.bool_)
        switch[list(topology.switches)] = True
        for number, generator in enumerate(self.generators):
            # A permutation takes different links to different ones: if all have an image among the links, it is onto.
            image = topology.link_index(generator[topology.src], generator[topology.dst])
            wrong = np.flatnonzero((image < 0) | (topology.capacity[image] != topology.capacity))
            if len(wrong):
                u, v = int(topology.src[wrong[0]]), int(topology.dst[wrong[0]])
                raise TopologyError(
                    f"generator {number} takes the link {u}->{v} to {generator[u]}->{generator[v]}, "
                    "which is not a link of that capacity"
                )
            if np.any(switch[generator] != switch):
                raise TopologyError(f"generator {number} maps a switch to a node")
        missing = np.flatnonzero(self.represented_by < 0)
        if len(missing):
            raise TopologyError(f"node {missing[0]} is the image of no representative")

    def renumbered(self, place: NDArray[np.integer]) -> Symmetry:
        """Return the same group of nodes that are called ``place[node]``."""
        generators = tuple(place[row][np.argsort(place)] for row in self.generators)
        return Symmetry(self.nodes, tuple(sorted(place[list(self.representatives)].tolist())), lambda: generators)

    def transversal(self, node: int) -> Permutation:
        """Return a permutation from the node's representative to it.

        Shape ``(nodes,)``.

        It is that of :meth:`transversals`. The representative is that of :attr:`represented_by`.
        """
        if not 0 <= node < self.nodes or self.represented_by[node] < 0:
            raise TopologyError(f"node {node} is the image of no representative")
        parent, way, _ = self._tree
        word = []
        while way[node] >= 0:
            word.append(int(way[node]))
            node = int(parent[node])
        permutation = np.arange(self.nodes, dtype=np.int32)
        for step in reversed(word):
            permutation = self._way(step)[permutation]
        return seal_array(permutation)

    def transversals(self, representative: int) -> Iterator[tuple[int, Permutation]]:
        """Yield each node of an orbit with a permutation to it.

        From the representative, within the group.

        The representative itself comes first, with the identity. The permutations are composed along a tree of
        shortest words, depth first, so that two of them are in memory at a time and each takes at most two passes over
        the nodes.
        """
        self._require_representative(representative)
        parent, way, _ = self._tree
        orbit = np.flatnonzero((self.represented_by == representative) & (way >= 0))
        orbit = orbit[np.argsort(parent[orbit], kind="stable")]
        start = np.searchsorted(parent[orbit], np.arange(self.nodes + 1)).tolist()
        permutation = seal_array(np.arange(self.nodes, dtype=np.int32))
        yield representative, permutation
        waiting: list[int] = orbit[start[representative] : start[representative + 1]].tolist()
        while waiting:
            node = waiting.pop()
            if node < 0:  # all that lies below the node ~node is done
                permutation = self._invert(int(way[~node]))[permutation]
                continue
            image = seal_array(self._way(int(way[node]))[permutation])
            yield node, image
            if start[node] < start[node + 1]:
                permutation = image
                waiting.append(~node)
                waiting += orbit[start[node] : start[node + 1]].tolist()

    def images(self, representative: int, points: NDArray[np.integer]) -> tuple[Nodes, Permutation]:
        """Return images of points for all nodes of an orbit.

        Under the permutations of :meth:`transversals`.

        * ``representative``: of the orbit, one of :attr:`represented_by`.
        * ``points``: nodes, shape ``(p,)``; memory is for ``p`` numbers for every node of the orbit.

        Returns: the nodes of the orbit, the representative first, shape ``(m,)``, and the images, int32 of shape ``(m,
        p)``: row i is where the permutation that takes the representative to the i-th of these nodes takes the points.
        """
        self._require_representative(representative)
        parent, way, order = self._tree
        nodes = order[self.represented_by[order] == representative].astype(np.int64)
        row_of = np.zeros(self.nodes, dtype=np.int64)
        row_of[nodes] = np.arange(len(nodes))
        images = np.empty((len(nodes), len(points)), dtype=np.int32)
        images[0] = points
        inner = zip(way[nodes[1:]].tolist(), row_of[parent[nodes[1:]]].tolist(), strict=True)
        for row, (letter, before) in enumerate(inner, start=1):
            images[row] = self._way(letter)[images[before]]
        return seal_array(nodes), seal_array(images)

    @cached_property
    def is_free(self) -> bool:
        """Whether only the identity fixes a node.

        Then there is one permutation alone that takes a representative to a node of its orbit, and what is laid down
        for the representatives has one image for every node, which the whole group keeps.
        """
        return self.free_order(np.arange(self.nodes)) is not None

    def free_order(self, nodes: Nodes) -> int | None:
        """Return the order of the group if only the identity fixes some nodes.

        Else None.

        Notes
        -----
        Let H be the stabilizer of the first representative r. If it leaves the images of r under the generators where
        they are, then H is normal, since stabilizers in an orbit are conjugate and of one size. If it leaves the other
        representatives where they are, too, then so does it all of their orbits, and H is the identity. So the order is
        the size of the orbit of r, and other orbits of that size have stabilizers of one element, too. The stabilizer
        of r leaves x where it is exactly when the map from the node v to the image of x under some permutation that
        takes r to v is well-defined, that is when all generators commute with it.
        """
        every = np.unique(self.represented_by)
        first = int(every[0] if every[0] < 0 else self.represented_by[nodes].min())
        self._require_representative(first)  # -1 if some node is the image of none
        sizes = np.bincount(self.represented_by)[np.unique(self.represented_by[nodes])]
        points = np.concatenate((self.generators[:, first].astype(np.int64), every))
        return int(sizes[0]) if np.all(sizes == sizes[0]) and self._fixes(first, points) else None

    def _fixes(self, representative: int, points: NDArray[np.integer]) -> bool:
        """Return whether a representative's stabiliser fixes the points."""
        nodes, images = self.images(representative, points)
        row_of = np.zeros(self.nodes, dtype=np.int64)
        row_of[nodes] = np.arange(len(nodes))
        return all(np.array_equal(images[row_of[one[nodes]]], one[images]) for one in self.generators)

    def lift_by(
        self, nodes: int, representatives: tuple[int, ...], lift: Callable[[Permutation], NDArray[Any]]
    ) -> Symmetry:
        """Return the symmetry of another topology through ``lift``.

        Every permutation of this group acts there.
        """
        return Symmetry(nodes, representatives, lambda: map(lift, self.generators))

    @cached_property
    def _tree(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """The spanning tree of words from representatives to nodes.

        The node before each on a shortest word, and the letter between.

        Letters from 0 are generators, and from g their inverses; the representatives have the letter -1. Last come all
        nodes in order of the lengths of their words.
        """
        images = np.concatenate((self.generators, self.inverses))
        parent, way = (np.full(self.nodes, -1, dtype=np.int32) for _ in range(2))
        order = distinct(self.represented_by[self.represented_by >= 0]).astype(np.int32)
        order = np.append(order, np.empty(self.nodes - len(order), dtype=np.int32))
        reached = _spread_words(images, self.represented_by, parent, way, order)
        return seal_array(parent), seal_array(way), seal_array(order[:reached])

    def _way(self, letter: int) -> Permutation:
        count = len(self.generators)
        way: Permutation = self.generators[letter] if letter < count else self.inverses[letter - count]
        return way

    def _invert(self, letter: int) -> Permutation:
        count = len(self.generators)
        way: Permutation = self.inverses[letter] if letter < count else self.generators[letter - count]
        return way

    def _require_representative(self, node: int) -> None:
        if not 0 <= node < self.nodes or self.represented_by[node] < 0:
            raise TopologyError(f"node {node} is the image of no representative")
        if self.represented_by[node] != node:
            raise TopologyError(f"node {node} is represented by {self.represented_by[node]}")


@tier_kernel(lambda images, *_: images.size)
def _spread_words(images: Permutation, first: Nodes, parent: Permutation, way: Permutation, order: Permutation) -> int:
    """Fill in the tree of shortest words from the roots."""
    reached = 0
    for node in range(len(first)):
        reached += first[node] == node
    at = 0
    while at < reached:
        node = order[at]
        at += 1
        for letter in range(len(images)):
            image = images[letter, node]
            if way[image] < 0 and first[image] != image:
                parent[image] = node
                way[image] = letter
                order[reached] = image
                reached += 1
    return reached


def shift(nodes: int, by: int) -> NDArray[np.int64]:
    """Return the permutation that adds a number to every node, modulo N."""
    moved: NDArray[np.int64] = (np.arange(nodes) + by) % nodes
    return moved


def map_to_representatives(symmetry: Symmetry, nodes: Nodes, *points: Nodes) -> tuple[Nodes, ...]:
    """Return representatives of nodes, and images of points.

    Under what takes the nodes to these, row by row.
    """
    roots, back = symmetry.represented_by[nodes], [np.empty_like(column) for column in points]
    order = np.argsort(nodes, kind="stable")
    start = np.searchsorted(nodes[order], np.arange(symmetry.nodes + 1)).tolist()
    inverse = np.empty(symmetry.nodes, dtype=np.int64)
    for root in np.unique(roots).tolist():
        for node, permutation in symmetry.transversals(root):
            rows = order[start[node] : start[node + 1]]
            if len(rows):
                inverse[permutation] = np.arange(symmetry.nodes)
                for column, there in zip(points, back, strict=True):
                    there[rows] = inverse[column[rows]]
    return roots, *back


def join_orbits(first: Nodes, generator: NDArray[Any]) -> Nodes:
    """Return the smallest node of each orbit with one more generator.

    Shape ``(nodes,)``.
    """
    while True:
        image = first[generator]
        if np.array_equal(image, first):
            return first
        smaller = first.copy()  # union: of two orbits that meet the larger one hangs below the smaller
        np.minimum.at(smaller, np.maximum(first, image), np.minimum(first, image))
        while not np.array_equal(smaller, deeper := smaller[smaller]):  # find
            smaller = deeper
        first = smaller


def orbits_under(count: int, permutations: Iterable[NDArray[Any]]) -> Nodes:
    """Return the smallest place of every place's orbit, shape ``(count,)``."""
    return reduce(join_orbits, permutations, np.arange(count))


def link_orbits_under(topology: Links, permutations: Iterable[NDArray[Any]]) -> Nodes:
    """Return the smallest link of every link's orbit under permutations.

    Permutations of the nodes that keep all links.
    """
    images = (topology.link_index(one[topology.src], one[topology.dst]) for one in permutations)
    return orbits_under(len(topology.src), images)


def _is_permutation(row: NDArray[Any]) -> bool:
    if row.size and (row.min() < 0 or row.max() >= row.size):
        return False
    met = np.zeros(row.size, dtype=np.bool_)
    met[row] = True
    return bool(met.all())
