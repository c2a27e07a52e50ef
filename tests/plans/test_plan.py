"""A plan: what moves has to fit where it runs, and the place says the spec."""

from __future__ import annotations

import numpy as np
import pytest

from tests.samples.schedules import valid
from topodesign import build
from topodesign.base.errors import ScheduleError
from topodesign.plans.plan import Plan


@pytest.mark.parametrize("seed", range(5))
def test_what_moves_has_to_fit_the_place(seed: int) -> None:
    topology, rounds = valid(np.random.default_rng(seed), "allgather")
    plan = Plan(topology, rounds)
    assert plan.topology == topology
    assert plan.collective == rounds.collective
    assert hash(plan) == hash(Plan(topology, rounds))
    with pytest.raises(ScheduleError, match="another topology"):
        Plan(build(f"complete({topology.nodes + 1})"), rounds)


def test_the_place_says_the_spec() -> None:
    topology, rounds = valid(np.random.default_rng(1), "allgather")
    assert Plan(topology, rounds).spec is None
    assert Plan(build(f"complete({topology.nodes})"), rounds).spec == f"complete({topology.nodes})"
    assert Plan(topology, rounds, spec="mine()").spec == "mine()"
