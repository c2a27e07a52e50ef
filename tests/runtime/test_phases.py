"""Programs by phase are run in a row: what is wrong in one, or in what the manifest says, is found."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from topodesign import check_phases, compile_phases, reconfigure
from topodesign.runtime.manifest import MANIFEST

TARGETS = {"msccl": "program{}.xml", "mscclpp": "program{}.json", "chakra": "program{}"}


@pytest.fixture(scope="module", params=TARGETS)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    plan = reconfigure(8, 1, "allreduce", delay="0s", alpha="1us", size="64MiB").plan
    folder = tmp_path_factory.mktemp("phases") / request.param
    compile_phases(plan, request.param).save(folder)
    return folder, TARGETS[request.param]


def test_what_was_written_is_right(written: tuple[Path, str]) -> None:
    report = check_phases(written[0])
    assert report.ok
    assert "one after another on one memory: right result" in str(report)
    assert check_phases(written[0] / MANIFEST) == check_phases(written[0])


def altered(written: tuple[Path, str], to: Path, change: Callable[[Any], None]) -> Path:
    shutil.copytree(written[0], to)
    said = json.loads((to / MANIFEST).read_text())
    change(said)
    (to / MANIFEST).write_text(json.dumps(said))
    return to


def test_a_phase_left_out_or_twice_gives_another_result(written: tuple[Path, str], tmp_path: Path) -> None:
    def left_out(said: Any) -> None:
        del said["phases"][-1]

    def twice(said: Any) -> None:
        said["phases"].append(said["phases"][0])

    assert not check_phases(altered(written, tmp_path / "out", left_out)).ok
    assert not check_phases(altered(written, tmp_path / "twice", twice)).ok


def test_sending_where_there_is_no_circuit_is_illegal(written: tuple[Path, str], tmp_path: Path) -> None:
    def cut(said: Any) -> None:
        said["phases"][1]["circuits"] = said["phases"][1]["circuits"][1:]

    report = check_phases(altered(written, tmp_path / "cut", cut))
    assert report.verdict == "illegal"
    assert "phase 1: sends to rank" in report.findings[0].message


def test_buffers_have_to_fit_the_workspace(written: tuple[Path, str], tmp_path: Path) -> None:
    def small(said: Any) -> None:
        said["output_at"] = [one + 1 for one in said["output_at"]]

    if written[0].name != "chakra":
        report = check_phases(altered(written, tmp_path / "small", small))
        assert report.verdict == "out-of-bounds"
