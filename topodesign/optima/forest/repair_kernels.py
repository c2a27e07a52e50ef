"""Loops that rejoin torn trees over the cheapest ways.

A *piece* is a part of a tree's weight: of each edge the routes that lie there, one after the other as they are listed.
Edges are seen from the root, from the near end to the far one, whichever way data go.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, compile_kernel, tier_kernel

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Links(NamedTuple):
    """Surviving links; axis 0 is direction: out-trees, in-trees.

    Links lie by the vertex that they lead to, seen from the root: ``near`` and ``number`` from ``start`` on.
    ``opposite`` is the link the other way, -1 if none. ``member[team, vertex]`` is what trees of a team have
    to reach, ``passes`` what they may pass, and ``able[way, vertex]`` what can be a vertex of a tree all the same.
    """

    near: Ints
    number: Ints
    start: Ints
    opposite: Ints
    room: Ints
    member: Bools
    passes: Bools
    able: Bools


class Edges(NamedTuple):
    """Edges by tree, their routes, and the links of each."""

    start: Ints
    near: Ints
    far: Ints
    route: Ints
    weight: Ints
    step: Ints
    link: Ints


class Pieces(NamedTuple):
    """Pieces: tree, weight span, root, team and direction."""

    tree: Ints
    low: Ints
    high: Ints
    root: Ints
    team: Ints
    into: Ints


class Joined(NamedTuple):
    """Results: near end and origin of each vertex, in order.

    An origin is twice an edge, and one more if it is turned round, or -2 less the number of a new way.
    """

    near: Ints
    origin: Ints
    order: Ints
    edges: Ints


@compile_kernel
def _stands(edge: int, turned: int, low: int, high: int, edges: Edges, opposite: Ints) -> bool:
    """Return whether a span of an edge uses surviving links only."""
    at = 0
    for route in range(edges.route[edge], edges.route[edge + 1]):
        end = at + edges.weight[route]
        if end > low and at < high:
            if edges.step[route] == edges.step[route + 1]:
                return False
            if turned:
                for step in range(edges.step[route], edges.step[route + 1]):
                    if opposite[edges.link[step]] < 0:
                        return False
        at = end
    return True


@compile_kernel
def _price(load: int, weight: int, room: int, full: float) -> float:
    """Return what a link costs, steeply more where it is fuller."""
    share = (load + weight) / room / full
    share *= share * share
    share *= share
    return share * share + 1e-9


@compile_kernel
def _put(
    edge: int,
    turned: int,
    piece: tuple[int, int, int],
    full: float,
    edges: Edges,
    links: Links,
    load: Ints,
    price: Floats,
) -> None:
    """Add or remove the load of a span on its links."""
    low, high, sign = piece
    at = 0
    for route in range(edges.route[edge], edges.route[edge + 1]):
        end = at + edges.weight[route]
        amount = min(end, high) - max(at, low)
        at = end
        if amount > 0:
            for step in range(edges.step[route], edges.step[route + 1]):
                link = edges.link[step]
                if turned:
                    link = links.opposite[link]
                load[link] += sign * amount
                price[link] = _price(load[link], high - low, links.room[link], full)


@compile_kernel
def _find_tops(near: Ints, top: Ints) -> None:
    """Find the top of the part of each vertex."""
    top[:] = -1
    for vertex in range(len(near)):
        end = vertex
        while top[end] < 0 and near[end] >= 0:
            end = near[end]
        found = top[end] if top[end] >= 0 else end
        end = vertex
        while top[end] < 0:
            top[end] = found
            if near[end] >= 0:
                end = near[end]


@compile_kernel
def _search(into: int, reached: Bools, passes: Bools, links: Links, price: Floats, dist: Floats, before: Ints) -> None:
    """Find cheapest ways from the reached set; return link places."""
    for vertex in range(len(dist)):
        dist[vertex] = 0.0 if reached[vertex] else np.inf
    changed = True
    while changed:
        changed = False
        for vertex in range(len(dist)):
            if not reached[vertex]:
                for place in range(links.start[into, vertex], links.start[into, vertex + 1]):
                    near = links.near[into, place]
                    if reached[near] or passes[near]:
                        length = dist[near] + price[links.number[into, place]]
                        if length < dist[vertex]:
                            dist[vertex] = length
                            before[vertex] = place
                            changed = True


@compile_kernel
def _sort(root: int, near: Ints, order: Ints, head: Ints, following: Ints) -> int:
    """Sort edge ends parents first; return their number."""
    head[:] = -1
    for vertex in range(len(near) - 1, -1, -1):
        if near[vertex] >= 0:
            following[vertex] = head[near[vertex]]
            head[near[vertex]] = vertex
    count, at, vertex = 0, 0, root
    while True:
        child = head[vertex]
        while child >= 0:
            order[count] = child
            count += 1
            child = following[child]
        if at == count:
            return count
        vertex = order[at]
        at += 1


@tier_kernel(lambda pieces, edges, links, load, joined: 4 * joined.near.size + len(pieces.tree) * len(load))
def join(pieces: Pieces, edges: Edges, links: Links, load: Ints, joined: Joined) -> tuple[int, Ints, Ints]:
    """Join all members of pieces; return a failed one, or -1.

    The routes of pieces are on ``load`` as far as they stand, and so are new ones in the end. Of a new way its vertices
    are returned, from the far end to the near one, and where it begins among those of all.
    """
    nodes = joined.near.shape[1]
    price, dist = np.empty(len(load)), np.empty(nodes)
    top, before, children, scratch = np.empty((4, nodes), np.int64)
    reached, wanted = np.empty((2, nodes), np.bool_)
    start, count = np.zeros(1024, np.int64), 0
    hop, link = np.empty((2, 4096), np.int64)
    for piece in range(len(pieces.tree)):
        tree, root, into = pieces.tree[piece], pieces.root[piece], pieces.into[piece]
        low, high = pieces.low[piece], pieces.high[piece]
        member, passes, able = links.member[pieces.team[piece]], links.passes[pieces.team[piece]], links.able[into]
        size = high - low
        near, origin = joined.near[piece], joined.origin[piece]
        near[:] = -1
        full = 0.0
        for one in range(len(load)):
            full = max(full, (load[one] + size) / links.room[one])
        for one in range(len(load)):
            price[one] = _price(load[one], size, links.room[one], full)
        for edge in range(edges.start[tree], edges.start[tree + 1]):
            if _stands(edge, 0, low, high, edges, links.opposite):
                near[edges.far[edge]] = edges.near[edge]
                origin[edges.far[edge]] = 2 * edge
            else:
                _put(edge, 0, (low, high, -1), full, edges, links, load, price)
        while True:
            _find_tops(near, top)
            missing = False
            for vertex in range(nodes):
                reached[vertex] = top[vertex] == root
                wanted[vertex] = not reached[vertex] and (member[vertex] or (able[vertex] and near[vertex] >= 0))
                missing |= wanted[vertex] and member[vertex]
            if not missing:
                break
            _search(into, reached, passes, links, price, dist, before)
            goal = -1
            for vertex in range(nodes):
                if wanted[vertex] and (goal < 0 or dist[vertex] < dist[goal]):
                    goal = vertex
            if dist[goal] == np.inf:
                return piece, start[: count + 1].copy(), hop[: start[count]].copy()
            # The part of the goal is turned so that it hangs on that; what cannot be turned is one more part.
            above, child, kept = near[goal], goal, origin[goal]
            near[goal] = -1
            while above >= 0:
                edge, turned = kept >> 1, kept & 1
                _put(edge, turned, (low, high, -1), full, edges, links, load, price)
                onward, kept = near[above], origin[above]
                near[above] = -1
                if _stands(edge, 1 - turned, low, high, edges, links.opposite):
                    _put(edge, 1 - turned, (low, high, 1), full, edges, links, load, price)
                    near[above], origin[above] = child, 2 * edge + 1 - turned
                above, child = onward, above
            at, vertex = start[count], goal
            if at + nodes + 1 > len(hop):
                hop, link = np.concatenate((hop, hop)), np.concatenate((link, link))
            if count + 2 > len(start):
                start = np.concatenate((start, start))
            while not reached[vertex]:
                place = before[vertex]
                hop[at], link[at] = vertex, links.number[into, place]
                load[link[at]] += size
                price[link[at]] = _price(load[link[at]], size, links.room[link[at]], full)
                vertex = links.near[into, place]
                at += 1
            hop[at], link[at] = vertex, -1
            near[goal], origin[goal] = vertex, -2 - count
            count += 1
            start[count] = at + 1
        children[:] = 0
        for vertex in range(nodes):
            if near[vertex] >= 0:
                children[near[vertex]] += 1
        for vertex in range(nodes):
            idle = vertex
            while not member[idle] and near[idle] >= 0 and children[idle] == 0:
                if origin[idle] >= 0:
                    _put(origin[idle] >> 1, origin[idle] & 1, (low, high, -1), full, edges, links, load, price)
                else:
                    for at in range(start[-2 - origin[idle]], start[-1 - origin[idle]] - 1):
                        load[link[at]] -= size
                above = near[idle]
                near[idle] = -1
                children[above] -= 1
                idle = above
        joined.edges[piece] = _sort(root, near, joined.order[piece], top, scratch)
    return -1, start[: count + 1].copy(), hop[: start[count]].copy()
