"""The simulator of timed sends: as planned where a plan is tight, never later, and right whatever is delayed."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.schedules import COLLECTIVES, Collective
from tests.samples.timed import timed_sample
from topodesign.base.errors import ParameterError, ScheduleError
from topodesign.plans.replay.timed import verify_timed
from topodesign.plans.timed import Timed
from topodesign.plans.timed_ops import timed_of
from topodesign.plans.timing.timed import simulate_timed
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

seeds = st.integers(0, 2**32)
collectives = pytest.mark.parametrize("collective", COLLECTIVES)


@collectives
@settings(max_examples=60)
@given(seeds)
def test_nothing_is_later_than_planned(collective: Collective, seed: int) -> None:
    topology, rounds, timed, links = timed_sample(np.random.default_rng(seed), collective)
    run = simulate_timed(topology, timed)
    assert all(s * run.tick <= p * timed.tick for s, p in zip(run.start, timed.start.tolist(), strict=True))
    assert run.time <= timed.time == run.planned
    soon = timed_of(
        topology, rounds, size=timed.size, alpha=Fraction(1), bandwidth=Fraction(64), links=links, overlap=timed.overlap
    )
    assert simulate_timed(topology, soon).time == soon.time
    chain = run.critical
    assert chain[0].start == 0
    assert chain[-1].end == run.time
    for one, after in itertools.pairwise(chain):
        assert one.start < after.start <= one.end
        assert after.start == one.end or (timed.overlap and (one.src, one.dst) == (after.src, after.dst))
    assert all(0 <= share <= 1 for share in run.utilisation.tolist())
    assert "critical path" in str(run)


@collectives
@settings(max_examples=40)
@given(seeds, st.fractions(0, 5, max_denominator=7))
@pytest.mark.floor(checked=20)
def test_what_happens_with_delays_is_a_right_plan_too(collective: Collective, seed: int, jitter: Fraction) -> None:
    topology, _, timed, _ = timed_sample(np.random.default_rng(seed), collective)
    runs = [simulate_timed(topology, timed, jitter=jitter, seed=seed) for _ in range(2)]
    assert runs[0].end == runs[1].end
    run, least = runs[0], simulate_timed(topology, timed)
    assert least.time <= run.time <= least.time + jitter * len(timed)
    if not verify_timed(topology, timed).refilled:
        happened = timed.having(
            tick=run.tick,
            start=np.array(run.start),
            end=np.array(run.end),
            latency=np.array([int(t * timed.tick / run.tick) for t in timed.latency.tolist()], dtype=np.int64),
            per_unit=np.array([int(t * timed.tick / run.tick) for t in timed.per_unit.tolist()], dtype=np.int64),
        )
        assert verify_timed(topology, happened, run.time).ok
        reached("checked")


@collectives
@settings(max_examples=40)
@given(seeds)
@pytest.mark.floor(scaled=10)
def test_other_sizes_and_links(collective: Collective, seed: int) -> None:
    topology, rounds, timed, links = timed_sample(np.random.default_rng(seed), collective)

    def of_size(size: Fraction) -> Timed:
        return timed_of(
            topology, rounds, size=size, alpha=Fraction(1), bandwidth=Fraction(64), links=links, overlap=timed.overlap
        )

    plan = of_size(timed.size)
    slower = LinkTable(
        {pair: 2 * value for pair, value in links.alpha.items()},
        {pair: value / 2 for pair, value in links.bandwidth.items()},
    )
    assert simulate_timed(topology, plan, links=slower).time == 2 * plan.time
    if not verify_timed(topology, plan).redundant:
        double = of_size(2 * timed.size)
        assert simulate_timed(topology, plan, size=2 * timed.size).time == double.time
        reached("scaled")


def test_bad_arguments() -> None:
    topology, _, timed, _ = timed_sample(np.random.default_rng(1), "allgather")
    with pytest.raises(ScheduleError, match="no link"):
        simulate_timed(Topology.from_links(2, [(0, 1)]), timed)
    with pytest.raises(ParameterError):
        simulate_timed(topology, timed, jitter=Fraction(-1))
    with pytest.raises(ScheduleError, match="never gets"):
        simulate_timed(topology, timed.rows(timed.start > 0))
