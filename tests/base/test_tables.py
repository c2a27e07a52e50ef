"""CSV: one reader for all files, whose errors name the line whatever columns the file has."""

from __future__ import annotations

import csv
import io
import os
import socket
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import topodesign
from topodesign.base.errors import FileFormatError, MissingLibraryError, TopodesignError
from topodesign.base.records import Result, ResultList, Table
from topodesign.base.strict_json import parse_json
from topodesign.base.tables import csv_rows, parse_csv, read_fixed_columns, read_named_columns, write_csv
from topodesign.base.text_files import begins_as_xml, open_input, read_bytes, read_head, read_text
from topodesign.base.zips import write_zip

READERS: list[Callable[[str], Iterator[Any]]] = [
    csv_rows,
    lambda text: read_named_columns(text, ("a", "b")),
    lambda text: read_fixed_columns(text, ("a", "b"), "a row such as 1,2"),
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
    assert list(read_named_columns("b,more,a\n1,2,3\n", ("a", "b"))) == [(2, {"b": "1", "more": "2", "a": "3"})]
    assert list(read_fixed_columns("A, b\n 1,2 \n", ("a", "b", "c"), "a row", optional=1)) == [(2, ["1", "2"])]
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
    ((_, row),) = read_named_columns(text, ("name",))
    assert row["name"] == cell


# -- The way in: only regular files, of bounded size, without a wait


@pytest.fixture(params=["directory", "pipe", "socket", "link to a pipe", "device", "endless device"])
def not_a_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "x"
    if request.param == "directory":
        path.mkdir()
    elif "pipe" in request.param:
        os.mkfifo(path)
    elif request.param == "socket":
        os.chdir(tmp_path)  # names of sockets are short
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("x")
    if request.param == "link to a pipe":
        (tmp_path / "link").symlink_to(path)
        return tmp_path / "link"
    return {"device": Path("/dev/null"), "endless device": Path("/dev/zero")}.get(request.param, path)


def test_what_is_not_a_file_is_refused_at_once(not_a_file: Path) -> None:
    for read in (read_text, read_bytes, read_head, begins_as_xml, open_input):
        with pytest.raises(FileFormatError, match="not a file"):
            read(not_a_file)


def test_sizes_are_checked_before_reading(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(FileFormatError, match="larger than 4 bytes"):
        read_bytes(path, 4)
    with path.open("wb") as stream:
        stream.truncate(2**40)  # a hole
    with pytest.raises(FileFormatError, match="larger than"):
        read_text(path)
    assert read_head(path) == bytes(2**16)


def test_text_is_utf_8_with_any_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert read_text(path) == "a\nb\nc\n"
    path.write_bytes(b"\xff\xfea\0")
    with pytest.raises(FileFormatError, match="UTF-8"):
        read_text(path)
    with pytest.raises(FileFormatError, match="No such file"):
        read_text(tmp_path / "y")
    for name in ("a\0b", ""):
        with pytest.raises(FileFormatError, match="not a file"):
            read_text(Path(name))


# -- Strict JSON


def test_values_are_those_of_json() -> None:
    text = '{"a": [1, 2.5, "x", null, true], "b": {"a": {}}}'
    assert parse_json(text) == {"a": [1, 2.5, "x", None, True], "b": {"a": {}}}
    assert parse_json(b"[1]") == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: not JSON"),
        ("{\n\n", "line 3: not JSON"),
        ('{"a": 1, "a": 1}', "'a' is there twice"),
        ('[{"b": {"a": 1, "a": 2}}]', "'a' is there twice"),
        ("[NaN]", "NaN is not a number"),
        ("-Infinity", "-Infinity is not a number"),
        ("[" * 10**5, "nested too deep"),
        ("1" * 10**5, "not JSON"),
        (b"\xff\xfe[\xd8", "not JSON"),
        ("\ufeff[]", "not JSON"),
    ],
)
def test_what_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        parse_json(text)


# -- Members of archives: the same bytes at any time, which any program unpacks


def test_an_archive_does_not_depend_on_when_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    for now in (0.0, 2e9):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        stream = io.BytesIO()
        write_zip(stream, [("a.txt", b"content")], zipfile.ZIP_DEFLATED)
        written.append(stream.getvalue())
    assert written[0] == written[1]
    with zipfile.ZipFile(stream) as archive:
        assert archive.read("a.txt") == b"content"
        (info,) = archive.infolist()
    assert info.date_time == (1980, 1, 1, 0, 0, 0)
    assert (info.create_system, info.external_attr >> 16) == (3, 0o644)


def test_an_interrupt_amid_a_member_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although the archive cannot be closed then, which is an error of its own."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(zlib, "compressobj", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_zip(io.BytesIO(), [("a.txt", b"content")], zipfile.ZIP_DEFLATED)


# -- what results show: records say it once, and the text, the HTML and the data frame agree with them ----------------


CELLS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=12)


@dataclass(frozen=True, repr=False)
class Point(Result):
    name: str
    share: Fraction

    def to_records(self) -> list[dict[str, Any]]:
        return [{"name": self.name, "share": self.share}]


class Cells(HTMLParser):
    """Reads the cells of tables back, row by row."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        assert tag in {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
        if tag == "tr":
            self.rows.append([])
        self.inside = tag in {"td", "th"}
        if self.inside:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in {"td", "th"}

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


@given(st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1)))
def test_text_and_html_have_every_cell(rows: list[list[str]]) -> None:
    columns = tuple(f"c{place}" for place in range(len(rows[0])))
    table = Table("<b>what & why</b>", columns, tuple(map(tuple, rows)), frozenset(columns[:1]), footnote="")
    heading, titles, rule, *lines = table.text().splitlines()
    assert heading == "<b>what & why</b>"
    assert tuple(titles.split()) == columns
    assert set(rule) <= {"-", " "}
    assert [line.split() for line in lines] == rows
    assert Cells(table.html()).rows == [list(columns), *rows]
    assert "<b>" not in table.html()


def test_rows_to_compare_with_stand_below_a_rule() -> None:
    table = Table("", ("a",), (("1",), ("22",)), compared=1)
    assert table.text().splitlines() == [" a", "--", " 1", "--", "22"]


def test_a_result_shows_its_records() -> None:
    point = Point("<here>", Fraction(1, 3))
    assert repr(point) == "<Point: 1 row>"
    assert str(point).split() == ["1", "row", "name", "share", "------", "-----", "<here>", "1/3"]
    assert Cells(point._repr_html_()).rows == [["name", "share"], ["<here>", "1/3"]]
    assert point.to_dataframe().to_dict("records") == point.to_records()


def test_a_list_of_results_is_one_table() -> None:
    several = ResultList([Point("a", Fraction(1)), Point("b", Fraction(2))])
    assert several == [*several]
    assert repr(several) == "<ResultList: 2 rows>"
    assert several.to_records() == [*several[0].to_records(), *several[1].to_records()]
    assert list(several.to_dataframe()["name"]) == ["a", "b"]
    assert Cells(several._repr_html_()).rows[1:] == [["a", "1"], ["b", "2"]]


def test_very_long_texts_are_cut() -> None:
    assert "(10000 characters)" in str(Point("x" * 10_000, Fraction(0)))


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'topodesign\[notebook\]'") as caught:
        Point("a", Fraction(1)).to_dataframe()
    assert isinstance(caught.value, TopodesignError)
