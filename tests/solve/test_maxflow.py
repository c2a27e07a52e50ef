"""Maximum flows and cuts on integers, against networkx."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign.base.errors import TooLargeError
from topodesign.solve.maxflow import (
    balance_switches,
    compute_nodes,
    crossing,
    find_violated_cut,
    iterate_violated_cuts,
    maximum_flow,
    sum_demand,
    surplus,
)
from topodesign.solve.whole import guess_places
from topodesign.topology.topology import IntArray, Topology


@st.composite
def networks(draw: st.DrawFn) -> tuple[Topology, IntArray, IntArray]:
    """A digraph with a few switches, and capacities and demands, which may be zero."""
    nodes = draw(st.integers(2, 6))
    pairs = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)).filter(lambda pair: pair[0] != pair[1])
    links = draw(st.lists(pairs, min_size=nodes, max_size=14, unique=True))
    switches = draw(st.sets(st.integers(0, nodes - 1), max_size=nodes - 1))
    topology = Topology.from_links(nodes, links, switches=sorted(switches))
    capacity = draw(st.lists(st.integers(0, 9), min_size=len(links), max_size=len(links)))
    demand = draw(st.lists(st.integers(0, 5), min_size=nodes - len(switches), max_size=nodes - len(switches)))
    return topology, np.array(capacity, dtype=np.int64), np.array(demand, dtype=np.int64)


def flow_to(network: tuple[Topology, IntArray, IntArray], sink: int) -> int:
    """What can reach a node if every compute node sends its demand (networkx)."""
    topology, capacity, demand = network
    graph = nx.DiGraph()
    graph.add_nodes_from(range(topology.nodes))
    for u, v, room in zip(topology.src.tolist(), topology.dst.tolist(), capacity.tolist(), strict=True):
        graph.add_edge(u, v, capacity=room)
    for node, amount in zip(compute_nodes(topology).tolist(), demand.tolist(), strict=True):
        graph.add_edge("source", node, capacity=amount)
    return int(nx.maximum_flow_value(graph, "source", sink))


@settings(max_examples=60)
@given(networks())
def test_a_violated_cut_is_one_and_none_is_missed(network: tuple[Topology, IntArray, IntArray]) -> None:
    topology, capacity, demand = network
    served = [flow_to(network, node) == int(demand.sum()) for node in compute_nodes(topology).tolist()]
    sink, side = find_violated_cut(topology, capacity, demand)
    assert sink == (served.index(False) if False in served else len(served))
    assert (side is None) == all(served)
    cuts = list(iterate_violated_cuts(topology, capacity, demand))
    assert len(cuts) == served.count(False)
    for place, cut in zip(np.flatnonzero(~np.array(served)).tolist(), cuts, strict=True):
        assert not cut[compute_nodes(topology)[place]]
        assert sum_demand(topology, demand, cut) > int(capacity[crossing(topology, cut)].sum())


@settings(max_examples=60)
@given(networks())
def test_the_balanced_part_is_balanced_and_no_more_than_there_was(network: tuple[Topology, IntArray, IntArray]) -> None:
    topology, capacity, _ = network
    part = balance_switches(topology, capacity)
    assert (part >= 0).all()
    assert (part <= capacity).all()
    assert not surplus(topology, part).any()
    if not surplus(topology, capacity).any():
        assert np.array_equal(part, capacity)


def test_demands_that_do_not_fit_are_refused() -> None:
    topology = Topology.from_links(3, [(0, 1), (1, 2), (2, 0)])
    with pytest.raises(TooLargeError):
        find_violated_cut(topology, np.ones(3, dtype=np.int64), np.full(3, 2**62, dtype=np.int64))


@pytest.mark.parametrize("most", [5, 2**40, 2**80])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), vertices=st.integers(2, 9))
def test_maximum_flow(most: int, seed: int, vertices: int) -> None:
    rng = np.random.default_rng(seed)
    src, dst = np.nonzero(rng.random((vertices, vertices)) < 0.4)
    capacity = [int(part * most) for part in rng.random(len(src)).tolist()]
    flow = maximum_flow(vertices, src, dst, capacity, start=0, end=1)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(vertices))
    graph.add_edges_from(zip(src.tolist(), dst.tolist(), ({"capacity": c} for c in capacity), strict=True))
    assert flow.value == nx.maximum_flow_value(graph, 0, 1)
    assert all(0 <= amount <= most for amount, most in zip(flow.amount, capacity, strict=True))
    over = np.zeros(vertices, dtype=object)
    np.add.at(over, dst, np.array(flow.amount, dtype=object))
    np.subtract.at(over, src, np.array(flow.amount, dtype=object))
    assert over.tolist() == [-flow.value, flow.value] + [0] * (vertices - 2)
    assert flow.side[0]
    assert not flow.side[1]
    cut = flow.side[src] & ~flow.side[dst]
    assert sum(c for c, out in zip(capacity, cut.tolist(), strict=True) if out) == flow.value


# -- Guesses at assignments: always a permutation, the same for the same seed, and on easy traffic the best


@pytest.mark.parametrize("n", [2, 5, 9])
def test_a_guess_is_a_permutation_and_depends_on_the_seed_alone(n: int) -> None:
    rng = np.random.default_rng(n)
    traffic, distance = rng.integers(0, 9, (2, n, n))
    guesses = [guess_places(traffic, distance, np.random.default_rng(7)).tolist() for _ in range(2)]
    assert sorted(guesses[0]) == list(range(n))
    assert guesses[0] == guesses[1]


def test_a_guess_is_better_than_the_average_place() -> None:
    rng = np.random.default_rng(4)
    traffic, distance = rng.integers(0, 9, (2, 6, 6))
    worth = {p: int((traffic * distance[np.ix_(p, p)]).sum()) for p in itertools.permutations(range(6))}
    found = worth[tuple(guess_places(traffic, distance, np.random.default_rng(1)).tolist())]
    assert min(worth.values()) <= found < sum(worth.values()) / len(worth)
