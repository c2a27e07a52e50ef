"""Batches without tags: results are right where ranks meet batch by batch, and what could hang is refused before."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.schedules import COLLECTIVES, valid
from topodesign import build, build_fabric, schedule
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.execution.levels import check_programs, neighbours_of
from topodesign.execution.program import Batch, Program, programs_of
from topodesign.execution.workspace import Workspace, coefficients, extent_of, shares_of
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_transfers

ANYONE = frozenset((a, b) for a in range(64) for b in range(64))  # every pair is joined


def lowered(plan: Plan) -> list[Program]:
    return programs_of(list_transfers(plan, 1))


def with_batch(programs: Sequence[Program], rank: int, at: int, batch: Batch) -> list[Program]:
    """Programs of which one has another batch at a place, in the order of levels."""
    script = programs[rank].script
    changed = sorted((*script[:at], batch, *script[at + 1 :]), key=lambda one: one.level)
    return [*programs[:rank], replace(programs[rank], script=tuple(changed)), *programs[rank + 1 :]]


def meet(spaces: Sequence[Workspace]) -> None:
    """Ranks whose batches are as strict as can be: one ends when its partners have begun all that it has, in order.

    A pair has a queue and no tags; a message is what comes next.
    """
    scripts = [space.program.script for space in spaces]
    at = [0] * len(scripts)
    begun = [False] * len(scripts)
    queues: dict[tuple[int, int], deque[Any]] = defaultdict(deque)
    posted: dict[tuple[int, int], int] = defaultdict(int)
    taken: dict[tuple[int, int], int] = defaultdict(int)
    moved = True
    while moved:
        moved = False
        for rank, space in enumerate(spaces):
            if at[rank] == len(scripts[rank]):
                continue
            batch = scripts[rank][at[rank]]
            if not begun[rank]:
                begun[rank] = moved = True
                for one in batch.sends:
                    slot = space.sends[one]
                    slot.gather()
                    queues[rank, slot.message.peer].append(slot.buffer.copy())
                for one in batch.receives:
                    posted[space.receives[one].message.peer, rank] += 1
            sends = [(rank, space.sends[one].message.peer) for one in batch.sends]
            receives = [space.receives[one] for one in batch.receives]
            wanted = Counter((slot.message.peer, rank) for slot in receives)
            taken_up = all(taken[pair] + len(queues[pair]) <= posted[pair] for pair in sends)
            if not taken_up or any(len(queues[pair]) < count for pair, count in wanted.items()):
                continue
            for slot in receives:
                slot.buffer[:] = queues[slot.message.peer, rank].popleft()
                taken[slot.message.peer, rank] += 1
            for one in batch.places:
                space.receives[one].place()
            at[rank] += 1
            begun[rank], moved = False, True
    assert at == list(map(len, scripts)), "some wait for ever"


def wrong(plan: Plan, size: int) -> int:
    made = list_transfers(plan, 1)
    programs = lowered(plan)
    check_programs(programs, neighbours_of(plan.topology))
    extent, _ = extent_of(made, Fraction(size), 4)
    spaces = [Workspace(one, extent, shares_of(made), "float32") for one in programs]
    factor = coefficients(len(programs), 1)
    for space in spaces:
        space.fill(factor)
    meet(spaces)
    return sum(space.wrong(factor)[0] for space in spaces)


@pytest.mark.parametrize("place", ["biring(2,4)", "torus(3,3)", "circulant(12,2,3)", "kautz(2,2)", "genkautz(2,5)"])
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce", "all-to-all"])
def test_rounds_take_a_level_a_step(place: str, collective: str) -> None:
    plan = schedule(place, collective)
    assert wrong(plan, 4096) == 0
    if plan.kind == "rounds":
        assert max(batch.level for one in lowered(plan) for batch in one.script) <= plan.claim["steps"]


@pytest.mark.parametrize(
    ("place", "collective", "options"),
    [
        ("torus(3,3)", "allreduce", {"method": "tacos"}),
        ("torus(3,3)", "allreduce", {"method": "forest"}),
        ("dgx_a100(1)", "allreduce", {}),
        ("biring(2,6)", "broadcast", {"root": 2}),
        ("biring(2,6)", "reduce", {"root": 1}),
        ("biring(2,6)", "gather", {"root": 1}),
        ("biring(2,6)", "scatter", {"root": 3}),
        ("biring(2,4)", "all-to-all", {"group": ("0,1", "2,3")}),
        ("biring(2,4)", "allgather", {"only": ("0,2",), "others": "forward"}),
    ],
)
def test_other_plans(place: str, collective: str, options: dict[str, Any]) -> None:
    for size in (1, 100, 9999):
        assert wrong(schedule(place, collective, **options), size) == 0


@given(st.integers(0, 2**32), st.sampled_from(COLLECTIVES), st.integers(1, 3000))
def test_any_valid_rounds(seed: int, name: str, size: int) -> None:
    """With random delays, pieces that come twice, partial sums that wander."""
    topology, rounds = valid(np.random.default_rng(seed), name)
    assert wrong(Plan(topology, rounds), size) == 0


def test_what_could_hang_or_mix_up_is_refused() -> None:
    """Every change of one batch is found: another level, a missing message, another order, an early use."""
    programs = lowered(schedule("circulant(6,1,2)", "allreduce"))
    check_programs(programs, ANYONE)
    counts: dict[str, int] = defaultdict(int)
    for rank, program in enumerate(programs):
        for at, batch in enumerate(program.script):
            for what, changed in mutants(batch):
                with pytest.raises(ScheduleError):
                    check_programs(with_batch(programs, rank, at, changed), ANYONE)
                counts[what] += 1
    assert len(counts) == 4
    assert min(counts.values()) >= 6
    first, *rest = programs[0].script
    halves = first._replace(sends=()), first._replace(receives=(), places=(), sums=())
    with pytest.raises(ScheduleError, match="do not ascend"):
        check_programs([replace(programs[0], script=(*halves, *rest)), *programs[1:]], ANYONE)


def mutants(batch: Batch) -> list[tuple[str, Batch]]:
    found = []
    if batch.sends:
        found.append(("lost", batch._replace(sends=batch.sends[1:])))
        found.append(("later", batch._replace(level=batch.level + 1)))
    if batch.receives:
        found.append(("twice", batch._replace(receives=batch.receives + batch.receives[:1])))
    if set(batch.places) & set(batch.receives):
        found.append(("unplaced", batch._replace(places=batch.places[1:])))
    return found


def test_the_order_of_a_pair_counts() -> None:
    programs = lowered(schedule("biring(2,6)", "all-to-all"))
    for rank, program in enumerate(programs):
        for at, batch in enumerate(program.script):
            for a, b in pairwise(batch.sends):
                if program.sends[a].peer != program.sends[b].peer:
                    continue
                swapped = tuple({a: b, b: a}.get(one, one) for one in batch.sends)
                with pytest.raises(ScheduleError, match="is not the same"):
                    check_programs(with_batch(programs, rank, at, batch._replace(sends=swapped)), ANYONE)


def test_links_alone_are_used() -> None:
    plan = schedule("complete(4)", "allgather")
    programs = lowered(plan)
    with pytest.raises(InfeasibleError, match="from rank 0 to rank 2, which no link joins"):
        check_programs(programs, neighbours_of(build("biring(2,4)")))
    assert len(neighbours_of(build_fabric("dgx_a100(1)").topology)) == 8 * 7
