"""CPU seconds and peak memory of what people wait for: whole commands, each a process of its own.

Run it with ``python benchmarks/waits.py [PATTERN] [--first] [--beside CHECKOUT]``, where only commands with the pattern
are measured. ``--first`` measures them with an empty cache of machine code, too, and ``--beside`` runs each in another
checkout as well, one after the other in the same sitting.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parents[1]
LIMIT = 300  # seconds after which a command counts as unfinished
COMMANDS = (
    "catalog list --quality",
    "evaluate genkautz(4,2000)",
    "evaluate genkautz(4,2000) --no-deferred",
    "evaluate genkautz(4,4000)",
    "schedule genkautz(4,200) -o {folder}/large.npz",
    "pareto -n 1999 -d 4 --no-catalog",
    "schedule torus(50,50) -o {folder}/torus.npz",
    "verify {folder}/torus.npz",
    "schedule torus(8,8,8) --collective all-to-all --method tacos -o {folder}/timed.npz",
    "schedule torus(10,10,10) --collective all-to-all --method tacos -o {folder}/timed10.npz",
    "schedule hypercube(10) --collective all-to-all -o {folder}/cube.npz",
    "optimum mesh(8,8,8) --collective all-to-all",
    "optimum randomregular(50,4,0) --collective all-to-all",
    "optimum randomregular(100,4,0) --collective all-to-all",
    "optimum mi250(2)",
    "optimum mi250(64)",
    "optimum dgx_a100(512)",
    "pareto -n 100000 -d 16",
    "pareto -n 1000000 -d 8",
)


def measure(command: str, folder: str, checkout: Path, cache: str | None) -> tuple[float, float, int]:
    """CPU seconds, peak MB and exit status (-1: killed after the limit) of one command in one checkout."""
    env = {**os.environ, "PYTHONPATH": str(checkout)}
    if cache:
        env["NUMBA_CACHE_DIR"] = cache
    arguments = [part.format(folder=folder) for part in command.split()]
    script = (
        "import resource, subprocess, sys\n"
        f"try: status = subprocess.run([sys.executable, '-m', 'topodesign', *{arguments!r}], "
        f"stdout=subprocess.DEVNULL, timeout={LIMIT}).returncode\n"
        "except subprocess.TimeoutExpired: status = -1\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss, status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, cwd=folder, capture_output=True, text=True, check=True
    )
    seconds, kilobytes, status = done.stdout.split()
    return float(seconds), int(kilobytes) / 1000, int(status)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--beside", type=Path)
    options = parser.parse_args()
    checkouts = [HERE, *([options.beside.resolve()] if options.beside else [])]
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            if options.pattern not in command:
                continue
            for checkout in checkouts:
                for state in ("first", "later") if options.first else ("later",):
                    cache = tempfile.mkdtemp(dir=folder) if state == "first" else None
                    if state == "later":
                        measure(command, folder, checkout, None)
                    seconds, megabytes, status = measure(command, folder, checkout, cache)
                    ended = "" if status == 0 else f"  exit {status}" if status > 0 else "  unfinished"
                    row = f"{command:75.75}{state:>6}{seconds:8.2f} s{megabytes:8.0f} MB{ended}"
                    print(row + (f"  {checkout.name}" if len(checkouts) > 1 else ""), flush=True)


if __name__ == "__main__":
    main()
