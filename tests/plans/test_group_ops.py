"""Schedules among groups: what is taken from a whole, carried over, put side by side and apart stays right."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.verdicts import verify_rounds
from topodesign.base.cost import Cost
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, COLLECTIVES, from_record
from topodesign.optima.forest.schedule import forest_schedule
from topodesign.plans.build import build_steps
from topodesign.plans.chunk_ops import find_height
from topodesign.plans.flow_ops import concatenate, relabel, reverse
from topodesign.plans.group_ops import alongside, apart, carried_over, part_of_topology, restricted
from topodesign.plans.measure import cost_of
from topodesign.plans.unroll import pipeline_trees
from topodesign.schedulers.spff import spff
from topodesign.topology.library import build

TORUS = build("torus(3,4)")
UNEVEN = ((0, 1, 2), (3, 7), (4, 5, 8, 9), (11,))


def whole(name: str) -> object:
    if name == "allreduce":
        return concatenate(spff(TORUS), spff(TORUS, "allgather"))
    return spff(TORUS, name)


@pytest.mark.parametrize("name", ["allgather", "reduce-scatter", "allreduce"])
@given(data=st.data())
def test_what_groups_need_of_a_whole_schedule_is_right_and_lean(name: str, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(12)))
    cuts = sorted(data.draw(st.sets(st.integers(1, 11), min_size=1, max_size=4)))
    groups = [sorted(order[a:b]) for a, b in zip([0, *cuts], cuts, strict=False)]
    collective = COLLECTIVES[name].within(groups)
    part = restricted(whole(name), collective)  # type: ignore[arg-type]
    report = verify_rounds(TORUS, part)
    assert report.ok, report.problems
    assert not report.redundant
    assert not report.refilled
    assert report.cost == cost_of(TORUS, part)
    assert len(np.unique(part.step)) == part.steps


def test_blocks_of_smaller_groups_are_larger() -> None:
    pairs = ALLGATHER.within([(0, 1), (2, 5, 8, 11)])
    rows = [(1, 0, 1, 0, 0, 1), (1, 1, 0, 1, 0, 1)]
    ring = [(s, 2 + 3 * i, 2 + 3 * ((i + 1) % 4), 2 + 3 * ((i - s + 1) % 4), 0, 1) for s in (1, 2, 3) for i in range(4)]
    step, src, dst, block, lo, hi = np.array([*rows, *ring]).T
    both = build_steps(pairs, 12, 1, 3, [(step, src, dst, block, lo, hi)])
    # d = 4: step 1 carries half an M over 0 -> 1, steps 2 and 3 a quarter
    assert verify_rounds(TORUS, both).cost == cost_of(TORUS, both) == Cost(3, Fraction(4))


@pytest.mark.parametrize("collective", COLLECTIVES.values(), ids=str)
def test_collectives_in_groups_are_their_records_duals_and_parts(collective: object) -> None:
    roots = [group[-1] for group in UNEVEN] if collective.rooted else None  # type: ignore[attr-defined]
    grouped = collective.within(UNEVEN, roots)  # type: ignore[attr-defined]
    assert from_record(grouped.record()) == grouped == grouped.dual.dual
    assert all(part.groups == UNEVEN for part in grouped.parts)
    assert [one.group for one in grouped.single] == list(UNEVEN)
    blocks = [one.blocks(one.members(12), 12).tolist() for one in grouped.single]
    assert sorted(itertools.chain.from_iterable(blocks)) == grouped.blocks(grouped.members(12), 12).tolist()
    for movement in grouped.movements:
        numbers = grouped.blocks(grouped.members(12), 12)
        ends = dict(zip(numbers.tolist(), zip(*grouped.places(movement, numbers, 12), strict=True), strict=True))
        for one, own in zip(grouped.single, blocks, strict=True):
            assert [ends[b] for b in own] == list(zip(*one.places(movement, np.array(own), 12), strict=True))


def test_side_by_side_and_apart_again() -> None:
    rows = [[3 * i + j for j in range(3)] for i in range(4)]
    parts = [part_of_topology(TORUS, row) for row in rows]
    ones = [carried_over(spff(part, "allgather"), row, TORUS) for part, row in zip(parts, rows, strict=True)]
    both = alongside(ones, ALLGATHER.within(rows))
    assert verify_rounds(TORUS, both).ok
    assert cost_of(TORUS, both) == cost_of(TORUS, ones[0])
    for alone, expected in zip(apart(both), parts, strict=True):
        part = alone.topology
        assert part == expected
        assert alone.collective == ALLGATHER
        assert verify_rounds(part, alone).ok
    moved = relabel(both, np.arange(12)[::-1])
    assert moved.collective.groups == tuple(tuple(sorted(11 - node for node in row)) for row in rows)
    assert verify_rounds(TORUS.transpose(), reverse(both)).ok
    with pytest.raises(ScheduleError, match="groups of"):
        alongside(ones[:2], ALLGATHER.within(rows))


def test_trees_hop_by_hop_are_rounds_on_the_links() -> None:
    trees = forest_schedule(TORUS, "allgather")
    for chunks in (1, 3):
        report = verify_rounds(TORUS, pipeline_trees(trees, TORUS, chunks))
        assert report.ok, report.problems
        assert report.cost.bandwidth <= Fraction(11, 12) * (find_height(trees) + chunks - 1) / chunks
    with pytest.raises(InfeasibleError, match="only out-trees"):
        pipeline_trees(forest_schedule(TORUS, "reduce-scatter"), TORUS)


def test_a_wrong_group_schedule_is_refused() -> None:
    groups = ALLREDUCE.within([(0, 1), (2, 3)])
    right = restricted(whole("allreduce"), groups)  # type: ignore[arg-type]
    assert verify_rounds(TORUS, right).ok
    for row in range(len(right)):
        assert not verify_rounds(TORUS, right.some(np.arange(len(right)) != row)).ok
    swapped = right.having(collective=ALLREDUCE.within([(0, 2), (1, 3)]))
    assert not verify_rounds(TORUS, swapped).ok
    mixed = ALLGATHER.among([0, 1, 2, 3])
    with pytest.raises(InfeasibleError, match="passes on data"):
        apart(restricted(whole("allgather"), ALLGATHER.within([(0, 5)])))  # type: ignore[arg-type]
    assert mixed.single == (mixed,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ALLREDUCE.within([(0, 1), (1, 2)]), "node 1 is in group 0 and in group 1"),
        (lambda: ALLREDUCE.within([]), "no group"),
        (lambda: ALLREDUCE.within([(0, 0)]), "each of its members once"),
        (lambda: ALLREDUCE.within([(0, 1)], [0]), "has no root"),
        (lambda: BROADCAST.within([(0, 1)]), "requires a root"),
        (lambda: BROADCAST.within([(0, 1), (2, 3)], [0]), "1 roots for 2 groups"),
        (lambda: BROADCAST.within([(0, 1), (2, 3)], [0, 1]), "root 1 of the broadcast is not one of its members"),
        (lambda: BROADCAST.within([(0, 1), (2, 3)], [0, 2]).at(1), "a root in each"),
        (lambda: ALLREDUCE.within([(0, 1), (2, 30)]).members(12), "node 30, which is not a node"),
        (lambda: from_record({"name": "allgather", "groups": [0], "roots": None}), "lists of nodes"),
    ],
)
def test_groups_that_are_none_are_refused(call: object, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        call()  # type: ignore[operator]
