"""Cables, failures survived and cuts, against other ways of counting."""

from __future__ import annotations

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from tests.samples.topologies import regular_digraphs
from topodesign.fabrics.presets import build_fabric
from topodesign.report.comparison.measures import Counts, counts, survived, widest_known
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

SPECS = ("torus(4,3)", "kautz(2,2)", "genkautz(3,10)", "circulant(9,1,2)", "hypercube(3)", "parallel(uniring(1,4),3)")


@pytest.mark.parametrize("spec", SPECS)
def test_failures_survived_are_the_edge_connectivity(spec: str) -> None:
    topology = build(spec)
    graph = nx.DiGraph()
    for u, v, c in topology.links():
        if u != v:
            graph.add_edge(u, v, capacity=c)
    least = min(nx.maximum_flow_value(graph, u, v) for u, v in itertools.permutations(range(topology.nodes), 2))
    assert survived(topology) == least - 1


def test_a_path_survives_nothing_and_a_switch_is_counted() -> None:
    path = Topology.from_arrays(3, np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]))
    assert counts(path) == Counts(cables=2, ports=4, switches=0, switch_ports=0, survives=0)
    box = counts(build_fabric("fat_tree(2,3,3)").topology)
    assert box.switches == 5
    assert box.survives == 0  # a host has one cable


@pytest.mark.parametrize("spec", SPECS)
def test_cables_carry_all_links(spec: str) -> None:
    topology = build(spec)
    one_way = sum(c for u, v, c in topology.links() if u != v)
    found = counts(topology)
    assert found.ports == one_way
    assert found.cables == (one_way // 2 if topology.is_duplex else pytest.approx(found.cables))
    assert one_way / 2 <= found.cables <= one_way


@pytest.mark.parametrize("spec", ["torus(4,3)", "hypercube(3)", "circulant(9,1,2)", "kautz(2,2)", "genkautz(3,10)"])
def test_cuts_are_between_the_narrowest_and_what_is_found(spec: str) -> None:
    topology = build(spec)
    half = topology.nodes // 2
    found = widest_known(topology)
    assert found is not None
    side, width = found
    assert len(side) == half

    def out(chosen: tuple[int, ...]) -> int:
        inside = set(chosen)
        out = sum(c for u, v, c in topology.links() if u in inside and v not in inside)
        into = sum(c for u, v, c in topology.links() if u not in inside and v in inside)
        return min(out, into)

    assert out(tuple(side.tolist())) == width
    narrowest = min(map(out, itertools.combinations(range(topology.nodes), half)))
    assert narrowest <= width <= Fraction(3, 2) * narrowest


@pytest.mark.dear("torus(6,6,6)-72")
@pytest.mark.parametrize(
    ("spec", "width"), [("torus(4,4)", 8), ("torus(8,8)", 16), ("torus(6,6,6)", 72), ("hypercube(5)", 16)]
)
def test_cuts_of_what_has_many_alike_do_not_depend_on_which_a_library_takes_first(spec: str, width: int) -> None:
    # Slowest vibrations of these are many of one frequency; known is 2 k^(n-1) for k-ary n-cubes and half the nodes.
    found = widest_known(build(spec))
    assert found is not None
    assert found[1] == width


@given(regular_digraphs(6, 3))
@settings(max_examples=30, deadline=None)
def test_failures_survived_are_the_fewest_links_out_of_any_set(topology: Topology) -> None:
    sets = [
        set(chosen)
        for size in range(1, topology.nodes)
        for chosen in itertools.combinations(range(topology.nodes), size)
    ]
    least = min((sum(c for u, v, c in topology.links() if u in one and v not in one) for one in sets), default=None)
    assert survived(topology) == (None if least is None else max(least - 1, 0))


def test_a_host_of_a_large_fabric_hangs_on_its_own_cable() -> None:
    topology = build_fabric("fat_tree(32,32,32)").topology
    cable = min(c for u, _, c in topology.links() if u not in topology.switches)
    assert survived(topology) == cable - 1
