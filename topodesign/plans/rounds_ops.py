"""Operations on rounds: reverse, rescale, join, split, relabel."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topodesign.base.arrays import distinct, ranges, seal_array
from topodesign.base.errors import ScheduleError, TooLargeError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.plans.archive import MAX_ROWS
from topodesign.plans.rounds import COLUMNS, Rounds
from topodesign.topology.topology import IntArray, Topology

Part = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike]
"""The columns step, src, dst, block, lo, hi: integers that broadcast against each other."""

MAX_UNITS = 2**62  # units per shard; twice as many still fit into 64 bits


def assemble(collective: Collective, nodes: int, units: int, steps: int, parts: Iterable[Part]) -> Rounds:
    """Return the schedule of all parts' rows, without empty ones."""
    check_units(units)
    tables = [np.broadcast_arrays(*part) for part in parts]
    check_rows(sum(table[0].size for table in tables))
    columns: list[NDArray[Any]] = []
    for place, name in enumerate(COLUMNS):
        kind = np.int64 if name in {"lo", "hi"} else np.int32
        pieces = [table[place].astype(kind).ravel() for table in tables]
        columns.append(np.concatenate(pieces) if pieces else np.zeros(0, dtype=kind))
    kept = columns[4] < columns[5]
    if not kept.all():
        columns = [column[kept] for column in columns]
    reduce_steps = steps if collective.reduces else 0
    return Rounds(collective, nodes, units, steps, reduce_steps, *map(seal_array, columns))


def check_units(units: int) -> None:
    """Raise TooLargeError if units per shard exceed 64-bit columns."""
    if units >= MAX_UNITS:
        raise TooLargeError(f"{units} units per shard are too many (at most {MAX_UNITS - 1}); use coarser splits")


def check_rows(rows: int) -> None:
    """Raise TooLargeError if rows would exceed memory; call it first."""
    if rows > MAX_ROWS:
        raise TooLargeError(f"a schedule of {rows} rows is too large (at most {MAX_ROWS})")


def reverse(schedule: Rounds) -> Rounds:
    """Return the schedule backwards in time over the links turned round.

    It does the dual of the collective: a reduce-scatter on a topology becomes an allgather on its transpose and the
    other way round, and an allreduce an allreduce. The cost is the same.

    Efficient Direct-Connect Topologies, Definition 8 and Theorem 1.
    """
    dual, block, middle = schedule.collective.dual, schedule.block, schedule.steps - schedule.reduce_steps
    if schedule.collective.pairwise:  # what went from s to t now goes from t to s
        source, destination = np.divmod(block, schedule.nodes)
        block = seal_array((destination * schedule.nodes + source).astype(np.int32))
    if len(dual.movements) == 1:
        middle = schedule.steps if dual.reduces else 0
    return schedule.having(
        collective=dual,
        reduce_steps=middle,
        step=(schedule.steps + 1 - schedule.step).astype(np.int32),
        src=schedule.dst,
        dst=schedule.src,
        block=block,
    )


def rescale(schedule: Rounds, units: int) -> Rounds:
    """Return the same schedule with another number of units per shard."""
    factor, rest = divmod(units, schedule.units)
    if rest or factor < 1:
        raise ScheduleError(f"{units} units per shard are not a multiple of the schedule's {schedule.units}")
    check_units(units)
    if factor == 1:
        return schedule
    return schedule.having(units=units, lo=schedule.lo * factor, hi=schedule.hi * factor)


def allreduce(reduce_scatter: Rounds, allgather: Rounds) -> Rounds:
    """Return the allreduce of reduce-scatter and then allgather.

    Units per shard are the lcm of both.
    """
    whole = replace(
        reduce_scatter.collective, name=ALLREDUCE.name, movements=ALLREDUCE.movements, labels=ALLREDUCE.labels
    )
    if (reduce_scatter.collective, allgather.collective) != whole.parts:
        raise ScheduleError(
            "an allreduce is made of a reduce-scatter and an allgather, "
            f"not of {reduce_scatter.collective} and {allgather.collective}"
        )
    if reduce_scatter.nodes != allgather.nodes:
        raise ScheduleError(f"schedules for {reduce_scatter.nodes} and {allgather.nodes} nodes cannot be joined")
    units = math.lcm(reduce_scatter.units, allgather.units)
    first, second = rescale(reduce_scatter, units), rescale(allgather, units)
    later = (second.step + first.steps).astype(np.int32)
    rest = (np.concatenate((getattr(first, name), getattr(second, name))) for name in COLUMNS[1:])
    step = np.concatenate((first.step, later))
    return Rounds(
        whole, first.nodes, units, first.steps + second.steps, first.steps, seal_array(step), *map(seal_array, rest)
    )


