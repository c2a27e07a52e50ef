"""CPU seconds and peak memory of whole commands: what people wait for, and how it grows.

Run it with ``python benchmarks/waits.py [PATTERN] [--first] [--beside CHECKOUT]``, where only commands with the pattern
are measured. ``--first`` measures them with an empty cache of machine code, too, and ``--beside`` runs each in another
checkout as well, one after the other in the same sitting. With ``--growth`` the main commands are measured at three
sizes each, in the form of the table of ``docs/growth.md``; with ``--small`` small commands are, by the least of several
runs in turn, with the ratio to the other checkout.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parents[1]
LIMIT = 600  # seconds after which a command counts as unfinished
TIMED = "--collective all-to-all --method tacos"
COMMANDS = (
    "catalog status --compare-bound",
    "evaluate genkautz(4,2000)",
    "evaluate genkautz(4,2000) --set deferred=no",
    "evaluate genkautz(4,4000)",
    "schedule genkautz(4,200) -o large.npz",
    "pareto -n 1999 -d 4 --catalog none",
    "schedule torus(50,50) -o torus.npz",
    "verify torus.npz",
    f"schedule torus(8,8,8) {TIMED} -o timed.npz",
    f"schedule torus(10,10,10) {TIMED} -o timed10.npz",
    "schedule hypercube(10) --collective all-to-all -o cube.npz",
    "evaluate mesh(8,8,8)",
    "schedule mesh(8,8,8) --collective all-to-all -o mesh.npz",
    "evaluate randomregular(50,4,0) --collective all-to-all",
    "evaluate randomregular(100,4,0) --collective all-to-all",
    "evaluate mi250(2) --collective allgather",
    "schedule mi250(64) -o boxes.npz",
    "schedule dgx_a100(512) -o many.npz",
    "verify many.npz",
    "schedule dgx_a100(512) --collective allgather -o one.npz",
    "pareto -n 100000 -d 16",
    "pareto -n 1000000 -d 8",
)
SMALL = (
    "--help",
    "pareto -n 1024 -d 4",
    "pareto -n 200 -d 6 --catalog none --time-limit 0s",
    "catalog status -d 4",
    "evaluate circulant(12,2,3)",
    "evaluate genkautz(4,200)",
    "evaluate dgx_a100(2) --collective allgather",
    "evaluate dgx_a100(16) --collective allgather",
    "evaluate hypercube(4) --collective all-to-all",
    "schedule circulant(12,2,3) -o small.npz",
    "verify small.npz",
    "simulate small.npz",
    "compile circulant(12,2,3) --collective allreduce -o small.xml",
    "compare circulant(12,2,3) torus(3,4)",
)
RUNS = 4
GROWTH = {
    "pareto": ("pareto -n {} -d 8", (20_000, 40_000, 80_000)),
    "evaluate": ("evaluate randomregular({},4,0) --set deferred=no", (4000, 8000, 16_000)),
    "schedule": ("schedule genkautz(4,{}) -o plan{}.npz", (200, 400, 800)),
    "verify": ("verify plan{}.npz", (200, 400, 800)),
    "simulate": ("simulate plan{}.npz", (200, 400, 800)),
    "compile": ("compile plan{}.npz -o plan{}.xml", (50, 100, 200)),
    "folded": ("schedule torus({0},{0}) -o folded.npz", (30, 50, 80)),
    "optimum": ("evaluate dgx_a100({}) --collective allgather", (128, 256, 512)),
    "trees": ("schedule dgx_a100({}) -o trees.npz", (128, 256, 512)),
    "flows": ("evaluate randomregular({},4,0) --collective all-to-all", (50, 70, 100)),
    "timed": (f"schedule torus({{0}},{{0}},{{0}}) {TIMED} -o t.npz", (6, 8, 10)),
}


def measure(command: str, folder: str, checkout: Path, cache: str | None) -> tuple[float, float, int]:
    """CPU seconds, peak MB and exit status (-1: killed after the limit) of one command in one checkout."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": str(checkout)}
    env |= {"NUMBA_CACHE_DIR": cache} if cache else {}
    script = (
        "import resource, subprocess, sys\n"
        f"try: status = subprocess.run([sys.executable, '-m', 'topodesign', *{command.split()!r}], "
        f"stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout={LIMIT}).returncode\n"
        "except subprocess.TimeoutExpired: status = -1\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss, status)"
    )
    arguments = [sys.executable, "-c", script]
    done = subprocess.run(arguments, env=env, cwd=folder, capture_output=True, text=True, check=True)
    seconds, kilobytes, status = done.stdout.split()
    return float(seconds), int(kilobytes) / 1000, int(status)


