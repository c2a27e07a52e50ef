"""A toy kind of movement, in one file: rounds whose step and sender are kept as differences to the row before.

It shows what a kind needs to be saved, verified, timed, compiled and run; its replay is that of the rounds it decodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topodesign.collectives import Collective
from topodesign.plans.kinds.kind import Kind
from topodesign.plans.movement import MAX_STEPS, Column, Movement, integer
from topodesign.plans.rounds import Rounds
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True, eq=False)
class Relays(Movement):
    kind: ClassVar = "relays"
    FIELDS: ClassVar = {name: integer(0, MAX_STEPS) for name in ("units", "steps", "reduce_steps")}
    TABLES: ClassVar = {
        "rows": (
            Column("later", "steps after the row before"),
            Column("ends", "sender and receiver: src * nodes + dst"),
            Column("block", "block of the data"),
            Column("lo", "first unit of it"),
            Column("hi", "the unit after the last"),
        )
    }

    collective: Collective
    nodes: int
    units: int
    steps: int
    reduce_steps: int
    later: IntArray
    ends: IntArray
    block: IntArray
    lo: IntArray
    hi: IntArray

    def __post_init__(self) -> None:
        self.take_over()
        self.check_ranges(later=(0, self.steps), ends=(0, self.nodes**2 - 1))

    def fits(self, topology: Topology) -> bool:
        return self.nodes == topology.nodes

    @classmethod
    def of(cls, rounds: Rounds) -> Relays:
        later, ends = np.diff(rounds.step, prepend=0), rounds.src.astype(np.int64) * rounds.nodes + rounds.dst
        head = rounds.collective, rounds.nodes, rounds.units, rounds.steps, rounds.reduce_steps
        return cls(*head, later.astype(np.int64), ends, rounds.block.astype(np.int64), rounds.lo, rounds.hi)

    def rounds(self) -> Rounds:
        src, dst = np.divmod(self.ends, self.nodes)
        step, src, dst, block = (one.astype(np.int32) for one in (np.cumsum(self.later), src, dst, self.block))
        head = self.collective, self.nodes, self.units, self.steps, self.reduce_steps
        return Rounds(*head, step, src, dst, block, self.lo, self.hi)


class OfRelays(Kind[Relays]):
    movement, words, pace = Relays, "relays", "steps"

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        return self.plan.topology, self.moved.rounds()
