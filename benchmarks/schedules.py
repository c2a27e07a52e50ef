"""Measure explicit schedules: how long it takes to make, verify and time them, and to compile and check programs.

Run it with ``python benchmarks/schedules.py``. Each figure is the median of some runs in one process, after one that
compiles inner loops.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import cast

from topodesign import build
from topodesign.base import compiled
from topodesign.compiler.compilation import compile_plan
from topodesign.plans.plan import Plan
from topodesign.plans.replay.rounds import verify_rounds
from topodesign.plans.rounds import Rounds
from topodesign.plans.timing.rounds import simulate_rounds
from topodesign.runtime.msccl.check import check_program
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import get_profile
from topodesign.schedulers.scheduling import schedule as make_plan
from topodesign.topology.topology import Topology

LARGE = ("hypercube(10)", "torus(50,50)", "genkautz(4,1024)", "line(circulant(16,3,4),3)")
PROGRAMS = ("circulant(12,2,3)", "hypercube(5)", "genkautz(4,32)")
timed = partial(simulate_rounds, alpha=Fraction(1, 10**5), size=Fraction(2**20), bandwidth=Fraction(10**11))


def seconds(action: Callable[[], object], runs: int = 3) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def rounds_of(topology: Topology, collective: str, method: str = "auto") -> Rounds:
    return cast("Rounds", make_plan(topology, collective, method=method).movement)


def main() -> None:
    compiled.PATIENCE = 0.0  # machine code from the first call on: what is measured is how fast it is when warm
    small = build("genkautz(2,9)")
    warm = rounds_of(small, "allreduce")
    verify_rounds(small, warm)
    timed(small, warm, mode="asynchronous")
    print(f"{'':28}{'sends':>9} {'schedule':>9} {'verify':>8} {'lock-step':>10} {'asynchronous':>13}")
    for text in LARGE:
        topology = build(text)
        schedule = rounds_of(topology, "reduce-scatter", "spff")
        figures = (
            seconds(partial(rounds_of, topology, "reduce-scatter", "spff")),
            seconds(partial(verify_rounds, topology, schedule)),
            seconds(partial(timed, topology, schedule)),
            seconds(partial(timed, topology, schedule, mode="asynchronous")),
        )
        print(f"{text:28}{len(schedule):9} " + " ".join(f"{figure:8.2f} s" for figure in figures))
    profile = get_profile("msccl")
    print(f"{'allreduce, in place':28}{'compile':>9} {'check':>9}")
    for text in PROGRAMS:
        topology = build(text)
        schedule = rounds_of(topology, "allreduce")
        program = compile_plan(Plan(topology, schedule), inplace=True).text
        times = (
            seconds(partial(compile_plan, Plan(topology, schedule), inplace=True)),
            seconds(lambda program=program: check_program(parse_xml(program, profile), profile)),  # type: ignore[misc]
        )
        print(f"{text:28}" + " ".join(f"{figure:8.2f} s" for figure in times))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
