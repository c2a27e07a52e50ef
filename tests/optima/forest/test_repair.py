"""Repaired trees are right, whatever failed, and near to what a new plan reaches."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.samples.forest import fabrics
from tests.samples.tree_tables import Trees
from tests.samples.verdicts import verify_trees
from topodesign import optimum, schedule, select_part
from topodesign.base.errors import InfeasibleError, TopologyError
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import as_fabric
from topodesign.optima.forest.repair import repair_trees


def repair(fabric: Fabric, trees: Trees, without: str) -> tuple[Fabric, Trees]:
    left = select_part(fabric, without=(without,))
    order = [left.names.index(name) if name in left.names else -1 for name in fabric.names]
    before = {(link.src, link.dst): link.bandwidth for link in fabric.links()}
    slower = {
        (left.number(link.src), left.number(link.dst)): link.bandwidth / before[link.src, link.dst]
        for link in left.links()
        if link.bandwidth < before[link.src, link.dst]
    }
    return left, Trees.of(repair_trees(trees.flow, left.topology, order, (left.aggregation, left.multicast), slower))


def check(fabric: Fabric, trees: Trees, without: str) -> tuple[Fabric, Trees]:
    left, new = repair(fabric, trees, without)
    report = verify_trees(new, names=left.names, multicast=left.multicast, aggregation=left.aggregation)
    assert report.ok, report.problems
    assert report.fullest == 1  # the rate is all that the fullest link has room for
    return left, new


@pytest.mark.dear("mi250(1)-box0/gcd0-box0/gcd1-0.5")
@pytest.mark.parametrize(
    ("spec", "without", "share"),
    [
        ("dgx_h100(4)", "box0/gpu0-rail0", 0.95),
        ("dgx_h100(4)", "box0/gpu0-rail0=0.5", 0.95),
        ("dgx_h100(4)", "rail3", 0.95),
        ("dgx_h100(4)", "box1/gpu2", 0.95),
        ("dgx_h100(4)", "box1/nvswitch", 0.99),
        ("ualink_pod(12,6)", "gpu0-switch0", 0.98),
        ("ualink_pod(12,6)", "switch5", 0.98),
        ("mi250(1)", "box0/gcd0-box0/gcd1", 0.5),
        ("torus(4,4)", "0-1", 0.6),
    ],
)
def test_near_to_what_a_new_plan_reaches(spec: str, without: str, share: float) -> None:
    fabric = as_fabric(spec)
    plan = schedule(fabric, "allgather", method="forest")
    left, new = check(fabric, Trees.of(plan), without)
    bandwidth = len(left.compute) * left.unit / new.inverse_rate
    assert share <= float(bandwidth / optimum(left, "allgather").bandwidth) <= 1


@pytest.mark.parametrize("collective", ["reduce-scatter", "allreduce"])
def test_reductions_are_repaired_as_their_mirror(collective: str) -> None:
    fabric = as_fabric("dgx_h100(2)")
    plan = schedule(fabric, collective, method="forest")
    check(fabric, Trees.of(plan), "box0/gpu0-rail0")
    check(fabric, Trees.of(plan), "box0/gpu0>rail0")


@pytest.mark.parametrize("without", ["box0/gpu0-rail0", "rail1", "box1/nvswitch", "box1/gpu3", "box0/gpu1-rail1=1/3"])
def test_switches_that_add_and_copy_stay_in_trees(without: str) -> None:
    plan = schedule("dgx_h100(2)", "allreduce", method="in-network")
    check(plan.fabric, Trees.of(plan), without)


def test_a_root_that_is_gone_takes_its_data_with_it() -> None:
    plan = schedule("mi250(1)", "broadcast", root="box0/gcd3")
    _, new = check(plan.fabric, Trees.of(plan), "box0/gcd0")
    assert new.collective.root == 2
    with pytest.raises(InfeasibleError, match="the root is gone"):
        repair(plan.fabric, Trees.of(plan), "box0/gcd3")


@given(st.data(), st.sampled_from(["allgather", "allreduce", "reduce-scatter"]))
@settings(max_examples=40, deadline=None)
def test_random_fabrics_and_failures(data: st.DataObject, collective: str) -> None:
    fabric = Fabric.from_topology(data.draw(fabrics(most_nodes=7)), Fraction(10**9))
    plan = schedule(fabric, collective, method="forest")
    one = data.draw(st.sampled_from(fabric.links()))
    link = f"{one.src}-{one.dst}"
    ends = data.draw(st.sampled_from([link, f"{one.src}>{one.dst}", one.src, f"{link}=0.5"]))
    try:
        left = select_part(fabric, without=(ends,))
        best = optimum(left, "allgather").bandwidth
    except (InfeasibleError, TopologyError):
        reject()
    _, new = check(fabric, Trees.of(plan), ends)
    if collective == "allgather":
        assert Fraction(0) < len(left.compute) * left.unit / new.inverse_rate <= best
    assert np.all(new.weight > 0)
