"""Files whose names are no UTF-8: what is written of them is text, and nothing fails of the name."""

from __future__ import annotations

from pathlib import Path

import pytest

from topodesign import build, save_plan, schedule, write_links
from topodesign.cli.main import run


@pytest.mark.dear("evaluate --plot-kind page {} -o a.html")
@pytest.mark.parametrize(
    "command",
    ["evaluate {} -o a.txt", "evaluate --plot-kind page {} -o a.html", "evaluate --plot-kind distances {} -o a.svg"],
)
def test_a_name_that_is_no_text_is_written(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "\udcfa.csv"
    Path(name).write_text(write_links(build("torus(3,3)"), "csv"))
    words = command.format(name).split()
    assert run(words) == 0
    Path(words[-1]).read_text(encoding="utf-8")


def test_a_plan_of_such_a_name_is_reported_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_plan(Path("\udcf9.npz"), schedule("torus(3,3)", "allgather"))
    assert run(["simulate", "--plot-kind", "page", "\udcf9.npz", "-o", "a.html"]) == 0
    assert "\\udcf9.npz" in Path("a.html").read_text(encoding="utf-8")