def show_waits(pattern: str, folder: str, checkouts: list[Path], states: tuple[str, ...]) -> None:
    for command in COMMANDS:
        if pattern not in command and not (command.startswith("schedule") and pattern.startswith("verify")):
            continue
        for checkout in checkouts:
            for state in states:
                cache = tempfile.mkdtemp(dir=folder) if state == "first" else None
                seconds, megabytes, status = measure(command, folder, checkout, cache)
                ended = {0: "", -1: "  unfinished"}.get(status, f"  exit {status}")
                row = f"{command:75}{state:>6}{seconds:8.2f} s{megabytes:8.0f} MB{ended}"
                print(row + (f"  {checkout}" if len(checkouts) > 1 else ""), flush=True)


def show_small(pattern: str, folder: str, checkouts: list[Path]) -> None:
    """Print the least CPU seconds of small commands in each checkout, and the ratio of the first to the last."""
    for command in SMALL:
        if pattern in command:
            runs = [[measure(command, folder, one, None) for one in checkouts] for _ in range(RUNS + 1)]
            if any(status for run in runs for *_, status in run):
                sys.exit(f"{command} fails")
            least = [min(run[place][0] for run in runs[1:]) for place in range(len(checkouts))]
            cells = "".join(f"{seconds:8.2f} s" for seconds in least)
            print(f"{command:75}{cells}{least[0] / least[-1]:8.2f}", flush=True)


def exponent(sizes: tuple[int, ...], values: list[float]) -> str:
    """Return p where values at three sizes are a constant and a multiple of their p-th power; - where there is none."""
    (a, b, c), (first, second, third) = sizes, values
    if third <= second or second <= first:
        return "-"
    low, high = 0.01, 9.0
    for _ in range(60):
        p = (low + high) / 2
        grows = (c**p - b**p) * (second - first) < (third - second) * (b**p - a**p)
        low, high = (p, high) if grows else (low, p)
    return f"{high:.1f}" if high > 0.05 else "-"


def show_growth(pattern: str, folder: str) -> None:
    """Print seconds and memory at three sizes, and the power that they grow as beside what a start takes."""
    print("| | sizes | CPU s | MB | s grow as | MB as |\n|---|---|---|---|---|---|")
    for name, (command, sizes) in GROWTH.items():
        if name == "compile":
            for size in sizes:
                measure(f"schedule genkautz(4,{size}) -o plan{size}.npz", folder, HERE, None)
        if pattern not in command:
            continue
        found = [measure(command.format(size, size), folder, HERE, None) for size in sizes]
        ended = [status for *_, status in found]
        seconds, megabytes = ([one[i] for one in found] for i in range(2))
        cells = (
            name if not any(ended) else f"{name}, exit {ended}",
            "/".join(map(str, sizes)),
            "/".join(f"{one:.1f}" for one in seconds),
            "/".join(f"{one:.0f}" for one in megabytes),
            exponent(sizes, seconds),
            exponent(sizes, megabytes),
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    checkouts = [HERE, *([options.beside.resolve()] if options.beside else [])]
    for one in checkouts:  # as when installed; else the first command pays for all
        subprocess.run([sys.executable, "-m", "compileall", "-q", one / "topodesign"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        if options.growth:
            show_growth(options.pattern, folder)
            return
        if options.small:
            show_small(options.pattern, folder, checkouts)
            return
        show_waits(options.pattern, folder, checkouts, ("first", "later") if options.first else ("later",))


if __name__ == "__main__":
    main()
