"""Operations as they come about, rank by rank: sends, receives and the copies between."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import sub

from topodesign.compiler.frontends.layout import Message
from topodesign.compiler.frontends.operation import SCRATCH, Operation, Place
from topodesign.compiler.ir import Kind


@dataclass(frozen=True, slots=True)
class Part:
    """Chunks that one instruction sends and one receives: a message, or what one channel carries of it."""

    message: Message
    instance: int
    chunks: list[int]


def runs(*columns: list[Place]) -> list[tuple[int, int]]:
    """Return the maximal ranges (start, stop) in which the places of every column follow one another."""
    size = len(columns[0])
    if not size:
        return [(0, 0)]
    cuts: set[int] = set()
    for column in columns:
        cuts.update([at for at, step in enumerate(map(sub, column[1:], column), start=1) if step != 1])
    return list(itertools.pairwise([0, *sorted(cuts), size]))


def contiguous(*columns: list[Place]) -> bool:
    """Return whether the places of every column follow one another."""
    return len(runs(*columns)) == 1


def region(start: int, size: int) -> list[Place]:
    """Return that many places of scratch."""
    return list(range(SCRATCH + start, SCRATCH + start + size))


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
