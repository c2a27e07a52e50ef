"""The verifier of timed sends against a replay of single units, event by event, on right and on damaged plans."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import few
from tests.floors import reached
from tests.samples.schedules import COLLECTIVES, Collective, Random, flow_columns, make
from tests.samples.timed import changed, joined, on_clock, timed_sample
from tests.samples.verdicts import verify_timed
from topodesign import build_fabric, schedule, verify
from topodesign.base.errors import ScheduleError
from topodesign.collectives import COLLECTIVES as ALL
from topodesign.collectives.collective import EVERYONE
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.flow import PIECES, SENDS, Flow
from topodesign.plans.flow_ops import join_links
from topodesign.plans.link_times import LinkTimes, flow_in_ticks
from topodesign.plans.time.ticks import time_rounds
from topodesign.plans.verify.plans import check_movement
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

Damage = Callable[[Random, Flow], Flow]


def links_are_kept(flow: Flow) -> bool:
    """Whether every use of a link has the time that it takes, and its link alone; what a switch copies is one use."""
    clock, topology = flow.timing, flow.topology
    number = {(u, v): at for at, (u, v, _) in enumerate(topology.links()) if u != v}
    uses: set[tuple[int, ...]] = set()
    onward: dict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
    for send, way in enumerate(ways_of(flow)):
        piece = int(flow.piece[send])
        first, last = way[0], way[-1]
        if (first[0], first[2], last[1]) != (int(flow.src[send]), int(flow.start[send]), int(flow.dst[send])):
            return False
        if last[3] != int(flow.end[send]) or not {hop[0] for hop in way[1:]} <= topology.switches:
            return False
        if any((u, v) not in number for u, v, *_ in way) or {first[0], last[1]} & topology.switches:
            return False
        for before, (u, v, start, end) in pairwise(way):
            early, late = (int(clock.latency[number[pair]]) for pair in (before[:2], (u, v)))
            if before[1] != u or start < before[2] + early or end < before[3] + late:
                return False
        own = [(piece, *hop, -1) for hop in way[:-1]] + [(piece, *last, send)]
        uses |= set(own)
        for one, after in pairwise(own):
            onward[one].add(after)
    messages: dict[tuple[int, int, int], int] = defaultdict(int)
    for piece, u, v, start, end, _ in uses:
        messages[number[u, v], start, end] += int(flow.hi[piece] - flow.lo[piece])
    taken: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (link, start, end), units in messages.items():
        if start < clock.begin or end - start < int(clock.latency[link]) + int(clock.per_unit[link]) * units:
            return False
        taken[link].append((start, end - int(clock.latency[link]) if clock.overlap else end))
    alone = all(a[1] <= b[0] for spans in taken.values() for a, b in pairwise(sorted(spans)))
    copying = {one[2] for one, after in onward.items() if len(after) > 1}
    unit = clock.size / flow.whole_units
    rate = flow.place.unit if isinstance(flow.place, Fabric) else clock.bandwidth
    ports = zip(clock.per_unit.tolist(), topology.capacity.tolist(), strict=True)
    slow = rate is None or all(unit <= ticks * clock.tick * rate * many for ticks, many in ports)
    return alone and slow and copying <= set(getattr(flow.place, "multicast", ()))


def ways_of(flow: Flow) -> list[list[tuple[int, int, int, int]]]:
    """Return from, to, start and end of every link on the way of each send."""
    routes = flow.routes
    if routes is None or routes.start is None or routes.end is None:
        columns = (flow.src, flow.dst, flow.start, flow.end)
        return [[one] for one in zip(*(column.tolist() for column in columns), strict=True)]
    cut, times = routes.hop_start.tolist(), list(zip(routes.start.tolist(), routes.end.tolist(), strict=True))
    found: list[list[tuple[int, int, int, int]]] = []
    for number, (begin, end) in enumerate(pairwise(cut)):
        hops = pairwise(routes.hop[begin:end].tolist())
        found.append([(*hop, *times[begin - number + at]) for at, hop in enumerate(hops)])
    return found


Cell = tuple[int, int, int]  # node, block, unit


def data_arrive(flow: Flow) -> bool:
    """Move multisets of contributions, or the data themselves, from event to event: arrivals before departures."""
    one, movements, nodes = flow.collective, flow.movements, flow.nodes
    whole, everyone = Counter(flow.members.tolist()), flow.members.tolist()
    blocks = flow.blocks.tolist()
    if not set(flow.block.tolist()) <= set(blocks):
        return False
    places = [(m, *(place.tolist() for place in one.places(m, flow.blocks, nodes))) for m in movements]
    begins = dict(zip(blocks, places[0][1], strict=True))
    sums = {(v, w, k): Counter([v]) for v in everyone for w in blocks for k in range(flow.units)}
    held = {(begins[w], w, k): True for w in blocks for k in range(flow.units) if not one.reduces}
    rows = list(
        zip(*(getattr(flow, name).tolist() for name in ("start", "end", "part", "src", "dst", "piece")), strict=True)
    )
    events = [(row[1], 0, at) for at, row in enumerate(rows)] + [(row[0], 1, at) for at, row in enumerate(rows)]
    flying: dict[tuple[int, int], Counter[int]] = {}
    for _, departs, row in sorted(events):
        _, _, part, u, v, piece = rows[row]
        w, adds = int(flow.block[piece]), movements[part].adds
        home = places[0][2][blocks.index(w)]
        for k in range(int(flow.lo[piece]), int(flow.hi[piece])):
            if departs and adds:
                flying[row, k] = sums[u, w, k]
                sums[u, w, k] = Counter()
                if not flying[row, k]:
                    return False
            elif departs:
                complete = one.reduces and u == home and sums[u, w, k] == whole
                if not (held.get((u, w, k)) or complete):
                    return False
            elif adds:
                sums[v, w, k] = sums[v, w, k] + flying[row, k]
            else:
                held[v, w, k] = True
    return all(ends_right(flow, part, sums, held) for part in range(len(movements)))


def ends_right(flow: Flow, part: int, sums: dict[Cell, Counter[int]], held: dict[Cell, bool]) -> bool:
    """Whether a movement has brought what it promises: sums at one place alone, copies at all that need them."""
    one, everyone, whole = flow.collective, flow.members.tolist(), Counter(flow.members.tolist())
    sources, goals = (place.tolist() for place in one.places(flow.movements[part], flow.blocks, flow.nodes))
    for w, source, goal in zip(flow.blocks.tolist(), sources, goals, strict=True):
        for k in range(flow.units):
            if flow.movements[part].adds:
                if any(sums[v, w, k] != (whole if v == goal else Counter()) for v in everyone):
                    return False
            elif not all(held.get((v, w, k)) or v == source for v in (everyone if goal == EVERYONE else [goal])):
                return False
    return True


def brute(topology: Topology, timed: Flow) -> bool:
    assert timed.topology == topology
    return links_are_kept(timed) and data_arrive(timed)


def nudge(name: str, *, both: bool = False) -> Damage:
    def apply(random: Random, timed: Flow) -> Flow:
        row, by = int(random.integers(len(timed))), int(random.choice([-3, -2, -1, 1, 2, 3]))
        for one in ("start", "end") if both else (name,):
            timed = changed(timed, one, row, int(getattr(timed, one)[row]) + by)
        return timed

    return apply


def another(name: str) -> Damage:
    def apply(random: Random, timed: Flow) -> Flow:
        most = {"part": len(timed.collective.movements)}.get(name, timed.nodes)
        return changed(timed, name, int(random.integers(len(timed))), int(random.integers(most)))

    return apply


def drop(random: Random, timed: Flow) -> Flow:
    return timed.some(np.delete(np.arange(len(timed)), random.integers(len(timed))))


def twice(random: Random, timed: Flow) -> Flow:
    return joined(timed, timed.some(random.integers(len(timed), size=1)))


def twice_later(random: Random, timed: Flow) -> Flow:
    more, by = timed.some(random.integers(len(timed), size=1)), int(random.integers(1, 9))
    return joined(timed, more.having(start=more.start + by, end=more.end + by))


def swap(*names: str) -> Damage:
    def apply(random: Random, timed: Flow) -> Flow:
        i, j = random.integers(len(timed), size=2).tolist()
        columns = {name: getattr(timed, name).copy() for name in names}
        for column in columns.values():
            column[[i, j]] = column[[j, i]]
        return timed.having(**columns)

    return apply


DAMAGE: dict[str, Damage] = {
    "shifted": nudge("", both=True),
    "other start": nudge("start"),
    "other end": nudge("end"),
    "dropped": drop,
    "sent twice": twice,
    "sent again": twice_later,
    "times swapped": swap("start", "end"),
    "places swapped": swap("src", "dst"),
    "data swapped": swap("block", "lo", "hi"),
    "other sender": another("src"),
    "other receiver": another("dst"),
    "other block": another("block"),
    "other part": another("part"),
    "other first unit": nudge("lo"),
    "other last unit": nudge("hi"),
}


@pytest.mark.parametrize("collective", COLLECTIVES)
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_right_plans_are_right(collective: Collective, seed: int) -> None:
    topology, _, timed, _ = timed_sample(np.random.default_rng(seed), collective)
    assert brute(topology, timed)
    report = verify_timed(topology, timed, timed.time)
    assert report.ok, report
    assert report.figures == {"time": timed.time}
    if collective == "allgather":  # everybody needs every unit of all others once
        needed = timed.nodes * (timed.nodes - 1) * timed.units
        assert report.redundant == int((timed.hi - timed.lo).sum()) - needed
    assert not verify_timed(topology, timed, timed.time + 1).ok


@pytest.mark.once
@pytest.mark.floor(refused=100, accepted=20)
@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("kind", range(3))
def test_damaged_plans_are_judged_as_unit_by_unit(collective: Collective, kind: int) -> None:
    """Damage that leaves a plan right counts too: it must not be refused."""
    random = np.random.default_rng([kind, len(collective)])
    for name in list(DAMAGE)[kind::3] * len(few(range(30))):
        topology, _, timed, _ = timed_sample(random, collective)
        for _ in range(4):
            try:
                damaged = DAMAGE[name](random, timed)
            except ScheduleError:  # not even the form is right
                continue
            right = brute(topology, damaged)
            report = verify_timed(topology, damaged)
            assert report.ok == right, (name, flow_columns(damaged), str(report))
            reached("accepted" if right else "refused")


def mutate(random: Random, flow: Flow) -> tuple[str, Flow]:
    """Return a flow with one number of one column changed, or one of its clock, and the name of that."""
    routes, clock = flow.routes, flow.timing
    names = [*PIECES, *SENDS, "latency", "per_unit", "size", "tick", "begin", "overlap", "bandwidth"]
    names += [f"route {name}" for name in ("hop", "start", "end")] if routes is not None else []
    name = str(random.choice(names))
    if name in {"size", "tick", "bandwidth"}:
        value = (getattr(clock, name) or Fraction(1)) * Fraction(int(random.choice([1, 2])), 2 if name != "size" else 1)
        return name, on_clock(flow, **{name: value})
    if name in {"begin", "overlap"}:
        return name, on_clock(flow, **{name: not clock.overlap if name == "overlap" else int(random.integers(4))})
    own = name.removeprefix("route ")
    holder = routes if name != own else clock if own in {"latency", "per_unit"} else flow
    column = getattr(holder, own).copy()
    at = int(random.integers(len(column)))
    column[at] = int(random.choice([column[int(random.integers(len(column)))], column[at] + 1, column[at] - 1]))
    if holder is flow:
        return name, flow.having(**{own: column})
    if holder is clock:
        return name, on_clock(flow, **{own: column})
    return name, replace(flow, routes=routes._replace(**{own: column}) if routes is not None else None)


def sample_flows() -> list[Flow]:
    """Small right flows by the clock: over links that differ, and over switches that copy or do not."""
    random = np.random.default_rng(7)
    found = [timed_sample(random, collective)[2] for collective in COLLECTIVES for _ in range(2)]
    star = [(a, b) for v in range(4) for s in (4, 5) for a, b in ((v, s), (s, v))]
    topology = Topology.from_links(6, star, switches=[4, 5])
    found += [schedule(topology, name, method="tacos", size="1KiB").flow for name in ("allgather", "all-to-all")]
    copying, timed = through_a_switch((0, 2), (1, 3), (1, 3))
    fabric = replace(Fabric.from_topology(copying), multicast=frozenset({3}))
    return [*found, replace(join_links(timed), place=fabric)]


@pytest.mark.once
@pytest.mark.floor(refused=5, accepted=3)
@pytest.mark.parametrize("number", range(9))
def test_any_changed_number_is_judged_as_by_definition(number: int) -> None:
    flow, random = sample_flows()[number], np.random.default_rng(number)
    assert brute(flow.topology, flow)
    for _ in few(range(60)):
        try:
            name, changed_one = mutate(random, flow)
        except ScheduleError:  # not even the form is right
            continue
        right = brute(flow.topology, changed_one)
        assert check_movement(flow.place, changed_one).ok == right, (number, name)
        reached("accepted" if right else "refused")


def three_in_a_row(slow: int) -> tuple[Topology, Flow, Flow]:
    """0 -> 1 -> 2 -> 0 with the times of even links, and with a first link that is slower."""
    topology = Topology.from_links(3, [(0, 1), (1, 2), (2, 0)])
    rows = [(1 + hop, (w + hop) % 3, (w + hop + 1) % 3, w, 0, 1) for w in range(3) for hop in range(2)]
    rounds = make("allgather", 3, 1, rows, steps=2)
    size, even = Fraction(3, 8), LinkTable({}, {})
    links = LinkTable({(0, 1): Fraction(slow)}, {})
    one, other = (
        time_rounds(topology, rounds, size=size, alpha=Fraction(1), bandwidth=Fraction(1), links=table)
        for table in (even, links)
    )
    return topology, one, other


def test_what_only_a_slow_link_breaks_is_found() -> None:
    topology, even, uneven = three_in_a_row(slow=2)
    assert verify_timed(topology, even).ok
    assert verify_timed(topology, uneven).ok
    assert (even.time, uneven.time) == (Fraction(4), Fraction(6))
    # The times of even links on uneven ones: the send itself may say how long it takes, and then 1 -> 2 is too early.
    report = verify_timed(topology, on_clock(even, latency=uneven.timing.latency))
    assert "its link takes at least 3 ticks" in str(report)
    late = on_clock(even, latency=uneven.timing.latency)
    late = late.having(end=np.where(even.start == 0, even.end + (even.src == 0), even.end))
    late = late.having(end=np.where((late.start == 2) & (late.src == 0), 5, late.end))
    late = late.having(
        start=np.where((late.start == 2) & (late.src == 0), 3, late.start), end=late.end + (late.end == 5)
    )
    report = verify_timed(topology, late)
    problem = report.problems[0]
    assert "node 1 does not have all of them then: it waits for node 0, which sends in ticks [0,3)" in problem


def test_problems_are_said_in_words() -> None:
    topology, timed, _ = three_in_a_row(slow=1)

    def complaint(damaged: Flow) -> str:
        report = verify_timed(topology, damaged)
        assert not report.ok
        return str(report)

    assert "node 2 never gets units [0,1) of shard 0" in complaint(timed.some(timed.dst != 2))
    assert "there is no such link" in complaint(changed(timed, "dst", 0, int(timed.src[0])))
    twice = timed.some(np.array([0]))
    assert "its link is busy with send" in complaint(joined(timed, twice.having(end=twice.end + 1)))
    assert "its link takes at least" in complaint(joined(timed, twice))  # one message, of twice as much
    assert "the claimed time is 1s" in str(verify_timed(topology, timed, Fraction(1)))
    plan = schedule("uniring(1,3)", "all-to-all", method="tacos")
    pairs = plan.flow
    source, sink = divmod(int(pairs.block[0]), 3)
    lost = str(verify_timed(plan.topology, pairs.some(pairs.block != pairs.block[0])))
    assert f"of the block from {source} to {sink}" in lost
    with pytest.raises(ScheduleError, match="another topology"):
        verify_timed(topology.transpose() and Topology.from_links(3, [(0, 1)]), timed)


@pytest.mark.parametrize("name", ["broadcast", "reduce", "scatter", "gather", "all-to-all"])
def test_every_collective_is_checked_on_its_blocks(name: str) -> None:
    """Two nodes, one link each way, whose only right plan is one send for every block that has to move."""
    topology = Topology.from_links(2, [(0, 1), (1, 0)])
    collective = ALL[name].at(0) if ALL[name].rooted else ALL[name]
    rows = {
        "broadcast": [(0, 1, 0)],
        "reduce": [(1, 0, 0)],
        "scatter": [(0, 1, 1)],
        "gather": [(1, 0, 1)],
        "all-to-all": [(0, 1, 1), (1, 0, 2)],
    }[name]
    src, dst, block = (np.array(column, dtype=np.int32) for column in zip(*rows, strict=True))
    one = np.ones(len(rows), dtype=np.int64)
    links = np.ones(2, dtype=np.int64)
    times = LinkTimes(Fraction(1), links, links)
    columns = (0 * one, 2 * one, src, dst, block, 0 * one, one)
    timed = flow_in_ticks(topology, collective, (1, Fraction(1)), times, columns, overlap=False)
    assert verify_timed(topology, timed).ok
    for row in range(len(rows)):
        assert not verify_timed(topology, timed.some(np.arange(len(rows)) != row)).ok
    assert not verify_timed(topology, timed.having(src=dst.copy(), dst=src.copy())).ok


def test_a_switch_that_sends_before_it_gets_is_found() -> None:
    plan = schedule(build_fabric("dgx_a100(1)"), "allgather", method="tacos")
    timed, topology = plan.flow.over_links(), plan.topology
    switch = min(topology.switches)
    for row in np.flatnonzero(timed.dst == switch)[:3].tolist():
        start, end = timed.start.copy(), timed.end.copy()
        start[row], end[row] = start[row] + timed.end.max(), end[row] + timed.end.max()
        assert "a switch passes it on before it is there" in str(
            verify_timed(topology, timed.having(start=start, end=end))
        )


def through_a_switch(*times: tuple[int, int]) -> tuple[Topology, Flow]:
    """A broadcast from 0 over switch 3, which sends what it gets to 1 and to 2."""
    topology = Topology.from_links(4, [(a, b) for v in range(3) for a, b in ((v, 3), (3, v))], switches=[3])
    start, end = np.array(times, dtype=np.int64).T
    src, dst, zero = (np.array(column, dtype=np.int32) for column in ([0, 3, 3], [3, 1, 2], [0, 0, 0]))
    one = np.ones(6, dtype=np.int64)
    columns = start, end, src, dst, zero, 0 * one[:3], one[:3]
    even = LinkTimes(Fraction(1), one, one)
    flow = flow_in_ticks(topology, ALL["broadcast"].at(0), (1, Fraction(1)), even, columns, overlap=False)
    return topology, flow


def test_switches_that_copy_pass_on_as_soon_as_the_first_bit_is_there() -> None:
    topology, timed = through_a_switch((0, 2), (1, 3), (1, 3))
    assert verify_timed(topology, timed, multicast=[3]).ok
    assert "passes on what it gets, once" in str(verify_timed(topology, timed))
    for early in ([(0, 2), (0, 3), (1, 3)], [(0, 4), (1, 5), (1, 4)]):  # the first bit, and the last
        assert "a switch passes it on before it is there" in str(verify_timed(*through_a_switch(*early), multicast=[3]))
    assert verify_timed(*through_a_switch((0, 4), (1, 5), (5, 7)), multicast=[3]).ok


def test_links_of_a_fabric_are_not_taken_for_faster_than_they_are() -> None:
    fabric = build_fabric("dgx_a100(1)")
    plan = schedule(fabric, "allgather", method="tacos")
    assert verify(plan).ok
    assert verify(replace(plan, place=replace(fabric, unit=fabric.unit * 2), spec=None)).ok
    slower = replace(fabric, unit=fabric.unit * Fraction(10**9 - 1, 10**9))
    problems = verify(replace(plan, place=slower, spec=None)).problems
    assert 0 < len(problems) <= 4
    assert all("for faster than the fabric's link" in problem for problem in problems[:3])


def test_switches_and_unknown_blocks() -> None:
    topology, timed, _ = three_in_a_row(slow=1)
    switched = replace(topology, switches=frozenset({2}), spec=None)
    assert "a switch takes no part" in str(verify_timed(switched, timed))
    two = on_clock(replace(timed, collective=timed.collective.among([0, 1])), bandwidth=None)
    assert "the collective has no such block" in str(verify_timed(topology, two))
    assert verify_timed(topology, two.some(timed.block != 2)).ok
