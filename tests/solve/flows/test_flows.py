"""Concurrent flows: known factors, flows and prices that prove each other, and paths that are what the flow says."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.topologies import regular_digraphs
from tests.solve.flows.test_program import least_factor
from topodesign import build
from topodesign.base.cost import moore_distances
from topodesign.base.errors import ParameterError
from topodesign.pricing.closed_form import distances
from topodesign.pricing.split_routes import bound_own_distances, equal_split
from topodesign.solve.flows.columns import tree_flow
from topodesign.solve.flows.concurrent import ConcurrentFlow, price_bound
from topodesign.solve.flows.paths import path_flow
from topodesign.solve.flows.potentials import find_balanced_flow
from topodesign.topology.quotient import quotient
from topodesign.topology.topology import Topology

KNOWN = {
    "complete(5)": ("4/5", "4/5"),
    "hypercube(3)": ("3/2", "3/2"),
    "hypercube(4)": ("2", "2"),
    "torus(3,3)": ("4/3", "4/3"),
    "torus(4,4)": ("2", "2"),
    "torus(3,5)": ("12/5", "12/5"),
    "circulant(12,2,3)": ("14/9", "5/3"),
    "kautz(2,1)": ("13/9", "5/3"),
    "debruijn(2,3)": ("9/4", "11/4"),
    "genkautz(2,9)": ("22/9", "22/9"),
    "genkautz(4,32)": ("85/32", "3"),
    "kneser(5,2)": ("3/2", "3/2"),
}
"""Exact factors over any paths and over shortest ones, most of them worked out before any of this was written.

