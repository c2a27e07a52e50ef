"""Lifted all-to-all: right by the replay of paths, and as fast as the flow among all nodes where the inside is wide."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign import as_fabric, schedule, simulate, verify
from topodesign.base.errors import ParameterError
from topodesign.collectives import ALL_TO_ALL
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.optima.flows import solve_flow
from topodesign.optima.question import Question

WIDE = [
    "boxes(dgx_h100,complete(3))",
    "boxes(mi300x,dicirculant(4,1,1,2))",
    "boxes(mi300x,uniring(2,3))",
    "boxes(dgx_h100,dicirculant(3,1,1,2),1,1,300,17)",
    "boxes(dgx_h100,complete(3),2)",
    "dgx_h100(3)",
]


@pytest.mark.parametrize("place", WIDE)
def test_nothing_beats_it_where_the_inside_is_wide(place: str) -> None:
    """However NICs are numbered, and over rails; against the flow among all nodes, which knows of no boxes."""
    plan = schedule(place, "all-to-all", method="boxes")
    assert verify(plan).ok
    assert plan.claim["algorithmic_bandwidth"] == solve_flow(Question(as_fabric(place), ALL_TO_ALL)).bandwidth
    assert "optimal (proven)" in plan.notes[0]
    time = simulate(plan, size="256GiB", alpha="fabric").time
    ideal = Fraction(2**38) / plan.claim["algorithmic_bandwidth"]
    assert ideal < time < Fraction(101, 100) * ideal


@pytest.mark.parametrize("place", ["boxes(pcie_pair,complete(3))", "boxes(dgx_a100_pcie,uniring(1,3))"])
def test_the_gap_is_told_where_it_is_narrow(place: str) -> None:
    plan = schedule(place, "all-to-all", method="boxes")
    assert verify(plan).ok
    best = solve_flow(Question(as_fabric(place), ALL_TO_ALL)).bandwidth
    assert plan.claim["algorithmic_bandwidth"] <= best
    assert best <= plan.claim["algorithmic_bandwidth"] * (1 + Fraction(plan.generator["lost"]))


def test_cables_of_one_link_share_alike() -> None:
    """Three cables between two boxes of four nodes: blocks are cut where a cable is full."""
    nodes = [f"box{b}/{i}" for b in range(2) for i in range(4)]
    links = [
        FabricLink(f"box{b}/{i}", f"box{b}/{j}", Fraction(10**11))
        for b in range(2)
        for i in range(4)
        for j in range(4)
        if i != j
    ]
    links += [FabricLink(f"box{b}/{i}", f"box{1 - b}/{i}", Fraction(10**10)) for b in range(2) for i in range(3)]
    fabric = Fabric.from_links("two", nodes, (), links)
    plan = schedule(fabric, "all-to-all", method="boxes")
    assert verify(plan).ok
    assert plan.claim["algorithmic_bandwidth"] == Fraction(8 * 3 * 10**10, 16)


def test_a_latency_says_nothing() -> None:
    with pytest.raises(ParameterError, match="--alpha cannot be combined"):
        schedule("boxes(dgx_h100,complete(3))", "all-to-all", method="boxes", alpha="1us")
