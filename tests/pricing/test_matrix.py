"""Matrices of traffic: exact against a linear program, and between bounds where it is not solved exactly."""

from __future__ import annotations

import numpy as np
import pytest

from tests.pricing.test_demands import by_pairs
from topodesign.base.errors import ParameterError
from topodesign.pricing.flows import matrix
from topodesign.pricing.flows.demands import UnreachableError
from topodesign.pricing.flows.matrix import matrix_flow
from topodesign.topology.library import build
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
    found = matrix_flow(topology, demand)
    assert found.exact
    assert float(found.upper) == pytest.approx(by_pairs(topology, demand, [0] * len(topology.src)), rel=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_balancing_keeps_the_optimum_between_its_bounds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    topology = build(SPECS[seed % len(SPECS)])
    demand = drawn(topology, seed)
    least = matrix_flow(topology, demand).upper
    monkeypatch.setattr(matrix, "_MOST_COLUMNS", 0)
    found = matrix_flow(topology, demand)
    assert found.lower <= least <= found.upper <= least * 11 / 10


def test_what_is_wrong_is_said() -> None:
    topology = build("torus(3,3)")
    with pytest.raises(ParameterError, match="matrix of 9 x 9"):
        matrix_flow(topology, np.ones((3, 3), dtype=np.int64))
    one_way = Topology.from_links(3, [(0, 1), (1, 2)])
    for most in (matrix._MOST_COLUMNS, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(matrix, "_MOST_COLUMNS", most)
            with pytest.raises(UnreachableError):
                matrix_flow(one_way, np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]]))
    assert matrix_flow(topology, np.zeros((9, 9), dtype=np.int64)).upper == 0
