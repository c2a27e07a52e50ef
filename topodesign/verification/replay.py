"""Compiled replay of schedules, one owner's shard at a time; imported only when a schedule is checked or timed.

A shard is cut at every interval end that a row of its owner has. Between two cuts all units fare alike, so one bit per
(node, segment) says whether the node has it: in a gather the data, in a reduction a non-empty partial sum. All sends of
a step see the bits as they were before the step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, compiled
from topodesign.base.errors import TooLargeError
from topodesign.plans.rounds import Schedule

Nodes = NDArray[np.int32]
Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]

STUCK = 1
"""Bit of ``unfinished``: the node still has a partial sum at the end of the reduction."""
MISSING = 2
"""Bit of ``unfinished``: the node does not have the whole shard at the end."""
MAX_CELLS = 2**28
"""Pieces of one shard times nodes: 1 GiB where each takes four bytes."""


class Rows(NamedTuple):
    """The rows of a schedule sorted by owner, then step.

    Attributes
    ----------
    bounds
        Shape ``(nodes, 3)``: the reduction of owner w is rows ``bounds[w,0]`` to ``bounds[w,1]``, its gather rows
        ``bounds[w,1]`` to ``bounds[w,2]``.
    step, src, dst, lo, hi
        Columns in the sorted order.
    units
        Units per shard.
    """

    bounds: Ints
    step: Nodes
    src: Nodes
    dst: Nodes
    lo: Ints
    hi: Ints
    units: int


class Part(NamedTuple):
    """Rows of one owner and one phase by step, with their intervals as segments ``left <= s < right``."""

    step: Nodes
    src: Nodes
    dst: Nodes
    left: Ints
    right: Ints
    cuts: Ints


def sort_rows(schedule: Schedule) -> tuple[Ints, Rows]:
    """Sort the rows of a schedule by owner and step; return their numbers in the schedule and their columns.

    Raises
    ------
    TooLargeError
        If a shard is cut into so many pieces that the replay would not fit into memory.
    """
    last = int(schedule.step.max(initial=0))
    width = last + 2
    key = schedule.owner.astype(np.int64) * width + schedule.step
    order = np.argsort(key, kind="stable")
    key = key[order]
    begin = np.arange(schedule.nodes, dtype=np.int64) * width
    bounds = np.searchsorted(
        key, np.stack((begin, begin + min(last, schedule.reduce_steps) + 1, begin + width), axis=1)
    )
    pieces = min(schedule.units, 2 * int((bounds[:, 2] - bounds[:, 0]).max()) + 1)
    if pieces * schedule.nodes > MAX_CELLS:
        raise TooLargeError(f"{pieces} pieces of one shard on {schedule.nodes} nodes are too many to replay")
    return order, Rows(
        bounds,
        schedule.step[order],
        schedule.src[order],
        schedule.dst[order],
        schedule.lo[order],
        schedule.hi[order],
        schedule.units,
    )


@compiled
def _mask(word: int, begin: int, end: int) -> np.uint64:
    """Return the bits of a word that stand for the segments ``begin <= s < end``; at least one does."""
    ones = ~np.uint64(0)
    low = max(begin - 64 * word, 0)
    high = min(end - 64 * word, 64)
    return (ones << np.uint64(low)) & (ones >> np.uint64(64 - high))


@compiled
def _has(held: Words, begin: int, end: int) -> bool:
    for word in range(begin // 64, (end - 1) // 64 + 1):  # noqa: SIM110  a loop compiles better
        if _mask(word, begin, end) & ~held[word]:
            return False
    return True


@compiled
def _put(held: Words, begin: int, end: int) -> None:
    for word in range(begin // 64, (end - 1) // 64 + 1):
        held[word] |= _mask(word, begin, end)


@compiled
def _take(held: Words, begin: int, end: int) -> None:
    for word in range(begin // 64, (end - 1) // 64 + 1):
        held[word] &= ~_mask(word, begin, end)


@compiled
def _units(held: Words, begin: int, end: int, cuts: Ints) -> int:
    """Return how many units of the segments ``begin <= s < end`` are set."""
    count = 0
    for word in range(begin // 64, (end - 1) // 64 + 1):
        bits = _mask(word, begin, end) & held[word]
        segment = 64 * word
        while bits:
            if bits & np.uint64(1):
                count += cuts[segment + 1] - cuts[segment]
            bits >>= np.uint64(1)
            segment += 1
    return count


@compiled
def cut(rows: Rows, begin: int, end: int) -> Ints:
    """Return all interval ends of some rows with 0 and ``units``, ascending: segment s is from cut s to cut s+1."""
    count = end - begin
    points = np.empty(2 * count + 2, np.int64)
    points[0] = 0
    points[1] = rows.units
    points[2 : count + 2] = rows.lo[begin:end]
    points[count + 2 :] = rows.hi[begin:end]
    points.sort()
    kept = 1
    for point in points:
        if point != points[kept - 1]:
            points[kept] = point
            kept += 1
    return points[:kept]


@compiled
def take_part(rows: Rows, begin: int, end: int, cuts: Ints) -> Part:
    """Return the sorted rows from ``begin`` to ``end`` with their intervals as segments."""
    return Part(
        rows.step[begin:end],
        rows.src[begin:end],
        rows.dst[begin:end],
        np.searchsorted(cuts, rows.lo[begin:end]),
        np.searchsorted(cuts, rows.hi[begin:end]),
        cuts,
    )


@compiled
def new_bits(nodes: int, cuts: Ints) -> Words:
    """Return no bits: zeros of shape ``(nodes, words)``."""
    return np.zeros((nodes, (len(cuts) + 62) // 64), np.uint64)


@compiled
def start_bits(adds: bool, owner: int, cuts: Ints, compute: Flags) -> Words:
    """Return who has what before a phase: in a reduction every compute node all, in a gather the owner all."""
    held = new_bits(len(compute), cuts)
    for node in range(len(compute)):
        if node == owner or (adds and compute[node]):
            _put(held[node], 0, len(cuts) - 1)
    return held


@compiled
def run(adds: bool, part: Part, held: Words, alive: Flags) -> int:
    """Replay one owner's rows of one phase, changing ``held`` in place.

    A row that is not alive does nothing; one whose sender does not have all of it is marked as not alive. Returns the
    units delivered to a node that had them (gather) or that had sent its partial of them already (reduction).
    """
    extra = 0
    past = np.zeros_like(held) if adds else held
    first = 0
    while first < len(part.step):
        last = first
        while last < len(part.step) and part.step[last] == part.step[first]:
            if alive[last]:
                source, left, right = part.src[last], part.left[last], part.right[last]
                alive[last] = _has(held[source], left, right)
                if adds and alive[last]:
                    _take(held[source], left, right)
                    _put(past[source], left, right)
            last += 1
        for row in range(first, last):
            if alive[row]:
                target, left, right = part.dst[row], part.left[row], part.right[row]
                extra += _units(past[target], left, right, part.cuts)
                _put(held[target], left, right)
        first = last
    return extra


@compiled
def replay(
    collective: tuple[bool, bool], rows: Rows, compute: Flags, alive: Flags, unfinished: NDArray[np.uint8]
) -> tuple[int, int]:
    """Replay all owners, each phase from its regular start.

    Parameters
    ----------
    collective
        Whether it reduces, whether it gathers.
    rows
        Sorted rows.
    compute
        Shape ``(nodes,)``: which nodes are no switches.
    alive
        Shape ``(rows,)``, in the sorted order; false rows do nothing, and rows that cannot happen become false.
    unfinished
        Shape ``(nodes, nodes)``, by owner and node; ``STUCK`` and ``MISSING`` are set.

    Returns
    -------
    tuple of int
        Units delivered to nodes that had them, and units added at nodes that had sent their partial sum.
    """
    redundant = 0
    refilled = 0
    for owner in range(len(compute)):
        if not compute[owner]:
            continue
        a, b, c = rows.bounds[owner]
        if collective[0]:
            cuts = cut(rows, a, b)
            held = start_bits(True, owner, cuts, compute)
            refilled += run(True, take_part(rows, a, b, cuts), held, alive[a:b])
            for node in range(len(compute)):
                if node != owner and np.any(held[node]):
                    unfinished[owner, node] |= STUCK
        if collective[1]:
            cuts = cut(rows, b, c)
            held = start_bits(False, owner, cuts, compute)
            redundant += run(False, take_part(rows, b, c, cuts), held, alive[b:c])
            for node in range(len(compute)):
                if compute[node] and not _has(held[node], 0, len(cuts) - 1):
                    unfinished[owner, node] |= MISSING
    return redundant, refilled


@compiled
def arrivals(owner: int, part: Part, alive: Flags, nodes: int) -> Words:
    """Return the (node, segment) bits of the contributions that end up at the owner.

    Backwards in time: what a node has before a step goes where its receiver's goes after the step, if it is sent.
    """
    reached = new_bits(nodes, part.cuts)
    _put(reached[owner], 0, len(part.cuts) - 1)
    last = len(part.step)
    while last > 0:
        first = last
        while first > 0 and part.step[first - 1] == part.step[last - 1]:
            first -= 1
        after = reached.copy()
        for row in range(first, last):
            left, right = part.left[row], part.right[row]
            if alive[row]:
                for word in range(left // 64, (right - 1) // 64 + 1):
                    mask = _mask(word, left, right)
                    kept = reached[part.src[row], word] & ~mask
                    reached[part.src[row], word] = kept | (after[part.dst[row], word] & mask)
        last = first
    return reached


@compiled
def survive(collective: tuple[bool, bool], rows: Rows, compute: Flags, alive: Flags, lost: Flags) -> None:
    """Replay a schedule some of whose rows do not happen; parameters as :func:`replay`.

    Afterwards ``alive`` says which rows can still happen as a whole, and ``lost[w, v]`` that node v never has the
    complete shard of w (or, where nothing is gathered, that the contribution of v to it never arrives).
    """
    nodes = len(compute)
    for owner in range(len(compute)):
        if not compute[owner]:
            continue
        a, b, c = rows.bounds[owner]
        cuts = cut(rows, a, c)
        held = start_bits(False, owner, cuts, compute)
        final = held
        if collective[0]:
            part = take_part(rows, a, b, cuts)
            run(True, part, start_bits(True, owner, cuts, compute), alive[a:b])
            final = arrivals(owner, part, alive[a:b], nodes)
            for node in np.flatnonzero(compute):
                held[owner] &= final[node]
        if collective[1]:
            run(False, take_part(rows, b, c, cuts), held, alive[b:c])
            final = held
        for node in np.flatnonzero(compute):
            lost[owner, node] = not _has(final[node], 0, len(cuts) - 1)


@compiled
def _append(keys: Ints, count: int, consumer: int, producer: int) -> Ints:
    """Write a pair at ``count``, in a larger array if there is no room."""
    if count == len(keys):
        larger = np.empty(2 * count, np.int64)
        for i in range(count):
            larger[i] = keys[i]
        keys = larger
    keys[count] = np.int64(consumer) << 32 | np.int64(producer)
    return keys


@compiled
def _reduction_pairs(part: Part, message: Nodes, cell: Nodes, keys: Ints, count: int) -> tuple[Ints, int]:
    """Pair, backwards, every delivery with the next sends of its units from its receiver."""
    last = len(part.step)
    while last > 0:
        first = last
        while first > 0 and part.step[first - 1] == part.step[last - 1]:
            first -= 1
            previous = -1
            for segment in range(part.left[first], part.right[first]):
                consumer = cell[part.dst[first], segment]
                if consumer >= 0 and consumer != previous:
                    keys = _append(keys, count, consumer, message[first])
                    count += 1
                    previous = consumer
        for row in range(first, last):
            for segment in range(part.left[row], part.right[row]):
                cell[part.src[row], segment] = message[row]
        last = first
    return keys, count


@compiled
def _gather_pairs(part: Part, message: Nodes, cell: Nodes, keys: Ints, count: int) -> tuple[Ints, int]:
    """Pair every send with the first deliveries, by step, of its units to its sender."""
    first = 0
    while first < len(part.step):
        last = first
        while last < len(part.step) and part.step[last] == part.step[first]:
            previous = -1
            for segment in range(part.left[last], part.right[last]):
                producer = cell[part.src[last], segment]
                if producer >= 0 and producer != previous:
                    keys = _append(keys, count, message[last], producer)
                    count += 1
                    previous = producer
            last += 1
        for row in range(first, last):
            for segment in range(part.left[row], part.right[row]):
                if cell[part.dst[row], segment] == -1:
                    cell[part.dst[row], segment] = message[row]
        first = last
    return keys, count


@compiled
def _handover(rows: Rows, owner: int, message: Nodes, keys: Ints, count: int) -> tuple[Ints, int]:
    """Pair every gather send of an owner with the deliveries of its units to it in the reduction."""
    a, b, c = rows.bounds[owner]
    arrived = np.empty(b - a, np.int64)
    found = 0
    for row in range(a, b):
        if rows.dst[row] == owner:
            arrived[found] = row
            found += 1
    for send in range(b, c):
        if rows.src[send] == owner:
            for row in arrived[:found]:
                if rows.lo[row] < rows.hi[send] and rows.lo[send] < rows.hi[row]:
                    keys = _append(keys, count, message[send], message[row])
                    count += 1
    return keys, count


@compiled
def dependencies(rows: Rows, message: Nodes) -> Ints:
    """Return which message waits for which, as keys ``consumer << 32 | producer`` in any order, possibly repeated.

    ``message`` is the message of every sorted row. In an allreduce the owner's own sends wait for all
    deliveries of their units to the owner in the reduction. What the owner of a gather receives back is not waited for.
    """
    nodes = len(rows.bounds)
    keys = np.empty(max(16, len(message)), np.int64)
    count = 0
    for owner in range(nodes):
        a, b, c = rows.bounds[owner]
        cuts = cut(rows, a, c)
        cell = np.empty((nodes, len(cuts) - 1), np.int32)
        cell[:] = -1
        keys, count = _reduction_pairs(take_part(rows, a, b, cuts), message[a:b], cell, keys, count)
        cell[:] = -1
        cell[owner] = -2
        keys, count = _gather_pairs(take_part(rows, b, c, cuts), message[b:c], cell, keys, count)
        keys, count = _handover(rows, owner, message, keys, count)
    return keys[:count]
