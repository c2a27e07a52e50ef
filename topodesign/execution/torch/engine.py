"""Collectives by a plan set: selection, lowering, verification and cache."""

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
from topodesign.execution.levels import check_programs, neighbours_of
from topodesign.execution.program import Piece, Program, programs_of
from topodesign.execution.torch.links import Carrier, Op, Traffic, greet, reduction_of
from topodesign.execution.workspace import Extent, Runner
from topodesign.plans.plan_ops import list_transfers
from topodesign.plans.sets import PlanEntry, PlanSet, read_plan_set
from topodesign.plans.verify.plans import verify

LEAST_BOUND = 2**16  # bytes from which on it is cheaper to look at memory anew than to copy in and out
MAX_KEPT = 32  # sizes and types for which buffers are kept, of a group; the one used last goes last


@dataclass(frozen=True, eq=False)
class _Lowered:
    """A plan as one rank has it."""

    program: Program
    units: int


Given = Callable[[Piece], torch.Tensor]
"""Of a piece that a rank has, its data: flat, and not longer than a block."""


class Engine:
    """Collectives of a process group by the plans of a set.

    Its methods do what they say now, on the current stream, and return whether they did: False if no plan is for it.
    Tensors are flat and contiguous. Sizes are those of blocks, which are padded to that of the largest.

    Node i of the wiring of the set, or of that in a directory, is the process of rank i of the default group; messages
    go through a registered group of gloo or NCCL, the default one if it is None. ``traffic``: what was sent to whom.
    ``used``: how often each plan was. There have to be as many processes as the wiring has nodes.
    """

    def __init__(self, plans: PlanSet | str | Path, group: dist.ProcessGroup | None = None) -> None:
        self.plans = plans if isinstance(plans, PlanSet) else read_plan_set(plans)
        self.group: Any = dist.group.WORLD if group is None else group
        self.ranks: list[int] = dist.get_process_group_ranks(self.group)
        self.rank: int = dist.get_rank(self.group)
        self.traffic, self.used = Traffic(), Counter[str]()
        self._place = {node: place for place, node in enumerate(self.ranks)}
        self._lowered: dict[str, _Lowered | None] = {}
        self._runners: OrderedDict[tuple[Any, ...], _CachedRunner] = OrderedDict()
        self._greeted: set[torch.device] = set()
        self._said: set[str] = set()
        self._links: list[tuple[int, int]] = []
        self._worker = _Worker()

    def __len__(self) -> int:
        return len(self.ranks)

    def later(
        self, work: Callable[[], Any], device: torch.device, *, awaited: bool = False
    ) -> torch.futures.Future[Any]:
        """Return a future for the result of work.

        On a processor a thread does it, one after the other, so that ranks agree in their order and who asks goes on;
        or who asks does it, if it is awaited and there is nothing before it. On a GPU it is put on the current stream
        at once, which is what a call there waits for.
        """

        def done() -> Any:
            with torch.inference_mode():
                return work()

        here = device.type == "cpu"
        if here and not (awaited and self._worker.idle):
            return self._worker.submit(done)
        future: torch.futures.Future[Any] = torch.futures.Future(devices=None if here else [device])
        future.set_result(done())
        return future

    def stop(self) -> None:
        """End the thread, when all is done."""
        self._worker.stop()

    # -- collectives --------------------------------------------------------------------------------------------------

    def allreduce(self, data: torch.Tensor, op: Op = Op.SUM) -> bool:
        """Reduce all ranks' data in place, by default to the sum."""
        count = -(-data.numel() // len(self))

        def own(piece: Piece) -> torch.Tensor:
            place = self._place[piece.block]
            return data[place * count : (place + 1) * count]

        return self._do("allreduce", (count, len(self)), data, own, own, whole=data, op=op)

    def reduce_scatter(self, into: torch.Tensor, parts: Sequence[torch.Tensor], op: Op = Op.SUM) -> bool:
        """Reduce parts to this rank's tensor; parts may differ in size."""
        blocks = max(map(torch.Tensor.numel, parts)), len(self)
        return self._do(
            "reduce-scatter", blocks, into, lambda piece: parts[self._place[piece.block]], lambda _: into, op=op
        )

    def allgather(self, parts: Sequence[torch.Tensor], own: torch.Tensor, whole: torch.Tensor | None = None) -> bool:
        """Gather all ranks' data into parts, which may differ in size.

        The parts are slices of ``whole`` if that is given.
        """
        raw, mine = [as_bytes(one) for one in parts], as_bytes(own)
        blocks, all_of_it = (max(map(torch.Tensor.numel, raw)), len(self)), None if whole is None else as_bytes(whole)
        return self._do(
            "allgather", blocks, mine, lambda _: mine, lambda piece: raw[self._place[piece.block]], whole=all_of_it
        )

    def broadcast(self, data: torch.Tensor, root: int) -> bool:
        """Copy the data of ``root`` (rank in the group) to all ranks."""
        raw = as_bytes(data)
        return self._do("broadcast", (len(raw), 1), raw, lambda _: raw, lambda _: raw, whole=raw, root=root)

    def reduce(self, data: torch.Tensor, root: int, op: Op = Op.SUM) -> bool:
        """Reduce all ranks' data at ``root`` (rank in the group)."""
        return self._do("reduce", (data.numel(), 1), data, lambda _: data, lambda _: data, root=root, op=op)

    def gather(self, parts: Sequence[torch.Tensor], own: torch.Tensor, root: int) -> bool:
        """Gather all ranks' data at ``root`` (rank in the group).

        Other ranks have no parts.
        """
        raw, mine = [as_bytes(one) for one in parts], as_bytes(own)
        blocks = len(mine), len(self)
        return self._do("gather", blocks, mine, lambda _: mine, lambda piece: raw[self._place[piece.block]], root=root)

    def scatter(self, into: torch.Tensor, parts: Sequence[torch.Tensor], root: int) -> bool:
        """Receive this rank's part from the root (rank in the group)."""
        mine, raw = as_bytes(into), [as_bytes(one) for one in parts]
        blocks = len(mine), len(self)
        return self._do("scatter", blocks, mine, lambda piece: raw[self._place[piece.block]], lambda _: mine, root=root)

    def all_to_all(self, into: Sequence[torch.Tensor], parts: Sequence[torch.Tensor], most: int) -> bool:
        """Exchange part i with rank i, up to ``most`` bytes each."""
        raw, out = ([as_bytes(one) for one in some] for some in (into, parts))
        nodes = dist.get_world_size()
        return self._do(
            "all-to-all",
            (most, len(self)),
            raw[0],
            lambda piece: out[self._place[piece.block % nodes]],
            lambda piece: raw[self._place[piece.block // nodes]],
        )

    # -- plans --------------------------------------------------------------------------------------------------------

    def _refuse(self, what: str, size: int, detail: str) -> bool:
        """Report a missing plan once, on the first rank; return False."""
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

    def _do(
        self,
        collective: str,
        blocks: tuple[int, int],
        like: torch.Tensor,
        given: Given,
        results: Given,
        *,
        whole: torch.Tensor | None = None,
        root: int | None = None,
        op: Op = Op.SUM,
    ) -> bool:
        """Run a collective if a plan exists; return whether one does."""
        count, shards = blocks
        size = count * shards * like.element_size()
        asked = like.nbytes if collective == "allreduce" else size  # its data are not padded to whole blocks
        by = reduction_of(op, like.dtype)
        if by is None:
            return self._refuse(collective, asked, f"{op} of {like.dtype}")
        entry = self.plans.choose(collective, size, self.ranks, None if root is None else self.ranks[root])
        if entry is not None and entry.plan not in self._lowered:
            self._lowered[entry.plan] = self._lower(entry)
        lowered = None if entry is None else self._lowered[entry.plan]
        if entry is None or lowered is None:
            way = "to" if collective in {"reduce", "gather"} else "from"
            return self._refuse(collective, asked, "" if root is None else f"{way} rank {root}")
        key = (entry.plan, count, like.dtype, like.device, by)
        kept = self._runners.get(key) or self._make(
            key, lowered, count * shards if lowered.program.sums else count, like
        )
        self._runners.move_to_end(key)
        self.used[entry.plan] += 1
        if whole is not None and lowered.program.sums:  # blocks are as large as all data
            all_of_it = whole
            given = results = lambda _: all_of_it
        kept.run(given, results, whole=whole)
        if op == Op.AVG and root in {None, self.rank}:
            like.div_(len(self))
        return True

    def _make(self, key: tuple[Any, ...], lowered: _Lowered, each: int, like: torch.Tensor) -> _CachedRunner:
        """Create and cache a runner for blocks of ``each`` elements."""
        by = key[-1]
        extent = Extent((each,), (lowered.units,))
        runner = Runner(lowered.program, extent, ({},), add=by.into, nothing=by.nothing)
        kept = self._runners[key] = _CachedRunner(Carrier(runner, self.group, self._place, self.traffic), like)
        if len(self._runners) > MAX_KEPT:
            self._runners.popitem(last=False)
        if like.device not in self._greeted:
            self._greeted.add(like.device)
            greet(self.group, like.device, self._links)
        return kept

    def _lower(self, entry: PlanEntry) -> _Lowered | None:
        """Verify and lower a plan for this rank, if within the group."""
        plan = self.plans.load(entry)
        report = verify(plan)
        if not report.ok:
            raise InfeasibleError(f"{self.plans.folder / entry.plan} is invalid: {report.problems[0]}")
        (transfers,) = list_transfers(plan)
        if transfers.amounts is not None:
            raise InfeasibleError(
                f"{self.plans.folder / entry.plan} is of blocks that differ in size, which calls here do not say; "
                "'topodesign run' moves them"
            )
        if transfers.ranks != dist.get_world_size():
            raise InfeasibleError(
                f"{self.plans.folder} is of a wiring of {transfers.ranks} nodes, and there are {dist.get_world_size()} "
                "processes; start as many"
            )
        programs = programs_of([transfers])
        links = neighbours_of(plan.topology)
        check_programs(programs, links)
        self._links = [(self._place[a], self._place[b]) for a, b in sorted(links) if {a, b} <= self._place.keys()]
        if any(one.script and one.rank not in self._place for one in programs):
            return None
        node = self.ranks[self.rank]
        return _Lowered(programs[node], transfers.units)


class _CachedRunner:
    """Cached runner for one size and type, with optional memory."""

    def __init__(self, carrier: Carrier, like: torch.Tensor) -> None:
        self._carrier, self._layout = carrier, carrier.runner
        self._like = like.new_empty(0)
        self._memory: torch.Tensor | None = None

    def run(self, given: Given, results: Given, *, whole: torch.Tensor | None = None) -> None:
        """Move data from each input piece to each result.

        ``whole`` is what all results are parts of. If it is the rank's memory as it is, nothing is copied in or out.
        """
        memory = self._take_whole(whole, results)
        inputs = self._layout.inputs
        own = memory is self._memory
        if own and sum(where.stop - where.start for _, where in inputs) < self._layout.size:
            memory.fill_(self._layout.nothing)  # where the rank has nothing of its own
        for piece, where in inputs:
            _copy(memory[where], given(piece))
        self._carrier.move()
        for piece, where in self._layout.outputs:
            _copy(results(piece), memory[where])
        if not own:
            self._carrier.release()

    def _take_whole(self, whole: torch.Tensor | None, results: Given) -> torch.Tensor:
        """Return ``whole`` if it matches the layout, else own memory."""
        if whole is not None and whole.nbytes >= LEAST_BOUND and whole.numel() == self._layout.size:
            lie = ((results(piece).data_ptr(), where.start) for piece, where in self._layout.outputs)
            if all(address == whole.data_ptr() + start * whole.element_size() for address, start in lie):
                self._carrier.bind(whole)
                return whole
        if self._memory is None:
            self._memory = self._like.new_zeros(self._layout.size)
        if not self._carrier.bound:
            self._carrier.bind(self._memory)
        return self._memory


def _copy(into: torch.Tensor, data: torch.Tensor) -> None:
    """Copy data up to the smaller length, if not in place."""
    if into.data_ptr() != data.data_ptr():
        count = min(len(into), len(data))
        into[:count].copy_(data[:count])


def as_bytes(data: torch.Tensor) -> torch.Tensor:
    """Return flat contiguous data as bytes."""
    return data.view(torch.uint8)


class _Worker:
    """Thread that runs tasks in sequence while callers continue."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Callable[[], Any], torch.futures.Future[Any]] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._asked = self._done = 0

    @property
    def idle(self) -> bool:
        """Whether all requested work is done."""
        return self._asked == self._done

    def submit(self, work: Callable[[], Any]) -> torch.futures.Future[Any]:
        if self._thread is None:
            self._thread = Thread(target=self._run, daemon=True, name="topodesign")
            self._thread.start()
        future: torch.futures.Future[Any] = torch.futures.Future()
        self._asked += 1
        self._queue.put((work, future))
        return future

    def stop(self) -> None:
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
                self._done += 1
                future.set_exception(error)
            else:
                self._done += 1  # before who waits goes on
                future.set_result(result)
