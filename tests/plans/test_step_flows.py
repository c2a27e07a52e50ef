"""Plans that symmetry folds are those that are written out: they cost and take the same, and are as right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.samples.folds import refolded
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.cli.main import run
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.flow_ops import concatenate, reverse
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import unfold
from topodesign.plans.time.models import compute_claim
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.report.scheduled import make_report
from topodesign.schedulers import method
from topodesign.schedulers.scheduling import schedule
from topodesign.schedulers.spff import spff_orbit
from topodesign.topology.library import build

ASKED = [
    ("torus(3,4)", "allreduce"),
    ("torus(3,4)", "all-to-all"),
    ("torus(2,3,2)", "all-to-all"),
    ("hypercube(4)", "all-to-all"),
    ("hamming(2,3)", "all-to-all"),
    ("product(torus(3,3),complete(2))", "all-to-all"),
    ("product(complete(3),cayley(dihedral(4),1,4))", "all-to-all"),
    ("line(circulant(8,1,3))", "allgather"),
    ("line(circulant(8,1,3))", "reduce-scatter"),
]


@pytest.mark.parametrize(("spec", "collective"), ASKED)
def test_folded_plans_are_like_the_whole(
    spec: str, collective: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    how = "dimensions" if collective == "all-to-all" else "spff"
    whole = schedule(spec, collective, method=how)
    monkeypatch.setattr(method, "MAX_WHOLE", 0)
    folded = schedule(spec, collective, method=how)
    assert folded.flow.fold is not None
    assert folded.claim == whole.claim == compute_claim(folded)
    assert folded.notes == whole.notes
    assert folded.generator == whole.generator
    save_plan(tmp_path / "plan.npz", folded)
    again = load_plan(tmp_path / "plan.npz")
    report = verify(again)
    assert report.ok, str(report)
    one = replace(folded, movement=unfold(folded.flow))
    assert verify(one).ok
    assert make_report(folded).record() == make_report(one).record()
    conditions: Any
    for conditions in ({}, {"mode": "asynchronous"}, {"size": "1GiB", "alpha": "1us"}):
        first, second = simulate(again, **conditions), simulate(one, **conditions)
        assert str(first) == str(second)
        assert first.record() == second.record()
        assert np.array_equal(first.run.utilisation, second.run.utilisation)


def test_only_with_all_links_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "MAX_WHOLE", 0)
    folded = schedule("torus(3,4)")
    one = replace(folded, movement=unfold(folded.flow))
    assert str(simulate(folded, failed=[(0, 1)])) == str(simulate(one, failed=[(0, 1)]))
    assert schedule("mesh(3,4)").kind == "rounds"


@pytest.mark.parametrize("chunks", [1, 3])
def test_chunks_lose_no_more_than_they_claim(chunks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = schedule("torus(3,4)", "all-to-all", method="dimensions", chunks=chunks)
    monkeypatch.setattr(method, "MAX_WHOLE", 0)
    folded = schedule("torus(3,4)", "all-to-all", method="dimensions", chunks=chunks)
    assert verify(folded).ok
    assert folded.claim["bandwidth"] <= whole.claim["bandwidth"]
    assert folded.flow.units <= chunks


def test_of_other_symmetries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "MAX_WHOLE", 0)
    topology = build("torus(3,4)")
    first, second = (spff_orbit(topology, name) for name in ("reduce-scatter", "allgather"))
    assert second.fold is not None
    other = refolded(second, second.fold.generators[::-1].copy())
    plans = [Plan(topology, one, {}) for one in (first, second, other)]
    both = concatenate(plans[0].flow, plans[1].flow)
    whole = Plan(topology, both).rounds
    assert cost_claim(cost_of(topology, whole)) == compute_claim(Plan(topology, both, {}))
    with pytest.raises(InfeasibleError, match="different symmetries"):
        concatenate(plans[0].flow, plans[2].flow)


def test_paths_are_not_reversed() -> None:
    paths = schedule("torus(3,3)", "all-to-all", method="fluid").flow
    with pytest.raises(ScheduleError, match="paths are not reversed"):
        reverse(paths)


def test_what_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(method, "MAX_WHOLE", 0)
    assert run(["schedule", "torus(3,4)", "-o", str(tmp_path / "plan.npz")]) == 0
    said = capsys.readouterr().out
    assert ", those of the blocks of 1 node, " in said
    assert run(["schedule", "torus(3,4)", "--group", "0,1,2", "-o", str(tmp_path / "some.npz")]) == 0
