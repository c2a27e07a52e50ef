"""What auto takes if a size is given, and what it reports where trees are faster."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign import compare_methods, compile_fitting, schedule, simulate
from topodesign.optima.trees import best_allreduce
from topodesign.schedulers.for_size import SEARCHES


@pytest.mark.dear
def test_trees_win_on_irregular_graphs_and_auto_says_so_or_takes_them() -> None:
    known = schedule("mesh(4,4)", "allreduce")
    trees = schedule("mesh(4,4)", "allreduce", method="forest")
    assert known.kind == "rounds"
    assert "--algorithm forest is 50.0% faster: BW factor 5/2" in known.notes[-1]
    assert known.claim["bandwidth"] / Fraction(5, 2) == Fraction(3, 2)
    assert trees.topology.degree * trees.fabric.unit / trees.claim["algorithmic_bandwidth"] == Fraction(5, 2)
    for size, method in (("1GiB", "fluid"), ("1KiB", "one-shot")):
        assert schedule("mesh(4,4)", "allreduce", size=size).generator["method"] == method
    assert not any("forest" in note for note in schedule("torus(4,4)", "allreduce").notes)


@pytest.mark.parametrize("spec", ["dgx_h100(2)", "dgx_h100(1)", "dgx_h100(6)"])
def test_auto_takes_what_switches_that_add_reach(spec: str) -> None:
    """By itself as much as the engine proves of capable switches; by ranks alone what every target can load."""
    plan, ranks = schedule(spec, "allreduce"), schedule(spec, "allreduce", by_ranks=True)
    assert ranks.generator["method"] == "forest"
    assert plan.claim["algorithmic_bandwidth"] == best_allreduce(plan.fabric).bandwidth
    if plan.claim["algorithmic_bandwidth"] > ranks.claim["algorithmic_bandwidth"]:
        assert plan.generator["method"] == "in-network"
        assert "by ranks alone (--set by-ranks=yes)" in plan.notes[-1]
    else:
        assert "no trees are known that are faster by it" in plan.notes[-1]


def test_compile_takes_what_its_target_can_load() -> None:
    made = compile_fitting(lambda k: schedule("dgx_h100(2)", "allreduce", fixed_k=k))
    assert made.plan.generator["method"] == "forest"
    assert "no instruction of this target lets a switch copy or add" in made.notes[0]


@pytest.mark.once
@pytest.mark.dear("mesh(2,3)-allreduce-1MiB", "dgx_h100(1)-allreduce-64KiB")
@pytest.mark.parametrize(
    ("place", "collective", "size"),
    [
        ("complete(4)", "allreduce", "1KiB"),
        ("uniring(1,4)", "allgather", "64KiB"),
        ("debruijn(2,2)", "all-to-all", "16KiB"),
        ("mesh(2,3)", "allreduce", "1MiB"),
        ("dgx_h100(1)", "allreduce", "64KiB"),
        ("rail_spine(2,2,1)", "all-to-all", "1MiB"),
        ("torus(2,3)", "broadcast", "16MiB"),
    ],
)
def test_with_a_size_auto_takes_the_fastest_that_methods_lists(place: str, collective: str, size: str) -> None:
    root = 0 if collective == "broadcast" else None
    plan = schedule(place, collective, root=root, size=size)
    listed = compare_methods(place, collective, root=root, sizes=size)
    time = simulate(plan, size=size, alpha="10us").time
    assert time == listed.contenders[0].times[0]
    reasons = {name: why for name, why in listed.missing if name in SEARCHES}
    assert all("name it with --algorithm" in reason or reason.startswith("makes no") for reason in reasons.values())
    assert plan.notes[-1].startswith(f"for {size}, alpha 10us")
    for note in (note for note in plan.notes if note.startswith("not tried")):
        assert "exact" in note
        assert "no plan takes less than" in note


def test_an_all_to_all_of_boxes_is_weighed_with_latencies_too() -> None:
    [boxes] = compare_methods("dgx_a100(2)", "all-to-all", sizes="4MiB", methods=["boxes"]).contenders
    assert boxes.proof == "plan verified"


def test_the_latencies_of_a_fabric_choose_as_a_size_does() -> None:
    plan = schedule("rail_spine(2,2,1)", "allgather", alpha="fabric")
    listed = compare_methods("rail_spine(2,2,1)", "allgather", alpha="fabric")
    assert simulate(plan, size="1MiB", alpha="fabric").time == listed.contenders[0].times[0]
