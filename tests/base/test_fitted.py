"""Lines that fit: no word is lost, broken or put elsewhere, and what fits stays as it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.fitted import fitted

LINES = st.lists(st.text(alphabet="ab1.,-( ", max_size=90), max_size=6).map("\n".join)


@given(LINES, st.integers(1, 90))
def test_words_stay_whole_and_in_order(text: str, width: int) -> None:
    found = fitted(text, width)
    assert found.split() == text.split()
    for line in found.split("\n"):
        assert len(line) <= max(width, 20) or len(line.split()) == 1


@given(LINES)
def test_what_fits_is_left_alone(text: str) -> None:
    assert fitted(text, 100) == text


def test_the_second_column_stays_a_column() -> None:
    text = "  allreduce       177.067GB/s  reduce-scatter, then allgather"
    assert fitted(text, 50) == "  allreduce       177.067GB/s  reduce-scatter,\n                  then allgather"
    assert fitted("one " * 20, 30).startswith("one one")
