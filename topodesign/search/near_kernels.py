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
    * ``row``: room for one row.
    """

    reached: NDArray[np.uint64]
    trial: NDArray[np.uint64]
    changed: NDArray[np.bool_]
    far: Ints
    trial_far: Ints
    listed: Ints
    ends: Ints
    row: Masks


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
