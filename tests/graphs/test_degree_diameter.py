"""Families from the degree-diameter problem: published order, degree and diameter, and other definitions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from tests.floors import reached
from tests.samples.topologies import regular_digraphs
from topodesign.base.errors import ParameterError, TooLargeError
from topodesign.graphs.cycleprefix import cycleprefix
from topodesign.graphs.genkautz import genkautz, genkautzjoined, kautz
from topodesign.graphs.hexagon_twins import _SPLIT, ghtwins
from topodesign.graphs.hoffmansingleton import hoffmansingleton
from topodesign.graphs.loops import find_loops, join_loops
from topodesign.graphs.mms import mms
from topodesign.graphs.polarity import (
    ghpolarity,
    gqpolarity,
    gqpolaritycopies,
    polarity,
    polaritycopies,
    polaritynucleus,
    quadrangle_graph,
)
from topodesign.graphs.polarity_hubs import gqpolarityhubs
from topodesign.graphs.polygon import gh
from topodesign.graphs.quadrangle_pairs import _double_sixes, gqpairs
from topodesign.graphs.randomregular import randomregulargraph
from topodesign.pricing.closed_form import price
from topodesign.topology.finite_field import FiniteField
from topodesign.topology.topology import Topology


def distances(topology: Topology) -> np.ndarray:
    links = csr_array((topology.capacity, topology.dst, topology.indptr), shape=(topology.nodes,) * 2)
    table: np.ndarray = shortest_path(links, unweighted=True)
    return table


def diameter(topology: Topology) -> int:
    return int(distances(topology).max())


def simple(topology: Topology) -> bool:
    return not topology.self_loops and int(topology.capacity.max()) == 1


# Order, degree, diameter: McKay, Miller and Siran (1998) with degree (3q - e)/2.
MMS = [(3, 18, 5), (4, 32, 6), (5, 50, 7), (7, 98, 11), (8, 128, 12), (9, 162, 13), (13, 338, 19)]


@pytest.mark.parametrize(("q", "nodes", "degree"), MMS)
def test_mckay_miller_siran_graphs(q: int, nodes: int, degree: int) -> None:
    graph = mms(q)
    assert (graph.nodes, graph.degree, diameter(graph)) == (nodes, degree, 2)
    assert graph.is_duplex
    assert graph.is_regular
    assert simple(graph)


@pytest.mark.parametrize("q", [3, 4, 5, 7, 8, 9])
def test_translations_and_shears_of_mckay_miller_siran_graphs(q: int) -> None:
    """The representatives: these automorphisms are transitive on the nodes of either kind."""
    graph, field = mms(q), FiniteField(q)
    first, second = np.divmod(np.arange(q * q), q)
    for t in range(1, q):
        fixed = np.full_like(first, t)
        shift = first * q + field.add(second, fixed), first * q + field.add(second, fixed)
        slide = (
            field.add(first, fixed) * q + second,
            first * q + field.subtract(second, field.multiply(first, fixed)),
        )
        shear = (
            first * q + field.add(second, field.multiply(first, fixed)),
            field.add(first, fixed) * q + second,
        )
        for points, lines in (shift, slide, shear):
            image = np.concatenate((points, q * q + lines))
            assert Topology.from_arrays(graph.nodes, image[graph.src], image[graph.dst]) == graph
    assert graph.representatives == (0, q * q)


def test_fifth_mckay_miller_siran_graph_is_hoffman_and_singletons() -> None:
    assert nx.is_isomorphic(mms(5).to_networkx(), hoffmansingleton().to_networkx())
    assert not list(mms.find(50, 7))
    assert list(mms.find(98, 11)) == [(7,)]


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9, 11, 13])
def test_brown_graphs_meet_both_bounds(q: int) -> None:
    """Diameter 2, q + 1 nodes joined in the place of self-loops, and an SPFF schedule of optimal bandwidth."""
    graph = polarity(q)
    nodes = q * q + q + 1
    assert (graph.nodes, graph.degree, diameter(graph)) == (nodes, q + 1, 2)
    assert graph.is_regular
    assert simple(graph)
    assert graph.is_duplex == (q % 2 == 1)
    assert price(graph).bandwidth == price(graph.transpose()).bandwidth == Fraction(nodes - 1, nodes)


@pytest.mark.parametrize("q", [2, 3, 4, 5])
def test_brown_graph_is_the_orthogonality_graph_of_the_plane(q: int) -> None:
    """Points of PG(2,q) as normalised vectors, joined when their product x0 y2 + x2 y0 - x1 y1 vanishes."""
    field = FiniteField(q)
    vectors = [(1, x, y) for x in range(q) for y in range(q)] + [(0, 1, y) for y in range(q)] + [(0, 0, 1)]
    a, b, c = (np.array(column) for column in zip(*vectors, strict=True))
    outer = field.add(field.multiply(a[:, None], c[None, :]), field.multiply(c[:, None], a[None, :]))
    joined = field.subtract(outer, field.multiply(b[:, None], b[None, :])) == 0
    ours, theirs = nx.Graph(polarity(q).to_networkx()), nx.Graph()
    theirs.add_edges_from((u, v) for u, v in itertools.combinations(range(len(vectors)), 2) if joined[u, v])
    absolute = [u for u in range(len(vectors)) if joined[u, u]]
    assert len(absolute) == q + 1
    assert all(degree == q + (u not in absolute) for u, degree in theirs.degree)
    assert nx.algorithms.isomorphism.GraphMatcher(ours, theirs).subgraph_is_monomorphic()


# Delorme (1985): order and degree q + 1; diameters 3 and 5.
DELORME = [(gqpolarity(2), 15, 3, 3, 5), (gqpolarity(8), 585, 9, 3, 65), (ghpolarity(), 364, 4, 5, 28)]


@pytest.mark.parametrize(("graph", "nodes", "degree", "steps", "absolute"), DELORME, ids=lambda value: str(value)[:24])
def test_delorme_graphs(graph: Topology, nodes: int, degree: int, steps: int, absolute: int) -> None:
    assert (graph.nodes, graph.degree, diameter(graph)) == (nodes, degree, steps)
    assert graph.is_regular
    assert simple(graph)
    assert graph.is_duplex == (absolute % 2 == 0)


# Order, degree and diameter; the larger ones are records.
COPIED = [
    *((polaritycopies(q), q * q + q + 5, q + 2, 2) for q in (3, 5, 7, 9, 11, 13)),
    (polaritynucleus(4), 22, 5, 2), (polaritynucleus(8), 74, 9, 2), (gqpolaritycopies(8, 0), 585, 9, 3),
    (gqpolaritycopies(8, 1), 650, 10, 3), (gqpolaritycopies(8, 2), 715, 11, 3), (gqpairs(2, 2), 225, 9, 3),
    (gqpairs(2, 4), 1215, 15, 3), (gqpairs(3, 3), 1600, 16, 3), (ghtwins(12), 740, 4, 6), (ghtwins(18), 746, 4, 6),
    (gqpolarityhubs(856, 13), 856, 13, 3), (gqpolarityhubs(858, 13), 858, 13, 3),
    (gqpolarityhubs(916, 14), 916, 14, 3), (gqpolarityhubs(923, 14), 923, 14, 3),
    *(pytest.param(ghtwins(k), 728 + k, 4, 6, marks=pytest.mark.thorough) for k in range(2, 18) if k != 12),
    *(
        pytest.param(gqpolarityhubs(n, d), n, d, 3, marks=pytest.mark.thorough)
        for d in (13, 14) for n in range(65 * d + 1, 65 * d + 13) if n not in (856, 916)
    ),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "nodes", "degree", "steps"), COPIED, ids=lambda value: str(value)[:24])
def test_graphs_of_many_nodes_for_their_diameter(graph: Topology, nodes: int, degree: int, steps: int) -> None:
    assert (graph.nodes, graph.degree, diameter(graph)) == (nodes, degree, steps)
    assert graph.is_duplex
    assert graph.is_regular
    assert graph.self_loops == nodes * degree % 2
    assert int(graph.capacity.max()) == 1
    assert graph.spec is not None
    families = {
        one.name: one for one in (polaritycopies, polaritynucleus, gqpolaritycopies, gqpolarityhubs, gqpairs, ghtwins)
    }
    assert graph.spec.args in list(families[graph.spec.name].find(nodes, degree))


def test_halves_of_split_points_put_together_make_the_hexagon() -> None:
    """And no two of the points are nearer than opposite ones."""
    hexagon, points = gh(3), np.array([point for point, *_ in _SPLIT])
    apart = distances(hexagon)[np.ix_(points, points)]
    assert set(apart[~np.eye(len(points), dtype=bool)]) == {6}
    whole = np.concatenate((np.arange(728), points))
    links = {(int(whole[u]), int(whole[v]), c) for u, v, c in ghtwins(18).links()}
    assert {(u, v, c) for u, v, c in links if (u < 364) != (v < 364)} == set(hexagon.links())


@pytest.mark.parametrize(("n", "d"), [(858, 13), (923, 14)])
def test_every_hub_has_a_copy_of_every_point_within_two_links(n: int, d: int) -> None:
    """Copies of a point are joined with the same nodes of the polarity graph as itself, and these with no hub."""
    plain, graph = quadrangle_graph(8), gqpolarityhubs(n, d)
    own = plain.src[plain.src == plain.dst]
    others = np.setdiff1d(np.arange(585), own)
    apart = distances(graph)
    hubs, copies = np.arange(585, 598), np.concatenate((own, np.arange(598, n)))
    assert apart[np.ix_(hubs, others)].min() > 1
    kinds: dict[tuple[int, ...], list[int]] = {}
    for copy in copies:
        kinds.setdefault(tuple(others[apart[copy, others] == 1]), []).append(int(copy))
    assert sorted(kinds) == sorted(tuple(np.setdiff1d(plain.dst[plain.src == point], own)) for point in own)
    for alike in kinds.values():
        assert len(alike) == d - 8
        assert apart[np.ix_(hubs, np.array(alike))].min(axis=1).max() <= 2


def test_pairs_of_points_and_lines_are_joined_by_incidence() -> None:
    """Of the quadrangle of order (2,4): 5 of 45 lines on each point, 3 of 27 points on each line, no triangles."""
    on = _double_sixes()
    assert on.shape == (27, 45)
    assert set(on.sum(axis=0)) == {3}
    assert set(on.sum(axis=1)) == {5}
    together = on.astype(int) @ on.T
    assert set(together[~np.eye(27, dtype=bool)]) == {0, 1}
    for point, line in zip(*np.nonzero(~on), strict=True):
        assert together[point][on[:, line]].sum() == 1
    graph = gqpairs(2, 4)
    for u, v, _ in graph.links():
        (point, line), (other, its) = divmod(u, 45), divmod(v, 45)
        assert (on[point, its] and on[other, line]) or (on[point, line] and on[other, its])


@pytest.mark.parametrize(("d", "k"), [(3, 3), (4, 2), (4, 3), (4, 4), (5, 3), (5, 4), (6, 3)])
def test_cycle_prefix_digraphs(d: int, k: int) -> None:
    digraph = cycleprefix(d, k)
    assert (digraph.nodes, digraph.degree) == (math.perm(d + 1, k), d)
    assert digraph.is_regular
    assert simple(digraph)
    assert price(digraph).steps == price(digraph, all_sources=True).steps == k
    words = list(itertools.permutations(range(d + 1), k))
    links = set()
    for u, word in enumerate(words):
        for v, other in enumerate(words):  # other = word without letter i, and any letter at the end
            dropped = [i for i in range(k) if other[:-1] == word[:i] + word[i + 1 :]]
            if u != v and dropped and (other[-1] == word[dropped[0]] or dropped == [0]):
                links.add((u, v, 1))
    assert digraph.links() == sorted(links)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_cycle_prefix_digraphs_of_short_words_are_kautzs(d: int) -> None:
    assert nx.is_isomorphic(cycleprefix(d, 2).to_networkx(), kautz(d, 1).to_networkx())
    assert cycleprefix(d, 1).links() == [(u, v, 1) for u, v in itertools.permutations(range(d + 1), 2)]


def test_cycle_prefix_digraphs_of_full_words_are_rotators() -> None:
    """Corbett's definition, turned round: a link to where the first of d + 1 symbols is moved to place 2 to d + 1."""
    words = list(itertools.permutations(range(4)))
    place = {word: u for u, word in enumerate(words)}
    links = [(u, place[(*w[1:i], w[0], *w[i:])]) for u, w in enumerate(words) for i in (2, 3, 4)]
    rotator = Topology.from_links(24, links).to_networkx()
    assert nx.is_isomorphic(cycleprefix(3, 3).transpose().to_networkx(), rotator)


