"""Automorphisms of topologies and fabrics, and orbits of links."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from topodesign.topology.symmetry import Symmetry, orbits_under
from topodesign.topology.topology import IntArray, Topology

Links = tuple[tuple[int, int], ...]


def find_symmetry(
    topology: Topology,
    colours: Sequence[Hashable] | IntArray = (),
    limits: Iterable[tuple[Hashable, Sequence[int]]] = (),
) -> Symmetry:
    """Find all automorphisms of a topology, in which switches stay switches.

    * ``colours``: nodes of different colours are known not to be images of each other; shape ``(nodes,)``.
    * ``limits``: as for :func:`find_automorphisms`.
    """
    nodes = topology.nodes
    given = list(colours) or [0] * nodes
    looks = [(colour, node in topology.switches) for node, colour in enumerate(given)]
    generators = find_automorphisms(looks, topology.src, topology.dst, topology.capacity.tolist(), limits=limits)
    return Symmetry(nodes, tuple(np.unique(orbits_under(nodes, generators)).tolist()), lambda: generators)


def find_automorphisms(
    colours: Sequence[Hashable],
    src: IntArray,
    dst: IntArray,
    kinds: Sequence[Hashable],
    *,
    limits: Iterable[tuple[Hashable, Sequence[int]]] = (),
    teams: Iterable[Sequence[int]] = (),
) -> list[IntArray]:
    """Return generators of the automorphism group.

    All permutations of the vertices that keep links, colours, limits and teams.

    The search is igraph's (BLISS). A limit becomes a vertex that is joined to its links, a link two vertices on the way
    between its ends, so that a graph without directions has the same automorphisms.

    * ``colours``: of the vertices.
    * ``src``, ``dst``, ``kinds``: ends of the links, and what tells links apart, such as their capacities.
    * ``limits``: what tells each set of links apart, and the places of its links.
    * ``teams``: sets of vertices that stay together.
    """
    import igraph  # noqa: PLC0415  heavy

    count, seen = len(colours), dict[Hashable, int]()
    paint = [seen.setdefault(("vertex", colour), len(seen)) for colour in colours]
    ends, shared = list(zip(src.tolist(), dst.tolist(), strict=True)), list(limits)
    edges: list[tuple[int, int]] = []
    if not shared and len(set(kinds)) <= 1 and {(v, u) for u, v in ends} == set(ends):  # links both ways, all alike
        edges = [(u, v) for u, v in ends if u <= v]
    else:
        for link, ((u, v), kind) in enumerate(zip(ends, kinds, strict=True)):
            out = count + 2 * link
            edges += [(u, out), (out, out + 1), (out + 1, v)]
            paint += [seen.setdefault((end, kind), len(seen)) for end in ("out", "in")]
    for kind, links in shared:
        edges += [(count + 2 * link, len(paint)) for link in links]
        paint.append(seen.setdefault(("limit", kind), len(seen)))
    for team in teams:
        edges += [(member, len(paint)) for member in team]
        paint.append(seen.setdefault("team", len(seen)))
    graph = igraph.Graph(n=len(paint), edges=edges)
    return [np.array(row[:count], dtype=np.int64) for row in graph.automorphism_group(color=paint)]


def link_classes(symmetry: Symmetry, many: Sequence[Links]) -> list[int]:
    """Return a class per set of links; equal classes are images of each other.

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


def _image(links: Links, permutation: NDArray[np.integer]) -> Links:
    return tuple(sorted((int(permutation[u]), int(permutation[v])) for u, v in links))


def _root(parent: list[int], entry: int) -> int:
    while parent[entry] != entry:
        entry = parent[entry]
    return entry
