"""Whole numbers that satisfy rows: found where brute force finds some, and else proven not to be there."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign.solve.program import NO_BOUND, Entries
from topodesign.solve.whole import find_whole


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_agrees_with_brute_force(data: st.DataObject) -> None:
    columns, rows = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    upper = np.array(data.draw(st.lists(st.integers(0, 3), min_size=columns, max_size=columns)))
    numbers = st.lists(st.integers(-3, 3), min_size=columns, max_size=columns)
    matrix = np.array(data.draw(st.lists(numbers, min_size=rows, max_size=rows)))
    least = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=rows, max_size=rows)))
    most = least + np.array(data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
    row, column = np.nonzero(matrix)
    found = find_whole(upper, Entries(row, column, matrix[row, column]), least, most, seconds=10)
    every = (np.array(point) for point in itertools.product(*(range(most_ + 1) for most_ in upper)))
    there = any(np.all((matrix @ point >= least) & (matrix @ point <= most)) for point in every)
    assert (found.values is not None) == there
    assert found.proven == (not there)
    if found.values is not None:
        assert np.all((found.values >= 0) & (found.values <= upper))
        assert np.all((matrix @ found.values >= least) & (matrix @ found.values <= most))


def test_rows_without_bounds_hold() -> None:
    found = find_whole(np.array([5]), Entries([0], [0], [1]), [3], [NO_BOUND], seconds=5)
    assert found.values is not None
    assert found.values[0] >= 3


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 3), min_size=3, max_size=5))
def test_of_all_solutions_one_of_least_cost_is_taken_whatever_the_order_of_rows(
    cost: list[int],
) -> None:
    """Two rows, each of which wants three of some columns: the order in which they are given must not matter."""
    columns = len(cost)
    upper, matrix = np.full(columns, 2), np.array([[1] * columns, [1, 1, *[0] * (columns - 2)]])
    every = [np.array(one) for one in itertools.product(range(3), repeat=columns)]
    least = min(int(one @ cost) for one in every if np.all(matrix @ one >= [3, 1]))
    found = []
    for order in ([0, 1], [1, 0]):
        row, column = np.nonzero(matrix[order])
        bounds = np.array([3, 1])[order]
        one = find_whole(upper, Entries(row, column, 1), bounds, [NO_BOUND] * 2, seconds=10, cost=np.array(cost))
        assert one.settled
        assert one.values is not None
        found.append(one.values)
    assert np.array_equal(found[0], found[1])
    assert int(found[0] @ cost) == least
