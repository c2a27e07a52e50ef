"""The plan as a value: what it says of itself, and what does not belong together."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.plans.test_files import PLANS, rounds_plan, trees_plan
from topodesign.base.errors import ScheduleError
from topodesign.plans.plan import Plan
from topodesign.topology.library import build


@pytest.mark.parametrize("kind", PLANS)
def test_a_plan_says_what_it_is(kind: str) -> None:
    plan = PLANS[kind]()
    assert plan.collective.name in repr(plan)
    assert {"routed": "routes", "together": "concurrent streams"}.get(kind, kind) in str(plan)
    assert all(note in str(plan) for note in plan.notes)
    assert plan.topology.nodes == len(plan.fabric.names)
    assert "&lt;" not in plan.saying("a < b")._repr_html_().replace("a &lt; b", "")
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.spec = "other"  # type: ignore[misc]


def test_records_are_the_sends() -> None:
    plan = rounds_plan()
    records = plan.to_records()
    assert len(records) == len(plan.movement)
    assert [row["src"] for row in records] == plan.flow.src.tolist()
    for kind in PLANS.values():
        assert kind().to_records()[0].keys() == kind().movement.table().keys()
    assert len(trees_plan().to_records()) == len(trees_plan().movement)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ScheduleError, match="another topology"):
        Plan(build("complete(40)"), rounds_plan().movement)
    with pytest.raises(ScheduleError, match="another topology"):
        Plan(build("complete(4)"), trees_plan().movement)


def test_the_spec_of_the_topology_is_taken_over() -> None:
    topology = build("circulant(12,2,3)")
    from topodesign.schedulers.spff import spff

    plan = Plan(topology, spff(topology))
    assert plan.spec == "circulant(12,2,3)"
    assert hash(plan) == hash(Plan(topology, spff(topology)))
    assert np.array_equal(plan.rounds.step, spff(topology).step)
