"""Run plans on GPUs, where there are any: MSCCL++ plans by its executor, and the sends of plans on CUDA tensors.

    python benchmarks/gpu.py [--mscclpp CHECKOUT] [--ranks 4] [--folder build/gpu] [--alpha 5us] [--bandwidth 3.6Tbps]

It makes ten plans of each protocol for one box, checks them, and says what each should take. Then it moves the data of
ten plans by torch, on CUDA tensors if there is a GPU and else on the CPU, and compares every element. Last it runs the
plans by MSCCL++: it builds the checkout in the folder, which git ignores, starts a process for each rank, and compares
every element and the times. Several ranks may share one card: then all threadblocks of all ranks have to be resident
together, which takes MPS (``nvidia-cuda-mps-control -d``), and times say nothing about links.

Needed for that: a GPU, the CUDA toolkit, cmake, and of Python torch for CUDA and cupy. Without them it says what is
missing, does the rest, and ends with the sentence that nothing ran on a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import torch

from topodesign import build, compile_plan, schedule, simulate
from topodesign.compiler.options import Protocol
from topodesign.plans.plan import Plan

PLANS = [  # links with one parameter for the ranks, and collective
    (spec, collective)
    for spec in ("complete({})", "biring(2,{})", "uniring(1,{})")
    for collective in ("allreduce", "allgather", "reduce-scatter", "all-to-all")
][:10]
PROTOCOLS: tuple[Protocol, ...] = ("Simple", "LL")
SIZES = (2**12, 2**16, 2**20, 2**24)
PATIENCE = 300  # seconds for the processes of one plan


def missing(checkout: Path | None) -> list[str]:
    """Return what is needed to run plans by MSCCL++ and not there."""
    lacks = [] if torch.cuda.is_available() else ["a GPU that torch sees"]
    lacks += [name for name in ("nvcc", "cmake") if shutil.which(name) is None]
    lacks += [] if importlib.util.find_spec("cupy") else ["cupy"]
    return lacks if checkout else [*lacks, "--mscclpp, a checkout of microsoft/mscclpp"]


def moved(plan: Plan, device: str, width: int = 64) -> bool:
    """Move the data of rounds as they say, with tensors on a device, and return whether every element is right."""
    rounds, nodes = plan.rounds, plan.topology.nodes
    blocks = plan.collective.block_count(nodes)
    mine = torch.randint(-(2**20), 2**20, (nodes, blocks, rounds.units, width), device=device)
    wanted = mine.clone()
    name, have = plan.collective.name, mine.clone()
    if name == "allgather":
        wanted[:] = torch.stack([mine[node, node] for node in range(nodes)])
    elif name in {"reduce-scatter", "allreduce"}:
        wanted[:] = mine.sum(dim=0)
    columns = (rounds.step, rounds.src, rounds.dst, rounds.block, rounds.lo, rounds.hi)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    for step in range(1, rounds.steps + 1):
        sent = [(row, have[row[1], row[3], row[4] : row[5]].clone()) for row in rows if row[0] == step]
        for (_, _, dst, block, lo, hi), data in sent:
            if step <= rounds.reduce_steps:
                have[dst, block, lo:hi] += data
            else:
                have[dst, block, lo:hi] = data
    if name == "reduce-scatter":
        return all(torch.equal(have[node, node], wanted[node, node]) for node in range(nodes))
    if name == "all-to-all":
        pairs = [(source, goal) for source in range(nodes) for goal in range(nodes)]
        return all(torch.equal(have[goal, s * nodes + goal], mine[s, s * nodes + goal]) for s, goal in pairs)
    return bool(torch.equal(have, wanted))


WORKER = """
import sys, time
import cupy
import torch, torch.distributed as dist
from mscclpp import CommGroup, DataType, ExecutionPlan, Executor, PacketType
path, collective, packets, sizes = sys.argv[1], sys.argv[2], sys.argv[3] == "LL", [int(size) for size in sys.argv[4:]]
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
cupy.cuda.Device(rank % cupy.cuda.runtime.getDeviceCount()).use()
group = CommGroup(torch_group=dist.group.WORLD)
plan, executor = ExecutionPlan(path, rank), Executor(group.communicator)
stream = cupy.cuda.Stream(non_blocking=True)
for size in sizes:
    whole = size // 4 // ranks * ranks
    part = whole // ranks
    send = part if collective == "allgather" else whole
    receive = part if collective == "reduce-scatter" else whole
    values = [cupy.arange(send, dtype=cupy.int32) % 1000 + 1000 * one for one in range(ranks)]
    source, target = values[rank].copy(), cupy.zeros(receive, dtype=cupy.int32)
    if collective == "allgather":
        wanted = cupy.concatenate(values)
    elif collective == "all-to-all":
        wanted = cupy.concatenate([value[rank * part : (rank + 1) * part] for value in values])
    else:
        wanted = sum(values[1:], values[0])
        wanted = wanted if collective == "allreduce" else wanted[rank * part : (rank + 1) * part]
    kind = PacketType.LL16 if packets else PacketType.LL8
    def launch():
        executor.execute(rank, source.data.ptr, target.data.ptr, source.nbytes, target.nbytes, DataType.int32, plan,
                         stream.ptr, kind)
    for _ in range(3):
        launch()
    stream.synchronize()
    right = bool((target == wanted).all())
    dist.barrier()
    begin = time.perf_counter()
    for _ in range(20):
        launch()
    stream.synchronize()
    took = (time.perf_counter() - begin) / 20
    if rank == 0:
        print(f"ran {whole * 4} {'right' if right else 'WRONG'} {took:.9f}", flush=True)
    assert right, (path, size, rank)
