"""Collectives are closed: whoever cannot do one refuses it by name, and a value that holds anyway is not an option."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from topodesign import evaluate, load_plan, price, price_deferred, save_plan, simulate, verify
from topodesign.base.errors import ParameterError
from topodesign.pricing import deferral
from topodesign.schedulers.options import OPTIONS
from topodesign.schedulers.scheduling import schedule

_ADDED = """
import types
import topodesign.collectives as collectives
from topodesign.collectives import Collective, Movement

ADDED = Collective("reduce-broadcast", (Movement("all", "root"), Movement("root", "all")))
collectives.COLLECTIVES = types.MappingProxyType({**collectives.COLLECTIVES, ADDED.name: ADDED})

import topodesign as td
from topodesign.base.errors import TopodesignError
from topodesign.compiler.backends import BACKENDS
from topodesign.schedulers import SCHEDULERS

def answers(what):
    try:
        return what()
    except TopodesignError as error:
        assert "reduce-broadcast" in str(error), error
        return None

made = []
for place, root in (("torus(2,3)", 0), ("dgx_a100(1)", "box0/gpu0")):
    for method in ("auto", *SCHEDULERS):
        plan = answers(lambda: td.schedule(place, ADDED, method=method, root=root))
        if plan is not None:
            assert plan.collective.like(ADDED) and plan.collective.name == ADDED.name, (method, plan)
            assert td.verify(plan).ok
            made.append(plan)
    fabric = td.as_fabric(place)
    root = fabric.names[0]
    for method in ("auto", "forest", "fluid"):
        assert answers(lambda: td.optimum(place, ADDED, method=method, root=root)) is None
    assert answers(lambda: td.optimum(fabric, ADDED, root=root)) is None
    assert answers(lambda: td.price_groups(place, ADDED, root=root)) is None
    assert answers(lambda: td.single_failures(place, ADDED)) is None
    assert answers(lambda: td.upgrade(place, collective=ADDED, target="1GB/s", root=root)) is None
assert answers(lambda: td.pareto(8, 2, collective=ADDED)) is None
assert made  # one method does whatever is a sum and then copies of it
for target in BACKENDS:
    answers(lambda: td.compile_plan(made[0], target))
"""


@pytest.mark.dear
def test_a_collective_that_is_added_is_done_or_refused_by_name() -> None:
    """As CONTRIBUTING says one is added: a value in the list, before anything else is imported."""
    done = subprocess.run([sys.executable, "-c", _ADDED], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_default_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option with a natural default does not keep methods from making a plan that know nothing of it."""
    assert "seed" in OPTIONS
    monkeypatch.setitem(OPTIONS, "seed", replace(OPTIONS["seed"], default=1))
    assert schedule("torus(2,3)", "allgather").generator["method"] == "spff"
    assert schedule("torus(2,3)", "allgather", seed=1).generator["method"] == "spff"
    with pytest.raises(ParameterError, match="--seed is not for"):
        schedule("torus(2,3)", "allgather", seed=2)


# -- Plans of deferred schedules go through whatever takes plans, and take the time that prices say


SPEC = "randomregular(24,3,1)"


@pytest.mark.dear("allreduce")
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
def test_plans_are_kept_verified_and_timed_as_priced(collective: str, tmp_path: Path) -> None:
    plan = schedule(SPEC, collective, method="deferred")
    kept = load_plan(save_plan(tmp_path / "plan.npz", plan))
    assert (kept.movement, kept.claim) == (plan.movement, plan.claim)
    assert verify(kept).ok
    found = evaluate(SPEC, alpha="7us", sizes="3MB", bandwidth="40Gbps", deferred=True)
    there, back = found.deferred_reduce_scatter, found.deferred_allgather
    assert there is not None
    assert back is not None
    costs = {"allgather": [back], "reduce-scatter": [there], "allreduce": [there, back]}[collective]
    assert plan.claim["bandwidth"] == sum(cost.bandwidth for cost in costs)
    assert max(there.bandwidth, back.bandwidth) == price_deferred(SPEC).bandwidth
    time = simulate(kept, size="3MB", alpha="7us", bandwidth="40Gbps").time
    assert time == sum(cost.runtime(Fraction(7, 10**6), Fraction(3 * 10**6), Fraction(40 * 10**9)) for cost in costs)
    assert simulate(kept, size="3MB", alpha="7us", bandwidth="40Gbps", mode="asynchronous").time <= time


@pytest.mark.parametrize("collective", ["allgather", "allreduce"])
def test_what_spff_does_for_less_is_done_by_it_and_said(collective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferral, "_PARTS_WORK", 0)  # with shards in parts there is no need
    found, spff = (schedule("mesh(4,4)", collective, method=method) for method in ("deferred", "spff"))
    assert found.claim == spff.claim
    assert found.generator["method"] == "spff"
    assert any("than the deferred schedule that was found (BW factor 2)" in n for n in found.notes)
    assert price_deferred("mesh(4,4)") == price("mesh(4,4)")
    assert evaluate("mesh(4,4)", deferred=True).methods == ("spff",)
    assert verify(found).ok
