"""Sends in steps as columns: block, units, link and step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ScheduleError
from topodesign.collectives import Collective
from topodesign.plans.archive import MAX_INTEGER
from topodesign.plans.movement import MAX_STEPS, Column, Movement, check_intervals, integer


@dataclass(frozen=True, eq=False)
class Rounds(Movement):
    """Columns of sends: block, units, link and step.

    Row i says: at ``step[i]``, node ``src[i]`` sends the units ``lo[i] <= unit < hi[i]`` of ``block[i]`` over the link
    to ``dst[i]``.

    Where a block is added up, as in a reduce-scatter, what is sent is the sender's partial sum, and the receiver adds
    it to its own. Elsewhere the receiver stores it. An allreduce is a reduce-scatter in the steps 1 to
    ``reduce_steps`` and an allgather in the steps after. Blocks are numbered as
    :meth:`~topodesign.collectives.collective.Collective.blocks` says: most are called by a node, their source or their
    destination.
    """

    kind: ClassVar = "rounds"
    FIELDS: ClassVar = {
        "units": integer(1, MAX_INTEGER),
        "steps": integer(0, MAX_STEPS),
        "reduce_steps": integer(0, MAX_STEPS),
    }
    TABLES: ClassVar = {
        "rows": (
            Column("step", "communication step, from 1", np.int32),
            Column("src", "node that sends", np.int32),
            Column("dst", "node that receives", np.int32),
            Column("block", "block of the data", np.int32),
            Column("lo", "first unit of it"),
            Column("hi", "the unit after the last"),
        )
    }

    collective: Collective  # what it is for, with root and group if it has them
    nodes: int  # number of nodes N, switches included
    units: int  # equal parts of a block, which ``lo`` and ``hi`` count
    steps: int  # communication steps, counted from 1
    # steps in which receivers add: none for an allgather, all for a reduce-scatter, the first of an allreduce
    reduce_steps: int
    step: NDArray[np.int32]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    block: NDArray[np.int32]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.units < 1 or self.steps < 0:
            raise ScheduleError("a schedule requires at least one node, one unit and a number of steps")
        self.take_over()
        check_reduce_steps(self.collective, self.steps, self.reduce_steps)
        node, blocks = (0, self.nodes - 1), self.collective.block_count(self.nodes)
        self.check_ranges(step=(1, self.steps), src=node, dst=node, block=(0, blocks - 1))
        check_intervals(self.lo, self.hi, self.units)

    def __repr__(self) -> str:
        return (
            f"<Rounds {self.collective}, {self.nodes} nodes, {self.steps} steps, "
            f"{len(self)} sends, {self.units} units per shard>"
        )

    def rows(self, chosen: NDArray[Any]) -> Self:
        """Return a copy with some sends, by mask or numbers."""
        return self.having(**{name: column[chosen] for name, column in self.table().items()})


COLUMNS = Rounds.column_names()


def check_reduce_steps(collective: Collective, steps: int, reduce_steps: int) -> None:
    """Raise ScheduleError if reducing steps do not suit the collective."""
    if not 0 <= reduce_steps <= steps or not reduce_steps_fit(collective, steps, reduce_steps):
        raise ScheduleError(f"reduce_steps {reduce_steps} does not fit {collective}, {steps} steps")


def reduce_steps_fit(collective: Collective, steps: int, reduce_steps: int) -> bool:
    """Return whether a collective can add in its first steps."""
    if len(collective.movements) > 1:
        return True
    return reduce_steps == (steps if collective.reduces else 0)
