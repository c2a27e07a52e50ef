"""Shards as chunks: no neighbouring order of the pieces of a shard has messages in fewer runs."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.test_rounds import random_regular, ring, schedule_on
from tests.floors import reached
from tests.samples.schedules import COLLECTIVES, Collective, gather_rows, make, random_digraph, with_columns
from tests.samples.verdicts import verify_rounds
from topodesign import schedule as planned
from topodesign.base.errors import TooLargeError
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.frontends.intervals import lay_intervals
from topodesign.compiler.frontends.layout import Layout, layout
from topodesign.compiler.frontends.packing import fit_groups
from topodesign.plans.build import build_steps
from topodesign.plans.flow import Flow
from topodesign.schedulers.scheduling import schedule


def runs(made: Layout, moved: dict[int, int]) -> int:
    """Into how many runs the chunks of messages fall where some lie elsewhere."""
    found = 0
    for begin, end in itertools.pairwise(made.first.tolist()):
        places = sorted(moved.get(x, x) for x in made.chunks[begin:end].tolist())
        found += 1 + sum(b != a + 1 for a, b in itertools.pairwise(places))
    return found


def beside(made: Layout, nodes: int) -> Iterator[dict[int, int]]:
    """Where chunks of a shard lie if two neighbouring pieces of it are exchanged, or all are turned round."""
    carried = defaultdict(list)
    for x, message in zip(made.chunks.tolist(), made.message.tolist(), strict=True):
        carried[x].append(message)
    for owner in range(nodes):
        chunks = range(owner * made.shard, (owner + 1) * made.shard)
        pieces = [list(some) for _, some in itertools.groupby(chunks, carried.__getitem__)]
        swaps = range(len(pieces) - 1)
        orders = [[*pieces[:at], pieces[at + 1], pieces[at], *pieces[at + 2 :]] for at in swaps]
        for order in [pieces[::-1], *orders]:
            yield dict(zip(itertools.chain(*order), chunks, strict=True))


@pytest.mark.floor(several=20)
def test_no_order_beside_it_has_fewer_runs() -> None:
    for seed in range(12):
        random = np.random.default_rng(seed)
        rows = gather_rows(random, random_digraph(random, 5, 2), 6)
        made = layout(make("allgather", 5, 6, rows, steps=max(row[0] for row in rows)))
        now = runs(made, {})
        for moved in beside(made, 5):
            assert runs(made, moved) >= now
            reached("several")


@pytest.mark.parametrize("seed", range(4))
def test_what_is_too_fine_is_refused_before_it_is_laid_out(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = gather_rows(random, random_digraph(random, 5, 2), 10**6 + 3)
    with pytest.raises(TooLargeError):
        layout(make("allgather", 5, 10**6 + 3, rows, steps=max(row[0] for row in rows)))


# -- scratch is packed: what is needed at the same time lies apart, and nothing takes more room than before -----------


@pytest.mark.floor(shared=50)
def test_groups_that_are_needed_at_one_time_lie_apart() -> None:
    rng = random.Random(3)  # noqa: S311
    for _ in range(200):
        rows = []
        for rank in range(rng.randint(1, 3)):
            for _ in range(rng.randint(0, 8)):
                turn = rng.randint(0, 6)
                rows.append((rank, turn, turn + rng.randint(0, 3), rng.randint(1, 4)))
        rows.sort(key=lambda row: (row[0], row[1], -row[3]))
        owner, first, last, length = np.array(rows, dtype=np.int64).reshape(-1, 4).T.copy()
        found = fit_groups(owner, first, last, length)
        assert found.tolist() == fit_groups.plain(owner, first, last, length).tolist()
        for x in range(len(rows)):
            for y in range(x):
                if owner[x] != owner[y]:
                    continue
                beside = found[x] < found[y] + length[y] and found[y] < found[x] + length[x]
                assert not (beside and first[x] <= last[y] and first[y] <= last[x])
                if beside:
                    reached("shared")
        for one in set(owner.tolist()):
            mine = owner == one
            assert (found + length)[mine].max() <= length[mine].sum()


@pytest.mark.parametrize(
    ("spec", "collective", "share"),
    [
        ("torus(8,8)", "reduce-scatter", 0.375),  # 0.81 where every sum has a place of its own
        ("uniring(1,8)", "all-to-all", 2.5),  # 4
        ("torus(4,4)", "all-to-all", 1.82),  # 3.25
    ],
)
def test_scratch_is_used_again(spec: str, collective: str, share: float) -> None:
    made = compile_plan(schedule(spec, collective)).checked()
    assert made.program.columns.scratch.max() <= share * made.program.chunks


# -- intervals of shards: what is free is found, the order has the most joins, and every unit still gets everywhere ---


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
