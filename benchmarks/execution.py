"""Run collectives on ten topologies of 12 nodes with real data, beside MPI's own.

Start it with ``mpirun -n 12 python benchmarks/execution.py [SIZE ...]`` (``--oversubscribe`` where there are fewer
cores); by itself it runs on threads, without MPI's own. Every element of every result is checked. A row has the median
time and the bus bandwidth for the plan, the same for MPI's own collective, and the time over MPI's. On one machine all
ways are its memory, so that what is compared is the work of the processors: copies, messages, and waiting for turns.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import partial

from topodesign import run_plan, schedule
from topodesign.base.units import format_rate, format_time
from topodesign.execution.processes import detect_launcher

PLACES = (
    "uniring(1,12)",
    "biring(2,12)",
    "circulant(12,2,3)",
    "torus(4,3)",
    "torus(3,2,2)",
    "kautz(2,2)",
    "kautz(3,1)",
    "genkautz(4,12)",
    "bipartite(6)",
    "complete(12)",
)
COLLECTIVES = ("allgather", "reduce-scatter", "allreduce")
SIZES = ("4KiB", "1MiB")


def main() -> None:
    sizes = tuple(sys.argv[1:]) or SIZES
    wrong = 0
    for collective in COLLECTIVES:
        for place in PLACES:
            result = run_plan(
                partial(schedule, place, collective),
                size=sizes,
                iterations=20,
                transport="mpi" if detect_launcher() == "mpi" else "threads",
            )
            wrong += not result.right
            if result.rank:
                continue
            for size, one in zip(sizes, result.runs, strict=True):
                cells = [f"{collective:16}{place:20}{size:>8}"]
                for outcome in (one.outcome, one.outcome.own):
                    if outcome is not None and result.bus is not None:
                        rate = format_rate(Fraction(f"{float(result.bus * one.size / outcome.median):.3g}"))
                        cells.append(f"{format_time(outcome.median):>12}{rate:>12}")
                if one.outcome.own is not None:
                    cells.append(f"{float(one.outcome.median / one.outcome.own.median):8.2f}")
                print(*cells, "right" if result.right else "WRONG", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
