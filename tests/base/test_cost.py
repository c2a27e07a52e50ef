"""Costs: the bounds against their definitions and against real graphs, and the laws of dominance."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.cost import (
    Cost,
    bound_in,
    check_size,
    commuting_bound,
    least_steps,
    lower_bound,
    lower_bounds,
    moore_bound,
    moore_distances,
)
from topodesign.base.errors import ParameterError
from topodesign.base.latency import ALPHA, GAP, HOP, USUAL, Latency
from topodesign.graphs.circulant import dicirculant
from topodesign.pricing.closed_form import price
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

COSTS = st.builds(Cost, st.integers(0, 5), st.fractions(0, 3, max_denominator=4))
POSITIVE = st.fractions(Fraction(1, 10**6), 10**6)


def reach(degree: int, steps: int, duplex: bool) -> int:
    """Nodes within so many steps of the root of the infinite tree, one by one.

    A node is the word of link colours that leads to it; in a duplex tree a colour joins the same two nodes both ways,
    so that a word with a colour twice in a row leads back.
    """
    words: list[tuple[int, ...]] = [()]
    for word in words:
        if len(word) < steps:
            words += [(*word, colour) for colour in range(degree) if not (duplex and word[-1:] == (colour,))]
    return len(words)


def eccentricity(topology: Topology, source: int) -> int | None:
    """Steps in which the source reaches all nodes, or None if it never does."""
    reached, steps = {source}, 0
    while len(reached) < topology.nodes:
        more = reached | {v for u, v, _ in topology.links() if u in reached}
        if more == reached:
            return None
        reached, steps = more, steps + 1
    return steps


@pytest.mark.parametrize("duplex", [False, True])
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7])
def test_moore_bound_is_its_definition(degree: int, duplex: bool) -> None:
    reached = [reach(degree, steps, duplex) for steps in range(9 if degree < 3 else 5)]
    for nodes in range(2, min(reached[-1], 300) + 1):
        enough = next(steps for steps, count in enumerate(reached) if count >= nodes)
        assert moore_bound(nodes, degree, duplex=duplex) == enough


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_links_taken_in_any_order_reach_as_many_nodes_as_there_are_bags_of_them(degree: int) -> None:
    bags = [
        sum(1 for size in range(steps + 1) for _ in itertools.combinations_with_replacement(range(degree), size))
        for steps in range(8)
    ]
    for nodes in range(2, bags[-1] + 1):
        assert commuting_bound(nodes, degree) == next(steps for steps, count in enumerate(bags) if count >= nodes)


@pytest.mark.parametrize(
    "text",
    ["biring(4,9)", "circulant(50,3,7)", "dicirculant(60,1,7,11)", "torus(3,4,5)", "twistedtorus(4,4)"],
)
def test_abelian_groups_take_no_fewer_steps_than_links_in_any_order(text: str) -> None:
    topology = build(text)
    assert price(topology).steps >= commuting_bound(topology.nodes, topology.degree)


@pytest.mark.parametrize("nodes", [3, 4, 1000])
def test_one_duplex_link_joins_two_nodes_only(nodes: int) -> None:
    with pytest.raises(ParameterError, match="cannot be connected"):
        moore_bound(nodes, 1, duplex=True)
    assert moore_bound(2, 1, duplex=True) == 1


@pytest.mark.parametrize(
    ("spec", "degree"),
    [
        ("complete(2)", 1),
        ("complete(9)", 8),
        ("uniring(1,7)", 1),
        ("biring(2,7)", 2),
        ("biring(2,8)", 2),
        ("kautz(2,3)", 2),
        ("kautz(3,2)", 3),
        ("odd(3)", 3),  # the Petersen graph
        ("hoffmansingleton()", 7),
        ("diamond()", 2),
    ],
)
def test_moore_bound_is_met_by_the_graphs_known_for_it(spec: str, degree: int) -> None:
    graph = build(spec)
    assert graph.degree == degree
    farthest = max(eccentricity(graph, node) or 0 for node in range(graph.nodes))
    assert farthest == moore_bound(graph.nodes, degree, duplex=graph.is_duplex)


@given(st.integers(2, 12), st.integers(1, 3), st.booleans(), st.randoms(use_true_random=False))
def test_no_random_graph_beats_the_moore_bound(nodes: int, degree: int, duplex: bool, rng: object) -> None:
    pairs = []
    for _ in range(degree):
        order = list(range(nodes))
        rng.shuffle(order)  # type: ignore[attr-defined]
        if duplex:  # a matching
            pairs += [pair for u, v in zip(order[::2], order[1::2], strict=False) for pair in ((u, v), (v, u))]
        else:  # a permutation
            pairs += list(enumerate(order))
    graph = Topology.from_links(nodes, pairs)
    steps = eccentricity(graph, 0)
    if steps is not None:
        assert graph.degree <= degree
        assert steps >= moore_bound(nodes, graph.degree, duplex=duplex)


def test_moore_bound_of_a_huge_cycle() -> None:
    assert moore_bound(10**18, 2, duplex=True) == 5 * 10**17


@given(st.integers(2, 5000), st.integers(2, 20))
def test_moore_bound_grows_with_nodes_and_falls_with_degree(nodes: int, degree: int) -> None:
    for duplex in (False, True):
        steps = moore_bound(nodes, degree, duplex=duplex)
        assert steps <= moore_bound(nodes + 1, degree, duplex=duplex) <= steps + 1
        assert steps >= moore_bound(nodes, degree + 1, duplex=duplex)
    assert moore_bound(nodes, degree) <= moore_bound(nodes, degree, duplex=True)


@given(st.integers(2, 5000), st.integers(2, 20), st.booleans())
def test_lower_bound(nodes: int, degree: int, duplex: bool) -> None:
    bound = lower_bound(nodes, degree, duplex=duplex)
    assert bound.steps == least_steps(nodes, degree, duplex=duplex).steps >= moore_bound(nodes, degree, duplex=duplex)
    free = duplex and nodes * degree % 2  # one port of all, at a node that gets everything over the others
    assert bound.bandwidth * (degree - free) / degree + Fraction(1, nodes) == 1  # all but a node's own shard comes in


def _steps(cost: Cost) -> int:
    return cost.steps


@given(st.integers(2, 60), st.integers(2, 60), st.booleans())
def test_bounds_trade_steps_for_bandwidth(nodes: int, degree: int, duplex: bool) -> None:
    bound, bounds = lower_bound(nodes, degree, duplex=duplex), lower_bounds(nodes, degree, duplex=duplex)
    assert (bounds[0].steps, bounds[-1].bandwidth) == (bound.steps, bound.bandwidth)
    assert [one.steps for one in bounds] == list(range(bound.steps, bound.steps + len(bounds)))
    assert all(one.bandwidth > other.bandwidth for one, other in itertools.pairwise(bounds))
    assert len(bounds) == 1 or nodes <= degree
    for steps in range(1, bound.steps + 4):
        assert bound_in(steps, bounds) == max(
            (one for one in bounds if one.steps <= steps), default=bounds[0], key=_steps
        )


@given(st.integers(3, 9), st.integers(2, 24), st.integers(0, 2**32))
def test_one_step_takes_what_the_pair_with_the_fewest_links_does(nodes: int, degree: int, seed: int) -> None:
    degree = max(degree, nodes - 1)
    rng = np.random.default_rng(seed)
    links = np.ones((nodes, nodes), np.int64) - np.eye(nodes, dtype=np.int64)  # a link between any two, others anywhere
    for _ in range(degree - nodes + 1):
        links[np.arange(nodes), (np.arange(nodes) + rng.integers(1, nodes)) % nodes] += 1
    src, dst = np.nonzero(links)
    cost = price(Topology.from_arrays(nodes, src, dst, links[src, dst]))
    assert cost.steps == 1
    assert cost.bandwidth == Fraction(degree, nodes * int(links[src, dst].min()))
    assert cost.bandwidth >= lower_bounds(nodes, degree)[0].bandwidth
    evenly = price(dicirculant(*next(iter(dicirculant.find(nodes, degree)))))
    assert evenly == lower_bounds(nodes, degree)[0]


@pytest.mark.parametrize(("nodes", "degree"), [(1, 1), (0, 4), (-8, 4), (8, 0), (8, -2), (1, 0)])
def test_sizes_without_a_collective_are_refused(nodes: int, degree: int) -> None:
    for function in (check_size, moore_bound, lower_bound, lower_bounds):
        with pytest.raises(ParameterError, match="at least"):
            function(nodes, degree)


def test_runtime_of_the_published_points() -> None:
    """N=1024, d=4 at 10 us, 1 MiB, 100 Gbps: Efficient Direct-Connect Topologies, Table 2 (microseconds)."""
    work = (Fraction(1, 10**5), Fraction(2**20), Fraction(10**11))
    assert round(float(lower_bound(1024, 4).allreduce(*work)) * 1e6, 1) == 267.6
    assert round(float(Cost(6, Fraction(1020, 1000)).allreduce(*work)) * 1e6) == 291
    assert Cost(6, Fraction(1)).runtime(*work) == Fraction(6, 10**5) + Fraction(8 * 2**20, 10**11)


@given(COSTS, POSITIVE, POSITIVE, POSITIVE)
def test_runtime_is_linear(cost: Cost, alpha: Fraction, size: Fraction, bandwidth: Fraction) -> None:
    time = cost.runtime(alpha, size, bandwidth)
    assert cost.allreduce(alpha, size, bandwidth) == 2 * time
    assert cost.runtime(2 * alpha, 2 * size, bandwidth) == 2 * time
    assert cost.runtime(alpha, size, bandwidth) == cost.runtime(alpha, 3 * size, 3 * bandwidth)
    assert cost.runtime(alpha, Fraction(0), bandwidth) == alpha * cost.steps
    assert cost.runtime(Fraction(0), size, bandwidth) * bandwidth == cost.bandwidth * size * 8


@given(COSTS, COSTS, COSTS)
def test_dominance_is_a_partial_order(a: Cost, b: Cost, c: Cost) -> None:
    assert a.dominates(a)
    assert (a.dominates(b) and b.dominates(a)) == (a == b)
    if a.dominates(b) and b.dominates(c):
        assert a.dominates(c)


@given(COSTS, COSTS, POSITIVE, POSITIVE, POSITIVE)
def test_what_dominates_is_never_slower(a: Cost, b: Cost, alpha: Fraction, size: Fraction, bandwidth: Fraction) -> None:
    if a.dominates(b):
        assert a.runtime(alpha, size, bandwidth) <= b.runtime(alpha, size, bandwidth)
    else:  # then some workload finds b faster: one that is all latency or one that is all bandwidth
        one, none = Fraction(1), Fraction(0)
        assert a.runtime(one, none, one) > b.runtime(one, none, one) or a.runtime(none, one, one) > b.runtime(
            none, one, one
        )


def test_cost_is_a_frozen_value() -> None:
    cost = Cost(3, Fraction(7, 8))
    assert cost == Cost(3, Fraction(14, 16))
    assert len({cost, Cost(3, Fraction(7, 8)), Cost(3, Fraction(1))}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        cost.steps = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("nodes", "degree"), [(2, 1), (5, 1), (6, 2), (7, 2), (100, 3), (9, 8), (50, 49), (9, 3), (23, 5), (7, 7)]
)
@pytest.mark.parametrize("duplex", [False, True])
def test_moore_distances_fill_layers(nodes: int, degree: int, duplex: bool) -> None:
    degree = max(degree, 2) if duplex and nodes > 2 else degree  # of one link each there is no topology

    def total(layer: int) -> int:
        distances, far = list[int](), 1
        while len(distances) < nodes - 1:
            distances += [far] * layer
            layer, far = max(1, layer * (degree - duplex)), far + 1
        return sum(distances[: nodes - 1])

    free = duplex and nodes * degree % 2  # a port of one node, and so of all
    every = (nodes - free) * total(degree) + free * total(degree - 1)
    shares = Fraction(every * degree, nodes * (nodes * degree - free))
    alone = Fraction(degree, degree - free) * Fraction(nodes - 1, nodes)
    assert moore_distances(nodes, degree, duplex=duplex) == max(shares, alone)


def test_one_duplex_link_each_joins_no_three_nodes() -> None:
    with pytest.raises(ParameterError, match="cannot be connected"):
        moore_distances(5, 1, duplex=True)


# -- what messages take: alpha for one message of a port, a gap for each more, a hop for each switch ------------------


times = st.fractions(0, 1)


@given(times, times, times, st.integers(1, 9), st.integers(0, 9))
def test_a_step_is_the_sum_of_its_parts(
    alpha: Fraction, gap: Fraction, hop: Fraction, starts: int, switches: int
) -> None:
    found = Latency(alpha, gap, hop)
    assert found.of_step(1, 0) == alpha
    assert found.of_step(starts + 1, switches) - found.of_step(starts, switches) == gap
    assert found.of_step(starts, switches + 1) - found.of_step(starts, switches) == hop
    assert found.of_step(0, switches) == found.of_step(1, switches)
    assert list(found.record().values()) == [float(one) for one in (alpha, gap, hop)]


def test_what_is_for_all_that_says_nothing_else() -> None:
    assert Latency(ALPHA, GAP, HOP) == USUAL
    assert Latency(None).record()["alpha_s"] is None
