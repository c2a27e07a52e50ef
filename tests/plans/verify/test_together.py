"""The verifier of several collectives at the same time finds what is wrong between them, and in each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from topodesign.plans.plan import Plan
from topodesign.plans.timed import Together
from topodesign.plans.verify.plans import check_movement, verify
from topodesign.schedulers.scheduling import schedule


@pytest.fixture(scope="module")
def plan() -> Plan:
    return schedule("torus(3,3)", traffic=["*=allgather@1MiB", "*=all-to-all@64KiB+20us", "*=allreduce@1KiB"], tries=1)


def moved(plan: Plan) -> Together:
    assert isinstance(plan.movement, Together)
    return plan.movement


def test_it_is_right(plan: Plan) -> None:
    found = check_movement(plan.topology, moved(plan))
    assert found.ok
    assert verify(plan).figures["time_1"] == moved(plan).streams[1].time
    assert verify(plan).record()["streams"][1]["begin"] == "1/50000"


@pytest.mark.parametrize("stream", range(3))
@pytest.mark.parametrize("row", range(0, 60, 7))
def test_a_send_less_or_at_the_same_time_is_found(plan: Plan, stream: int, row: int) -> None:
    streams = moved(plan).streams
    one = streams[stream]
    less = one.rows(np.delete(np.arange(len(one)), row % len(one)))
    changed = Together((*streams[:stream], less, *streams[stream + 1 :]), moved(plan).begins)
    assert any(problem.startswith(f"stream {stream}: ") for problem in check_movement(plan.topology, changed).problems)
    # A stream a tick earlier is right in itself, but not before it begins, nor beside those whose links it has.
    later = one.having(start=one.start + 1, end=one.end + 1)
    found = check_movement(plan.topology, Together((*streams[:stream], later, *streams[stream + 1 :]), (0, 0, 0)))
    assert any("both have the link" in problem for problem in found.problems)


def test_a_link_whose_latency_runs_on_is_free_for_another_stream(plan: Plan) -> None:
    streams = tuple(replace(one, overlap=True) for one in moved(plan).streams)
    assert not check_movement(plan.topology, Together(streams, moved(plan).begins)).problems


def test_who_begins_too_early_is_found(plan: Plan) -> None:
    streams, begins = moved(plan).streams, moved(plan).begins
    late = Together(streams, (*begins[:1], begins[1] + 10**6, begins[2]))
    assert any("its collective begins at tick" in problem for problem in check_movement(plan.topology, late).problems)


def test_a_claim_that_is_not_true_is_found(plan: Plan) -> None:
    wrong = Plan(plan.place, plan.movement, dict(plan.claim) | {"time_0": plan.claim["time_0"] * 2}, plan.spec)
    assert not verify(wrong).ok
