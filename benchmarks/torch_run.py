"""Time collectives of the backend ``topodesign`` beside gloo's own, by size, in the same processes.

Start it with ``torchrun --nproc-per-node 4 benchmarks/torch_run.py [SPEC [SIZE ...]]``; the wiring, by default a ring
of both ways, has as many nodes as there are processes. A row has the least times of 40 calls that take turns,
and ours over gloo's. On one machine all ways are its memory and cores, so that what is compared is work of processors.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import torch
import torch.distributed as dist

from topodesign import schedule
from topodesign.base.units import format_time, parse_size
from topodesign.execution.torch import PlanOptions
from topodesign.plans.sets import ForSizes, save_plan_set

SIZES = ("4KiB", "64KiB", "1MiB", "16MiB")
COLLECTIVES = ("allreduce", "allgather", "reduce-scatter", "all-to-all", "broadcast")
TURNS = 40


def call_of(collective: str, size: int, group: object) -> Callable[[], object]:
    """Return what calls a collective of so many bytes in all, in a group."""
    ranks = dist.get_world_size()
    count = max(size // 4 // ranks, 1)
    whole, part = torch.ones(count * ranks), torch.ones(count)
    other = torch.empty_like(whole)
    return {
        "allreduce": lambda: dist.all_reduce(whole, op=dist.ReduceOp.MAX, group=group),
        "allgather": lambda: dist.all_gather_single(whole, part, group=group),
        "reduce-scatter": lambda: dist.reduce_scatter_single(part, whole, group=group),
        "all-to-all": lambda: dist.all_to_all_single(other, whole, group=group),
        "broadcast": lambda: dist.broadcast(whole, 0, group=group),
    }[collective]


def timed(calls: list[Callable[[], object]]) -> list[float]:
    """Return the least time of each, until the last rank is done."""
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(TURNS + 3):
        for call, found in zip(calls, times, strict=True):
            dist.barrier()
            begun = time.perf_counter()
            call()
            own = torch.tensor([time.perf_counter() - begun], dtype=torch.float64)
            dist.all_reduce(own, op=dist.ReduceOp.MAX)
            if turn >= 3:
                found.append(float(own))
    return [min(some) for some in times]


def main() -> None:
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo")
    ranks = dist.get_world_size()
    spec = sys.argv[1] if len(sys.argv) > 1 else f"biring(2,{ranks})"
    box = [tempfile.mkdtemp()]
    if dist.get_rank() == 0:
        plans = [ForSizes(schedule(spec, name, root=0 if name == "broadcast" else None)) for name in COLLECTIVES]
        save_plan_set(Path(box[0]) / "plans", plans, alpha=1e-5, bandwidth=1e11)
    dist.broadcast_object_list(box, src=0)
    ours = dist.new_group(backend="topodesign", pg_options=PlanOptions(Path(box[0]) / "plans"))
    if dist.get_rank() == 0:
        print(f"{spec}, {ranks} processes, PyTorch {torch.__version__}, least of {TURNS}")
    for collective in COLLECTIVES:
        for size in sys.argv[2:] or SIZES:
            groups = (ours, dist.group.WORLD)
            plan, gloo = timed([call_of(collective, int(parse_size(size)), group) for group in groups])
            if dist.get_rank() == 0:
                shown = [format_time(Fraction(f"{one:.4g}")) for one in (plan, gloo)]
                print(f"{collective:16}{size:>8}{shown[0]:>12}{shown[1]:>12}{plan / gloo:8.2f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
