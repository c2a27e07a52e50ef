"""Operations: what a rank does, one after the other, before threadblocks have numbers, and how they come about."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import sub

from topodesign.compiler.ir import Buffer, Kind, Region

Message = tuple[int, int, int]  # step, sender, receiver: everything that a link carries in a step

Place = int
"""A chunk in memory: where its buffer begins, as below, plus the offset, so that places in a row are numbers in a row.
Large programs look at tens of millions of them, which takes twice as long with pairs of a buffer and an offset."""

_BITS = 48
ACCUMULATOR, IN, OUT, SCRATCH = (number << _BITS for number in range(1, 5))
"""Where buffers begin. The first has partial sums at the offsets of the whole collective; it ends up in scratch without
the gaps."""

_BUFFER = {IN: Buffer.INPUT, OUT: Buffer.OUTPUT}


def lasting(place: Place) -> Region | None:
    """Return where a chunk is in what the caller gave or gets; None if it is in between."""
    begin = place >> _BITS << _BITS
    return Region(_BUFFER[begin], place - begin) if begin in _BUFFER else None


Block = tuple[int | None, int | None, int]
"""A threadblock before it has a number: peer to send to, peer to receive from, instance."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An instruction with places instead of regions and with peers instead of a threadblock."""

    kind: Kind  # as in :class:`Instruction`
    step: int
    count: int
    source: Place | None  # first place that it reads and that it writes
    target: Place | None
    send: int | None  # peers of the threadblock that it belongs to
    receive: int | None
    instance: int  # number of the part of every message that this threadblock carries

    @property
    def block(self) -> Block:
        """The threadblock that it belongs to."""
        return self.send, self.receive, self.instance

    def reads(self) -> list[Place]:
        """Return the places whose contents matter to it."""
        places = _places(self.source, self.count)
        return places + _places(self.target, self.count) if self.kind is Kind.REDUCE else places

    def writes(self) -> list[Place]:
        """Return the places that it changes."""
        return _places(self.target, self.count)


def _places(first: Place | None, size: int) -> list[Place]:
    return [] if first is None else list(range(first, first + size))


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
    _early: list[Operation] = field(default_factory=list)
    _rest: list[Operation] = field(default_factory=list)

    def operations(self) -> list[Operation]:
        """Return what there is so far in serial order."""
        return self._early + self._rest

    def fresh(self, size: int) -> list[Place]:
        """Return scratch places that nothing else uses."""
        self.scratch += size
        return region(self.scratch - size, size)

    def prepare(self, source: list[Place], target: list[Place]) -> None:
        """Copy before the first step, in the receiving threadblock with the least to do by then."""
        load = dict.fromkeys(self.arriving or [(None, 0)], 0)
        for one in self._early:
            load[one.receive, one.instance] += one.count
        for start, stop in runs(source, target):
            peer, instance = min(load, key=load.__getitem__)
            load[peer, instance] += stop - start
            self._early += self._local(Kind.COPY, 0, (None, peer), instance, source[start:stop], target[start:stop])

    def send(self, part: Part, places: list[Place]) -> None:
        """Send a part from these places, gathered in scratch first unless they are contiguous."""
        step, _, dst = part.message
        if not contiguous(places):
            together = self.fresh(len(places))
            self._rest += self._local(Kind.COPY, step, (dst, None), part.instance, places, together)
            places = together
        self._rest.append(Operation(Kind.SEND, step, len(places), places[0], None, dst, None, part.instance))

    def receive(self, part: Part, target: list[Place]) -> None:
        """Receive a part into contiguous places."""
        step, src, _ = part.message
        self._rest.append(Operation(Kind.RECEIVE, step, len(target), None, target[0], None, src, part.instance))

    def receive_reduce(self, part: Part, source: list[Place], target: list[Place]) -> None:
        """Receive a part, add the source, and store the sum; both are contiguous."""
        step, src, _ = part.message
        kind = Kind.RECEIVE_REDUCE_COPY
        self._rest.append(Operation(kind, step, len(target), source[0], target[0], None, src, part.instance))

    def unpack(self, kind: Kind, part: Part, source: list[Place], target: list[Place]) -> None:
        """Copy or reduce what a part brought from where it was received to where it belongs."""
        step, src, _ = part.message
        self._rest += self._local(kind, step, (None, src), part.instance, source, target)

    def _local(
        self, kind: Kind, step: int, link: tuple[int | None, int | None], instance: int, *pair: list[Place]
    ) -> Iterator[Operation]:
        source, target = pair
        for start, stop in runs(source, target):
            for at in range(start, stop, self.max_count):
                count = min(self.max_count, stop - at)
                yield Operation(kind, step, count, source[at], target[at], *link, instance)


def emitters(senders: Iterable[Iterable[int]], channels: int, max_count: int) -> list[Emitter]:
    """Return the emitters of all ranks, given from which each receives."""
    return [Emitter(list(itertools.product(sorted(peers), range(channels))), max_count) for peers in senders]
