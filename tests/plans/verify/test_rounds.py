"""The verifier against a brute-force simulation, unit by unit, on valid schedules and thousands of damaged ones.

Both directions count: what is wrong is refused, what is right is accepted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import few
from tests.samples.schedules import COLLECTIVES, Collective, Random, Row, make, rows_of, valid
from tests.samples.verdicts import verify_rounds
from topodesign.base.cost import Cost
from topodesign.base.errors import ScheduleError, TooLargeError
from topodesign.plans.flow import Flow
from topodesign.plans.verify.verdict import Verdict
from topodesign.topology.topology import Topology


def by_step(schedule: Flow, first: int, last: int) -> Iterator[list[tuple[int, int, int, int]]]:
    """Yield the sends (src, dst, owner, unit) of each step."""
    sends: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
    for step, u, v, w, lo, hi in rows_of(schedule):
        sends[step] += [(u, v, w, k) for k in range(lo, hi)]
    yield from (sends[step] for step in range(first, last + 1))


def reduction_is_right(schedule: Flow) -> bool:
    """Move multisets of contributions; in the end there is each once, at the owner, and nothing elsewhere."""
    everyone, units = range(schedule.nodes), range(schedule.units)
    shards = [(w, k) for w in everyone for k in units]
    partial = {(v, *shard): Counter([v]) for v in everyone for shard in shards}
    for sends in by_step(schedule, 1, schedule.reduce_steps):
        before = dict(partial)
        if not all(before[u, w, k] for u, _, w, k in sends):
            return False
        partial |= {(u, w, k): Counter() for u, _, w, k in sends}
        for u, v, w, k in sends:
            partial[v, w, k] = partial[v, w, k] + before[u, w, k]
    return all(value == (Counter(everyone) if v == w else Counter()) for (v, w, _), value in partial.items())


def gather_is_right(schedule: Flow) -> bool:
    held = {(w, w, k) for w in range(schedule.nodes) for k in range(schedule.units)}
    for sends in by_step(schedule, schedule.reduce_steps + 1, schedule.steps):
        if not all((u, w, k) in held for u, _, w, k in sends):
            return False
        held |= {(v, w, k) for _, v, w, k in sends}
    return len(held) == schedule.nodes**2 * schedule.units


def brute(topology: Topology, schedule: Flow) -> bool:
    """Whether the schedule is right."""
    links = {(u, v) for u, v, _ in topology.links() if u != v}
    linked = all(row[1:3] in links for row in rows_of(schedule))
    reduced = schedule.collective.name == "allgather" or reduction_is_right(schedule)
    return linked and reduced and (schedule.collective.name == "reduce-scatter" or gather_is_right(schedule))


def brute_cost(topology: Topology, schedule: Flow) -> Cost:
    capacity = {(u, v): c for u, v, c in topology.links()}
    load: Counter[tuple[int, int, int]] = Counter()
    for step, u, v, _, lo, hi in rows_of(schedule):
        load[step, u, v] += hi - lo
    worst: dict[int, Fraction] = defaultdict(Fraction)
    for (step, u, v), units in load.items():
        worst[step] = max(worst[step], Fraction(units, schedule.units * capacity[u, v]))
    return Cost(schedule.steps, Fraction(topology.degree, topology.nodes) * sum(worst.values()))


def change(index: int, new: Callable[[Random, Row, Flow], int]) -> Callable[[Random, Flow], list[Row]]:
    def apply(random: Random, schedule: Flow) -> list[Row]:
        rows = rows_of(schedule)
        i = int(random.integers(len(rows)))
        row = list(rows[i])
        row[index] = new(random, rows[i], schedule)
        rows[i] = (row[0], row[1], row[2], row[3], row[4], row[5])
        return rows

    return apply


def any_node(random: Random, row: Row, schedule: Flow) -> int:
    return int(random.integers(schedule.nodes))


def any_step(random: Random, row: Row, schedule: Flow) -> int:
    return int(random.integers(1, schedule.steps + 1))


def nearby(index: int) -> Callable[[Random, Row, Flow], int]:
    def pick(random: Random, row: Row, schedule: Flow) -> int:
        return row[index] + int(random.choice([-1, 1]))

    return pick


def drop(random: Random, schedule: Flow) -> list[Row]:
    rows = rows_of(schedule)
    del rows[random.integers(len(rows))]
    return rows


def duplicate(random: Random, schedule: Flow) -> list[Row]:
    rows = rows_of(schedule)
    return [*rows, rows[random.integers(len(rows))]]


def duplicate_later(random: Random, schedule: Flow) -> list[Row]:
    rows = rows_of(schedule)
    row = rows[random.integers(len(rows))]
    return [*rows, (int(random.integers(1, schedule.steps + 1)), *row[1:])]


def duplicate_elsewhere(random: Random, schedule: Flow) -> list[Row]:
    rows = rows_of(schedule)
    row = rows[random.integers(len(rows))]
    return [*rows, (*row[:2], int(random.integers(schedule.nodes)), *row[3:])]


def shift(random: Random, schedule: Flow) -> list[Row]:
    rows = rows_of(schedule)
    i, by = int(random.integers(len(rows))), int(random.choice([-1, 1]))
    rows[i] = (*rows[i][:4], rows[i][4] + by, rows[i][5] + by)
    return rows


def swap_fields(first: int, last: int) -> Callable[[Random, Flow], list[Row]]:
    def apply(random: Random, schedule: Flow) -> list[Row]:
        rows = rows_of(schedule)
        i, j = random.integers(len(rows), size=2).tolist()
        a, b = rows[i], rows[j]
        mixed = [(*a[:first], *b[first:last], *a[last:]), (*b[:first], *a[first:last], *b[last:])]
        rows[i], rows[j] = ((r[0], r[1], r[2], r[3], r[4], r[5]) for r in mixed)
        return rows

    return apply


def turn(random: Random, schedule: Flow) -> list[Row]:
    rows = rows_of(schedule)
    i = int(random.integers(len(rows)))
    t, u, v, w, lo, hi = rows[i]
    rows[i] = (t, v, u, w, lo, hi)
    return rows


def merge(random: Random, schedule: Flow) -> list[Row]:
    """Join a row with the next one of the same owner and link into one at the step of the first."""
    rows = sorted(rows_of(schedule), key=lambda row: (row[1:4], row[4]))
    fits = [i for i in range(len(rows) - 1) if rows[i][1:4] == rows[i + 1][1:4] and rows[i][5] == rows[i + 1][4]]
    if fits:
        i = fits[random.integers(len(fits))]
        rows[i : i + 2] = [(*rows[i][:5], rows[i + 1][5])]
    return rows


def split(random: Random, schedule: Flow) -> list[Row]:
    """Cut a row in two and send the second half at a step nearby: often right."""
    rows = rows_of(schedule)
    i = int(random.integers(len(rows)))
    t, u, v, w, lo, hi = rows[i]
    if hi - lo > 1:
        cut = int(random.integers(lo + 1, hi))
        rows[i] = (t, u, v, w, lo, cut)
        rows.append((t + int(random.integers(-1, 2)), u, v, w, cut, hi))
    return rows


def no_change(random: Random, schedule: Flow) -> list[Row]:
    rows = rows_of(schedule)
    return [rows[i] for i in random.permutation(len(rows))]


MUTATIONS: dict[str, Callable[[Random, Flow], list[Row]]] = {
    "drop": drop,
    "duplicate": duplicate,
    "duplicate at another step": duplicate_later,
    "duplicate to another node": duplicate_elsewhere,
    "move a step": change(0, nearby(0)),
    "move to any step": change(0, any_step),
    "change src": change(1, any_node),
    "change dst": change(2, any_node),
    "change owner": change(3, any_node),
    "move lo": change(4, nearby(4)),
    "move hi": change(5, nearby(5)),
    "shift interval": shift,
    "swap steps": swap_fields(0, 1),
    "swap links": swap_fields(1, 3),
    "swap owners": swap_fields(3, 4),
    "swap intervals": swap_fields(4, 6),
    "turn": turn,
    "merge": merge,
    "split": split,
    "permute": no_change,
}


def damaged(random: Random, schedule: Flow, mutation: str) -> Flow | None:
    rows = MUTATIONS[mutation](random, schedule)
    try:
        return remade(schedule, rows)
    except ScheduleError:  # out of range: no schedule at all
        return None


def remade(schedule: Flow, rows: list[Row]) -> Flow:
    steps = {"steps": schedule.steps, "reduce_steps": schedule.reduce_steps}
    return make(schedule.collective, schedule.nodes, schedule.units, rows, **steps)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_valid_schedules_pass_with_their_cost(collective: Collective) -> None:
    for seed in range(60):
        topology, schedule = valid(np.random.default_rng(seed), collective)
        assert brute(topology, schedule)
        cost = brute_cost(topology, schedule)
        report = verify_rounds(topology, schedule, cost)
        assert report.ok, str(report)
        assert report.cost == cost
        assert report.format(collective).startswith(f"{collective}: ok")


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_refused_exactly_when_wrong(mutation: str) -> None:
    verdicts: Counter[bool] = Counter()
    for number, collective in enumerate(COLLECTIVES):
        for seed in few(range(60)):
            random = np.random.default_rng([seed, number, *mutation.encode()])
            topology, schedule = valid(random, collective)
            mutant = damaged(random, schedule, mutation)
            if mutant is not None:
                right = brute(topology, mutant)
                report = verify_rounds(topology, mutant)
                assert report.ok == right, f"{mutation} {collective} {seed}: {report}"
                assert bool(report.problems) != right
                verdicts[right] += 1
    assert sum(verdicts.values()) > 15
    assert verdicts[mutation == "permute"] >= 5  # every mutation does harm but this


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    collective=st.sampled_from(COLLECTIVES),
    mutations=st.lists(st.sampled_from(sorted(MUTATIONS)), min_size=1, max_size=4),
)
def test_several_mutations(seed: int, collective: Collective, mutations: list[str]) -> None:
    random = np.random.default_rng(seed)
    topology, schedule = valid(random, collective)
    for mutation in mutations:
        schedule = damaged(random, schedule, mutation) or schedule
    assert verify_rounds(topology, schedule).ok == brute(topology, schedule)


RING = Topology.from_links(3, [(0, 1), (1, 2), (2, 0)])
GATHER: list[Row] = [(1, 0, 1, 0, 0, 2), (2, 1, 2, 0, 0, 2), (1, 1, 2, 1, 0, 2), (2, 2, 0, 1, 0, 2)]
GATHER += [(1, 2, 0, 2, 0, 2), (2, 0, 1, 2, 0, 2)]


def report_of(rows: list[Row], collective: Collective = "allgather", steps: int = 2) -> Verdict:
    return verify_rounds(RING, make(collective, 3, 2, rows, steps=steps))


def test_messages_name_row_step_link_owner_and_interval() -> None:
    assert report_of(GATHER).ok
    (early, *_) = report_of([GATHER[0], (1, *GATHER[1][1:]), *GATHER[2:]]).problems
    assert early == (
        "send 1: 1 -> 2 in step 1, units [0,2) of shard 0: node 1 does not have all of them then: it waits for node 0, "
        "which sends in step 1"
    )
    partial = report_of([GATHER[0], (2, 1, 2, 0, 0, 1), *GATHER[2:]])
    assert partial.problems == ("node 2 never gets units [1,2) of shard 0",)
    (unlinked, *_) = report_of([(1, 0, 2, 0, 0, 2), *GATHER]).problems
    assert unlinked == "send 0: 0 -> 2 in step 1, units [0,2) of shard 0: there is no such link"
    (_, lacking) = report_of([GATHER[0], (1, 0, 2, 0, 0, 2), *GATHER[2:]]).problems
    assert lacking == "node 2 never gets units [0,2) of shard 0"  # a send without a link delivers nothing


def test_reduction_messages() -> None:
    rows: list[Row] = []
    for owner in range(3):
        rows += [(1, (owner + 1) % 3, (owner + 2) % 3, owner, 0, 2), (2, (owner + 2) % 3, owner, owner, 0, 2)]
    assert report_of(rows, "reduce-scatter").ok
    assert report_of(rows, "reduce-scatter").refilled == 0
    (again, *_) = report_of([*rows, rows[1]], "reduce-scatter").problems
    assert again.startswith("send 6: 2 -> 0 in step 2, units [0,2) of shard 0: node 2 has no partial sum")
    stuck = report_of([(2, *rows[0][1:]), *rows[1:]], "reduce-scatter").problems
    assert stuck == ("the partial sum of units [0,2) of shard 0 at node 2 never gets to node 0",)


def test_a_sum_sent_in_two_parts_is_right_and_noted() -> None:
    rows: list[Row] = []
    for owner in range(3):
        first, second = (owner + 1) % 3, (owner + 2) % 3
        rows += [(1, first, second, owner, 0, 2), (1, second, owner, owner, 0, 2), (2, second, owner, owner, 0, 2)]
    report = report_of(rows, "reduce-scatter")
    assert report.ok
    assert report.refilled == 6
    assert "note: 6 units are added at nodes that have sent their partial sum before" in report.format("it")


def test_redundant_deliveries_are_right_and_counted() -> None:
    report = report_of([*GATHER, GATHER[1], (2, 2, 0, 0, 0, 1)], steps=2)
    assert not report.ok  # node 2 gets shard 0 at step 2 only
    report = report_of([*GATHER, GATHER[1], (3, 2, 0, 0, 0, 1)], steps=3)
    assert report.ok
    assert report.redundant == 3
    assert report.notes == ("3 units are delivered to nodes that have them already",)
    assert not report_of(GATHER).notes


def test_claim() -> None:
    schedule = make("allgather", 3, 2, GATHER, steps=2)
    assert verify_rounds(RING, schedule, Cost(2, Fraction(2, 3))).ok
    for claim in (Cost(2, Fraction(1, 3)), Cost(3, Fraction(2, 3)), Cost(2, Fraction(2, 3) + Fraction(1, 10**30))):
        report = verify_rounds(RING, schedule, claim)
        assert not report.ok
        assert "claimed" in report.problems[0]


def test_many_problems_are_counted() -> None:
    report = report_of([(2, 0, 1, 0, 0, 2), (1, 1, 2, 0, 0, 2)] * 20)
    assert not report.ok
    assert any("... and 17 more" in problem for problem in report.problems)
    assert len(report.problems) < 12


def test_switches_and_self_loops() -> None:
    links = [(0, 1), (1, 0), (0, 2), (2, 1), (0, 0)]
    direct = make("allgather", 3, 1, [(1, 0, 1, 0, 0, 1), (1, 1, 0, 1, 0, 1)], steps=1)
    switched = Topology.from_links(3, links, switches=[2])
    assert verify_rounds(switched, direct).ok
    assert not verify_rounds(Topology.from_links(3, links), direct).ok
    for extra in ((1, 0, 2, 0, 0, 1), (1, 2, 1, 2, 0, 1)):
        report = verify_rounds(switched, make("allgather", 3, 1, [*rows_of(direct), extra], steps=1))
        assert "a switch takes no part" in report.problems[0]
    loop = verify_rounds(switched, make("allgather", 3, 1, [*rows_of(direct), (1, 0, 0, 0, 0, 1)], steps=1))
    assert "no such link" in loop.problems[0]


def test_empty_schedules() -> None:
    for collective in COLLECTIVES:
        one = make(collective, 1, 3, [], steps=0)
        assert verify_rounds(Topology.from_links(1, []), one, Cost(0, Fraction(0))).ok
        two = make(collective, 2, 3, [], steps=0)
        report = verify_rounds(Topology.from_links(2, [(0, 1), (1, 0)]), two)
        assert not report.ok
        assert any("never gets" in problem for problem in report.problems)


def test_bad_input_is_an_error_not_a_crash() -> None:
    schedule = make("allgather", 3, 2, GATHER, steps=2)
    with pytest.raises(ScheduleError, match=r"sends> is for another topology than <Topology 4 nodes"):
        verify_rounds(Topology.from_links(4, [(0, 1)]), schedule)
    with pytest.raises(TooLargeError, match="units"):
        verify_rounds(RING, replace(schedule, units=2**62))
    with pytest.raises(TooLargeError, match="units"):
        verify_rounds(RING, replace(schedule, units=10**40))
    assert not verify_rounds(RING, replace(schedule, units=2**40)).ok
    four = make("allgather", 3, 2, GATHER[:4], steps=2)
    with pytest.raises(TooLargeError, match="units"):
        verify_rounds(RING, replace(four, units=2**61))  # 4 rows of so many are 2**63
    assert not verify_rounds(RING, replace(four, units=2**61 - 1)).ok
    assert verify_rounds(Topology.from_links(3, []), schedule).cost == Cost(2, Fraction(0))
    assert verify_rounds(RING, replace(schedule, steps=10**30)).cost.steps == 10**30
    nodes = 2**20
    wide = make("allgather", nodes, 1, [(1, 0, 1, 0, 0, 1)], steps=1)
    report = verify_rounds(Topology.from_arrays(nodes, np.arange(nodes), np.roll(np.arange(nodes), -1)), wide)
    assert not report.ok  # and no matrix of nodes times nodes was made


def test_what_does_not_fit_is_refused_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a block at nodes take most memory."""
    lone = make("allgather", 3, 1, [(1, 0, 1, 0, 0, 1)], steps=1)
    monkeypatch.setattr("topodesign.plans.verify.data.MAX_CELLS", 3)
    assert not verify_rounds(RING, lone).ok
    monkeypatch.setattr("topodesign.plans.verify.data.MAX_CELLS", 2)
    with pytest.raises(TooLargeError, match="pieces of one block"):
        verify_rounds(RING, lone)


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter"])
def test_many_segments(collective: Collective) -> None:
    """Cuts at every unit of a shard of a few words, so that masks start, end and lie inside words."""
    units, whole = 200, GATHER
    if collective == "reduce-scatter":  # each goes on from the node after the owner until it is there
        whole = [(t, (u + 1) % 3, (v + 1) % 3, w, lo, hi) for t, u, v, w, lo, hi in GATHER]
    for seed in range(10):
        random = np.random.default_rng(seed)
        rows = []
        for t, u, v, w, _, _ in whole:
            ends = [0, *sorted(set(random.integers(1, units, 60).tolist())), units]
            rows += [(t, u, v, w, lo, hi) for lo, hi in pairwise(ends)]
        schedule = make(collective, 3, units, rows, steps=2)
        assert verify_rounds(RING, schedule).ok
        i = int(random.integers(len(rows)))
        hole = [*rows[:i], *rows[i + 1 :]]
        assert not verify_rounds(RING, make(collective, 3, units, hole, steps=2)).ok
        lo, hi = rows[i][4], rows[i][5]
        extra = (1, *rows[i][1:4], max(0, lo - 1), hi)
        mutant = make(collective, 3, units, [*hole, extra], steps=2)
        assert verify_rounds(RING, mutant).ok == brute(RING, mutant)
