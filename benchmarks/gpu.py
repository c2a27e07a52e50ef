"""Run plans on a GPU: MSCCL++ plans by its own executor, and the sends of plans as tensors of torch.

    python benchmarks/gpu.py [make] [build] [run] [report] [--mscclpp CHECKOUT] [--folder build/gpu] [--ranks 4]
                             [--ranks-as processes|threads] [--wide] [--own PLAN ...]

``make`` compiles ten plans of each protocol for one box, in place and out of place (``--wide``: of more networks, with
broadcasts, 8 ranks, and boxes joined by ports). ``build`` builds the executor from a checkout of microsoft/mscclpp and
gpu_rank.cu around it, in the folder, which git ignores. ``run`` moves the data of the plans by torch, and executes
the plans by the executor: several launches in a row without a barrier, each with data of its own, ranks late by
different times, every element compared. ``report`` prints the times beside those of ``simulate``. Without these words
it does all four. Only ``make`` and ``report`` need topodesign, so ``run`` can be on another machine with the folder.

All ranks share the first card. So threadblocks of all ranks have to be resident together, and times say what the
executor's operations cost, and nothing about links. As processes, ranks reach each other's memory as on a box, but
the card runs them in turns, which takes milliseconds a step, unless MPS joins them: it is started if it is there
(``nvidia-cuda-mps-control``). As threads, ranks share a context and run together.

Needed: ``build``: the CUDA toolkit, cmake, libnuma; ``run``: a GPU, and torch for CUDA. Plans for NVLS cannot run: a
switch joins several cards. What is missing is said, and the rest is done.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np

Job = dict[str, Any]
COLLECTIVES = ("allreduce", "allgather", "reduce-scatter", "all-to-all")
ROOTED = ("broadcast", "reduce")
NETWORKS = ("uniring(1,{})", "complete({})", "biring(2,{})")  # the first measures alpha and bandwidth
WIDE = ("hypercube(3)", "torus(2,4)", "complete(8)", "circulant(7,1,2)", "complete(2)", "torus(2,3)", "genkautz(2,5)")
PROTOCOLS: tuple[Literal["Simple", "LL"], ...] = ("Simple", "LL")
SIZES = {"Simple": (2**12, 2**16, 2**20, 2**24), "LL": (2**12, 2**16, 2**20)}
STEPS = ("make", "build", "run", "report")
PATIENCE = 30  # seconds without a line until ranks count as hung

# what starts the ranks that it is told as threads, each with its copy of the library
WORKER = """
import ctypes, sys, threading
library, address, ranks, jobs, *mine = sys.argv[1:]
def run(rank):
    ctypes.CDLL(f"{library}.{rank}").run_rank(int(rank), int(ranks), address.encode(), jobs.encode())
threads = [threading.Thread(target=run, args=(rank,)) for rank in mine]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def make(folder: Path, ranks: int, wide: bool, own: list[Path]) -> None:
    """Compile plans, and write them with the jobs that run them and the sends that torch moves."""
    from topodesign import build, compile_plan, schedule  # noqa: PLC0415  the machine that runs may be without

    chosen: list[tuple[str, str, Job]] = [
        (name.format(ranks), what, {}) for name, what in product(NETWORKS, COLLECTIVES)
    ]
    chosen = chosen[:10]
    if wide:
        chosen += [(name, what, {}) for name, what in product(WIDE, COLLECTIVES)]
        chosen += [("torus(2,4)", what, {"box": 4}) for what in COLLECTIVES]
        chosen += [(name, what, {"root": 1}) for name, what in product(("torus(2,4)", "complete(4)"), ROOTED)]
    plans: list[Job] = []
    for number, (spec, collective, how) in enumerate(chosen):
        plan = schedule(build(spec), collective, root=how.get("root"))
        if not how:
            rounds = plan.rounds
            columns = (rounds.step, rounds.src, rounds.dst, rounds.block, rounds.lo, rounds.hi)
            blocks = plan.collective.block_count(plan.topology.nodes)
            shape = np.array([plan.topology.nodes, blocks, rounds.units, rounds.steps, rounds.reduce_steps])
            np.savez(folder / f"sends-{number}-{collective}.npz", sends=np.stack(columns), shape=shape)
        for protocol, inplace in product(PROTOCOLS, (False, True)):
            name = f"{number}-{collective}-{protocol}-{'in' if inplace else 'out'}"
            try:
                made = compile_plan(plan, "mscclpp", protocol=protocol, inplace=inplace, box=how.get("box")).checked()
            except ValueError as refused:
                print(f"{name} of {spec}: {refused}")
                continue
            made.save(folder / f"{name}.json")
            plans.append({"plan": name, "spec": spec, "root": how.get("root", 0), "box": how.get("box")})
    for path in own:
        shutil.copy(path, folder / path.name)
        plans.append({"plan": path.stem, "spec": "", "root": 0, "box": None})
    jobs = [job for plan in plans for job in jobs_of(folder, plan)]
    (folder / "jobs.json").write_text(json.dumps(jobs, indent=0))
    print(f"{len(plans)} plans made and checked, {len(jobs)} jobs, in {folder}")


