"""Automorphisms of a fluid program, with orbits of roots and limits.

What the search (:mod:`topodesign.topology.automorphisms`) finds is checked.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topodesign.optima.fluid.cheapest_tree import Tree
from topodesign.optima.fluid.network import Network
from topodesign.topology.automorphisms import find_automorphisms, find_free_group
from topodesign.topology.shifts import find_shifts, iterate_rotations
from topodesign.topology.symmetry import join_orbits, orbits_under
from topodesign.topology.topology import IntArray, Topology

_TURNS = 6  # images that leave the root where it is, of each tree


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A group of automorphisms, by generators."""

    network: Network  # what they keep: arcs with their costs, limits with their bounds, who copies and who takes part
    generators: tuple[IntArray, ...]  # permutations p of the vertices: v goes to ``p[v]``
    arcs: tuple[IntArray, ...]  # the same of the arcs
    limits: tuple[IntArray, ...]  # the same of the limits
    topology: Topology | None = None  # whose shifts may be automorphisms, and make a group that is small

    @cached_property
    def root_of(self) -> IntArray:
        """The smallest vertex of every vertex's orbit."""
        return orbits_under(self.network.vertices, self.generators)

    @cached_property
    def limit_of(self) -> IntArray:
        """The number of every limit's orbit, from 0."""
        orbits: IntArray = np.unique(orbits_under(len(self.network.limits), self.limits), return_inverse=True)[1]
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

    @property
    def each(self) -> list[int]:
        """What one limit of each orbit is."""
        return [bound // int(size) for bound, size in zip(self.bounds, self.sizes, strict=True)]

    @staticmethod
    def turned(tree: Tree, _point: int) -> list[Tree]:
        """Return a tree, which stands for all its images."""
        return [tree]

    def kind(self, _point: int, many: int) -> int:
        """Return a number that is equal for points with equal prices."""
        return many

    def carried(self, _point: int, many: int, load: IntArray) -> IntArray:
        """Return the load of each limit orbit, images for all roots added."""
        return self.spread(load) * many

    def asked(self, _point: int, many: int, prices: list[int]) -> list[int]:
        """Return arc prices over all images, from a limit per orbit."""
        return [price * many for price in self.network.arc_prices([prices[orbit] for orbit in self.limit_of.tolist()])]

    @cached_property
    def point_of(self) -> IntArray:
        """The smallest point of every point's orbit."""
        points = np.arange(self.network.vertices * max(1, len(self.network.teams)))
        return orbits_under(len(points), (self.network.images(points, one) for one in self.generators))

    @cached_property
    def alike(self) -> IntArray:
        """The smallest of the groups that automorphisms exchange with every group."""
        first = np.array([team[0] for team in self.network.teams], dtype=np.int64)
        return orbits_under(len(first), (self.network.team_of[one[first]] for one in self.generators))

    def representatives(self, vertices: IntArray) -> list[tuple[int, int]]:
        """Return a vertex of every orbit, with the orbit's size."""
        first, many = np.unique(self.root_of[vertices], return_counts=True)
        return list(zip(first.tolist(), many.tolist(), strict=True))

    def spread(self, load: IntArray) -> IntArray:
        """Return the load of each limit orbit from loads of arcs."""
        total = np.zeros(len(self.sizes), dtype=np.int64)
        np.add.at(total, self.limit_of, self.network.on_limits(load))
        return total

    def movers(self, point: int) -> dict[int, IntArray]:
        """Return an automorphism to every point of a point's orbit.

        If a search finds them, they are a group: then they load links alike that it exchanges.
        """
        if point not in self._groups:
            self._groups[point] = self._group(point) or self._get_generators(point)
        return self._groups[point]

    @cached_property
    def _groups(self) -> dict[int, dict[int, IntArray]]:
        return {}

    def image(self, point: int, order: IntArray) -> int:
        """Return where an automorphism brings a point."""
        return int(self.network.images(np.array([point]), order)[0])

    def _get_generators(self, point: int) -> dict[int, IntArray]:
        found = {point: np.arange(self.network.vertices)}
        todo = [point]
        for one in todo:
            for generator in self.generators:
                image = self.image(one, generator)
                if image not in found:
                    found[image] = generator[found[one]]
                    todo.append(image)
        return found

    def _group(self, point: int) -> dict[int, IntArray] | None:
        """Return a group with one automorphism per point of an orbit."""
        orbit = np.flatnonzero(self.point_of == self.point_of[point])
        if len(orbit) == 1:
            return {point: np.arange(self.network.vertices)}
        known = None if self.topology is None else find_shifts(self.topology)
        steps = [] if known is None else list(known.generators.astype(np.int64))
        alone = np.unique(orbit // max(1, len(self.network.teams)))  # such as switches that all nodes have links to
        steps += iterate_rotations(self.network.vertices, alone)
        hints = (step for step in steps if _images(self.network, step) is not None)
        _, group = find_free_group(self.generators, orbit, self.network.images, hints=hints)
        return {self.image(point, element): element for element in group} if len(group) == len(orbit) else None


@dataclass(frozen=True, eq=False)
class Images:
    """One image of a tree for each root in its group, by limit."""

    symmetry: Symmetry  # automorphisms, of which one is taken that brings a point to another

    @property
    def network(self) -> Network:
        """Where."""
        return self.symmetry.network

    @property
    def bounds(self) -> list[int]:
        """What each limit is."""
        return list(self.network.bounds)

    @property
    def each(self) -> list[int]:
        """The same."""
        return self.bounds

    @cached_property
    def _moved(self) -> dict[int, IntArray]:
        return {}

    def moved(self, point: int) -> IntArray:
        """Return images of arcs per target point, shape ``(points, arcs)``."""
        if point not in self._moved:
            movers = np.array(list(self.symmetry.movers(point).values()))
            self._moved[point] = self.network.arcs_between(movers[:, self.network.src], movers[:, self.network.dst])
        return self._moved[point]

    def turned(self, tree: Tree, point: int) -> list[Tree]:
        """Return a tree's images under automorphisms that fix its point."""
        generators, network = self.symmetry.generators, self.network
        found = [tree]
        for _ in range(_TURNS if generators else 0):
            order = np.arange(network.vertices)
            for number in self._rng.integers(len(generators), size=2 * len(generators)).tolist():
                order = generators[number][order]
            home = np.empty_like(order)
            home[self.symmetry.movers(point)[self.symmetry.image(point, order)]] = np.arange(len(order))  # brings back
            found.append(tree.move(network, home[order]))
        return found

    @cached_property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(0)

    def kind(self, point: int, _many: int) -> int:
        """Return a number that is equal for points with equal prices."""
        return point

    def carried(self, point: int, _many: int, load: IntArray) -> IntArray:
        """Return the load of each limit, images for all points added."""
        moved = self.moved(point)
        total = np.zeros(len(load), dtype=np.int64)
        np.add.at(total, moved, np.broadcast_to(load, moved.shape))
        return self.network.on_limits(total)

    def asked(self, point: int, _many: int, prices: list[int]) -> list[int]:
        """Return arc prices over images for all points."""
        each = np.array(self.network.arc_prices(prices), dtype=object)
        total: list[int] = each[self.moved(point)].sum(axis=0).tolist()
        return total


def find_symmetry(
    network: Network, *, apart: bool = False, fixed: Iterable[int] = (), topology: Topology | None = None
) -> Symmetry:
    """Return the automorphisms of a network that fix some vertices.

    Shifts of its ``topology`` make smaller groups of them than a search.
    """
    generators = [] if apart else _find_automorphisms(network, list(fixed))
    moved = [_images(network, generator) for generator in generators]
    kept = [(g, *both) for g, both in zip(generators, moved, strict=True) if both is not None]
    vertices, arcs, limits = zip(*kept, strict=True) if kept else ((), (), ())
    return Symmetry(network, vertices, arcs, limits, None if apart else topology)


def _find_automorphisms(network: Network, fixed: list[int]) -> list[IntArray]:
    """Return the automorphisms that keep all and fix some vertices."""
    takes_part, single = np.isin(np.arange(network.vertices), network.nodes).tolist(), len(network.src)
    able = zip(takes_part, network.copies.tolist(), network.adds.tolist(), strict=True)
    return find_automorphisms(
        [(*what, vertex if vertex in fixed else -1) for vertex, what in enumerate(able)],
        network.src,
        network.dst,
        list(zip(network.cost.tolist(), network.bounds[:single], strict=True)),
        limits=[(b, limit.tolist()) for b, limit in zip(network.bounds[single:], network.limits[single:], strict=True)],
        teams=network.teams,
    )


def _images(network: Network, generator: IntArray) -> tuple[IntArray, IntArray] | None:
    """Return the images of arcs and limits, or None."""
    n = network.vertices
    if not np.array_equal(np.sort(generator), np.arange(n)):
        return None
    takes_part = np.isin(np.arange(n), network.nodes)
    if any(np.any(able[generator] != able) for able in (takes_part, network.copies, network.adds)):
        return None
    teams = set(network.teams)
    if {tuple(sorted(generator[list(team)].tolist())) for team in teams} != teams:
        return None
    arcs = network.arcs_between(generator[network.src], generator[network.dst])
    single, bounds = len(arcs), np.array(network.bounds, dtype=object)
    if np.any(arcs < 0) or np.any(network.cost[arcs] != network.cost) or np.any(bounds[arcs] != bounds[:single]):
        return None
    several = zip(network.bounds[single:], network.limits[single:], strict=True)
    shared = [(bound, *np.sort(limit).tolist()) for bound, limit in several]
    number = {key: at for at, key in enumerate(shared, start=single)}
    images = [number.get((bound, *np.sort(arcs[list(limit)]).tolist()), -1) for bound, *limit in shared]
    if sorted(images) != list(range(single, len(bounds))):
        return None
    return arcs, np.concatenate((arcs, np.array(images, dtype=np.int64)))


def sets_of_relays(network: Network, root: int, most: int) -> list[tuple[int, ...]] | None:
    """Return representative relay sets of a root, or None if too many.

    Relays that automorphisms exchange, two by two and with all others left alone, count by their number.
    """
    relays = [relay for relay in network.relays.tolist() if relay != root]
    at_root = find_symmetry(network, fixed=[root])
    first = np.arange(network.vertices)  # of every relay's group
    for relay in relays:
        for other in relays:
            if first[other] != other or other >= relay or at_root.root_of[relay] != at_root.root_of[other]:
                continue
            still = [one for one in relays if one not in {relay, other}]
            if first[relay] == relay and find_symmetry(network, fixed=[root, *still]).root_of[relay] == other:
                first = _join_exchanged(first, relay, other, at_root.generators)
    groups = [[relay for relay in relays if first[relay] == one] for one in sorted({int(first[r]) for r in relays})]
    if math.prod(len(group) + 1 for group in groups) > most:
        return None
    counts = itertools.product(*(range(len(group) + 1) for group in groups))
    return [tuple(itertools.chain(*(group[:n] for group, n in zip(groups, many, strict=True)))) for many in counts]


def _join_exchanged(first: IntArray, one: int, other: int, generators: tuple[IntArray, ...]) -> IntArray:
    """Return vertex groups joined by exchanges under symmetry."""
    pairs = {(one, other)}
    todo = [(one, other)]
    for u, v in todo:
        swapped = np.arange(len(first))
        swapped[[u, v]] = v, u
        first = join_orbits(first, swapped)
        for generator in generators:
            image = min(int(generator[u]), int(generator[v])), max(int(generator[u]), int(generator[v]))
            if image not in pairs and len(pairs) < len(first):
                pairs.add(image)
                todo.append(image)
    return first
