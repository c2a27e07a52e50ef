"""Measure answers for sizes beyond the catalog's rows: time, memory, and how far the best allreduce is from the bound.

Run it with ``python benchmarks/any_size.py [duplex]``. Each answer is of a process of its own, the second of two, as
the first may compile. The growth is the exponent e of the line through all sizes of degree 4: time goes with N to the
power of e.
"""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time

import numpy as np

CASES = (
    (2503, 4),
    (4096, 4),
    (5000, 4),
    (10_000, 8),
    (10_007, 4),
    (20_000, 3),
    (20_000, 4),
    (65_536, 8),
    (100_000, 3),
    (100_000, 4),
    (100_000, 16),
    (1_000_000, 4),
)
GROWTH = 4
"""Degree for which growth is reported."""


def answer(nodes: int, degree: int, duplex: bool) -> None:
    """Print what one question takes, and what comes out."""
    from topodesign import pareto  # noqa: PLC0415  the parent measures other processes
    from topodesign.base.errors import InfeasibleError  # noqa: PLC0415

    began = time.perf_counter()
    try:
        found = pareto(nodes, degree, bidirectional=duplex)
    except InfeasibleError:
        print(time.perf_counter() - began, 0, math.inf, 0, 0, "-")
        return
    taken = time.perf_counter() - began
    bound = found.workload.allreduce(found.bound)[0]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    best = found.best
    print(taken, memory, float(best.allreduce[0] / bound), best.cost.steps, found.bound.steps, best.found)


def main() -> None:
    duplex = "duplex" in sys.argv[1:]
    print("       N   d     time   memory   over bound  steps  least  found")
    sizes, times = [], []
    for nodes, degree in CASES:
        command = [sys.executable, __file__, "answer", str(nodes), str(degree), str(int(duplex))]
        for _ in range(2):
            told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        taken, memory, ratio = map(float, told[:3])
        answered = f"{taken:6.2f} s {memory:5.0f} MB {ratio - 1:11.1%} {told[3]:>6} {told[4]:>6}  {told[5]}"
        print(f"{nodes:8} {degree:3} {answered}", flush=True)
        if degree == GROWTH:
            sizes.append(nodes)
            times.append(taken)
    print(f"growth at degree {GROWTH}: {np.polyfit(np.log(sizes), np.log(times), 1)[0]:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["answer"]:
        answer(int(sys.argv[2]), int(sys.argv[3]), bool(int(sys.argv[4])))
    else:
        main()
