"""Which sizes the shipped catalog has: all that it says, and a grid that improving keeps to."""

from __future__ import annotations

from pathlib import Path

import pytest

from topodesign import Catalog, diff_catalog, moore_bound, pareto, price
from topodesign.base.spec import parse
from topodesign.catalog.files import write_rows
from topodesign.catalog.idle import has_idle_ports, idle_row, with_idle_ports
from topodesign.catalog.quality import runtime
from topodesign.catalog.records import GRAPHS, record_bounds, record_orders, record_steps
from topodesign.catalog.sizes import DEGREES, LARGE_SIZES, MAX_NODES, covers, sizes_among
from topodesign.search import beyond
from topodesign.search.composed import compose_frontier
from topodesign.search.state import by_spff
from topodesign.search.target import Target
from topodesign.topology.library import build


def test_small_sizes_are_covered_and_large_ones_that_people_buy() -> None:
    assert [n for n in range(2**17) if covers(n, 4)] == [*range(3, MAX_NODES + 1), *sorted(LARGE_SIZES)]
    assert {2112, 4096, 10_240, 16_384, 32_768, 65_536} <= LARGE_SIZES
    assert not any(covers(4096, degree) for degree in (1, DEGREES.stop))


def test_the_shipped_catalog_has_them() -> None:
    """At most degrees all; at others, which fewer people buy, every fourth."""
    for degree in DEGREES:
        sizes = {row.nodes for row in Catalog().rows(degree, MAX_NODES + 1, 2**16)}
        grain = 256 if degree in {5, 7, 9, 11, 13, 14, 15} else 64
        assert sizes == {n for n in LARGE_SIZES if n % grain == 0}


def test_a_range_keeps_to_these_sizes_and_a_single_one_is_what_it_is() -> None:
    assert sizes_among(range(2046, 2200)) == [2046, 2047, 2048, 2112, 2176]
    assert sizes_among(range(5000, 5001)) == [5000]


@pytest.mark.parametrize(
    ("nodes", "degree", "duplex"), [(4096, 4, False), (4096, 4, True), (8192, 8, True), (16_384, 3, True)]
)
def test_large_rows_are_no_worse_than_what_is_composed(
    nodes: int, degree: int, duplex: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beyond, "_WORK", 2**20)
    monkeypatch.setattr(beyond, "_WORK_TIMES_SQUARE", 2**27)
    found = pareto(nodes, degree, bidirectional=duplex)
    assert found.origin == "catalog"
    assert found.best.name == f"catalog{'_duplex' * duplex}({nodes},{degree},{1 + list(found).index(found.best)})"
    several = compose_frontier(Target(nodes, degree, duplex), Catalog())
    assert runtime(found.best.mean) <= min(runtime(one.mean) for one in several)


@pytest.mark.thorough
def test_sizes_between_are_composed_and_told_of_rows_close_by() -> None:
    found = pareto(10_243, 4, bidirectional=True)  # prime
    assert found.origin == "composed"
    assert found.better is not None
    assert found.better.other in LARGE_SIZES
    best = pareto(found.better.other, 4, bidirectional=True).best
    assert best.allreduce[0] == found.better.other_time


# -- Catalogs held against each other


def test_catalogs_that_differ_are_told_apart(tmp_path: Path) -> None:
    poor = tmp_path / "poor"
    poor.mkdir()
    last = {row.nodes: row for row in Catalog().rows(2, 3, 60)}  # of every size the one with the most steps
    write_rows(poor, 2, last.values())
    changes = diff_catalog(Catalog(), poor, degrees=[2], last=60)
    assert not changes.ok
    assert changes[0].worse
    assert "worse at N=" in str(changes)
    assert diff_catalog(poor, poor).ok
    assert "nowhere worse" in str(diff_catalog(poor, poor))


# -- Free ports by name: one word for them, the words of before, and rows that are as if priced


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hoffmansingleton()", "spare(hoffmansingleton(),1)"),
        ("spare(complete(5),2)", "spare(complete(5),3)"),
        ("spare(complete(5))", "spare(complete(5),2)"),
        ("transpose(genkautz(2,5))", "transpose(spare(genkautz(2,5),1))"),
    ],
)
def test_the_spec_has_the_ports_once(text: str, expected: str) -> None:
    spec = with_idle_ports(parse(text))
    assert str(spec) == expected
    assert has_idle_ports(spec)
    assert build(str(spec)).degree == build(text).degree + 1


def test_words_of_before_are_known() -> None:
    assert has_idle_ports(parse("product(complete(5),successors(1,0))"))
    assert not has_idle_ports(parse("product(complete(5),uniring(1,3))"))
    assert not has_idle_ports(parse("hoffmansingleton()"))


@pytest.mark.parametrize("text", ["genkautz(3,11)", "transpose(genkautz(3,10))", "polarity(2)"])
def test_rows_with_a_free_port_are_as_if_priced(text: str) -> None:
    topology = build(text)
    row = by_spff(Target(topology.nodes, topology.degree, topology.is_duplex), parse(text))
    wider = idle_row(row)
    assert wider == by_spff(Target(row.nodes, row.degree + 1, row.duplex), parse(wider.spec))


# -- The yardstick: record orders need their diameters, and topologies that reach them are in the library


def test_records_keep_moores_bound_and_ascend() -> None:
    assert sum(len(orders) for orders in GRAPHS.values()) == 46
    for degree in range(2, 17):
        for duplex in (False, True):
            orders = record_orders(degree, 2048, duplex=duplex)
            assert orders == sorted(orders)
            for nodes, steps in orders:
                assert record_steps(nodes, degree, duplex=duplex) == steps >= moore_bound(nodes, degree, duplex=duplex)
                assert record_steps(nodes + 1, degree, duplex=duplex) > steps


def test_sizes_between_have_the_steps_of_the_next_record() -> None:
    assert [record_steps(n, 2) for n in (3, 6, 7, 12, 25, 26, 1600)] == [1, 2, 3, 3, 4, 5, 10]
    assert [record_steps(n, 3, duplex=True) for n in (4, 10, 11, 20, 21, 1250, 2048)] == [1, 2, 3, 3, 4, 10, 11]
    assert record_bounds(1024, 4)[0].steps == 5


@pytest.mark.parametrize(
    ("spec", "duplex"),
    [("kautz(2,2)", False), ("kautz(4,2)", False), ("odd(3)", True), ("hoffmansingleton()", True), ("mms(5)", True)],
)
def test_the_library_reaches_some(spec: str, duplex: bool) -> None:
    topology = build(spec)
    steps = price(topology).steps
    assert (topology.nodes, steps) in record_orders(topology.degree, 2048, duplex=duplex)


@pytest.mark.parametrize(
    ("nodes", "degree", "steps"), [(360, 3, 8), (1250, 3, 10), (98, 4, 4), (512, 4, 6), (1100, 8, 4), (1215, 15, 3)]
)
def test_the_catalog_reaches_some(nodes: int, degree: int, steps: int) -> None:
    found = Catalog().frontier(nodes, degree, duplex=True)
    assert min(row.cost.steps for row in found) == record_steps(nodes, degree, duplex=True) == steps
    assert any(price(build(row.spec)).steps == steps for row in found)
