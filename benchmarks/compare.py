"""Hold this checkout's speed against another's: CPU seconds of both in turn, with machine code already on disk.

    python benchmarks/compare.py --before ../old [--only PATTERN] [--runs 3]

Whole processes are run from each checkout: commands of the program, of which the whole counts, and the benchmarks that
print seconds, of which every figure counts. A benchmark is that of its own checkout, told that the time is the CPU time
of its process and its children, so that idle cores and other programs count for nothing. Each figure is the least of
all runs; "ratio" is after over before, with a mark where it is above 1.10.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parents[1]
LIMIT = 1.10
LEAST = 0.02
"""CPU seconds below which a figure says little."""

BENCHMARKS = (
    "pricing.py",
    "forest.py A100",
    "forest.py MI250",
    "forest.py torus",
    "forest.py hypercube",
    "schedules.py",
    "verify_speed.py",
    "wiring.py",
)
COMMANDS = (
    "--help",
    "pareto -n 1024 -d 4",
    "pareto -n 200 -d 6 --catalog none --time-limit 0s",
    "pareto -n 1024 -d 4 --time-limit 0s",
    "pareto -n 2000 -d 16 --time-limit 0s",
    "evaluate circulant(12,2,3)",
    "evaluate genkautz(4,200)",
    "evaluate genkautz(4,2000)",
    "evaluate dgx_a100(2) --collective allgather",
    "evaluate dgx_a100(16) --collective allgather",
    "schedule genkautz(4,200) -o {folder}/plan.npz",
    "verify {folder}/plan.npz",
    "simulate {folder}/plan.npz",
    "compile circulant(12,2,3) --collective allreduce -o {folder}/small.xml",
    "compile hypercube(5) --collective allreduce -o {folder}/large.xml",
    "compile torus(8,8) --collective allreduce -o {folder}/torus.xml",
    "compile torus(8,8) --collective all-to-all -o {folder}/exchange.xml",
    "compile torus(8,8) --collective all-to-all --target mscclpp -o {folder}/exchange.json",
    "compile genkautz(4,256) --collective allreduce -o {folder}/kautz.xml",
    "compile catalog(200,6,2) --collective allreduce -o {folder}/catalog.xml",
    "wire plan circulant(12,2,3) --inventory {configs}/inventory_testbed.yaml -o {folder}/wiring.json",
)
CLOCK = """
import resource, sys, time
def clock():  # in thousandths: benchmarks print two decimals
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return 1000 * sum(one.ru_utime + one.ru_stime for one in used)
time.perf_counter = time.process_time = clock
sys.argv = sys.argv[1:]
benchmark = {"__name__": "benchmark", "__file__": sys.argv[0]}
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"), benchmark)
benchmark["FRONTIERS"] = ()  # those are whole processes, measured as such
benchmark["main"]()
"""
_TIME = re.compile(r"([\d.]+)(?: s\b)")


def run(tree: Path, arguments: list[str], folder: str) -> tuple[str, float]:
    """Return what a process of a checkout prints and its CPU seconds."""
    own = {"PYTHONPATH": str(tree), "NUMBA_CACHE_DIR": f"{folder}/numba", "PYTHONPYCACHEPREFIX": f"{folder}/python"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **own, "PYTHONDONTWRITEBYTECODE": ""},
        cwd=folder,  # where Python looks first, so neither checkout
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def figures(workload: str, tree: Path, folder: str) -> Iterator[tuple[str, float]]:
    """Yield the name and seconds of every figure of a workload."""
    if workload not in BENCHMARKS:
        parts = [part.format(folder=folder, configs=HERE / "configs") for part in workload.split()]
        yield workload.format(folder=".", configs="."), run(tree, ["-m", "topodesign", *parts], folder)[1]
        return
    script, *options = workload.split()
    printed, _ = run(tree, ["-c", CLOCK, str(tree / "benchmarks" / script), *options], folder)
    for line in printed.splitlines():
        name = _label(line)
        for place, milliseconds in enumerate(_TIME.findall(line), start=1):
            yield f"{script} {name} [{place}]", float(milliseconds) / 1000


def _label(line: str) -> str:
    """Return the first words of a line, without what depends on speed."""
    return re.sub(r"\s+", " ", _TIME.sub("", line)).strip()[:44]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="the other checkout")
    parser.add_argument("--only", default="", help="only workloads with this in their names")
    parser.add_argument("--runs", type=int, default=3, help="runs of each workload in each checkout that count")
    options = parser.parse_args()
    trees = (options.before.resolve(), HERE)
    print(f"{'CPU seconds':72}{'before':>9}{'after':>9}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as old, tempfile.TemporaryDirectory() as new:
        for workload in (*BENCHMARKS, *COMMANDS):
            if options.only not in workload and not workload.startswith("schedule "):  # that makes what others read
                continue
            least: tuple[dict[str, float], dict[str, float]] = ({}, {})
            for number in range(options.runs + 1):  # the first run compiles
                for tree, folder, found in zip(trees, (old, new), least, strict=True):
                    for name, seconds in figures(workload, tree, folder):
                        if number:
                            found[name] = min(found.get(name, seconds), seconds)
            for name in [name for name in least[0] if name in least[1] and max(least[0][name], least[1][name]) > LEAST]:
                one, other = (found[name] for found in least)
                mark = " <" if other > LIMIT * one else ""
                print(f"{name:72}{one:9.3f}{other:9.3f}{other / max(one, 1e-9):7.2f}{mark}", flush=True)


if __name__ == "__main__":
    main()
