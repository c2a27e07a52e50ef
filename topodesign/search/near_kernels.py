"""Compiled exchanges of links that bring all nodes of a digraph within some number of steps.

Row v of level t holds as bits the nodes that v reaches within t steps; it is the union of the rows of level t - 1 of v
and of the ends of its links. An exchange changes few rows but for the highest levels, and of the highest only counts
are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, Masks, compiled
from topodesign.search.screening_kernels import ones
from topodesign.search.voltage_kernels import _draw, _noise


class Levels(NamedTuple):
    """What is reached, and what an exchange would change.

    * ``reached``, ``trial``: shape ``(steps, N, N/64)``: rows of the levels 0 to ``steps - 1``, as they are and after
      an exchange.
    * ``changed``: shape ``(steps + 1, N)``: which rows an exchange changes, the highest level for all that are looked
      at.
    * ``far``, ``trial_far``: how many nodes each does not reach.
    * ``listed``, ``ends``: nodes whose rows change, in the order of the level from which on they do, and how many do at
      each level.
    """

    reached: NDArray[np.uint64]
    trial: NDArray[np.uint64]
    changed: NDArray[np.bool_]
    far: Ints
    trial_far: Ints
    listed: Ints
    ends: Ints
    row: Masks  # room for one row


@compiled
def _levels(nodes: int, steps: int) -> Levels:
    words = (nodes + 63) // 64
    return Levels(
        np.zeros((steps, nodes, words), np.uint64),
        np.zeros((steps, nodes, words), np.uint64),
        np.zeros((steps + 1, nodes), np.bool_),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(steps + 1, np.int64),
        np.zeros(words, np.uint64),
    )


@compiled
def _unite(levels: Levels, level: int, node: int, out: Ints, row: Masks) -> None:
    """Write the row of a node at a level from those one below, after the exchange where that changes them."""
    for w in range(len(row)):
        row[w] = levels.reached[level - 1, node, w]
    if levels.changed[level - 1, node]:
        for w in range(len(row)):
            row[w] = levels.trial[level - 1, node, w]
    for j in range(out.shape[1]):
        end = out[node, j]
        if levels.changed[level - 1, end]:
            for w in range(len(row)):
                row[w] |= levels.trial[level - 1, end, w]
        else:
            for w in range(len(row)):
                row[w] |= levels.reached[level - 1, end, w]


@compiled
def _zeros(row: Masks, nodes: int) -> int:
    """Return how many nodes are not in a row."""
    for w in range(len(row)):
        nodes -= ones(row[w])
    return nodes


@compiled
def _fill(levels: Levels, out: Ints) -> int:
    """Compute all rows, and return how many pairs of nodes are too far apart."""
    nodes, steps = len(out), len(levels.reached)
    for node in range(nodes):
        levels.reached[0, node, node >> 6] |= np.uint64(1) << np.uint64(node & 63)
    for level in range(1, steps):
        for node in range(nodes):
            _unite(levels, level, node, out, levels.reached[level, node])
    total = 0
    for node in range(nodes):
        _unite(levels, steps, node, out, levels.row)
        levels.far[node] = _zeros(levels.row, nodes)
        total += levels.far[node]
    return total


@compiled
def _after(levels: Levels, out: Ints, into: Ints, tails: Ints, far: int, limit: int) -> int:
    """Return how many pairs are too far apart after links out of some nodes have changed; -1 if above the limit."""
    nodes, steps = len(out), len(levels.reached)
    listed, changed = levels.listed, levels.changed
    count = 0
    for tail in tails:
        if not changed[steps, tail]:
            changed[steps, tail] = True
            listed[count] = tail
            count += 1
    behind = 0
    for level in range(1, steps):
        levels.ends[level] = count
        for i in range(count):
            _unite(levels, level, listed[i], out, levels.trial[level, listed[i]])
        for i in range(count):
            changed[level, listed[i]] = True
        last = count
        for i in range(behind, last):
            for j in range(into.shape[1]):
                other = into[listed[i], j]
                if not changed[steps, other]:
                    changed[steps, other] = True
                    listed[count] = other
                    count += 1
        behind = last
    levels.ends[steps] = count
    for i in range(count):
        far -= levels.far[listed[i]]
    for i in range(count):
        node = listed[i]
        _unite(levels, steps, node, out, levels.row)
        levels.trial_far[node] = _zeros(levels.row, nodes)
        far += levels.trial_far[node]
        if far > limit:
            return -1
    return far


@compiled
def _settle(levels: Levels, keep: bool) -> None:
    """Keep what an exchange has changed, or not, and forget which rows it changed."""
    steps = len(levels.reached)
    for level in range(1, steps):
        for i in range(levels.ends[level]):
            node = levels.listed[i]
            levels.changed[level, node] = False
            if keep:
                for w in range(len(levels.row)):
                    levels.reached[level, node, w] = levels.trial[level, node, w]
    for i in range(levels.ends[steps]):
        node = levels.listed[i]
        levels.changed[steps, node] = False
        if keep:
            levels.far[node] = levels.trial_far[node]


@compiled
def _choose(levels: Levels, out: Ints, into: Ints, state: Masks, links: Ints) -> None:
    """Choose two links x->p and q->y: mostly such that x->y would bring a pair near that is too far apart."""
    nodes, ports = out.shape
    steps = len(levels.reached)
    x, y = _draw(nodes, state), _draw(nodes, state)
    if _draw(4, state):
        while levels.far[x] == 0:
            x = x + 1 if x + 1 < nodes else 0
        _unite(levels, steps, x, out, levels.row)
        while levels.row[y >> 6] >> np.uint64(y & 63) & np.uint64(1):
            y = y + 1 if y + 1 < nodes else 0
        ahead = _draw(steps, state)
        for _ in range(ahead):
            x = out[x, _draw(ports, state)]
        for _ in range(steps - 1 - ahead):
            y = into[y, _draw(ports, state)]
    links[0], links[1] = x, out[x, _draw(ports, state)]
    links[2], links[3] = into[y, _draw(ports, state)], y


@compiled
def _fits(out: Ints, links: Ints) -> bool:
    """Whether the exchange is of no self-loops, and makes links that are none and not there already."""
    x, p, q, y = links
    if x in (p, q, y) or p in (q, y) or q == y:
        return False
    for j in range(out.shape[1]):
        if out[x, j] == y or out[q, j] == p:
            return False
    return True


@compiled
def _replace(table: Ints, row: int, old: int, new: int) -> None:
    """Put a node in the place of another in a row that has it."""
    place = 0
    while table[row, place] != old:
        place += 1
    table[row, place] = new


@compiled
def _exchange(out: Ints, into: Ints, duplex: bool, links: Ints, back: bool) -> None:
    """Make x->p and q->y into x->y and q->p, with their reverses if duplex, or take that back."""
    x, q = links[0], links[2]
    p, y = (links[3], links[1]) if back else (links[1], links[3])
    _replace(out, x, p, y)
    _replace(out, q, y, p)
    _replace(into, p, x, q)
    _replace(into, y, q, x)
    if duplex:
        _replace(out, p, x, q)
        _replace(out, y, q, x)
        _replace(into, x, p, y)
        _replace(into, q, y, p)


@compiled
def bring_near(out: Ints, into: Ints, steps: int, duplex: bool, exchanges: int, temperature: int, state: Masks) -> int:
    """Exchange the ends of links until all nodes are near, colder and colder.

    * ``out``, ``into``: shape ``(N, d)``: ends of the links out of each node, and starts of those into it; changed in
      place.
    * ``steps``: how far nodes may be apart.
    * ``duplex``: exchange links together with their reverses, which all have.
    * ``exchanges``: to try at most.
    * ``temperature``: at the start: 256 times the pairs by which it may get worse, on average of the exchanges that
      make it worse.
    * ``state``: one uint64, not zero: the random generator's state, changed in place.

    Returns: how many pairs of nodes are too far apart in the end.
    """
    levels = _levels(len(out), steps)
    links, tails = np.zeros(4, np.int64), np.zeros(4 if duplex else 2, np.int64)
    far = _fill(levels, out)
    for left in range(exchanges, 0, -1):
        if far == 0:
            break
        _choose(levels, out, into, state, links)
        if not _fits(out, links):
            continue
        _exchange(out, into, duplex, links, False)
        tails[0], tails[1] = links[0], links[2]
        if duplex:
            tails[2], tails[3] = links[1], links[3]
        limit = far + (_noise(temperature * left // exchanges, state) >> 8)
        now = _after(levels, out, into, tails, far, limit)
        _settle(levels, now >= 0)
        if now >= 0:
            far = now
        else:
            _exchange(out, into, duplex, links, True)
    return far


class _Balls(NamedTuple):
    """What nodes reach within one, two and three steps less than they may take, and without one of their links."""

    within: NDArray[np.uint64]  # rows of the levels, shape ``(steps, N, N/64)``
    without: NDArray[np.uint64]
    """Of a node, but for what only its j-th link leads to, within all steps, shape ``(N, d, N/64)``."""
    closer: NDArray[np.uint64]  # the same within one step less
    reverse: Ints  # which link of its end the reverse of a link is, shape ``(N, d)``


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
