"""Programs of rounds or trees on links, for tests that have no plan around them."""

from __future__ import annotations

from typing import Any

from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.compiler.frontends.rounds import lower_rounds
from topodesign.compiler.frontends.trees import lower_trees
from topodesign.compiler.ir import Kind, Program
from topodesign.plans.movement import Movement
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.trees import Trees, flow_of_trees
from topodesign.topology.topology import Topology


def compile_movement(topology: Topology, movement: Movement, target: str = "msccl", **options: Any) -> Compiled:
    return compile_plan(Plan(topology, movement), target, **options)


def program_of_rounds(topology: Topology, rounds: Rounds, **options: Any) -> Program:
    return lower_rounds(topology, rounds, **options).program(None)


def program_of_trees(trees: Trees, **options: Any) -> Program:
    return lower_trees(flow_of_trees(trees.topology, trees), **options).program(None)


def count_instructions(program: Program, *kinds: Kind) -> int:
    blocks = (block for rank in program.ranks for block in rank.threadblocks)
    return sum(one.kind in kinds for block in blocks for one in block.instructions)
