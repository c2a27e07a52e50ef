"""Repair of trees after a failure, over the emptiest ways.

Where a route has failed and its ends are still joined by others through switches, its weight is spread over these. Else
that part of the tree's weight is cut into pieces, and of each the vertices that the root no longer reaches are joined
again over the way that is cheapest for the loads so far; a torn part is entered at whichever vertex is nearest, and
hangs on it from then on. Trees that are whole stay columns. Nothing is solved; how near to the best it is, a bound
tells.
"""

from __future__ import annotations

import contextlib
import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import earlier, ranges
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.collectives import Collective
from topodesign.optima.forest.repair_kernels import Edges, Joined, Links, Pieces, join
from topodesign.plans.build import build_trees
from topodesign.plans.chunk_ops import MAX_WEIGHT, count_adding, find_teams, list_shards, routes_of
from topodesign.plans.flow import Flow, Routes
from topodesign.plans.flow_ops import concatenate, halves, reverse
from topodesign.solve.maxflow import compute_nodes
from topodesign.topology.topology import IntArray, Topology

_PIECES = 192  # into which the torn weight of a phase is cut, about: more fill links more evenly, and take longer
_FINE = 60  # times as thin as before are the trees that are looked at
_WAYS, _LOOKED_AT, _HOPS = 64, 4096, 6  # of ways between two vertices: how many, of how many, how long
_Way = tuple[int, ...]


def repair_trees(
    trees: Flow,
    topology: Topology,
    order: Sequence[int],
    relays: Sequence[frozenset[int]],
    slower: Mapping[tuple[int, int], Fraction],
) -> Flow:
    """Return the repaired trees, at the rate of the fullest link.

    * ``trees``: of the whole, of any collective of spanning trees, of all nodes or in groups.
    * ``topology``: what is left.
    * ``order``: the number there of each vertex of the whole, -1 if it is gone.
    * ``relays``: switches there that can add, and those that can copy.
    * ``slower``: the share of its bandwidth that a link there has left, where that is not all; as much stays on it.

    Raises InfeasibleError if some node is no longer reached, or the data of the root are gone.
    """
    known = np.array(order, dtype=np.int64)
    left, rest = remaining(trees.collective, known), _Rest(topology, known, relays, slower)
    if len(trees.movements) == 1 or trees.concurrent:
        return _repair_phase(trees, left, rest)
    inward, out = halves(trees)
    out_left = _repair_phase(out, left.parts[1], rest)
    if topology.is_duplex and relays[0] == relays[1] and inward == reverse(out, inward.place):
        inward_left = reverse(out_left, topology)
    else:
        inward_left = _repair_phase(inward, left.parts[0], rest)
    return concatenate(inward_left, out_left)


def remaining(collective: Collective, known: IntArray) -> Collective:
    """Return the collective of surviving members, renumbered."""
    roots = collective.roots or (() if collective.root is None else (collective.root,))
    if any(known[root] < 0 for root in roots):
        raise InfeasibleError("the root is gone, and its data with it")
    if collective.group is None:
        return collective.at(int(known[roots[0]])) if roots else collective
    groups = [[int(known[node]) for node in one.group or () if known[node] >= 0] for one in collective.single]
    return replace(collective, groups=None, roots=None, root=None).within(
        [one for one in groups if one], [int(known[root]) for root in roots] or None
    )


class _Rest(NamedTuple):
    """The remaining fabric, as it is passed to :func:`repair_trees`."""

    topology: Topology
    order: IntArray
    relays: Sequence[frozenset[int]]
    slower: Mapping[tuple[int, int], Fraction]


class _Routes(NamedTuple):
    """Routes of tree edges: edge, weight and vertices."""

    edge: IntArray
    weight: IntArray
    begin: IntArray
    hops: IntArray

    def some(self, chosen: IntArray | NDArray[np.bool_]) -> _Routes:
        """Return some of them."""
        return _Routes(*(column[chosen] for column in self))

    def places(self) -> IntArray:
        """Return the places of the vertices of all."""
        return ranges(self.begin, self.hops)[1]


