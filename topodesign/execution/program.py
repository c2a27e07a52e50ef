"""Rank programs: batches of sends and receives for any data size.

What goes from one rank to another in the same instants is one message. A message gets a *level*: one more than that of
the latest level at which its sender has put in place what it needs. A rank goes through levels upwards, and at each it
starts all that it sends and receives there at once, a *batch*, waits for all of it, and puts in place what the plan has
next. Where a message would overwrite what is sent later, it waits in a buffer of its own until that is sent.

That cannot deadlock, whatever the plan, and needs no tags. A message has one level, the same at both ends; so a batch
waits for batches of the same level alone, and the lowest level at which some rank is has all its partners there, or on
their way through levels in which they wait for nobody above. And at both ends of a pair messages come in the order of
level and number. Nor can it mix data up: what a message brings is put in its place after all that the plan has there
before. :func:`topodesign.execution.levels.check_programs` looks at what was made, not at how.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from topodesign.base.arrays import ranges
from topodesign.base.errors import TooLargeError
from topodesign.collectives.collective import EVERYONE
from topodesign.plans.transfers import MessageTable, Transfers, message_table
from topodesign.topology.topology import IntArray

MAX_UNITS = 2**31  # units of a block, so that their products fit into 64 bits


@dataclass(frozen=True, eq=False)
class Message:
    """A message as its sender or its receiver has it."""

    peer: int  # the other rank
    tag: int  # its number among those from the one to the other
    # stream, block, lo, hi: which units of which blocks it has, one after the other; int64 arrays
    stream: IntArray
    block: IntArray
    lo: IntArray
    hi: IntArray
    adds: bool  # whether the receiver adds it to what it has
    # of a message that is sent: that partial sums of it begin anew at the sender, at zero. Of one that is received:
    # that nothing was in its place before, so that it may be put there at any time
    special: bool

    @property
    def name(self) -> tuple[int, int]:
        """Key of a message at its receiving rank: peer and tag."""
        return self.peer, self.tag


@dataclass(frozen=True)
class Piece:
    """Block that a rank starts with or must end with."""

    # stream, block: which
    stream: int
    block: int
    sources: tuple[int, ...]  # the ranks whose contributions it is the sum of; one where nothing is added


class Sum(NamedTuple):
    """Local sum of a rank: block units summed from other blocks."""

    block: int
    lo: int
    hi: int
    sources: tuple[int, ...]


class Batch(NamedTuple):
    """Operations of a rank at one level, messages by index."""

    level: int
    sends: tuple[int, ...]
    receives: tuple[int, ...]
    places: tuple[int, ...]  # those received, here or before, that are put where they belong after it, in this order
    sums: tuple[int, ...] = ()  # what is added up then
    phase: int = 0  # if not 0, nothing is sent: all ranks wait for each other, and for circuits to change to this phase


@dataclass(frozen=True, eq=False)
class Program:
    """All that one rank has to do."""

    # rank, ranks: which of how many
    rank: int
    ranks: int
    # sends, receives: its messages
    sends: tuple[Message, ...]
    receives: tuple[Message, ...]
    script: tuple[Batch, ...]  # its batches, by ascending level
    # inputs, outputs: what it has at the start, and what it must have in the end
    inputs: tuple[Piece, ...]
    outputs: tuple[Piece, ...]
    # stream, block, lo, hi: the units that it has memory for: int64 arrays, ascending, that neither overlap nor touch
    stream: IntArray
    block: IntArray
    lo: IntArray
    hi: IntArray
    # what it adds up for itself; blocks are copies of the whole data then, so that places in all of them are alike
    sums: tuple[Sum, ...] = ()

    def pattern(self, block: int) -> int:
        """Return the block whose numbers a block is filled with."""
        return 0 if self.sums else block


def programs_of(transfers: Sequence[Transfers], changes: Sequence[int] = ()) -> list[Program]:
    """Return the programs of all ranks in order.

    All ranks wait for each other at the instants in ``changes``.
    """
    if max(one.units for one in transfers) >= MAX_UNITS:
        raise TooLargeError(f"blocks cut into {MAX_UNITS} units or more are not run; make a plan with fewer")
    table = message_table(transfers)
    count = transfers[0].ranks
    by_sender, by_receiver = (_places(column, count) for column in (table.src, table.dst))
    inputs, outputs = _pieces(transfers)
    sums = _sums(transfers[0])
    ranks = [
        _Rank(rank, table, (by_sender[rank], by_receiver[rank]), (inputs[rank], outputs[rank]), sums[rank])
        for rank in range(count)
    ]
    # What is there at an instant can be sent at it: deliveries come before sums, and these before sends. Circuits
    # change in between: what begins at that instant or ends after it is of the next phase.
    events = [(instant, 0, number) for number, instant in enumerate(table.end.tolist())]
    events += [(step, 1, rank) for rank, own in enumerate(sums) for step, _ in own]
    events += [(instant, 2, phase) for phase, instant in enumerate(changes, start=1)]
    events += [(instant, 3, number) for number, instant in enumerate(table.start.tolist())]
    events.sort()
    src, dst, adds = table.src.tolist(), table.dst.tolist(), table.adds.tolist()
    for now, (_, turn, number) in enumerate(events):
        if turn == 0 and adds[number]:
            ranks[dst[number]].expect(number, now)
    level: dict[int, int] = {}
    for now, (_, turn, number) in enumerate(events):
        if turn == 0:
            ranks[dst[number]].receive(number, level[number])
        elif turn == 1:
            ranks[number].add_up()
        elif turn == 2:
            last = 1 + max(rank.last for rank in ranks)
            for rank in ranks:
                rank.meet(last, number)
        else:
            level[number] = ranks[src[number]].send(number, now)
    return [rank.program() for rank in ranks]


def _sums(transfers: Transfers) -> list[list[tuple[int, Sum]]]:
    """Return every rank's sums with the instants of their last inputs."""
    found: list[list[tuple[int, Sum]]] = [[] for _ in range(transfers.ranks)]
    for one in transfers.list_sums():
        found[one.rank].append((one.step, Sum(*one[2:])))
    return found


