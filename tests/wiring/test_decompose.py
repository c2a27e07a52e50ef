"""Splits of links: unions of permutations and 2-factors, proved from the links alone."""

from __future__ import annotations

import itertools
from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.samples.topologies import regular_digraphs
from topodesign import build
from topodesign.base.errors import InfeasibleError, TopologyError
from topodesign.fabrics.places import as_topology
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.plan.decompose import check_split, factors, matchings, split, unit_edges, unit_links

NO_LINK = -1


def link_counts(topology: Topology, *, loops: bool = True) -> Counter[tuple[int, int]]:
    return Counter({(u, v): count for u, v, count in topology.links() if loops or u != v})


def duplex(topology: Topology) -> Topology:
    """The topology with the reverse of every link."""
    src, dst = np.concatenate((topology.src, topology.dst)), np.concatenate((topology.dst, topology.src))
    return Topology.from_arrays(topology.nodes, src, dst, np.concatenate((topology.capacity, topology.capacity)))


@st.composite
def any_digraphs(draw: st.DrawFn) -> Topology:
    nodes = draw(st.integers(1, 9))
    node = st.integers(0, nodes - 1)
    return Topology.from_links(nodes, draw(st.lists(st.tuples(node, node, st.integers(1, 3)), max_size=20)))


def permutations(topology: Topology) -> IntArray:
    """Row i has the target of the i-th link of each node, or none."""
    src, dst = unit_links(topology)
    rows = np.full((topology.degree, topology.nodes), NO_LINK)
    rows[matchings(topology.nodes, src, dst, topology.degree), src] = dst
    return rows


def two_factors(topology: Topology) -> IntArray:
    """Row i has the node after each on its cycle of the i-th 2-factor, or none."""
    u, v = unit_edges(topology)
    count = (int(np.bincount(np.concatenate((u, v)), minlength=topology.nodes).max()) + 1) // 2
    factor, src, dst = factors(topology.nodes, u, v, count)
    rows = np.full((count, topology.nodes), NO_LINK)
    rows[factor, src] = dst
    return rows


def ones(topology: Topology, parts: int) -> IntArray:
    return np.ones((topology.nodes, parts), dtype=np.int64)


@settings(deadline=None)
@given(regular_digraphs())
def test_regular_digraphs_are_unions_of_permutations(topology: Topology) -> None:
    rows = permutations(topology)
    assert rows.shape == (topology.degree, topology.nodes)
    assert all(sorted(row) == list(range(topology.nodes)) for row in rows.tolist())
    assert Counter((u, v) for row in rows.tolist() for u, v in enumerate(row)) == link_counts(topology)


@settings(deadline=None)
@given(any_digraphs())
def test_other_digraphs_are_unions_of_partial_permutations(topology: Topology) -> None:
    rows = permutations(topology).tolist()
    assert len(rows) == topology.degree
    links = [[(u, v) for u, v in enumerate(row) if v != NO_LINK] for row in rows]
    assert all(len({v for _, v in row}) == len(row) for row in links)
    assert Counter(itertools.chain(*links)) == link_counts(topology)


@settings(deadline=None)
@given(regular_digraphs())
def test_duplex_topologies_are_unions_of_2_factors(topology: Topology) -> None:
    both = duplex(topology)
    rows = two_factors(both).tolist()
    edges = Counter((u, v) for row in rows for u, v in enumerate(row) if v != NO_LINK)
    assert edges + Counter((v, u) for u, v in edges.elements()) == link_counts(both, loops=False)
    for row in rows:
        ends = Counter(itertools.chain(*((u, v) for u, v in enumerate(row) if v != NO_LINK)))
        assert all(count <= 2 for count in ends.values())
    if not both.self_loops:  # regular of even degree: every node has two links in every row
        assert len(rows) == topology.degree
        assert all(NO_LINK not in row for row in rows)


def test_one_way_topologies_have_no_2_factors() -> None:
    with pytest.raises(TopologyError, match="not duplex"):
        two_factors(build("genkautz(2,5)"))


def test_the_largest_size_that_is_asked_for() -> None:
    topology = build("genkautz(16,2048)")
    rows = permutations(topology)
    assert (np.sort(rows, axis=1) == np.arange(2048)).all()
    assert Topology.from_arrays(2048, np.tile(np.arange(2048), 16), rows.ravel()) == topology


def test_wrong_splits_are_refused() -> None:
    topology = build("circulant(12,2,3)")
    lanes = ones(topology, 4)
    src, dst, part = split(topology, lanes, duplex=False)
    for wrong in ((dst, dst, part), (src, dst, np.zeros_like(part)), (src[1:], dst[1:], part[1:])):
        with pytest.raises(TopologyError):
            check_split(topology, lanes, *wrong, duplex=False)


@settings(deadline=None)
@given(regular_digraphs(), st.data())
def test_lanes_alike_for_all_nodes_always_do(topology: Topology, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, topology.degree), max_size=3)))
    widths = np.diff([0, *cuts, topology.degree])
    src, dst, part = split(topology, np.tile(widths, (topology.nodes, 1)), duplex=False)
    assert Counter(zip(src.tolist(), dst.tolist(), strict=True)) == link_counts(topology, loops=False)
    for ends in (src, dst):
        counts = Counter(zip(ends.tolist(), part.tolist(), strict=True))
        assert all(count <= widths[number] for (_, number), count in counts.items())


