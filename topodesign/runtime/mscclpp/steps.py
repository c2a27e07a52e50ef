"""Threadblocks of a plan: phases between barriers.

A threadblock has many threads. Nothing keeps them together but ``nop`` and ``barrier``, so what lies between two of
these is a *phase*, in which

* work on memory is done by all threads, each its share, in no fixed order, not even after a wait in the same phase;
* thread t of an operation on several channels or semaphores waits on, or signals, the t-th of them; a thread does what
  is its own in the order of the operations, and so are puts on port channels: thread t hands the t-th to a proxy.

All work has one form: elements of some places are added up and stored in other places. A *cell* is a part of a chunk,
as small as the parts that threadblocks share and pipelines go by. Scratch of the LL protocol holds packets, data and
flag, which take two cells for each cell of data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from topodesign.base.errors import TooLargeError
from topodesign.runtime.machine.layout import Layout
from topodesign.runtime.mscclpp.parse import PACKETS, ExecutionPlan, Operand, Operation
from topodesign.runtime.report import Finding

MAX_CELLS = 64  # cells of a chunk, beyond which a plan is not executed here

MAX_STEPS = 2**24  # cells that all threadblocks touch in a run, beyond which a plan is not executed here

LOADS = ("rre", "rres")  # operations that read the memory of other ranks; so does ``get``

SENDING = ("res", "rres", "respkt", "recspkt")  # reductions that send the sum to other ranks, too

Channel = tuple[int, str, int]  # rank, type and number of a channel: one end of it


@dataclass(frozen=True, slots=True)
class Place:
    """Elements that follow one another in the memory of a rank.

    * ``shift``: cells by which the address is off, where the executor adds the offset of one rank to the buffer of
      another.
    * ``half``: rank of whose scratch half is added to the address in every other launch, -1 where none is: where the
      executor of this rank finds the address itself, it adds its own, also to that of another rank.
    """

    rank: int  # whose memory
    buffer: str  # ``i``, ``o`` or ``s``
    start: int  # first cell of the buffer, counted from the start of the buffer
    packets: bool = False  # whether these are packets; ``start`` then counts two cells for each element
    shift: int = 0
    half: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """``target[k] = sum of source[k]`` for each target.

    ``at`` is the place in the plan: rank, threadblock and operation; ``name`` the operation's.
    """

    sources: tuple[Place, ...]
    targets: tuple[Place, ...]
    size: int
    at: tuple[int, int, int]
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Control:
    """What one thread does.

    * ``kind``: ``signal`` or ``wait`` on a channel, ``release`` or ``acquire`` of a semaphore, or ``trigger``: what a
      port channel's proxy has to do.
    * ``work``, ``signals``, ``flushes``: of a trigger: what it moves, whether a signal follows, and whether the thread
      waits until all is done.
    """

    kind: str
    at: tuple[int, int, int]
    name: str
    channel: Channel | None = None  # the end of a channel that is used
    semaphore: int = -1  # number of a semaphore of the rank
    relaxed: bool = False  # whether a signal or wait orders execution alone and not data
    work: Work | None = None
    signals: bool = False
    flushes: bool = False


@dataclass
class Phase:
    """Work and controls by thread between two barriers.

    A ``meeting`` is a phase by itself: number of the barrier, and how many threadblocks meet there.
    """

    work: list[Work] = field(default_factory=list)
    threads: dict[int, list[Control]] = field(default_factory=dict)
    meeting: tuple[int, int] | None = None
    at: tuple[int, int, int] = (0, 0, 0)


@dataclass
class Program:
    """The phases of every threadblock, and where signals go.

    * ``other``: the other end of every channel; missing where there is none, so that nobody waits for its signals.
    """

    blocks: dict[tuple[int, int], list[Phase]]  # phases by rank and threadblock
    other: dict[Channel, Channel]
    cells: int  # cells of a chunk
    findings: list[Finding]  # what is wrong with operands

    def controls(self) -> Iterator[Control]:
        """Yield what single threads do, in all phases."""
        phases = itertools.chain.from_iterable(self.blocks.values())
        return (one for phase in phases for line in phase.threads.values() for one in line)

    def work(self) -> Iterator[Work]:
        """Yield all work, of threadblocks and of proxies."""
        for phase in itertools.chain.from_iterable(self.blocks.values()):
            yield from phase.work
            yield from (one.work for line in phase.threads.values() for one in line if one.work is not None)


def pair(plan: ExecutionPlan) -> dict[Channel, Channel]:
    """Return the other end of every channel, in order."""
    ends: dict[tuple[int, int, str], list[Channel]] = {}
    for rank, gpu in enumerate(plan.gpus):
        for kind in ("memory", "port"):
            for number, peer in enumerate(gpu.channels[kind]):
                ends.setdefault((rank, peer, kind), []).append((rank, kind, number))
    return {
        here: there
        for (rank, peer, kind), mine in ends.items()
        for here, there in zip(mine, ends.get((peer, rank, kind), []), strict=False)
    }


def lower(plan: ExecutionPlan, layout: Layout, least: int = 1) -> Program:
    """Turn threadblocks into phases, in cells per chunk."""
    operations = [
        op for gpu in plan.gpus for block in gpu.threadblocks for one in block.operations for op in (one, *one.inner)
    ]
    pipelines = any(one.name == "pipeline" for one in operations)
    cells = math.lcm(least, 1 + pipelines)
    for parts in {one.parts for one in operations}:
        cells = math.lcm(cells, parts * (1 + pipelines)) if cells <= MAX_CELLS else cells
    if cells > MAX_CELLS:
        raise TooLargeError(f"the plan cuts chunks into {cells} parts or more; up to {MAX_CELLS} are executed here")
    findings: list[Finding] = []
    blocks = {}
    steps = 0
    for rank, gpu in enumerate(plan.gpus):
        for number in range(len(gpu.threadblocks)):
            lowering = _Lowering(plan, layout, (rank, number), cells, findings)
            blocks[rank, number] = lowering.phases()
            steps += lowering.steps
            if steps > MAX_STEPS:
                raise TooLargeError(f"the plan moves more than {MAX_STEPS} parts of chunks; that is not executed here")
    return Program(blocks, pair(plan), cells, findings)


class _Move(NamedTuple):
    """Where chunks come from and go to."""

    sources: Sequence[Place]
    targets: Sequence[Place]
    chunks: int


class _Lowering:
    """One threadblock on its way to phases."""

    def __init__(
        self, plan: ExecutionPlan, layout: Layout, key: tuple[int, int], cells: int, findings: list[Finding]
    ) -> None:
        self.plan, self.layout, self.cells = plan, layout, cells
        self.rank, self.number = key
        self.block = plan.gpus[key[0]].threadblocks[key[1]]
        self.findings = findings
        self.steps = 0
        self._done: list[Phase] = []
        self._phase = Phase()
        self._at = (*key, 0)
        self._kind = ""  # of channel of the operation at hand

    def phases(self) -> list[Phase]:
        for place, op in enumerate(self.block.operations):
            self._at = (self.rank, self.number, place)
            if op.name == "pipeline":
                rounds = op.chunks * self.cells
                self.steps += rounds * len(op.inner)
                if self.steps > MAX_STEPS:
                    raise TooLargeError(f"a pipeline of {rounds} rounds is not executed here")
                for turn in range(rounds):
                    for one in op.inner:
                        self._add_operation(one, turn)
            else:
                self._add_operation(op, None)
        self._close()
        return self._done

    def _close(self) -> None:
        if self._phase.work or self._phase.threads or self._phase.meeting:
            self._done.append(self._phase)
        self._phase = Phase(at=self._at)

    def _find(self, message: str) -> None:
        self.findings.append(Finding("illegal", message, *self._at))

    def _add_operation(self, op: Operation, turn: int | None) -> None:
        """Add an operation; ``turn`` is its pipeline round."""
        name = op.name
        self._kind = op.channel_type
        if name == "nop":
            self._close()
        elif name == "barrier":
            self._close()
            self._phase.meeting = (op.barrier, op.blocks)
            self._phase.at = self._at
            self._close()
        elif name in {"signal", "rlxsignal", "wait", "rlxwait"}:
            for thread, channel in enumerate(self._channels(op)):
                relaxed = name.startswith("rlx") and op.channel_type == "memory"
                self._control(thread, Control(name.removeprefix("rlx"), self._at, name, channel, relaxed=relaxed))
        elif name == "flush":
            for thread, channel in enumerate(self._channels(op)[: len(op.targets)]):
                self._control(thread, Control("trigger", self._at, name, channel, flushes=True))
        elif name in {"sem_acquire", "sem_release"}:
            kind = name.removeprefix("sem_")
            for thread, semaphore in enumerate(op.semaphores):
                self._control(thread, Control(kind, self._at, name, semaphore=semaphore))
        elif op.channel_type == "port" and name in {"put", "pws", "pwsf", "ppkt", "rppkt"}:
            self._port(op, turn)
        else:
            self._phase.work += [work for move in self._moves(op) if (work := self._cut(op, move, turn)) is not None]

    def _channels(self, op: Operation) -> list[Channel]:
        kind = op.channel_type
        return [(self.rank, kind, self.block.channels[kind][number]) for number in op.channels]

    def _control(self, thread: int, control: Control) -> None:
        self._phase.threads.setdefault(thread, []).append(control)

    def _port(self, op: Operation, turn: int | None) -> None:
        """Thread t hands the t-th put to the proxy."""
        packets = op.name in {"ppkt", "rppkt"}
        if op.name == "rppkt":  # the threads read the packets first, and meet
            read = self._cut(op, _Move([self._local(op.sources[0], packets=True)], [], op.sources[0].size), turn)
            self._phase.work += [] if read is None else [read]
            self._close()
        for thread, (target, channel) in enumerate(zip(op.targets, self._channels(op), strict=False)):
            source = op.sources[0 if op.name == "rppkt" else thread]
            # neither the buffer's offset in its allocation nor a second half of scratch is added on this side
            lost = 0 if packets else -self._offset(source.buffer)
            here = self._local(source, packets=packets, shift=lost, turns=packets)
            work = self._cut(op, _Move([here], [self._remote(target, packets=packets)], target.size), turn)
            signals, flushes = op.name in {"pws", "pwsf"}, op.name == "pwsf"
            control = Control("trigger", self._at, op.name, channel, work=work, signals=signals, flushes=flushes)
            self._control(thread, control)

    def _moves(self, op: Operation) -> Iterator[_Move]:
        """Yield what all threads of an operation do together."""
        name, sources, targets = op.name, op.sources, op.targets
        if name in {"put", "pws", "pwsf", "ppkt"}:  # on a memory channel none of them signals
            packets = name == "ppkt"
            for source, target in zip(sources, targets, strict=False):
                alike = source.buffer == sources[0].buffer
                here = self._local(source if alike else replace(source, buffer=sources[0].buffer))
                size = source.size if packets else target.size
                yield _Move([here], [self._remote(target, packets=packets)], size)
        elif name == "get":  # the offsets of source and target are exchanged
            for source, target in zip(sources, targets, strict=False):
                away = self._remote(replace(source, index=target.index))
                yield _Move([away], [self._local(replace(target, index=source.index))], source.size)
        elif name == "glres":
            yield _Move(self._members(sources[0]), self._members(targets[0]), sources[0].size)
        elif name in {"gstore", "gstorepkt"}:
            packets = name == "gstorepkt"
            here = self._local(sources[0], packets=packets)
            yield _Move([here], self._members(targets[0], packets=packets), sources[0].size)
        elif name in {"copy", "cpkt", "upkt"}:
            here = self._local(sources[0], packets=name == "upkt")
            yield _Move([here], [self._local(targets[0], packets=name == "cpkt")], sources[0].size)
        elif name == "rppkt":
            there = [self._remote(target, packets=True) for target in targets]
            yield _Move([self._local(sources[0], packets=True)], there, sources[0].size)
        else:
            yield self._sum(op)

    def _sum(self, op: Operation) -> _Move:
        """Return a reduction's operands, by its kind."""
        packets = op.name in PACKETS
        first, *others = op.sources
        if op.name in LOADS:
            added = [self._remote(one) for one in others]
        else:
            added = [self._local(one, packets=packets) for one in others]
        copies = 1 + (op.name in {"recpkt", "recspkt"})
        kept = [self._local(one, packets=at > 0) for at, one in enumerate(op.targets[:copies])]
        if op.name in SENDING:
            kept += [self._remote(one, packets=packets) for one in op.targets[copies:]]
        return _Move([self._local(first), *added], kept, first.size)

    def _local(self, operand: Operand, *, packets: bool = False, shift: int = 0, turns: bool = True) -> Place:
        if not operand.buffer:
            self._find(f"operation {self._at[2]} takes a buffer of another rank for one of its own")
        buffer = "s" if packets else operand.buffer or "s"
        half = self.rank if turns else -1
        return Place(self.rank, buffer, operand.index * self.cells * (1 + packets), packets, shift, half)

    def _remote(self, operand: Operand, *, packets: bool = False) -> Place:
        if operand.remote < 0:
            self._find(f"operation {self._at[2]} takes a buffer of its own for one of another rank")
            return Place(self.rank, "s", 0)
        one = self.plan.gpus[self.rank].buffers[self.block.buffers[self._kind][operand.remote]]
        off = self._offset(one.buffer) - self._offset(one.buffer, one.rank)  # this rank's, where the other's is meant
        half = self.rank if packets else -1
        return Place(one.rank, one.buffer, operand.index * self.cells * (1 + packets), packets, off, half)

    def _members(self, operand: Operand, *, packets: bool = False) -> list[Place]:
        """Return the places of a switch channel, one per rank.

        All of a buffer is joined, from the start of its allocation on, and the executor adds where the buffer of this
        rank begins; half of scratch it adds to packets that it stores, and to nothing else.
        """
        if operand.switch < 0:
            self._find(f"operation {self._at[2]} takes a buffer of one rank for that of a switch channel")
            return [Place(self.rank, "s", 0)]
        group = self.plan.gpus[self.rank].groups[self.block.channels["switch"][operand.switch]]
        start = operand.index * self.cells * (1 + packets)
        return [
            Place(
                rank,
                group.buffer,
                start,
                packets,
                self._offset(group.buffer) - self._offset(group.buffer, rank),
                self.rank if packets else -1,
            )
            for rank in group.ranks
        ]

    def _offset(self, buffer: str, rank: int | None = None) -> int:
        """Return a buffer's offset in its allocation, in cells."""
        if buffer not in {"i", "o"} or not self.plan.inplace:
            return 0
        return self.layout.segment(self.rank if rank is None else rank, buffer)[0] * self.cells

    def _cut(self, op: Operation, move: _Move, turn: int | None) -> Work | None:
        """Return a threadblock's part of a move, by round."""
        size = move.chunks * self.cells // op.parts
        skip = size * op.part
        if turn is not None:
            if turn > size:
                self._find(f"{op.name} has {size} parts in a pipeline of more rounds: it goes beyond its operands")
                return None
            skip, size = skip + turn, min(1, size - turn)
        if not size:
            return None
        self.steps += size * (len(move.sources) + len(move.targets))
        if self.steps > MAX_STEPS:
            raise TooLargeError(f"a threadblock moves more than {MAX_STEPS} parts of chunks; that is not executed here")

        def moved(places: Sequence[Place]) -> tuple[Place, ...]:
            if not skip:
                return tuple(places)
            return tuple(replace(one, start=one.start + skip * (1 + one.packets)) for one in places)

        return Work(moved(move.sources), moved(move.targets), size, self._at, op.name)
