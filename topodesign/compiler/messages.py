"""Messages: a program that says what every rank sends, receives and adds up, and what that waits for.

It is what simulators of traces read: no buffers, threadblocks or instructions, but whole messages with the data that
they carry, in the order of the plan itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple

from topodesign.compiler.ir import Program


class Act(Enum):
    """What a rank does with a message."""

    SEND = "send"
    RECEIVE = "receive"
    ADD = "add"


@dataclass(frozen=True, slots=True)
class Message:
    """One message."""

    src: int  # ranks
    dst: int
    part: int  # index of the movement of the collective that it belongs to
    data: tuple[tuple[int, int, int], ...]  # block, first unit and end of all that it carries

    @property
    def units(self) -> int:
        """Number of units that it carries."""
        return sum(hi - lo for _, lo, hi in self.data)


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that a rank does."""

    act: Act
    message: int  # number of the message
    data: tuple[int, ...] = ()  # positions in the rank's list of what brings the data that it needs
    control: tuple[int, ...] = ()  # positions of what else has to be over


class Own(NamedTuple):
    """What timed sends are for."""

    size: Fraction  # bytes of the whole data
    alphas: tuple[Fraction, ...]  # seconds of latency of every link
    rates: tuple[Fraction, ...]  # bytes per second of every link


@dataclass(frozen=True)
class Messages(Program):
    """A program of messages.

    * ``operations``: what every rank does, in an order in which nothing waits for what comes later.
    * ``ends``: the largest number of units that a message has, for every step of rounds in their order; None for timed
      sends.
    """

    units: int = 1  # equal parts of a block, or of a piece where blocks have several
    amounts: tuple[int, ...] | None = None  # pieces of every block, where these differ
    messages: tuple[Message, ...] = ()  # all of them; what a rank does names them by their place here
    operations: tuple[tuple[Operation, ...], ...] = ()
    ends: tuple[int, ...] | None = None
    adding: int = 0  # how many of the steps add
    phase: int | None = None  # of a plan whose circuits change, if these are the messages of one phase alone
    own: Own | None = None  # what the plan itself says of the call and of the links, None where it says nothing

    def size(self, number: int, whole: Fraction) -> int:
        """Return the bytes of a message in a call of so many: a part of a byte is a whole one."""
        return self.bytes_of(self.messages[number].units, whole)

    def bytes_of(self, units: int, whole: Fraction) -> int:
        """Return the bytes of so many units in a call of so many bytes, rounded up."""
        ranks = len(self.ranks)
        mean = 1 if self.amounts is None else Fraction(sum(self.amounts), ranks * (ranks - 1))
        return -int(-units * whole // (self.units * mean * self.collective.shards(ranks)))

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every rank: how much it sends, receives and adds."""
        rows = []
        for rank, ones in enumerate(self.operations):
            counts = {f"{act.value}s": sum(one.act is act for one in ones) for act in Act}
            rows.append({"rank": rank, **counts, "waits": sum(len(one.data) + len(one.control) for one in ones)})
        return rows