def halves(schedule: Rounds) -> tuple[Rounds, Rounds]:
    """Return the reduce-scatter and the allgather of an allreduce."""
    if not schedule.collective.like(ALLREDUCE):
        raise ScheduleError(f"only an allreduce has halves, not {schedule.collective}")
    reduction, copying = schedule.collective.parts
    middle = schedule.reduce_steps
    adds = schedule.step <= middle
    first, second = ([getattr(schedule, name)[rows] for name in COLUMNS] for rows in (adds, ~adds))
    second[0] = (second[0] - middle).astype(np.int32)
    nodes, units = schedule.nodes, schedule.units
    return (
        Rounds(reduction, nodes, units, middle, middle, *map(seal_array, first)),
        Rounds(copying, nodes, units, schedule.steps - middle, 0, *map(seal_array, second)),
    )


def share(schedules: Sequence[Rounds]) -> Rounds:
    """Return the schedule that shares shards equally among schedules."""
    first = schedules[0]
    header = (first.collective, first.nodes, first.steps, first.reduce_steps)
    if any((one.collective, one.nodes, one.steps, one.reduce_steps) != header for one in schedules):
        raise ScheduleError("only schedules of one collective with as many nodes and steps can share the shards")
    check_rows(sum(map(len, schedules)))
    part = math.lcm(*(one.units for one in schedules))
    check_units(part * len(schedules))
    parts = [rescale(one, part) for one in schedules]
    place = np.repeat(part * np.arange(len(parts)), [len(one) for one in parts])
    step, src, dst, block, lo, hi = (np.concatenate([getattr(one, name) for one in parts]) for name in COLUMNS)
    return first.having(units=part * len(parts), step=step, src=src, dst=dst, block=block, lo=lo + place, hi=hi + place)


def relabel(schedule: Rounds, order: NDArray[np.integer]) -> Rounds:
    """Return the schedule with node v called ``order[v]``."""
    if order.shape != (schedule.nodes,) or not np.array_equal(np.sort(order), np.arange(schedule.nodes)):
        raise ScheduleError(f"relabelling requires a permutation of the nodes 0 to {schedule.nodes - 1}")
    names = order.astype(np.int32)
    return schedule.having(
        collective=renamed(schedule.collective, order.tolist()),
        src=names[schedule.src],
        dst=names[schedule.dst],
        block=blocks_named(schedule.collective, schedule.block, names),
    )


def blocks_named(
    collective: Collective, block: NDArray[Any], names: NDArray[Any], count: int | None = None
) -> NDArray[Any]:
    """Return the numbers of blocks of renamed nodes."""
    source, destination = np.divmod(block, len(names)) if collective.pairwise else (0, block)
    named: NDArray[Any] = names[destination]
    if collective.pairwise:
        named = names[source] * names.dtype.type(len(names) if count is None else count) + named
    return named


def renamed(collective: Collective, names: Sequence[int]) -> Collective:
    """Return a collective with root and groups renamed."""
    root, group, groups, roots = collective.root, collective.group, collective.groups, collective.roots
    if groups is not None:
        others = None if roots is None else [names[one] for one in roots]
        return collective.within([[names[node] for node in part] for part in groups], others)
    bare = replace(collective, root=None if root is None else names[root])
    return bare.among(None if group is None else [names[node] for node in group])


