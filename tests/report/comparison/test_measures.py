"""Cables, failures survived and cuts, against other ways of counting."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from tests.samples.topologies import regular_digraphs
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.latency import Latency
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.presets import build_fabric
from topodesign.plans.time.chunks import PipelineSimulation
from topodesign.plans.time.simulate import simulate
from topodesign.pricing.workload import as_workload
from topodesign.report.comparison.everyday import EVERYDAY, everyday
from topodesign.report.comparison.measures import Counts, count_survived, counts, widest_known
from topodesign.report.comparison.timing import Phase, Timing
from topodesign.schedulers.scheduling import schedule
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
    assert count_survived(topology) == least - 1


def test_a_path_survives_nothing_and_a_switch_is_counted() -> None:
    path = Topology.from_arrays(3, np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]))
    assert counts(path) == Counts(cables=2, ports=4, switches=0, switch_ports=0, survives=0)
    uneven = Topology.from_links(3, [(0, 1), (1, 0), (1, 0), (1, 2), (2, 0)])  # a cable carries a link and its reverse
    assert counts(uneven).cables == 4
    box = counts(build_fabric("fat_tree(2,3,3)").topology)
    assert box.switches == 5
    assert box.survives == 0  # a host has one cable


@pytest.mark.parametrize("spec", SPECS)
def test_cables_carry_all_links(spec: str) -> None:
    topology = build(spec)
    links = {(u, v): c for u, v, c in topology.links() if u != v}
    found = counts(topology)
    assert found.ports == sum(links.values())
    assert found.cables == found.ports - sum(min(c, links.get((v, u), 0)) for (u, v), c in links.items() if u < v)


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
    assert count_survived(topology) == (None if least is None else max(least - 1, 0))


def test_a_host_of_a_large_fabric_hangs_on_its_own_cable() -> None:
    topology = build_fabric("fat_tree(32,32,32)").topology
    cable = min(c for u, _, c in topology.links() if u not in topology.switches)
    assert count_survived(topology) == cable - 1


# -- Numbers that times are computed from give the times of the simulator, for all latencies and sizes


PLANS = [
    ("fat_tree(2,4,4)", "allreduce", "forest"),
    ("dgx_h100(1)", "allreduce", "in-network"),
    ("dgx_a100(2)", "allgather", "forest"),
    ("dgx_a100(2)", "all-to-all", "fluid"),
    ("torus(3,3)", "allreduce", "forest"),
]


@pytest.mark.parametrize(("place", "collective", "method"), PLANS)
def test_the_numbers_of_one_simulation_give_all_others(place: str, collective: str, method: str) -> None:
    plan = schedule(place, collective, method=method)
    first = simulate(plan, size="1MiB").run
    assert isinstance(first, PipelineSimulation)
    rate = Fraction(10**11)
    timing = Timing.of_run(first, rate)
    assert timing.pipelined
    for size in (Fraction(2**13), Fraction(2**27)):
        for gap, hop in ((0, 0), ("200ns", "300ns"), ("3us", "1us")):
            run = simulate(plan, size=size, alpha="10us", gap=gap, hop=hop).run
            latency = Latency(*as_latency_of(gap, hop))
            assert timing.time(latency, size, rate) == run.time
    work = as_workload(sizes=["1KiB", "1GiB"])
    assert timing.chunks(work) == tuple(simulate(plan, size=size).run.record()["chunks"] for size in work.sizes)


def as_latency_of(gap: str | int, hop: str | int) -> tuple[Fraction, Fraction, Fraction]:
    work = as_workload("10us", gap=gap, hop=hop)
    return work.alpha, work.gap, work.hop


def test_rounds_pay_alpha_for_a_step_and_bytes_once() -> None:
    timing = Timing((Phase(3, 1, 0, Fraction(7, 8)), Phase(3, 1, 0, Fraction(9, 8))))
    work = as_workload("10us", ["1MiB"], "100Gbps")
    assert timing.times(work) == (6 * Fraction(1, 10**5) + 2 * Fraction(8 * 2**20, 10**11),)
    assert (timing.steps, timing.bandwidth) == (Fraction(3), Fraction(1))
    assert (timing.gaps, timing.hops) == (0, 0)
    assert timing.chunks(work) == (1,)
    assert not timing.at_once


# -- Everyday names: the place has the nodes and ports that were asked for, and what there is not of is said


WORK = as_workload()


@pytest.mark.parametrize("name", EVERYDAY)
def test_what_a_name_stands_for_has_that_size(name: str) -> None:
    found = 0
    for nodes, degree in itertools.product((3, 12, 16, 18, 31, 50, 64), (1, 2, 3, 4, 6, 7)):
        if name == "best" and degree == 1:
            continue  # the catalog has none, and the search takes its seconds
        reason = ""
        try:
            place = everyday(name, nodes, degree, WORK).place
        except InfeasibleError as error:
            reason = str(error)
        if reason:
            assert reason.startswith(f"there is no {name} of {nodes} nodes with {degree} ports: ")
            continue
        found += 1
        if isinstance(place, Fabric):
            assert len(place.compute) == nodes
        else:
            assert place.nodes == nodes
            assert place.degree <= degree
            assert nx.is_strongly_connected(nx.DiGraph(place.to_networkx()))
    assert found


@pytest.mark.parametrize(("nodes", "degree", "diameter"), [(16, 4, 4), (64, 6, 6), (200, 6, 8), (36, 4, 6)])
def test_the_torus_has_the_least_diameter(nodes: int, degree: int, diameter: int) -> None:
    place = everyday("torus", nodes, degree, WORK).place
    assert isinstance(place, Topology)
    assert nx.diameter(nx.Graph(place.to_networkx())) == diameter


def test_the_tree_has_the_links_of_both_trees_and_no_more() -> None:
    for nodes in (7, 8, 16, 33):
        place = everyday("tree", nodes, 4, WORK).place
        assert isinstance(place, Topology)
        assert place.is_duplex
        assert place.degree <= 4
        assert int(place.capacity.sum()) == 2 * 2 * (nodes - 1)


def test_the_fat_tree_is_about_square() -> None:
    place = everyday("fattree", 64, 4, WORK).place
    assert isinstance(place, Fabric)
    assert place.name == f"fat_tree({8},{8},{8})"
    assert math.isqrt(64) == 8


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ParameterError, match="known are best, ring"):
        everyday("butterfly", 8, 2, WORK)
