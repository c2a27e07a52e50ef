"""Groups and placements: what is written is what is meant, and what is wrong is reported."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.errors import TopodesignError
from topodesign.fabrics.groups import as_groups, as_placement, roots_of
from topodesign.fabrics.places import as_fabric

FABRIC = as_fabric("dgx_a100(1)")
PLAIN = as_fabric("torus(2,3)")


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_groups_along_axes_cut_the_ranks_into_equal_parts_that_differ_there_alone(
    shape: list[int], data: st.DataObject
) -> None:
    ranks = math.prod(shape)
    fabric = as_fabric(f"complete({ranks})") if ranks > 1 else as_fabric("complete(2)")
    if ranks == 1:
        shape = [2]
        ranks = 2
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1).map(sorted))
    placement = data.draw(st.permutations(range(ranks)))
    groups = as_groups(fabric, f"{'x'.join(map(str, shape))}:{','.join(map(str, axes))}", placement)
    assert sorted(itertools.chain.from_iterable(groups)) == list(range(ranks))
    assert {len(group) for group in groups} == {math.prod(shape[axis] for axis in axes)}

    def place(rank: int) -> list[int]:
        digits = []
        for size in shape:
            rank, digit = divmod(rank, size)
            digits.append(digit)
        return digits

    rank_of = {node: rank for rank, node in enumerate(placement)}
    for group in groups:
        rest = {tuple(d for at, d in enumerate(place(rank_of[node])) if at not in axes) for node in group}
        assert len(rest) == 1


def test_groups_by_names_patterns_files_and_lists(tmp_path: Path) -> None:
    assert as_groups(FABRIC, ["box0/gpu[01]", "box0/gpu7,box0/gpu6"]) == ((0, 1), (7, 6))
    assert as_groups(FABRIC, [["box0/gpu0", 1], (2, 3)]) == ((0, 1), (2, 3))
    path = tmp_path / "groups.csv"
    path.write_text("node,group\n0,a\n1,b\n2,a\n", encoding="utf-8")
    assert as_groups(PLAIN, str(path)) == as_groups(PLAIN, path) == ((0, 2), (1,))
    ranks = tmp_path / "ranks.csv"
    ranks.write_text("rank,node\n" + "".join(f"{5 - node},{node}\n" for node in range(6)), encoding="utf-8")
    assert as_placement(PLAIN, ranks) == (5, 4, 3, 2, 1, 0) == as_placement(PLAIN, "5,4,3,2,1,0")
    assert as_groups(PLAIN, "2x3:0", ranks) == ((5, 4), (3, 2), (1, 0))


def test_roots_of_groups() -> None:
    groups = ((0, 1), (2, 3))
    assert roots_of(PLAIN, "first", groups) == (0, 2)
    assert roots_of(PLAIN, "1,2", groups) == (1, 2) == roots_of(PLAIN, [1, "2"], groups)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: as_groups(PLAIN, "2x4:0"), "2x4 are 8 ranks, and there are 6 nodes"),
        (lambda: as_groups(PLAIN, "2x3:2"), "2x3 has axes 0 to 1, not 2"),
        (lambda: as_groups(PLAIN, "2x3:0,0"), "named twice"),
        (lambda: as_groups(PLAIN, "2x3"), "a shape and axes"),
        (lambda: as_groups(PLAIN, "0,,1"), "names or patterns"),
        (lambda: as_groups(PLAIN, "0,9"), "named '9'"),
        (lambda: as_groups(FABRIC, "box0/nvswitch"), "is a switch"),
        (lambda: as_groups(PLAIN, 7), "groups are text or lists"),  # type: ignore[arg-type]
        (lambda: as_groups(PLAIN, [7]), "a group is a list of nodes"),  # type: ignore[list-item]
        (lambda: as_groups(PLAIN, [[0, 9]]), "from 0 to 5"),
        (lambda: as_placement(PLAIN, "0,1,2,3,4"), "it lacks 5"),
        (lambda: as_placement(PLAIN, "0,1,2,3,4,5,5"), "one is named twice"),
        (lambda: as_placement(PLAIN, 3), "a list of nodes or a .csv file"),  # type: ignore[arg-type]
        (lambda: roots_of(PLAIN, "1", ((0, 1), (2, 3))), "1 root for 2 groups"),
        (lambda: roots_of(PLAIN, 1, ((0, 1), (2, 3))), "1 root for 2 groups"),
    ],
)
def test_what_is_wrong_is_said(call: Any, words: str) -> None:
    with pytest.raises(TopodesignError, match=words):
        call()


@pytest.mark.parametrize("text", ["rank,node\n0,0\n0,1\n", "rank,node\n1,0\n", "rank,node\nx,0\n", "node\n0\n"])
def test_files_that_are_no_placements_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "ranks.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TopodesignError, match=str(path)):
        as_placement(PLAIN, path)
