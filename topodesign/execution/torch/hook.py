"""The communication hook of DDP: gradients are averaged by a plan, in a group of any backend."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from topodesign.execution.torch.engine import Engine, Worker

_workers: dict[int, Worker] = {}


def allreduce_hook(state: Engine, bucket: Any) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket of gradients by a plan of a set, or by the engine's group where none is for it.

    Parameters
    ----------
    state
        What chooses the plans: ``Engine("plans", group)``.
    bucket
        As DDP gives it.

    Notes
    -----
    It is for groups of gloo or NCCL: ``model.register_comm_hook(Engine("plans"), allreduce_hook)``. A process group of
    the backend ``topodesign`` needs no hook.
    """
    data: torch.Tensor = bucket.buffer()

    def work() -> torch.Tensor:
        with torch.inference_mode():
            if not state.allreduce(data):
                dist.all_reduce(data, group=state.group)
            return data.div_(len(state))

    if data.device.type == "cpu":
        return _workers.setdefault(id(state), Worker()).submit(work)
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future(devices=[data.device])
    future.set_result(work())
    return future
