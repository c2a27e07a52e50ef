"""Proofs for every order: one run with vector clocks.

**What must happen before what.** Two accesses to a cell, at least one of them a write, race unless one *happens
before* the other: by the phases of a threadblock; by a signal and the wait that it ends; by a semaphore of the rank; by
a barrier of threadblocks; by the order of a port channel, whose proxy executes its triggers in turn; by a flush; by the
end of a launch and the start of the next on the same rank, where the caller uses the buffers in between. Nothing else
orders ranks: a rank starts the next launch whatever others do.

**Two kinds of knowledge.** That something is over may be known without its data being visible: a relaxed signal and a
packet tell the former alone. That is enough to write where something was read. To read what was written, or to write
over it, takes a signal or semaphore with the order of data, the end of the launch that wrote it, or, to write over it,
that another one has read it already. A packet cannot be there before what it was computed from has been read: who has
read all packets that some work wrote to one place knows that the work has read its operands, though other work of the
same phase may go on. For that such work counts as an actor of its own, which reads. And to store in a place the very
packet that is there, with the same flag, changes nothing.

**Why one run decides.** A wait is passed only when nothing else can move, so that all signals are there that can come
before it. If several come in no fixed order, the wait learns what the least of them tells: entry by entry the m-th
smallest for the m-th wait. If several threadblocks wait on one channel in no fixed order, that is a finding by itself.
So what the run finds known is known in every order; then all orders see the same data, and one run has the result.

**Launches.** Two launches in a row decide for any number, since each does what the last did, and what launch n + 2
touches, n + 1 has touched in between; with a double scratch buffer, of which launches use a half in turn, three.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topodesign.runtime.mscclpp.flat import Flat
from topodesign.runtime.mscclpp.memory import Memory, Span, Telling
from topodesign.runtime.mscclpp.steps import Channel, Control, Phase, Program, Work
from topodesign.runtime.report import MAX_FINDINGS, Finding, Verdict, place

Clock = NDArray[np.int32]
"""Shape (2, actors): of each actor how many of its phases are known to be over, with their data visible or without."""

DATA, OVER = 0, 1


@dataclass
class _Post:
    """Signals that have come, and how many waits have taken one."""

    clocks: list[Clock] = field(default_factory=list)
    senders: set[tuple[int, int]] = field(default_factory=set)  # threadblock or proxy, and thread
    rising: bool = True  # whether each knew all that the one before it knew, so that sorting leaves them as they are
    taken: int = 0
    last: tuple[int, int] | None = None  # who waited last, and in which of its phases

    def told(self, free: int = 0) -> Clock | None:
        """Return the knowledge at the next wait, None for nothing."""
        number = self.taken - free
        if number < 0:
            return None
        if self.rising or len(self.senders) <= 1:
            return self.clocks[number]
        return np.sort(np.stack(self.clocks), axis=0)[number]  # type: ignore[no-any-return]


@dataclass
class _Thread:
    """A thread with work of its own in a phase."""

    clock: Clock
    controls: list[Control]
    next: int = 0


class _Block:
    """A threadblock at work, with its clock."""

    __slots__ = ("actor", "at", "clock", "ends", "packets", "phases", "rank", "readers", "threads", "work")

    def __init__(self, rank: int, actor: int, phases: list[Phase], actors: int) -> None:
        self.rank = rank
        self.actor = actor
        self.phases = phases
        self.at = -1  # number of the phase in this launch
        self.clock: Clock = np.zeros((2, actors), dtype=np.int32)
        self.threads: dict[int, _Thread] = {}
        self.work: list[Work] = []
        self.packets: list[Clock] = []
        self.readers: list[int] = []  # actors of work that was done in this phase
        self.ends: list[int] = []  # phases that were over at the end of each launch

    @property
    def over(self) -> bool:
        return self.at >= len(self.phases)

    @property
    def idle(self) -> bool:
        """Whether all of the phase is done."""
        return not self.work and all(one.next == len(one.controls) for one in self.threads.values())

    def begin(self) -> None:
        self.at += 1
        if not self.over:
            phase = self.phases[self.at]
            self.work = list(phase.work)
            self.threads = {number: _Thread(self.clock.copy(), controls) for number, controls in phase.threads.items()}

    def meet(self) -> None:
        """End a phase: all threads share their knowledge."""
        for one in self.threads.values():
            np.maximum(self.clock, one.clock, out=self.clock)
        for clock in self.packets:
            np.maximum(self.clock[OVER], clock[OVER], out=self.clock[OVER])
        self.packets = []
        self.threads = {}
        self.clock[:, [self.actor, *self.readers]] += 1
        self.readers = []


def prove(flat: Flat) -> list[Finding]:
    """Decide races, deadlocks, lost signals and results."""
    return [] if flat.proven() else explained(flat)


def explained(flat: Flat) -> list[Finding]:
    """Decide the same object by object, in words."""
    return _Run(flat.program, flat.memory, flat.runs.launches).run()


class _Run:
    def __init__(self, program: Program, memory: Memory, launches: int) -> None:
        self.program = program
        self.memory = memory
        self.launches = launches
        ranks = memory.ranks
        ports = sorted(
            {
                one.channel
                for one in program.controls()
                if one.channel is not None
                and (one.kind == "trigger" or (one.kind == "signal" and one.channel[1] == "port"))
            }
        )
        readers = [  # work with packets that is not alone in its phase
            work
            for phases in program.blocks.values()
            for phase in phases
            for work in phase.work
            if len(phase.work) > 1 and work.sources and any(one.packets for one in work.targets)
        ]
        begun = ranks + len(program.blocks) + len(ports)
        self.readers = {work: begun + at for at, work in enumerate(readers)}
        number = {key: ranks + at for at, key in enumerate(sorted(program.blocks))}
        self.owner = {actor: number[work.at[0], work.at[1]] for work, actor in self.readers.items()}
        actors = begun + len(readers)  # callers, threadblocks, proxies, and work that reads for itself
        self.blocks = [
            _Block(rank, ranks + number, phases, actors)
            for number, ((rank, _), phases) in enumerate(sorted(program.blocks.items()))
        ]
        self.of_rank: list[list[_Block]] = [[one for one in self.blocks if one.rank == rank] for rank in range(ranks)]
        self.launch = [0] * ranks
        self.callers: list[Clock] = [np.zeros((2, actors), dtype=np.int32) for _ in range(ranks)]
        first = ranks + len(program.blocks)
        self.proxies: dict[Channel, tuple[int, Clock]] = {
            channel: (first + at, np.zeros((2, actors), dtype=np.int32)) for at, channel in enumerate(ports)
        }
        self.posts: dict[object, _Post] = defaultdict(_Post)
        self.races: list[Finding] = []
        self.wrong: list[Finding] = []
        self.chance: list[Finding] = []
        self._ends = {one.actor: one.ends for one in self.blocks}
        self._relaxed = any(one.relaxed for one in program.controls())

    # -- the run ------------------------------------------------------------------------------------------------------

    def run(self) -> list[Finding]:
        for rank in range(self.memory.ranks):
            self._start(rank)
        while True:
            moving = True
            while moving:
                moving = sum(self._advance(block) for block in self.blocks if not block.over) > 0
                for rank in range(self.memory.ranks):
                    if self.launch[rank] < self.launches and all(one.over for one in self.of_rank[rank]):
                        self._finish(rank)
                        moving = True
            if not self._pass():
                break
        stuck = [one for one in self.blocks if not one.over]
        if self.races or self.chance:
            return [*self.races, *self.chance][:MAX_FINDINGS]
        if stuck:
            return [self._deadlock(stuck)]
        findings = self.memory.uninitialised or self.wrong or self._unbalanced()
        return findings[:MAX_FINDINGS]

    def _start(self, rank: int) -> None:
        """Fill the buffers and start a rank's threadblocks."""
        clock = self.callers[rank]
        for span in self.memory.callers(rank):
            self._look_to_write(rank, span, rank, clock)
            self._mark_write(rank, span, rank, clock)
        self.memory.fill(rank, self.launch[rank])
        clock[:, rank] += 1
        for block in self.of_rank[rank]:
            np.maximum(block.clock, clock, out=block.clock)
            block.at = -1
            block.begin()

    def _finish(self, rank: int) -> None:
        """Check a rank's result, and start the next launch."""
        clock = self.callers[rank]
        for block in self.of_rank[rank]:
            block.clock[:, block.actor] += 1
            block.ends.append(int(block.clock[DATA, block.actor]))
        for block in self.of_rank[rank]:
            np.maximum(clock, block.clock, out=clock)
        self.wrong += self.memory.results(rank, self.launch[rank]) if self.memory.judged else []
        self.launch[rank] += 1
        if self.launch[rank] < self.launches:
            self._start(rank)
            return
        for span in self.memory.callers(rank):
            self._look_to_write(rank, span, rank, clock)

    def _advance(self, block: _Block) -> bool:
        """Advance a threadblock; return whether it did something."""
        moved = False
        while not block.over:
            phase = block.phases[block.at]
            if phase.meeting is not None:
                return moved
            waiting = []
            for work in block.work:
                if self.memory.missing(work, self.launch[block.rank]) is None:
                    alone = len(phase.work) == 1
                    block.packets += self._do(work, block.actor, block.clock, self.launch[block.rank], alone=alone)
                    block.readers += [self.readers[work]] if work in self.readers else []
                    moved = True
                else:
                    waiting.append(work)
            block.work = waiting
            for number, thread in block.threads.items():
                while thread.next < len(thread.controls) and self._control(block, number, thread):
                    moved = True
            if not block.idle:
                return moved
            block.meet()
            block.begin()
            moved = True
        return moved

    def _control(self, block: _Block, number: int, thread: _Thread) -> bool:
        """Execute a thread's next control unless it must wait."""
        one = thread.controls[thread.next]
        if one.kind in {"wait", "acquire"}:
            return False
        clock = thread.clock
        if one.kind == "release":
            self._tell((block.rank, one.semaphore), clock, (block.actor, number))
        elif one.channel in self.proxies:
            actor, own = self.proxies[one.channel]
            np.maximum(own, clock, out=own)
            if one.work is not None:
                for known in self._do(one.work, actor, own, self.launch[block.rank], alone=True):
                    np.maximum(own[OVER], known[OVER], out=own[OVER])
                own[:, actor] += 1
            if one.signals or one.kind == "signal":
                self._tell(self.program.other.get(one.channel), own, (actor, 0))
            if one.flushes:
                np.maximum(clock, own, out=clock)
        else:
            told = clock
            if one.relaxed:
                told = clock.copy()
                told[DATA] = 0
            self._tell(self.program.other.get(one.channel), told, (block.actor, number))  # type: ignore[arg-type]
        thread.next += 1
        return True

    def _tell(self, key: object, clock: Clock, sender: tuple[int, int]) -> None:
        if key is not None:
            post = self.posts[key]
            post.rising &= not post.clocks or bool((clock >= post.clocks[-1]).all())
            post.clocks.append(clock.copy())
            post.senders.add(sender)

    # -- waits, when nothing else moves -------------------------------------------------------------------------------

    def _pass(self) -> bool:
        """Let all pass whose wait is over; return whether any did."""
        waiting: dict[object, list[tuple[_Block, _Thread, Control]]] = defaultdict(list)
        meeting: dict[tuple[int, int], list[_Block]] = defaultdict(list)
        for block in self.blocks:
            if block.over:
                continue
            at = block.phases[block.at].meeting
            if at is not None:
                meeting[block.rank, at[0]].append(block)
            for thread in block.threads.values():
                if thread.next < len(thread.controls):
                    one = thread.controls[thread.next]
                    waiting[one.channel if one.kind == "wait" else (block.rank, one.semaphore)].append(
                        (block, thread, one)
                    )
        passed = [self._pass_post(post, some) for post, some in waiting.items()]
        return any(passed + [self._pass_meeting(some) for some in meeting.values()])

    def _pass_post(self, key: object, some: list[tuple[_Block, _Thread, Control]]) -> bool:
        free = self.memory.semaphore(key[0], key[1]) if isinstance(key, tuple) and len(key) == 2 else 0
        post = self.posts[key]
        there = len(post.clocks) + free - post.taken
        if there <= 0:
            return False
        if there < len(some):
            names = " and ".join(str(_spot(one)) for _, _, one in some[:3])
            self._by_chance(f"{names} wait for the same signals, which come for some of them", some[0][2])
        knowledge = post.told(free)
        for block, thread, one in some[:there]:
            before = post.last
            if before is not None and before[0] != block.actor and thread.clock[OVER, before[0]] < before[1]:
                self._by_chance(f"{_spot(one)} and another threadblock wait for signals in no fixed order", one)
            post.last = (block.actor, int(thread.clock[OVER, block.actor]))
            post.taken += 1
            if knowledge is not None:
                np.maximum(thread.clock[OVER], knowledge[OVER], out=thread.clock[OVER])
                if not one.relaxed:
                    np.maximum(thread.clock[DATA], knowledge[DATA], out=thread.clock[DATA])
            thread.next += 1
        return True

    def _pass_meeting(self, some: list[_Block]) -> bool:
        sizes = {block.phases[block.at].meeting for block in some}
        size = min(one[1] for one in sizes if one is not None)
        if len(some) < size:
            return False
        if len(some) > size or len(sizes) > 1:
            at = some[0].phases[some[0].at].at
            self.chance.append(Finding("race", f"{len(some)} threadblocks come to a barrier of {size}", *at))
        for block in some:
            block.meet()
        together = np.maximum.reduce([block.clock for block in some])
        for block in some:
            np.maximum(block.clock, together, out=block.clock)
            block.begin()
        return True

    def _by_chance(self, message: str, one: Control) -> None:
        if len(self.chance) < MAX_FINDINGS:
            self.chance.append(Finding("race", message, *one.at))

    # -- memory -------------------------------------------------------------------------------------------------------

    def _do(self, work: Work, actor: int, clock: Clock, launch: int, *, alone: bool) -> list[Clock]:
        """Do some work; return what packets tell that it reads.

        ``alone`` says that nothing else is done in this phase, so that with the work the phase is over.
        """
        memory = self.memory
        sources = [memory.span(one, work.size, launch) for one in work.sources]
        targets = [memory.span(one, work.size, launch) for one in work.targets]
        known: list[Clock] = []
        packets: list[tuple[Span, NDArray[np.int32]]] = []
        for one, (rank, span) in zip(work.sources, sources, strict=True):
            if one.packets:
                known += memory.told(rank, span)
                packets.append(((rank, span), memory.origin(rank, span)))
            elif (cell := next(self._unseen(rank, span, actor, clock), None)) is not None:
                self._race(work, rank, cell, "reads", self._written(rank, cell, clock))
        reader = self.readers.get(work, actor)
        again = self._again(work, sources, targets, actor, clock)
        stored = [(number, one) for number, one in enumerate(targets) if number not in again]
        for number, (rank, span) in stored:
            wide = 1 + work.targets[number].packets
            self._look_to_write(rank, span, actor, clock, work=work, packets=packets, wide=wide)
            if wide > 1 and memory.unread(rank, span, launch):
                self._race(work, rank, span.start, "overwrites", "a packet of this launch and not read yet")
            for other, there in sources + targets[:number]:
                aligned = there.start == span.start and (other, there) in sources
                if other == rank and there.start < span.stop and span.start < there.stop and not aligned:
                    self._race(work, rank, span.start, "writes", "read or written elsewhere in the same operation")
        telling = None
        if any(one.packets for one in work.targets):
            came = dict(zip((str(key) for key, _ in packets), (value for _, value in packets), strict=True))
            origins = [came.get(str(key)) for key in sources]
            telling = self._telling(clock, (actor, reader), sources, targets, origins, alone=alone)
        memory.move(work, sources, targets, launch, telling)
        for _, (rank, span) in stored:
            self._mark_write(rank, span, actor, clock)
        for rank, span in sources:
            if (rank, span) not in targets:
                memory.mark_read(rank, span, reader, int(clock[DATA, reader]))
        return known

    @staticmethod
    def _telling(
        clock: Clock,
        who: tuple[int, int],
        sources: Sequence[Span],
        targets: Sequence[Span],
        origins: Sequence[NDArray[np.int32] | None],
        *,
        alone: bool,
    ) -> Telling:
        """Return the packets' sender and reader of some work."""
        actor, reader = who
        whole = clock.copy()
        whole[OVER, actor] += alone
        if reader != actor:
            whole[OVER, reader] += 1
        return Telling(reader, int(clock[DATA, reader]), clock.copy(), whole, tuple(sources), tuple(targets), origins)

    def _again(
        self, work: Work, sources: Sequence[Span], targets: Sequence[Span], actor: int, clock: Clock
    ) -> frozenset[int]:
        """Return the targets whose packets the phase stored before."""
        if len(sources) != 1 or not work.sources[0].packets:
            return frozenset()
        rank, span = sources[0]
        own = self.memory.writer[rank][span] == actor
        if not (own & (self.memory.written[rank][span] == clock[DATA, actor])).all():
            return frozenset()
        return frozenset(
            number for number, one in enumerate(targets) if one == sources[0] and work.targets[number].packets
        )

    def _mark_write(self, rank: int, span: slice, actor: int, clock: Clock) -> None:
        memory = self.memory
        memory.writer[rank][span] = actor
        memory.written[rank][span] = clock[DATA, actor]
        memory.clear_reads(rank, span)

    def _unseen(self, rank: int, span: slice, actor: int, clock: Clock) -> Iterator[int]:
        """Yield the cells whose last write is not known."""
        who, when = self.memory.writer[rank][span], self.memory.written[rank][span]
        for at in np.flatnonzero((who >= 0) & (clock[DATA, who] <= when)).tolist():
            if int(who[at]) == actor or not self._launch_over(int(who[at]), int(when[at]), clock):
                yield span.start + at

    def _look_to_write(
        self,
        rank: int,
        span: slice,
        actor: int,
        clock: Clock,
        *,
        work: Work | None = None,
        packets: Sequence[tuple[Span, NDArray[np.int32]]] = (),
        wide: int = 1,
    ) -> None:
        """Find accesses that are unordered before a write."""
        memory = self.memory
        for readers, times in memory.readers(rank, span):
            for at in np.flatnonzero((readers >= 0) & (clock[OVER, readers] <= times)).tolist():
                cell, element = span.start + at, at // wide
                who = (int(readers[at]), int(times[at]))
                if any(self._follows(one, element, who, rank, cell) for one in packets):
                    continue
                self._race(work, rank, cell, "writes", f"read by {self._who(who[0])}")
                return
        for cell in self._unseen(rank, span, actor, clock):
            if not memory.others_read(rank, cell, self.owner):  # who read it saw it, and all reads are over
                self._race(work, rank, cell, "writes", self._written(rank, cell, clock))
                return

    def _follows(
        self, packets: tuple[Span, NDArray[np.int32]], element: int, reader: tuple[int, int], rank: int, cell: int
    ) -> bool:
        """Return whether a packet implies the read of a cell."""
        (where, span), origin = packets
        number = int(origin[2 * element])
        if number < 0:
            return False
        at = self.memory.tellings[number].element(where, span.start + 2 * element)
        return self.memory.implied(number, at, reader, rank, cell)

    def _launch_over(self, actor: int, phase: int, clock: Clock) -> bool:
        """Return whether an actor's launch is known to be over."""
        if actor < self.memory.ranks:
            return bool(clock[OVER, actor] > phase)
        return any(phase < end <= clock[OVER, actor] for end in self._ends.get(actor, ()))

    def _who(self, actor: int) -> str:
        if actor < self.memory.ranks:
            return f"the caller on rank {actor} between launches"
        number = self.owner.get(actor, actor) - self.memory.ranks
        if number < len(self.blocks):
            (rank, block), _ = sorted(self.program.blocks.items())[number]
            return f"rank {rank}, threadblock {block}"
        channel = next(one for one, (other, _) in self.proxies.items() if other == actor)
        return f"the proxy of port channel {channel[2]} of rank {channel[0]}"

    def _written(self, rank: int, cell: int, clock: Clock) -> str:
        """Return a cell's writer, and what is known of it."""
        who, when = int(self.memory.writer[rank][cell]), int(self.memory.written[rank][cell])
        said = f"written by {self._who(who)}"
        if clock[OVER, who] <= when:
            return said
        what = "relaxed signals tell" if self._relaxed else "packets tell"
        return f"{said} ({what} that this is over, and not that its data can be seen)"

    def _race(self, work: Work | None, rank: int, cell: int, verb: str, rest: str) -> None:
        if len(self.races) >= MAX_FINDINGS:
            return
        name = self.memory.name(rank, cell)
        if work is None:
            message = f"the caller {verb} {name} of rank {rank} between launches, which is {rest} in no fixed order"
            self.races.append(Finding("race", message, rank))
            return
        there = "" if rank == work.at[0] else f" of rank {rank}"
        message = f"{work.name} {verb} {name}{there}, which is {rest} in no fixed order"
        self.races.append(Finding("race", message, *work.at))

    # -- the end ------------------------------------------------------------------------------------------------------

    def _unbalanced(self) -> list[Finding]:
        """Return the signals without a wait, left for the next launch."""
        findings = []
        kind: Verdict = "mismatch"
        for key, post in sorted(self.posts.items(), key=lambda pair: str(pair[0])):
            left = len(post.clocks) - post.taken
            if not left:
                continue
            if isinstance(key, tuple) and len(key) == 2:
                what = f"semaphore {key[1]} is released {left / self.launches:g} times more than acquired in a launch"
                findings.append(Finding(kind, what, key[0]))
            elif isinstance(key, tuple):
                what = f"{left / self.launches:g} signals of a launch on {key[1]} channel {key[2]} are not waited for"
                findings.append(Finding(kind, what, key[0]))
        return findings

    def _deadlock(self, stuck: list[_Block]) -> Finding:
        lines = []
        for block in stuck[:MAX_FINDINGS]:
            phase = block.phases[block.at]
            if phase.meeting is not None:
                lines.append(
                    f"{place(*phase.at)}waits at barrier {phase.meeting[0]} for {phase.meeting[1]} threadblocks"
                )
            lines += [f"{place(*work.at)}{work.name} waits for packets" for work in block.work[:1]]
            held = [one for one in block.threads.values() if one.next < len(one.controls)]
            lines += [_why(one.controls[one.next], self.program) for one in held]
        if len(stuck) > MAX_FINDINGS:
            lines.append(f"and {len(stuck) - MAX_FINDINGS} more")
        message = f"{len(stuck)} of {len(self.blocks)} threadblocks never finish:\n    " + "\n    ".join(lines)
        return Finding("deadlock", message, stuck[0].rank)


def _spot(one: Control) -> str:
    return f"rank {one.at[0]}, threadblock {one.at[1]}, operation {one.at[2]}"


def _why(one: Control, program: Program) -> str:
    start = f"{place(*one.at)}{one.name} waits for "
    if one.channel is None:
        return f"{start}semaphore {one.semaphore}"
    other = program.other.get(one.channel)
    if other is None:
        return f"{start}a signal on {one.channel[1]} channel {one.channel[2]}, which has no other end"
    return f"{start}a signal on {one.channel[1]} channel {one.channel[2]} from rank {other[0]}"
