"""The clock: each send as soon as its data and link are there.

A plan says in which order a link takes its messages, and which delivery a send waits for: of a copy the first one that
the plan has at the sender, of a partial sum all since the sender sent the one before. A message is all that a link
begins and ends together. It starts when

* its link is free of the message before,
* its data are there, and
* what it goes on with, if a switch passes it on, has begun to arrive, the latency of a link after it was sent.

Rounds and timed sends differ in the instants of the plan alone: numbers of steps, or ticks. Times are exact: 64-bit
integers, or numbers of any size where these do not fit.

Blocks are cut wherever a piece of them ends. A *cell* is a node and such a part of a block, all units of which fare
alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import distinct, ranges, stable_order
from topodesign.base.compiled import LARGEST
from topodesign.base.errors import InfeasibleError, ScheduleError, TooLargeError
from topodesign.plans.build import build_steps
from topodesign.plans.flow import Flow
from topodesign.plans.time.clock_kernels import (
    ADDS,
    COPIES,
    SUMS,
    Flags,
    Numbers,
    Order,
    Spans,
    Times,
    Uses,
    come_alone,
    run_uses,
)
from topodesign.topology.topology import IntArray

_DENSE = 2**22  # cells that are numbered without looking which are used
_MAX_CELLS = 2**28


@dataclass(frozen=True, eq=False)
class Cells:
    """The data cells that sends read and write, ``count`` each."""

    sent: Numbers
    received: Numbers
    count: Numbers
    takes: NDArray[np.int8]  # ADDS, SUMS, COPIES or 0
    number: int  # of all cells
    # segments: where the block of each piece is cut. Those of a block follow one another; the last has no units
    block: IntArray  # of every segment
    real: Flags  # whether it has units
    used: IntArray | None  # the cells ``node * segments + segment`` that have numbers, ascending; None if all have

    def find(self, node: IntArray, segment: IntArray) -> IntArray:
        """Return cell numbers, -1 for those that no send touches."""
        key = node * len(self.block) + segment
        if self.used is None or not len(self.used):
            return key if self.used is None else np.full(len(key), -1)
        at = np.minimum(np.searchsorted(self.used, key), len(self.used) - 1)
        return np.where(self.used[at] == key, at, -1)


def find_cells(flow: Flow) -> Cells:
    """Return the cells of the sends of an unfolded flow."""
    if flow.fold is not None:
        raise ScheduleError("a folded flow has no sends of all blocks; unfold it")
    left, right, block, real = _cut_blocks(flow)
    piece, segments = flow.piece, len(block)
    count: Numbers = (right - left).astype(np.int32)[piece]
    number, used, total = flow.topology.nodes * segments, None, int(count.sum())
    if total > _MAX_CELLS:
        raise TooLargeError(f"{len(flow)} sends of {segments} pieces are too many to time; use fewer units")
    if number <= min(max(_DENSE, 8 * total), 2**31 - 1):
        near: Numbers = left.astype(np.int32)[piece]
        sent, received = (side.astype(np.int32) * np.int32(segments) + near for side in (flow.src, flow.dst))
    else:
        of, at = ranges(0, count)
        begins = [side * np.int64(segments) + left[piece] for side in (flow.src, flow.dst)]
        used = distinct(np.concatenate([begin[of] + at for begin in begins]))
        sent, received = (np.searchsorted(used, begin).astype(np.int32) for begin in begins)
        number = len(used)
    takes = np.zeros(len(flow), dtype=np.int8)
    sums = False
    for part, movement in enumerate(flow.movements):
        own = slice(None) if len(flow.movements) == 1 else np.flatnonzero(flow.part == part)
        if movement.adds:
            takes[own], sums = ADDS, True
        else:
            source = flow.collective.places(movement, flow.block, flow.topology.nodes)[0]
            takes[own] = np.where(source[piece[own]] == flow.src[own], SUMS if sums else 0, COPIES)
    return Cells(sent, received, count, takes, number, block, real, used)


def _cut_blocks(flow: Flow) -> tuple[IntArray, IntArray, IntArray, Flags]:
    """Return segments of pieces, and each segment's block.

    Every block of the collective has at least one segment.
    """
    own = np.zeros(flow.collective.block_count(flow.topology.nodes), dtype=np.bool_)
    own[flow.blocks] = own[flow.block] = True
    blocks, place = np.flatnonzero(own), np.cumsum(own) - 1
    whole = flow.units_of(blocks)
    at = place[flow.block]
    if np.array_equal(flow.hi, whole[at]) and not np.any(flow.lo):
        return at, at + 1, blocks, np.ones(len(blocks), dtype=np.bool_)
    ends = np.concatenate((flow.lo, flow.hi, whole, np.zeros(len(blocks), dtype=np.int64))).astype(np.int64)
    width = int(ends.max()) + 1
    if len(blocks) * width >= LARGEST:
        values, ends = np.unique(ends, return_inverse=True)
        width = len(values)
    low, high, last, none = np.split(ends, np.cumsum([len(at), len(at), len(blocks)]))
    base = np.arange(len(blocks)) * width
    cuts = np.concatenate((at * width + low, at * width + high, base + last, base + none))
    room = len(blocks) * width
    if room <= _DENSE:  # marking is faster than sorting
        mark = np.zeros(room, dtype=np.bool_)
        mark[cuts] = True
        cuts = np.flatnonzero(mark)
        number = np.cumsum(mark) - 1
        left, right = number[at * width + low], number[at * width + high]
    else:
        cuts = distinct(cuts)
        left, right = np.searchsorted(cuts, at * width + low), np.searchsorted(cuts, at * width + high)
    of, unit = np.divmod(cuts, width)
    return left, right, blocks[of], unit < last[of]


def run_clock(cells: int, uses: Uses, order: Order, spans: Spans) -> Times:
    """Run link uses as early as data and links allow."""
    number, kind = len(uses.link), spans.takes.dtype
    found = Times(np.zeros(number, dtype=kind), np.zeros(number, dtype=kind), np.full(number, -1, dtype=np.int32))
    adding, copying = (cells if np.any(uses.takes == one) else 0 for one in (ADDS, COPIES))
    sums, copies = np.zeros(adding, dtype=kind), np.zeros(copying, dtype=kind)
    summed, copied = np.full(adding, -1, dtype=np.int32), np.full(copying, -1, dtype=np.int32)
    before = np.full(len(spans.latency), -1, dtype=np.int32)
    run = run_uses.plain if kind.kind == "O" else run_uses
    wrong = run(uses, order, spans, found, sums, summed, copies, copied, before)
    if wrong >= 0:
        raise ScheduleError(f"send {wrong}: a node sends data that it never gets")
    return found


def order_uses(uses: Uses, start: IntArray, end: IntArray, happen: Flags | None = None, **more: IntArray) -> Order:
    """Return uses, or those that happen, in order of time.

    Parameters
    ----------
    uses, start, end
        The uses, and their instants.
    happen
        Which of them happen; all if None.
    depth
        Uses that each goes on with; of those that start at once the less deep are first.
    turn
        Numbers of uses: of what copies bring at the same instant the first counts; in their order by default.
    """
    nothing = np.zeros(0, dtype=np.int64)
    depth, turn = more.get("depth", nothing), more.get("turn", nothing)
    some = None if happen is None else np.flatnonzero(happen)
    rows = _sort(start) if some is None else some[_sort(start[some])]
    bounds = np.zeros(0, dtype=np.int64)
    last = np.full(int(uses.link.max(initial=-1)) + 1, -1)
    if len(depth) or not come_alone(rows, uses.link, start, last):
        rows = np.sort(rows)
        rows = rows[np.lexsort((end[rows], start[rows], uses.link[rows]))]
        new = np.zeros(len(rows), dtype=np.bool_)
        for column in (uses.link, start, end):
            new |= np.diff(column[rows], prepend=-2) != 0
        first = np.flatnonzero(new)
        count = np.diff(first, append=len(rows))
        deep = np.maximum.reduceat((depth if len(depth) else start)[rows], first) if len(first) else first
        messages = np.lexsort((rows[first], deep, start[rows[first]]))
        _, at = ranges(first[messages], count[messages])
        rows, bounds = rows[at], np.concatenate(([0], np.cumsum(count[messages])))
    arriving = uses.takes == ADDS
    if arriving.any():
        arriving &= uses.received >= 0
        arriving = arriving if happen is None else arriving & happen
    sums = np.flatnonzero(arriving)
    columns = (column.astype(np.int32) for column in (rows, bounds, sums[_sort(end[sums])], turn))
    return Order(start, end, *columns)


def _sort(instants: IntArray) -> IntArray:
    """Return the stable order that sorts numbers from 0."""
    few = int(instants.max(initial=0)).bit_length() <= 32
    return stable_order(instants) if few else np.argsort(instants, kind="stable")


def find_twice(flow: Flow) -> int:
    """Return a send of a partial sum sent before, -1 if none."""
    cells = find_cells(flow)
    adds = np.flatnonzero(cells.takes == ADDS)
    row, at = ranges(0, cells.count[adds])
    order = np.argsort(cells.sent[adds][row] + at, kind="stable")
    sent = (cells.sent[adds][row] + at)[order]
    again = np.flatnonzero(sent[1:] == sent[:-1])
    return int(adds[row[order[again[0] + 1]]]) if len(again) else -1


def list_steps(flow: Flow) -> Flow:
    """Return a clock flow's sends in steps, without times.

    A send is in the first step after those of the sends that bring its data to the sender, and after that of the send
    before it on its link. So with the same links times are no later, for a collective of one movement. Of an allreduce,
    which rounds do one movement after the other, what the two have at the same time is lost. What goes over switches
    becomes one send from node to node, though there is no link between the two.
    """
    twice = find_twice(flow)
    if twice >= 0:
        raise InfeasibleError(f"node {flow.src[twice]} sends a partial sum twice, which has no order in steps")
    consumer, producer = list_waits(flow)
    late = np.flatnonzero(flow.end[producer] > flow.start[consumer])
    if len(late):
        row = int(consumer[late[0]])
        raise ScheduleError(f"send {row}: node {flow.src[row]} does not have its data when it starts")
    same = flow.part[consumer] == flow.part[producer]  # those of another movement are over
    consumer, producer = consumer[same], producer[same]
    pair = flow.src.astype(np.int64) * flow.nodes + flow.dst
    link = np.unique(pair, return_inverse=True)[1]
    waits = np.split(producer, np.searchsorted(consumer, np.arange(1, len(flow))))
    rows = np.lexsort((flow.end, link, flow.start, flow.part))  # those of a message follow one another
    what = np.stack((flow.part, flow.start, link, flow.end))[:, rows]
    first = np.flatnonzero(np.append(True, np.any(np.diff(what, axis=1) != 0, axis=0))) if len(rows) else rows
    step, busy, ends, done = np.zeros(len(flow), dtype=np.int32), np.zeros(len(flow), dtype=np.int32), [], 0
    for part in range(len(flow.movements)):
        busy[:] = done
        for at in np.flatnonzero(what[0, first] == part).tolist():
            own = rows[first[at] : first[at + 1] if at + 1 < len(first) else None]
            on = link[own[0]]
            step[own] = busy[on] = 1 + max([int(busy[on]), *(int(step[waits[row]].max(initial=0)) for row in own)])
        done = int(step.max(initial=0))
        ends.append(done)
    order = np.lexsort((flow.start, flow.part))
    flow = flow.some(order)
    reduce_steps = ends[0] if flow.movements[0].adds else 0
    moves = (step[order], flow.src, flow.dst, flow.block, flow.lo, flow.hi)
    return build_steps(flow.collective, flow.place, flow.units, done, [moves], reduce_steps=reduce_steps)


def list_waits(flow: Flow) -> tuple[IntArray, IntArray]:
    """Return pairs of sends of which the first waits for the second."""
    cells = find_cells(flow)
    row, at = ranges(0, cells.count)
    sent, received, takes = cells.sent[row] + at, cells.received[row] + at, cells.takes[row]
    adds, source, later = takes == ADDS, takes == SUMS, takes == COPIES
    pairs = [_pair_sums(flow, row[adds], sent[adds], received[adds])]
    # A copy waits for the first delivery to its cell, one that starts at the source for all that are added up there.
    brought = ~adds
    order = np.lexsort((flow.end[row[brought]], received[brought]))
    cell, by = received[brought][order], row[brought][order]
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    there = np.minimum(np.searchsorted(cell[first], sent[later]), max(0, len(first) - 1))
    if later.any() and (not len(first) or np.any(cell[first][there] != sent[later])):
        raise ScheduleError("a node sends data that it never gets")
    pairs.append((row[later], by[first][there]))
    order = np.argsort(received[adds], kind="stable")
    cell, by = received[adds][order], row[adds][order]
    left, right = (np.searchsorted(cell, sent[source], side) for side in ("left", "right"))
    of, place = ranges(left, right - left)
    pairs.append((row[source][of], by[place]))
    consumer, producer = (np.concatenate(side) for side in zip(*pairs, strict=True))
    keys = distinct(consumer * len(flow) + producer)
    return keys // max(1, len(flow)), keys % max(1, len(flow))


def _pair_sums(flow: Flow, row: IntArray, sent: IntArray, received: IntArray) -> tuple[IntArray, IntArray]:
    """Pair every delivery with the next send from its cell."""
    rows, cell = np.concatenate((row, row)), np.concatenate((received, sent))
    takes = np.repeat([False, True], len(row))
    order = np.lexsort((takes, np.where(takes, flow.start[rows], flow.end[rows]), cell))
    rows, cell, takes = rows[order], cell[order], takes[order]
    after = np.minimum.accumulate(np.where(takes, np.arange(len(rows)), len(rows))[::-1])[::-1]
    there = ~takes & (after < len(rows))
    there[there] = cell[after[there]] == cell[there]
    return rows[after[there]], rows[there]
