"""Libraries of plans: the fastest for every size, of this wiring alone, with programs for the same sizes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import few
from tests.samples.trees import fabric, tree_schedule
from topodesign import (
    build,
    check_call,
    check_file,
    check_plan_set,
    compile_groups,
    compile_plan,
    load_plan,
    read_plan_set,
    schedule,
    simulate,
    verify,
)
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError, TopodesignError
from topodesign.base.latency import Latency
from topodesign.cli.main import run
from topodesign.collectives import COLLECTIVES
from topodesign.compiler.fitting import compile_fitting
from topodesign.compiler.library import (
    CANDIDATES,
    Library,
    LibraryRow,
    SizedCall,
    between,
    compile_library,
    fastest,
    read_measured,
)
from topodesign.execution.levels import neighbours_of
from topodesign.fabrics.places import as_fabric
from topodesign.plans.plan import Plan
from topodesign.plans.sets import ForSizes, save_plan_set, wiring_digest
from topodesign.pricing.mix import Mix, Share
from topodesign.runtime.msccl.check import CheckReport
from topodesign.runtime.msccl.profiles import get_profile
from topodesign.schedulers.group_ways import Wires, time_built_in

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
def made() -> Library:
    return compile_library("torus(2,3)", targets=("msccl", "mscclpp"), group=("0,1",), roots=(1, "0"), alpha="5us")


def test_every_size_has_the_fastest_plan(made: Library) -> None:
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


def test_what_is_written_is_right_and_has_programs_for_the_same_sizes(made: Library, tmp_path: Path) -> None:
    made.save(tmp_path / "set")
    found = read_plan_set(tmp_path / "set")
    assert len(found.entries) == len(made.entries)
    for entry in found.entries:
        assert verify(found.load(entry)).ok
        rooted = COLLECTIVES[entry.collective].rooted
        names = {"msccl", "msccl-inplace", "mscclpp", "mscclpp-inplace"}
        assert set(entry.programs) == (set() if rooted or entry.group else names)
        for path in entry.programs.values():
            report: Any = check_file(found.folder / path)
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
    whole = compile_library("torus(3,3)", targets=())
    for without, ranks in ((("0-1",), 9), (("4",), 8)):
        left = compile_library("torus(3,3)", targets=(), without=without)
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
    left = compile_library("biring(2,4)", "allgather", targets=(), without=gone)
    same = compile_library("uniring(1,4)", "allgather", targets=(), bandwidth="50Gbps")
    assert left.bandwidth == same.bandwidth
    assert left.entries[0].time_s == same.entries[0].time_s
    assert left.wiring == same.wiring == wiring_digest(build("uniring(1,4)"))


def test_what_cannot_be_made() -> None:
    with pytest.raises(InfeasibleError, match="no plan can be made; no allgather: "):
        compile_library("biring(2,4)", "allgather", without=("0-1", "2-3"))
    with pytest.raises(ParameterError, match="a library has no programs for 'chakra'; known are msccl, mscclpp, jax"):
        compile_library("biring(2,4)", targets=("chakra",))
    with pytest.raises(ParameterError, match="--bandwidth of a library is for plain"):
        compile_library("dgx_a100(1)", bandwidth="100Gbps")


def test_a_fabric_has_its_own_bandwidths() -> None:
    made = compile_library("dgx_a100(1)", ["allgather", "broadcast"], targets=())
    assert made.bandwidth == 300 * 10**9 * 8
    assert made.ranks[0] == "box0/gpu0"


def test_the_command_writes_all_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["compile", "biring(2,4)", "--for", "allgather", "--target", "jax", "-o", "set", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["topology"], said["wiring"]) == ("biring(2,4)", wiring_digest(build("biring(2,4)")))
    assert said["entries"][0]["programs"] == ["jax"]
    assert check_file(Path("set/jax/000-allgather.py")).ok
    assert load_plan("set/000-allgather.npz").spec is not None
    assert run(["compile", "biring(2,4)", "--for", "all", "-o", "set"]) == 2
    assert "already exists; " in capsys.readouterr().err
    assert run(["compile", "biring(2,4)", "--target", "none", "--target", "jax", "-o", "other", "--for", "all"]) == 2
    assert not Path("other").exists()


CALLS = (("allreduce", 2**26, 32), ("allreduce", 2**14, 4), ("all-to-all", 6 * 2**20, 8))
TINY = {
    "layers": 4, "hidden": 1024, "heads": 8, "vocabulary": 32000, "sequence": 1024, "batch": 64, "flops": "100T",
    "tensor": 4, "data": 4,
}  # fmt: skip


def workload(*calls: tuple[str, int, int]) -> Mix:
    return Mix("a job", tuple(Share(name, Fraction(size), count) for name, size, count in calls))


def used(folder: Path, rows: tuple[LibraryRow, ...], made: Library) -> None:
    """Check that of every call exactly the program of its row is used, by the runtime's own rule."""
    for row in rows:
        for call in row.calls:
            place = "in-place" if row.collective == "allreduce" else "out-of-place"
            asked = f"{row.collective}:{call.size}B:fp32:{place}"
            serve = [path for path in (folder / "msccl").rglob("*.xml") if check_call(path, asked).ok]
            assert len(serve) == bool(row.programs), (asked, made.notes)


