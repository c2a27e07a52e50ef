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
from topodesign.topology.positions import positions_of
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


# -- Positions: products are grids whose neighbours share a line, orbits are rings, and no two nodes are in one place


@pytest.mark.dear("genkautz(2,20)-springs")
@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        ("torus(5,3)", "grid"), ("torus(4,3,2)", "grid"), ("hypercube(5)", "grid"), ("hamming(2,4)", "grid"),
        ("power(circulant(5,1,2),2)", "grid"), ("product(complete(3),torus(4,3))", "grid"),
        ("circulant(12,2,3)", "rings"), ("kautz(2,3)", "rings"), ("genkautz(2,20)", "springs"),
        ("genkautz(4,500)", "rings"),
    ],
)  # fmt: skip
def test_every_node_has_a_place_of_its_own(spec: str, shape: str) -> None:
    topology = build(spec)
    found = positions_of(topology)
    assert found.shape == shape
    assert found.places.shape == (topology.nodes, 2)
    assert np.abs(found.places).max() <= 1 + 1e-9
    apart = np.abs(found.places[:, None] - found.places[None]).max(axis=2)
    assert apart[~np.eye(topology.nodes, dtype=bool)].min() > 1e-3
    assert np.array_equal(positions_of(topology).places, found.places)


@pytest.mark.parametrize("spec", ["torus(5,3)", "torus(4,3,2)", "hypercube(5)", "product(complete(3),torus(4,3))"])
def test_links_of_a_product_are_level_or_upright(spec: str) -> None:
    topology = build(spec)
    places = positions_of(topology).places
    across, up = np.abs(places[topology.src] - places[topology.dst]).T
    assert np.minimum(across, up).max() < 1e-9


def test_orbits_are_on_rings_of_their_own() -> None:
    topology = build("kautz(2,3)")
    assert topology.symmetry is not None
    radius = np.hypot(*positions_of(topology).places.T).round(9)
    rings = {(int(orbit), float(r)) for orbit, r in zip(topology.symmetry.represented_by, radius, strict=True)}
    assert len(rings) == len({orbit for orbit, _ in rings}) == len({r for _, r in rings})


def test_small_and_unconnected_topologies_are_drawn_too() -> None:
    pair = Topology.from_arrays(2, np.array([0, 1]), np.array([1, 0]))
    assert positions_of(pair).places.shape == (2, 2)
    apart = Topology.from_arrays(6, np.array([0, 1, 3, 4]), np.array([1, 0, 4, 3]))
    assert np.isfinite(positions_of(apart).places).all()
