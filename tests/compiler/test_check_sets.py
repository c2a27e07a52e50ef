"""Checked sets of plans: what compile --for makes is right, and every way in which a set can be wrong is found."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from topodesign import check_plan_set, compile_library, compile_plan, schedule
from topodesign.base.errors import FileFormatError
from topodesign.plans.files import save_plan


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "plans"
    names = ["allreduce", "allgather", "broadcast"]
    compile_library("biring(2,4)", names, targets=["msccl", "mscclpp", "jax"]).save(folder)
    return folder


def test_what_is_made_is_right(right: Path) -> None:
    report = check_plan_set(right, "biring(2,4)")
    assert report.ok, report
    index = json.loads((right / "index.json").read_text())
    assert report.plans == len(index["entries"])
    assert report.programs == sum(len(one["programs"]) for one in index["entries"]) > 6
    assert check_plan_set(right / "index.json").ok


Change = Callable[[Path, dict[str, Any]], None]


def _damaged(folder: Path, index: dict[str, Any]) -> None:
    (folder / index["entries"][0]["plan"]).write_bytes(b"no plan")


def _of_another_wiring(folder: Path, index: dict[str, Any]) -> None:
    save_plan(folder / index["entries"][0]["plan"], schedule("uniring(1,4)", "allgather"))


def _of_another_collective(folder: Path, index: dict[str, Any]) -> None:
    save_plan(folder / index["entries"][0]["plan"], schedule("biring(2,4)", "reduce-scatter"))


def _gone(folder: Path, index: dict[str, Any]) -> None:
    (folder / index["entries"][0]["programs"]["msccl"]).unlink()


def _over_other_links(folder: Path, index: dict[str, Any]) -> None:
    made = compile_plan(schedule("complete(4)", "allgather"), "msccl")
    made.save(folder / index["entries"][0]["programs"]["msccl"])


def _over_other_channels(folder: Path, index: dict[str, Any]) -> None:
    made = compile_plan(schedule("complete(4)", "allgather"), "mscclpp")
    made.save(folder / index["entries"][0]["programs"]["mscclpp"])


def _over_other_permutations(folder: Path, index: dict[str, Any]) -> None:
    made = compile_plan(schedule("complete(4)", "allgather"), "jax")
    made.save(folder / index["entries"][0]["programs"]["jax"])


def _in_place(folder: Path, index: dict[str, Any]) -> None:
    made = index["entries"][0]["programs"]
    shutil.copy(folder / made["msccl-inplace"], folder / made["msccl"])


def _wrong(folder: Path, index: dict[str, Any]) -> None:
    path = folder / index["entries"][0]["programs"]["msccl"]
    path.write_text(path.read_text().replace('type="r"', 'type="nop"', 1))


def _beside(folder: Path, index: dict[str, Any]) -> None:
    shutil.copy(folder / index["entries"][0]["programs"]["msccl"], folder / "msccl" / "more.xml")


def _steps(folder: Path, index: dict[str, Any]) -> None:
    index["entries"][0]["steps"] = 1


def _never(folder: Path, index: dict[str, Any]) -> None:
    index["entries"].append(index["entries"][0] | {"programs": {}, "from_bytes": 5, "to_bytes": 10})


def _no_size(folder: Path, index: dict[str, Any]) -> None:
    index["entries"][-1] |= {"from_bytes": 7, "to_bytes": 7}


def _fewer_sizes(folder: Path, index: dict[str, Any]) -> None:
    index["entries"][0] |= {"from_bytes": 2**20}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_damaged, "npz"),
        (_of_another_wiring, "another wiring"),
        (_of_another_collective, "has it for another"),
        (_gone, "No such file"),
        (_over_other_links, "no link joins them"),
        (_over_other_channels, "no link joins them"),
        (_over_other_permutations, "no link joins them"),
        (_in_place, "in place, and the index has it for allgather out of place"),
        (_wrong, ""),
        (_beside, "it does not name msccl/more.xml"),
        (_steps, "the index has steps 1"),
        (_never, "is never chosen"),
        (_no_size, "is for no size"),
        (_fewer_sizes, "the index has it for fewer"),
    ],
)
def test_what_is_wrong_is_found(
    right: Path, tmp_path: Path, change: Change, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)  # its modules are judged without it, too
    folder = tmp_path / "plans"
    shutil.copytree(right, folder)
    index = json.loads((folder / "index.json").read_text())
    index["entries"].sort(key=lambda one: one["collective"] != "allgather")
    change(folder, index)
    (folder / "index.json").write_text(json.dumps(index))
    report = check_plan_set(folder)
    assert not report.ok
    assert any(words in str(one) for one in report.problems), report


def test_it_is_held_against_what_is_wired(right: Path) -> None:
    report = check_plan_set(right, "complete(4)")
    assert [one.file for one in report.problems] == ["index.json"]
    with pytest.raises(FileFormatError):
        check_plan_set(right / "msccl")
