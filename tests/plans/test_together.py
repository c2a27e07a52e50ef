"""Several collectives in one plan: their form, their file, and the program of each."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from topodesign.base.errors import FileFormatError, ParameterError, ScheduleError
from topodesign.collectives import ALLGATHER, from_record, together
from topodesign.compiler.several import compile_groups
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.plan import Plan
from topodesign.plans.time.timeline import timeline
from topodesign.plans.timed import Together
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
    assert isinstance(moved, Together)
    assert [one["rows"] for one in moved.header()["streams"]] == [len(one) for one in moved.streams]
    assert len(timeline(plan, "csv").splitlines()) == len(moved) + 1
    assert len(plan.to_records()) == len(moved)
    assert len(timeline_chart(plan).series) == len(moved.streams)


def test_each_stream_is_a_program(plan: Plan) -> None:
    parts = compile_groups(plan)
    assert [one.name for one in parts][:2] == ["stream0-group0", "stream1"]
    for one in parts:
        report = one.compiled.checked().report
        assert report is not None
        assert report.ok


def test_what_is_no_plan(plan: Plan, tmp_path: Path) -> None:
    moved = plan.movement
    assert isinstance(moved, Together)
    first = moved.streams[0]
    for streams, begins in (
        ((), ()),
        ((first,), ()),
        ((first,), (-1,)),
        ((first, replace(first, tick=first.tick * 2)), (0, 0)),
    ):
        with pytest.raises(ScheduleError):
            Together(streams, begins)
    assert not Together((first,), (0,)).fits(schedule("torus(2,3)", "allgather").topology)
    with pytest.raises(ScheduleError, match="one collective"):
        Plan(plan.topology, first.rows(np.array([], dtype=np.int64)).having(collective=plan.collective))
    with pytest.raises(ParameterError):
        together([plan.collective])
    with pytest.raises(ParameterError):
        together([])
    wrong: list[object] = [3, [], [{"together": []}], [ALLGATHER.record(), 3]]
    for several in wrong:
        with pytest.raises(ParameterError):
            from_record({"together": several})
    path = save_plan(tmp_path / "t.npz", plan)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for change in (("streams", []), ("streams", [3, 3, 3]), ("overlap", 1), ("tick", "0")):
        header = json.loads(members["header.json"])
        header["movement"][change[0]] = change[1]
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in (members | {"header.json": json.dumps(header).encode()}).items():
                archive.writestr(name, data)
        with pytest.raises(FileFormatError):
            load_plan(path)
    path.write_bytes(whole)
    assert load_plan(path).movement == moved
