"""From a plan to files: front ends by movement, back ends by name, and what a result can do."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.samples.blocks import Instruction, ranks_of
from tests.samples.programs import compile_movement
from tests.samples.scheduled import scheduled
from tests.samples.schedules import COLLECTIVES as COPIED_AND_ADDED
from tests.samples.schedules import make, valid
from tests.samples.timed import timed_sample
from tests.samples.trees import fabric, tree_schedule
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError
from topodesign.collectives import ALLGATHER, COLLECTIVES
from topodesign.compiler import compilation
from topodesign.compiler.backends import BACKENDS, Backend
from topodesign.compiler.backends.backend import Files, Options
from topodesign.compiler.compilation import CompilationError, Compiled, compile_plan
from topodesign.compiler.frontends import rounds
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import Limits
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import is_lean, unfold
from topodesign.runtime.msccl.check import CheckReport
from topodesign.schedulers.spff import spff_orbit
from topodesign.topology.library import build


class Listing(Backend):
    """A back end as short as one can be: a line for every instruction, a file for every rank."""

    name = "listing"
    ending = ".txt"
    runtimes = ("paper", "blackboard")
    protocols = ("Simple", "LL")

    def limits(self, options: Options) -> Limits:
        return Limits(chunks_per_instruction=2 if options.runtime == "paper" else 1)

    def emit(self, program: Program, options: Options) -> Files:
        return {
            f".{rank}.txt": "".join(
                f"{options.name} {number} {one.kind.value} {one.count}\n"
                for number, block in enumerate(body.threadblocks)
                for one in block.instructions
            ).encode()
            for rank, body in enumerate(ranks_of(program))
        }

    def lint(self, program: Program, options: Options) -> Iterator[str]:
        if program.ranks > 6:
            yield f"{options.runtime} has room for 6 ranks, not {program.ranks}"

    def parse(self, files: Files, options: Options) -> list[str]:
        return [f"{options.name}: {line}" for line in b"".join(files.values()).decode().splitlines()]

    def check(self, files: Files, options: Options) -> CheckReport:
        title = f"{len(self.parse(files, options))} lines"
        return CheckReport("ok", program=title, runtime=str(options.runtime))


@pytest.fixture
def listing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "BACKENDS", {**BACKENDS, "listing": Listing()})


def sample(target: str = "msccl", **options: object) -> Compiled:
    topology = build("circulant(6,1,2)")
    made = scheduled(topology, "allreduce", chunks=3)
    return compile_movement(topology, made.schedule, target, **options)


def instructions(made: Compiled) -> list[Instruction]:
    return [one for rank in ranks_of(made.program) for block in rank.threadblocks for one in block.instructions]


@pytest.mark.usefixtures("listing")
def test_a_back_end_is_a_class_and_a_line(tmp_path: Path) -> None:
    """It gets the instructions that the others get, within its own limits."""
    made = sample("listing", name="x")
    assert {one.count for one in instructions(made)} == {1, 2}
    lines = b"".join(made.files.values()).decode().splitlines()
    assert len(lines) == sum(row["instructions"] for row in made.to_records())
    assert all(line.startswith("x ") for line in lines)
    assert {one.count for one in instructions(sample("listing", runtime="blackboard"))} == {1}
    written = made.save(tmp_path / "plan.txt")
    assert [path.name for path in written] == [f"plan.{rank}.txt" for rank in range(6)]
    assert written[3].read_bytes() == made.files[".3.txt"]
    assert made.checked().report == CheckReport("ok", program=f"{len(lines)} lines", runtime="paper")
    with pytest.raises(ParameterError, match="unknown runtime 'msccl' of listing; known are paper, blackboard"):
        sample("listing", runtime="msccl")
    with pytest.raises(ParameterError, match="listing has no max-size; omit it"):
        sample("listing", max_size="1MiB")
    with pytest.raises(ParameterError, match="listing has no protocol 'LL128'; known are Simple, LL"):
        sample("listing", protocol="LL128")
    trees = tree_schedule(fabric(4, 2, random.Random(1)), "broadcast", random.Random(1))  # noqa: S311
    assert len(compile_movement(trees.topology, trees.flow, "listing").files) == 4


def test_results_can_be_looked_at_and_saved(tmp_path: Path) -> None:
    made = sample(inplace=True).checked()
    assert made.report is not None
    assert f"{made.heading()}" == f"allreduce of 6 ranks in place for msccl, {len(made.text)} bytes, checked"
    assert len(made.to_dataframe()) == 6
    path = tmp_path / "any name"
    assert made.save(str(path)) == [path]
    assert path.read_text() == made.text


def test_a_program_that_fails_its_check_is_said_to() -> None:
    made = sample()
    (text,) = made.files.values()
    broken = replace(made, files={".xml": text.replace(b'type="r"', b'type="nop"', 1)})
    with pytest.raises(CompilationError, match="fails its check"):
        broken.checked()


def test_the_name_is_made_of_the_spec_where_that_is_short() -> None:
    assert 'name="topodesign-allreduce-circulant(6,1,2)"' in sample().text
    after = ",".join(f"{(node + jump) % 48}" for node in range(48) for jump in (1, 7))
    long = build(f"successors(2,{after})")
    assert len(str(long.spec)) > 255
    assert compile_movement(long, scheduled(long, "allgather").schedule).options.name == "topodesign-allgather-48"


@pytest.mark.parametrize("collective", COPIED_AND_ADDED)
@given(seed=st.integers(0, 10**6))
@example(seed=24)
@example(seed=224)
def test_what_moves_twice_is_left_out(collective: str, seed: int) -> None:
    """The front end wants everything to move once; plans that are right but not lean compile all the same."""
    topology, plan = valid(np.random.default_rng(seed), collective)
    made = compile_movement(topology, plan, channels=1 + seed % 2).checked()
    moved = sum(one.count for one in instructions(made) if one.kind.sends)
    phases = 2 if collective == "allreduce" else 1
    assert moved == phases * (topology.nodes - 1) * made.program.chunks


@pytest.mark.parametrize("collective", COPIED_AND_ADDED)
def test_timed_sends_are_compiled_by_their_order(collective: str) -> None:
    topology, _, timed, _ = timed_sample(np.random.default_rng(11), collective)
    made = compile_plan(Plan(topology, timed)).checked()
    assert made.program.collective.name == collective


def test_an_orbit_is_compiled_like_the_schedule_it_unfolds_to() -> None:
    topology = build("circulant(6,1,2)")
    orbit = spff_orbit(topology, "allreduce")
    made = [compile_plan(Plan(topology, movement)) for movement in (orbit, unfold(orbit))]
    assert made[0].checked().text == made[1].text


def test_wrong_plans_are_refused() -> None:
    topology, plan = next(
        (topology, plan)
        for seed in range(100)
        for topology, plan in [valid(np.random.default_rng(seed), "reduce-scatter")]
        if not is_lean(plan)
    )
    with pytest.raises(ScheduleError, match="no partial sum of all of them"):
        compile_movement(topology, plan.some(np.arange(len(plan) - 1)))


def test_what_cannot_be_compiled_yet_says_so() -> None:
    topology = build("circulant(6,1,2)")
    for collective in COLLECTIVES.values():
        if not collective.like(*rounds.COLLECTIVES):
            empty = make(collective.at(0 if collective.rooted else None), 6, 1, [], steps=0)
            with pytest.raises(
                InfeasibleError, match=f"^rounds of a {collective} cannot be compiled yet; of allgather"
            ):
                compile_movement(topology, empty)
    with pytest.raises(InfeasibleError, match="among some of the nodes"):
        compile_movement(topology, make(ALLGATHER.among([0, 1]), 6, 1, [], steps=0))
    with pytest.raises(ParameterError, match="unknown target 'paper'; known are msccl"):
        sample("paper")
    with pytest.raises(ParameterError, match="parts"):
        sample(parts=2)
