"""``reconfigure``: verified plans, none faster than the bound, the fastest never slower than anything it knows."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest

from tests.conftest import few
from topodesign import load_plan, reconfigure, save_plan, simulate, verify
from topodesign.base.errors import ParameterError
from topodesign.collectives import as_collective
from topodesign.schedulers.circuits import search
from topodesign.schedulers.circuits.bounds import Room

US = Fraction(1, 10**6)
WORK: Any = {"alpha": "1us", "bandwidth": "400Gbps"}


@pytest.fixture
def short_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search finds is judged, and not how much."""
    monkeypatch.setattr(search, "_LONG", 2**20)


TABLE = {
    # d, MiB: microseconds of the best all-to-all of an enumeration (N = 64, simplex) at 0, 1, 10, 100, 1000, 10000 us
    (1, 1): (51, 64, 119, 261, 724, 724),
    (2, 1): (48, 57, 89, 111, 111, 111),
    (2, 64): (1375, 1415, 1685, 3395, 5705, 6755),
}


@pytest.mark.usefixtures("short_walks")
@pytest.mark.once
@pytest.mark.parametrize("collective", ["all-to-all", "allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize(("nodes", "degree", "cabling"), [(6, 1, "simplex"), (9, 2, "duplex"), (12, 3, "simplex")])
def test_plans_are_verified_and_none_beats_the_bound(collective: str, nodes: int, degree: int, cabling: str) -> None:
    for dark, delay in few([*itertools.product(("all", "moved"), ("0s", "20us", "10ms"))], 2):
        found = reconfigure(nodes, degree, collective, delay=delay, cabling=cabling, dark=dark, **WORK)
        times = [one.time for one in found.contenders]
        assert times == sorted(times)
        assert found.claim.bound is not None
        assert found.claim.bound <= times[0]
        assert found.claim.proven == (found.claim.bound == times[0])
        for one in found.contenders:
            assert verify(one.plan).ok
            assert simulate(one.plan, size="1MiB", **WORK).time == one.time
        assert found.static is None or found.static.changes == 0
        assert sum(phase.steps for phase in found.phases) == found.best.steps
        assert len(found.phases) == found.best.changes + 1


@pytest.mark.dear("2-64")
@pytest.mark.parametrize(("degree", "size"), few([*TABLE], 2))
def test_the_table_of_the_enumeration_is_met(degree: int, size: int) -> None:
    cells = list(zip((0, 1, 10, 100, 1000, 10000), TABLE[degree, size], strict=True))
    for delay, known in few([*cells[3:], *cells[:3]], 6):
        found = reconfigure(64, degree, delay=delay * US, size=f"{size}MiB", **WORK)
        assert found.best.time <= (known + Fraction(1, 2)) * US
        assert found.claim.gap is not None
        assert found.claim.gap < Fraction(1, 12)


SMALL = [
    *((nodes, 1, "simplex", delay) for nodes in range(3, 9) for delay in (0, 1, 10, 100)),
    *((nodes, 2, "duplex", delay) for nodes in range(4, 9) for delay in (0, 1, 10, 100)),
    *((nodes, 2, "simplex", delay) for nodes in (4, 5, 8) for delay in (0, 1)),
    *((7, 2, "simplex", delay) for delay in (0, 1, 10, 100)),
]
"""54 questions about at most eight nodes."""


@pytest.mark.parametrize("collective", ["all-to-all", "allgather", "reduce-scatter", "allreduce"])
def test_small_questions_are_answered_with_proof(collective: str) -> None:
    for nodes, degree, cabling, delay in few(SMALL, 7):
        if collective == "all-to-all" and nodes == 7 and degree == 2 and cabling == "simplex" and delay >= 10:
            continue  # y is not at its bound
        found = reconfigure(nodes, degree, collective, delay=delay * US, cabling=cabling, size="1MiB", **WORK)
        assert found.claim.proven, (nodes, degree, cabling, delay)


def test_planes_in_turn_hide_the_delay_and_have_half_of_the_ports() -> None:
    """Direct circuits of six nodes: five phases of 1 us and 8 us over a plane; a plane moves while the other sends.

    With 20 us they begin at 0, 9, 9 + 20, 38 and 38 + 20.
    """
    size = 6 * 8000  # of each block 8000 bytes, which 8 Gbps take 8 us for
    for delay, time in ((1, 5 * 9), (9, 5 * 9), (20, 67)):
        found = reconfigure(6, 2, delay=delay * US, size=size, alpha="1us", bandwidth="16Gbps", dark="moved")
        (one,) = [one for one in found.contenders if one.name == "planes in turn, direct circuits"]
        assert (one.steps, one.changes, one.bandwidth) == (5, 4, Fraction(5, 3))
        assert one.time == time * US


def test_a_file_has_the_delay(tmp_path: object) -> None:
    found = reconfigure(8, 1, "allreduce", delay="7us", **WORK)
    plan = load_plan(save_plan(f"{tmp_path}/plan.npz", found.plan))
    assert (plan.place, plan.movement, plan.claim) == (found.plan.place, found.plan.movement, found.plan.claim)
    assert simulate(plan, size="1MiB", **WORK).time == found.best.time


@pytest.mark.parametrize(
    ("words", "question"),
    [
        ("circuits change in", (8, 1, "broadcast")),
        ("nodes", (1, 1)),
        ("at most 3 ports", (4, 4)),
        ("at most 1 port each", (4, 2, "allgather", "2x2:0")),
        ("two nodes or more", (4, 1, "allgather", ["0", "2"])),
        ("groups overlap", (4, 1, "allgather", ["0,1", "1,2"])),
    ],
)
def test_wrong_questions_are_refused(words: str, question: tuple[Any, ...]) -> None:
    *rest, group = question if len(question) > 3 else (*question, ())
    with pytest.raises(ParameterError, match=words):
        reconfigure(*rest, cabling="duplex", group=group)


def test_a_placement_without_groups_is_refused() -> None:
    with pytest.raises(ParameterError, match="--group SHAPE"):
        reconfigure(4, 1, placement="0,1,2,3")


@pytest.mark.usefixtures("short_walks")
@pytest.mark.once
@pytest.mark.parametrize("collective", ["all-to-all", "allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize(
    ("nodes", "degree", "group", "cabling"),
    [
        (12, 1, "4x3:0", "simplex"),
        (12, 2, "4x3:1", "simplex"),
        (9, 1, "3x3:0", "duplex"),
        (7, 2, ["0,2,4", "1,3,5"], "duplex"),
        (6, 1, ["1,4,5"], "simplex"),
    ],
)
def test_groups_run_at_once_as_one_would_alone(
    collective: str, nodes: int, degree: int, group: Any, cabling: str
) -> None:
    for dark in ("all", "moved"):
        found = reconfigure(nodes, degree, collective, delay="3us", group=group, cabling=cabling, dark=dark, **WORK)
        alone = reconfigure(found.rooms[0].nodes, degree, collective, delay="3us", cabling=cabling, dark=dark, **WORK)
        assert found.best.time == alone.best.time
        assert (found.claim.bound or 0) <= (alone.claim.bound or 0)  # other nodes may pass blocks on
        for one in found.contenders:
            assert verify(one.plan).ok
            assert one.plan.collective.single == tuple(
                as_collective(collective).among(team) for team in found.groups or ()
            )
            assert simulate(one.plan, size="1MiB", **WORK).time == one.time
        assert f"{len(found.groups or ())} group" in found.heading()


@pytest.mark.usefixtures("short_walks")
@pytest.mark.once
@pytest.mark.parametrize("collective", ["all-to-all", "allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize(
    ("nodes", "degree", "group", "cabling"),
    [
        (9, 1, [[*range(6)], [6, 7, 8]], "simplex"),
        pytest.param(12, 1, [[*range(8)], [8, 9, 10, 11]], "simplex", marks=pytest.mark.thorough),
        (11, 1, ["0,2,4,9", "1,3,5,6,7,8"], "duplex"),
        (20, 2, [[*range(9)], [9, 10, 11], [12, 13, 14, 15]], "simplex"),
        (10, 2, [[0, 1, 2, 3], [4, 5, 6, 7, 9]], "duplex"),
    ],
)
def test_groups_may_differ_in_size(collective: str, nodes: int, degree: int, group: Any, cabling: str) -> None:
    for dark, delay in few([("all", "0s"), ("all", "30us"), ("moved", "30us"), ("moved", "0s")], 2):
        asked: Any = {"delay": delay, "cabling": cabling, "dark": dark, "size": "1MiB", **WORK}
        found = reconfigure(nodes, degree, collective, group=group, **asked)
        assert (found.claim.bound or 0) <= found.best.time
        for one in found.contenders:
            assert verify(one.plan).ok
            assert simulate(one.plan, size="1MiB", **WORK).time == one.time
            assert [len(team.group or ()) for team in one.plan.collective.single] == list(map(len, found.groups or ()))
        alone = [reconfigure(room.nodes, degree, collective, **asked) for room in found.rooms]
        if dark == "all":  # not slower than all in turn, and not slower than what never changes
            assert found.best.time <= sum(one.best.time for one in alone)
            stays = [one.static for one in alone]
            if all(stays):
                assert found.static is not None
                assert found.static.steps == max(one.steps for one in stays if one is not None)


def test_an_idle_port_is_one_of_all_nodes_and_idle_nodes_have_ports_too() -> None:
    assert Room(3, 1, True).share == Fraction(3, 2)
    assert Room(3, 1, True, groups=2).share == 1
    assert Room(3, 1, True, groups=1, idle=2).share == Fraction(3, 4)
