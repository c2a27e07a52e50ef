"""Programs of ranks do what plans say: results are NumPy's own, whatever the plan and the size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.schedules import COLLECTIVES, flow_columns, valid, with_columns
from tests.samples.timed import on_clock
from topodesign import build, schedule, verify
from topodesign.base.errors import InfeasibleError, ScheduleError, TooLargeError, TopodesignError
from topodesign.collectives.collective import EVERYONE
from topodesign.execution import program
from topodesign.execution.program import programs_of
from topodesign.execution.threads import Crew, Exchange, run_trial
from topodesign.execution.workspace import Trial, Workspace, extent_of, shares_of
from topodesign.plans.flow import Flows
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_transfers
from topodesign.plans.transfers import Transfers
from topodesign.schedulers.spff import spff_orbit

Blocks = dict[tuple[int, int], Any]


def spaces_of(made: Sequence[Transfers], size: int, dtype: str) -> list[Workspace]:
    extent, _ = extent_of(made, Fraction(size), np.dtype(dtype).itemsize)
    return [Workspace(one, extent, shares_of(made), dtype) for one in programs_of(made)]


def begin_and_end(
    made: Sequence[Transfers], size: int, random: np.random.Generator
) -> tuple[list[Blocks], list[Blocks]]:
    """Random integers that ranks begin with, and what NumPy makes of them: from what collectives say they are."""
    extent, _ = extent_of(made, Fraction(size), 4)
    ranks = made[0].ranks
    begin: list[Blocks] = [{} for _ in range(ranks)]
    end: list[Blocks] = [{} for _ in range(ranks)]
    for stream, one in enumerate(made):
        for single in one.collective.single:
            members = single.members(ranks)
            blocks = single.blocks(members, ranks)
            source, _ = single.places(single.movements[0], blocks, ranks)
            _, goal = single.places(single.movements[-1], blocks, ranks)
            share, _ = one.collective.shares(blocks, ranks, len(one.collective.members(ranks)))
            for block, a, b, count in zip(*map(np.ndarray.tolist, (blocks, source, goal, share)), strict=True):
                froms = members.tolist() if a == EVERYONE else [a]
                values = random.integers(-1000, 1000, (len(froms), extent.elements[stream] * count))
                for rank, own in zip(froms, values, strict=True):
                    begin[rank][stream, block] = own
                for rank in members.tolist() if b == EVERYONE else [b]:
                    end[rank][stream, block] = values.sum(axis=0)
    return begin, end


def wrong_blocks(made: Sequence[Transfers], size: int, seed: int = 0) -> int:
    """Run once and return how many blocks of results are not NumPy's."""
    begin, end = begin_and_end(made, size, np.random.default_rng(seed))
    spaces = spaces_of(made, size, "int32")
    for space, own in zip(spaces, begin, strict=True):
        space.memory.fill(0)
        for piece, where in space.inputs:
            space.memory[where] = own[piece.stream, piece.block]
    exchange = Exchange(spaces)
    Crew(len(spaces), exchange.stop).run(exchange.move)
    wrong = 0
    for space, wanted in zip(spaces, end, strict=True):
        got = {(piece.stream, piece.block): space.memory[where] for piece, where in space.outputs}
        assert got.keys() == wanted.keys()
        wrong += sum(not np.array_equal(got[key], wanted[key]) for key in wanted)
    return wrong


@given(st.integers(0, 2**32), st.sampled_from(COLLECTIVES), st.sampled_from([1, 40, 999, 20_000]))
@settings(max_examples=50)
def test_random_plans_give_what_numpy_gives(seed: int, name: str, size: int) -> None:
    """With partial sums that are sent, begun anew and sent again, and deliveries of what is there already."""
    random = np.random.default_rng(seed)
    topology, rounds = valid(random, name)
    assert wrong_blocks(list_transfers(Plan(topology, rounds)), size, seed) == 0


PLANS: list[tuple[str, str, dict[str, Any]]] = [
    ("circulant(12,2,3)", "allreduce", {}),
    ("genkautz(4,11)", "reduce-scatter", {}),
    ("torus(3,3)", "all-to-all", {}),
    ("kautz(2,1)", "gather", {"root": 2}),
    ("kautz(2,1)", "scatter", {"root": 2}),
    ("biring(2,5)", "broadcast", {"root": 1, "method": "pipeline"}),
    ("torus(3,3)", "reduce", {"root": 4}),
    ("torus(6,5)", "allgather", {"method": "spff"}),
    ("randomregular(11,3,1)", "allreduce", {"method": "deferred"}),
    ("dgx_a100(1)", "allreduce", {}),
    ("dgx_a100(2)", "allgather", {}),
    ("dgx_a100(2)", "all-to-all", {}),
    ("torus(3,3)", "allreduce", {"method": "tacos"}),
    ("dgx_a100(1)", "allgather", {"method": "tacos"}),
    ("torus(4,4)", "allreduce", {"group": ("4x4:0",)}),
    ("circulant(12,2,3)", "all-to-all", {"group": ("0,1,2,3", "4,5,6,7,8,9")}),
    ("circulant(6,1,2)", "allgather", {"only": ("0,2,4",), "others": "forward"}),
]


@pytest.mark.parametrize(("place", "collective", "options"), PLANS)
def test_plans_of_every_kind(place: str, collective: str, options: dict[str, Any]) -> None:
    plan = schedule(place, collective, **options)
    for parts in (
        (1, 3) if plan.kind in {"trees", "paths"} and not getattr(plan.movement, "concurrent", False) else (1,)
    ):
        made = list_transfers(plan, parts)
        for size in (7, 5000):
            assert wrong_blocks(made, size) == 0


