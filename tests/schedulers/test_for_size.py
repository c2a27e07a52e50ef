"""What auto takes where a size is said, and what it says where trees are faster."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign import schedule
from topodesign.optima.alternatives import best_allreduce


def test_trees_win_on_irregular_graphs_and_auto_says_so_or_takes_them() -> None:
    known = schedule("mesh(4,4)", "allreduce")
    trees = schedule("mesh(4,4)", "allreduce", method="forest")
    assert known.kind == "rounds"
    assert "--method forest is 50.0% faster: trees of y = 5/2" in known.notes[-1]
    assert known.claim["bandwidth"] / Fraction(5, 2) == Fraction(3, 2)
    assert trees.topology.degree * trees.fabric.unit / trees.claim["algorithmic_bandwidth"] == Fraction(5, 2)
    for size, method in (("1GiB", "fluid"), ("1KiB", "one-shot")):
        assert schedule("mesh(4,4)", "allreduce", size=size).generator["method"] == method
    assert not any("forest" in note for note in schedule("torus(4,4)", "allreduce").notes)


@pytest.mark.parametrize(
    ("spec", "gain"), [("dgx_h100(2)", "50.0% faster for large data, 400GB/s"), ("dgx_h100(6)", "no trees are known")]
)
def test_auto_says_what_switches_that_add_reach(spec: str, gain: str) -> None:
    """Trees that only forward can be compiled for all; beside them is what the engine proves of capable switches."""
    plan = schedule(spec, "allreduce")
    assert plan.generator["method"] == "forest"
    (note,) = (one for one in plan.notes if one.startswith("switches copy or add here"))
    assert gain in note
    best = best_allreduce(plan.fabric)
    assert note.endswith(
        "proven: no schedule over trees of nodes and of the switches that can copy or add has more bandwidth"
    )
    if "faster for" in note:
        fast = schedule(spec, "allreduce", method="in-network").claim["algorithmic_bandwidth"]
        assert plan.claim["algorithmic_bandwidth"] < fast == best.bandwidth
    else:
        assert plan.claim["algorithmic_bandwidth"] == best.bandwidth
