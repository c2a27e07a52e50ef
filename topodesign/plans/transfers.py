"""The message table: sends between ranks, the base of programs.

Switches have no rank: what goes through them is a send from node to node, and nodes are numbered without them.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from topodesign.base.arrays import earlier, ranges, seal_array
from topodesign.base.errors import ScheduleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.plans.build import blocks_named, check_rows, check_units, renamed
from topodesign.plans.chunk_ops import find_height, sort_sends
from topodesign.plans.flow import Flow
from topodesign.plans.stages import Part, list_parts
from topodesign.plans.unroll import numbers_without
from topodesign.topology.topology import IntArray


class LocalSum(NamedTuple):
    """Sum that a rank makes of its copies of blocks."""

    step: int
    rank: int
    block: int  # that of the sum, and its units from the first to the one after the last
    lo: int
    hi: int
    sources: tuple[int, ...]  # blocks that are added, in this order


@dataclass(frozen=True, eq=False)
class Transfers:
    """The sends of one collective between ranks.

    Row i says: what ``src[i]`` has of the units ``lo[i] <= unit < hi[i]`` of ``block[i]`` at the instant ``start[i]``
    is at ``dst[i]`` at the instant ``end[i]``, and can be sent on then. In a movement of the collective that adds it is
    a partial sum, which the sender then has no longer; else it is stored.

    * ``start``, ``end``, ``part``, ``src``, ``dst``, ``block``, ``lo``, ``hi``: int64 arrays of shape ``(rows,)``;
      ``start < end``, in steps or ticks; ``part`` counts the movements of the collective.
    * ``amounts``: pieces of every block in the order of their numbers, None where all are of one size.
    * ``sums``: where ranks add up for themselves, what, as :func:`topodesign.plans.transfers.add_up` says; else None.
    """

    collective: Collective  # among ranks, which are the nodes in ascending order, without switches
    ranks: int  # how many there are
    units: int  # number of equal parts of a block
    share: Fraction  # part of all data that is this collective's: 1 unless several run at the same time
    start: IntArray
    end: IntArray
    part: IntArray
    src: IntArray
    dst: IntArray
    block: IntArray
    lo: IntArray
    hi: IntArray
    amounts: tuple[int, ...] | None = None
    sums: IntArray | None = None

    @property
    def shards(self) -> int:
        """How many blocks all data are."""
        return 1 if self.sums is not None else self.collective.shards(len(self.collective.members(self.ranks)))

    def list_sums(self) -> list[LocalSum]:
        """Return what ranks add up for themselves, in the order of the steps."""
        rows = [] if self.sums is None else self.sums.T.tolist()
        same = itertools.groupby(rows, key=lambda row: (*row[:3], *row[4:]))
        return [LocalSum._make((*key, tuple(row[3] for row in group))) for key, group in same]

    @property
    def mean(self) -> Fraction:
        """Pieces of a block to another rank, in the mean."""
        return Fraction(1) if self.amounts is None else Fraction(sum(self.amounts), self.ranks * (self.ranks - 1))


@dataclass(frozen=True, eq=False)
class MessageTable:
    """Messages between ranks, merged per instant."""

    # ranks, units: how many ranks there are, and units of a block of every stream
    ranks: int
    units: tuple[int, ...]
    rows: IntArray  # int64 of shape (4, rows): stream, block, lo, hi
    first: IntArray  # where the rows of every message begin, and their number at the end
    # src, dst, start, end, part, adds, tag: one entry for every message; tags count those of a pair
    src: IntArray
    dst: IntArray
    start: IntArray
    end: IntArray
    part: IntArray
    adds: IntArray
    tag: IntArray

    @cached_property
    def amounts(self) -> IntArray:
        """Units of every message."""
        ends = np.append(0, np.cumsum(self.rows[3] - self.rows[2]))
        return np.diff(ends[self.first])

    def at(self, order: IntArray) -> MessageTable:
        """Return the messages in another order."""
        length = np.diff(self.first)[order]
        row = ranges(self.first[order], length)[1]
        columns = {name: getattr(self, name)[order] for name in ("src", "dst", "start", "end", "part", "adds", "tag")}
        return replace(self, rows=self.rows[:, row], first=np.append(0, np.cumsum(length)), **columns)


def message_table(transfers: Sequence[Transfers]) -> MessageTable:
    """Return all messages, merging neighbouring units."""
    names = ("src", "dst", "start", "end", "part", "block", "lo", "hi")
    columns = {name: np.concatenate([getattr(one, name) for one in transfers]) for name in names}
    stream = np.repeat(np.arange(len(transfers)), [len(one.src) for one in transfers])
    adds = np.concatenate(
        [np.array([m.adds for m in one.collective.movements], dtype=np.int64)[one.part] for one in transfers]
    )
    keys = (columns["src"], columns["dst"], columns["start"], columns["end"], stream, columns["part"])
    order = np.lexsort((columns["hi"], columns["lo"], columns["block"], *keys[::-1]))
    sorted_keys = np.stack(keys)[:, order]
    rows = np.stack((stream, columns["block"], columns["lo"], columns["hi"]))[:, order]
    new = np.append(True, np.any(sorted_keys[:, 1:] != sorted_keys[:, :-1], axis=0))[: len(order)]
    joins = ~new & np.append(False, (rows[1, 1:] == rows[1, :-1]) & (rows[2, 1:] == rows[3, :-1]))[: len(order)]
    begins = np.flatnonzero(~joins)
    high = rows[3][np.append(begins[1:], len(order)) - 1] if len(begins) else rows[3]
    kept = np.stack((*rows[:3, begins], high))
    first = np.flatnonzero(new[begins])
    src, dst, start, end = sorted_keys[:4, begins[first]]
    pair = src * transfers[0].ranks + dst
    group = np.flatnonzero(np.diff(pair, prepend=-1))
    tag = np.arange(len(pair)) - np.repeat(group, np.diff(group, append=len(pair)))
    return MessageTable(
        transfers[0].ranks,
        tuple(one.units for one in transfers),
        kept,
        np.append(first, len(begins)),
        src,
        dst,
        start,
        end,
        sorted_keys[5, begins[first]],
        adds[order][begins[first]],
        tag.astype(np.int64),
    )


def transfers_of_flow(flow: Flow, share: Fraction = Fraction(1)) -> Transfers:
    """Return the sends of a flow in steps or by the clock, of a share of the data, among ranks."""
    one, switches = flow.some(np.arange(len(flow))), flow.topology.switches
    number, computes = numbers_without(one.nodes, switches)
    count = int(computes.sum())
    if not np.all(computes[one.src] & computes[one.dst]):
        raise ScheduleError("a send begins or ends at a switch, which is not a rank")
    block = blocks_named(one.collective, one.block, number, count)
    columns = one.start, one.end, one.part, number[one.src], number[one.dst], block, one.lo, one.hi
    start, end, part, src, dst, block, lo, hi = (column.astype(np.int64, copy=False) for column in columns)
    collective = renamed(one.collective, number.tolist())
    return Transfers(collective, count, one.units, share, start, end, part, src, dst, block, lo, hi)


_Send: TypeAlias = tuple[int, int, int, int, Fraction, Fraction]  # step, sender, receiver, block, part
_Sum: TypeAlias = tuple[int, int, int, int, Fraction, Fraction]  # step, rank, block of the sum, block added, part


def add_up(stages: Sequence[Flow]) -> Transfers:
    """Return the transfers of stages among ranks, with sums.

    Everything that is sent is stored at the receiver as a copy of its own, and never changes: block number ``r`` is
    what rank r begins with, the last block the result, and those between are what ranks have on the way. So no rank
    waits with what it receives for what it sends, and all ranks of a group add up in the same order.

    ``sums`` has a row for everything that is added: step, rank, block of the sum, block that is added, first unit and
    the one after the last. Rows of one sum follow one another; the first is copied.
    """
    stages = [sort_sends(one) for one in stages]
    number, computes = numbers_without(stages[0].nodes, stages[0].topology.switches)
    ranks = int(computes.sum())
    sends: list[_Send] = []
    sums: list[_Sum] = []
    names = _names(stages, ranks)
    parts, step = list_parts(stages), 0
    for at, stage in enumerate(stages):
        adds = stage.collective.like(REDUCE_SCATTER)
        carried = _share_data(stage, parts[at + adds])
        height = find_height(stage)
        partial = (len(stages) + at) * ranks
        for tree, edges in _edges(stage, number.tolist()).items():
            root = int(number[stage.block[tree]])
            part = carried[tree]
            if adds:
                blocks = names[at], names[at + 1], partial
                _up(sends, sums, edges, root, part, steps=(step, height), names=blocks)
            else:
                depth = {root: 0}
                for one, other in edges:
                    depth[other] = depth[one] + 1
                    sends.append((step + depth[other], one, other, names[at][root], *part))
        step += height
        if stage.one_shot:
            for alone in stage.collective.single:
                group = alone.group or stage.members.tolist()
                members = sorted(int(number[node]) for node in group)
                part = parts[at][group[0]]
                sums += [
                    (step, rank, names[at + 1][rank], names[at][other], *part)
                    for rank in members
                    for other in members
                    if len(members) > 1
                ]
    check_rows(len(sends) + len(sums))
    ends = {end for one in (*sends, *sums) for end in one[4:]}
    units = math.lcm(*(end.denominator for end in ends))
    check_units(units * ranks)
    table = _table(sends, units)
    table = table[:, np.lexsort((table[3], table[4], table[2], table[1], table[0]))]
    end, src, dst, block, low, high = (seal_array(np.ascontiguousarray(column)) for column in table)
    made = _table(sums, units)
    made = seal_array(np.ascontiguousarray(made[:, np.argsort(made[0], kind="stable")]))
    times = (seal_array(end - 1), end, seal_array(np.ones_like(end)))  # and what is moved is copied
    return Transfers(ALLREDUCE, ranks, units, Fraction(1), *times, src, dst, block, low, high, sums=made)


def _table(rows: list[_Send], units: int) -> IntArray:
    """Return columns of rows whose parts are in units."""
    return np.array([(*one[:4], int(one[4] * units), int(one[5] * units)) for one in rows], dtype=np.int64).T


def _names(stages: Sequence[Flow], ranks: int) -> list[list[int]]:
    """Return the blocks of every rank before and after each stage."""
    last = 2 * len(stages) * ranks
    names = [[last] * ranks]
    for at, stage in reversed(list(enumerate(stages))):
        # What is gathered is received where it belongs.
        own = names[0] if stage.collective.like(ALLGATHER) else [at * ranks + rank for rank in range(ranks)]
        names.insert(0, own)
    return names


def _edges(stage: Flow, number: list[int]) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for tree, src, dst in zip(stage.piece.tolist(), stage.src.tolist(), stage.dst.tolist(), strict=True):
        found[tree].append((number[src], number[dst]))
    return found


def _share_data(stage: Flow, held: dict[int, Part]) -> list[Part]:
    """Return the data share of every tree, of what its root holds."""
    weight = np.asarray(stage.weight)
    first = earlier(stage.block, weight)
    ends = first + weight
    whole = dict(zip(stage.block.tolist(), ends.tolist(), strict=True))  # of a root's trees the last ends there
    found = []
    for root, begin, end in zip(stage.block.tolist(), first.tolist(), ends.tolist(), strict=True):
        lo, hi = held[root]
        unit = (hi - lo) / whole[root]
        found.append((lo + begin * unit, lo + end * unit))
    return found


def _up(
    sends: list[_Send],
    sums: list[_Sum],
    edges: list[tuple[int, int]],
    root: int,
    part: Part,
    *,
    steps: tuple[int, int],
    names: tuple[list[int], list[int], int],
) -> None:
    """Add the sends of an in-tree, leaves first."""
    step, height = steps
    before, after, partial = names
    come: dict[int, list[int]] = defaultdict(list)
    level: dict[int, int] = defaultdict(int)

    def add_up(node: int, block: int, at: int) -> None:
        sums.extend((at, node, block, other, *part) for other in sorted([before[node], *come[node]]))

    for src, dst in edges:
        block = before[src]
        if come[src]:
            block = partial + src
            add_up(src, block, step + level[src])
        level[src] += 1
        level[dst] = max(level[dst], level[src])
        come[dst].append(block)
        sends.append((step + level[src], src, dst, block, *part))
    add_up(root, after[root], step + height)
