"""Sets of plans: what is chosen for what, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from topodesign import as_fabric, build, load_plan, read_plan_set, save_plan, schedule, verify
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError
from topodesign.base.file_kinds import FileKind, kind_of
from topodesign.plans.sets import INDEX, ForSizes, PlanSet, save_plan_set, wiring_digest

RING = "biring(2,4)"


def made(folder: Path) -> PlanSet:
    plans = [
        ForSizes(
            schedule(RING, "allgather"), 0, 1000, {"msccl": {"p.xml": "<algo/>"}, "chakra": {"0.et": b"", "1.et": b""}}
        ),
        ForSizes(schedule(RING, "allgather", method="forest"), 1000),
        ForSizes(schedule(RING, "broadcast", root=2)),
        ForSizes(schedule(RING, "allreduce", only=("0,1",))),
    ]
    return save_plan_set(folder, plans, alpha=1e-5, bandwidth=1e11)


def test_what_is_written_is_read_and_chosen(tmp_path: Path) -> None:
    written = made(tmp_path / "set")
    found = read_plan_set(tmp_path / "set")
    assert found == written == read_plan_set(tmp_path / "set" / INDEX)
    assert kind_of(tmp_path / "set" / INDEX) is FileKind.PLAN_SET
    assert (found.topology, found.nodes, found.alpha) == (RING, 4, 1e-5)
    small, large, rooted, pair = found.entries
    assert found.choose("allgather", 999) == found.choose("allgather", 0, range(4)) == small
    assert found.choose("allgather", 1000) == found.choose("allgather", 10**12) == large
    assert found.choose("broadcast", 1, root=2) == rooted
    assert found.choose("allreduce", 1, {1, 0}) == pair
    for nothing in (("allreduce", 1), ("broadcast", 1, None, 1), ("allreduce", 1, (1, 2)), ("reduce", 1, None, 2)):
        assert found.choose(*nothing) is None
    assert (small.steps, small.bandwidth, large.steps) == (2, Fraction(3, 4), None)
    for entry in found.entries:
        assert verify(found.load(entry)).ok
        for path in entry.programs.values():
            assert (found.folder / path).exists()
    assert (found.folder / small.programs["chakra"] / "1.et").is_file()


def test_the_digest_is_of_links_alone() -> None:
    same = {wiring_digest(build(spec)) for spec in (RING, "circulant(4,1)", "hypercube(2)")}
    assert len(same) == 2  # the hypercube numbers its nodes otherwise
    loops = build("genkautz(3,10)")
    assert wiring_digest(loops) == wiring_digest(as_fabric(loops).topology)
    assert len({wiring_digest(build(spec)) for spec in (RING, "uniring(1,4)", "biring(4,4)", "biring(2,5)")}) == 4


def test_another_wiring_is_refused(tmp_path: Path) -> None:
    found = made(tmp_path / "set")
    found.check(build("circulant(4,1)"))
    with pytest.raises(InfeasibleError, match=r"what is wired is of another wiring .* make the set for it"):
        found.check(build("complete(4)"))
    entry = found.entries[0]
    save_plan(found.folder / entry.plan, schedule("complete(4)", "allgather"))
    with pytest.raises(InfeasibleError, match="of another wiring"):
        found.load(entry)
    save_plan(found.folder / entry.plan, schedule(RING, "allreduce"))
    with pytest.raises(FileFormatError, match="make the set again"):
        found.load(entry)
    plans = [ForSizes(schedule(spec, "allgather")) for spec in (RING, "complete(4)")]
    with pytest.raises(InfeasibleError, match="of another wiring"):
        save_plan_set(tmp_path / "two", plans, alpha=0, bandwidth=1)
    assert not (tmp_path / "two").exists()


def test_what_cannot_be_written(tmp_path: Path) -> None:
    both = ForSizes(schedule(RING, "allreduce", group=("0,1", "2,3")))
    for plans in ([], [both]):
        with pytest.raises(ParameterError, match="at least one plan"):
            save_plan_set(tmp_path / "set", plans, alpha=0, bandwidth=1)
    made(tmp_path / "set")
    with pytest.raises(FileFormatError, match="already exists"):
        made(tmp_path / "set")


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        ("version", 3, "format version 3"),
        ("nodes", 0, "'nodes' of the set cannot be 0"),
        ("extra", 1, "the set has the unknown field 'extra'"),
        ("entries.plan", "../p.npz", "'plan' of entry 0 cannot be"),
        ("entries.plan", "/p.npz", "'plan' of entry 0 cannot be"),
        ("entries.programs", {"msccl": "a/../../b"}, "'programs' of entry 0"),
        ("entries.bandwidth", "1e999999999", "'bandwidth' of entry 0"),
        ("entries.group", [1, 0], "'group' of entry 0"),
        ("entries.root", 4, "'root' of entry 0"),
        ("entries.collective", ["x"], "'collective' of entry 0"),
    ],
)
def test_wrong_indexes_are_refused(tmp_path: Path, where: str, value: Any, said: str) -> None:
    path = made(tmp_path / "set").folder / INDEX
    record = json.loads(path.read_text())
    at, _, name = where.rpartition(".")
    (record[at][0] if at else record)[name] = value
    path.write_text(json.dumps(record))
    with pytest.raises(FileFormatError, match=said):
        read_plan_set(path.parent)


def test_a_plan_is_no_set(tmp_path: Path) -> None:
    save_plan(tmp_path / INDEX, schedule(RING))
    with pytest.raises(FileFormatError, match="this is a schedule, not a set of plans"):
        read_plan_set(tmp_path)
    assert load_plan(tmp_path / INDEX)


def test_sets_of_the_first_version_are_read(tmp_path: Path) -> None:
    plans = [ForSizes(schedule("biring(2,4)", "allgather"), time_s=1e-5, measured=True)]
    save_plan_set(tmp_path / "plans", plans, alpha=1e-5, bandwidth=1e11)
    index = tmp_path / "plans" / "index.json"
    (entry,) = read_plan_set(index).entries
    assert (entry.time_s, entry.measured) == (1e-5, True)
    record = json.loads(index.read_text())
    del record["entries"][0]["time_s"], record["entries"][0]["measured"]
    index.write_text(json.dumps(record | {"version": 1}))
    assert read_plan_set(index).entries == (replace(entry, time_s=None, measured=False),)
    index.write_text(json.dumps(record))
    with pytest.raises(FileFormatError, match="lacks the field"):
        read_plan_set(index)