def canonical(schedule: Rounds) -> Rounds:
    """Return the schedule in its canonical form.

    Rows are sorted by (step, src, dst, block, lo), neighbouring intervals that go the same way in the same step are
    one row, and units are as few as the intervals allow.
    """
    if not len(schedule):
        return schedule.having(units=1)
    columns = [getattr(schedule, name) for name in COLUMNS]
    blocks = schedule.collective.block_count(schedule.nodes)
    sizes = [schedule.steps + 1, schedule.nodes, schedule.nodes, blocks, schedule.units, schedule.units + 1]
    order = _sorting(columns, sizes)
    if order is not None:
        columns = [column[order] for column in columns]
    *keys, lo, hi = columns
    joins = lo[1:] == hi[:-1]
    for key in keys:
        joins &= key[1:] == key[:-1]
    if joins.any():
        begin = np.flatnonzero(np.append(True, ~joins))
        end = np.append(begin[1:], len(lo)) - 1
        keys, lo, hi = [key[begin] for key in keys], lo[begin], hi[end]
    common = math.gcd(schedule.units, int(np.gcd.reduce(lo)), int(np.gcd.reduce(hi)))
    if common > 1:
        lo, hi = lo // common, hi // common
    step, src, dst, block = keys
    return schedule.having(units=schedule.units // common, step=step, src=src, dst=dst, block=block, lo=lo, hi=hi)


def _sorting(columns: list[IntArray], sizes: list[int]) -> IntArray | None:
    """Return the sorting order of columns, or None if sorted.

    Entries of column i are at least 0 and below ``sizes[i]``; columns are packed into as few words as hold them.
    """
    words: list[IntArray] = []
    room = 0
    for column, size in zip(columns, sizes, strict=True):
        if room // size:
            words[-1] = words[-1] * size + column
            room //= size
        else:
            words.append(column.astype(np.int64))
            room = (2**63 - 1) // size
    if len(words) > 1:
        return np.lexsort(words[::-1])
    return None if np.all(words[0][1:] >= words[0][:-1]) else np.argsort(words[0])


def find_links(topology: Topology, schedule: Rounds) -> IntArray:
    """Return the link index of each row, shape ``(rows,)``."""
    if schedule.nodes != topology.nodes:
        raise ScheduleError(f"the schedule is for {schedule.nodes} nodes, the topology has {topology.nodes}")
    link = topology.link_index(schedule.src, schedule.dst)
    bad = np.flatnonzero((link < 0) | (schedule.src == schedule.dst))
    if len(bad):
        row = int(bad[0])
        raise ScheduleError(f"the schedule sends over {schedule.src[row]}->{schedule.dst[row]}, which is not a link")
    return link


def is_lean(schedule: Rounds) -> bool:
    """Return whether a right schedule of shards moves all data once.

    Then every unit of a shard leaves every node but its own once in a reduce-scatter, and reaches every node but its
    own once in an allgather: it moves along the links of a spanning tree. An allreduce is lean if its halves are.
    """
    if schedule.collective.like(ALLREDUCE):
        return all(is_lean(half) for half in halves(schedule))
    width = schedule.hi - schedule.lo
    sent = (int((width >> 32).sum()) << 32) + int((width & (2**32 - 1)).sum())  # the sum may not fit into 64 bits
    return sent == schedule.nodes * (schedule.nodes - 1) * schedule.units


def prune(schedule: Rounds) -> Rounds:
    """Return a right schedule without waste, in canonical form.

    Of the deliveries of a unit to a node an allgather keeps the first. Of the times a node sends its partial sum of a
    unit a reduce-scatter keeps the last: what was sent before waits for it.
    """
    if schedule.collective.like(ALLREDUCE):
        return allreduce(*(prune(half) for half in halves(schedule)))
    if schedule.collective in {ALLGATHER, REDUCE_SCATTER} and is_lean(schedule):
        return canonical(schedule)
    if schedule.collective.reduces:
        return canonical(reverse(prune(reverse(schedule))))
    (movement,) = schedule.collective.movements
    source, _ = schedule.collective.places(movement, schedule.block, schedule.nodes)
    away = schedule.dst != source
    step, src, dst, block, lo, hi = (getattr(schedule, name)[away] for name in COLUMNS)
    # Cut the intervals that reach one node of one shard wherever one of them ends: the pieces are equal or apart.
    ends = distinct(np.concatenate((lo, hi)))
    group = (dst.astype(np.int64) * schedule.collective.block_count(schedule.nodes) + block) * len(ends)
    begin, end = group + np.searchsorted(ends, lo), group + np.searchsorted(ends, hi)
    cuts = distinct(np.concatenate((begin, end)))
    begin, end = np.searchsorted(cuts, begin), np.searchsorted(cuts, end)
    check_rows(int((end - begin).sum()))
    row, piece = ranges(begin, end - begin)
    order = np.lexsort((step[row], piece))
    first = order[np.flatnonzero(np.diff(piece[order], prepend=-1))]
    row, piece = row[first], piece[first]
    lo, hi = ends[cuts[piece] % len(ends)], ends[cuts[piece + 1] % len(ends)]
    return canonical(schedule.having(step=step[row], src=src[row], dst=dst[row], block=block[row], lo=lo, hi=hi))
