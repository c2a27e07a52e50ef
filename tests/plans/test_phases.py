"""Phases as columns: what fits them, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.plans.test_files import phases_plan
from topodesign.base.errors import ScheduleError
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import reverse
from topodesign.plans.verify.plans import check_flows


def moved(collective: str = "allreduce") -> Flow:
    return phases_plan(collective).flow


def test_topologies_are_those_of_the_circuits() -> None:
    phases = moved("allgather")
    circuits = phases.switching
    assert [circuits.links(phase, 6).links() for phase in range(2)] == [
        [(v, (v + 1) % 6, 1) for v in range(6)],
        [(v, (v + 2) % 6, 1) for v in range(6)],
    ]
    assert circuits.union(6).links() == sorted((v, (v + k) % 6, 1) for v in range(6) for k in (1, 2))
    assert phases.fits(circuits.union(6))
    assert not phases.fits(circuits.links(0, 6))
    assert circuits.phase_of(np.array([1, 2, 3])).tolist() == [0, 1, 1]
    assert circuits.changes == 1


def test_an_allreduce_shares_the_topology_in_the_middle() -> None:
    phases = moved()
    assert (phases.switching.changes, phases.steps, phases.reduce_steps) == (2, 6, 3)
    first, middle, last = (phases.switching.links(number, 6) for number in range(3))
    assert first == last != middle


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"begin": np.array([1, 2])}, "ascend from 1"),
        ({"begin": np.array([0, 8])}, "ascend from 1"),
        ({"delay": Fraction(-1)}, "delay from 0"),
        ({"ports": 0}, "ports"),
        ({"src_port": np.full(12, 7)}, "src_port"),
    ],
)
def test_what_has_no_form_is_refused(changes: dict[str, Any], words: str) -> None:
    phases = moved("allgather")
    with pytest.raises(ScheduleError, match=words):
        replace(phases, circuits=phases.switching._replace(**changes))


def test_backwards_in_time_twice_is_the_same() -> None:
    phases = moved("allgather")
    turned = reverse(phases)
    assert turned.switching.links(0, 6) == phases.switching.links(1, 6).transpose()
    assert check_flows((turned,)).ok
    assert reverse(turned) == phases
