"""Columns of threadblocks and instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topodesign.base.compiled import Ints
from topodesign.compiler.instructions import Buffer, Kind

BITS = 48
"""A region is one number: that of its buffer, shifted by so many bits, and the offset; -1 is none."""

KINDS, BUFFERS = tuple(Kind), tuple(Buffer)
SENDS = np.array([kind.sends for kind in KINDS])
RECEIVES = np.array([kind.receives for kind in KINDS])
NUMBER = {kind: number for number, kind in enumerate(KINDS)}


class Columns(NamedTuple):
    """Threadblocks of all ranks, their instructions and their waits.

    A threadblock runs its instructions in order. A wait is for an instruction of the same rank, which must be over
    before the one that waits starts.
    """

    rank: Ints  # of every threadblock; what it sends to and receives from, or -1
    send: Ints
    receive: Ints
    channel: Ints  # (sender, receiver, channel) names a connection, which is first in, first out
    first: Ints  # its first instruction, and at last how many there are
    kind: Ints  # of every instruction: place in KINDS
    source: Ints  # regions
    target: Ints
    size: Ints  # contiguous chunks
    step: Ints  # communication step of the schedule, 0 for what happens before the first
    waits: Ints  # its first wait, and at last how many there are
    other: Ints  # of every wait: number of the threadblock among those of its rank, and of the instruction there
    position: Ints
    scratch: Ints  # chunks of every rank

    @classmethod
    def empty(cls, scratch: Sequence[int]) -> Columns:
        """Return the columns of ranks that run no instructions."""
        none, end = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
        return cls._make([*[none] * 4, end, *[none] * 5, end, none, none, np.array(scratch, dtype=np.int64)])

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

    def count_by_rank(self) -> list[tuple[int, int, int, int]]:
        """Return every rank with its threadblocks, instructions and scratch chunks."""
        instructions = np.diff(self.first[self.starts])
        columns = np.arange(len(self.scratch)), np.diff(self.starts), instructions, self.scratch
        return list(zip(*(column.tolist() for column in columns), strict=True))