def _places(column: IntArray, count: int) -> list[IntArray]:
    """Return the positions in a column of each number below ``count``."""
    order = np.argsort(column, kind="stable")
    return np.split(order, np.searchsorted(column[order], np.arange(1, count)))


def _pieces(transfers: Sequence[Transfers]) -> tuple[list[list[Piece]], list[list[Piece]]]:
    """Return the input pieces and output pieces of every rank."""
    ranks = transfers[0].ranks
    inputs: list[list[Piece]] = [[] for _ in range(ranks)]
    outputs: list[list[Piece]] = [[] for _ in range(ranks)]
    for stream, one in enumerate(transfers):
        if one.sums is not None:
            for rank in range(ranks):
                inputs[rank].append(Piece(stream, rank, (rank,)))
                outputs[rank].append(Piece(stream, int(one.sums[2].max()), tuple(range(ranks))))
            continue
        members = one.collective.members(ranks)
        blocks = one.collective.blocks(members, ranks)
        team = one.collective.teams(ranks)
        everyone = {number: tuple(np.flatnonzero(team == number).tolist()) for number in range(int(team.max()) + 1)}
        owners = team[one.collective.owners(blocks, ranks)].tolist()
        sources, _ = one.collective.places(one.collective.movements[0], blocks, ranks)
        _, goals = one.collective.places(one.collective.movements[-1], blocks, ranks)
        for block, own, source, goal in zip(blocks.tolist(), owners, sources.tolist(), goals.tolist(), strict=True):
            froms = everyone[own] if source == EVERYONE else (source,)
            for rank in froms:
                inputs[rank].append(Piece(stream, block, (rank,)))
            for rank in everyone[own] if goal == EVERYONE else (goal,):
                outputs[rank].append(Piece(stream, block, froms))
    return inputs, outputs


