"""A plan after a failure says what is left, and what nothing exceeds."""

from __future__ import annotations

import pytest

from topodesign import replan, schedule, verify
from topodesign.base.errors import ParameterError
from topodesign.schedulers.replan import repaired_plan


def test_what_it_says_is_what_the_plan_has() -> None:
    before = schedule("dgx_h100(2)", "allgather")
    found = repaired_plan(before, ("box0/gpu0-rail0", "rail1"))
    report = verify(found.plan)
    assert report.ok
    assert found.bandwidth == report.figures["algorithmic_bandwidth"] <= found.bound
    assert found.record()["without"] == ["box0/gpu0-rail0", "rail1"]
    assert found.before == before.claim["algorithmic_bandwidth"]
    assert found.plan.generator["repaired_without"] == ["box0/gpu0-rail0", "rail1"]


def test_what_is_not_repaired() -> None:
    with pytest.raises(ParameterError, match="plans of rounds are not repaired"):
        replan(schedule("torus(3,3)"), "0")
    with pytest.raises(ParameterError, match="say what has failed"):
        replan(schedule("dgx_h100(2)", "allgather"), ())
