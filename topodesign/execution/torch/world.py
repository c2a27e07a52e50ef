"""PyTorch transport: one torchrun process per rank, batches to neighbours."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from topodesign.base.errors import ParameterError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, BROADCAST, GATHER, REDUCE, REDUCE_SCATTER, SCATTER
from topodesign.collectives.collective import Collective
from topodesign.execution.processes import Work, World, started_by
from topodesign.execution.torch.links import Runner
from topodesign.execution.workspace import Trial, Workspace
from topodesign.topology.topology import IntArray

_Made = TypeVar("_Made")


class TorchWorld(World):
    """World of all torchrun processes, reusing an existing default group."""

    transport = "torch"
    starter = "torchrun --nproc-per-node {ranks}"

    def __init__(self) -> None:
        self._begun = not dist.is_initialized()
        cuda = torch.cuda.is_available() and dist.is_nccl_available()
        if self._begun:
            if started_by() != "torch":
                raise ParameterError(
                    "PyTorch needs a process for every rank; start them: torchrun --nproc-per-node RANKS -m topodesign "
                    "run PLAN --transport torch"
                )
            if cuda:
                torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
            dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo")
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self._device = torch.device("cuda", torch.cuda.current_device()) if cuda else torch.device("cpu")
        self.own_name = "nccl" if cuda else "gloo"
        self.name = f"PyTorch {torch.__version__}, {self.own_name}"
        # Control messages beside the plan go over hosts' own network, whatever the plan's links are.
        self._control = dist.new_group(backend="gloo") if cuda else dist.group.WORLD
        self._data = dist.group.WORLD
        self._groups: dict[tuple[int, ...], list[Any]] = {(0,) * self.ranks: [self._control]}

    def share(self, value: _Made | None) -> _Made:
        """Broadcast a value from rank 0."""
        box: list[Any] = [value]
        dist.broadcast_object_list(box, src=0, group=self._control)
        shared: _Made = box[0]
        return shared

    def deal(self, values: list[_Made] | None) -> _Made:
        """Scatter the values of rank 0 and return this rank's value."""
        box: list[Any] = [None]
        dist.scatter_object_list(box, values, src=0, group=self._control)
        own: _Made = box[0]
        return own

    def gather(self, value: _Made) -> list[_Made]:
        """Gather the values of all ranks on every rank."""
        every: list[Any] = [None] * self.ranks
        dist.all_gather_object(every, value, group=self._control)
        return every

    def meet(self) -> None:
        """Wait for all others."""
        dist.barrier(group=self._control)

    def prepare(self, trial: Trial) -> Work:
        """Return this rank's part of a trial."""

        def meet(phase: int) -> None:
            if self._device.type != "cpu":
                torch.cuda.synchronize()
            self.meet()
            trial.change(self.rank, phase)
            self.meet()

        return _Prepared(trial, self.rank, self._data, self._device, meet)

    def call_of(self, collective: Collective) -> _Call | None:
        """Return gloo's function for a collective.

        NCCL's opens a ring or a tree, which a wiring without switches may not have.
        """
        call = _call_of(collective) if self._device.type == "cpu" else None
        if call is None:
            return None
        return lambda group, sent, got, root: call(group, torch.from_numpy(sent), torch.from_numpy(got), root)

    def group_of(self, collective: Collective, ranks: int, team: int) -> tuple[Any, Callable[[], None]]:
        """Return the gloo group of this rank, created once and cached."""
        teams = tuple(collective.teams(ranks).tolist())
        if teams not in self._groups:
            self._groups[teams] = [
                dist.new_group([rank for rank, number in enumerate(teams) if number == one], backend="gloo")
                for one in range(max(teams) + 1)
            ]
        return self._groups[teams][team], lambda: None

    def end(self) -> None:
        """End this process; torchrun ends the others."""
        os._exit(1)

    def close(self) -> None:
        """Give the group back that was made here."""
        if self._begun:
            dist.destroy_process_group()


class _Prepared:
    """Rank's part of a trial, in NumPy memory on a CPU."""

    def __init__(self, trial: Trial, rank: int, group: Any, device: torch.device, meet: Callable[[int], None]) -> None:
        self._space: Workspace = trial.workspace(rank)
        self._host = torch.from_numpy(self._space.memory)
        self._memory = self._host if device.type == "cpu" else self._host.to(device)
        self._runner = Runner(self._space, group, range(trial.ranks), meet=meet)
        self._runner.bind(self._memory)

    def fill(self, factor: IntArray) -> None:
        self._space.fill(factor)
        if self._memory is not self._host:
            self._memory.copy_(self._host)

    def move(self) -> None:
        self._runner.move()
        if self._memory is not self._host:
            torch.cuda.synchronize()

    def wrong(self, factor: IntArray) -> tuple[int, str]:
        if self._memory is not self._host:
            self._host.copy_(self._memory)
        return self._space.wrong(factor)

    def free(self) -> None:
        """Release nothing; memory is freed automatically."""


_Call = Callable[[Any, Any, Any, int], object]


def _call_of(collective: Collective) -> _Call | None:
    """Return the PyTorch function for a collective: (group, sent, received, root)."""

    def allreduce(group: Any, sent: torch.Tensor, got: torch.Tensor, _: int) -> None:
        dist.all_reduce(got.copy_(sent), group=group)

    def broadcast(group: Any, sent: torch.Tensor, got: torch.Tensor, root: int) -> None:
        dist.broadcast(got.copy_(sent) if group.rank() == root else got, group=group, group_src=root)

    def reduce(group: Any, sent: torch.Tensor, got: torch.Tensor, root: int) -> None:
        into = got.copy_(sent) if group.rank() == root else sent
        dist.reduce(into, group=group, group_dst=root)

    def scatter(group: Any, sent: torch.Tensor, got: torch.Tensor, root: int) -> None:
        parts = list(sent.chunk(group.size())) if group.rank() == root else None
        dist.scatter(got, parts, group=group, group_src=root)

    def gather(group: Any, sent: torch.Tensor, got: torch.Tensor, root: int) -> None:
        parts = list(got.chunk(group.size())) if group.rank() == root else None
        dist.gather(sent, parts, group=group, group_dst=root)

    known: list[tuple[Collective, _Call]] = [
        (ALLGATHER, lambda group, sent, got, _: dist.all_gather_single(got, sent, group=group)),
        (REDUCE_SCATTER, lambda group, sent, got, _: dist.reduce_scatter_single(got, sent, group=group)),
        (ALLREDUCE, allreduce),
        (ALL_TO_ALL, lambda group, sent, got, _: dist.all_to_all_single(got, sent, group=group)),
        (BROADCAST, broadcast),
        (REDUCE, reduce),
        (SCATTER, scatter),
        (GATHER, gather),
    ]
    return next((call for one, call in known if collective.like(one)), None)
