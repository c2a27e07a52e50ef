"""Tables on the terminal: every cell of a result stands in them, on any width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from topodesign import Catalog, evaluate, pareto, survey
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
            assert all("".join(part.split()) in text for part in row[-1].split(": "))


@pytest.fixture(scope="module")
def wide() -> list[Result]:
    catalog = Catalog()
    return [
        pareto(200, 6, sizes=["1MiB", "100MiB", "1GiB"]),
        survey(range(100, 106), 4),
        catalog.coverage([2, 3]),
        catalog.quality([2, 3], 3, 400),
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_table_breaks_numbers_or_specs_or_is_too_wide(wide: list[Result], width: int) -> None:
    for result in wide:
        text, table = printed(result, width, terminal=True), result.table()
        for row in table.rows:
            for title, cell in zip(table.columns, row, strict=True):
                if " " not in cell.strip() and len(cell) < width - 5:
                    assert title in table.spare or cell.strip() in text
        assert max(len(line.rstrip()) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", [60, 80, 120])
def test_columns_that_are_left_out_are_said_to_be(wide: list[Result], width: int) -> None:
    for result in wide:
        table, text = result.table(), printed(result, width, terminal=True)
        said = " ".join(text.split()).partition("hidden: ")[2]
        shown = {word.strip() for line in text.splitlines() for word in line.split("  ")}
        missing = [title for title in table.columns[:-1] if title not in shown]
        assert bool(said) == bool(missing)
        assert all(title in said for title in missing)
        if missing:  # the width that it names has room for all columns
            told = int(said.partition("COLUMNS=")[2].partition(" ")[0])
            assert "hidden" not in printed(result, told, terminal=True)
            assert "hidden" in printed(result, told - 1, terminal=True)


def test_a_pipe_is_as_wide_as_is_told(monkeypatch: pytest.MonkeyPatch, wide: list[Result]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = printed(wide[0], 20, terminal=False)
    assert 60 < max(map(len, text.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "many")
    assert max(map(len, printed(wide[0], 20, terminal=False).splitlines())) > 80
