"""The unbeaten: nobody among them is equalled or beaten, and everybody else is."""

from __future__ import annotations

import itertools

from topodesign.base.dominance import find_unbeaten


def test_the_unbeaten_are_those_that_no_other_equals_or_beats() -> None:
    values = [(a, b, name) for a, b, name in itertools.product(range(4), (3, 1, 2), "yx") if a + b > 2]
    kept = find_unbeaten(values, lambda one: one[:2], lambda one: one[2])
    assert all(name == "x" for _, _, name in kept)
    for a, b, _ in values:
        assert any(c <= a and d <= b for c, d, _ in kept)
    for (a, b, _), (c, d, _) in itertools.permutations(kept, 2):
        assert not (a <= c and b <= d)
