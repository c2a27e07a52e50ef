"""Fewer trees where the best ones exceed a limit: which are asked for, and the message."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.samples.trees import fabric, tree_schedule
from topodesign.base.errors import InfeasibleError
from topodesign.compiler.fitting import compile_fitting
from topodesign.plans.plan import Plan
from topodesign.runtime.msccl.check import CheckReport
from topodesign.runtime.msccl.profiles import get_profile

BEST = 12


def plan(k: int | None) -> Plan:
    rng = random.Random(7)  # noqa: S311
    topology = fabric(5, 2, rng)
    return Plan(topology, tree_schedule(topology, "allgather", rng, per_root=k or BEST).flow)


def recorded(asked: list[int | None]) -> Callable[[int | None], Plan]:
    def make(k: int | None) -> Plan:
        asked.append(k)
        return plan(k)

    return make


def test_the_best_ones_are_taken_where_they_fit() -> None:
    asked: list[int | None] = []
    made = compile_fitting(recorded(asked), inplace=True)
    assert asked == [None]
    assert made.plan == plan(None)
    assert made.fewer_trees is None
    assert made.program.inplace


def test_trees_are_halved_until_they_fit() -> None:
    asked: list[int | None] = []
    whole = compile_fitting(plan).checked().report
    assert isinstance(whole, CheckReport)
    assert whole.usage is not None
    narrow = replace(get_profile("msccl"), xml_nodes_per_rank=whole.usage.xml_nodes_per_rank - 1)
    made = compile_fitting(recorded(asked), runtime=narrow)
    assert asked == [None, *(BEST // 2**turn for turn in range(1, len(asked)))]
    assert len(asked) > 1
    note, *_ = made.notes
    assert note == made.fewer_trees
    assert note.startswith(f"with {asked[-1]} tree")
    assert "since of the best ones" in note
    assert made.checked().report is not None


def test_what_never_fits_is_refused_with_the_last_limit() -> None:
    asked: list[int | None] = []
    tiny = replace(get_profile("msccl"), xml_nodes_per_rank=3)
    with pytest.raises(InfeasibleError, match="3 are allowed"):
        compile_fitting(recorded(asked), runtime=tiny)
    assert asked == [None, 6, 3, 1]
