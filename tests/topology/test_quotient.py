"""Sources and links up to symmetry, and classes of what looks alike where no symmetry is known."""

from __future__ import annotations

import numpy as np
import pytest

from topodesign.base.errors import DisconnectedError, TopologyError
from topodesign.topology.classes import equitable_classes
from topodesign.topology.library import build
from topodesign.topology.quotient import fixed_orbits, quotient
from topodesign.topology.topology import Topology


def test_what_has_no_quotient_is_refused() -> None:
    with pytest.raises(DisconnectedError):
        quotient(Topology.from_links(3, [(0, 1), (1, 2), (2, 1)]))
    with pytest.raises(TopologyError, match="2 nodes"):
        quotient(Topology.from_links(1, [(0, 0)]))
    with pytest.raises(TopologyError, match="switches"):
        quotient(Topology.from_links(3, [(0, 2), (2, 0), (1, 2), (2, 1)], switches=[2]))


def test_links_that_a_node_cannot_tell_apart() -> None:
    """The smallest link of every orbit is in its own, and orbits have all the room that there is."""
    topology = build("hypercube(3)")
    assert topology.symmetry is not None
    orbit = fixed_orbits(topology, topology.symmetry, 0)
    assert np.array_equal(orbit[orbit], orbit)
    assert np.all(orbit <= np.arange(len(orbit)))
    assert quotient(topology).room.sum() == topology.capacity.sum()


def test_what_looks_alike_is_found_whatever_the_numbers() -> None:
    """Classes are never more than orbits: a torus looks the same from all nodes, however they are numbered."""
    topology = build("torus(5,5)")
    nodes, rng = topology.nodes, np.random.default_rng(1)
    everyone, mark = np.ones((nodes, nodes), dtype=np.int64), np.zeros(len(topology.src), dtype=np.int64)
    found = equitable_classes(topology, np.arange(nodes), everyone, mark)
    assert found.load.max() == 0
    assert len(np.unique(found.vertex)) == 6  # distances 0, 1, 2 in either dimension, in any order
    place = rng.permutation(nodes)
    moved = Topology.from_arrays(nodes, place[topology.src], place[topology.dst], topology.capacity)
    again = equitable_classes(moved, place, everyone, mark)
    assert len(np.unique(again.vertex)) == 6
    mark[0] = 1
    assert equitable_classes(topology, np.arange(nodes), everyone, mark).load.max() > 0
