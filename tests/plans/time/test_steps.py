"""The simulator against its laws and against a simulation with one clock for every unit; exact equality throughout."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.schedules import COLLECTIVES, Collective, Random, Row, make, rows_of, valid
from tests.samples.verdicts import verify_rounds
from topodesign.base.errors import ParameterError, ScheduleError, TooLargeError
from topodesign.base.units import format_time
from topodesign.plans.flow import Flow
from topodesign.plans.time.losses import Link
from topodesign.plans.time.options import MODES, Mode
from topodesign.plans.time.steps import Message, SimulationResult, time_steps
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

ALPHA, SIZE, BANDWIDTH = Fraction(1, 10**5), Fraction(2**20), Fraction(10**11)
Speeds = dict[Link, tuple[Fraction, Fraction]]


def run(
    topology: Topology,
    schedule: Flow,
    mode: Mode = "lock-step",
    speeds: Speeds | None = None,
    failed: list[Link] | None = None,
) -> SimulationResult:
    """Simulate with the usual numbers; ``speeds`` are alpha and bandwidth of some links."""
    alpha, bandwidth = ({link: speed[at] for link, speed in (speeds or {}).items()} for at in (0, 1))
    return time_steps(
        schedule.having(place=topology),
        alpha=ALPHA,
        size=SIZE,
        bandwidth=BANDWIDTH,
        mode=mode,
        table=LinkTable(alpha, bandwidth),
        failed=tuple(failed or []),
    )


def some_speeds(random: Random, topology: Topology) -> Speeds:
    """Odd numbers for about half of the links, faster and slower than the usual ones."""
    links = [(u, v) for u, v, _ in topology.links() if u != v]
    return {
        link: (Fraction(int(random.integers(0, 40)), 1234567), Fraction(int(random.integers(10**9, 10**12)), 7))
        for link in links
        if random.integers(2)
    }


def message_times(topology: Topology, schedule: Flow, speeds: Speeds) -> dict[tuple[int, int, int], Fraction]:
    """How long each message (step, src, dst) takes."""
    share = BANDWIDTH / topology.degree
    usual = {(u, v): (ALPHA, share * c) for u, v, c in topology.links()}
    bits: dict[tuple[int, int, int], Fraction] = defaultdict(Fraction)
    for step, u, v, _, lo, hi in rows_of(schedule):
        bits[step, u, v] += (hi - lo) * 8 * SIZE / (topology.nodes * schedule.units)
    speed = usual | speeds
    return {(t, u, v): speed[u, v][0] + amount / speed[u, v][1] for (t, u, v), amount in bits.items()}


def unit_clocks(topology: Topology, schedule: Flow, speeds: Speeds) -> Fraction:
    """End of the asynchronous mode, from a clock for every (node, owner, unit)."""
    took = message_times(topology, schedule, speeds)
    rows = rows_of(schedule)
    everyone = range(schedule.nodes)
    summed = {(v, w, k): Fraction(0) for v in everyone for w in everyone for k in range(schedule.units)}
    there = {(w, w, k): Fraction(0) for w in everyone for k in range(schedule.units)}
    free: dict[Link, Fraction] = defaultdict(Fraction)
    for step in range(1, schedule.steps + 1):
        if step == schedule.reduce_steps + 1 and schedule.collective.name == "allreduce":
            there = {key: summed[key] for key in there}
        reducing = step <= schedule.reduce_steps
        ready = summed if reducing else there
        sends = [(u, v, w, k) for t, u, v, w, lo, hi in rows if t == step for k in range(lo, hi)]
        begin = dict(free)
        for u, v, w, k in sends:
            begin[u, v] = max(begin.get((u, v), Fraction(0)), ready[u, w, k])
        for link in {send[:2] for send in sends}:
            free[link] = begin[link] + took[step, *link]
        for u, v, w, k in sends:
            if reducing:
                summed[v, w, k] = max(summed[v, w, k], begin[u, v] + took[step, u, v])
            elif (v, w, k) not in there:
                there[v, w, k] = begin[u, v] + took[step, u, v]
    return max(free.values())


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_lock_step_is_the_price(collective: Collective) -> None:
    for seed in range(30):
        topology, schedule = valid(np.random.default_rng(seed), collective)
        for idle in (0, 3):
            longer = replace(schedule, steps=schedule.steps + idle)
            cost = verify_rounds(topology, longer).cost
            assert run(topology, longer).time == cost.runtime(ALPHA, SIZE, BANDWIDTH)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_both_modes_against_one_clock_for_every_unit(collective: Collective) -> None:
    different = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        topology, schedule = valid(random, collective)
        speeds = some_speeds(random, topology) if seed % 2 else {}
        took = message_times(topology, schedule, speeds)
        slowest = dict.fromkeys(range(1, schedule.steps + 1), Fraction(0))
        for (step, _, _), duration in took.items():
            slowest[step] = max(slowest[step], duration)
        slow = sum(duration or ALPHA for duration in slowest.values())
        assert run(topology, schedule, speeds=speeds).time == slow
        fast = run(topology, schedule, "asynchronous", speeds)
        assert fast.time == unit_clocks(topology, schedule, speeds)
        different += fast.time < slow
    assert different > 10


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), collective=st.sampled_from(COLLECTIVES), uneven=st.booleans())
def test_laws(seed: int, collective: Collective, uneven: bool) -> None:
    random = np.random.default_rng(seed)
    topology, schedule = valid(random, collective)
    speeds = some_speeds(random, topology) if uneven else {}
    took = message_times(topology, schedule, speeds)
    slow, fast = (run(topology, schedule, mode, speeds) for mode in MODES)
    assert fast.time <= slow.time
    busiest: dict[Link, Fraction] = defaultdict(Fraction)
    for (_, u, v), duration in took.items():
        busiest[u, v] += duration
    assert fast.time >= max(busiest.values())
    for result in (slow, fast):
        assert result.time == max(result.step_ends.values())
        assert set(result.step_ends) == {row[0] for row in rows_of(schedule)}
        assert result.link_units.sum() == (schedule.hi - schedule.lo).sum()
        assert np.all((result.utilisation >= 0) & (result.utilisation <= 1))
        for message in result.critical:
            assert message.end - message.start == took[message.step, message.src, message.dst]
        assert result.critical[-1].end == result.time
        assert str(result)
    assert fast.critical[0].start == 0
    for before, after in zip(fast.critical[:-1], fast.critical[1:], strict=True):
        assert before.end == after.start
        assert before.step < after.step
        assert after.src == before.dst or (before.src, before.dst) == (after.src, after.dst)


@pytest.mark.parametrize("mode", MODES)
def test_fractions_and_integers_agree(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        topology, schedule = valid(random, "allreduce")
        usual = run(topology, schedule, mode)
        monkeypatch.setattr("topodesign.plans.time.steps.LARGEST", 1)
        exact = run(topology, schedule, mode)
        monkeypatch.undo()
        assert (exact.time, exact.step_ends, exact.critical) == (usual.time, usual.step_ends, usual.critical)


def test_utilisation_of_a_full_schedule_without_latency() -> None:
    """On a ring every link carries one shard in every step: it is never idle."""
    nodes = 5
    ring = Topology.from_links(nodes, [(u, (u + 1) % nodes) for u in range(nodes)])
    rows = [(t, (w + t - 1) % nodes, (w + t) % nodes, w, 0, 1) for w in range(nodes) for t in range(1, nodes)]
    schedule = make("allgather", nodes, 1, rows, steps=nodes - 1)
    for mode in MODES:
        result = time_steps(schedule.having(place=ring), alpha=Fraction(0), size=SIZE, bandwidth=BANDWIDTH, mode=mode)
        assert result.time == SIZE * 8 / BANDWIDTH * Fraction(nodes - 1, nodes)
        np.testing.assert_allclose(result.utilisation, 1, rtol=1e-12)


def test_an_owner_never_waits_for_its_own_shard() -> None:
    pair = Topology.from_links(2, [(0, 1), (1, 0)])
    rows: list[Row] = [(1, 0, 1, 0, 0, 1), (1, 1, 0, 1, 0, 1), (2, 1, 0, 0, 0, 1), (3, 0, 1, 0, 0, 1)]
    schedule = make("allgather", 2, 1, rows, steps=3)
    slow = {(1, 0): (100 * ALPHA, BANDWIDTH)}
    result = run(pair, schedule, "asynchronous", slow)
    assert result.step_ends[3] == 2 * (ALPHA + SIZE * 4 / BANDWIDTH)
    assert result.time == result.step_ends[2] == 200 * ALPHA + SIZE * 8 / BANDWIDTH


def loss_of(topology: Topology, schedule: Flow, failed: set[Link]) -> tuple[set[int], set[Link]]:
    """Rows that do not happen and pairs that never complete, with sets of contributions for every unit."""
    everyone, units = range(schedule.nodes), range(schedule.units)
    reduces, gathers = schedule.collective.name != "allgather", schedule.collective.name != "reduce-scatter"
    happens: set[int] = set()
    partial = {(v, w, k): frozenset([v]) for v in everyone for w in everyone for k in units}
    held = {(w, w, k) for w in everyone for k in units}
    for step in range(1, schedule.steps + 1):
        if reduces and step == schedule.reduce_steps + 1:
            held = {key for key in held if len(partial[key]) == schedule.nodes}
        has = {key for key, tokens in partial.items() if tokens} if step <= schedule.reduce_steps else held
        sends = []
        for number, (at, u, v, w, lo, hi) in enumerate(rows_of(schedule)):
            if at == step and (u, v) not in failed and all((u, w, k) in has for k in range(lo, hi)):
                happens.add(number)
                sends += [(u, v, w, k) for k in range(lo, hi)]
        if step <= schedule.reduce_steps:
            moving = {(u, w, k): partial[u, w, k] for u, _, w, k in sends}
            partial |= dict.fromkeys(moving, frozenset())
            for u, v, w, k in sends:
                partial[v, w, k] |= moving[u, w, k]
        else:
            held = held | {(v, w, k) for _, v, w, k in sends}
    lost = {
        (w, v)
        for w in everyone
        for v in everyone
        for k in units
        if (gathers and (v, w, k) not in held) or (not gathers and v not in partial[w, w, k])
    }
    return set(range(len(schedule))) - happens, lost


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_failed_links_against_brute_force(collective: Collective) -> None:
    harmless = partial = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        topology, schedule = valid(random, collective)
        links = [(u, v) for u, v, _ in topology.links() if u != v]
        failed = [links[i] for i in random.integers(len(links), size=random.integers(1, 3))]
        blocked, pairs = loss_of(topology, schedule, set(failed))
        result = run(topology, schedule, "asynchronous", failed=failed)
        assert result.loss is not None
        assert set(result.loss.rows.tolist()) == blocked
        assert {(w, v) for w, v in result.loss.pairs.tolist()} == pairs
        assert result.loss.links == tuple(sorted(set(failed)))
        harmless += not pairs
        partial += 0 < len(pairs) < schedule.nodes**2
        kept = [row for number, row in enumerate(rows_of(schedule)) if number not in blocked]
        rest = make(
            collective, schedule.nodes, schedule.units, kept, steps=schedule.steps, reduce_steps=schedule.reduce_steps
        )
        assert result.time == run(topology, rest, "asynchronous").time
        assert str(result.loss) in str(result)
    assert partial > 5
    assert (harmless > 0) == (collective == "allgather")  # a reduction has nothing to spare


def test_of_straight_sends_a_failed_link_loses_the_block_between_its_ends() -> None:
    pairs = [(s, t) for s in range(4) for t in range(4) if s != t]
    schedule = make("all-to-all", 4, 1, [(1, s, t, 4 * s + t, 0, 1) for s, t in pairs], steps=1)
    loss = run(Topology.from_links(4, pairs), schedule, failed=[(1, 3)]).loss
    assert loss is not None
    assert loss.pairs.tolist() == [[4 * 1 + 3, 3]]


def test_a_loss_reads_well() -> None:
    ring = Topology.from_links(3, [(0, 1), (1, 2), (2, 0)])
    rows: list[Row] = [(t, (w + t - 1) % 3, (w + t) % 3, w, 0, 1) for w in range(3) for t in (1, 2)]
    lost = str(run(ring, make("allgather", 3, 1, rows, steps=2), failed=[(0, 1)]).loss)
    assert lost.splitlines() == [
        "without 0->1 3 sends cannot happen; 3 pairs of owner and node never complete:",
        "  node 1 never has shard 0",
        "  node 2 never has shard 0",
        "  node 1 never has shard 2",
    ]
    reduction = make("reduce-scatter", 3, 1, chain(*map(walk_to, range(3))), steps=2)
    lost = str(run(ring, reduction, failed=[(1, 2)]).loss)
    assert "  the contribution of node 1 to shard 0 is lost" in lost.splitlines()


def walk_to(owner: int) -> list[Row]:
    first, second = (owner + 1) % 3, (owner + 2) % 3
    return [(1, first, second, owner, 0, 1), (2, second, owner, owner, 0, 1)]


def test_switches_own_nothing() -> None:
    pair = Topology.from_links(3, [(0, 1), (1, 0), (0, 2), (2, 1)], switches=[2])
    schedule = make("allgather", 3, 1, [(1, 0, 1, 0, 0, 1), (1, 1, 0, 1, 0, 1)], steps=1)
    assert run(pair, schedule).time == verify_rounds(pair, schedule).cost.runtime(ALPHA, SIZE, BANDWIDTH)
    result = run(pair, schedule, failed=[(0, 2)])
    assert result.loss is not None
    assert len(result.loss.pairs) == 0
    assert "completes all the same" in str(result)


def test_nothing_to_send() -> None:
    one = Topology.from_links(1, [])
    for mode in MODES:
        result = run(one, make("allreduce", 1, 1, [], steps=0), mode)
        assert result.time == 0
        assert not result.critical
        assert not result.step_ends
        assert str(result)
    assert run(one, make("allgather", 1, 1, [], steps=2)).time == 2 * ALPHA


def test_messages_read_well() -> None:
    message = Message(3, 4, 7, Fraction(2**20), ALPHA, 7 * ALPHA)
    assert str(message) == f"step 3: 4->7, 1MiB, {format_time(ALPHA)} to {format_time(7 * ALPHA)}"


def test_errors() -> None:
    ring = Topology.from_links(3, [(0, 1), (1, 2), (2, 0), (2, 2)])
    schedule = make("allgather", 3, 1, [(1, 0, 1, 0, 0, 1)], steps=1)
    for alpha, size, bandwidth in (
        (-ALPHA, SIZE, BANDWIDTH),
        (ALPHA, SIZE * 0, BANDWIDTH),
        (ALPHA, SIZE, BANDWIDTH * 0),
    ):
        with pytest.raises(ParameterError, match="above zero"):
            time_steps(schedule.having(place=ring), alpha=alpha, size=size, bandwidth=bandwidth)
    with pytest.raises(ParameterError, match="unknown mode 'eager'"):
        run(ring, schedule, "eager")  # type: ignore[arg-type]
    for link in ((0, 2), (2, 2), (5, 0), (-1, 0), (0, -2)):
        with pytest.raises(ParameterError, match="no link"):
            run(ring, schedule, failed=[link])
        with pytest.raises(ParameterError, match="no link"):
            run(ring, schedule, speeds={link: (ALPHA, BANDWIDTH)})
    for speed in ((Fraction(-1), BANDWIDTH), (ALPHA, Fraction(0))):
        with pytest.raises(ParameterError, match="0->1 requires"):
            run(ring, schedule, speeds={(0, 1): speed})
    with pytest.raises(ScheduleError, match="0->2, which is not a link"):
        run(ring, make("allgather", 3, 1, [(1, 0, 2, 0, 0, 1)], steps=1))
    with pytest.raises(TooLargeError, match="units"):
        run(ring, make("allgather", 3, 2**62 - 1, [(1, 0, 1, block, 0, 2**62 - 1) for block in range(3)], steps=1))
    nodes = 2**15
    wide = Topology.from_arrays(nodes, np.arange(nodes), np.roll(np.arange(nodes), -1))
    short = make("allgather", nodes, 1, [(1, 0, 1, 0, 0, 1)], steps=1)
    with pytest.raises(ScheduleError, match="far too few"):
        run(wide, short, "asynchronous")
