"""Search for the automorphisms of a topology, and what sets of links they turn into each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topodesign.topology.isomorphism import equitable_colours, isomorphism
from topodesign.topology.symmetry import Symmetry, joined, orbits_under
from topodesign.topology.topology import IntArray, Topology

_FAILURES = 64  # pairs of nodes without an automorphism between them that are looked at before the search stops

Links = tuple[tuple[int, int], ...]


def find_symmetry(topology: Topology, colours: IntArray) -> Symmetry:
    """Find automorphisms of a topology: as a rule all, but a search for those that are hard to find ends early.

    For every node one is looked for that brings the first node of some orbit there, and then, of those that leave the
    first node of all where it is, one for each of its neighbours.

    * ``topology``: any topology without switches.
    * ``colours``: nodes of different colours are known not to be images of each other; shape ``(nodes,)``.
    """
    colours = equitable_colours(topology, colours)
    nodes = topology.nodes
    generators = _generators(topology, list(range(nodes)), colours)
    still = [generator for generator in generators if generator[0] == 0]
    generators += _generators(topology, topology.neighbours(0).tolist(), colours, (0,), still)
    return Symmetry(nodes, tuple(np.unique(orbits_under(nodes, generators)).tolist()), lambda: generators)


def link_classes(symmetry: Symmetry, many: Sequence[Links]) -> list[int]:
    """Return a number for each set of links; those of one number are images of each other.

    Each set is brought home by every node in it, so that sets between which the generators lead have a form in common,
    and those of different numbers may yet be alike.
    """
    home = np.empty((symmetry.nodes, symmetry.nodes), dtype=np.int32)
    for representative in np.unique(symmetry.represented_by).tolist():
        for node, permutation in symmetry.transversals(representative):
            home[node, permutation] = np.arange(symmetry.nodes)

    def form(links: Links) -> Links:
        nodes = {node for link in links for node in link}
        return min((_image(links, home[node]) for node in nodes), default=())

    number: dict[Links, int] = {}
    place = [number.setdefault(form(links), len(number)) for links in many]
    parent = list(range(len(number)))
    for links, first in number.items():
        for generator in symmetry.generators:
            other = number.get(form(_image(links, generator)))
            if other is not None:
                parent[_root(parent, other)] = _root(parent, first)
    return [_root(parent, entry) for entry in place]


def _generators(
    topology: Topology,
    nodes: Sequence[int],
    colours: IntArray,
    fixed: tuple[int, ...] = (),
    known: Sequence[IntArray] = (),
) -> list[IntArray]:
    """Return automorphisms that leave nodes fixed and join the orbits of others, beside those that are known."""
    first = orbits_under(topology.nodes, known)
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
                first = joined(first, found[-1])
    return found


def _marked(topology: Topology, nodes: Sequence[int]) -> Topology:
    """Return the topology with self-loops by which an isomorphism has to match these nodes in order."""
    weights = (int(topology.capacity.max(initial=0)) + 1) * (1 + np.arange(len(nodes)))
    columns = ((topology.src, nodes), (topology.dst, nodes), (topology.capacity, weights))
    return Topology.from_arrays(topology.nodes, *(np.concatenate(column) for column in columns))


def _image(links: Links, permutation: NDArray[np.integer]) -> Links:
    return tuple(sorted((int(permutation[u]), int(permutation[v])) for u, v in links))


def _root(parent: list[int], entry: int) -> int:
    while parent[entry] != entry:
        entry = parent[entry]
    return entry
