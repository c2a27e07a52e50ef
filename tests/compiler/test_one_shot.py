"""One-shot allreduces compiled: every program is executed by the checker of its runtime."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.samples.blocks import ranks_of
from tests.samples.programs import compile_movement, count_instructions
from tests.samples.trees import fabric, tree_schedule
from topodesign import compile_plan, schedule
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.collectives import ALLREDUCE
from topodesign.compiler.instructions import Kind


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 3), st.booleans(), st.sampled_from(["Simple", "LL"]))
def test_random_trees_compile_and_run(seed: int, nodes: int, channels: int, inplace: bool, protocol: str) -> None:
    rng = random.Random(seed)  # noqa: S311
    gathers = tree_schedule(fabric(nodes, 2, rng), "allgather", rng, per_root=rng.randint(1, 4))
    assume(len(set(gathers.shard or ())) <= 1)
    trees = gathers.having(collective=ALLREDUCE, shard=None)
    options: dict[str, Any] = {"inplace": inplace, "protocol": protocol, "channels": channels}
    done = 0
    for target in ("msccl", "mscclpp"):
        try:
            made = compile_movement(trees.topology, trees.flow, target=target, **options)
        except InfeasibleError:  # a limit of the runtime
            continue
        done += 1
        assert made.checked().report is not None
    assert done


def test_out_of_place_no_copy_and_no_scratch() -> None:
    program = compile_plan(schedule("complete(8)", "allreduce", method="one-shot"), inplace=False).checked().program
    assert count_instructions(program, Kind.COPY) == 0
    assert {rank.scratch for rank in ranks_of(program)} == {0}
    assert count_instructions(program, Kind.SEND) == 8 * 7


def test_all_ranks_add_up_in_the_order_of_the_ranks() -> None:
    """Rank 0 adds what it receives to its own; rank r > 1 its own after what r - 1 gave."""
    program = compile_plan(schedule("complete(4)", "allreduce", method="one-shot"), "msccl").program
    for rank, body in enumerate(ranks_of(program)):
        kinds = [one.kind for block in body.threadblocks for one in block.instructions if one.kind is not Kind.SEND]
        assert kinds.count(Kind.RECEIVE) == (rank > 0)
        assert kinds.count(Kind.REDUCE) == (rank > 0)


def test_what_has_no_meaning_is_refused() -> None:
    with pytest.raises(ParameterError, match="no parts"):
        compile_plan(schedule("complete(4)", "allreduce", method="one-shot"), "msccl", parts=2)
    with pytest.raises(InfeasibleError, match="use --protocol LL"):
        compile_plan(schedule("dgx_h100(1)", "allreduce", method="one-shot"), "mscclpp")
    with pytest.raises(InfeasibleError, match="rounds of shards do not say"):
        compile_plan(schedule("complete(4)", "allreduce", method="one-shot"), "chakra")
