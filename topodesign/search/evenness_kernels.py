"""Compiled exchanges of links that leave all nodes of a digraph near and load the links of its last steps evenly.

In the last steps every node gets what is far from it, each shard over a link to something that is nearer. Which of its
links can bring a shard is known from what those nodes reach, as bits (:mod:`topodesign.search.near_kernels`), and what
some link must carry at least follows from how many shards only some of the links can bring (Hall's theorem).
"""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import LARGEST, Ints, Masks, compiled
from topodesign.search.anneal_kernels import UNIT, _logarithm
from topodesign.search.near_kernels import Levels, _after, _exchange, _fill, _fits, _levels, _settle
from topodesign.search.screening_kernels import ones
from topodesign.search.voltage_kernels import _draw

PART = 840  # parts of a shard, into which 1 to 8 links divide it without a rest
COLDNESS = 4096  # share of the energy that temperatures are in
LONGER = 8  # exchanges that leave all nodes near take so many times as long
FINEST = PART // 4  # what links are above the goals by less than this is not halved
_NEAR = 8  # nodes whose numbers differ by so much at most are exchanged with each other more often
_LOOKED_AT = 8  # of so many nodes with one more the one with the fullest link is taken, to change links on its ways


@compiled
def _above(levels: Levels, links: Ints, node: int, goal: Ints, union: Masks, total: Ints) -> int:
    """Return by how much the fullest link of a node is above the goals; add up how much all are, squared, in total.

    ``goal`` is what a link should carry in the last step, in the last two and so on; ``union`` is room for a row for
    each set of links.
    """
    reached = levels.reached
    nodes, ports = links.shape
    steps, words = len(reached), reached.shape[2]
    last = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 * words - nodes)
    worst = 0
    for others in range(1, (1 << ports) - 1):
        j = 0
        while not others >> j & 1:
            j += 1
        rest, end = others & (others - 1), links[node, j]
        for w in range(words):
            union[others, w] = union[rest, w] | reached[steps - 1, end, w]
    for window in range(len(goal)):
        if goal[window] == LARGEST:
            continue
        near = reached[steps - 1 - window, node]
        for others in range((1 << ports) - 1):
            count = 0
            for w in range(words):
                missing = ~(union[others, w] | near[w])
                count += ones(missing & last if w == words - 1 else missing)
            above = count * PART // (ports - ones(np.uint64(others))) - goal[window]
            if above > 0:
                total[0] += above * above
                worst = max(worst, above)
    return worst


@compiled
def excess(
    there: Levels, back: Levels, out: Ints, into: Ints, goal: Ints, union: Masks, worst: Ints, now: Ints, limit: int
) -> int:
    """Return by how much links have to carry more than the goals, squared and added up over nodes and collectives.

    Into ``now``, of shape ``(2, N)``, goes for each node by how much its fullest link is above the goals. Nodes for
    which that is not 0 in ``worst`` are looked at first. What is at least the limit is not added up to the end.
    """
    total = np.zeros(1, np.int64)
    for first in (True, False):
        for node in range(len(out)):
            if (worst[0, node] > 0) == first:
                now[0, node] = _above(there, out, node, goal, union, total)
            if (worst[1, node] > 0) == first:
                now[1, node] = _above(back, into, node, goal, union, total)
            if total[0] >= limit:
                return limit
    return int(total[0])


@compiled
def _trade(levels: Levels) -> None:
    """Put what an exchange has changed in the place of what was, or back."""
    steps = len(levels.reached)
    for level in range(1, steps):
        for i in range(levels.ends[level]):
            node = levels.listed[i]
            levels.changed[level, node] = False
            for w in range(len(levels.row)):
                row = levels.reached[level, node, w]
                levels.reached[level, node, w] = levels.trial[level, node, w]
                levels.trial[level, node, w] = row
    for i in range(levels.ends[steps]):
        levels.changed[steps, levels.listed[i]] = False


