"""The yardstick: record orders need their diameters, and topologies that reach them are in the library."""

from __future__ import annotations

import pytest

from topodesign import build, moore_bound, price
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.records import GRAPHS, record_bounds, record_orders, record_steps


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
