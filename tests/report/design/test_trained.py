"""Contenders that are ranked by the training step of a model: as ``step`` prices it, here and after every change."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from topodesign import Decision, design, load_plan, price_step, report_page, verify
from topodesign.report.design.growth import bound_of
from topodesign.report.design.measure import step_at

MODEL: dict[str, Any] = {
    "name": "small", "layers": 4, "hidden": 1024, "heads": 16, "vocabulary": 51200, "sequence": 1024, "batch": 64,
    "flops": "312T", "experts": 4, "top_k": 2, "data": 8, "expert": 4,
}  # fmt: skip
FIELDS: dict[str, Any] = {"nodes": 8, "degree": 4, "bandwidth": "400Gbps", "alpha": "5us", "rivals": ["torus"]}


@pytest.fixture(scope="module")
def found() -> Decision:
    return design(**FIELDS, model=MODEL)


def test_contenders_are_ranked_by_the_step(found: Decision) -> None:
    times = []
    for one in found.contenders:
        assert one.step is not None
        used = Fraction(one.topology.degree, 4)
        priced = price_step(MODEL, one.place, alpha="5us", bandwidth=400 * 10**9 * used)
        assert one.time == priced.seconds == sum(seconds for _, seconds in one.step.shares)
        times.append(one.time)
    assert times == sorted(times)
    assert bound_of(found.request.mix, found.request) <= times[0]


def test_factors_are_those_of_a_step_that_is_priced_anew(found: Decision) -> None:
    best = found.recommendation
    assert best.step is not None
    assert step_at(best, found.request, often={}) == best.time
    for factor in (Fraction(1, 4), Fraction(3)):
        rate = price_step(MODEL, best.place, alpha="5us", bandwidth=400 * 10**9 / factor, placement=best.step.nodes)
        assert step_at(best, found.request, size=factor, often={}) == rate.seconds


def test_where_the_time_goes_is_told(found: Decision, tmp_path: Path) -> None:
    document, best = found.record(), found.recommendation
    assert best.step is not None
    assert document["request"]["model"]["name"] == "small"
    told = document["recommendation"]["step"]
    assert told["seconds"] == float(best.time)
    assert len(told["collectives"]) == len(best.step.sent)
    assert best.step.heading() in " ".join(str(found).split())
    page = report_page(found).html()
    assert all(one.sent.collective in page for one in best.step.sent)
    written = found.save(tmp_path / "all")
    plans = [load_plan(tmp_path / "all" / one.path) for one in written.files if one.path.endswith(".npz")]
    assert plans
    assert all(verify(plan).ok for plan in plans)
    assert json.loads((tmp_path / "all" / "decision.json").read_text())["recommendation"]["step"] == told


def test_failures_keep_the_layout(found: Decision) -> None:
    assert found.failures
    assert all(one.seconds is not None and one.seconds >= found.recommendation.time for one in found.failures)
