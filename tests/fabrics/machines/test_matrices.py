"""Tables of pairs: a tree is found again from how far its leaves are from each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.errors import FileFormatError
from topodesign.fabrics.machines.matrices import rows_of, table_at, tree_of

PLACES = st.lists(st.tuples(*[st.integers(0, 1)] * 4), min_size=2, max_size=9)


@given(PLACES)
def test_a_tree_is_found_again(places: list[tuple[int, ...]]) -> None:
    """Devices have addresses of four digits; the first that differs says how far two are."""
    names = [f"d{one}" for one in range(len(places))]

    def far(a: int, b: int) -> int:
        return next((4 - digit for digit in range(4) if places[a][digit] != places[b][digit]), 0)

    near = {
        (names[a], names[b]): far(a, b)
        for a in range(len(names))
        for b in range(len(names))
        if a != b and far(a, b) < 4
    }
    above = tree_of(names, near, 3)

    def way(name: str) -> list[str]:
        found = [name]
        while found[-1] in above:
            found.append(above[found[-1]][0])
        return found

    for a, name in enumerate(names):
        assert way(name)[-1].startswith("cpu")
        for b, other in enumerate(names[:a]):
            meet = next((one for one in way(name) if one in way(other)), None)
            kinds = {0: "pcie", 1: "bridge", 2: "host", 3: "cpu"}
            assert (meet is None) == (far(a, b) == 4)
            assert meet is None or meet.startswith(kinds[far(a, b)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A0 A1\nA0 x", "2 cells are expected, not 1"),
        ("A0 b A1\nA0 x y z", "side by side"),
        ("A0 A0\nA0 x y", "different names"),
        ("A0 A1\nA0 x y\nA0 x y", "A0 is there twice"),
        ("A0 A1\nA0 x y", "A1 has a column and no row"),
        ("b\n", "columns of devices"),
    ],
)
def test_bad_tables(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        table_at(rows_of(text), 0, lambda word: word.startswith("A"))


def test_headings_of_terminals_are_read() -> None:
    rows = rows_of("\x1b[4mA0\tA1\x1b[0m\nA0 x y\nA1 y x\n")
    assert table_at(rows, 0, lambda word: word.startswith("A"))["A0", "A1"] == "y"
