"""Programs of rounds or trees on links, for tests that have no plan around them."""

from __future__ import annotations

from typing import Any

from tests.samples.tree_tables import Trees
from topodesign.compiler.backends.backend import Options
from topodesign.compiler.columns import KINDS
from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.compiler.frontends.rounds import lower_rounds
from topodesign.compiler.frontends.trees import lower_trees
from topodesign.compiler.instructions import Kind
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import NO_LIMITS, Limits
from topodesign.plans.flow import Flow, Flows
from topodesign.plans.plan import Plan
from topodesign.plans.verify.plans import verify_or_raise
from topodesign.topology.topology import Topology


def compile_movement(topology: Topology, movement: Flow | Flows, target: str = "msccl", **options: Any) -> Compiled:
    return compile_plan(Plan(topology, movement), target, **options)


def options_of(**options: Any) -> Options:
    asked: dict[str, Any] = {"inplace": False, "threadblocks": "separate"} | options
    return Options("some", "test", **asked)


def program_of_rounds(topology: Topology, rounds: Flow, *, limits: Limits = NO_LIMITS, **options: Any) -> Program:
    verify_or_raise(Plan(topology, rounds), "the schedule")
    return lower_rounds(topology, rounds, options_of(**options), limits).program(None)


def program_of_trees(trees: Trees, *, limits: Limits = NO_LIMITS, **options: Any) -> Program:
    return lower_trees(trees.on(trees.topology), options_of(**options), limits).program(None)


def count_instructions(program: Program, *kinds: Kind) -> int:
    return sum(KINDS[kind] in kinds for kind in program.columns.kind.tolist())
