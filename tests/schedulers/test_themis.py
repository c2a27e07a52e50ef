"""Themis: plans are right, orders share the load out by a reckoning of their own, and dimensions are all busy."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from topodesign.base.errors import InfeasibleError
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.scheduling import schedule
from topodesign.schedulers.themis import orders_of
from topodesign.topology.library import build
from topodesign.topology.link_table import LinkTable

PLACES = ["torus(3,4)", "hypercube(3)", "product(complete(4),uniring(1,3))", "product(genkautz(2,5),complete(3))"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
def test_plans_are_right_with_any_number_of_chunks(place: str, collective: str) -> None:
    for chunks in (None, 1, 5):
        plan = schedule(place, collective, method="themis", chunks=chunks)
        report = verify(plan)
        assert report.ok, report.problems


def test_all_links_are_busy_where_latencies_are_nothing() -> None:
    """What a node gets at the least, over all its links; in a fixed order one dimension waits for the other."""
    times: dict[str, Any] = {"alpha": 0, "bandwidth": 8 * 4, "size": 16}
    busy = schedule("torus(4,4)", "allgather", method="themis", chunks=32, **times).claim["time"]
    fixed = schedule("torus(4,4)", "allgather", method="themis", chunks=2, **times).claim["time"]
    assert Fraction(15, 4) <= busy <= Fraction(15, 4) * Fraction(11, 10) < fixed


def test_a_dimension_that_is_slow_is_begun_with_less_often() -> None:
    """Links of one side with a quarter of the bandwidth: the fixed order, with the fast side first, would do alone."""
    topology = build("torus(4,4)")
    rates = {(u, v): Fraction(10**11 if u // 4 == v // 4 else 10**11 // 4) for u, v, _ in topology.links()}
    table = LinkTable(dict.fromkeys(rates, Fraction(0)), rates)
    plan = schedule(topology, "reduce-scatter", method="themis", link_table=table, chunks=64)
    assert verify(plan).ok
    count = Counter(tuple(one) for one in plan.generator["orders"])
    assert count[0, 1] > 4 * count[1, 0]


def test_orders_share_the_load_out() -> None:
    """After every chunk the dimension with the least to carry is begun with; loads end within a chunk of each other."""
    sizes, steps = (4, 2, 8), [(Fraction(0), Fraction(whole)) for whole in (30, 50, 70)]
    loads = [Fraction(0)] * 3
    for order in orders_of(sizes, steps, 40):
        assert sorted(order) == [0, 1, 2]
        assert [loads[at] for at in order] == sorted(loads)
        left = Fraction(1, 40)
        for at in order:
            loads[at] += steps[at][0] + steps[at][1] * (left - left / sizes[at])
            left /= sizes[at]
    assert max(loads) - min(loads) <= Fraction(70, 40)


def test_what_is_no_product_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="products of several dimensions"):
        schedule("genkautz(2,9)", "allgather", method="themis")
