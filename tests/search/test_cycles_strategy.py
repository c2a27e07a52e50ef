"""Turns among cycles: what they keep is right by its links, and has a step less."""

from __future__ import annotations

import pytest

from topodesign.base.spec import parse
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.row_check import check_row
from topodesign.search.state import SearchState
from topodesign.search.strategies import cycles as strategy
from topodesign.search.strategies.cycles import cycles
from topodesign.search.strategies.strategy import Draw
from topodesign.search.target import Target

TARGET = Target(107, 6, duplex=True)


def test_a_step_less_is_found_and_kept_for_a_prime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategy, "_WORK", 10**7)
    state = SearchState(range(107, 108), {6: []})
    state.keep(TARGET, [parse("circulant(107,1,2,3)")])
    before = state.fastest(TARGET)
    assert before is not None
    assert cycles.gap(state, TARGET) > 0
    assert sum(cycles.search(state, TARGET, Draw(count, 0, 0)) for count in cycles.orbits(TARGET)) > 0
    after = state.fastest(TARGET)
    assert after is not None
    assert after.cost.steps < before.cost.steps
    assert after.spec.startswith("multicirculant(")
    assert check_row(after) is None


def test_sizes_that_are_searched() -> None:
    assert cycles.orbits(Target(36, 3, duplex=False)) == []
    assert len(cycles.orbits(TARGET)) > 1
    assert cycles.gap(SearchState([107], {6: []}, Catalog()), TARGET) == 0
