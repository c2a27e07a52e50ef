"""Automorphisms of a fabric that keep all that a fluid program knows, and the orbits of roots and limits.

The search is igraph's (BLISS); what it says is checked. A limit becomes a vertex that is joined to its arcs, an arc two
vertices on the way between its ends, so that a graph without directions has the same automorphisms.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topodesign.fluid.network import Network
from topodesign.topology.symmetry import joined
from topodesign.topology.topology import IntArray


@dataclass(frozen=True, eq=False)
class Likeness:
    """A group of automorphisms, by generators.

    Attributes
    ----------
    network
        What they keep: arcs with their costs, limits with their bounds, who copies and who takes part.
    generators
        Permutations p of the vertices: v goes to ``p[v]``.
    arcs
        The same of the arcs.
    limits
        The same of the limits.
    """

    network: Network
    generators: tuple[IntArray, ...]
    arcs: tuple[IntArray, ...]
    limits: tuple[IntArray, ...]

    @cached_property
    def root_of(self) -> IntArray:
        """The smallest vertex of every vertex's orbit."""
        return _orbits(self.network.vertices, self.generators)

    @cached_property
    def limit_of(self) -> IntArray:
        """The number of every limit's orbit, from 0."""
        orbits: IntArray = np.unique(_orbits(len(self.network.limits), self.limits), return_inverse=True)[1]
        return orbits

    @cached_property
    def sizes(self) -> IntArray:
        """How many limits each orbit has."""
        return np.bincount(self.limit_of)

    @cached_property
    def bounds(self) -> list[int]:
        """What the limits of each orbit are together."""
        total = [0] * len(self.sizes)
        for orbit, bound in zip(self.limit_of.tolist(), self.network.bounds, strict=True):
            total[orbit] += bound
        return total

    def representatives(self, vertices: IntArray) -> list[tuple[int, int]]:
        """Return a vertex of every orbit of some, and how many of them are in it."""
        first, many = np.unique(self.root_of[vertices], return_counts=True)
        return list(zip(first.tolist(), many.tolist(), strict=True))

    def spread(self, load: IntArray) -> IntArray:
        """Return what the limits of each orbit carry together of a load of the arcs."""
        total = np.zeros(len(self.sizes), dtype=np.int64)
        for orbit, arcs in zip(self.limit_of.tolist(), self.network.limits, strict=True):
            total[orbit] += int(load[arcs].sum())
        return total

    def movers(self, root: int) -> dict[int, IntArray]:
        """Return for every vertex of the root's orbit an automorphism that brings the root there."""
        found = {root: np.arange(self.network.vertices)}
        todo = [root]
        for vertex in todo:
            for generator in self.generators:
                image = int(generator[vertex])
                if image not in found:
                    found[image] = generator[found[vertex]]
                    todo.append(image)
        return found


def alike(network: Network, *, apart: bool = False, fixed: Iterable[int] = ()) -> Likeness:
    """Return the automorphisms of a network.

    Parameters
    ----------
    network
        Any.
    apart
        Whether nothing is to be taken for alike: the group is then trivial.
    fixed
        Vertices that automorphisms are to leave where they are.
    """
    generators = [] if apart else _found(network, list(fixed))
    moved = [_images(network, generator) for generator in generators]
    kept = [(g, *both) for g, both in zip(generators, moved, strict=True) if both is not None]
    parts = list(zip(*kept, strict=True)) if kept else [(), (), ()]
    return Likeness(network, *parts)


def _orbits(count: int, generators: Iterable[IntArray]) -> IntArray:
    first = np.arange(count)
    for generator in generators:
        first = joined(first, generator)
    return first


