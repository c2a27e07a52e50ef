"""Operations on whole schedules, column by column: turn round, rescale, join, split, relabel, put in order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topodesign.base.errors import ScheduleError, TooLargeError
from topodesign.plans.rounds import COLUMNS, Collective, Schedule
from topodesign.topology.topology import IntArray, Topology

Block = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike]
"""The columns step, src, dst, owner, lo, hi: integers that broadcast against each other."""

MAX_UNITS = 2**62
"""Units per shard; twice as many still fit into 64 bits."""
MAX_ROWS = 2**26
"""Rows of a schedule: 2 GiB of columns, at 32 bytes a row."""


def assemble(collective: Collective, nodes: int, units: int, steps: int, blocks: Iterable[Block]) -> Schedule:
    """Return the schedule of all rows of the blocks, without those whose interval is empty.

    Parameters
    ----------
    collective
        ``allgather`` or ``reduce-scatter``; use :func:`allreduce` to join the two.
    nodes, units, steps
        As the attributes of :class:`~topodesign.plans.rounds.Schedule`.
    blocks
        Columns (step, src, dst, owner, lo, hi), in each block of shapes that broadcast against each other.

    Raises
    ------
    ScheduleError
        If the columns make no schedule.
    TooLargeError
        If there are too many rows to hold or too many units to count.
    """
    check_units(units)
    parts = [np.broadcast_arrays(*block) for block in blocks]
    check_rows(sum(part[0].size for part in parts))
    columns: list[NDArray[Any]] = []
    for place, name in enumerate(COLUMNS):
        kind = np.int64 if name in {"lo", "hi"} else np.int32
        pieces = [part[place].astype(kind).ravel() for part in parts]
        columns.append(np.concatenate(pieces) if pieces else np.zeros(0, dtype=kind))
    kept = columns[4] < columns[5]
    if not kept.all():
        columns = [column[kept] for column in columns]
    reduce_steps = steps if collective == "reduce-scatter" else 0
    return Schedule(collective, nodes, units, steps, reduce_steps, *columns)


def check_units(units: int) -> None:
    """Raise TooLargeError if so many units per shard do not fit into 64-bit columns."""
    if units >= MAX_UNITS:
        raise TooLargeError(f"{units} units per shard are too many (at most {MAX_UNITS - 1}); use coarser splits")


def check_rows(rows: int) -> None:
    """Raise TooLargeError if a schedule of so many rows would not fit into memory; call it before allocating them."""
    if rows > MAX_ROWS:
        raise TooLargeError(f"a schedule of {rows} rows is too large (at most {MAX_ROWS})")


def reverse(schedule: Schedule) -> Schedule:
    """Return the schedule backwards in time over the links turned round.

    A reduce-scatter on a topology becomes an allgather on its transpose and the other way round, and an allreduce an
    allreduce. The cost is the same.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 8 and Theorem 1.
    """
    turned: dict[Collective, Collective] = {"allgather": "reduce-scatter", "reduce-scatter": "allgather"}
    return replace(
        schedule,
        collective=turned.get(schedule.collective, schedule.collective),
        reduce_steps=schedule.steps - schedule.reduce_steps,
        step=(schedule.steps + 1 - schedule.step).astype(np.int32),
        src=schedule.dst,
        dst=schedule.src,
    )


def rescale(schedule: Schedule, units: int) -> Schedule:
    """Return the same schedule with another number of units per shard.

    Parameters
    ----------
    schedule
        Any schedule.
    units
        A multiple of the schedule's units.

    Raises
    ------
    ScheduleError
        If it is no multiple.
    TooLargeError
        If there are too many units to count.
    """
    factor, rest = divmod(units, schedule.units)
    if rest or factor < 1:
        raise ScheduleError(f"{units} units per shard are not a multiple of the schedule's {schedule.units}")
    check_units(units)
    if factor == 1:
        return schedule
    return replace(schedule, units=units, lo=schedule.lo * factor, hi=schedule.hi * factor)


def allreduce(reduce_scatter: Schedule, allgather: Schedule) -> Schedule:
    """Return the allreduce that runs a reduce-scatter and then an allgather, with the lcm of their units per shard.

    Raises
    ------
    ScheduleError
        If they are not these collectives or not for as many nodes.
    TooLargeError
        If there are too many units to count.
    """
    if (reduce_scatter.collective, allgather.collective) != ("reduce-scatter", "allgather"):
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
    return Schedule("allreduce", first.nodes, units, first.steps + second.steps, first.steps, step, *rest)


def halves(schedule: Schedule) -> tuple[Schedule, Schedule]:
    """Return the reduce-scatter and the allgather that an allreduce is made of.

    Raises
    ------
    ScheduleError
        If it is not an allreduce.
    """
    if schedule.collective != "allreduce":
        raise ScheduleError(f"only an allreduce has halves, not {schedule.collective}")
    middle = schedule.reduce_steps
    adds = schedule.step <= middle
    first, second = ([getattr(schedule, name)[rows] for name in COLUMNS] for rows in (adds, ~adds))
    second[0] = (second[0] - middle).astype(np.int32)
    nodes, units = schedule.nodes, schedule.units
    return (
        Schedule("reduce-scatter", nodes, units, middle, middle, *first),
        Schedule("allgather", nodes, units, schedule.steps - middle, 0, *second),
    )


def share(schedules: Sequence[Schedule]) -> Schedule:
    """Return the schedule in which equal parts of every shard follow the given schedules, the first part the first.

    Raises
    ------
    ScheduleError
        If they are not of one collective with as many nodes and steps.
    TooLargeError
        If there are too many units or rows.
    """
    first = schedules[0]
    header = (first.collective, first.nodes, first.steps, first.reduce_steps)
    if any((one.collective, one.nodes, one.steps, one.reduce_steps) != header for one in schedules):
        raise ScheduleError("only schedules of one collective with as many nodes and steps can share the shards")
    check_rows(sum(map(len, schedules)))
    part = math.lcm(*(one.units for one in schedules))
    check_units(part * len(schedules))
    parts = [rescale(one, part) for one in schedules]
    place = np.repeat(part * np.arange(len(parts)), [len(one) for one in parts])
    step, src, dst, owner, lo, hi = (np.concatenate([getattr(one, name) for one in parts]) for name in COLUMNS)
    return replace(
        first,
        units=part * len(parts),
        step=step,
        src=src,
        dst=dst,
        owner=owner,
        lo=lo + place,
        hi=hi + place,
    )


def relabel(schedule: Schedule, order: NDArray[np.integer]) -> Schedule:
    """Return the schedule with node v called ``order[v]``.

    Parameters
    ----------
    schedule
        Any schedule.
    order
        A permutation of the nodes, shape ``(nodes,)``.

    Raises
    ------
    ScheduleError
        If it is no permutation of the nodes.
    """
    if order.shape != (schedule.nodes,) or not np.array_equal(np.sort(order), np.arange(schedule.nodes)):
        raise ScheduleError(f"relabelling needs a permutation of the nodes 0 to {schedule.nodes - 1}")
    names = order.astype(np.int32)
    return replace(schedule, src=names[schedule.src], dst=names[schedule.dst], owner=names[schedule.owner])


def canonical(schedule: Schedule) -> Schedule:
    """Return the same schedule in the form that does not depend on how it was made.

    Rows are sorted by (step, src, dst, owner, lo), neighbouring intervals that go the same way in the same step are
    one row, and units are as few as the intervals allow.
    """
    if not len(schedule):
        return replace(schedule, units=1)
    columns = [getattr(schedule, name) for name in COLUMNS]
    order = _sorting(columns, [schedule.steps + 1, *[schedule.nodes] * 3, schedule.units, schedule.units + 1])
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
    step, src, dst, owner = keys
    return replace(schedule, units=schedule.units // common, step=step, src=src, dst=dst, owner=owner, lo=lo, hi=hi)


def _sorting(columns: list[IntArray], sizes: list[int]) -> IntArray | None:
    """Return the order that sorts by these columns, the first one foremost, or None if they are sorted.

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


