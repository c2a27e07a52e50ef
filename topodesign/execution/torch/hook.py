"""DDP communication hook: gradient averages by a plan, on any backend."""

# Annotations are values here: DDP compares them with types.
import torch
import torch.distributed as dist

from topodesign.execution.torch.engine import Engine


def allreduce_hook(state: Engine, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average a gradient bucket by a plan or, without one, the group.

    It is for groups of gloo or NCCL: ``model.register_comm_hook(Engine("plans", group), allreduce_hook)``. A process
    group of the backend ``topodesign`` needs no hook.
    """
    data: torch.Tensor = bucket.buffer()

    def work() -> torch.Tensor:
        if not state.allreduce(data):
            dist.all_reduce(data, group=state.group)
        return data.div_(len(state))

    return state.later(work, data.device)