class _Rank:
    """Operations of a rank by level, under construction.

    Cells are units that no message or sum of the rank tells apart. Of each it is known at which level it was last sent
    from, at which something was put there, whether there was anything, and which event adds to it last.
    """

    def __init__(
        self,
        rank: int,
        table: MessageTable,
        own: tuple[IntArray, IntArray],
        pieces: tuple[list[Piece], list[Piece]],
        sums: list[tuple[int, Sum]],
    ) -> None:
        self._rank, self._table, self._pieces, self._sums = rank, table, pieces, tuple(one for _, one in sums)
        self._sends, self._receives = ({number: at for at, number in enumerate(some.tolist())} for some in own)
        messages = np.concatenate(own)
        counts = np.diff(table.first)[messages]
        bounds = np.concatenate(([0], np.cumsum(counts)))
        _, row = ranges(table.first[messages], counts)
        data = table.rows[:, row]
        self._data = np.split(data, bounds[1:-1], axis=1) if len(messages) else []
        added = [(0, block, one.lo, one.hi) for one in self._sums for block in (one.block, *one.sources)]
        whole = [(one.stream, one.block, 0, table.units[one.stream]) for both in pieces for one in both]
        moved = np.concatenate((data, np.array(added, dtype=np.int64).reshape(-1, 4).T), axis=1)
        self._memory = _merge_rows(np.concatenate((moved, np.array(whole, dtype=np.int64).reshape(-1, 4).T), axis=1))
        first, last = cells_of(moved, max(table.units))
        ends = np.append(bounds, bounds[-1] + np.cumsum([len(one.sources) + 1 for one in self._sums], dtype=np.int64))
        self._cells = [ranges(first[a:b], (last - first)[a:b])[1] for a, b in pairwise(ends.tolist())]
        self._filled = {(one.stream, one.block) for one in pieces[0]}
        count = int(last.max(initial=0))
        self._read, self._written, self._added_to = np.zeros((3, count), dtype=np.int64)
        self._there = np.zeros(count, dtype=np.bool_)
        self._special = set[int]()
        self._summed = self._floor = 0
        self._levels: defaultdict[int, tuple[list[int], ...]] = defaultdict(lambda: ([], [], [], []))
        self._phases: dict[int, int] = {}
        self.last = 0  # level at which something is sent or put in place

    def expect(self, number: int, now: int) -> None:
        """Record that event ``now`` adds the data of a message."""
        self._added_to[self._cells[len(self._sends) + self._receives[number]]] = now

    def send(self, number: int, now: int) -> int:
        """Return the level of a message that is sent."""
        at = self._sends[number]
        cells = self._cells[at]
        level = 1 + max(self._floor, int(self._written[cells].max()))
        self._there[cells] = True
        if self._table.adds[number] and (self._added_to[cells] > now).any():  # sums begin anew: it is cleared then
            self._special.add(at)
            level = max(level, 1 + int(self._read[cells].max()))
            self._written[cells] = level
        self._read[cells] = np.maximum(self._read[cells], level)
        self._levels[level][0].append(at)
        self.last = max(self.last, level)
        return level

    def receive(self, number: int, level: int) -> None:
        """Place a received message once the old contents have been sent."""
        at = self._receives[number]
        cells = self._cells[len(self._sends) + at]
        stream, block, _, _ = self._data[len(self._sends) + at].tolist()
        held = self._filled and not self._filled.isdisjoint(zip(stream, block, strict=True))
        if self._sums or not (self._table.adds[number] or held or self._there[cells].any()):
            self._special.add(len(self._sends) + at)
        self._there[cells] = True
        place = max(level, int(self._read[cells].max()), int(self._written[cells].max()))
        self._written[cells] = place
        self._levels[level][1].append(at)
        self._levels[place][2].append(at)
        self.last = max(self.last, place)

    def add_up(self) -> None:
        """Schedule the next sum once all its inputs are present."""
        cells = self._cells[len(self._sends) + len(self._receives) + self._summed]
        level = int(self._written[cells].max())
        self._written[cells] = level
        self._levels[level][3].append(self._summed)
        self._summed += 1

    def meet(self, level: int, phase: int) -> None:
        """Wait for all others, and for circuits to change."""
        self._phases[level] = phase
        self.last = self._floor = level

    def program(self) -> Program:
        """Return the program when all is known."""
        table, first = self._table, len(self._sends)
        made = []
        for at, (number, data) in enumerate(zip([*self._sends, *self._receives], self._data, strict=True)):
            peer = (table.dst if at < first else table.src)[number]
            adds = bool(table.adds[number])
            stream, block, lo, hi = data
            made.append(Message(int(peer), int(table.tag[number]), stream, block, lo, hi, adds, at in self._special))
        sends, receives = tuple(made[:first]), tuple(made[first:])
        script = []
        for level in sorted({*self._levels, *self._phases}):
            sent, come, places, sums = self._levels.get(level, ((), (), (), ()))
            both = _by_pair(sent, sends), _by_pair(come, receives)
            script.append(Batch(level, *both, tuple(places), tuple(sums), self._phases.get(level, 0)))
        inputs, outputs = map(tuple, self._pieces)
        stream, block, lo, hi = self._memory
        ends = sends, receives, tuple(script), inputs, outputs
        return Program(self._rank, table.ranks, *ends, stream, block, lo, hi, self._sums)


def _by_pair(places: Sequence[int], messages: Sequence[Message]) -> tuple[int, ...]:
    """Sort message indices by peer and number, equally at both ends."""
    return tuple(sorted(places, key=lambda at: (messages[at].peer, messages[at].tag)))


def _merge_rows(rows: IntArray) -> IntArray:
    """Merge touching rows (stream, block, lo, hi) and sort them."""
    rows = rows[:, np.lexsort(rows[::-1])]
    if not rows.shape[1]:
        return rows
    same = np.append(False, np.all(rows[:2, 1:] == rows[:2, :-1], axis=0))
    group = np.cumsum(~same)
    # Within a block, what ends last so far; blocks are kept apart by an offset.
    wide = int(rows[3].max()) + 1
    high = np.maximum.accumulate(group * wide + rows[3]) - group * wide
    new = ~same | np.append(True, rows[2, 1:] > high[:-1])
    begins = np.flatnonzero(new)
    ends = np.append(begins[1:], rows.shape[1]) - 1
    return np.stack((*rows[:3, begins], high[ends]))


def cells_of(rows: IntArray, most: int) -> IntArray:
    """Return every row's cell range; row ends cut blocks into cells."""
    blocks, place = np.unique(rows[:2], axis=1, return_inverse=True)
    del blocks
    place = place.ravel()
    wide = most + 1
    ends = np.unique(np.concatenate((place * wide + rows[2], place * wide + rows[3])))
    return np.stack([np.searchsorted(ends, place * wide + column) for column in rows[2:]])
