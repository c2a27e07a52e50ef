"""Crossovers: between two of them one cost stays the least, and it is the one that is named."""

from __future__ import annotations

import itertools
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.cost import Cost
from topodesign.pricing.workload import winners


@given(st.lists(st.tuples(st.integers(0, 30), st.fractions(0, 4, max_denominator=30)), min_size=1, max_size=8))
def test_the_winner_is_the_least_of_all_until_the_next(points: list[tuple[int, Fraction]]) -> None:
    costs = [Cost(steps, y) for steps, y in points]
    found = winners(costs, Fraction(3))
    sizes = [size for size, _ in found]
    assert sizes[0] == 0
    assert sizes == sorted(set(sizes))

    def time(place: int, size: Fraction) -> Fraction:
        return costs[place].steps + costs[place].bandwidth * size / 3

    for (low, place), high in zip(found, [*sizes[1:], sizes[-1] + 10**6], strict=True):
        for size in (low, low + (high - low) / 3, high):
            assert time(place, size) == min(time(other, size) for other in range(len(costs)))
    for (_, one), (size, other) in itertools.pairwise(found):
        assert time(one, size) == time(other, size)
        assert time(one, size + 1) > time(other, size + 1)
