"""Gap-free scratch placement, reused at no cost in time.

What operations touch as one stays together. A place is free again in the step after the last that touches it: whatever
writes there then waits for that, which is over by then where ranks keep step. So it still ends: what a rank does in a
step waits, beyond what it waited for without, for operations of its own in steps before.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import Ints, tier_kernel
from topodesign.compiler.columns import BITS
from topodesign.compiler.frontends.operations import IN, OUT, SCRATCH, Operations


def pack_scratch(operations: Operations, *, reuse: bool) -> tuple[Operations, Ints]:
    """Return operations with packed scratch, and the scratch per rank.

    If ``reuse``, what is not needed at the same time may share a place.
    """
    ranks, rank = len(operations.first) - 1, operations.rank
    source, target, cells = operations.cells()
    rows, starts, sizes = [], [], []
    for cell, places in ((source, operations.source), (target, operations.target)):
        buffer = places >> BITS
        row = np.flatnonzero((places >= 0) & (buffer != IN >> BITS) & (buffer != OUT >> BITS))
        rows.append(row)
        starts.append((rank * cells + cell)[row])
        sizes.append(operations.size[row])
    begin, size = np.concatenate(starts), np.concatenate(sizes)
    end, top = begin + size, ranks * cells + 1
    if not len(begin):
        return operations, np.zeros(ranks, dtype=np.int64)

    def covered(first: Ints, last: Ints) -> np.ndarray:
        """Return which cells some ranges cover."""
        change = np.bincount(first, minlength=top) - np.bincount(last, minlength=top)
        return np.cumsum(change[:top]) > 0

    wide = size > 1
    used, joined = covered(begin, end), covered(begin[wide] + 1, end[wide])
    number = np.cumsum(used & ~joined) - 1  # of the group of each cell
    length = np.bincount(number[used])
    group, head = number[begin], np.flatnonzero(used & ~joined)
    owner = head // cells
    if reuse:
        turn = np.maximum.accumulate(operations.step + rank * (int(operations.step.max()) + 1))
        when = np.concatenate([turn[row] for row in rows])
        first, last = np.full(len(length), np.iinfo(np.int64).max), np.full(len(length), -1)
        np.minimum.at(first, group, when)
        np.maximum.at(last, group, when)
        order = np.lexsort((head, -length, first, owner))
        place = np.empty(len(length), dtype=np.int64)
        place[order] = fit_groups(owner[order], first[order], last[order], length[order])
    else:
        place = np.cumsum(length) - length
        place -= place[np.searchsorted(owner, owner)]
    scratch = np.zeros(ranks, dtype=np.int64)
    np.maximum.at(scratch, owner, place + length)
    found = SCRATCH + place[group] + begin - head[group]
    moved = [operations.source.copy(), operations.target.copy()]
    for column, row, new in zip(moved, rows, (found[: len(rows[0])], found[len(rows[0]) :]), strict=True):
        column[row] = new
    return operations._replace(source=moved[0], target=moved[1]), scratch


@tier_kernel(lambda owner, *_: 20 * len(owner))
def fit_groups(owner: Ints, first: Ints, last: Ints, length: Ints) -> Ints:
    """Return first-fit places of groups, by rank and first use.

    Places of a rank are free again in the turns after the last in which they are used.
    """
    found = np.zeros(len(owner), dtype=np.int64)
    held = np.empty(len(owner), dtype=np.int64)  # groups of this rank, by where they are, of those not free yet
    count = 0
    for one in range(len(owner)):
        if one == 0 or owner[one] != owner[one - 1]:
            count = 0
        kept = 0
        for x in range(count):
            if last[held[x]] >= first[one]:
                held[kept] = held[x]
                kept += 1
        count = kept
        at, place = 0, np.int64(0)
        while at < count and found[held[at]] < place + length[one]:
            place = found[held[at]] + length[held[at]]
            at += 1
        found[one] = place
        for x in range(count, at, -1):
            held[x] = held[x - 1]
        held[at] = one
        count += 1
    return found
