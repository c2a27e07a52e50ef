"""Plans of deferred schedules go through whatever takes plans, and take the time that prices say."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from topodesign import evaluate, load_plan, price, price_deferred, save_plan, schedule, simulate, verify
from topodesign.pricing import deferral

SPEC = "randomregular(24,3,1)"


@pytest.mark.dear("allreduce")
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
def test_plans_are_kept_verified_and_timed_as_priced(collective: str, tmp_path: Path) -> None:
    plan = schedule(SPEC, collective, method="deferred")
    kept = load_plan(save_plan(tmp_path / "plan.npz", plan))
    assert (kept.movement, kept.claim) == (plan.movement, plan.claim)
    assert verify(kept).ok
    found = evaluate(SPEC, alpha="7us", sizes="3MB", bandwidth="40Gbps", deferred=True)
    there, back = found.deferred_reduce_scatter, found.deferred_allgather
    assert there is not None
    assert back is not None
    costs = {"allgather": [back], "reduce-scatter": [there], "allreduce": [there, back]}[collective]
    assert plan.claim["bandwidth"] == sum(cost.bandwidth for cost in costs)
    assert max(there.bandwidth, back.bandwidth) == price_deferred(SPEC).bandwidth
    time = simulate(kept, size="3MB", alpha="7us", bandwidth="40Gbps").time
    assert time == sum(cost.runtime(Fraction(7, 10**6), Fraction(3 * 10**6), Fraction(40 * 10**9)) for cost in costs)
    assert simulate(kept, size="3MB", alpha="7us", bandwidth="40Gbps", mode="asynchronous").time <= time


@pytest.mark.parametrize("collective", ["allgather", "allreduce"])
def test_what_spff_does_for_less_is_done_by_it_and_said(collective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferral, "_PARTS_WORK", 0)  # with shards in parts there is no need
    found, spff = (schedule("mesh(4,4)", collective, method=method) for method in ("deferred", "spff"))
    assert found.claim == spff.claim
    assert found.generator["method"] == "spff"
    assert any("by SPFF, which is cheaper than the deferred schedule that was found (y = 2)" in n for n in found.notes)
    assert price_deferred("mesh(4,4)") == price("mesh(4,4)")
    assert evaluate("mesh(4,4)", deferred=True).methods == ("spff",)
    assert verify(found).ok
