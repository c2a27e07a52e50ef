"""Rank operations before threadblocks are numbered, and their construction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import ranges
from topodesign.base.compiled import Ints
from topodesign.compiler.columns import BITS, NUMBER
from topodesign.compiler.instructions import Kind

Place = int
"""A chunk in memory: where its buffer begins, as below, plus the offset, so that places in a row are numbers in a row.
Large programs look at millions of them."""

ACCUMULATOR, IN, OUT, SCRATCH = (number << BITS for number in range(1, 5))
"""Where buffers begin. The first has partial sums at the offsets of the whole collective; it ends up in scratch without
the gaps."""

Block = tuple[int | None, int | None, int]
"""A threadblock before it has a number: peer to send to, peer to receive from, instance."""


class Operations(NamedTuple):
    """Operations of all ranks in a valid serial order."""

    first: Ints  # of every rank, and at last how many there are
    kind: Ints  # place in KINDS
    step: Ints
    size: Ints  # chunks
    source: Ints  # first place that it reads and that it writes, -1 where its kind has none
    target: Ints
    send: Ints  # peers of the threadblock that it belongs to, or -1
    receive: Ints
    instance: Ints  # number of the part of every message that this threadblock carries

    @property
    def rank(self) -> Ints:
        """The rank of every operation."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def at(self, rows: Ints | NDArray[np.bool_]) -> Operations:
        """Return some of the operations, in order of their ranks."""
        first = np.searchsorted(self.rank[rows], np.arange(len(self.first)))
        return Operations(first, *(column[rows] for column in self[1:]))

    def cells(self) -> tuple[Ints, Ints, int]:
        """Return first cells read and written (-1: none), and their number."""
        extent = np.zeros(6, dtype=np.int64)  # at the number of a buffer plus 1
        ends = [(places >> BITS, places & (1 << BITS) - 1) for places in (self.source, self.target)]
        for buffer, offset in ends:
            np.maximum.at(extent, buffer + 1, offset + self.size)
        extent[0] = 0
        start = np.cumsum(extent)
        source, target = (np.where(buffer < 0, -1, start[buffer] + offset) for buffer, offset in ends)
        return source, target, int(start[-1])


def write(
    kind: Kind | Ints,
    order: tuple[Ints, Ints | int, int, Ints],
    size: Ints,
    ends: tuple[Ints | int, Ints | int, Ints | int, Ints | int],
    instance: Ints,
    *,
    when: Ints | None = None,
) -> Ints:
    """Return operations as rows of a table for :func:`order_operations`.

    * ``order``: rank, step, turn in the step, and number; a rank does its own in this order.
    * ``ends``: source and target, peers to send to and to receive from; -1 for none.
    * ``when``: the step in whose turn they are done, if that is another.
    """
    kinds = NUMBER[kind] if isinstance(kind, Kind) else kind
    rank, step, turn, number = order
    columns = rank, step if when is None else when, turn, number, kinds, step, size, *ends, instance
    return np.stack(np.broadcast_arrays(*columns))


def order_operations(ranks: int, tables: Sequence[Ints]) -> Operations:
    """Return the operations of all ranks, in the order of each."""
    table = np.concatenate(tables, axis=1)
    rank, when, turn, number = table[:4]
    order = np.lexsort((number, turn, when, rank))
    first = np.searchsorted(rank[order], np.arange(ranks + 1))
    return Operations(first, *(column[order] for column in table[4:]))


def cut_pieces(size: Ints, longest: int) -> tuple[Ints, Ints, Ints]:
    """Return what an instruction each moves of messages: which, from where in it, and how much."""
    cuts = -(-size // longest)
    row, number = ranges(0, cuts)
    low, high = (at * size[row] // cuts[row] for at in (number, number + 1))
    return row, low, high - low


Copies = tuple[int, Ints, Ints]
"""The step before or in which chunks are copied, from where, and where to."""


def prepare(receivers: Ints, senders: Ints, instances: Ints, copies: Sequence[Sequence[Copies]], longest: int) -> Ints:
    """Return all copies of each rank, each in the least loaded receiving threadblock.

    A message goes from its sender to its receiver over the connection of an instance.
    """
    rows: list[tuple[int, ...]] = []
    arriving: list[list[tuple[int, int]]] = [[] for _ in copies]
    for rank, *connection in np.unique((receivers, senders, instances), axis=1).T.tolist():
        arriving[rank].append((connection[0], connection[1]))
    for rank, (connections, mine) in enumerate(zip(arriving, copies, strict=True)):
        load = dict.fromkeys(connections or [(-1, 0)], 0)
        for step, source, target in mine:
            cuts = np.flatnonzero((np.diff(source) != 1) | (np.diff(target) != 1)) + 1
            for start, stop in pairwise([0, *cuts.tolist(), len(source)]):  # what lies together in both places
                peer, instance = min(load, key=load.__getitem__)
                load[peer, instance] += stop - start
                for at in range(start, stop, longest):
                    moved = min(longest, stop - at), int(source[at]), int(target[at])
                    order = rank, step, 0, len(rows)
                    rows.append((*order, NUMBER[Kind.COPY], step, *moved, -1, peer, instance))
    return np.array(rows, dtype=np.int64).reshape(-1, 12).T
