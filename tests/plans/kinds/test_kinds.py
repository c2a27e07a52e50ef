"""The protocol of kinds: what all of them answer, and that one more needs nothing but its own file and a line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.plans.test_files import PLANS
from tests.samples.relays import Relays
from tests.samples.verdicts import verify_rounds
from topodesign import compile_plan, load_plan, run_plan, save_plan, schedule, simulate, verify
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.plans.flow import Flow
from topodesign.plans.kinds import KINDS, kind_named, kind_of
from topodesign.plans.kinds.flows import OfFlow, OfFlows
from topodesign.plans.kinds.pipelines import OfChunks, OfStages
from topodesign.plans.rounds_ops import canonical
from topodesign.plans.transfers import Transfers
from topodesign.report.charts.timeline import link_use_chart


def test_kinds_are_found_by_name() -> None:
    found = [kind_named(name) for name in KINDS]
    in_chunks, others = [OfChunks] * 2, [OfFlow, OfChunks, OfFlow, OfFlow, OfFlows, OfFlow, OfStages]
    assert found == [OfFlow, *in_chunks, *others]
    own = [(one.movement.kind, name) for one, name in zip(found, KINDS, strict=True) if one.movement is not Flow]
    assert all(kind == name for kind, name in own)


@pytest.mark.parametrize("name", PLANS)
def test_what_a_kind_says_is_what_its_replay_finds(name: str) -> None:
    plan = PLANS[name]()
    kind = kind_of(plan)
    assert kind.plan is plan
    found = verify(replace(plan, claim={}))
    assert found.ok
    assert dict(kind.measures()) == dict(found.figures)
    assert (kind.pace == "times") == bool(kind.streams) == (kind.size is not None)
    moved: tuple[Transfers, ...] = kind.transfers()
    assert sum(len(one.src) for one in moved) > 0
    assert kind.adds_up or plan.collective.several or verify_rounds(*kind.on_ranks()).ok


@pytest.mark.parametrize("name", ["rounds", "trees"])
def test_the_image_under_no_change_is_the_plan(name: str) -> None:
    plan = PLANS[name]()
    assert kind_of(plan).image(np.arange(plan.topology.nodes)) == plan
    with pytest.raises(InfeasibleError, match="no image"):
        kind_of(PLANS["timed"]()).image(np.arange(plan.topology.nodes))


def test_only_plans_of_a_kind_are_put_after_one_another() -> None:
    halves = [schedule("torus(3,3)", one, method="tacos") for one in ("reduce-scatter", "allgather")]
    both = kind_of(halves[0]).then(halves[1])
    assert verify(replace(halves[0], movement=both, claim={})).ok
    with pytest.raises(InfeasibleError, match="timed and rounds are not put after one another"):
        kind_of(halves[0]).then(schedule("torus(3,3)", "allgather"))
    with pytest.raises(ScheduleError, match="parts"):
        kind_of(halves[0]).transfers(2)


def test_a_seventh_kind_is_a_file_and_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "relays", "tests.samples.relays:OfRelays")
    usual = schedule("circulant(12,2,3)")
    rounds = canonical(kind_of(usual).in_rounds()[1])
    usual = replace(usual, movement=rounds)
    plan = load_plan(save_plan(tmp_path / "relays.npz", replace(usual, movement=Relays.of(rounds))))
    assert (plan.kind, plan.movement) == ("relays", Relays.of(rounds))
    assert verify(plan).figures == verify(usual).figures
    assert verify(plan).ok
    assert simulate(plan).time == simulate(usual).time
    assert compile_plan(plan).checked().files == compile_plan(usual).files
    assert run_plan(plan, size="4KiB", iterations=1, warmup=0).right
    assert link_use_chart(plan).series == link_use_chart(usual).series
    less = replace(plan, movement=plan.movement.having(ends=plan.movement.columns()["ends"][::-1].copy()))
    assert not verify(less).ok
