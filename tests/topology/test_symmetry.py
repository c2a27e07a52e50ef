"""Symmetries: what is claimed is checked on the links, and every node is reached from its representative."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sympy.combinatorics import Permutation, PermutationGroup

from topodesign.base.errors import TopologyError
from topodesign.base.spec import parse
from topodesign.topology.groups import cyclic, group
from topodesign.topology.library import build
from topodesign.topology.symmetry import Symmetry, joined
from topodesign.topology.topology import Topology


def ring(nodes: int, capacity: int = 1) -> Topology:
    links = [(v, (v + 1) % nodes, capacity) for v in range(nodes)]
    return Topology.from_links(nodes, links)


@pytest.mark.parametrize(
    ("generator", "words"),
    [
        ([1, 2, 3, 0], None),
        ([2, 3, 0, 1], "node 1 is the image of no representative"),
        ([1, 0, 3, 2], "takes the link 0->1 to 1->0, which is no link"),
        ([1, 2, 3, 3], "no permutation"),
        ([1, 2, 3, 4], "no permutation"),
        ([-1, 0, 1, 2], "no permutation"),
        ([1, 2, 0], "no permutation of 4 nodes"),
    ],
)
def test_wrong_claims_are_found_out(generator: list[int], words: str | None) -> None:
    symmetry = Symmetry(4, (0,), lambda: [np.array(generator)])
    if words is None:
        symmetry.check(ring(4))
    else:
        with pytest.raises(TopologyError, match=words):
            symmetry.check(ring(4))


def test_capacities_and_switches_must_be_kept() -> None:
    turn = cyclic(3).action()
    with pytest.raises(TopologyError, match="no link of that capacity"):
        turn.check(Topology.from_links(3, [(0, 1), (1, 2), (2, 0, 2)]))
    with pytest.raises(TopologyError, match="takes a switch to a node that is none"):
        turn.check(Topology.from_links(3, [(0, 1), (1, 2), (2, 0)], switches=[1]))
    with pytest.raises(TopologyError, match="of 3 nodes, the topology has 4"):
        turn.check(ring(4))
    with pytest.raises(TopologyError, match="representatives must be among nodes 0 to 1"):
        Symmetry(2, (2,), tuple)


def test_generators_are_made_when_first_needed_and_once() -> None:
    calls = []

    def make() -> list[np.ndarray]:
        calls.append(1)
        return [np.array([1, 2, 0])]

    symmetry = Symmetry(3, (0,), make)
    topology = Topology.from_arrays(3, np.arange(3), np.array([1, 2, 0]), symmetry=symmetry)
    assert topology.vertex_transitive
    assert not calls
    assert symmetry.generators.tolist() == [[1, 2, 0]]
    assert symmetry.inverses.tolist() == [[2, 0, 1]]
    assert symmetry.generators.dtype == np.int32
    symmetry.check(topology)
    assert len(calls) == 1
    with pytest.raises(ValueError, match="read-only"):
        symmetry.generators[0, 0] = 0
    again = pickle.loads(pickle.dumps(symmetry))  # noqa: S301  our own
    assert np.array_equal(again.generators, symmetry.generators)


@given(st.lists(st.permutations(range(9)), max_size=4))
def test_orbits_are_what_the_generators_connect(generators: list[list[int]]) -> None:
    symmetry = Symmetry(9, tuple(range(9)), lambda: [np.array(row) for row in generators])
    reach = np.eye(9, dtype=np.int64)
    for row in generators:
        reach[np.arange(9), row] = 1
    together = np.linalg.matrix_power(reach, 9) > 0
    wanted = sorted({tuple(np.flatnonzero(row).tolist()) for row in together})
    assert [tuple(orbit.tolist()) for orbit in symmetry.orbits()] == wanted
    assert symmetry.orbit_of.tolist() == [int(np.argmax(row)) for row in together]


def test_orbits_join_whole_classes() -> None:
    first = np.arange(6)
    for generator in ([2, 1, 0, 3, 4, 5], [0, 4, 2, 3, 1, 5], [0, 1, 4, 3, 2, 5]):
        first = joined(first, np.array(generator))
    assert first.tolist() == [0, 0, 0, 3, 0, 5]


SPECS = ("circulant(11,2,3)", "cayley(symmetric(4),1,9)", "kneser(6,2)", "line(debruijn(2,3))", "mms(4)", "torus(3,4)")


@pytest.mark.parametrize("text", SPECS)
def test_every_node_is_reached_from_its_representative(text: str) -> None:
    topology = build(text)
    symmetry = topology.symmetry
    assert symmetry is not None
    reached = []
    for orbit in symmetry.orbits():
        representative = int(symmetry.represented_by[orbit[0]])
        assert representative in orbit
        assert representative in symmetry.representatives
        for node, permutation in symmetry.transversals(representative):
            assert permutation[representative] == node
            assert np.array_equal(permutation, symmetry.transversal(node))
            Symmetry(topology.nodes, tuple(range(topology.nodes)), partial(list, [permutation])).check(topology)
            reached.append(node)
        points = np.arange(0, topology.nodes, 3)
        nodes, images = symmetry.images(representative, points)
        assert sorted(nodes.tolist()) == orbit.tolist()
        for node, row in zip(nodes.tolist(), images, strict=True):
            assert np.array_equal(symmetry.transversal(node)[points], row)
    assert sorted(reached) == list(range(topology.nodes))


@given(st.lists(st.permutations(range(6)), max_size=2))
def test_free_groups_are_as_large_as_every_orbit(rows: list[list[int]]) -> None:
    symmetry = Symmetry(6, tuple(range(6)), lambda: [np.array(row) for row in rows])
    order = PermutationGroup([Permutation(row) for row in rows or [list(range(6))]]).order()
    assert symmetry.is_free == all(len(orbit) == order for orbit in symmetry.orbits())


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("circulant(11,2,3)", True), ("torus(3,4)", True), ("cayley(symmetric(4),1,9)", True), ("paley(9)", True),
        ("lift(complete(3),dihedral(4),1,2,3,4,5,6)", True), ("line(circulant(7,1,3),2)", True), ("crown(5)", True),
        ("product(torus(3,4),complete(3))", True), ("genkautz(2,11)", False), ("kneser(5,2)", False),
        ("line(uniring(3,4))", True), ("degree(genkautz(2,9),3)", False), ("mms(4)", False), ("cyclemesh(3,5)", True),
    ],
)  # fmt: skip
def test_families_are_free_where_the_group_is_the_graph(text: str, free: bool) -> None:
    symmetry = build(text).symmetry
    assert symmetry is not None
    assert symmetry.is_free == free
    order = PermutationGroup([Permutation(row) for row in symmetry.generators.tolist()]).order()
    assert free == all(len(orbit) == order for orbit in symmetry.orbits())


def test_nodes_of_no_orbit_are_refused() -> None:
    symmetry = Symmetry(4, (0, 1), lambda: [np.array([1, 0, 2, 3])])
    assert symmetry.represented_by.tolist() == [0, 0, -1, -1]
    for node in (2, 4, -1):
        with pytest.raises(TopologyError, match="the image of no representative"):
            symmetry.transversal(node)
    with pytest.raises(TopologyError, match="node 1 is represented by 0"):
        list(symmetry.transversals(1))
    with pytest.raises(TopologyError, match="node 1 is represented by 0"):
        symmetry.images(1, np.arange(4))
    with pytest.raises(TopologyError, match="the image of no representative"):
        _ = symmetry.is_free


@pytest.mark.parametrize("text", ["cyclic(12)", "abelian(2,2,4)", "dihedral(5)", "symmetric(4)", "psl2(5)"])
def test_groups_act_freely_on_themselves(text: str) -> None:
    base = group(parse(text))
    action = base.action(2)
    assert len(base.generators()) <= np.log2(base.order)
    assert [len(orbit) for orbit in action.orbits()] == [base.order] * 2
    for node, permutation in action.transversals(base.order):
        element = node - base.order
        assert permutation.tolist() == [*base.left(element).tolist(), *(base.left(element) + base.order).tolist()]
