"""In-network multicast and aggregation: nobody misses anything, no link carries more, and what is saved."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.trees import TREE_COLLECTIVES, TreeCollective, fabric, tree_schedule
from topodesign.collectives import ALLGATHER
from topodesign.optima.forest.describe import Pruned, prune
from topodesign.plans.trees import Trees
from topodesign.topology.topology import Topology


def check_flow(pruned: Pruned, capable: frozenset[int]) -> None:
    """Replay the rows of every tree unit by unit; in-trees backwards."""
    schedule = pruned.schedule
    for tree, root in enumerate(schedule.root.tolist()):
        rows = np.flatnonzero(pruned.tree == tree).tolist()
        inward = tree < schedule.reduce_trees
        for unit in range(int(schedule.weight[tree])):
            has, passing = {root}, Counter[int]()
            for row in rows[::-1] if inward else rows:
                if not pruned.lo[row] <= unit < pruned.hi[row]:
                    continue
                src, dst = int(pruned.src[row]), int(pruned.dst[row])
                src, dst = (dst, src) if inward else (src, dst)
                if src in schedule.topology.switches - capable:
                    assert passing[src] > 0
                    passing[src] -= 1
                else:
                    assert src in has
                if dst in schedule.topology.switches - capable:
                    passing[dst] += 1
                else:
                    assert dst not in has
                    has.add(dst)
            assert has >= set(schedule.compute_nodes.tolist())
            assert not any(passing.values())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(TREE_COLLECTIVES), st.integers(2, 6), st.integers(1, 4), st.data())
def test_all_data_arrive_with_less_traffic(
    seed: int, collective: TreeCollective, nodes: int, switches: int, data: st.DataObject
) -> None:
    rng = random.Random(seed)  # noqa: S311
    schedule = tree_schedule(fabric(nodes, switches, rng), collective, rng, per_root=3)
    capable = frozenset(data.draw(st.sets(st.sampled_from(sorted(schedule.topology.switches)))))
    pruned = prune(schedule, capable, capable)
    check_flow(pruned, capable)
    assert np.all(pruned.after <= schedule.link_loads)
    assert 0 <= pruned.saved < 1
    assert 0 <= pruned.saved_at_nodes < 1
    assert pruned.height <= schedule.height
    if not capable:
        assert np.array_equal(pruned.after, schedule.link_loads)
        assert pruned.height == schedule.height


def star(nodes: int, collective: TreeCollective) -> Trees:
    """Nodes around one switch; the tree of each root is a path."""
    links = [pair for node in range(nodes) for pair in ((node, nodes), (nodes, node))]
    topology = Topology.from_links(nodes + 1, links, switches=[nodes])
    ways = [[(root + at) % nodes for at in range(nodes)] for root in range(nodes)]
    edges = [(root, u, v) for root, way in enumerate(ways) for u, v in pairwise(way)]
    tree, src, dst = (np.array(column, dtype=np.int64) for column in zip(*edges, strict=True))
    schedule = Trees(
        collective=ALLGATHER,
        topology=topology,
        rate=Fraction(1, nodes - 1),
        root=np.arange(nodes),
        weight=np.ones(nodes, dtype=np.int64),
        tree=tree,
        src=src,
        dst=dst,
        route_edge=np.arange(len(edges)),
        route_weight=np.ones(len(edges), dtype=np.int64),
        hop_start=3 * np.arange(len(edges) + 1),
        hop=np.stack((src, np.full_like(src, nodes), dst), axis=1).ravel(),
        reduce_trees=0,
    )
    return schedule if collective == "allgather" else schedule.reverse()


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter"])
@pytest.mark.parametrize("nodes", [2, 5, 8])
def test_around_one_switch_every_node_sends_its_own_data_once(collective: TreeCollective, nodes: int) -> None:
    schedule = star(nodes, collective)
    pruned = prune(schedule, frozenset({nodes}), frozenset({nodes}))
    near = 0 if collective == "reduce-scatter" else 1
    ends = schedule.topology.dst if collective == "reduce-scatter" else schedule.topology.src
    for node in range(nodes):
        assert pruned.before[near][ends == node].sum() == nodes - 1
        assert pruned.after[near][ends == node].sum() == 1
    assert pruned.saved_at_nodes == Fraction(nodes - 2, nodes - 1)
    assert pruned.saved == Fraction(nodes - 2, 2 * (nodes - 1))
    assert pruned.height == 1
    assert prune(schedule, frozenset(), frozenset()).saved == 0
    assert "instead of" in str(pruned)
