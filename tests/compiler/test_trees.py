"""Tree schedules compiled: every program is executed by the checker, which shares nothing with the compiler."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.blocks import ranks_of
from tests.samples.programs import compile_movement, program_of_trees
from tests.samples.tree_tables import Trees
from tests.samples.trees import TREE_COLLECTIVES, TreeCollective, fabric, tree_schedule
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError, TooLargeError
from topodesign.compiler.backends.xml import to_xml
from topodesign.compiler.instructions import Kind
from topodesign.compiler.limits import Limits
from topodesign.compiler.options import PROTOCOLS
from topodesign.runtime.msccl.check import CheckReport, check_program
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import get_profile


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
