"""Tree schedules compiled: every program is executed by the checker, which shares nothing with the compiler."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.blocks import ranks_of
from tests.samples.programs import compile_movement, program_of_trees
from tests.samples.schedules import gather_rows, make, random_digraph
from tests.samples.tree_tables import Trees
from tests.samples.trees import TREE_COLLECTIVES, TreeCollective, fabric, tree_schedule
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError, TooLargeError
from topodesign.compiler.backends.xml import to_xml
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.frontends.layout import layout
from topodesign.compiler.frontends.sums import Sums
from topodesign.compiler.instructions import Kind
from topodesign.compiler.limits import Limits
from topodesign.compiler.options import PROTOCOLS
from topodesign.plans.flow import Flow
from topodesign.runtime.msccl.check import CheckReport, check_program
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import get_profile
from topodesign.schedulers.scheduling import schedule


def sample(collective: TreeCollective, nodes: int = 6, seed: int = 1, per_root: int = 4) -> Trees:
    rng = random.Random(seed)  # noqa: S311
    return tree_schedule(fabric(nodes, 3, rng), collective, rng, per_root=per_root)


def compiled(schedule: Trees, **options: Any) -> str:
    return compile_movement(schedule.topology, schedule.flow, **options).text


def checked(text: str, runtime: str = "msccl") -> CheckReport:
    profile = get_profile(runtime)
    report = check_program(parse_xml(text, profile), profile)
    assert report.ok, report
    return report


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(TREE_COLLECTIVES), st.integers(2, 7), st.data())
def test_random_trees_compile_and_run(seed: int, collective: TreeCollective, nodes: int, data: st.DataObject) -> None:
    rng = random.Random(seed)  # noqa: S311
    schedule = tree_schedule(fabric(nodes, 2, rng), collective, rng, per_root=data.draw(st.integers(1, 8)))
    runtime = data.draw(st.sampled_from(["msccl", "msccl-executor", "rccl"]))
    text = compiled(
        schedule,
        inplace=data.draw(st.booleans()),
        channels=data.draw(st.integers(1, 3)),
        parts=data.draw(st.integers(1, 3)),
        runtime=runtime,
        protocol=data.draw(st.sampled_from(PROTOCOLS)),
    )
    report = checked(text, runtime)
    if collective in {"broadcast", "reduce"}:
        assert report.root == schedule.compute_nodes.tolist().index(schedule.root[0])


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("collective", TREE_COLLECTIVES)
def test_nothing_moves_twice(collective: TreeCollective, inplace: bool) -> None:
    """Every chunk is received once per tree edge, and what is copied is only a rank's own input to its output."""
    schedule = sample(collective)
    program = program_of_trees(schedule, inplace=inplace)
    ones = [one for rank in ranks_of(program) for block in rank.threadblocks for one in block.instructions]
    ranks = program.ranks
    phases = 2 if collective == "allreduce" else 1
    assert sum(one.count for one in ones if one.kind.receives) == phases * (ranks - 1) * program.chunks
    copies_own = not inplace and collective in {"allgather", "broadcast"}
    assert sum(one.count for one in ones if one.kind is Kind.COPY) == (program.chunks if copies_own else 0)
    assert not any(one.kind is Kind.REDUCE for one in ones)
    if collective in {"allgather", "allreduce", "broadcast"}:
        assert not any(rank.scratch for rank in ranks_of(program))


def test_chunks_follow_the_weights() -> None:
    """As few chunks per shard as all weights are whole numbers of."""
    for per_root in (1, 4, 7):
        schedule = sample("allgather", per_root=per_root)
        assert per_root % program_of_trees(schedule).shard == 0
        assert program_of_trees(schedule, parts=3).shard == 3 * program_of_trees(schedule).shard
        single = replace(schedule, weight=schedule.weight * 10, route_weight=schedule.route_weight * 10)
        assert program_of_trees(replace(single, rate=single.rate / 10)).shard == program_of_trees(schedule).shard


