"""Lifts with small distances: of the size and cabling asked for, the same again, and near what no topology beats."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign import all_to_all, build
from topodesign.base.cost import moore_distances
from topodesign.search.distances import orbits_of_lifts, search_distances
from topodesign.search.target import Target


@pytest.mark.parametrize("duplex", [False, True])
@pytest.mark.parametrize(("nodes", "degree"), [(24, 3), (36, 4), (20, 6)])
def test_lifts_are_as_asked_for_and_near_the_bound(nodes: int, degree: int, duplex: bool) -> None:
    target = Target(nodes, degree, duplex)
    least = []
    for orbits in orbits_of_lifts(target):
        found = search_distances(target, orbits, 10**6, seed=1)
        assert found == search_distances(target, orbits, 10**6, seed=1)
        if found is not None:
            topology = build(found)
            assert (topology.nodes, topology.degree) == target.size
            assert topology.is_duplex or not duplex
            distances = all_to_all(topology, effort="bounds").distances
            assert distances is not None
            least.append(distances)
    bound = moore_distances(nodes, degree, duplex=duplex)
    assert bound <= min(least) <= bound * Fraction(11, 10)


def test_a_moore_graph_is_found() -> None:
    found = search_distances(Target(10, 3, duplex=True), 2, 10**7, seed=0)
    assert found is not None
    assert all_to_all(str(found)).bandwidth == moore_distances(10, 3, duplex=True)


def test_none_where_a_port_stays_free_or_links_would_have_to_be_their_own_reverse() -> None:
    assert orbits_of_lifts(Target(9, 3, duplex=True)) == []
    assert orbits_of_lifts(Target(4, 5, duplex=False)) == []
    assert search_distances(Target(15, 4, duplex=True), 1, 10**5) is not None
