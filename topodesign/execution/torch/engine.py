"""Collectives by the plans of a set among the processes of a group: what is chosen, lowered, proven and kept."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import torch
import torch.distributed as dist

from topodesign.base.errors import InfeasibleError
from topodesign.base.units import format_size
from topodesign.execution.levels import Script, check_scripts, neighbours_of, scripts_of
from topodesign.execution.program import Piece, Program, programs_of
from topodesign.execution.torch.links import SUM, Op, Reduction, Runner, Traffic, greet, reduction_of
from topodesign.execution.workspace import Extent, Layout
from topodesign.plans.kinds import kind_of
from topodesign.plans.replay.plans import verify
from topodesign.plans.sets import PlanEntry, PlanSet, read_plan_set

MOST_KEPT = 32  # sizes and types for which buffers are kept, of a group; the one used last goes last


@dataclass(frozen=True, eq=False)
class _Lowered:
    """A plan as one rank has it."""

    program: Program
    script: Script
    units: int


Given = Callable[[Piece], torch.Tensor | None]
"""Of a piece that a rank has, its data: flat, and not longer than a block; None for none."""


class Engine:
    """Collectives of a process group by the plans of a set.

    Its methods do what they say now, on the current stream, and return whether they did: False if no plan is for it.
    Tensors are flat and contiguous. Sizes are those of blocks, which are padded to that of the largest.

    Parameters
    ----------
    plans
        A set, or its directory. Node i of its wiring is the process of rank i of the default group.
    group
        A registered group that messages go through: gloo's or NCCL's. The default group if None.

    Attributes
    ----------
    traffic
        What was sent to whom.
    used
        How often each plan was.

    Raises
    ------
    InfeasibleError
        If there is another number of processes than the wiring has nodes.
    """

    def __init__(self, plans: PlanSet | str | Path, group: dist.ProcessGroup | None = None) -> None:
        self.plans = plans if isinstance(plans, PlanSet) else read_plan_set(plans)
        self.group: Any = dist.group.WORLD if group is None else group
        self.ranks: list[int] = dist.get_process_group_ranks(self.group)
        self.rank: int = dist.get_rank(self.group)
        self.traffic, self.used = Traffic(), Counter[str]()
        self._place = {node: place for place, node in enumerate(self.ranks)}
        self._lowered: dict[str, _Lowered | None] = {}
        self._runners: OrderedDict[tuple[Any, ...], Runner] = OrderedDict()
        self._greeted: set[torch.device] = set()
        self._said: set[str] = set()
        self._links: list[tuple[int, int]] = []
        self._worker = _Worker()

    def __len__(self) -> int:
        """Return how many processes are in the group."""
        return len(self.ranks)

    def later(self, work: Callable[[], Any], device: torch.device) -> torch.futures.Future[Any]:
        """Return what will have the result of work.

        On a processor a thread does it, one after the other, so that ranks agree in their order and who asks goes on.
        On a GPU it is put on the current stream at once, which is what a call there waits for.
        """

        def done() -> Any:
            with torch.inference_mode():
                return work()

        if device.type == "cpu":
            return self._worker.submit(done)
        future: torch.futures.Future[Any] = torch.futures.Future(devices=[device])
        future.set_result(done())
        return future

    def stop(self) -> None:
        """End the thread, when all is done."""
        self._worker.stop()

    # -- collectives --------------------------------------------------------------------------------------------------

    def allreduce(self, data: torch.Tensor, op: Op = Op.SUM) -> bool:
        """Put into data, on all ranks, the sum of theirs, or what else an operation makes of them."""
        by = reduction_of(op, data.dtype)
        count = -(-data.numel() // len(self))
        runner = by and self._runner("allreduce", count, data, len(self), by=by)
        if not runner or not by:
            return self.refuse("allreduce", data.nbytes, "" if by else f"{op} of {data.dtype}")
        self._fill(runner, by, lambda piece: _part(data, self._place[piece.block], count))
        runner.move()
        for piece, where in runner.layout.outputs:
            own = _part(data, self._place[piece.block], count)
            own.copy_(runner.memory[where][: len(own)])
        if op == Op.AVG:
            data.div_(len(self))
        return True

    def reduce_scatter(self, into: torch.Tensor, parts: Sequence[torch.Tensor], op: Op = Op.SUM) -> bool:
        """Put into one tensor the sum of the parts that all ranks have for this one; parts may differ in size."""
        by = reduction_of(op, into.dtype)
        count = max(map(torch.Tensor.numel, parts))
        runner = by and self._runner("reduce-scatter", count, into, len(self), by=by)
        if not runner or not by:
            size = count * len(self) * into.element_size()
            return self.refuse("reduce-scatter", size, "" if by else f"{op} of {into.dtype}")
        self._fill(runner, by, lambda piece: parts[self._place[piece.block]])
        runner.move()
        ((_, where),) = runner.layout.outputs
        into.copy_(runner.memory[where][: into.numel()])
        if op == Op.AVG:
            into.div_(len(self))
        return True

    def allgather(self, parts: Sequence[torch.Tensor], own: torch.Tensor) -> bool:
        """Put into the parts what every rank has; parts may differ in size."""
        raw, mine = [as_bytes(one) for one in parts], as_bytes(own)
        count = max(map(torch.Tensor.numel, raw))
        runner = self._runner("allgather", count, mine, len(self))
        if not runner:
            return self.refuse("allgather", count * len(self))
        self._fill(runner, None, lambda _: mine)
        runner.move()
        for piece, where in runner.layout.outputs:
            part = raw[self._place[piece.block]]
            part.copy_(runner.memory[where][: len(part)])
        return True

    def broadcast(self, data: torch.Tensor, root: int) -> bool:
        """Put into data, on all ranks, what the rank of this number in the group has."""
        raw = as_bytes(data)
        runner = self._runner("broadcast", len(raw), raw, 1, root=self.ranks[root])
        if not runner:
            return self.refuse("broadcast", len(raw), f"from rank {root}")
        self._fill(runner, None, lambda _: raw)
        runner.move()
        for _, where in runner.layout.outputs:
            raw.copy_(runner.memory[where])
        return True

    def all_to_all(self, into: Sequence[torch.Tensor], parts: Sequence[torch.Tensor], most: int) -> bool:
        """Send part i to rank i, and put into tensor i what it has for this one.

        Parameters
        ----------
        into, parts
            One for every rank; sizes may differ.
        most
            Bytes of the largest part of all ranks.
        """
        raw, out = ([as_bytes(one) for one in some] for some in (into, parts))
        runner = self._runner("all-to-all", most, raw[0], len(self))
        if not runner:
            return self.refuse("all-to-all", most * len(self))
        nodes = runner.layout.program.ranks
        self._fill(runner, None, lambda piece: out[self._place[piece.block % nodes]])
        runner.move()
        for piece, where in runner.layout.outputs:
            part = raw[self._place[piece.block // nodes]]
            part.copy_(runner.memory[where][: len(part)])
        return True

    # -- plans --------------------------------------------------------------------------------------------------------

    def refuse(self, what: str, size: int, detail: str = "") -> bool:
        """Say once, on the first rank of the group, that no plan does this."""
        name = f"{what} {detail}".strip()
        self.used[f"without a plan: {name}"] += 1
        if name not in self._said:
            self._said.add(name)
            if not self.rank:
                who = f"ranks {', '.join(map(str, self.ranks))}" if len(self) < self.plans.nodes else "all ranks"
                print(
                    f"topodesign: {self.plans.folder} has no plan for {name} of {format_size(size)} among {who}; "
                    f"{dist.get_backend(self.group)} does it, and others like it, over links of its own choice",
                    file=sys.stderr,
                    flush=True,
                )
        return False

    def _runner(
        self,
        collective: str,
        count: int,
        like: torch.Tensor,
        shards: int,
        *,
        root: int | None = None,
        by: Reduction = SUM,
    ) -> Runner | None:
        """Return what does a collective with blocks of so many elements; None if there is no plan for it."""
        size = count * shards * like.element_size()
        entry = self.plans.choose(collective, size, self.ranks, root)
        if entry is None:
            return None
        key = (entry.plan, count, like.dtype, like.device, by)
        found = self._runners.get(key)
        if found is None:
            lowered = self._lower(entry)
            if lowered is None:
                return None
            layout = Layout(lowered.program, Extent((count,), (lowered.units,)), ({},))
            memory = torch.zeros(layout.size, dtype=like.dtype, device=like.device)
            found = Runner(layout, lowered.script, memory, self.group, self._place, by=by, traffic=self.traffic)
            self._runners[key] = found
            if len(self._runners) > MOST_KEPT:
                self._runners.popitem(last=False)
            self._greet(like.device)
        self._runners.move_to_end(key)
        self.used[entry.plan] += 1
        return found

    def _lower(self, entry: PlanEntry) -> _Lowered | None:
        """Return a plan as this rank has it, when it is proven right; None if it needs ranks outside the group."""
        if entry.plan not in self._lowered:
            self._lowered[entry.plan] = self._lower_new(entry)
        return self._lowered[entry.plan]

    def _lower_new(self, entry: PlanEntry) -> _Lowered | None:
        plan = self.plans.load(entry)
        report = verify(plan)
        if not report.ok:
            raise InfeasibleError(f"{self.plans.folder / entry.plan} is wrong: {report.problems[0]}")
        (transfers,) = kind_of(plan).transfers(1)
        if transfers.ranks != dist.get_world_size():
            raise InfeasibleError(
                f"{self.plans.folder} is of a wiring of {transfers.ranks} nodes, and there are {dist.get_world_size()} "
                "processes; start as many"
            )
        programs = list(programs_of([transfers]))
        scripts = scripts_of(programs)
        links = neighbours_of(plan.topology)
        check_scripts(programs, scripts, links)
        self._links = [(self._place[a], self._place[b]) for a, b in sorted(links) if {a, b} <= self._place.keys()]
        if any(script and rank not in self._place for rank, script in enumerate(scripts)):
            return None
        node = self.ranks[self.rank]
        return _Lowered(programs[node], scripts[node], transfers.units)

    def _greet(self, device: torch.device) -> None:
        """Let all ranks take part in a first batch, as NCCL asks for."""
        if device not in self._greeted:
            self._greeted.add(device)
            greet(self.group, device, self._links)

    @staticmethod
    def _fill(runner: Runner, by: Reduction | None, given: Given) -> None:
        """Put in what a rank begins with; where it has nothing of its own and others add, what changes nothing."""
        inputs = runner.layout.inputs
        if by is not None and sum(where.stop - where.start for _, where in inputs) < runner.layout.size:
            runner.memory.fill_(by.nothing)
        for piece, where in inputs:
            data = given(piece)
            if data is not None:
                runner.memory[where][: len(data)].copy_(data)


def _part(data: torch.Tensor, number: int, count: int) -> torch.Tensor:
    """Return a block of flat data, which is shorter at its end."""
    return data[number * count : (number + 1) * count]


def as_bytes(data: torch.Tensor) -> torch.Tensor:
    """Return flat contiguous data as bytes."""
    return data.view(torch.uint8)


class _Worker:
    """A thread that does one thing after the other, so that who asks for it goes on."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Callable[[], Any], torch.futures.Future[Any]] | None] = SimpleQueue()
        self._thread: Thread | None = None

    def submit(self, work: Callable[[], Any]) -> torch.futures.Future[Any]:
        """Return what will have the result."""
        if self._thread is None:
            self._thread = Thread(target=self._run, daemon=True, name="topodesign")
            self._thread.start()
        future: torch.futures.Future[Any] = torch.futures.Future()
        self._queue.put((work, future))
        return future

    def stop(self) -> None:
        """End when all is done."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            work, future = job
            try:
                result = work()
            except Exception as error:  # noqa: BLE001  who waits for it gets it
                future.set_exception(error)
            else:
                future.set_result(result)
