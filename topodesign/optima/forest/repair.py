"""Trees of a plan made whole on what is left of a fabric: what survives stays, and what is torn takes the emptiest way.

Where a route has failed and its ends are still joined by others through switches, its weight is spread over these. Else
that part of the tree's weight is cut into pieces, and of each the vertices that the root no longer reaches are joined
again over the way that is cheapest for the loads so far; a torn part is entered at whichever vertex is nearest, and
hangs on it from then on. Nothing is solved; how near to the best it is, a bound tells.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.collectives import ALLGATHER
from topodesign.optima.forest.schedule import backwards, side_by_side
from topodesign.plans.trees import MAX_WEIGHT, Trees
from topodesign.solve.maxflow import compute_nodes
from topodesign.topology.topology import IntArray, Topology

_PIECES = 192  # into which the torn weight of a phase is cut, about: more fill links more evenly, and take longer
_STEEP = 12  # how much dearer fuller links are
_FINE = 60  # times as thin as before are the trees that are looked at
_WAYS, _LOOKED_AT, _HOPS = 64, 4096, 6  # of ways between two vertices: how many, of how many, how long
_Way = tuple[int, ...]
_Edge = dict[_Way, int]  # the routes of a tree edge, from its end near the root to the far one, with their weights


def repaired(
    trees: Trees,
    topology: Topology,
    order: Sequence[int],
    relays: Sequence[frozenset[int]],
    slower: Mapping[tuple[int, int], Fraction],
) -> Trees:
    """Return trees on what is left, at the rate that their fullest link has room for.

    * ``trees``: of the whole, of any collective of spanning trees.
    * ``topology``: what is left.
    * ``order``: the number there of each vertex of the whole, -1 if it is gone.
    * ``relays``: switches there that can add, and those that can copy.
    * ``slower``: the share of its bandwidth that a link there has left, where that is not all; as much stays on it.

    Raises InfeasibleError if some node is no longer reached, or the data of the root are gone.
    """
    known = np.array(order, dtype=np.int64)
    if trees.collective.root is not None and known[trees.collective.root] < 0:
        raise InfeasibleError("the root is gone, and its data with it")
    if trees.reduce_trees in {0, len(trees)} or trees.concurrent:
        return _repaired_phase(trees, topology, known, relays, slower)
    inward = np.arange(len(trees)) < trees.reduce_trees
    halves = [trees.some(inward, collective=ALLGATHER.dual), trees.some(~inward, collective=ALLGATHER)]
    out = _repaired_phase(halves[1], topology, known, relays, slower)
    back = halves[1].reverse()
    mirrored = topology.is_duplex and relays[0] == relays[1]
    if mirrored and all(np.array_equal(column, back.columns()[name]) for name, column in halves[0].columns().items()):
        return side_by_side(topology, (backwards(out, topology), out), concurrent=False)
    back = _repaired_phase(halves[0], topology, known, relays, slower)
    return side_by_side(topology, (back, out), concurrent=False)


@dataclass
class _Tree:
    """A tree seen from its root: over which routes each vertex is reached."""

    into: bool  # whether it is an in-tree
    root: int
    weight: int
    edges: dict[int, _Edge]  # by the far end
    torn: bool = False  # whether some routes have failed, and nothing could take their place

    def cut(self, first: int, weight: int) -> _Tree:
        """Return the part of this weight from a unit on, which has the routes that lie there."""
        edges = {}
        for vertex, ways in self.edges.items():
            at, mine = -first, {}
            for way, amount in ways.items():
                taken = min(at + amount, weight) - max(at, 0)
                at += amount
                if taken > 0:
                    mine[way] = taken
            edges[vertex] = mine
        return _Tree(self.into, self.root, weight, edges)

    def in_order(self) -> list[int]:
        """Return the far ends of edges, each after the near one."""
        below = defaultdict(list)
        for vertex, ways in self.edges.items():
            below[next(iter(ways))[0]].append(vertex)
        found, waiting = [], [self.root]
        while waiting:
            new = below[waiting.pop()]
            found += new
            waiting += new
        return found


class _Loads:
    """What links of what is left carry, and ways from what is reached to what is not."""

    def __init__(self, topology: Topology, relays: Sequence[frozenset[int]]) -> None:
        self.topology, self.relays = topology, relays
        self.nodes = topology.nodes
        self.number = {(u, v): at for at, (u, v, _) in enumerate(topology.links())}
        self.load = [0] * len(topology.src)
        self.room = topology.capacity.tolist()
        self._room = topology.capacity.astype(np.float64)
        self.switch = np.zeros(self.nodes, dtype=np.bool_)
        self.switch[list(topology.switches)] = True
        self._passes = self.switch.tolist()
        self._onward = [topology.neighbours(vertex).tolist() for vertex in range(self.nodes)]
        self._known: dict[tuple[int, int], list[tuple[_Way, list[int]]]] = {}
        self._by_end = [self._ordered(into=into) for into in (False, True)]

    def _ordered(self, *, into: bool) -> tuple[IntArray, IntArray, IntArray]:
        """Return links by the vertex that they lead to seen from the root, and where those of each vertex begin."""
        near, far = self.topology.src, self.topology.dst
        near, far = (far, near) if into else (near, far)
        order = np.argsort(far, kind="stable")
        return order, near[order], np.searchsorted(far[order], np.arange(self.nodes + 1))

    def links(self, way: _Way, *, into: bool) -> list[int]:
        """Return the links of a way, -1 for one that is gone."""
        ends = zip(way[1:], way, strict=False) if into else pairwise(way)
        return [self.number.get(pair, -1) for pair in ends]

    def stand(self, ways: Iterable[_Way], *, into: bool) -> bool:
        """Return whether all links of ways are there."""
        return not any(-1 in self.links(way, into=into) for way in ways)

    def put(self, ways: _Edge, *, into: bool, sign: int = 1) -> None:
        """Put routes on the links, or take them off."""
        for way, weight in ways.items():
            links = self.links(way, into=into)
            for link in links if -1 not in links else ():
                self.load[link] += sign * weight

    def between(self, start: int, goal: int) -> list[tuple[_Way, list[int]]]:
        """Return ways through switches alone from a vertex to another, with their links; not all where many are."""
        if (start, goal) not in self._known:
            found: list[tuple[_Way, list[int]]] = []
            waiting: list[_Way] = [(start,)]
            for way in waiting:
                if len(found) == _WAYS or len(waiting) > _LOOKED_AT:
                    break
                for onward in self._onward[way[-1]]:
                    if onward == goal:
                        found.append(((*way, goal), self.links((*way, goal), into=False)))
                    elif self._passes[onward] and onward not in way and len(way) < _HOPS:
                        waiting.append((*way, onward))
            self._known[start, goal] = found
        return self._known[start, goal]

    def spread(self, start: int, goal: int, weight: int) -> _Edge:
        """Spread weight over the ways between two vertices and put it on the links; over none if there is no way."""
        ways = self.between(start, goal)
        part, given = -(-weight // max(8, len(ways))), dict[_Way, int]()
        load, room = self.load, self.room

        def full(number: int) -> float:
            return max(float((load[link] + part) / room[link]) for link in ways[number][1])

        heap = [(full(number), number) for number in range(len(ways))]
        heapq.heapify(heap)
        for first in range(0, weight if ways else 0, part):
            way, links = ways[heap[0][1]]
            amount = min(part, weight - first)
            for link in links:
                load[link] += amount
            given[way] = given.get(way, 0) + amount
            heapq.heapreplace(heap, (full(heap[0][1]), heap[0][1]))
        return given

    def nearest(self, reached: set[int], wanted: set[int], weight: int, *, into: bool) -> _Way | None:
        """Return the cheapest way to any vertex that is wanted, through switches; None if there is none."""
        order, near, starts = self._by_end[into]
        full = (np.array(self.load) + weight) / self._room
        price = ((full / full.max()) ** _STEEP + 1e-9)[order]
        start, goals = list(reached), list(wanted)
        dist = np.full(self.nodes, np.inf)
        dist[start] = 0
        onward = self.switch.copy()
        onward[start] = True
        there = np.diff(starts) > 0
        while True:
            step = np.where(onward[near], dist[near], np.inf) + price
            least = dist.copy()
            least[there] = np.minimum(dist[there], np.minimum.reduceat(step, starts[:-1][there]))
            if np.array_equal(least, dist):
                break
            dist = least
        goal = goals[int(np.argmin(dist[goals]))]
        if not np.isfinite(dist[goal]):
            return None
        way = [goal]
        while way[-1] not in reached:
            here = slice(starts[way[-1]], starts[way[-1] + 1])
            way.append(int(near[here][np.argmin(step[here])]))
        return tuple(way[::-1])

    def join(self, tree: _Tree) -> None:
        """Join all nodes of a piece, which is not on the links yet, to its root."""
        joint = _Joint(tree, self)
        able = self.relays[0 if tree.into else 1]
        every = set(np.flatnonzero(~self.switch).tolist()) | set(tree.edges)
        reached = joint.part(tree.root)
        while missing := [one for one in every - reached if not self.switch[one]]:
            wanted = set(missing) | {one for one in every - reached if one in able}
            way = self.nearest(reached, wanted, tree.weight, into=tree.into)
            if way is None:
                raise InfeasibleError("what is left is not connected")
            joint.turn(way[-1])
            joint.hang({way: tree.weight})
            reached |= joint.part(way[-1])
        while idle := [one for one in tree.edges if self.switch[one] and not joint.below[one]]:
            for vertex in idle:
                joint.take(vertex)


class _Joint:
    """A piece of a tree while it is put together."""

    def __init__(self, tree: _Tree, loads: _Loads) -> None:
        self.tree, self.loads = tree, loads
        self.below: dict[int, list[int]] = defaultdict(list)
        edges = list(tree.edges.values())
        tree.edges.clear()
        for ways in edges:
            if loads.stand(ways, into=tree.into):
                self.hang(ways)

    def part(self, top: int) -> set[int]:
        """Return a vertex and what hangs on it."""
        found, waiting = {top}, [top]
        while waiting:
            new = self.below[waiting.pop()]
            found.update(new)
            waiting += new
        return found

    def hang(self, ways: _Edge) -> None:
        (before, *_, vertex), *_ = ways
        self.tree.edges[vertex] = ways
        self.below[before].append(vertex)
        self.loads.put(ways, into=self.tree.into)

    def take(self, vertex: int) -> _Edge:
        ways = self.tree.edges.pop(vertex)
        self.below[next(iter(ways))[0]].remove(vertex)
        self.loads.put(ways, into=self.tree.into, sign=-1)
        return ways

    def turn(self, top: int) -> None:
        """Make a vertex the top of its part, which turns the ways that led to it round."""
        taken = []
        while top in self.tree.edges:
            taken.append(self.take(top))
            top = next(iter(taken[-1]))[0]
        for ways in taken:
            back = {way[::-1]: weight for way, weight in ways.items()}
            if self.loads.stand(back, into=self.tree.into):
                self.hang(back)  # else it is one more part, joined later


def _repaired_phase(
    trees: Trees,
    topology: Topology,
    order: IntArray,
    relays: Sequence[frozenset[int]],
    slower: Mapping[tuple[int, int], Fraction],
) -> Trees:
    """Return trees that share links, made whole."""
    loads = _Loads(topology, relays)
    found = _read(trees, order, loads, slower, _FINE if int(trees.weight.sum()) * _FINE < MAX_WEIGHT else 1)
    every = set(compute_nodes(topology).tolist())
    spans = [(tree, span) for tree in found for span in _spans(tree, loads, every)]
    torn = sum(end - first for _, (first, end, right) in spans if not right)
    size = max(1, torn // _PIECES)
    whole = [
        tree if end - first == tree.weight else tree.cut(first, end - first) for tree, (first, end, ok) in spans if ok
    ]
    for tree, (first, end, right) in spans:
        for at in () if right else range(first, end, size):
            whole.append(tree.cut(at, min(size, end - at)))
            for ways in whole[-1].edges.values():  # which are on the links as far as they stand
                loads.put(ways, into=tree.into, sign=-1)
            loads.join(whole[-1])
    return _written(trees, topology, loads, _alike(whole), order)


def _read(
    trees: Trees, order: IntArray, loads: _Loads, slower: Mapping[tuple[int, int], Fraction], scale: int
) -> list[_Tree]:
    """Return the trees whose roots are left; routes that have failed are spread over others where there are any.

    What nothing takes has a route over no vertex.
    """
    hop = order[trees.hop]
    first = np.ones(len(hop), dtype=np.bool_)
    first[trees.hop_start[1:] - 1] = False
    step = np.flatnonzero(first)
    route = np.repeat(np.arange(len(trees.route_edge)), np.diff(trees.hop_start) - 1)
    there = (hop[step] >= 0) & (hop[step + 1] >= 0)
    link = np.full(len(step), -1, dtype=np.int64)
    link[there] = loads.topology.link_index(hop[step[there]], hop[step[there] + 1])
    left = np.ones(len(loads.load))  # of each link
    for pair, share in slower.items():
        left[loads.number[pair]] = float(share)
    standing = np.ones(len(trees.route_edge))
    np.minimum.at(standing, route, np.where(link < 0, 0, left[link]))
    weight = trees.route_weight * scale
    standing[order[trees.root][trees.tree[trees.route_edge]] < 0] = 0  # what a root that is gone sent is on no link
    stays = np.where(standing < 1, (weight * standing).astype(np.int64), weight)
    carried = np.zeros(len(loads.load), dtype=np.int64)
    np.add.at(carried, link[link >= 0], stays[route[link >= 0]])
    loads.load = carried.tolist()
    roots, weights = order[trees.root].tolist(), (trees.weight * scale).tolist()
    found = [_Tree(at < trees.reduce_trees, root, weights[at], {}) for at, root in enumerate(roots)]
    hops, starts = hop.tolist(), trees.hop_start.tolist()
    amounts = zip(trees.tree[trees.route_edge].tolist(), stays.tolist(), (weight - stays).tolist(), strict=True)
    for at, (number, stay, gone) in enumerate(amounts):
        way, tree = tuple(hops[starts[at] : starts[at + 1]]), found[number]
        ends = way[0], way[-1]
        far = ends[0 if tree.into else 1]
        if far < 0 or tree.root < 0:
            continue
        ways = {way: stay} if stay else {}
        if gone:
            others = -1 not in ends and len(loads.between(*ends)) > (stay > 0)
            spread = loads.spread(*ends, gone) if others else {}
            tree.torn |= not spread
            for one, part in (spread or {(ends[0], -1, ends[1]): gone}).items():
                ways[one] = ways.get(one, 0) + part
        edge = tree.edges.setdefault(far, {})
        for one, part in ways.items():
            key = one[::-1] if tree.into else one
            edge[key] = edge.get(key, 0) + part
    return [tree for tree in found if tree.root >= 0]


def _spans(tree: _Tree, loads: _Loads, every: set[int]) -> Iterator[tuple[int, int, bool]]:
    """Yield spans of a tree's weight, and whether it is whole there."""
    torn = [] if every <= {tree.root, *tree.edges} else [(0, tree.weight)]
    for ways in tree.edges.values() if tree.torn else ():
        at = 0
        for way, amount in ways.items():
            if -1 in loads.links(way, into=tree.into):
                torn.append((at, at + amount))
            at += amount
    at = 0
    for first, end in sorted(torn):
        if first > at:
            yield at, first, True
        if end > max(at, first):
            yield max(at, first), end, False
        at = max(at, end)
    if at < tree.weight:
        yield at, tree.weight, True


