"""Low spanning trees on symmetric fabrics, one root per orbit.

Let a group act freely on the compute nodes (:mod:`topodesign.topology.shifts`). If the trees of one root of every orbit
are shifted by all of its m elements, then all links of an orbit carry the same: m / (links in the orbit) of what these
trees have on the orbit together. So no link has to be looked at alone, and no switch to be removed first. Trees are
sought with a *level* for every node, such that a node's parent, over any switches, has a lower level. With levels fixed
any choice of parents makes trees, no higher than the highest level, and how many take which way is a small integer
program: nodes that have the same ways to choose from count together, and an orbit of links is one row.

Levels are those of breadth-first search, and of trees that grow by the cheapest way first, at prices that the linear
program puts on the orbits, with more or less weight on being low (Alpert, Hu, Huang, Kahng and Karger, Prim-Dijkstra
tradeoffs, 1995). Heights are tried from the least that any tree can have upwards. Trees of least height are NP-hard to
find (ForestColl, appendix D.3), and where this finds none, nothing follows.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from topodesign.collectives import Collective
from topodesign.optima.forest.tree_counts import FixedOptimum
from topodesign.plans.build import build_ways, fold_of
from topodesign.plans.chunk_ops import find_height, find_heights
from topodesign.plans.flow import Flow
from topodesign.solve.maxflow import compute_nodes
from topodesign.solve.program import NO_BOUND, Entries, Program
from topodesign.topology.shifts import Shifts, find_shifts
from topodesign.topology.topology import IntArray, Topology

_MAX_PLACES = 2**14  # nodes times representatives up to which trees are sought
_HEIGHTS = 6  # heights that are tried, from the least on
_ROUNDS = 8
_LOOKS, _HOPELESS = 2, 1.5
"""After so many rounds with new prices, the fullest orbit must not be fuller than this for the search to go on."""
_WEIGHTS = (0.0, 1 / 16, 1 / 4, 1.0, 4.0)
"""Of the height of a start against the price of a way, in the average of prices."""
_MAX_WAYS = 48  # ways to a switch that are distinguished
_MAX_HOPS = 4  # switches one behind the other on a way
_MAX_COLUMNS = 12_000  # of the linear program; one of more takes many seconds
_BRANCHES = 200
_GRID = 2**30

_SEEDS = 8  # trees of every representative, the lowest, that the search begins with

_Way = tuple[int, ...]  # A compute node, switches, a compute node
_Load = tuple[int, ...]  # the orbits of the links of a way, ascending, with repeats
Seed = tuple[int, dict[int, int]]  # the place of a representative, and the levels of all nodes as it sees them


@dataclass(frozen=True)
class LowTrees:
    """Trees of the representatives."""

    weight: tuple[int, ...]  # how many trees each stands for
    ways: tuple[tuple[_Way, ...], ...]  # for every tree its edges, from the root on, each as the way that it takes
    height: int  # of the highest


def find_low_trees(
    shifts: Shifts, numbers: Sequence[int], below: int | None = None, seeds: Sequence[Seed] = ()
) -> LowTrees | None:
    """Return trees of representatives that, shifted, fit all links.

    Capacities of the topology are numbers of trees. The lowest that were found are returned: heights are tried from the
    least that any tree can have up, or, if only trees below some height are of use, from there down as long as there
    are any. Seeds are levels to begin with, such as those of trees that are enough but too high.
    """
    fabric = _Quotient(shifts)
    prices = fabric.first_prices
    roots = shifts.representatives.tolist()
    if len(roots) * len(fabric.nodes) > _MAX_PLACES:
        return None
    grown = [fabric.grow_tree(root, prices, None, len(fabric.nodes)) for root in roots]
    if any(len(depth) < len(fabric.nodes) for depth in grown):
        return None
    least = max(max(depth.values()) for depth in grown)
    if below is None:
        tries = (_of_height(fabric, roots, numbers, height) for height in range(least, least + _HEIGHTS))
        return next((found for found in tries if found is not None), None)
    lowest: LowTrees | None = None
    while below > least and (found := _of_height(fabric, roots, numbers, below - 1, seeds)) is not None:
        lowest, below = found, found.height
    return lowest


class _Quotient:
    """The fabric with its links in orbits."""

    def __init__(self, shifts: Shifts) -> None:
        topology = shifts.topology
        self.nodes = [node for node in range(topology.nodes) if node not in topology.switches]
        self.switches = topology.switches
        orbit, size = shifts.link_orbits
        self.room: list[int] = [0] * len(size)
        self.out: list[list[tuple[int, int]]] = [[] for _ in range(topology.nodes)]
        self.into: list[list[tuple[int, int]]] = [[] for _ in range(topology.nodes)]
        links = zip(
            topology.src.tolist(), topology.dst.tolist(), orbit.tolist(), topology.capacity.tolist(), strict=True
        )
        for u, v, number, capacity in links:
            self.room[number] = capacity * int(size[number]) // len(shifts.elements)
            if u != v and self.room[number]:
                self.out[u].append((v, number))
                self.into[v].append((u, number))

    @property
    def first_prices(self) -> list[float]:
        """Prices to begin with: the less room, the dearer."""
        return [1 / max(1, most) for most in self.room]

    def grow_tree(self, root: int, prices: Sequence[float], weight: float | None, height: int) -> dict[int, int]:
        """Return the depth of nodes in a cheapest tree up to a height.

        A way costs its prices and ``weight`` for the depth of its start; None: the depth comes first. Nodes that cannot
        be reached are missing.
        """
        depth = {root: 0}
        best: dict[int, tuple[float, float, int]] = {}
        waiting: list[tuple[float, float, int, int]] = []

        def leave(vertex: int, first: float, second: float, start: int) -> None:
            for other, number in self.out[vertex]:
                if other not in depth:
                    cost = prices[number]
                    key = (first, second + cost) if weight is None else (first + cost, second)
                    heapq.heappush(waiting, (*key, start, other))

        leave(root, 0, 0, 0)
        while waiting:
            first, second, start, vertex = heapq.heappop(waiting)
            if vertex in depth:
                continue
            if vertex in self.switches:
                if vertex not in best or (first, second, start) < best[vertex]:
                    best[vertex] = first, second, start
                    leave(vertex, first, second, start)
                continue
            depth[vertex] = start + 1
            if start + 1 < height:
                if weight is None:
                    leave(vertex, start + 1, 0, start + 1)
                else:
                    leave(vertex, weight * (start + 1), start + 1, start + 1)
        return depth

    def ways(self, level: dict[int, int]) -> dict[int, dict[_Load, _Way]]:
        """Return each node's ways from lower levels, lowest per load."""
        near = self._ways_to_switches(level)
        found: dict[int, dict[_Load, _Way]] = {}
        for node in self.nodes:
            here: dict[_Load, tuple[int, _Way]] = {}
            for other, number in self.into[node]:
                before = near[other] if other in self.switches else {(): (level[other], ())}
                for load, (lowest, way) in before.items():
                    if lowest < level[node]:
                        _keep(here, tuple(sorted((*load, number))), lowest, (*way, other))
            found[node] = {load: (*way, node) for load, (_, way) in here.items()}
        return found

    def _ways_to_switches(self, level: dict[int, int]) -> dict[int, dict[_Load, tuple[int, _Way]]]:
        """Return the ways to every switch, with their starting levels."""
        near: dict[int, dict[_Load, tuple[int, _Way]]] = {switch: {} for switch in self.switches}
        for switch in self.switches:
            for node, number in self.into[switch]:
                if node not in self.switches:
                    _keep(near[switch], (number,), level[node], (node,))
        fresh = [(switch, load, *start) for switch, ways in near.items() for load, start in ways.items()]
        for _ in range(_MAX_HOPS - 1):
            following = []
            for switch, load, lowest, way in fresh:
                for other, number in self.out[switch]:
                    if other not in self.switches or other in way or len(near[other]) >= _MAX_WAYS:
                        continue
                    longer = tuple(sorted((*load, number))), lowest, (*way, switch)
                    if _keep(near[other], *longer):
                        following.append((other, *longer))
            fresh = following
        return near


