"""Factors: what they multiply to is the topology itself, and what only looks like a product has none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from topodesign.graphs.expansions.product import graph as product
from topodesign.topology.factors import factors_of
from topodesign.topology.library import build


@pytest.mark.parametrize("spec", ["torus(3,4)", "mesh(2,3,2)", "hypercube(4)", "hamming(2,3)", "power(kautz(2,1),2)"])
def test_they_multiply_to_it(spec: str) -> None:
    topology = build(spec)
    assert product(*factors_of(topology)) == topology


def test_of_none() -> None:
    for spec in ("torus(5)", "genkautz(2,8)", "hypercube(1)"):
        assert not factors_of(build(spec))
    assert not factors_of(replace(build("mesh(2,3)"), spec=None))
    assert not factors_of(replace(build("mesh(2,3)"), spec=build("mesh(3,2)").spec))
