"""What auto takes where a size is said, and what it says where trees are faster."""

from __future__ import annotations

from fractions import Fraction

from topodesign import schedule


def test_trees_win_on_irregular_graphs_and_auto_says_so_or_takes_them() -> None:
    known = schedule("mesh(4,4)", "allreduce")
    trees = schedule("mesh(4,4)", "allreduce", method="forest")
    assert known.kind == "rounds"
    assert "--method forest is 50.0% faster: trees of y = 5/2" in known.notes[-1]
    assert known.claim["bandwidth"] / Fraction(5, 2) == Fraction(3, 2)
    assert trees.topology.degree * trees.fabric.unit / trees.claim["algorithmic_bandwidth"] == Fraction(5, 2)
    for size, method in (("1GiB", "forest"), ("1KiB", "one-shot")):
        assert schedule("mesh(4,4)", "allreduce", size=size).generator["method"] == method
    assert not any("forest" in note for note in schedule("torus(4,4)", "allreduce").notes)
