"""Numbers that times are computed from give the times of the simulator, for all latencies and sizes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign.base.latency import Latency
from topodesign.plans.time.chunks import PipelineSimulation
from topodesign.plans.time.simulate import simulate
from topodesign.pricing.workload import as_workload
from topodesign.report.comparison.timing import Phase, Timing
from topodesign.schedulers.scheduling import schedule

PLANS = [
    ("fat_tree(2,4,4)", "allreduce", "forest"),
    ("dgx_h100(1)", "allreduce", "in-network"),
    ("dgx_a100(2)", "allgather", "forest"),
    ("dgx_a100(2)", "all-to-all", "fluid"),
    ("torus(3,3)", "allreduce", "forest"),
]


@pytest.mark.parametrize(("place", "collective", "method"), PLANS)
def test_the_numbers_of_one_simulation_give_all_others(place: str, collective: str, method: str) -> None:
    plan = schedule(place, collective, method=method)
    first = simulate(plan, size="1MiB").run
    assert isinstance(first, PipelineSimulation)
    rate = Fraction(10**11)
    timing = Timing.of_run(first, rate)
    assert timing.pipelined
    for size in (Fraction(2**13), Fraction(2**27)):
        for gap, hop in ((0, 0), ("200ns", "300ns"), ("3us", "1us")):
            run = simulate(plan, size=size, alpha="10us", gap=gap, hop=hop).run
            latency = Latency(*as_latency_of(gap, hop))
            assert timing.time(latency, size, rate) == run.time
    work = as_workload(sizes=["1KiB", "1GiB"])
    assert timing.chunks(work) == tuple(simulate(plan, size=size).run.record()["chunks"] for size in work.sizes)


def as_latency_of(gap: str | int, hop: str | int) -> tuple[Fraction, Fraction, Fraction]:
    work = as_workload("10us", gap=gap, hop=hop)
    return work.alpha, work.gap, work.hop


def test_rounds_pay_alpha_for_a_step_and_bytes_once() -> None:
    timing = Timing((Phase(3, 1, 0, Fraction(7, 8)), Phase(3, 1, 0, Fraction(9, 8))))
    work = as_workload("10us", ["1MiB"], "100Gbps")
    assert timing.times(work) == (6 * Fraction(1, 10**5) + 2 * Fraction(8 * 2**20, 10**11),)
    assert (timing.steps, timing.bandwidth) == (Fraction(3), Fraction(1))
    assert (timing.gaps, timing.hops) == (0, 0)
    assert timing.chunks(work) == (1,)
    assert not timing.at_once
