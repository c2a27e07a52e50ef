"""Phases as columns: what fits them, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.plans.test_files import phases_plan
from topodesign.base.errors import ScheduleError
from topodesign.plans.rounds import Phases


def moved(collective: str = "allreduce") -> Phases:
    movement = phases_plan(collective).movement
    assert isinstance(movement, Phases)
    return movement


def test_topologies_are_those_of_the_circuits() -> None:
    phases = moved("allgather")
    assert [one.links() for one in map(phases.topology_of, range(2))] == [
        [(v, (v + 1) % 6, 1) for v in range(6)],
        [(v, (v + 2) % 6, 1) for v in range(6)],
    ]
    assert phases.union().links() == sorted((v, (v + k) % 6, 1) for v in range(6) for k in (1, 2))
    assert phases.fits(phases.union())
    assert not phases.fits(phases.topology_of(0))
    assert phases.phase_of(np.array([1, 2, 3])).tolist() == [0, 1, 1]
    assert phases.changes == 1


def test_an_allreduce_shares_the_topology_in_the_middle() -> None:
    phases = moved()
    assert (phases.changes, phases.steps, phases.reduce_steps) == (2, 6, 3)
    first, middle, last = (phases.topology_of(number) for number in range(3))
    assert first == last != middle


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"first_step": np.array([2, 3])}, "ascend from 1"),
        ({"first_step": np.array([1, 9])}, "ascend from 1"),
        ({"delay": Fraction(-1)}, "delay from 0"),
        ({"ports": 0}, "ports"),
        ({"src_port": np.full(12, 7)}, "src_port"),
        ({"steps": 1}, "reduce_steps|step"),
    ],
)
def test_what_has_no_form_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ScheduleError, match=words):
        moved("allgather").having(**changes)
