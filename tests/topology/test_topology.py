"""The topology: what makes one, what is refused, and its properties against plain Python on the list of links."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError, TooLargeError, TopologyError
from topodesign.base.spec import parse
from topodesign.fabrics.places import as_fabric, as_topology
from topodesign.topology.groups import cyclic
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import MAX_CAPACITY, MAX_LINKS, MAX_NODES, Topology, check_buildable

Link = tuple[int, int, int]
Drawn = tuple[int, list[Link]]


@st.composite
def drawn(draw: st.DrawFn, most: int = 7) -> Drawn:
    """A number of nodes and links in any order, with repeats and self-loops."""
    nodes = draw(st.integers(1, most))
    node = st.integers(0, nodes - 1)
    return nodes, draw(st.lists(st.tuples(node, node, st.integers(1, 5)), max_size=20))


def merged(links: list[Link]) -> dict[tuple[int, int], int]:
    total: Counter[tuple[int, int]] = Counter()
    for u, v, capacity in links:
        total[u, v] += capacity
    return dict(total)


@given(drawn())
def test_links_are_merged_and_sorted(graph: Drawn) -> None:
    nodes, links = graph
    topology = Topology.from_links(nodes, links)
    expected = merged(links)
    assert topology.links() == [(u, v, c) for (u, v), c in sorted(expected.items())]
    for array in (topology.src, topology.dst, topology.capacity):
        assert array.dtype == np.int64
        assert array.shape == (len(expected),)


@given(drawn(), st.data())
def test_order_of_links_does_not_matter(graph: Drawn, data: st.DataObject) -> None:
    nodes, links = graph
    topology = Topology.from_links(nodes, links)
    shuffled = Topology.from_links(nodes, data.draw(st.permutations(links)))
    assert shuffled == topology
    assert hash(shuffled) == hash(topology)


@given(drawn())
def test_parallel_links_are_one_link_with_their_capacity(graph: Drawn) -> None:
    nodes, links = graph
    single = [(u, v) for u, v, capacity in links for _ in range(capacity)]
    assert Topology.from_links(nodes, single) == Topology.from_links(nodes, links)
    table = np.array(single, dtype=np.int64).reshape(-1, 2)
    assert Topology.from_arrays(nodes, table[:, 0], table[:, 1]) == Topology.from_links(nodes, links)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64])
def test_arrays_of_any_shape_and_integer_type(kind: type[np.signedinteger[Any] | np.unsignedinteger[Any]]) -> None:
    src, dst = np.array([[0, 1], [2, 2]], dtype=kind), np.array([[1, 2], [0, 1]], dtype=kind)
    topology = Topology.from_arrays(3, src, dst)
    assert topology.links() == [(0, 1, 1), (1, 2, 1), (2, 0, 1), (2, 1, 1)]
    assert Topology.from_arrays(3, src, dst, src + dst + kind(1)).capacity.tolist() == [2, 4, 3, 4]


@given(drawn())
def test_equality_is_that_of_nodes_links_and_switches(graph: Drawn) -> None:
    nodes, links = graph
    topology = Topology.from_links(nodes, links)
    assert topology != Topology.from_links(nodes + 1, links)
    assert topology != Topology.from_links(nodes, [*links, (0, nodes - 1, 1)])
    assert topology != Topology.from_links(nodes, links, switches=[0])
    assert topology != links
    assert dataclasses.replace(topology, spec=parse("diamond()"), symmetry=cyclic(topology.nodes).action()) == topology


@given(drawn())
def test_transpose_is_an_involution(graph: Drawn) -> None:
    nodes, links = graph
    topology = Topology.from_links(nodes, links, switches=[0])
    turned = topology.transpose()
    assert merged(turned.links()) == {(v, u): c for (u, v), c in merged(links).items()}
    assert turned.switches == topology.switches
    assert turned.transpose() == topology
    assert (turned == topology) == topology.is_duplex
    assert turned.out_ports.tolist() == topology.in_ports.tolist()


@given(drawn(4))
def test_properties_against_the_list_of_links(graph: Drawn) -> None:
    nodes, links = graph
    topology = Topology.from_links(nodes, links)
    total = merged(links)
    out = [sum(c for u, _, c in links if u == node) for node in range(nodes)]
    into = [sum(c for _, v, c in links if v == node) for node in range(nodes)]
    assert topology.out_ports.tolist() == out
    assert topology.in_ports.tolist() == into
    assert topology.degree == max(out + into)
    assert topology.is_regular == (len({*out, *into}) == 1)
    assert topology.is_duplex == all(total.get((v, u)) == c for (u, v), c in total.items())
    assert topology.self_loops == sum(c for u, v, c in links if u == v)
    assert topology.indptr.shape == (nodes + 1,)
    assert topology.indptr[-1] == len(total)
    for node in range(nodes):
        row = slice(topology.indptr[node], topology.indptr[node + 1])
        assert set(topology.src[row].tolist()) <= {node}
        assert topology.neighbours(node).tolist() == sorted({v for u, v, _ in links if u == node})


@given(drawn())
def test_networkx_round_trip(graph: Drawn) -> None:
    nodes, links = graph
    topology = Topology.from_links(nodes, links, switches=[0])
    digraph = topology.to_networkx()
    assert sorted(digraph.nodes) == list(range(nodes))
    assert {(u, v): c for u, v, c in digraph.edges(data="capacity")} == merged(links)
    assert [node for node, switch in digraph.nodes(data="switch") if switch] == [0]
    if nodes > 1 and links:
        assert as_topology(digraph) == topology


@given(drawn())
def test_undirected_and_multigraphs_from_networkx(graph: Drawn) -> None:
    nodes, links = graph
    multi = nx.MultiDiGraph()
    multi.add_nodes_from(range(nodes))
    multi.add_weighted_edges_from(links, weight="capacity")
    assume(nodes > 1)
    assume(links)
    assert as_topology(multi) == Topology.from_links(nodes, links)
    simple = nx.Graph()
    simple.add_nodes_from(range(nodes))
    simple.add_edges_from((u, v) for u, v, _ in links)
    pairs = {(u, v) for u, v, _ in links} | {(v, u) for u, v, _ in links}
    topology = as_topology(simple)
    assert topology == Topology.from_links(nodes, sorted(pairs))
    assert topology.is_duplex


@pytest.mark.parametrize("take", [as_fabric, as_topology])
def test_a_weight_is_not_taken_for_anything(take: Callable[[nx.Graph], object]) -> None:
    """It could be a capacity or a length: without an error only where it makes no difference."""
    plain, weighted = nx.cycle_graph(5), nx.cycle_graph(5)
    nx.set_edge_attributes(weighted, 1, "weight")
    assert take(weighted) == take(plain)
    weighted.edges[0, 1]["weight"] = 2.5
    with pytest.raises(ParameterError, match=r"attribute 'weight'.*--read capacity=weight"):
        take(weighted)
    for graph in (plain, weighted):
        nx.set_edge_attributes(graph, np.int64(2), "capacity")
    assert take(weighted) == take(plain)


def test_spec_goes_along_to_networkx() -> None:
    ring = Topology.from_links(2, [(0, 1), (1, 0)])
    assert ring.to_networkx().graph["spec"] is None
    assert dataclasses.replace(ring, spec=parse("complete(2)")).to_networkx().graph["spec"] == "complete(2)"


@pytest.mark.parametrize(
    ("nodes", "links", "words"),
    [
        (0, [], "at least one node"),
        (-1, [], "at least one node"),
        (2, [(0, 2)], "nodes 0 to 1"),
        (2, [(2, 0)], "nodes 0 to 1"),
        (2, [(-1, 0)], "nodes 0 to 1"),
        (2, [(0, -1)], "nodes 0 to 1"),
        (2, [(0, 1, 0)], "capacities must be from 1"),
        (2, [(0, 1, -1)], "capacities must be from 1"),
        (2, [(0, 1, MAX_CAPACITY + 1)], "capacities must be from 1"),
        (2, [(0, 1, MAX_CAPACITY), (0, 1)], "capacities must be from 1"),
        (2, [(0, 1, 2**62 + 1)] * 4, "capacities must be from 1"),  # the sum is 4 modulo 2^64
        (2, [(0, 1, 2**63)], "capacities must be from 1|integers"),
        (2, [(0, 1, 2**70)], "integers"),
        (2, [(2**70, 1)], "integers"),
        (2, [(0.5, 1)], "integers"),
        (2, [(0, 1, 1.5)], "integers"),
        (2, [("0", "1")], "integers"),
        (2, [(0, None)], "integers"),
    ],
)
def test_bad_links_are_refused(nodes: int, links: list[Any], words: str) -> None:
    with pytest.raises(TopologyError, match=words):
        Topology.from_links(nodes, links)


@pytest.mark.parametrize(("src", "dst", "capacity"), [([0, 1], [1], None), ([0], [1, 0], None), ([0], [1], [1, 1])])
def test_arrays_of_different_length_are_refused(src: list[int], dst: list[int], capacity: list[int] | None) -> None:
    weight = None if capacity is None else np.array(capacity)
    with pytest.raises(TopologyError, match="same length"):
        Topology.from_arrays(2, np.array(src), np.array(dst), weight)


@pytest.mark.parametrize("switches", [[2], [-1], [0, 5]])
def test_nodes_named_must_exist(switches: list[int]) -> None:
    with pytest.raises(TopologyError, match="switches must be among"):
        Topology.from_links(2, [(0, 1)], switches=switches)


def test_bare_constructor_takes_sorted_links_only() -> None:
    pair, ones = np.array([0, 1]), np.ones(2, dtype=np.int64)
    assert Topology(2, pair.copy(), pair[::-1].copy(), ones.copy()).links() == [(0, 1, 1), (1, 0, 1)]
    for src, dst in ((pair[::-1], pair), (pair * 0, pair * 0), (pair * 0, pair[::-1])):
        with pytest.raises(TopologyError, match="sorted"):
            Topology(2, src.copy(), dst.copy(), ones.copy())
    for src, dst in ((pair + 1, pair), (pair, pair - 1)):
        with pytest.raises(TopologyError, match="nodes 0 to 1"):
            Topology(2, src, dst, ones.copy())
    with pytest.raises(TopologyError, match="same length"):
        Topology(2, pair.copy(), pair.copy(), ones[:1].copy())


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.float64, np.bool_])
def test_bare_constructor_takes_flat_int64_only(kind: type[np.generic]) -> None:
    one = np.array([0], dtype=np.int64)
    for columns in ((one.astype(kind), one + 1, one + 1), (one, one + 1, (one + 1).astype(kind))):
        with pytest.raises(TopologyError, match="flat int64"):
            Topology(2, *columns)
    with pytest.raises(TopologyError, match="flat int64"):
        Topology(2, one[None], one[None] + 1, one[None] + 1)


@pytest.mark.parametrize("capacity", [1.5, "x", None])
def test_networkx_capacities_must_be_integers(capacity: object) -> None:
    graph = nx.DiGraph()
    graph.add_edge(0, 1, capacity=capacity)
    with pytest.raises(ParameterError, match="must be an integer"):
        as_topology(graph)


def test_what_is_too_large_is_refused_before_it_is_built() -> None:
    check_buildable(MAX_NODES, MAX_LINKS)
    for nodes, links in ((MAX_NODES + 1, 0), (1, MAX_LINKS + 1), (10**30, 10**30)):
        with pytest.raises(TooLargeError, match="too many to build"):
            check_buildable(nodes, links)
    with pytest.raises(TooLargeError, match="nodes are too many"):
        Topology.from_links(MAX_NODES + 1, [])
    many = np.broadcast_to(np.int64(0), MAX_LINKS + 1)
    with pytest.raises(TooLargeError, match="links are too many"):
        Topology.from_arrays(1, many, many)
    assert Topology.from_links(MAX_NODES, [(MAX_NODES - 1, 0)]).links() == [(MAX_NODES - 1, 0, 1)]


def test_topology_cannot_be_changed() -> None:
    topology = Topology.from_links(3, [(0, 1), (1, 2), (2, 0)])
    with pytest.raises(dataclasses.FrozenInstanceError):
        topology.nodes = 4  # type: ignore[misc]
    ports = (topology.out_ports, topology.in_ports)
    for array in (topology.src, topology.dst, topology.capacity, topology.indptr, topology.neighbours(0), *ports):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2


def test_topology_does_not_follow_the_arrays_it_was_made_from() -> None:
    src, dst, capacity = np.array([0, 1, 2]), np.array([1, 2, 0]), np.ones(3, dtype=np.int64)
    topology = Topology.from_arrays(3, src, dst, capacity)
    src[0], dst[0], capacity[0] = 2, 2, 2
    assert topology.links() == [(0, 1, 1), (1, 2, 1), (2, 0, 1)]


def test_bare_constructor_leaves_its_arguments_alone() -> None:
    table = np.array([[0, 1, 2], [1, 2, 0], [1, 1, 1]])
    topology = Topology(3, table[0], table[1], table[2])
    table[:] = 0
    assert topology.links() == [(0, 1, 1), (1, 2, 1), (2, 0, 1)]
    again = dataclasses.replace(topology, spec=parse("uniring(1,3)"))
    assert again.src is topology.src, "what is owned is shared, not copied"
    with pytest.raises(TopologyError, match="flat int64"):
        Topology(1, [], [], [])  # type: ignore[arg-type]


def test_symmetry_is_what_the_construction_says() -> None:
    src, dst = np.array([0, 1]), np.array([1, 0])
    assert not Topology.from_arrays(2, src, dst).vertex_transitive
    assert not Topology.from_arrays(2, src, dst, symmetry=Symmetry(2, (0, 1), tuple)).vertex_transitive
    whole = Topology.from_arrays(2, src, dst, symmetry=cyclic(2).action())
    assert whole.vertex_transitive
    assert whole.representatives == (0,)
    assert whole.transpose().representatives == (0,)
    with pytest.raises(TopologyError, match="the symmetry is of 3 nodes"):
        Topology.from_arrays(2, src, dst, symmetry=cyclic(3).action())


def test_link_index_finds_every_link_and_nothing_else() -> None:
    topology = Topology.from_links(5, [(0, 1), (1, 0, 3), (1, 1), (4, 2), (3, 4)])
    nodes = np.arange(-2, 8)
    found = topology.link_index(nodes[:, None], nodes[None, :])
    assert found.shape == (10, 10)
    assert found.dtype == np.int64
    there = {(u, v): index for index, (u, v, _) in enumerate(topology.links())}
    for u, v in itertools.product(nodes.tolist(), repeat=2):
        assert found[u + 2, v + 2] == there.get((u, v), -1)
    assert int(topology.link_index(4, 2)) == there[4, 2]
    assert topology.link_index([], []).shape == (0,)
    assert Topology.from_links(3, []).link_index([0, 1], 2).tolist() == [-1, -1]


def test_description() -> None:
    ring = Topology.from_links(3, [(0, 1), (1, 2), (2, 0)])
    assert repr(ring) == "<Topology 3 nodes, degree 1, simplex>"
    both = Topology.from_links(2, [(0, 1), (1, 0)])
    assert repr(dataclasses.replace(both, spec=parse("complete(2)"))) == (
        "<Topology complete(2), 2 nodes, degree 1, duplex>"
    )


def test_require_at_least() -> None:
    require_at_least("d", 1, 1)
    with pytest.raises(ParameterError, match="d must be at least 1, not 0"):
        require_at_least("d", 0, 1)
