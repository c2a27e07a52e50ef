"""The search for all-to-all: what it keeps is true, beats the rows, is ranked, shipped, and gone on with."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.samples.ranked import rank
from topodesign import Catalog, all_to_all, build, improve_catalog, pareto, price, verify_catalog
from topodesign.base.errors import ParameterError
from topodesign.base.spec import parse
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.all_to_all_rows import EXCHANGE, Exchange, of_rows
from topodesign.catalog.audit import audit_exchange
from topodesign.catalog.files import write_rows
from topodesign.catalog.packing import pack_catalog
from topodesign.catalog.price import FINE, price_topology
from topodesign.cli.main import run
from topodesign.search.all_to_all import low_distances
from topodesign.search.all_to_all_state import ExchangeState, draft_spec, iterate_expansions, lines
from topodesign.search.closure import close_exchange
from topodesign.search.strategies.strategy import Draw
from topodesign.search.target import Target

SIZE = (24, 4)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of one size with what a few turns find for all-to-all."""
    directory = tmp_path_factory.mktemp("catalog")
    write_rows(directory, 4, Catalog().rows(4, 24, 24))
    state = ExchangeState(Catalog(directory), [4], [24], directory)
    for target in (Target(24, 4, duplex) for duplex in (False, True)):
        for orbits in (*low_distances.orbits(target)[:2], 0):
            before = state.ratio(target)
            gain = low_distances.search(state, target, Draw(orbits, 0, 0))
            assert gain >= before - state.ratio(target) >= 0
    state.save(directory)
    return directory


def test_what_is_kept_is_true_and_unbeaten(searched: Path) -> None:
    kept = list(EXCHANGE.lines(searched, 4, 0, 100))
    assert any(one.duplex for one in kept)
    for one in kept:
        topology = build(one.spec)
        exchange = all_to_all(topology, effort="quick")
        assert exchange.upper is not None
        assert (topology.nodes, topology.degree, topology.is_duplex) == (*SIZE, one.duplex)
        assert price(topology).steps == one.steps
        assert exchange.lower <= one.all_to_all.upper
        assert one.all_to_all.lower <= exchange.upper
    for other in kept:
        for one in kept:
            beaten = other.steps <= one.steps and other.all_to_all.upper <= one.all_to_all.upper
            assert other is one or not beaten or other.duplex < one.duplex


@pytest.mark.parametrize("duplex", [False, True])
def test_rankings_take_it_and_frontiers_of_allreduce_do_not(searched: Path, duplex: bool) -> None:
    specs = {one.spec for one in list(EXCHANGE.lines(searched, 4, 0, 100))}
    ranking = rank(*SIZE, sizes="64MiB", bidirectional=duplex, catalog=searched)
    assert str(ranking.best.spec) in specs
    assert ranking.best.all_to_all is not None
    assert ranking.best.all_to_all.upper <= Fraction(205, 100)  # where rows have 2.23
    assert not specs & {str(one.spec) for one in pareto(*SIZE, bidirectional=duplex, catalog=searched)}


def test_line_graphs_and_topologies_of_a_port_less_are_offered(tmp_path: Path) -> None:
    for degree in (3, 4):
        write_rows(tmp_path, degree, rows := Catalog().rows(degree, 12, 12))
        EXCHANGE.write(tmp_path, degree, of_rows(rows))
    state = ExchangeState(Catalog(tmp_path), [3, 4], [12, 36, 48])
    close_exchange(state, [(nodes, degree) for nodes in (12, 36, 48) for degree in (3, 4)])
    found = {one.nodes: one.spec for one in state.new if one.spec.startswith(("line", "spare"))}
    assert build(found[36]).nodes == 36
    assert any(one.spec.startswith("spare") for one in state.new)
    assert [path.name for path in state.save(tmp_path)] == ["exchange_03.tsv", "exchange_04.tsv"]


def test_verify_finds_what_is_wrong(searched: Path, tmp_path: Path) -> None:
    assert verify_catalog(searched, workers=1).ok
    write_rows(tmp_path, 4, Catalog(searched).rows(4))
    one = next(EXCHANGE.lines(searched, 4, 0, 100))
    less = replace(one, all_to_all=Bounds(one.all_to_all.lower / 2, one.all_to_all.upper / 2))
    for wrong in (replace(one, steps=one.steps + 1), replace(one, duplex=not one.duplex), less):
        EXCHANGE.write(tmp_path, 4, [wrong])
        [fault] = verify_catalog(tmp_path, workers=1).faults
        assert "exchange_04.tsv:2" in str(fault)


def test_a_package_has_it(searched: Path, tmp_path: Path) -> None:
    pack_catalog(searched, tmp_path / "packed")
    assert EXCHANGE.path(tmp_path / "packed", 4).read_bytes() == EXCHANGE.path(searched, 4).read_bytes()


