"""The best throughput of a fabric: against all cuts one by one, published figures, and laws."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.forest import a100, cuts, duplex, fabrics, mi250, worst_ratio
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError, TopologyError
from topodesign.optima.forest.balance import always_balanced
from topodesign.optima.forest.bottleneck import optimum, sensitivity, solve_rate, tree_capacities
from topodesign.optima.forest.tree_counts import find_fixed_optimum, smallest_trees
from topodesign.topology.library import build
from topodesign.topology.topology import MAX_CAPACITY, IntArray, Topology


def ones(topology: Topology) -> IntArray:
    return np.ones(topology.nodes - len(topology.switches), dtype=np.int64)


def algorithmic_bandwidth(topology: Topology, inverse_rate: Fraction) -> float:
    return round(float((topology.nodes - len(topology.switches)) / inverse_rate), 3)


def cut_ratio(topology: Topology, cut: frozenset[int], sizes: IntArray) -> Fraction:
    side = np.isin(np.arange(topology.nodes), sorted(cut))
    compute = np.array([node for node in range(topology.nodes) if node not in topology.switches])
    assert not side[compute].all()
    out = side[topology.src] & ~side[topology.dst]
    return Fraction(int(sizes[side[compute]].sum()), int(topology.capacity[out].sum()))


@settings(max_examples=150, deadline=None)
@given(fabrics(), st.data())
def test_optimum_is_the_worst_of_all_cuts(topology: Topology, data: st.DataObject) -> None:
    count = len(ones(topology))
    weights = data.draw(st.none() | st.lists(st.integers(0, 5), min_size=count, max_size=count).filter(any))
    sizes = ones(topology) if weights is None else np.array(weights)
    best = optimum(topology, weights=weights)
    assert best.inverse_rate == worst_ratio(topology, sizes) == cut_ratio(topology, best.cut, sizes)
    assert best.trees * best.tree_rate * best.inverse_rate == 1
    assert all((capacity / best.tree_rate).denominator == 1 for capacity in topology.capacity.tolist())


@pytest.mark.parametrize(
    ("topology", "bandwidth", "trees"),
    [
        (a100(1), 342.857, 1),
        (a100(2), 346.667, 13),
        (a100(4), 266.667, 1),
        (a100(8), 228.571, 1),
        (mi250(1), 342.857, 3),
        (mi250(2), 354.133, 83),
        (mi250(3), 346.435, 83),
    ],
)
def test_published_optima(topology: Topology, bandwidth: float, trees: int) -> None:
    best = optimum(topology)
    assert algorithmic_bandwidth(topology, best.inverse_rate) == bandwidth
    assert best.trees == trees
    assert cut_ratio(topology, best.cut, ones(topology)) == best.inverse_rate


def test_published_optima_with_few_trees() -> None:
    one, two = (find_fixed_optimum(mi250(2), k) for k in (1, 2))
    assert algorithmic_bandwidth(mi250(2), one.inverse_rate) == 320
    assert algorithmic_bandwidth(mi250(2), two.inverse_rate) == 341.333
    assert smallest_trees(mi250(2)) == 83
    assert smallest_trees(a100(2)) == 13


def test_the_papers_two_boxes() -> None:
    """Figure 5: four nodes a box on a switch with 10 b each, and b each to the switch between the boxes."""
    for b in (1, 7):
        edges = [(node, 8 + node // 4, 10 * b) for node in range(8)] + [(node, 10, b) for node in range(8)]
        best = optimum(duplex(11, edges, range(8, 11)))
        assert best.inverse_rate == Fraction(1, b)
        assert best.trees == 1
        assert best.tree_rate == b
        assert best.cut in ({0, 1, 2, 3, 8}, {4, 5, 6, 7, 9})


def test_bottleneck_is_the_one_with_fewest_links() -> None:
    """Two triangles on one link of capacity 6 and all links else 5: one node's two links would bind as much."""
    edges = [(0, 1, 5), (1, 2, 5), (2, 0, 5), (3, 4, 5), (4, 5, 5), (5, 3, 5), (0, 3, 6)]
    best = optimum(duplex(6, edges, range(0)))
    assert best.inverse_rate == Fraction(3, 6) == Fraction(5, 10)
    assert best.cut in ({0, 1, 2}, {3, 4, 5})


