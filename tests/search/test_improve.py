"""Improving a catalog: it finds what the shipped one once lacked, expands it, loses nothing, and goes on."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import click
import pytest

from topodesign import Catalog, build, diff_catalog, improve_catalog, pareto, verify_catalog
from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import CatalogError, ParameterError
from topodesign.base.progress import Share
from topodesign.base.spec import parse
from topodesign.catalog.files import read_rows, write_rows
from topodesign.catalog.quality import runtime
from topodesign.catalog.records import record_orders
from topodesign.catalog.row_check import check_row
from topodesign.catalog.rows import VERSION, Row
from topodesign.catalog.verify import find_misplaced, read_stored_rows
from topodesign.cli.catalog.improve import command
from topodesign.pricing.deferral import count_receivers
from topodesign.search.improve import DEFERRAL, STRATEGIES, _Run
from topodesign.search.improve_jobs import Run, StrategyEffort, search_in_jobs, sum_spent
from topodesign.search.state import SearchState, by_spff, expansions
from topodesign.search.strategies import NAMES
from topodesign.search.strategies.composition import composition
from topodesign.search.strategies.congruential import congruential
from topodesign.search.strategies.lifts import lifts, steps_of_lifts
from topodesign.search.strategies.near_lines import near_lines
from topodesign.search.strategies.neighbours import neighbours
from topodesign.search.strategies.quotients import quotients
from topodesign.search.strategies.strategy import Draw, Strategy
from topodesign.search.symmetric import search_symmetric
from topodesign.search.target import Target


@pytest.fixture
def poor(tmp_path: Path) -> Path:
    """A catalog of degree 2 that has the one topology with the most steps of every size."""
    directory = tmp_path / "poor"
    directory.mkdir()
    last = {row.nodes: row for row in Catalog().rows(2, 3, 60)}
    write_rows(directory, 2, last.values())
    return directory


def test_alegres_steps_are_found_and_their_line_graphs(poor: Path, tmp_path: Path) -> None:
    state = SearchState(range(25, 51), {2: read_rows(poor, 2)})
    assert quotients.search(state, Target(25, 2, duplex=False), Draw(orbits=5, number=0, seed=0)) > 0
    assert {(row.nodes, row.cost.steps) for row in state.new} >= {(25, 4), (50, 5)}
    _Run(tmp_path, state, [False], 0).save()
    (change,) = [one for one in diff_catalog(poor, tmp_path) if not one.duplex]
    assert not change.worse
    assert change.better == (25, 50)
    assert change.after < change.before
    assert verify_catalog(tmp_path, nodes=range(25, 51), degrees=[2], sample=20, workers=1).ok


@pytest.mark.dear("turn3-0", "turn4-0")
@pytest.mark.parametrize(
    ("turn", "orbits"),
    [(quotients, 1), (quotients, 4), (lifts, 3), (neighbours, 0)],
)
def test_every_kind_of_turn_finds_what_it_says(turn: Strategy[SearchState], orbits: int) -> None:
    kept = {3: [row for row in Catalog().rows(3, 16, 32) if row.nodes != 24], 4: []}
    state = SearchState(range(24, 25), kept)
    target = Target(24, 3, duplex=False)
    assert orbits in turn.orbits(target)
    state.keep(target, [parse("genkautz(3,24)"), parse("dicirculant(24,1,2,5)")])
    before, known = state.ratio(target), {row.spec for row in state.rows[24, 3]}
    gain = turn.search(state, target, Draw(orbits, 0, 0))
    assert gain == pytest.approx(before - state.ratio(target))  # the bandwidth factor may be better with more steps
    assert gain > 0 or turn is neighbours
    fresh = [row for row in state.rows[24, 3] if row.spec not in known]
    assert bool(fresh) == (gain > 0)
    assert {check_row(row) for row in fresh} <= {None}


@pytest.mark.dear
def test_lifts_of_few_orbits_have_one_step_less_than_random_topologies() -> None:
    target = Target(720, 8, duplex=True)
    state = SearchState(range(720, 721), {8: []})
    state.keep(target, [parse("bidirect(randomregular(720,4,1))")])
    assert state.fewer(target) == 4
    assert lifts.gap(state, target) > 0
    assert lifts.search(state, target, Draw(3, 0, 0)) > 0.05
    found = state.fastest(target)
    assert found is not None
    assert found.cost.steps == 4
    assert found.duplex
    assert check_row(found) is None


@pytest.mark.dear
def test_lifts_are_not_searched_where_they_are_scarce() -> None:
    state = SearchState(range(1300, 1301), {4: []})
    target = Target(1300, 4, duplex=True)
    state.keep(target, [parse("bidirect(randomregular(1300,2,1))")])
    state.put(target, [replace(row, cost=replace(row.cost, steps=8)) for row in state.rows[1300, 4]])
    assert state.fewer(target) == 7
    assert steps_of_lifts(state, target) == 8
    state.put(target, [replace(row, cost=replace(row.cost, steps=7)) for row in state.rows[1300, 4]])
    assert lifts.gap(state, target) == 0


def test_lifts_with_as_many_steps_take_the_place_of_topologies_without_symmetry() -> None:
    target = Target(272, 8, duplex=True)
    state = SearchState(range(272, 273), {8: []})
    state.keep(target, [parse("bidirect(randomregular(272,4,1))")])
    before = state.fastest(target)
    assert before is not None
    assert steps_of_lifts(state, target) == before.cost.steps  # none with one less is known
    gain = lifts.search(state, target, Draw(2, 0, 0))
    after = state.fastest(target)
    assert after is not None
    assert gain > 0
    assert after.cost.steps == before.cost.steps
    assert after.mean.bandwidth < before.mean.bandwidth
    assert after.duplex
    assert check_row(after) is None


WIDE = Target(156, 4, duplex=False)
"""The size of line graphs of degree 4 of 39 nodes."""


@pytest.mark.dear
def test_a_run_goes_on_from_what_is_there(poor: Path, tmp_path: Path) -> None:
    first = Catalog().rows(2, 3, 60)
    (tmp_path / "new").mkdir()
    write_rows(tmp_path / "new", 2, first)
    done = improve_catalog(tmp_path / "new", range(3, 5), [2], time_limit="1s", catalog=poor)
    assert (done.gain, done.rows, [path.name for path in done.files]) == (0, (), ["degree_02.tsv"])
    assert read_rows(tmp_path / "new", 2) == first


def test_nothing_gets_worse_by_what_is_offered() -> None:
    rows = {4: Catalog().rows(4, 40, 80)}
    state = SearchState(range(40, 81), rows)
    targets = [Target(n, 4, duplex) for n in range(40, 81) for duplex in (True, False)]
    before = {target: state.front(target) for target in targets}
    for row in rows[4]:
        for target, spec in expansions(row):
            if state.has(target):
                state.offer(target, [spec])
    for target, front in before.items():
        for one in front:
            assert any(other.mean.dominates(one.mean) for other in state.front(target))


@pytest.mark.dear
def test_deferral_takes_the_best_first_and_ends(tmp_path: Path) -> None:
    sizes = range(60, 64)
    by_spff = [row for row in Catalog().rows(3, 3, 90) if not row.deferred]
    (tmp_path / "before").mkdir()
    write_rows(tmp_path / "before", 3, by_spff)
    state = SearchState(sizes, {3: by_spff})
    run = _Run(tmp_path, state, [True, False], 0, only=DEFERRAL)
    targets = [Target(n, 3, duplex) for n in sizes for duplex in (True, False)]
    assert run.waiting is not None
    first = run.waiting.next()
    assert first is not None
    hopes = [state.hope(target)[0] for target in targets]
    assert max(hopes) in {state.hope(Target(first.nodes, 3, duplex))[0] for duplex in (True, False)}
    assert state.receivers[first.either_way][-1] == count_receivers(first.build())
    run.go(1000, None)  # which ends when there is nothing left to gain
    assert run.gain > 0
    assert all(state.hope(target) == (0, None) for target in targets)
    new = state.new
    assert all(row.deferred and row in state.rows[row.nodes, 3] for row in new)
    assert any(row in state.front(Target(row.nodes, 3, duplex=False)) for row in new)
    assert [check_row(row) for row in new] == [None] * len(new)
    run.save()
    changes = diff_catalog(tmp_path / "before", tmp_path, degrees=[3], first=60, last=63)
    assert changes.ok
    assert any(change.better for change in changes)
    again = improve_catalog(tmp_path, sizes, [3], only="deferral", time_limit="20s")
    assert again.rows == ()
    assert not find_misplaced(read_stored_rows(Catalog(tmp_path), [3]))


@pytest.mark.dear
def test_what_older_versions_have_deferred_is_deferred_again(tmp_path: Path) -> None:
    def rows_after(shares: Fraction) -> list[Row]:
        """Return the deferred rows after a run that starts from one of version 3 with so much more bandwidth."""
        cost, allgather = (Cost(one.steps, one.bandwidth * shares) for one in (known.cost, known.allgather))
        old = replace(known, cost=cost, allgather=allgather, version=3)
        state = SearchState(range(60, 61), {3: [old]})
        run = _Run(tmp_path, state, [False], 0, only=DEFERRAL)
        run.go(1000, None)
        assert (run.gain > 0) == bool(state.new) == (shares > 1)
        return state.rows[60, 3]

    state = SearchState(range(60, 61), {3: []})
    state.keep(Target(60, 3, duplex=False), [parse("randomregular(60,3,2)")])
    (known,) = (row for row in state.rows[60, 3] if row.deferred)
    assert rows_after(Fraction(1)) == rows_after(Fraction(11, 10)) == [known]
    assert known.version == VERSION


def test_what_is_found_with_fewer_steps_is_deferred_at_once() -> None:
    state = SearchState(range(60, 61), {3: []})
    state.keep(Target(60, 3, duplex=False), [parse("biring(3,60)"), parse("randomregular(60,3,2)")])
    kept = state.rows[60, 3]
    assert sum(row.deferred for row in kept) == 1
    assert min(kept, key=lambda row: row.cost.bandwidth + row.cost.steps).deferred
    assert {row.deferred for row in state.new} == {True, False}


def test_next_to_the_bound_only_fewer_steps_are_searched_for() -> None:
    state = SearchState(range(60, 61), {3: []})
    target, optimum = Target(60, 3, duplex=False), Fraction(59, 60)
    spec = "randomregular(60,3,2)"
    for share, counts in ((Fraction(1, 200), optimum), (Fraction(1, 20), optimum * Fraction(21, 20))):
        cost = Cost(6, optimum * (1 + share))
        state.rows[60, 3] = [Row(60, 3, cost, cost, False, "family", Basis.DEFERRED, 2, spec)]
        assert state.known(target) == [Cost(6, counts)]
    near = search_symmetric(target, 10**6, orbits=[2], known=[Cost(6, optimum)])
    assert all(found.cost.steps < 6 for found in near)


@pytest.mark.thorough
def test_linear_congruential_digraphs_are_better_than_generalized_kautz_ones(tmp_path: Path) -> None:
    target = Target(400, 4, duplex=False)
    state = SearchState(range(400, 401), {4: [by_spff(target, parse("genkautz(4,400)"))]})
    run = _Run(tmp_path, state, [True, False], 0, only=congruential.name)
    assert [one for purse in run.purses.values() for one in purse.searches] == [(target, 0)]
    before = state.ratio(target)
    assert run.turn()
    assert run.gain == pytest.approx(before - state.ratio(target))
    assert run.gain > 0
    (best,) = state.front(target)
    assert best.cost.steps == 5
    assert best.spec.startswith("cover(congruential(200,")
    assert all(check_row(row) is None for row in state.new)
    run.save()
    assert read_rows(tmp_path, 4) == state.rows[400, 4]


@pytest.mark.dear
def test_nodes_are_taken_out_of_line_graphs_where_the_degree_does_not_divide() -> None:
    """One turn serves all sizes down to the next multiple of the degree."""
    sizes = [Target(nodes, 6, duplex=False) for nodes in range(91, 96)]
    known = [by_spff(size, parse(f"genkautz(6,{size.nodes})")) for size in sizes]
    state = SearchState(range(91, 96), {6: [*Catalog().rows(6, 16, 18), *known]})
    assert near_lines.orbits(sizes[2]) == [0]
    before, left = sum(map(state.ratio, sizes)), near_lines.gap(state, sizes[2])
    assert left > 0
    gain = near_lines.search(state, sizes[2], Draw(0, 0, 0))
    assert gain == pytest.approx(before - sum(map(state.ratio, sizes)))
    assert gain > 0
    for size in sizes:
        fastest = state.fastest(size)
        assert fastest is not None
        assert fastest.cost.steps == 3
        assert fastest.either_way.startswith("delete(line(") or fastest in known
        assert near_lines.gap(state, size) < left
    assert {check_row(row) for row in state.new} == {None}


def test_nodes_are_taken_out_where_there_are_line_graphs() -> None:
    assert not near_lines.orbits(Target(96, 6, duplex=False))
    assert not near_lines.orbits(Target(94, 6, duplex=True))
    assert not near_lines.orbits(Target(41, 6, duplex=False))  # line graphs of complete graphs
    target = Target(94, 6, duplex=False)
    state = SearchState((94,), {6: [by_spff(target, parse("genkautz(6,94)"))]})  # where no bases are known
    assert near_lines.gap(state, target) == near_lines.search(state, target, Draw(0, 0, 0)) == 0


@pytest.mark.parametrize(
    "target", [pytest.param(Target(2112, 3, duplex=False), marks=pytest.mark.thorough), Target(2112, 3, duplex=True)]
)
def test_large_sizes_are_composed_of_rows_and_searched(target: Target) -> None:
    """What is kept is right by its links, deferred where that helps, and no worse than what is composed at once."""
    state = SearchState([target.nodes], {target.degree: []})
    assert composition.search(state, target, Draw(0, 0, 0)) > 0
    assert {check_row(row) for row in state.rows[target.size]} == {None}
    composed = pareto(*target.size, bidirectional=target.duplex, catalog=state.source).best
    assert runtime(state.fastest(target).mean) <= runtime(composed.mean)  # type: ignore[union-attr]
    assert state.new


def test_only_turns_of_one_kind(tmp_path: Path) -> None:
    state = SearchState((24, 25, 2112), {3: Catalog().rows(3, 24, 25)})
    for only in NAMES:
        run = _Run(tmp_path, state, [True, False], 0, only=only)
        names = {DEFERRAL if kind.strategy is None else kind.strategy.name for kind in run.purses}
        assert names == {only} or (only == DEFERRAL and not names)
    (choices,) = (option.type for option in command.params if option.name == "only")
    assert isinstance(choices, click.Choice)
    assert tuple(choices.choices) == NAMES
    assert {*(strategy.name for strategy in STRATEGIES), DEFERRAL} == set(NAMES)
    assert len({strategy.rank for strategy in STRATEGIES}) == len(STRATEGIES)
    with pytest.raises(ParameterError, match="only"):
        improve_catalog(tmp_path, range(24, 26), [3], only="luck")


def test_expansions_have_their_sizes() -> None:
    row = next(row for row in Catalog().rows(2, 10, 10) if not row.duplex)
    for target, spec in expansions(row):
        topology = build(spec)
        assert (topology.nodes, topology.degree) == (target.nodes, target.degree)
        assert topology.is_duplex or not target.duplex


def test_quality_counts_the_records_that_are_missed(poor: Path) -> None:
    (judged,) = [one for one in Catalog(poor).quality([2], 3, 60) if not one.duplex]
    assert judged.records == len(record_orders(2, 60))
    kept = {row.nodes: row.cost for row in read_rows(poor, 2)}
    assert judged.missed == sum(kept[n].steps > k for n, k in record_orders(2, 60))
    assert kept[6] == Cost(2, Fraction(1)) or judged.missed
    assert 1 <= judged.of_records[0] <= judged.ratios[0].mean


def test_bad_grids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        improve_catalog(tmp_path, range(2, 5), [2])
    with pytest.raises(ParameterError):
        improve_catalog(tmp_path, [5], [2])  # type: ignore[arg-type]
    (tmp_path / "file").write_text("")
    with pytest.raises(CatalogError):
        improve_catalog(tmp_path / "file", range(3, 5), [2])


# -- Searches in several processes: they find what one finds, all of it right, and what one finds reaches the others


FOUND = parse("torus(3,4)")


class Finds:
    """One turn: the first process finds a topology, the second waits until it has it, and adds a size of its own."""

    def __init__(self, place: int) -> None:
        self.place, self.spent = place, dict[str, StrategyEffort]()
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
        self.spent["toy"], self.done = StrategyEffort("toy", 1, 0.5, gain), True
        return True


def dies(_: int) -> Run:
    os._exit(1)


@pytest.mark.dear
def test_what_one_finds_reaches_the_others() -> None:
    state, told = SearchState(range(12, 16), {4: []}), list[dict[str, StrategyEffort]]()
    search_in_jobs(Finds, 2, 60, state, told.append)
    assert {row.nodes for row in state.new} == {12, 15}
    assert [check_row(row) for row in state.new] == [None] * len(state.new)
    assert (told[-1]["toy"].searches, told[-1]["toy"].seconds) == (2, 1.0)
    assert sum_spent([told[-1], {"toy": StrategyEffort("toy", 1, 0.5, 0.25)}])["toy"].searches == 3


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(CatalogError, match="a process that searches died; start again with fewer --jobs"):
        search_in_jobs(dies, 1, 60, SearchState(range(12, 13), {4: []}), lambda _: None)


def test_rows_are_merged_where_they_are_better_or_newer() -> None:
    mine, theirs = (SearchState(range(12, 13), {4: []}) for _ in range(2))
    target = Target(12, 4, duplex=True)
    theirs.keep(target, [FOUND])
    (size,) = theirs.take_changed()
    assert size == (12, 4)
    assert theirs.take_changed() == {}
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