@dataclass
class _Trees:
    """Trees under repair, with edge ends seen from the root.

    Routes go as data go; their vertices are spans of ``hop``. Trees and edges ascend.
    """

    into: NDArray[np.bool_]
    root: IntArray
    weight: IntArray
    team: IntArray
    tree: IntArray
    near: IntArray
    far: IntArray
    routes: _Routes
    hop: IntArray

    def some(self, chosen: NDArray[np.bool_], edges: NDArray[np.bool_] | None = None) -> _Trees:
        """Return some of the trees, with all or some edges."""
        kept = chosen[self.tree] if edges is None else edges & chosen[self.tree]
        routes = self.routes.some(kept[self.routes.edge])
        routes = routes._replace(edge=(np.cumsum(kept) - 1)[routes.edge])
        own = (self.into[chosen], self.root[chosen], self.weight[chosen], self.team[chosen])
        return _Trees(*own, (np.cumsum(chosen) - 1)[self.tree[kept]], self.near[kept], self.far[kept], routes, self.hop)

    def ends(self) -> IntArray:
        """Return the end of each route within its tree's weight."""
        return earlier(self.routes.edge, self.routes.weight) + self.routes.weight


class _Loads:
    """Loads of surviving links, and ways through passed vertices."""

    def __init__(self, rest: _Rest, collective: Collective, *, forward: bool) -> None:
        self.topology = topology = rest.topology
        self.able = np.zeros((2, topology.nodes), dtype=np.bool_)
        for way, some in enumerate(rest.relays[::-1]):
            self.able[way, list(some)] = True
        self.member = np.zeros((len(collective.single), topology.nodes), dtype=np.bool_)
        for team, one in enumerate(collective.single):
            self.member[team, one.members(topology.nodes, topology.switches)] = True
        self.passes = ~self.member & (forward | np.isin(np.arange(topology.nodes), list(topology.switches)))
        self.number = {(u, v): at for at, (u, v, _) in enumerate(topology.links())}
        self.load = [0] * len(topology.src)
        self.room = topology.capacity.tolist()
        self._passes = self.passes.tolist()
        self._onward = [topology.neighbours(vertex).tolist() for vertex in range(topology.nodes)]
        self._known: dict[tuple[int, int, int], list[tuple[_Way, list[int]]]] = {}

    def between(self, team: int, start: int, goal: int) -> list[tuple[_Way, list[int]]]:
        """Return ways of a team between vertices, with their links."""
        if (team, start, goal) not in self._known:
            found: list[tuple[_Way, list[int]]] = []
            waiting: list[_Way] = [(start,)]
            for way in waiting:
                if len(found) == _WAYS or len(waiting) > _LOOKED_AT:
                    break
                for onward in self._onward[way[-1]]:
                    if onward == goal:
                        found.append(((*way, goal), [self.number[pair] for pair in pairwise((*way, goal))]))
                    elif self._passes[team][onward] and onward not in way and len(way) < _HOPS:
                        waiting.append((*way, onward))
            self._known[team, start, goal] = found
        return self._known[team, start, goal]

    def spread_weight(self, ways: list[tuple[_Way, list[int]]], weight: int) -> dict[_Way, int]:
        """Spread weight over the ways between two vertices."""
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

    def by_end(self) -> Links:
        """Return the links as they are looked through."""
        src, dst, nodes = self.topology.src, self.topology.dst, self.topology.nodes
        columns = []
        for near, far in ((src, dst), (dst, src)):
            order = np.argsort(far, kind="stable")
            columns.append((near[order], order, np.searchsorted(far[order], np.arange(nodes + 1))))
        near, number, start = (np.array(column, dtype=np.int64) for column in zip(*columns, strict=True))
        opposite = self.topology.link_index(dst, src)
        return Links(near, number, start, opposite, self.topology.capacity, self.member, self.passes, self.able)


def _repair_phase(trees: Flow, collective: Collective, rest: _Rest) -> Flow:
    """Return the repaired trees of a collective on shared links.

    Nodes of other groups pass data on if they did before, or else where nothing but that is left.
    """
    routes = routes_of(trees)
    inner = np.ones(len(routes.hop), dtype=np.bool_)
    inner[routes.hop_start[:-1]] = inner[routes.hop_start[1:] - 1] = False
    if trees.collective.group is not None and trees.topology.switches.issuperset(routes.hop[inner].tolist()):
        with contextlib.suppress(InfeasibleError):
            return _over(trees, collective, rest, _Loads(rest, collective, forward=False))
    return _over(trees, collective, rest, _Loads(rest, collective, forward=True))


def _over(trees: Flow, collective: Collective, rest: _Rest, loads: _Loads) -> Flow:
    """Return the same over what may be passed."""
    found = _read(trees, rest, loads)
    torn = np.zeros(len(found.root), dtype=np.bool_)
    torn[found.tree[found.routes.edge[found.routes.hops == 0]]] = True
    inside = loads.member[found.team[found.tree], found.far]
    has = np.bincount(found.tree[inside], minlength=len(torn)) + loads.member[found.team, found.root]
    bare = has < np.count_nonzero(loads.member, axis=1)[found.team]
    torn |= bare
    mended = _mend_pieces(found.some(torn), bare[torn], loads) if np.any(torn) else found.some(torn)
    return _write_trees(trees, collective, loads, (found.some(~torn), mended))


