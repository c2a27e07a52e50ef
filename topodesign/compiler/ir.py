"""Program IR: threadblocks and instructions over three buffers.

Or, for targets that run something else, messages, or permutations of the rows of an array.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from topodesign.collectives import Collective
from topodesign.compiler.options import Protocol

if TYPE_CHECKING:
    from topodesign.compiler.columns import Columns
    from topodesign.plans.transfers import MessageTable


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A collective as every rank runs it.

    In place, the shorter of a rank's input and output is where the longer one has the same blocks, as
    :meth:`~topodesign.collectives.collective.Collective.in_place` says. The program then names the longer one alone:
    the output of an allgather or broadcast, the input of a reduce-scatter or reduce, and of an allreduce, whose two are
    one, the output. The input is never written but in place.
    """

    collective: Collective  # what it does, among all ranks; its root is a rank
    inplace: bool  # whether input and output share memory as above; if not, they must not overlap
    protocol: Protocol  # how a connection moves data
    chunks: int  # chunks of the whole collective: its data must be a multiple of this many elements
    channels: int  # number of channels in use
    columns: Columns  # what all ranks do
    # where blocks differ in size, and are padded to the largest: how many chunks of each are sent, in their order
    sent: tuple[int, ...] | None = None

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.columns.scratch)

    @property
    def shard(self) -> int:
        """Chunks of a block: allgather input or reduce-scatter output."""
        return self.chunks // self.collective.shards(self.ranks)

    @property
    def input_chunks(self) -> int:
        """Chunks of the input of each rank that has one."""
        return len(self.collective.at(None).inputs(0, self.ranks)) * self.chunks // self.collective.shards(self.ranks)

    @property
    def output_chunks(self) -> int:
        """Chunks of the output of each rank that has one."""
        return len(self.collective.at(None).outputs(0, self.ranks)) * self.chunks // self.collective.shards(self.ranks)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row per rank: threadblocks, instructions and scratch chunks."""
        names = "rank", "threadblocks", "instructions", "scratch_chunks"
        return [dict(zip(names, row, strict=True)) for row in self.columns.count_by_rank()]


class Act(Enum):
    """Action of a rank on a message."""

    SEND = "send"
    RECEIVE = "receive"
    ADD = "add"


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that a rank does."""

    act: Act
    message: int  # number of the message
    data: tuple[int, ...] = ()  # positions in the rank's list of what brings the data that it needs
    control: tuple[int, ...] = ()  # positions of what else has to be over


class CallLinks(NamedTuple):
    """Call size and link properties of a timed schedule."""

    size: Fraction  # bytes of the whole data
    alphas: tuple[Fraction, ...]  # seconds of latency of every link
    rates: tuple[Fraction, ...]  # bytes per second of every link


@dataclass(frozen=True, eq=False)
class Messages(Program):
    """Program of messages and sums, in plan order.

    It is what simulators of traces read: no buffers, threadblocks or instructions, but whole messages with their data.

    * ``operations``: what every rank does, in an order in which nothing waits for what comes later.
    * ``ends``: the largest number of units that a message has, for every step of rounds in their order; None for timed
      sends.
    """

    units: int = 1  # equal parts of a block, or of a piece where blocks have several
    amounts: tuple[int, ...] | None = None  # pieces of every block, where these differ
    _: KW_ONLY
    table: MessageTable  # all messages; what a rank does names them by their place here
    operations: tuple[tuple[Operation, ...], ...] = ()
    ends: tuple[int, ...] | None = None
    adding: int = 0  # how many of the steps add
    phase: int | None = None  # of a plan whose circuits change, if these are the messages of one phase alone
    own: CallLinks | None = None  # what the plan itself says of the call and of the links, None where it says nothing

    def size(self, number: int, whole: Fraction) -> int:
        """Return a message's bytes in a call, rounded up."""
        return self.bytes_of(int(self.table.amounts[number]), whole)

    def bytes_of(self, units: int, whole: Fraction) -> int:
        """Return the bytes of ``units`` in a call, rounded up."""
        ranks = self.ranks
        mean = 1 if self.amounts is None else Fraction(sum(self.amounts), ranks * (ranks - 1))
        return -int(-units * whole // (self.units * mean * self.collective.shards(ranks)))

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row per rank: its sends, receives and sums."""
        rows = []
        for rank, ones in enumerate(self.operations):
            counts = {f"{act.value}s": sum(one.act is act for one in ones) for act in Act}
            rows.append({"rank": rank, **counts, "waits": sum(len(one.data) + len(one.control) for one in ones)})
        return rows


Runs: TypeAlias = tuple[tuple[int, int], ...]
"""Rows one after the other, as pairs of the first and the one after the last; negative ones are rows of zeros."""
Rows: TypeAlias = tuple[Runs, ...]
"""Rows of every rank, or once where they are the same at all ranks."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One permutation."""

    pairs: tuple[tuple[int, int], ...]  # who sends to whom
    take: Rows  # what ranks send
    put: Rows  # where they put or add what they receive; they receive zeros from nobody
    moved: int  # rows that all ranks send; more go where some send fewer than others
    width: int  # rows that every rank sends


@dataclass(frozen=True, slots=True)
class Phase:
    """Steps that either store or add the received rows."""

    adds: bool  # whether it is added
    start: Rows  # which rows of what is given, or of the phase before, the array begins with
    steps: tuple[tuple[Exchange, ...], ...]  # in every step all is read before anything is written
    finish: Rows  # which rows of the array are the result
    rows: int  # rows of the array
    terms: int = 0  # the result is the sum of so many equal parts of those rows; 0 where nothing says so


@dataclass(frozen=True, eq=False)
class Permutations(Program):
    """Program for array languages: concurrent exchanges of array rows.

    Ranks send by permutations alone: each to one other at most, and it receives from one at most. ``chunks`` are rows
    of the whole data; circuits change after some of the steps.
    """

    phases: tuple[Phase, ...] = ()
    changes: tuple[int, ...] = ()

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All permutations, in order."""
        return tuple(one for phase in self.phases for step in phase.steps for one in step)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row per step: permutations and rows per rank."""
        steps = [(phase.adds, step) for phase in self.phases for step in phase.steps]
        return [
            {"step": number, "adds": adds, "permutations": len(step), "rows": sum(one.width for one in step)}
            for number, (adds, step) in enumerate(steps, start=1)
        ]
