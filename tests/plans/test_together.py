"""Several collectives in one plan: their form, their file, and the program of each."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.samples.timed import on_clock
from topodesign.base.errors import FileFormatError, ParameterError, ScheduleError
from topodesign.collectives import ALLGATHER, from_record, join_collectives
from topodesign.compiler.several import compile_groups
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.flow import Flows
from topodesign.plans.plan import Plan
from topodesign.plans.time.timeline import timeline
from topodesign.plans.verify.plans import verify
from topodesign.report.charts.timeline import timeline_chart
from topodesign.schedulers.scheduling import schedule

TRAFFIC = ["0,1,2=allgather@1MiB", "*=all-to-all@64KiB+20us", "3x3:1=reduce-scatter@1MiB"]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return schedule("torus(3,3)", traffic=TRAFFIC, tries=2)


def test_a_file_holds_it(plan: Plan, tmp_path: Path) -> None:
    path = save_plan(tmp_path / "t.npz", plan)
    again = load_plan(path)
    assert again.movement == plan.movement
    assert again.collective == plan.collective == from_record(plan.collective.record())
    assert (again.claim, again.spec, again.notes) == (plan.claim, plan.spec, plan.notes)
    assert verify(again).ok
    moved = plan.movement
    assert isinstance(moved, Flows)
    assert len(timeline(plan, "csv").splitlines()) == len(moved) + 1
    assert len(plan.to_records()) == len(moved)
    assert len(timeline_chart(plan).series) == len(moved.each)


def test_each_stream_is_a_program(plan: Plan) -> None:
    parts = compile_groups(plan)
    assert [one.name for one in parts][:2] == ["stream0-group0", "stream1"]
    for one in parts:
        report = one.compiled.checked().report
        assert report is not None
        assert report.ok


def test_what_is_no_plan(plan: Plan, tmp_path: Path) -> None:
    moved = plan.movement
    assert isinstance(moved, Flows)
    first = moved.each[0]
    for each in ((), (first, on_clock(first, tick=first.timing.tick * 2))):
        with pytest.raises(ScheduleError):
            Flows(each)
    assert not Flows((first,)).fits(schedule("torus(2,3)", "allgather").topology)
    with pytest.raises(ScheduleError, match="one collective"):
        Plan(plan.topology, first.some(np.array([], dtype=np.int64)).having(collective=plan.collective))
    with pytest.raises(ParameterError):
        join_collectives([plan.collective])
    with pytest.raises(ParameterError):
        join_collectives([])
    wrong: list[object] = [3, [], [{"together": []}], [ALLGATHER.record(), 3]]
    for several in wrong:
        with pytest.raises(ParameterError):
            from_record({"together": several})
    path = save_plan(tmp_path / "t.npz", plan)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    told = json.loads(members["header.json"])["flow"]
    clock = told[1]["clock"]
    for several in (
        [],
        [3, 3, 3],
        told[:2],
        [*told[:2], {**told[2], "clock": None}],
        *([told[0], {**told[1], "clock": clock | change}, told[2]] for change in ({"overlap": 1}, {"tick": "0"})),
        [told[0], {**told[1], "clock": {**clock, "tick": "2"}}, told[2]],
    ):
        header = json.loads(members["header.json"]) | {"flow": several}
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in (members | {"header.json": json.dumps(header).encode()}).items():
                archive.writestr(name, data)
        with pytest.raises(FileFormatError):
            load_plan(path)
    path.write_bytes(whole)
    assert load_plan(path).movement == moved
