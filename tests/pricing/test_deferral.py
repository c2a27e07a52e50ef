"""Deferred schedules: they deliver, in as many steps as SPFF, with the loads that are claimed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.samples.topologies import regular_digraphs
from tests.samples.verdicts import verify_rounds
from topodesign.base.cost import Cost, lower_bounds
from topodesign.base.errors import DisconnectedError, TooLargeError, TopologyError
from topodesign.collectives import as_collective
from topodesign.graphs.circulant import dicirculant
from topodesign.graphs.expansions.parallel import parallel
from topodesign.plans.measure import cost_of
from topodesign.plans.step_ops import canonical, unfold_steps
from topodesign.pricing import deferral
from topodesign.pricing.closed_form import distances, price
from topodesign.pricing.deferral import defer
from topodesign.pricing.evaluation import price_both_deferred
from topodesign.pricing.least_in_steps import least_in_steps
from topodesign.pricing.split_deferral import MAX_NODES, best_deferral, defer_split, price_deferred
from topodesign.schedulers import deferred as scheduler
from topodesign.schedulers.deferred import defer_folded, defer_schedule
from topodesign.schedulers.evaluation import evaluate
from topodesign.schedulers.price import price_plans
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.library import build
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import Topology


@given(regular_digraphs(14, 4), st.sampled_from(["allgather", "reduce-scatter"]))
@settings(max_examples=40)
def test_it_delivers_at_the_price_that_is_claimed(topology: Topology, collective: str) -> None:
    rounds = defer_schedule(topology, as_collective(collective))
    report = verify_rounds(topology, rounds)
    assert report.ok, report.problems
    assert not report.redundant
    way = topology if collective == "reduce-scatter" else topology.transpose()
    assert report.cost == price_deferred(way) == cost_of(topology, rounds)
    assert report.cost.steps == price(way).steps or (report.cost.steps, price(way).steps) == (2, 1)
    assert defer(way.transpose()).cost(way).bandwidth >= report.cost.bandwidth


@given(regular_digraphs(14, 4))
@settings(max_examples=40)
def test_a_shard_comes_no_sooner_than_its_distance_and_over_a_link_with_room(topology: Topology) -> None:
    found = defer(topology)
    nodes = topology.nodes
    parts = found.parts
    for shard in range(nodes):
        far = distances(topology, shard)
        assert (found.time[:, shard * parts : (shard + 1) * parts] >= far[:, None]).all()
    assert np.count_nonzero(found.time) == nodes * (nodes - 1) * parts
    capacity = {(u, v): size for u, v, size in topology.links()}
    for step, room in enumerate(found.loads, start=1):
        carried = Counter((int(found.source[v, s]), int(v)) for v, s in np.argwhere(found.time == step))
        assert room == max(Fraction(count, parts * capacity[link]) for link, count in carried.items())


@given(regular_digraphs(8, 4), st.integers(2, 5))
@settings(max_examples=100)
def test_so_many_times_the_links_take_the_same_time(topology: Topology, times: int) -> None:
    several = parallel(topology, times)
    assert price_plans(several, deferred=True) == price_plans(topology, deferred=True)


def test_plans_of_several_links_in_parallel_are_those_of_one() -> None:
    one, three = (evaluate(spec) for spec in (THIN, f"parallel({THIN},3)"))
    assert three.cheapest == one.cheapest == price_both_deferred(build(THIN))
    assert three.deferred_allgather == one.deferred_allgather
    assert schedule(f"parallel({THIN},3)", "allgather", method="deferred").claim["bandwidth"] < Fraction(18, 11)
    assert deferral.explain_no_deferral(build("parallel(complete(22),3)"), 1) is None


THIN = "randomregulargraph(22,4,0)"


@pytest.mark.parametrize(
    "spec",
    ["randomregular(200,3,1)", "randomregular(150,4,2)", "lift(successors(3,0,1,1,0,0,1),dicyclic(20),1,5,9,40,33,20)"],
)
def test_irregular_topologies_lose_far_less_than_by_spff(spec: str) -> None:
    topology = build(spec)
    spff, best = price(topology), price_deferred(topology)
    assert best.steps == spff.steps
    least = Fraction(topology.nodes - 1, topology.nodes)
    assert least <= best.bandwidth
    assert 3 * (best.bandwidth - least) < 2 * (spff.bandwidth - least)


def test_threads_find_the_same_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = build("randomregular(60,3,2)")
    alone = defer(topology)
    monkeypatch.setattr(deferral, "_CORES", 3)
    monkeypatch.setattr(deferral, "_WORK_PER_THREAD", 1)
    monkeypatch.setattr(deferral, "_WORK_PER_PIECE", 1)
    assert defer(topology).loads == alone.loads


SYMMETRIC = (
    "circulant(24,1,5,9)",
    "torus(4,5)",
    "cayley(metacyclic(23,2,22),23,24,25)",
    "lift(successors(3,0,1,1,0,0,1),dicyclic(20),1,5,9,40,33,20)",
    "line(circulant(9,1,2))",
)


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter"])
@pytest.mark.parametrize("spec", SYMMETRIC)
def test_what_few_nodes_get_is_the_image_of_what_all_get(spec: str, collective: str) -> None:
    topology = build(spec)
    orbit, whole = (
        defer_folded(topology, as_collective(collective)),
        defer_schedule(topology, as_collective(collective)),
    )
    assert orbit.fold is not None
    assert len(orbit.fold.representatives) < topology.nodes / 4
    report = verify_rounds(topology, whole)
    assert report.ok, report.problems
    assert not report.redundant
    if topology.nodes > 48:  # fewer nodes are looked at in other orders, too
        assert unfold_steps(orbit) == canonical(whole)
    assert report.cost.bandwidth <= cost_of(topology, unfold_steps(orbit)).bandwidth
    way = topology if collective == "reduce-scatter" else topology.transpose()
    assert report.cost == price_deferred(way)
    assert report.cost.steps == price(way).steps
    plain = price_deferred(replace(way, symmetry=None))
    assert report.cost.bandwidth <= plain.bandwidth * Fraction(101, 100)


def test_a_symmetry_that_leaves_nodes_where_they_are_is_not_used() -> None:
    topology = build("hypercube(3)")
    flip = [0, 2, 1, 3, 4, 6, 5, 7]  # exchanges two bits
    shifts = [[v ^ bit for v in range(8)] for bit in (1, 2, 4)]
    known = Symmetry(8, (0,), lambda: map(np.array, [*shifts, flip]))
    known.check(topology)
    found = defer(replace(topology, symmetry=known))
    assert len(found.receivers) == 8
    assert len(defer(topology, by_orbits=True).receivers) == 1
    with pytest.raises(TopologyError, match="moves all nodes or none"):
        defer_folded(replace(topology, symmetry=known))


UNNAMED = (
    "degree(dicirculant(10,3,5,8),2)",
    "line(dicirculant(10,3,5,8))",
    "kautz(3,1)",
    "genkautz(2,10)",
    "randomregular(14,3,1)",
    "delete(line(dicirculant(7,1,3)),10,1)",
    "line(dicirculant(7,1,2,4))",
    "degree(dicirculant(8,1,2,5),2)",
    "product(debruijn(2,2),dicirculant(5,1,2))",
    "dicirculant(11,1,2,5)",
    "mesh(3,5)",
    "genkautz(3,26)",
    "debruijn(2,4)",
    *(f"dicirculant({nodes},1,{nodes // 3},{nodes - 2})" for nodes in range(7, 15)),
    *(f"line(dicirculant({nodes},1,3))" for nodes in range(7, 13)),
    "randomregular(40,4,1)",
)


@pytest.mark.dear("randomregular(40,4,1)", "genkautz(3,26)", "debruijn(2,4)", "line(dicirculant(10,3,5,8))")
@pytest.mark.parametrize("spec", UNNAMED)
def test_a_price_does_not_depend_on_how_nodes_are_numbered(spec: str) -> None:
    """By a spec with its symmetry, by links alone, and by links with other numbers."""
    topology = build(spec)
    order = np.random.default_rng(topology.nodes).permutation(topology.nodes)
    links = order[topology.src], order[topology.dst], topology.capacity
    some = topology, replace(topology, symmetry=None), Topology.from_arrays(topology.nodes, *links)
    assert len({price_both_deferred(one) for one in some}) == 1
    if spec == UNNAMED[0]:
        assert {cost.bandwidth for cost in price_both_deferred(topology)} == {Fraction(19, 20)}


def test_symmetric_topologies_may_be_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferral, "MAX_NODES", 20)
    assert defer(build("torus(15,20)")).cost(build("torus(15,20)")).steps == 17
    with pytest.raises(TooLargeError, match="at most 20 nodes, not 300"):
        defer(replace(build("torus(15,20)"), symmetry=None))


def test_more_links_than_a_table_of_masks_has_room_for() -> None:
    topology = build("randomregular(40,15,1)")
    rounds = defer_schedule(topology)
    assert verify_rounds(topology, rounds).ok
    assert cost_of(topology, rounds) == defer(topology).cost(topology)


def test_auto_takes_what_is_better() -> None:
    topology = build("randomregular(60,3,2)")
    found = schedule(topology, "allgather")
    costs = [found.claim["bandwidth"], *(schedule(topology, "allgather", method=m).claim["bandwidth"] for m in BOTH)]
    assert costs[0] == min(costs)
    assert schedule("circulant(12,2,3)", "allgather").generator["method"] == "spff"


BOTH = ("spff", "deferred")


def test_auto_leaves_out_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "_MAX_WORK", 10)
    assert schedule("randomregular(60,3,2)", "allgather").generator["method"] == "spff"
    assert schedule("randomregular(60,3,2)", "allgather", method="deferred").generator["method"] == "deferred"


def test_what_it_is_not_for_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DisconnectedError):
        defer(Topology.from_links(3, [(0, 1), (1, 0), (2, 0)]))
    with pytest.raises(TopologyError, match="switches"):
        defer(Topology.from_links(3, [(0, 2), (2, 1), (1, 2), (2, 0)], switches=[2]))
    with pytest.raises(TopologyError, match="at most 61 links into a node, not 62"):
        defer(build("complete(63)"))
    assert "61 links into a node, not 62" in str(deferral.explain_no_deferral(build("complete(63)"), 1))
    monkeypatch.setattr(deferral, "MAX_NODES", 8)
    with pytest.raises(TooLargeError, match="at most 8 nodes, not 9"):
        defer(build("genkautz(2,9)"))
    monkeypatch.setattr(deferral, "MAX_WORK", 10)
    with pytest.raises(TooLargeError, match="8 nodes in 3 steps takes too long"):
        defer(build("genkautz(2,8)"))
    assert schedule("genkautz(2,8)", "allgather").generator["method"] == "spff"


# -- Split shards: they arrive, at the price that is reported, never above SPFF's and never below what is proven


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
    rounds = defer_schedule(topology, as_collective(collective))
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
    few, whole = defer_folded(topology, as_collective(collective)), defer_schedule(topology, as_collective(collective))
    assert few.fold is not None
    assert few.fold.representatives == (0,)
    assert canonical(unfold_steps(few)) == canonical(whole)
    assert verify_rounds(topology, whole).ok


@pytest.mark.parametrize(
    "spec",
    [
        "torus(4,4)",  # links of one width
        "dicirculant(4,1,1,2,2,3,3)",  # one step, and links of one width
        "dicirculant(9,1,1,2,2,2)",  # three steps and more
        f"dicirculant({MAX_NODES + 2},{','.join(map(str, [1, 1, *range(2, 24)]))})",
    ],
)
def test_others_are_not_split(spec: str) -> None:
    topology = build(spec)
    assert defer_split(topology) is None
    assert best_deferral(topology).loads == defer(topology).loads


# -- Lower bounds for so many steps: above what all shards need, and below every schedule


@given(regular_digraphs(12, 4))
@settings(max_examples=30)
def test_no_schedule_takes_less(topology: Topology) -> None:
    spff, later = price(topology.transpose()), best_deferral(topology).cost(topology)
    assert least_in_steps(topology, later.steps) <= later.bandwidth
    least = least_in_steps(topology, spff.steps)
    assert Fraction(topology.nodes - 1, topology.nodes) <= least_in_steps(topology, spff.steps + 1) <= least
    assert least <= spff.bandwidth


def test_it_is_told_beside_deferred_prices() -> None:
    found = evaluate("genkautz(4,64)")
    assert found.least_allgather == Fraction(21, 16)
    assert "  on these links   at least 21/16 in 3 steps, found +0.0%" in str(found)
    assert evaluate("torus(4,4)").least_allgather is None


@pytest.mark.parametrize(
    ("spec", "least"),
    [("genkautz(4,64)", "21/16"), ("torus(4,4)", "15/16"), ("mesh(4,4)", "15/8")],
)
def test_it_is_met(spec: str, least: str) -> None:
    topology = build(spec)
    assert least_in_steps(topology, price(topology).steps) == Fraction(least)
    assert min(price(topology).bandwidth, best_deferral(topology).cost(topology).bandwidth) == Fraction(least)
