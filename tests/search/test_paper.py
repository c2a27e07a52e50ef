"""The finder of the paper knows all families that the paper names, and nothing that beats a bound or our frontiers."""

from __future__ import annotations

import pytest

from topodesign.base.cost import lower_bound
from topodesign.catalog.lookup import Catalog
from topodesign.search.paper import DISTANCE_REGULAR, RINGS_AND_MESHES, TABLE_7, paper_families, paper_finder


def test_all_families_of_the_paper_are_there() -> None:
    assert {family.name for family in paper_families()} == TABLE_7 | DISTANCE_REGULAR | RINGS_AND_MESHES | {
        "dicirculant"
    }


@pytest.mark.parametrize(("nodes", "degree"), [(20, 4), (36, 4), (81, 3), (100, 4)])
def test_the_catalog_is_never_worse(nodes: int, degree: int) -> None:
    bound = lower_bound(nodes, degree)
    ours = [row.cost for row in Catalog().frontier(nodes, degree, duplex=False)]
    theirs = [one.cost for one in paper_finder().frontier(nodes, degree)]
    assert theirs
    for cost in theirs:
        assert cost.steps >= bound.steps
        assert cost.bandwidth >= bound.bandwidth
        assert any(own.dominates(cost) for own in ours)
