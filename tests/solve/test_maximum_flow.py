"""Maximum flows against networkx, with cuts that prove them, for capacities of any size."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign.solve.maxflow import maximum_flow


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
