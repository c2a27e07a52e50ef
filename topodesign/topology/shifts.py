"""Free groups of automorphisms, which shift results of one root to others.

The numbers of nodes tell where to look. Boxes of eight GPUs are numbered box by box, a torus row by row, a hypercube by
bits: with numbers written in digits of some sizes, adding one to a digit moves every node. Whether it keeps all links
is looked up link by link, so that nothing is believed of a fabric's numbering. Switches go where the nodes around them
go. Shifts of different digits commute, and each comes back after as many times as its digit has values, so that
together they are a group of as many elements as the product of these sizes, none of which, but the one that moves
nothing, leaves any node where it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.topology.symmetry import link_orbits_under, orbits_under
from topodesign.topology.topology import IntArray, Topology

Permutations = NDArray[np.int32]

_FEWEST_ROUNDS = 64
"""Rounds in which the images of switches are found; more than switches ever lie one behind the other."""


@dataclass(frozen=True, eq=False)
class Shifts:
    """A group of automorphisms that acts freely on the compute nodes."""

    topology: Topology  # on which it acts
    generators: Permutations  # permutations of all vertices, shape (g, nodes)
    order: int  # how many elements it has; it divides the number of nodes without switches
    make: Callable[[], Permutations]  # returns the elements, the identity first

    @cached_property
    def elements(self) -> Permutations:
        """All of the group, the identity first, shape ``(order, nodes)``."""
        return self.make()

    @cached_property
    def representatives(self) -> IntArray:
        """The first node of every orbit, without switches, ascending."""
        nodes = _compute(self.topology)
        first: IntArray = nodes[self._first[nodes] == nodes]
        return first

    @cached_property
    def _first(self) -> IntArray:
        return orbits_under(self.topology.nodes, self.generators)

    @cached_property
    def link_orbits(self) -> tuple[IntArray, IntArray]:
        """The orbit number of every link, from 0, and the size of every orbit."""
        first = link_orbits_under(self.topology, self.generators)
        _, orbit, size = np.unique(first, return_inverse=True, return_counts=True)
        return orbit.ravel(), size

    def on(self, topology: Topology) -> Shifts | None:
        """Return the same group on other links, or None if it does not keep them."""
        if any(not _keeps_links(topology, generator) for generator in self.generators):
            return None
        return replace(self, topology=topology)

    def keeps(self, demand: IntArray, *of_links: NDArray[Any]) -> bool:
        """Return whether numbers of compute nodes and of links are invariant."""
        whole = np.zeros(self.topology.nodes, dtype=np.int64)
        whole[_compute(self.topology)] = demand
        orbit, size = self.link_orbits
        some = np.zeros(len(size), dtype=np.int64)
        some[orbit] = np.arange(len(orbit))  # a link of every orbit
        alike = [np.array_equal(values, values[some][orbit]) for values in of_links]
        return bool(np.array_equal(whole, whole[self._first])) and all(alike)


def distinct_nodes(topology: Topology, demand: IntArray, *of_links: NDArray[Any]) -> IntArray:
    """Return compute nodes of which all others are images.

    If demands of the nodes and numbers of links are kept, too.

    All of them where nothing is known.
    """
    shifts = find_shifts(topology)
    if shifts is None or not shifts.keeps(demand, *of_links):
        return _compute(topology)
    return shifts.representatives


@lru_cache(maxsize=16)
def find_shifts(topology: Topology) -> Shifts | None:
    """Return a free group that moves all nodes, or None.

    As large as the numbers of the nodes show.
    """
    nodes = _compute(topology)
    generators: list[IntArray] = []
    orders: list[int] = []
    taken: list[tuple[int, int]] = []
    for place, values in _digits(len(nodes)):
        if any(place < high and low < place * values for low, high in taken):
            continue
        one = extend_automorphism(topology, nodes, _rotate_digit(len(nodes), place, values))
        if one is None or not _fits(one, values, generators):
            continue
        generators.append(one)
        orders.append(values)
        taken.append((place, place * values))
    known = topology.symmetry
    if known is not None and not topology.switches and len(known.generators) and known.is_free:
        representative = int(known.represented_by[0])
        alike = int(np.bincount(known.represented_by)[representative])
        if alike > math.prod(orders):
            known.check(topology)
            every = np.arange(topology.nodes)
            return Shifts(topology, known.generators, alike, lambda: known.images(representative, every)[1])
    if not generators:
        return None
    return Shifts(
        topology,
        np.array(generators, dtype=np.int32),
        math.prod(orders),
        lambda: _products(topology.nodes, generators, orders),
    )


def _products(nodes: int, generators: list[IntArray], orders: list[int]) -> Permutations:
    """Return all products of powers of permutations that commute."""
    elements = np.arange(nodes, dtype=np.int32)[None, :]
    for generator, order in zip(generators, orders, strict=True):
        power, powers = np.arange(nodes, dtype=np.int32), []
        for _ in range(order):
            powers.append(power[elements])
            power = generator[power].astype(np.int32)
        elements = np.concatenate(powers)
    return elements


def _compute(topology: Topology) -> IntArray:
    compute = np.ones(topology.nodes, dtype=np.bool_)
    compute[sorted(topology.switches)] = False
    return np.flatnonzero(compute)


def _digits(count: int) -> list[tuple[int, int]]:
    """Return digits of numbers below ``count``: weight and values."""
    parts = [one for one in range(1, count + 1) if count % one == 0]
    pairs = [(place, values) for values in parts[1:] for place in parts if count % (place * values) == 0]
    return sorted(pairs, key=lambda pair: (-pair[1], -pair[0]))


def iterate_rotations(count: int, some: IntArray) -> Iterator[IntArray]:
    """Yield permutations of ``count`` vertices that add one to a digit of some of them, by their order."""
    for place, values in _digits(len(some)):
        order = np.arange(count)
        order[some] = some[_rotate_digit(len(some), place, values)]
        yield order


def _rotate_digit(count: int, place: int, values: int) -> IntArray:
    """Return the numbers below ``count`` with one added to a digit."""
    number = np.arange(count)
    digit = number // place % values
    return number + ((digit + 1) % values - digit) * place


def extend_automorphism(topology: Topology, nodes: IntArray, image: IntArray) -> IntArray | None:
    """Return an automorphism with given images of the first nodes, or None.

    A switch goes to where its neighbours, with the capacities to and from them, go together: sums of random numbers are
    compared, and the result is checked on every link. Of switches that look alike each stays where it is if it can.
    """
    place = np.full(topology.nodes, -1, dtype=np.int64)
    place[nodes] = nodes[image]
    switches = np.array(sorted(topology.switches), dtype=np.int64)
    rng = np.random.default_rng(0)
    code = rng.integers(1, 2**63, topology.nodes, dtype=np.uint64)
    weight = topology.capacity.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)

    def around(vertex: IntArray) -> NDArray[np.uint64]:
        """Return a number for the neighbourhood of every vertex.

        Vertices are called by these numbers, -1 if unknown.
        """
        named = np.where(vertex >= 0, code[vertex], np.uint64(0))
        seen = np.zeros(topology.nodes, dtype=np.uint64)
        np.add.at(seen, topology.dst, named[topology.src] * weight)
        np.add.at(seen, topology.src, (named[topology.dst] ^ (named[topology.dst] >> np.uint64(29))) * weight)
        return seen

    for _ in range(_FEWEST_ROUNDS):
        open_ = switches[place[switches] < 0]
        if not len(open_):
            break
        reached = np.zeros(topology.nodes, dtype=np.bool_)
        reached[place[place >= 0]] = True
        goals = switches[~reached[switches]]
        before, after = around(place), around(np.where(reached, np.arange(topology.nodes), -1))
        by_sight: dict[int, list[int]] = {}
        for goal in goals.tolist():
            by_sight.setdefault(int(after[goal]), []).append(goal)
        alike: dict[int, list[int]] = {}
        for switch in open_.tolist():
            alike.setdefault(int(before[switch]), []).append(switch)
        if any(len(by_sight.get(sight, ())) != len(those) for sight, those in alike.items()):
            return None
        sure = {sight: those for sight, those in alike.items() if len(those) == 1}
        for sight, those in (sure or dict([next(iter(alike.items()))])).items():
            stay = [one for one in those if one in by_sight[sight]]
            rest = [one for one in by_sight[sight] if one not in stay]
            place[stay] = stay
            place[[one for one in those if one not in stay]] = rest
    if (place < 0).any():
        return None
    return place if _keeps_links(topology, place) else None


def _keeps_links(topology: Topology, image: NDArray[np.integer]) -> bool:
    """Return whether a permutation keeps links and capacities."""
    link = topology.link_index(image[topology.src], image[topology.dst])
    return not (link < 0).any() and np.array_equal(topology.capacity[link], topology.capacity)


def _fits(one: IntArray, order: int, others: list[IntArray]) -> bool:
    """Return whether a permutation has an order and commutes with others."""
    power = np.arange(len(one))
    for _ in range(order):
        power = one[power]
    return bool(np.array_equal(power, np.arange(len(one)))) and all(
        np.array_equal(one[other], other[one]) for other in others
    )