def test_a_plan_kept_as_one_orbit() -> None:
    topology = build("circulant(7,1,2)")
    assert wrong_blocks(list_transfers(Plan(topology, spff_orbit(topology, "allreduce"))), 3000) == 0


def test_several_collectives_at_the_same_time() -> None:
    plan = schedule("torus(3,3)", "allreduce", method="tacos")
    streams = tuple(on_clock(plan.flow, size=Fraction(size)) for size in (4096, 1024))
    made = list_transfers(Plan(plan.place, Flows(streams)))
    assert [one.share for one in made] == [Fraction(4, 5), Fraction(1, 5)]
    assert wrong_blocks(made, 7000) == 0


def trial_of(made: Sequence[Transfers], size: int, dtype: str = "float32", iterations: int = 2) -> Trial:
    extent, _ = extent_of(made, Fraction(size), np.dtype(dtype).itemsize)
    programs = dict(enumerate(programs_of(made)))
    return Trial(programs, made[0].ranks, extent, shares_of(made), dtype, 0, iterations, None)


@pytest.mark.floor(seen=40)
@given(st.integers(0, 2**32), st.sampled_from(COLLECTIVES), st.sampled_from(["drop", "turn", "again", "late"]))
@settings(max_examples=80)
def test_damaged_plans_have_wrong_results(seed: int, name: str, damage: str) -> None:
    """What is omitted, sent elsewhere, twice or too late shows in the results, unless the verifier finds nothing."""
    random = np.random.default_rng(seed)
    topology, rounds = valid(random, name)
    row = int(random.integers(len(rounds)))
    columns = {key: column.copy() for key, column in rounds.table().items()}
    if damage == "drop":
        damaged = rounds.some(np.arange(len(rounds)) != row)
    elif damage == "again":
        damaged = rounds.some(np.append(np.arange(len(rounds)), row))
    elif damage == "turn":
        columns["block"][row] = (columns["block"][row] + 1) % rounds.nodes
        damaged = with_columns(rounds, **columns)
    else:
        columns["step"][row] = rounds.steps if rounds.step[row] > rounds.reduce_steps else rounds.reduce_steps
        damaged = with_columns(rounds, **columns)
    plan = Plan(topology, damaged)
    outcome = run_trial(trial_of(list_transfers(plan), 4096), lambda _: None)
    if outcome.wrong:
        assert not verify(plan).ok
        assert " instead of " in outcome.first
        reached("seen")


DAMAGED = PLANS[:4] + PLANS[8:11] + [PLANS[12], PLANS[13]]


@pytest.mark.floor(right=8, wrong=8)
@given(st.sampled_from(DAMAGED), st.data())
@settings(max_examples=40)
def test_what_the_verifier_accepts_is_right(case: tuple[str, str, dict[str, Any]], data: st.DataObject) -> None:
    """Plans of every kind with a number changed: run or refused with words, and right if the verifier says so."""
    plan = schedule(case[0], case[1], **case[2])
    columns = flow_columns(plan.flow)
    name = data.draw(st.sampled_from(sorted(columns)))
    column = columns[name].copy()
    at, other = (data.draw(st.integers(0, len(column) - 1)) for _ in range(2))
    column[at] = data.draw(st.sampled_from([column[other], column[at] + 1, max(0, column[at] - 1)]))
    try:
        changed = replace(plan, movement=replace(cast("Any", plan.movement), **{name: column}))
        accepted = verify(changed).ok
        outcome = run_trial(trial_of(list_transfers(changed), 2000, iterations=1), lambda _: None)
    except TopodesignError:
        return
    assert not (accepted and outcome.wrong), f"{name}[{at}]: {outcome.first}"
    reached("wrong" if outcome.wrong else "right")


@pytest.mark.parametrize("name", COLLECTIVES)
def test_nothing_can_be_left_out_of_a_plan_without_waste(name: str) -> None:
    plan = schedule("circulant(5,1,2)", name)
    for row in range(len(plan.rounds)):
        kept = plan.rounds.some(np.arange(len(plan.rounds)) != row)
        made = list_transfers(Plan(plan.place, kept))
        assert run_trial(trial_of(made, 400, iterations=1), lambda _: None).wrong > 0


def test_what_a_link_carries_in_a_step_is_one_message() -> None:
    plan = schedule("circulant(12,2,3)", "allreduce")
    sends = set(zip(*(getattr(plan.rounds, name).tolist() for name in ("step", "src", "dst")), strict=True))
    assert sum(len(one.sends) for one in programs_of(list_transfers(plan))) == len(sends)


def test_what_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InfeasibleError, match="unequal"):
        list_transfers(schedule("dgx_a100(1)", "allgather", shards=[2, 1, 1, 1, 1, 1, 1, 1]))
    with pytest.raises(ScheduleError, match="parts that follow one another are of trees"):
        list_transfers(schedule("torus(3,3)", "allgather"), 2)
    with pytest.raises(InfeasibleError, match="adds or copies in these trees"):
        list_transfers(schedule("dgx_h100(2)", "allgather", method="in-network"))
    monkeypatch.setattr(program, "MAX_UNITS", 1)
    with pytest.raises(TooLargeError, match="units"):
        list(programs_of(list_transfers(schedule("torus(3,3)", "allgather"))))
