"""The machine: a program with the memory of its ranks, executed once to decide all orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from topodesign.base.compiled import Ints, Masks
from topodesign.base.memory import check_memory
from topodesign.runtime.machine.column_kernels import (
    RELAXED,
    Bits,
    Cells,
    Columns,
    Runs,
    find_changed_input,
    wrong_goal,
)
from topodesign.runtime.machine.layout import Layout, likely_root
from topodesign.runtime.machine.proof_kernels import (
    BEFORE,
    CHANCES,
    CROWDED,
    ELSEWHERE,
    OVERWRITES,
    RACES,
    READS,
    SEVERAL,
    UNKNOWNS,
    UNREAD,
    WRITES,
    WRONGS,
    FindingTable,
    Marks,
    Tellings,
    run_with_clocks,
)
from topodesign.runtime.report import MAX_FINDINGS, Finding, place

_CLOCKS = 2**26  # bytes of the clocks of callers, threadblocks and proxies; of more actors there is a run for each part
_PER_CELL = 64  # bytes
_OPEN = 2**40  # waits that pass where connections have slots without end

Contents = Counter[tuple[int, int, int]]
"""A sum of inputs: how many times it has each chunk of a rank in a launch."""


class Names(Protocol):
    """Words of a form of programs for what the machine knows by number."""

    def work(self, number: int) -> tuple[str, tuple[int, int, int]]:
        """Return the name of some work, and its rank, threadblock and step."""

    def cell(self, cell: int, work: int = -1) -> tuple[int, str]:
        """Return the rank and the name of a cell, as some work calls it."""

    def actor(self, actor: int, time: int) -> str:
        """Return which caller, threadblock or proxy something is, and what of it has a time."""

    def wait(self, control: int, post: int) -> str:
        """Return which operation waits for what, at a post."""

    def control(self, control: int) -> tuple[int, int, int]:
        """Return the rank, threadblock and step of a control."""

    def meeting(self, phase: int) -> tuple[tuple[int, int, int], str]:
        """Return the place of a barrier, and its words where a threadblock waits."""

    def left(self, post: int, signals: float) -> Finding:
        """Return that so many signals of a launch are left at a post."""


class _Run(NamedTuple):
    """A run: findings, memory, and how far all came."""

    found: FindingTable
    cells: Cells
    at: Ints  # the phase of every threadblock in the end
    cursor: Ints  # and the control of every line
    left: Ints  # signals of each post that nobody waited for
    longest: int


@dataclass(frozen=True)
class Proof:
    """Findings of the one run, by kind, and the longest chain of messages.

    All are empty of a right program.
    """

    races: list[Finding]
    chances: list[Finding]  # what is left to chance: which wait takes which signal
    deadlock: list[Finding]
    unknown: list[Finding]  # reads of what nothing has written
    wrong: list[Finding]
    left: list[Finding]  # signals that nobody waits for
    longest: int

    def list_findings(self) -> list[Finding]:
        """Return what is wrong in some order of execution: findings of the first kind there is."""
        kinds = self.chances, self.deadlock, self.races, self.unknown, self.wrong, self.left
        return next((some[:MAX_FINDINGS] for some in kinds if some), [])


def make_runs(
    layout: Layout,
    first: Ints,
    *,
    cells: int = 1,
    launches: int = 1,
    callers: bool = True,
    judged: bool = True,
    sent: Sequence[int] | None = None,
) -> Runs:
    """Return what callers do.

    Parameters
    ----------
    layout
        The buffers of all ranks.
    first
        The first cell of the input, output and scratch of each rank, of shape (ranks, 3).
    cells
        Cells of a chunk.
    launches
        How many launches there are.
    callers
        Whether buffers are the caller's between launches, so that to touch them there is a race.
    judged
        Whether results count.
    sent
        Chunks of each block of an all-to-all that must arrive, by sender and receiver; None for all.
    """
    ranks, part = layout.ranks, np.arange(layout.part)
    given = np.cumsum([0, *(one * cells for one in layout.given)])
    total = int(given[-1])
    spans = []
    for rank in range(ranks):
        (i, i_size), (o, o_size) = (
            (first[rank, at], layout.segment(rank, name)[1] * cells) for at, name in enumerate("io")
        )
        both = (
            [(min(i, o), max(i + i_size, o + o_size))]
            if i < o + o_size and o < i + i_size
            else [(i, i + i_size), (o, o + o_size)]
        )
        spans.append(both if callers else [])
    low, high = np.array([one for some in spans for one in some], dtype=np.int64).reshape(-1, 2).T.copy()
    goal_cells, goal_numbers = [], []
    adds = False
    for rank in range(ranks):
        rows = np.array(
            [(at, chunk, -1 if of is None else of) for at, chunk, of in layout.blocks(rank)], dtype=np.int64
        )
        at, chunk, source = rows.reshape(-1, 3, 1).swapaxes(0, 1)
        at, chunk = (at + part).reshape(-1), (chunk + part).reshape(-1)
        source = np.repeat(source, len(part))
        if sent is not None:
            number = np.array(sent, dtype=np.int64)[source * ranks + rank]
            kept = (source == rank) | (chunk % (len(at) // ranks) < number)
            at, chunk, source = at[kept], chunk[kept], source[kept]
        adds = adds or bool((source < 0).any())
        start = np.where(source < 0, total, given[source])
        goal_cells.append(((first[rank, 1] + at * cells)[:, None] + np.arange(cells)).reshape(-1))
        goal_numbers.append(((start + chunk * cells)[:, None] + np.arange(cells)).reshape(-1))
    numbers = []
    for launch in range(launches):
        line = np.random.default_rng(launch).integers(2**64, size=total, dtype=np.uint64)
        sums = [np.add.reduce(np.split(line, given[1:-1]))] if adds else []
        numbers.append(np.concatenate([line, *sums]))
    return Runs(
        launches,
        judged,
        np.cumsum([0, *map(len, spans)]),
        low,
        high,
        given,
        first[:, 0].copy(),
        np.cumsum([0, *map(len, goal_cells)]),
        np.concatenate(goal_cells),
        np.concatenate(goal_numbers),
        not layout.inplace,
        np.stack(numbers),
    )


class Machine:
    """A program with the memory of its ranks.

    Parameters
    ----------
    columns, runs, names
        The program, its callers, and its words.
    layout
        The buffers of all ranks.
    size
        How many cells there are.
    marked
        Of how many, from the first, it counts who touches them: what is behind carries messages.
    cells
        Cells of a chunk.
    piece
        Elements of a full piece of what lines do.
    """

    def __init__(
        self,
        columns: Columns,
        runs: Runs,
        names: Names,
        layout: Layout,
        size: int,
        *,
        marked: int | None = None,
        cells: int = 1,
        piece: int = 2**40,
    ) -> None:
        check_memory(_PER_CELL * size, f"{size} cells of memory")
        self.columns, self.runs, self.names, self.layout, self.cells = columns, runs, names, layout, cells
        self.piece = piece
        self.marked = size if marked is None else marked
        self.proxies = int(columns.proxy.max(initial=-1)) + 1
        flags = size if (columns.wide == 2).any() else 0
        self.start = Cells(np.zeros(size, np.uint64), np.zeros(size, np.uint8), np.zeros(flags, np.int32))
        for rank, (low, high) in enumerate(zip(runs.given[:-1], runs.given[1:], strict=True)):
            here = slice(runs.base[rank], runs.base[rank] + high - low)
            self.start.values[here], self.start.known[here] = runs.numbers[0, low:high], 1
        self.end = self.start  # what is in memory after the last run
        self._resumed = False
        self._movers = len(runs.base) + len(columns.rank) + self.proxies
        self._packets = bool(flags)
        self._planes = 1 + bool(self._packets or (columns.mode & RELAXED).any())
        jobs = int((columns.job >= 0).sum()) if self.proxies else 0
        length = int(np.diff(columns.phase).max(initial=0)) + 2
        latest = max(int(columns.time.max(initial=0)) + 4, 2 * runs.launches * (max(length, jobs) + 2))
        self._kind = np.int16 if latest < 2**15 else np.int32
        self._watched = np.arange(0 if len(runs.low) else len(runs.base), len(columns.owner))
        self._divisible = not self._packets and bool(columns.eager.all())  # whether a run may watch some actors alone

    def resume(self, cells: Ints, values: Masks, known: Bits) -> None:
        """Begin with what an earlier program left in some cells."""
        self.start.values[cells], self.start.known[cells] = values, known
        self._resumed = True

    # -- the proof ----------------------------------------------------------------------------------------------------

    def prove(self) -> Proof:
        """Decide races, deadlocks, results and lost signals for all orders.

        All operands are within bounds.
        """
        own, runs = self.columns, self.runs
        room = max(64, _CLOCKS // (self._movers * self._planes * np.dtype(self._kind).itemsize))
        number = -(-len(self._watched) // room) if self._divisible else 1
        parts = np.array_split(self._watched, max(1, number))
        rows: list[list[list[int]]] = [[], [], [], []]
        for number, some in enumerate(parts):
            run = self._run(some, own)
            for group in range(len(rows)):
                if group == RACES or number == 0:
                    rows[group] += run.found.rows[group, : run.found.number[group]].tolist()
        self.end = run.cells
        self._log = run.found.log[: run.found.log[-1, 0]]
        rows[RACES].sort(key=lambda row: row[6])
        stuck = np.flatnonzero(run.at < own.phase[1:])
        return Proof(
            [self._race(*row) for row in rows[RACES][:MAX_FINDINGS]],
            [self._chance(*row) for row in rows[CHANCES]],
            [self._deadlock(stuck, run.at, run.cursor, run.left)] if len(stuck) else [],
            [self._unknown(*row) for row in rows[UNKNOWNS]],
            self._wrong(rows[WRONGS]),
            [
                self.names.left(post, run.left[post] / runs.launches)
                for post in np.flatnonzero(run.left * (own.silent == 0)).tolist()
            ],
            run.longest,
        )

    def _run(self, watched: Ints, columns: Columns, *, judged: bool = True) -> _Run:
        """Run once, with the clocks of some actors."""
        column = np.full(len(columns.owner), -1)
        column[watched] = np.arange(len(watched))
        clock = np.zeros((self._movers, self._planes, len(watched)), dtype=self._kind)
        found, cells = self._nothing_found(), self.fresh()
        at, cursor = columns.phase[:-1].copy(), columns.control[1:].copy()
        left = np.zeros(len(columns.free), dtype=np.int64)
        longest = run_with_clocks(
            columns, self.runs._replace(judged=judged and self.runs.judged), cells, self._make_marks(),
            self._untold(len(watched)), clock, column, found, self.piece, at, cursor, left,
        )  # fmt: skip
        return _Run(found, cells, at, cursor, left, longest)

    def fresh(self) -> Cells:
        """Return what is in memory at first."""
        return Cells(self.start.values.copy(), self.start.known.copy(), self.start.flags.copy())

    def _nothing_found(self) -> FindingTable:
        pieces = int((-(-self.columns.size.astype(np.int64) // self.piece)).sum())
        number = (pieces + len(self.runs.base)) * self.runs.launches
        rows = np.zeros((4, MAX_FINDINGS, 7), dtype=np.int64)
        return FindingTable(rows, np.zeros(4, dtype=np.int64), np.zeros((number + 1, 3), dtype=np.int64))

    def _make_marks(self) -> Marks:
        """Return that nobody has touched any cell."""
        own, size = self.columns, self.marked
        reads = int(np.repeat(own.size, own.target - own.source[:-1]) @ own.wide[self._sources])
        reads *= 1 + bool(own.added.any())  # halves of scratch are read in turn
        wide = size if self._packets else 0
        cell, read = np.full((size, 4), -1, np.int32), np.full((reads + 1, 4), -1, np.int32)
        read[:-1, BEFORE] = np.arange(1, reads + 1)
        return Marks(cell, read, np.zeros(1, np.int64), np.full(wide, -1, np.int32), np.zeros(wide, np.uint8))

    @property
    def _sources(self) -> Ints:
        """Places that are sources."""
        own = self.columns
        number = np.repeat(np.arange(len(own.size)), np.diff(own.source))
        return np.flatnonzero(np.arange(len(own.cell)) < own.target[number])

    def _untold(self, width: int) -> Tellings:
        """Return that no packets have been written."""
        own, launches = self.columns, self.runs.launches
        number = np.repeat(np.arange(len(own.size)), np.diff(own.source)) if self._packets else np.zeros(0, np.int64)
        place = np.arange(len(number))
        wide = own.wide[place] == 2
        tells = np.zeros(len(own.size), dtype=bool)
        tells[number[wide & (place >= own.target[number])]] = True
        heard = wide & (place < own.target[number]) & tells[number]
        count = int(tells.sum()) * launches if self._packets else 0
        origins = int(own.size[number[heard]].sum()) * launches
        elements = int(own.size[tells].sum()) * launches
        most = int(np.bincount(number[wide & (place < own.target[number])]).max(initial=0)) + 1
        check_memory(count * width * np.dtype(self._kind).itemsize, f"clocks of {count} packets")
        work, launch, actor, reader, when, alone, start, origin_at = np.zeros((8, count), dtype=np.int64)
        return Tellings(
            number=np.zeros(2, np.int64),
            work=work,
            launch=launch,
            actor=actor,
            reader=reader,
            when=when,
            alone=alone,
            start=start,
            origin_at=origin_at,
            clock=np.zeros((count, width), self._kind),
            origin=np.zeros(origins + 1, np.int32),
            seen=np.zeros(elements + 1, np.int32),
            trail=np.zeros((most * (elements + 2), 2), np.int64),
        )

    # -- words --------------------------------------------------------------------------------------------------------

    def _race(self, kind: int, one: int, cell: int, actor: int, time: int, over: int, _: int) -> Finding:  # noqa: PLR0917  a row
        rank, name = self.names.cell(cell, one)
        verb = "reads" if kind == READS else "overwrites" if kind == UNREAD else "writes"
        if kind == UNREAD:
            rest = "a packet of this launch and not read yet"
        elif kind == ELSEWHERE:
            rest = "read or written elsewhere in the same operation"
        else:
            rest = f"{'read' if kind == OVERWRITES else 'written'} by {self.names.actor(actor, time)}"
        if over and kind in {READS, WRITES}:
            relaxed = (self.columns.mode & RELAXED).any()
            what = "relaxed signals" if relaxed else "packets"
            rest += f" ({what} tell that this is over, and not that its data can be seen)"
        if one < 0:
            message = f"the caller {verb} {name} of rank {rank} between launches, which is {rest} in no fixed order"
            return Finding("race", message, rank)
        work, place = self.names.work(one)
        there = "" if rank == place[0] else f" of rank {rank}"
        return Finding("race", f"{work} {verb} {name}{there}, which is {rest} in no fixed order", *place)

    def _chance(self, kind: int, one: int, number: int, _: int, __: int, more: int, ___: int) -> Finding:
        if kind == CROWDED:
            return Finding("race", f"{number} threadblocks come to a barrier of {more}", *self.names.meeting(one)[0])
        spot = "rank {}, threadblock {}, operation {}".format(*self.names.control(one))
        if kind == SEVERAL:
            message = f"{spot} and {more - 1} more wait for the same signals, which come for some of them"
        else:
            message = f"{spot} and another threadblock wait for signals in no fixed order"
        return Finding("race", message, *self.names.control(one))

    def _unknown(self, _: int, one: int, cell: int, *__: int) -> Finding:
        (rank, name), (work, place) = self.names.cell(cell, one), self.names.work(one)
        there = "" if rank == place[0] else f" of rank {rank}"
        return Finding("uninitialised read", f"{work} reads {name}{there}, which nothing has written", *place)

    def _wrong(self, rows: Sequence[Sequence[int]]) -> list[Finding]:
        found: list[Finding] = []
        chunks = set()
        for kind, rank, number, _, launch, _, when in sorted(rows, key=lambda row: (row[4], row[1], row[0])):
            cell = number if kind else int(self.runs.goal_cell[number])
            chunk = kind, rank, cell if kind else number // self.cells
            if chunk not in chunks:
                chunks.add(chunk)
                found.append(self._result(rank, number, launch, when, changed=bool(kind)))
        return found

    def _result(self, rank: int, number: int, launch: int, when: int, *, changed: bool) -> Finding:
        """Return that a goal, or a cell that may not change, is wrong after a launch."""
        if changed:
            ends = self.describe(self.contents(number, when), launch)
            return Finding(
                "wrong result", f"{self.names.cell(number)[1]}, the caller's, is changed, and ends as {ends}", rank
            )
        cell, goal = int(self.runs.goal_cell[number]), int(self.runs.goal_number[number])
        given = self.runs.given
        if goal < given[-1]:
            source = int(np.searchsorted(given, goal, side="right")) - 1
            right = Counter({(source, int(goal - given[source]) // self.cells, launch): 1})
        else:
            chunk = int(goal - given[-1]) // self.cells
            right = Counter({(one, chunk, launch): 1 for one in range(self.layout.ranks)})
        name = self.names.cell(cell)[1]
        if self._resumed:
            return Finding("wrong result", f"{name} has not what the collective promises", rank)
        message = f"{name} ends as {self.describe(self.contents(cell, when), launch)}"
        return Finding("wrong result", f"{message} instead of {self.describe(right, launch)}", rank)

    def contents(self, cell: int, when: int) -> Contents | None:
        """Return the inputs in a cell after some steps of the proof; None if unknown.

        What a cell has is a sum of what other cells had before, so that the steps are followed backwards.
        """
        own, runs = self.columns, self.runs
        sum_of: Contents = Counter()
        wanted = Counter({cell: 1})
        for entry, low, high in self._log[:when][::-1].tolist():
            one, launch = divmod(entry if entry >= 0 else ~entry, runs.launches)
            half = launch & 1
            if entry < 0:
                for at in range(runs.span[one], runs.span[one + 1]):
                    size = int(runs.given[one + 1] - runs.given[one])
                    for place in [x for x in wanted if runs.low[at] <= x < runs.high[at]]:
                        if not 0 <= place - runs.base[one] < size:
                            return None
                        sum_of[one, int(place - runs.base[one]) // self.cells, launch] += wanted.pop(place)
                continue
            added: Counter[int] = Counter()
            for p in range(int(own.target[one]), int(own.source[one + 1])):
                begin, wide = int(own.cell[p]) + half * int(own.added[p]) + low, int(own.wide[p])
                for place in [x for x in wanted if begin <= x < begin + (high - low) * wide]:
                    added[(place - begin) // wide] += wanted.pop(place)
            for p in range(int(own.source[one]), int(own.target[one])) if added else ():
                begin, wide = int(own.cell[p]) + half * int(own.added[p]) + low, int(own.wide[p])
                for k, times in added.items():
                    wanted[begin + k * wide] += times
        for place, times in wanted.items():
            rank = int(np.searchsorted(runs.base, place, side="right")) - 1
            size = int(runs.given[rank + 1] - runs.given[rank])
            if len(runs.low) or rank < 0 or not 0 <= place - runs.base[rank] < size:
                return None
            sum_of[rank, int(place - runs.base[rank]) // self.cells, 0] += times
        return sum_of

    def describe(self, value: Contents | None, launch: int) -> str:
        """Return a sum in words: ``chunk 3 of ranks 0, 2 (more than once: 2)``."""
        if value is None:
            return "nothing"
        words = []
        for turn, chunk in sorted({(turn, chunk) for _, chunk, turn in value}, reverse=True):
            ranks = sorted(one for one, which, when in value if (when, which) == (turn, chunk))
            more = [one for one in ranks if value[one, chunk, turn] > 1]
            if len(ranks) == self.layout.ranks > 1:
                text = f"chunk {chunk} of all ranks"
            else:
                text = f"chunk {chunk} of rank{'s' * (len(ranks) > 1)} {_list(ranks)}"
            text += " of an earlier launch" if turn < launch else ""
            words.append(text + (f" (more than once: {_list(more)})" if more else ""))
        words.sort(key=lambda text: int(text.split()[1]))
        return " + ".join(words[:3]) + (" + ..." if len(words) > 3 else "")

    def _deadlock(self, stuck: Ints, at: Ints, cursor: Ints, left: Ints) -> Finding:
        """Return which threadblocks wait for which others at the end.

        A cycle, or the way to what is never given.
        """
        own = self.columns
        givers: dict[int, int] = {}  # by post, a threadblock that would give it something
        for b in stuck.tolist():
            for t in range(own.line[at[b]], own.line[own.phase[b + 1]]):
                begin = cursor[t] if t < own.line[at[b] + 1] else own.control[t]
                for posts in (own.tell, own.back):
                    givers.update(dict.fromkeys(posts[begin : own.control[t + 1]].tolist(), b))

        def waiting(b: int) -> tuple[str, int, bool]:
            """Return what a threadblock waits for, which one would end it, and if any can."""
            p = int(at[b])
            if own.meeting[p] >= 0:
                there = set(stuck[own.meeting[at[stuck]] == own.meeting[p]].tolist())
                others = [x for x in stuck.tolist() if own.rank[x] == own.rank[b] and x not in there]
                return self.names.meeting(p)[1], others[0] if others else -1, True
            lines = range(own.line[p], own.line[p + 1])
            held = [int(cursor[t]) for t in lines if cursor[t] < own.control[t + 1]]
            for c in held:
                post = next(x for x in (own.wait[c], own.room[c]) if x >= 0 and left[x] + own.free[x] <= 0)
                ever = bool((own.tell == post).any() or (own.back == post).any())
                return self.names.wait(c, int(post)), givers.get(int(post), -1), ever
            for one in range(own.work[p], own.work[p + 1]):
                if (own.wide[own.source[one] : own.target[one]] == 2).any():
                    name, spot = self.names.work(one)
                    return f"{place(*spot)}{name} waits for packets", -1, True
            return "", -1, True

        path: list[int] = []
        b, ever = int(stuck[0]), True
        while b >= 0 and b not in path:
            path.append(b)
            _, b, ever = waiting(b)
        cycle = path[path.index(b) :] if b >= 0 else path if ever else path[-1:]
        lines = [waiting(one)[0] for one in cycle[:MAX_FINDINGS]]
        if len(cycle) > MAX_FINDINGS:
            lines.append(f"and {len(cycle) - MAX_FINDINGS} more")
        what = "these threadblocks wait for each other" if b >= 0 else "a threadblock waits for ever"
        message = f"{len(stuck)} of {len(own.rank)} threadblocks never finish; {what}:\n    " + "\n    ".join(lines)
        return Finding("deadlock", message, int(own.rank[cycle[0]]))

    # -- other questions ----------------------------------------------------------------------------------------------

    @property
    def _fewest(self) -> Ints:
        """The actors whose clocks a run needs that looks for no races."""
        return self._watched[:0] if self._divisible else self._watched

    def ends(self) -> bool:
        """Return whether every threadblock finishes, in every order."""
        run = self._run(self._fewest, self.columns, judged=False)
        return bool((run.at == self.columns.phase[1:]).all())

    def root(self) -> int:
        """Return the root of a collective by what every rank ends up with."""
        runs = self.runs
        own = self.columns
        run = self._run(self._fewest, own._replace(free=own.free + _OPEN * own.silent), judged=False)
        last = runs.launches - 1

        def complete(rank: int) -> bool:
            return (
                wrong_goal(rank, last, int(runs.goal[rank]), runs, run.cells) < 0
                and find_changed_input(rank, last, runs, run.cells) < 0
            )

        def from_whom(rank: int) -> list[int]:
            here = slice(runs.goal[rank], runs.goal[rank] + self.cells)
            cells, number = runs.goal_cell[here], runs.goal_number[here]
            if not run.cells.known[cells].all():
                return []
            source = int(np.searchsorted(runs.given, number[0], side="right")) - 1
            within = number - runs.given[source]
            return [
                one for one in range(self.layout.ranks)
                if np.array_equal(run.cells.values[cells], runs.numbers[last, runs.given[one] + within])
            ]  # fmt: skip

        return likely_root(self.layout, complete, from_whom)


def _list(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
