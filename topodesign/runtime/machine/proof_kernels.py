"""One run with vector clocks that decides all orders of execution, as a compiled inner loop.

**What must happen before what.** Two accesses to a cell, at least one of them a write, race unless one *happens
before* the other: by the phases of a threadblock, or the order of a thread; by what a post is given and the wait that
this ends; by a barrier of threadblocks; by the order of a proxy, and by its flush; by the end of a launch and the start
of the next on the same rank, where the caller uses the buffers in between. Nothing else orders ranks: a rank starts the
next launch whatever others do.

**Two kinds of knowledge.** That something is over may be known without its data being visible: a relaxed signal and a
packet tell the former alone. That is enough to write where something was read. To read what was written, or to write
over it, takes a signal or semaphore with the order of data, the end of the launch that wrote it, or, to write over it,
that another one has read it already. A packet cannot be there before what it was computed from has been read: who has
read all packets that some work wrote to one place knows that the work has read its operands, though other work of the
same phase may go on. For that such work counts as an actor of its own, which reads. And to store in a place the very
packet that is there, with the same flag, changes nothing.

**Single elements.** A clock says of each actor twice the phases, or operations, that are over, and 1 more where of the
next one the element at hand is known alone: what forwards a message while it comes knows of each element, and of the
whole only when it has ended.

**Why one run decides.** A wait for a post that one thread gives and one waits for, passes at once: the m-th takes the
m-th. Other waits pass only when nothing else can move, so that all signals are there that can come before. If several
come in no fixed order, the wait learns what the least of them tells: entry by entry the m-th smallest for the m-th
wait. If several threadblocks wait for one post in no fixed order, that is a finding by itself. So what the run finds
known is known in every order; then all orders see the same data, and one run has the result. Enabled moves commute, so
that all runs that go as far as they can make the same moves (Kahn's determinism, with bounded queues), and one run
tells whether every run ends. Slots of connections block, and tell nothing: a runtime may have more of them.

**Launches.** Two launches in a row decide for any number, since each does what the last did, and what launch n + 2
touches, n + 1 has touched in between; with a double scratch buffer, of which launches use a half in turn, three.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, compile_kernel, inline_kernel, tier_kernel
from topodesign.runtime.machine.column_kernels import (
    AWAITS,
    ENDS,
    FLUSHES,
    MEETS,
    MESSAGE,
    RELAXED,
    RELEASES,
    ROUNDS,
    Bits,
    Cells,
    Clocks,
    Columns,
    Runs,
    fill,
    find_changed_input,
    lacking,
    move,
    starts,
    wrong_goal,
)

DATA, OVER = 0, -1

RACES, CHANCES, UNKNOWNS, WRONGS = range(4)
"""Groups of findings."""

(READS, WRITES, OVERWRITES, UNREAD, ELSEWHERE) = range(5)
"""Races: what reads or writes was written; writes what was read; a packet, or a cell of the same work."""

SEVERAL, UNORDERED, CROWDED = range(3)
"""Chances: waits of which some pass, waits in no order, and a barrier of too many."""


WRITER, WRITTEN, ELEMENT, LAST = range(4)
BEFORE, READER, READ, WHICH = range(4)


class Marks(NamedTuple):
    """Accesses to cells.

    * ``cell``: by cell, the actor that wrote it last, when, which element, and the last of a list of reads since.
    * ``read``: by read, the one before it in its list, the actor, when, and which element.
    """

    cell: NDArray[np.int32]
    read: NDArray[np.int32]
    free: Ints  # the last of the list of unused reads
    teller: NDArray[np.int32]  # of packets, the telling of the work that wrote them
    fresh: Bits  # packets that are not read yet


class Tellings(NamedTuple):
    """Knowledge that packets carry from each write to each read, by element."""

    number: Ints  # how many there are, and the last mark of ``seen``
    work: Ints
    launch: Ints
    actor: Ints
    reader: Ints
    when: Ints
    alone: Ints
    start: Ints  # of its elements in ``seen``, and of those of its first source in ``origin``
    origin_at: Ints
    clock: Clocks
    origin: NDArray[np.int32]
    seen: NDArray[np.int32]
    trail: Ints  # two columns


class FindingTable(NamedTuple):
    """Findings by group, with their number, place, actors and times."""

    rows: Ints
    number: Ints
    log: Ints  # rows of work that was done, from which element to which, and launches that began (``~``): each times
    # all launches, plus its launch; the last row has how many there are


@compile_kernel
def _note(found: FindingTable, group: int, kind: int, one: int, cell: int, actor: int, time: int, more: int) -> None:
    """Keep a finding, unless there are enough of its group."""
    number = found.number[group]
    if number < found.rows.shape[1]:
        row = found.rows[group, number]
        row[0], row[1], row[2], row[3], row[4], row[5] = kind, one, cell, actor, time, more
        row[6] = found.log[-1, 0]
        found.number[group] += 1


@compile_kernel
def _is_unseen(  # noqa: PLR0911  one decision
    marks: Marks, ends: Ints, column: Ints, ranks: int, at: int, actor: int, element: int, own: Clocks
) -> bool:
    """Return whether the last write of a cell is not known with its data."""
    who, when = marks.cell[at, WRITER], marks.cell[at, WRITTEN]
    if who < 0:
        return False
    c = column[who]
    if c < 0:
        return False
    known = own[DATA, c]
    if known > when + 1 or (known == when + 1 and marks.cell[at, ELEMENT] == element):
        return False
    if who == actor:
        return True
    if who < ranks:
        return bool(own[OVER, c] <= when)
    for end in ends[who]:
        if when < end <= own[OVER, c]:
            return False
    return True


@compile_kernel
def _element_at(columns: Columns, one: int, launch: int, cell: int) -> int:
    """Return which element of packets that some work wrote is at a cell."""
    for p in range(columns.target[one], columns.source[one + 1]):
        apart = cell - columns.cell[p] - (launch & 1) * columns.added[p]
        if columns.wide[p] == 2 and 0 <= apart < 2 * columns.size[one]:
            return int(apart // 2)
    return 0


@compile_kernel
def _follows(
    columns: Columns,
    marks: Marks,
    tellings: Tellings,
    column: Ints,
    one: int,
    launch: int,
    element: int,
    reader: int,
    when: int,
    cell: int,
) -> bool:
    """Return whether packets that are read imply that an actor read a cell."""
    if len(tellings.clock) == 0 or one < 0:
        return False
    tellings.number[1] += 1
    mark = tellings.number[1]
    height = 0
    for p in range(columns.source[one], columns.target[one]):
        if columns.wide[p] == 2:
            at = columns.cell[p] + (launch & 1) * columns.added[p] + 2 * element
            t = marks.teller[at]
            if t >= 0:
                tellings.trail[height, 0] = t
                tellings.trail[height, 1] = _element_at(columns, tellings.work[t], tellings.launch[t], at)
                height += 1
    while height > 0:
        height -= 1
        t, k = tellings.trail[height, 0], tellings.trail[height, 1]
        if tellings.seen[tellings.start[t] + k] == mark:
            continue
        tellings.seen[tellings.start[t] + k] = mark
        if tellings.clock[t, column[reader]] > when:
            return True
        other = tellings.work[t]
        mine = tellings.reader[t] == reader and tellings.when[t] == when
        place = tellings.origin_at[t]
        for p in range(columns.source[other], columns.target[other]):
            begin = columns.cell[p] + (tellings.launch[t] & 1) * columns.added[p]
            if mine and cell >= begin and (cell - begin) // columns.wide[p] == k:
                return True
            if columns.wide[p] == 2:
                before = tellings.origin[place + k]
                place += columns.size[other]
                if before >= 0:
                    there = _element_at(columns, tellings.work[before], tellings.launch[before], begin + 2 * k)
                    tellings.trail[height, 0], tellings.trail[height, 1] = before, there
                    height += 1
    return False


@inline_kernel
def _write(
    columns: Columns,
    marks: Marks,
    tellings: Tellings,
    found: FindingTable,
    ends: Ints,
    column: Ints,
    ranks: int,
    one: int,
    launch: int,
    element: int,
    at: int,
    actor: int,
    when: int,
    own: Clocks,
    quiet: bool,
) -> bool:
    """Write a cell; return whether earlier uses of it may still run.

    Work ``one`` does so, or the caller on rank ``~one``.
    """
    which = -1
    if one >= 0 and columns.element[one] >= 0:
        which = columns.element[one] + element
    others, raced = False, quiet
    entry = marks.cell[at, LAST]
    while entry >= 0:
        reader, read = marks.read[entry, READER], marks.read[entry, READ]
        c = column[reader]
        if c >= 0 and not raced:
            known = own[OVER, c]
            over = known > read + 1 or (known == read + 1 and marks.read[entry, WHICH] == which)
            if not over and not _follows(columns, marks, tellings, column, one, launch, element, reader, read, at):
                raced = True
                _note(found, RACES, OVERWRITES, one, at, reader, read, 0)
        others = others or columns.owner[reader] != marks.cell[at, WRITER]
        after = marks.read[entry, BEFORE]
        marks.read[entry, BEFORE] = marks.free[0]
        marks.free[0] = entry
        entry = after
    marks.cell[at, LAST] = -1
    if (
        not others and not raced and _is_unseen(marks, ends, column, ranks, at, actor, which, own)
    ):  # who read it saw it, and reads are over
        raced = True
        writer = marks.cell[at, WRITER]
        known_over = own[OVER, column[writer]] > marks.cell[at, WRITTEN]
        _note(found, RACES, WRITES, one, at, writer, marks.cell[at, WRITTEN], known_over)
    marks.cell[at, WRITER] = actor
    marks.cell[at, WRITTEN] = when
    marks.cell[at, ELEMENT] = which
    return raced


@compile_kernel
def _read(marks: Marks, at: int, reader: int, when: int, element: int) -> None:
    """Note that a cell is read."""
    entry = marks.cell[at, LAST]
    while entry >= 0 and not (marks.read[entry, READER] == reader and marks.read[entry, WHICH] == element):
        entry = marks.read[entry, BEFORE]
    if entry < 0:
        entry = marks.free[0]
        marks.free[0] = marks.read[entry, BEFORE]
        marks.read[entry, BEFORE] = marks.cell[at, LAST]
        marks.cell[at, LAST] = entry
        marks.read[entry, READER] = reader
        marks.read[entry, WHICH] = element
    marks.read[entry, READ] = when


@compile_kernel
def _hear(
    columns: Columns, marks: Marks, tellings: Tellings, column: Ints, one: int, p: int, launch: int, learned: Clocks
) -> None:
    """Learn what packets tell that some work reads at a place: what is over."""
    begin = columns.cell[p] + (launch & 1) * columns.added[p]
    end = begin + 2 * columns.size[one]
    last = -1
    for cell in range(begin, end):
        t = marks.teller[cell]
        if t < 0 or t == last:
            continue
        last = t
        for i in range(len(learned)):
            learned[i] = max(learned[i], tellings.clock[t, i])
        other = tellings.work[t]
        for q in range(columns.target[other], columns.source[other + 1]):
            there = columns.cell[q] + (tellings.launch[t] & 1) * columns.added[q]
            if begin <= there and there + columns.wide[q] * columns.size[other] <= end:  # all of it is read
                actor, reader = column[tellings.actor[t]], column[tellings.reader[t]]
                if tellings.alone[t]:
                    learned[actor] = max(learned[actor], tellings.clock[t, actor] + 2)
                if reader != actor:
                    learned[reader] = max(learned[reader], tellings.clock[t, reader] + 2)


@compile_kernel
def _do(
    columns: Columns, cells: Cells, marks: Marks, tellings: Tellings, found: FindingTable, ends: Ints, column: Ints,
    ranks: int, one: int, low: int, high: int, actor: int, when: int, reader: int, read_at: int, alone: bool,
    own: Clocks, launch: int, learned: Clocks,
) -> None:  # fmt: skip
    """Do some elements of work at a time; note races, learn from packets.

    ``alone``: nothing else is done in this phase, so that with the work the phase is over.
    """
    first, middle, last = columns.source[one], columns.target[one], columns.source[one + 1]
    size, half, marked = high - low, launch & 1, len(marks.cell)
    element = low if columns.element[one] >= 0 else -1
    packets = False
    for p in range(first, middle):
        begin = columns.cell[p] + half * columns.added[p] + low
        if columns.wide[p] == 2:
            packets = True
            _hear(columns, marks, tellings, column, one, p, launch, learned)
        elif begin < marked:
            for k in range(size):
                if _is_unseen(marks, ends, column, ranks, begin + k, actor, element + k if element >= 0 else -1, own):
                    writer, written = marks.cell[begin + k, WRITER], marks.cell[begin + k, WRITTEN]
                    known = own[OVER, column[writer]] > written
                    _note(found, RACES, READS, one, begin + k, writer, written, known)
                    break
    again = packets and middle == first + 1  # whether it stores the packets that its own phase has put there before
    if again:
        begin = columns.cell[first] + half * columns.added[first]
        for cell in range(begin, begin + 2 * size):
            again = again and marks.cell[cell, WRITER] == actor and marks.cell[cell, WRITTEN] == when
    telling = -1
    for p in range(middle, last):
        if columns.wide[p] == 2 and telling < 0:
            telling = tellings.number[0]
            tellings.number[0] += 1
            tellings.work[telling], tellings.launch[telling] = one, launch
            tellings.actor[telling], tellings.reader[telling] = actor, reader
            tellings.when[telling], tellings.alone[telling] = read_at, alone
            tellings.clock[telling] = own[OVER]
            place = tellings.origin_at[telling]
            for q in range(first, middle):
                if columns.wide[q] == 2:
                    begin = columns.cell[q] + half * columns.added[q]
                    for k in range(size):
                        tellings.origin[place + k] = marks.teller[begin + 2 * k]
                    place += size
            if telling + 1 < len(tellings.start):
                tellings.origin_at[telling + 1] = place
                tellings.start[telling + 1] = tellings.start[telling] + size
    for p in range(middle, last):
        wide = columns.wide[p]
        begin = columns.cell[p] + half * columns.added[p] + low
        if begin >= marked or (again and wide == 2 and begin == columns.cell[first] + half * columns.added[first]):
            continue
        quiet, unread = False, False
        for cell in range(begin, begin + wide * size):
            quiet = _write(
                columns,
                marks,
                tellings,
                found,
                ends,
                column,
                ranks,
                one,
                launch,
                low + (cell - begin) // wide,
                cell,
                actor,
                when,
                own,
                quiet,
            )
            unread = unread or (wide == 2 and marks.fresh[cell] > 0 and cells.flags[cell] == launch + 1)
        if unread:
            _note(found, RACES, UNREAD, one, begin, -1, -1, 0)
        for q in range(first, p):
            other = columns.cell[q] + half * columns.added[q] + low
            apart = begin - other
            if -wide * size < apart < columns.wide[q] * size and (apart != 0 or q >= middle):
                _note(found, RACES, ELSEWHERE, one, begin, -1, -1, 0)
                break
    for p in range(first, middle):
        if columns.wide[p] == 2:
            begin = columns.cell[p] + half * columns.added[p]
            marks.fresh[begin : begin + 2 * size] = 0
    unknown = move(columns, one, low, high, launch, cells)
    if 0 <= unknown < marked and middle < last:
        _note(found, UNKNOWNS, 0, one, unknown, -1, -1, 0)
    for p in range(middle, last):
        if columns.wide[p] == 2:
            begin = columns.cell[p] + half * columns.added[p]
            marks.fresh[begin : begin + 2 * size] = 1
            marks.teller[begin : begin + 2 * size] = telling
    for p in range(first, middle):
        begin, wide = columns.cell[p] + half * columns.added[p] + low, columns.wide[p]
        kept = begin < marked
        for q in range(middle, last):
            kept = kept and not (begin == columns.cell[q] + half * columns.added[q] + low and wide == columns.wide[q])
        if kept:
            for i in range(wide * size):
                _read(marks, begin + i, reader, read_at, element + i // wide if element >= 0 else -1)
    row = found.log[found.log[-1, 0]]
    row[0], row[1], row[2] = one * ends.shape[1] + launch, low, high
    found.log[-1, 0] += 1


@compile_kernel
def _learn(own: Clocks, other: Clocks) -> None:
    """Know what another knows."""
    for kind in range(own.shape[0]):
        for i in range(own.shape[1]):
            own[kind, i] = max(own[kind, i], other[kind, i])


@compile_kernel
def _copy(clock: Clocks, to: int, of: int) -> None:
    """Make a row what another is."""
    for kind in range(clock.shape[1]):
        for i in range(clock.shape[2]):
            clock[to, kind, i] = clock[of, kind, i]


@compile_kernel
def _has(column: Ints, own: Clocks, actor: int, time: int) -> None:
    """Know of an actor that it has come so far."""
    c = column[actor]
    if c >= 0:
        for kind in range(own.shape[0]):
            own[kind, c] = max(own[kind, c], time)


@inline_kernel
def _end(columns: Columns, c: int, column: Ints, own: Clocks, actor: int) -> None:
    """Know that what a control does is over, where its threads meet."""
    mode = columns.mode[c]
    if mode & ROUNDS:
        for kind in range(own.shape[0]):
            for i in range(own.shape[1]):
                own[kind, i] += own[kind, i] & 1
    if mode & ENDS:
        _has(column, own, actor, columns.time[c] + 2)


@inline_kernel
def _sleep(line: int, post: int, sleeper: Ints, following: Ints, asleep_at: Ints) -> None:
    """Let a line wait for an eager post."""
    if asleep_at[line] != post:
        asleep_at[line] = post
        following[line] = sleeper[post]
        sleeper[post] = line


@inline_kernel
def _wake(
    post: int,
    sleeper: Ints,
    following: Ints,
    asleep_at: Ints,
    block_of: Ints,
    ready: NDArray[np.bool_],
    stack: Ints,
    height: Ints,
) -> None:
    """Let threadblocks go on next that wait for an eager post, unless they would anyway."""
    line = sleeper[post]
    sleeper[post] = -1
    while line >= 0:
        asleep_at[line] = -1
        b = block_of[line]
        if not ready[b]:
            ready[b] = True
            stack[height[0]] = b
            height[0] += 1
        line = following[line]


@inline_kernel
def _wake_readers(
    columns: Columns,
    one: int,
    launch: int,
    sleeping: Ints,
    following: Ints,
    asleep: NDArray[np.bool_],
    block_of: Ints,
    ready: NDArray[np.bool_],
) -> bool:
    """Let works go on that lacked packets which a work writes; return whether there are any."""
    found = False
    for q in range(columns.target[one], columns.source[one + 1]):
        if columns.wide[q] == 2:
            begin = columns.cell[q] + (launch & 1) * columns.added[q]
            for cell in range(begin, begin + 2 * columns.size[one]):
                woken = sleeping[cell]
                sleeping[cell] = -1
                while woken >= 0:
                    asleep[woken] = False
                    ready[block_of[woken]] = True
                    found = True
                    woken = following[woken]
    return found


@compile_kernel
def _least(rows: Ints, number: int, count: int, clock: Clocks, to: int) -> None:
    """Make a row entry by entry the smallest of some rows, or that with a number in their order."""
    line = np.zeros(count, dtype=np.int64)
    for kind in range(clock.shape[1]):
        for i in range(clock.shape[2]):
            for x in range(count):
                line[x] = clock[rows[x], kind, i]
            line.sort()
            clock[to, kind, i] = line[number]


def _proof_work(columns: Columns, runs: Runs, *rest: Any) -> int:
    clock: Clocks = rest[3]
    elements = int((np.diff(columns.source) * columns.size).sum())
    rows: int = len(columns.wait) + len(columns.meeting)
    return int(runs.launches * (2 * clock.shape[1] * clock.shape[2] * rows + 5 * elements) // 2)


@tier_kernel(_proof_work)
def run_with_clocks(
    columns: Columns,
    runs: Runs,
    cells: Cells,
    marks: Marks,
    tellings: Tellings,
    clock: Clocks,
    column: Ints,
    found: FindingTable,
    piece: int,
    at: Ints,
    cursor: Ints,
    left: Ints,
) -> int:
    """Run once, and note what is not right in every order; return the longest chain of messages.

    Rows of ``clock`` (rows, planes, columns) are those of callers, threadblocks and proxies, one after the other, and
    others of threads and signals; of two planes one is of what is known with its data, the other of what is over.
    Work of lines is cut into pieces of ``piece`` elements.
    ``at`` and ``cursor`` become the phase of each threadblock and the control of each line in the end, ``left`` the
    signals of each post that nobody waited for.
    """
    ranks, blocks, lines, posts = len(runs.base), len(columns.rank), len(columns.control) - 1, len(columns.free)
    actors, planes, width = len(column), clock.shape[1], clock.shape[2]
    movers = len(clock)
    packets = len(tellings.clock) > 0
    ends = np.zeros((actors, runs.launches), dtype=np.int64)
    after = np.full(movers, -1, dtype=np.int64)  # of rows, the next in a queue, or that is free
    length = np.zeros(movers, dtype=np.int64)  # the longest chain of messages that ends there
    free, fresh = -1, movers
    now = np.zeros(actors, dtype=np.int64)
    learned = np.zeros((movers if packets else 1, width), dtype=clock.dtype)  # from packets
    launch = np.full(ranks, -1, dtype=np.int64)
    over = np.zeros(ranks, dtype=np.int64)  # threadblocks
    new = np.zeros(blocks, dtype=np.bool_)
    ready = np.ones(blocks, dtype=np.bool_)
    row = np.zeros(lines, dtype=np.int64)
    moved = np.zeros(lines, dtype=np.int64)  # elements of the control at hand
    did = np.zeros(columns.work[-1], dtype=np.bool_)
    sleeping = np.full(len(cells.values) if packets else 0, -1, dtype=np.int64)  # work that waits first for a packet
    following = np.full(columns.work[-1], -1, dtype=np.int64)
    asleep = np.zeros(columns.work[-1], dtype=np.bool_)
    block_of = np.zeros(columns.work[-1] if packets else 0, dtype=np.int64)
    if packets:
        for b in range(blocks):
            block_of[columns.work[columns.phase[b]] : columns.work[columns.phase[b + 1]]] = b
    head, tail = np.full(posts, -1, dtype=np.int64), np.full(posts, -1, dtype=np.int64)  # of what has come
    start, behind = np.full(posts, -1, dtype=np.int64), np.zeros(posts, dtype=np.int64)  # all rows, and before head
    rising = np.ones(posts, dtype=np.bool_)  # whether each knew all that the one before it knew
    posted, taken = np.zeros(posts, dtype=np.int64), np.zeros(posts, dtype=np.int64)
    sleeper = np.full(posts, -1, dtype=np.int64)  # the line that waits last for an eager post
    stack, height = np.zeros(blocks + 1, dtype=np.int64), np.zeros(1, dtype=np.int64)  # threadblocks to go on next
    asleep_at = np.full(lines, -1, dtype=np.int64)  # the post of every line that waits for one
    taker, took = np.full(posts, -1, dtype=np.int64), np.zeros(posts, dtype=np.int64)  # who waited last, and when
    first_wait, last_wait = np.full(posts, -1, dtype=np.int64), np.full(posts, -1, dtype=np.int64)
    next_wait = np.full(lines, -1, dtype=np.int64)
    block_of_line = np.zeros(lines, dtype=np.int64)
    for b in range(blocks):
        block_of_line[columns.line[columns.phase[b]] : columns.line[columns.phase[b + 1]]] = b
    own_first = starts(columns.rank, ranks)
    for rank in range(ranks):
        over[rank] = -1
    begun = 0
    while True:
        moving = True
        while moving:
            moving = False
            for first in range(blocks):
                if not ready[first] or begun == 0:
                    continue
                stack[0], height[0] = first, 1
                while height[0] > 0:
                    height[0] -= 1
                    b = stack[height[0]]
                    ready[b] = False
                    rank, actor = columns.rank[b], ranks + b
                    while at[b] < columns.phase[b + 1]:
                        p = at[b]
                        if new[b]:
                            new[b] = False
                            several = columns.line[p + 1] - columns.line[p] > 1
                            for t in range(columns.line[p], columns.line[p + 1]):
                                cursor[t] = columns.control[t]
                                row[t] = actor  # one alone may have the threadblock's
                                if several:
                                    if free < 0 and fresh == len(clock):
                                        clock = np.concatenate((clock, np.zeros_like(clock)))
                                        after, length = np.concatenate((after, after)), np.concatenate((length, length))
                                    row[t] = free if free >= 0 else fresh
                                    if free >= 0:
                                        free = after[free]
                                    else:
                                        fresh += 1
                                    _copy(clock, row[t], actor)
                                    length[row[t]] = length[actor]
                        if columns.meeting[p] >= 0:
                            break
                        idle = True
                        works = columns.work[p + 1] - columns.work[p]
                        for one in range(columns.work[p], columns.work[p + 1]):
                            if did[one]:
                                continue
                            idle = idle and not asleep[one]
                            if asleep[one]:
                                continue
                            if packets:
                                lacks = lacking(columns, one, 0, columns.size[one], launch[rank], cells)
                                if lacks >= 0:
                                    following[one] = sleeping[lacks]
                                    sleeping[lacks] = one
                                    asleep[one] = True
                                    idle = False
                                    continue
                            reader = columns.reader[one] if columns.reader[one] >= 0 else actor
                            own = clock[actor]
                            _do(
                                columns, cells, marks, tellings, found, ends, column, ranks, one, 0, columns.size[one],
                                actor, now[actor], reader, now[reader], works == 1, own, launch[rank],
                                learned[actor if packets else 0],
                            )  # fmt: skip
                            did[one] = True
                            if packets and _wake_readers(
                                columns, one, launch[rank], sleeping, following, asleep, block_of, ready
                            ):
                                moving = True
                        for t in range(columns.line[p], columns.line[p + 1]):
                            while cursor[t] < columns.control[t + 1]:
                                c = cursor[t]
                                wait = columns.wait[c]
                                mode = columns.mode[c]
                                mine = row[t]
                                if wait >= 0:
                                    if not columns.eager[wait]:
                                        break
                                    if posted[wait] + columns.free[wait] <= taken[wait]:
                                        _sleep(t, wait, sleeper, next_wait, asleep_at)
                                        break
                                room, low = columns.room[c], moved[t]
                                one = columns.job[c]
                                pieces = 1 if one < 0 else -(-(columns.size[one] - low) // piece)
                                if wait >= 0 and not mode & AWAITS:
                                    pieces = min(pieces, posted[wait] + columns.free[wait] - taken[wait])
                                if room >= 0:
                                    if posted[room] + columns.free[room] <= taken[room]:
                                        _sleep(t, room, sleeper, next_wait, asleep_at)
                                        break
                                    pieces = min(pieces, posted[room] + columns.free[room] - taken[room])
                                    taken[room] += pieces
                                if wait >= 0:
                                    if not mode & AWAITS:
                                        taken[wait] += pieces
                                    if low == 0 and (
                                        mode & AWAITS or taken[wait] - pieces >= columns.free[wait]
                                        # all pieces tell the same
                                    ):
                                        got = head[wait]
                                        own = clock[mine]
                                        there = clock[got]
                                        for i in range(width):
                                            own[OVER, i] = max(own[OVER, i], there[OVER, i])
                                        if planes == 2 and not mode & RELAXED:
                                            for i in range(width):
                                                own[DATA, i] = max(own[DATA, i], there[DATA, i])
                                        length[mine] = max(length[mine], length[got])
                                        behind[wait] += 1
                                        if not mode & AWAITS or behind[wait] == columns.many[wait]:
                                            head[wait] = after[got]
                                            after[got] = free
                                            free = got
                                if mode & MEETS:
                                    _has(column, clock[mine], actor, columns.time[c])
                                teller = mine
                                doer = actor
                                if columns.proxy[c] >= 0:
                                    doer = ranks + blocks + columns.proxy[c]
                                    teller = doer
                                    _learn(clock[teller], clock[mine])
                                high = 0
                                if one >= 0:
                                    high = min(low + pieces * piece, columns.size[one])
                                    when = columns.time[c] if columns.time[c] >= 0 else now[doer]
                                    own = clock[teller]
                                    pending = learned[teller if packets else 0]
                                    _do(
                                        columns,
                                        cells,
                                        marks,
                                        tellings,
                                        found,
                                        ends,
                                        column,
                                        ranks,
                                        one,
                                        low,
                                        high,
                                        doer,
                                        when,
                                        doer,
                                        when,
                                        True,
                                        own,
                                        launch[rank],
                                        pending,
                                    )
                                    if doer == teller and doer >= ranks + blocks:
                                        if packets:
                                            for i in range(width):
                                                own[OVER, i] = max(own[OVER, i], pending[i])
                                        now[doer] += 2
                                        _has(column, own, doer, now[doer])
                                    if packets and _wake_readers(
                                        columns, one, launch[rank], sleeping, following, asleep, block_of, ready
                                    ):
                                        moving = True
                                ended = one < 0 or high == columns.size[one]
                                if ended:
                                    if mode & FLUSHES:
                                        _learn(clock[mine], clock[teller])
                                    if mode & AWAITS:
                                        taken[wait] += 1
                                post = columns.tell[c]
                                if mode & RELEASES and not ended:
                                    post = -1
                                elif mode & RELEASES:
                                    _end(columns, c, column, clock[mine], actor)
                                if post >= 0:
                                    posted[post] += columns.many[post] if mode & RELEASES else pieces
                                    if low == 0 or mode & RELEASES:
                                        if free < 0 and fresh == len(clock):
                                            clock = np.concatenate((clock, np.zeros_like(clock)))
                                            after = np.concatenate((after, after))
                                            length = np.concatenate((length, length))
                                        told = free if free >= 0 else fresh
                                        if free >= 0:
                                            free = after[free]
                                        else:
                                            fresh += 1
                                        _copy(clock, told, teller)
                                        length[told] = length[teller]
                                        if mode & MESSAGE:
                                            length[told] += 1
                                            _has(column, clock[told], actor, columns.time[c] + 1)
                                        if mode & RELAXED and columns.proxy[c] < 0:
                                            clock[told, DATA] = 0
                                        after[told] = -1
                                        if columns.several[post] and tail[post] >= 0 and rising[post]:
                                            last = clock[tail[post]]
                                            fresher = clock[told]
                                            for kind in range(planes):
                                                for i in range(width):
                                                    if fresher[kind, i] < last[kind, i]:
                                                        rising[post] = False
                                        if head[post] >= 0:
                                            after[tail[post]] = told
                                        else:
                                            head[post] = told
                                        if start[post] < 0:
                                            start[post] = told
                                        tail[post] = told
                                    if columns.eager[post] and sleeper[post] >= 0:
                                        _wake(post, sleeper, next_wait, asleep_at, block_of_line, ready, stack, height)
                                back = columns.back[c]
                                if back >= 0:
                                    posted[back] += pieces
                                    if sleeper[back] >= 0:
                                        _wake(back, sleeper, next_wait, asleep_at, block_of_line, ready, stack, height)
                                if not ended:
                                    moved[t] = high
                                    continue
                                moved[t] = 0
                                _end(columns, c, column, clock[mine], actor)
                                cursor[t] += 1
                            idle = idle and cursor[t] == columns.control[t + 1]
                        if not idle:
                            break
                        for t in range(columns.line[p], columns.line[p + 1]):
                            if row[t] != actor:
                                _learn(clock[actor], clock[row[t]])
                                length[actor] = max(length[actor], length[row[t]])
                                after[row[t]] = free
                                free = row[t]
                        if packets:
                            own = clock[actor]
                            for i in range(width):
                                own[OVER, i] = max(own[OVER, i], learned[actor, i])
                                learned[actor, i] = 0
                        now[actor] += 2
                        _has(column, clock[actor], actor, now[actor])
                        for one in range(columns.work[p], columns.work[p + 1]):
                            did[one] = False
                            if columns.reader[one] >= 0:
                                now[columns.reader[one]] += 2
                                _has(column, clock[actor], columns.reader[one], now[columns.reader[one]])
                        at[b] += 1
                        new[b] = True
                    if at[b] == columns.phase[b + 1]:
                        over[rank] += 1
            for rank in range(ranks):
                if launch[rank] == runs.launches or (begun and over[rank] < own_first[rank + 1] - own_first[rank]):
                    continue
                moving = True
                if launch[rank] >= 0:
                    for b in range(own_first[rank], own_first[rank + 1]):
                        actor = ranks + b
                        now[actor] += 2
                        _has(column, clock[actor], actor, now[actor])
                        ends[actor, launch[rank]] = now[actor]
                    for b in range(own_first[rank], own_first[rank + 1]):
                        _learn(clock[rank], clock[ranks + b])
                    goal = runs.goal[rank]
                    while runs.judged and goal >= 0:
                        goal = wrong_goal(rank, launch[rank], goal, runs, cells)
                        if goal >= 0:
                            _note(found, WRONGS, 0, rank, goal, -1, launch[rank], 0)
                            goal = goal + 1 if found.number[WRONGS] < found.rows.shape[1] else -1
                    if runs.judged:
                        changed = find_changed_input(rank, launch[rank], runs, cells)
                        if changed >= 0:
                            _note(found, WRONGS, 1, rank, changed, -1, launch[rank], 0)
                launch[rank] += 1
                for i in range(runs.span[rank], runs.span[rank + 1]):
                    quiet = False
                    for cell in range(runs.low[i], runs.high[i]):
                        quiet = _write(
                            columns,
                            marks,
                            tellings,
                            found,
                            ends,
                            column,
                            ranks,
                            ~rank,
                            0,
                            0,
                            cell,
                            rank,
                            now[rank],
                            clock[rank],
                            quiet,
                        )
                if launch[rank] == runs.launches:
                    continue
                found.log[found.log[-1, 0], 0] = ~(rank * runs.launches + launch[rank])
                found.log[-1, 0] += 1
                if launch[rank] > 0:
                    fill(rank, launch[rank], runs, cells)
                now[rank] += 2
                _has(column, clock[rank], rank, now[rank])
                over[rank] = 0
                for b in range(own_first[rank], own_first[rank + 1]):
                    _learn(clock[ranks + b], clock[rank])
                    at[b] = columns.phase[b]
                    new[b] = True
                    ready[b] = True
            begun = 1
        passed = False
        for b in range(blocks):
            if at[b] == columns.phase[b + 1]:
                continue
            p = at[b]
            for t in range(columns.line[p], columns.line[p + 1]):
                if cursor[t] < columns.control[t + 1]:
                    post = columns.wait[cursor[t]]
                    if not columns.eager[post]:
                        next_wait[t] = -1
                        if first_wait[post] < 0:
                            first_wait[post] = t
                        else:
                            next_wait[last_wait[post]] = t
                        last_wait[post] = t
        for post in range(posts):
            t = first_wait[post]
            first_wait[post] = -1
            ready_for = posted[post] + columns.free[post] - taken[post]
            if t < 0 or ready_for <= 0:
                continue
            passed = True
            number = taken[post] - columns.free[post]
            known = -1
            if number >= 0:
                while behind[post] < number:
                    got = head[post]
                    head[post] = after[got]
                    behind[post] += 1
                    if not columns.several[post]:
                        after[got] = free
                        free = got
                known = head[post]
                if columns.several[post] and not rising[post]:
                    if free < 0 and fresh == len(clock):
                        clock = np.concatenate((clock, np.zeros_like(clock)))
                        after, length = np.concatenate((after, after)), np.concatenate((length, length))
                    known = free if free >= 0 else fresh
                    if free >= 0:
                        free = after[free]
                    else:
                        fresh += 1
                    rows = np.zeros(posted[post], dtype=np.int64)
                    got = start[post]
                    for x in range(posted[post]):
                        rows[x] = got
                        got = after[got]
                    _least(rows, number, posted[post], clock, known)
            count = 0
            line = t
            while line >= 0:
                count += 1
                line = next_wait[line]
            if ready_for < count:
                _note(found, CHANCES, SEVERAL, cursor[t], post, -1, -1, count)
            while t >= 0 and ready_for > 0:
                b = block_of_line[t]
                c = cursor[t]
                own = clock[row[t]]
                before = taker[post]
                if before >= 0 and before != ranks + b and own[OVER, column[before]] < took[post]:
                    _note(found, CHANCES, UNORDERED, c, post, before, took[post], 0)
                taker[post] = ranks + b
                took[post] = now[ranks + b]
                taken[post] += 1
                if known >= 0:
                    other_clock = clock[known]
                    for i in range(width):
                        own[OVER, i] = max(own[OVER, i], other_clock[OVER, i])
                    if planes == 2 and not columns.mode[c] & RELAXED:
                        for i in range(width):
                            own[DATA, i] = max(own[DATA, i], other_clock[DATA, i])
                cursor[t] += 1
                ready[b] = True
                ready_for -= 1
                t = next_wait[t]
            if known >= 0 and known != head[post]:
                after[known] = free
                free = known
        for first in range(blocks):
            p = at[first]
            if p == columns.phase[first + 1] or new[first] or columns.meeting[p] < 0:
                continue
            m, rank = columns.meeting[p], columns.rank[first]
            count, size, largest = 0, columns.meets[p], 0
            for b in range(own_first[rank], own_first[rank + 1]):
                if at[b] < columns.phase[b + 1] and not new[b] and columns.meeting[at[b]] == m:
                    size, largest = min(size, columns.meets[at[b]]), max(largest, columns.meets[at[b]])
                    count += 1
            if count < size:
                continue
            passed = True
            if count > size or largest > size:
                _note(found, CHANCES, CROWDED, p, count, -1, -1, size)
            for b in range(own_first[rank], own_first[rank + 1]):
                if at[b] < columns.phase[b + 1] and not new[b] and columns.meeting[at[b]] == m:
                    now[ranks + b] += 2
                    _has(column, clock[ranks + b], ranks + b, now[ranks + b])
                    _learn(clock[ranks + first], clock[ranks + b])
            for b in range(own_first[rank], own_first[rank + 1]):
                if at[b] < columns.phase[b + 1] and not new[b] and columns.meeting[at[b]] == m:
                    _learn(clock[ranks + b], clock[ranks + first])
                    at[b] += 1
                    new[b] = True
                    ready[b] = True
        if not passed:
            break
    longest = 0
    for actor in range(movers):
        longest = max(longest, length[actor])
    for post in range(posts):
        left[post] = posted[post] - taken[post]
    return longest
