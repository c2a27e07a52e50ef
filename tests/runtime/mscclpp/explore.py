"""All orders of execution of a small plan, one state after the other: what the proof has to agree with.

This shares the phases of threadblocks with what it checks, and nothing else: a state is who is where, what signals and
packets are there, and what proxies are still to do. Two accesses to a cell race if some state that can be reached lets
both of them come next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from topodesign.runtime.mscclpp.memory import Memory
from topodesign.runtime.mscclpp.steps import Control, Place, Program, Work

Key = tuple[int, int]


def span_of(memory: Memory, place: Place, size: int, launch: int) -> tuple[int, slice]:
    """Return the rank and the cells of some elements in a launch."""
    start = memory.base[place.rank][place.buffer][0] + place.start + place.shift
    if launch % 2:
        start += memory.count_added(place)
    return place.rank, slice(start, start + size * (1 + place.packets))


def callers_of(memory: Memory, rank: int) -> list[slice]:
    """Return the cells of the caller: input and output."""
    (i, i_size), (o, o_size) = memory.base[rank]["i"], memory.base[rank]["o"]
    if i < o + o_size and o < i + i_size:
        return [slice(min(i, o), max(i + i_size, o + o_size))]
    return [slice(i, i + i_size), slice(o, o + o_size)]


class TooManyError(Exception):
    """There are more states than are looked at."""


@dataclass
class Found:
    """What some order of execution leads to."""

    states: int = 0
    race: bool = False
    deadlock: bool = False
    left: bool = False

    @property
    def bad(self) -> bool:
        return self.race or self.deadlock or self.left


@dataclass(frozen=True)
class State:
    """``blocks``: phase, pieces of work that are left, how far each thread is, and whether it waits for a flush."""

    launch: tuple[int, ...]
    blocks: tuple[tuple[int, frozenset[int], tuple[int, ...], tuple[int, ...]], ...]
    signals: frozenset[tuple[Any, int]]
    queues: frozenset[tuple[Any, tuple[Any, ...]]]
    packets: frozenset[tuple[tuple[int, int], int]]


@dataclass
class Explorer:
    """Explores a program with the given launches."""

    program: Program
    memory: Memory
    launches: int
    most: int = 30_000
    keys: list[Key] = field(default_factory=list)

    def run(self) -> Found:
        found = Found()
        self.keys = sorted(self.program.blocks)
        none: frozenset[int] = frozenset()
        blocks = tuple((-1, none, (), ()) for _ in self.keys)
        first = State((0,) * self.memory.ranks, blocks, frozenset(), frozenset(), frozenset())
        first = self.settled(first)
        seen, todo = {first}, [first]
        while todo:
            state = todo.pop()
            found.states += 1
            if found.states > self.most:
                raise TooManyError
            moves = list(self.moves(state))
            found.race |= self.clash(state, moves)
            if not moves:
                if any(launch < self.launches for launch in state.launch):
                    found.deadlock = True
                elif any(number for _, number in state.signals):
                    found.left = True
            if found.bad:
                return found
            for move in moves:
                after = self.settled(self.step(state, move))
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
        return found

    # -- moves --------------------------------------------------------------------------------------------------------

    def moves(self, state: State) -> Iterator[tuple[Any, ...]]:
        meeting: dict[tuple[int, int], list[int]] = {}
        for number, (rank, block) in enumerate(self.keys):
            phases = self.program.blocks[rank, block]
            if state.blocks[number][0] >= len(phases):
                continue
            at = phases[state.blocks[number][0]].meeting
            if at is None:
                yield from self.of_block(state, number)
                continue
            there = meeting.setdefault((rank, at[0]), [])
            there.append(number)
            if len(there) >= at[1]:
                yield "barrier", tuple(there[: at[1]])
        yield from (("proxy", channel) for channel, queue in state.queues if queue)
        for rank in range(self.memory.ranks):
            if state.launch[rank] < self.launches and self.over(state, rank):
                yield "rank", rank

    def of_block(self, state: State, number: int) -> Iterator[tuple[Any, ...]]:
        signals, packets, queues = dict(state.signals), dict(state.packets), dict(state.queues)
        rank = self.keys[number][0]
        at, left, threads, flushing = state.blocks[number]
        phase = self.program.blocks[self.keys[number]][at]
        for piece in left:
            if self.ready(phase.work[piece], state.launch[rank], packets):
                yield "work", number, piece
        for place, (_, line) in enumerate(sorted(phase.threads.items())):
            if threads[place] == len(line):
                continue
            one = line[threads[place]]
            waits = (
                (one.kind == "wait" and not signals.get(one.channel, 0))
                or (one.kind == "acquire" and self.level(rank, one, signals) <= 0)
                or (flushing[place] and queues.get(one.channel))
            )
            if not waits:
                yield "thread", number, place

    def over(self, state: State, rank: int) -> bool:
        return all(
            state.blocks[number][0] >= len(self.program.blocks[key])
            for number, key in enumerate(self.keys)
            if key[0] == rank
        )

    def level(self, rank: int, one: Control, signals: dict[Any, int]) -> int:
        return signals.get((rank, one.semaphore), 0) + self.memory.semaphore(rank, one.semaphore)

    def ready(self, work: Work, launch: int, packets: dict[tuple[int, int], int]) -> bool:
        for place in work.sources:
            if place.packets:
                rank, span = span_of(self.memory, place, work.size, launch)
                if any(packets.get((rank, cell), -1) != launch for cell in range(span.start, span.stop)):
                    return False
        return True

    def step(self, state: State, move: tuple[Any, ...]) -> State:
        signals, queues, packets = dict(state.signals), dict(state.queues), dict(state.packets)
        next_ = _Next(self, list(state.launch), list(state.blocks), signals, queues, packets)
        getattr(next_, move[0])(*move[1:])
        some = frozenset((key, queue) for key, queue in next_.queues.items() if queue)
        numbers = frozenset((key, number) for key, number in next_.signals.items() if number)
        return State(tuple(next_.launch), tuple(next_.blocks), numbers, some, frozenset(next_.packets.items()))

    def settled(self, state: State) -> State:
        """Go to the next phase where one is over."""
        blocks = list(state.blocks)
        for number, key in enumerate(self.keys):
            phases = self.program.blocks[key]
            while blocks[number][0] < len(phases):
                at, left, threads, _ = blocks[number]
                if at >= 0 and left != frozenset([-1]):
                    lines = [line for _, line in sorted(phases[at].threads.items())]
                    done = all(len(line) == gone for line, gone in zip(lines, threads, strict=True))
                    if left or not done or phases[at].meeting is not None:
                        break
                next_ = at if left == frozenset([-1]) else at + 1
                if next_ >= len(phases):
                    blocks[number] = (next_, frozenset(), (), ())
                    break
                size = len(phases[next_].threads)
                blocks[number] = (next_, frozenset(range(len(phases[next_].work))), (0,) * size, (0,) * size)
        return State(state.launch, tuple(blocks), state.signals, state.queues, state.packets)

    # -- races --------------------------------------------------------------------------------------------------------

    def clash(self, state: State, moves: list[tuple[Any, ...]]) -> bool:
        touched = [self.touches(state, move) for move in moves]
        for at, (reads, writes) in enumerate(touched):
            for others, changed in touched[:at]:
                if not writes.isdisjoint(others | changed) or not changed.isdisjoint(reads):
                    return True
        return False

    def touches(self, state: State, move: tuple[Any, ...]) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
        """Return the cells that a move reads and those that it writes."""
        if move[0] == "rank":
            spans = callers_of(self.memory, move[1])
            return set(), {(move[1], cell) for span in spans for cell in range(span.start, span.stop)}
        if move[0] == "work":
            at, *_ = state.blocks[move[1]]
            key = self.keys[move[1]]
            work, launch = self.program.blocks[key][at].work[move[2]], state.launch[key[0]]
        elif move[0] == "proxy":
            one, launch = dict(state.queues)[move[1]][0]
            work = one.work
        else:
            return set(), set()
        if work is None:
            return set(), set()
        found = []
        for places in (work.sources, work.targets):
            where = [span_of(self.memory, one, work.size, launch) for one in places]
            found.append({(rank, cell) for rank, span in where for cell in range(span.start, span.stop)})
        return found[0] - found[1], found[1]


@dataclass
class _Next:
    """A state in the making: each kind of move is a method."""

    of: Explorer
    launch: list[int]
    blocks: list[Any]
    signals: dict[Any, int]
    queues: dict[Any, tuple[Any, ...]]
    packets: dict[tuple[int, int], int]

    def tell(self, channel: Any) -> None:
        other = self.of.program.other.get(channel)
        if other is not None:
            self.signals[other] = self.signals.get(other, 0) + 1

    def write(self, work: Work, turn: int) -> None:
        for place in work.targets:
            rank, span = span_of(self.of.memory, place, work.size, turn)
            for cell in range(span.start, span.stop):
                self.packets.pop((rank, cell), None)
                if place.packets:
                    self.packets[rank, cell] = turn

    def barrier(self, there: tuple[int, ...]) -> None:
        for number in there:
            self.blocks[number] = (self.blocks[number][0] + 1, frozenset([-1]), (), ())

    def work(self, number: int, piece: int) -> None:
        at, left, threads, flushing = self.blocks[number]
        key = self.of.keys[number]
        self.write(self.of.program.blocks[key][at].work[piece], self.launch[key[0]])
        self.blocks[number] = (at, left - {piece}, threads, flushing)

    def proxy(self, channel: Any) -> None:
        (one, turn), *rest = self.queues[channel]
        self.queues[channel] = tuple(rest)
        if one.work is not None:
            self.write(one.work, turn)
        if one.signals or one.kind == "signal":
            self.tell(channel)

    def rank(self, rank: int) -> None:
        self.launch[rank] += 1
        if self.launch[rank] < self.of.launches:
            for number, key in enumerate(self.of.keys):
                if key[0] == rank:
                    self.blocks[number] = (-1, frozenset(), (), ())

    def thread(self, number: int, place: int) -> None:
        at, left, threads, flushing = self.blocks[number]
        key = self.of.keys[number]
        one = sorted(self.of.program.blocks[key][at].threads.items())[place][1][threads[place]]
        held = 0
        if one.kind == "wait":
            self.signals[one.channel] -= 1
        elif one.kind in {"acquire", "release"}:
            semaphore = (key[0], one.semaphore)
            self.signals[semaphore] = self.signals.get(semaphore, 0) + (1 if one.kind == "release" else -1)
        elif one.channel is None or one.channel[1] != "port":
            self.tell(one.channel)
        elif not flushing[place]:
            self.queues[one.channel] = (*self.queues.get(one.channel, ()), (one, self.launch[key[0]]))
            held = int(one.flushes)
        moved = tuple(value + (where == place and not held) for where, value in enumerate(threads))
        waits = tuple(held if where == place else value for where, value in enumerate(flushing))
        self.blocks[number] = (at, left, moved, waits)
