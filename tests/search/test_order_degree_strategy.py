"""Turns that exchange cables: what they keep is right by its links, and has the steps that they say."""

from __future__ import annotations

import pytest

from topodesign.base.spec import parse
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.row_check import check_row
from topodesign.search.state import SearchState
from topodesign.search.strategies import order_degree as strategy
from topodesign.search.strategies.order_degree import order_degree, steps_of_graphs
from topodesign.search.strategies.strategy import Draw
from topodesign.search.target import Target

TARGET = Target(36, 3, duplex=True)


def test_a_step_less_is_found_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategy, "_WORK", 10**7)
    state = SearchState(range(36, 37), {3: []})
    state.keep(TARGET, [parse("randomregulargraph(36,3,1)")])
    before = state.fastest(TARGET)
    assert before is not None
    assert steps_of_graphs(state, TARGET) == before.cost.steps - 1
    ratio = state.ratio(TARGET)
    assert order_degree.gap(state, TARGET) > 0
    for number in range(3):  # from a random graph, a row, and a lift
        gain = order_degree.search(state, TARGET, Draw(36, number, 0))
        assert gain >= 0
    assert state.ratio(TARGET) < ratio
    after = state.fastest(TARGET)
    assert after is not None
    assert after.cost.steps < before.cost.steps
    assert {check_row(row) for row in state.rows[36, 3]} == {None}


def test_sizes_that_are_searched() -> None:
    assert order_degree.orbits(Target(36, 3, duplex=False)) == []
    assert order_degree.orbits(Target(6, 3, duplex=True)) == []
    assert order_degree.orbits(TARGET) == [6, 9, 12, 18, 36]
    assert order_degree.orbits(Target(9, 3, duplex=True)) == [9]
    assert order_degree.gap(SearchState([36], {3: []}, Catalog()), TARGET) == 0
