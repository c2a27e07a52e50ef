"""Compiled inner loops over serial operations, cell by cell.

Operations of rank r are those from ``first[r]`` to ``first[r + 1]``; ``source`` and ``target`` are first cells, or -1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, tier_kernel

_Bools = NDArray[np.bool_]


def _work(*given: Any) -> int:
    return 2 * int(given[3].sum()) + 4 * len(given[3])


@tier_kernel(_work)
def find_forwards(
    first: Ints,
    source: Ints,
    target: Ints,
    count: Ints,
    line: Ints,
    receives: _Bools,
    instance: Ints,
    sizes: tuple[int, int],
) -> Ints:
    """Return the receive that each send forwards exactly, or -1.

    ``line`` is the connection of a send that may be fused, else -1; ``receives`` says which receives may be. No other
    send of the connection comes in between. ``sizes`` are those of cells and connections.
    """
    cells, lines = sizes
    found = np.full(len(count), -1, dtype=np.int64)
    holder = np.full(cells, -1, dtype=np.int64)  # the receive that wrote what is there
    sent = np.full(lines, -1, dtype=np.int64)  # the last send of a connection
    for rank in range(len(first) - 1):
        for at in range(first[rank], first[rank + 1]):
            begin, end = source[at], source[at] + count[at]
            if line[at] >= 0:
                one = holder[begin] if begin >= 0 else -1
                if one >= first[rank] and one > sent[line[at]] and instance[one] == instance[at]:
                    same = target[one] == begin and count[one] == count[at]
                    for cell in range(begin, end):
                        same &= holder[cell] == one
                    if same:
                        found[at] = one
                sent[line[at]] = at
            if target[at] >= 0:
                for cell in range(target[at], target[at] + count[at]):
                    holder[cell] = at if receives[at] else -1
    return found


@tier_kernel(lambda *given: 4 * len(given[1]))
def with_local(first: Ints, key: Ints, flags: Ints, block: Ints, blocks: int) -> None:
    """Set keys of local operations by the previous receive or next send.

    ``flags`` are 0 for sends, 1 for receives, 2 for what is local, 3 for what is local in a threadblock that sends.
    """
    waiting = np.full(blocks, -1, dtype=np.int64)
    following = np.full(len(key), -1, dtype=np.int64)
    for rank in range(len(first) - 1):
        last = np.int64(0)
        for at in range(first[rank], first[rank + 1]):
            if flags[at] >= 2:
                key[at] = last
                if flags[at] == 3:
                    following[at] = waiting[block[at]]
                    waiting[block[at]] = at
            elif flags[at] == 1:
                last = key[at]
            else:
                before = waiting[block[at]]
                waiting[block[at]] = -1
                while before >= 0:
                    key[before] = key[at]
                    before = following[before]


@tier_kernel(_work)
def keep_order(
    first: Ints, source: Ints, target: Ints, count: Ints, position: Ints, reduces: _Bools, cells: int
) -> _Bools:
    """Return a mask of ranks whose accesses stay in order.

    ``reduces`` says which operations read what they write, too.
    """
    kept = np.ones(len(first) - 1, dtype=np.bool_)
    wrote = np.full(cells, -1, dtype=np.int64)
    touched = np.full(cells, -1, dtype=np.int64)  # the last access of any kind
    for rank in range(len(first) - 1):
        for at in range(first[rank], first[rank + 1]):
            now = position[at]
            for place in (source[at], target[at] if reduces[at] else -1):
                for cell in range(place, place + count[at] if place >= 0 else place):
                    if wrote[cell] > now:
                        kept[rank] = False
                    touched[cell] = max(touched[cell], now)
            for cell in range(target[at], target[at] + count[at] if target[at] >= 0 else target[at]):
                if touched[cell] > now:
                    kept[rank] = False
                wrote[cell] = now
                touched[cell] = now
    return kept


def _clocks(*given: Any) -> int:
    return 3 * _work(*given) + len(given[3]) * int(given[-1][1])


@tier_kernel(_clocks)
def dependencies(
    first: Ints,
    source: Ints,
    target: Ints,
    count: Ints,
    block: Ints,
    step: Ints,
    reduces: _Bools,
    reduce_steps: int,
    sizes: tuple[int, int],
) -> tuple[Ints, Ints, Ints]:
    """Return the waits of every operation: offsets, threadblocks and places.

    Two operations that touch the same cell, one of them writing, keep their order. What the order inside a threadblock
    or another wait implies is omitted. So is what the data implies in an allreduce: the result that a rank stores
    after ``reduce_steps`` contains the partial sum that it read and sent before. ``sizes`` are of cells and of the
    threadblocks of a rank.
    """
    cells, blocks = sizes
    total, longest, most = 0, 0, 0
    for rank in range(len(first) - 1):
        length = 0
        for at in range(first[rank], first[rank + 1]):
            length += 2 * count[at]
        total += 2 * length + first[rank + 1] - first[rank]
        longest = max(longest, length)
        most = max(most, first[rank + 1] - first[rank])
    waits = np.zeros(len(count) + 1, dtype=np.int64)
    other = np.empty(total, dtype=np.int64)
    place = np.empty(total, dtype=np.int64)
    writer = np.empty(cells, dtype=np.int64)
    readers = np.empty(cells, dtype=np.int64)  # by cell, the last node of a list of those who read since it was written
    reader = np.empty(longest + 1, dtype=np.int64)
    before = np.empty(longest + 1, dtype=np.int64)
    done = np.empty((most + 1, blocks), dtype=np.int64)  # operations of each threadblock that are over when this one is
    latest = np.empty((blocks, blocks), dtype=np.int64)
    known = np.empty(blocks, dtype=np.int64)
    position = np.empty(most + 1, dtype=np.int64)
    conflict = np.empty(2 * longest + 2, dtype=np.int64)
    marked = np.full(len(count), -1, dtype=np.int64)
    number = 0
    for rank in range(len(first) - 1):
        start = first[rank]
        writer[:] = -1
        readers[:] = -1
        latest[:] = 0
        nodes = 0
        for at in range(start, first[rank + 1]):
            found = 0
            for begin in (source[at], target[at] if reduces[at] else -1):
                for cell in range(begin, begin + count[at] if begin >= 0 else begin):
                    if writer[cell] >= 0 and marked[writer[cell]] != at:
                        marked[writer[cell]] = at
                        conflict[found] = writer[cell]
                        found += 1
                    reader[nodes] = at
                    before[nodes] = readers[cell]
                    readers[cell] = nodes
                    nodes += 1
            for cell in range(target[at], target[at] + count[at] if target[at] >= 0 else target[at]):
                node, one = readers[cell], writer[cell]
                readers[cell] = -1
                writer[cell] = at
                while one >= 0 or node >= 0:
                    if one >= 0 and marked[one] != at and one != at:
                        counts = step[at] <= reduce_steps or step[one] > reduce_steps
                        if counts:
                            marked[one] = at
                            conflict[found] = one
                            found += 1
                    one = -1
                    if node >= 0:
                        one = reader[node]
                        node = before[node]
            for x in range(1, found):  # the later ones imply earlier ones, never the reverse
                value, y = conflict[x], x
                while y > 0 and conflict[y - 1] < value:
                    conflict[y] = conflict[y - 1]
                    y -= 1
                conflict[y] = value
            mine = block[at]
            for x in range(blocks):
                known[x] = latest[mine, x]
            position[at - start] = known[mine]
            low = number
            for x in range(found):
                one = conflict[x]
                there = position[one - start]
                if known[block[one]] <= there:
                    y = number
                    while y > low and other[y - 1] > block[one]:
                        other[y] = other[y - 1]
                        place[y] = place[y - 1]
                        y -= 1
                    other[y] = block[one]
                    place[y] = there
                    number += 1
                    for z in range(blocks):
                        known[z] = max(known[z], done[one - start, z])
            known[mine] = position[at - start] + 1
            for x in range(blocks):
                latest[mine, x] = known[x]
                done[at - start, x] = known[x]
            waits[at + 1] = number
    return waits, other[:number], place[:number]
