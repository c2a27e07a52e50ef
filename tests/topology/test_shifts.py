"""Shifts: automorphisms that move every node, found from the numbers of the nodes and proved on the links."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.samples.forest import fabrics
from topodesign import as_fabric
from topodesign.topology.shifts import distinct_nodes, find_shifts
from topodesign.topology.topology import Topology


def check(topology: Topology) -> int:
    """All elements are automorphisms, different, and move all nodes; return how many."""
    shifts = find_shifts(topology)
    if shifts is None:
        return 1
    compute = np.array([node for node in range(topology.nodes) if node not in topology.switches])
    assert shifts.elements.shape == (shifts.order, topology.nodes)
    assert np.array_equal(shifts.elements[0], np.arange(topology.nodes))
    for element in shifts.elements:
        assert sorted(element.tolist()) == list(range(topology.nodes))
        image = Topology.from_arrays(
            topology.nodes,
            element[topology.src],
            element[topology.dst],
            topology.capacity,
            switches=element[sorted(topology.switches)].tolist(),
        )
        assert image == topology
    images = shifts.elements[:, compute]
    for column in images.T:
        assert len(set(column.tolist())) == shifts.order  # no element but the identity leaves a node where it is
    covered = images[:, np.searchsorted(compute, shifts.representatives)]
    assert sorted(covered.ravel().tolist()) == compute.tolist()
    orbit, size = shifts.link_orbits
    assert np.array_equal(np.bincount(orbit), size)
    assert all(shifts.order % one == 0 for one in size.tolist())
    for element in shifts.elements:
        assert np.array_equal(orbit[topology.link_index(element[topology.src], element[topology.dst])], orbit)
    return shifts.order


@pytest.mark.parametrize(
    ("spec", "order"),
    [
        ("dgx_a100(1)", 8),
        ("dgx_a100(3)", 24),
        ("dgx_h100(4)", 32),
        ("dgx_a100_links(2)", 16),
        ("mi250(2)", 4),
        ("torus(4,3,2)", 24),
        ("hypercube(5)", 32),
        ("complete(7)", 7),
        ("circulant(12,1,5)", 12),
        ("fat_tree(3,4,2)", 12),
        ("dragonfly(5,4,2)", 10),
        ("cayley(dihedral(5),1,6)", 10),
    ],
)
def test_the_groups_of_fabrics(spec: str, order: int) -> None:
    assert check(as_fabric(spec).topology) == order


@given(fabrics())
@settings(deadline=None)
def test_what_is_found_on_any_fabric_is_a_free_group(topology: Topology) -> None:
    check(topology)


def test_a_failure_is_noticed() -> None:
    fabric = as_fabric("dgx_a100(4)")
    whole = find_shifts(fabric.topology)
    assert whole is not None
    assert whole.on(fabric.topology) is not None
    left = fabric.without(links=[("box1/gpu2", "rail0")])
    assert find_shifts(left.topology) is None
    assert whole.on(left.topology) is None
    other = find_shifts(fabric.without(vertices=["box0/gpu0"]).topology)
    assert other is None


def test_numbers_that_break_the_symmetry_are_noticed() -> None:
    topology = as_fabric("torus(4,4)").topology
    equal = np.ones(16, dtype=np.int64)
    assert distinct_nodes(topology, equal).tolist() == [0]
    assert len(distinct_nodes(topology, np.arange(16))) == 16
    assert len(distinct_nodes(topology, equal, np.arange(64))) == 16
    assert distinct_nodes(topology, equal, topology.capacity).tolist() == [0]
