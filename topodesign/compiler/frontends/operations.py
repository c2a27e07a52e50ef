"""Operations: what a rank does, one after the other, before threadblocks have numbers, and how they come about."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import sub
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints
from topodesign.compiler.columns import BITS, NUMBER
from topodesign.compiler.ir import Kind

Message = tuple[int, int, int]  # step, sender, receiver: everything that a link carries in a step

Place = int
"""A chunk in memory: where its buffer begins, as below, plus the offset, so that places in a row are numbers in a row.
Large programs look at millions of them."""

ACCUMULATOR, IN, OUT, SCRATCH = (number << BITS for number in range(1, 5))
"""Where buffers begin. The first has partial sums at the offsets of the whole collective; it ends up in scratch without
the gaps."""

Block = tuple[int | None, int | None, int]
"""A threadblock before it has a number: peer to send to, peer to receive from, instance."""

Row = tuple[int, int, int, int, int, int, int, int]
"""An operation: kind, step, count, source, target, peers to send to and to receive from, instance."""


class Operations(NamedTuple):
    """What all ranks do, in an order for each that is right when done one after the other."""

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
        """Return the first places that are read and written as numbers from 0 on, or -1, and how many there may be."""
        extent = np.zeros(6, dtype=np.int64)  # at the number of a buffer plus 1
        ends = [(places >> BITS, places & (1 << BITS) - 1) for places in (self.source, self.target)]
        for buffer, offset in ends:
            np.maximum.at(extent, buffer + 1, offset + self.size)
        extent[0] = 0
        start = np.cumsum(extent)
        source, target = (np.where(buffer < 0, -1, start[buffer] + offset) for buffer, offset in ends)
        return source, target, int(start[-1])


def operations_of(ranks: Sequence[Sequence[Row]]) -> Operations:
    """Return the columns of what each rank does."""
    columns = np.array([row for rows in ranks for row in rows], dtype=np.int64).reshape(-1, 8).T
    return Operations(np.cumsum([0, *map(len, ranks)]), *map(np.ascontiguousarray, columns))


_SEND, _RECEIVE, _ADD = (NUMBER[kind] for kind in (Kind.SEND, Kind.RECEIVE, Kind.RECEIVE_REDUCE_COPY))


@dataclass(frozen=True, slots=True)
class Part:
    """Chunks that one instruction sends and one receives: a message, or what one channel carries of it."""

    message: Message
    instance: int
    chunks: list[int]


def runs(*columns: list[Place]) -> list[tuple[int, int]]:
    """Return the maximal ranges (start, stop) in which the places of every column follow one another."""
    size = len(columns[0])
    cuts: set[int] = set()
    for column in columns:
        if not contiguous(column):
            cuts.update([at for at, step in enumerate(map(sub, column[1:], column), start=1) if step != 1])
    return list(itertools.pairwise([0, *sorted(cuts), size]))


def contiguous(*columns: list[Place]) -> bool:
    """Return whether the places of every column follow one another."""
    return all(not column or column == list(range(column[0], column[0] + len(column))) for column in columns)


def region(start: int, size: int) -> list[Place]:
    """Return that many places of scratch."""
    return list(range(SCRATCH + start, SCRATCH + start + size))


def cut(message: Message, chunks: list[int], channels: int, max_count: int) -> Iterator[Part]:
    """Split a message evenly over the channels, then into what one instruction can move."""
    share = len(chunks) // channels
    pieces = -(-share // max_count)
    for instance in range(channels):
        cuts = [instance * share + piece * share // pieces for piece in range(pieces + 1)]
        for start, stop in itertools.pairwise(cuts):
            yield Part(message, instance, chunks[start:stop])


@dataclass
class Emitter:
    """Collects the operations of one rank in an order that is right when done one after the other."""

    arriving: list[tuple[int | None, int]]  # connections that it receives on: sender and instance
    max_count: int  # the most chunks that one instruction moves
    scratch: int = 0
    _early: list[Row] = field(default_factory=list)
    _rest: list[Row] = field(default_factory=list)

    def operations(self) -> list[Row]:
        """Return what there is so far in serial order."""
        return self._early + self._rest

    def fresh(self, size: int) -> list[Place]:
        """Return scratch places that nothing else uses."""
        self.scratch += size
        return region(self.scratch - size, size)

    def prepare(self, source: list[Place], target: list[Place], step: int = 0) -> None:
        """Copy before the first step or another, in the receiving threadblock with the least to do by then."""
        load = dict.fromkeys(self.arriving or [(None, 0)], 0)
        for _, _, count, _, _, _, receive, instance in self._early:
            load[None if receive < 0 else receive, instance] += count
        for start, stop in runs(source, target):
            peer, instance = min(load, key=load.__getitem__)
            load[peer, instance] += stop - start
            self._early += self._local(Kind.COPY, step, (None, peer), instance, source[start:stop], target[start:stop])

    def send(self, part: Part, places: list[Place]) -> None:
        """Send a part from these places, gathered in scratch first unless they are contiguous."""
        step, _, dst = part.message
        if not contiguous(places):
            together = self.fresh(len(places))
            self._rest += self._local(Kind.COPY, step, (dst, None), part.instance, places, together)
            places = together
        self._rest.append((_SEND, step, len(places), places[0], -1, dst, -1, part.instance))

    def receive(self, part: Part, target: list[Place]) -> None:
        """Receive a part into contiguous places."""
        step, src, _ = part.message
        self._rest.append((_RECEIVE, step, len(target), -1, target[0], -1, src, part.instance))

    def receive_reduce(self, part: Part, source: list[Place], target: list[Place]) -> None:
        """Receive a part, add the source, and store the sum; both are contiguous."""
        step, src, _ = part.message
        self._rest.append((_ADD, step, len(target), source[0], target[0], -1, src, part.instance))

    def unpack(self, kind: Kind, part: Part, source: list[Place], target: list[Place]) -> None:
        """Copy or reduce what a part brought from where it was received to where it belongs."""
        step, src, _ = part.message
        self._rest += self._local(kind, step, (None, src), part.instance, source, target)

    def _local(
        self, kind: Kind, step: int, link: tuple[int | None, int | None], instance: int, *pair: list[Place]
    ) -> Iterator[Row]:
        source, target = pair
        send, receive = (-1 if peer is None else peer for peer in link)
        for start, stop in runs(source, target):
            for at in range(start, stop, self.max_count):
                count = min(self.max_count, stop - at)
                yield NUMBER[kind], step, count, source[at], target[at], send, receive, instance


def emitters(senders: Iterable[Iterable[int]], channels: int, max_count: int) -> list[Emitter]:
    """Return the emitters of all ranks, given from which each receives."""
    return [Emitter(list(itertools.product(sorted(peers), range(channels))), max_count) for peers in senders]
