"""Orbits: folded and unfolded they are the same schedule, and what is not symmetric cannot be folded."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.plans.test_files import phases_plan
from tests.samples.folds import fold, refolded
from tests.samples.schedules import with_columns
from topodesign.base.errors import ScheduleError, TopologyError
from topodesign.collectives import BROADCAST
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.flow_ops import reverse
from topodesign.plans.flow_ops import reverse as reverse_flow
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import relabel_plan
from topodesign.plans.step_ops import canonical, unfold, unfold_steps
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.spff import spff, spff_orbit
from topodesign.topology.library import build
from topodesign.topology.symmetry import Symmetry

SPECS = ("circulant(12,2,3)", "torus(3,4)", "complete(5)", "hypercube(3)", "cyclemesh(3,4)")


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize("spec", SPECS)
def test_folding_is_the_inverse_of_unfolding(spec: str, collective: str) -> None:
    topology = build(spec)
    assert topology.symmetry is not None
    orbit = spff_orbit(topology, collective)
    whole = unfold_steps(orbit)
    assert orbit.fold is not None
    assert len(whole) * len(orbit.fold.representatives) == len(orbit) * topology.nodes
    assert orbit.sends == len(whole)
    again = fold(topology, whole, topology.symmetry)
    assert again is not None
    assert unfold_steps(again) == whole
    assert unfold(unfold(again)) == unfold(orbit)
    if collective != "allreduce":
        assert cost_of(topology, whole) == cost_of(topology, spff(topology, collective))
        assert unfold_steps(reverse_flow(orbit)) == canonical(reverse(whole))


def test_what_is_not_symmetric_is_not_folded() -> None:
    topology = build("circulant(12,2,3)")
    symmetry = topology.symmetry
    assert symmetry is not None
    whole = unfold_steps(spff_orbit(topology, "allgather"))
    assert fold(topology, whole.some(np.arange(1, len(whole))), symmetry) is None
    other = whole.step.copy()
    other[0] += 1
    assert fold(topology, with_columns(whole, step=other), symmetry) is None
    assert fold(topology, whole, Symmetry(12, (0,), list)) is None


def test_the_form_is_checked() -> None:
    orbit = spff_orbit(build("circulant(12,2,3)"), "allgather")
    assert orbit.fits(build("complete(12)"))
    assert hash(orbit) == hash(replace(orbit))
    assert orbit == replace(orbit)
    symmetry = orbit.fold
    assert symmetry is not None
    wrong: Any
    for wrong in (
        {"fold": replace(symmetry, representatives=(0, 1))},
        {"fold": replace(symmetry, representatives=(1,))},
        {"fold": build("circulant(13,2,3)").symmetry},
        {"collective": BROADCAST.at(0)},
    ):
        with pytest.raises(ScheduleError):
            replace(orbit, **wrong)
    with pytest.raises(TopologyError, match="not a permutation"):
        refolded(orbit, 0 * symmetry.generators)


@pytest.mark.parametrize("spec", SPECS)
def test_plans_of_orbits_are_files_like_any_other(spec: str, tmp_path: Path) -> None:
    topology = build(spec)
    orbit = spff_orbit(topology, "allreduce")
    plan = Plan(topology, orbit, cost_claim(cost_of(topology, unfold_steps(orbit))))
    loaded = load_plan(save_plan(tmp_path / "orbit.npz", plan))
    assert loaded.movement == orbit
    assert verify(loaded).ok


# -- The kind of phases: images, and a claim that is compared with what the replay finds


def test_an_image_is_as_right_and_costs_as_much() -> None:
    plan = phases_plan("all-to-all")
    image = relabel_plan(plan, np.array([3, 1, 4, 0, 5, 2]))
    assert image.topology != plan.topology
    assert verify(image).ok
    assert verify(image).figures == plan.claim


def test_a_wrong_claim_is_a_problem() -> None:
    plan = phases_plan("allgather")
    wrong = replace(plan, claim={**plan.claim, "changes": Fraction(0)})
    assert "the claimed changes is 0" in verify(wrong).problems[0]