def test_a_row_serves_calls_from_its_first_size_to_before_its_last() -> None:
    row = LibraryRow("allreduce", None, None, 1024, 4096, "ring", 0.0, None, False, (), None, {})
    assert [row.serves(SizedCall(size, 1)) for size in (1023, 1024, 4095, 4096)] == [False, True, True, False]
    assert replace(row, to_bytes=None).serves(SizedCall(2**40, 1))


def test_a_workload_has_one_program_or_none_for_every_call(tmp_path: Path) -> None:
    made = compile_library("torus(2,3)", workload(*CALLS))
    made.save(tmp_path / "job")
    for name in ("allreduce", "all-to-all"):
        rows = [row for row in made.entries if row.collective == name]
        assert (rows[0].from_bytes, rows[-1].to_bytes) == (0, None)
        assert all(one.to_bytes == after.from_bytes for one, after in pairwise(rows))
    counted = [(row.collective, call.size, call.count) for row in made.entries for call in row.calls]
    assert sorted(counted) == sorted(CALLS)
    used(tmp_path / "job", made.entries, made)
    assert check_plan_set(tmp_path / "job", "torus(2,3)").ok
    first = made.use[0]
    files = first.environment[0].removeprefix("MSCCL_XML_FILES=").split(":")
    assert all((tmp_path / "job" / name.removeprefix("DIR/")).is_file() for name in files)
    compile((tmp_path / "job" / "calls.py").read_text(), "calls.py", "exec")
    assert "alltoall_perf -b 6291456" in (tmp_path / "job" / "USE.md").read_text()


def test_what_is_built_in_runs_where_it_is_as_fast(tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError, match="no program is faster than what the runtime does"):
        compile_library("complete(3)", workload(("all-to-all", 3 * 2**20, 1)))  # straight to each is all there is
    calls = workload(("all-to-all", 3 * 2**20, 1), ("allreduce", 2**10, 1))
    made = compile_library("complete(3)", calls, targets=())
    rows = {row.collective: row for row in made.entries if row.calls}
    assert (rows["all-to-all"].method, rows["all-to-all"].kind) == ("built-in", None)
    assert rows["allreduce"].method != "built-in"
    assert all(row.built_in_s is not None and row.time_s <= row.built_in_s for row in made.entries)
    table = tmp_path / "measured.csv"
    lines = ["allreduce,built-in,1KiB,9us", "allreduce,ring,1KiB,10us", "allreduce,built-in,4KiB,20us"]
    table.write_text("\n".join(["collective,method,size,time", *lines, "allreduce,ring,4KiB,15us"]))
    made = compile_library("complete(3)", workload(("allreduce", 1024, 1)), targets=(), measured=table)
    assert [row.method for row in made.entries] == ["built-in", "ring"]
    assert made.entries[0].measured


