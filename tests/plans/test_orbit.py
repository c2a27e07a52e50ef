"""Orbits: folded and unfolded they are the same schedule, and what is not symmetric cannot be folded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from topodesign.base.errors import ScheduleError, TopologyError
from topodesign.collectives import BROADCAST
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.orbit import OrbitRounds, orbit_of, reverse_orbit
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import canonical, reverse
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
    whole = orbit.unfold()
    assert len(whole) * len(orbit.representatives) == len(orbit) * topology.nodes
    again = orbit_of(whole, topology.symmetry)
    assert again is not None
    assert again.unfold() == whole
    if collective != "allreduce":
        assert cost_of(topology, whole) == cost_of(topology, spff(topology, collective))
        assert reverse_orbit(orbit).unfold() == canonical(reverse(whole))


def test_what_is_not_symmetric_is_not_folded() -> None:
    topology = build("circulant(12,2,3)")
    symmetry = topology.symmetry
    assert symmetry is not None
    whole = spff_orbit(topology, "allgather").unfold()
    assert orbit_of(whole.rows(np.arange(1, len(whole))), symmetry) is None
    other = whole.step.copy()
    other[0] += 1
    assert orbit_of(whole.having(step=other), symmetry) is None
    assert orbit_of(whole, Symmetry(12, (0,), list)) is None
    empty = np.zeros(0, dtype=np.int32)
    wide = empty.astype(np.int64)
    none = Rounds(BROADCAST.at(0), 12, 1, 0, 0, empty, empty, empty, empty, wide, wide)
    assert orbit_of(none, symmetry) is None


def test_the_form_is_checked() -> None:
    orbit = spff_orbit(build("circulant(12,2,3)"), "allgather")
    assert not orbit.generators.flags.writeable
    assert orbit.fits(build("complete(12)"))
    assert "1 nodes' blocks" in repr(orbit)
    assert hash(orbit) == hash(replace(orbit))
    assert orbit == replace(orbit)
    for wrong in (
        {"generators": orbit.generators.astype(np.int64)},
        {"generators": orbit.generators[:, 1:]},
        {"representatives": (0, 1)},
        {"representatives": (1,)},
        {"own": replace(orbit.own, collective=BROADCAST.at(0))},
    ):
        with pytest.raises(ScheduleError):
            replace(orbit, **wrong)
    with pytest.raises(TopologyError, match="no permutation"):
        replace(orbit, generators=0 * orbit.generators)


@pytest.mark.parametrize("spec", SPECS)
def test_plans_of_orbits_are_files_like_any_other(spec: str, tmp_path: Path) -> None:
    topology = build(spec)
    orbit = spff_orbit(topology, "allreduce")
    plan = Plan(topology, orbit, cost_claim(cost_of(topology, orbit.unfold())))
    loaded = load_plan(save_plan(tmp_path / "orbit.npz", plan))
    assert isinstance(loaded.movement, OrbitRounds)
    assert loaded.movement == orbit
    assert verify(loaded).ok
