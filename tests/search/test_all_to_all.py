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
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.exchange import EXCHANGE, of_rows
from topodesign.catalog.files import write_rows
from topodesign.catalog.packing import pack_catalog
from topodesign.cli.main import run
from topodesign.search.all_to_all import ExchangeSearch
from topodesign.search.all_to_all_state import ExchangeState, expanded

SIZE = (24, 4)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog of one size with what a few turns find for all-to-all."""
    directory = tmp_path_factory.mktemp("catalog")
    write_rows(directory, 4, Catalog().rows(4, 24, 24))
    search = ExchangeSearch(directory, Catalog(directory), ([24], [4], [False, True]), 0)
    while search.turns < 6:
        search.turn(max(search.orbits, key=lambda one: search.gap(one) / (1 + search.tried[one])))
    search.save()
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
    search = ExchangeSearch(tmp_path, Catalog(tmp_path), ([12, 36, 48], [3, 4], [False]), 0)
    search.close()
    found = {one.nodes: one.spec for one in search.state.new if one.spec.startswith(("line", "spare"))}
    assert build(found[36]).nodes == 36
    assert any(one.spec.startswith("spare") for one in search.state.new)
    assert [path.name for path in search.save()] == ["exchange_03.tsv", "exchange_04.tsv"]


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
    assert run(["catalog", "improve", "--for", "all-to-all", "--only", "lifts", *asked]) == 2
    with pytest.raises(ParameterError):
        improve_catalog(tmp_path, range(24, 25), [4], objective="broadcast", catalog=searched)


def test_no_size_that_ships_is_slower_than_an_expansion_without_a_line_graph() -> None:
    state = ExchangeState(Catalog(), range(3, 17), (3, 256))
    assert not [one for nodes in range(3, 257, 23) for d in range(3, 17) for one in expanded(state, (nodes, d))]
