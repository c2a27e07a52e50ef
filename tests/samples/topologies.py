"""Topologies that several tests draw."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from topodesign.topology.topology import Topology


@st.composite
def regular_digraphs(draw: st.DrawFn, most_nodes: int = 12, most_degree: int = 4) -> Topology:
    """A connected regular digraph with parallel links and self-loops: a cycle and random permutations."""
    nodes = draw(st.integers(2, most_nodes))
    degree = draw(st.integers(1, most_degree))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    targets = [np.roll(np.arange(nodes), -1), *(rng.permutation(nodes) for _ in range(degree - 1))]
    return Topology.from_arrays(nodes, np.tile(np.arange(nodes), degree), np.concatenate(targets))
