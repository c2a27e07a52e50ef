"""Timelines: the same times in every format, those of the plan or of its simulation."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import pytest

from tests.samples.uneven import uneven
from topodesign.base.errors import ParameterError
from topodesign.cli.main import run
from topodesign.plans.files import save_plan
from topodesign.plans.flow import Flow
from topodesign.plans.time.simulate import simulate
from topodesign.plans.time.timeline import timeline
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
