"""Paths after a failure: right by the verifier, near to a new plan, and of what is left alone."""

from __future__ import annotations

import pytest

from topodesign import repair, schedule, verify
from topodesign.base.errors import InfeasibleError
from topodesign.optima.rerouting import node_bound, reroute_paths
from topodesign.plans.measure import flow_claim
from topodesign.plans.plan_ops import block_amounts


@pytest.mark.parametrize("gone", ["box0/gpu0-rail0", "rail1", "box1/gpu3", "box0/gpu0-rail0=0.5", "box0/gpu0>rail0"])
@pytest.mark.parametrize("collective", ["all-to-all", "scatter", "gather"])
def test_what_is_torn_takes_other_ways(collective: str, gone: str) -> None:
    root = None if collective == "all-to-all" else "box0/gpu1"
    before = schedule("dgx_h100(2)", collective, method="fluid", root=root)
    found = repair(before, gone)
    assert verify(found.plan).ok
    anew = schedule("dgx_h100(2)", collective, method="fluid", root=root, without=gone, chunks=10**6)
    assert found.bandwidth >= anew.claim["algorithmic_bandwidth"] * 8 / 10
    assert found.bandwidth <= found.bound
    assert f"in {found.tree_count} paths" in str(found)


def test_nodes_pass_on_where_there_are_no_switches() -> None:
    before = schedule("torus(4,4)", "all-to-all", method="fluid")
    for gone in ("0-1", "5"):
        found = repair(before, gone)
        anew = schedule("torus(4,4)", "all-to-all", method="fluid", without=gone, chunks=10**6)
        assert anew.claim["algorithmic_bandwidth"] * 9 / 10 <= found.bandwidth <= found.bound


def test_uneven_traffic_stays_what_it_was() -> None:
    before = schedule("dgx_h100(2)", "all-to-all", shards="zipf:1.2")
    found = repair(before, "rail0")
    assert block_amounts(found.plan) == block_amounts(before)
    less = block_amounts(repair(before, "box0/gpu0").plan)
    assert len(less or ()) == 15**2


def test_what_loses_nothing_stays_as_it_is() -> None:
    plan = schedule("complete(4)", "all-to-all", method="fluid")
    same = reroute_paths(plan.flow, plan.fabric, range(4), {})
    least = node_bound(plan.flow) / plan.fabric.unit
    assert flow_claim(same)["inv_x_star"] == plan.claim["inv_x_star"] == least  # each over its own link


def test_what_cannot_be_repaired_is_said() -> None:
    scatter = schedule("dgx_h100(2)", "scatter", method="fluid", root="box0/gpu1")
    with pytest.raises(InfeasibleError, match="the root is gone"):
        repair(scatter, "box0/gpu1")
    with pytest.raises(InfeasibleError, match="no way leads"):
        repair(schedule("fat_tree(2,2,1,2)", "all-to-all", method="fluid"), "leaf0/host0>leaf0")
