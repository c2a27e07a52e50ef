"""The contract of back ends, held for every one listed: all collectives, families, kinds of plans and placements.

Whatever a back end does not refuse in plain words, it writes, reads again by code that knows no compiler, and executes
rightly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import pytest

from tests.conftest import is_thorough
from tests.floors import reached
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError, TopodesignError, TopologyError
from topodesign.base.options import collect_options
from topodesign.collectives import ALL_TO_ALL, COLLECTIVES
from topodesign.compiler.backends import BACKENDS
from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.compiler.options import EVERYONES, CompileOptions
from topodesign.fabrics.presets import FABRICS
from topodesign.plans.plan import Plan
from topodesign.schedulers.scheduling import schedule
from topodesign.schedulers.spff import spff_orbit
from topodesign.topology.library import build

FAMILIES = {
    "circulant(5,1,2)": ("spff", "pipeline", "peel", "forest", "fluid", "tacos"),
    "complete(4)": ("spff", "peel", "direct", "halving-doubling", "bruck", "forest", "tacos"),
    "kautz(2,1)": ("spff", "deferred", "ring", "peel", "forest", "binomial"),
    "torus(2,3)": ("spff", "peel", "forest", "chain", "double-binary-tree", "multitree"),
    "uniring(2,3)": ("spff", "peel", "forest", "fluid"),
    "hypercube(3)": ("spff", "halving-doubling", "peel"),
}
"""Topologies, with methods that make rounds, trees, paths and timed sends on them."""

MORE = ("genkautz(3,10)", "debruijn(2,3)", "hamming(2,3)", "line(complete(3))", "product(uniring(1,3),uniring(1,4))")
"""Further topologies for a thorough run."""

Refused = (InfeasibleError, ParameterError, TooLargeError)


@cache
def plans(spec: str, methods: tuple[str, ...]) -> list[Plan]:
    """The plans of a topology by all these methods, of every collective that they do, and as orbits."""
    place = build(spec)
    made = []
    with suppress(TopologyError):  # orbits are of vertex-transitive topologies
        made = [Plan(place, spff_orbit(place, name)) for name in ("allgather", "allreduce")]
    for collective in COLLECTIVES.values():
        for method in methods:
            try:
                made.append(schedule(spec, collective, method=method, root=2 if collective.rooted else None))
            except TopodesignError:
                continue  # what a method can do is held elsewhere
    return made


def compiled(plan: Plan, target: str, **options: Any) -> Compiled | None:
    """The program, None where the target refuses it in words that say more than that."""
    try:
        return compile_plan(plan, target, **options)
    except Refused as error:
        said = str(error)
    assert len(said.split()) > 5
    reached("refused")
    return None


def hold(made: Compiled) -> None:
    """The contract of a program."""
    backend, options, files = made.backend, made.options, made.files
    assert files
    assert all(rest.endswith(backend.ending) or len(files) > 1 for rest in files)
    assert not list(backend.lint(made.program, options))
    assert backend.emit(made.program, options) == files
    assert backend.parse(files, options) is not None
    report = made.checked().report
    assert report is not None
    assert report.ok
    assert json.loads(json.dumps(report.record()))["ok"] is True
    reached("executed")


@pytest.mark.dear
@pytest.mark.once
@pytest.mark.parametrize("target", BACKENDS)
@pytest.mark.parametrize("spec", FAMILIES)
@pytest.mark.floor(executed=4, refused=0)
def test_what_is_not_refused_runs(spec: str, target: str, pytestconfig: pytest.Config) -> None:
    """In place and not; a quick run takes turns."""
    for place, plan in enumerate(plans(spec, FAMILIES[spec])):
        for inplace in (False, True) if is_thorough(pytestconfig) else (bool(place % 2),):
            made = compiled(plan, target, inplace=inplace)
            if made is not None:
                hold(made)


@pytest.mark.thorough
@pytest.mark.parametrize("target", BACKENDS)
@pytest.mark.floor(executed=400, refused=0)
def test_many_plans_on_every_runtime(target: str) -> None:
    methods = (
        "spff",
        "deferred",
        "peel",
        "forest",
        "direct",
        "bruck",
        "tacos",
        "fluid",
        "binomial",
        "chain",
        "pipeline",
    )
    for spec in (*FAMILIES, *MORE):
        for plan in plans(spec, methods):
            for runtime in BACKENDS[target].runtimes:
                for inplace in (False, True):
                    made = compiled(plan, target, inplace=inplace, runtime=runtime)
                    if made is not None:
                        hold(made)


@pytest.mark.parametrize("target", BACKENDS)
@pytest.mark.floor(executed=1, refused=0)
def test_trees_of_a_fabric_run(target: str) -> None:
    """Switches are in between, and links are of different kinds."""
    assert "dgx_a100" in FABRICS
    for collective in ("allgather", "reduce-scatter", "allreduce"):
        made = compiled(schedule("dgx_a100(1)", collective, fixed_k=1), target, inplace=True)
        if made is not None:
            hold(made)


@pytest.mark.parametrize("target", BACKENDS)
@pytest.mark.floor(executed=1, refused=0)
def test_every_runtime_and_protocol_runs_or_is_refused(target: str) -> None:
    plan = schedule("circulant(5,1,2)", "allgather")
    for runtime in BACKENDS[target].runtimes:
        for protocol in ("Simple", "LL", "LL128"):
            for channels in (1, 2):
                made = compiled(plan, target, runtime=runtime, protocol=protocol, channels=channels)
                assert (made is None) <= (protocol not in BACKENDS[target].protocols or channels > 1)
                if made is not None:
                    hold(made)
    with pytest.raises(ParameterError, match="unknown runtime 'abacus'"):
        compile_plan(plan, target, runtime="abacus")


def foreign(target: str) -> Iterator[dict[str, Any]]:
    """Options that a back end does not take, each with a value that is not the default."""
    backend = BACKENDS[target]
    known = collect_options(CompileOptions)
    assert backend.takes <= set(known)
    for name, option in known.items():
        if name not in EVERYONES | backend.takes:
            plain = "1us" if name == "alpha" else 1
            yield {name: plain if option.default is None else "1MiB" if option.default in {0, ()} else "other"}


@pytest.mark.parametrize("target", BACKENDS)
def test_options_of_others_are_refused(target: str) -> None:
    plan = schedule("circulant(5,1,2)", "allgather")
    for wrong in foreign(target):
        with pytest.raises(ParameterError):
            compile_plan(plan, target, **wrong)


@pytest.mark.parametrize("target", BACKENDS)
def test_one_program_has_one_text(target: str) -> None:
    """The same bytes every time, and a file that is cut off is no program."""
    plan = schedule("torus(2,3)", "allgather")
    made, again = compile_plan(plan, target), compile_plan(plan, target)
    assert made.files == again.files
    for rest, content in made.files.items():
        if rest.endswith(made.backend.ending):
            broken = {**made.files, rest: content[: len(content) // 2]}
            with pytest.raises(TopodesignError):
                made.backend.parse(broken, made.options)


@pytest.mark.parametrize("target", BACKENDS)
def test_groups_are_programs_of_their_own(target: str) -> None:
    plan = schedule("torus(2,3)", ALL_TO_ALL, group="2x3:0")
    with pytest.raises(InfeasibleError, match="compile_groups"):
        compile_plan(plan, target)