@settings(max_examples=60, deadline=None)
@given(fabrics(one_way=False), st.integers(1, 6))
def test_fixed_trees_of_duplex_fabrics_are_the_best(topology: Topology, trees: int) -> None:
    """At every smaller U that makes a difference, some set of all must let out more trees than its links carry."""
    fixed = find_fixed_optimum(topology, trees)
    least = trees * optimum(topology).inverse_rate
    scale = fixed.inverse_rate * trees
    wanted, out = cuts(topology, trees * ones(topology))

    def fits(scale: Fraction) -> bool:
        floors = np.array([int(scale * capacity) for capacity in topology.capacity.tolist()])
        return bool(np.all(out @ floors >= wanted))

    smaller = {
        Fraction(count, capacity)
        for capacity in set(topology.capacity.tolist())
        for count in range(int(least * capacity), int(scale * capacity) + 1)
    }
    assert fits(scale)
    assert not any(fits(other) for other in smaller if other < scale)
    assert fixed.bound == fixed.inverse_rate == 1 / (trees * fixed.tree_rate)


@settings(max_examples=60, deadline=None)
@given(fabrics(one_way=True, most_capacity=20), st.integers(1, 6))
def test_fixed_trees_of_one_way_fabrics_fit(topology: Topology, trees: int) -> None:
    fixed = find_fixed_optimum(topology, trees)
    best = optimum(topology)
    reduced = fixed.topology
    assert best.inverse_rate <= fixed.bound <= fixed.inverse_rate == 1 / (trees * fixed.tree_rate)
    assert worst_ratio(reduced, trees * ones(topology)) <= 1
    assert np.array_equal(reduced.in_ports[sorted(reduced.switches)], reduced.out_ports[sorted(reduced.switches)])
    capacity = {(u, v): b for u, v, b in topology.links()}
    assert all(trees * fixed.tree_rate <= trees * Fraction(capacity[u, v], count) for u, v, count in reduced.links())


def test_rounding_that_unbalances_a_switch() -> None:
    """All choices of whole capacities: none that is balanced does for less than what is reached."""
    links = [(0, 2, 2), (0, 3, 1), (1, 3, 4), (2, 1, 4), (2, 3, 1), (3, 0, 3), (3, 2, 3)]
    topology = Topology.from_links(4, links, switches=[3])
    wanted, out = cuts(topology, ones(topology))

    def fits(scale: Fraction) -> bool:
        floors = [range(int(scale * capacity) + 1) for capacity in topology.capacity.tolist()]
        choices = np.array(list(itertools.product(*floors)))
        even = choices[:, topology.dst == 3].sum(axis=1) == choices[:, topology.src == 3].sum(axis=1)
        return bool(np.any(np.all(choices[even] @ out.T >= wanted, axis=1)))

    fixed = find_fixed_optimum(topology, 1)
    assert (fixed.bound, fixed.inverse_rate) == (Fraction(2, 3), Fraction(3, 4))
    assert fits(fixed.inverse_rate)
    assert not fits(fixed.bound)  # and no capacity between the two is whole


@settings(max_examples=40, deadline=None)
@given(fabrics(one_way=False, most_capacity=4))
def test_smallest_trees_by_trying_all(topology: Topology) -> None:
    best = optimum(topology)
    reached = [
        k
        for k in range(1, best.trees + 1)
        if find_fixed_optimum(topology, k, best=best).inverse_rate == best.inverse_rate
    ]
    assert smallest_trees(topology) == reached[0]
    assert best.trees in reached


