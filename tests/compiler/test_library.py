"""Libraries of plans: the fastest for every size, of this wiring alone, with programs for the same sizes."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import few
from topodesign import build, check_file, load_plan, read_plan_set, schedule, simulate, verify
from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError
from topodesign.cli.main import run
from topodesign.collectives import COLLECTIVES
from topodesign.compiler.sets import CANDIDATES, CompiledSet, compile_set, fastest
from topodesign.plans.sets import wiring_digest

lines = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), min_size=1, max_size=5)


@given(lines, st.sets(st.integers(1, 60), min_size=2, max_size=4).map(sorted))
def test_the_fastest_of_straight_lines(found: list[tuple[int, int]], sizes: list[int]) -> None:
    times = [[Fraction(a + b * size) for size in sizes] for a, b in found]
    ranges = fastest(sizes, times)
    assert ranges[0][0] == 0
    assert ranges[-1][1] is None
    assert all(one[1] == after[0] for one, after in pairwise(ranges))
    for first, end, number in ranges:
        for size in range(max(first, sizes[0]), min(sizes[-1], sizes[-1] if end is None else end)):
            a, b = found[number]
            assert a + b * size == min(c + d * size for c, d in found)


@pytest.fixture(scope="module")
def made() -> CompiledSet:
    return compile_set("torus(2,3)", targets=("msccl", "mscclpp"), group=("0,1",), roots=(1, "0"), alpha="5us")


def test_every_size_has_the_fastest_plan(made: CompiledSet) -> None:
    for collective in few([*COLLECTIVES.values()], 2):
        for root in (0, 1) if collective.rooted else (None,):
            mine = [
                one
                for one in made.plans
                if (one.plan.collective.name, one.plan.collective.root) == (collective.name, root)
            ]
            whole = [one for one in mine if one.plan.collective.group is None]
            assert (whole[0].from_bytes, whole[-1].to_bytes) == (0, None)
            others = []
            for method in CANDIDATES:
                with suppress(TopodesignError):
                    others.append(schedule("torus(2,3)", collective, method=method, root=root))
            for size in (2**10, 2**16, 2**30):
                (own,) = [
                    one for one in whole if one.from_bytes <= size and (one.to_bytes is None or size < one.to_bytes)
                ]
                least = min(simulate(other, size=size, alpha="5us").time for other in others)
                assert simulate(own.plan, size=size, alpha="5us").time == least


def test_what_is_written_is_right_and_has_programs_for_the_same_sizes(made: CompiledSet, tmp_path: Path) -> None:
    made.save(tmp_path / "set")
    found = read_plan_set(tmp_path / "set")
    assert len(found.entries) == len(made.entries)
    for entry in found.entries:
        assert verify(found.load(entry)).ok
        rooted = COLLECTIVES[entry.collective].rooted
        names = {"msccl", "msccl-inplace", "mscclpp", "mscclpp-inplace"}
        assert set(entry.programs) == (set() if rooted or entry.group else names)
        for path in entry.programs.values():
            report: Any = check_file(found.folder / path, interleavings=1)
            assert report.ok
            assert report.calls.smallest <= max(entry.from_bytes, 16)
            assert entry.to_bytes is None or report.calls.largest < entry.to_bytes
    for runtime, ending in (("msccl", ".xml"), ("mscclpp", ".json")):
        files = list((tmp_path / "set" / runtime).iterdir())
        assert len(files) == sum(runtime in entry.programs for entry in found.entries) * 2
        assert {file.suffix for file in files} == {ending}
    pair = found.choose("allgather", 2**20, (0, 1))
    assert pair is not None
    assert pair.group == (0, 1)


def test_after_a_failure_plans_are_of_what_is_left(tmp_path: Path) -> None:
    whole = compile_set("torus(3,3)", targets=())
    for without, ranks in ((("0-1",), 9), (("4",), 8)):
        left = compile_set("torus(3,3)", targets=(), without=without)
        assert len(left.ranks) == ranks
        assert left.wiring != whole.wiring
        for one in left.plans:
            assert verify(one.plan).ok
            used = {*zip(one.plan.topology.src.tolist(), one.plan.topology.dst.tolist(), strict=True)}
            assert ranks == 8 or not {(0, 1), (1, 0)} & used
        saved = left.save(tmp_path / f"{ranks}")
        with pytest.raises(InfeasibleError, match="another wiring"):
            saved.check(build("torus(3,3)"))


def test_links_keep_their_speed() -> None:
    """A ring of which one direction is left has half the bandwidth of a node."""
    gone = tuple(f"{(node + 1) % 4}>{node}" for node in range(4))
    left = compile_set("biring(2,4)", collectives=["allgather"], targets=(), without=gone)
    same = compile_set("uniring(1,4)", collectives=["allgather"], targets=(), bandwidth="50Gbps")
    assert left.bandwidth == same.bandwidth
    assert left.entries[0].time_s == same.entries[0].time_s
    assert left.wiring == same.wiring == wiring_digest(build("uniring(1,4)"))


def test_what_cannot_be_made() -> None:
    with pytest.raises(InfeasibleError, match="no plan can be made; no allgather: "):
        compile_set("biring(2,4)", collectives=["allgather"], without=("0-1", "2-3"))
    with pytest.raises(ParameterError, match="a set has no programs for 'chakra'; known are msccl, mscclpp, jax"):
        compile_set("biring(2,4)", targets=("chakra",))
    with pytest.raises(ParameterError, match="--bandwidth of a set is for plain"):
        compile_set("dgx_a100(1)", bandwidth="100Gbps")


def test_a_fabric_has_its_own_bandwidths() -> None:
    made = compile_set("dgx_a100(1)", collectives=["allgather", "broadcast"], targets=())
    assert made.bandwidth == 300 * 10**9 * 8
    assert made.ranks[0] == "box0/gpu0"


def test_the_command_writes_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        run(["compile-set", "biring(2,4)", "--collective", "allgather", "--target", "jax", "-o", "set", "--json"]) == 0
    )
    said = json.loads(capsys.readouterr().out)
    assert (said["topology"], said["wiring"]) == ("biring(2,4)", wiring_digest(build("biring(2,4)")))
    assert said["entries"][0]["programs"] == ["jax"]
    assert check_file(Path("set/jax/000-allgather.py")).ok
    assert load_plan("set/000-allgather.npz").spec is not None
    assert run(["compile-set", "biring(2,4)", "-o", "set"]) == 2
    assert "is there already; name a new directory" in capsys.readouterr().err
    assert run(["compile-set", "biring(2,4)", "--no-programs", "--target", "jax", "-o", "other"]) == 2
    assert not Path("other").exists()