def _keep(ways: dict[_Load, tuple[int, _Way]], load: _Load, level: int, way: _Way) -> bool:
    """Add a way unless an equal one starts as low; return whether."""
    if load in ways and ways[load][0] <= level:
        return False
    ways[load] = level, way
    return True


@dataclass(frozen=True, eq=False)
class _Levels:
    """Levels of nodes as a root sees them, with allowed ways."""

    root: int  # its place among the representatives
    height: int
    ways: dict[int, dict[_Load, _Way]]
    classes: dict[tuple[_Load, ...], list[int]]


def _levels(fabric: _Quotient, root: int, place: int, level: dict[int, int]) -> _Levels:
    ways = fabric.ways(level)
    classes: dict[tuple[_Load, ...], list[int]] = {}
    for node, loads in ways.items():
        if node != root:
            classes.setdefault(tuple(sorted(loads)), []).append(node)
    return _Levels(place, max(level.values()), ways, classes)


def _of_height(
    fabric: _Quotient, roots: list[int], numbers: Sequence[int], height: int, seeds: Sequence[Seed] = ()
) -> LowTrees | None:
    """Return trees of at most a height, or None."""
    columns = 0
    known: set[tuple[int, tuple[int, ...]]] = set()
    fresh: list[_Levels] = []

    def consider(place: int, level: dict[int, int]) -> None:
        key = place, tuple(level.get(node, -1) for node in fabric.nodes)
        if len(level) == len(fabric.nodes) and key not in known:
            known.add(key)
            fresh.append(_levels(fabric, roots[place], place, level))

    for place, level in seeds:
        consider(place, {node: min(depth, height) for node, depth in level.items()})
    prices = fabric.first_prices
    relaxed = _Choice(fabric, numbers, whole=False)
    for turn in range(_ROUNDS):
        mean = sum(prices) / len(prices)
        for place, root in enumerate(roots):
            for weight in (None, *(part * mean for part in _WEIGHTS)):
                consider(place, fabric.grow_tree(root, prices, weight, height))
        columns += sum(len(loads) for levels in fresh for loads in levels.classes)
        if not fresh or columns > _MAX_COLUMNS:
            return None
        relaxed.add(fresh)
        fresh.clear()
        relaxed.solve()
        if relaxed.pressure() <= 1 + 1e-6:
            chosen = _Choice(fabric, numbers, whole=True)
            chosen.add(relaxed.pool)
            chosen.solve()
            found = chosen.trees(roots)
            if found is not None:
                return found
        prices = relaxed.prices()
        if not any(prices) or (turn >= _LOOKS and relaxed.pressure() > _HOPELESS):
            return None
    return None


