"""Loading and usage checks of library programs: variables, commands, script."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from topodesign.base.declared import Declared
from topodesign.plans.sets import ForSizes, program_names
from topodesign.runtime.calls import width_of

_MAX_FILES = 4  # of MSCCL_XML_FILES in microsoft/msccl
_LOG = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,COLL,TUNING NCCL_DEBUG_FILE=run.%h.%p.log"
_TESTS = {
    "allreduce": "all_reduce_perf",
    "allgather": "all_gather_perf",
    "reduce-scatter": "reduce_scatter_perf",
    "all-to-all": "alltoall_perf",
}
_TYPES = {1: "int8", 2: "half", 4: "float", 8: "double"}  # of nccl-tests, by the bytes of an element

_SCRIPT = '''"""Makes every call of the workload with torch.distributed, checks the results, and prints a line for each.

    torchrun --nproc-per-node N DIR/calls.py [BACKEND]

BACKEND is nccl where there are GPUs and gloo elsewhere; topodesign is the backend of plans (TOPODESIGN_PLANS=DIR).
"""

import sys
import time

import torch
import torch.distributed as dist

CALLS = [  # collective, group (None: all ranks), bytes of the whole data
{calls}
]
DTYPE = torch.{dtype}


def main():
    backend = sys.argv[1] if len(sys.argv) > 1 else "nccl" if torch.cuda.is_available() else "gloo"
    if backend == "topodesign":
        import topodesign.execution.torch  # noqa: F401  registers the backend
    dist.init_process_group(backend)
    rank = dist.get_rank()
    if torch.cuda.is_available():
        torch.cuda.set_device(rank % torch.cuda.device_count())
    device = "cuda" if torch.cuda.is_available() else "cpu"
    groups = {{}}
    for _, members, _ in CALLS:
        key = None if members is None else tuple(members)
        if key not in groups:
            groups[key] = None if key is None else dist.new_group(list(key))
    wrong = 0
    for collective, members, size in CALLS:
        ranks = list(range(dist.get_world_size())) if members is None else members
        if rank not in ranks:
            continue
        group, many, own = groups[None if members is None else tuple(members)], len(ranks), ranks.index(rank)
        elements = size // DTYPE.itemsize
        part = elements // many
        gives, total = own % 2, many // 2  # small numbers, exact in every type
        ones = torch.ones(elements, dtype=DTYPE, device=device)
        begin = time.perf_counter()
        if collective == "allreduce":
            found, wanted = ones * gives, ones * total
            dist.all_reduce(found, group=group)
        elif collective == "allgather":
            found, wanted = ones * 0, (torch.arange(many, device=device) % 2).repeat_interleave(part).to(DTYPE)
            dist.all_gather_into_tensor(found, ones[:part] * gives, group=group)
        elif collective == "reduce-scatter":
            found, wanted = ones[:part] * 0, ones[:part] * total
            dist.reduce_scatter_tensor(found, ones * gives, group=group)
        else:
            found, wanted = ones * 0, (torch.arange(many, device=device) % 2).repeat_interleave(part).to(DTYPE)
            dist.all_to_all_single(found, ones * gives, group=group)
        if device == "cuda":
            torch.cuda.synchronize()
        took, right = time.perf_counter() - begin, torch.equal(found[: len(wanted)], wanted[: len(found)])
        wrong += not right
        if own == 0:
            verdict = "right" if right else "WRONG"
            print(f"{{collective}} of {{many}} ranks, {{size}} bytes: {{verdict}}, {{took:.6f}} s", flush=True)
    dist.destroy_process_group()
    sys.exit(wrong > 0)


main()
'''


@dataclass(frozen=True)
class Use(Declared):
    """Loading instructions and usage checks of a runtime (DIR: the directory)."""

    runtime: str  # what loads them
    environment: tuple[str, ...]  # variables of every process
    tests: tuple[str, ...]  # commands that make the calls; each says whether results are right
    check: tuple[str, ...]  # commands that say whether programs were used
    note: str | None  # what else has to be known

    KEYS = "runtime environment tests check note"

    def __str__(self) -> str:
        lines = [f"# {self.runtime}", *(f"export {one}" for one in self.environment), *self.tests, *self.check]
        return "\n".join(lines if self.note is None else [*lines, f"# {self.note}"])


def uses_of(
    plans: Sequence[ForSizes],
    saved: Sequence[float],
    calls: Sequence[tuple[str, tuple[int, ...] | None, int]],
    ranks: int,
    dtype: str,
    *,
    runtime: str | None = None,
) -> tuple[Use, ...]:
    """Return the loading instructions per runtime, largest savings first.

    * ``saved``: seconds that the programs of each plan save.
    * ``calls``: collective, group and size of every call of the workload.
    * ``runtime``: of programs in XML; that of microsoft/msccl if None.
    """
    script = f"torchrun --nproc-per-node {ranks} DIR/calls.py"
    word = _TYPES[width_of(dtype)]
    sizes = list(dict.fromkeys((name, size) for name, group, size in calls if group is None and name in _TESTS))
    tests = (*(f"mpirun -np {ranks} {_TESTS[name]} -b {size} -e {size} -d {word} -c 1" for name, size in sizes), script)
    found = []
    files, by_rank = program_names(plans)
    order = sorted(range(len(plans)), key=lambda number: -saved[number])
    best = [files[number] for number in order]
    programs = [(kind.partition("-")[0], name) for one in best for kind, name in one.items()]
    own = list(dict.fromkeys(name for target, name in programs if target == "msccl"))
    if own:
        own_rank = "/rank$OMPI_COMM_WORLD_RANK" if "msccl" in by_rank else ""
        check = tuple(f"topodesign doctor run.HOST.PID.log --program DIR/{name}" for name in own)
        directory = f"MSCCL_ALGO_DIR=DIR/msccl{own_rank}"
        few = own[:_MAX_FILES]
        note = None
        if own_rank:
            note = "each rank loads a directory of its own; another launcher than Open MPI has another variable"
        if runtime is not None and runtime.startswith("msccl-executor"):
            found.append(Use(runtime, (directory, *_LOG.split()), tests, check, note))
        elif runtime == "rccl":
            found.append(Use(runtime, (directory, "RCCL_MSCCL_FORCE_ENABLE=1", *_LOG.split()), tests, check, note))
        else:
            if own_rank:
                note = "each rank names the files of its directory"
            elif len(own) > len(few):
                note = f"it loads {_MAX_FILES} files at most: these are those that save the most time"
            variables = (f"MSCCL_XML_FILES={':'.join(f'DIR/{name}' for name in few)}", "NCCL_ALGO=MSCCL,RING,TREE")
            found.append(Use("msccl", (*variables, *_LOG.split()), tests, check, note))
    plus = list(dict.fromkeys(name for target, name in programs if target == "mscclpp"))
    if plus:
        check = tuple(f"topodesign doctor run.log --program DIR/{name}" for name in plus)
        log = ("MSCCLPP_LOG_LEVEL=INFO", "MSCCLPP_LOG_FILE=run.log")
        how = "register the files of DIR/mscclpp with its Python or C++ interface: no variable names them"
        found.append(Use("mscclpp", log, tests, check, how))
    backend = f"{script} topodesign"
    found.append(
        Use("torch", ("TOPODESIGN_PLANS=DIR",), (backend,), (), "init_process_group('topodesign') in training")
    )
    return tuple(found)


def call_script(calls: Sequence[tuple[str, tuple[int, ...] | None, int]], dtype: str) -> str:
    """Return a PyTorch script that runs and checks calls."""
    known = dict.fromkeys((name, group, size) for name, group, size in calls)
    rows = [f"    {json.dumps([name, None if group is None else list(group), size])}," for name, group, size in known]
    width = width_of(dtype)
    kind = {1: "int8", 2: "bfloat16" if "b" in dtype.lower() else "float16", 4: "float32", 8: "float64"}[width]
    return _SCRIPT.format(calls="\n".join(rows).replace("null", "None"), dtype=kind)
