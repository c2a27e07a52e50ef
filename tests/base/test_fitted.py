"""Lines that fit: no word is lost or put elsewhere or broken without need, and what fits stays as it is."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.fitted import columns_of, fitted
from topodesign.base.spec import parse

LINES = st.lists(st.text(alphabet="ab1.,-(/| ", max_size=90), max_size=6).map("\n".join)


@given(LINES, st.integers(1, 90))
def test_words_that_fit_stay_whole_and_all_stay_in_order(text: str, width: int) -> None:
    found, width = fitted(text, width), max(width, 20)
    assert "".join(found.split()) == "".join(text.split())
    assert {word for word in text.split() if len(word) <= width // 2} <= set(found.split())
    for line in found.split("\n"):
        assert len(line) <= width or (len(line.split()) == 1 and not set(",/|") & set(line.strip()[:-1]))


@given(LINES)
def test_what_fits_is_left_alone(text: str) -> None:
    assert fitted(text, 100) == text


def test_the_second_column_stays_a_column() -> None:
    text = "  allreduce       177.067GB/s  reduce-scatter, then allgather"
    assert fitted(text, 50) == "  allreduce       177.067GB/s  reduce-scatter,\n                  then allgather"
    assert fitted("one " * 20, 30).startswith("one one")


def test_a_long_spec_is_broken_at_commas_and_reads_as_before() -> None:
    spec = "delete(cayley(metacyclic(41,25,10),402,523,570,695),164,7,735,7,171,23,615,16)"
    found = fitted(f"best:  {spec}", 40)
    assert max(map(len, found.splitlines())) <= 40
    assert all(line.endswith(",") for line in found.splitlines()[1:-1])
    assert str(parse(found.removeprefix("best:"))) == spec


def test_columns_are_what_is_told_then_what_a_terminal_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    assert columns_of(io.StringIO()) == 70
    for nonsense in ("many", "0", "-5", "99999", ""):
        monkeypatch.setenv("COLUMNS", nonsense)
        assert columns_of(io.StringIO()) is None
