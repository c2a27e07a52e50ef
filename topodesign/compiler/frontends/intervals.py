"""Choice of shard intervals per link, if left open.

A node that gets all of a shard in one step, from others that have all of it by then, may get any of its units from any
of them, as long as it gets as many from each. So each of them sends one interval, and their order is free. What a
message carries of two shards that follow one another is contiguous where it has the end of the one and the beginning of
the other. For every receiver the orders with the most such joins are found exactly, going through the shards once and
keeping, for every sender that may have the last interval, the most joins up to there. A reduce-scatter is the same
backwards in time: a node that sends all of its partial sums of a shard in one step, to others that send theirs later,
may send any of them to any.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import distinct
from topodesign.plans.flow import Flow

_Ints = NDArray[np.int64]


class Rows(NamedTuple):
    """Rows of a schedule, or of its reducing phase backwards in time."""

    time: _Ints  # the step
    near: _Ints  # the end that has to have all of the shard, and that which gets it: sender and receiver
    far: _Ints
    block: _Ints
    low: _Ints
    high: _Ints

    def at(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Rows:
        """Return some of the rows."""
        return Rows(*(column[rows] for column in self))


def lay_intervals(schedule: Flow) -> tuple[Rows, bool]:
    """Lay out free intervals; return the rows and whether all are free.

    If all are, they are right, and each link carries at most one interval of a block in a step.
    """
    nodes, parts = schedule.nodes, []
    every = True
    for adds in [True] * schedule.collective.reduces + [False] * schedule.collective.copies:
        rows = np.flatnonzero((schedule.step <= schedule.reduce_steps) == adds)
        step, src, dst, *rest = (column[rows].astype(np.int64) for column in schedule.table().values())
        half = Rows(-step, dst, src, *rest) if adds else Rows(step, src, dst, *rest)
        free = _free(half, nodes, schedule.units)
        every &= bool(free.all()) and len(distinct(half.far * nodes + half.block)) == nodes * (nodes - 1)
        pairs = zip(_lay_out(half.at(free), nodes), half.at(~free), strict=True)
        half = Rows(*(np.concatenate(pair) for pair in pairs))
        parts.append(Rows(-half.time, half.far, half.near, *half[3:]) if adds else half)
    return Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True))), every


def _starts(key: _Ints) -> _Ints:
    """Return the positions at which a sorted column changes."""
    return np.flatnonzero(np.diff(key, prepend=-1))


def _free(half: Rows, nodes: int, units: int) -> NDArray[np.bool_]:
    """Return a mask of rows received from full holders at once."""
    free = np.zeros(len(half.time), dtype=bool)
    if not len(free):
        return free
    order = np.lexsort((half.low, half.far * nodes + half.block))
    rows = half.at(order)
    group = rows.far * nodes + rows.block
    starts = _starts(group)
    ends = np.append(starts[1:], len(group)) - 1
    gaps = np.append(0, np.cumsum(rows.low[1:] != rows.high[:-1]))
    whole = (rows.low[starts] == 0) & (rows.high[ends] == units) & (gaps[starts] == gaps[ends])
    whole &= np.maximum.reduceat(rows.time, starts) == np.minimum.reduceat(rows.time, starts)
    whole &= rows.far[starts] != rows.block[starts]
    since = np.full(nodes * nodes, np.iinfo(np.int64).max)  # when all of a shard is where
    since[group[starts][whole]] = rows.time[starts][whole]
    since[np.arange(nodes) * (nodes + 1)] = np.iinfo(np.int64).min
    whole &= np.logical_and.reduceat(since[rows.near * nodes + rows.block] < rows.time, starts)
    free[order] = np.repeat(whole, ends - starts + 1)
    return free


def _lay_out(half: Rows, nodes: int) -> Rows:
    """Return rows with one interval per shard and link, same length."""
    rows = half.at(np.lexsort((half.near, half.far, half.block)))
    starts = _starts((rows.block * nodes + rows.far) * nodes + rows.near)
    if not len(starts):
        return rows
    size = np.add.reduceat(rows.high - rows.low, starts)
    rows = rows.at(starts)
    order = np.lexsort((_places(rows, nodes), rows.far, rows.block))
    rows, size = rows.at(order), size[order]
    end = np.cumsum(size)
    starts = _starts(rows.block * nodes + rows.far)
    end -= np.repeat((end - size)[starts], np.diff(np.append(starts, len(end))))
    return rows._replace(low=end - size, high=end)


def _places(rows: Rows, nodes: int) -> _Ints:
    """Return the interval of sorted rows: first (0), last (2) or between.

    ``most`` are the joins of the far end up to a block in which this row is the last. Then ``opens`` is the first, and
    ``joined`` of that the last of the block before.
    """
    most = np.zeros(len(rows.block), dtype=np.int64)
    opens, joined = np.full((2, len(most)), -1)
    best = np.full(nodes, -1)  # by far end, the row that is last with the most joins so far
    latest = np.full(nodes * nodes, -1)  # by both ends, the row of the last block with one
    bounds = np.searchsorted(rows.block, np.arange(nodes + 1)).tolist()
    for block, (begin, end) in enumerate(itertools.pairwise(bounds)):
        if begin == end:
            continue
        now = slice(begin, end)
        far, link = rows.far[now], rows.near[now] * nodes + rows.far[now]
        before, same = best[far], latest[link]
        joins = (same >= 0) & (rows.block[same] == block - 1) & (rows.time[same] == rows.time[now])
        # none is behind the best by more than one, so that a join makes up for it
        joined[now] = np.where(joins, same, before)
        value = np.where(joined[now] >= 0, most[joined[now]], 0) + joins
        starts = _starts(far)
        ends = np.append(starts[1:], end - begin) - 1
        order = np.lexsort((value, far))
        chosen = np.repeat(order[ends], ends - starts + 1)
        second = np.repeat(order[np.maximum(ends - 1, starts)], ends - starts + 1)
        chosen = np.where(chosen == np.arange(end - begin), second, chosen)  # none has both, but one that is alone
        opens[now], most[now] = begin + chosen, value[chosen]
        last = begin + np.lexsort((most[now], far))[ends]
        best[rows.far[last]] = last
        latest[link] = np.arange(begin, end)
    place = np.ones(len(most), dtype=np.int64)
    last = best[best >= 0]
    while len(last):
        place[last] = 2
        place[opens[last]] = 0
        last = joined[opens[last]]
        last = last[last >= 0]
    return place
