"""Collectives are closed: whoever cannot do one refuses it by name, and a value that holds anyway is not an option."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from topodesign.base.errors import ParameterError
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
    done = subprocess.run([sys.executable, "-c", _ADDED], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_default_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option with a natural default does not keep methods from making a plan that know nothing of it."""
    assert "seed" in OPTIONS
    monkeypatch.setitem(OPTIONS, "seed", replace(OPTIONS["seed"], default=1))
    assert schedule("torus(2,3)", "allgather").generator["method"] == "spff"
    assert schedule("torus(2,3)", "allgather", seed=1).generator["method"] == "spff"
    with pytest.raises(ParameterError, match="--seed is not for"):
        schedule("torus(2,3)", "allgather", seed=2)
