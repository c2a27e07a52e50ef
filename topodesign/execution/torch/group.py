"""Process group backend ``topodesign``: plans if available, else gloo or NCCL."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _new_process_group_helper, _world

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.execution.torch.engine import Engine
from topodesign.execution.torch.links import as_work, flatten, on_flat, on_flats, rows
from topodesign.plans.sets import INDEX, PlanSet, read_plan_set

VARIABLE = "TOPODESIGN_PLANS"
NAME = "topodesign"


@dataclass(frozen=True)
class PlanOptions:
    """Options of ``init_process_group("topodesign", pg_options=...)``.

    * ``fallback``: backend that carries messages, and does what has no plan; if None gloo, and NCCL for GPUs.
    """

    plans: str | Path | None = None  # directory of the set of plans; that of the variable TOPODESIGN_PLANS if None
    fallback: str | None = None


def register() -> None:
    """Make ``topodesign`` a backend of ``torch.distributed``, if it is none."""
    if NAME not in dist.Backend.backend_list:
        dist.Backend.register_backend(NAME, _make, extended_api=True, devices=["cpu", "cuda"])


_Step: TypeAlias = tuple[Callable[[], bool], Callable[[], Any]]
"""What does a collective by a plan, if there is one, and what the inner group does instead."""
_chosen: list[PlanOptions] = []
"""The options of the default group, which those of others begin with."""


def _make(about: Any, options: Any) -> PlanGroup:
    """Make a group, as PyTorch asks for it."""
    if options is not None and not isinstance(options, PlanOptions):
        raise ParameterError(f"pg_options of the backend {NAME} are PlanOptions, not {options!r:.60}")
    if not about.global_ranks_in_group:
        _chosen[:] = [options or PlanOptions()]
    chosen = options or (_chosen or [PlanOptions()])[0]
    folder = chosen.plans or os.environ.get(VARIABLE)
    if not folder:
        raise ParameterError(f"no plans: set {VARIABLE} to a directory that 'topodesign compile --for' made")
    if not about.global_ranks_in_group:
        _read.cache_clear()
    plans, digest = _read(folder)
    if not about.global_ranks_in_group and plans.entries:
        place = plans.load(plans.entries[0]).topology
        ranks = place.nodes - len(place.switches)
        if ranks != about.group_size:
            raise InfeasibleError(
                f"{folder} is of a wiring of {ranks} nodes, and there are {about.group_size} processes; start as many"
            )
    _check_same(plans, digest, about.store, about.group_rank)
    return PlanGroup(about, plans, chosen.fallback or _default_backend())


def _default_backend() -> str:
    return "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"


@functools.cache
def _read(folder: str | Path) -> tuple[PlanSet, str]:
    """Return a cached plan set and the digest of its files."""
    plans = read_plan_set(folder)
    paths = [plans.folder / INDEX, *(plans.folder / one.plan for one in plans.entries)]
    return plans, hashlib.sha256(b"".join(path.read_bytes() for path in paths if path.is_file())).hexdigest()


def _check_same(plans: PlanSet, own: str, store: Any, rank: int) -> None:
    """Reject plan sets that differ between hosts."""
    if rank == 0:
        store.set("topodesign plans", own)
    elif store.get("topodesign plans").decode() != own:
        raise InfeasibleError(f"{plans.folder} is another set of plans here than on rank 0; copy one to all hosts")


class PlanGroup(dist.ProcessGroup):  # type: ignore[misc]  # PyTorch declares no type
    """A process group whose collectives follow plans."""

    def __init__(self, about: Any, plans: PlanSet, fallback: str) -> None:
        super().__init__(about.group_rank, about.group_size)
        self._ranks = list(about.global_ranks_in_group) or list(range(about.group_size))
        self._store, self._timeout = about.store, about.timeout
        self._plans, self._fallback = plans, fallback
        self._name = self._desc = ""
        self._made: Engine | None = None

    # -- what PyTorch asks of a group ---------------------------------------------------------------------------------

    def getBackendName(self) -> str:  # noqa: N802  PyTorch's name
        """Return the name of the backend."""
        return NAME

    def setGroupName(self, name: str) -> None:  # noqa: N802  PyTorch's name
        """Take a name."""
        self._name = name

    def getGroupName(self) -> str:  # noqa: N802  PyTorch's name
        """Return the name."""
        return self._name

    def setGroupDesc(self, desc: str) -> None:  # noqa: N802  PyTorch's name
        """Take a description."""
        self._desc = desc

    def getGroupDesc(self) -> str:  # noqa: N802  PyTorch's name
        """Return the description."""
        return self._desc

    _set_group_name, _set_group_desc = setGroupName, setGroupDesc
    group_name, group_desc = property(getGroupName), property(getGroupDesc)

    @property
    def engine(self) -> Engine:
        """Engine for collectives by plans, with its own group for messages."""
        if self._made is None:
            self._made = Engine(self._plans, self._new_inner())
        return self._made

    def _new_inner(self) -> Any:
        """Make the group that carries messages.

        ``new_group`` names groups by how many there are, which may differ from rank to rank here.
        """
        inner, _ = _new_process_group_helper(
            len(self._ranks),
            self.rank(),
            self._ranks,
            dist.Backend(self._fallback),
            self._store,
            f"{self._name}:{NAME}",
            timeout=self._timeout,
            group_desc=f"{NAME} links",
        )
        _world.pg_group_ranks[inner] = {rank: place for place, rank in enumerate(self._ranks)}
        return inner

    @property
    def inner(self) -> Any:
        """Group for messages and for collectives without a plan."""
        return self.engine.group

    def shutdown(self) -> None:
        """Stop the engine of the group."""
        if self._made is not None:
            self._made.stop()

    def _do(self, tensors: Any, like: torch.Tensor, opts: Any, *steps: _Step) -> Any:
        """Run steps, each by plan or by the inner group."""

        def done() -> Any:
            for work, instead in steps:
                if not work():
                    instead().wait()
            return tensors

        return as_work(self.engine.later(done, like.device, awaited=not opts.asyncOp))

    # -- collectives --------------------------------------------------------------------------------------------------

    def allreduce(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:
        """Reduce tensors on all ranks, by default to the sum."""
        opts = opts or dist.AllreduceOptions()
        return self._do(tensors, tensors[0], opts, *(self._reduce(one, opts) for one in tensors))

    allreduce_coalesced = allreduce

    def _reduce(self, data: torch.Tensor, opts: Any) -> _Step:
        plain = dist.AllreduceOptions()
        plain.reduceOp, plain.timeout = opts.reduceOp, opts.timeout
        return (
            lambda: on_flat(data, lambda flat: self.engine.allreduce(flat, opts.reduceOp.op)),
            lambda: self.inner.allreduce([data], plain),
        )

    def allgather(self, outputs: list[list[torch.Tensor]], inputs: list[torch.Tensor], opts: Any = None) -> Any:
        """Gather on all ranks; sizes may differ."""
        opts = opts or dist.AllgatherOptions()

        def step(into: list[torch.Tensor], own: torch.Tensor) -> _Step:
            return (
                lambda: on_flats(into, lambda flats: self.engine.allgather(flats, flatten(own))),
                lambda: self.inner.allgather([into], [own], opts),
            )

        return self._do(outputs, inputs[0], opts, *map(step, outputs, inputs))

    def all_gather_single(self, output: torch.Tensor, given: torch.Tensor, opts: Any = None) -> Any:
        """Gather on all ranks, into one tensor."""
        return self._gather([output], [given], opts or dist.AllgatherOptions(), output)

    def all_gather_single_coalesced(
        self, outputs: list[torch.Tensor], inputs: list[torch.Tensor], opts: Any = None
    ) -> Any:
        """Gather several tensors on all ranks, each into one."""
        return self._gather(outputs, inputs, opts or dist.AllgatherOptions(), outputs)

    def _gather(self, outputs: list[torch.Tensor], inputs: list[torch.Tensor], opts: Any, result: Any) -> Any:
        def step(into: torch.Tensor, own: torch.Tensor) -> _Step:
            return (
                lambda: on_flat(into, lambda flat: self.engine.allgather(flat.chunk(self.size()), flatten(own), flat)),
                lambda: self.inner.all_gather_single(into, own, opts),
            )

        return self._do(result, outputs[0], opts, *map(step, outputs, inputs))

    def reduce_scatter(self, outputs: list[torch.Tensor], inputs: list[list[torch.Tensor]], opts: Any = None) -> Any:
        """Reduce tensors and leave one part per rank; sizes may differ."""
        opts = opts or dist.ReduceScatterOptions()

        def step(into: torch.Tensor, parts: list[torch.Tensor]) -> _Step:
            def work() -> bool:
                flats = [flatten(one) for one in parts]
                return on_flat(into, lambda flat: self.engine.reduce_scatter(flat, flats, opts.reduceOp.op))

            return work, lambda: self.inner.reduce_scatter([into], [parts], opts)

        return self._do(outputs, outputs[0], opts, *map(step, outputs, inputs))

    def reduce_scatter_single(self, output: torch.Tensor, given: torch.Tensor, opts: Any = None) -> Any:
        """Reduce one tensor and leave one part of it per rank."""
        return self._scatter([output], [given], opts or dist.ReduceScatterOptions(), output)

    def reduce_scatter_single_coalesced(
        self, outputs: list[torch.Tensor], inputs: list[torch.Tensor], opts: Any = None
    ) -> Any:
        """Reduce several tensors and leave one part of each per rank."""
        return self._scatter(outputs, inputs, opts or dist.ReduceScatterOptions(), outputs)

    def _scatter(self, outputs: list[torch.Tensor], inputs: list[torch.Tensor], opts: Any, result: Any) -> Any:
        def step(into: torch.Tensor, own: torch.Tensor) -> _Step:
            def work() -> bool:
                parts = flatten(own).chunk(self.size())
                return on_flat(into, lambda flat: self.engine.reduce_scatter(flat, parts, opts.reduceOp.op))

            return work, lambda: self.inner.reduce_scatter_single(into, own, opts)

        return self._do(result, outputs[0], opts, *map(step, outputs, inputs))

    def broadcast(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:
        """Copy a tensor from the root to all ranks."""
        opts = opts or dist.BroadcastOptions()
        data, root = tensors[0], opts.rootRank
        work = functools.partial(on_flat, data, lambda flat: self.engine.broadcast(flat, root))
        return self._do(tensors, data, opts, (work, lambda: self.inner.broadcast(tensors, opts)))

    def reduce(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:
        """Reduce at the root; other ranks keep their data."""
        opts = opts or dist.ReduceOptions()
        data, root = tensors[0], opts.rootRank
        work = functools.partial(on_flat, data, lambda flat: self.engine.reduce(flat, root, opts.reduceOp.op))
        return self._do(tensors, data, opts, (work, lambda: self.inner.reduce(tensors, opts)))

    def gather(self, outputs: list[list[torch.Tensor]], inputs: list[torch.Tensor], opts: Any = None) -> Any:
        """Gather at one rank."""
        opts = opts or dist.GatherOptions()
        own, root = inputs[0], opts.rootRank
        into = outputs[0] if outputs else []
        work = functools.partial(on_flats, into, lambda flats: self.engine.gather(flats, flatten(own), root))
        return self._do(outputs, own, opts, (work, lambda: self.inner.gather(outputs, inputs, opts)))

    def scatter(self, outputs: list[torch.Tensor], inputs: list[list[torch.Tensor]], opts: Any = None) -> Any:
        """Send every rank its part from the root."""
        opts = opts or dist.ScatterOptions()
        into, root = outputs[0], opts.rootRank

        def work() -> bool:
            parts = [flatten(one) for one in inputs[0]] if inputs else []
            return on_flat(into, lambda flat: self.engine.scatter(flat, parts, root))

        return self._do(outputs, into, opts, (work, lambda: self.inner.scatter(outputs, inputs, opts)))

    def alltoall(self, outputs: list[torch.Tensor], inputs: list[torch.Tensor], opts: Any = None) -> Any:
        """Send a part to every rank; sizes may differ."""
        opts = opts or dist.AllToAllOptions()

        def work() -> bool:
            most = self._most(outputs, inputs)
            flats = [flatten(one) for one in inputs]
            return most is not None and on_flats(outputs, lambda into: self.engine.all_to_all(into, flats, most))

        return self._do(outputs, inputs[0], opts, (work, lambda: self._exchange(outputs, inputs, opts)))

    def all_to_all_single(
        self,
        output: torch.Tensor,
        given: torch.Tensor,
        output_splits: list[int],
        input_splits: list[int],
        opts: Any = None,
    ) -> Any:
        """Send a part of one tensor to every rank.

        Give the sizes of parts on all ranks or on none.
        """
        opts = opts or dist.AllToAllOptions()

        def work() -> bool:
            ranks = self.size()
            if not output_splits and not input_splits:
                parts = flatten(given).chunk(ranks)
                most: int | None = parts[0].nbytes
                return on_flat(output, lambda into: self.engine.all_to_all(into.chunk(ranks), parts, most or 0))
            parts = rows(flatten(given), given, input_splits, ranks)
            most = self._most(rows(flatten(output), output, output_splits, ranks), parts)
            return most is not None and on_flat(
                output, lambda into: self.engine.all_to_all(rows(into, output, output_splits, ranks), parts, most)
            )

        def instead() -> Any:
            return self.inner.all_to_all_single(output, given, output_splits, input_splits, opts)

        return self._do(output, given, opts, (work, instead))

    def _most(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> int | None:
        """Return the bytes of the largest part of all ranks."""
        own = torch.tensor([max(one.nbytes for one in (*outputs, *inputs))], device=inputs[0].device)
        if not self.engine.allreduce(own, dist.ReduceOp.MAX):
            opts = dist.AllreduceOptions()
            opts.reduceOp = dist.ReduceOp.MAX
            self.inner.allreduce([own], opts).wait()
        return int(own.item())

    def _exchange(self, outputs: list[torch.Tensor], inputs: list[torch.Tensor], opts: Any) -> Any:
        """Run all-to-all by the inner group, as one tensor for gloo."""
        sizes = [[one.numel() for one in some] for some in (outputs, inputs)]
        into = torch.cat([flatten(one) for one in outputs])
        work = self.inner.all_to_all_single(into, torch.cat([flatten(one) for one in inputs]), *sizes, opts)
        work.wait()
        work = as_work(torch.futures.collect_all([]))
        for one, part in zip(outputs, into.split(sizes[0]), strict=True):
            one.copy_(part.view_as(one))
        return work

    def barrier(self, opts: Any = None) -> Any:
        """Wait for all ranks."""
        opts = opts or dist.BarrierOptions()
        token = torch.zeros(1, dtype=torch.int32, device="cpu" if _default_backend() == "gloo" else "cuda")
        # What is read has come, on a GPU too.
        read = (lambda: token.item() == 0, self.inner.barrier)
        return self._do([token], token, opts, self._reduce(token, dist.AllreduceOptions()), read)

    # Names of earlier and later versions of PyTorch.
    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single

    # -- what plans are not for ---------------------------------------------------------------------------------------

    def send(self, tensors: list[torch.Tensor], rank: int, tag: int = 0) -> Any:
        """Send to a rank, by the inner group."""
        return self.inner.send(tensors, rank, tag)

    def recv(self, tensors: list[torch.Tensor], rank: int, tag: int = 0) -> Any:
        """Receive from a rank, by the inner group."""
        return self.inner.recv(tensors, rank, tag)

    def recv_anysource(self, tensors: list[torch.Tensor], tag: int = 0) -> Any:
        """Receive from any rank, by the inner group."""
        return self.inner.recv_anysource(tensors, tag)

    def _get_backend(self, device: torch.device) -> Any:
        return self.inner._get_backend(device)  # noqa: SLF001  what PyTorch asks groups for

    @property
    def _device_types(self) -> Any:
        return self.inner._device_types  # noqa: SLF001  what PyTorch asks groups for
