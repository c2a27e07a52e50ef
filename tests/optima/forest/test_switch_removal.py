"""Switches replaced by logical links: no cut gets too small, and no link of the fabric carries more than it can."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.forest import a100, duplex, fabrics, mi250, worst_ratio
from topodesign.base.errors import InfeasibleError, TooLargeError, TopologyError
from topodesign.optima.forest.bottleneck import optimum, tree_capacities
from topodesign.optima.forest.switch_removal import Split, remove_switches
from topodesign.optima.forest.tree_counts import find_fixed_optimum
from topodesign.topology.topology import MAX_CAPACITY, Topology


def check_routes(fabric: Topology, split: Split) -> None:
    """Hold every route against the links of the fabric, and the routes of a logical link against its capacity."""
    load = dict.fromkeys(((u, v) for u, v, _ in fabric.links()), 0)
    carried = np.zeros(len(split.topology.src), dtype=np.int64)
    for route, (link, amount) in enumerate(zip(split.route_link.tolist(), split.route_amount.tolist(), strict=True)):
        path = split.hop[split.hop_start[route] : split.hop_start[route + 1]].tolist()
        assert path[0] == split.nodes[split.topology.src[link]]
        assert path[-1] == split.nodes[split.topology.dst[link]]
        assert fabric.switches.issuperset(path[1:-1])
        assert len(set(path)) == len(path)
        assert amount > 0
        carried[link] += amount
        for u, v in itertools.pairwise(path):
            load[u, v] += amount
    assert np.array_equal(carried, split.topology.capacity)
    assert split.hop_start[-1] == len(split.hop)
    assert all(load[u, v] <= capacity for u, v, capacity in fabric.links())


@settings(max_examples=100, deadline=None)
@given(fabrics(), st.sampled_from([1, 2, 8]), st.data())
def test_no_cut_becomes_too_small(topology: Topology, fan: int, data: st.DataObject) -> None:
    count = topology.nodes - len(topology.switches)
    sizes = data.draw(st.lists(st.integers(0, 4), min_size=count, max_size=count).filter(any))
    best = optimum(topology, weights=sizes)
    fabric = tree_capacities(topology, best.tree_rate)
    trees = [best.trees * size for size in sizes]
    split = remove_switches(fabric, trees, fan=fan)
    check_routes(fabric, split)
    assert worst_ratio(split.topology, np.array(trees)) == 1


@settings(max_examples=60, deadline=None)
@given(fabrics(one_way=True, most_capacity=30), st.integers(1, 4), st.sampled_from([1, 2, 8]))
def test_fixed_trees_on_one_way_fabrics(topology: Topology, trees: int, fan: int) -> None:
    fixed = find_fixed_optimum(topology, trees)
    split = remove_switches(fixed.topology, trees, fan=fan)
    check_routes(fixed.topology, split)
    assert worst_ratio(split.topology, np.full(len(split.nodes), trees)) <= 1


@pytest.mark.parametrize("fan", [1, 8])
@pytest.mark.parametrize("topology", [a100(2), a100(4), mi250(2)])
def test_real_fabrics(topology: Topology, fan: int) -> None:
    """A library's maximum flow agrees that every node still gets a tree of every root."""
    best = optimum(topology)
    fabric = tree_capacities(topology, best.tree_rate)
    split = remove_switches(fabric, best.trees, fan=fan)
    check_routes(fabric, split)
    graph = split.topology.to_networkx()
    graph.add_edges_from((("source", node) for node in range(len(split.nodes))), capacity=best.trees)
    for sink in range(len(split.nodes)):
        assert nx.maximum_flow_value(graph, "source", sink) == best.trees * len(split.nodes)


def test_unbalanced_compute_nodes_are_no_obstacle() -> None:
    """Only at switches does as much have to go in as comes out."""
    links = [(0, 3, 5), (1, 3, 2), (3, 2, 4), (3, 1, 3), (2, 0, 4), (1, 0, 2), (2, 1, 1)]
    topology = Topology.from_links(4, links, switches=[3])
    best = optimum(topology)
    split = remove_switches(tree_capacities(topology, best.tree_rate), best.trees)
    assert worst_ratio(split.topology, np.full(3, best.trees)) == 1


def test_a_switch_becomes_what_it_offers() -> None:
    """Spread evenly, eight nodes on one switch see each other directly."""
    split = remove_switches(tree_capacities(a100(1), optimum(a100(1)).tree_rate), 1)
    assert split.topology == Topology.from_links(8, [(u, v) for u in range(8) for v in range(8) if u != v])
    assert all(split.hop[1::3] == 8)


def test_switches_behind_switches() -> None:
    """A two-level tree of switches: routes lead up and down again."""
    edges = [(node, 4 + node // 2, 2) for node in range(4)] + [(4, 6, 4), (5, 6, 4)]
    fabric = duplex(7, edges, range(4, 7))
    best = optimum(fabric)
    scaled = tree_capacities(fabric, best.tree_rate)
    split = remove_switches(scaled, best.trees)
    check_routes(scaled, split)
    assert max(np.diff(split.hop_start)) == 5


def test_without_switches_nothing_changes() -> None:
    topology = Topology.from_links(3, [(0, 1, 2), (1, 2, 2), (2, 0, 2), (1, 1)])
    split = remove_switches(topology, 1)
    assert split.topology == Topology.from_links(3, [(0, 1, 2), (1, 2, 2), (2, 0, 2)])
    assert split.hop.tolist() == [0, 1, 1, 2, 2, 0]


def test_what_cannot_be_split() -> None:
    fabric = duplex(3, [(0, 2, 2), (1, 2, 2)], range(2, 3))
    with pytest.raises(InfeasibleError, match="that many trees"):
        remove_switches(fabric, 3)
    with pytest.raises(TopologyError, match="switch 2"):
        remove_switches(Topology.from_links(3, [(0, 2, 2), (2, 1), (1, 0)], switches=[2]), 1)
    with pytest.raises(TooLargeError, match="switch 2"):
        remove_switches(duplex(3, [(0, 2, MAX_CAPACITY), (1, 2, MAX_CAPACITY)], range(2, 3)), 1)
