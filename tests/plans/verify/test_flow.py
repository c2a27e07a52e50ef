"""The verifier of flows against a brute force, for every timing model, and mutants of every column."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.conftest import few
from tests.floors import reached
from tests.plans.test_files import PLANS
from tests.plans.test_plan_flows import MORE
from tests.samples.brute import judge, mutate
from topodesign import schedule
from topodesign.base.errors import ScheduleError, TopodesignError
from topodesign.plans.flow import Flows
from topodesign.plans.measure import flow_claim
from topodesign.plans.plan import Plan
from topodesign.plans.verify.data import replay_data
from topodesign.plans.verify.plans import check_flows
from topodesign.schedulers.spff import spff_orbit
from topodesign.topology.library import build

PLANS_HERE = {
    **PLANS,
    **MORE,
    "gather": lambda: schedule("torus(2,3)", "gather", root=1),
    "exchange": lambda: schedule("uniring(1,3)", "all-to-all"),
    "pair": lambda: schedule("biring(2,4)", "allgather", group=[[0, 1], [2, 3]]),
}
COLUMNS = ("block", "lo", "hi", "piece", "src", "dst", "start", "end", "part")


def spff_plan(spec: str, collective: str) -> Plan:
    topology = build(spec)
    orbit = spff_orbit(topology, collective)
    return Plan(topology, orbit, flow_claim(orbit))


CHANGED = {
    **PLANS_HERE,
    "orbit": lambda: spff_plan("circulant(5,1,2)", "allgather"),
    "orbits of two": lambda: spff_plan("torus(3,3)", "allreduce"),
    "reducing orbit": lambda: spff_plan("circulant(6,2,3)", "reduce-scatter"),
    "broadcast": lambda: schedule("torus(2,3)", "broadcast", root=2),
    "reduce": lambda: schedule("torus(2,3)", "reduce", root=2),
    "scatter": lambda: schedule("biring(2,4)", "scatter", root=1),
    "reduce-scatter": lambda: schedule("biring(2,4)", "reduce-scatter"),
    "forest": lambda: schedule("torus(2,3)", "allreduce", method="forest"),
    "gathering forest": lambda: schedule("circulant(5,1,2)", "allgather", method="forest"),
    "tacos": lambda: schedule("biring(2,4)", "allreduce", method="tacos", size="64KiB"),
    "shards": lambda: schedule("complete(4)", "allreduce", method="forest", shards="2,1,1,0"),
    "matrix": lambda: schedule("complete(3)", "all-to-all", shards=np.array([[0, 2, 1], [1, 0, 3], [1, 1, 0]])),
}


@pytest.mark.dear("groups", "switched", "orbittrees")
@pytest.mark.floor(right=1, wrong=1)
@pytest.mark.parametrize("name", CHANGED)
def test_what_is_right_is_what_the_definition_says(name: str) -> None:
    """Plans of every timing model, folded or not, with one number changed; stages and streams in one of their flows."""
    plan = CHANGED[name]()
    several, flows = isinstance(plan.movement, Flows), plan.flows
    assert judge(flows, several=several)
    reached("right")
    for seed in few(range(120), 11):
        random = np.random.default_rng([seed, len(name)])
        at = int(random.integers(len(flows)))
        try:
            what, one = mutate(flows[at], random)
            changed = (*flows[:at], one, *flows[at + 1 :])
            if several:
                Flows(changed)
        except TopodesignError:  # not even the form is right
            continue
        found = check_flows(changed, several=several)
        right = judge(changed, several=several)
        reached("right" if right else "wrong")
        several_images = any("several images" in problem for problem in found.problems)  # which pipelines may not have
        assert found.ok == (right and not several_images), (seed, what, found.problems)


@pytest.mark.parametrize("name", PLANS)
def test_every_plan_is_right_and_no_send_can_be_left_out(name: str) -> None:
    plan = PLANS_HERE[name]()
    flows = plan.flows
    assert check_flows(flows, several=isinstance(plan.movement, Flows)).ok
    flow = flows[0]
    random = np.random.default_rng(3)
    for row in random.choice(len(flow), size=min(4, len(flow)), replace=False).tolist():
        kept = np.arange(len(flow)) != row
        rows = {one: getattr(flow, one)[kept] for one in COLUMNS[3:]}
        less = replace(flow, routes=None, **rows)
        data = replay_data(less, np.ones(len(less), dtype=np.bool_))
        assert data.problems or replay_data(flow, np.ones(len(flow), dtype=np.bool_)).redundant or data.refilled


def test_who_waits_for_whom_is_said() -> None:
    flow = schedule("uniring(1,4)", "allgather").flow
    last = flow.start == flow.start.max()
    early = replace(flow, start=np.where(last, 0, flow.start), end=np.where(last, 1, flow.end))
    (first, *_) = replay_data(early, np.ones(len(flow), dtype=np.bool_)).problems
    assert "does not have all of them then: it waits for node" in first
    assert ", which sends in step 2" in first


SIZED = ("shards", "matrix", "in-network", "orbittrees")


@pytest.mark.parametrize("name", SIZED)
def test_no_other_size_of_a_block_is_right(name: str) -> None:
    """Whatever one size is changed to is found or refused, but for what a node has for itself, which stays there."""
    flow = CHANGED[name]().flow
    sizes = flow.sizes
    if sizes is None:  # which says that all are alike
        sizes = np.isin(np.arange(flow.collective.block_count(flow.nodes)), flow.blocks).astype(np.int64)
    figures = check_flows((flow,)).figures
    assert check_flows((replace(flow, sizes=sizes),)).figures == figures != {}
    for block, own in enumerate(sizes.tolist()):
        for size in {0, own - 1, own + 1, 2**40, 2**61} - {own}:
            changed = sizes.copy()
            changed[block] = size
            try:
                found = check_flows((replace(flow, sizes=changed),))
            except TopodesignError:  # not even the form is right
                continue
            stays = flow.collective.pairwise and block % (flow.nodes + 1) == 0
            assert found.ok == stays
            assert found.figures == (figures if stays else {})


def test_a_send_of_a_step_takes_one_step() -> None:
    flow = PLANS_HERE["rounds"]().flow
    with pytest.raises(ScheduleError, match="takes one step"):
        replace(flow, start=np.maximum(flow.start - 1, 0))


def test_a_flow_has_units_and_steps() -> None:
    flow = PLANS_HERE["timed"]().flow
    wrong: list[Any] = [{"units": 0}, {"steps": -1}]
    for changes in wrong:
        with pytest.raises(ScheduleError, match="use at least 1 and 0"):
            replace(flow, **changes)


def test_sends_of_pipelines_may_take_several_instants() -> None:
    flow = schedule("torus(2,3)", "broadcast", root=2).flow
    assert judge([flow])
    slow = replace(flow, start=3 * flow.start, end=3 * flow.start + 2)
    assert judge([slow])
    assert check_flows((slow,)).ok
    last = np.arange(len(flow)) == np.argmax(flow.end)
    late = replace(flow, end=flow.end + 9 * last)
    assert judge([late])
    assert check_flows((late,)).ok


def test_sizes_have_a_form() -> None:
    """They are whole numbers that can be added up, one for every block, and of flows in chunks."""
    flow = CHANGED["shards"]().flow
    wrong: list[Any] = [np.ones(5, dtype=np.int64), np.zeros(4, dtype=np.int64), np.ones(4), np.full(4, 2**60)]
    for sizes in wrong:
        with pytest.raises(ScheduleError, match="sizes must be 4 numbers from 0"):
            replace(flow, sizes=sizes)
    with pytest.raises(ScheduleError, match="only chunks are of blocks that differ"):
        replace(schedule("complete(4)", "allgather").flow, sizes=np.ones(4, dtype=np.int64))
