"""The form of a schedule: which columns make one, and that it cannot be changed. Its meaning is the verifier's."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.samples.schedules import COLLECTIVES, COLUMNS, Collective, flow_columns, from_columns
from topodesign.base.errors import ScheduleError
from topodesign.collectives import COLLECTIVES as VALUES
from topodesign.plans.flow import Flow

HEADER: dict[str, Any] = {"collective": "allreduce", "nodes": 3, "units": 4, "steps": 2, "reduce_steps": 1}
REDUCE_STEPS = {"allgather": 0, "reduce-scatter": 2, "allreduce": 1}


def columns() -> dict[str, Any]:
    """Four sends on three nodes, made anew."""
    rows = {"step": [1, 1, 2, 2], "src": [0, 1, 2, 0], "dst": [1, 2, 0, 2], "block": [2, 0, 1, 0]}
    narrow = {name: np.array(values, dtype=np.int32) for name, values in rows.items()}
    return narrow | {"lo": np.array([0, 1, 2, 0]), "hi": np.array([4, 2, 3, 4])}


def make(**changes: Any) -> Flow:
    fields = HEADER | columns() | changes
    collective = VALUES.get(fields["collective"], fields["collective"])
    return from_columns(collective, *(fields[name] for name in ("nodes", "units", "steps", "reduce_steps", *COLUMNS)))


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_well_formed(collective: Collective) -> None:
    schedule = make(collective=collective, reduce_steps=REDUCE_STEPS[collective])
    assert len(schedule) == 4
    assert repr(schedule) == f"<Flow {collective} in steps, 4 pieces, 4 sends>"
    assert list(schedule.table()) == list(COLUMNS)
    for name, column in columns().items():
        assert np.array_equal(schedule.table()[name], column)


def test_no_sends_are_well_formed() -> None:
    empty = {name: column[:0] for name, column in columns().items()}
    assert len(make(**empty)) == 0
    assert len(make(**empty, nodes=1, steps=0, reduce_steps=0)) == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nodes": 2}, "must hold numbers from 0 to 1"),
        ({"steps": 1, "reduce_steps": 1}, "1 steps has sends in step 2"),
        ({"units": 3}, "<= 3"),
    ],
)
def test_header_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ScheduleError, match=words):
        make(**changes)


@pytest.mark.parametrize(
    ("name", "row", "value", "words"),
    [
        ("step", 0, 0, "must satisfy 0 <= start"),
        ("step", 3, 3, "sends in step 3"),
        ("step", 1, -1, "must satisfy 0 <= start"),
        *((name, row, value, f"'{name}' of a flow must hold") for name in ("src", "dst", "block") for row in (0, 3)
          for value in (-1, 3, 2**31 - 1)),
        ("lo", 0, -1, "intervals"),
        ("lo", 0, 5, "intervals"),
        ("lo", 1, 3, "intervals"),
        ("hi", 0, 5, "intervals"),
        ("hi", 1, 0, "intervals"),
        ("hi", 1, -(2**63), "intervals"),
    ],
)  # fmt: skip
def test_one_wrong_number_is_refused(name: str, row: int, value: int, words: str) -> None:
    damaged = columns()[name]
    damaged[row] = value
    with pytest.raises(ScheduleError, match=words):
        make(**{name: damaged})


def test_a_schedule_owns_its_columns() -> None:
    mine = columns()
    schedule = make(**mine)
    for name, column in mine.items():
        column[0] += 1  # still the caller's to change, and nobody else's
        assert not np.array_equal(schedule.table()[name], column)


def test_schedule_is_frozen() -> None:
    schedule = make()
    with pytest.raises(dataclasses.FrozenInstanceError):
        schedule.steps = 5  # type: ignore[misc]
    for column in flow_columns(schedule).values():
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_equality_looks_at_every_field() -> None:
    assert make() == make()
    assert hash(make()) == hash(make())
    assert make() != "allreduce"
    assert make() != make(units=5)
    assert make() != make(nodes=4)
    assert make() != make(steps=3)
    assert make() != make(reduce_steps=0)
    assert make() != make(collective="allgather", reduce_steps=0)
    for name in COLUMNS:
        changed = columns()[name]
        changed[1] = {"step": 2, "src": 0, "dst": 1, "block": 1, "lo": 0, "hi": 3}[name]
        assert make() != make(**{name: changed}), name
