"""The search: what it finds is verified and beats what there was, and the same question has the same answer."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign import verify
from topodesign.collectives import ALL_TO_ALL, ALLGATHER
from topodesign.schedulers.circuits.bounds import Room, Work, bound
from topodesign.schedulers.circuits.search import groups, search

US = Fraction(1, 10**6)


@pytest.mark.once
@pytest.mark.parametrize("room", [Room(12, 1, False), Room(12, 2, True), Room(16, 1, True)])
@pytest.mark.parametrize("collective", [ALL_TO_ALL, ALLGATHER])
def test_what_is_found_is_better_and_right(room: Room, collective: object) -> None:
    work = Work(US, 20 * US, 5 * US)
    found = search(room, collective, work, Fraction(1))  # type: ignore[arg-type]
    assert found
    times = [work.time(*(int(one.claim["steps"]), one.claim["bandwidth"], int(one.claim["changes"]))) for one in found]
    assert times == sorted(times, reverse=True)
    assert all(verify(one).ok for one in found)
    assert times[-1] >= bound([room], collective, work, moving=False)[0]  # type: ignore[arg-type]
    again = search(room, collective, work, Fraction(1))  # type: ignore[arg-type]
    assert [one.claim for one in again] == [one.claim for one in found]
    assert search(room, collective, work, times[-1]) == []  # type: ignore[arg-type]


def test_groups_have_the_order() -> None:
    assert {group.order for group in groups(24)} == {24}
    assert [str(group.spec) for group in groups(7)] == ["cyclic(7)"]
