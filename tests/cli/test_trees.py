"""Fabrics on the command line: schedule, verify, simulate and compile over trees."""

from __future__ import annotations

import json
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.samples.old_files import load_schedule, load_trees, save_trees
from tests.samples.tree_tables import Trees, forest_schedule
from tests.samples.trees import TREE_COLLECTIVES, TreeCollective
from tests.samples.verdicts import verify_trees
from topodesign.cli.main import run
from topodesign.fabrics.presets import build_fabric
from topodesign.plans.archive import write_archive
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.measure import flow_claim

GB = 10**9


def document(capsys: pytest.CaptureFixture[str], *args: str, status: int = 0) -> dict[str, Any]:
    assert run(args) == status
    result = json.loads(capsys.readouterr().out)
    assert isinstance(result, dict)
    return result


def refused(capsys: pytest.CaptureFixture[str], *args: str, status: int = 2) -> str:
    assert run(args) == status
    out, err = capsys.readouterr()
    assert not out
    assert "Traceback" not in err
    return err


def falsify(source: Path, target: Path, **changed: Any) -> None:
    """Write a plan file again with other fields in its header, or in the objects there."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "header.json":
                fields = json.loads(data)
                for part in (fields["claim"], fields["flow"]["chunks"], fields["flow"], fields["fabric"], fields):
                    part |= {key: value for key, value in changed.items() if key in part}
                data = json.dumps(fields).encode()
            new.writestr(name, data)


@pytest.fixture
def boxes(tmp_path: Path) -> Path:
    path = tmp_path / "boxes.npz"
    assert run(["schedule", "dgx_h100(2)", "--collective", "allgather", "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize("collective", TREE_COLLECTIVES)
def test_from_a_fabric_to_a_checked_program(
    collective: TreeCollective, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, program = tmp_path / "x.npz", tmp_path / "x.xml"
    root = ["--root", "box1/gpu2"] if collective in {"broadcast", "reduce"} else []
    made = document(capsys, "schedule", "dgx_a100(2)", "--collective", collective, *root, "-o", str(path), "--json")
    expected = {"allgather": "1040/3", "reduce-scatter": "1040/3", "allreduce": "520/3"}.get(collective)
    if expected is not None:  # 346.667 GB/s (ForestColl), half of it for both
        assert Fraction(made["algorithmic_bandwidth"]) == Fraction(expected) * GB
        assert made["k"] == 13
    report = document(capsys, "verify", str(path), "--json")
    assert (report["ok"], report["problems"], report["inv_x_star"]) == (True, [], made["inv_x_star"])
    for mode in ("--inplace", "--out-of-place"):
        compiled = document(capsys, "compile", str(path), mode, "-o", str(program), "--json")
        assert (compiled["verdict"], compiled["fewer_trees"]) == ("ok", None)
        checked = document(capsys, "verify", str(program), "--json")
        assert (checked["verdict"], checked["root"]) == ("ok", 10 if root else None)
    assert run(["compile", "dgx_a100(2)", "--collective", collective, *root, mode, "-o", str(tmp_path / "y.xml")]) == 0
    assert (tmp_path / "y.xml").read_bytes() == program.read_bytes()


def test_simulation_tends_to_the_algorithmic_bandwidth(boxes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ("--size", "1B", "--size", "1GB", "--size", "1PB")
    result = document(capsys, "simulate", str(boxes), "--alpha", "5us", *sizes, "--json")
    small, large, endless = result["runs"]
    _, schedule, _ = load_trees(boxes)
    assert sum(one["height"] for one in small["phases"]) == schedule.height
    late = [one["height"] * (5e-6 + (one["starts"] - 1) * 2e-7 + one["switches"] * 3e-7) for one in small["phases"]]
    assert small["time_s"] == pytest.approx(sum(late), rel=1e-3)
    rates = [one["algorithmic_bandwidth_GBps"] for one in (small, large, endless)]
    assert rates == sorted(rates)
    assert rates[-1] == pytest.approx(533.333, rel=1e-3)
    assert rates[-1] < 1600 / 3


def test_a_failed_link_has_names(boxes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", str(boxes), "--fail", "box0/gpu0>box0/nvswitch"]) == 1
    out, _ = capsys.readouterr()
    assert "with box0/gpu0 -> box0/nvswitch down the allgather does not finish: 8 of 16 nodes never get all data" in out
    assert "box0/gpu1 lacks the shards of box0/gpu0" in out
    assert "named" in refused(capsys, "simulate", str(boxes), "--fail", "box0/gpu0>nowhere")


def test_plain_topologies_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.npz"
    made = document(capsys, "schedule", "torus(3,3)", "--algorithm", "forest", "-o", str(path), "--json")
    # N/(N-1) * B/2, half of it for allreduce
    assert Fraction(made["algorithmic_bandwidth"]) == Fraction(9, 8) * Fraction(25 * GB, 2) / 2
    slow, fast = (
        document(capsys, "simulate", str(path), "--bandwidth", rate, "--json")["runs"][0]["bandwidth_time_s"]
        for rate in ("100Gbps", "400Gbps")
    )
    assert slow == pytest.approx(4 * fast)
    assert run(["schedule", "torus(3,3)", "--collective", "reduce", "--root", "4", "-o", str(path)]) == 0
    assert run(["schedule", "torus(3,3)", "-o", str(path)]) == 0
    assert load_schedule(path)[1].nodes == 9


@pytest.mark.dear
def test_too_many_trees_for_a_runtime_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "odd.yaml"
    ends = [("g0", "s", 7), ("g1", "s", 8), ("g2", "s", 11), ("g3", "s", 13), ("g0", "t", 4), ("g1", "t", 5)]
    links = [f"  - {{from: {a}, to: {b}, bandwidth: {rate}GB/s, duplex: true}}" for a, b, rate in ends]
    source.write_text("nodes: [g0, g1, g2, g3]\nswitches: [s, t]\nlinks:\n" + "\n".join(links) + "\n")
    program = str(tmp_path / "odd.xml")
    args = ("compile", str(source), "--collective", "allgather", "--set", "pipeline=300", "-o", program)
    result = document(capsys, *args, "--json")
    assert result["verdict"] == "ok"
    assert "trees per root, since of the best ones" in result["fewer_trees"]
    assert run([*args, "--set", "trees=11"]) == 1
    assert "--set trees" in capsys.readouterr().err


def test_options_that_do_not_belong_are_refused(
    boxes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["-o", str(tmp_path / "y.npz")]
    cases = [
        (["schedule", "torus(3,3)", "--root", "0", *output], "remove --root"),
        (["schedule", "torus(3,3)", "--set", "trees=2", *output], "--set trees= is not for --algorithm spff, but for"),
        (["schedule", "torus(3,3)", "--collective", "reduce", *output], "use --root NODE"),
        (["schedule", "dgx_a100(1)", "--root", "box0/gpu0", *output], "remove --root"),
        (["schedule", "dgx_a100(1)", "--set", "chunks=2", *output], "--set chunks= is not for trees"),
        (
            ["schedule", "torus(3,3)", "--collective", "broadcast", "--algorithm", "spff", "--root", "0", *output],
            "over trees",
        ),
        (["schedule", "dgx_a100(1)", "--collective", "reduce", "--root", "gpu9", *output], "named"),
        (["simulate", str(boxes), "--mode", "lock-step"], "--mode cannot be used with tree schedules"),
        (["simulate", str(boxes), "--bandwidth", "1Gbps"], "bandwidths of its own"),
        (["compile", str(boxes), "--set", "trees=1", "-o", str(tmp_path / "y.xml")], "decides --set trees"),
        (["compile", "torus(3,3)", "--set", "pipeline=2", "-o", str(tmp_path / "y.xml")], "requires a tree schedule"),
        (["compile", str(boxes), "--set", "chunks=1", "-o", str(tmp_path / "y.xml")], "decides --set chunks"),
    ]
    for args, words in cases:
        assert words in refused(capsys, *args)
    assert not (tmp_path / "y.npz").exists()
    assert not (tmp_path / "y.xml").exists()


def test_the_file_keeps_everything(boxes: Path, tmp_path: Path) -> None:
    fabric = build_fabric("dgx_h100(2)")
    read, schedule, header = load_trees(boxes)
    assert (read.names, read.topology, read.unit) == (fabric.names, fabric.topology, fabric.unit)
    assert (read.multicast, read.aggregation) == (fabric.multicast, fabric.aggregation)
    assert schedule == forest_schedule(fabric.topology, "allgather")
    assert header.claim == flow_claim(schedule.on(fabric))
    assert header.spec == "dgx_h100(2)"
    again = tmp_path / "again.npz"
    generator = {"method": "forest", "fixed_k": None, "root": None}
    save_trees(again, schedule, fabric, spec="dgx_h100(2)", generator=generator)
    assert Trees.of(load_plan(again)) == Trees.of(load_plan(boxes))
    assert save_plan(again, load_plan(boxes)).read_bytes() == boxes.read_bytes()
    uneven = forest_schedule(fabric.topology, "allreduce", shard=[1] * 15 + [0])
    save_trees(again, uneven, fabric)
    assert load_trees(again)[1] == uneven


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"unit": "1"}, "algorithmic bandwidth in bytes per second"),
        ({"rate": "1/7"}, "1/x* in seconds per byte"),
        ({"k": "3"}, "trees per root"),
        ({"height": "5"}, "height"),
        ({"inv_x_star": "1/1000"}, "1/x* in seconds per byte"),
        ({"algorithmic_bandwidth": "10"}, "algorithmic bandwidth in bytes per second"),
        ({"spec": "dgx_h100(1)"}, "does not give the fabric"),
        ({"spec": "dgx_h200(2"}, "does not give the fabric"),
        ({"multicast": []}, "does not give the fabric"),
        ({"names": [f"v{at}" for at in range(26)]}, "does not give the fabric"),
    ],
)
def test_no_false_figure_goes_unnoticed(
    boxes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, Any], words: str
) -> None:
    path = tmp_path / "false.npz"
    falsify(boxes, path)
    assert document(capsys, "verify", str(path), "--json")["ok"]
    falsify(boxes, path, **changed)
    report = document(capsys, "verify", str(path), "--json", status=1)
    assert any(words in problem for problem in report["problems"])
    assert words in refused(capsys, "simulate", str(path), status=1)
    assert words in refused(capsys, "compile", str(path), "-o", str(tmp_path / "x.xml"))


@pytest.mark.parametrize(
    "changed",
    [{"claim": None}, {"k": 0}, {"algorithmic_bandwidth": "1/0"}, {"rate": "0"}, {"unit": 1}, {"height": "-1"}],
)
def test_figures_that_are_none(
    boxes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, Any]
) -> None:
    path = tmp_path / "false.npz"
    falsify(boxes, path, **changed)
    assert f"'{next(iter(changed))}' in header.json" in refused(capsys, "verify", str(path))


def test_damaged_files_and_false_claims(boxes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fabric, schedule, _ = load_trees(boxes)
    path = tmp_path / "bad.npz"
    falsify(boxes, path, height=str(schedule.height + 1))
    report = document(capsys, "verify", str(path), "--json", status=1)
    assert "the claimed height is" in report["problems"][0]
    assert "claimed" in refused(capsys, "simulate", str(path), status=1)
    for cut in (10, 100, 1000, len(boxes.read_bytes()) - 5):
        path.write_bytes(boxes.read_bytes()[:cut])
        assert refused(capsys, "verify", str(path))
    links = {f"link_{name}": getattr(fabric.topology, name) for name in ("src", "dst", "capacity")}
    write_archive(path, {"format": "topodesign tree schedule", "version": 3}, links)
    assert "newer program" in refused(capsys, "verify", str(path))
    write_archive(path, {"format": "topodesign tree schedule", "version": 1}, links)
    assert "make it again with 'topodesign schedule'" in refused(capsys, "verify", str(path))
    write_archive(path, {"format": "topodesign tree schedule", "version": 2}, links)
    assert "'nodes'" in refused(capsys, "verify", str(path))
    assert verify_trees(schedule).ok
