"""Digraphs of a small size: what is found against the price of its spec."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign import build
from topodesign.base.cost import Cost, lower_bound
from topodesign.base.spec import Spec, parse
from topodesign.pricing.closed_form import price
from topodesign.search.annealing import anneal
from topodesign.search.target import Found, select_frontier
from topodesign.topology.topology import Topology


def dearer(topology: Topology) -> Cost:
    costs = price(topology, all_sources=True), price(topology.transpose(), all_sources=True)
    return Cost(costs[0].steps, max(cost.bandwidth for cost in costs))


@pytest.mark.once
@pytest.mark.parametrize(
    "text",
    ["genkautz(2,9)", "randomregular(13,3,1)", "genkautz(4,14)", "randomregulargraph(12,3,2)", "circulant(11,1,2)"],
)
@pytest.mark.parametrize("steps", [None, 3])
def test_found_costs_what_its_spec_costs(text: str, steps: int | None) -> None:
    start = build(text)
    found = anneal(start, 10**7, duplex=start.is_duplex, steps=steps, seed=3)
    assert found
    assert select_frontier(found) == found
    for one in found:
        topology = build(str(one.spec))
        assert (topology.nodes, topology.degree) == (start.nodes, start.degree)
        assert topology.is_duplex or not start.is_duplex
        assert dearer(topology) == one.cost
        bound = lower_bound(start.nodes, start.degree, duplex=start.is_duplex)
        assert bound.dominates(one.cost)
    assert anneal(start, 10**7, duplex=start.is_duplex, steps=steps, seed=3) == found
    assert not anneal(start, 10**7, duplex=start.is_duplex, steps=steps, seed=3, known=[one.cost for one in found])


def test_large_ones_are_given_by_what_is_swapped() -> None:
    start = build("genkautz(4,70)")
    found = anneal(start, 10**8, steps=5)
    assert {one.spec.name for one in found} <= {"swap", "genkautz"}
    assert any(one.spec.name == "swap" for one in found)
    assert all(dearer(build(str(one.spec))) == one.cost for one in found)


def test_better_than_where_it_started() -> None:
    start = build("genkautz(4,37)")
    best = anneal(start, 10**8)
    assert best[0].cost.dominates(dearer(start))
    assert best[0].cost.bandwidth < dearer(start).bandwidth
    assert best[0].cost.steps == lower_bound(37, 4).steps


@pytest.mark.dear
def test_small_digraph_of_the_issue() -> None:
    """Two steps on 14 nodes of degree 4, where random digraphs have three."""
    best = anneal(build("randomregular(14,4,1)"), 10**8)
    assert best[0].cost.steps == 2
    assert best[0].cost.bandwidth < Fraction(6, 5)


@pytest.mark.parametrize("text", ["genkautz(9,20)", "uniring(1,20)", "complete(5)"])
def test_what_cannot_be_annealed_is_left_alone(text: str) -> None:
    assert anneal(build(text), 10**6) == []


def test_duplex_rings_are_left_alone() -> None:
    assert anneal(build("biring(2,9)"), 10_000, duplex=True) == []


def test_a_start_that_does_not_fit_tells_the_size() -> None:
    irregular = Topology.from_links(12, [(u, v) for u in range(12) for v in range(u + 1, min(u + 4, 12))])
    for start in (build("genkautz(3,12)"), irregular):
        found = anneal(start, 10**7, duplex=True)
        assert found
        assert all(build(str(one.spec)).is_duplex for one in found)


def test_undominated_keeps_the_plainest_of_equals() -> None:
    rows = [
        (3, Fraction(1), "genkautz(2,9)"),
        (3, Fraction(1), "kautz(2,2)"),
        (2, Fraction(2), "a()"),
        (4, Fraction(1), "b()"),
    ]
    found = [Found(parse(text), Cost(steps, y)) for steps, y, text in rows]
    assert [str(one.spec) for one in select_frontier(found)] == ["a()", "kautz(2,2)"]
    assert select_frontier(found, [Cost(2, Fraction(1))]) == []
    assert isinstance(found[0].spec, Spec)
