"""Deferred rows: what they say is what schedules cost, and what is by SPFF stays so."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.samples.ranked import rank
from topodesign import Catalog, build, pareto, schedule, survey
from topodesign.base.cost import Basis, Cost, least_steps
from topodesign.base.spec import parse
from topodesign.catalog.all_to_all import PRICES, Bounds
from topodesign.catalog.files import read_rows, write_rows
from topodesign.catalog.row_check import check_row
from topodesign.catalog.rows import VERSION, Row, describe_origin, worth_keeping
from topodesign.catalog.verify import find_misplaced, read_stored_rows
from topodesign.finder.pareto import DEFERRED_NOTE
from topodesign.pricing.evaluation import price_both, price_both_deferred
from topodesign.pricing.workload import as_workload
from topodesign.search.candidate import transpose_spec
from topodesign.search.close_sizes import better_size
from topodesign.search.composed import _Composer
from topodesign.search.state import SearchState, make_deferred_row
from topodesign.search.target import Target

SPECS = (
    "randomregular(60,3,2)",
    "transpose(genkautz(3,14))",
    "insert(cayley(metacyclic(21,6,5),29,73,74,116),88,111,111,88,22,98,98,22)",
    (
        "successors(3,12,13,14,18,19,20,8,21,22,15,16,17,6,21,22,23,24,25,0,1,2,18,19,20,23,24,25,0,1,2,3,4,5,7,21,22,3,4,"
        "5,6,7,8,23,24,25,0,1,2,6,7,8,9,10,11,3,4,5,9,10,11,12,13,14,12,13,14,15,16,17,9,10,11,15,16,17,18,19,20)"
    ),
)


def row_by_spff(text: str) -> Row:
    """The row of a topology, or of its transpose if that is what catalogs have."""
    spec, topology = parse(text), build(text)
    there, back = price_both(topology)
    if back.bandwidth > there.bandwidth:
        there, back, spec = back, there, transpose_spec(spec)
    found = describe_origin(spec)
    return Row(topology.nodes, topology.degree, there, back, topology.is_duplex, found, Basis.LINKS, 1, str(spec))


def row_deferred(text: str) -> Row:
    row = row_by_spff(text)
    found = make_deferred_row(row, *price_both_deferred(row.build()))
    assert found is not None
    return found


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of 60 nodes and degree 3 whose one topology has a deferred row, too."""
    place = tmp_path_factory.mktemp("deferred")
    write_rows(place, 3, worth_keeping([row_by_spff(SPECS[0]), row_deferred(SPECS[0])]))
    return place


@pytest.mark.dear("insert(cayley(metacyclic(21,6,5),29,73,74,116),88,111,111,88,22,98,98,22)", "randomregular(60,3,2)")
@pytest.mark.parametrize("text", SPECS)
def test_a_deferred_row_says_what_schedules_cost(text: str) -> None:
    row = row_by_spff(text)
    prices = price_both_deferred(row.build())
    found = make_deferred_row(row, *prices)
    if found is None:
        assert all(map(Cost.dominates, (row.cost, row.allgather), prices))
    else:
        assert check_row(found) is None
        assert (found.version, found.basis, found.cost.steps) == (VERSION, Basis.DEFERRED, row.cost.steps)
        assert found.allgather.bandwidth <= found.cost.bandwidth
    best = row if found is None else found
    for collective, cost in (("reduce-scatter", best.cost), ("allgather", best.allgather)):
        claim = schedule(best.build(), collective).claim
        assert Cost(int(claim["steps"]), claim["bandwidth"]) == cost


def test_each_collective_takes_the_cheaper_schedule() -> None:
    row = replace(row_by_spff("genkautz(3,14)"), duplex=False, spec="genkautz(3,14)")
    steps = row.cost.steps
    row = replace(row, cost=Cost(steps, Fraction(3)), allgather=Cost(steps, Fraction(2)))

    def with_prices(there: int, back: int) -> Row | None:
        return make_deferred_row(row, Cost(steps, Fraction(there)), Cost(steps, Fraction(back)))

    assert with_prices(3, 2) is None is with_prices(4, 5)
    one, other = with_prices(4, 1), with_prices(1, 9)
    assert one is not None
    assert (one.cost, one.allgather, one.spec) == (row.cost, Cost(steps, Fraction(1)), "genkautz(3,14)")
    assert other is not None  # now the allgather is dearer, so that it is the transpose's reduce-scatter
    assert (other.cost, other.allgather) == (row.allgather, Cost(steps, Fraction(1)))
    assert other.spec == "transpose(genkautz(3,14))"


