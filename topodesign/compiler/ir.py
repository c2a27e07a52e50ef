"""Program IR: threadblocks of instructions over three buffers.

Or, for targets that run something else, messages, or permutations of the rows of an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from topodesign.collectives import Collective

Protocol = Literal["Simple", "LL", "LL128"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)

Threadblocks = Literal["auto", "merged", "separate"]
"""Whether what sends and what receives share threadblocks: as far as that costs no time, wherever it can be, or not."""
THREADBLOCKS: tuple[Threadblocks, ...] = get_args(Threadblocks)


class Buffer(Enum):
    """Buffer of a rank: input, output or scratch."""

    INPUT = "input"
    OUTPUT = "output"
    SCRATCH = "scratch"


class Kind(Enum):
    """Instruction kind; ``received`` are the connection's next ``count`` chunks."""

    SEND = "send"  # send source
    RECEIVE = "receive"  # target = received
    RECEIVE_COPY_SEND = "receive-copy-send"  # target = received, and send it on
    RECEIVE_REDUCE_COPY = "receive-reduce-copy"  # target = source + received
    RECEIVE_REDUCE_SEND = "receive-reduce-send"  # send source + received, store nothing
    RECEIVE_REDUCE_COPY_SEND = "receive-reduce-copy-send"  # target = source + received, and send it on
    COPY = "copy"  # target = source
    REDUCE = "reduce"  # target = target + source

    def __init__(self, word: str) -> None:
        self.receives = word.startswith("receive")
        """Whether it takes chunks off the threadblock's receiving connection."""
        self.sends = word.endswith("send")
        """Whether it puts chunks on the threadblock's sending connection."""


@dataclass(frozen=True, slots=True)
class Region:
    """Chunks of a buffer from ``offset``; the instruction sets their count."""

    buffer: Buffer
    offset: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction of a threadblock.

    * ``depends``: pairs (threadblock, index of the instruction there) on the same rank that must be over before this
      one starts. Instructions of a threadblock run in order anyway.
    """

    kind: Kind  # what it does
    source: Region | None  # what it reads and what it writes, or None where its kind has no such operand
    target: Region | None
    count: int  # number of contiguous chunks
    depends: tuple[tuple[int, int], ...]
    step: int  # communication step of the schedule that it belongs to, 0 for what happens before the first


@dataclass(frozen=True, slots=True)
class Threadblock:
    """Sequential instructions with at most one send and one receive peer."""

    send: int | None  # ranks at the other ends, or None
    receive: int | None
    channel: int  # number of the channel: (sender, receiver, channel) names a connection, which is first in, first out
    instructions: tuple[Instruction, ...]  # in order


@dataclass(frozen=True, slots=True)
class RankProgram:
    """Concurrent threadblocks of one rank, and its scratch chunks."""

    threadblocks: tuple[Threadblock, ...]
    scratch: int


@dataclass(frozen=True, slots=True)
class SwitchStep:
    """Switch operation that stores data or sums at all ranks."""

    rank: int
    adds: bool
    source: Region
    target: Region
    count: int
    after: Region | None = None  # where the rank copies what has come to itself when all are done, or None


@dataclass(frozen=True, slots=True)
class BoxTree:
    """Tree of allreduce chunks among boxes with reducing switches.

    That rank sends the sum of its box up to the root, adding what comes; the sum of all goes down, and the ranks that
    get it have the switches of their boxes store it.
    """

    root: int
    first: int  # of the chunks, and how many there are
    count: int
    up: tuple[tuple[int, int], ...]  # sender and receiver, those that wait for others later
    down: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Switched:
    """Program of multimem operations through one or more switches.

    Of packets it has no steps: all ranks store all that they have, and take what has come.
    """

    steps: tuple[SwitchStep, ...]
    blocks: int  # threadblocks of a rank, at least
    trees: tuple[BoxTree, ...] = ()  # of several boxes, instead of steps
    box: tuple[int, ...] = ()  # of every rank


@dataclass(frozen=True, slots=True)
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
    ranks: Sequence[RankProgram]  # one entry per rank
    switched: Switched | None = None  # what a switch does; ranks then have no threadblocks of instructions
    # where blocks differ in size, and are padded to the largest: how many chunks of each are sent, in their order
    sent: tuple[int, ...] | None = None

    @property
    def shard(self) -> int:
        """Chunks of a block: allgather input or reduce-scatter output."""
        return self.chunks // self.collective.shards(len(self.ranks))

    @property
    def input_chunks(self) -> int:
        """Chunks of the input of each rank that has one."""
        return self._chunks(len(self.collective.at(None).inputs(0, len(self.ranks))))

    @property
    def output_chunks(self) -> int:
        """Chunks of the output of each rank that has one."""
        return self._chunks(len(self.collective.at(None).outputs(0, len(self.ranks))))

    def _chunks(self, blocks: int) -> int:
        return blocks * self.chunks // self.collective.shards(len(self.ranks))

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row per rank: threadblocks, instructions and scratch chunks."""
        return [
            {
                "rank": rank,
                "threadblocks": len(body.threadblocks),
                "instructions": sum(len(block.instructions) for block in body.threadblocks),
                "scratch_chunks": body.scratch,
            }
            for rank, body in enumerate(self.ranks)
        ]


class Act(Enum):
    """Action of a rank on a message."""

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
    """Call size and link properties of a timed schedule."""

    size: Fraction  # bytes of the whole data
    alphas: tuple[Fraction, ...]  # seconds of latency of every link
    rates: tuple[Fraction, ...]  # bytes per second of every link


@dataclass(frozen=True)
class Messages(Program):
    """Program of messages and sums, in plan order.

    It is what simulators of traces read: no buffers, threadblocks or instructions, but whole messages with their data.

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
        """Return a message's bytes in a call, rounded up."""
        return self.bytes_of(self.messages[number].units, whole)

    def bytes_of(self, units: int, whole: Fraction) -> int:
        """Return the bytes of ``units`` in a call, rounded up."""
        ranks = len(self.ranks)
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


@dataclass(frozen=True)
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
