"""Which sizes the shipped catalog has: all that it says, and a grid that improving keeps to."""

from __future__ import annotations

import pytest

from topodesign import Catalog, pareto
from topodesign.catalog.quality import runtime
from topodesign.catalog.sizes import DEGREES, LARGE_SIZES, MOST_NODES, covers, sizes_among
from topodesign.search import beyond
from topodesign.search.composed import composed
from topodesign.search.target import Target


def test_small_sizes_are_covered_and_large_ones_that_people_buy() -> None:
    assert [n for n in range(2**17) if covers(n, 4)] == [*range(3, MOST_NODES + 1), *sorted(LARGE_SIZES)]
    assert {2112, 4096, 10_240, 16_384, 32_768, 65_536} <= LARGE_SIZES
    assert not any(covers(4096, degree) for degree in (1, DEGREES.stop))


def test_the_shipped_catalog_has_them() -> None:
    """At most degrees all; at others, which fewer people buy, every fourth."""
    for degree in DEGREES:
        sizes = {row.nodes for row in Catalog().rows(degree, MOST_NODES + 1, 2**16)}
        grain = 256 if degree in {5, 7, 9, 11, 13, 14, 15} else 64
        assert sizes == {n for n in LARGE_SIZES if n % grain == 0}


def test_a_range_keeps_to_these_sizes_and_a_single_one_is_what_it_is() -> None:
    assert sizes_among(range(2046, 2200)) == [2046, 2047, 2048, 2112, 2176]
    assert sizes_among(range(5000, 5001)) == [5000]


@pytest.mark.parametrize(
    ("nodes", "degree", "duplex"), [(4096, 4, False), (4096, 4, True), (8192, 8, True), (16_384, 3, True)]
)
def test_large_rows_are_no_worse_than_what_is_composed(
    nodes: int, degree: int, duplex: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beyond, "_WORK", 2**20)
    monkeypatch.setattr(beyond, "_WORK_TIMES_SQUARE", 2**27)
    found = pareto(nodes, degree, bidirectional=duplex)
    assert found.origin == "catalog"
    assert found.best.name == f"catalog{'_duplex' * duplex}({nodes},{degree},{1 + list(found).index(found.best)})"
    several = composed(Target(nodes, degree, duplex), Catalog())
    assert runtime(found.best.mean) <= min(runtime(one.mean) for one in several)


@pytest.mark.thorough
def test_sizes_between_are_composed_and_told_of_rows_close_by() -> None:
    found = pareto(10_243, 4, bidirectional=True)  # prime
    assert found.origin == "composed"
    assert found.better is not None
    assert found.better.other in LARGE_SIZES
    best = pareto(found.better.other, 4, bidirectional=True).best
    assert best.allreduce[0] == found.better.other_time
