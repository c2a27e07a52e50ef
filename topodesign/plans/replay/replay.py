"""Replay of rounds, one block at a time, compiled where there is much to check.

A block is cut at every interval end that a row of it has. Between two cuts all units fare alike, so one bit per
(node, segment) says whether the node has it: in a gather the data, in a reduction a non-empty partial sum. All sends of
a step see the bits as they were before the step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import stable_order
from topodesign.base.compiled import Ints, compiled, find, sort, tiered
from topodesign.base.errors import TooLargeError
from topodesign.collectives.collective import EVERYONE, Collective
from topodesign.plans.rounds import Rounds

Nodes = NDArray[np.int32]
Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]

STUCK = 1  # bit of ``unfinished``: the node still has a partial sum at the end of the reduction
MISSING = 2  # bit of ``unfinished``: the node does not have the whole shard at the end
MAX_CELLS = 2**28  # pieces of one block times nodes: 1 GiB where each takes four bytes
_AT_ONCE = 2**20  # rows that are replayed together, unless those of one block are more


class Rows(NamedTuple):
    """The rows of a schedule sorted by block, then step."""

    # shape ``(blocks, 3)``, by place in ``Blocks``: the reduction of block b is rows ``bounds[b,0]`` to
    # ``bounds[b,1]``, its copying rows ``bounds[b,1]`` to ``bounds[b,2]``
    bounds: Ints
    # step, src, dst, lo, hi: columns in the sorted order
    step: Nodes
    src: Nodes
    dst: Nodes
    lo: Ints
    hi: Ints
    units: int  # units per block


class Part(NamedTuple):
    """Rows of one block and one movement by step, with their intervals as segments ``left <= s < right``."""

    step: Nodes
    src: Nodes
    dst: Nodes
    left: Ints
    right: Ints
    cuts: Ints


class Blocks(NamedTuple):
    """The blocks of a collective and what has to become of them, in arrays of one length."""

    number: Ints  # what the schedule calls them, ascending
    sink: Ints  # where the contributions of all members are added up; -1 if nothing is added
    origin: Ints  # where a copy starts; -1 if nothing is copied
    goal: Ints  # the one node that wants the copy; -1 if all members of its group do
    own: Ints  # number of the group that it belongs to
    team: Ints  # shape ``(nodes,)``: the group of every node, -1 of those that take no part


def blocks_of(collective: Collective, nodes: int, switches: Collection[int], numbers: Ints | None = None) -> Blocks:
    """Return the blocks of a collective on so many nodes, or those of these numbers, ascending."""
    chosen = collective.members(nodes, switches)
    number = collective.blocks(chosen, nodes) if numbers is None else numbers
    nobody = np.full(len(number), EVERYONE, dtype=np.int64)
    sink, origin, goal = nobody, nobody, nobody
    for movement in collective.movements:
        source, destination = collective.places(movement, number, nodes)
        if movement.adds:
            sink = destination
        else:
            origin, goal = source, destination
    team = collective.teams(nodes, switches)
    own = team[np.where(sink >= 0, sink, origin)]
    return Blocks(number, sink, origin, goal, own, team)


def table_of(blocks: Blocks, kind: type[np.generic]) -> NDArray[Any]:
    """Return zeros for every block and node that may lack something of it.

    Shape ``(blocks, nodes)``; where every block concerns one node alone, its goal, shape ``(blocks, 1)``.
    """
    alone = bool(np.all((blocks.sink < 0) & (blocks.goal >= 0)))
    columns = 1 if alone else len(blocks.team)
    if len(blocks.number) * columns > 8 * MAX_CELLS:
        raise TooLargeError(f"{len(blocks.number)} blocks on {len(blocks.team)} nodes are too many to replay")
    return np.zeros((len(blocks.number), columns), dtype=kind)


def pairs_in(table: NDArray[Any], blocks: Blocks) -> NDArray[np.int64]:
    """Return the places of blocks and the nodes of what is not zero in such a table, shape ``(pairs, 2)``."""
    place, node = np.nonzero(table)
    if table.shape[1] != len(blocks.team):
        node = blocks.goal[place]
    return np.stack((place, node), axis=1).astype(np.int64)


def by_blocks(schedule: Rounds, blocks: Blocks) -> Iterator[tuple[Ints | None, Blocks]]:
    """Yield some blocks after others with the numbers of their rows, about :data:`_AT_ONCE`; None for all rows.

    What is replayed together takes memory, and blocks are independent.
    """
    if len(schedule) <= _AT_ONCE:
        yield None, blocks
        return
    order = stable_order(schedule.block)
    numbers = blocks.number.astype(schedule.block.dtype)  # of another type all rows would be copied
    begins, ends = (np.searchsorted(schedule.block, numbers, side=side, sorter=order) for side in ("left", "right"))
    last = np.append(np.flatnonzero(np.diff(ends // _AT_ONCE)), len(ends) - 1) + 1
    for a, b in pairwise([0, *last.tolist()]):
        yield order[begins[a] : ends[b - 1]], Blocks._make((*(column[a:b] for column in blocks[:-1]), blocks.team))


def sort_rows(schedule: Rounds, blocks: Blocks, some: Ints | None = None) -> tuple[Ints, Rows]:
    """Sort the rows of a schedule, or some, by block and step; return their numbers in it and their columns.

    Rows of what is no block of the collective come last, and belong to no block.
    """
    last = int(schedule.step.max(initial=0))
    width = last + 2
    block, step = (schedule.block, schedule.step) if some is None else (schedule.block[some], schedule.step[some])
    key = block.astype(np.int64) * width + step
    order = np.argsort(key, kind="stable")
    key = key[order]
    begin = blocks.number * width
    bounds = np.searchsorted(
        key, np.stack((begin, begin + min(last, schedule.reduce_steps) + 1, begin + width), axis=1)
    )
    pieces = min(schedule.units, 2 * int((bounds[:, 2] - bounds[:, 0]).max(initial=0)) + 1)
    if pieces * schedule.nodes > MAX_CELLS:
        raise TooLargeError(f"{pieces} pieces of one block on {schedule.nodes} nodes are too many to replay")
    order = order if some is None else some[order]
    return order, Rows(
        bounds,
        schedule.step[order],
        schedule.src[order],
        schedule.dst[order],
        schedule.lo[order],
        schedule.hi[order],
        schedule.units,
    )


def _work(rows: Rows, blocks: Blocks, *_: object) -> int:
    """About how many microseconds all rows take in plain Python."""
    return 15 * len(rows.step) + 2 * len(rows.bounds) * len(blocks.team)


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
def _any(held: Words) -> bool:
    for word in held:  # noqa: SIM110  a loop compiles better
        if word:
            return True
    return False


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


@tiered(lambda _rows, begin, end: 10 * int(end - begin))
def cut(rows: Rows, begin: int, end: int) -> Ints:
    """Return all interval ends of some rows with 0 and ``units``, ascending: segment s is from cut s to cut s+1."""
    count = end - begin
    points = np.empty(2 * count + 2, np.int64)
    points[0] = 0
    points[1] = rows.units
    for row in range(count):
        points[2 * row + 2] = rows.lo[begin + row]
        points[2 * row + 3] = rows.hi[begin + row]
    bits = 0
    while rows.units >> bits:
        bits += 1
    sort(points, bits)
    kept = 1
    for point in points:
        if point != points[kept - 1]:
            points[kept] = point
            kept += 1
    return points[:kept]


@tiered(lambda _rows, begin, end, _cuts: 10 * int(end - begin))
def take_part(rows: Rows, begin: int, end: int, cuts: Ints) -> Part:
    """Return the sorted rows from ``begin`` to ``end`` with their intervals as segments."""
    left, right = np.empty(end - begin, np.int64), np.empty(end - begin, np.int64)
    for row in range(end - begin):
        left[row] = find(rows.lo[begin + row], cuts)
        right[row] = find(rows.hi[begin + row], cuts)
    return Part(rows.step[begin:end], rows.src[begin:end], rows.dst[begin:end], left, right, cuts)


@compiled
def new_bits(nodes: int, cuts: Ints) -> Words:
    """Return no bits: zeros of shape ``(nodes, words)``."""
    return np.zeros((nodes, (len(cuts) + 62) // 64), np.uint64)


@tiered(lambda _adds, _origin, _cuts, team, _own: 2 * len(team))
def start_bits(adds: bool, origin: int, cuts: Ints, team: Ints, own: int) -> Words:
    """Return who has what before a movement: where blocks are added up every member of the group all, else the origin.

    ``own`` is the number of the block's group, and ``team`` that of every node.
    """
    held = new_bits(len(team), cuts)
    for node in range(len(team)):
        if (adds and team[node] == own) or (not adds and node == origin):
            _put(held[node], 0, len(cuts) - 1)
    return held


@tiered(lambda _adds, part, *_: 15 * len(part.step))
def run(adds: bool, part: Part, held: Words, alive: Flags) -> int:
    """Replay one block's rows of one movement, changing ``held`` in place.

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


