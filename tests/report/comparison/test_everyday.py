"""Everyday names: the place has the nodes and ports that were asked for, and what there is not of is said."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import pytest

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.fabrics.fabric import Fabric
from topodesign.pricing.workload import as_workload
from topodesign.report.comparison.everyday import EVERYDAY, everyday
from topodesign.topology.topology import Topology

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
