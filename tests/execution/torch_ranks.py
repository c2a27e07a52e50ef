"""A program: four processes with the process group ``topodesign``; rank 0 prints what came of each look.

Then four run the plans of ``torch_plans.py``. Started once, since starting is what takes time: ``test_torch.py`` reads
what is printed.
"""

from __future__ import annotations

import gc
import json
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import scipy.sparse.csgraph  # noqa: F401  here, and not by every rank for itself
import torch
import torch._dynamo
import torch.distributed as dist
import torch.distributed._functional_collectives as functions
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel

import topodesign.execution.torch as plans
from tests.execution.torch_plans import among, run_plans
from topodesign import schedule
from topodesign.execution.torch import Engine, PlanGroup

Ranks = list[Any]
looks: dict[str, Callable[[], Any]] = {}


def look(function: Callable[[], Any]) -> Callable[[], Any]:
    looks[function.__name__] = function
    return function


def numbers(rank: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Small integers that every type holds, and their sums and products too."""
    made = torch.Generator().manual_seed(1000 + rank)
    return torch.randint(1, 3, (count,), generator=made).to(dtype)


TYPES = [
    getattr(torch, name)
    for name in ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64"]
]
OPS: dict[str, Callable[[Any], Any]] = {
    "SUM": lambda some: some.sum(0),
    "PRODUCT": lambda some: some.prod(0),
    "MIN": lambda some: some.amin(0),
    "MAX": lambda some: some.amax(0),
    "AVG": lambda some: some.sum(0) / len(some),
    "BAND": lambda some: some[0] & some[1] & some[2] & some[3],
    "BOR": lambda some: some[0] | some[1] | some[2] | some[3],
    "BXOR": lambda some: some[0] ^ some[1] ^ some[2] ^ some[3],
}


@look
def reductions() -> int:
    """All types and operations, in sizes that do and do not divide, are what PyTorch makes of them here."""
    rank, ranks, done = dist.get_rank(), dist.get_world_size(), 0
    for dtype in TYPES:
        for name, wanted in OPS.items():
            real = dtype.is_floating_point
            if name.startswith("B") if real else name == "AVG":
                continue
            op = getattr(dist.ReduceOp, name)
            for count in (1, 7):
                every = torch.stack([numbers(one, count * ranks, dtype) for one in range(ranks)])
                whole = wanted(every).to(dtype)
                data = every[rank].clone()
                dist.all_reduce(data, op=op)
                assert torch.equal(data, whole), (dtype, name, count, data, whole)
                part = torch.empty(count, dtype=dtype)
                dist.reduce_scatter_single(part, every[rank], op=op)
                assert torch.equal(part, whole[rank * count : (rank + 1) * count])
                done += 1
    return done


@look
def moves() -> int:
    """Gathers, broadcasts and exchanges of all types, also of different sizes, strides and shapes."""
    rank, ranks, done = dist.get_rank(), dist.get_world_size(), 0
    for dtype in [*TYPES, torch.bool, torch.complex64]:
        own = [numbers(one, 6, dtype).view(2, 3) for one in range(ranks)]
        into = torch.empty((2 * ranks, 3), dtype=dtype)
        dist.all_gather_single(into, own[rank])
        assert torch.equal(into, torch.cat(own))
        uneven = [numbers(one, 2 + 3 * one, dtype) for one in range(ranks)]
        parts = [torch.empty_like(one) for one in uneven]
        dist.all_gather(parts, uneven[rank])
        assert all(map(torch.equal, parts, uneven))
        strided = torch.zeros((6, 2), dtype=dtype)[:, 1]
        strided.copy_(own[rank].view(-1))
        dist.broadcast(strided, 0)
        assert torch.equal(strided, own[0].view(-1))
        sizes = [[1 + (a + 2 * b) % 3 for b in range(ranks)] for a in range(ranks)]
        sent = [[numbers(10 * a + b, sizes[a][b], dtype) for b in range(ranks)] for a in range(ranks)]
        wanted = torch.cat([sent[a][rank] for a in range(ranks)])
        got = torch.empty_like(wanted)
        splits = [sizes[a][rank] for a in range(ranks)], sizes[rank]
        dist.all_to_all_single(got, torch.cat(sent[rank]), *splits)
        assert torch.equal(got, wanted)
        if dtype is not torch.bool:
            lists = [torch.empty_like(sent[a][rank]) for a in range(ranks)]
            dist.all_to_all(lists, sent[rank])
            assert torch.equal(torch.cat(lists), wanted)
        even = torch.cat([sent[rank][b][:1] for b in range(ranks)])
        got = torch.empty_like(even)
        dist.all_to_all_single(got, even)
        assert torch.equal(got, torch.cat([sent[a][rank][:1] for a in range(ranks)]))
        done += 6
    return done


@look
def uneven_reductions() -> int:
    """Parts of different sizes are added up, too; and those that are not contiguous, and none."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    parts = [torch.full((1 + 2 * one,), float(rank)) for one in range(ranks)]
    into = torch.empty(1 + 2 * rank)
    dist.reduce_scatter(into, parts)
    assert into.tolist() == [6.0] * len(into)
    turned = torch.arange(6.0).view(2, 3).t()
    dist.all_reduce(turned)
    assert torch.equal(turned, 4 * torch.arange(6.0).view(2, 3).t())
    empty = torch.empty(0)
    dist.all_reduce(empty)
    return int(parts[-1].numel() + empty.numel())


@look
def rooted() -> int:
    """Reduces to one rank, gathers there, and scatters from it, by plans; who is not the root keeps what it has."""
    rank, ranks, root, done = dist.get_rank(), dist.get_world_size(), 1, 0
    for dtype in [*TYPES, torch.bool, torch.complex64]:
        every = [numbers(one, 6, dtype).view(2, 3) for one in range(ranks)]
        parts = [torch.empty_like(one) for one in every] if rank == root else None
        dist.gather(every[rank], parts, root)
        assert parts is None or all(map(torch.equal, parts, every))
        strided = torch.zeros((6, 2), dtype=dtype)[:, 1]
        dist.scatter(strided, [one.view(-1) for one in every] if rank == root else None, root)
        assert torch.equal(strided, every[rank].view(-1))
        done += 1
    for dtype in (torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8, torch.int8):
        for count in (1, 2, 3, 7, 64, 1000, 4096):
            every = [(torch.arange(count) % 5 + one).to(dtype) for one in range(ranks)]
            data = every[rank].clone()
            work = dist.reduce(data, root, async_op=True)
            work.wait()
            assert torch.equal(data, sum(every[1:], every[0]) if rank == root else every[rank])
            done += 1
    mean = torch.full((4,), float(rank))
    dist.reduce(mean, root, op=dist.ReduceOp.AVG)
    assert mean.tolist() == [1.5 if rank == root else float(rank)] * 4
    return done


@look
def groups() -> dict[str, Any]:
    """A group with plans of its own, and one without, which gloo serves; what is sent beside is not mixed up."""
    rank = dist.get_rank()
    pair = dist.new_group([0, 1])
    others = dist.new_group([1, 2, 3])
    data = torch.tensor([float(rank)])
    if rank < 2:
        dist.all_reduce(data, group=pair)
        assert data.item() == 1
    if rank:
        dist.all_reduce(data, group=others)
    beside = torch.full((3,), float(rank))
    request = dist.isend(beside, (rank + 1) % 4)
    came = torch.empty(3)
    dist.all_reduce(torch.ones(100))
    dist.recv(came, (rank - 1) % 4)
    request.wait()
    assert came.tolist() == [float((rank - 1) % 4)] * 3
    objects: list[Any] = [None] * 4
    dist.all_gather_object(objects, {"rank": rank})
    assert [one["rank"] for one in objects] == [0, 1, 2, 3]
    top = torch.tensor([rank])
    dist.reduce(top, 2)
    assert rank != 2 or top.item() == 6
    dist.barrier()
    return {"pair": dict(pair.engine.used) if rank < 2 else {}, "name": dist.get_backend()}


@look
def asynchronous() -> float:
    """Several at once are done in their order, and their results come when they are waited for."""
    data = [torch.full((1000,), float(one)) for one in range(8)]
    works = [dist.all_reduce(one, async_op=True) for one in data]
    for work in reversed(works):
        work.wait()
    total = sum(one.sum().item() for one in data)
    assert total == 4 * 1000 * 28
    future = dist.all_reduce(data[0], async_op=True).get_future()
    return float(future.wait()[0].sum())


@look
def functional() -> list[float]:
    """Functional collectives, which find groups by name, and several at once."""
    rank = dist.get_rank()
    total = functions.all_reduce(torch.full((6,), float(rank)), "sum", dist.group.WORLD)
    every = functions.all_gather_tensor(torch.full((1,), float(rank)), 0, dist.group.WORLD)
    part = functions.reduce_scatter_tensor(torch.arange(4.0), "sum", 0, dist.group.WORLD)
    some = [torch.full((3,), float(rank)), torch.full((5,), float(rank))]
    dist.all_reduce_coalesced(some)
    assert part.tolist() == [4.0 * rank]
    return [*total[:1].tolist(), *every.tolist(), *some[1][:1].tolist()]


def model(dtype: torch.dtype) -> nn.Sequential:
    torch.manual_seed(7)
    layers = [nn.Linear(12, 33), nn.ReLU(), nn.BatchNorm1d(33), nn.Linear(33, 17), nn.ReLU(), nn.Linear(17, 4)]
    return nn.Sequential(*layers).to(dtype)


def losses(net: nn.Module, ranks: int, dtype: torch.dtype, group: Any = None) -> list[float]:
    """Train for some steps, and return the mean losses."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    made = torch.Generator().manual_seed(100 + dist.get_rank())
    found = []
    for _ in range(4):
        given = torch.randn(8, 12, generator=made).to(dtype)
        wanted = torch.randint(0, 4, (8,), generator=made)
        loss = nn.functional.cross_entropy(net(given), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        every = [torch.empty_like(loss) for _ in range(ranks)]
        dist.all_gather(every, loss.detach(), group=group)
        found.append(float(sum(every)) / ranks)
    return found


def trained(how: str, group: Any, dtype: torch.dtype = torch.float32) -> list[float]:
    net = model(dtype)
    ranks = dist.get_world_size(group)
    if how == "ddp":
        return losses(DistributedDataParallel(net, process_group=group, bucket_cap_mb=0.002), ranks, dtype, group)
    if how == "hook":
        wrapped = DistributedDataParallel(net, process_group=group, bucket_cap_mb=0.002)
        wrapped.register_comm_hook(Engine(sys.argv[1], group), plans.allreduce_hook)
        return losses(wrapped, ranks, dtype, group)
    if how == "fsdp1":
        sharded = FullyShardedDataParallel(net, process_group=group, device_id=torch.device("cpu"))
        return losses(sharded, ranks, dtype, group)
    mesh = dist.DeviceMesh.from_group(group, "cpu")
    for layer in net:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    return losses(fully_shard(net, mesh=mesh), ranks, dtype, group)


@look
def training() -> dict[str, Any]:
    """Losses of DDP and FSDP by plans and by gloo, in the same processes."""
    rank = dist.get_rank()
    gloo = dist.new_group(backend="gloo")
    found: dict[str, Any] = {}
    for how in ("ddp", "fsdp1", "fsdp2"):
        found[how] = trained(how, dist.group.WORLD), trained(how, gloo)
    found["hook"] = trained("hook", gloo), found["ddp"][1]
    found["double"] = trained("ddp", dist.group.WORLD, torch.float64), trained("ddp", gloo, torch.float64)
    both = dist.new_group([0, 1]), dist.new_group([0, 1], backend="gloo")
    if rank < 2:
        found["two"] = trained("ddp", both[0]), trained("ddp", both[1])
    return found


@look
def refusals() -> dict[str, str]:
    """All ranks report what is wrong."""
    found = {}
    for name, options in (("options", 3), ("folder", plans.PlanOptions("nowhere"))):
        try:
            dist.new_group(pg_options=options)
        except Exception as error:  # noqa: BLE001  as it comes out of PyTorch
            found[name] = f"{type(error).__name__}: {error}"
    return found


def main() -> None:
    """Do all looks, one after the other."""
    warnings.simplefilter("ignore")
    dist.init_process_group("topodesign", pg_options=plans.PlanOptions(sys.argv[1]))
    world = dist.group.WORLD
    if not isinstance(world, PlanGroup):
        raise TypeError(f"the group is {world!r}")
    for name, function in looks.items():
        result = function()
        every: Ranks = [None] * dist.get_world_size()
        dist.all_gather_object(every, (dict(world.engine.used), dict(world.engine.traffic.bytes)))
        if dist.get_rank() == 0:
            print(json.dumps({"look": name, "result": result, "ranks": every}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    schedule("complete(4)")  # loads here, once, what every rank would load for itself
    gc.freeze()  # or the first collection of every rank would copy all of that
    among(4, main, partial(run_plans, sys.argv[2]))
