"""Automorphisms of topologies and fabrics, and orbits of links."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from topodesign.topology.finite_field import is_prime
from topodesign.topology.symmetry import Symmetry, orbits_under
from topodesign.topology.topology import IntArray, Topology

Links = tuple[tuple[int, int], ...]
_FEW_DRAWS = 300  # automorphisms that are drawn in the search for a symmetry of a topology


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


def find_free_symmetry(topology: Topology) -> Symmetry | None:
    """Find a group of automorphisms that moves every node, as large as a search finds, or none."""
    generators, nodes = find_symmetry(topology).generators.astype(np.int64), topology.nodes
    kept, _ = find_free_group(list(generators), np.arange(nodes), lambda points, step: step[points], draws=_FEW_DRAWS)
    if not kept:
        return None
    return Symmetry(nodes, tuple(np.unique(orbits_under(nodes, kept)).tolist()), lambda: kept)


def find_free_group(
    generators: Sequence[IntArray],
    points: IntArray,
    image: Callable[[IntArray, IntArray], IntArray],
    *,
    hints: Iterable[IntArray] = (),
    draws: int = 1000,
) -> tuple[list[IntArray], list[IntArray]]:
    """Find a group that moves each of some points: its generators, and its elements.

    Hints, and elements of prime order that are drawn, are kept as long as what they generate leaves no point where it
    is, and until there is an element for each point.

    * ``generators``: of all automorphisms.
    * ``image``: where an automorphism brings points.
    """
    rng, same = np.random.default_rng(0), np.arange(len(generators[0])) if len(generators) else np.arange(0)
    kept, group = list[IntArray](), [same]
    count = draws if len(points) > 1 and len(generators) else 0
    for step in itertools.chain(hints, (_draw_of_prime_order(generators, rng) for _ in range(count))):
        if np.any(image(points, step) == points):
            continue
        larger = _generate_free([*kept, step], points, image)
        if larger is not None and len(larger) > len(group):
            kept, group = [*kept, step], larger
        if len(group) == len(points):
            break
    return kept, group


def _draw_of_prime_order(generators: Sequence[IntArray], rng: np.random.Generator) -> IntArray:
    """Return an automorphism of prime order, or the one that leaves all where they are."""
    drawn = np.arange(len(generators[0]))
    for number in rng.integers(len(generators), size=int(rng.integers(1, 3 * len(generators) + 1))):
        drawn = generators[int(number)][drawn]
    order, seen = 1, np.zeros(len(drawn), dtype=np.bool_)
    for start in range(len(drawn)):
        length, vertex = 0, start
        while not seen[vertex]:
            seen[vertex] = True
            vertex, length = int(drawn[vertex]), length + 1
        order = math.lcm(order, max(length, 1))
    primes = [prime for prime in range(2, order + 1) if order % prime == 0 and is_prime(prime)]
    times, power = order // int(rng.choice(primes)) if primes else 0, np.arange(len(drawn))
    while times:  # by squares
        power = drawn[power] if times % 2 else power
        drawn, times = drawn[drawn], times // 2
    return power


def _generate_free(
    elements: Sequence[IntArray], points: IntArray, image: Callable[[IntArray, IntArray], IntArray]
) -> list[IntArray] | None:
    """Return the group that automorphisms generate, or None if it leaves a point where it is."""
    same = np.arange(len(elements[0]))
    found, group = {same.tobytes()}, [same]
    for one in group:
        for element in elements:
            after = element[one]
            if after.tobytes() in found:
                continue
            if len(found) == len(points) or np.any(image(points, after) == points):
                return None
            found.add(after.tobytes())
            group.append(after)
    return group


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