def _read(trees: Flow, rest: _Rest, loads: _Loads) -> _Trees:
    """Return the trees of surviving roots, routes reassigned."""
    order = rest.order
    before, tree, own_weight = routes_of(trees), trees.piece.astype(np.int64), np.asarray(trees.weight)
    into, root = np.arange(len(trees.block)) < count_adding(trees), order[trees.block]
    left_of = np.full(len(trees.collective.single), -1, dtype=np.int64)
    full = [
        number
        for number, one in enumerate(trees.collective.single)
        if one.group is None or np.any(order[list(one.group)] >= 0)
    ]
    left_of[full] = np.arange(len(full))
    team = left_of[find_teams(trees)]
    lives = (root >= 0) & (team >= 0) & (np.count_nonzero(loads.member, axis=1) > 1)[team]
    if not np.any(lives):
        raise InfeasibleError("no tree has a root that is left")
    scale = _scale(trees, lives, team)
    hop, of = order[before.hop], before.send
    src, dst = order[trees.src], order[trees.dst]
    near, far = np.where(into[tree], (dst, src), (src, dst))
    kept = lives[tree] & (far >= 0)
    begin, count = before.hop_start[:-1], np.diff(before.hop_start)
    routes = _Routes(of, before.weight * scale[tree[of]], begin, count)
    link, route = _links(loads.topology, hop, routes)
    left = np.ones(len(loads.load) + 1)  # of each link, and of one that is gone
    left[-1] = 0
    for pair, share in rest.slower.items():
        left[loads.number[pair]] = float(share)
    standing = np.ones(len(of))
    np.minimum.at(standing, route, left[link])
    standing[~kept[of]] = 0
    stays = np.where(standing < 1, (routes.weight * standing).astype(np.int64), routes.weight)
    carried = np.zeros(len(loads.load) + 1, dtype=np.int64)
    np.add.at(carried, link, stays[route])
    loads.load = carried[:-1].tolist()
    lost = np.where(kept[of], routes.weight - stays, 0)
    more = list[tuple[int, int, _Way]]()
    for at in np.flatnonzero((lost > 0) & (src[of] >= 0) & (dst[of] >= 0)).tolist():
        edge = int(of[at])
        ways = loads.between(int(team[tree[edge]]), int(src[edge]), int(dst[edge]))
        if len(ways) > (stays[at] > 0):
            more += [(edge, part, way) for way, part in loads.spread_weight(ways, int(lost[at])).items()]
            lost[at] = 0
    spans = [(edge, part, len(way)) for edge, part, way in more]
    added = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    stand, fail = np.flatnonzero(stays > 0), np.flatnonzero(lost > 0)
    every = _Routes(
        np.concatenate((of[stand], added[0], of[fail])),
        np.concatenate((stays[stand], added[1], lost[fail])),
        np.concatenate((begin[stand], len(hop) + np.cumsum(added[2]) - added[2], 0 * fail)),
        np.concatenate((count[stand], added[2], 0 * fail)),
    )
    every = every.some(np.argsort(every.edge, kind="stable"))
    hop = np.concatenate((hop, np.array([vertex for *_, way in more for vertex in way], dtype=np.int64)))
    found = _Trees(into, root, own_weight * scale, team, tree, near, far, every, hop)
    return found.some(lives, kept)


