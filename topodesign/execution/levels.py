"""Programs of ranks in batches that need no tags: for libraries that match messages of a pair by order alone.

A message gets a *level*: one more than that of the latest level at which its sender has put in place what it needs. A
rank goes through levels upwards, and at each it starts all that it sends and receives there at once, a *batch*, waits
for all of it, and puts in place what the plan has next. Where a message would overwrite what is sent later, it waits in
a buffer of its own until that is sent.

That cannot deadlock, and needs no tags. A message has one level, the same at both ends; so a batch waits for batches of
the same level alone, and the lowest level at which some rank is has all its partners there, or on their way through
levels in which they wait for nobody above. And at both ends of a pair messages come in the order of level and number.
:func:`check_scripts` looks at what was made, not at how: it is called before anything is sent.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.execution.ordering import Do
from topodesign.execution.program import Message, Program, cells_of
from topodesign.topology.topology import Topology


class Batch(NamedTuple):
    """What a rank does at a level; places of messages among those that its program sends or receives."""

    level: int
    sends: tuple[int, ...]
    receives: tuple[int, ...]
    places: tuple[int, ...]  # those received, here or before, that are put where they belong after it, in this order
    sums: tuple[int, ...] = ()  # what is added up then
    phase: int = 0  # if not 0, nothing is sent: all ranks wait for each other, and for circuits to change to this phase


Script = tuple[Batch, ...]
"""The batches of a rank, by ascending level."""


def scripts_of(programs: Sequence[Program]) -> list[Script]:
    """Return the batches of all ranks, unless their programs wait for each other in a circle."""
    ranks = [_Rank(one) for one in programs]
    levels: dict[tuple[int, int, int], int] = {}  # of the messages sent so far, by sender, receiver and number
    waiting: dict[tuple[int, int, int], int] = {}
    ready = deque(range(len(ranks)))
    while ready or all(one.meets for one in ranks):
        if not ready:  # all wait where circuits change, so that no level before has anything left
            last = max(one.last for one in ranks)
            for one in ranks:
                one.meet(last + 1)
            ready.extend(range(len(ranks)))
        rank = ready.popleft()
        missing, sent = ranks[rank].go_on(levels)
        if missing is not None:
            waiting[missing] = rank
        for message in sent:
            if message in waiting:
                ready.append(waiting.pop(message))
    if waiting:
        source, target, _ = min(waiting)
        raise ScheduleError(f"rank {target} waits for rank {source} in a circle; nothing can be sent in this order")
    return [one.script() for one in ranks]


class _Rank:
    """How far a rank is while levels are found."""

    def __init__(self, program: Program) -> None:
        self._program = program
        both = (*program.sends, *program.receives)
        bounds = np.cumsum([0, *(len(one.lo) for one in both)]).tolist()
        rows = np.concatenate(
            [np.stack((one.stream, one.block, one.lo, one.hi)) for one in both] or [np.zeros((4, 0), dtype=np.int64)],
            axis=1,
        )
        added = [(0, block, one.lo, one.hi) for one in program.sums for block in (one.block, *one.sources)]
        rows = np.concatenate((rows, np.array(added, dtype=np.int64).reshape(-1, 4).T), axis=1)
        bounds += (bounds[-1] + np.cumsum([len(one.sources) + 1 for one in program.sums], dtype=np.int64)).tolist()
        cells = cells_of(rows, int(rows[3].max(initial=0)))
        spans = [cells[:, a:b].T.tolist() for a, b in pairwise(bounds)]
        self._cells = [[cell for first, last in one for cell in range(first, last)] for one in spans]
        self._order = [(do, at) for do, at in program.order if do is not Do.FINISH]
        self._at = 0
        # by cell: the last level at which it was sent from, and at which something was put there
        count = int(cells.max(initial=0)) + 1
        self._read, self._written = [0] * count, [0] * count
        self._floor = 0
        self._met: dict[int, int] = {}  # levels at which all wait, and the phase that comes then
        self.last = 0  # level at which something is sent or put in place
        self._batches: dict[int, tuple[list[int], list[int], list[int], list[int]]]
        self._batches = defaultdict(lambda: ([], [], [], []))

    @property
    def meets(self) -> bool:
        """Whether what comes next is that all wait for each other."""
        return self._at < len(self._order) and self._order[self._at][0] is Do.MEET

    def meet(self, level: int) -> None:
        self._met[level] = self._order[self._at][1]
        self.last = self._floor = level
        self._at += 1

    def go_on(
        self, levels: dict[tuple[int, int, int], int]
    ) -> tuple[tuple[int, int, int] | None, list[tuple[int, int, int]]]:
        """Go as far as messages are there; return the one that is missing, None at the end, and those sent."""
        program, sent = self._program, []
        while self._at < len(self._order) and not self.meets:
            do, at = self._order[self._at]
            if do is Do.SEND:
                one, cells = program.sends[at], self._cells[at]
                before = [max(self._written[cell], one.special and self._read[cell]) for cell in cells]
                level = 1 + max([self._floor, *before])
                name = (program.rank, one.peer, one.tag)
                levels[name] = level
                sent.append(name)
                self._batches[level][0].append(at)
                for cell in cells:
                    self._read[cell] = max(self._read[cell], level)
                    if one.special:  # it is cleared then
                        self._written[cell] = level
            elif do is Do.SUM:
                cells = self._cells[len(program.sends) + len(program.receives) + at]
                level = max(self._written[cell] for cell in cells)
                self._batches[level][3].append(at)
                for cell in cells:
                    self._written[cell] = level
            else:
                one, cells = program.receives[at], self._cells[len(program.sends) + at]
                name = (one.peer, program.rank, one.tag)
                if name not in levels:
                    return name, sent
                level = levels[name]
                place = max([level, *(max(self._read[cell], self._written[cell]) for cell in cells)])
                self._batches[level][1].append(at)
                self._batches[place][2].append(at)
                for cell in cells:
                    self._written[cell] = place
                level = place
            self.last = max(self.last, level)
            self._at += 1
        return None, sent

    def script(self) -> Script:
        found = []
        for level in sorted({*self._batches, *self._met}):
            if level in self._met:
                found.append(Batch(level, (), (), (), phase=self._met[level]))
                continue
            sends, receives, places, sums = self._batches[level]
            program = self._program
            both = _by_pair(sends, program.sends), _by_pair(receives, program.receives)
            found.append(Batch(level, *both, tuple(places), tuple(sums)))
        return tuple(found)


def _by_pair(places: list[int], messages: Sequence[Message]) -> tuple[int, ...]:
    """Return places of messages by peer and number, which both ends of a pair have in the same order."""
    return tuple(sorted(places, key=lambda at: (messages[at].peer, messages[at].tag)))


def check_scripts(
    programs: Sequence[Program], scripts: Sequence[Script], neighbours: Collection[tuple[int, int]]
) -> None:
    """Refuse batches that could deadlock, mix messages up, or leave the wiring.

    So the levels of a rank ascend, every message is sent and received once, and both ends of a pair agree in levels,
    order and content. ``neighbours`` are pairs (from, to) that a link joins.
    """
    ends: dict[tuple[int, int], tuple[list[tuple[int, Message]], list[tuple[int, Message]]]] = {}
    _check_meetings(scripts)
    for program, script in zip(programs, scripts, strict=True):
        if any(second.level <= first.level for first, second in pairwise(script)):
            raise ScheduleError(f"the levels of rank {program.rank} do not ascend")
        wanted = (program.sends, program.receives, program.receives, program.sums)
        for name, all_of in zip(("sends", "receives", "places", "sums"), wanted, strict=True):
            if sorted(at for batch in script for at in getattr(batch, name)) != list(range(len(all_of))):
                raise ScheduleError(f"rank {program.rank} does not have each of what it {name} once")
        level_of = {at: batch.level for batch in script for at in batch.receives}
        if any(batch.level < level_of[at] for batch in script for at in batch.places):
            raise ScheduleError(f"rank {program.rank} uses a message before it has come")
        for batch in script:
            for at in batch.sends:
                pair = (program.rank, program.sends[at].peer)
                ends.setdefault(pair, ([], []))[0].append((batch.level, program.sends[at]))
            for at in batch.receives:
                pair = (program.receives[at].peer, program.rank)
                ends.setdefault(pair, ([], []))[1].append((batch.level, program.receives[at]))
    for (source, target), (sent, received) in ends.items():
        if (source, target) not in neighbours:
            raise InfeasibleError(f"the plan sends from rank {source} to rank {target}, which no link joins")
        if len(sent) != len(received) or not all(map(_alike, sent, received)):
            raise ScheduleError(f"what rank {source} sends and what rank {target} receives from it is not the same")


def _check_meetings(scripts: Sequence[Script]) -> None:
    if len({tuple((batch.level, batch.phase) for batch in script if batch.phase) for script in scripts}) > 1:
        raise ScheduleError("ranks do not wait for each other at the same levels")


def _alike(sent: tuple[int, Message], received: tuple[int, Message]) -> bool:
    """Return whether two ends of a message are of one level and have the same data in mind."""
    (level, one), (other_level, other) = sent, received
    columns = ("stream", "block", "lo", "hi")
    same = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in columns)
    return level == other_level and one.adds == other.adds and same


def neighbours_of(topology: Topology) -> frozenset[tuple[int, int]]:
    """Return the pairs of ranks that a link joins, or links through switches alone; ranks are numbered without them."""
    after: dict[int, list[int]] = defaultdict(list)
    for source, target in zip(topology.src.tolist(), topology.dst.tolist(), strict=True):
        after[source].append(target)
    rank = {node: number for number, node in enumerate(sorted(set(range(topology.nodes)) - topology.switches))}

    def reached(start: int) -> Iterable[int]:
        seen, stack = {start}, [start]
        while stack:
            for node in after[stack.pop()]:
                if node not in seen:
                    seen.add(node)
                    if node in topology.switches:
                        stack.append(node)
                    else:
                        yield node

    return frozenset((rank[node], rank[other]) for node in rank for other in reached(node))
