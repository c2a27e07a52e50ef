"""Plans as columns, executed to decide and at random.

Only that a plan is right is decided here. Whatever else is found is found again, and put into words, by
:mod:`topodesign.runtime.mscclpp.prove`, which executes object by object, as it does where packets move.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from topodesign.runtime.mscclpp.flat_kernels import (
    FLUSHES,
    LEFT,
    PIECES,
    RELAXED,
    SIGNALS,
    STUCK,
    TELL,
    TRIGGER,
    WAIT,
    WRONG,
    Cells,
    Columns,
    Runs,
    ran,
)
from topodesign.runtime.mscclpp.memory import Memory
from topodesign.runtime.mscclpp.prove_kernels import Marks, settled
from topodesign.runtime.mscclpp.steps import Control, Phase, Program
from topodesign.runtime.report import Finding

_MIXER = 0x9E3779B97F4A7C15


class Flat:
    """Phases of threadblocks and cells of ranks, at the start."""

    def __init__(self, program: Program, memory: Memory, launches: int) -> None:
        self.program, self.memory = program, memory
        self._first = np.concatenate(([0], np.cumsum(memory.sizes)))
        self._blocks = sorted(program.blocks.items())
        phases = [phase for _, line in self._blocks for phase in line]
        self._posts: dict[object, int] = {}  # channels and semaphores by number
        self._columns(program, phases)
        self.runs = self._runs(launches)
        for rank in range(memory.ranks):
            memory.fill(rank, 0)
        parts = (memory.values, memory.known, memory.flags)
        self._start = [np.concatenate(part) for part in parts]  # what is in memory at the first launch

    def _columns(self, program: Program, phases: list[Phase]) -> None:
        lines = [line for phase in phases for line in phase.threads.values()]
        controls = [one for line in lines for one in line]
        rank = [key[0] for key, line in self._blocks for phase in line for _ in range(len(phase.threads))]
        ranks = [of for of, line in zip(rank, lines, strict=True) for _ in line]
        works = [one for phase in phases for one in phase.work]
        jobs = [-1] * len(controls)
        for at, one in enumerate(controls):
            if one.work is not None:
                jobs[at] = len(works)
                works.append(one.work)
        ports = {
            one.channel
            for one in controls
            if one.kind == "trigger" or ((one.channel or "  ")[1] == "port" and one.kind == "signal")
        }
        number = {channel: at for at, channel in enumerate(sorted(ports))}  # type: ignore[type-var]
        posts = [self._post(program, of, one) for of, one in zip(ranks, controls, strict=True)]
        barriers: dict[tuple[int, int], int] = {}
        meets: list[int] = []
        meeting, self.odd = [], False
        users: dict[int, set[int]] = {}
        for block, (key, line) in enumerate(self._blocks):
            for phase in line:
                if phase.meeting is None:
                    meeting.append(-1)
                    continue
                at = barriers.setdefault((key[0], phase.meeting[0]), len(meets))
                if at == len(meets):
                    meets.append(phase.meeting[1])
                self.odd |= meets[at] != phase.meeting[1]
                users.setdefault(at, set()).add(block)
                meeting.append(at)
        self.odd |= any(len(some) != meets[at] for at, some in users.items())
        places = [place for one in works for place in (*one.sources, *one.targets)]
        starts = list(accumulate((len(one.sources) + len(one.targets) for one in works), initial=0))
        middle = [low + len(one.sources) for low, one in zip(starts, works, strict=False)]
        base = [
            {name: low + at for name, (at, _) in row.items()}
            for low, row in zip(self._first, self.memory.base, strict=False)
        ]
        free = [self.memory.semaphore(*key) if len(key) == 2 else 0 for key in self._posts]  # type: ignore[arg-type, misc]
        givers: list[set[tuple[int, int]]] = [set() for _ in free]
        thread = [(block, at) for block, (_, line) in enumerate(self._blocks) for phase in line for at in phase.threads]
        which = [of for of, line in zip(thread, lines, strict=True) for _ in line]
        for post, one, giver in zip(posts, controls, which, strict=True):
            if post >= 0 and one.kind not in {"wait", "acquire"}:
                port = number.get(one.channel, -1)
                givers[post].add(giver if port < 0 else (-1, port))
        several = np.cumsum([len(some) > 1 for some in givers]) - 1
        self.packets = any(one.packets for one in places)
        self.odd |= self.packets or min(free, default=0) < 0
        self.proxies = len(ports)
        self.actors = self.memory.ranks + len(self._blocks) + self.proxies
        rows: tuple[list[int], ...] = (
            [key[0] for key, _ in self._blocks],
            list(accumulate((len(line) for _, line in self._blocks), initial=0)),
            list(accumulate((len(phase.work) for phase in phases), initial=0)),
            list(accumulate((len(phase.threads) for phase in phases), initial=0)),
            meeting,
            meets,
            list(accumulate(map(len, lines), initial=0)),
            [_KINDS[one.kind] for one in controls],
            [RELAXED * one.relaxed + SIGNALS * one.signals + FLUSHES * one.flushes for one in controls],
            posts,
            [number.get(one.channel, -1) if _KINDS[one.kind] != WAIT else -1 for one in controls],
            jobs,
            starts,
            middle,
            [one.size for one in works],
            [base[one.rank][one.buffer] + one.start + one.shift for one in places],
            [self.memory.added(one) for one in places],
            [1 + one.packets for one in places],
            free,
            [int(at) if len(some) > 1 else -1 for at, some in zip(several, givers, strict=True)],
        )
        self.columns = Columns(*(np.array(row, dtype=np.int64) for row in rows))
        self.shared = int(self.columns.shared.max(initial=-1)) + 1
        self.planes = 1 + bool((self.columns.mode & RELAXED).any())

    def _post(self, program: Program, rank: int, one: Control) -> int:
        """Return the post that a control waits for or gives, or -1."""
        key: object = (rank, one.semaphore) if one.channel is None else one.channel
        if one.channel is not None and one.kind != "wait":
            key = program.other.get(one.channel)
        return -1 if key is None else self._posts.setdefault(key, len(self._posts))

    def _runs(self, launches: int) -> Runs:
        memory, ranks = self.memory, range(self.memory.ranks)
        spans = [
            [(self._first[rank] + one.start, self._first[rank] + one.stop) for one in memory.callers(rank)]
            for rank in ranks
        ]
        low, high = np.array([one for some in spans for one in some], dtype=np.int64).T.copy()
        inputs = [[memory.input(rank, launch) for rank in ranks] for launch in range(launches)]
        given = np.cumsum([0, *map(len, inputs[0])])
        adds = any((source < 0).any() for _, _, source in memory.expected)
        sums = [[np.add.reduce(some)] if adds else [] for some in inputs]
        cells, numbers = [], []
        within = np.arange(memory.cells)
        for rank in ranks:
            cell, chunk, source = memory.expected[rank]
            cells.append(((self._first[rank] + cell)[:, None] + within).reshape(-1))
            numbers.append(((given[source] + chunk * memory.cells)[:, None] + within).reshape(-1))
        return Runs(
            launches,
            memory.judged,
            np.cumsum([0, *map(len, spans)]),
            low,
            high,
            given,
            self._first[:-1] + np.array([memory.base[rank]["i"][0] for rank in ranks]),
            np.cumsum([0, *map(len, cells)]),
            np.concatenate(cells),
            np.concatenate(numbers),
            not memory.layout.inplace,
            np.stack([np.concatenate([*some, *more]) for some, more in zip(inputs, sums, strict=True)]),
        )

    def cells(self) -> Cells:
        """Return what is in memory at the first launch."""
        values, known, flags = self._start
        return Cells(values.copy(), known.astype(np.uint8), flags.copy())

    def _keep(self, cells: Cells) -> None:
        """Have in memory what there is after a run."""
        for rank, (low, high) in enumerate(zip(self._first[:-1], self._first[1:], strict=True)):
            self.memory.values[rank][:] = cells.values[low:high]
            self.memory.known[rank][:] = cells.known[low:high]
            self.memory.flags[rank][:] = cells.flags[low:high]

    def proven(self) -> bool:
        """Return whether all orders are right; False if undecided."""
        if self.odd:
            return False
        cells = self.cells()
        right = settled(self.columns, self.runs, cells, self.marks(), self.actors, self.shared, self.planes)
        if right:
            self._keep(cells)
        return right

    def marks(self) -> Marks:
        """Return that nobody has touched any cell."""
        size, own = int(self._first[-1]), self.columns
        reads = int(((own.target - own.source[:-1]) * own.size).sum())
        nobody, none = np.full(size, -1), np.zeros((2, reads + 1), dtype=np.int64)
        unused = np.append(np.arange(1, reads + 1), -1)
        return Marks(nobody, np.zeros_like(nobody), np.append(nobody, 0), unused, *none)

    def random(self, seed: int) -> Finding | None:
        """Run in a random order; return what went wrong."""
        cells, found = self.cells(), np.zeros(2, dtype=np.int64)
        state = np.array([(seed * 2 + 1) * _MIXER % 2**64], dtype=np.uint64)
        ended = ran(self.columns, self.runs, cells, state, 1 + seed % PIECES, self.proxies, found)
        self._keep(cells)
        if ended == WRONG:
            return self.memory.results(int(found[0]), int(found[1]))[0]
        if ended == STUCK:
            return Finding("deadlock", f"{found[0]} threadblocks never finish in some order of execution")
        if ended == LEFT:
            return Finding("mismatch", f"{found[1]} signals are left over at {list(self._posts)[found[0]]}")
        return None


_KINDS = {"wait": WAIT, "acquire": WAIT, "signal": TELL, "release": TELL, "trigger": TRIGGER}
