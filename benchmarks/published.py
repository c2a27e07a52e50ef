"""Hold programs against those that the MSCCL tools and MSCCL++ publish: operations, threadblocks, scratch.

    python benchmarks/published.py --msccl-tools ../msccl-tools --mscclpp ../mscclpp [--seconds]

The arguments are checkouts of microsoft/msccl-tools and microsoft/mscclpp. Their scripts are run as they are, in a
process each, with empty modules for what only a solver or a GPU needs; the programs that they print are counted. Beside
each is what ``topodesign compile`` makes for the same target and links: of a rank with the most operations and
threadblocks, and scratch over the data M of the collective. ``--seconds`` tells instead what whole processes take that
write and check such programs of 64 and 128 ranks, the least of some runs in turn, or why there is none of ours.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path

from topodesign import compile_plan, schedule
from topodesign.base.errors import TopodesignError
from topodesign.compiler.options import Protocol

TOOLS = {  # script and arguments: links, collective, method
    "allgather_ring 8 1 1": ("uniring(1,8)", "allgather", "auto"),
    "allgather_allpairs 8 1": ("complete(8)", "allgather", "auto"),
    "allgather_recursive_doubling 8 1": ("hypercube(3)", "allgather", "halving-doubling"),
    "allreduce_a100_ring 8 1 1": ("uniring(1,8)", "allreduce", "auto"),
    "allreduce_a100_allpairs 8 1": ("complete(8)", "allreduce", "auto"),
    "allreduce_recursive_doubling_halving 8 1": ("hypercube(3)", "allreduce", "halving-doubling"),
    "alltoall_allpairs 8 1": ("complete(8)", "all-to-all", "auto"),
    "allgather_ring 16 1 1": ("uniring(1,16)", "allgather", "auto"),
    "allgather_allpairs 16 1": ("complete(16)", "allgather", "auto"),
    "allgather_recursive_doubling 16 1": ("hypercube(4)", "allgather", "halving-doubling"),
    "allreduce_a100_ring 16 1 1": ("uniring(1,16)", "allreduce", "auto"),
    "allreduce_a100_allpairs 16 1": ("complete(16)", "allreduce", "auto"),
    "allreduce_recursive_doubling_halving 16 1": ("hypercube(4)", "allreduce", "halving-doubling"),
    "alltoall_allpairs 16 1": ("complete(16)", "all-to-all", "auto"),
}
EXECUTOR: dict[str, tuple[tuple[str, str, str], Protocol]] = {  # and the protocol
    "single_node/allreduce --num_gpus 8": (("complete(8)", "allreduce", "auto"), "Simple"),
    "single_node/allreduce_pkt --num_gpus 8": (("complete(8)", "allreduce", "auto"), "LL"),
    "single_node/allreduce_naivy --num_gpus 8": (("complete(8)", "allreduce", "one-shot"), "LL"),
    "single_node/allreduce_nvls_zero_copy --num_gpus 8": (("dgx_h100(1)", "allreduce", "in-network"), "Simple"),
    "single_node/allgather": (("complete(2)", "allgather", "auto"), "Simple"),
    "single_node/allgather_pkt --num_gpus 8": (("complete(8)", "allgather", "auto"), "LL"),
    "single_node/allgather_nvls_zero_copy --num_gpus 8": (("dgx_h100(1)", "allgather", "in-network"), "Simple"),
    "single_node/alltoall/alltoall --num_gpus 8": (("complete(8)", "all-to-all", "auto"), "Simple"),
}

RUNNER = """
import importlib.abc, importlib.machinery, runpy, sys, types
class Empty(types.ModuleType):
    __path__ = []
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *a, **k: None})
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"z3", "igraph", "humanfriendly", "argcomplete", "tabulate"} or "_mscclpp" in name:
            return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec):
        return Empty(spec.name)
    def exec_module(self, module):
        pass
sys.meta_path.append(Finder())
if sys.argv[2] == "mscclpp":
    package = sys.modules["mscclpp"] = types.ModuleType("mscclpp")
    package.__path__ = [sys.argv[1] + "/mscclpp"]
