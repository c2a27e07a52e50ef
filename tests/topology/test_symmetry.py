"""Symmetries: what is claimed is checked on the links, and every node is reached from its representative."""

from __future__ import annotations

import itertools
import pickle
from functools import partial

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy.combinatorics import Permutation, PermutationGroup

from tests.samples.forest import fabrics
from tests.samples.topologies import regular_digraphs
from topodesign import as_fabric
from topodesign.base.errors import DisconnectedError, InfeasibleError, TopologyError
from topodesign.base.spec import parse
from topodesign.topology.automorphisms import find_symmetry, link_classes
from topodesign.topology.classes import equitable_classes
from topodesign.topology.groups import cyclic, group
from topodesign.topology.isomorphism import isomorphism, mirror
from topodesign.topology.library import build
from topodesign.topology.positions import positions_of
from topodesign.topology.quotient import find_fixed_orbits, quotient
from topodesign.topology.shifts import distinct_nodes, find_shifts
from topodesign.topology.symmetry import Symmetry, join_orbits
from topodesign.topology.topology import IntArray, Topology


def ring(nodes: int, capacity: int = 1) -> Topology:
    links = [(v, (v + 1) % nodes, capacity) for v in range(nodes)]
    return Topology.from_links(nodes, links)


@pytest.mark.parametrize(
    ("generator", "words"),
    [
        ([1, 2, 3, 0], None),
        ([2, 3, 0, 1], "node 1 is the image of no representative"),
        ([1, 0, 3, 2], "takes the link 0->1 to 1->0, which is not a link"),
        ([1, 2, 3, 3], "not a permutation"),
        ([1, 2, 3, 4], "not a permutation"),
        ([-1, 0, 1, 2], "not a permutation"),
        ([1, 2, 0], "not a permutation of 4 nodes"),
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
    with pytest.raises(TopologyError, match="not a link of that capacity"):
        turn.check(Topology.from_links(3, [(0, 1), (1, 2), (2, 0, 2)]))
    with pytest.raises(TopologyError, match="maps a switch to a node"):
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
        first = join_orbits(first, np.array(generator))
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


# -- Sources and links up to symmetry, and classes of what looks alike where no symmetry is known


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
    orbit = find_fixed_orbits(topology, topology.symmetry, 0)
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


# -- Shifts: automorphisms that move every node, found from the numbers of the nodes and proved on the links


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


# -- Automorphisms that are searched for: each keeps the links, and symmetric topologies have one orbit


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


# -- isomorphisms: every order of the nodes is undone, and what is found is one ---------------------------------------


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
