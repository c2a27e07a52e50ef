"""The compiled proof of plans without packets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from topodesign.base.compiled import Ints, compiled, tiered
from topodesign.runtime.mscclpp.flat_kernels import (
    FLUSHES,
    RELAXED,
    SIGNALS,
    TELL,
    WAIT,
    Cells,
    Clocks,
    Columns,
    Runs,
    fill,
    move,
    right,
    starts,
)

DATA, OVER = 0, -1


class Marks(NamedTuple):
    """The writer and readers of each cell, with a free list."""

    writer: Ints
    written: Ints
    last: Ints
    before: Ints
    reader: Ints
    read: Ints


@compiled
def _unseen(at: int, actor: int, own: Clocks, ends: Clocks, ranks: int, marks: Marks) -> bool:
    """Return whether a cell's last write is unknown."""
    who, when = marks.writer[at], marks.written[at]
    if who < 0 or own[DATA, who] > when:
        return False
    if who == actor:
        return True
    if who < ranks:
        return bool(own[OVER, who] <= when)
    for end in ends[who]:
        if when < end <= own[OVER, who]:
            return False
    return True


@compiled
def _writes(at: int, actor: int, own: Clocks, ends: Clocks, ranks: int, marks: Marks) -> bool:
    """Write a cell; return whether earlier accesses are over."""
    entry = marks.last[at]
    others = False
    while entry >= 0:
        if own[OVER, marks.reader[entry]] <= marks.read[entry]:
            return False
        others = others or marks.reader[entry] != marks.writer[at]
        after = marks.before[entry]
        marks.before[entry] = marks.last[-1]
        marks.last[-1] = entry
        entry = after
    marks.last[at] = -1
    if not others and _unseen(at, actor, own, ends, ranks, marks):  # who read it saw it, and all reads are over
        return False
    marks.writer[at] = actor
    marks.written[at] = own[DATA, actor]
    return True


@compiled
def _reads(at: int, actor: int, own: Clocks, marks: Marks) -> None:
    """Note that a cell is read."""
    entry = marks.last[at]
    while entry >= 0 and marks.reader[entry] != actor:
        entry = marks.before[entry]
    if entry < 0:
        entry = marks.last[-1]
        marks.last[-1] = marks.before[entry]
        marks.before[entry] = marks.last[at]
        marks.last[at] = entry
        marks.reader[entry] = actor
    marks.read[entry] = own[DATA, actor]


@compiled
def _does(
    columns: Columns,
    one: int,
    actor: int,
    own: Clocks,
    launch: int,
    ends: Clocks,
    ranks: int,
    cells: Cells,
    marks: Marks,
) -> bool:
    """Do work; return whether it is free of races."""
    first, middle, last = columns.source[one], columns.target[one], columns.source[one + 1]
    size = columns.size[one]
    for p in range(first, middle):
        for at in range(columns.cell[p], columns.cell[p] + size):
            if _unseen(at, actor, own, ends, ranks, marks):
                return False
    for p in range(middle, last):
        for other in range(first, p):
            apart = abs(columns.cell[p] - columns.cell[other])
            if apart < size and (apart > 0 or other >= middle):
                return False
        for at in range(columns.cell[p], columns.cell[p] + size):
            if not _writes(at, actor, own, ends, ranks, marks):
                return False
    if not move(columns, one, 0, size, launch, cells) and middle < last:
        return False
    for p in range(first, middle):
        kept = True
        for other in range(middle, last):
            kept = kept and columns.cell[other] != columns.cell[p]
        if kept:
            for at in range(columns.cell[p], columns.cell[p] + size):
                _reads(at, actor, own, marks)
    return True


@compiled
def _learn(own: Clocks, other: Clocks) -> None:
    """Know what another knows."""
    for kind in range(own.shape[0]):
        for i in range(own.shape[1]):
            own[kind, i] = max(own[kind, i], other[kind, i])


@compiled
def _copy(clock: Clocks, to: int, of: int) -> None:
    """Make a row what another is."""
    for kind in range(clock.shape[1]):
        for i in range(clock.shape[2]):
            clock[to, kind, i] = clock[of, kind, i]


def _settle_work(columns: Columns, runs: Runs, *rest: Any) -> int:
    actors: int = rest[2]
    elements = int((np.diff(columns.source) * columns.size).sum())
    return runs.launches * (2 * actors * (len(columns.kind) + len(columns.meeting)) + 5 * elements) // 2


