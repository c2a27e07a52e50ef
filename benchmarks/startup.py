"""CPU seconds from the prompt to an answer: the first time on a fresh installation, and later.

Run it with ``python benchmarks/startup.py [PATTERN]``, where only commands with the pattern are measured. Every command
is a process of its own. "First" starts with an empty cache of machine code (but with Python's own, which pip fills),
"later" is the best of three after it, and the ratios are to ``--help`` in the same run.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

INVENTORY = Path(__file__).parents[1] / "configs" / "inventory_testbed.yaml"
COMMANDS = (
    "--help",
    "pareto -n 1024 -d 4",
    "pareto -n 200 -d 6 --catalog none --time-limit 0s",
    "evaluate circulant(12,2,3)",
    "evaluate genkautz(4,200)",
    "evaluate genkautz(4,2000)",
    "evaluate dgx_a100(2) --collective allgather",
    "evaluate dgx_a100(16) --collective allgather",
    "schedule circulant(12,2,3) -o {folder}/small.npz",
    "schedule genkautz(4,200) -o {folder}/large.npz",
    "verify {folder}/small.npz",
    "verify {folder}/large.npz",
    "simulate {folder}/small.npz",
    "compile circulant(12,2,3) --collective allreduce -o {folder}/small.xml",
    "wire plan circulant(12,2,3) --inventory {inventory} -o {folder}/plan.json",
)


def seconds(arguments: list[str], cache: str) -> float:
    """User and system time of one process with its machine code in one folder, and Python's in the one above."""
    here = {"NUMBA_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": str(Path(cache).parent), "PYTHONDONTWRITEBYTECODE": ""}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "topodesign", *arguments],
        env={**os.environ, **here},
        check=True,
        capture_output=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as folder:
        help_seconds = min(seconds(["--help"], f"{folder}/spare") for _ in range(4))
        print(f"{'CPU seconds':80}{'first':>8}{'later':>8}   as many --help")
        for number, command in enumerate(COMMANDS):
            name = command.format(folder=".", inventory=INVENTORY.name)
            if pattern not in name and not command.startswith("schedule"):  # those make what is verified
                continue
            arguments = [part.format(folder=folder, inventory=INVENTORY) for part in command.split()]
            seconds(arguments, f"{folder}/spare")
            first = seconds(arguments, f"{folder}/{number}")
            later = min(seconds(arguments, f"{folder}/{number}") for _ in range(3))
            ratios = f"{first / help_seconds:8.1f}{later / help_seconds:8.1f}"
            print(f"{name:80}{first:8.2f}{later:8.2f}{ratios}", flush=True)


if __name__ == "__main__":
    main()
