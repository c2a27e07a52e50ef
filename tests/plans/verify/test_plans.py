"""One verifier for all plans: right ones pass, and every false figure, spec and damage is found."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plans.test_files import PLANS, orbit_plan, rounds_plan, trees_plan
from tests.samples.schedules import COLLECTIVES
from topodesign import schedule
from topodesign.base.errors import ParameterError, ScheduleError
from topodesign.collectives import ALL_TO_ALL, BROADCAST, GATHER, REDUCE, SCATTER, Collective
from topodesign.plans.build import build_steps
from topodesign.plans.files import save_plan
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import reverse
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import prune
from topodesign.plans.verify.plans import load_right, verify, verify_or_raise
from topodesign.topology.library import build


@pytest.mark.parametrize("kind", PLANS)
def test_right_plans_pass_and_false_claims_do_not(kind: str) -> None:
    plan = PLANS[kind]()
    report = verify(plan)
    assert report.ok, str(report)
    assert report.figures == plan.claim
    assert report.record()["ok"]
    assert str(report).startswith(f"{plan.collective}: ok")
    assert report.heading() == str(report).splitlines()[0]
    assert report.nodes == len(plan.collective.members(plan.topology.nodes, plan.topology.switches))
    assert [row["figure"] for row in report.to_records() if row["claimed"] == row["found"]] == [*report.figures]
    assert verify_or_raise(plan) is plan
    for name, value in plan.claim.items():
        false = verify(replace(plan, claim={**plan.claim, name: value + 1}))
        assert [problem for problem in false.problems if "claimed" in problem] == list(false.problems) != []
        assert false.heading().startswith(f"{plan.collective}: WRONG")
        assert f"\n  {false.problems[0]}" in str(false)
        with pytest.raises(ScheduleError, match="the plan is invalid: the claimed"):
            verify_or_raise(false.plan)
    unknown = verify(replace(plan, claim={"song": Fraction(1)}))
    assert "'song'" in "".join(unknown.problems)
    assert [row["figure"] for row in unknown.to_records()] == [*report.figures, "song"]
    assert unknown.to_records()[-1] == {"figure": "song", "claimed": 1, "found": None}


@given(seed=st.integers(0, 10**6), collective=st.sampled_from(COLLECTIVES))
def test_a_changed_send_is_found(seed: int, collective: str) -> None:
    plan = rounds_plan(seed, collective)
    rows = prune(plan.rounds)  # everything moves once
    plan = replace(plan, movement=rows, claim={})
    assert verify(plan).ok
    rng = np.random.default_rng(seed)
    row = int(rng.integers(len(rows)))
    less = rows.some(np.arange(len(rows)) != row)
    assert not verify(replace(plan, movement=less)).ok


@pytest.mark.parametrize(
    ("spec", "words"),
    [("complete(5)", "does not give the links"), ("complete(", "cannot be built"), ("dgx_a100(2)", "does not give")],
)
def test_a_spec_must_rebuild_the_links(spec: str, words: str) -> None:
    assert any(words in problem for problem in verify(replace(rounds_plan(), spec=spec)).problems)
    assert not verify(replace(trees_plan(), spec=spec)).ok
    named = schedule("torus(3,3)")
    assert named.topology.spec is not None
    assert any(words in problem for problem in verify(replace(named, spec=spec)).problems)


def test_the_spec_of_a_fabric_must_give_all_of_it_but_its_name() -> None:
    plan = trees_plan()
    fabric = plan.fabric
    assert not verify(replace(plan, place=replace(fabric, name="another"))).problems
    names = tuple(f"{name}x" for name in fabric.names)
    for other in (replace(fabric, multicast=fabric.multicast ^ {16}), replace(fabric, names=names)):
        assert any("does not give the fabric" in one for one in verify(replace(plan, place=other)).problems)
    (problem,) = verify(replace(plan, spec="dgx_h100(0)")).problems
    assert "does not give the fabric in the file: " in problem


def test_only_right_plans_are_loaded(tmp_path: Path) -> None:
    plan = rounds_plan()
    assert load_right(save_plan(tmp_path / "x.npz", plan)).movement == plan.movement
    told = replace(orbit_plan(), spec="circulant(12,2,3)")
    assert load_right(save_plan(tmp_path / "y.npz", told)).topology.symmetry is not None  # the spec is built again
    save_plan(tmp_path / "x.npz", replace(plan, claim={"steps": Fraction(1), "bandwidth": Fraction(1)}))
    with pytest.raises(ParameterError, match="not a correct schedule"):
        load_right(tmp_path / "x.npz")


def star(collective: Collective, nodes: int) -> Plan:
    """A collective in one step on the complete graph, every block straight from source to destination."""
    members = collective.members(nodes)
    blocks = collective.blocks(members, nodes)
    source, destination = collective.places(collective.movements[0], blocks, nodes)
    rows = [
        (1, s, t, block, 0, 1)
        for block, a, b in zip(blocks.tolist(), source.tolist(), destination.tolist(), strict=True)
        for s in (members.tolist() if a < 0 else [a])
        for t in (members.tolist() if b < 0 else [b])
        if s != t
    ]
    columns: Any = tuple(np.array(rows).reshape(-1, 6).T)
    return Plan(build(f"complete({nodes})"), build_steps(collective, nodes, 1, 1, [columns]))


@pytest.mark.parametrize("nodes", [2, 5])
@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize(
    "collective", [BROADCAST.at(1), REDUCE.at(1), SCATTER.at(1), GATHER.at(1), ALL_TO_ALL], ids=str
)
def test_other_collectives_are_replayed_on_their_blocks(collective: Collective, nodes: int, group: bool) -> None:
    chosen = collective.among([0, 1, 3]) if group and nodes > 3 else collective
    plan = star(chosen, nodes)
    rows = plan.rounds
    assert isinstance(rows, Flow)
    report = verify(plan)
    assert report.ok, str(report)
    assert report.figures["steps"] == 1
    for row in range(len(rows)):
        kept = rows.some(np.arange(len(rows)) != row)
        assert not verify(replace(plan, movement=kept)).ok, f"row {row} is not needed"
    back = replace(plan, movement=reverse(rows))
    assert back.collective == chosen.dual
    assert verify(back).ok


def test_what_nobody_can_verify_is_refused() -> None:
    with pytest.raises(ScheduleError, match="of flows, not of 'song'"):
        Plan(build("complete(3)"), "song")  # type: ignore[arg-type]


def test_routes_may_pass_through_nodes_of_other_groups() -> None:
    plan = schedule("biring(2,4)", "allgather", group=("0,2", "1,3"), others="forward", method="fluid")
    (flow,) = plan.flows
    assert flow.routes is not None
    start = flow.routes.hop_start.tolist()
    inner = [flow.routes.hop[begin + 1 : end - 1].tolist() for begin, end in pairwise(start)]
    assert any(inner)
    assert verify(plan).ok, str(verify(plan))
