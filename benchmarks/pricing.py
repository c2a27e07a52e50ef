"""Measure what a planner waits for: prices from all sources, cold frontiers, process start.

Run it with ``python benchmarks/pricing.py``. Each figure is the median of some runs in one process, after one run that
compiles; "first" is that first run. Frontiers are whole processes, without the Cayley search.
"""

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from topodesign import build
from topodesign.base import compiled
from topodesign.pricing.closed_form import price

GRAPHS = ("hypercube(10)", "torus(50,50)", "genkautz(4,1024)", "genkautz(4,2000)", "genkautz(16,2000)")
FRONTIERS = ((1024, 4), (2000, 16), (1680, 16), (1920, 16), (1980, 14), (1800, 12), (1999, 16))
GROWTH = (500, 1000, 2000, 4000)


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main() -> None:
    first = seconds(lambda: price(build("genkautz(2,9)")))
    print(f"first price in this process (compiles once after installation): {first:.2f} s")
    compiled.PATIENCE = 0.0  # machine code from the first call on: what is measured is how fast it is when warm
    for text in GRAPHS:
        topology = build(text)
        runs = [seconds(lambda topology=topology: price(topology, all_sources=True)) for _ in range(5)]  # type: ignore[misc]
        print(f"price, all sources  {text:20} {statistics.median(runs):.3f} s")
    times = []
    for nodes in GROWTH:
        topology = build(f"genkautz(4,{nodes})")
        runs = [seconds(lambda topology=topology: price(topology)) for _ in range(5)]  # type: ignore[misc]
        times.append(statistics.median(runs))
    exponents = [f"{(b / a):.2f}" for a, b in itertools.pairwise(times)]
    print(f"growth of genkautz(4,N) as N doubles from {GROWTH[0]}: x{', x'.join(exponents)}")
    program = [sys.executable, "-m", "topodesign"]
    for nodes, degree in FRONTIERS:
        question = [*program, "pareto", "-n", str(nodes), "-d", str(degree), "--time-limit", "0s", "--json"]
        runs = [seconds(partial(subprocess.run, question, check=True, capture_output=True)) for _ in range(3)]
        print(f"frontier, no search, whole process  N={nodes:5} d={degree:2} {statistics.median(runs):.2f} s")
    runs = [seconds(lambda: subprocess.run([*program, "--help"], check=True, capture_output=True)) for _ in range(5)]
    print(f"topodesign --help    {statistics.median(runs):.3f} s")


if __name__ == "__main__":
    main()
