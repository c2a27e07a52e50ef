"""Answers: wherever there is ``--json`` there are ``--csv`` and ``-o``, and all three say the same."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from topodesign.cli.answers import flat
from topodesign.cli.main import program, run


def commands(
    command: click.Command = program, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands that are no groups, with the words that call them."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        one = command.get_command(context, name)
        assert one is not None, name
        yield from commands(one, (*path, name))


ALL = dict(commands())


def test_the_walk_finds_them() -> None:
    assert len(ALL) >= 32
    assert {("pareto",), ("catalog", "status"), ("wire", "plan"), ("failures",)} <= ALL.keys()


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_json_csv_and_a_file_go_together(path: tuple[str, ...]) -> None:
    names = [name for one in ALL[path].params for name in one.opts]
    assert len(set(names)) == len(names)
    if path not in {("wire", "export"), ("wire", "init")}:  # which write files for others, and nothing else
        assert {"--json", "--csv"} <= set(names)
    assert "-o" in names
    assert "--output" in names


CHEAP = ["pareto -n 12 -d 4", "evaluate mi250(1)", "convert circulant(6,1,2)"]


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(words) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("line", CHEAP)
def test_a_file_has_what_would_be_printed(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = line.split(" ")
    for flags, ending in (((), "txt"), (("--csv",), "csv"), (("--json",), "json")):
        if words[0] == "convert" and not flags:
            continue
        printed = answer(capsys, *words, *flags)
        path = tmp_path / f"answer.{ending}"
        assert run([*words, "-o", str(path)]) == 0  # the ending is enough
        assert capsys.readouterr().out == ""
        assert path.read_text() == printed
        again = tmp_path / f"again.{ending}"
        assert run([*words, *flags, "-o", str(again)]) == 0
        assert again.read_text() == printed
        capsys.readouterr()
        if ending == "json":
            assert isinstance(json.loads(printed), dict)
        if ending == "csv":
            header, *rows = csv.reader(io.StringIO(printed))
            assert rows
            assert len(set(header)) == len(header)
            assert all(len(row) == len(header) for row in rows)


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "torus(3,3)", "--csv", "--json"],
        ["evaluate", "torus(3,3)", "-o", "answer.pptx"],
        ["evaluate", "torus(3,3)", "--csv", "-o", "answer.json"],
        ["compare", "ring", "-n", "9", "-d", "4", "--json", "-o", "answer.csv"],
        ["convert", "--as", "links", "torus(3,3)", "-o", "links.txt"],
        ["convert", "--as", "links", "torus(3,3)", "--json", "-o", "links.csv"],
        ["convert", "--as", "fabric", "mi250(1)", "--csv", "--json"],
    ],
)
def test_forms_that_contradict_each_other(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(words) == 2
    assert capsys.readouterr().out == ""
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_where_there_is_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answer.txt"
    assert run(["evaluate", "toros(3,3)", "-o", str(path)]) == 2
    assert not path.exists()
    assert "did you mean" in capsys.readouterr().err


PLANT = """hosts: [{name: "h[1-3]", rack: r, unit: "[1-3]", ports: [{name: "e[1-2]", connector: LC, speed: 25Gbps}]}]
panels: [{name: p, kind: ocs, rack: r, unit: 9, ports: [{label: "[1-6]", mode: simplex}]}]
"""


def test_a_page_is_no_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "room.yaml").write_text(PLANT)
    line = [
        "pareto",
        "--inventory",
        str(tmp_path / "room.yaml"),
        "--time-limit",
        "0s",
        "-o",
        str(tmp_path / "plans.html"),
    ]
    assert run(line) == 2
    assert "cannot be combined with a plot" in capsys.readouterr().err


@pytest.mark.dear("plans-False")
@pytest.mark.parametrize(
    ("name", "there"),
    [("plans", False), ("plans", True), ("plans.2026-11-26", False), ("plans.v2", True), ("plans.html", True)],
)
def test_a_directory_may_have_dots(name: str, there: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "room.yaml").write_text(PLANT)
    plan, target = tmp_path / "plan.json", tmp_path / name
    if there:
        target.mkdir()
    line = ["pareto", "--inventory", str(tmp_path / "room.yaml"), "--time-limit", "0s", "-o", str(target)]
    assert run(line) == 0
    assert (target / "plan1.json").exists()
    assert run(line) == 2
    assert "already exists; " in capsys.readouterr().err
    assert run(["pareto", "-n", "12", "-d", "4", "-o", str(target)]) == 2
    assert "is a directory; use the name" in capsys.readouterr().err
    assert run(["wire", "plan", "ring(3)", "--inventory", str(tmp_path / "room.yaml"), "-o", str(plan)]) == 0
    work = tmp_path / "work" / name
    work.mkdir(parents=True)
    assert run(["wire", "export", str(plan), "--format", "package", "-o", str(work)]) == 0
    assert (work / "index.html").exists()


def test_links_are_written_in_the_form_of_the_ending(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("json", "csv", "dot", "graphml", "adjlist"):
        path = tmp_path / f"links.{form}"
        assert run(["convert", "--as", "links", "circulant(6,1,2)", "-o", str(path)]) == 0
        assert path.read_text() == answer(capsys, "convert", "--as", "links", "circulant(6,1,2)", "--format", form)


def test_a_fabric_as_a_table_has_a_row_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fabric.csv"
    assert run(["convert", "--as", "fabric", "mi250(1)", "-o", str(path)]) == 0
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert path.read_text() == answer(capsys, "convert", "--as", "fabric", "mi250(1)", "--csv")
    assert len(rows) == len(json.loads(answer(capsys, "convert", "--as", "fabric", "mi250(1)", "--json"))["links"]) * 2
    assert {row["class"] for row in rows} == {"Infinity Fabric"}


def test_a_document_as_one_row() -> None:
    row = flat({"a": 1, "b": {"c": "x", "d": {"e": None}}, "f": [1, 2], "g": [{"h": 1}], "i": "two\nlines", "j": []})
    assert row == {"a": 1, "b.c": "x", "b.d.e": "", "f": "1 2", "j": ""}
