"""The cheapest tree from a root to all nodes at given arc prices.

Data branch where they can be copied and pass through the other vertices, once for every branch beyond them. So a tree
is an arborescence over those that can copy, each arc of it a cheapest path through vertices that take no part. Where
all that can copy take part, Edmonds' algorithm finds the cheapest. A tree may omit host memory and other
relays, so there it is asked for every set of relays that may make a difference.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError
from topodesign.optima.fluid.arborescence_kernels import Prices, cuts_hold, grow
from topodesign.optima.fluid.network import Network
from topodesign.topology.topology import IntArray

_LARGEST = 2**60


class Tree(NamedTuple):
    """A way to all nodes."""

    root: int  # where it starts
    edges: tuple[tuple[int, ...], ...]  # paths of vertices between those that copy, those near the root first
    load: IntArray  # how often each arc is used, shape ``(arcs,)``

    def move(self, network: Network, order: IntArray) -> Tree:
        """Return the image under an automorphism, vertex v to ``order[v]``."""
        load = np.empty_like(self.load)
        load[network.arcs_between(order[network.src], order[network.dst])] = self.load
        return Tree(int(order[self.root]), tuple(tuple(order[list(edge)].tolist()) for edge in self.edges), load)


class Cheapest(NamedTuple):
    """The cheapest tree that was found, and its price."""

    tree: Tree
    price: int


@dataclass(frozen=True, eq=False)
class Ways:
    """Cheapest paths through vertices that take no part.

    Prices are whole; of paths of one price those over the fewest arcs are taken, by counting arcs in the low digits.
    """

    network: Network  # where
    prices: list[int]  # of the arcs, not negative

    @cached_property
    def longest(self) -> int:
        """More than the arcs of any path."""
        return self.network.vertices + 2 - len(self.network.nodes)

    @cached_property
    def unit(self) -> int:
        """What all prices are multiples of."""
        return math.gcd(*self.prices) or 1

    @cached_property
    def step(self) -> int:
        """A unit of price in :attr:`weights`, above the arcs of a tree."""
        return 1 << (self.longest * (self.network.vertices + 1)).bit_length()

    @cached_property
    def weights(self) -> NDArray[Any]:
        """Prices of arcs with the count of arcs in the low digits."""
        whole = [price // self.unit * self.step + 1 for price in self.prices]
        small = (max(whole, default=0) + 1) * self.longest * (self.network.vertices + 1) < _LARGEST
        return np.array(whole, dtype=np.int64 if small else object)

    @cached_property
    def far(self) -> int:
        """More than any path weighs."""
        return (int(self.weights.max(initial=0)) + 1) * self.longest

    @cached_property
    def ends(self) -> IntArray:
        """Ends of paths: nodes, and vertices that copy or add."""
        return np.flatnonzero(self.network.copies | self.network.adds)

    @cached_property
    def distance(self) -> NDArray[Any]:
        """Weights of cheapest paths from ends, shape ``(ends, vertices)``."""
        network, weights = self.network, self.weights
        order = np.argsort(network.dst, kind="stable")
        src, dst, weight = network.src[order], network.dst[order], weights[order]
        starts = np.flatnonzero(np.diff(dst, prepend=-1))
        goals = dst[starts]
        distance = np.full((len(self.ends), network.vertices), self.far, dtype=weights.dtype)
        distance[np.arange(len(self.ends)), self.ends] = 0
        while True:
            found = np.minimum.reduceat(self._get_distances(distance)[:, src] + weight, starts, axis=1)
            better = np.minimum(distance[:, goals], found)
            if np.array_equal(better, distance[:, goals]):
                return distance
            distance[:, goals] = better

    def _get_distances(self, distance: NDArray[Any]) -> NDArray[Any]:
        """Return the distances of vertices that a path can continue from."""
        passed = distance.copy()
        passed[:, self._shut] = self.far
        passed[np.arange(len(self.ends)), self.ends] = 0
        return passed

    @cached_property
    def _shut(self) -> NDArray[np.bool_]:
        marks = np.zeros(self.network.vertices, dtype=np.bool_)
        marks[list(self.network.closed)] = True
        marks[self.network.nodes] = True
        return marks

    @cached_property
    def _row(self) -> dict[int, int]:
        return {vertex: row for row, vertex in enumerate(self.ends.tolist())}

    @cached_property
    def _into(self) -> list[list[tuple[int, int]]]:
        into: list[list[tuple[int, int]]] = [[] for _ in range(self.network.vertices)]
        for arc, (u, v) in enumerate(zip(self.network.src.tolist(), self.network.dst.tolist(), strict=True)):
            into[v].append((arc, u))
        return into

    def path(self, start: int, goal: int) -> list[int]:
        """Return the arcs of the cheapest path from an end to a vertex."""
        row = self.distance[self._row[start]]
        if row[goal] >= self.far:
            raise InfeasibleError(f"no way leads from vertex {start} to vertex {goal}")
        arcs, here = [], goal
        while here != start:
            arc, here = next(
                (arc, u)
                for arc, u in self._into[here]
                if (u == start or not self._shut[u]) and row[u] + self.weights[arc] == row[here]
            )
            arcs.append(arc)
        return arcs[::-1]

    def between(self, ends: list[int]) -> NDArray[Any]:
        """Return the weights of cheapest paths between ends, large if none."""
        between = self.distance[np.ix_([self._row[vertex] for vertex in ends], ends)]
        missing = between >= self.far
        if not missing.any():
            return between
        most = self.far * (self.network.vertices + 1)
        if most * (len(ends) + 1) >= _LARGEST:
            between = between.astype(object)
        between[missing] = most
        return between

    def proven(self) -> bool:
        """Whether no arc shortens a path, which proves the distances."""
        longer = self._get_distances(self.distance)[:, self.network.src] + self.weights
        return bool(np.all(np.minimum(longer, self.far) >= self.distance[:, self.network.dst]))


def cheapest_tree(ways: Ways, root: int, choices: list[tuple[int, ...]], *, single: bool = False) -> Cheapest:
    """Return the cheapest tree from a copying root to all nodes.

    It is the cheapest of all where every set of relays is like one of them. ``single``: the root cannot copy, so that
    one edge leaves it.
    """
    weight, parent = min((_over(ways, root, chosen, single) for chosen in choices), key=lambda one: one[0])
    order = _outwards(parent, root)
    tree = _tree(ways, root, [(parent[vertex], vertex) for vertex in order])
    return Cheapest(tree, weight // ways.step * ways.unit)


def _over(ways: Ways, root: int, relays: tuple[int, ...], single: bool) -> tuple[int, dict[int, int]]:
    """Return weight and parents of the cheapest tree over some relays."""
    ends = list(dict.fromkeys([root, *ways.network.nodes.tolist(), *relays]))
    prices = ways.between(ends)
    dear = single * ways.far * (ways.network.vertices + 1)  # so that one edge is cheaper than two
    prices[0] += dear
    found = cheapest_arborescence(prices, 0)
    if proven_price(found, prices, 0) != found.price:
        raise RuntimeError("the cheapest arborescence is not proven")
    parent = {ends[at]: ends[above] for at, above in enumerate(found.parent.tolist()) if above >= 0}
    while idle := [relay for relay in relays if relay in parent and relay not in parent.values()]:
        for relay in idle:
            del parent[relay]
    row = {vertex: at for at, vertex in enumerate(ends)}
    weight = sum(int(prices[row[above], row[vertex]]) for vertex, above in parent.items())
    return weight - dear, parent


def _outwards(parent: dict[int, int], root: int) -> list[int]:
    """Return the vertices but the root, each after its parent."""
    below: dict[int, list[int]] = {}
    for vertex, above in sorted(parent.items()):
        below.setdefault(above, []).append(vertex)
    order, todo = [], deque([root])
    while todo:
        here = below.get(todo.popleft(), [])
        order += here
        todo.extend(here)
    return order


def _tree(ways: Ways, root: int, edges: list[tuple[int, int]]) -> Tree:
    network = ways.network
    load = np.zeros(len(network.src), dtype=np.int64)
    paths = []
    for start, goal in edges:
        arcs = ways.path(start, goal)
        np.add.at(load, arcs, 1)
        paths.append((start, *network.dst[arcs].tolist()))
    return Tree(root, tuple(paths), load)


# -- arborescences ----------------------------------------------------------------------------------------------------


class Arborescence(NamedTuple):
    """The cheapest, and its proof."""

    parent: IntArray  # of every vertex, -1 for the root
    price: int  # of all its arcs
    # sets of one vertex each and then circles: the circle that each is in, -1 for none, and the weight of the cut
    # around it; weights add up to the price
    up: IntArray
    weight: Prices


def cheapest_arborescence(prices: Prices, root: int) -> Arborescence:
    """Return the cheapest arborescence for non-negative arc prices."""
    count = len(prices)
    parent, up = np.full(count, -1), np.full(2 * count, -1)
    weight = np.zeros(2 * count, dtype=prices.dtype)
    room = np.empty_like(prices), np.empty((count, count), dtype=np.int64)
    (grow.plain if prices.dtype == object else grow)(prices, root, room, parent, up, weight)
    total = sum(int(prices[above, vertex]) for vertex, above in enumerate(parent.tolist()) if above >= 0)
    return Arborescence(parent, total, up, weight)


def proven_price(found: Arborescence, prices: Prices, root: int) -> int | None:
    """Return the proven least arborescence price, or None."""
    holds = cuts_hold.plain if prices.dtype == object else cuts_hold
    proven = holds(prices, root, found.up, found.weight, np.zeros_like(found.weight))
    return sum(map(int, found.weight.tolist())) if proven else None
