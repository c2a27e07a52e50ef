"""Trees of a few roots, shifted for all: the optimum is kept, and they are as low as trees can be on many fabrics."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.topologies import regular_digraphs
from tests.samples.tree_tables import forest_schedule
from tests.samples.verdicts import verify_trees
from topodesign import as_fabric
from topodesign.optima.forest.bottleneck import optimum
from topodesign.optima.forest.low_trees import build_shifted_trees, find_low_trees
from topodesign.optima.forest.packing import pack_trees
from topodesign.optima.forest.switch_removal import remove_switches
from topodesign.optima.forest.tree_counts import find_fixed_optimum
from topodesign.topology.shifts import find_shifts
from topodesign.topology.topology import Topology


def least_height(topology: Topology) -> int:
    """No tree is lower than the farthest node is away, where switches on the way do not count."""
    graph = topology.to_networkx()
    for _, v, data in graph.edges(data=True):
        data["weight"] = int(v not in topology.switches)
    compute = [node for node in graph if node not in topology.switches]
    lengths = {u: nx.single_source_dijkstra_path_length(graph, u) for u in compute}
    return max(int(lengths[u][v]) for u in compute for v in compute)


@pytest.mark.parametrize(
    ("spec", "height"),
    [
        ("dgx_a100(1)", 1),
        ("dgx_a100(2)", 2),
        ("dgx_a100(4)", 2),
        ("dgx_a100(8)", 2),
        ("dgx_a100(16)", 2),
        ("dgx_h100(8)", 2),
        ("dgx_a100_rails(4)", 2),
        ("dgx_a100_pcie(3)", 2),
        ("mi300x(3)", 2),
        ("rail_optimised(5,6)", 2),
        ("fat_tree(4,4,2,2)", 2),
        ("dragonfly(5,2,2)", 2),
        ("torus(5,5)", 4),
        ("torus(8,8)", 8),
        ("torus(4,3,5)", 5),
        ("hypercube(6)", 6),
        ("circulant(30,1,7)", 5),
        ("complete(9)", 1),
    ],
)
def test_heights_at_the_optimum(spec: str, height: int) -> None:
    topology = as_fabric(spec).topology
    best = optimum(topology)
    for collective in ("allgather", "reduce-scatter"):
        schedule = forest_schedule(topology, collective)
        report = verify_trees(schedule, best.inverse_rate)
        assert report.ok, str(report)
        assert report.height == height
    assert height <= least_height(topology) + 1


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_a_given_number_of_trees(k: int) -> None:
    for spec in ("dgx_a100(2)", "torus(4,4)", "dgx1_v100(2)", "circulant(9,1,2)"):
        topology = as_fabric(spec).topology
        schedule = forest_schedule(topology, "allgather", k=k)
        assert verify_trees(schedule, find_fixed_optimum(topology, k).inverse_rate).ok
        assert schedule.weight.sum() == k * len(schedule.compute_nodes)


@settings(max_examples=12, deadline=None)
@given(regular_digraphs(most_nodes=6), st.integers(2, 3), st.integers(0, 2**32))
def test_copies_of_any_boxes(box: Topology, boxes: int, seed: int) -> None:
    """Boxes, alike but irregular, around a switch: as fast as the cuts allow, and no higher than without symmetry."""
    rng = np.random.default_rng(seed)
    nic = rng.integers(0, 3, box.nodes)
    nic[rng.integers(box.nodes)] += 1
    links = [(copy * box.nodes + u, copy * box.nodes + v, c) for copy in range(boxes) for u, v, c in box.links()]
    middle = boxes * box.nodes
    for copy in range(boxes):
        for node, capacity in enumerate(nic.tolist()):
            if capacity:
                links += [(copy * box.nodes + node, middle, capacity), (middle, copy * box.nodes + node, capacity)]
    topology = Topology.from_links(middle + 1, links, switches=[middle])
    found = find_shifts(topology)
    assert found is not None
    assert found.order >= boxes
    best = optimum(topology)
    schedule = forest_schedule(topology, "allgather")
    assert verify_trees(schedule, best.inverse_rate).ok
    k = int(schedule.weight.sum()) // len(schedule.compute_nodes)
    fixed = find_fixed_optimum(topology, k, best=best)
    split = remove_switches(fixed.topology, k)
    plain = pack_trees(split.topology, [(node, k) for node in range(len(split.nodes))])
    assert len(found.representatives) == 1 or schedule.height <= plain.heights.max()


@pytest.mark.dear
def test_boxes_of_irregular_links() -> None:
    """Eight kinds of dies: the trees of plain packing are the beginning, and come down from height 9."""
    topology = as_fabric("mi250(1)").topology
    schedule = forest_schedule(topology, "allgather")
    assert verify_trees(schedule, optimum(topology).inverse_rate).ok
    assert schedule.height <= 6


def test_where_none_are_found() -> None:
    topology = as_fabric("mesh(4,4)").topology
    fixed = find_fixed_optimum(topology, 2)
    demand = np.full(16, 2)
    assert build_shifted_trees(topology, forest_schedule(topology, "allgather").collective, fixed, demand, None) is None
    ring = as_fabric("uniring(1,9)").topology
    group = find_shifts(ring)
    assert group is not None
    assert find_low_trees(group, [9]) is None  # a link has room for one
    assert find_low_trees(group, [1], below=8) is None


@pytest.mark.thorough
def test_hundreds_of_fabrics_keep_their_rates() -> None:
    """Random fabrics and copies of them, compared with what packing without symmetry makes."""
    rng = np.random.default_rng(11)
    lower = 0
    for _ in range(200):
        nodes, boxes = int(rng.integers(2, 8)), int(rng.integers(1, 4))
        ends = np.concatenate(
            [np.stack((p, np.roll(p, -1))) for p in (rng.permutation(nodes) for _ in range(3))], axis=1
        )
        capacity = np.repeat(rng.integers(1, 6, 3), nodes)
        middle = boxes * nodes
        links = [
            (copy * nodes + int(u), copy * nodes + int(v), int(c))
            for copy in range(boxes)
            for u, v, c in zip(*ends, capacity, strict=True)
        ]
        for copy in range(boxes):
            links += [(copy * nodes, middle, 2), (middle, copy * nodes, 2)]
        topology = Topology.from_links(middle + 1, links, switches=[middle])
        best = optimum(topology)
        schedule = forest_schedule(topology, "allgather")
        assert verify_trees(schedule, best.inverse_rate).ok
        k = int(schedule.weight.sum()) // len(schedule.compute_nodes)
        fixed = find_fixed_optimum(topology, k, best=best)
        split = remove_switches(fixed.topology, k)
        plain = pack_trees(split.topology, [(node, k) for node in range(len(split.nodes))])
        lower += schedule.height < plain.heights.max()
        assert schedule.inverse_rate == best.inverse_rate
    assert lower >= 5