@tiered(_settle_work)
def settled(  # noqa: PLR0911  one run, which ends where anything is odd
    columns: Columns, runs: Runs, cells: Cells, marks: Marks, actors: int, shared: int, planes: int
) -> bool:
    """Return whether all orders are right; False if undecided.

    It does what :mod:`topodesign.runtime.mscclpp.prove` says, of plans without packets. Actors are callers,
    threadblocks and proxies, one after the other; ``clock`` has a row for each, and others for threads and signals.
    So many posts are ``shared``; of two ``planes`` one is of what is known with its data, the other of what is over.
    """
    ranks, blocks, lines = len(runs.base), len(columns.rank), len(columns.control) - 1
    clock = np.zeros((actors + 2 * blocks + 16, planes, actors), dtype=np.int32)
    after = np.full(len(clock), -1, dtype=np.int64)  # of rows, the next in a queue, or that is free
    free, fresh = -1, actors
    ends = np.zeros((actors, runs.launches), dtype=np.int32)
    launch = np.full(ranks, -1, dtype=np.int64)
    left = np.zeros(ranks, dtype=np.int64)
    at = np.zeros(blocks, dtype=np.int64)
    new = np.zeros(blocks, dtype=np.bool_)
    cursor = columns.control[1:].copy()
    row = np.zeros(lines, dtype=np.int64)
    posts = len(columns.free)
    head, tail = np.full(posts, -1, dtype=np.int64), np.zeros(posts, dtype=np.int64)  # of the queue of signals
    posted, taken = np.zeros(posts, dtype=np.int64), np.zeros(posts, dtype=np.int64)
    taker, took = np.full(posts, -1, dtype=np.int64), np.zeros(posts, dtype=np.int64)  # who waited last, and when
    waiter = np.zeros(posts, dtype=np.int64)
    latest = np.zeros((shared, planes, actors), dtype=np.int32)
    gathered = np.zeros(len(columns.meets), dtype=np.int64)
    own_first = starts(columns.rank, ranks)
    most = 0  # rows that a phase takes
    for p in range(len(columns.meeting)):
        here, end = columns.line[p], columns.line[p + 1]
        most = max(most, end - here + columns.control[end] - columns.control[here])
    todo = np.arange(ranks)
    waiting = ranks
    stack = np.zeros(blocks, dtype=np.int64)
    height = 0
    while True:
        while waiting > 0 or height > 0:
            if waiting > 0:
                waiting -= 1
                rank = todo[waiting]
                if launch[rank] >= 0:
                    for b in range(own_first[rank], own_first[rank + 1]):
                        for kind in range(planes):
                            clock[ranks + b, kind, ranks + b] += 1
                        ends[ranks + b, launch[rank]] = clock[ranks + b, DATA, ranks + b]
                    for b in range(own_first[rank], own_first[rank + 1]):
                        _learn(clock[rank], clock[ranks + b])
                    if runs.judged and not right(rank, launch[rank], runs, cells):
                        return False
                launch[rank] += 1
                for i in range(runs.span[rank], runs.span[rank + 1]):
                    for cell in range(runs.low[i], runs.high[i]):
                        if not _writes(cell, rank, clock[rank], ends, ranks, marks):
                            return False
                if launch[rank] == runs.launches:
                    continue
                if launch[rank] > 0:
                    fill(rank, launch[rank], runs, cells)
                for kind in range(planes):
                    clock[rank, kind, rank] += 1
                left[rank] = own_first[rank + 1] - own_first[rank]
                for b in range(own_first[rank], own_first[rank + 1]):
                    _learn(clock[ranks + b], clock[rank])
                    at[b] = columns.phase[b] - 1
                    new[b] = True
                    stack[height] = b
                    height += 1
                continue
            height -= 1
            b = stack[height]
            rank, actor = columns.rank[b], ranks + b
            while True:
                while fresh + most >= len(clock):
                    clock = np.concatenate((clock, np.zeros_like(clock)))
                    after = np.concatenate((after, after))
                if new[b]:
                    at[b] += 1
                    if at[b] == columns.phase[b + 1]:
                        left[rank] -= 1
                        if left[rank] == 0:
                            todo[waiting] = rank
                            waiting += 1
                        break
                    new[b] = False
                    p = at[b]
                    for one in range(columns.work[p], columns.work[p + 1]):
                        if not _does(columns, one, actor, clock[actor], launch[rank], ends, ranks, cells, marks):
                            return False
                    for t in range(columns.line[p], columns.line[p + 1]):
                        cursor[t] = columns.control[t]
                        row[t] = actor  # one alone may have the threadblock's
                        if columns.line[p + 1] - columns.line[p] > 1:
                            row[t] = free if free >= 0 else fresh
                            if free >= 0:
                                free = after[free]
                            else:
                                fresh += 1
                            _copy(clock, row[t], actor)
                    if columns.meeting[p] >= 0:
                        gathered[columns.meeting[p]] += 1
                p = at[b]
                m = columns.meeting[p]
                if m >= 0 and gathered[m] < columns.meets[m]:
                    break
                if m >= 0:  # the last of them has come
                    gathered[m] = 0
                    for other in range(own_first[rank], own_first[rank + 1]):
                        if not new[other] and at[other] < columns.phase[other + 1] and columns.meeting[at[other]] == m:
                            for kind in range(planes):
                                clock[ranks + other, kind, ranks + other] += 1
                            _learn(clock[actor], clock[ranks + other])
                    for other in range(own_first[rank], own_first[rank + 1]):
                        if not new[other] and at[other] < columns.phase[other + 1] and columns.meeting[at[other]] == m:
                            _learn(clock[ranks + other], clock[actor])
                            new[other] = True
                            if other != b:
                                stack[height] = other
                                height += 1
                    continue
                idle = True
                for t in range(columns.line[p], columns.line[p + 1]):
                    while cursor[t] < columns.control[t + 1] and columns.kind[cursor[t]] != WAIT:
                        c = cursor[t]
                        teller = row[t]
                        if columns.proxy[c] >= 0:
                            teller = ranks + blocks + columns.proxy[c]
                            _learn(clock[teller], clock[row[t]])
                            one = columns.job[c]
                            if one >= 0:
                                own = clock[teller]
                                if not _does(columns, one, teller, own, launch[rank], ends, ranks, cells, marks):
                                    return False
                                for kind in range(planes):
                                    own[kind, teller] += 1
                        post = columns.post[c]
                        if post >= 0 and (columns.kind[c] == TELL or columns.mode[c] & SIGNALS):
                            new_row = free if free >= 0 else fresh
                            if free >= 0:
                                free = after[free]
                            else:
                                fresh += 1
                            _copy(clock, new_row, teller)
                            if columns.mode[c] & RELAXED and columns.proxy[c] < 0:
                                for i in range(actors):
                                    clock[new_row, DATA, i] = 0
                            after[new_row] = -1
                            if head[post] >= 0:
                                after[tail[post]] = new_row
                            else:
                                head[post] = new_row
                            tail[post] = new_row
                            posted[post] += 1
                            if columns.shared[post] >= 0:
                                last = columns.shared[post]
                                for kind in range(planes):
                                    for i in range(actors):
                                        if clock[new_row, kind, i] < latest[last, kind, i]:
                                            return False
                                        latest[last, kind, i] = clock[new_row, kind, i]
                        if columns.mode[c] & FLUSHES:
                            _learn(clock[row[t]], clock[teller])
                        cursor[t] += 1
                    idle = idle and cursor[t] == columns.control[t + 1]
                if not idle:
                    break
                for t in range(columns.line[p], columns.line[p + 1]):
                    if row[t] != actor:
                        _learn(clock[actor], clock[row[t]])
                        after[row[t]] = free
                        free = row[t]
                for kind in range(planes):
                    clock[actor, kind, actor] += 1
                new[b] = True
        for post in range(posts):
            waiter[post] = -1
        for b in range(blocks):
            if at[b] < columns.phase[b + 1] and columns.meeting[at[b]] < 0:
                for t in range(columns.line[at[b]], columns.line[at[b] + 1]):
                    c = cursor[t]
                    if c < columns.control[t + 1]:
                        post = columns.post[c]
                        if posted[post] + columns.free[post] > taken[post]:
                            if waiter[post] >= 0:
                                return False
                            waiter[post] = t
        for b in range(blocks):
            if at[b] < columns.phase[b + 1] and columns.meeting[at[b]] < 0:
                passed = False
                for t in range(columns.line[at[b]], columns.line[at[b] + 1]):
                    c = cursor[t]
                    if c < columns.control[t + 1] and waiter[columns.post[c]] == t:
                        post = columns.post[c]
                        own = clock[row[t]]
                        if taker[post] >= 0 and taker[post] != ranks + b and own[OVER, taker[post]] < took[post]:
                            return False
                        taker[post] = ranks + b
                        took[post] = own[OVER, ranks + b]
                        taken[post] += 1
                        if taken[post] > columns.free[post]:
                            got = head[post]
                            head[post] = after[got]
                            for i in range(actors):
                                own[OVER, i] = max(own[OVER, i], clock[got, OVER, i])
                            if planes == 2 and not columns.mode[c] & RELAXED:
                                for i in range(actors):
                                    own[DATA, i] = max(own[DATA, i], clock[got, DATA, i])
                            after[got] = free
                            free = got
                        cursor[t] += 1
                        passed = True
                if passed:
                    stack[height] = b
                    height += 1
        if height == 0:
            break
    for rank in range(ranks):
        if launch[rank] < runs.launches:
            return False
    for post in range(posts):
        if posted[post] != taken[post]:
            return False
    return True
