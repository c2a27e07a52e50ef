"""Link-swap annealing: the updated state against one computed anew, and what is found against the price of its spec."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.samples.topologies import regular_digraphs
from topodesign import build
from topodesign.base.cost import Cost, lower_bound
from topodesign.base.spec import Spec, parse
from topodesign.graphs.expansions.swap import swap
from topodesign.pricing.closed_form import price
from topodesign.search import anneal_kernels as kernels
from topodesign.search.annealing import Walk, anneal, start_walk, swaps_between
from topodesign.search.target import Found, undominated
from topodesign.topology.topology import Topology

DUPLEX = [
    "randomregulargraph(11,3,1)",
    "circulant(9,1,3)",
    "hypercube(3)",
    "randomregulargraph(10,3,1)",
    "cocktailparty(4)",
    "torus(3,4)",
]


def dearer(topology: Topology) -> Cost:
    costs = price(topology, all_sources=True), price(topology.transpose(), all_sources=True)
    return Cost(costs[0].steps, max(cost.bandwidth for cost in costs))


def links_now(walk: Walk) -> Topology:
    nodes, degree = walk.side.out.shape
    return Topology.from_arrays(nodes, np.repeat(np.arange(nodes), degree), walk.side.out.ravel())


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def assert_as_computed_anew(walk: Walk) -> None:
    """All that a walk has updated is what filling new sides from its links gives."""
    for side in (walk.side,) if walk.duplex else (walk.side, walk.other):
        fresh = kernels.make_side(side.out, side.into, len(side.load))
        assert kernels.fill_side(fresh, walk.rules)
        kernels.weigh_side(fresh, walk.rules)
        for name in ("distance", "mask", "census", "load", "far", "weight"):
            assert np.array_equal(getattr(side, name), getattr(fresh, name)), name


def assert_consistent(walk: Walk) -> None:
    """Heads and tails are of the same links."""
    out, into = walk.side.out, walk.side.into
    links = {(u, v): 0 for u, row in enumerate(out.tolist()) for v in row}
    for u, row in enumerate(out.tolist()):
        for v in row:
            links[u, v] += 1
    for v, row in enumerate(into.tolist()):
        for u in row:
            links[u, v] -= 1
    assert not any(links.values())


@given(regular_digraphs(most_nodes=14), st.integers(0, 2**32), st.fractions(0, 2), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_walks_keep_their_books(topology: Topology, seed: int, hot: Fraction, steps: int) -> None:
    assume(topology.degree >= 2)
    walk = start_walk(topology, duplex=False, rng=generator(seed))
    assume(walk is not None)
    assert walk is not None
    assert walk.bandwidth == dearer(topology).bandwidth
    walk.aim(min(steps, len(walk.allowed) - 1), Fraction(1, 2))
    walk.run(40_000, hot)
    assert_consistent(walk)
    assert_as_computed_anew(walk)
    now = links_now(walk)
    assert np.array_equal(now.in_ports, topology.in_ports)
    assert walk.bandwidth == dearer(now).bandwidth


@pytest.mark.parametrize("text", DUPLEX)
@pytest.mark.parametrize("hot", [0, 1])
def test_duplex_walks_stay_duplex(text: str, hot: int) -> None:
    topology = build(text)
    walk = start_walk(topology, duplex=True, rng=generator(1))
    assert walk is not None
    walk.aim(2, Fraction(1, 2))
    walk.run(100_000, Fraction(hot))
    assert_consistent(walk)
    assert_as_computed_anew(walk)
    assert links_now(walk).is_duplex
    assert not np.array_equal(links_now(walk).dst, topology.dst) or not hot


@pytest.mark.parametrize("text", ["genkautz(2,25)", "randomregular(60,3,1)", "cayley(metacyclic(13,4,5),1,13,30,45)"])
def test_what_slides_through_new_nodes(text: str) -> None:
    """Nodes of higher numbers count as inserted here, whatever they are."""
    topology = build(text)
    walk = start_walk(topology, duplex=False, rng=generator(2), first_new=topology.nodes - 3)
    assert walk is not None
    walk.aim(3, Fraction(1))
    walk.run(300_000, Fraction(1))
    assert_consistent(walk)
    assert_as_computed_anew(walk)


@pytest.mark.once
@pytest.mark.parametrize(
    "text",
    ["genkautz(2,9)", "randomregular(13,3,1)", "genkautz(4,14)", "randomregulargraph(12,3,2)", "circulant(11,1,2)"],
)
@pytest.mark.parametrize("steps", [None, 3])
def test_found_costs_what_its_spec_costs(text: str, steps: int | None) -> None:
    start = build(text)
    found = anneal(start, 200_000, duplex=start.is_duplex, steps=steps, seed=3)
    assert found
    assert undominated(found) == found
    for one in found:
        topology = build(str(one.spec))
        assert (topology.nodes, topology.degree) == (start.nodes, start.degree)
        assert topology.is_duplex or not start.is_duplex
        assert dearer(topology) == one.cost
        bound = lower_bound(start.nodes, start.degree, duplex=start.is_duplex)
        assert bound.dominates(one.cost)
    assert anneal(start, 200_000, duplex=start.is_duplex, steps=steps, seed=3) == found
    assert not anneal(start, 200_000, duplex=start.is_duplex, steps=steps, seed=3, known=[one.cost for one in found])


def test_large_ones_are_given_by_what_is_swapped() -> None:
    start = build("genkautz(4,70)")
    found = anneal(start, 1_000_000, steps=5)
    assert {one.spec.name for one in found} <= {"swap", "genkautz"}
    assert any(one.spec.name == "swap" for one in found)
    assert all(dearer(build(str(one.spec))) == one.cost for one in found)


def test_better_than_where_it_started() -> None:
    start = build("genkautz(4,37)")
    best = anneal(start, 1_000_000)
    assert best[0].cost.dominates(dearer(start))
    assert best[0].cost.bandwidth < dearer(start).bandwidth
    assert best[0].cost.steps == lower_bound(37, 4).steps


def test_small_digraph_of_the_issue() -> None:
    """Two steps on 14 nodes of degree 4, where random digraphs have three."""
    best = anneal(build("randomregular(14,4,1)"), 1_000_000)
    assert best[0].cost.steps == 2
    assert best[0].cost.bandwidth < Fraction(6, 5)


@pytest.mark.parametrize("text", ["genkautz(9,20)", "uniring(1,20)", "complete(5)"])
def test_what_cannot_be_annealed_is_left_alone(text: str) -> None:
    assert anneal(build(text), 10_000) == []


def test_duplex_rings_are_left_alone() -> None:
    assert anneal(build("biring(2,9)"), 10_000, duplex=True) == []


def test_a_start_that_does_not_fit_tells_the_size() -> None:
    irregular = Topology.from_links(12, [(u, v) for u in range(12) for v in range(u + 1, min(u + 4, 12))])
    for start in (build("genkautz(3,12)"), irregular):
        found = anneal(start, 100_000, duplex=True)
        assert found
        assert all(build(str(one.spec)).is_duplex for one in found)


@given(st.integers(0, 2**32), st.integers(2, 30), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_swaps_lead_from_one_digraph_to_another(seed: int, nodes: int, degree: int) -> None:
    rng = generator(seed)
    heads = np.concatenate([rng.permutation(nodes) for _ in range(degree)])
    topology = Topology.from_arrays(nodes, np.tile(np.arange(nodes), degree), heads)
    assume(topology.is_regular)
    assert topology.degree == degree
    goal = np.concatenate([rng.permutation(nodes)[:, None] for _ in range(degree)], axis=1)
    swaps = swaps_between(topology, goal.astype(np.int32))
    wanted = Topology.from_arrays(nodes, np.repeat(np.arange(nodes), degree), goal.ravel())
    assert (swap(topology, *swaps) if swaps else topology) == wanted
    assert not swaps_between(wanted, goal.astype(np.int32))


def test_undominated_keeps_the_plainest_of_equals() -> None:
    rows = [
        (3, Fraction(1), "genkautz(2,9)"),
        (3, Fraction(1), "kautz(2,2)"),
        (2, Fraction(2), "a()"),
        (4, Fraction(1), "b()"),
    ]
    found = [Found(parse(text), Cost(steps, y)) for steps, y, text in rows]
    assert [str(one.spec) for one in undominated(found)] == ["a()", "kautz(2,2)"]
    assert undominated(found, [Cost(2, Fraction(1))]) == []
    assert isinstance(found[0].spec, Spec)