def _alike(found: list[_Tree]) -> list[_Tree]:
    """Return trees of which no two have the same edges, in-trees first."""
    alike: dict[tuple[object, ...], _Tree] = {}
    for tree in found:
        shape = frozenset((vertex, next(iter(ways))[0]) for vertex, ways in tree.edges.items())
        mine = alike.setdefault((tree.into, tree.root, shape), tree)
        if mine is not tree:
            mine.weight += tree.weight
            for vertex, ways in tree.edges.items():
                for way, weight in ways.items():
                    mine.edges[vertex][way] = mine.edges[vertex].get(way, 0) + weight
    return sorted(alike.values(), key=lambda tree: (not tree.into, tree.root))


def _written(trees: Trees, topology: Topology, loads: _Loads, several: list[_Tree], order: IntArray) -> Trees:
    """Return the columns of trees."""
    if not several:
        raise InfeasibleError("no tree has a root that is left")
    if max(tree.weight for tree in several) > MAX_WEIGHT:
        raise TooLargeError("the repaired trees need more than 31 bits of weight")
    rows: dict[str, list[int]] = {name: [] for name in ("tree", "src", "dst", "route_edge", "route_weight", "hop")}
    starts = [0]
    for number, tree in enumerate(several):
        edges = tree.in_order()
        for vertex in edges[::-1] if tree.into else edges:
            ways = tree.edges[vertex]
            before = next(iter(ways))[0]
            rows["tree"].append(number)
            rows["src"].append(vertex if tree.into else before)
            rows["dst"].append(before if tree.into else vertex)
            for way, weight in ways.items():
                rows["route_edge"].append(len(rows["tree"]) - 1)
                rows["route_weight"].append(weight)
                rows["hop"] += way[::-1] if tree.into else way
                starts.append(len(rows["hop"]))
    sizes = np.zeros(topology.nodes, dtype=np.int64)  # what roots own: the weights of their trees of one phase
    for tree in several:
        sizes[tree.root] += tree.weight if tree.into == several[0].into else 0
    sizes = sizes[compute_nodes(topology)]
    root = trees.collective.root
    return Trees(
        collective=trees.collective if root is None else trees.collective.at(int(order[root])),
        topology=topology,
        rate=min(Fraction(room, load) for room, load in zip(loads.room, loads.load, strict=True) if load),
        root=np.array([tree.root for tree in several], dtype=np.int64),
        weight=np.array([tree.weight for tree in several], dtype=np.int64),
        **{name: np.array(column, dtype=np.int64) for name, column in rows.items()},
        hop_start=np.array(starts, dtype=np.int64),
        reduce_trees=sum(tree.into for tree in several),
        shard=None if trees.shard is None else tuple((sizes // np.gcd.reduce(sizes)).tolist()),
        concurrent=trees.concurrent,
    )
