"""Lifted plans: right by an independent replay, at the time that they claim, and no faster than links allow."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from topodesign import (
    as_fabric,
    build_fabric,
    check_file,
    check_traces,
    compile_plan,
    optimum,
    schedule,
    simulate,
    verify,
)
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALL_TO_ALL
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.optima.flows import solve_flow
from topodesign.optima.question import Question
from topodesign.plans.flow import Flow

PLACES = [
    "boxes(dgx_h100,complete(3))",
    "boxes(mi300x,dicirculant(4,1,1,2))",
    "boxes(pcie_pair,uniring(2,3))",
    "dgx_h100(3)",
]


@pytest.mark.once
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize("place", PLACES)
def test_plans_are_right(place: str, collective: str) -> None:
    for size in ("64KiB", "16MiB"):
        plan = schedule(place, collective, method="boxes", size=size)
        found = verify(plan)
        assert found.ok, str(found)
        own, under = simulate(plan, size=size).time, simulate(plan, size=size, alpha="fabric").time
        assert own <= under <= plan.claim["time"]
        assert isinstance(plan.movement, Flow)
        best = optimum(build_fabric(place)).bandwidth
        assert plan.claim["time"] * best >= plan.movement.timing.size * (2 if collective == "allreduce" else 1)


def test_chunks_follow_one_another() -> None:
    """Many chunks come near the rate that the cut allows; one takes each step's data one after the other."""
    place = "boxes(mi300x,complete(4))"
    once, often = (schedule(place, "allgather", method="boxes", size="256MiB", chunks=n).claim["time"] for n in (1, 32))
    ideal = Fraction(2**28) / optimum(build_fabric(place)).bandwidth
    assert ideal < often < Fraction(11, 10) * ideal < once


def test_a_gap_is_kept_between_messages_of_a_port() -> None:
    plan = schedule("boxes(dgx_h100,complete(3))", "reduce-scatter", method="boxes", size="1KiB", chunks=1)
    assert plan.claim["time"] >= Fraction(5, 10**6) + 7 * Fraction(2, 10**7)


def test_a_switch_that_copies_sends_to_all_at_once_and_another_does_not() -> None:
    """Eight messages less for a port; the replay takes it for right only where the switch can."""
    plan = schedule("boxes(dgx_h100,complete(3))", "allgather", method="boxes", size="1KiB", chunks=1)
    _, makes = np.unique(plan.flow.uses, return_counts=True)
    assert int((makes - 1).sum()) == 6 * 24 * 3  # of 24 blocks in 3 boxes each, to 7 nodes, all but the first
    blind = replace(plan, place=replace(plan.fabric, multicast=frozenset()))
    assert not verify(blind).ok
    assert "passes on what it gets, once" in str(verify(blind))
    slow = schedule(blind.place, "allgather", method="boxes", size="1KiB", chunks=1)
    assert verify(slow).ok
    assert slow.claim["time"] > plan.claim["time"] + Fraction(2, 10**6)


@pytest.mark.once
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce", "all-to-all"])
@pytest.mark.parametrize(("target", "ending"), [("msccl", ".xml"), ("mscclpp", ".json"), ("chakra", "")])
def test_lifted_plans_become_programs(collective: str, target: str, ending: str, tmp_path: Path) -> None:
    """Parsed and executed by what knows no compiler, in several orders."""
    chunks = None if collective == "all-to-all" else 1
    plan = schedule("boxes(dgx_h100,complete(3))", collective, method="boxes", size="1MiB", chunks=chunks)
    path = tmp_path / f"program{ending}"
    compile_plan(plan, target=target).save(path)
    assert check_traces(path).ok if target == "chakra" else check_file(path).ok


def test_what_is_not_made_of_boxes_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="not made of boxes"):
        schedule("tpu_torus(2,2)", "allgather", method="boxes")
    with pytest.raises(InfeasibleError, match="does not reach"):
        schedule("fat_tree(2,2,2)", "allgather", method="boxes")


def test_over_rails_each_nic_sends_to_one_box_where_they_are_many() -> None:
    """So messages are few, and nothing is lost: any such plan is one of a wiring, too."""
    plan = schedule("rail_optimised(6,2)", "allgather", method="boxes", size="64KiB", chunks=1)
    assert verify(plan).ok
    assert isinstance(plan.movement, Flow)
    src, dst = plan.flow.src, plan.flow.dst
    box = {v: name.partition("/")[0] for v, name in enumerate(plan.fabric.names)}
    reached: dict[int, set[str]] = {}
    for u, v in zip(src.tolist(), dst.tolist(), strict=True):
        if box[u] != box[v]:
            reached.setdefault(u, set()).add(box[v])
    assert {len(some) for some in reached.values()} == {1}


# -- Lifted all-to-all: right by the replay of paths, and as fast as the flow among all nodes where the inside is wide


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
    asked = "boxes(dgx_h100,complete(3))", "all-to-all"
    timed, plan = schedule(*asked, method="boxes", alpha="1us"), schedule(*asked, method="boxes")
    assert (timed.claim, timed.notes[-1]) == (plan.claim, "the plan is the same for any latency")
