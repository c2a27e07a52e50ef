"""Closing a catalog under its operations: what comes in is true, and nothing is left that operations beat."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from tests.samples.catalogs import write_catalog
from topodesign import Catalog, all_to_all, build, verify_closure
from topodesign.base.cost import Basis
from topodesign.base.spec import parse
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.all_to_all_rows import EXCHANGE, Exchange
from topodesign.catalog.files import write_rows
from topodesign.catalog.lookup import as_catalog
from topodesign.catalog.quality import runtime
from topodesign.catalog.row_check import check_row
from topodesign.catalog.rows import Row
from topodesign.search.all_to_all_state import ExchangeState, draft_spec
from topodesign.search.closure import (
    TOLERANCE,
    better,
    close,
    close_exchange,
    exchange_left,
    iterate_kept,
    keep,
    offers,
    without_a_node,
)
from topodesign.search.state import SearchState, by_spff
from topodesign.search.target import Target

Run = Callable[..., tuple[int, str, str]]
SIZES, DEGREES = range(3, 17), (2, 3, 4)


def row_of(text: str) -> Row:
    topology = build(text)
    return by_spff(Target(topology.nodes, topology.degree, duplex=False), parse(text))


def state_of(*rows: Row, nodes: range = SIZES) -> SearchState:
    degrees = range(2, max([4, *(row.degree for row in rows)]) + 1)
    return SearchState(nodes, {d: [row for row in rows if row.degree == d] for d in degrees})


BASES = ["kautz(2,1)", "genkautz(3,11)", "transpose(genkautz(3,10))", "petersenline()"]


@pytest.mark.parametrize("text", BASES)
def test_no_offer_is_dearer_than_it_says(text: str) -> None:
    row = row_of(text)
    found = list(offers(row, lambda size: size.degree <= 2 * row.degree))
    assert {one.operation for one in found} == {"spare", "line", "parallel"}
    for one in found:
        built = row_of(str(one.spec))
        assert (built.nodes, built.degree) == one.target.size
        assert built.mean.steps == one.mean.steps
        assert built.mean.bandwidth <= one.mean.bandwidth
        if one.operation != "line":
            assert built.mean == one.mean


@pytest.mark.parametrize("text", BASES)
def test_rows_with_a_free_port_are_as_if_priced(text: str) -> None:
    """Also those whose schedules are deferred, and again with one port more."""
    for row in (row_of(text), *_deferred(text)):
        nodes, degree = row.nodes, row.degree
        state = state_of(row, *(row_of(f"uniring({degree + ports},{nodes})") for ports in (1, 2)))
        assert close(state, seconds=0) >= 2
        for ports in (1, 2):
            came = state.rows[nodes, degree + ports]
            assert f",{ports})" in str([one.spec for one in came if "spare(" in one.spec])
            assert [check_row(one) for one in came] == [None] * len(came)
        assert state.new


def _deferred(text: str) -> list[Row]:
    state = state_of(row := row_of(text))
    state.defer(row)
    return [one for one in state.rows[row.nodes, row.degree] if one.deferred]


@pytest.mark.dear
@pytest.mark.parametrize("draws", [0, pytest.param(6, marks=pytest.mark.thorough)])
def test_closing_ends_at_a_fixed_point(draws: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topodesign.search.closure._DRAWS", draws)
    rows = {degree: Catalog(write_catalog(tmp_path, SIZES)).rows(degree) for degree in (2, 4)}
    state = SearchState(SIZES, {2: rows[2], 3: [row_of(f"uniring(3,{n})") for n in SIZES], 4: rows[4]})
    before = {size: list(several) for size, several in state.rows.items()}
    assert close(state) > 0
    assert close(state) == 0
    assert not [offer for size in list(state.rows) for offer in better(state, size, TOLERANCE)]
    for size, several in before.items():
        for row in several:
            assert any(one.mean.dominates(row.mean) for one in state.rows[size])
    for row in state.new:
        assert check_row(row) is None
        assert row in state.rows[row.nodes, row.degree]


def test_a_line_graph_that_is_better_comes_in_from_its_links() -> None:
    state = state_of(row_of("kautz(2,1)"), row_of("dicirculant(12,1,2)"))
    (offer,) = [one for one in better(state, (6, 2), TOLERANCE) if one.operation == "line"]
    assert offer.target == Target(12, 2, duplex=False)
    assert keep(state, offer) == 1
    assert keep(state, offer) == 0
    came = state.front(offer.target)[0]
    assert came.basis is Basis.LINKS
    assert came.cost.steps == 3
    assert check_row(came) is None


def test_what_is_left_to_close_is_told(tmp_path: Path, program: Run) -> None:
    """Rows of degree 3 that are worse than those of degree 2 with a free port."""
    write_rows(tmp_path, 2, [row_of("dicirculant(8,1,3)")])
    write_rows(tmp_path, 3, [row_of("uniring(3,8)")])
    left = verify_closure(tmp_path)
    assert not left.ok
    assert (left.sizes, left.tolerance) == (2, Fraction(1, 100))
    (offer,) = left.violations
    assert (offer.spec, offer.target) == ("spare(dicirculant(8,1,3),1)", Target(8, 3, duplex=False))
    status, text, _ = program("catalog", "verify", "--closure", "--catalog", tmp_path)
    assert status == 1
    assert "8/3 simplex, allreduce: spare has" in text
    status, text, _ = program("catalog", "verify", "--closure", "--catalog", tmp_path, "--json")
    assert status == 1
    assert [one["spec"] for one in json.loads(text)["violations"]] == ["spare(dicirculant(8,1,3),1)"]
    write_rows(tmp_path, 3, [row_of("spare(dicirculant(8,1,3))")])
    status, text, _ = program("catalog", "verify", "--closure", "--catalog", tmp_path)
    assert (status, text.count("none")) == (0, 1)
    status, _, text = program("catalog", "verify", "--closure", "--sample", 3)
    assert status == 2
    assert "--closure" in text


def test_what_is_left_of_all_to_all_is_told_and_closed(tmp_path: Path) -> None:
    """A product that beats what is known of its size, and a line graph."""
    for degree in (2, 4):
        write_rows(tmp_path, degree, [])
    EXCHANGE.write(tmp_path, 2, [exchange_of(text) for text in ("biring(2,3)", "genkautz(2,6)", "uniring(2,12)")])
    EXCHANGE.write(tmp_path, 4, [exchange_of("uniring(4,9)")])
    left = verify_closure(tmp_path, degrees=[2, 4], nodes=range(3, 13)).violations
    assert [(one.target, one.collective, one.operation, one.spec) for one in left] == [
        (Target(9, 4, duplex=False), "all-to-all", "power", "power(biring(2,3),2)"),
        (Target(12, 2, duplex=False), "all-to-all", "line", "line(genkautz(2,6))"),
    ]
    state = ExchangeState(Catalog(tmp_path), [2, 4])
    close_exchange(state, state.sizes)
    assert {"power(biring(2,3),2)", "line(genkautz(2,6))"} <= {one.spec for one in state.new}
    assert not [one for size in state.sizes for one in exchange_left(state, size)]


def exchange_of(text: str) -> Exchange:
    draft, price = draft_spec(parse(text), build(text).degree), all_to_all(text, effort="exact").bandwidth
    assert draft is not None
    assert price is not None
    return draft.add_price(Bounds(price, price))


@pytest.mark.thorough
def test_the_best_of_a_node_more_serves_without_one() -> None:
    """Line graphs of 95 nodes of degree 5 are optimal without one, and nearly without two."""
    target = Target(93, 5, duplex=False)
    state = SearchState(range(90, 98), {5: Catalog().rows(5, 94, 97)})
    state.put(target, [by_spff(target, parse("dicirculant(93,1,5,25,32,67)"))])
    before = state.fastest(target)
    assert before is not None
    assert without_a_node(state, target) > 0
    after = state.fastest(target)
    assert after is not None
    assert runtime(after.mean) < runtime(before.mean)
    assert check_row(after) is None
    assert without_a_node(SearchState([93], {5: Catalog().rows(5, 93, 93)}), target) == 0


def test_a_node_less_is_not_looked_for_where_it_cannot_be_faster() -> None:
    target = Target(93, 5, duplex=False)
    assert without_a_node(SearchState([93], {5: Catalog().rows(5, 93, 93)}), target) == 0
    state = SearchState([12, 13], {4: Catalog().rows(4, 12, 13)})
    assert without_a_node(state, Target(12, 4, duplex=False)) == 0


def test_what_is_kept_for_all_to_all_has_no_fewer_steps_than_rows() -> None:
    source = as_catalog(None)
    rows = {degree: source.rows(degree, 3, 300) for degree in (3, 4, 6, 16)}
    state = SearchState({row.nodes for some in rows.values() for row in some}, rows, source)
    assert [found for size in sorted(state.rows) for found in iterate_kept(state, size, nearer=True)] == []


def test_closing_prices_what_is_kept_for_all_to_all(tmp_path: Path) -> None:
    """A row of two steps on 11 nodes comes back from the topology that has the fastest all-to-all."""
    source = as_catalog(None)
    kept = next(one for one in EXCHANGE.known(source.directory, 3, 11, 11) if one.steps == 2)
    few = [row for row in source.rows(3, 11, 11) if row.spec != kept.spec]
    write_rows(tmp_path, 3, few)
    EXCHANGE.write(tmp_path, 3, [kept])
    state = SearchState({11}, {3: few}, Catalog(tmp_path))
    assert len(list(iterate_kept(state, (11, 3), nearer=True))) == 1
    assert close(state) >= 1
    assert min(row.cost.steps for row in state.rows[11, 3]) == 2
