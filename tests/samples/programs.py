"""Programs of rounds or trees on links, for tests that have no plan around them."""

from __future__ import annotations

from typing import Any

from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.plans.movement import Movement
from topodesign.plans.plan import Plan
from topodesign.topology.topology import Topology


def compile_movement(topology: Topology, movement: Movement, target: str = "msccl", **options: Any) -> Compiled:
    return compile_plan(Plan(topology, movement), target, **options)
