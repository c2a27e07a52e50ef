"""Order and degree: distances are counted right, graphs stay what they are, and known ones are found."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from topodesign import all_to_all
from topodesign.base.cost import moore_distances
from topodesign.base.spec import parse
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.row_check import check_row
from topodesign.pricing.closed_form import distances
from topodesign.search.links import (
    aim_at_distances,
    anneal_links,
    ends_of,
    mend,
    new_state,
    random_ends,
    spec_of_ends,
    unfold_ends,
)
from topodesign.search.order_degree import (
    orbits_to_search,
    orders,
    search_low_distances,
    search_near,
    search_order_degree,
)
from topodesign.search.state import SearchState
from topodesign.search.strategies import order_degree as strategy
from topodesign.search.strategies.order_degree import order_degree, steps_of_graphs
from topodesign.search.strategies.strategy import Draw
from topodesign.search.target import Target
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology


def all_distances(topology: Topology) -> IntArray:
    return np.array([distances(topology, node) for node in range(topology.nodes)])


@given(st.integers(3, 5), st.integers(2, 8), st.integers(1, 9), st.booleans(), st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_energy_is_that_of_the_distances_and_a_rotation_stays(
    degree: int, orbits: int, order: int, duplex: bool, seed: int
) -> None:
    nodes = orbits * order
    assume(nodes > 2 * degree and orbits in orders(nodes, degree, duplex=duplex))
    rng = np.random.default_rng(seed)
    ends = random_ends(Target(nodes, degree, duplex), orbits, rng)
    state = new_state(rng)
    assume(mend(ends, state))
    steps, more = 3, 4
    done = anneal_links(ends, aim_at_distances(steps, more), 20000, 32 * steps * degree, state)
    far, total = done.far, done.energy - more * done.far
    topology = Topology.from_arrays(nodes, np.repeat(np.arange(nodes), degree), ends.out.ravel())
    apart = all_distances(topology)
    apart[apart < 0] = nodes
    assert far * order == np.count_nonzero(apart > steps)
    assert total * order == np.minimum(apart, steps + 1).sum()
    assert topology.is_regular
    assert topology.is_duplex or not duplex
    assert topology.degree == degree
    assert topology.self_loops == (nodes * degree % 2 if duplex else 0)
    assert topology.transpose() == Topology.from_arrays(nodes, np.repeat(np.arange(nodes), degree), ends.into.ravel())
    assert topology.capacity.max() == 1
    turned = np.arange(nodes) // order * order + (np.arange(nodes) % order + 1) % order
    links = set(zip(topology.src.tolist(), topology.dst.tolist(), strict=True))
    assert {(int(turned[u]), int(turned[w])) for u, w in links} == links
    spec = spec_of_ends(ends)
    assert spec is not None
    assert build(str(spec)) == topology


@pytest.mark.parametrize("duplex", [False, True])
def test_a_rotation_of_a_divisor_leaves_the_graph_as_it_is(duplex: bool) -> None:
    rng = np.random.default_rng(1)
    ends = random_ends(Target(48, 4, duplex), 4, rng)
    for times in (2, 3, 12):
        other = unfold_ends(ends, times)
        order = 12 // times
        assert np.array_equal(other.mate[other.mate], np.arange(len(other.mate)))
        node = np.arange(48)
        renamed = (node // 12 * times + node % 12 % times) * order + node % 12 // times
        assert np.array_equal(other.out[renamed], renamed[ends.out])
    assert np.array_equal(other.out, ends.out)


@pytest.mark.parametrize(
    ("nodes", "degree", "steps", "total", "work"),
    [(10, 3, 2, 150, 10**6), (20, 4, 3, 740, 10**8), (9, 3, 3, 122, 10**6)],
)
def test_small_graphs_reach_what_distances_allow(nodes: int, degree: int, steps: int, total: int, work: int) -> None:
    """Petersen's graph; 20 nodes of degree 4 at the bound of 1.947; a port that stays free."""
    found = search_order_degree(Target(nodes, degree, True), steps, work, orbits=nodes)
    assert found is not None
    assert (found.far, found.total) == (0, total)
    apart = all_distances(build(str(found.spec)))
    assert (apart.max(), apart.sum()) == (steps, total)


@pytest.mark.dear
def test_36_nodes_of_degree_3_have_4_steps() -> None:
    found = search_order_degree(Target(36, 3, True), 4, 15 * 10**7, orbits=36, seed=4)
    assert found is not None
    assert found.far == 0
    assert all_distances(build(str(found.spec))).max() == 4


def test_a_row_or_a_lift_is_where_a_search_starts() -> None:
    target = Target(36, 3, True)
    start = build("randomregulargraph(36,3,7)")
    before = np.minimum(all_distances(start), 6).sum()
    from_row = search_order_degree(target, 5, 10**5, orbits=36, start=start)
    from_lift = search_order_degree(target, 5, 2 * 10**6, orbits=6, then=(12, 36))
    assert from_row is not None
    assert from_row.total < before
    assert from_lift is not None
    assert all_distances(build(str(from_lift.spec))).sum() == from_lift.total or from_lift.far


