"""Operations: what a rank does, one thing after the other, before threadblocks have numbers."""

from __future__ import annotations

from dataclasses import dataclass

from topodesign.compiler.ir import Buffer, Kind, Region

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
