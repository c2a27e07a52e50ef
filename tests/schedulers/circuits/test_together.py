"""Groups of unlike size: of all ways to choose a plan for each the fastest is taken, timed by replay."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from topodesign import simulate, verify
from topodesign.collectives import ALL_TO_ALL, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.schedulers.circuits.bounds import Room, Work
from topodesign.schedulers.circuits.published import Option
from topodesign.schedulers.circuits.reconfigure import reconfigure
from topodesign.schedulers.circuits.together import in_groups, options_of, together

US = Fraction(1, 10**6)


@pytest.mark.once
@pytest.mark.parametrize("collective", [ALL_TO_ALL, REDUCE_SCATTER, ALLREDUCE])
@pytest.mark.parametrize("delay", [0, 5])
def test_the_fastest_of_all_choices_is_taken(collective: Collective, delay: int) -> None:
    teams = tuple(range(6)), tuple(range(6, 10))
    work = Work(US, 20 * US, delay * US)
    options = [list(options_of(Room(len(team), 1, False), collective, planes=False)) for team in teams]
    done = collective.within(teams)

    def time(chosen: tuple[Option, ...]) -> Fraction:
        plan = in_groups(chosen, done, 10)
        timed = replace(plan.flow, circuits=plan.flow.switching._replace(delay=work.delay))
        size = work.second * 10**9  # bytes of M, at 8 Gbps
        return simulate(replace(plan, movement=timed), alpha=work.alpha, size=size, bandwidth="8Gbps").time

    found = together(options, work)
    assert time(found[0]) <= min(map(time, product(*options)))  # less where data are spread over phases
    assert any(not any(one.moved.switching.changes for one in chosen) for chosen in found)


@pytest.mark.parametrize("delay", ["500ns", "1us"])
@pytest.mark.parametrize("collective", ["all-to-all", "allgather", "reduce-scatter", "allreduce"])
def test_a_pair_spreads_its_data_over_the_steps_of_three(collective: str, delay: str) -> None:
    """A part of what the pair has goes in each step of the three: y is that of the three alone."""
    asked: dict[str, Any] = {"cabling": "simplex", "alpha": "1us", "delay": delay, "bandwidth": "400Gbps"}
    best = reconfigure(5, 1, collective, group=["0,1", "2,3,4"], size="256KiB", **asked).contenders[0]
    halves = 2 if collective == "allreduce" else 1
    assert (best.steps, best.bandwidth) == (2 * halves, Fraction(2, 3) * halves)
    if collective == "all-to-all":  # over one topology one block takes both its links
        assert best.changes == 1
        assert delay == "500ns" or float(best.time) == pytest.approx(6.495e-6, rel=1e-3)
    assert verify(best.plan).ok
