"""Lower bounds for so many steps: above what all shards need, and below every schedule."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from tests.samples.topologies import regular_digraphs
from topodesign.pricing.closed_form import price
from topodesign.pricing.least_in_steps import least_in_steps
from topodesign.pricing.split_deferral import best_deferral
from topodesign.schedulers.evaluation import evaluate
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


@given(regular_digraphs(12, 4))
@settings(max_examples=30)
def test_no_schedule_takes_less(topology: Topology) -> None:
    spff, later = price(topology.transpose()), best_deferral(topology).cost(topology)
    assert least_in_steps(topology, later.steps) <= later.bandwidth
    least = least_in_steps(topology, spff.steps)
    assert Fraction(topology.nodes - 1, topology.nodes) <= least_in_steps(topology, spff.steps + 1) <= least
    assert least <= spff.bandwidth


def test_it_is_told_beside_deferred_prices() -> None:
    found = evaluate("genkautz(4,64)")
    assert found.least_allgather == Fraction(21, 16)
    assert "  on these links   at least 21/16 in 3 steps, found +0.0%" in str(found)
    assert evaluate("torus(4,4)").least_allgather is None


@pytest.mark.parametrize(
    ("spec", "least"),
    [("genkautz(4,64)", "21/16"), ("torus(4,4)", "15/16"), ("mesh(4,4)", "15/8")],
)
def test_it_is_met(spec: str, least: str) -> None:
    topology = build(spec)
    assert least_in_steps(topology, price(topology).steps) == Fraction(least)
    assert min(price(topology).bandwidth, best_deferral(topology).cost(topology).bandwidth) == Fraction(least)
