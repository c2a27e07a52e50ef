"""Programs and memory of the machine as compiled inner loops use them.

A program has *threadblocks*, each of which executes *phases* in order. In a phase, *work* is done by all threads in no
fixed order, and each *line* of controls by one thread in order. A *control* waits for a *post*, does work of its own,
and gives something to a post; a proxy may do the last two for the thread. A post is a semaphore: it counts what it is
given, and lets as many waits pass, besides those that are free at first. A connection with k slots is two of them:
messages that have come, and slots, of which k are free. Work of a line may be cut into *pieces*, each of which waits
and gives: what one control does is then done piece by piece.

All work has one form: elements of some places are added up, and stored in other places.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, Masks, compile_kernel, inline_kernel

RELAXED, FLUSHES, MESSAGE, MEETS, ROUNDS, ENDS, AWAITS, RELEASES = 1, 2, 4, 8, 16, 32, 64, 128
"""Bits of controls: a signal that shows no data; the thread waits for its proxy; what is given is a message, of which
each element is known alone; all threads meet before; what was known of single elements is known of all after; the
threads meet after; it waits once, and not for each piece; it gives once, when all of it is done."""

Clocks = NDArray[np.signedinteger]
Bits = NDArray[np.uint8]


class Columns(NamedTuple):
    """Phases by threadblock, work and lines by phase, controls by line, and places by work."""

    rank: Ints  # of every threadblock
    phase: Ints  # its first phase, and at last how many there are
    work: Ints  # of every phase the first work; that of controls is behind all
    line: Ints  # and the first line
    meeting: Ints  # the number of the barrier, -1 for none, and how many threadblocks come
    meets: Ints
    control: Ints  # the first control of every line
    wait: Ints  # of every control the post that it waits for, -1 for none
    job: Ints  # what it moves, -1 for nothing
    tell: Ints  # the post that it gives something to, -1 for none
    room: Ints  # the post of slots that it waits for, too, and that of slots that it gives back; -1 for none
    back: Ints
    proxy: Ints  # who moves and gives, -1 for the thread
    mode: Ints
    time: Ints  # twice the operations before it, -1 where phases are counted
    source: Ints  # of all work the first source, and the first target
    target: Ints
    size: Ints  # elements
    element: Ints  # 0 where each element may be known alone, else -1
    reader: Ints  # the actor that reads, where that is none of a threadblock or proxy; else -1
    cell: Ints  # of every place the first cell, what is added to it in every other launch, and cells of an element
    added: Ints
    wide: Ints
    free: Ints  # of every post how many waits pass at first
    silent: Ints  # whether a wait tells nothing
    eager: Ints  # whether one thread gives and one waits, so that waits pass at once
    several: Ints  # whether several give
    many: Ints  # how many waits what is given once lets pass
    owner: Ints  # of every actor (callers, threadblocks, proxies, and work that reads for itself) the one that works


_NARROW = frozenset(
    {"wait", "job", "tell", "room", "back", "proxy", "mode", "time", "source", "target", "size", "element"}
    | {"cell", "added", "wide"}
)
"""Columns of controls, work and places, which are the longest."""


def make_columns(**columns: Any) -> Columns:
    """Return columns, of which the longest are half as wide.

    All are contiguous, however short, so that the kernels are compiled for one form.
    """
    made: dict[str, Any] = {
        name: np.array(row, dtype=np.int32 if name in _NARROW else np.int64) for name, row in columns.items()
    }
    return Columns(**made)


class Runs(NamedTuple):
    """Launches of callers: their cells, inputs, and wanted contents."""

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
    """Cells of memory; the flag of a packet is its launch plus 1."""

    values: Masks
    known: Bits
    flags: NDArray[np.int32]


@compile_kernel
def fill(rank: int, launch: int, runs: Runs, cells: Cells) -> None:
    """Put new numbers into the input; what else is the caller's is nothing to rely on."""
    for i in range(runs.span[rank], runs.span[rank + 1]):
        for at in range(runs.low[i], runs.high[i]):
            cells.known[at] = 0
            if len(cells.flags) > 0:
                cells.flags[at] = 0
    for i in range(runs.given[rank + 1] - runs.given[rank]):
        cells.values[runs.base[rank] + i] = runs.numbers[launch, runs.given[rank] + i]
        cells.known[runs.base[rank] + i] = 1


@compile_kernel
def wrong_goal(rank: int, launch: int, first: int, runs: Runs, cells: Cells) -> int:
    """Return the first goal not reached after a launch; -1 if all are."""
    for i in range(first, runs.goal[rank + 1]):
        at = runs.goal_cell[i]
        if cells.known[at] == 0 or cells.values[at] != runs.numbers[launch, runs.goal_number[i]]:
            return i
    return -1


@compile_kernel
def find_changed_input(rank: int, launch: int, runs: Runs, cells: Cells) -> int:
    """Return the first changed cell of a fixed input; -1 if none is."""
    if runs.kept:
        for i in range(runs.given[rank + 1] - runs.given[rank]):
            if cells.values[runs.base[rank] + i] != runs.numbers[launch, runs.given[rank] + i]:
                return int(runs.base[rank] + i)
    return -1


@inline_kernel
def move(columns: Columns, one: int, low: int, high: int, launch: int, cells: Cells) -> int:
    """Add sources and store the sums; return an unwritten source, or -1."""
    unknown = -1
    packets = len(cells.flags) > 0
    first, middle, last = columns.source[one], columns.target[one], columns.source[one + 1]
    if not packets:
        half = launch & 1
        for k in range(low, high):
            value = np.uint64(0)
            known = np.uint8(1)
            for p in range(first, middle):
                at = columns.cell[p] + half * columns.added[p] + k
                value += cells.values[at]
                if cells.known[at] == 0:
                    known = np.uint8(0)
                    unknown = at if unknown < 0 else unknown
            for p in range(middle, last):
                at = columns.cell[p] + half * columns.added[p] + k
                cells.values[at] = value
                cells.known[at] = known
        return unknown
    for k in range(low, high):
        value = np.uint64(0)
        known = np.uint8(1)
        for p in range(first, middle):
            at = columns.cell[p] + k * columns.wide[p] + (launch & 1) * columns.added[p]
            value += cells.values[at]
            if cells.known[at] == 0 or (packets and columns.wide[p] == 1 and cells.flags[at] != 0):
                known = np.uint8(0)
                unknown = at if unknown < 0 else unknown
        for p in range(middle, last):
            at = columns.cell[p] + k * columns.wide[p] + (launch & 1) * columns.added[p]
            cells.values[at] = value
            cells.known[at] = known
            if columns.wide[p] == 2:
                cells.flags[at] = launch + 1
                cells.flags[at + 1] = launch + 1
            elif packets:
                cells.flags[at] = 0
    return unknown


@compile_kernel
def lacking(columns: Columns, one: int, low: int, high: int, launch: int, cells: Cells) -> int:
    """Return the first missing packet cell that some work reads; -1 if none."""
    for p in range(columns.source[one], columns.target[one]):
        if columns.wide[p] == 2:
            begin = columns.cell[p] + (launch & 1) * columns.added[p]
            for cell in range(begin + 2 * low, begin + 2 * high):
                if cells.flags[cell] != launch + 1:
                    return int(cell)
    return -1


@compile_kernel
def starts(rank: Ints, ranks: int) -> Ints:
    """Return the first threadblock of every rank, and at last how many there are."""
    found = np.zeros(ranks + 1, dtype=np.int64)
    for one in rank:
        found[one + 1] += 1
    for one in range(ranks):
        found[one + 1] += found[one]
    return found
