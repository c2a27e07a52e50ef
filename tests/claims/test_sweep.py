"""Rates and plans of random fabrics equal an independent program: every collective, in one group and in two.

Fabrics have unlike and degraded links, switches that copy or add, links that fail one way, limits that links share.
The program is that of :mod:`tests.claims.trees_oracle`, written from what a collective has to deliver.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.claims.test_fabrics import FLOWS, TREES, most_ports, random_fabric, random_groups, time_of
from tests.floors import reached
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.collectives import as_collective
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.group_price import price_groups
from topodesign.optima.optimum import optimum
from topodesign.optima.solution import _double
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.scheduling import schedule

QUICK, THOROUGH = (1, 3, 8), 300
SKIPPED = (InfeasibleError, TooLargeError)


def near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other))


def sweep_whole(fabric: Fabric, draw: random.Random, found: Counter[str]) -> None:
    """The fluid optimum of all nodes, and the plan that reaches it."""
    for name in (*TREES, *FLOWS):
        kind = as_collective(name)
        root = fabric.names[draw.choice(fabric.compute)] if kind.rooted else None
        try:
            best = optimum(fabric, kind, root=root, method="fluid")
        except SKIPPED:
            continue
        asked = kind if root is None else kind.at(fabric.number(root))
        true = float(fabric.unit) / time_of(fabric, asked, best.solution.among)
        assert best.proven, f"{fabric.name} {name}: not proven"
        assert near(float(best.bandwidth), true), f"{fabric.name} {name}: {float(best.bandwidth)} is not {true}"
        found["rates"] += 1
        try:
            plan = best.plan()
        except TooLargeError:
            continue
        report = verify(plan)
        assert report.ok, f"{fabric.name} {name}: {report}"
        rate = plan.claim["algorithmic_bandwidth"]
        assert rate == best.bandwidth, f"{fabric.name} {name}: the plan has {float(rate)}, not {true}"
        found["plans"] += 1
        reached("equal")


def sweep_groups(fabric: Fabric, draw: random.Random, found: Counter[str]) -> None:
    """Plans of one or two groups at once, and their price where it is proven."""
    groups = random_groups(draw, fabric.compute)
    ports = most_ports(fabric)
    for name in (*TREES, *FLOWS):
        kind = as_collective(name)
        roots = [draw.choice(group) for group in groups] if kind.rooted else None
        try:
            price = price_groups(fabric, kind, groups, root=roots, others="forward")
        except SKIPPED:
            continue
        claim = price.claims[0]
        true = ports * time_of(fabric, kind.within(groups, roots), claim.among)
        if claim.proven:
            assert near(float(price.bandwidth), true), f"{fabric.name} {name}: {float(price.bandwidth)} is not {true}"
        else:
            assert float(price.bandwidth) >= true * (1 - 1e-6)
        found["group rates"] += 1
        try:
            names = [[fabric.names[node] for node in group] for group in groups]
            at = None if roots is None else ",".join(fabric.names[root] for root in roots)
            plan = schedule(fabric, kind, group=names, root=at, others="forward")
        except (*SKIPPED, ParameterError) as error:
            found[f"no plan: {str(error)[:90]}"] += 1
            continue
        report = verify(plan)
        assert report.ok, f"{fabric.name} {name} in {groups}: {report}"
        factor = ports * fabric.unit / plan.claim["algorithmic_bandwidth"]
        assert factor == price.bandwidth, f"{fabric.name} {name} in {groups}: {factor} is not {price.bandwidth}"
        found["group plans"] += 1
        reached("equal")


def sweep(part: str, seed: int) -> None:
    fabric = random_fabric(seed, limits=seed % 3 > 0)
    check = sweep_groups if part == "groups" else sweep_whole
    check(fabric, random.Random(seed), Counter())  # noqa: S311


@pytest.mark.parametrize("seed", QUICK)
@pytest.mark.parametrize("part", ["whole", "groups"])
@pytest.mark.floor(equal=1)
def test_rates_and_plans_equal_an_independent_program(part: str, seed: int) -> None:
    sweep(part, seed)


def test_sums_of_a_group_at_a_switch_pass_nodes_of_another_group() -> None:
    groups = [["n0", "n1"], ["n2", "n3", "n4"]]
    assert verify(schedule(random_fabric(112, limits=True), "allreduce", group=groups, others="forward")).ok


@pytest.mark.thorough
@pytest.mark.parametrize("part", ["whole", "groups"])
@pytest.mark.floor(equal=1000)
def test_rates_and_plans_of_300_fabrics_equal_an_independent_program(part: str) -> None:
    for seed in range(THOROUGH):
        sweep(part, seed)


@pytest.mark.floor(upgrades=4)
def test_an_upgrade_is_what_the_wider_fabric_has() -> None:
    """Also where prices alone prove that more bandwidth on some links is of no use."""
    for seed in (1, 4, 8, 10):
        fabric = random_fabric(seed, limits=seed % 3 > 0)
        for name in ("all-to-all", "allgather"):
            try:
                best = optimum(fabric, name, method="fluid")
            except InfeasibleError:  # links failed one way
                continue
            for upgrade in best.upgrades:
                wider = optimum(_double(fabric, upgrade.kind), name, method="fluid")
                assert upgrade.doubled == wider.bandwidth
                reached("upgrades")
