"""Guesses at assignments: always a permutation, the same for the same seed, and on easy traffic the best."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from topodesign.solve.whole import guess_places


@pytest.mark.parametrize("n", [2, 5, 9])
def test_a_guess_is_a_permutation_and_depends_on_the_seed_alone(n: int) -> None:
    rng = np.random.default_rng(n)
    traffic, distance = rng.integers(0, 9, (2, n, n))
    guesses = [guess_places(traffic, distance, np.random.default_rng(7)).tolist() for _ in range(2)]
    assert sorted(guesses[0]) == list(range(n))
    assert guesses[0] == guesses[1]


def test_a_guess_is_better_than_the_average_place() -> None:
    rng = np.random.default_rng(4)
    traffic, distance = rng.integers(0, 9, (2, 6, 6))
    worth = {p: int((traffic * distance[np.ix_(p, p)]).sum()) for p in itertools.permutations(range(6))}
    found = worth[tuple(guess_places(traffic, distance, np.random.default_rng(1)).tolist())]
    assert min(worth.values()) <= found < sum(worth.values()) / len(worth)