@given(st.integers(3, 9), st.sampled_from(["allreduce", "allgather", "reduce-scatter"]), st.integers(1, 2**20))
def test_the_time_of_what_is_built_in_is_that_of_a_ring(nodes: int, collective: str, size: int) -> None:
    place = as_fabric(build(f"biring(2,{nodes})"), Fraction(10**11))
    wires = Wires(place, place, Latency(Fraction(1, 10**5)))
    joined = neighbours_of(place.topology)
    found = time_built_in(wires, collective, [range(nodes)], Fraction(size), joined)
    halves = 2 if collective == "allreduce" else 1
    step = Fraction(1, 10**5) + Fraction(size, 2 * nodes) / (Fraction(10**11) / 8 / 2)
    assert found == halves * (nodes - 1) * step
    assert time_built_in(wires, "all-to-all", [range(nodes)], Fraction(size), joined) is None or nodes == 3


def test_calls_in_groups_are_served_where_a_runtime_can_tell_them_apart(tmp_path: Path) -> None:
    made = compile_library("torus(4,4)", TINY, bandwidth="400Gbps")
    by_use = {(row.collective, row.group): row for row in made.entries}
    assert by_use["reduce-scatter", (0, 1, 2, 3)].programs == ("msccl",)
    assert by_use["reduce-scatter", (12, 13, 14, 15)].programs == ("msccl",)
    assert not any(row.programs for row in made.entries if row.collective == "allreduce")  # tensor and data: 4 ranks
    assert any("cannot tell them apart" in note for note in made.notes)
    saved = made.save(tmp_path / "job")
    assert saved.entries[0].programs == saved.entries[1].programs  # equal programs of groups are one file
    used(tmp_path / "job", tuple(row for row in made.entries if row.programs), made)
    assert check_plan_set(tmp_path / "job").ok
    entry = saved.choose("allreduce", 4096, (4, 5, 6, 7))
    assert entry is not None
    assert verify(saved.load(entry)).ok


def test_where_programs_of_groups_differ_ranks_have_directories_of_their_own(tmp_path: Path) -> None:
    plans = []
    for number, group in enumerate(("0,1", "2,3")):
        plan = schedule("torus(2,2)", "allgather", group=(group,))
        text = compile_groups(plan, name=f"group{number}")[0].compiled.text
        plans.append(ForSizes(plan, programs={"msccl": {".xml": text}}))
    whole = schedule("torus(2,2)", "allreduce")
    plans.append(ForSizes(whole, programs={"msccl-inplace": compile_plan(whole, inplace=True).files}))
    save_plan_set(tmp_path / "set", plans, alpha=1e-5, bandwidth=1e11)
    found = {str(path.relative_to(tmp_path / "set" / "msccl")) for path in (tmp_path / "set" / "msccl").rglob("*.xml")}
    own = {f"rank{rank}/00{rank // 2}-allgather.xml" for rank in range(4)}
    assert found == own | {f"rank{rank}/002-allreduce-inplace.xml" for rank in range(4)}
    assert check_plan_set(tmp_path / "set").ok


def test_the_old_name_is_the_new_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["compile", "biring(2,4)", "--target", "none", "-o", "old", "--json", "--for", "allgather"]
    assert run(words) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["entries"][0]["collective"] == "allgather"
    assert run(["compile", "biring(2,4)", "--for", "all", "--set", "channels=2", "-o", "x"]) == 2
    assert "--set channels= cannot be combined with --for" in capsys.readouterr().err


# -- measured times choose plans: where two measured lines cross, and what cannot be read is refused ------------------


HEAD = "collective,method,size,time\n"
ROWS = "allreduce,forest,1KiB,10us\nallreduce,forest,1MiB,100us\nallreduce,ring,1KiB,20us\nallreduce,ring,1MiB,60us\n"


def write(tmp_path: Path, rows: str) -> Path:
    path = tmp_path / "measured.csv"
    path.write_text(HEAD + rows)
    return path


