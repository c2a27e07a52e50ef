"""Order and degree: distances are counted right, graphs stay what they are, and known ones are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from topodesign.pricing.closed_form import distances
from topodesign.search.links import (
    aim_at_distances,
    anneal_links,
    ends_of,
    mend,
    new_state,
    random_ends,
    spec_of_ends,
    unfolded,
)
from topodesign.search.order_degree import orders, search_order_degree
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
        other = unfolded(ends, times)
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
