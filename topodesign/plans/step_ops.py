"""Operations on flows in steps: unfold, rescale, split, prune."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import distinct, ranges
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER
from topodesign.plans.build import blocks_named, build_steps, check_rows, check_units
from topodesign.plans.chunk_ops import unfold_pieces
from topodesign.plans.flow import PIECES, SENDS, Column, Flow
from topodesign.plans.flow_ops import concatenate, halves, reverse
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology

_AT_ONCE = 2**15  # rows that are read from sorted words at once: they stay in a processor's cache


def unfold(flow: Flow) -> Flow:
    """Return all images of a flow's rows; steps in canonical form."""
    if flow.model == "chunks":
        return unfold_pieces(flow)
    return flow if flow.fold is None else unfold_steps(flow)


def unfold_steps(flow: Flow) -> Flow:
    """Return all sends of a flow in steps, a piece each, without routes and circuits."""
    if flow.model != "steps":
        raise InfeasibleError(f"a plan in {flow.kind} has no rounds")
    own = _plain(flow)
    return own if flow.fold is None else _unfold(own, flow.fold)


def _plain(flow: Flow) -> Flow:
    """Return the rows of a flow in steps, a piece each, without routes, circuits and fold."""
    widths = (flow.src.dtype, flow.dst.dtype, flow.block.dtype, flow.end.dtype) == (np.dtype(np.int32),) * 4
    if widths and flow.lo.dtype == np.int64 and flow.of_sends(flow.block) is flow.block:
        if len(flow.hi) and int(flow.hi.max()) > flow.units:
            raise ScheduleError(f"intervals must satisfy 0 <= lo < hi <= {flow.units}")
        plain = flow.routes is None and flow.circuits is None and flow.fold is None
        return flow if plain else replace(flow, routes=None, circuits=None, fold=None)
    rows: Any = tuple(flow.table().values())
    return build_steps(flow.collective, flow.place, flow.units, flow.steps, [rows], reduce_steps=flow.reduce_steps)


def _unfold(own: Flow, fold: Symmetry) -> Flow:
    """Return the sends of all blocks.

    What moves of node v is that of its representative with every node x called p(x), where p is the permutation that
    takes the representative to v: the one that :meth:`~topodesign.topology.symmetry.Symmetry.transversals` takes,
    composed along a breadth-first tree in the order of the generators and, after them, their inverses. Whatever the
    group, this makes one plan; where no permutation but the identity leaves a node where it is, p is unique.
    """
    known, owner = fold.represented_by, own.collective.owners(own.block, own.nodes)
    many = int(np.bincount(owner, minlength=own.nodes)[known[known >= 0]].sum())
    check_rows(many)
    step, src, dst, block = (np.empty(many, dtype=np.int32) for _ in range(4))
    lo, hi = (np.empty(many, dtype=np.int64) for _ in range(2))
    begin = 0
    for representative in fold.representatives:
        rows = own.some(owner == representative)
        for _, names in fold.transversals(representative):
            image = slice(begin, begin := begin + len(rows))
            step[image], lo[image], hi[image] = rows.step, rows.lo, rows.hi
            src[image], dst[image] = names[rows.src], names[rows.dst]
            block[image] = blocks_named(own.collective, rows.block, names)
    return _join_rows(own, [step, src, dst, block, lo, hi])


def rescale(flow: Flow, units: int) -> Flow:
    """Return the same flow with another number of units per block."""
    factor, rest = divmod(units, flow.units)
    if rest or factor < 1:
        raise ScheduleError(f"{units} units per shard are not a multiple of the schedule's {flow.units}")
    check_units(units)
    return flow if factor == 1 else flow.having(units=units, lo=flow.lo * factor, hi=flow.hi * factor)


def join_sends(flows: Sequence[Flow]) -> dict[str, NDArray[Any]]:
    """Return the columns of the pieces and sends of all flows."""
    columns = {name: np.concatenate([getattr(one, name) for one in flows]) for name in (*PIECES, *SENDS)}
    pieces = [len(one.block) for one in flows]
    shift = np.repeat(np.cumsum([0, *pieces[:-1]]), [len(one) for one in flows])
    columns["piece"] = (columns["piece"] + shift).astype(np.int32)
    return columns


def share(flows: Sequence[Flow]) -> Flow:
    """Return the flow that shares blocks equally among flows."""
    first = flows[0]
    header = (first.collective, first.nodes, first.steps, first.reduce_steps)
    if any((one.collective, one.nodes, one.steps, one.reduce_steps) != header for one in flows):
        raise ScheduleError("only schedules of one collective with as many nodes and steps can share the shards")
    check_rows(sum(map(len, flows)))
    part = math.lcm(*(one.units for one in flows))
    check_units(part * len(flows))
    columns = join_sends([rescale(one, part) for one in flows])
    place = np.repeat(part * np.arange(len(flows)), [len(one.block) for one in flows])
    columns |= {"lo": columns["lo"] + place, "hi": columns["hi"] + place}
    return first.having(units=part * len(flows), **columns)


