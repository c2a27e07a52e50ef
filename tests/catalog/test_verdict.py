"""Verdicts: who is named wins, sizes are where the times cross, and a bound is met only if it is."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from topodesign import pareto
from topodesign.catalog.verdict import verdict_on
from topodesign.pricing.crossovers import rounded_size

SIZES = [(12, 4), (16, 4), (24, 5), (64, 6), (100, 3), (200, 6), (257, 4), (1000, 4)]


@pytest.mark.parametrize(("nodes", "degree"), SIZES)
@pytest.mark.parametrize("size", ["1KiB", "1MiB", "1GiB"])
def test_the_verdict_is_what_the_times_say(nodes: int, degree: int, size: str) -> None:
    found = pareto(nodes, degree, sizes=size)
    text = verdict_on(found.entries, found.bound)
    bound = found.workload.allreduce(found.bound)[0]
    if "both bounds" in text:
        assert [one.cost for one in found] == [found.bound]
        return
    assert ("meets the lower bound" in text) == (found.best.allreduce[0] == bound)
    assert f" {found.best.cost.steps} step" in text
    told = re.findall(r"\b[\d.]+(?:[KMGT]i)?B\b", text.split(": at ")[0])
    for word in told:  # at each of these sizes two neighbours on the frontier take the same time
        crossings = [
            rounded_size(
                Fraction(other.cost.steps - one.cost.steps)
                / (one.cost.bandwidth - other.cost.bandwidth)
                * found.workload.alpha
                * found.workload.bandwidth
                / 8
            )
            for place, one in enumerate(found)
            for other in found.entries[place + 1 :]
        ]
        assert word in crossings


def test_one_that_meets_both_bounds_is_called_so() -> None:
    found = pareto(12, 4)
    assert verdict_on(found.entries, found.bound).endswith("nothing can beat it, at any size.")
