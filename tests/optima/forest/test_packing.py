"""Tree packings: every tree spans, every root has its number, no link is in more trees than it can be."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import few
from tests.samples.forest import cuts, fabrics
from tests.samples.topologies import regular_digraphs
from topodesign import build
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.optima.forest.bottleneck import optimum, tree_capacities
from topodesign.optima.forest.packing import MAX_TREES, Packing, pack_trees
from topodesign.topology.topology import Topology


def check(topology: Topology, packing: Packing, wanted: dict[int, int]) -> None:
    load = dict.fromkeys(((u, v) for u, v, _ in topology.links()), 0)
    rooted = dict.fromkeys(wanted, 0)
    assert packing.order.shape == packing.parent.shape == (len(packing.root), topology.nodes)
    for tree, (root, weight) in enumerate(zip(packing.root.tolist(), packing.weight.tolist(), strict=True)):
        order, parent = packing.order[tree].tolist(), packing.parent[tree].tolist()
        assert order[0] == root
        assert parent[root] == -1
        assert sorted(order) == list(range(topology.nodes))
        depth = {root: 0}
        for node in order[1:]:
            depth[node] = depth[parent[node]] + 1  # a KeyError if the parent comes later
            load[parent[node], node] += weight
        assert packing.heights[tree] == max(depth.values())
        assert weight > 0
        rooted[root] += weight
    assert rooted == wanted
    assert all(load[u, v] <= capacity for u, v, capacity in topology.links())
    rows = np.column_stack((packing.root, packing.parent))
    assert len(np.unique(rows, axis=0)) == len(rows)


@settings(max_examples=150, deadline=None)
@given(fabrics(), st.data())
def test_any_roots_that_the_cuts_allow(fabric: Topology, data: st.DataObject) -> None:
    topology = Topology.from_links(fabric.nodes, fabric.links())
    sizes = data.draw(st.lists(st.integers(0, 5), min_size=topology.nodes, max_size=topology.nodes).filter(any))
    best = optimum(topology, weights=sizes)
    wanted = {node: best.trees * size for node, size in enumerate(sizes) if size}
    network = tree_capacities(topology, best.tree_rate)
    check(network, pack_trees(network, list(wanted.items())), wanted)


def test_thousands_of_random_networks() -> None:
    """Networks of any shape, with and without spare capacity: as many trees as the cuts allow, and no more."""
    rng = np.random.default_rng(5)
    possible = 0
    networks = few(range(3000))
    for _ in networks:
        nodes = int(rng.integers(2, 7))
        ends = rng.integers(0, nodes, (2, int(rng.integers(2 * nodes, 6 * nodes))))
        topology = Topology.from_arrays(nodes, ends[0], ends[1], rng.integers(1, 8, len(ends[0])))
        numbers = rng.integers(1, 6, nodes)
        wanted = dict(enumerate(numbers.tolist()))
        needed, out = cuts(topology, numbers)
        if np.all(needed <= out @ topology.capacity):
            check(topology, pack_trees(topology, list(wanted.items())), wanted)
            possible += 1
        else:
            with pytest.raises(InfeasibleError):
                pack_trees(topology, list(wanted.items()))
    assert len(networks) < 6 * possible < 5 * len(networks)


@settings(max_examples=50, deadline=None)
@given(regular_digraphs(most_nodes=20))
def test_regular_digraphs(topology: Topology) -> None:
    best = optimum(topology)
    network = tree_capacities(topology, best.tree_rate)
    wanted = dict.fromkeys(range(topology.nodes), best.trees)
    check(network, pack_trees(network, list(wanted.items())), wanted)


@pytest.mark.parametrize(
    "spec",
    [
        "torus(5,5)",
        "hypercube(5)",
        "genkautz(3,30)",
        "complete(9)",
        pytest.param("torus(3,4,5)", marks=pytest.mark.thorough),
    ],
)
def test_trees_are_low(spec: str) -> None:
    """No tree is lower than the eccentricity of its root; ours are at most two levels higher on these."""
    topology = build(spec)
    best = optimum(topology)
    network = tree_capacities(topology, best.tree_rate)
    wanted = dict.fromkeys(range(topology.nodes), best.trees)
    packing = pack_trees(network, list(wanted.items()))
    check(network, packing, wanted)
    distances = dict(nx.all_pairs_shortest_path_length(topology.to_networkx()))
    reach = np.array([max(distances[root].values()) for root in packing.root.tolist()])
    assert np.all(packing.heights >= reach)
    assert packing.heights.max() <= reach.max() + 2


def test_weights_do_not_cost_time() -> None:
    """With all capacities a thousand times larger, equal trees stay one; their number hardly depends on k."""
    topology = build("torus(4,4)")
    for factor in (1, 1000, 10**6):
        network = Topology.from_arrays(16, topology.src, topology.dst, topology.capacity * 15 * factor)
        packing = pack_trees(network, [(node, 4 * factor) for node in range(16)])
        assert packing.weight.sum() == 64 * factor
        assert len(packing.root) < 16 * 8


def test_one_root() -> None:
    """As many trees from one root as the least maximum flow to any node (Edmonds)."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        nodes = int(rng.integers(2, 9))
        ends = rng.integers(0, nodes, (2, 5 * nodes))
        topology = Topology.from_arrays(nodes, ends[0], ends[1], rng.integers(1, 10, 5 * nodes))
        graph = topology.to_networkx()
        most = min(nx.maximum_flow_value(graph, 0, node) for node in range(1, nodes))
        if most:
            check(topology, pack_trees(topology, [(0, most)]), {0: most})
        with pytest.raises(InfeasibleError):
            pack_trees(topology, [(0, most + 1)])


def test_alone() -> None:
    packing = pack_trees(Topology.from_links(1, []), [(0, 3)])
    assert packing.weight.tolist() == [3]
    assert packing.heights.tolist() == [0]


def test_self_loops_carry_nothing() -> None:
    topology = Topology.from_links(2, [(0, 0, 9), (0, 1, 2), (1, 0, 2)])
    check(topology, pack_trees(topology, [(0, 2), (1, 2)]), {0: 2, 1: 2})
    with pytest.raises(InfeasibleError):
        pack_trees(topology, [(0, 3)])


PAIR = Topology.from_links(2, [(0, 1, 5), (1, 0, 5)])


@pytest.mark.parametrize(
    ("topology", "roots", "error"),
    [
        (PAIR, [(0, MAX_TREES), (1, 1)], TooLargeError),
        (PAIR, [(0, 6)], InfeasibleError),
        (Topology.from_links(2, [(0, 1)]), [(1, 1)], InfeasibleError),
        (Topology.from_links(3, []), [(1, 1)], InfeasibleError),
    ],
)
def test_what_cannot_be(topology: Topology, roots: list[tuple[int, int]], error: type[Exception]) -> None:
    with pytest.raises(error):
        pack_trees(topology, roots)
