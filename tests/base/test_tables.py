"""CSV: one reader for all files, whose errors name the line whatever columns the file has."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import topodesign
from topodesign.base.errors import FileFormatError
from topodesign.base.tables import csv_rows, fixed_columns, named_columns, parse_csv, write_csv

READERS: list[Callable[[str], Iterator[Any]]] = [
    csv_rows,
    lambda text: named_columns(text, ("a", "b")),
    lambda text: fixed_columns(text, ("a", "b"), "a row such as 1,2"),
    lambda text: parse_csv(text, ("a",), ("b",)),
]


@pytest.mark.parametrize("read", READERS)
def test_bad_csv_names_the_line(read: Callable[[str], Iterator[Any]]) -> None:
    with pytest.raises(FileFormatError, match="line 4: not CSV"):
        list(read('a,b\n1,2\n\n"1"2,3\n'))


@pytest.mark.parametrize("read", READERS[1:])
@pytest.mark.parametrize("text", ["", "c\n", "a,b,a\n", "\n\na,b\n1,2\n1\n"])
def test_bad_headers_and_rows_name_the_line(read: Callable[[str], Iterator[Any]], text: str) -> None:
    with pytest.raises(FileFormatError, match="line 5: " if "1" in text else "line 1: "):
        list(read(text))


def test_rows_have_the_line_they_end_on() -> None:
    text = '# none\na, b\n\n1,"x\ny"\n  # more\n   \n3,4'
    assert list(csv_rows(text, comments=True)) == [(2, ["a", " b"]), (5, ["1", "x\ny"]), (8, ["3", "4"])]
    assert [cells for _, cells in csv_rows(text)] == [["# none"], ["a", " b"], ["1", "x\ny"], ["  # more"], ["3", "4"]]


def test_columns_by_name_and_by_place() -> None:
    assert list(named_columns("b,more,a\n1,2,3\n", ("a", "b"))) == [(2, {"b": "1", "more": "2", "a": "3"})]
    assert list(fixed_columns("A, b\n 1,2 \n", ("a", "b", "c"), "a row", optional=1)) == [(2, ["1", "2"])]
    assert [row["a"].value for row in parse_csv("b,a\n,x\n,\n", ("a",), ("b",))] == ["x"]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_semicolons_and_tabs_separate_cells_as_commas_do(separator: str) -> None:
    rows = [["name", "x, y", "loss"], ["a", "b;c", "2.5"], ["", '"', "-1.25"]]
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows(rows)
    assert [cells for _, cells in csv_rows("\n\n" + text.getvalue())] == rows
    assert [cells for _, cells in csv_rows(text.getvalue().replace("2.5", "2,5"))] == rows
    assert [line for line, _ in csv_rows("\n\n" + text.getvalue())] == [3, 4, 5]


def test_nobody_else_reads_csv() -> None:
    root = Path(topodesign.__file__).parent
    users = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if "csv.reader" in path.read_text()}
    assert users == {"base/tables.py"}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "'=", " +", "''@", "'", "", "a"])
def test_no_cell_is_a_formula_and_all_are_read_back(start: str) -> None:
    cell = f"{start}cmd|' /C calc'!A0"
    text = write_csv([("name", "count"), (cell, -1)])
    ((raw, number),) = list(csv.reader(text.splitlines()))[1:]
    assert not raw.lstrip().startswith(("=", "+", "-", "@"))
    assert number == "-1"
    assert list(csv_rows(text))[1:] == [(2, [cell, "-1"])]
    ((_, row),) = named_columns(text, ("name",))
    assert row["name"] == cell
