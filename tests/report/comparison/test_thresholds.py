"""Values at which another contender is the fastest: just below one is, just above the other."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from topodesign.report.comparison.compare import Comparison, compare

SLACK = Fraction(1, 1000)


def fastest(found: Comparison, **latencies: Fraction) -> str:
    work = found.workload
    latency = replace(work.latency, **latencies)
    times = {one.name: one.timing.time(latency, work.sizes[0], work.bandwidth) for one in found.contenders}
    return min(times, key=times.__getitem__)


def test_on_both_sides_of_a_turn_others_are_the_fastest() -> None:
    found = compare(["best", "fattree"], nodes=16, degree=4)
    assert {turn.parameter for turn in found.thresholds} == {"gap", "hop"}
    for turn in found.thresholds:
        outward = 1 if turn.above else -1
        near = turn.value * (1 - outward * SLACK)
        assert fastest(found, **{turn.parameter: turn.value}) == turn.then
        assert fastest(found, **{turn.parameter: near}) == turn.now == found.best().name
        assert turn.parameter in str(turn)
    again = compare(["best", "fattree"], nodes=16, degree=4, gap=found.thresholds[0].value * (1 + SLACK))
    assert again.best().name == found.thresholds[0].then


def test_without_switches_nothing_turns_on_them() -> None:
    assert compare(["best", "torus"], nodes=16, degree=4).thresholds == ()
