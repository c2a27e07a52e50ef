"""The cheapest arborescence: as cheap as any there is, and proven by its cuts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from topodesign.optima.fluid.cheapest_tree import cheapest_arborescence, proven_price


def least(prices: np.ndarray, root: int) -> int:
    """By looking at all choices of parents."""
    others = [vertex for vertex in range(len(prices)) if vertex != root]
    found = []
    for above in itertools.product(range(len(prices)), repeat=len(others)):
        parent = dict(zip(others, above, strict=True))
        reached, more = {root}, True
        while more:
            new = {v for v, u in parent.items() if u in reached} - reached
            reached |= new
            more = bool(new)
        if len(reached) == len(prices):
            found.append(sum(int(prices[u, v]) for v, u in parent.items()))
    return min(found)


@pytest.mark.parametrize("seed", range(30))
def test_none_is_cheaper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, root = int(rng.integers(2, 6)), 0
    prices = rng.integers(0, 6, (count, count))
    best = cheapest_arborescence(prices, root)
    assert best.price == least(prices, root) == proven_price(best, prices, root)
    assert best.parent[root] == -1


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_larger_ones_prove_themselves_whatever_the_size_of_numbers(dtype: type) -> None:
    rng = np.random.default_rng(5)
    for count in (1, 10, 40):
        prices: Any = rng.integers(0, 9, (count, count)).astype(dtype) * (10**30 if dtype is object else 1)
        best = cheapest_arborescence(prices, count // 2)
        assert proven_price(best, prices, count // 2) == best.price


def test_cuts_that_are_dearer_than_an_arc_prove_nothing() -> None:
    prices = np.array([[0, 2], [2, 0]])
    best = cheapest_arborescence(prices, 0)
    assert proven_price(best, prices, 0) == 2
    for weight in ([0, 3, 0, 0], [1, 1, 0, 0], [0, -1, 0, 0]):
        assert proven_price(best._replace(weight=np.array(weight)), prices, 0) is None