"""


def build_mscclpp(checkout: Path, folder: Path) -> dict[str, str]:
    """Install MSCCL++ from its source into a folder, and return the environment in which it is found."""
    target = (folder / "mscclpp").resolve()
    if not target.is_dir():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target), str(checkout)]
        subprocess.run(command, check=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), os.environ.get("PYTHONPATH", "")])}


def run_by_executor(path: Path, collective: str, protocol: str, ranks: int, environment: dict[str, str]) -> list[str]:
    """Run a plan in a process for each rank, and return what the first says of every size."""
    script = path.with_suffix(".worker.py")
    script.write_text(WORKER)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), str(script)]
    words = [str(path), collective, protocol, *map(str, SIZES if protocol == "Simple" else SIZES[:2])]
    ran = subprocess.run(
        [*launcher, *words], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    said = [line for line in ran.stdout.splitlines() if line.startswith("ran ")]
    return said if ran.returncode == 0 else [*said, "failed: " + (ran.stderr.strip().splitlines() or ["?"])[-1]]


def main() -> None:
    """Make plans, move them, and run them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mscclpp", type=Path)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--folder", type=Path, default=Path("build/gpu"))
    parser.add_argument("--alpha", default="5us")
    parser.add_argument("--bandwidth", default="3.6Tbps")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    made = []
    for number, (spec, collective) in enumerate(PLANS):
        place = build(spec.format(asked.ranks))
        plan = schedule(place, collective)
        verdict = "right" if moved(plan, device) else "WRONG"
        print(f"{collective:15} on {spec.format(asked.ranks):14} {verdict} on {device}")
        for protocol in PROTOCOLS:
            path = (asked.folder / f"{number}-{collective}-{protocol}.json").resolve()
            compile_plan(plan, "mscclpp", protocol=protocol, inplace=False).checked().save(path)
            made.append((path, plan, protocol))
    print(f"{len(made)} plans made and checked, in {asked.folder}")
    lacks = missing(asked.mscclpp)
    if lacks:
        on = "Sends of plans ran as tensors on a GPU; no program did" if device == "cuda" else "Nothing ran on a GPU"
        print(f"{on}: {', '.join(lacks)} {'is' if len(lacks) == 1 else 'are'} missing.")
        return
    environment = build_mscclpp(asked.mscclpp, asked.folder)
    card = torch.cuda.get_device_name(0)
    print(f"{torch.cuda.device_count()} x {card}, {time.strftime('%Y-%m-%d')}; seconds run and by the model")
    for path, plan, protocol in made:
        for line in run_by_executor(path, plan.collective.name, protocol, asked.ranks, environment):
            words = line.split()
            model = ""
            if words[0] == "ran":
                found = simulate(plan, size=int(words[1]), alpha=asked.alpha, bandwidth=asked.bandwidth)
                model = f" {float(found.time):.9f}"
            print(f"{path.stem:32} {line}{model}")


if __name__ == "__main__":
    main()
