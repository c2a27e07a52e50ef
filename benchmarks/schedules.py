"""Measure explicit schedules: how long it takes to make, verify and time them, and to compile and check programs.

Run it with ``python benchmarks/schedules.py``. Each figure is the median of some runs in one process, after one that
compiles inner loops.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from functools import partial

from topodesign import build, simulate, verify
from topodesign.base import compiled
from topodesign.compiler.compilation import compile_plan
from topodesign.runtime.msccl.check import check_program
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import get_profile
from topodesign.schedulers.scheduling import schedule as make_plan

LARGE = ("hypercube(10)", "torus(50,50)", "genkautz(4,1024)", "line(circulant(16,3,4),3)")
PROGRAMS = ("circulant(12,2,3)", "hypercube(5)", "genkautz(4,32)")
timed = partial(simulate, alpha="10us", size="1MiB", bandwidth="100Gbps")


def seconds(action: Callable[[], object], runs: int = 3) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    compiled.PATIENCE = 0.0  # machine code from the first call on: what is measured is how fast it is when warm
    warm = make_plan("genkautz(2,9)", "allreduce")
    verify(warm)
    timed(warm, mode="asynchronous")
    print(f"{'':28}{'rows':>9} {'schedule':>9} {'verify':>8} {'lock-step':>10} {'asynchronous':>13}")
    for text in LARGE:
        making = partial(make_plan, build(text), "reduce-scatter", method="spff")
        plan = making()
        figures = (
            seconds(making),
            seconds(partial(verify, plan)),
            seconds(partial(timed, plan)),
            seconds(partial(timed, plan, mode="asynchronous")),
        )
        print(f"{text:28}{len(plan.movement):9} " + " ".join(f"{figure:8.2f} s" for figure in figures))
    profile = get_profile("msccl")
    print(f"{'allreduce, in place':28}{'compile':>9} {'check':>9}")
    for text in PROGRAMS:
        plan = make_plan(text, "allreduce")
        program = compile_plan(plan, inplace=True).text
        times = (
            seconds(partial(compile_plan, plan, inplace=True)),
            seconds(lambda program=program: check_program(parse_xml(program, profile), profile)),  # type: ignore[misc]
        )
        print(f"{text:28}" + " ".join(f"{figure:8.2f} s" for figure in times))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
