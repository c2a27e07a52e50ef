"""Sizes beyond the catalog: what is claimed by theorems against graphs that are built, and answers that never waver."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from topodesign import Catalog, build, pareto
from topodesign.base.cost import Basis, Cost, lower_bound
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.catalog.quality import runtime
from topodesign.pricing.closed_form import cost_of, distances, largest_loads
from topodesign.pricing.evaluation import price_both
from topodesign.search import beyond
from topodesign.search import composed as module
from topodesign.search.beyond import search_size
from topodesign.search.candidate import Candidate
from topodesign.search.composed import compose_frontier, make_line_graph
from topodesign.search.target import Target


def _check(front: list[Candidate], target: Target) -> None:
    """Hold a frontier against graphs that are built from its specs, and looked at from every node."""
    assert front
    for one, other in itertools.pairwise(front):
        assert one.cost.steps < other.cost.steps
        assert one.cost.bandwidth > other.cost.bandwidth
    for one in front:
        topology = build(one.spec)
        assert (topology.nodes, topology.degree) == (target.nodes, target.degree)
        assert topology.is_duplex == one.duplex >= target.duplex
        there, back = price_both(topology, all_sources=True)
        if one.basis is Basis.BOUND:
            assert there.dominates(one.cost)
            assert back.dominates(one.allgather)
        else:
            assert (there, back) == (one.cost, one.allgather)
        assert one.cost.bandwidth >= Fraction(target.nodes - 1, target.nodes)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search for a moment, so that theorems have the word."""
    monkeypatch.setattr(beyond, "_WORK", 2**20)
    monkeypatch.setattr(beyond, "_WORK_TIMES_SQUARE", 2**27)


@pytest.mark.dear("target1", "target2", "target3", "target4")
@pytest.mark.parametrize(
    "target",
    [
        Target(2052, 6, False),  # degree copies, products, line graphs
        Target(2187, 3, False),
        Target(2099, 4, False),  # prime: a generalized Kautz digraph and a circulant
        Target(2304, 4, True),
        Target(2050, 20, False),  # beyond the catalog's degrees
        pytest.param(Target(10_240, 3, True), marks=pytest.mark.thorough),  # lifts over groups with few cosets
        pytest.param(
            Target(10_007, 4, True), marks=pytest.mark.thorough
        ),  # prime: what is a few nodes away from such a lift
        pytest.param(Target(4099, 3, False), marks=pytest.mark.thorough),
    ],
)
def test_frontiers_are_of_graphs_with_these_costs(target: Target, quick: None) -> None:
    _check(compose_frontier(target, Catalog()), target)