def test_limits_are_kept_by_more_channels_and_joined_threadblocks() -> None:
    schedule = sample("allreduce", nodes=12, per_root=12)
    loose = checked(compiled(schedule))
    assert loose.usage is not None
    profile = get_profile("msccl")
    joined = program_of_trees(schedule, limits=Limits(blocks_per_rank=18, blocks_per_channel=5))
    assert max(len(rank.threadblocks) for rank in ranks_of(joined)) == 18 < loose.usage.threadblocks_per_rank
    assert all(
        [(block.send, block.channel) for block in rank.threadblocks if block.send is not None].count(pair) == 1
        for rank in ranks_of(joined)
        for pair in {(block.send, block.channel) for block in rank.threadblocks if block.send is not None}
    )
    many = sample("broadcast", nodes=3, per_root=1)
    assert checked(compiled(many, parts=700), "msccl").usage.channels > 1  # type: ignore[union-attr]
    assert profile.steps_per_threadblock < 700


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("collective", TREE_COLLECTIVES)
def test_joined_threadblocks_run(collective: TreeCollective, inplace: bool) -> None:
    schedule = sample(collective, nodes=8, seed=5)
    profile = get_profile("msccl")
    for parts in (1, 3):
        program = program_of_trees(
            schedule, inplace=inplace, parts=parts, channels=2, limits=Limits(blocks_per_rank=1, blocks_per_channel=4)
        )
        blocks = [block for rank in ranks_of(program) for block in rank.threadblocks]
        assert any(block.send is not None and block.receive is not None for block in blocks)
        checked(to_xml(program, profile=profile, name="joined"))


@pytest.mark.parametrize("seed", range(3))
def test_no_program_that_deadlocks_is_made_where_threadblocks_are_too_few(seed: int) -> None:
    schedule = sample("allreduce", nodes=8, seed=seed)
    with pytest.raises(InfeasibleError, match="the target allows 1 threadblock per rank, and no program"):
        program_of_trees(schedule, parts=3, channels=2, inplace=True, limits=Limits(blocks_per_rank=1))


def test_a_busy_link_gets_more_channels_where_threadblocks_are_short() -> None:
    """RCCL reads 64 steps a threadblock: only the links that carry more are widened."""
    schedule = sample("allreduce", nodes=4, per_root=40, seed=3)
    wide = checked(compiled(schedule, parts=10, runtime="rccl"), "rccl")
    assert wide.usage is not None
    assert wide.usage.steps_per_threadblock <= 64
    assert 1 < wide.usage.channels <= 32
    assert wide.usage.threadblocks_per_rank <= 64


def test_unequal_shards_are_for_allreduce_alone() -> None:
    rng = random.Random(2)  # noqa: S311
    topology = fabric(4, 2, rng)
    shard = (0, 1, 2, 3)
    report = checked(compiled(tree_schedule(topology, "allreduce", rng, shard=shard)))
    assert report.usage is not None
    for collective in ("allgather", "reduce-scatter"):
        with pytest.raises(InfeasibleError, match="unequal shards"):
            compiled(tree_schedule(topology, collective, rng, shard=shard))


def test_what_cannot_be_compiled_is_refused() -> None:
    schedule = sample("allgather")
    with pytest.raises(ScheduleError, match="of capacity"):
        compiled(replace(schedule, rate=2 * schedule.rate))
    with pytest.raises(ParameterError, match="parts"):
        compiled(schedule, parts=0)
    with pytest.raises(InfeasibleError, match="channels"):
        compiled(schedule, channels=33)
    with pytest.raises(TooLargeError, match="too many to compile"):
        compiled(schedule, parts=10**6)
    with pytest.raises(InfeasibleError, match="--set trees="):
        compiled(sample("allgather", nodes=3, per_root=1), parts=1200)


def test_the_same_schedule_gives_the_same_bytes() -> None:
    schedule = sample("allreduce")
    assert compiled(schedule, channels=2) == compiled(schedule, channels=2)


# -- partial sums of a reduce-scatter: counted one by one, and in the scratch of programs -----------------------------


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
