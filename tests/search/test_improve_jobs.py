"""Searches in several processes: they find what one finds, all of it right, and what one finds reaches the others."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from topodesign import Catalog, diff_catalog, improve_catalog
from topodesign.base.errors import CatalogError, ParameterError
from topodesign.base.progress import Share
from topodesign.base.spec import parse
from topodesign.catalog.files import write_rows
from topodesign.catalog.row_check import check_row
from topodesign.catalog.rows import Row
from topodesign.search.improve_jobs import Run, Spent, search_in_jobs, summed
from topodesign.search.state import SearchState
from topodesign.search.target import Target

FOUND = parse("torus(3,4)")


class Finds:
    """One turn: the first process finds a topology, the second waits until it has it, and adds a size of its own."""

    def __init__(self, place: int) -> None:
        self.place, self.spent = place, dict[str, Spent]()
        self.state = SearchState(range(12, 16), {4: []})
        self.done = False

    def turn(self) -> bool:
        """Search once."""
        if self.done:
            return False
        target = Target(12 + 3 * self.place, 4, duplex=True)
        if self.place == 0:
            gain = self.state.keep(target, [FOUND])
        elif not self.state.rows[12, 4]:
            return True
        else:
            gain = self.state.keep(target, [parse("torus(3,5)")])
        self.spent["toy"], self.done = Spent("toy", 1, 0.5, gain), True
        return True


def dies(_: int) -> Run:
    os._exit(1)


@pytest.mark.dear
def test_what_one_finds_reaches_the_others() -> None:
    state, told = SearchState(range(12, 16), {4: []}), list[dict[str, Spent]]()
    search_in_jobs(Finds, 2, 60, state, told.append)
    assert {row.nodes for row in state.new} == {12, 15}
    assert [check_row(row) for row in state.new] == [None] * len(state.new)
    assert (told[-1]["toy"].searches, told[-1]["toy"].seconds) == (2, 1.0)
    assert summed([told[-1], {"toy": Spent("toy", 1, 0.5, 0.25)}])["toy"].searches == 3


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(CatalogError, match="a process that searches died; start again with fewer --jobs"):
        search_in_jobs(dies, 1, 60, SearchState(range(12, 13), {4: []}), lambda _: None)


def test_rows_are_merged_where_they_are_better_or_newer() -> None:
    mine, theirs = (SearchState(range(12, 13), {4: []}) for _ in range(2))
    target = Target(12, 4, duplex=True)
    theirs.keep(target, [FOUND])
    (size,) = theirs.touched()
    assert size == (12, 4)
    assert theirs.touched() == {}
    rows = theirs.rows[size]
    before = mine.ratio(target)
    assert mine.merge(size, rows) >= before - mine.ratio(target) > 0
    assert mine.rows[size] == rows
    assert set(mine.new) == set(rows)
    older = [replace(row, version=row.version - 1) for row in rows]
    assert mine.merge(size, older) == 0
    assert mine.rows[size] == rows
    behind = SearchState(range(12, 13), {4: older})
    assert behind.merge(size, rows) == 0
    assert behind.rows[size] == rows
    assert behind.new == []


@pytest.mark.dear
def test_improve_in_two_processes(tmp_path: Path) -> None:
    poor = tmp_path / "poor"
    poor.mkdir()
    last: dict[int, Row] = {row.nodes: row for row in Catalog().rows(2, 3, 60)}
    write_rows(poor, 2, last.values())
    shares = list[float]()
    found = improve_catalog(
        tmp_path / "new", range(20, 41), [2], time_limit="1500ms", catalog=poor, jobs=2, progress=shares.append
    )
    assert found.turns == sum(one.searches for one in found.strategies) > 0
    assert found.gain == pytest.approx(sum(one.gain for one in found.strategies))
    assert found.gain > 0
    assert [check_row(row) for row in found.rows] == [None] * len(found.rows)
    changes = diff_catalog(poor, tmp_path / "new", degrees=[2], first=20, last=40)
    assert changes.ok
    assert any(change.better for change in changes)
    assert isinstance(shares[-1], Share)
    assert "rows a minute" in shares[-1].words
    assert "quotients: " in found.heading()
    with pytest.raises(ParameterError, match="one process"):
        partial(improve_catalog, objective="all-to-all", jobs=2)(tmp_path / "flows", range(20, 22), [3])
