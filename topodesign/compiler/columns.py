"""Programs as columns of threadblocks, instructions and waits.

Front ends make columns, and back ends read them. What looks at a few instructions sees objects, made when it asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, overload

import numpy as np

from topodesign.base.compiled import Ints
from topodesign.compiler.ir import Buffer, Instruction, Kind, RankProgram, Region, Threadblock

BITS = 48
"""A region is one number: that of its buffer, shifted by so many bits, and the offset; -1 is none."""

KINDS, BUFFERS = tuple(Kind), tuple(Buffer)
SENDS = np.array([kind.sends for kind in KINDS])
RECEIVES = np.array([kind.receives for kind in KINDS])
NUMBER = {kind: number for number, kind in enumerate(KINDS)}


class Columns(NamedTuple):
    """Columns of threadblocks by rank, their instructions and their waits."""

    rank: Ints  # of every threadblock; what it sends to and receives from, or -1
    send: Ints
    receive: Ints
    channel: Ints
    first: Ints  # its first instruction, and at last how many there are
    kind: Ints  # of every instruction: place in KINDS
    source: Ints  # regions
    target: Ints
    size: Ints  # chunks
    step: Ints
    waits: Ints  # its first wait, and at last how many there are
    other: Ints  # of every wait: number of the threadblock among those of its rank, and of the instruction there
    position: Ints
    scratch: Ints  # of every rank

    @property
    def block(self) -> Ints:
        """The threadblock of every instruction."""
        return np.repeat(np.arange(len(self.rank)), np.diff(self.first))

    @property
    def starts(self) -> Ints:
        """Index of each rank's first threadblock, then the total count."""
        return np.searchsorted(self.rank, np.arange(len(self.scratch) + 1))

    @property
    def steps(self) -> Ints:
        """Steps per threadblock; each wait after the first adds one."""
        total = np.concatenate(([0], np.cumsum(np.maximum(1, np.diff(self.waits)))))
        return total[self.first[1:]] - total[self.first[:-1]]

    def connections(self) -> tuple[Ints, Ints, int]:
        """Return numbered send and receive connections, and their count."""
        ends = [(self.rank, self.send), (self.receive, self.rank)]
        size, channels = len(self.scratch), int(self.channel.max(initial=0)) + 1
        key = np.concatenate(
            [(np.minimum(a, b) >= 0) * ((a * size + b) * channels + self.channel + 1) for a, b in ends]
        )
        known, number = np.unique(np.append(key, 0), return_inverse=True)
        return number[: len(self.rank)] - 1, number[len(self.rank) : -1] - 1, len(known) - 1


class Ranks(Sequence[RankProgram]):
    """Sequence of rank programs, built from columns on access."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    @property
    def scratch(self) -> int:
        """Chunks of scratch of the rank with the most."""
        return int(self.columns.scratch.max())

    def __len__(self) -> int:
        return len(self.columns.scratch)

    @overload
    def __getitem__(self, at: int) -> RankProgram: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[RankProgram]: ...
    def __getitem__(self, at: int | slice) -> RankProgram | Sequence[RankProgram]:
        return self._made[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._made == tuple(other)

    def __hash__(self) -> int:
        return hash(self._made)

    @cached_property
    def _made(self) -> tuple[RankProgram, ...]:
        own = self.columns
        waits = list(zip(own.other.tolist(), own.position.tolist(), strict=True))
        depends = [tuple(waits[low:high]) for low, high in pairwise(own.waits.tolist())]
        regions = [list(map(_region, column.tolist())) for column in (own.source, own.target)]
        kinds = [KINDS[kind] for kind in own.kind.tolist()]
        rows = zip(kinds, *regions, own.size.tolist(), depends, own.step.tolist(), strict=True)
        ones = [Instruction(*row) for row in rows]
        ends = [[None if peer < 0 else peer for peer in column.tolist()] for column in (own.send, own.receive)]
        blocks = [
            Threadblock(send, receive, channel, tuple(ones[low:high]))
            for send, receive, channel, (low, high) in zip(
                *ends, own.channel.tolist(), pairwise(own.first.tolist()), strict=True
            )
        ]
        sizes = zip(pairwise(own.starts.tolist()), own.scratch.tolist(), strict=True)
        return tuple(RankProgram(tuple(blocks[low:high]), scratch) for (low, high), scratch in sizes)


def _region(place: int) -> Region | None:
    return None if place < 0 else Region(BUFFERS[place >> BITS], place & ((1 << BITS) - 1))


def columns_of(ranks: Sequence[RankProgram]) -> Columns:
    """Return the columns of rank programs, reusing existing ones."""
    if isinstance(ranks, Ranks):
        return ranks.columns

    def place(region: Region | None) -> int:
        return -1 if region is None else (BUFFERS.index(region.buffer) << BITS) + region.offset

    blocks = [(rank, block) for rank, body in enumerate(ranks) for block in body.threadblocks]
    ones = [one for _, block in blocks for one in block.instructions]
    lines: tuple[list[int], ...] = (
        [rank for rank, _ in blocks],
        [-1 if block.send is None else block.send for _, block in blocks],
        [-1 if block.receive is None else block.receive for _, block in blocks],
        [block.channel for _, block in blocks],
        np.cumsum([0, *(len(block.instructions) for _, block in blocks)]).tolist(),
        [NUMBER[one.kind] for one in ones],
        [place(one.source) for one in ones],
        [place(one.target) for one in ones],
        [one.count for one in ones],
        [one.step for one in ones],
        np.cumsum([0, *(len(one.depends) for one in ones)]).tolist(),
        [other for one in ones for other, _ in one.depends],
        [at for one in ones for _, at in one.depends],
        [body.scratch for body in ranks],
    )
    return Columns(*(np.array(line, dtype=np.int64) for line in lines))