@pytest.mark.floor(plain=10, joined=40)
@given(st.integers(2, 12), st.integers(1, 400))
def test_joined_generalized_kautz_wastes_no_port(d: int, more: int) -> None:
    n = d + more
    plain = genkautz(d, n)
    assert (n % (d + 1) == 0) == (not plain.self_loops)
    assert list(genkautzjoined.find(n, d)) == ([(d, n)] if plain.self_loops else [])
    if not plain.self_loops:
        with pytest.raises(ParameterError, match="no self-loops"):
            genkautzjoined(d, n)
        reached("plain")
        return
    reached("joined")
    joined = genkautzjoined(d, n)
    assert joined.is_regular
    assert joined.degree == d
    assert not joined.self_loops
    loops = {(u, v): c for u, v, c in plain.links() if u == v}
    assert len(loops) >= 2
    before = {(u, v): c for u, v, c in plain.links() if u != v}
    after = {(u, v): c for u, v, c in joined.links()}
    added = [(u, v) for (u, v), c in after.items() for _ in range(c - before.get((u, v), 0))]
    assert sorted(u for u, _ in added) == sorted(v for _, v in added) == sorted(u for u, _ in loops)


@pytest.mark.parametrize("d", [2, 3, 4, 6])
def test_joining_self_loops_never_costs(d: int) -> None:
    """No law, but what was measured on these sizes; the gain is strict on most of them."""
    gains = []
    for n in range(d + 2, 90):
        if n % (d + 1):
            plain, joined = genkautz(d, n), genkautzjoined(d, n)
            for before, after in ((plain, joined), (plain.transpose(), joined.transpose())):
                assert price(after).dominates(price(before))
            gains.append(price(joined) != price(plain))
    assert sum(gains) > len(gains) // 3


