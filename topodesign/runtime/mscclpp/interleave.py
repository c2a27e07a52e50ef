"""Executing a plan step by step: every order of execution is a sequence of choices among the moves of a machine.

Work is cut into pieces, which threads do in any order within their phase; a proxy does what it is told in turn, when it
likes. Nothing is said about what is right: that is :mod:`topodesign.runtime.mscclpp.prove`, which this checks.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict, deque
from collections.abc import Hashable

from topodesign.runtime.mscclpp.memory import Memory
from topodesign.runtime.mscclpp.steps import Channel, Control, Phase, Place, Program, Work
from topodesign.runtime.report import Finding

ORDERS = 20  # random orders that a program is run in by default, if it is not too large
BUDGET = 2**22  # moves, and cells that they read or write, in all these orders
_FEWEST = 2

Move = tuple[str, Hashable, int]
"""What moves: a ``piece`` of work of a threadblock, one of its ``thread``s, a ``proxy``, a ``barrier``, or a ``rank``
that starts its next launch."""

_Owner = tuple[str, Hashable]  # who moves: a ``block``, ``proxy``, ``barrier`` or ``rank``, and which


class Machine:
    """All ranks in the middle of their launches.

    Work is cut into ``pieces``.
    """

    def __init__(self, program: Program, memory: Memory, launches: int, pieces: int = 1) -> None:
        self.program = program
        self.memory = memory
        self.launches = launches
        self.wrong: list[Finding] = []
        self.launch = [-1] * memory.ranks
        self.signals: Counter[object] = Counter()
        self.queues: dict[Channel, deque[tuple[Control, int]]] = defaultdict(deque)
        self.flushed: Counter[Channel] = Counter()  # what proxies have done
        self.told: Counter[Channel] = Counter()
        self._pieces = pieces
        self._packets = any(place.packets for one in program.work() for place in one.sources)
        self._blocks = {key: _Block(phases) for key, phases in program.blocks.items()}
        self._of_rank: list[list[tuple[int, int]]] = [[] for _ in range(memory.ranks)]
        self._cuts: dict[Work, list[Work]] = {}
        self._meeting: dict[tuple[int, int], dict[tuple[int, int], None]] = defaultdict(dict)
        self._left = [0] * memory.ranks  # threadblocks that are not over
        self._open: dict[_Owner, list[Move]] = {}  # what is possible, as far as it was looked at
        self._stale: dict[_Owner, None] = {}  # what has to be looked at again
        self._watch: dict[Hashable, dict[_Owner, None]] = defaultdict(dict)  # who waits for a signal, flush or packet
        for key in program.blocks:
            self._of_rank[key[0]].append(key)
        for rank in range(memory.ranks):
            self._start(rank)

    def moves(self) -> list[list[Move]]:
        """Return the moves that are possible now, of all who can move; few may be no more, which :meth:`can` says.

        Only those are looked at anew whose threadblock has moved, or who waited for what has come: all of a run takes
        time in proportion to its moves.
        """
        for owner in self._stale:
            found = self._possible(owner)
            if found:
                self._open[owner] = found
            else:
                self._open.pop(owner, None)
        self._stale.clear()
        return list(self._open.values())

    def _possible(self, owner: _Owner) -> list[Move]:
        kind, key = owner
        if kind == "proxy":
            return [("proxy", key, 0)] if self.queues[key] else []  # type: ignore[index]
        if kind == "barrier":
            there = self._meeting[key]  # type: ignore[index]
            sizes = {meeting[1] for one in there if (meeting := self._blocks[one].meeting) is not None}
            return [("barrier", key, size) for size in sorted(sizes) if len(there) >= size]
        if kind == "rank":
            rank: int = key  # type: ignore[assignment]
            return [("rank", rank, 0)] if self.launch[rank] < self.launches and not self._left[rank] else []
        block = self._blocks[key]  # type: ignore[index]
        found: list[Move] = [] if self._packets else [("piece", key, at) for at in range(len(block.work))]
        for at, work in enumerate(block.work if self._packets else ()):
            missing = self.memory.missing(work, self.launch[key[0]])  # type: ignore[index]
            if missing is None:
                found.append(("piece", key, at))
            else:
                self._watch[missing][owner] = None
        for number, line in block.threads.items():
            if line and self._free(key, number, line[0]):  # type: ignore[arg-type]
                found.append(("thread", key, number))
            elif line:
                one = line[0]
                waited = (key[0], one.semaphore) if one.kind == "acquire" else one.channel  # type: ignore[index]
                self._watch[waited][owner] = None
        return found

    def look(self, move: Move) -> None:
        """Look again at what is possible for who would make a move."""
        kind, key, _ = move
        self._stale["block" if kind in {"piece", "thread"} else kind, key] = None

    def _changed(self, what: Hashable) -> None:
        """Look again at those who wait for something."""
        self._stale.update(self._watch.pop(what, {}))

    def can(self, move: Move) -> bool:
        """Return whether a move is still possible that was so, when none of the same threadblock came in between."""
        kind, key, number = move
        if kind == "thread":
            line = self._blocks[key].threads[number]  # type: ignore[index]
            return self._free(key, number, line[0])  # type: ignore[arg-type]
        if kind == "piece":
            return self._ready(key, self._blocks[key].work[number])  # type: ignore[arg-type, index]
        return True

    def step(self, move: Move) -> None:
        """Do a move."""
        kind, key, number = move
        if kind == "piece":
            self._do(self._blocks[key].work.pop(number), self.launch[key[0]])  # type: ignore[index]
            self._settle(key)  # type: ignore[arg-type]
        elif kind == "thread":
            self._thread(key, number)  # type: ignore[arg-type]
        elif kind == "proxy":
            one, launch = self.queues[key].popleft()  # type: ignore[index]
            if one.work is not None:
                self._do(one.work, launch)
            if one.signals or one.kind == "signal":
                self._tell(self.program.other.get(key))  # type: ignore[call-overload]
            self.flushed[key] += 1  # type: ignore[index]
            self._changed(key)
        elif kind == "barrier":
            there = self._meeting[key]  # type: ignore[index]
            for other in list(there)[:number]:
                del there[other]
                self._blocks[other].meeting = None
                self._settle(other)
        else:
            self._finish(key)  # type: ignore[arg-type]
        self.look(move)

    @property
    def over(self) -> bool:
        """Whether all launches are."""
        return all(launch == self.launches for launch in self.launch)

    def outcome(self) -> Finding | None:
        """Return what went wrong, once there are no moves."""
        if self.wrong:
            return self.wrong[0]
        if not self.over:
            stuck = sum(not block.over for block in self._blocks.values())
            return Finding("deadlock", f"{stuck} threadblocks never finish in some order of execution")
        for key, number in self.signals.items():
            free = self.memory.semaphore(*key) if isinstance(key, tuple) and len(key) == 2 else 0
            if number != free:
                return Finding("mismatch", f"{number - free} signals are left over at {key}")
        return None

    # -- threadblocks -------------------------------------------------------------------------------------------------

    def _start(self, rank: int) -> None:
        self.launch[rank] += 1
        if self.launch[rank] < self.launches:
            self.memory.fill(rank, self.launch[rank])
            self._left[rank] = len(self._of_rank[rank])
            for key in self._of_rank[rank]:
                self._blocks[key].at = -1
                self._settle(key)

    def _finish(self, rank: int) -> None:
        self.wrong += self.memory.results(rank, self.launch[rank])[:1]
        self._start(rank)

    def _settle(self, key: tuple[int, int]) -> None:
        """Go to the next phase with something to do, if this one is over."""
        block = self._blocks[key]
        while not block.over and not block.work and not any(block.threads.values()) and block.meeting is None:
            block.at += 1
            if not block.over:
                phase = block.phases[block.at]
                block.meeting = phase.meeting
                block.work = [part for one in phase.work for part in self._cut(one)]
                block.threads = {number: deque(line) for number, line in phase.threads.items()}
                if block.meeting is not None:
                    self._meeting[key[0], block.meeting[0]][key] = None
                    self._stale["barrier", (key[0], block.meeting[0])] = None
            else:
                self._left[key[0]] -= 1
                self._stale["rank", key[0]] = None
        self._stale["block", key] = None

    def _cut(self, work: Work) -> list[Work]:
        """Return the pieces of some work, the same in every launch."""
        if work not in self._cuts:
            self._cuts[work] = self._cut_anew(work)
        return self._cuts[work]

    def _cut_anew(self, work: Work) -> list[Work]:
        parts = min(self._pieces, work.size)
        if parts <= 1:
            return [work]
        cuts = [work.size * at // parts for at in range(parts + 1)]
        return [
            Work(_later(work.sources, low), _later(work.targets, low), high - low, work.at, work.name)
            for low, high in itertools.pairwise(cuts)
        ]

    def _ready(self, key: tuple[int, int], work: Work) -> bool:
        return self.memory.missing(work, self.launch[key[0]]) is None

    def _free(self, key: tuple[int, int], number: int, one: Control) -> bool:
        """Return whether a thread need not wait."""
        if one.kind == "wait":
            return self.signals[one.channel] > 0
        if one.kind == "acquire":
            return self._level((key[0], one.semaphore)) > 0
        held = self._blocks[key].flushing.get(number)
        return held is None or (one.channel is not None and self.flushed[one.channel] >= held)

    def _level(self, semaphore: tuple[int, int]) -> int:
        if semaphore not in self.signals:
            self.signals[semaphore] = self.memory.semaphore(*semaphore)
        return self.signals[semaphore]

    def _thread(self, key: tuple[int, int], number: int) -> None:
        block = self._blocks[key]
        one = block.threads[number][0]
        if one.kind == "wait":
            self.signals[one.channel] -= 1
        elif one.kind in {"acquire", "release"}:
            semaphore = (key[0], one.semaphore)
            self.signals[semaphore] = self._level(semaphore) + (1 if one.kind == "release" else -1)
            self._changed(semaphore)
        elif one.channel is not None and one.channel[1] == "port":
            if number not in block.flushing:
                self.queues[one.channel].append((one, self.launch[key[0]]))
                self.told[one.channel] += 1
                self._stale["proxy", one.channel] = None
                if one.flushes:
                    block.flushing[number] = self.told[one.channel]
                    return
            else:
                del block.flushing[number]
        else:
            self._tell(self.program.other.get(one.channel))  # type: ignore[arg-type]
        block.threads[number].popleft()
        self._settle(key)

    def _tell(self, other: Channel | None) -> None:
        if other is not None:
            self.signals[other] += 1
            self._changed(other)

    def _do(self, work: Work, launch: int) -> None:
        sources = [self.memory.span(one, work.size, launch) for one in work.sources]
        targets = [self.memory.span(one, work.size, launch) for one in work.targets]
        self.memory.move(work, sources, targets, launch)
        for one, (rank, span) in zip(work.targets, targets, strict=True):
            for cell in range(span.start, span.stop) if one.packets else ():
                self._changed(("packet", rank, cell))


def _later(places: tuple[Place, ...], elements: int) -> tuple[Place, ...]:
    """Return places from an element on."""
    return tuple(
        Place(one.rank, one.buffer, one.start + elements * (1 + one.packets), one.packets, one.shift, one.half)
        for one in places
    )


class _Block:
    """A threadblock: its phase, and what is left to do in it."""

    __slots__ = ("at", "flushing", "meeting", "phases", "threads", "work")

    def __init__(self, phases: list[Phase]) -> None:
        self.phases = phases
        self.at = -1
        self.work: list[Work] = []
        self.threads: dict[int, deque[Control]] = {}
        self.meeting: tuple[int, int] | None = None
        self.flushing: dict[int, int] = {}

    @property
    def over(self) -> bool:
        """Whether the launch is done."""
        return self.at >= len(self.phases)


def affordable(program: Program, launches: int, most: int = ORDERS) -> int:
    """Return how many random orders a program is run in by default: as many as fit in ``BUDGET``, at least 2."""
    work = sum(1 + one.size * len(one.sources + one.targets) for one in program.work())
    cost = launches * (work + sum(1 for _ in program.controls()))
    return min(most, max(_FEWEST, BUDGET // max(cost, 1)))


def interleave(program: Program, memory: Memory, launches: int, seed: int, pieces: int = 3) -> Finding | None:
    """Run once in a random order; return what went wrong, if anything."""
    rng = random.Random(seed)  # noqa: S311 (not for secrets)
    machine = Machine(program, memory, launches, pieces=rng.randint(1, pieces))
    moves = machine.moves()
    while moves:
        for some in rng.sample(moves, rng.randint(1, len(moves))):
            move = rng.choice(some)
            if machine.can(move):  # a move of another may have taken what it waited for
                machine.step(move)
            else:
                machine.look(move)
        moves = machine.moves()
    return machine.outcome()
