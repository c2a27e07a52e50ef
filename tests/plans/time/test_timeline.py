"""Timelines: the same times in every format, those of the plan or of its simulation."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.plans.test_files import phases_plan
from tests.samples.uneven import uneven
from topodesign.base.errors import ParameterError
from topodesign.cli.main import run
from topodesign.collectives import ALLGATHER, COLLECTIVES
from topodesign.plans.build import build_steps
from topodesign.plans.files import save_plan
from topodesign.plans.flow import Circuits, Flow
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import simulate
from topodesign.plans.time.timeline import timeline
from topodesign.schedulers.circuits.sequence import over_circuits
from topodesign.schedulers.scheduling import schedule

TOPOLOGY, TABLE = uneven(5, 1)
PLAN = schedule(TOPOLOGY, "allgather", method="tacos", link_table=TABLE)


def test_both_formats_say_when_everything_happens() -> None:
    timed = PLAN.movement
    assert isinstance(timed, Flow)
    rows = list(csv.DictReader(io.StringIO(timeline(PLAN, "csv"))))
    spans = [event for event in json.loads(timeline(PLAN))["traceEvents"] if event["ph"] == "X"]
    assert len(rows) == len(spans) == len(timed)
    assert max(float(row["end_s"]) for row in rows) == float(timed.time)
    for row, span in zip(rows, spans, strict=True):
        assert (int(row["src"]), int(row["dst"]), int(row["block"])) == (
            span["pid"],
            span["tid"],
            span["args"]["block"],
        )
        assert float(row["start_s"]) * 1e6 == pytest.approx(span["ts"])


def test_delays_are_in_the_timeline_of_a_simulation(tmp_path: Path) -> None:
    late = simulate(PLAN, jitter="5us", seed=1)
    assert PLAN.claim["time"] < late.time <= PLAN.claim["time"] + 20 * Fraction(5, 10**6)
    assert simulate(PLAN, jitter="5us", seed=1).time == late.time
    rows = list(csv.DictReader(io.StringIO(timeline(late, "csv"))))
    assert max(float(row["end_s"]) for row in rows) == float(late.time)
    path, out = save_plan(tmp_path / "p.npz", PLAN), tmp_path / "t.csv"
    assert run(["simulate", str(path), "--jitter", "5us", "--seed", "1", "--timeline", str(out)]) == 0
    assert out.read_text() == timeline(late, "csv")
    assert run(["simulate", str(path), "--timeline", str(tmp_path / "t.txt")]) == 2


def test_stragglers_hold_up_what_waits_for_them() -> None:
    ring = schedule("torus(5)", "allgather", method="tacos")
    late = simulate(ring, ready={"2": "1ms"})
    assert Fraction(1, 1000) < late.time <= Fraction(1, 1000) + ring.claim["time"]
    assert simulate(ring, ready={"2": 0}).time == ring.claim["time"]


def test_what_has_no_times_is_said() -> None:
    rounds = schedule("torus(3,3)", "allgather")
    with pytest.raises(ParameterError, match="have no times"):
        timeline(rounds)
    with pytest.raises(ParameterError, match="no times of their own"):
        simulate(rounds, jitter="1us")


# -- The simulator of phases: the formula where all ports are dark, and what overlaps where only some are


US = Fraction(1, 10**6)
NOW: Any = {"size": 6000, "alpha": "1us", "bandwidth": "8Gbps"}  # 1 us for 1000 bytes over all ports


def delayed(plan: Plan, delay: Fraction, *, moving: bool) -> Plan:
    circuits = plan.flow.switching._replace(delay=delay, moving=moving)
    return Plan(plan.place, replace(plan.flow, circuits=circuits))


@pytest.mark.parametrize("collective", ["all-to-all", "allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize("delay", [0, 3, 1000])
def test_all_ports_dark_is_the_formula(collective: str, delay: int) -> None:
    assert COLLECTIVES[collective].name == collective
    plan = phases_plan(collective)
    steps, factor, changes = (plan.claim[name] for name in ("steps", "bandwidth", "changes"))
    time = simulate(delayed(plan, delay * US, moving=False), **NOW).time
    assert time == (steps + 6 * factor + delay * changes) * US
    assert simulate(delayed(plan, delay * US, moving=True), **NOW).time == time  # every port moves and waits


def planes(delay: Fraction) -> Plan:
    """Four nodes send over ports 0, 1, 0 in turn, to the next but one: while one sends the other moves."""
    nodes = np.arange(4)

    def circuits(port: int, jump: int) -> np.ndarray:
        return np.stack((nodes, 0 * nodes + port, (nodes + jump) % 4, 0 * nodes + port), axis=1)

    parts = [(step, nodes, (nodes + step) % 4, nodes, 0, 1) for step in (1, 2, 3)]
    rounds = build_steps(ALLGATHER, 4, 1, 3, parts)
    phases = [circuits(0, 1), circuits(1, 2), circuits(0, 3)]
    moved = over_circuits(rounds, Circuits.of(phases, np.array([1, 2, 3]), ports=2, delay=delay, moving=True))
    return Plan(moved.place, moved)


@pytest.mark.parametrize("delay", [0, 1, 3, 5, 50])
def test_planes_in_turn_take_the_longer_of_delay_and_sending(delay: int) -> None:
    # a step takes 1 us and 1500 bytes over half the ports, 3 us: 4; port 0 may move while port 1 sends
    time = simulate(planes(delay * US), **NOW).time
    assert time == (4 + max(delay, 4) + 4) * US


def test_what_it_does_not_know_is_refused() -> None:
    plan = phases_plan("allgather")
    wrong: Any
    for wrong in ({"mode": "asynchronous"}, {"failed": [(0, 1)]}, {"chunks": 2}):
        with pytest.raises(ParameterError, match="lock-step"):
            simulate(plan, **wrong)
