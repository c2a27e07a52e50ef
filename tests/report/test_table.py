"""Tables on the terminal: every cell of a result stands in them, on any width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from topodesign import evaluate, pareto
from topodesign.base.records import Result
from topodesign.report.table import print_result


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return [pareto(24, 4, sizes=["1MiB", "100MiB"]), *map(evaluate, ("genkautz(2,9)", "dicirculant(8,1,3)"))]


def printed(result: Result, width: int, *, terminal: bool) -> str:
    stream = io.StringIO()
    print_result(result, Console(file=stream, width=width, color_system=None, force_terminal=terminal))
    return stream.getvalue()


def test_every_cell_is_there(results: list[Result]) -> None:
    for result in results:
        text, table = printed(result, 20, terminal=False), result.table()  # a pipe has no width of its own
        assert table.heading in " ".join(text.split("\n"))
        for row in table.rows:
            assert all(cell.strip() in text for cell in row[:-1])


@pytest.mark.parametrize("width", [70, 100, 200])
def test_a_narrow_terminal_leaves_out_spare_columns_and_cuts_no_figure(results: list[Result], width: int) -> None:
    for result in results:
        text, table = "".join(printed(result, width, terminal=True).split()), result.table()
        for row in table.rows:
            for title, cell in zip(table.columns, row, strict=True):
                assert title in table.spare or title in table.words or "".join(cell.split()) in text
            assert "".join(row[-1].split()) in text
