"""Folded trees: they unfold to what is made whole, take as long, and whoever needs them one by one has them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from tests.samples.tree_tables import Trees
from topodesign import as_fabric, compile_plan, load_plan, repair, save_plan, simulate, verify
from topodesign.base.errors import InfeasibleError, ScheduleError, TooLargeError
from topodesign.base.latency import USUAL
from topodesign.base.memory import VARIABLE
from topodesign.base.units import parse_size
from topodesign.collectives import ALLGATHER, BROADCAST
from topodesign.optima.forest import schedule as made
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import relabel_plan
from topodesign.plans.time.chunks import OwnLinks, PipelineSimulation, simulate_chunks
from topodesign.plans.time.models import compute_claim
from topodesign.schedulers.scheduling import schedule

SPECS = ("dgx_a100(2)", "dgx_a100(4)", "mi250(4)", "mi250(8)", "dgx_h100(3)")
LARGE_LATER = [pytest.param(spec, marks=[pytest.mark.thorough] if spec == "mi250(8)" else []) for spec in SPECS]
COLLECTIVES = ("allgather", "reduce-scatter", "allreduce")


@cache
def folded(spec: str, collective: str = "allreduce") -> Plan:
    """The plan of ForestColl, folded however few its trees are."""
    with mock.patch.object(made, "MAX_EDGES", 0):
        return schedule(spec, collective, method="forest")


def orbit_of(plan: Plan) -> Trees:
    assert plan.flow.fold is not None
    return Trees.of(plan.flow)


def routes(trees: Trees, image: list[int] | None = None) -> Counter[object]:
    """Every tree as its phase, root, weight and routes, by the names that an image gives."""
    ways: list[list[object]] = [[] for _ in range(len(trees))]
    named = list(range(trees.topology.nodes)) if image is None else image
    for at, (start, end) in enumerate(pairwise(trees.hop_start.tolist())):
        way = tuple(named[node] for node in trees.hop[start:end].tolist())
        ways[int(trees.tree[trees.route_edge[at]])].append((int(trees.route_weight[at]), way))
    return Counter(
        (tree < trees.reduce_trees, named[int(trees.root[tree])], int(trees.weight[tree]), tuple(ways[tree]))
        for tree in range(len(trees))
    )


def group(generators: list[list[int]]) -> set[tuple[int, ...]]:
    """All products of generators, one by one."""
    found = {tuple(range(len(generators[0])))}
    waiting = list(found)
    for one in waiting:
        for generator in generators:
            other = tuple(generator[node] for node in one)
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


@pytest.mark.dear
@pytest.mark.once
@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("spec", LARGE_LATER)
def test_they_are_the_trees_made_whole(spec: str, collective: str) -> None:
    plan, whole = folded(spec, collective), schedule(spec, collective, method="forest")
    orbit = orbit_of(plan)
    assert orbit.unfold() == Trees.of(whole) == Trees.of(plan)
    assert plan.claim == whole.claim
    assert compute_claim(plan) == dict(whole.claim)
    assert len(orbit) < orbit.sends == len(Trees.of(whole))
    elements = group(plan.flow.fold.generators.tolist())  # type: ignore[union-attr]
    images = sum((routes(orbit, list(one)) for one in elements), Counter[object]())
    assert images == routes(orbit.unfold())


@pytest.mark.parametrize("spec", LARGE_LATER)
def test_they_take_as_long(spec: str) -> None:
    plan = folded(spec)
    whole = replace(plan, movement=orbit_of(plan).unfold().on(plan.place))
    for size, alpha, chunks in (("1MiB", None, None), ("1MiB", "1us", None), ("1MiB", None, 3), ("1GiB", None, None)):
        one, other = (simulate(each, size=size, alpha=alpha, chunks=chunks).run for each in (plan, whole))
        assert isinstance(one, PipelineSimulation)
        assert isinstance(other, PipelineSimulation)
        assert one.time == other.time
        assert np.allclose(one.utilisation, other.utilisation)
        assert one.phases == other.phases
        assert [len(way) for way in one.critical] == [len(way) for way in other.critical]
    link = (int(plan.topology.src[0]), int(plan.topology.dst[0]))
    lost = [simulate(each, size="1MiB", failed=[link]) for each in (plan, whole)]
    assert lost[0].time == lost[1].time
    assert str(lost[0]).splitlines()[1:] == str(lost[1]).splitlines()[1:]


def test_latencies_of_links_are_asked_for_by_orbits() -> None:
    """Where one link of an orbit is slower than the others, trees are timed one by one."""
    plan = folded("dgx_a100(4)")
    orbit, own = orbit_of(plan), [Fraction(1, 10**6)] * len(plan.topology.src)
    own[0] = Fraction(1, 10**3)
    both = [
        simulate_chunks(flow, latency=USUAL, size=Fraction(1000), unit=Fraction(10**9), own=OwnLinks.late(own))
        for flow in (plan.flow, orbit.unfold().on(plan.place))
    ]
    assert both[0].time == both[1].time


def test_files_reports_programs_and_repairs(tmp_path: Path) -> None:
    plan = folded("dgx_a100(2)", "allgather")
    whole = replace(plan, movement=orbit_of(plan).unfold().on(plan.place))
    path = save_plan(tmp_path / "folded.npz", plan)
    again = load_plan(path)
    assert again.movement == plan.movement
    assert str(verify(again)) == str(verify(whole))
    assert verify(again).ok
    assert path.stat().st_size < save_plan(tmp_path / "whole.npz", whole).stat().st_size
    assert compile_plan(again).files == compile_plan(whole).files
    assert repair(again, "box0/gpu1").plan.claim == repair(whole, "box0/gpu1").plan.claim
    assert Trees.of(again) == Trees.of(whole)
    assert relabel_plan(plan, np.arange(again.topology.nodes)) == whole


def test_the_form_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = folded("dgx_a100(2)", "allgather")
    orbit, fold = orbit_of(plan), plan.flow.fold
    assert fold is not None
    assert not plan.flow.fits(as_fabric("dgx_a100(4)").topology)
    wrongs: tuple[dict[str, Any], ...] = (
        {"collective": BROADCAST.at(int(orbit.root[0]))},
        {"collective": ALLGATHER.within([list(range(16))])},
        *({"fold": replace(fold, representatives=chosen)} for chosen in ((0, 1), (1,))),
    )
    for wrong in wrongs:
        with pytest.raises(ScheduleError):
            Plan(plan.place, replace(orbit, **wrong).flow)
    with pytest.raises(InfeasibleError, match="no rounds"):
        _ = plan.rounds
    monkeypatch.setenv(VARIABLE, "30kB")
    with pytest.raises(TooLargeError, match=f"one by one, which have 1440 rows.*set {VARIABLE}"):
        orbit.unfold()


@pytest.mark.thorough
def test_thousands_of_accelerators_have_few_trees() -> None:
    """Of 4096, 8192 trees of 4095 edges, of which no file holds the routes one by one."""
    plan = schedule("dgx_a100(512)")
    orbit = orbit_of(plan)
    assert (orbit.sends, len(orbit)) == (8192, 2)
    assert verify(plan).ok
    assert simulate(plan, size="1MiB").time * plan.claim["algorithmic_bandwidth"] > parse_size("1MiB")
    with pytest.raises(TooLargeError, match="one by one, which have 100638720 rows, and a plan has at most"):
        repair(plan, "box0/gpu1")
