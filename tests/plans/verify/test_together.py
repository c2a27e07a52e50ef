"""The verifier of several collectives at the same time finds what is wrong between them, and in each."""

from __future__ import annotations

import numpy as np
import pytest

from tests.samples.timed import on_clock
from topodesign.plans.flow import Flows
from topodesign.plans.plan import Plan
from topodesign.plans.verify.plans import check_movement, verify
from topodesign.schedulers.scheduling import schedule


@pytest.fixture(scope="module")
def plan() -> Plan:
    return schedule("torus(3,3)", traffic=["*=allgather@1MiB", "*=all-to-all@64KiB+20us", "*=allreduce@1KiB"], tries=1)


def moved(plan: Plan) -> Flows:
    assert isinstance(plan.movement, Flows)
    return plan.movement


def test_it_is_right(plan: Plan) -> None:
    found = check_movement(plan.topology, moved(plan))
    assert found.ok
    assert verify(plan).figures["time_1"] == moved(plan).each[1].time
    assert verify(plan).record()["streams"][1]["begin"] == "1/50000"


@pytest.mark.parametrize("stream", range(3))
@pytest.mark.parametrize("row", range(0, 60, 7))
def test_a_send_less_or_at_the_same_time_is_found(plan: Plan, stream: int, row: int) -> None:
    streams = moved(plan).each
    one = streams[stream]
    less = one.some(np.delete(np.arange(len(one)), row % len(one)))
    changed = Flows((*streams[:stream], less, *streams[stream + 1 :]))
    assert any(problem.startswith(f"stream {stream}: ") for problem in check_movement(plan.topology, changed).problems)
    # A stream a tick earlier is right in itself, but not before it begins, nor beside those whose links it has.
    later = one.having(start=one.start + 1, end=one.end + 1)
    several = (*streams[:stream], later, *streams[stream + 1 :])
    found = check_movement(plan.topology, Flows(tuple(on_clock(one, begin=0) for one in several)))
    assert any("both have the link" in problem for problem in found.problems)


def test_a_link_whose_latency_runs_on_is_free_for_another_stream(plan: Plan) -> None:
    streams = tuple(on_clock(one, overlap=True) for one in moved(plan).each)
    assert not check_movement(plan.topology, Flows(streams)).problems


def test_who_begins_too_early_is_found(plan: Plan) -> None:
    first, second, third = moved(plan).each
    late = Flows((first, on_clock(second, begin=second.timing.begin + 10**6), third))
    assert any("its collective begins at tick" in problem for problem in check_movement(plan.topology, late).problems)


def test_a_claim_that_is_not_true_is_found(plan: Plan) -> None:
    wrong = Plan(plan.place, plan.movement, dict(plan.claim) | {"time_0": plan.claim["time_0"] * 2}, plan.spec)
    assert not verify(wrong).ok