def test_plans_change_where_measured_lines_cross(tmp_path: Path) -> None:
    """10 + 90 t and 20 + 40 t microseconds meet at t = 1/5 of the way from 1 KiB to 1 MiB."""
    names = ["allreduce", "allgather"]
    made = compile_library("biring(2,4)", names, targets=[], measured=write(tmp_path, ROWS))
    first, second, other = made.entries
    meet = 1024 + Fraction(2**20 - 1024, 5)
    assert (first.method, first.from_bytes, second.method) == ("forest", 0, "ring")
    assert first.to_bytes == second.from_bytes == -(-meet.numerator // meet.denominator)
    assert (first.measured, second.measured, other.measured) == (True, True, False)
    assert first.time_s == pytest.approx(10e-6)
    assert second.time_s == pytest.approx(28e-6, rel=1e-4)
    made.save(tmp_path / "plans")
    entries = read_plan_set(tmp_path / "plans").entries
    assert [one.measured for one in entries] == [True, True, False]
    assert [one.time_s for one in entries] == [one.time_s for one in made.entries]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("allreduce,best,1KiB,1us\n", "line 2: 'best' is not known"),
        ("all,ring,1KiB,1us\n", "line 2: 'all' is not known"),
        ("allreduce,ring,1KiB,1us\n", "lacks a second size"),
        ("allreduce,ring,1KiB,1us\nallreduce,ring,1024B,1us\n", "line 3: the size 1024B is there already"),
        (ROWS + "allreduce,ring,2MiB,90us\n", "allreduce by forest lacks 2MiB"),
        ("allreduce,ring,1KiB,fast\n", "line 2"),
        ("allreduce,ring,1KiB\n", "line 2"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, rows: str, words: str) -> None:
    with pytest.raises(FileFormatError, match=words):
        read_measured(write(tmp_path, rows), ["ring", "forest"])


def test_beyond_what_was_measured_lines_go_on() -> None:
    times = {10: Fraction(1), 20: Fraction(2), 40: Fraction(6)}
    assert [between(times, size) for size in (0, 15, 30, 50)] == [0, Fraction(3, 2), 4, 8]


# -- fewer trees where the best ones exceed a limit: which are asked for, and the message -----------------------------


BEST = 12


def plan(k: int | None) -> Plan:
    rng = random.Random(7)  # noqa: S311
    topology = fabric(5, 2, rng)
    return Plan(topology, tree_schedule(topology, "allgather", rng, per_root=k or BEST).flow)


def recorded(asked: list[int | None]) -> Callable[[int | None], Plan]:
    def make(k: int | None) -> Plan:
        asked.append(k)
        return plan(k)

    return make


def test_the_best_ones_are_taken_where_they_fit() -> None:
    asked: list[int | None] = []
    made = compile_fitting(recorded(asked), inplace=True)
    assert asked == [None]
    assert made.plan == plan(None)
    assert made.fewer_trees is None
    assert made.program.inplace


def test_trees_are_halved_until_they_fit() -> None:
    asked: list[int | None] = []
    whole = compile_fitting(plan).checked().report
    assert isinstance(whole, CheckReport)
    assert whole.usage is not None
    narrow = replace(get_profile("msccl"), xml_nodes_per_rank=whole.usage.xml_nodes_per_rank - 1)
    made = compile_fitting(recorded(asked), runtime=narrow)
    assert asked == [None, *(BEST // 2**turn for turn in range(1, len(asked)))]
    assert len(asked) > 1
    note, *_ = made.notes
    assert note == made.fewer_trees
    assert note.startswith(f"with {asked[-1]} tree")
    assert "since of the best ones" in note
    assert made.checked().report is not None


def test_what_never_fits_is_refused_with_the_last_limit() -> None:
    asked: list[int | None] = []
    tiny = replace(get_profile("msccl"), xml_nodes_per_rank=3)
    with pytest.raises(InfeasibleError, match="3 are allowed"):
        compile_fitting(recorded(asked), runtime=tiny)
    assert asked == [None, 6, 3, 1]