class _Choice:
    """The program of tree counts by levels, and ways by class.

    In whole numbers it asks for any solution; relaxed, for how full the fullest orbit has to be.
    """

    def __init__(self, fabric: _Quotient, numbers: Sequence[int], *, whole: bool) -> None:
        self.fabric, self.numbers, self.whole = fabric, numbers, whole
        self.pool: list[_Levels] = []
        self.used: list[int] = []
        self.taken: list[list[list[int]]] = []
        self.program = program = Program()
        room = np.array(fabric.room, dtype=np.int64)
        self.limit = program.add_columns(1, cost=1, lower=int(whole), upper=1 if whole else NO_BOUND)
        self.loads = program.add_rows(
            len(room), Entries(np.arange(len(room)), np.repeat(self.limit, len(room)), -room), upper=0
        )
        self.sums = program.add_rows(len(numbers), Entries((), (), ()), lower=numbers, upper=numbers)

    def add(self, pool: Sequence[_Levels]) -> None:
        """Add levels to choose from."""
        program = self.program
        places = np.array([levels.root for levels in pool], dtype=np.int64)
        used = program.add_columns(
            len(pool), whole=self.whole, entries=Entries(self.sums[places], np.arange(len(pool)), 1)
        ).tolist()
        options = [load for levels in pool for classed in levels.classes for load in classed]
        loads = [
            (int(self.loads[number]), column, times)
            for column, load in enumerate(options)
            for number, times in Counter(load).items()
        ]
        columns = program.add_columns(len(options), whole=self.whole, entries=_entries(loads)).tolist()
        sums: list[tuple[int, int, int]] = []
        row = at = 0
        for own, levels in zip(used, pool, strict=True):
            taken = []
            for classed, nodes in levels.classes.items():
                taken.append(columns[at : at + len(classed)])
                sums += [(row, own, -len(nodes)), *((row, column, 1) for column in taken[-1])]
                at += len(classed)
                row += 1
            self.taken.append(taken)
        program.add_rows(row, _entries(sums), lower=0, upper=0)
        self.pool += pool
        self.used += used

    def solve(self) -> None:
        """Solve."""
        self.program.solve(nodes=_BRANCHES if self.whole else None)

    def pressure(self) -> float:
        """Return about how full the fullest orbit is."""
        return float(self.program.values(_GRID)[self.limit[0]] / _GRID) if self.program.solved else float("inf")

    def prices(self) -> list[float]:
        """Return about what the orbits are worth."""
        if not self.program.solved:
            return [0.0] * len(self.loads)
        return [max(0.0, -price / _GRID) for price in self.program.prices(Fraction(_GRID))[self.loads].tolist()]

    def trees(self, roots: list[int]) -> LowTrees | None:
        """Return the trees of an integer solution, checked, or None."""
        if not self.program.solved:
            return None
        values = self.program.values().tolist()
        load = [0] * len(self.fabric.room)
        totals = [0] * len(self.numbers)
        weights: list[int] = []
        trees: list[tuple[_Way, ...]] = []
        for levels, own, columns in zip(self.pool, self.used, self.taken, strict=True):
            times = values[own]
            totals[levels.root] += times
            if times < 0:
                return None
            shares: dict[int, list[tuple[int, _Way]]] = {}
            for (options, nodes), numbers in zip(levels.classes.items(), columns, strict=True):
                counts = [values[column] for column in numbers]
                if min(counts, default=0) < 0 or sum(counts) != times * len(nodes):
                    return None
                for option, count in zip(options, counts, strict=True):
                    for number in option:
                        load[number] += count
                shares |= dict(_dealt(levels, options, nodes, counts, times)) if times else {}
            for weight, ways in _cut(shares, times):
                weights.append(weight)
                trees.append(_order_tree(roots[levels.root], ways))
        if totals != list(self.numbers) or any(one > most for one, most in zip(load, self.fabric.room, strict=True)):
            return None
        height = max(map(_height, trees))
        return LowTrees(tuple(weights), tuple(trees), height)


