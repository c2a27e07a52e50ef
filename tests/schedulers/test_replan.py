"""A plan after a failure says what is left, and what nothing exceeds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from topodesign import price_groups, repair, schedule, verify
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.optima.group_price import degree_of
from topodesign.schedulers.replan import repair_plan


def test_what_it_says_is_what_the_plan_has() -> None:
    before = schedule("dgx_h100(2)", "allgather")
    found = repair_plan(before, ("box0/gpu0-rail0", "rail1"))
    report = verify(found.plan)
    assert report.ok
    assert found.bandwidth == report.figures["algorithmic_bandwidth"] <= found.bound
    assert found.record()["without"] == ["box0/gpu0-rail0", "rail1"]
    assert found.before == before.claim["algorithmic_bandwidth"]
    assert found.plan.generator["repaired_without"] == ["box0/gpu0-rail0", "rail1"]


@pytest.mark.dear("dgx_h100(2)-allreduce-2x8:1-without0")
@pytest.mark.parametrize(
    ("spec", "collective", "group", "without"),
    [
        ("dgx_h100(2)", "allreduce", "2x8:1", ("box0/gpu0", "box0/gpu0-rail0", "box0/nvswitch", "box0/gpu1-rail1=1/2")),
        ("dgx_h100(2)", "allgather", "8x2:1", ("box0/gpu0", "rail1")),
        ("dgx_h100(2)", "reduce-scatter", "2x8:1", ("box1/gpu3",)),
        ("torus(4,4)", "broadcast", "4x4:0", ("5", "0-1")),
        ("torus(4,4)", "all-to-all", "4x4:0", ("0", "0-1")),
    ],
)
def test_groups(spec: str, collective: str, group: str, without: tuple[str, ...]) -> None:
    root = "first" if collective == "broadcast" else None
    before = schedule(spec, collective, group=group, root=root, method="fluid")
    for one in without:
        found = repair_plan(before, one)
        assert verify(found.plan).ok
        left, groups = found.plan.fabric, found.plan.collective.groups
        assert groups is not None
        assert sorted(sum(groups, ())) == list(left.compute)
        price = price_groups(left, collective, groups, root=None if root is None else found.plan.collective.roots)
        best = left.unit * degree_of(left.topology) / price.bandwidth
        assert found.bandwidth <= best <= found.bound  # by an independent program
    if collective == "broadcast":
        with pytest.raises(InfeasibleError, match="the root is gone"):
            repair_plan(before, "0")


@pytest.mark.parametrize(("options", "without"), [
    ({"collective": "allreduce"}, "0-1"),
    ({"collective": "allgather"}, "0"),
    ({"collective": "all-to-all"}, "0-1"),
    ({"collective": "allreduce", "method": "tacos"}, "0-1"),
    ({"collective": "allreduce", "group": "2x4:1"}, "0-1"),
    ({"collective": "allreduce", "group": "2x4:1"}, "3"),
])  # fmt: skip
def test_rounds_and_timed_sends_are_made_anew(options: dict[str, Any], without: str) -> None:
    """What comes out does not use what has failed, and is never below what the plan that it replaces could be."""
    before = schedule("torus(2,4)", **options)
    found = repair(before, without)
    assert verify(found.plan).ok
    assert not found.kept
    assert found.bandwidth <= found.bound
    assert found.plan.generator["without"] == [without]
    ends = {name for link in found.plan.fabric.links() for name in (link.src, link.dst)}
    assert without not in ends
    assert not any({link.src, link.dst} == set(without.split("-")) for link in found.plan.fabric.links())
    assert "made anew by --algorithm" in found.heading()


def test_stages_are_made_anew() -> None:
    before = schedule("dgx1_v100(2)", "allreduce", method="two-level", size="1KiB")
    found = repair(before, "box0/gpu0")
    assert before.kind == "stages"
    assert verify(found.plan).ok
    assert "made anew by --algorithm" in found.heading()


def test_the_bandwidth_before_is_that_of_the_plan() -> None:
    """Rounds have B over y; an allreduce of torus(2,4) has y = 7/4 and 100 Gbps a node."""
    assert repair(schedule("torus(2,4)", "allreduce"), "0-1").before == Fraction(12_500_000_000) / Fraction(7, 4)


def test_what_is_not_repaired() -> None:
    both = schedule("torus(2,4)", traffic=["0,1,2,3=allgather@64KiB", "4,5,6,7=allgather@64KiB"])
    with pytest.raises(ParameterError, match="concurrent collectives are not repaired"):
        repair(both, "0")
    with pytest.raises(ParameterError, match="say what has failed"):
        repair(schedule("dgx_h100(2)", "allgather"), ())
