"""Ways to do a collective whose messages pass through, beside trees: each against its plan, turns against all."""

from __future__ import annotations

from typing import Any

import pytest

from topodesign import routed, schedule, simulate, verify
from topodesign.optima.routed import MOST_TREES, PARTS
from topodesign.plans.kinds import kind_of
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.plan import Plan


@pytest.mark.parametrize("collective", ["allreduce", "allgather", "reduce-scatter"])
def test_trees_are_timed_as_their_rounds_are(collective: str) -> None:
    """Unrolled, replayed, and timed step by step with the same latency of a link."""
    work: Any = {"alpha": "1us", "hop": "200ns", "bandwidth": "400Gbps"}
    found = routed("torus(4,4)", collective, sizes="1MiB", **work)
    times = {one.way.name: one.times[0] for one in found.timed}
    trees = schedule("torus(4,4)", collective, method="forest")
    for parts in PARTS:
        place, rounds = kind_of(trees).in_rounds(parts)
        plan = Plan(place, rounds, cost_claim(cost_of(place, rounds)))
        assert verify(plan).ok
        time = simulate(plan, size="1MiB", mode="lock-step", alpha="1200ns", bandwidth="400Gbps").time
        assert times["trees" if parts == 1 else f"trees in {parts}"] == time


def test_trees_of_many_nodes_are_left_out_with_a_reason() -> None:
    found = routed(f"circulant({MOST_TREES + 1},1)", "allgather")
    assert not any(one.name.startswith("trees") for one in found.ways)
    assert any(one.startswith("no trees: trees are counted here among at most") for one in found.refused)


def test_turns_are_where_another_way_wins() -> None:
    answer = routed("torus(8,8)", alpha="1us", hop="200ns", bandwidth="400Gbps")
    by_name = {one.name: one for one in answer.ways}
    for turn in answer.turns:
        for size in (turn.size, turn.size + 1):
            least = min(one.seconds(answer.workload, size) for one in answer.ways)
            assert by_name[turn.name].seconds(answer.workload, size) <= least or size == turn.size
    assert all(min(one.times) >= answer.least[0] for one in answer.timed)
