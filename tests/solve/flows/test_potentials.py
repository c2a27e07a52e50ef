"""Matrices of traffic: exact against a linear program, and between bounds where it is not solved exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.solve.flows.test_program import by_pairs
from topodesign.base.errors import ParameterError, TooLargeError
from topodesign.solve.flows.columns import tree_flow
from topodesign.solve.flows.potentials import find_balanced_flow
from topodesign.solve.flows.program import FEW_COLUMNS, UnreachableError, traffic_time
from topodesign.topology.library import build
from topodesign.topology.quotient import Quotient
from topodesign.topology.topology import IntArray, Topology

SPECS = ("torus(3,3)", "genkautz(2,7)", "circulant(8,1,3)", "hypercube(3)", "genkautz(3,8)")


def drawn(topology: Topology, seed: int) -> IntArray:
    rng = np.random.default_rng(seed)
    demand = rng.integers(0, 9, (topology.nodes, topology.nodes))
    demand[rng.random(demand.shape) < 0.4] = 0
    np.fill_diagonal(demand, 0)
    return demand


@pytest.mark.parametrize("seed", range(30))
def test_thirty_matrices_are_exact(seed: int) -> None:
    topology = build(SPECS[seed % len(SPECS)])
    demand = drawn(topology, seed)
    found = traffic_time(topology, demand)
    assert found.bound == found.time
    assert float(found.time) == pytest.approx(by_pairs(topology, demand, [0] * len(topology.src)), rel=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_balancing_keeps_the_optimum_between_its_bounds(seed: int) -> None:
    topology = build(SPECS[seed % len(SPECS)])
    demand = drawn(topology, seed)
    least = traffic_time(topology, demand).time
    found = traffic_time(topology, demand, most=0)
    assert found.bound <= least <= found.time <= found.bound * Fraction(101, 100)


@pytest.mark.parametrize("seed", range(10))
def test_a_balanced_flow_brings_what_is_wanted(seed: int) -> None:
    """Link by link and node by node; one that wants nothing may keep a little."""
    topology = build(SPECS[seed % len(SPECS)])
    demand = drawn(topology, seed)
    sources = np.flatnonzero(demand.any(axis=1))
    arcs = np.flatnonzero(topology.src != topology.dst)
    every, once = np.arange(len(arcs)), np.ones(len(sources), dtype=np.int64)
    flow = find_balanced_flow(
        Quotient(topology, None, sources, once, arcs, every, topology.capacity[arcs], demand[sources])
    )
    flow.check()
    exact = tree_flow(flow.quotient)
    exact.check()
    assert exact.exact
    assert exact.time == traffic_time(topology, demand).time


def test_what_is_wrong_is_said() -> None:
    topology = build("torus(3,3)")
    with pytest.raises(ParameterError, match="matrix of 9 x 9"):
        traffic_time(topology, np.ones((3, 3), dtype=np.int64))
    one_way = Topology.from_links(3, [(0, 1), (1, 2)])
    for most in (FEW_COLUMNS, 0):
        with pytest.raises(UnreachableError):
            traffic_time(one_way, np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]]), most=most)
    assert traffic_time(one_way, np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]]), most=0).bound == 3
    with pytest.raises(TooLargeError, match="larger pieces"):
        traffic_time(topology, np.full((9, 9), 2**50), most=0)
    assert traffic_time(topology, np.zeros((9, 9), dtype=np.int64)).time == 0


def test_few_pairs_are_exact_where_sources_see_too_much() -> None:
    """A ring of a random graph: a program of paths finds what the whole program does."""
    import networkx as nx

    graph = nx.random_regular_graph(4, 14, seed=5)
    topology = Topology.from_links(14, [(u, v) for a, b in graph.edges for u, v in ((a, b), (b, a))])
    demand = np.zeros((14, 14), dtype=np.int64)
    nodes = np.arange(14)
    demand[nodes, (nodes + 5) % 14], demand[nodes, (nodes - 5) % 14] = 3, 2
    exact, found = traffic_time(topology, demand), traffic_time(topology, demand, most=0)
    assert found.bound == found.time == exact.time
