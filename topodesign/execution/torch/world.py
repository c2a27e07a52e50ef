"""PyTorch transport: one torchrun process per rank, batches to neighbours."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from topodesign.base.errors import ParameterError
from topodesign.collectives.collective import Collective
from topodesign.execution.processes import World, detect_launcher
from topodesign.execution.torch.links import Carrier
from topodesign.execution.workspace import Part, Trial
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
            if detect_launcher() != "torch":
                raise ParameterError(
                    "PyTorch requires a process per rank; start them: torchrun --nproc-per-node RANKS -m topodesign "
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

    def prepare(self, trial: Trial) -> Part:
        """Return this rank's part of a trial, in NumPy memory on a CPU."""
        space = trial.workspace(self.rank)
        host = torch.from_numpy(space.memory)
        memory = host if self._device.type == "cpu" else host.to(self._device)
        carrier = Carrier(space, self._data, range(trial.ranks))
        carrier.bind(memory)

        def meet(phase: int) -> None:
            self._settle()
            self.meet()
            trial.change(self.rank, phase)
            self.meet()

        def fill(factor: IntArray) -> None:
            space.fill(factor)
            if memory is not host:
                memory.copy_(host)

        def move() -> None:
            carrier.move(meet)
            self._settle()

        def wrong(factor: IntArray) -> tuple[int, str]:
            if memory is not host:
                host.copy_(memory)
            return space.wrong(factor)

        return Part(fill, move, wrong)

    def _settle(self) -> None:
        """Wait for all that a GPU has been given."""
        if self._device.type != "cpu":
            torch.cuda.synchronize()

    def calls(self) -> Mapping[str, Callable[[Any, Any, Any, int], object]]:
        """Return gloo's functions by collective: (group, sent, received, root).

        NCCL's open a ring or a tree, which a wiring without switches may not have.
        """
        if self._device.type != "cpu":
            return {}

        def on_tensors(call: _Call) -> _Call:
            return lambda group, sent, got, root: call(group, torch.from_numpy(sent), torch.from_numpy(got), root)

        return {name: on_tensors(call) for name, call in _CALLS.items()}

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


def _allreduce(group: Any, sent: torch.Tensor, got: torch.Tensor, _: int) -> None:
    dist.all_reduce(got.copy_(sent), group=group)


def _broadcast(group: Any, sent: torch.Tensor, got: torch.Tensor, root: int) -> None:
    dist.broadcast(got.copy_(sent) if group.rank() == root else got, group=group, group_src=root)


def _reduce(group: Any, sent: torch.Tensor, got: torch.Tensor, root: int) -> None:
    into = got.copy_(sent) if group.rank() == root else sent
    dist.reduce(into, group=group, group_dst=root)


def _scatter(group: Any, sent: torch.Tensor, got: torch.Tensor, root: int) -> None:
    parts = list(sent.chunk(group.size())) if group.rank() == root else None
    dist.scatter(got, parts, group=group, group_src=root)


def _gather(group: Any, sent: torch.Tensor, got: torch.Tensor, root: int) -> None:
    parts = list(got.chunk(group.size())) if group.rank() == root else None
    dist.gather(sent, parts, group=group, group_dst=root)


_Call = Callable[[Any, Any, Any, int], object]
_CALLS: Mapping[str, _Call] = {
    "allgather": lambda group, sent, got, _: dist.all_gather_single(got, sent, group=group),
    "reduce-scatter": lambda group, sent, got, _: dist.reduce_scatter_single(got, sent, group=group),
    "allreduce": _allreduce,
    "all-to-all": lambda group, sent, got, _: dist.all_to_all_single(got, sent, group=group),
    "broadcast": _broadcast,
    "reduce": _reduce,
    "scatter": _scatter,
    "gather": _gather,
}