def _coloured(network: Network, fixed: list[int]) -> tuple[int, list[tuple[int, int]], list[int]]:
    """Return vertices, edges and colours of the graph whose automorphisms are looked for."""
    takes_part = np.isin(np.arange(network.vertices), network.nodes).tolist()
    seen: dict[Hashable, int] = {}
    own = set(fixed)
    able = zip(takes_part, network.copies.tolist(), network.adds.tolist(), strict=True)
    colours = [seen.setdefault(("vertex", *what, v if v in own else -1), len(seen)) for v, what in enumerate(able)]
    edges = []
    for arc, (u, v, cost) in enumerate(
        zip(network.src.tolist(), network.dst.tolist(), network.cost.tolist(), strict=True)
    ):
        out = network.vertices + 2 * arc
        edges += [(u, out), (out, out + 1), (out + 1, v)]
        colours += [seen.setdefault((end, cost, network.bounds[arc]), len(seen)) for end in ("out", "in")]
    for limit in range(len(network.src), len(network.limits)):
        place = len(colours)
        colours.append(seen.setdefault(("limit", network.bounds[limit]), len(seen)))
        edges += [(network.vertices + 2 * arc, place) for arc in network.limits[limit].tolist()]
    return len(colours), edges, colours


def _found(network: Network, fixed: list[int]) -> list[IntArray]:
    import igraph  # noqa: PLC0415  heavy

    count, edges, colours = _coloured(network, fixed)
    graph = igraph.Graph(n=count, edges=edges)
    return [
        np.array(generator[: network.vertices], dtype=np.int64) for generator in graph.automorphism_group(color=colours)
    ]


def _images(network: Network, generator: IntArray) -> tuple[IntArray, IntArray] | None:
    """Return where arcs and limits go; None if the permutation does not keep all of the network."""
    n = network.vertices
    if not np.array_equal(np.sort(generator), np.arange(n)):
        return None
    takes_part = np.isin(np.arange(n), network.nodes)
    if any(np.any(able[generator] != able) for able in (takes_part, network.copies, network.adds)):
        return None
    keys = network.src * n + network.dst
    order = np.argsort(keys, kind="stable")
    moved = generator[network.src] * n + generator[network.dst]
    place = np.minimum(np.searchsorted(keys[order], moved), len(keys) - 1)
    arcs = order[place]
    if np.any(keys[arcs] != moved) or np.any(network.cost[arcs] != network.cost):
        return None
    limits = list(zip(network.bounds, network.limits, strict=True))
    number = {(bound, *limit.tolist()): at for at, (bound, limit) in enumerate(limits)}
    images = [number.get((bound, *np.sort(arcs[limit]).tolist()), -1) for bound, limit in limits]
    if sorted(images) != list(range(len(images))):
        return None
    return arcs, np.array(images, dtype=np.int64)


def sets_of_relays(network: Network, root: int, most: int) -> list[tuple[int, ...]] | None:
    """Return sets of relays such that every set is like one of them, as seen from a root; None if they are too many.

    Relays that automorphisms exchange, two by two and with all others left alone, count by their number.

    Parameters
    ----------
    network
        Any, whose prices will be the same on arcs that are alike.
    root
        Where trees start.
    most
        How many sets there may be.
    """
    relays = [relay for relay in network.relays.tolist() if relay != root]
    at_root = alike(network, fixed=[root])
    first = np.arange(network.vertices)  # of every relay's group
    for relay in relays:
        for other in relays:
            if first[other] != other or other >= relay or at_root.root_of[relay] != at_root.root_of[other]:
                continue
            still = [one for one in relays if one not in {relay, other}]
            if first[relay] == relay and alike(network, fixed=[root, *still]).root_of[relay] == other:
                first = _exchanged(first, relay, other, at_root.generators)
    groups = [[relay for relay in relays if first[relay] == one] for one in sorted({int(first[r]) for r in relays})]
    if math.prod(len(group) + 1 for group in groups) > most:
        return None
    counts = itertools.product(*(range(len(group) + 1) for group in groups))
    return [tuple(itertools.chain(*(group[:n] for group, n in zip(groups, many, strict=True)))) for many in counts]


def _exchanged(first: IntArray, one: int, other: int, generators: tuple[IntArray, ...]) -> IntArray:
    """Return groups of vertices, joined where the exchange of two leads under automorphisms of the rest."""
    pairs = {(one, other)}
    todo = [(one, other)]
    for u, v in todo:
        first = joined(first, _swap(len(first), u, v))
        for generator in generators:
            image = min(int(generator[u]), int(generator[v])), max(int(generator[u]), int(generator[v]))
            if image not in pairs and len(pairs) < len(first):
                pairs.add(image)
                todo.append(image)
    return first


def _swap(count: int, one: int, other: int) -> IntArray:
    order = np.arange(count)
    order[[one, other]] = other, one
    return order
