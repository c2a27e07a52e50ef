"""Plans of MSCCL++ for the machine.

Their phases as columns, and its findings in the words of plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from topodesign.runtime.machine.column_kernels import FLUSHES, RELAXED, Columns, make_columns
from topodesign.runtime.machine.machine import Machine, make_runs
from topodesign.runtime.mscclpp.memory import Memory
from topodesign.runtime.mscclpp.steps import Channel, Control, Program
from topodesign.runtime.report import Finding, place

_Post = Channel | tuple[int, int]  # the end of a channel where signals come, or rank and number of a semaphore


class _Plan:
    """Columns and words of a plan, as the machine names them."""

    def __init__(self, program: Program, memory: Memory) -> None:
        self.program, self.memory = program, memory
        self._keys = sorted(program.blocks)
        self._phases = [phase for key in self._keys for phase in program.blocks[key]]
        lines = [
            (key, thread, line)
            for key in self._keys
            for phase in program.blocks[key]
            for thread, line in phase.threads.items()
        ]
        self._controls = [one for _, _, line in lines for one in line]
        givers = [(key, thread) for key, thread, line in lines for _ in line]
        self._works = [one for phase in self._phases for one in phase.work]
        self._readers = [  # work with packets that is not alone in its phase reads for itself
            len(phase.work) > 1 and bool(one.sources) and any(to.packets for to in one.targets)
            for phase in self._phases
            for one in phase.work
        ]
        jobs = [-1] * len(self._controls)
        for at, one in enumerate(self._controls):
            if one.work is not None:
                jobs[at] = len(self._works)
                self._works.append(one.work)
                self._readers.append(False)
        ports = {
            one.channel
            for one in self._controls
            if one.channel is not None
            and (one.kind == "trigger" or (one.channel[1] == "port" and one.kind == "signal"))
        }
        self.ports = sorted(ports)
        number = {channel: at for at, channel in enumerate(self.ports)}
        self.posts: list[_Post] = []
        waits, tells = self._link(givers)
        barriers: dict[tuple[int, int], int] = {}
        meetings = [
            -1 if phase.meeting is None else barriers.setdefault((key[0], phase.meeting[0]), len(barriers))
            for key in self._keys
            for phase in program.blocks[key]
        ]
        movers = memory.ranks + len(self._keys) + len(ports)
        alone = np.array(self._readers, dtype=bool)  # none, where a plan has no work
        readers = np.where(alone, movers + np.cumsum(alone) - 1, -1)
        owner = np.arange(movers + sum(self._readers))
        works = list(accumulate((len(phase.work) for phase in self._phases), initial=0))
        ends = accumulate((len(program.blocks[key]) for key in self._keys), initial=0)
        for b, (low, high) in enumerate(pairwise(ends)):
            own = readers[works[low] : works[high]]
            owner[own[own >= 0]] = memory.ranks + b
        places = [to for one in self._works for to in (*one.sources, *one.targets)]
        sources = list(accumulate((len(one.sources) + len(one.targets) for one in self._works), initial=0))
        base = memory.places.tolist()
        rows: tuple[Sequence[int], ...] = (
            [key[0] for key in self._keys],
            list(accumulate((len(program.blocks[key]) for key in self._keys), initial=0)),
            works,
            list(accumulate((len(phase.threads) for phase in self._phases), initial=0)),
            meetings,
            [0 if phase.meeting is None else phase.meeting[1] for phase in self._phases],
            list(accumulate((len(line) for _, _, line in lines), initial=0)),
            waits,
            jobs,
            tells,
            [-1] * len(self._controls),
            [-1] * len(self._controls),
            [-1 if wait >= 0 else number.get(one.channel, -1) for one, wait in zip(self._controls, waits, strict=True)],  # type: ignore[arg-type]
            [RELAXED * one.relaxed + FLUSHES * one.flushes for one in self._controls],
            [-1] * len(self._controls),
            sources,
            [low + len(one.sources) for low, one in zip(sources, self._works, strict=False)],
            [one.size for one in self._works],
            [-1] * len(self._works),
            readers.tolist(),
            [base[one.rank]["ios".index(one.buffer)] + one.start + one.shift for one in places],
            [memory.count_added(one) for one in places],
            [1 + one.packets for one in places],
            [0 if len(post) == 3 else memory.semaphore(*post) for post in self.posts],
            [0] * len(self.posts),
            self.eager,
            self.several,
            [1] * len(self.posts),
            owner.tolist(),
        )
        self.columns = make_columns(**dict(zip(Columns._fields, rows, strict=True)))

    def _link(self, givers: list[tuple[tuple[int, int], int]]) -> tuple[list[int], list[int]]:
        """Return the posts that each control waits for and gives to, by number."""
        numbers: dict[_Post, int] = {}
        waits, tells = [], []
        ends: list[tuple[set[object], set[object]]] = []
        for one, thread in zip(self._controls, givers, strict=True):
            waiting = one.kind in {"wait", "acquire"}
            key: _Post | None = (thread[0][0], one.semaphore) if one.channel is None else one.channel
            if not waiting and one.channel is not None:
                told = one.kind == "signal" or one.signals
                key = self.program.other.get(one.channel) if told else None
            at = -1 if key is None else numbers.setdefault(key, len(numbers))
            if at == len(ends):
                ends.append((set(), set()))
            if at >= 0:
                proxy = not waiting and one.channel is not None and one.channel[1] == "port"
                ends[at][waiting].add(one.channel if proxy else thread)
            waits.append(at if waiting else -1)
            tells.append(-1 if waiting else at)
        self.posts = list(numbers)
        self.several = [len(give) > 1 for give, _ in ends]
        self.eager = [False for give, take in ends]
        return waits, tells

    # -- words --------------------------------------------------------------------------------------------------------

    def work(self, number: int) -> tuple[str, tuple[int, int, int]]:
        """Return the name of some work, and where it is."""
        return self._works[number].name, self._works[number].at

    def cell(self, cell: int, work: int = -1) -> tuple[int, str]:  # noqa: ARG002  a cell has one name
        """Return the rank and the name of a cell."""
        rank = int(np.searchsorted(self.memory.first, cell, side="right")) - 1
        return rank, self.memory.name(rank, cell - int(self.memory.first[rank]))

    def actor(self, actor: int, time: int) -> str:  # noqa: ARG002  a threadblock is said, and not its phase
        """Return which caller, threadblock or proxy something is."""
        if actor < self.memory.ranks:
            return f"the caller on rank {actor} between launches"
        number = int(self.columns.owner[actor]) - self.memory.ranks
        if number < len(self._keys):
            return "rank {}, threadblock {}".format(*self._keys[number])
        rank, _, channel = self.ports[number - len(self._keys)]
        return f"the proxy of port channel {channel} of rank {rank}"

    def control(self, control: int) -> tuple[int, int, int]:
        """Return where a control is."""
        return self._controls[control].at

    def wait(self, control: int, post: int) -> str:  # noqa: ARG002  a control has one
        """Return which operation waits for what."""
        one: Control = self._controls[control]
        start = f"{place(*one.at)}{one.name} waits for "
        if one.channel is None:
            return f"{start}semaphore {one.semaphore}"
        other = self.program.other.get(one.channel)
        signal = f"a signal on {one.channel[1]} channel {one.channel[2]}"
        return f"{start}{signal}, which has no other end" if other is None else f"{start}{signal} from rank {other[0]}"

    def meeting(self, phase: int) -> tuple[tuple[int, int, int], str]:
        """Return where a barrier is, and that a threadblock waits there."""
        one = self._phases[phase]
        number, size = one.meeting or (0, 0)
        return one.at, f"{place(*one.at)}waits at barrier {number} for {size} threadblocks"

    def left(self, post: int, signals: float) -> Finding:
        """Return that signals of a launch are left, which the next would take for its own."""
        key = self.posts[post]
        if len(key) == 2:
            message = f"semaphore {key[1]} is released {signals:g} times more than acquired in a launch"
        else:
            message = f"{signals:g} signals of a launch on {key[1]} channel {key[2]} are not waited for"
        return Finding("mismatch", message, key[0])


def build_machine(
    program: Program, memory: Memory, launches: int, *, judged: bool = True, sent: Sequence[int] | None = None
) -> Machine:
    """Return a plan for the machine, with the callers of some launches."""
    plan = _Plan(program, memory)
    runs = make_runs(memory.layout, memory.places, cells=program.cells, launches=launches, judged=judged, sent=sent)
    return Machine(plan.columns, runs, plan, memory.layout, int(memory.first[-1]), cells=program.cells)
