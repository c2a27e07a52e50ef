"""The commands of the page on the papers run; what is not there says so."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from tests.conftest import is_thorough
from tests.pages import ROOT, empty_directory, run_command

PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
ROWS = PAGE.split("\n* ")[1:]
SECTIONS = PAGE.split("\n## ")[1:]


def test_every_row_has_a_command_or_says_that_it_is_not_there() -> None:
    assert len(ROWS) > 60
    for row in ROWS:
        assert re.search(r"`(topodesign|python benchmarks/\w+\.py)", row) or "not covered" in row, row


WANTED: dict[str, dict[str, Iterable[object]]] = {
    "Efficient": {"figure": range(1, 21), "table": range(1, 8)},
    "ForestColl": {"algorithm": range(1, 6), "figure": range(1, 18), "table": range(1, 4)},
    "TACOS": {"figure": range(1, 23), "table": ("I", "II", "III", "IV", "V")},
    "Algorithmic": {
        "figure": ("2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "3.1"),
        "table": [f"6.{number}" for number in range(1, 21)],
        "theorem": (*range(1, 6), *range(7, 20)),
    },
}
"""What each paper has."""


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.split()[0])
def test_all_that_the_papers_have_is_named(section: str) -> None:
    named: dict[str, set[str]] = {}
    for heading in re.findall(r"^\* \*\*(.*?)\*\*", section, re.MULTILINE):
        kind, last, to = "", "", False
        for word in re.findall(r"[a-z]+|[IV]+|[\d.]*\d", heading):
            if not word.isalpha() or word.isupper():
                chapter, _, first = last.rpartition(".") if to else ("", "", word)
                numbers = range(int(first) + 1, int(word.rpartition(".")[2]) + 1) if to else ()
                more = {f"{chapter}.{number}" if chapter else str(number) for number in numbers}
                named.setdefault(kind, set()).update({word} | more)
                last = word
            elif word not in {"to", "and"}:
                kind = word.removesuffix("s")
            to = word == "to"
    for kind, wanted in WANTED[section.split(maxsplit=1)[0]].items():
        assert {*map(str, wanted)} == named[kind], kind


DEAR = {"topodesign evaluate 'mi250(2)' --collective allgather --set pareto=yes --size 1GiB"}
"""What takes seconds; the page on fabrics has the same question about a smaller one."""


@pytest.mark.dear("TACOS", "Efficient", "ForestColl")
@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.splitlines()[0].split()[0])
def test_commands_of_a_paper_run(section: str, pytestconfig: pytest.Config) -> None:
    commands = re.findall(r"`(topodesign [^`]*)`", section)
    assert commands
    assert set(re.findall(r"`(topodesign [^`]*)`", PAGE)) >= DEAR
    with empty_directory():
        for command in commands:
            if command in DEAR and not is_thorough(pytestconfig):
                continue
            status, lines = run_command(command)
            assert status == 0, (command, lines)