def jobs_of(folder: Path, plan: Job) -> list[Job]:
    """Return the jobs of a plan file: whole sizes near those wanted, one chunk of the smallest size, and odd ones."""
    text = json.loads((folder / f"{plan['plan']}.json").read_text())
    gpus, protocol = text["gpus"], text["protocol"]
    unit = 16 * max(max(gpu["input_chunks"], gpu["output_chunks"]) for gpu in gpus)
    own = text["collective"]
    collective = {"reducescatter": "reduce-scatter", "alltoall": "all-to-all"}.get(own, own)
    least, most = text.get("min_message_size", 0), text.get("max_message_size", 2**32)
    sizes = sorted({max(1, size // unit) * unit for size in SIZES[protocol]} | {unit, 37 * unit})
    same = {"ranks": len(gpus), "collective": collective, "protocol": protocol, "inplace": text["inplace"]}
    return [
        {**plan, **same, "size": size, "launches": 16 if size <= 2**20 else 4, "packet": packet}
        for size in sizes
        if least <= size <= most
        for packet in ((16, 8) if protocol == "LL" and size == 37 * unit else (16,))
    ]


def build_ranks(checkout: Path, folder: Path) -> None:
    """Build the executor of a checkout, and the library of a rank around it."""
    place = folder / "mscclpp"
    off = ("PYTHON_BINDINGS", "EXT_NCCL", "EXT_COLLECTIVES")
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DMSCCLPP_BYPASS_GPU_CHECK=ON", "-DMSCCLPP_USE_CUDA=ON"]
    options += ["-DMSCCLPP_USE_IB=OFF", "-DMSCCLPP_USE_GDRCOPY=OFF", "-DMSCCLPP_GPU_ARCHS=" + architecture()]
    options += [f"-DMSCCLPP_BUILD_{name}=OFF" for name in off]
    # every copy of the library needs variables of its own, also those in functions of classes
    options += ["-DCMAKE_CXX_FLAGS=-fno-gnu-unique"]
    subprocess.run(["cmake", "-S", str(checkout), "-B", str(place), *options], check=True)
    subprocess.run(["cmake", "--build", str(place), "-j", "--target", "mscclpp_static"], check=True)
    include = [f"-I{checkout / 'include'}", f"-I{place / 'include'}"]
    flags = ["-std=c++20", "-shared", f"-arch=sm_{architecture()}", "-Xcompiler", "-fPIC,-fno-gnu-unique"]
    libraries = ["-lcuda", "-lnvidia-ml", "-lnuma", "-lpthread", "-ldl"]
    stubs = Path(shutil.which("nvcc") or "nvcc").resolve().parents[1] / "lib64/stubs"
    source = Path(__file__).with_name("gpu_rank.cu")
    archive = place / "lib/libmscclpp_static.a"
    goal = str(folder / "librank.so")
    subprocess.run(
        ["nvcc", *flags, *include, str(source), str(archive), f"-L{stubs}", *libraries, "-o", goal], check=True
    )


def architecture() -> str:
    """Return the compute capability of the first card in two digits, or that of an H100 without one."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        asked = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        return said.splitlines()[0].replace(".", "").strip()
    return "90"


def move_tensors(folder: Path) -> list[Job]:
    """Move the data of plans as their rounds say, by torch, and compare every element."""
    import torch  # noqa: PLC0415  the machine that makes plans may be without

    device = "cuda" if torch.cuda.is_available() else "cpu"
    done = []
    for path in sorted(folder.glob("sends-*.npz")):
        collective = path.stem.split("-", 2)[2]
        with np.load(path) as read:
            nodes, blocks, units, steps, reduce_steps = read["shape"].tolist()
            rows = list(zip(*read["sends"].tolist(), strict=True))
        mine = torch.randint(-(2**20), 2**20, (nodes, blocks, units, 256), device=device, dtype=torch.int64)
        have = mine.clone()
        for step in range(1, steps + 1):
            sent = [(row, have[row[1], row[3], row[4] : row[5]].clone()) for row in rows if row[0] == step]
            for (_, _, target, block, lo, hi), data in sent:
                if step <= reduce_steps:
                    have[target, block, lo:hi] += data
                else:
                    have[target, block, lo:hi] = data
        every = range(nodes)
        if collective == "allgather":
            wrong = sum(int((have[node, at] != mine[at, at]).sum()) for node in every for at in every)
        elif collective == "allreduce":
            wrong = int((have != mine.sum(dim=0)).sum())
        elif collective == "reduce-scatter":
            wrong = sum(int((have[node, node] != mine[:, node].sum(dim=0)).sum()) for node in every)
        else:
            pairs = [(source, goal, source * nodes + goal) for source in every for goal in every]
            wrong = sum(int((have[goal, at] != mine[source, at]).sum()) for source, goal, at in pairs)
        done.append({"sends": path.stem, "device": device, "elements": have.numel(), "wrong": wrong})
        print(f"tensors {path.stem}: {have.numel()} elements on {device}, {wrong} wrong", flush=True)
    return done


def run_jobs(folder: Path, jobs: list[Job], ranks_as: str, until: float) -> None:
    """Execute jobs of equal numbers of ranks, and write into each what its ranks said of it, or that they hung."""
    left = list(jobs)
    ranks = left[0]["ranks"]
    library = (folder / "librank.so").resolve()
    for rank in range(ranks):
        shutil.copy(library, f"{library}.{rank}")
    port = 20000 + os.getpid() % 10000
    while left and time.time() < until:
        port += 1
        listed = folder / "list.txt"
        rows = [
            f"{at} {(folder / job['plan']).resolve()}.json {job['collective']} {job['root']} {int(job['inplace'])} "
            f"{job['packet']} {job['size']} {job['launches']} {job.get('timed', 20)}"
            for at, job in enumerate(left)
        ]
        listed.write_text("\n".join(rows) + "\n")
        groups = [list(range(ranks))] if ranks_as == "threads" else [[rank] for rank in range(ranks)]
        words = [sys.executable, "-c", WORKER, str(library), f"lo:127.0.0.1:{port}", str(ranks), str(listed)]
        environment = {**os.environ, "CUDA_MODULE_LOADING": "EAGER", "CUDA_DEVICE_MAX_CONNECTIONS": "32"}
        reading, writing = os.pipe()
        started = [
            subprocess.Popen([*words, *map(str, group)], stdout=writing, env=environment, start_new_session=True)
            for group in groups
        ]
        os.close(writing)
        finished = follow(reading, left, ranks, until)
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(reading)
        left = left[finished + 1 :]  # the job after those that ended hung, or failed


def follow(reading: int, jobs: list[Job], ranks: int, until: float) -> int:
    """Write into jobs what ranks say, and return how many ended before the first that did not."""
    buffered, at, said = b"", 0, 0
    while at < len(jobs):
        ready, _, _ = select.select([reading], [], [], max(0, min(PATIENCE, until - time.time())))
        read = os.read(reading, 65536) if ready else b""
        if not read:
            jobs[at].setdefault("fault", "ended" if ready else "out of time" if time.time() >= until else "hung")
            print(f"{jobs[at]['plan']} {jobs[at]['size']}: {jobs[at]['fault']}", flush=True)
            return at
        *lines, buffered = (buffered + read).split(b"\n")
        for line in lines:
            words = line.decode(errors="replace").split()
            if words[:1] == ["fault"]:
                jobs[at]["fault"] = " ".join(words[2:])
            if words[:1] != ["job"]:
                print(line.decode(errors="replace"), flush=True)
                continue
            job = jobs[int(words[1])]
            job["wrong"] = job.get("wrong", 0) + int(words[3])
            job["microseconds"] = max(job.get("microseconds", 0), float(words[6]))
            if int(words[3]):
                print(f"WRONG {job} rank {words[2]}: {words[3]}, first in launch {words[4]} at {words[5]}", flush=True)
            said += 1
            if said % ranks == 0:
                at = said // ranks
                print(f"{job['plan']} {job['size']}: {job['wrong']} wrong, {job['microseconds']:.1f} us", flush=True)
    return at


@contextlib.contextmanager
def joined(folder: Path, ranks_as: str) -> Iterator[bool]:
    """Join the processes of ranks by MPS while this lasts, if it is there, and yield whether they are."""
    control = shutil.which("nvidia-cuda-mps-control")
    if ranks_as == "threads" or control is None:
        yield False
        return
    for name in ("PIPE", "LOG"):
        os.environ[f"CUDA_MPS_{name}_DIRECTORY"] = str((folder / f"mps-{name.lower()}").resolve())
    began = subprocess.run([control, "-d"], check=False).returncode == 0
    try:
        yield began
    finally:
        subprocess.run([control], input="quit\n", text=True, check=False, timeout=30)


def run(folder: Path, ranks_as: str, seconds: float) -> None:
    """Move tensors and execute all jobs, and write what came out of both."""
    until = time.time() + seconds
    jobs: list[Job] = json.loads((folder / "jobs.json").read_text())
    found: Job = {
        "date": time.strftime("%Y-%m-%d"),
        "ranks_as": ranks_as,
        "tensors": move_tensors(folder),
        "jobs": jobs,
    }
    try:
        if not (folder / "librank.so").exists():
            print("No program ran on a GPU: there is no librank.so in the folder (build).")
        elif all(one["device"] == "cpu" for one in found["tensors"]):
            print("Nothing ran on a GPU: torch sees none.")
        else:
            with joined(folder, ranks_as) as mps:
                found["mps"] = mps
                for ranks in sorted({job["ranks"] for job in jobs}):
                    run_jobs(folder, [job for job in jobs if job["ranks"] == ranks], ranks_as, until)
    finally:
        asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        with contextlib.suppress(OSError):
            found["card"] = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        (folder / "results.json").write_text(json.dumps(found, indent=0))


def report(folder: Path) -> None:
    """Print what ran, and times beside those of the model with alpha and bandwidth of the first plan."""
    from topodesign import build, schedule, simulate  # noqa: PLC0415  as above

    found = json.loads((folder / "results.json").read_text())
    jobs = [job for job in found["jobs"] if "wrong" in job and "fault" not in job]
    faults = [job for job in found["jobs"] if "fault" in job]
    plans = {job["plan"] for job in jobs}
    launches = sum(job["launches"] for job in jobs)
    print(f"{found.get('card', 'no card')}, {found['date']}, ranks as {found['ranks_as']}, MPS: {found.get('mps')}")
    wrong = sum(job["wrong"] > 0 for job in jobs)
    print(f"{len(plans)} plans in {len(jobs)} jobs, {launches} launches compared; {wrong} jobs with wrong elements")
    print(f"{len(faults)} jobs hung or failed")
    for job in faults:
        print(f"  {job['plan']} {job['size']}: {job['fault']}")
    for protocol, sizes in SIZES.items():
        kept = [job for job in jobs if job["protocol"] == protocol and job["spec"] and not job["box"]]
        rings = [job for job in kept if job["spec"].startswith("uniring") and job["collective"] == "allgather"]
        rings = sorted((job for job in rings if not job["inplace"]), key=lambda job: int(job["size"]))
        if not rings:
            continue
        low, high = rings[0], rings[-1]
        steps = low["ranks"] - 1
        alpha = low["microseconds"] / steps
        moved = (high["size"] - low["size"]) * steps / high["ranks"]
        link = moved * 8 / max(high["microseconds"] - low["microseconds"], 1e-3) / 1000  # Gbps
        print(f"{protocol}: alpha {alpha:.2f} us, {link / 8:.1f} GB/s a link, by allgathers on {low['spec']}")
        for job in kept:
            if job["root"] or job["size"] not in sizes:
                continue
            place = build(job["spec"])
            plan = schedule(place, job["collective"])
            bandwidth = f"{link * place.degree:.3f}Gbps"
            model = simulate(plan, size=job["size"], alpha=f"{alpha:.3f}us", bandwidth=bandwidth)
            said = f"{job['microseconds']:10.1f} us, model {float(model.time) * 1e6:10.1f} us"
            print(f"  {job['plan']:32} {job['spec']:14} {job['size']:9} bytes {said}")


def main() -> None:
    """Do the steps that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("steps", nargs="*", choices=STEPS, default=list(STEPS))
    parser.add_argument("--mscclpp", type=Path)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--ranks-as", choices=("processes", "threads"), default="threads")
    parser.add_argument("--folder", type=Path, default=Path("build/gpu"))
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--own", type=Path, nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=360)
    asked = parser.parse_args()
    steps = asked.steps
    asked.folder.mkdir(parents=True, exist_ok=True)
    if "make" in steps:
        make(asked.folder, asked.ranks, asked.wide, asked.own)
    if "build" in steps:
        lacks = [name for name in ("nvcc", "cmake") if shutil.which(name) is None]
        lacks += [] if asked.mscclpp else ["--mscclpp, a checkout of microsoft/mscclpp"]
        if lacks:
            print("Not built; missing:", ", ".join(lacks))
        else:
            build_ranks(asked.mscclpp.resolve(), asked.folder)
    if "run" in steps:
        run(asked.folder, asked.ranks_as, asked.seconds)
    if "report" in steps:
        report(asked.folder)


if __name__ == "__main__":
    main()