@pytest.mark.dear("target1")
@pytest.mark.parametrize("target", [Target(2052, 6, False), Target(2187, 3, False), Target(2099, 4, False)])
def test_closed_forms_hold_where_nothing_is_built(target: Target, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_BUILT", 0)
    monkeypatch.setattr(beyond, "MAX_PRICED", 0)
    front = compose_frontier(target, Catalog())
    assert {one.basis for one in front} <= {Basis.THEOREM, Basis.BOUND}
    _check(front, target)


def test_a_line_graph_is_priced_at_most_in_both_directions() -> None:
    base = build("genkautz(3,20)")
    there, back = price_both(base)
    for times in (1, 2, 3):
        claimed = make_line_graph(Candidate(base.spec, there, back, False, Basis.LINKS), 20, 3, times)  # type: ignore[arg-type]
        real = price_both(build(claimed.spec), all_sources=True)
        assert real[0].dominates(claimed.cost)
        assert real[1].dominates(claimed.allgather)


@pytest.mark.dear
def test_the_answer_depends_on_no_clock(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine so busy that all time is over at once finds the same."""
    calm = pareto(2401, 4).to_records()
    ticks = iter(range(0, 10**9, 10**4))
    monkeypatch.setattr("topodesign.search.symmetric.Stopwatch", lambda: lambda: float(next(ticks)))
    assert pareto(2401, 4).to_records() == calm


@pytest.mark.dear
def test_what_a_price_rests_on_is_said(quick: None) -> None:
    found = pareto(10**6, 16)
    words = {record["source"] for record in found.to_records()}
    assert words <= {"links", "one source per orbit", "closed form", "closed form, at most"}
    assert all(entry.basis.words in str(found) for entry in found if entry.basis is not Basis.LINKS)
    assert found.record()["origin"] == "composed"


@pytest.mark.thorough
def test_a_million_nodes_are_answered(quick: None) -> None:
    found = pareto(2**20, 4)
    assert found.best.cost.steps <= found.bound.steps + 2


def test_more_than_a_million_nodes_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 1048576"):
        pareto(2**20 + 1, 4)
    with pytest.raises(ParameterError, match="at most 16384"):
        pareto(2**14 + 1, 4, catalog=False)


@pytest.mark.parametrize(("nodes", "degree"), [(4096, 4), (65536, 8)])
def test_line_graphs_of_rows_are_found(nodes: int, degree: int, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_BUILT", 0)
    best = pareto(nodes, degree).best
    assert best.cost.steps == 6
    for row in Catalog().rows(degree, nodes // degree, nodes // degree):
        claim = Cost(row.cost.steps + 1, row.mean.bandwidth + Fraction(degree, nodes))
        assert best.allreduce[0] <= best.workload.allreduce(claim)[0]


@pytest.mark.dear
def test_an_awkward_size_is_told_of_a_better_one(quick: None) -> None:
    found = pareto(2503, 4)
    assert found.better is not None
    assert abs(found.better.other - 2503) <= 50
    assert found.better.speedup >= Fraction(21, 20)
    assert min(pareto(found.better.other, 4).best.allreduce) <= found.better.other_time
    assert price_both(found.best.build()) == (found.best.cost, found.best.allgather)


@pytest.mark.dear
@pytest.mark.parametrize(
    ("nodes", "degree"),
    [(2503, 4), pytest.param(10_007, 4, marks=pytest.mark.thorough), pytest.param(4099, 3, marks=pytest.mark.thorough)],
)
def test_digraphs_a_few_nodes_away_serve_primes(nodes: int, degree: int) -> None:
    """They come within a step or two of what a size that divides well has."""
    target = Target(nodes, degree, nodes > 5000)
    best, there = pareto(nodes, degree, bidirectional=target.duplex).best, nodes // 8 * 8
    assert best.found == "neighbour"
    assert best.cost.steps <= pareto(there, degree, bidirectional=target.duplex).best.cost.steps + 3


@pytest.mark.parametrize(
    ("nodes", "degree"),
    [
        pytest.param(100_000, 4, marks=pytest.mark.thorough),
        pytest.param(99_990, 3, marks=pytest.mark.thorough),
        (65_536, 8),
    ],
)
def test_lifts_wire_any_number_of_nodes_by_duplex_cables(nodes: int, degree: int) -> None:
    found = pareto(nodes, degree, bidirectional=True)
    assert found.best.cost.steps <= found.bound.steps + (3 if degree > 3 else 6)
    topology = found.best.build()
    assert topology.symmetry is not None
    topology.symmetry.check(topology)
    assert topology.is_duplex
    other = cost_of(topology, *largest_loads(topology, np.array([nodes - 1])))
    assert other.dominates(found.best.cost)


@pytest.mark.dear
@pytest.mark.parametrize(
    ("nodes", "degree", "most"),
    [
        (47_834, 5, 20),
        pytest.param(99_998, 4, 51, marks=pytest.mark.thorough),
        pytest.param(34_126, 3, 100, marks=pytest.mark.thorough),
    ],
)
def test_few_orbits_take_more_steps(nodes: int, degree: int, most: int) -> None:
    """Of N/2 a prime, or the product of two, there are but lifts of two nodes over groups that grow slowly."""
    found = pareto(nodes, degree, bidirectional=True)
    assert found.bound.steps < found.best.cost.steps <= most
    topology = found.best.build()
    assert topology.is_duplex
    assert topology.symmetry is not None
    topology.symmetry.check(topology)


@pytest.mark.dear("200006-2")
@pytest.mark.parametrize(("nodes", "degree"), [(200_006, 2), (100_003, 1)])
def test_rings_are_not_searched(nodes: int, degree: int) -> None:
    assert search_size(Target(nodes, degree, degree > 1), 2**20) == []
    (best,) = pareto(nodes, degree, bidirectional=degree > 1)
    assert best.cost == lower_bound(nodes, degree, duplex=degree > 1)


@pytest.mark.dear
@pytest.mark.parametrize(
    ("nodes", "degree"),
    [
        pytest.param(34_891, 5, marks=pytest.mark.thorough),
        (20_671, 15),
        pytest.param(30_003, 3, marks=pytest.mark.thorough),
    ],
)
def test_many_ports_an_odd_number_are_served_with_one_free_at_each_node(nodes: int, degree: int) -> None:
    """The bound is that of a node with a port less, so it can be reached."""
    found = pareto(nodes, degree, bidirectional=True)
    topology = found.best.build()
    assert (topology.nodes, topology.degree, topology.self_loops) == (nodes, degree, nodes)
    assert topology.is_duplex
    assert "One port of each node stays free" in str(found)
    fewer = pareto(nodes, degree - 1, bidirectional=True)
    assert [one.cost.steps for one in found] == [one.cost.steps for one in fewer]
    for one, other in zip(found, fewer, strict=True):
        assert one.cost.bandwidth == other.cost.bandwidth * Fraction(degree, degree - 1)


@pytest.mark.thorough
def test_a_size_without_symmetry_that_is_too_large_is_told_of_others() -> None:
    with pytest.raises(InfeasibleError, match=r"nearest sizes \(N,d\): \(999976,16\), \(999984,16\)"):
        pareto(999_983, 16, bidirectional=True)
    found = pareto(100_003, 4, bidirectional=True)  # a circulant
    assert found.better is not None
    assert found.better.other == 100_000
    assert found.better.speedup > 5


@pytest.mark.parametrize("target", [Target(2050, 4, False), Target(1803, 5, False), Target(2502, 3, False)])
def test_cyclic_covers_take_the_steps_that_are_told(target: Target) -> None:
    offered = list(beyond.cyclic_covers(target))
    assert offered
    for spec, steps in offered:
        topology = build(spec)
        assert (topology.nodes, topology.degree) == target.size
        assert price_both(topology, all_sources=True)[0].steps == steps


def test_digits_of_a_smaller_size_serve_a_prime() -> None:
    target = Target(2503, 16, False)
    made = beyond.with_digits(target, Catalog(), None)
    assert made is not None
    assert (made.nodes, made.degree, made.self_loops) == (*target.size, 0)
    assert [int(distances(one, 0).max()) for one in (made, made.transpose())] == [3, 3]
    assert beyond.with_digits(target, Catalog(), Fraction(0)) is None
    assert beyond.with_digits(Target(2503, 16, True), Catalog(), None) is None


@pytest.mark.thorough
@pytest.mark.parametrize(("target", "most"), [(Target(3011, 5, True), 370), (Target(2777, 3, True), 532)])
def test_odd_sizes_are_the_best_of_a_node_more_without_one(target: Target, most: int) -> None:
    """In microseconds of an allreduce; a random graph was the best before."""
    best = min(runtime(one.mean) for one in compose_frontier(target, Catalog()))
    assert best * 10**6 < most