def test_a_digraph_is_where_a_search_starts() -> None:
    start = build("genkautz(3,40)")
    ends = ends_of(start, duplex=False)
    assert np.array_equal(ends.mate[ends.mate], np.arange(len(ends.mate)))
    links = np.repeat(np.arange(40), 3)
    assert Topology.from_arrays(40, links, ends.out.ravel()) == start
    assert Topology.from_arrays(40, links, ends.into.ravel()) == start.transpose()
    start = build("cayley(metacyclic(13,3,3),1,5,20)")
    found = search_order_degree(Target(39, 3, False), 4, 10**6, orbits=39, start=start)
    assert found is not None
    assert build(str(found.spec)).degree == 3
    assert found.total <= all_distances(start).sum()


def test_no_orbits_without_a_spec() -> None:
    assert orders(9, 3) == [9]  # a port stays free
    assert orders(9, 3, duplex=False) == [1, 3, 9]
    assert orders(2047, 7) == []
    assert 2048 not in orders(2048, 3)
    assert 64 in orders(1024, 8)


# -- Turns that exchange cables: what they keep is right by its links, and has the steps that they say


TARGET = Target(36, 3, duplex=True)


def test_a_step_less_is_found_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategy, "_WORK", 10**7)
    state = SearchState(range(36, 37), {3: []})
    state.keep(TARGET, [parse("randomregulargraph(36,3,1)")])
    before = state.fastest(TARGET)
    assert before is not None
    assert steps_of_graphs(state, TARGET) == before.cost.steps - 1
    ratio = state.ratio(TARGET)
    assert order_degree.gap(state, TARGET) > 0
    for number in range(3):  # from a random graph, a row, and a lift
        gain = order_degree.search(state, TARGET, Draw(36, number, 0))
        assert gain >= 0
    assert state.ratio(TARGET) < ratio
    after = state.fastest(TARGET)
    assert after is not None
    assert after.cost.steps < before.cost.steps
    assert {check_row(row) for row in state.rows[36, 3]} == {None}


def test_sizes_that_are_searched() -> None:
    assert order_degree.orbits(Target(36, 3, duplex=False)) == []
    assert order_degree.orbits(Target(6, 3, duplex=True)) == []
    assert order_degree.orbits(TARGET) == [6, 9, 12, 18, 36]
    assert order_degree.orbits(Target(9, 3, duplex=True)) == [9]
    assert order_degree.gap(SearchState([36], {3: []}, Catalog()), TARGET) == 0


# -- Searches for small distances: of the size and cabling asked for, the same again, and near the bound


@pytest.mark.once
@pytest.mark.parametrize("duplex", [False, True])
@pytest.mark.parametrize(("nodes", "degree"), [(24, 3), (25, 3), (36, 4), (20, 6)])
def test_every_number_of_orbits_finds_what_was_asked_for_near_the_bound(nodes: int, degree: int, duplex: bool) -> None:
    target = Target(nodes, degree, duplex)
    least = []
    for orbits in orbits_to_search(target):
        found = search_low_distances(target, orbits, 0, seed=1)
        assert nodes != 20 or found == search_low_distances(target, orbits, 0, seed=1)
        if found is not None:
            topology = build(found)
            assert (topology.nodes, topology.degree) == target.size
            assert topology.is_duplex or not duplex
            distances = all_to_all(topology, effort="bounds").distances
            assert distances is not None
            least.append(distances)
    bound = moore_distances(nodes, degree, duplex=duplex)
    assert bound <= min(least) <= bound * Fraction(21, 20)


def test_a_moore_graph_is_found() -> None:
    petersen = Target(10, 3, duplex=True)
    found = [str(search_low_distances(petersen, orbits, 0)) for orbits in orbits_to_search(petersen)]
    assert moore_distances(10, 3, duplex=True) in [all_to_all(one).bandwidth for one in found if one != "None"]


def test_there_are_none_where_all_are_neighbours_or_only_rings() -> None:
    assert orbits_to_search(Target(4, 5, duplex=False)) == orbits_to_search(Target(9, 2, duplex=True)) == []
    assert orbits_to_search(Target(97, 3, duplex=True)) == [97]  # a port stays free, and a prime has few orbits


@pytest.mark.dear("36-3-True-randomregulargraph(36,3,7)")
@pytest.mark.parametrize(
    ("nodes", "degree", "duplex", "base"),
    [(82, 4, False, "kautz(4,2)"), (20, 4, True, "circulant(21,1,5)"), (36, 3, True, "randomregulargraph(36,3,7)")],
)
def test_near_a_topology_of_a_close_size_distances_get_lower(nodes: int, degree: int, duplex: bool, base: str) -> None:
    target, before = Target(nodes, degree, duplex), all_to_all(base, effort="bounds").distances
    found = search_near(target, build(base), 2, seed=1)
    assert found is not None
    topology = build(found)
    assert (topology.nodes, topology.degree) == target.size
    assert topology.is_duplex or not duplex
    distances = all_to_all(topology, effort="bounds").distances
    assert before is not None
    assert distances is not None
    assert distances < before * Fraction(103, 100)
