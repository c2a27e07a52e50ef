"""Symmetries of a topology: automorphisms that generate a group, and what they turn into what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topodesign.topology.isomorphism import equitable_colours, isomorphism
from topodesign.topology.topology import IntArray, Topology

_FAILURES = 64
"""Pairs of nodes without an automorphism between them that are looked at before the search stops."""

Links = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Symmetry:
    """A group of automorphisms.

    Attributes
    ----------
    generators
        Permutations of the nodes, shape ``(nodes,)`` each, that leave the links as they are and generate the group.
    home
        Shape ``(nodes, nodes)``: row v is an automorphism of the group that brings node v to the first of its orbit.
    """

    generators: tuple[IntArray, ...]
    home: NDArray[np.int32]

    def classes(self, many: Sequence[Links]) -> list[int]:
        """Return a number for each set of links; those of one number are images of each other.

        Each set is brought home by every node in it, so that sets between which the generators lead have a form in
        common, and those of different numbers may yet be alike.

        Parameters
        ----------
        many
            Sets of links; a link may be in a set more than once.
        """
        number: dict[Links, int] = {}
        place = [number.setdefault(self._form(links), len(number)) for links in many]
        parent = list(range(len(number)))
        for form, first in number.items():
            for generator in self.generators:
                other = number.get(self._form(_image(form, generator)))
                if other is not None:
                    parent[_root(parent, other)] = _root(parent, first)
        return [_root(parent, entry) for entry in place]

    def _form(self, links: Links) -> Links:
        """Return the first in order of the images that bring some node of the links home."""
        nodes = {node for link in links for node in link}
        return min((_image(links, self.home[node]) for node in nodes), default=())


def symmetry(topology: Topology, colours: IntArray) -> Symmetry:
    """Find automorphisms of a topology: as a rule all, but a search for those that are hard to find ends early.

    For every node one is looked for that brings the first node of some orbit there, and then, of those that leave the
    first node of all where it is, one for each of its neighbours.

    Parameters
    ----------
    topology
        Any topology without switches.
    colours
        Nodes of different colours are known not to be images of each other; shape ``(nodes,)``.
    """
    colours = equitable_colours(topology, colours)
    nodes = topology.nodes
    generators = _generators(topology, list(range(nodes)), colours)
    still = [generator for generator in generators if generator[0] == 0]
    generators += _generators(topology, topology.neighbours(0).tolist(), colours, (0,), still)
    return Symmetry(tuple(generators), _home(generators, nodes))


def _generators(
    topology: Topology,
    nodes: Sequence[int],
    colours: IntArray,
    fixed: tuple[int, ...] = (),
    known: Sequence[IntArray] = (),
) -> list[IntArray]:
    """Return automorphisms that leave nodes fixed and join the orbits of others, beside those that are known."""
    first = np.arange(topology.nodes)
    for generator in known:
        first = _joined(first, generator)
    found = []
    failures = 0
    for node in nodes:
        for other in nodes:
            if first[node] != node or other >= node or failures == _FAILURES:
                break
            if first[other] != other or colours[other] != colours[node]:
                continue
            image = isomorphism(_marked(topology, (*fixed, node)), _marked(topology, (*fixed, other))).place
            if image is None:
                failures += 1
            else:
                found.append(np.array(image))
                first = _joined(first, found[-1])
    return found


def _marked(topology: Topology, nodes: Sequence[int]) -> Topology:
    """Return the topology with self-loops by which an isomorphism has to match these nodes in order."""
    weights = (int(topology.capacity.max(initial=0)) + 1) * (1 + np.arange(len(nodes)))
    columns = ((topology.src, nodes), (topology.dst, nodes), (topology.capacity, weights))
    return Topology.from_arrays(topology.nodes, *(np.concatenate(column) for column in columns))


def _joined(first: IntArray, generator: IntArray) -> IntArray:
    """Return the first node of the orbit of each, if a generator joins orbits."""
    while True:
        smaller = np.minimum(first, first[generator])
        np.minimum.at(smaller, generator, first)
        smaller = np.minimum(smaller, smaller[first])
        if np.array_equal(smaller, first):
            return first
        first = smaller


def _home(generators: Iterable[IntArray], nodes: int) -> NDArray[np.int32]:
    ways = [(generator, np.argsort(generator)) for generator in generators]
    ways += [way[::-1] for way in ways]
    home = np.empty((nodes, nodes), dtype=np.int32)
    reached = np.zeros(nodes, dtype=np.bool_)
    for start in range(nodes):
        if reached[start]:
            continue
        home[start], reached[start] = np.arange(nodes), True
        queue = [start]
        for node in queue:
            for generator, back in ways:
                image = int(generator[node])
                if not reached[image]:
                    home[image], reached[image] = home[node][back], True
                    queue.append(image)
    return home


def _image(links: Links, permutation: NDArray[np.integer]) -> Links:
    return tuple(sorted((int(permutation[u]), int(permutation[v])) for u, v in links))


def _root(parent: list[int], entry: int) -> int:
    while parent[entry] != entry:
        entry = parent[entry]
    return entry
