"""The commands of the page on the papers run; what is not there says so."""

from __future__ import annotations

import re

import pytest

from tests.pages import ROOT, empty_directory, run_command

PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
ROWS = PAGE.split("\n* ")[1:]
SECTIONS = PAGE.split("\n## ")[1:]


def test_every_row_has_a_command_or_says_that_it_is_not_there() -> None:
    assert len(ROWS) > 60
    for row in ROWS:
        assert re.search(r"`(topodesign|python benchmarks/\w+\.py)", row) or "not there" in row, row


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.splitlines()[0].split()[0])
def test_commands_of_a_paper_run(section: str) -> None:
    commands = re.findall(r"`(topodesign [^`]*)`", section)
    assert commands
    with empty_directory():
        for command in commands:
            status, lines = run_command(command)
            assert status == 0, (command, lines)
