"""Pipelines: right, as dear as said, from the fewest steps to the bandwidth of the least cut."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest

from tests.graphs.test_graphs import SAMPLES
from tests.samples.verdicts import verify_rounds
from topodesign.base.errors import TopodesignError
from topodesign.collectives import ALLGATHER, BROADCAST, COLLECTIVES
from topodesign.optima.forest.schedule import forest_schedule
from topodesign.plans.unroll import pipeline_trees
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.pipeline import METHOD, Pipeline, pipelines
from topodesign.schedulers.scheduling import list_schedules, schedule
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

PLACES = ("torus(3,3)", "genkautz(2,9)", "line(diamond())", "complete(5)", "circulant(8,1,3)", "uniring(1,5)")


def least_cut(topology: Topology, root: int) -> int:
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([link for link in topology.links() if link[0] != link[1]], weight="capacity")
    return min(int(nx.maximum_flow_value(graph, root, node)) for node in range(topology.nodes) if node != root)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["broadcast", "reduce"])
def test_from_the_eccentricity_to_the_least_cut(place: str, name: str) -> None:
    topology = build(place)
    where = topology if name == "broadcast" else topology.transpose()
    graph = nx.DiGraph([link[:2] for link in where.links()])
    for root in (0, topology.nodes - 1):
        found = list_schedules(place, name, method="pipeline", root=root, chunks=24)
        assert found.schedules[0].cost.steps == nx.eccentricity(graph, root)
        assert found.bound == Fraction(topology.degree, least_cut(where, root))
        last = found.schedules[-1].cost
        assert found.bound < last.bandwidth <= found.bound * Fraction(last.steps, 24) or topology.nodes == 2
        costs = [(point.cost.steps, -point.cost.bandwidth) for point in found.schedules]
        assert costs == sorted(costs)
        for point in (*found.schedules[:3], found.schedules[-1]):
            plan = point.plan
            report = verify_rounds(topology, plan.movement)
            assert report.ok, report.problems
            assert report.cost == point.cost
            assert not report.redundant
            assert not report.refilled


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["broadcast", "reduce"])
def test_all_families_reach_the_eccentricity_and_the_least_cut(name: str) -> None:
    heights: dict[int, int] = {}
    places = [spec for spec in SAMPLES if 2 <= build(spec).nodes <= 32]
    for place in places:
        topology = build(place)
        where = topology if name == "broadcast" else topology.transpose()
        graph = nx.DiGraph([link[:2] for link in where.links() if link[0] != link[1]])
        found = list_schedules(place, name, method="pipeline", root=0)
        farthest = nx.eccentricity(graph, 0)
        assert found.schedules[0].cost.steps == farthest
        assert found.bound == Fraction(topology.degree, least_cut(where, 0))
        last = found.schedules[-1]
        assert last.cost.bandwidth <= found.bound * Fraction(last.cost.steps, last.chunks)
        for point in (found.schedules[0], found.best("1MiB")):
            assert verify(point.plan).ok
        more = last.cost.steps - last.chunks + 1 - farthest
        heights[more] = heights.get(more, 0) + 1
    higher = sorted(heights.items())
    print(f"{name} on {len(places)} topologies: trees that reach the cut are so much higher: {higher}")


def test_costs_are_told_without_making_the_rounds() -> None:
    links = [(0, 1, 2), (1, 2, 1), (2, 3, 3), (3, 0, 1), (0, 2, 1), (2, 0, 2), (1, 3, 1), (3, 1, 1)]
    for topology in (build("torus(3,4)"), Topology.from_links(4, links)):
        for collective in (BROADCAST.at(1), ALLGATHER, BROADCAST.within([(0, 1), (2, 3)], [1, 2])):
            for way in pipelines(topology, collective):
                for chunks in (1, 2, 3, 7, 12):
                    report = verify_rounds(topology, way.rounds(chunks))
                    assert report.ok, report.problems
                    assert report.cost == way.cost(chunks)


def test_the_best_of_the_frontier_is_taken_for_the_size() -> None:
    found = list_schedules("torus(4,4)", "broadcast", method="pipeline", root=3, sizes=["1KiB", "1MiB", "1GiB"])
    for size in ("1KiB", "1MiB", "1GiB"):
        plan = schedule("torus(4,4)", "broadcast", method="pipeline", root=3, size=size)
        assert verify(plan).ok
        best = found.best(size)
        assert plan.claim == {"steps": best.cost.steps, "bandwidth": best.cost.bandwidth}
        assert all(found.time(best, size) <= found.time(point, size) for point in found.schedules)
    assert str(found.record()["bound"]) == "1"
    assert len(found.to_records()) == len(found.schedules)
    assert "more are in --json" in str(found)


@pytest.mark.dear("allgather", "reduce-scatter")
@pytest.mark.parametrize("collective", METHOD.collectives, ids=str)
def test_groups_that_share_links_come_to_the_exact_price(collective: object) -> None:
    root = "first" if collective.rooted else None  # type: ignore[attr-defined]
    share: dict[str, Any] = {"group": "6x2:1", "others": "forward", "root": root}
    found = list_schedules("torus(3,4)", collective, method="pipeline", chunks=64, **share)  # type: ignore[arg-type]
    last = found.schedules[-1]  # of 64 chunks, or of the fewest that reach the bound
    plan = last.plan
    assert verify(plan).ok
    assert found.bound <= plan.claim["bandwidth"] <= found.bound * Fraction(last.cost.steps, last.chunks)
    assert last.chunks == 64 or plan.claim["bandwidth"] == found.bound


def test_nodes_in_no_tree_pass_data_on() -> None:
    torus = build("torus(4,4)")
    members = [0, 2, 5, 7, 8, 10, 13, 15]
    others = [node for node in range(16) if node not in members]
    part = Topology.from_arrays(16, torus.src, torus.dst, torus.capacity, switches=others)
    trees = forest_schedule(part, "allgather")
    for chunks in (1, 3):
        rounds = pipeline_trees(trees, torus, chunks, ALLGATHER.among(members))
        report = verify_rounds(torus, rounds)
        assert report.ok, report.problems
    whole = Pipeline(torus, ALLGATHER.among(members), "trees", (trees,))
    assert whole.cost(3) == report.cost
    assert list_schedules("torus(4,4)", "allgather", method="pipeline", only="0,5", others="forward").schedules[0].steps
    assert np.all(np.isin(rounds.block, members))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"collective": "all-to-all"}, "--list of --algorithm pipeline is of .*; an all-to-all"),
        ({}, "requires a root"),
        ({"collective": "allgather", "root": 0}, "has no root"),
        ({"root": 9}, "root must be from 0 to 8"),
        ({"root": 3, "only": "0,1,2", "others": "forward"}, "root 3 of the broadcast is not one of its members"),
        ({"root": 0, "only": "0,1,2"}, "add --forward"),
        ({"root": 0, "chunks": 0}, "chunks must be"),
        ({"place": "dgx_a100(1)", "root": 0}, "is a fabric"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, object], words: str) -> None:
    with pytest.raises(TopodesignError, match=words):
        list_schedules(**{"place": "torus(3,3)", "collective": "broadcast", "method": "pipeline", **options})  # type: ignore[arg-type]


def test_methods_know_what_pipelines_do() -> None:
    assert {one.name for one in METHOD.collectives} <= set(COLLECTIVES)
