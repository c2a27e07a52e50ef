"""Partial sums of a reduce-scatter: counted one by one, and in the scratch of programs."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from tests.samples.schedules import gather_rows, make, random_digraph
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.frontends.layout import layout
from topodesign.compiler.frontends.sums import Sums
from topodesign.plans.flow import Flow
from topodesign.schedulers.scheduling import schedule

SPECS = ("torus(4,4)", "hypercube(3)", "genkautz(3,20)", "circulant(16,1,6)", "dicirculant(9,1,3)", "torus(3,3,3)")
MORE = {"debruijn(2,4)": (11, 16), "genkautz(2,7)": (4, 7), "mesh(3,4)": (14, 24)}
"""Topologies where more than half is needed, and how much of how many chunks."""


def sums_of(spec: str) -> Sums:
    plan = schedule(spec, "reduce-scatter")
    return Sums(layout(plan.rounds))


def counted(rounds: Flow) -> int:
    """Return the most chunks of partial sums that a rank has in a step and has no room for in its output."""
    plan = layout(rounds)
    rows = zip(plan.step.tolist(), plan.src.tolist(), plan.dst.tolist(), pairwise(plan.first.tolist()), strict=True)
    moves = [(step, src, dst, set(plan.chunks[low:high].tolist())) for step, src, dst, (low, high) in rows]
    has: dict[int, set[int]] = defaultdict(set)
    most = 0
    for step in range(1, rounds.steps + 1):
        now = [move for move in moves if move[0] == step]
        for _, _, dst, chunks in now:
            has[dst] |= chunks
        for rank, held in has.items():
            own = {chunk for chunk in held if chunk // plan.shard == rank}
            most = max(most, len(held - own) - (0 if own else plan.shard))
        for _, src, _, chunks in now:
            has[src] -= chunks
    return most


@pytest.mark.parametrize("spec", [*SPECS, *MORE, "kautz(2,2)", "uniring(1,5)"])
def test_sums_are_counted(spec: str) -> None:
    rounds = schedule(spec, "reduce-scatter").rounds
    assert isinstance(rounds, Flow)
    assert sums_of(spec).least() == counted(rounds)


def test_sums_are_counted_where_results_come_bit_by_bit() -> None:
    for seed in range(12):
        random = np.random.default_rng(seed)
        gathered = gather_rows(random, random_digraph(random, 5, 2), 6)
        steps = max(row[0] for row in gathered)
        rows = [(steps + 1 - t, v, u, owner, low, high) for t, u, v, owner, low, high in gathered]
        rounds = make("reduce-scatter", 5, 6, rows, steps=steps)
        assert Sums(layout(rounds)).least() == counted(rounds)


@pytest.mark.parametrize("spec", [*SPECS, *MORE])
def test_scratch_is_half_of_the_data_or_what_sums_need(spec: str) -> None:
    made = compile_plan(schedule(spec, "reduce-scatter")).checked()
    scratch, chunks, least = (
        int(made.program.columns.scratch.max()),
        made.program.chunks,
        sums_of(spec).least(),
    )
    assert 2 * scratch <= chunks if spec not in MORE else (scratch, chunks) == (least, chunks) == MORE[spec]


def test_the_output_has_sums_that_are_over_before_results() -> None:
    for spec in SPECS:
        sums = sums_of(spec)
        spared = sums.find_spared()
        assert (spared >= 0).any()
        for rank, owner in enumerate(spared.tolist()):
            if owner >= 0:
                assert sums.live[rank, owner, sums.begun[rank] :].sum() == 0
        assert (sums.count_held(spared) <= sums.count_held(np.full(len(spared), -1))).all()