@pytest.mark.dear
def test_a_deferred_row_is_right_if_nothing_is_dearer_than_it_says() -> None:
    row = row_deferred(SPECS[0])
    little = Fraction(1, 10**6)
    for wrong in (
        replace(row, cost=Cost(row.cost.steps, row.cost.bandwidth - little)),
        replace(row, allgather=Cost(row.cost.steps, row.allgather.bandwidth - little)),
    ):
        assert "above" in str(check_row(wrong))
    assert check_row(replace(row, cost=Cost(row.cost.steps, row.cost.bandwidth + little))) is None  # found to be better
    assert "steps" in str(check_row(replace(row, cost=Cost(row.cost.steps + 1, row.cost.bandwidth))))
    spff = row_by_spff(SPECS[0])
    assert "by SPFF that are as low" in str(check_row(replace(spff, basis=Basis.DEFERRED)))


def test_rows_by_spff_stay_beside_deferred_ones(directory: Path) -> None:
    rows = read_rows(directory, 3)
    deferred = [row for row in rows if row.deferred]
    assert len(deferred) == 1
    assert any(deferred[0].cost.dominates(row.cost) for row in rows if not row.deferred)
    assert find_misplaced(read_stored_rows(Catalog(directory), [3])) == []
    front = Catalog(directory).frontier(60, 3)
    assert deferred[0] in front
    assert not any(one.mean.dominates(row.mean) for row in front for one in front if one is not row)


def test_theorems_rest_on_rows_by_spff(directory: Path, tmp_path: Path) -> None:
    write_rows(tmp_path, 3, [row for row in read_rows(directory, 3) if not row.deferred])
    both = Catalog(directory), Catalog(tmp_path)
    lines = [list(_Composer(one, duplex=False).by_theorem(Target(180, 3, duplex=False))) for one in both]
    assert lines[0] == lines[1] != []
    slow = [replace(one, cost=Cost(90, one.cost.bandwidth), allgather=Cost(90, one.cost.bandwidth)) for one in lines[0]]
    size, work = Target(4859, 3, duplex=False), as_workload("10us", "1MiB", "100Gbps")
    told = [better_size(one, slow, size, work) for one in both]
    assert told[0] == told[1] is not None


def test_pareto_says_how_it_is_run(directory: Path) -> None:
    row = next(row for row in read_rows(directory, 3) if row.deferred)
    found = pareto(60, 3, catalog=directory)
    entry = next(one for one in found if one.basis is Basis.DEFERRED)
    assert (str(entry.spec), entry.cost, entry.allgather) == (row.spec, row.cost, row.allgather)
    assert entry.record()["source"] == "deferred"
    assert "simplex, deferred" in str(found)
    assert DEFERRED_NOTE in " ".join(str(found).split())
    assert "deferred" in str(survey(range(59, 62), 3, catalog=directory))
    searched = pareto(60, 3, catalog=directory, search=0)
    assert any(one.cost.dominates(row.cost) for one in searched)


def test_rankings_and_runners_up_take_the_deferred_price(directory: Path) -> None:
    row = next(row for row in read_rows(directory, 3) if row.deferred)
    ranked = next(one for one in rank(60, 3, collective="allreduce", catalog=directory) if str(one.spec) == row.spec)
    assert (ranked.cost, ranked.allgather) == (row.cost, row.allgather)
    found = pareto(60, 3, catalog=directory, runners_up=1)
    assert found.runners_up is not None
    assert found.runners_up.fastest.entry.allreduce == found.best.allreduce


def test_all_to_all_costs_as_much_on_the_row_by_spff(directory: Path) -> None:
    rows = read_rows(directory, 3)
    deferred = next(row for row in rows if row.deferred)
    plain = {deferred.spec, str(transpose_spec(parse(deferred.spec)))}
    spff = next(row for row in rows if not row.deferred and row.spec in plain)
    price = Bounds(Fraction(3), Fraction(4))
    PRICES.write(directory, 3, {spff.price_key: price}.items())
    try:
        priced = {row.line: row.all_to_all for row in Catalog(directory).rows(3)}
        assert priced[deferred.line] == priced[spff.line] == price
        own = Bounds(Fraction(7, 2), Fraction(7, 2))
        PRICES.write(directory, 3, {spff.price_key: price, deferred.price_key: own}.items())
        assert {row.line: row.all_to_all for row in Catalog(directory).rows(3)}[deferred.line] == own
    finally:
        (directory / "all_to_all_03.tsv").unlink()


def test_fewer_steps_are_wished_for_only_where_no_bound_forbids_them() -> None:
    state, wished = SearchState(range(3, 60), {3: Catalog().rows(3, 3, 59)}), 0
    for nodes in range(5, 60):
        for duplex in (False, True):
            steps = state.fewer(Target(nodes, 3, duplex))
            if steps is not None:
                wished += 1
                assert steps >= least_steps(nodes, 3, duplex=duplex).steps
    assert wished
