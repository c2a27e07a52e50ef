"""The simulator of timed sends: as planned where a plan is tight, never later, and right whatever is delayed."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.schedules import COLLECTIVES, Collective
from tests.samples.timed import on_clock, timed_sample
from tests.samples.verdicts import verify_timed
from topodesign.base.errors import ParameterError, ScheduleError
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.plans.flow import Flow
from topodesign.plans.time.simulate import simulate
from topodesign.plans.time.ticks import TimedSimulation, time_rounds, time_ticks
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

seeds = st.integers(0, 2**32)


def simulate_timed(topology: Topology, timed: Flow, **conditions: Any) -> TimedSimulation:
    return time_ticks([replace(timed, place=topology)], **conditions)


collectives = pytest.mark.parametrize("collective", COLLECTIVES)


@collectives
@settings(max_examples=60)
@given(seeds)
def test_nothing_is_later_than_planned(collective: Collective, seed: int) -> None:
    topology, rounds, timed, links = timed_sample(np.random.default_rng(seed), collective)
    run = simulate_timed(topology, timed)
    assert all(
        s * run.tick <= p * timed.timing.tick for s, p in zip(run.start.tolist(), timed.start.tolist(), strict=True)
    )
    assert run.time <= timed.time == run.planned
    soon = time_rounds(
        topology,
        rounds,
        size=timed.timing.size,
        alpha=Fraction(1),
        bandwidth=Fraction(64),
        links=links,
        overlap=timed.timing.overlap,
    )
    assert simulate_timed(topology, soon).time == soon.time
    chain = run.critical
    assert chain[0].start == 0
    assert chain[-1].end == run.time
    for one, after in itertools.pairwise(chain):
        assert one.start < after.start <= one.end
        assert after.start == one.end or (timed.timing.overlap and (one.src, one.dst) == (after.src, after.dst))
    assert all(0 <= share <= 1 for share in run.utilisation.tolist())
    assert "critical path" in str(run)


@collectives
@settings(max_examples=40)
@given(seeds, st.fractions(0, 5, max_denominator=7))
@pytest.mark.floor(checked=20)
def test_what_happens_with_delays_is_a_right_plan_too(collective: Collective, seed: int, jitter: Fraction) -> None:
    topology, _, timed, _ = timed_sample(np.random.default_rng(seed), collective)
    runs = [simulate_timed(topology, timed, jitter=jitter, seed=seed) for _ in range(2)]
    assert np.array_equal(runs[0].end, runs[1].end)
    run, least = runs[0], simulate_timed(topology, timed)
    assert least.time <= run.time <= least.time + jitter * len(timed)
    if not verify_timed(topology, timed).refilled:
        happened = on_clock(
            timed.having(start=run.start, end=run.end),
            tick=run.tick,
            latency=np.array(
                [int(t * timed.timing.tick / run.tick) for t in timed.timing.latency.tolist()], dtype=np.int64
            ),
            per_unit=np.array(
                [int(t * timed.timing.tick / run.tick) for t in timed.timing.per_unit.tolist()], dtype=np.int64
            ),
        )
        assert verify_timed(topology, happened, run.time).ok
        reached("checked")


@collectives
@settings(max_examples=40)
@given(seeds)
@pytest.mark.floor(scaled=10)
def test_other_sizes_and_links(collective: Collective, seed: int) -> None:
    topology, rounds, timed, links = timed_sample(np.random.default_rng(seed), collective)

    def of_size(size: Fraction) -> Flow:
        return time_rounds(
            topology,
            rounds,
            size=size,
            alpha=Fraction(1),
            bandwidth=Fraction(64),
            links=links,
            overlap=timed.timing.overlap,
        )

    plan = of_size(timed.timing.size)
    slower = LinkTable(
        {pair: 2 * value for pair, value in links.alpha.items()},
        {pair: value / 2 for pair, value in links.bandwidth.items()},
    )
    assert simulate_timed(topology, plan, links=slower).time == 2 * plan.time
    if not verify_timed(topology, plan).redundant:
        double = of_size(2 * timed.timing.size)
        assert simulate_timed(topology, plan, size=2 * timed.timing.size).time == double.time
        reached("scaled")


def losses_by_sets(timed: Flow, failed: set[tuple[int, int]]) -> tuple[set[int], set[tuple[int, int]]]:
    """Sends that do not happen and pairs that never complete, with sets of contributions for every unit."""
    everyone, units = range(timed.nodes), range(timed.units)
    rows = list(zip(*(column.tolist() for column in timed.table().values()), strict=True))
    partial = {(v, w, k): frozenset([v]) for v in everyone for w in everyone for k in units}
    held = {(w, w, k) for w in everyone for k in units}
    adding = [movement.adds for movement in timed.collective.movements]
    happens: set[int] = set()
    for part, adds in enumerate(adding):
        under_way: dict[int, list[frozenset[int]]] = {}
        if not adds and part:
            held = {key for key in held if len(partial[key]) == timed.nodes}
        events = [(row[1], 0, number) for number, row in enumerate(rows) if row[2] == part]
        events += [(row[0], 1, number) for number, row in enumerate(rows) if row[2] == part]
        for _, starts, number in sorted(events):
            _, _, _, u, v, w, lo, hi = rows[number]
            cells = [(u if starts else v, w, k) for k in range(lo, hi)]
            if starts and (u, v) not in failed and all(partial[cell] if adds else cell in held for cell in cells):
                happens.add(number)
                under_way[number] = [partial[cell] for cell in cells]
                partial |= dict.fromkeys(cells if adds else (), frozenset())
            elif not starts and number in happens and adds:
                partial |= {cell: partial[cell] | some for cell, some in zip(cells, under_way[number], strict=True)}
            elif not starts and number in happens:
                held |= set(cells)
    every = [(w, v, k) for w in everyone for v in everyone for k in units]
    if adding[-1]:
        lost = {(w, v) for w, v, k in every if v not in partial[w, w, k]}
    else:
        lost = {(w, v) for w, v, k in every if (v, w, k) not in held}
    return set(range(len(rows))) - happens, lost


@collectives
@settings(max_examples=60)
@given(seeds)
@pytest.mark.floor(lost=10)
def test_failed_links_against_sets(collective: Collective, seed: int) -> None:
    """What a failure breaks, and that what still goes takes as long as a plan of that alone."""
    random = np.random.default_rng(seed)
    topology, _, timed, _ = timed_sample(random, collective)
    links = [(u, v) for u, v, _ in topology.links() if u != v]
    failed = tuple(links[at] for at in random.integers(len(links), size=random.integers(1, 3)))
    run = simulate_timed(topology, timed, failed=failed)
    blocked, pairs = losses_by_sets(timed, set(failed))
    assert run.loss is not None
    assert set(run.loss.rows.tolist()) == blocked
    assert {(w, v) for w, v in run.loss.pairs.tolist()} == pairs
    goes = np.setdiff1d(np.arange(len(timed)), list(blocked))
    rest = simulate_timed(topology, timed.some(goes))
    assert run.time == rest.time
    assert np.array_equal(run.end[goes], rest.end)
    assert not run.end[list(blocked)].any()
    assert str(run.loss) in str(run)
    if pairs:
        reached("lost")


def test_a_failure_of_a_link_to_a_switch_stops_what_would_pass_it() -> None:
    """Of two copies that a switch makes one still arrives; its sender's send stays."""
    links = [FabricLink(u, v, Fraction(10**9), "link") for u, v in (("a", "s"), ("s", "b"), ("s", "c"), ("b", "s"))]
    fabric = Fabric.from_links("three", ["a", "b", "c"], ["s"], [*links, FabricLink("c", "s", Fraction(10**9), "link")])
    plan = schedule(fabric, "broadcast", method="tacos", root="a", size=1000)
    down = simulate(plan, failed=["s,c"])
    assert not down.completes
    assert down.incomplete_nodes == ("c",)
    assert down.time <= simulate(plan).time
    assert "with s -> c down the broadcast does not finish" in str(down)


def test_numbers_of_any_size() -> None:
    """Ends that do not fit into 64 bits: short ticks, and delays that are many of them."""
    topology, _, timed, _ = timed_sample(np.random.default_rng(3), "allreduce")
    tiny, late = Fraction(1, 2**54), Fraction(2**20)
    usual, long = (simulate_timed(topology, timed, gap=gap, jitter=late) for gap in (Fraction(0), tiny))
    assert long.end.dtype == object
    assert 0 <= long.time - usual.time <= len(timed) * tiny


def test_bad_arguments() -> None:
    topology, _, timed, _ = timed_sample(np.random.default_rng(1), "allgather")
    with pytest.raises(ScheduleError, match="no link"):
        simulate_timed(topology, timed.having(dst=timed.src))
    with pytest.raises(ParameterError):
        simulate_timed(topology, timed, jitter=Fraction(-1))
    with pytest.raises(ScheduleError, match="never gets"):
        simulate_timed(topology, timed.some(timed.start > 0))