def canonical(schedule: Flow) -> Flow:
    """Return the schedule in its canonical form.

    Rows are sorted by (step, src, dst, block, lo), neighbouring intervals that go the same way in the same step are
    one row, and units are as few as the intervals allow.
    """
    if not len(schedule):
        return schedule.having(units=1)
    own = _plain(schedule)
    return _join_rows(own, [own.step, own.src, own.dst, own.block, own.lo, own.hi])


def _join_rows(own: Flow, columns: list[Column]) -> Flow:
    """Return rows in canonical form as a flow of the same steps, units and place."""
    sizes = [own.steps + 1, own.nodes, own.nodes, own.collective.block_count(own.nodes), own.units, own.units + 1]
    *keys, lo, hi = _sort_rows(columns, sizes)
    joined = np.flatnonzero(lo[1:] == hi[:-1])
    for key in keys:
        joined = joined[key[joined + 1] == key[joined]]
    if len(joined):
        begin, end = np.ones((2, len(lo)), dtype=np.bool_)
        begin[joined + 1] = end[joined] = False
        keys, lo, hi = [key[begin] for key in keys], lo[begin], hi[end]
    common = math.gcd(own.units, int(np.gcd.reduce(lo)), int(np.gcd.reduce(hi)))
    if common > 1:
        lo, hi = lo // common, hi // common
    step, src, dst, block = keys
    part = (step > own.reduce_steps).astype(np.int8) * np.int8(len(own.collective.movements) - 1)
    times = {"start": step - 1, "end": step, "part": part}
    piece = np.arange(len(step), dtype=np.int32)
    return own.having(units=own.units // common, block=block, lo=lo, hi=hi, piece=piece, src=src, dst=dst, **times)


def _sort_rows(columns: list[Column], sizes: list[int]) -> list[Column]:
    """Return columns with their rows in ascending order.

    Entries of column i are at least 0 and below ``sizes[i]``; columns are packed into as few words as hold them. Where
    that is one word, words are sorted in place and columns read from them again.
    """
    words: list[IntArray] = []
    room = 0
    for column, size in zip(columns, sizes, strict=True):
        if room // size:
            words[-1] *= size
            words[-1] += column
            room //= size
        else:
            words.append(column.astype(np.int64))
            room = (2**63 - 1) // size
    if len(words) > 1:
        order = np.lexsort(words[::-1])
        return [column[order] for column in columns]
    (word,) = words
    if np.all(word[1:] >= word[:-1]):
        return columns
    word.sort()
    found = [np.empty_like(column) for column in columns]
    for begin in range(0, len(word), _AT_ONCE):
        rest = word[begin : begin + _AT_ONCE]
        for column, size in zip(reversed(found), reversed(sizes), strict=True):
            more = rest // size
            column[begin : begin + _AT_ONCE] = rest - more * size
            rest = more
    return found


def find_links(topology: Topology, schedule: Flow) -> IntArray:
    """Return the link index of each row, shape ``(rows,)``."""
    if schedule.nodes != topology.nodes:
        raise ScheduleError(f"the schedule is for {schedule.nodes} nodes, the topology has {topology.nodes}")
    link = topology.link_index(schedule.src, schedule.dst)
    bad = np.flatnonzero((link < 0) | (schedule.src == schedule.dst))
    if len(bad):
        row = int(bad[0])
        raise ScheduleError(f"the schedule sends over {schedule.src[row]}->{schedule.dst[row]}, which is not a link")
    return link


def is_lean(schedule: Flow) -> bool:
    """Return whether a right schedule of shards moves all data once.

    Then every unit of a shard leaves every node but its own once in a reduce-scatter, and reaches every node but its
    own once in an allgather: it moves along the links of a spanning tree. An allreduce is lean if its halves are.
    """
    adds, width = schedule.step <= schedule.reduce_steps, schedule.hi - schedule.lo
    for half in (width[adds], width[~adds]) if schedule.collective.like(ALLREDUCE) else (width,):
        sent = (int((half >> 32).sum()) << 32) + int((half & (2**32 - 1)).sum())  # the sum may not fit into 64 bits
        if sent != schedule.nodes * (schedule.nodes - 1) * schedule.units:
            return False
    return True


def prune(schedule: Flow) -> Flow:
    """Return a right schedule without waste, in canonical form.

    Of the deliveries of a unit to a node an allgather keeps the first. Of the times a node sends its partial sum of a
    unit a reduce-scatter keeps the last: what was sent before waits for it.
    """
    if schedule.collective.like(ALLREDUCE):
        return concatenate(*(prune(half) for half in halves(schedule)))
    if schedule.collective in {ALLGATHER, REDUCE_SCATTER} and is_lean(schedule):
        return canonical(schedule)
    if schedule.collective.reduces:
        return canonical(reverse(prune(reverse(schedule)), schedule.place))
    (movement,) = schedule.collective.movements
    source, _ = schedule.collective.places(movement, schedule.block, schedule.nodes)
    away = schedule.dst != source
    step, src, dst, block, lo, hi = (column[away] for column in schedule.table().values())
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
    rows = (step[row], src[row], dst[row], block[row], lo, hi)
    head = schedule.collective, schedule.place, schedule.units, schedule.steps
    return canonical(build_steps(*head, [rows], reduce_steps=schedule.reduce_steps))
