"""Searches for small distances: of the size and cabling asked for, the same again, and near the bound."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign import all_to_all, build
from topodesign.base.cost import moore_distances
from topodesign.search.order_degree import orbits_to_search, search_low_distances, search_near
from topodesign.search.target import Target


@pytest.mark.once
@pytest.mark.parametrize("duplex", [False, True])
@pytest.mark.parametrize(("nodes", "degree"), [(24, 3), (25, 3), (60, 4), (20, 6)])
def test_every_number_of_orbits_finds_what_was_asked_for_near_the_bound(nodes: int, degree: int, duplex: bool) -> None:
    target = Target(nodes, degree, duplex)
    least = []
    for orbits in orbits_to_search(target):
        found = search_low_distances(target, orbits, 0, seed=1)
        assert found == search_low_distances(target, orbits, 0, seed=1)
        if found is not None:
            topology = build(found)
            assert (topology.nodes, topology.degree) == target.size
            assert topology.is_duplex or not duplex
            distances = all_to_all(topology, effort="bounds").distances
            assert distances is not None
            least.append(distances)
    bound = moore_distances(nodes, degree, duplex=duplex)
    assert bound <= min(least) <= bound * Fraction(21, 20)


def test_a_moore_graph_is_found() -> None:
    petersen = Target(10, 3, duplex=True)
    found = [str(search_low_distances(petersen, orbits, 0)) for orbits in orbits_to_search(petersen)]
    assert moore_distances(10, 3, duplex=True) in [all_to_all(one).bandwidth for one in found if one != "None"]


def test_there_are_none_where_all_are_neighbours_or_only_rings() -> None:
    assert orbits_to_search(Target(4, 5, duplex=False)) == orbits_to_search(Target(9, 2, duplex=True)) == []
    assert orbits_to_search(Target(97, 3, duplex=True)) == [97]  # a port stays free, and a prime has few orbits


@pytest.mark.dear("36-3-True-randomregulargraph(36,3,7)")
@pytest.mark.parametrize(
    ("nodes", "degree", "duplex", "base"),
    [(82, 4, False, "kautz(4,2)"), (20, 4, True, "circulant(21,1,5)"), (36, 3, True, "randomregulargraph(36,3,7)")],
)
def test_near_a_topology_of_a_close_size_distances_get_lower(nodes: int, degree: int, duplex: bool, base: str) -> None:
    target, before = Target(nodes, degree, duplex), all_to_all(base, effort="bounds").distances
    found = search_near(target, build(base), 2, seed=1)
    assert found is not None
    topology = build(found)
    assert (topology.nodes, topology.degree) == target.size
    assert topology.is_duplex or not duplex
    distances = all_to_all(topology, effort="bounds").distances
    assert before is not None
    assert distances is not None
    assert distances < before * Fraction(103, 100)