def find_links(topology: Topology, schedule: Schedule) -> IntArray:
    """Return the index in the topology of the link that each row uses, shape ``(rows,)``.

    Raises
    ------
    ScheduleError
        If the schedule is for another number of nodes, or sends where there is no link or along a self-loop.
    """
    if schedule.nodes != topology.nodes:
        raise ScheduleError(f"the schedule is for {schedule.nodes} nodes, the topology has {topology.nodes}")
    keys = np.append(topology.src * topology.nodes + topology.dst, topology.nodes**2)
    wanted = schedule.src.astype(np.int64) * topology.nodes + schedule.dst
    link: IntArray = np.searchsorted(keys, wanted)
    bad = np.flatnonzero((keys[link] != wanted) | (schedule.src == schedule.dst))
    if len(bad):
        row = int(bad[0])
        raise ScheduleError(f"the schedule sends over {schedule.src[row]}->{schedule.dst[row]}, which is no link")
    return link


def is_lean(schedule: Schedule) -> bool:
    """Return whether everything moves once, given that the schedule is right.

    Then every unit of a shard leaves every node but the owner once in a reduce-scatter, and reaches every node but the
    owner once in an allgather: it moves along the links of a spanning tree. An allreduce is lean if its halves are.
    """
    if schedule.collective == "allreduce":
        return all(is_lean(half) for half in halves(schedule))
    width = schedule.hi - schedule.lo
    sent = (int((width >> 32).sum()) << 32) + int((width & (2**32 - 1)).sum())  # the sum may not fit into 64 bits
    return sent == schedule.nodes * (schedule.nodes - 1) * schedule.units


def prune(schedule: Schedule) -> Schedule:
    """Return a right schedule without what it does not need: lean, in canonical form, and no dearer.

    Of the deliveries of a unit to a node an allgather keeps the first. Of the times a node sends its partial sum of a
    unit a reduce-scatter keeps the last: what was sent before waits for it.
    """
    if schedule.collective == "allreduce":
        return allreduce(*(prune(half) for half in halves(schedule)))
    if schedule.collective == "reduce-scatter":
        return canonical(reverse(prune(reverse(schedule))))
    away = schedule.dst != schedule.owner
    step, src, dst, owner, lo, hi = (getattr(schedule, name)[away] for name in COLUMNS)
    # Cut the intervals that reach one node of one shard wherever one of them ends: the pieces are equal or apart.
    ends = np.unique(np.concatenate((lo, hi)))
    group = (dst.astype(np.int64) * schedule.nodes + owner) * len(ends)
    begin, end = group + np.searchsorted(ends, lo), group + np.searchsorted(ends, hi)
    cuts = np.unique(np.concatenate((begin, end)))
    begin, end = np.searchsorted(cuts, begin), np.searchsorted(cuts, end)
    check_rows(int((end - begin).sum()))
    row = np.repeat(np.arange(len(step)), end - begin)
    piece = begin[row] + np.arange(len(row)) - np.repeat(np.cumsum(end - begin) - (end - begin), end - begin)
    order = np.lexsort((step[row], piece))
    first = order[np.flatnonzero(np.diff(piece[order], prepend=-1))]
    row, piece = row[first], piece[first]
    lo, hi = ends[cuts[piece] % len(ends)], ends[cuts[piece + 1] % len(ends)]
    return canonical(replace(schedule, step=step[row], src=src[row], dst=dst[row], owner=owner[row], lo=lo, hi=hi))
