"""Orders of nodes: the same, however nodes are numbered, and so is what deferral finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import few
from tests.samples.topologies import regular_digraphs
from topodesign.pricing.node_order import node_order
from topodesign.pricing.split_deferral import best_deferral
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


def renamed(topology: Topology, places: np.ndarray) -> Topology:
    """Return the topology with each node called by its place, without its symmetry."""
    return Topology.from_arrays(topology.nodes, places[topology.src], places[topology.dst], topology.capacity)


def in_order(topology: Topology) -> Topology:
    return renamed(topology, np.argsort(node_order(topology)))


@given(regular_digraphs(14, 4), st.integers(0, 2**32))
@settings(max_examples=60)
def test_the_order_says_nothing_of_numbers(topology: Topology, seed: int) -> None:
    order = node_order(topology)
    assert sorted(order) == list(range(topology.nodes))
    other = renamed(topology, np.random.default_rng(seed).permutation(topology.nodes))
    assert in_order(other) == in_order(topology)


@pytest.mark.parametrize("links", [[], [(1, 2)], [(3, 0), (3, 1), (1, 3)]])
def test_nodes_without_links_have_a_place(links: list[tuple[int, int]]) -> None:
    topology = Topology.from_links(4, links)
    for seed in range(6):
        other = renamed(topology, np.random.default_rng(seed).permutation(4))
        assert sorted(node_order(other)) == [0, 1, 2, 3]
        assert in_order(other) == in_order(topology)


@pytest.mark.parametrize("spec", ["randomregulargraph(40,3,1)", "torus(4,6)", "genkautz(3,40)", "complete(70)"])
def test_regular_and_symmetric_topologies_have_one_too(spec: str) -> None:
    topology = build(spec)
    for seed in range(4):
        other = renamed(topology, np.random.default_rng(seed).permutation(topology.nodes))
        assert in_order(other) == in_order(topology)


@pytest.mark.parametrize("spec", ["randomregulargraph(22,4,0)", "genkautz(3,20)", "randomregular(24,3,1)"])
def test_deferred_prices_are_within_one_percent_however_nodes_are_numbered(spec: str) -> None:
    topology = build(spec)
    ways = [renamed(topology, np.random.default_rng(seed).permutation(topology.nodes)) for seed in few(range(8))]
    prices = [best_deferral(way).cost(way).bandwidth for way in (topology, *ways)]
    assert 100 * max(prices) <= 101 * min(prices)
