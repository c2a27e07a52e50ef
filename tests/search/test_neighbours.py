"""Topologies with nodes inserted, nodes deleted and links swapped, and the search among them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.scheduled import scheduled
from tests.samples.topologies import regular_digraphs
from tests.samples.verdicts import verify_rounds
from topodesign import build
from topodesign.base.cost import Cost
from topodesign.base.errors import ParameterError, SpecError
from topodesign.base.spec import parse
from topodesign.graphs.expansions.delete import delete
from topodesign.graphs.expansions.insert import insert
from topodesign.graphs.expansions.swap import swap
from topodesign.pricing.closed_form import price
from topodesign.search.neighbours import compact, search_neighbours
from topodesign.search.resized import _delete_nodes, _insert_nodes, _number, iterate_resized
from topodesign.search.target import FoundDigraph, Target, select_frontier
from topodesign.topology.topology import Topology


def dearer(topology: Topology) -> Cost:
    costs = price(topology, all_sources=True), price(topology.transpose(), all_sources=True)
    return Cost(costs[0].steps, max(cost.bandwidth for cost in costs))


def unit_links(topology: Topology) -> Counter[tuple[int, int]]:
    return Counter({(u, v): capacity for u, v, capacity in topology.links()})


@given(regular_digraphs(), st.data())
@settings(max_examples=80, deadline=None)
def test_deletion_joins_in_links_to_out_links(topology: Topology, data: st.DataObject) -> None:
    """Against the definition, on multisets of links with names that do not change."""
    links = unit_links(topology)
    v = data.draw(st.integers(0, topology.nodes - 1))
    into = sorted(u for (u, w), capacity in links.items() for _ in range(capacity) if w == v != u)
    onward = sorted(w for (u, w), capacity in links.items() for _ in range(capacity) if u == v != w)
    m = data.draw(st.integers(0, math.factorial(len(into)) - 1))
    order = next(itertools.islice(itertools.permutations(range(len(into))), m, None))
    wanted = Counter({link: capacity for link, capacity in links.items() if v not in link})
    wanted.update((u, onward[place]) for u, place in zip(into, order, strict=True))
    shorter = {old: old - (old > v) for old in range(topology.nodes)}
    result = unit_links(delete(topology, v, m))
    assert result == Counter({(shorter[u], shorter[w]): capacity for (u, w), capacity in wanted.items()})
    assert _number(order) == m


@given(regular_digraphs(), st.data())
@settings(max_examples=80, deadline=None)
def test_insertion_and_deletion_undo_each_other(topology: Topology, data: st.DataObject) -> None:
    links = list(unit_links(topology).elements())
    chosen = [links[i] for i in data.draw(st.permutations(range(len(links))))[: topology.degree]]
    longer = insert(topology, *(end for link in chosen for end in link))
    new = topology.nodes
    assert longer.nodes == new + 1
    assert longer.is_regular
    assert unit_links(longer) - unit_links(topology) == Counter(
        [(u, new) for u, _ in chosen] + [(new, w) for _, w in chosen]
    )
    tails, heads = sorted(u for u, _ in chosen), sorted(w for _, w in chosen)
    places: dict[int, list[int]] = {}
    for place, head in enumerate(heads):
        places.setdefault(head, []).append(place)
    order = [places[head].pop(0) for tail in sorted(set(tails)) for u, head in chosen if u == tail]
    assert delete(longer, new, _number(order)) == topology


def test_a_new_nodes_link_to_itself_is_made() -> None:
    topology = insert(build("complete(4)"), 0, 1, 1, 0, 4, 4)
    assert topology.links() == [(u, v, 1) for u, v in sorted(
        [(u, v) for u in range(4) for v in range(4) if u != v and {u, v} != {0, 1}]
        + [(0, 4), (4, 0), (1, 4), (4, 1), (4, 4)]
    )]  # fmt: skip
    with pytest.raises(ParameterError, match="3->3"):
        insert(build("complete(4)"), 0, 1, 1, 0, 3, 3)


@given(regular_digraphs(), st.data())
@settings(max_examples=80, deadline=None)
def test_swaps_exchange_heads_and_can_be_taken_back(topology: Topology, data: st.DataObject) -> None:
    links = list(unit_links(topology).elements())
    (a, b), (c, d) = (links[data.draw(st.integers(0, len(links) - 1))] for _ in range(2))
    swapped = swap(topology, a, b, c, d)
    if (a, b) != (c, d):
        assert unit_links(swapped) == unit_links(topology) - Counter([(a, b), (c, d)]) + Counter([(a, d), (c, b)])
    assert np.array_equal(swapped.in_ports, topology.in_ports)
    assert np.array_equal(swapped.out_ports, topology.out_ports)
    assert swap(swapped, a, d, c, b) == topology
    assert swap(topology, a, b, c, d, a, d, c, b) == topology


def test_several_at_once_are_one_after_the_other() -> None:
    base = build("genkautz(3,20)")
    assert delete(base, 4, 2, 17, 5) == delete(delete(base, 4, 2), 17, 5)
    ends = [end for link in base.links()[::7][:6] for end in link[:2]]
    assert insert(base, *ends) == insert(insert(base, *ends[:6]), *ends[6:])
    (a, b, _), (c, d, _), (e, f, _) = base.links()[0], base.links()[20], base.links()[40]
    assert swap(base, a, b, c, d, a, d, e, f) == swap(swap(base, a, b, c, d), a, d, e, f)


def test_duplex_swaps_keep_duplex() -> None:
    assert swap(build("circulant(9,1,3)"), 0, 1, 4, 5, 1, 0, 5, 4).is_duplex


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("delete(complete(4))", "pair"),
        ("delete(complete(4),1)", "pair"),
        ("delete(complete(4),4,0)", "no node 4"),
        ("delete(complete(4),0,6)", "6 permutations"),
        ("delete(complete(4),-1,0)", "at least 0"),
        ("delete(3,0,0)", "topology"),
        ("delete(complete(40),0,0)", "at most 20"),
        ("delete(complete(2),0,0,0,0)", "to delete"),
        ("insert(complete(4),0,1)", "3 links"),
        ("insert(complete(4))", "3 links"),
        ("insert(uniring(1,4),0,2)", "0->2"),
        ("insert(uniring(1,4),0,9)", "0->9"),
        ("insert(complete(3),0,1,0,1)", "0->1"),
        ("swap(complete(4))", "four nodes"),
        ("swap(complete(4),0,1,2)", "four nodes"),
        ("swap(uniring(1,4),0,1,2,1)", "2->1"),
        ("swap(uniring(1,4),0,1,1,2,0,1,2,3)", "0->1"),
    ],
)
def test_refusals_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        build(text)


def test_a_deleted_node_needs_as_many_links_in_as_out() -> None:
    with pytest.raises(ValueError, match="as many"):
        delete(Topology.from_links(3, [(0, 1), (1, 2), (2, 0), (0, 2)]), 0, 0)


@pytest.mark.parametrize(
    "text", ["delete(kautz(2,2),0,1)", "insert(dicirculant(8,1,3),0,1,4,5)", "swap(genkautz(2,9),0,8,1,6)"]
)
def test_their_schedules_are_not_lifted(text: str) -> None:
    topology = build(text)
    made = scheduled(topology, "allreduce")
    assert made.method in {"spff", "deferred"}
    assert verify_rounds(topology, made.schedule, made.cost).ok
    assert swap.lift is None
    assert swap.claim(None) is None


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("circulant(12,1,5)", 1),
        ("circulant(12,1,5)", 3),
        ("randomregulargraph(12,3,1)", 2),
        ("randomregulargraph(12,3,1)", 4),
        ("randomregulargraph(14,5,1)", 2),
        ("hypercube(4)", 1),
        ("randomregulargraph(12,3,1)", 1),
        ("randomregulargraph(12,3,1)", 3),
        ("randomregulargraph(13,5,1)", 1),
        ("randomregulargraph(13,5,1)", 2),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_duplex_stays_duplex(text: str, change: int, seed: int) -> None:
    """And where a port must stay free, one does and no more."""
    base = build(text)
    more = _insert_nodes(base, change, True, np.random.default_rng(seed))
    assert (more.nodes, more.degree, more.is_duplex, more.is_regular) == (base.nodes + change, base.degree, True, True)
    target = Target(base.nodes - change, base.degree, duplex=True)
    less = _delete_nodes(base, change, target, np.random.default_rng(seed))
    assert (less.nodes, less.is_duplex, less.is_regular) == (base.nodes - change, True, True)
    if base.degree % 2:
        assert (more.self_loops, less.self_loops) == (more.nodes % 2, less.nodes % 2)


@pytest.mark.dear("target0", "target5")
@pytest.mark.parametrize(
    "target",
    [
        Target(23, 2, duplex=False),
        Target(29, 3, duplex=False),
        Target(101, 4, duplex=False),
        Target(53, 4, duplex=True),
        Target(46, 3, duplex=True),
        Target(37, 3, duplex=True),
    ],
)
def test_found_costs_what_its_spec_costs(target: Target) -> None:
    found = search_neighbours(target, [], 300_000)
    assert found
    for one in found:
        topology = build(str(one.spec))
        assert (topology.nodes, topology.degree) == (target.nodes, target.degree)
        assert topology.is_duplex or not target.duplex
        assert dearer(topology) == one.cost
    assert target.nodes != 29 or search_neighbours(target, [], 300_000) == found
    assert not search_neighbours(target, [], 300_000, known=[one.cost for one in found])


@pytest.mark.parametrize("duplex", [False, True])
def test_nodes_of_the_largest_degree_can_be_deleted_by_any_permutation(duplex: bool) -> None:
    base = build("complete(17)" if duplex else "genkautz(16,40)")
    target = Target(base.nodes - 1, 16, duplex)
    for made in iterate_resized(base, target, 20, np.random.default_rng(1)):
        assert build(str(made.spec)) == made
        assert (made.nodes, made.is_regular) == (target.nodes, True)
    last = delete(base, base.nodes - 1, math.factorial(16) - 1)
    assert build(str(last.spec)) == last


def test_large_degrees_that_keep_a_port_free_are_made_of_the_bases() -> None:
    """The base has 3 steps and the least bandwidth factor, and so has what is made of it: that of a port less."""
    target, base = Target(61, 9, duplex=True), build("cayley(metacyclic(15,4,2),3,7,8,12,25,26,30,47,55)")
    assert (base.degree, price(base)) == (9, Cost(3, Fraction(59, 60)))
    found = search_neighbours(target, [base], 2**22)
    assert min(one.cost.steps for one in found) == 3
    for one in found:
        topology = build(str(one.spec))
        assert (topology.nodes, topology.degree, topology.is_duplex, topology.self_loops) == (61, 9, True, 1)
        assert price(topology) == one.cost
    assert not search_neighbours(Target(62, 9, duplex=True), [base], 2**22)


def test_better_than_generalized_kautz_at_a_prime() -> None:
    best = search_neighbours(Target(211, 4, duplex=False), [], 300_000)
    assert any(one.cost.steps <= 5 and one.cost.bandwidth < Fraction(6, 5) for one in best)
    assert price(build("genkautz(4,211)")).bandwidth > Fraction(8, 5)


def test_given_bases_are_used() -> None:
    target = Target(31, 2, duplex=False)
    base = build("kautz(2,4)")  # 48 nodes, out of reach
    near = build("debruijn(2,5)")
    assert search_neighbours(target, [base], 100_000) == search_neighbours(target, [], 100_000)
    names = {str(one.spec) for one in search_neighbours(target, [near] * 9, 400_000)}
    assert names


@pytest.mark.parametrize(
    "target", [Target(40, 9, duplex=False), Target(40, 2, duplex=True), Target(8, 4, duplex=False)]
)
def test_sizes_that_are_left_alone(target: Target) -> None:
    assert search_neighbours(target, [], 10_000) == []


@pytest.mark.parametrize(("nodes", "degree", "duplex"), [(55, 4, False), (54, 3, True), (60, 4, True)])
def test_compact_digraphs_have_their_nodes_near(nodes: int, degree: int, duplex: bool) -> None:
    found = compact(Target(nodes, degree, duplex), 0)
    assert found is not None
    assert (found.nodes, found.degree, found.is_regular) == (nodes, degree, True)
    assert found.is_duplex or not duplex

    def far(topology: Topology) -> int:
        return sum(x**3 for x in nx.single_source_shortest_path_length(topology.to_networkx(), 0).values())

    family = "circulant" if duplex and degree % 2 == 0 else "dicirculant"
    others = [
        build(
            f"{family}({nodes},{','.join(map(str, range(1, 1 + (degree // 2 if family == 'circulant' else degree))))})"
        )
    ]
    assert all(far(found) < far(other) for other in others)


def test_undominated_keeps_the_plainest_of_equals() -> None:
    rows = [
        (3, Fraction(1), "genkautz(2,9)"),
        (3, Fraction(1), "kautz(2,2)"),
        (2, Fraction(2), "a()"),
        (4, Fraction(1), "b()"),
    ]
    found = [FoundDigraph(parse(text), Cost(steps, y)) for steps, y, text in rows]
    assert [str(one.spec) for one in select_frontier(found)] == ["a()", "kautz(2,2)"]
    assert select_frontier(found, [Cost(2, Fraction(1))]) == []
