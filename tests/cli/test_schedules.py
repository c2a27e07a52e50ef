"""The commands schedule, verify, simulate and compile: files in, files out, exit statuses."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.samples.old_files import load_schedule, save_schedule
from tests.samples.schedules import Collective, from_columns
from tests.samples.verdicts import verify_rounds
from topodesign import build
from topodesign.cli.main import run
from topodesign.collectives import as_collective
from topodesign.topology.topology import Topology

WORKLOAD = Path(__file__).parents[2] / "configs" / "workload_resnet50.csv"


def document(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, object]:
    assert run(args) == 0
    out, _ = capsys.readouterr()
    result = json.loads(out)
    assert isinstance(result, dict)
    return result


@pytest.fixture
def schedule_file(tmp_path: Path) -> Path:
    path = tmp_path / "ar.npz"
    assert run(["schedule", "circulant(12,2,3)", "--collective", "allreduce", "-o", str(path)]) == 0
    return path


def test_from_spec_to_checked_program(tmp_path: Path, schedule_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = document(
        capsys, "schedule", "circulant(12,2,3)", "--collective", "allreduce", "-o", str(schedule_file), "--json"
    )
    assert (made["steps"], made["bandwidth"], made["verified"]) == (4, "11/6", True)
    report = document(capsys, "verify", str(schedule_file), "--json")
    assert (report["ok"], report["problems"], report["bandwidth"]) == (True, [], "11/6")
    program = tmp_path / "ar.xml"
    compiled = document(capsys, "compile", str(schedule_file), "--inplace", "-o", str(program), "--json")
    assert compiled["verdict"] == "ok"
    checked = document(capsys, "verify", str(program), "--json")
    assert checked["verdict"] == "ok"
    again = tmp_path / "again.xml"
    assert run(["compile", "circulant(12,2,3)", "--inplace", "-o", str(again)]) == 0
    assert again.read_bytes() == program.read_bytes()


def test_lock_step_simulation_is_the_cost_model(schedule_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = document(capsys, "simulate", str(schedule_file), "--json", "--size", "1MiB", "--size", "1GB")
    alpha, rate = Fraction(1, 10**5), Fraction(10**11)
    runs = result["runs"]
    assert isinstance(runs, list)
    for one, size in zip(runs, (2**20, 10**9), strict=True):
        assert Fraction(one["time"]) == 4 * alpha + Fraction(11, 6) * 8 * size / rate


def test_a_failed_link_is_an_answer_of_no(schedule_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", str(schedule_file), "--fail", "0>2"]) == 1
    out, err = capsys.readouterr()
    assert "without 0->2" in out
    assert "Traceback" not in err
    assert run(["simulate", str(schedule_file), "--fail", "0>1"]) == 2
    assert run(["simulate", str(schedule_file), "--fail", "zero"]) == 2


def test_a_training_step_is_never_quicker_than_its_computation(
    schedule_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = document(capsys, "simulate", str(schedule_file), "--training", str(WORKLOAD), "--json")
    training = result["training"]
    assert isinstance(training, dict)
    assert training["finish_s"] >= training["compute_s"] > 0
    assert training["exposed_s"] == pytest.approx(training["finish_s"] - training["compute_s"])


def test_damaged_schedules_are_refused_with_status_1(
    tmp_path: Path, schedule_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topology, schedule, header = load_schedule(schedule_file)
    keep = np.arange(len(schedule)) != 7
    broken = schedule.some(keep)
    path = tmp_path / "broken.npz"
    save_schedule(path, broken, topology, claim=header.claim)
    assert run(["verify", str(path)]) == 1
    assert run(["compile", str(path), "-o", str(tmp_path / "x.xml")]) == 2
    assert not (tmp_path / "x.xml").exists()
    for extra in ([], ["--training", str(WORKLOAD)], ["--json"]):
        capsys.readouterr()
        assert run(["simulate", str(path), *extra]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert "WRONG" in err


def test_a_limit_on_chunks_reports_its_loss(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.npz"
    result = document(
        capsys,
        "schedule",
        "circulant(12,2,3)",
        "--collective",
        "allgather",
        "--set",
        "chunks=1",
        "-o",
        str(path),
        "--json",
    )
    lost = Fraction(str(result["bandwidth_lost_by_chunks"]))
    assert Fraction(str(result["bandwidth"])) - lost == Fraction(11, 12)
    assert lost > 0


def test_methods_that_do_not_apply_are_an_answer_of_no(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.npz"
    assert run(["schedule", "complete(5)", "--algorithm", "lift", "-o", str(path)]) == 1
    assert "lift" in capsys.readouterr().err
    assert not path.exists()


@pytest.mark.parametrize("name", ["s.npz", "s.xml"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"garbage" * 1000, b"<algo", b"\xff\xfe\x00"])
def test_garbage_is_an_error_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert run(["verify", str(path)]) in {1, 2}
    out, err = capsys.readouterr()
    assert out + err
    assert "Traceback" not in out + err


def test_truncated_and_newer_files_say_so(
    tmp_path: Path, schedule_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = schedule_file.read_bytes()
    for length in (10, len(whole) // 2, len(whole) - 5):
        path = tmp_path / "cut.npz"
        path.write_bytes(whole[:length])
        assert run(["verify", str(path)]) == 2
        assert "cut.npz" in capsys.readouterr().err


def test_output_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nowhere = tmp_path / "missing" / "s"
    assert run(["schedule", "complete(4)", "-o", f"{nowhere}.npz"]) == 2
    assert run(["compile", "complete(4)", "-o", f"{nowhere}.xml"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_programs_that_deadlock_or_race_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = (
        '<algo name="a" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="0" '
        'outofplace="1" minBytes="0" maxBytes="1000000">\n'
    )
    copy = (
        '<step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="{r}" cnt="1" depid="-1" deps="-1" hasdep="0"/>'
    )
    wire = (
        '<step s="{s}" type="{t}" srcbuf="i" srcoff="0" dstbuf="o" dstoff="{o}" cnt="1" '
        'depid="-1" deps="-1" hasdep="0"/>'
    )

    def program(order: str) -> str:
        gpus = ""
        for rank in (0, 1):
            other = 1 - rank
            steps = [wire.format(s=i, t=t, o=rank if t == "s" else other) for i, t in enumerate(order)]
            gpus += (
                f'<gpu id="{rank}" i_chunks="1" o_chunks="2" s_chunks="0">\n'
                f'<tb id="0" send="-1" recv="-1" chan="0">\n{copy.format(r=rank)}\n</tb>\n'
                f'<tb id="1" send="{other}" recv="{other}" chan="0">\n' + "\n".join(steps) + "\n</tb>\n</gpu>\n"
            )
        return head + gpus + "</algo>\n"

    for order, status, verdict in (("sr", 0, "ok"), ("rs", 1, "deadlock")):
        path = tmp_path / f"{order}.xml"
        path.write_text(program(order))
        assert run(["verify", str(path), "--json"]) == status
        assert json.loads(capsys.readouterr().out)["verdict"] == verdict
    race = program("sr").replace('dstoff="0" cnt="1"', 'dstoff="1" cnt="1"', 1)
    path = tmp_path / "race.xml"
    path.write_text(race)
    assert run(["verify", str(path), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["verdict"] in {"race", "wrong result"}


def test_a_schedule_from_a_file_of_links(tmp_path: Path) -> None:
    links, path = tmp_path / "links.csv", tmp_path / "s.npz"
    links.write_text("src,dst\n0,1\n1,2\n2,0\n1,0\n2,1\n0,2\n")
    assert run(["schedule", str(links), "--collective", "allgather", "-o", str(path)]) == 0
    topology, schedule, _ = load_schedule(path)
    assert topology == build("complete(3)")
    assert schedule.steps == 1


def test_unequal_links_are_scheduled_around(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    topology = build("circulant(8,1,3)")
    table, path = tmp_path / "links.csv", tmp_path / "s.npz"
    slow = {(0, 1), (5, 2)}
    rows = [f"{u},{v},10us,{5 if (u, v) in slow else 25}Gbps" for u, v, _ in topology.links()]
    table.write_text("\n".join(["src,dst,alpha,bandwidth", *rows]) + "\n")
    times = {}
    for name, extra in (("plain", []), ("adapted", ["--link-table", str(table), "--size", "1MiB"])):
        args = ["schedule", str(topology.spec), "--collective", "reduce-scatter", "-o", str(path), *extra]
        assert run(args) == 0
        capsys.readouterr()
        result = document(capsys, "simulate", str(path), "--link-table", str(table), "--size", "1MiB", "--json")
        runs = result["runs"]
        assert isinstance(runs, list)
        times[name] = Fraction(runs[0]["time"])
    assert times["adapted"] < times["plain"]


def test_tables_fit_schedule_and_simulate_alike(
    tmp_path: Path, schedule_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, table, path = "circulant(12,2,3)", tmp_path / "links.csv", tmp_path / "s.npz"
    head = "src,dst,alpha,bandwidth\n"
    rows = "".join(f"{u},{v},10us,25Gbps\n" for u, v, _ in build(spec).links())
    commands = (
        ["schedule", spec, "--link-table", str(table), "-o", str(path)],
        ["simulate", str(schedule_file), "--link-table", str(table)],
    )
    plain = document(capsys, "simulate", str(schedule_file), "--json")
    table.write_text(head + rows + "3,3,9us,1Gbps\n")  # a self-loop carries nothing
    assert [run(command) for command in commands] == [0, 0]
    capsys.readouterr()
    assert document(capsys, *commands[1], "--json") == plain  # four links of 25Gbps are a node's 100Gbps
    for stray in ("0,1", "0,12", "12,12", "999999,0"):
        table.write_text(f"{head}{rows}{stray},9us,1Gbps\n")
        for command in commands:
            assert run(command) == 2
            assert f"no link of the topology, such as {stray}" in capsys.readouterr().err
    table.write_text(head + rows[rows.index("\n") + 1 :])
    assert [run(command) for command in commands] == [2, 0]
    assert "lacks 1 link of the topology, such as 0,2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--training", "--fail", "0>2"], "--fail"), (["--bucket", "1MiB"], "--training"),
        (["--training", "--link-table", "t"], "--link-table"), (["--training", "--mode", "asynchronous"], "--mode"),
    ],
)  # fmt: skip
def test_options_of_simulate_without_effect_are_refused(
    schedule_file: Path, capsys: pytest.CaptureFixture[str], options: list[str], word: str
) -> None:
    training = ["--training", str(WORKLOAD)] if options[0] == "--training" else []
    rest = options[1:] if training else options
    capsys.readouterr()
    assert run(["simulate", str(schedule_file), *training, *rest]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert word in err
    assert "remove" in err or "requires" in err


def test_what_a_schedule_file_decides_is_not_an_option_of_compile(
    tmp_path: Path, schedule_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "x.xml"
    for option, named in (
        (["--collective", "allreduce"], "--collective"),
        (["--algorithm", "auto"], "--algorithm"),
        (["--set", "chunks=1"], "--set chunks="),
    ):
        assert run(["compile", str(schedule_file), *option, "-o", str(program)]) == 2
        assert f"decides {named};" in capsys.readouterr().err
        assert not program.exists()
        assert run(["compile", "complete(4)", *option, "-o", str(program)]) == 0
        program.unlink()


def test_the_content_of_a_file_counts_and_not_its_name(
    tmp_path: Path, schedule_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "ar.xml"
    assert run(["compile", str(schedule_file), "-o", str(program)]) == 0
    for number, name in enumerate(("plain", "other.txt", "wrong")):
        schedule, text = tmp_path / f"s{name}", tmp_path / f"p{name}"
        if name == "wrong":
            schedule, text = tmp_path / "wrong.xml", tmp_path / "wrong.npz"
        schedule.write_bytes(schedule_file.read_bytes())
        text.write_bytes(b"\n" * number + program.read_bytes())
        capsys.readouterr()
        assert document(capsys, "verify", str(schedule), "--json")["collective"] == "allreduce"
        assert document(capsys, "verify", str(text), "--json")["verdict"] == "ok"
        again = tmp_path / f"again{number}.xml"
        assert run(["compile", str(schedule), "-o", str(again)]) == 0
        assert again.read_bytes() == program.read_bytes()
        assert run(["simulate", str(text)]) == 2
        assert "this is a program, not a schedule" in capsys.readouterr().err
    assert run(["verify", str(tmp_path)]) == 2
    assert run(["verify", str(tmp_path / "nothing.xml")]) == 2
    assert run(["compile", str(tmp_path / "nothing.npz"), "-o", str(program)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_endings_do_not_mislead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, ending, right in (("schedule", ".xml", ".npz"), ("compile", ".NPZ", ".xml")):
        path = tmp_path / f"x{ending}"
        assert run([command, "complete(4)", "-o", str(path)]) == 2
        assert f"ending {right}" in capsys.readouterr().err
        assert not path.exists()
        assert run([command, "complete(4)", "-o", str(tmp_path / "x")]) == 0
        capsys.readouterr()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("circulant(12,2,5)", "does not give the links"), ("nothing(3)", "unknown topology"),
        ("complete(1000000000)", "cannot be built"), ("circulant(", "cannot be built"),
    ],
)  # fmt: skip
def test_a_spec_that_is_not_that_of_the_links_is_a_problem(
    tmp_path: Path, schedule_file: Path, capsys: pytest.CaptureFixture[str], spec: str, words: str
) -> None:
    assert run(["verify", str(schedule_file)]) == 0
    assert "circulant(12,2,3), 12 nodes\n" in capsys.readouterr().out
    topology, schedule, header = load_schedule(schedule_file)
    path = tmp_path / "named.npz"
    save_schedule(path, schedule, topology, spec=spec, claim=header.claim)
    assert run(["verify", str(path), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is False
    assert len(report["problems"]) == 1
    assert words in report["problems"][0]
    save_schedule(path, schedule, topology, claim=header.claim)
    assert run(["verify", str(path)]) == 0
    assert "a topology without a spec, 12 nodes\n" in capsys.readouterr().out


# Step, src, dst, owner. Node 0 sends its sum for shard 2 before node 1's has come, and then again.
RING = Topology.from_links(3, [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)])
REFILLED = [(1, 0, 2, 2), (2, 1, 0, 2), (3, 0, 2, 2), (1, 1, 0, 0), (2, 2, 0, 0), (1, 0, 1, 1), (3, 2, 1, 1)]
REDUNDANT = [(1, u, v, u) for u in range(3) for v in range(3) if u != v] + [(2, 1, 2, 0), (2, 2, 1, 2)]


@pytest.mark.parametrize(
    ("collective", "rows", "note"), [("reduce-scatter", REFILLED, "refilled"), ("allgather", REDUNDANT, "redundant")]
)
def test_what_a_right_schedule_does_not_need_is_not_compiled(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    collective: Collective,
    rows: list[tuple[int, int, int, int]],
    note: str,
) -> None:
    step, src, dst, owner = np.array(rows, dtype=np.int32).T
    steps, low = int(step.max()), np.zeros(len(rows), dtype=np.int64)
    reduces = steps if collective == "reduce-scatter" else 0
    schedule = from_columns(as_collective(collective), 3, 1, steps, reduces, step, src, dst, owner, low, low + 1)
    path, program = tmp_path / "s.npz", tmp_path / "s.xml"
    save_schedule(path, schedule, RING, claim=verify_rounds(RING, schedule).cost)
    report = document(capsys, "verify", str(path), "--json")
    assert report["ok"] is True
    assert report[note] != 0
    assert document(capsys, "compile", str(path), "-o", str(program), "--json")["verdict"] == "ok"
    assert document(capsys, "verify", str(program), "--json")["verdict"] == "ok"
    needed = 6  # every one of three shards moves to or from two nodes
    assert program.read_text().count('type="s"') + program.read_text().count('type="rrs"') <= needed < len(rows)


def test_chunks_beyond_all_bounds_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for chunks, status in ((2**31 - 1, 0), (2**31, 2), (10**20, 2)):
        args = ["complete(4)", "--set", f"chunks={chunks}", "--collective", "allgather"]
        assert run(["schedule", *args, "-o", str(tmp_path / "s.npz")]) == status
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "line 1"), ("a,b\n", "line 1"), ("src,dst,alpha,bandwidth\n0,1,10us\n", "line 2"),
        ("src,dst,alpha,bandwidth\n0,1,10,25Gbps\n", "line 2"),
        ("src,dst,alpha,bandwidth\n0,-1,10us,25Gbps\n", "line 2"),
        ("src,dst,alpha,bandwidth\n0,1,1us,1Gbps\n0,1,1us,1Gbps\n", "already exists"),
    ],
)  # fmt: skip
def test_bad_link_tables_name_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, words: str
) -> None:
    table = tmp_path / "links.csv"
    table.write_text(content)
    assert run(["schedule", "complete(4)", "--link-table", str(table), "-o", str(tmp_path / "s.npz")]) == 2
    assert words in capsys.readouterr().err