sys.path.insert(0, sys.argv[1])
sys.argv = sys.argv[3:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


LARGE = {  # as TOOLS
    f"{name} {ranks} 1": (spec.format(ranks), collective, "auto")
    for ranks in (64, 128)
    for name, spec, collective in (
        ("alltoall_allpairs", "complete({})", "all-to-all"),
        ("allgather_allpairs", "complete({})", "allgather"),
    )
}
RUNS = 5


def runner(root: Path, package: str, script: Path, arguments: list[str]) -> list[str]:
    """Return the command that runs a script of a checkout."""
    return [sys.executable, "-c", RUNNER, str(root), package, str(script), *arguments]


def seconds(command: list[str]) -> tuple[float, int]:
    """Return what a process takes, user and system, with what it prints thrown away; and how much it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, len(run.stdout)


def show_seconds(root: Path) -> None:
    """Print CPU seconds of the scripts of the MSCCL tools and of ours for the same ranks and collective."""
    print(f"{'CPU seconds of whole processes':44}{'theirs':>8}{'MB':>7}{'ours':>8}{'MB':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (spec, collective, _) in LARGE.items():
            script, *arguments = name.split()
            path = root / "examples" / "mscclang" / f"{script}.py"
            theirs = runner(root, "msccl", path, arguments)
            file = Path(folder) / "ours.xml"
            ours = [sys.executable, "-m", "topodesign", "compile", spec, "--collective", collective, "-o", str(file)]
            tried = subprocess.run(ours, capture_output=True, text=True, check=False)
            if tried.returncode:  # as theirs would be, by a runtime
                first, size = min(seconds(theirs) for _ in range(RUNS))
                print(f"{name:44}{first:8.2f}{size / 1e6:7.2f}  {tried.stderr.strip()}", flush=True)
                continue
            runs = [(seconds(theirs), seconds(ours)) for _ in range(RUNS)]
            (first, size), (second, _) = (min(run[at] for run in runs) for at in range(2))
            print(f"{name:44}{first:8.2f}{size / 1e6:7.2f}{second:8.2f}{file.stat().st_size / 1e6:7.2f}", flush=True)


def printed(root: Path, package: str, script: Path, arguments: list[str]) -> str:
    """Run a script of a checkout; return what it prints."""
    command = runner(root, package, script, arguments)
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{script} fails: {run.stderr.strip().splitlines()[-1]}")
    return run.stdout


Figures = tuple[int, int, Fraction]  # operations, threadblocks, scratch over M


def of_xml(text: str) -> Figures:
    """Count an MSCCL program; steps that only wait are none."""
    program = ET.fromstring(text[text.index("<algo") : text.index("</algo>") + len("</algo>")])  # noqa: S314  our run
    ranks = program.findall("gpu")
    operations = max(sum(step.get("type") != "nop" for step in rank.iter("step")) for rank in ranks)
    blocks = max(len(rank.findall("tb")) for rank in ranks)
    scratch = max(int(rank.get("s_chunks", 0)) for rank in ranks)
    whole = max(int(rank.get(name, 0)) for rank in ranks for name in ("i_chunks", "o_chunks"))
    return operations, blocks, Fraction(scratch, whole)


def of_json(text: str) -> Figures:
    """Count an MSCCL++ plan; packets take their chunks of scratch twice."""
    plan = json.loads(text)
    ranks = plan["gpus"]
    operations = max(sum(len(block["ops"]) for block in rank["threadblocks"]) for rank in ranks)
    blocks = max(len(rank["threadblocks"]) for rank in ranks)
    whole = max(max(rank["input_chunks"], rank["output_chunks"]) for rank in ranks)
    return operations, blocks, Fraction(max(rank["scratch_chunks"] for rank in ranks), whole)


def row(name: str, theirs: Figures, about: tuple[str, str, str], target: str, protocol: Protocol = "Simple") -> None:
    """Print figures of a published program beside those of ours, in place where it can be."""
    spec, collective, method = about
    inplace = collective != "all-to-all"
    try:
        made = compile_plan(schedule(spec, collective, method=method), target, inplace=inplace, protocol=protocol)
        ours = (of_xml if target == "msccl" else of_json)(made.checked().text)
    except TopodesignError as error:
        print(f"{name:44}{theirs[0]:6} refused: {error}")
        return
    pairs = [f"{a} {b}" for a, b in zip(theirs[:2], ours[:2], strict=True)]
    print(f"{name:44}{pairs[0]:>12}{pairs[1]:>9}{f'{float(theirs[2]):.2f} {float(ours[2]):.2f}':>12}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--msccl-tools", type=Path)
    parser.add_argument("--mscclpp", type=Path)
    parser.add_argument("--seconds", action="store_true")
    said = parser.parse_args()
    if said.seconds:
        show_seconds(said.msccl_tools)
        return
    print(f"{'theirs, then ours':44}{'operations':>12}{'blocks':>9}{'scratch/M':>12}")
    for name, about in TOOLS.items() if said.msccl_tools else ():
        script, *arguments = name.split()
        path = said.msccl_tools / "examples" / "mscclang" / f"{script}.py"
        row(name, of_xml(printed(said.msccl_tools, "msccl", path, arguments)), about, "msccl")
    for name, (about, protocol) in EXECUTOR.items() if said.mscclpp else ():
        script, *arguments = name.split()
        root = said.mscclpp / "python"
        path = root / "mscclpp" / "language" / "tests" / f"{script}.py"
        text = printed(root, "mscclpp", path, [*arguments, "--name", "published"])
        row(name.replace("--num_gpus ", ""), of_json(text), about, "mscclpp", protocol)


if __name__ == "__main__":
    main()
