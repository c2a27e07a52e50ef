"""What results show: records say it once, and the text, the HTML and the data frame agree with them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.errors import MissingLibraryError, TopodesignError
from topodesign.base.records import Result, ResultList, Table

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