@settings(deadline=None)
@given(regular_digraphs())
def test_joining_keeps_degrees_and_other_links(topology: Topology) -> None:
    joined = join_loops(topology)
    assert np.array_equal(joined.out_ports, topology.out_ports)
    assert np.array_equal(joined.in_ports, topology.in_ports)
    before = {(u, v): c for u, v, c in topology.links() if u != v}
    after = {(u, v): c for u, v, c in joined.links()}
    assert all(after.get(link, 0) >= c for link, c in before.items())
    nodes = find_loops(topology)
    if len(np.unique(nodes)) == len(nodes) > 1:
        assert not joined.self_loops
        if len(nodes) % 2 == 0:
            assert joined.is_duplex == topology.is_duplex


@pytest.mark.floor(odd=3, made=30)
@settings(deadline=None, max_examples=60)
@given(st.integers(3, 80), st.data())
def test_random_regular_graphs(n: int, data: st.DataObject) -> None:
    d, seed = data.draw(st.integers(2, n - 1)), data.draw(st.integers(0, 10**12))
    graph = randomregulargraph(n, d, seed)
    reached("odd" if n * d % 2 else "made")
    assert (graph.nodes, graph.degree) == (n, d)
    assert graph.is_regular
    assert graph.is_duplex
    assert find_loops(graph).tolist() == [n - 1] * (n * d % 2)
    assert int(graph.capacity.max()) == 1
    links = csr_array((graph.capacity, graph.dst, graph.indptr), shape=(n, n))
    assert connected_components(links, return_labels=False) == 1
    assert randomregulargraph(n, d, seed) == graph


def test_random_regular_graphs_differ_by_seed_and_are_refused_where_too_dense() -> None:
    assert len({randomregulargraph(30, 3, seed) for seed in range(20)}) == 20
    with pytest.raises(TooLargeError, match="too many"):
        randomregulargraph(1000, 500, 0)
    for nodes, degree in itertools.product(range(1, 60), range(1, 30)):
        for args in randomregulargraph.find(nodes, degree):
            assert args[:2] == (nodes, degree)
            assert nodes > degree
