"""Split shards: they arrive, at the price that is reported, never above SPFF's and never below what is proven."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.samples.verdicts import verify_rounds
from topodesign.base.cost import Cost, lower_bounds
from topodesign.collectives import as_collective
from topodesign.graphs.circulant import dicirculant
from topodesign.plans.flow_ops import rounds_of_flow
from topodesign.plans.measure import cost_of
from topodesign.plans.rounds_ops import canonical
from topodesign.pricing.closed_form import price
from topodesign.pricing.deferral import defer
from topodesign.pricing.split_deferral import MOST_NODES, best_deferral, defer_split, price_deferred
from topodesign.schedulers.deferred import deferred, deferred_orbit
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

UNEVEN = "dicirculant(7,1,1,2,2,3,3,4,4,5,5,5)"


@st.composite
def uneven(draw: st.DrawFn) -> Topology:
    """Return regular digraphs of a few nodes, made of permutations, so that pairs have different numbers of links."""
    nodes, degree = draw(st.integers(3, 8)), draw(st.integers(3, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    links = np.zeros((nodes, nodes), np.int64)
    for _ in range(degree):
        links[np.arange(nodes), rng.permutation(nodes)] += 1
    src, dst = np.nonzero(links)
    return Topology.from_arrays(nodes, src, dst, links[src, dst])


@given(uneven(), st.sampled_from(["allgather", "reduce-scatter"]))
@settings(max_examples=80)
def test_schedules_deliver_at_the_price_that_is_told(topology: Topology, collective: str) -> None:
    way = topology if collective == "allgather" else topology.transpose()
    split = defer_split(way)
    assume(split is not None)
    assert split is not None
    spff = price(way.transpose())
    assert split.cost(way).steps == 2 >= spff.steps
    assert split.cost(way).bandwidth <= spff.bandwidth
    assert split.cost(way).bandwidth >= Fraction(topology.nodes - 1, topology.nodes)
    rounds = deferred(topology, as_collective(collective))
    report = verify_rounds(topology, rounds)
    assert report.ok, report.problems
    assert report.redundant == 0
    assert report.cost == cost_of(topology, rounds) == price_deferred(way.transpose())
    assert report.cost.bandwidth == min(split.cost(way).bandwidth, defer(way).cost(way).bandwidth)


@pytest.mark.parametrize("degree", [*range(3, 20), 31, pytest.param(48, marks=pytest.mark.thorough)])
def test_one_wiring_has_the_least_of_one_step_and_of_two(degree: int) -> None:
    for nodes in range(3, degree + 1):
        topology = dicirculant(*next(iter(dicirculant.find(nodes, degree))))
        costs = {price(topology), best_deferral(topology).cost(topology)}
        assert costs == set(lower_bounds(nodes, degree))


def test_all_links_are_full_in_both_steps() -> None:
    topology = build(UNEVEN)
    found = defer_split(topology)
    assert found is not None
    assert found.loads == (Fraction(1, 3), Fraction(7, 33))
    assert found.cost(topology) == Cost(2, Fraction(6, 7))
    assert price(topology) == Cost(2, Fraction(13, 14))


@pytest.mark.parametrize(
    "spec", [UNEVEN, "dicirculant(8,1,1,2,2,4,4,4,6,6,7,7)", "dicirculant(10,1,1,1,4,4,5,5,7,7,8,8)"]
)
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter"])
def test_one_orbit_says_all(spec: str, collective: str) -> None:
    topology = build(spec)
    few, whole = deferred_orbit(topology, as_collective(collective)), deferred(topology, as_collective(collective))
    assert few.fold is not None
    assert few.fold.representatives == (0,)
    assert canonical(rounds_of_flow(few)) == canonical(whole)
    assert verify_rounds(topology, whole).ok


@pytest.mark.parametrize(
    "spec",
    [
        "torus(4,4)",  # links of one width
        "dicirculant(4,1,1,2,2,3,3)",  # one step, and links of one width
        "dicirculant(9,1,1,2,2,2)",  # three steps and more
        f"dicirculant({MOST_NODES + 2},{','.join(map(str, [1, 1, *range(2, 24)]))})",
    ],
)
def test_others_are_not_split(spec: str) -> None:
    topology = build(spec)
    assert defer_split(topology) is None
    assert best_deferral(topology).loads == defer(topology).loads
