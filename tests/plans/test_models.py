"""A timing model is a row in three tables: a toy one is verified, timed, shown, saved and reversed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topodesign.base.errors import ScheduleError
from topodesign.collectives import ALLGATHER
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.flow import FORMS, Flow
from topodesign.plans.flow_ops import reverse
from topodesign.plans.plan import Plan
from topodesign.plans.time import models
from topodesign.plans.time.conditions import Busy, Conditions, Moments, Run, TimingModel
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.data import replay_data
from topodesign.plans.verify.links import check_links, find_links
from topodesign.plans.verify.plans import CHECKS, verify
from topodesign.plans.verify.verdict import Verdict
from topodesign.topology.library import build

SLOTS = "slots"
"""Sends have their link alone, for as many slots as they have units."""


def check_form(flow: Flow) -> None:
    if np.any(flow.end - flow.start != flow.of_sends(flow.hi - flow.lo)):
        raise ScheduleError("a send takes a slot for every unit")


def check_slots(flows: tuple[Flow, ...], several: bool) -> Verdict:
    (flow,) = flows
    links = find_links(flow)
    problems, there = check_links(flow, links)
    order = np.lexsort((flow.start, links.link))
    same = links.link[order][1:] == links.link[order][:-1]
    if np.any(same & (flow.start[order][1:] < flow.end[order][:-1])):
        problems.append("two sends have one link at a time")
    data = replay_data(flow, there)
    return Verdict((*problems, *data.problems), {"slots": Fraction(int(flow.end.max()))})


@dataclass(frozen=True, eq=False)
class SlotRun(Run):
    def describe(self, name: Callable[[int], str]) -> str:
        return f"slots on {name(0)}: {self.time}"


def seconds(plan: Plan, size: Fraction, bandwidth: Fraction) -> Fraction:
    return 8 * size / plan.flow.whole_units * plan.topology.degree / bandwidth


def run_slots(plan: Plan, flows: Sequence[Flow], now: Conditions) -> Run:
    rate = now.bandwidth or Fraction(10**11)
    time = int(flows[0].end.max()) * seconds(plan, now.size, rate)
    return SlotRun(time, np.ones(len(plan.topology.src)), None)


def list_busy(plan: Plan, size: Fraction, alpha: Fraction, bandwidth: Fraction) -> tuple[list[Busy], str]:
    slot, flow = seconds(plan, size, bandwidth), plan.flow
    start, end = ([int(at) * slot for at in column] for column in (flow.start, flow.end))
    link = plan.topology.link_index(flow.src, flow.dst).tolist()
    return [Busy("send", start, end, link, [""] * len(flow))], "in slots"


def list_moments(plan: Plan) -> Moments:
    instants = np.arange(int(plan.flow.end.max()) + 1)
    return Moments(plan.flow, instants, tuple(map(str, instants[1:])), "in slots")


def claim(plan: Plan) -> dict[str, Fraction]:
    return {"slots": Fraction(int(plan.flow.end.max()))}


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Blocks of two units go round a ring of four."""
    monkeypatch.setitem(FORMS, SLOTS, check_form)
    monkeypatch.setitem(CHECKS, SLOTS, check_slots)
    monkeypatch.setitem(models.MODELS, SLOTS, TimingModel(claim, run_slots, list_busy, list_moments))
    turn, node = (column.ravel() for column in np.meshgrid(np.arange(3), np.arange(4), indexing="ij"))
    block, lo = (node - turn) % 4, np.zeros(12, dtype=np.int64)
    sends: Any = np.arange(12), node, (node + 1) % 4, 2 * turn, 2 * turn + 2, lo
    model: Any = SLOTS
    flow = Flow(ALLGATHER, build("uniring(1,4)"), model, 2, block, lo, lo + 2, *sends)
    made = Plan(flow.place, flow)
    return replace(made, claim=models.compute_claim(made))


def test_a_timing_model_is_three_rows(plan: Plan, tmp_path: Path) -> None:
    assert verify(plan).ok
    assert verify(plan).figures == plan.claim == {"slots": 6}
    assert simulate(plan, size="8B", bandwidth="8bps").time == 6
    assert models.list_busy(plan, Fraction(8), Fraction(0), Fraction(8))[0][0].end[-1] == 6
    assert len(models.list_moments(plan).names) == 6
    assert load_plan(save_plan(tmp_path / "slots.npz", plan)).movement == plan.movement
    assert verify(Plan(plan.topology.transpose(), reverse(plan.flow))).ok


def test_what_is_wrong_in_a_new_model_is_found(plan: Plan) -> None:
    flow = plan.flow
    early = flow.start - 2 * (np.arange(12) >= 8)
    for column in (early, np.maximum(early - 1, 0)):
        wrong = replace(plan, movement=replace(flow, start=column, end=column + 2))
        assert {"two sends have one link at a time"} < set(verify(wrong).problems)
    with pytest.raises(ScheduleError, match="a slot for every unit"):
        replace(flow, end=flow.end + 1)
    with pytest.raises(ScheduleError, match="unknown timing model 'waves'"):
        replace(flow, model="waves")  # type: ignore[arg-type]
