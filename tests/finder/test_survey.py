"""Surveys: every size has the answer that it has alone, and what a port buys is the difference of two of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from topodesign import pareto, survey
from topodesign.base.errors import InfeasibleError, TopodesignError
from topodesign.finder.survey import Survey


def test_every_size_is_answered_as_alone() -> None:
    found = survey(range(40, 43), range(3, 6), sizes=["1MiB", "1GiB"])
    assert [(one.nodes, one.degree) for one in found] == [(n, d) for n in range(40, 43) for d in range(3, 6)]
    for one in found:
        assert one.fastest == pareto(one.nodes, one.degree, sizes=["1MiB", "1GiB"]).best
    assert len(found.table().rows) == len(found.to_records()) == len(found.record()["sizes"]) == 9


def test_sizes_may_be_any_that_ascend() -> None:
    found = survey(range(16, 65, 16), np.array([3, 4]))
    assert [(one.nodes, one.degree) for one in found] == [(n, d) for n in (16, 32, 48, 64) for d in (3, 4)]
    assert [one.fastest for one in survey([16, 48], 4)] == [found.frontiers[place].fastest for place in (1, 5)]


def test_gains_are_over_one_port_less_and_start_anew_with_every_size() -> None:
    found = survey(range(40, 42), range(3, 6))
    times = [one.fastest.allreduce[0] for one in found]
    assert [gain is None for gain in found.gains] == [True, False, False] * 2
    for place, gain in enumerate(found.gains):
        if gain is not None:
            assert times[place] == times[place - 1] * (1 - gain[0])
    along = survey(range(40, 44), 4)
    assert [gain is None for gain in along.gains] == [True, False, False, False]


@pytest.mark.parametrize("per_port", [False, True])
def test_the_verdict_is_what_the_rows_say(per_port: bool) -> None:
    found = survey(100, range(3, 8), per_port=per_port, bandwidth="25Gbps")
    first, last = found.frontiers[0], found.frontiers[-1]
    saved = 1 - last.fastest.allreduce[0] / first.fastest.allreduce[0]
    assert f"{float(saved) * 100:.1f}%" in found.verdict
    gains = {one.degree: gain[0] for one, gain in zip(found, found.gains, strict=True) if gain is not None}
    assert f"the step to {max(gains, key=lambda port: gains[port])} saves most" in found.verdict
    for one in found:
        assert one.fastest.workload.bandwidth == Fraction(25 * 10**9) * (one.degree if per_port else 1)


def test_sizes_that_are_none_are_told() -> None:
    found = survey(range(2, 4), 1, bidirectional=True)
    assert [(one.nodes, one.degree) for one in found.missing] == [(3, 1)]
    assert "3 nodes, degree 1: one duplex port" in str(found)
    assert found.record()["missing"][0]["nodes"] == 3
    with pytest.raises(InfeasibleError):
        survey(3, range(1, 2), bidirectional=True)


def test_ports_that_buy_nothing() -> None:
    assert survey(3, range(2, 4), sizes="1GiB").verdict
    assert not survey(12, 4).verdict


@pytest.mark.parametrize(
    "call", [lambda: survey(range(5, 5), 4), lambda: survey(range(9, 5, -2), 4), lambda: survey(range(3, 5000), 4)]
)
def test_ranges_that_make_no_sense(call: Callable[[], Survey]) -> None:
    with pytest.raises(TopodesignError):
        call()
