"""Isomorphisms: every order of the nodes is undone, and what is found is one."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.topologies import regular_digraphs
from topodesign import build
from topodesign.base.errors import InfeasibleError
from topodesign.topology.isomorphism import isomorphism, mirror
from topodesign.topology.topology import IntArray, Topology


def moved(topology: Topology, place: IntArray) -> Topology:
    """Node v under the number ``place[v]``."""
    return Topology.from_arrays(topology.nodes, place[topology.src], place[topology.dst], topology.capacity)


@settings(max_examples=80)
@given(regular_digraphs(), st.integers(0, 2**32))
def test_any_order_of_the_nodes_is_undone(topology: Topology, seed: int) -> None:
    other = moved(topology, np.random.default_rng(seed).permutation(topology.nodes))
    found = isomorphism(topology, other)
    assert found.decided
    assert found.place is not None
    assert topology == moved(other, np.array(found.place))


@settings(max_examples=80)
@given(regular_digraphs(7, 3), regular_digraphs(7, 3))
def test_there_is_one_exactly_where_networkx_has_one(one: Topology, other: Topology) -> None:
    match = nx.isomorphism.numerical_edge_match("capacity", 1)
    wanted = nx.is_isomorphic(one.to_networkx(), other.to_networkx(), edge_match=match)
    found = isomorphism(one, other)
    assert found.decided
    assert (found.place is not None) == wanted


def test_capacities_count() -> None:
    ring = Topology.from_links(4, [(0, 1, 2), (1, 2, 1), (2, 3, 2), (3, 0, 1)])
    assert isomorphism(ring, moved(ring, np.array([1, 2, 3, 0]))).place is not None
    other = Topology.from_links(4, [(0, 1, 2), (1, 2, 2), (2, 3, 1), (3, 0, 1)])
    assert (isomorphism(ring, other).place, isomorphism(ring, other).decided) == (None, True)


@pytest.mark.parametrize("text", ["debruijn(2,4)", "kautz(2,2)", "hypercube(3)", "cayley(dihedral(4),1,5)"])
def test_a_mirror_turns_every_link_round(text: str) -> None:
    topology = build(text)
    assert topology == moved(topology.transpose(), mirror(topology))


def test_a_topology_without_a_mirror_is_told() -> None:
    with pytest.raises(InfeasibleError, match="not isomorphic to its transpose"):
        mirror(build("genkautz(2,7)"))