def _scale(trees: Flow, lives: NDArray[np.bool_], team: IntArray) -> IntArray:
    """Return the refinement of each tree for equal group weights."""
    weight = np.asarray(trees.weight)
    weights = np.bincount(team[lives], weight[lives]).astype(np.int64)
    common = math.lcm(*(weight for weight in weights.tolist() if weight))
    if common // min(weight for weight in weights.tolist() if weight) * int(weight.max()) > MAX_WEIGHT:
        raise TooLargeError("the groups that are left differ too much for trees of 31 bits of weight")
    fine = _FINE if common * len(weights) * _FINE < MAX_WEIGHT else 1
    scale = np.ones(len(trees.block), dtype=np.int64)
    scale[lives] = (common // np.maximum(weights, 1))[team[lives]] * fine
    return scale


def _mend_pieces(torn: _Trees, bare: NDArray[np.bool_], loads: _Loads) -> _Trees:
    """Return tree pieces that all reach all their nodes."""
    pieces = _pieces(torn, bare)
    topology, routes = loads.topology, torn.routes
    link, _ = _links(topology, torn.hop, routes)
    edges = Edges(
        np.searchsorted(torn.tree, np.arange(len(torn.root) + 1)),
        torn.near,
        torn.far,
        np.searchsorted(routes.edge, np.arange(len(torn.tree) + 1)),
        routes.weight,
        np.concatenate(([0], np.cumsum(np.maximum(routes.hops - 1, 0)))),
        link,
    )
    many = len(pieces.tree)
    near, origin, place = (np.empty((many, topology.nodes), dtype=np.int64) for _ in range(3))
    joined = Joined(near, origin, place, np.empty(many, dtype=np.int64))
    load = np.array(loads.load, dtype=np.int64)
    failed, start, new = join(pieces, edges, loads.by_end(), load, joined)
    if failed >= 0:
        raise InfeasibleError("the remaining network is not connected")
    loads.load = load.tolist()
    return _unify_pieces(torn, pieces, joined, edges, (start, new))


def _pieces(torn: _Trees, bare: NDArray[np.bool_]) -> Pieces:
    """Cut trees at failed routes into pieces."""
    routes = torn.routes
    end = torn.ends()
    spans: list[list[tuple[int, int]]] = [
        [(0, int(w))] if all_ else [] for w, all_ in zip(torn.weight, bare, strict=True)
    ]
    for at in np.flatnonzero(routes.hops == 0).tolist():
        spans[torn.tree[routes.edge[at]]].append((int(end[at] - routes.weight[at]), int(end[at])))
    found = [(tree, *one) for tree, some in enumerate(spans) for one in _parts(sorted(some), int(torn.weight[tree]))]
    size = max(1, sum(high - low for _, low, high, right in found if not right) // _PIECES)
    rows = [
        (tree, at, min(at + (high - low if right else size), high))
        for tree, low, high, right in found
        for at in range(low, high, high - low if right else size)
    ]
    tree, low, high = np.array(rows, dtype=np.int64).T
    return Pieces(tree, low, high, torn.root[tree], torn.team[tree], torn.into[tree].astype(np.int64))


def _parts(torn: list[tuple[int, int]], weight: int) -> Iterator[tuple[int, int, bool]]:
    """Yield spans of a tree's weight, and whether each is whole."""
    at = 0
    for first, end in torn:
        if first > at:
            yield at, first, True
        if end > max(at, first):
            yield max(at, first), end, False
        at = max(at, end)
    if at < weight:
        yield at, weight, True


def _unify_pieces(torn: _Trees, pieces: Pieces, joined: Joined, edges: Edges, new: tuple[IntArray, IntArray]) -> _Trees:
    """Return pieces as trees with distinct edges."""
    alike: dict[tuple[int, int, bytes], int] = {}
    keys = zip(pieces.into.tolist(), pieces.root.tolist(), joined.near, strict=True)
    group = np.array([alike.setdefault((into, root, near.tobytes()), len(alike)) for into, root, near in keys])
    first = np.unique(group, return_index=True)[1]
    piece, place = ranges(0, joined.edges)
    # The edges of in-trees come the far ones first.
    place = np.where(pieces.into[piece], joined.edges[piece] - 1 - place, place)
    far = joined.order[piece, place]
    near, origin = joined.near[piece, far], joined.origin[piece, far]
    # Each vertex of a piece is reached by an edge of the first piece that is alike.
    kept = piece == first[group[piece]]
    edge = np.zeros(joined.near.shape, dtype=np.int64)
    edge[piece[kept], far[kept]] = np.arange(np.count_nonzero(kept))
    edge_of = edge[first[group[piece]], far]

    old, made = np.flatnonzero(origin >= 0), np.flatnonzero(origin < 0)
    of, route = ranges(edges.route[origin[old] >> 1], np.diff(edges.route)[origin[old] >> 1])
    row = old[of]
    end = torn.ends()
    within = np.minimum(end[route], pieces.high[piece[row]])
    within -= np.maximum(end[route] - torn.routes.weight[route], pieces.low[piece[row]])
    row, route, within = (column[within > 0] for column in (row, route, within))
    way, (start, vertices) = -2 - origin[made], new
    size = (pieces.high - pieces.low)[piece]
    routes = _Routes(
        edge_of[np.concatenate((row, made))],
        np.concatenate((within, size[made])),
        np.concatenate((torn.routes.begin[route], len(torn.hop) + start[way])),
        np.concatenate((torn.routes.hops[route], start[way + 1] - start[way])),
    )
    back = np.concatenate((origin[row] & 1, 1 - pieces.into[piece[made]])).astype(np.bool_)
    of, step = ranges(0, routes.hops)
    at = routes.begin[of] + np.where(back[of], routes.hops[of] - 1 - step, step)
    hop = np.concatenate((torn.hop, vertices))[at]
    routes = routes._replace(begin=np.cumsum(routes.hops) - routes.hops)
    several = np.bincount(group) > 1
    routes = _merge_routes(routes, hop, several[group[piece[kept]]][routes.edge])
    weight = np.bincount(group, pieces.high - pieces.low).astype(np.int64)
    own = (pieces.into[first].astype(np.bool_), pieces.root[first], weight, pieces.team[first])
    return _Trees(*own, group[piece[kept]], near[kept], far[kept], routes, hop)


def _merge_routes(routes: _Routes, hop: IntArray, chosen: NDArray[np.bool_]) -> _Routes:
    """Return routes merged by edge and way."""
    some = routes.some(chosen)
    alike = some.edge
    for step in range(int(some.hops.max(initial=0))):
        here = np.where(step < some.hops, hop[np.minimum(some.begin + step, len(hop) - 1)], -1)
        alike = np.unique(alike * (hop.max() + 2) + here + 1, return_inverse=True)[1]
    _, first, number = np.unique(alike, return_index=True, return_inverse=True)
    weight = np.bincount(number, some.weight).astype(np.int64)
    both = (*zip(routes.some(~chosen), some.some(first)._replace(weight=weight), strict=True),)
    every = _Routes(*map(np.concatenate, both))
    return every.some(np.argsort(every.edge, kind="stable"))


def _write_trees(trees: Flow, collective: Collective, loads: _Loads, parts: Sequence[_Trees]) -> Flow:
    """Return the columns of trees."""
    into, root, weight = (np.concatenate([getattr(one, name) for one in parts]) for name in ("into", "root", "weight"))
    if weight.max() > MAX_WEIGHT:
        raise TooLargeError("the repaired trees require more than 31 bits of weight")
    order = np.lexsort((root, ~into))
    place = np.argsort(order)
    before = [0, len(parts[0].root)]
    tree = np.concatenate([place[one.tree + first] for one, first in zip(parts, before, strict=True)])
    near, far = (np.concatenate([getattr(one, name) for one in parts]) for name in ("near", "far"))
    edges = np.argsort(tree, kind="stable")
    tree, near, far = tree[edges], near[edges], far[edges]
    before = [0, len(parts[0].tree)]
    moved = np.argsort(edges)
    edge = np.concatenate([moved[one.routes.edge + first] for one, first in zip(parts, before, strict=True)])
    routes = _Routes(*(np.concatenate(columns) for columns in zip(*(one.routes for one in parts), strict=True)))
    begin = np.concatenate([one.routes.begin + first for one, first in zip(parts, (0, len(parts[0].hop)), strict=True)])
    routes = routes._replace(edge=edge, begin=begin).some(np.argsort(edge, kind="stable"))
    owners = compute_nodes(loads.topology)
    sizes = np.bincount(root, weight * (into == into.any()), loads.topology.nodes)[owners].astype(np.int64)
    full = {*zip(loads.room, loads.load, strict=True)}
    inward = into[order][tree]
    hop = np.concatenate([one.hop for one in parts])[routes.places()]
    return build_trees(
        loads.topology,
        collective,
        (root[order], weight[order]),
        (tree, np.where(inward, far, near), np.where(inward, near, far)),
        Routes(routes.edge, routes.weight, np.concatenate(([0], np.cumsum(routes.hops))), hop),
        rate=min(Fraction(room, load) for room, load in full if load),
        reduce_trees=int(into.sum()),
        shard=None if list_shards(trees) is None else tuple((sizes // np.gcd.reduce(sizes)).tolist()),
        concurrent=trees.concurrent,
    )


def _links(topology: Topology, hop: IntArray, routes: _Routes) -> tuple[IntArray, IntArray]:
    """Return the links of routes, -1 if gone, with the routes."""
    steps = np.maximum(routes.hops - 1, 0)
    of, at = ranges(routes.begin, steps)
    link = np.full(len(at), -1, dtype=np.int64)
    there = (hop[at] >= 0) & (hop[at + 1] >= 0)
    link[there] = topology.link_index(hop[at[there]], hop[at[there] + 1])
    return link, of
