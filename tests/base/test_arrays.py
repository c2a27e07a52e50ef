"""Arrays of frozen values: no write by the caller reaches them, and nothing is copied without need."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from topodesign.base.arrays import distinct, earlier, own_array, ranges, seal_array, stable_order
from topodesign.base.dominance import find_unbeaten

Ints = NDArray[np.int64]


def read_only_view(array: Ints) -> Ints:
    view = array[:]
    view.setflags(write=False)
    return view


WAYS: list[Callable[[Ints], Ints]] = [
    lambda array: array,
    lambda array: array[::2],
    lambda array: array.reshape(2, -1),
    lambda array: np.broadcast_to(array, (3, len(array))),
    read_only_view,
    lambda array: read_only_view(array)[1:],
]


@pytest.mark.parametrize("way", WAYS)
def test_nobody_can_change_what_is_owned(way: Callable[[Ints], Ints]) -> None:
    array = np.arange(6)
    given = way(array)
    writeable = given.flags.writeable
    kept = own_array(given)
    before = kept.copy()
    array[:] = -1
    assert np.array_equal(kept, before)
    assert given.flags.writeable == writeable, "the caller's array stays as it is"
    assert array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        kept[...] = 0


def test_buffers_are_copied_unless_they_are_bytes() -> None:
    changeable = bytearray(16)
    kept = own_array(read_only_view(np.frombuffer(changeable, dtype=np.int64)))
    changeable[0] = 1
    assert not kept.any()
    fixed = np.frombuffer(bytes(16), dtype=np.int64)
    assert own_array(fixed) is fixed


def test_what_is_sealed_is_not_copied() -> None:
    array: NDArray[Any] = seal_array(np.arange(6))
    for given in (array, array[::2], array.reshape(2, 3), own_array(np.arange(3))):
        assert own_array(given) is given


@pytest.mark.parametrize("values", [[], [3], [2, 2, 2], [5, -1, 5, 0, -1]])
def test_distinct_entries_ascend(values: list[int]) -> None:
    assert distinct(np.array(values, dtype=np.int64)).tolist() == sorted(set(values))


@pytest.mark.parametrize("most", [1, 2, 2**16, 2**16 + 1, 2**31, 2**62])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_the_order_is_that_of_numpy(most: int, kind: type[np.signedinteger[Any]]) -> None:
    values = np.random.default_rng(most).integers(min(most, np.iinfo(kind).max), size=500).astype(kind)
    for some in (values, values % 7, values[:0]):
        assert np.array_equal(stable_order(some), np.argsort(some, kind="stable"))


def test_ranges_follow_one_another() -> None:
    of, number = ranges(np.array([5, 0, 7]), np.array([2, 0, 3]))
    assert of.tolist() == [0, 0, 2, 2, 2]
    assert number.tolist() == [5, 6, 7, 8, 9]
    assert ranges(0, np.array([2, 1]))[1].tolist() == [0, 1, 0]


def test_what_comes_earlier_is_of_the_same_key() -> None:
    assert earlier(np.array([1, 0, 1, 1, 0]), np.array([2, 3, 4, 5, 6])).tolist() == [0, 0, 2, 6, 3]
    assert not len(earlier(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)))


# -- The unbeaten: nobody among them is equalled or beaten, and everybody else is


def test_the_unbeaten_are_those_that_no_other_equals_or_beats() -> None:
    values = [(a, b, name) for a, b, name in itertools.product(range(4), (3, 1, 2), "yx") if a + b > 2]
    kept = find_unbeaten(values, lambda one: one[:2], lambda one: one[2])
    assert all(name == "x" for _, _, name in kept)
    for a, b, _ in values:
        assert any(c <= a and d <= b for c, d, _ in kept)
    for (a, b, _), (c, d, _) in itertools.permutations(kept, 2):
        assert not (a <= c and b <= d)
