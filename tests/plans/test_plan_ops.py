"""Operations on plans: what they say of every plan of the samples is what a replay of it finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.plans.test_files import PLANS
from tests.samples.verdicts import replay_rounds
from topodesign import schedule, verify
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.plans.flow_ops import concatenate
from topodesign.plans.plan_ops import adds_at_ranks, list_rank_rounds, list_transfers, relabel_plan
from topodesign.plans.time.models import compute_claim


@pytest.mark.parametrize("name", PLANS)
def test_what_a_plan_says_is_what_its_replay_finds(name: str) -> None:
    plan = PLANS[name]()
    found = verify(replace(plan, claim={}))
    assert found.ok
    assert compute_claim(plan) == dict(found.figures)
    assert (plan.model == "clock") == (plan.size is not None)
    assert sum(len(one.src) for one in list_transfers(plan)) > 0
    assert adds_at_ranks(plan) or plan.collective.several or replay_rounds(list_rank_rounds(plan)).ok


@pytest.mark.parametrize("name", ["rounds", "trees"])
def test_the_image_under_no_change_is_the_plan(name: str) -> None:
    plan = PLANS[name]()
    assert relabel_plan(plan, np.arange(plan.topology.nodes)) == plan


@pytest.mark.parametrize("name", ["timed", "together", "paths", "stages"])
def test_plans_without_an_image_are_refused(name: str) -> None:
    plan = PLANS[name]()
    with pytest.raises(InfeasibleError, match="no image"):
        relabel_plan(plan, np.arange(plan.topology.nodes))


def test_only_plans_of_a_kind_are_put_after_one_another() -> None:
    halves = [schedule("torus(3,3)", one, method="tacos") for one in ("reduce-scatter", "allgather")]
    both = concatenate(halves[0].flow, halves[1].flow)
    assert verify(replace(halves[0], movement=both, claim={})).ok
    with pytest.raises(InfeasibleError, match="timed and rounds are not put after one another"):
        concatenate(halves[0].flow, schedule("torus(3,3)", "allgather").flow)
    with pytest.raises(InfeasibleError, match="plans in paths are not put"):
        concatenate(PLANS["paths"]().flow, PLANS["paths"]().flow)
    with pytest.raises(ScheduleError, match="is made of"):
        concatenate(PLANS["trees"]().flow, PLANS["trees"]().flow)
    with pytest.raises(ScheduleError, match="parts"):
        list_transfers(halves[0], 2)