@settings(deadline=None)
@given(regular_digraphs(), st.data())
def test_even_lanes_always_do_for_duplex_links(topology: Topology, data: st.DataObject) -> None:
    both = duplex(topology)
    cuts = sorted(data.draw(st.lists(st.integers(0, topology.degree), max_size=3)))
    widths = 2 * np.diff([0, *cuts, topology.degree])
    u, v, part = split(both, np.tile(widths, (both.nodes, 1)), duplex=True)
    edges = Counter(zip(u.tolist(), v.tolist(), strict=True))
    assert edges + Counter((v, u) for u, v in edges.elements()) == link_counts(both, loops=False)
    counts = Counter(zip(np.concatenate((u, v)).tolist(), np.concatenate((part, part)).tolist(), strict=True))
    assert all(count <= widths[number] for (_, number), count in counts.items())


@pytest.mark.parametrize(
    "spec",
    [
        "hypercube(4)",
        "torus(4,6)",
        "bipartite(5)",
        "circulant(12,2,3)",
        "circulant(200,1,2)",
        "complete(12)",
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_single_lanes_of_duplex_links(spec: str, seed: int) -> None:
    topology = build(spec)
    u, v, part = split(topology, ones(topology, topology.degree), duplex=True, seed=seed)
    for number in range(topology.degree):  # a perfect matching on every panel
        assert sorted(np.concatenate((u[part == number], v[part == number])).tolist()) == list(range(topology.nodes))


@pytest.mark.parametrize("seed", [0, 1])
def test_single_lanes_of_an_odd_number_of_nodes(seed: int) -> None:
    topology = build("paley(9)")
    with pytest.raises(InfeasibleError, match="odd number"):
        split(topology, ones(topology, topology.degree), duplex=True, seed=seed)
    triangle = Topology.from_links(4, [(u, v) for u in range(3) for v in range(3) if u != v])
    with pytest.raises(InfeasibleError, match="odd number"):  # beside a node without links and lanes
        split(triangle, np.array([[1, 1]] * 3 + [[0, 0]]), duplex=True, seed=seed)


def test_single_lanes_of_a_large_random_topology() -> None:
    topology = as_topology(nx.random_regular_graph(4, 1024, seed=1))
    first = split(topology, ones(topology, 4), duplex=True, seed=3)
    again = split(topology, ones(topology, 4), duplex=True, seed=3)
    assert all(map(np.array_equal, first, again))


def test_a_bridge_needs_even_lanes() -> None:
    """Three copies of K4 with a divided edge, joined at a node: cubic, and no perfect matching (Sylvester)."""
    links = []
    for first in (1, 6, 11):
        a, b, c, d, e = range(first, first + 5)
        links += [(0, a), (a, b), (a, c), (b, c), (b, d), (c, e), (d, e), (d, e)]
    topology = Topology.from_links(16, [pair for u, v in links for pair in ((u, v), (v, u))])
    assert topology.is_regular
    assert topology.degree == 3
    with pytest.raises(InfeasibleError, match="no split of the links over the panels was found"):
        split(topology, np.tile([2, 1], (16, 1)), duplex=True)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_two_panels_with_any_cabling_are_decided_rightly(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(2, 4))
    pairs = [(u, v) for u in range(nodes) for v in range(nodes) if u != v]
    links = data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=9))
    lanes = np.array(
        data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=nodes, max_size=nodes))
    )
    assume(not np.all(lanes == lanes[0]))
    topology = Topology.from_links(nodes, links)

    def suits(first: tuple[bool, ...]) -> bool:
        for number in (0, 1):
            mine = [link for link, chosen in zip(links, first, strict=True) if chosen == (number == 0)]
            for side in (0, 1):
                if any(count > lanes[node, number] for node, count in Counter(link[side] for link in mine).items()):
                    return False
        return True

    possible = any(suits(first) for first in itertools.product((True, False), repeat=len(links)))
    try:
        split(topology, lanes, duplex=False)
    except InfeasibleError:
        assert not possible
    else:
        assert possible


@pytest.mark.parametrize("seed", range(4))
def test_three_panels_with_different_cabling_for_every_host(seed: int) -> None:
    rng = np.random.default_rng(seed)
    topology = build("genkautz(4,60)")
    src, dst = np.repeat(topology.src, topology.capacity), np.repeat(topology.dst, topology.capacity)
    part = rng.integers(0, 3, len(src))
    lanes = np.zeros((60, 3), dtype=np.int64)
    for number in range(3):
        out, into = (np.bincount(ends[part == number], minlength=60) for ends in (src, dst))
        lanes[:, number] = np.maximum(out, into)
    split(topology, lanes, duplex=False, seed=seed)  # which proves it


def test_too_few_lanes_are_told() -> None:
    topology = build("circulant(12,2,3)")
    with pytest.raises(InfeasibleError, match="node 0 has 4 links but 3 lanes"):
        split(topology, ones(topology, 3), duplex=False)


def test_an_odd_number_of_lanes_at_a_panel_does_where_some_are_left() -> None:
    topology, room = build("circulant(5,1)"), np.ones((5, 2), dtype=np.int64)
    with pytest.raises(InfeasibleError, match="panel 1 has an odd number of them, 5"):
        split(topology, room, duplex=True)
    room[0, 1] = 2
    check_split(topology, room, *split(topology, room, duplex=True), duplex=True)


def test_two_panels_may_receive_more_than_they_send() -> None:
    topology, lanes = Topology.from_links(3, [(1, 0), (2, 0), (0, 1)]), np.array([[1, 1], [1, 0], [0, 1]])
    check_split(topology, lanes, *split(topology, lanes, duplex=False), duplex=False)
    with pytest.raises(InfeasibleError, match="no split of the links over the two panels"):
        split(Topology.from_links(3, [(1, 0), (2, 0)]), np.array([[2, 0], [1, 0], [0, 1]]), duplex=False)
