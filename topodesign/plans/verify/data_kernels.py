"""Replay of sends block by block, compiled for many.

A block is cut at every end of a piece of it. Between two cuts all units fare alike, so one bit for each vertex and
segment says whether the vertex has it: in a movement that copies the data, in one that adds a partial sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, compile_kernel, find, sort, tier_kernel

Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]
SHOWN = 3  # examples of each kind that are kept


class Sends(NamedTuple):
    """Sends sorted by block, movement and start."""

    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    part: NDArray[np.int32]
    start: Ints
    end: Ints  # empty where each is one after its start
    lo: Ints
    hi: Ints
    by_end: Ints  # places in the order by block, movement, then end; empty where that is the same order


class Blocks(NamedTuple):
    """Blocks with goals; -1 stands for all members."""

    bounds: Ints  # the sends of each, shape ``(blocks, 2)``
    units: Ints
    group: Ints
    times: Ints  # how many blocks each stands for
    source: Ints  # by movement, shape ``(movements, blocks)``
    goal: Ints
    adds: Flags  # of every movement
    team: Ints  # the group of every vertex, shape ``(nodes,)``


class Lacks(NamedTuple):
    """Unmet goals by movement, filled by :func:`replay`."""

    many: Ints  # how many there are, shape ``(movements,)``
    # block, vertex, first unit and the one after the last, shape ``(movements, SHOWN, 4)``
    shown: Ints
    extra: Ints  # units that arrive in vain, or at a new sum, shape ``(movements,)``


def _work(sends: Sends, blocks: Blocks, *_: object) -> int:
    """About how many microseconds all sends take in plain Python."""
    return 15 * len(sends.src) + 2 * len(blocks.units) * len(blocks.team)


@compile_kernel
def _mask(word: int, begin: int, end: int) -> np.uint64:
    """Return the bits of segments ``begin <= s < end``."""
    ones = ~np.uint64(0)
    low = max(begin - 64 * word, 0)
    high = min(end - 64 * word, 64)
    return (ones << np.uint64(low)) & (ones >> np.uint64(64 - high))


@compile_kernel
def _has(held: Words, begin: int, end: int) -> bool:
    for word in range(begin // 64, (end - 1) // 64 + 1):
        if _mask(word, begin, end) & ~held[word]:
            return False
    return True


@compile_kernel
def _has_any(held: Words) -> bool:
    for word in held:
        if word:
            return True
    return False


@compile_kernel
def _put(held: Words, begin: int, end: int) -> None:
    for word in range(begin // 64, (end - 1) // 64 + 1):
        held[word] |= _mask(word, begin, end)


@compile_kernel
def _take(held: Words, begin: int, end: int) -> None:
    for word in range(begin // 64, (end - 1) // 64 + 1):
        held[word] &= ~_mask(word, begin, end)


@compile_kernel
def _units(held: Words, begin: int, end: int, cuts: Ints) -> int:
    """Return the units set in segments ``begin <= s < end``."""
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


@compile_kernel
def _cut(sends: Sends, begin: int, end: int, units: int) -> Ints:
    """Return piece ends with 0 and ``units``, ascending."""
    count = end - begin
    points = np.empty(2 * count + 2, np.int64)
    points[0] = 0
    points[1] = units
    largest = units
    for row in range(count):
        points[2 * row + 2] = sends.lo[begin + row]
        points[2 * row + 3] = sends.hi[begin + row]
        largest = max(largest, sends.hi[begin + row])
    bits = 0
    while largest >> bits:
        bits += 1
    sort(points, bits)
    kept = 1
    for point in points:
        if point != points[kept - 1]:
            points[kept] = point
            kept += 1
    return points[:kept]


@compile_kernel
def _note(lacks: Lacks, number: int, place: int, node: int, run: tuple[int, int]) -> None:
    """Count wrong units of a block, and keep the first."""
    count = lacks.many[number]
    if count < len(lacks.shown[number]):
        lacks.shown[number, count, 0] = place
        lacks.shown[number, count, 1] = node
        lacks.shown[number, count, 2] = run[0]
        lacks.shown[number, count, 3] = run[1]
    lacks.many[number] += 1


@compile_kernel
def _first_run(held: Words, wanted: bool, cuts: Ints, segments: int) -> tuple[int, int]:
    """Return the first missing or surplus run of units."""
    first = -1
    for segment in range(segments):
        has = bool((held[segment // 64] >> np.uint64(segment % 64)) & np.uint64(1))
        if has != wanted and first < 0:
            first = segment
        elif has == wanted and first >= 0:
            return cuts[first], cuts[segment]
    return cuts[first], cuts[segments]


@compile_kernel
def _check_end(blocks: Blocks, lacks: Lacks, number: int, place: int, held: Words, cuts: Ints, segments: int) -> None:
    """Note unmet goals after a movement of a block."""
    source, goal, own = blocks.source[number, place], blocks.goal[number, place], blocks.group[place]
    for node in range(len(blocks.team)):
        if blocks.adds[number]:
            checked, wanted = node != goal, False
        else:
            checked, wanted = (blocks.team[node] == own if goal < 0 else node == goal), True
        if checked and node != source and (not _has(held[node], 0, segments) if wanted else _has_any(held[node])):
            _note(lacks, number, place, node, _first_run(held[node], wanted, cuts, segments))


@compile_kernel
def _without_sends(blocks: Blocks, lacks: Lacks, place: int) -> None:
    """Note what a block lacks of which nothing is sent."""
    run = (0, blocks.units[place])
    for number in range(len(blocks.adds)):
        source, goal, own = blocks.source[number, place], blocks.goal[number, place], blocks.group[place]
        if goal >= 0 and not blocks.adds[number]:
            if goal != source:
                _note(lacks, number, place, goal, run)
        else:
            for node in range(len(blocks.team)):
                if blocks.team[node] == own and node not in (source, goal):
                    _note(lacks, number, place, node, run)


@tier_kernel(_work)
def replay(sends: Sends, blocks: Blocks, alive: Flags, lacks: Lacks) -> None:
    """Replay all blocks and count what is wrong.

    * ``alive``: shape ``(sends,)``; false sends do nothing, and those of what the sender does not have become false.
    * ``lacks``: zeros.

    At an instant data arrive before they are sent on.
    """
    nodes, same_order, steady = len(blocks.team), len(sends.by_end) == 0, len(sends.end) == 0
    for place in range(len(blocks.units)):
        begin, end = blocks.bounds[place]
        if begin == end:
            _without_sends(blocks, lacks, place)
            continue
        cuts = _cut(sends, begin, end, blocks.units[place])
        segments = 0  # those of the block; there are more where pieces go beyond it
        while cuts[segments] != blocks.units[place]:
            segments += 1
        left, right = np.empty(end - begin, np.int64), np.empty(end - begin, np.int64)
        for row in range(end - begin):
            left[row] = find(sends.lo[begin + row], cuts)
            right[row] = find(sends.hi[begin + row], cuts)
        ready = np.zeros(len(cuts), np.int64)  # when the sum of each segment is complete
        last = begin
        for number in range(len(blocks.adds)):
            adds = blocks.adds[number]
            source, goal, own = blocks.source[number, place], blocks.goal[number, place], blocks.group[place]
            held = np.zeros((nodes, (len(cuts) + 62) // 64), np.uint64)
            past = np.zeros_like(held) if adds else held
            if not adds:
                _put(held[source], 0, segments)
            else:
                for node in range(nodes):
                    if blocks.team[node] == own:
                        _put(held[node], 0, segments)
            first = last
            while last < end and sends.part[last] == number:
                last += 1
            coming = first
            for row in range(first, last + 1):
                while coming < last:
                    at = coming if same_order else sends.by_end[coming]
                    arrival = sends.start[at] + 1 if steady else sends.end[at]
                    if row < last and arrival > sends.start[row]:
                        break
                    coming += 1
                    if alive[at]:
                        target, a, b = sends.dst[at], left[at - begin], right[at - begin]
                        lacks.extra[number] += blocks.times[place] * _units(past[target], a, b, cuts)
                        _put(held[target], a, b)
                        if adds and target == goal:
                            for segment in range(a, b):
                                ready[segment] = max(ready[segment], arrival)
                if row < last and alive[row]:
                    origin, a, b = sends.src[row], left[row - begin], right[row - begin]
                    right_now = _has(held[origin], a, b)
                    if right_now and not adds and origin == source:
                        for segment in range(a, b):
                            if ready[segment] > sends.start[row]:
                                right_now = False
                    alive[row] = right_now
                    if adds and right_now:
                        _take(held[origin], a, b)
                        _put(past[origin], a, b)
            _check_end(blocks, lacks, number, place, held, cuts, segments)


@tier_kernel(lambda first, *_: 5 * int(first[-1]))
def find_heights(first: Ints, src: Ints, dst: Ints, counts: Flags, nodes: int) -> Ints:
    """Return the longest way of every piece, in sends.

    Parameters
    ----------
    first
        Where the sends of each piece begin, and the end of the last; they are in the order in which they happen.
    src, dst
        Ends of sends.
    counts
        Whether a send counts.
    nodes
        Number of vertices.
    """
    heights = np.zeros(len(first) - 1, np.int64)
    level = np.zeros(nodes, np.int64)
    for piece in range(len(first) - 1):
        for row in range(first[piece], first[piece + 1]):
            level[dst[row]] = max(level[dst[row]], level[src[row]] + (1 if counts[row] else 0))
            heights[piece] = max(heights[piece], level[dst[row]])
        for row in range(first[piece], first[piece + 1]):
            level[src[row]] = 0
            level[dst[row]] = 0
    return heights