@tiered(_work)
def replay(rows: Rows, blocks: Blocks, alive: Flags, unfinished: NDArray[np.uint8]) -> tuple[int, int]:
    """Replay all blocks, each movement from its regular start.

    Returns the units delivered to nodes that had them, and those added at nodes that had sent their partial sum.

    * ``rows``, ``blocks``: sorted rows, and what has to become of the blocks.
    * ``alive``: shape ``(rows,)``, in the sorted order; false rows do nothing, and rows that cannot happen become
      false.
    * ``unfinished``: from :func:`table_of`; ``STUCK`` and ``MISSING`` are set.
    """
    redundant = 0
    refilled = 0
    nodes = len(blocks.team)
    wide = unfinished.shape[1] == nodes
    for place in range(len(blocks.number)):
        a, b, c = rows.bounds[place]
        sink, origin, goal = blocks.sink[place], blocks.origin[place], blocks.goal[place]
        own = blocks.own[place]
        if sink >= 0:
            cuts = cut(rows, a, b)
            held = start_bits(True, sink, cuts, blocks.team, own)
            refilled += run(True, take_part(rows, a, b, cuts), held, alive[a:b])
            for node in range(nodes):
                if node != sink and _any(held[node]):
                    unfinished[place, node] |= STUCK
        if origin >= 0:
            cuts = cut(rows, b, c)
            held = start_bits(False, origin, cuts, blocks.team, own)
            redundant += run(False, take_part(rows, b, c, cuts), held, alive[b:c])
            for node in range(nodes):
                wanted = blocks.team[node] == own if goal < 0 else node == goal
                if wanted and not _has(held[node], 0, len(cuts) - 1):
                    unfinished[place, node if wide else 0] |= MISSING
    return redundant, refilled