kautz(2,1) has six nodes, kneser(5,2) is Petersen's graph.
"""


def holds_what_it_says(flow: ConcurrentFlow) -> None:
    """The flow is one, symmetric or not, and its paths carry every shard with no link fuller than its factor."""
    flow.check()
    topology = flow.topology
    total: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for source in range(topology.nodes):
        amounts = dict(zip(zip(topology.src, topology.dst, strict=True), flow.source_amounts(source), strict=True))
        used: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
        found = path_flow(flow, source)
        assert list(found) == [node for node in range(topology.nodes) if node != source]
        for node, paths in found.items():
            assert sum(part for _, part in paths) == 1
            for path, part in paths:
                assert part > 0
                assert (path[0], path[-1]) == (source, node)
                assert len(set(path)) == len(path)
                for link in itertools.pairwise(path):
                    used[link] += part
        for link, part in used.items():
            assert part <= Fraction(int(amounts[link]), flow.scale)
            total[link] += part
    capacity = {(u, v): c for u, v, c in topology.links()}
    fullest = max(part / capacity[link] for link, part in total.items())
    assert fullest * topology.degree / topology.nodes <= flow.factor


@pytest.mark.parametrize("text", KNOWN)
def test_known_factors(text: str) -> None:
    flow = tree_flow(quotient(build(text)))
    assert flow.exact
    assert flow.factor == flow.upper == flow.lower == least_factor(build(text)) == Fraction(KNOWN[text][0])
    holds_what_it_says(flow)


@pytest.mark.parametrize("text", KNOWN)
def test_known_factors_over_shortest_paths(text: str) -> None:
    topology = build(text)
    problem = quotient(topology)
    flow = tree_flow(problem, shortest=True)
    assert flow.exact
    assert flow.factor == Fraction(KNOWN[text][1])
    assert flow.factor <= equal_split(problem)
    for source in range(topology.nodes):
        distance = distances(topology, source)
        for node, paths in path_flow(flow, source).items():
            assert {len(path) - 1 for path, _ in paths} == {distance[node]}


def sides_agree(topology: Topology, gap: Fraction) -> None:
    """Three ways, the third within its gap, and the bounds that need no optimisation on their sides of the optimum."""
    problem = quotient(topology)
    flow, optimum = tree_flow(problem), least_factor(topology)
    assert flow.exact
    holds_what_it_says(flow)
    assert optimum == flow.factor
    near = find_balanced_flow(problem, gap=gap)
    near.check()
    assert near.lower <= optimum <= near.upper <= near.lower * (1 + gap)
    assert moore_distances(topology.nodes, topology.degree) <= bound_own_distances(problem) <= optimum
    assert optimum <= tree_flow(problem, shortest=True).factor <= equal_split(problem)


@given(regular_digraphs(9, 3))
@settings(max_examples=15)
def test_all_ways_agree(topology: Topology) -> None:
    sides_agree(topology, Fraction(1, 20))


@pytest.mark.thorough
@given(regular_digraphs(24, 4))
@settings(max_examples=20)
def test_all_ways_agree_on_larger_topologies(topology: Topology) -> None:
    sides_agree(topology, Fraction(1, 50))


@given(regular_digraphs(7, 3), st.integers(1, 4))
@settings(max_examples=20)
def test_equal_split_is_what_every_shard_does_by_itself(topology: Topology, times: int) -> None:
    """Shard by shard in fractions, and trunks of several links that change nothing."""
    nodes = topology.nodes
    graph = nx.DiGraph([(u, v) for u, v, _ in topology.links() if u != v])
    capacity = {(u, v): c for u, v, c in topology.links()}
    load: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for target in range(nodes):
        far = nx.single_source_shortest_path_length(graph.reverse(), target)
        waiting = [Fraction(1)] * nodes
        for node in sorted(set(range(nodes)) - {target}, key=lambda node: -far[node]):
            hops = [other for other in graph.successors(node) if far[other] < far[node]]
            ports = sum(capacity[node, other] for other in hops)
            for other in hops:
                part = waiting[node] * capacity[node, other] / ports
                load[node, other] += part
                waiting[other] += part
    fullest = max(load[link] / capacity[link] for link in load)
    assert equal_split(quotient(topology)) == fullest * topology.degree / nodes
    trunks = Topology.from_arrays(nodes, topology.src, topology.dst, topology.capacity * times)
    assert equal_split(quotient(trunks)) == equal_split(quotient(topology))


@pytest.mark.parametrize("text", ["complete(9)", "hypercube(5)", "torus(6,6)", "torus(4,4,4)", "uniring(1,9)"])
def test_where_the_distances_are_the_price(text: str) -> None:
    problem = quotient(build(text))
    flow = tree_flow(problem)
    assert flow.exact
    assert flow.factor == bound_own_distances(problem)


def test_time_ends_with_bounds() -> None:
    problem = quotient(build("randomregular(30,3,1)"))
    optimum = tree_flow(problem).factor
    for flow in (tree_flow(problem, seconds=0), find_balanced_flow(problem, gap=Fraction(1, 10**4), seconds=0)):
        flow.check()
        assert flow.lower <= optimum <= flow.upper
        assert not flow.exact


def test_prices_of_any_size() -> None:
    """Beyond 64 bits lengths are Python's integers, with the same trees."""
    problem = quotient(build("genkautz(2,9)"), symmetric=False)
    prices = np.arange(1, len(problem.room) + 1)
    assert price_bound(problem, prices) == price_bound(problem, prices.astype(object) * 2**70)


@pytest.mark.parametrize("text", ["genkautz(2,9)", "line(circulant(5,1,2))", "hypercube(3)", "kneser(5,2)", "mms(3)"])
def test_symmetry_changes_no_price(text: str) -> None:
    """Some of these groups leave nodes in their places, so that flows have to be averaged to have images."""
    topology = build(text)
    small, whole = quotient(topology), quotient(topology, symmetric=False)
    assert len(small.sources) < len(whole.sources) == topology.nodes
    assert small.weight.sum() == topology.nodes
    assert small.room.sum() == whole.room.sum()
    if topology.nodes <= 12:
        assert tree_flow(small).factor == tree_flow(whole).factor == least_factor(topology)
    holds_what_it_says(tree_flow(small))


def test_a_wrong_flow_is_found_out() -> None:
    flow = tree_flow(quotient(build("torus(3,3)")))
    more = flow.amounts.copy()
    more[0, 0] += 1
    with pytest.raises(ValueError, match="bring a shard"):
        replace(flow, amounts=more).check()
    assert replace(flow, prices=np.array([1, 0, 0, 0])).lower < flow.lower


def test_what_has_no_flow_is_refused() -> None:
    with pytest.raises(ParameterError, match="nodes 0 to 8"):
        path_flow(tree_flow(quotient(build("torus(3,3)"))), 9)
