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
    """One message.

    Attributes
    ----------
    src, dst
        Ranks.
    part
        Index of the movement of the collective that it belongs to.
    data
        Block, first unit and end of all that it carries.
    """

    src: int
    dst: int
    part: int
    data: tuple[tuple[int, int, int], ...]

    @property
    def units(self) -> int:
        """Number of units that it carries."""
        return sum(hi - lo for _, lo, hi in self.data)


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that a rank does.

    Attributes
    ----------
    act
        What.
    message
        Number of the message.
    data
        Positions in the rank's list of what brings the data that it needs.
    control
        Positions of what else has to be over.
    """

    act: Act
    message: int
    data: tuple[int, ...] = ()
    control: tuple[int, ...] = ()


class Own(NamedTuple):
    """What timed sends are for.

    Attributes
    ----------
    size
        Bytes of the whole data.
    alphas
        Seconds of latency of every link.
    rates
        Bytes per second of every link.
    """

    size: Fraction
    alphas: tuple[Fraction, ...]
    rates: tuple[Fraction, ...]


@dataclass(frozen=True)
class Messages(Program):
    """A program of messages.

    Attributes
    ----------
    units
        Equal parts of a block.
    messages
        All of them; what a rank does names them by their place here.
    operations
        What every rank does, in an order in which nothing waits for what comes later.
    ends
        The largest number of units that a message has, for every step of rounds in their order; None for timed sends.
    adding
        How many of the steps add.
    own
        What the plan itself says of the call and of the links, None where it says nothing.
    """

    units: int = 1
    messages: tuple[Message, ...] = ()
    operations: tuple[tuple[Operation, ...], ...] = ()
    ends: tuple[int, ...] | None = None
    adding: int = 0
    own: Own | None = None

    def size(self, number: int, whole: Fraction) -> int:
        """Return the bytes of a message in a call of so many: a part of a byte is a whole one."""
        return self.bytes_of(self.messages[number].units, whole)

    def bytes_of(self, units: int, whole: Fraction) -> int:
        """Return the bytes of so many units in a call of so many bytes, rounded up."""
        return -int(-units * whole // (self.units * self.collective.shards(len(self.ranks))))

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every rank: how much it sends, receives and adds."""
        rows = []
        for rank, ones in enumerate(self.operations):
            counts = {f"{act.value}s": sum(one.act is act for one in ones) for act in Act}
            rows.append({"rank": rank, **counts, "waits": sum(len(one.data) + len(one.control) for one in ones)})
        return rows