@pytest.mark.floor(unbalanced=4, unlimited=8, limited=15)
@settings(max_examples=60, deadline=None)
@given(fabrics(), st.data())
def test_sensitivity(topology: Topology, data: st.DataObject) -> None:
    many = len(topology.src)
    some = st.lists(st.booleans(), min_size=many, max_size=many)
    group = np.array(data.draw(some | some.map(sorted) | st.just([True] * many)))
    (gain,) = sensitivity(topology, [group])
    sizes = ones(topology)
    raised = worst_ratio(topology, sizes, np.where(group, 2 * topology.capacity, topology.capacity))
    if not always_balanced(topology, topology.capacity, group):  # switches cannot pass all of it on
        assert raised <= gain.doubled <= optimum(topology).inverse_rate
        reached("unbalanced")
        return
    assert gain.doubled == raised
    wanted, out = cuts(topology, sizes)
    apart = ~(out & group).any(axis=1) & (wanted > 0)
    room = out @ topology.capacity
    ratios = {Fraction(w, r) for w, r in zip(wanted[apart].tolist(), room[apart].tolist(), strict=True)}
    assert gain.limit == max(ratios, default=0)
    if gain.useful_factor is None:
        assert gain.limit == 0
        reached("unlimited")
        return
    reached("limited")
    p, q = gain.useful_factor.numerator, gain.useful_factor.denominator
    assert worst_ratio(topology, sizes, np.where(group, p, q) * topology.capacity) * q == gain.limit
    if gain.useful_factor > 1:
        p, q = 999 * p + q, 1000 * q  # a little of the growth less
        assert worst_ratio(topology, sizes, np.where(group, p, q) * topology.capacity) * q > gain.limit


def test_nodes_that_cannot_be_reached_are_named() -> None:
    apart = Topology.from_links(4, [(0, 1), (1, 0), (2, 1)])
    with pytest.raises(InfeasibleError, match=r"2, 3 cannot be reached from 0"):
        optimum(apart)
    with pytest.raises(InfeasibleError, match=r"gpu2, gpu3 cannot be reached from gpu0"):
        optimum(apart, names=[f"gpu{i}" for i in range(4)])
    dead_end = Topology.from_links(3, [(0, 1), (1, 0), (1, 2)])
    with pytest.raises(InfeasibleError, match="2 cannot reach 0"):
        optimum(dead_end)
    assert optimum(dead_end, weights=[1, 0, 0]).inverse_rate == 1


def test_bad_questions() -> None:
    two = Topology.from_links(3, [(0, 1), (1, 0), (0, 2), (2, 0)], switches=[2])
    with pytest.raises(TopologyError, match="at least 2 compute nodes, not 1"):
        optimum(Topology.from_links(2, [(0, 1), (1, 0)], switches=[1]))
    for weights in ([1], [1, -1], [0, 0]):
        with pytest.raises(ParameterError, match="shard sizes"):
            optimum(two, weights=weights)
    with pytest.raises(TooLargeError):
        optimum(two, weights=[2**62, 1])
    with pytest.raises(ParameterError, match="trees"):
        find_fixed_optimum(two, 0)


def test_large_capacities_are_exact_or_refused() -> None:
    big, almost = MAX_CAPACITY, MAX_CAPACITY - 1
    ring = duplex(3, [(0, 1, big), (1, 2, almost), (2, 0, big)], range(0))
    best = optimum(ring)
    assert best.inverse_rate == worst_ratio(ring, ones(ring))
    with pytest.raises(TooLargeError, match="small number of trees"):
        tree_capacities(ring, Fraction(1, 2))
    weights = [2**40, 1, 2**40 - 1]
    with pytest.raises(TooLargeError):
        optimum(ring, weights=weights)


def test_what_is_remembered_is_of_the_topology_that_is_asked_for() -> None:
    """Equal topologies share an answer, but each answer names its own topology, spec and all."""
    first, other = build("torus(3,3)"), build("torus(3,3)").transpose()
    assert first == other
    assert first.spec != other.spec
    for topology in (first, other):
        assert optimum(topology).usable is topology
    assert replace(optimum(other), usable=first) == optimum(first) == solve_rate.__wrapped__(first, (1,) * 9)
    assert optimum(first, weights=[1] + [0] * 8).inverse_rate != optimum(first).inverse_rate
