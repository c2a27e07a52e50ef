"""Plans and memory as compiled inner loops take them, and what runs in any order have in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, Masks, compiled

WAIT, TELL, TRIGGER = 0, 1, 2
"""What a control does: it takes a signal or semaphore, gives one, or tells a proxy to move or give something."""

RELAXED, SIGNALS, FLUSHES = 1, 2, 4
"""Bits of how it does it."""

Clocks = NDArray[np.int32]
Bits = NDArray[np.uint8]


class Columns(NamedTuple):
    """Phases by threadblock, work and lines of controls by phase, and places by work; posts are what is waited for."""

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
    """What callers do: cells that are theirs between launches, the inputs there, and what has to be in them."""

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
    """What is in memory; ``flags`` of packets are their launch and 1."""

    values: Masks
    known: Bits
    flags: Clocks


@compiled
def fill(rank: int, launch: int, runs: Runs, cells: Cells) -> None:
    """Put new numbers into the input; what else is the caller's is nothing to rely on."""
    for i in range(runs.span[rank], runs.span[rank + 1]):
        for at in range(runs.low[i], runs.high[i]):
            cells.known[at] = 0
            cells.flags[at] = 0
    for i in range(runs.given[rank + 1] - runs.given[rank]):
        cells.values[runs.base[rank] + i] = runs.numbers[launch, runs.given[rank] + i]
        cells.known[runs.base[rank] + i] = 1


@compiled
def right(rank: int, launch: int, runs: Runs, cells: Cells) -> bool:
    """Return whether the output of a rank is right after a launch, and its input as it was."""
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
    """Add up some elements of the sources and store the sums in all targets; return whether all were known."""
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
    """Return the first threadblock of every rank, and at last how many there are."""
    found = np.zeros(ranks + 1, dtype=np.int64)
    for one in rank:
        found[one + 1] += 1
    for one in range(ranks):
        found[one + 1] += found[one]
    return found
