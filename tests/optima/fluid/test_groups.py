"""Groups at once through switches that copy and add: the price of an independent program over all groups."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from tests.claims.test_fabrics import random_fabric, time_of
from tests.floors import reached
from topodesign.base.claims import Scope
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER
from topodesign.fabrics.part import Others
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.fluid.packing import packing, problem_in_groups
from topodesign.optima.group_price import price_groups
from topodesign.plans.measure import flow_claim
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify


def check(seed: int) -> None:
    """The price is that of a program over all groups, and the plan is right and within 1% of it."""
    draw, fabric = random.Random(seed), random_fabric(seed, limits=True)  # noqa: S311
    switches = fabric.topology.switches
    if seed % 2 and not fabric.memory:
        fabric = replace(fabric, multicast=switches, aggregation=switches)
    order = draw.sample(fabric.compute, len(fabric.compute))
    cut = draw.randint(1, len(order) - 1)
    groups = [sorted(order[:cut]), sorted(order[cut:])]
    if len(order) < 3:
        return
    others: Others = "forward" if draw.random() < 0.5 else "vanish"
    asked = (ALLREDUCE, ALLREDUCE, ALLGATHER, REDUCE_SCATTER)[seed % 4].within(groups)
    try:
        problem = problem_in_groups(fabric, asked, others)
        found = problem.solve(cheapest=False)
    except InfeasibleError:
        return
    assert found.time == found.time_bound
    least = time_of(fabric, asked, Scope.CAPABLE_MEMBER_TREES, inside=others == "vanish")
    assert float(found.time * problem.network.scale / problem.shards) == pytest.approx(least)
    made = packing(fabric, asked, units=2**31 - 1, others=others)
    flow = replace(made.trees, place=fabric)
    plan = Plan(fabric, flow, flow_claim(flow))
    report = verify(plan)
    assert report.ok, report.problems
    assert least * (1 - 1e-9) <= fabric.unit / plan.claim["algorithmic_bandwidth"] <= least * 1.01
    assert simulate(plan, size="1GB").time > 0
    reached("compared")


@pytest.mark.dear
@pytest.mark.floor(compared=6)
def test_the_price_is_that_of_another_program() -> None:
    for seed in range(16):
        check(seed)


@pytest.mark.thorough
@pytest.mark.floor(compared=73)
def test_it_is_on_more_fabrics() -> None:
    for seed in range(16, 160):
        check(seed)


@pytest.mark.parametrize(
    ("spec", "groups", "price"),
    [
        ("dgx_h100(2)", "8x2:0", Fraction(10, 9)),  # of each box: 450 of 500 GB/s of a GPU
        ("dgx_h100(16)", "8x16:1", Fraction(75, 4)),  # of each rail: a ring of boxes at 50 GB/s
        pytest.param("dgx_h100(64)", "8x64:0", Fraction(10, 9), marks=pytest.mark.thorough),
        pytest.param("dgx_h100(64)", "8x64:1", Fraction(315, 16), marks=pytest.mark.thorough),
    ],
)
def test_groups_that_are_alike_are_solved_once(spec: str, groups: str, price: Fraction) -> None:
    found = price_groups(build_fabric(spec), "allreduce", groups)
    assert found.proven
    assert found.bandwidth == price