def test_improve_goes_on_from_it(searched: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {one.spec for one in list(EXCHANGE.lines(searched, 4, 0, 100))}
    asked = ("-n", "24", "-d", "4", "-o", str(tmp_path), "--catalog", str(searched), "--time-limit", "1s")
    assert run(["catalog", "improve", "--for", "all-to-all", *asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    after = list(EXCHANGE.lines(tmp_path, 4, 0, 100))
    assert {one.spec for one in after} <= before | {one["spec"] for one in document["kept"]}
    assert document["files"] == [str(EXCHANGE.path(tmp_path, 4))]
    assert run(["catalog", "improve", "--for", "all-to-all", "--strategy", "lifts", *asked]) == 2
    with pytest.raises(ParameterError):
        improve_catalog(tmp_path, range(24, 25), [4], objective="broadcast", catalog=searched)


def test_no_size_that_ships_is_slower_than_an_expansion_without_a_line_graph() -> None:
    state = ExchangeState(Catalog(), range(3, 17), range(3, 257))
    assert not [
        one for nodes in range(3, 257, 23) for d in range(3, 17) for one in iterate_expansions(state, (nodes, d))
    ]


# -- What expansions take for all-to-all, by theorem: as priced from their links, and never less than a bound says


SPECS = ("genkautz(2,6)", "uniring(1,3)", "polarity(2)", "biring(2,4)", "complete(4)")


def known(text: str, steps: int | None = None) -> Exchange:
    draft = draft_spec(parse(text), build(text).degree)
    assert draft is not None
    price = all_to_all(text, effort="exact").bandwidth
    assert price is not None
    return draft.add_price(Bounds(price, price))


@pytest.fixture
def state(tmp_path: Path) -> ExchangeState:
    """Topologies of few nodes and ports, and nothing of larger sizes."""
    EXCHANGE.write(tmp_path, 1, [known("uniring(1,3)")])
    EXCHANGE.write(tmp_path, 2, [known("genkautz(2,6)"), known("biring(2,4)")])
    EXCHANGE.write(tmp_path, 3, [known("complete(4)"), known("polarity(2)")])
    write_rows(tmp_path, 6, [])
    return ExchangeState(Catalog(tmp_path), range(1, 7))


@pytest.mark.parametrize("size", [(6, 3), (7, 4), (6, 4), (4, 6), (12, 3), (12, 4), (24, 4), (16, 5), (18, 3)])
def test_expansions_take_what_theorems_say(state: ExchangeState, size: tuple[int, int]) -> None:
    found = list(iterate_expansions(state, size))
    assert found
    for name, one in found:
        assert one.spec.startswith(name) or (name, one.spec[:5]) == ("product", "power")
        topology = build(one.spec)
        assert (topology.nodes, topology.degree, topology.is_duplex) == (*size, one.duplex)
        again = known(one.spec)
        assert (again.steps, again.all_to_all) == (one.steps, one.all_to_all)


@pytest.mark.parametrize("text", ["genkautz(2,6)", "biring(2,4)", "complete(4)", "genkautz(3,7)", "uniring(2,5)"])
def test_no_line_graph_takes_less_than_the_bound(text: str, tmp_path: Path) -> None:
    base, line = known(text), known(f"line({text})")
    degree = build(text).degree
    for share, offered in ((Fraction(1), 0), (Fraction(21, 20), 1)):  # of the line graph's own price
        other = replace(line, all_to_all=Bounds(*[line.all_to_all.upper * share] * 2), spec="another")
        EXCHANGE.write(tmp_path, degree, [base, other])
        state = ExchangeState(Catalog(tmp_path), [degree])
        assert len([one for one in lines(state, (line.nodes, degree)) if state.settle(one)]) == offered


def test_line_graphs_are_offered_where_they_may_be_better(state: ExchangeState) -> None:
    (draft,) = lines(state, (12, 2))
    assert str(draft.spec) == "line(genkautz(2,6))"
    assert state.settle(draft)
    assert not list(lines(state, (12, 2)))
    assert [one.spec for one in state.new] == ["line(genkautz(2,6))"]
    assert not state.keep(known("genkautz(2,12)"), 2)


@pytest.mark.dear
def test_bounds_that_are_far_apart_are_priced_more_finely(tmp_path: Path) -> None:
    text = "randomregulargraph(40,4,1)"
    draft = draft_spec(parse(text), 4)
    assert draft is not None
    bounds = price_topology(draft.topology)
    assert bounds is not None
    assert not bounds.exact
    EXCHANGE.write(tmp_path, 4, [draft.add_price(bounds)])
    state = ExchangeState(Catalog(tmp_path), [4])
    state.refine(draft.add_price(bounds), 4)
    [one] = state.known((40, 4))
    assert one.spec == text
    assert bounds.lower <= one.all_to_all.lower <= one.all_to_all.upper < bounds.upper
    assert one.all_to_all.upper <= one.all_to_all.lower * (1 + 2 * FINE)
    assert audit_exchange(one, 4) is None
    other = replace(one, all_to_all=Bounds(one.all_to_all.lower, one.all_to_all.lower))
    assert audit_exchange(other, 4) is not None