def _entries(rows: list[tuple[int, int, int]]) -> Entries:
    """Return entries of rows, columns and values."""
    return Entries(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def _dealt(
    levels: _Levels, options: tuple[_Load, ...], nodes: list[int], counts: list[int], times: int
) -> Iterator[tuple[int, list[tuple[int, _Way]]]]:
    """Yield the number of trees per way for every node of a class."""
    left = [(load, count) for count, load in zip(counts, options, strict=True) if count][::-1]
    for node in nodes:
        share, missing = [], times
        while missing:
            load, count = left.pop()
            part = min(missing, count)
            share.append((part, levels.ways[node][load]))
            missing -= part
            if count > part:
                left.append((load, count - part))
        yield node, share


def _cut(shares: dict[int, list[tuple[int, _Way]]], times: int) -> Iterator[tuple[int, dict[int, _Way]]]:
    """Yield different trees and weights from counts of ways."""
    ends = {node: np.cumsum([part for part, _ in share]).tolist() for node, share in shares.items()}
    cuts = sorted({0, times, *(end for row in ends.values() for end in row)})
    at = dict.fromkeys(shares, 0)
    for low, high in pairwise(cuts):
        for node, row in ends.items():
            at[node] += row[at[node]] <= low
        yield high - low, {node: share[at[node]][1] for node, share in shares.items()}


def _order_tree(root: int, ways: dict[int, _Way]) -> tuple[_Way, ...]:
    """Return the ways of a tree from the root on."""
    below: dict[int, list[int]] = {}
    for node, way in ways.items():
        below.setdefault(way[0], []).append(node)
    order, waiting = [], [root]
    for node in waiting:
        for other in below.get(node, ()):
            order.append(ways[other])
            waiting.append(other)
    return tuple(order)


def _height(ways: tuple[_Way, ...]) -> int:
    depth: dict[int, int] = {}
    for way in ways:
        depth[way[-1]] = depth.get(way[0], 0) + 1
    return max(depth.values(), default=0)


# -- shifted for all nodes --------------------------------------------------------------------------------------------


def build_shifted_trees(
    topology: Topology,
    collective: Collective,
    fixed: FixedOptimum,
    demand: IntArray,
    shard: tuple[int, ...] | None,
    *,
    higher: Flow | None = None,
) -> Flow | None:
    """Return low optimal out-trees by a free symmetry, or None.

    ``demand`` are the trees of every compute node. Only trees lower than ``higher`` are of use; without these, they are
    looked for only where all nodes are alike.
    """
    known = find_shifts(topology)
    group = None if known is None else known.on(fixed.topology)
    if group is None or not group.keeps(demand) or (len(group.representatives) > 1) == (higher is None):
        return None
    numbers = demand[np.searchsorted(compute_nodes(topology), group.representatives)].tolist()
    low = find_low_trees(
        group, numbers, *(() if higher is None else (find_height(higher), list(_seeds(group, higher))))
    )
    if low is None:
        return None
    trees = [(tree[0][0], weight, tree) for weight, tree in zip(low.weight, low.ways, strict=True)]
    fold = fold_of(group.generators)
    return build_ways(topology, collective, trees, rate=fixed.tree_rate, shard=shard, fold=fold)


def _seeds(group: Shifts, trees: Flow) -> Iterator[Seed]:
    """Yield depths of nodes as the representatives see them."""
    place, element = np.empty((2, group.topology.nodes), dtype=np.int64)
    for number, representative in enumerate(group.representatives.tolist()):
        place[group.elements[:, representative]] = number
        element[group.elements[:, representative]] = np.arange(group.order)
    first = np.searchsorted(trees.piece, np.arange(len(trees.block) + 1)).tolist()
    left = dict.fromkeys(range(len(group.representatives)), _SEEDS)
    for tree in np.argsort(find_heights(trees), kind="stable").tolist():
        root = int(trees.block[tree])
        left[int(place[root])] -= 1
        if left[int(place[root])] < 0:
            continue
        depth = {root: 0}
        for u, v in zip(
            *(column[first[tree] : first[tree + 1]].tolist() for column in (trees.src, trees.dst)), strict=True
        ):
            depth[v] = depth[u] + 1
        image = group.elements[element[root]].tolist()
        yield int(place[root]), {node: depth[image[node]] for node in range(len(image)) if image[node] in depth}
