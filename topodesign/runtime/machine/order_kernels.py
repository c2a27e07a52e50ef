"""Runs of programs in random orders: any threadblock, thread or proxy that can move does so by chance."""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import Ints, Masks, next_random, tiered
from topodesign.runtime.machine.column_kernels import (
    AWAITS,
    FLUSHES,
    RELEASES,
    Cells,
    Columns,
    Runs,
    changed_input,
    fill,
    lacking,
    move,
    starts,
    wrong_goal,
)

ENDED, STUCK, WRONG, CHANGED, LEFT = range(5)
"""How a run in a random order ends."""

PIECES = 3  # most that work is cut into


def _random_work(columns: Columns, runs: Runs, *_: object) -> int:
    elements = int((np.diff(columns.source) * columns.size).sum())
    return runs.launches * (10 * len(columns.wait) + 10 * len(columns.meeting) + 3 * elements)


@tiered(_random_work)
def run_in_order(
    columns: Columns,
    runs: Runs,
    cells: Cells,
    level: Ints,
    state: Masks,
    piece: int,
    pieces: int,
    proxies: int,
    found: Ints,
) -> int:
    """Run in a random order that a state seeds, with work cut into pieces; return how it ends.

    Work of phases is cut into ``pieces``, that of lines into pieces of ``piece`` elements. ``level`` is how many waits
    for each post pass at first. ``found`` becomes the goal, or cell, that is wrong and the launch, or how many
    threadblocks never finish, or the post that has signals left.
    """
    ranks, blocks, lines, posts = len(runs.base), len(columns.rank), len(columns.control) - 1, len(columns.free)
    line_base = columns.work[-1] * PIECES
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
    moved = np.zeros(lines, dtype=np.int64)  # elements of the control at hand
    line_of = np.zeros(len(columns.wait) if proxies else 0, dtype=np.int64)
    calls = np.zeros(proxies + 1, dtype=np.int64)
    if proxies:
        for t in range(lines):
            for c in range(columns.control[t], columns.control[t + 1]):
                line_of[c] = t
                if columns.proxy[c] >= 0:
                    calls[columns.proxy[c] + 1] += runs.launches
    for x in range(proxies):
        calls[x + 1] += calls[x]
    queue = np.zeros(calls[proxies], dtype=np.int64)  # controls that proxies receive, and in which launch
    told = calls[:-1].copy()
    done = calls[:-1].copy()
    packets = bool((columns.wide == 2).any())
    asleep = np.full(posts + packets * len(cells.values), -1, dtype=np.int64)  # who waits first for a post or packet
    following = np.full(proxy_base, -1, dtype=np.int64)
    pool = np.zeros(proxy_base + proxies, dtype=np.int64)
    size = 0
    gathered = np.zeros(len(columns.meeting), dtype=np.int64)
    own_first = starts(columns.rank, ranks)
    over = np.arange(ranks)
    waiting = ranks
    fresh = np.zeros(blocks, dtype=np.int64)  # threadblocks whose phase is over
    height = 0
    budgets = np.array([1, 1, 1, 2, 2, 5, 5, 50])
    budget = 0
    while True:
        if waiting > 0:
            waiting -= 1
            rank = over[waiting]
            if launch[rank] >= 0 and runs.judged:
                found[1] = launch[rank]
                found[0] = wrong_goal(rank, launch[rank], runs.goal[rank], runs, cells)
                if found[0] >= 0:
                    return WRONG
                found[0] = changed_input(rank, launch[rank], runs, cells)
                if found[0] >= 0:
                    return CHANGED
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
            if left[rank] == 0:
                over[waiting] = rank
                waiting += 1
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
                if gathered[m] == columns.meets[p]:
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
            drawn = next_random(state)
            chosen = np.int64((drawn >> np.uint64(21)) * np.uint64(size) >> np.uint64(32))
            budget = budgets[np.int64(drawn & np.uint64(7))]
            mover = pool[chosen]
            pool[chosen] = pool[size - 1]
            pool[size - 1] = mover
        budget -= 1
        size -= 1
        mover = pool[size]
        one, low, high, turn = -1, 0, 0, 0
        post, back = -1, -1  # that are given something
        ended = -1  # the line that continues
        if mover < line_base:
            one, part = mover // PIECES, mover % PIECES
            parts = min(pieces, columns.size[one])
            low, high = columns.size[one] * part // parts, columns.size[one] * (part + 1) // parts
            b = block_of[mover]
            turn = launch[columns.rank[b]]
            lacks = lacking(columns, one, low, high, turn, cells)
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
            if columns.wait[c] >= 0 and level[columns.wait[c]] <= 0:
                following[mover] = asleep[columns.wait[c]]
                asleep[columns.wait[c]] = mover
                budget = 0
                continue
            if columns.room[c] >= 0:
                if level[columns.room[c]] <= 0:
                    following[mover] = asleep[columns.room[c]]
                    asleep[columns.room[c]] = mover
                    budget = 0
                    continue
                level[columns.room[c]] -= 1
            mode = columns.mode[c]
            if columns.wait[c] >= 0 and not mode & AWAITS:
                level[columns.wait[c]] -= 1
            if x >= 0:
                if told[x] == done[x]:
                    pool[size] = proxy_base + x
                    size += 1
                queue[told[x]] = c * runs.launches + launch[columns.rank[block_of[mover]]]
                told[x] += 1
                if not mode & FLUSHES:
                    ended = t
            else:
                one = columns.job[c]
                if one >= 0:
                    turn = launch[columns.rank[block_of[mover]]]
                    low = moved[t]
                    high = min(low + piece, columns.size[one])
                    move(columns, one, low, high, turn, cells)
                    moved[t] = high
                post, back = columns.tell[c], columns.back[c]
                if one < 0 or high == columns.size[one]:
                    moved[t] = 0
                    ended = t
                    if mode & AWAITS:
                        level[columns.wait[c]] -= 1
                    if mode & RELEASES:
                        level[post] += columns.many[post] - 1
                else:
                    if mode & RELEASES:
                        post = -1
                    pool[size] = mover
                    size += 1
        else:
            x = mover - proxy_base
            c, turn = queue[done[x]] // runs.launches, queue[done[x]] % runs.launches
            done[x] += 1
            one = columns.job[c]
            if one >= 0:
                high = columns.size[one]
                move(columns, one, 0, high, turn, cells)
            post = columns.tell[c]
            if columns.mode[c] & FLUSHES:
                ended = line_of[c]
            if done[x] < told[x]:
                pool[size] = mover
                size += 1
        for given in (post, back):
            if given >= 0:
                level[given] += 1
                woken = asleep[given]
                asleep[given] = -1
                while woken >= 0:
                    pool[size] = woken
                    size += 1
                    woken = following[woken]
        if packets and one >= 0:
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
            found[0] = 0
            for b in range(blocks):
                found[0] += at[b] < columns.phase[b + 1]
            return STUCK
    for post in range(posts):
        if level[post] != columns.free[post] and not columns.silent[post]:
            found[0] = post
            found[1] = level[post] - columns.free[post]
            return LEFT
    return ENDED
