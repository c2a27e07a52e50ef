"""Flow sends: their form, the times that rounds get, the rounds that are left without them, and time turned round."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.schedules import COLLECTIVES, Collective, flow_columns, make
from tests.samples.timed import changed, on_clock, timed_sample
from tests.samples.verdicts import verify_rounds, verify_timed
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError, ScheduleError, TooLargeError
from topodesign.collectives import ALLGATHER
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.flow import MAX_TICKS, Flow
from topodesign.plans.flow_ops import reverse
from topodesign.plans.link_times import LinkTimes, link_times
from topodesign.plans.plan import Plan
from topodesign.plans.time.clock import list_steps
from topodesign.plans.time.steps import time_steps
from topodesign.plans.time.ticks import time_rounds
from topodesign.plans.verify.plans import check_movement
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

seeds = st.integers(0, 2**32)


def one_row_each(rounds: Flow) -> bool:
    """Whether every link carries one row in a step, and every step something."""
    places = np.stack((rounds.step, rounds.src, rounds.dst))
    return np.unique(places, axis=1).shape[1] == len(rounds) and len(np.unique(rounds.step)) == rounds.steps


@pytest.mark.parametrize("collective", COLLECTIVES)
@settings(max_examples=100)
@given(seeds)
@pytest.mark.floor(same=1)
def test_times_are_those_of_the_simulator_of_rounds(collective: Collective, seed: int) -> None:
    """Where a link has one message in every step: otherwise every row has a latency of its own."""
    topology, rounds, _, links = timed_sample(np.random.default_rng(seed), collective)
    how: Any = {"size": Fraction(8 * topology.nodes), "alpha": Fraction(1), "bandwidth": Fraction(64)}
    soon = time_rounds(topology, rounds, **how, links=links)
    run = time_steps(rounds.having(place=topology), **how, table=links, mode="asynchronous")
    if one_row_each(rounds):
        assert soon.time <= run.time
        if not verify_timed(topology, soon).redundant:
            assert soon.time == run.time
        reached("same")


@pytest.mark.parametrize("collective", COLLECTIVES)
@settings(max_examples=80)
@given(seeds)
@pytest.mark.floor(lowered=60)
def test_without_times_a_right_plan_is_a_right_schedule(collective: Collective, seed: int) -> None:
    """And its sends as soon as they can end no later than planned, if it is one movement."""
    topology, _, timed, links = timed_sample(np.random.default_rng(seed), collective)
    rounds = list_steps(timed)
    assert verify_rounds(topology, rounds).ok
    assert len(rounds) == len(timed)
    if collective != "allreduce":
        again = time_rounds(
            topology, rounds, size=timed.timing.size, alpha=Fraction(1), bandwidth=Fraction(64), links=links,
            overlap=timed.timing.overlap,
        )  # fmt: skip
        assert again.time <= timed.time
        assert verify_timed(topology, again).ok
    reached("lowered")


@pytest.mark.parametrize("collective", COLLECTIVES)
@settings(max_examples=80)
@given(seeds)
@pytest.mark.floor(turned=30)
def test_backwards_in_time_it_is_the_dual_collective(collective: Collective, seed: int) -> None:
    topology, _, timed, _ = timed_sample(np.random.default_rng(seed), collective)
    back = reverse(timed)
    report = verify_timed(topology, timed)
    assert back.collective == timed.collective.dual
    assert reverse(back) == timed
    if not report.redundant:
        assert verify_timed(topology.transpose(), back, timed.time).ok
        reached("turned")


def test_backwards_through_switches_it_is_the_dual_collective() -> None:
    """A reduce-scatter that was verified, with its routes, is an allgather of the same time, and vice versa."""
    for collective in ("reduce-scatter", "allgather", "all-to-all"):
        plan = schedule("dgx_a100(1)", collective, method="tacos", size="1MiB")
        back = reverse(plan.flow)
        assert back.routes is not None
        assert reverse(back) == replace(plan.flow, place=plan.topology)
        assert check_movement(plan.topology.transpose(), back).figures == {"time": plan.flow.time}
        assert check_movement(plan.topology.transpose(), back).ok


def test_a_partial_sum_sent_twice_has_no_steps() -> None:
    topology = Topology.from_links(3, [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1)])
    rows = [(1, 1, 0, 0, 0, 1), (2, 2, 1, 0, 0, 1), (3, 1, 0, 0, 0, 1)]
    rows += [(1, 0, 1, 1, 0, 1), (1, 2, 1, 1, 0, 1), (1, 0, 1, 2, 0, 1), (2, 1, 2, 2, 0, 1)]
    refilling = make("reduce-scatter", 3, 1, rows, steps=3)
    assert verify_rounds(topology, refilling).refilled
    pruned = time_rounds(topology, refilling, size=Fraction(3), alpha=Fraction(1), bandwidth=Fraction(8))
    assert len(pruned) == len(rows) - 1  # what was sent first waits for the rest
    assert verify_timed(topology, pruned).ok
    early = changed(changed(pruned, "start", 0, 0), "end", 0, int(pruned.end[0] - pruned.start[0]))
    assert verify_timed(topology, early).ok == bool(pruned.start[0] == 0)
    again = pruned.some(np.append(np.arange(len(pruned)), 0))
    with pytest.raises(InfeasibleError, match="twice"):
        list_steps(again.having(start=again.start + (np.arange(len(again)) == len(pruned)) * 40,
                                         end=again.end + (np.arange(len(again)) == len(pruned)) * 40))  # fmt: skip


def test_ticks_are_exact() -> None:
    topology = Topology.from_links(2, [(0, 1), (1, 0, 2)])
    links = LinkTable({(1, 0): Fraction(1, 7)}, {(0, 1): Fraction(3)})

    def times_of(alpha: Fraction, bandwidth: Fraction) -> LinkTimes:
        return link_times(topology, ALLGATHER, 3, size=Fraction(1), alpha=alpha, bandwidth=bandwidth, links=links)

    times = times_of(Fraction(1, 10), Fraction(10))
    assert [int(t) * times.tick for t in times.latency] == [Fraction(1, 10), Fraction(1, 7)]
    bits = Fraction(8, 2 * 3)
    assert [int(t) * times.tick for t in times.per_unit] == [bits / 3, bits / 10]
    assert np.gcd.reduce(np.concatenate((times.latency, times.per_unit))) == 1
    with pytest.raises(TooLargeError, match="no common tick"):
        times_of(Fraction(1, 2**61 - 1), Fraction(10))
    with pytest.raises(ParameterError):
        times_of(Fraction(1, 10), Fraction(0))


def test_the_form_is_checked_and_arrays_do_not_change() -> None:
    topology, _, timed, _ = timed_sample(np.random.default_rng(3), "allgather")
    assert not any(column.flags.writeable for column in flow_columns(timed).values())
    assert timed == timed.some(np.arange(len(timed)))
    assert hash(timed) == hash(timed.some(np.arange(len(timed))))
    assert timed.fits(topology)
    assert not timed.fits(topology.transpose()) or len(topology.src) == len(timed.timing.latency)
    assert "allgather" in repr(timed)
    start = timed.start
    for wrong in (
        {"start": -1 - start},
        {"end": start},
        {"end": start + MAX_TICKS},
        {"hi": timed.lo + timed.units + 1},
        {"part": timed.part + np.int32(1)},
        {"block": timed.block + np.int32(timed.nodes)},
        {"lo": timed.lo[1:]},
        {"units": 0},
        {"collective": "allgather"},
    ):
        with pytest.raises(ScheduleError):
            timed.having(**wrong)
    clock = timed.timing
    for change in (
        {"latency": -1 - clock.latency},
        {"per_unit": 0 * clock.per_unit},
        {"latency": clock.latency[1:]},
        {"tick": Fraction(0)},
        {"size": Fraction(0)},
        {"begin": -1},
        {"begin": MAX_TICKS},
    ):
        with pytest.raises(ScheduleError):
            on_clock(timed, **change)


def test_the_header_of_a_file_must_say_how_links_are_shared(tmp_path: Path) -> None:
    topology, _, timed, _ = timed_sample(np.random.default_rng(3), "allgather")
    path = save_plan(tmp_path / "plan.npz", Plan(topology, timed))
    assert load_plan(path).movement == timed
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    for wrong in ({"overlap": 1}, {"tick": "0"}, {"units": 0}, {"size": "-1"}):
        flow = header["flow"]
        told = flow | wrong if "units" in wrong else flow | {"clock": flow["clock"] | wrong}
        members["header.json"] = json.dumps({**header, "flow": told}).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        with pytest.raises(FileFormatError, match=next(iter(wrong))):
            load_plan(path)
