"""The compiled inner loop of random orders: whoever can move does so by chance."""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import Ints, Masks, next_random, tiered
from topodesign.runtime.mscclpp.flat_kernels import (
    FLUSHES,
    SIGNALS,
    TELL,
    WAIT,
    Cells,
    Columns,
    Runs,
    fill,
    move,
    right,
    starts,
)

ENDED, STUCK, WRONG, LEFT = range(4)
"""How a run in a random order ends."""

PIECES = 3  # most that work is cut into


def _random_work(columns: Columns, runs: Runs, *_: object) -> int:
    elements = int((np.diff(columns.source) * columns.size).sum())
    return runs.launches * (10 * len(columns.kind) + 10 * len(columns.meeting) + 3 * elements)


@tiered(_random_work)
def ran(columns: Columns, runs: Runs, cells: Cells, state: Masks, pieces: int, proxies: int, found: Ints) -> int:
    """Run in a random order that a state seeds, with work cut into pieces; return how it ends.

    ``found`` becomes the rank and the launch that is wrong, or how many threadblocks never finish, or the post that
    has signals left.
    """
    ranks, blocks, lines = len(runs.base), len(columns.rank), len(columns.control) - 1
    works, posts = len(columns.size), len(columns.free)
    line_base = works * PIECES
    proxy_base = line_base + lines
    launch = np.full(ranks, -1, dtype=np.int64)
    left = np.zeros(ranks, dtype=np.int64)
    at = np.zeros(blocks, dtype=np.int64)
    todo = np.zeros(blocks, dtype=np.int64)  # pieces and lines of the phase
    block_of = np.zeros(proxy_base, dtype=np.int64)
    for b in range(blocks):
        for p in range(columns.phase[b], columns.phase[b + 1]):
            for i in range(columns.work[p] * PIECES, columns.work[p + 1] * PIECES):
                block_of[i] = b
            for i in range(columns.line[p], columns.line[p + 1]):
                block_of[line_base + i] = b
    cursor = columns.control[:-1].copy()
    line_of = np.zeros(len(columns.kind), dtype=np.int64)
    calls = np.zeros(proxies + 1, dtype=np.int64)
    for t in range(lines):
        for c in range(columns.control[t], columns.control[t + 1]):
            line_of[c] = t
            if columns.proxy[c] >= 0:
                calls[columns.proxy[c] + 1] += runs.launches
    for x in range(proxies):
        calls[x + 1] += calls[x]
    queue = np.zeros(calls[proxies], dtype=np.int64)  # controls that proxies are told of, and in which launch
    told = calls[:-1].copy()
    done = calls[:-1].copy()
    level = columns.free.copy()
    asleep = np.full(posts + len(cells.values), -1, dtype=np.int64)  # the first that waits for a post or a packet
    following = np.full(proxy_base, -1, dtype=np.int64)
    pool = np.zeros(proxy_base + proxies, dtype=np.int64)
    size = 0
    gathered = np.zeros(len(columns.meets), dtype=np.int64)
    own_first = starts(columns.rank, ranks)
    over = np.arange(ranks)
    waiting = ranks
    fresh = np.zeros(blocks, dtype=np.int64)  # threadblocks whose phase is over
    height = 0
    budgets = np.array([1, 1, 2, 5, 50])
    budget = 0
    while True:
        if waiting > 0:
            waiting -= 1
            rank = over[waiting]
            if launch[rank] >= 0 and runs.judged and not right(rank, launch[rank], runs, cells):
                found[0] = rank
                found[1] = launch[rank]
                return WRONG
            launch[rank] += 1
            if launch[rank] == runs.launches:
                continue
            if launch[rank] > 0:
                fill(rank, launch[rank], runs, cells)
            left[rank] = own_first[rank + 1] - own_first[rank]
            for b in range(own_first[rank], own_first[rank + 1]):
                at[b] = columns.phase[b] - 1
                fresh[height] = b
                height += 1
            continue
        if height > 0:
            height -= 1
            b = fresh[height]
            rank = columns.rank[b]
            at[b] += 1
            p = at[b]
            if p == columns.phase[b + 1]:
                left[rank] -= 1
                if left[rank] == 0:
                    over[waiting] = rank
                    waiting += 1
                continue
            for one in range(columns.work[p], columns.work[p + 1]):
                for part in range(min(pieces, columns.size[one])):
                    pool[size] = one * PIECES + part
                    size += 1
                    todo[b] += 1
            for t in range(columns.line[p], columns.line[p + 1]):
                cursor[t] = columns.control[t]
                pool[size] = line_base + t
                size += 1
                todo[b] += 1
            m = columns.meeting[p]
            if m >= 0:
                gathered[m] += 1
                if gathered[m] == columns.meets[m]:
                    gathered[m] = 0
                    for other in range(own_first[rank], own_first[rank + 1]):
                        if at[other] < columns.phase[other + 1] and columns.meeting[at[other]] == m:
                            fresh[height] = other
                            height += 1
            elif todo[b] == 0:
                fresh[height] = b
                height += 1
            continue
        if size == 0:
            break
        if budget == 0:
            chosen = np.int64(next_random(state) % np.uint64(size))
            budget = budgets[np.int64(next_random(state) % np.uint64(5))]
            mover = pool[chosen]
            pool[chosen] = pool[size - 1]
            pool[size - 1] = mover
        budget -= 1
        size -= 1
        mover = pool[size]
        c, one, low, high, turn = 0, 0, 0, 0, 0
        post = -1  # that is given something
        ended = -1  # the line that goes on
        if mover < line_base:
            one, part = mover // PIECES, mover % PIECES
            parts = min(pieces, columns.size[one])
            low, high = columns.size[one] * part // parts, columns.size[one] * (part + 1) // parts
            b = block_of[mover]
            turn = launch[columns.rank[b]]
            lacks = -1
            for p in range(columns.source[one], columns.target[one]):
                if columns.wide[p] == 2 and lacks < 0:
                    begin = columns.cell[p] + (turn & 1) * columns.added[p]
                    for cell in range(begin + 2 * low, begin + 2 * high):
                        if lacks < 0 and cells.flags[cell] != turn + 1:
                            lacks = cell
            if lacks >= 0:
                following[mover] = asleep[posts + lacks]
                asleep[posts + lacks] = mover
                budget = 0
                continue
            move(columns, one, low, high, turn, cells)
            todo[b] -= 1
            if todo[b] == 0:
                fresh[height] = b
                height += 1
        elif mover < proxy_base:
            t = mover - line_base
            c = cursor[t]
            x = columns.proxy[c]
            if columns.kind[c] == WAIT:
                if level[columns.post[c]] <= 0:
                    following[mover] = asleep[columns.post[c]]
                    asleep[columns.post[c]] = mover
                    budget = 0
                    continue
                level[columns.post[c]] -= 1
                ended = t
            elif x >= 0:
                if told[x] == done[x]:
                    pool[size] = proxy_base + x
                    size += 1
                queue[told[x]] = c * runs.launches + launch[columns.rank[block_of[mover]]]
                told[x] += 1
                if not columns.mode[c] & FLUSHES:
                    ended = t
            else:
                post = columns.post[c]
                ended = t
        else:
            x = mover - proxy_base
            c, turn = queue[done[x]] // runs.launches, queue[done[x]] % runs.launches
            done[x] += 1
            one = columns.job[c]
            if one >= 0:
                low, high = 0, columns.size[one]
                move(columns, one, low, high, turn, cells)
            if columns.kind[c] == TELL or columns.mode[c] & SIGNALS:
                post = columns.post[c]
            if columns.mode[c] & FLUSHES:
                ended = line_of[c]
            if done[x] < told[x]:
                pool[size] = mover
                size += 1
        if post >= 0:
            level[post] += 1
            woken = asleep[post]
            asleep[post] = -1
            while woken >= 0:
                pool[size] = woken
                size += 1
                woken = following[woken]
        if mover < line_base or (mover >= proxy_base and columns.job[c] >= 0):
            for p in range(columns.target[one], columns.source[one + 1]):
                if columns.wide[p] == 2:
                    begin = posts + columns.cell[p] + (turn & 1) * columns.added[p]
                    for cell in range(begin + 2 * low, begin + 2 * high):
                        woken = asleep[cell]
                        asleep[cell] = -1
                        while woken >= 0:
                            pool[size] = woken
                            size += 1
                            woken = following[woken]
        if ended >= 0:
            cursor[ended] += 1
            if cursor[ended] < columns.control[ended + 1]:
                pool[size] = line_base + ended
                size += 1
            else:
                b = block_of[line_base + ended]
                todo[b] -= 1
                if todo[b] == 0:
                    fresh[height] = b
                    height += 1
    for rank in range(ranks):
        if launch[rank] < runs.launches:
            for b in range(blocks):
                found[0] += at[b] < columns.phase[b + 1]
            return STUCK
    for post in range(posts):
        if level[post] != columns.free[post]:
            found[0] = post
            found[1] = level[post] - columns.free[post]
            return LEFT
    return ENDED
