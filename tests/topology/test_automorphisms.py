"""Automorphisms that are searched for: each keeps the links, and symmetric topologies have one orbit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given

from tests.samples.topologies import regular_digraphs
from topodesign import build
from topodesign.topology.automorphisms import find_symmetry, link_classes
from topodesign.topology.topology import Topology


def keeps(topology: Topology, permutation: np.ndarray) -> bool:
    return (
        Topology.from_arrays(topology.nodes, permutation[topology.src], permutation[topology.dst], topology.capacity)
        == topology
    )


@given(regular_digraphs())
def test_every_generator_is_an_automorphism_that_keeps_the_colours(topology: Topology) -> None:
    for colours in (np.zeros(topology.nodes, dtype=np.int64), np.arange(topology.nodes) % 2):
        for generator in find_symmetry(topology, colours).generators:
            assert keeps(topology, generator)
            assert np.array_equal(colours[generator], colours)


@pytest.mark.parametrize(
    "text", ["hypercube(3)", "torus(3,4)", "uniring(1,7)", "cayley(dihedral(4),1,5)", "complete(5)"]
)
def test_links_of_symmetric_topologies_are_alike(text: str) -> None:
    topology = build(text)
    found = find_symmetry(topology, np.zeros(topology.nodes, dtype=np.int64))
    pairs = [((u, v),) for u, v, _ in topology.links()]
    classes = link_classes(found, pairs)
    assert len(set(classes)) == {"torus(3,4)": 2, "cayley(dihedral(4),1,5)": 2}.get(text, 1)
    assert len(set(link_classes(found, [*pairs, (*pairs[0], *pairs[0])]))) == len(set(classes)) + 1


@given(regular_digraphs(6, 3))
def test_all_automorphisms_are_found(topology: Topology) -> None:
    """Two nodes are in one orbit exactly if some order of the nodes keeps the links and takes one to the other."""
    orders = [np.array(order) for order in itertools.permutations(range(topology.nodes))]
    able = [order for order in orders if keeps(topology, order)]
    found = find_symmetry(topology)
    assert found.orbit_of.tolist() == [min(int(order[node]) for order in able) for node in range(topology.nodes)]