@compiled
def _drawn_links(out: Ints, into: Ints, steps: int, worst: Ints, state: Masks, links: Ints) -> None:
    """Draw two links x->p and q->y: anywhere, or with ends that are likely to have much in common.

    Half of the time x is on a way of a node with a full link.
    """
    nodes, ports = out.shape
    x, q = _draw(nodes, state), _draw(nodes, state)
    dice = _draw(1024, state)
    if dice >= 512:
        x = _draw(nodes, state)
        for _ in range(_LOOKED_AT):
            other = _draw(nodes, state)
            if max(worst[0, other], worst[1, other]) > max(worst[0, x], worst[1, x]):
                x = other
        far = _draw(steps, state)
        if worst[1, x] > worst[0, x]:
            for _ in range(far + 1):
                x = into[x, _draw(ports, state)]
        else:
            for _ in range(far):
                x = out[x, _draw(ports, state)]
    p, y = out[x, _draw(ports, state)], out[q, _draw(ports, state)]
    kind = dice >> 3 & 3
    if kind == 1:
        q = (x + nodes + _draw(2 * _NEAR + 1, state) - _NEAR) % nodes
        y = out[q, _draw(ports, state)]
    elif kind == 2:
        y = out[into[p, _draw(ports, state)], _draw(ports, state)]
        q = into[y, _draw(ports, state)]
    elif kind == 3:
        y = (p + nodes + _draw(2 * _NEAR + 1, state) - _NEAR) % nodes
        q = into[y, _draw(ports, state)]
    links[0], links[1], links[2], links[3] = x, p, q, y


@compiled
def _drawn_limit(now: int, temperature: int, state: Masks) -> int:
    """Return how high the energy may be after an exchange: at a temperature of 0 no higher than it is."""
    noise = 11 * UNIT - _logarithm(2 * _draw(1024, state) + 1)
    return now + (now // COLDNESS * temperature * (noise >> 8) >> 8)


@compiled
def even_out(out: Ints, into: Ints, goal: Ints, exchanges: int, temperature: int, steps: int, state: Masks) -> int:
    """Exchange the ends of links, colder and colder, such that all nodes stay near and links are loaded evenly.

    What is aimed at is to halve by how much the fullest link is above the goals, then to halve it again and so on.
    Nodes without such links are left alone, so that few exchanges are enough.

    * ``out``, ``into``: shape ``(N, d)``: ends of the links out of each node, and starts of those into it, none twice;
      changed in place.
    * ``goal``: what a link should carry in the last step, in the last two and so on, in parts of :data:`PART`; LARGEST
      where that is left alone.
    * ``exchanges``: to try; each that leaves all nodes near counts as :data:`LONGER` of them.
    * ``temperature``: at the start: by how much the energy may rise, on average of the exchanges that raise it, in
      parts of :data:`COLDNESS` of it.
    * ``steps``: how far nodes may be apart, and are not farther.
    * ``state``: one uint64, not zero: the random generator's state, changed in place.

    Returns: how often it was halved; -1 if some nodes are farther apart.
    """
    nodes, ports = out.shape
    there, back = _levels(nodes, steps), _levels(nodes, steps)
    if _fill(there, out) > 0:
        return -1
    _fill(back, into)
    union = np.zeros((1 << ports, there.reached.shape[2]), np.uint64)
    worst, then = np.zeros((2, nodes), np.int64), np.zeros((2, nodes), np.int64)
    links, tails, heads = np.zeros(4, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    halved, now, best, best_out, aim = -1, 0, 0, out.copy(), goal.copy()
    left = exchanges
    while left > 0:
        left -= 1
        if best == 0:
            halved += 1
            best_out[:] = out
            excess(there, back, out, into, goal, union, worst, then, LARGEST)
            above = then.max()
            if above < FINEST:
                break
            aim = np.where(goal == LARGEST, goal, goal + above // 2)
            now = best = excess(there, back, out, into, aim, union, worst, then, LARGEST)
            worst[:] = then
        _drawn_links(out, into, steps, worst, state, links)
        if not _fits(out, links):
            continue
        _exchange(out, into, False, links, False)
        tails[0], tails[1], heads[0], heads[1] = links[0], links[2], links[1], links[3]
        if _after(there, out, into, tails, 0, 0) != 0:
            _settle(there, False)
            _exchange(out, into, False, links, True)
            continue
        left -= LONGER - 1
        _trade(there)
        _after(back, into, out, heads, 0, LARGEST)
        _trade(back)
        limit = _drawn_limit(now, temperature * max(0, left) // exchanges, state)
        energy = excess(there, back, out, into, aim, union, worst, then, limit)
        if energy < limit:
            worst[:] = then
            now = energy
            if now < best:
                best = now
                best_out[:] = out
        else:
            _exchange(out, into, False, links, True)
            _trade(there)
            _trade(back)
    out[:] = best_out
    return halved
