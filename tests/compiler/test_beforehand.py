"""Refusals come before the work, and only where the work would end in one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pytest

import topodesign
from tests.samples.blocks import ranks_of
from tests.samples.programs import program_of_rounds
from tests.samples.schedules import COLLECTIVES, rows_of, valid
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.cli.main import main
from topodesign.compiler.beforehand import require_compilable
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.frontends import all_to_all, layout, rounds
from topodesign.compiler.limits import Limits
from topodesign.plans.step_ops import prune
from topodesign.runtime.msccl.profiles import get_profile
from topodesign.schedulers.scheduling import schedule


def unwanted(*_: Any, **__: Any) -> NoReturn:
    pytest.fail("this was to be refused before")


@pytest.mark.parametrize(
    ("spec", "collective", "match"),
    [
        ("torus(9,9,9)", "all-to-all", "729 nodes with 1 chunk per block or more are too many"),
        ("torus(8,8,8)", "all-to-all", "512 nodes"),  # by its distances
        ("uniring(1,600)", "allgather", "600 nodes with 600 chunks of all data or more are too many"),
        ("uniring(1,1100)", "broadcast", "the runtime msccl allows 1024 ranks, and there are 1100"),
    ],
)
def test_what_is_too_large_is_refused_before_scheduling(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spec: str, collective: str, match: str
) -> None:
    monkeypatch.setattr(topodesign, "schedule", unwanted)
    with pytest.raises(SystemExit):
        main(["compile", spec, "--collective", collective, "-o", "refused.xml"])
    assert match in capsys.readouterr().err


def test_too_many_steps_are_refused_before_the_front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = schedule("uniring(1,12)", "allreduce")
    narrow = replace(get_profile("msccl"), steps_per_threadblock=21)
    monkeypatch.setattr(rounds, "layout", unwanted)
    with pytest.raises(InfeasibleError, match="allows 21 steps per threadblock, and rank 0 requires 22 or more"):
        compile_plan(plan, runtime=narrow)


def test_as_many_steps_as_are_allowed_compile() -> None:
    plan = schedule("uniring(1,12)", "allreduce")
    for most, fits in ((22, True), (21, False)):
        try:
            compile_plan(plan, inplace=True, runtime=replace(get_profile("msccl"), steps_per_threadblock=most))
        except InfeasibleError as error:
            assert not fits or "nops included" in str(error)  # noqa: PT017


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_a_threadblock_is_as_long_as_its_link_is_used(collective: str) -> None:
    """What is counted is a lower bound: on random schedules, against the program itself."""
    for seed in range(6):
        random = np.random.default_rng(seed)
        topology, drawn = valid(random, collective)
        lean = prune(drawn)
        rows = {(u, v, step) for step, u, v, *_ in rows_of(lean)}
        uses = Counter((u, v) for u, v, _ in rows)
        program = program_of_rounds(topology, lean)
        longest = max(len(block.instructions) for body in ranks_of(program) for block in body.threadblocks)
        assert longest >= max(uses.values(), default=0)
        if (most := max(uses.values())) > 1 and lean.steps >= most:
            with pytest.raises(InfeasibleError, match=f"requires {most} or more"):
                program_of_rounds(topology, lean, limits=Limits(instructions_per_block=most - 1))


PLACES = ("torus(3,3)", "biring(2,5)", "dgx_a100(2)", "circulant(7,1,2)")


@pytest.mark.parametrize("collective", ["allgather", "allreduce", "all-to-all"])
@pytest.mark.parametrize("spec", PLACES)
def test_what_is_refused_early_is_refused_late(monkeypatch: pytest.MonkeyPatch, spec: str, collective: str) -> None:
    """Law: with any limit, a refusal beforehand means one of the front end, whatever was scheduled."""
    trees_of_one = 1 if spec.startswith("dgx") and collective != "all-to-all" else None
    plan = schedule(spec, collective, fixed_k=trees_of_one)
    for most in (5, 20, 60, 100, 200, 400, 800, 1600):
        for module, name in ((all_to_all, "MAX_HOPS"), (layout, "_MOVES")):
            monkeypatch.setattr(module, name, most)
        try:
            require_compilable(spec, collective)
        except TooLargeError:
            with pytest.raises(TooLargeError):
                compile_plan(plan)


def test_traces_have_no_such_limits() -> None:
    require_compilable("torus(9,9,9)", "all-to-all", "chakra")
    with pytest.raises(TooLargeError):
        require_compilable("torus(9,9,9)", "all-to-all", "mscclpp")
