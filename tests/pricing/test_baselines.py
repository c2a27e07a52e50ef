"""What people wire today: each baseline is its model, and is there only where its ports are."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign.base.cost import Cost
from topodesign.pricing.baselines import baselines
from topodesign.pricing.workload import Workload

WORK = Workload(Fraction(1, 10**5), (Fraction(2**20), Fraction(10**9)), Fraction(10**11))


def test_baselines_are_their_models() -> None:
    ring, fast, trees = baselines(1024, 4, WORK)
    optimal = Fraction(1023, 1024)
    assert (ring.cost, fast.cost, trees.cost) == (Cost(1023, optimal), Cost(512, optimal), None)
    for place, size in enumerate(WORK.sizes):
        whole = 8 * size / WORK.bandwidth
        assert ring.allreduce[place] == 2 * (1023 * WORK.alpha + optimal * whole)
        assert fast.allreduce[place] == 2 * (512 * WORK.alpha + optimal * whole)
        assert trees.allreduce[place] == min(2 * (9 + k) * (WORK.alpha + 2 * whole / k) for k in range(1, 1000))
    free = Workload(Fraction(0), (Fraction(2**20),), WORK.bandwidth)
    assert float(baselines(64, 4, free)[2].allreduce[0]) == pytest.approx(
        float(4 * 8 * 2**20 / WORK.bandwidth), rel=1e-4
    )


@pytest.mark.parametrize(("degree", "count"), [(1, 0), (3, 0), (2, 2), (4, 3), (5, 1), (8, 3)])
def test_baselines_need_the_ports_they_use(degree: int, count: int) -> None:
    assert len(baselines(9, degree, WORK)) == count
