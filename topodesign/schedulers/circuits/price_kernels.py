"""Inner loops of the exact search: the cheapest trees of a block at given prices, and what prices prove.

A price stands on every link and clock, a clock being a step, or all steps of a phase where their number does not
matter. Whatever the prices are, sending takes at least the sum of what the cheapest trees of all blocks cost over the
most that all links of one clock cost, so that every bound here is a proof in whole numbers.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import Ints, compiled

NEVER = 2**40  # the cost of what cannot be reached
_FIRST, _MOST = 2**14, 2**26  # prices in the beginning, and at most


@compiled
def cheapest(width: Ints, at: Ints, clock: Ints, price: Ints, wants: Ints, cost: Ints, split: Ints) -> None:
    """Write what it costs to bring a block from each node to each of ``wants``, sets of nodes, by the end.

    ``width[phase, u, v]`` are the circuits, ``at`` and ``clock`` the phase and the clock of each step, and
    ``price[clock, u, v]`` what a link costs. ``cost[k, u, want]`` is from step k on; ``split[k, u, v, want]`` says what
    v has to bring on that u sends to in step k.
    """
    nodes, steps = width.shape[1], len(at)
    cost[steps] = NEVER
    for u in range(nodes):
        cost[steps, u, 0] = cost[steps, u, 1 << u] = 0
    for k in range(steps - 1, -1, -1):
        cost[k] = cost[k + 1]
        split[k] = 0
        for u in range(nodes):
            for v in range(nodes):
                if width[at[k], u, v] > 0:
                    more = price[clock[k], u, v]
                    for place in range(len(wants) - 1, -1, -1):  # larger sets first: theirs are made of smaller ones
                        want = wants[place]
                        some = want
                        while some > 0:
                            now = cost[k, u, want ^ some] + more + cost[k + 1, v, some]
                            if now < cost[k, u, want]:
                                cost[k, u, want] = now
                                split[k, u, v, want] = some
                            some = (some - 1) & want


@compiled
def tree(width: Ints, at: Ints, split: Ints, node: int, want: int, rows: Ints) -> int:
    """Write a cheapest tree in rows of step, sender and receiver; return how many."""
    nodes, steps = width.shape[1], len(at)
    needs = np.zeros(nodes, np.int64)
    needs[node] = want
    count = 0
    for k in range(steps):
        later = needs.copy()
        for u in range(nodes):
            left = needs[u]
            for v in range(nodes - 1, -1, -1):
                some = split[k, u, v, left] if left > 0 else 0
                if some > 0:
                    rows[count, 0] = k
                    rows[count, 1] = u
                    rows[count, 2] = v
                    count += 1
                    later[u] &= ~some
                    later[v] |= some
                    left ^= some
        needs = later
    return count


@compiled
def weigh(width: Ints, rest: Ints, layers: Ints, at: Ints, price: Ints) -> int:
    """Return the most that all links of a clock cost; ``at`` is the phase of each clock.

    ``rest`` says of how many more of some layers of circuits each phase may have any.
    """
    most = 0
    for c in range(len(at)):
        whole = (width[at[c]] * price[c]).sum()
        if rest[at[c]] > 0:
            more = 0
            for layer in range(len(layers)):
                more = max(more, (layers[layer] * price[c]).sum())
            whole += rest[at[c]] * more
        most = max(most, whole)
    return most


@compiled
def proves(
    width: Ints, rest: Ints, layers: Ints, at: Ints, clock: Ints, wants: Ints, goals: Ints, turns: int, number: int,
    over: int, cost: Ints, split: Ints, rows: Ints, price: Ints,
) -> bool:  # fmt: skip
    """Return whether sending is proved to take ``number / over`` at least, by prices that rise where links are full.

    ``goals`` are rows of a node and the set that its block has to reach. In phases with a ``rest`` any link may come.
    """
    clocks, nodes = price.shape[0], width.shape[1]
    phase = np.empty(clocks, np.int64)
    for k in range(len(at)):
        phase[clock[k]] = at[k]
    open_ = width.copy()
    for p in range(len(rest)):
        if rest[p] > 0:
            open_[p] = np.maximum(open_[p], 1)
    price[:] = _FIRST
    load = np.empty((clocks, nodes, nodes), np.int64)
    for turn in range(turns):
        cheapest(open_, at, clock, price, wants, cost, split)
        total = 0
        for goal in range(len(goals)):
            total += cost[0, goals[goal, 0], goals[goal, 1]]
        if total >= NEVER or total * over >= number * weigh(width, rest, layers, phase, price):
            return True
        load[:] = 0
        for goal in range(len(goals)):
            count = tree(open_, at, split, goals[goal, 0], goals[goal, 1], rows)
            for row in range(count):
                load[clock[rows[row, 0]], rows[row, 1], rows[row, 2]] += 1
        full = 1
        for c in range(clocks):
            for u in range(nodes):
                for v in range(nodes):
                    if open_[phase[c], u, v] > 0:
                        full = max(full, load[c, u, v] * 16 // open_[phase[c], u, v])
        step = 3 + turn // 4
        for c in range(clocks):
            for u in range(nodes):
                for v in range(nodes):
                    if open_[phase[c], u, v] > 0:
                        price[c, u, v] += (
                            price[c, u, v] * (load[c, u, v] * 16 // open_[phase[c], u, v]) // (full * step)
                        )
        for c in range(clocks):
            whole = max(1, (open_[phase[c]] * price[c]).sum())
            price[c] = price[c] * (_FIRST * nodes * 4) // whole
    return False
