"""Intervals of shards: what is free is found, the order has the most joins, and every unit still gets everywhere."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.test_rounds import random_regular, ring, schedule_on
from tests.floors import reached
from tests.samples.schedules import COLLECTIVES, Collective, with_columns
from tests.samples.verdicts import verify_rounds
from topodesign import schedule as planned
from topodesign.compiler.frontends.intervals import lay_intervals
from topodesign.plans.build import build_steps
from topodesign.plans.flow import Flow


def relaid(schedule: Flow) -> tuple[Flow, bool]:
    """Return a schedule with its intervals laid out, and whether all were free."""
    rows, every = lay_intervals(schedule)
    head = schedule.collective, schedule.place, schedule.units, schedule.steps
    return build_steps(*head, [rows], reduce_steps=schedule.reduce_steps), every


Group = dict[int, tuple[int, int, int]]  # by the other end: step and interval


def groups(schedule: Flow) -> dict[tuple[bool, int, int], Group]:
    """What each node gets of each shard, or sends of its partial sums, over which link."""
    found: dict[tuple[bool, int, int], Group] = defaultdict(dict)
    for step, src, dst, block, low, high in zip(
        *(column.tolist() for column in schedule.table().values()), strict=True
    ):
        adds = step <= schedule.reduce_steps
        near, far = (dst, src) if adds else (src, dst)
        assert near not in found[adds, far, block]
        found[adds, far, block][near] = step, low, high
    return found


def carried(schedule: Flow) -> Counter[tuple[int, ...]]:
    """How much of each shard goes over every link in every step."""
    found: Counter[tuple[int, ...]] = Counter()
    for *key, low, high in zip(*(column.tolist() for column in schedule.table().values()), strict=True):
        found[tuple(key)] += high - low
    return found


def joins(found: dict[tuple[bool, int, int], Group], units: int) -> int:
    """How often a message goes on from the end of a shard to the beginning of the next."""
    return sum(
        high == units and low == 0 and step == after
        for (adds, far, block), group in found.items()
        for near, (step, _, high) in group.items()
        for after, low, _ in [found.get((adds, far, block + 1), {}).get(near, (0, -1, 0))]
    )


@pytest.mark.floor(every=20)
@settings(max_examples=60, deadline=None)
@given(
    collective=st.sampled_from(COLLECTIVES),
    nodes=st.integers(2, 8),
    degree=st.integers(1, 3),
    late=st.sampled_from([0, 0.3]),
    seed=st.integers(0, 2**16),
)
def test_every_unit_still_gets_everywhere(
    collective: Collective, nodes: int, degree: int, late: float, seed: int
) -> None:
    topology = random_regular(nodes, degree, seed)
    schedule = schedule_on(topology, collective, units=6, pieces=3, late=late, seed=seed)
    made, every = relaid(schedule)
    assert verify_rounds(topology, made).ok
    assert carried(schedule) == carried(made)  # as much over every link in every step
    if every:
        reached("every")
        groups(made)  # one interval over each link


@pytest.mark.parametrize("spec", ["circulant(12,2,3)", "genkautz(3,20)", "torus(4,4)", "hypercube(3)", "kautz(2,2)"])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_no_order_has_more_joins(spec: str, collective: Collective) -> None:
    """Against all orders, receiver by receiver, by another way: every pair of ends, block after block."""
    schedule = planned(spec, collective).rounds
    assert isinstance(schedule, Flow)
    made, every = relaid(schedule)
    assert every
    found = groups(made)
    assert joins(found, made.units) == most_joins(found, made.nodes)


@pytest.mark.floor(every=20)
def test_no_order_has_more_joins_where_shards_come_as_they_like() -> None:
    """Also with more than two senders of a shard, of which one comes first, one last and the others between."""
    kinds = itertools.product(range(12), ("allgather", "reduce-scatter"), ((3, 3), (5, 9)))
    for seed, collective, (degree, pieces) in kinds:
        schedule = schedule_on(random_regular(8, degree, seed), collective, units=12, pieces=pieces, seed=seed)
        made, every = relaid(schedule)
        if every:
            reached("every")
            found = groups(made)
            assert joins(found, made.units) == most_joins(found, made.nodes)


def most_joins(found: dict[tuple[bool, int, int], Group], nodes: int) -> int:
    """The most joins of any order, receiver by receiver."""
    most = 0
    for adds, far in sorted({key[:2] for key in found}):
        best: dict[int | None, int] = {None: 0}
        time = 0
        for block in range(nodes):
            group = found.get((adds, far, block), {})
            ends: list[tuple[int | None, int | None]] = [(None, None)]
            ends = [
                pair for pair in itertools.product(group, group) if (pair[0] != pair[1]) == (len(group) > 1)
            ] or ends
            step = next(iter(group.values()))[0] if group else 0
            after: dict[int | None, int] = {}
            for (first, last), (before, value) in itertools.product(ends, best.items()):
                joined = first is not None and first == before and step == time
                after[last] = max(after.get(last, 0), value + joined)
            best, time = after, step
        most += max(best.values())
    return most


def test_what_comes_late_or_twice_is_not_free() -> None:
    topology = ring(4)
    schedule = schedule_on(topology, "allgather", units=4)
    assert relaid(schedule)[1]
    for row in range(len(schedule)):
        without = schedule.some(np.delete(np.arange(len(schedule)), row))
        assert not relaid(without)[1]
        twice = schedule.some(np.append(np.arange(len(schedule)), row))
        assert not relaid(twice)[1]
    rng = random.Random(1)  # noqa: S311
    steps = schedule.step.copy()
    steps[rng.choice(np.flatnonzero(steps > 1).tolist())] = 1
    assert not relaid(with_columns(schedule, step=steps))[1]
