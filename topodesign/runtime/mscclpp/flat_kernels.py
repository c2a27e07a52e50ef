"""Plans and memory for compiled loops, and random runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, Masks, compiled, next_random, tiered

WAIT, TELL, TRIGGER = 0, 1, 2
"""What a control does: it takes a signal or semaphore, gives one, or tells a proxy to move or give something."""

RELAXED, SIGNALS, FLUSHES = 1, 2, 4
"""Bits of how it does it."""

Clocks = NDArray[np.int32]
Bits = NDArray[np.uint8]


class Columns(NamedTuple):
    """Phases, work, controls and places as columns, with posts."""

    rank: Ints  # of every threadblock
    phase: Ints  # its first phase, and at last how many there are
    work: Ints  # of every phase the first work; that of proxies is behind all
    line: Ints  # and the first line, of what one thread does in order
    meeting: Ints  # the number of the barrier, -1 for none
    meets: Ints  # of every barrier how many threadblocks come
    control: Ints  # the first control of every line
    kind: Ints  # of every control
    mode: Ints
    post: Ints  # what it waits for, or gives; -1 is nobody's
    proxy: Ints  # who does it, -1 for the thread
    job: Ints  # what the proxy moves, -1 for nothing
    source: Ints  # of all work the first source, and the first target
    target: Ints
    size: Ints  # elements
    cell: Ints  # of every place the first cell, what is added to it in every other launch, and cells of an element
    added: Ints
    wide: Ints
    free: Ints  # of every post how many waits pass at first
    shared: Ints  # its number among those that several give, or -1


class Runs(NamedTuple):
    """The callers' cells: inputs and expected outputs."""

    launches: int
    judged: bool
    span: Ints  # of every rank the first of the spans, and where those begin and end
    low: Ints
    high: Ints
    given: Ints  # of every rank the first of the numbers that are its input, and the cell of it
    base: Ints
    goal: Ints  # of every rank the first of its goals
    goal_cell: Ints
    goal_number: Ints  # which of the numbers has to be there
    kept: bool  # whether inputs may not change
    numbers: Masks  # of every launch


class Cells(NamedTuple):
    """Memory cells; ``flags`` of packets are their launch and 1."""

    values: Masks
    known: Bits
    flags: Clocks


@compiled
def fill(rank: int, launch: int, runs: Runs, cells: Cells) -> None:
    """Write new numbers into the input, and spoil other cells."""
    for i in range(runs.span[rank], runs.span[rank + 1]):
        for at in range(runs.low[i], runs.high[i]):
            cells.known[at] = 0
            cells.flags[at] = 0
    for i in range(runs.given[rank + 1] - runs.given[rank]):
        cells.values[runs.base[rank] + i] = runs.numbers[launch, runs.given[rank] + i]
        cells.known[runs.base[rank] + i] = 1


@compiled
def right(rank: int, launch: int, runs: Runs, cells: Cells) -> bool:
    """Return whether output and input are right after a launch."""
    for i in range(runs.goal[rank], runs.goal[rank + 1]):
        at = runs.goal_cell[i]
        if cells.known[at] == 0 or cells.values[at] != runs.numbers[launch, runs.goal_number[i]]:
            return False
    if runs.kept:
        for i in range(runs.given[rank + 1] - runs.given[rank]):
            if cells.values[runs.base[rank] + i] != runs.numbers[launch, runs.given[rank] + i]:
                return False
    return True


@compiled
def move(columns: Columns, one: int, low: int, high: int, launch: int, cells: Cells) -> bool:
    """Add source elements and store the sums; return if all were known."""
    sound = True
    first, middle, last = columns.source[one], columns.target[one], columns.source[one + 1]
    for k in range(low, high):
        value = np.uint64(0)
        known = np.uint8(1)
        for p in range(first, middle):
            at = columns.cell[p] + k * columns.wide[p] + (launch & 1) * columns.added[p]
            value += cells.values[at]
            known &= cells.known[at]
        for p in range(middle, last):
            at = columns.cell[p] + k * columns.wide[p] + (launch & 1) * columns.added[p]
            cells.values[at] = value
            cells.known[at] = known
            if columns.wide[p] == 2:
                cells.flags[at] = launch + 1
                cells.flags[at + 1] = launch + 1
            else:
                cells.flags[at] = 0
        sound = sound and bool(known > 0)
    return sound


@compiled
def starts(rank: Ints, ranks: int) -> Ints:
    """Return the first threadblock of every rank, and the total."""
    found = np.zeros(ranks + 1, dtype=np.int64)
    for one in rank:
        found[one + 1] += 1
    for one in range(ranks):
        found[one + 1] += found[one]
    return found


ENDED, STUCK, WRONG, LEFT = range(4)
"""How a run in a random order ends."""

PIECES = 3  # most that work is cut into


def _random_work(columns: Columns, runs: Runs, *_: object) -> int:
    elements = int((np.diff(columns.source) * columns.size).sum())
    return runs.launches * (10 * len(columns.kind) + 10 * len(columns.meeting) + 3 * elements)


@tiered(_random_work)
def ran(columns: Columns, runs: Runs, cells: Cells, state: Masks, pieces: int, proxies: int, found: Ints) -> int:
    """Run in a seeded random order; return how it ends.

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
    queue = np.zeros(calls[proxies], dtype=np.int64)  # controls that proxies receive, and in which launch
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
