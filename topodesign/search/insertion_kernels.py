"""Compiled comparison of all places where a node of four links can be put into a digraph whose links have reverses.

Put in the middle of links a-b and c-e, a node u is linked to all four of them. How many pairs of nodes are then too far
apart is bounded from below by what u, its neighbours and theirs do not reach, where what others reach within fewer
steps is taken to be as before. That takes a look at some rows of bits for each place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, Masks, compiled
from topodesign.search.near_kernels import _fill, _levels
from topodesign.search.screening_kernels import ones


class _Balls(NamedTuple):
    """What nodes reach within one, two and three steps less than they may take, and without one of their links."""

    within: NDArray[np.uint64]
    """Rows of the levels, shape ``(steps, N, N/64)``."""
    without: NDArray[np.uint64]
    """Of a node, but for what only its j-th link leads to, within all steps, shape ``(N, d, N/64)``."""
    closer: NDArray[np.uint64]
    """The same within one step less."""
    reverse: Ints
    """Which link of its end the reverse of a link is, shape ``(N, d)``."""


@compiled
def _unions(out: Ints, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the unions of each node with the rows of the ends of all its links but one."""
    nodes, degree = out.shape
    result = np.zeros((nodes, degree, rows.shape[1]), np.uint64)
    for node in range(nodes):
        for j in range(degree):
            result[node, j, node >> 6] |= np.uint64(1) << np.uint64(node & 63)
            for i in range(degree):
                if i != j:
                    for w in range(rows.shape[1]):
                        result[node, j, w] |= rows[out[node, i], w]
    return result


@compiled
def _balls(out: Ints, steps: int) -> _Balls:
    nodes, degree = out.shape
    levels = _levels(nodes, steps)
    _fill(levels, out)
    reverse = np.zeros((nodes, degree), np.int64)
    for node in range(nodes):
        for j in range(degree):
            for i in range(degree):
                if out[out[node, j], i] == node:
                    reverse[node, j] = i
    within = levels.reached
    return _Balls(within, _unions(out, within[steps - 1]), _unions(out, within[steps - 2]), reverse)


@compiled
def _far_of_ends(balls: _Balls, place: Ints, nodes: int) -> int:
    """Return how many nodes the new one and its neighbours, which are given with their links, do not reach at least."""
    a, b, c, e = place[0], place[1], place[2], place[3]
    steps, row = balls.within.shape[0], balls.within.shape[2]
    last, closer = balls.within[steps - 1], balls.within[steps - 2]
    reached = 0
    for w in range(row):
        reached += ones(last[a, w] | last[b, w] | last[c, w] | last[e, w])
    for w in range(row):
        other = closer[c, w] | closer[e, w]
        reached += ones(balls.without[a, place[4], w] | closer[b, w] | other)
        reached += ones(balls.without[b, place[5], w] | closer[a, w] | other)
    for w in range(row):
        other = closer[a, w] | closer[b, w]
        reached += ones(balls.without[c, place[6], w] | closer[e, w] | other)
        reached += ones(balls.without[e, place[7], w] | closer[c, w] | other)
    return 5 * nodes - reached


@compiled
def _far_of_others(balls: _Balls, out: Ints, place: Ints, room: Masks) -> int:
    """Return how many nodes the other neighbours of the new node's neighbours do not reach."""
    nodes, degree = out.shape
    furthest = balls.within[balls.within.shape[0] - 3]
    far = 0
    for end in range(4):
        node, cut = place[end], place[4 + end]
        for w in range(len(room)):
            room[w] = balls.closer[node, cut, w]
        for other in range(4):
            if other != end:
                for w in range(len(room)):
                    room[w] |= furthest[place[other], w]
        for j in range(degree):
            if j != cut:
                far += nodes
                for w in range(len(room)):
                    far -= ones(balls.without[out[node, j], balls.reverse[node, j], w] | room[w])
    return far


@compiled
def rank_insertions(out: Ints, first: Ints, steps: int, best: Ints) -> int:
    """Find the pairs of links in whose middle a node leaves the fewest pairs too far apart, as far as that can be seen.

    * ``out``: shape ``(N, d)``: ends of the links out of each node, all of which have reverses; no self-loops.
    * ``first``: nodes one of which is an end of one of the links: one of each orbit is enough.
    * ``steps``: how far nodes may be apart, at least 3.
    * ``best``: shape ``(count, 5)``: filled with bounds and ends a, b, c, e of the best.

    Returns: how many there are.
    """
    nodes, degree = out.shape
    balls = _balls(out, steps)
    place, room = np.zeros(8, np.int64), np.zeros(balls.within.shape[2], np.uint64)
    found, worst = 0, 0
    for a in first:
        for j in range(degree):
            b = out[a, j]
            place[0], place[1], place[4], place[5] = a, b, j, balls.reverse[a, j]
            for c in range(nodes):
                for i in range(degree):
                    e = out[c, i]
                    if c in (a, b) or e in (a, b) or e < c:
                        continue
                    place[2], place[3], place[6], place[7] = c, e, i, balls.reverse[c, i]
                    far = _far_of_ends(balls, place, nodes)
                    if found == len(best) and far >= best[worst, 0]:
                        continue
                    far += _far_of_others(balls, out, place, room)
                    if found == len(best) and far >= best[worst, 0]:
                        continue
                    slot = worst
                    if found < len(best):
                        slot, found = found, found + 1
                    best[slot, 0], best[slot, 1], best[slot, 2], best[slot, 3], best[slot, 4] = far, a, b, c, e
                    for other in range(found):
                        if best[other, 0] > best[worst, 0]:
                            worst = other
                    if best[slot, 0] >= best[worst, 0]:
                        worst = slot
    return found
