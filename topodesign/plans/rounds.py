"""Rounds: who sends which part of which block over which link at which step, in columns."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import owned, sealed
from topodesign.base.errors import ScheduleError
from topodesign.collectives import Collective
from topodesign.topology.topology import Topology

COLUMNS = ("step", "src", "dst", "block", "lo", "hi")
_WIDE = frozenset({"lo", "hi"})


@dataclass(frozen=True, eq=False)
class Rounds:
    """Columns of sends: who sends what, over which link, at which step.

    Row i says: at ``step[i]``, node ``src[i]`` sends the units ``lo[i] <= unit < hi[i]`` of ``block[i]`` over the link
    to ``dst[i]``.

    Where a block is added up, as in a reduce-scatter, what is sent is the sender's partial sum, and the receiver adds
    it to its own. Elsewhere the receiver stores it. An allreduce is a reduce-scatter in the steps 1 to
    ``reduce_steps`` and an allgather in the steps after. Blocks are numbered as
    :meth:`~topodesign.collectives.collective.Collective.blocks` says: most are called by a node, their source or their
    destination.

    Attributes
    ----------
    collective
        What it is for, with root and group if it has them.
    nodes
        Number of nodes N, switches included.
    units
        Number of equal parts of a block; ``lo`` and ``hi`` count them.
    steps
        Number of communication steps; rows have steps 1 to ``steps``.
    reduce_steps
        Steps in which receivers add: none for an allgather, all for a reduce-scatter, the first ones of an allreduce.
    step, src, dst, block
        int32 arrays of shape ``(rows,)``.
    lo, hi
        int64 arrays of shape ``(rows,)``.
    """

    collective: Collective
    nodes: int
    units: int
    steps: int
    reduce_steps: int
    step: NDArray[np.int32]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    block: NDArray[np.int32]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Check the form (not the meaning: that is the verifier's) and take the columns over.

        Raises
        ------
        ScheduleError
            If a number is out of range or the columns differ in length or type.
        """
        if not isinstance(self.collective, Collective):
            raise ScheduleError(
                f"the collective of a schedule is a value of topodesign.collectives, not {self.collective!r}"
            )
        if self.nodes < 1 or self.units < 1 or self.steps < 0:
            raise ScheduleError("a schedule needs at least one node, one unit and a number of steps")
        if not 0 <= self.reduce_steps <= self.steps or not reduce_steps_fit(
            self.collective, self.steps, self.reduce_steps
        ):
            raise ScheduleError(f"reduce_steps {self.reduce_steps} does not fit {self.collective}, {self.steps} steps")
        shape = (np.size(self.step),)
        for name in COLUMNS:
            column = getattr(self, name)
            kind = np.int64 if name in _WIDE else np.int32
            if not isinstance(column, np.ndarray) or column.dtype != kind or column.shape != shape:
                raise ScheduleError(f"column {name!r} must be a {np.dtype(kind)} array of shape {shape}")
            object.__setattr__(self, name, owned(column))
        if len(self.step):
            self._check_ranges()

    def _check_ranges(self) -> None:
        if self.step.min() < 1 or self.step.max() > self.steps:
            raise ScheduleError(f"steps must be from 1 to {self.steps}")
        blocks = self.collective.block_count(self.nodes)
        for name, count, what in (
            ("src", self.nodes, "nodes"),
            ("dst", self.nodes, "nodes"),
            ("block", blocks, "blocks"),
        ):
            column = getattr(self, name)
            if column.min() < 0 or column.max() >= count:
                raise ScheduleError(f"column {name!r} must hold {what} 0 to {count - 1}")
        if self.lo.min() < 0 or self.hi.max() > self.units or np.any(self.lo >= self.hi):
            raise ScheduleError(f"intervals must satisfy 0 <= lo < hi <= {self.units}")

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.step)

    def __eq__(self, other: object) -> bool:
        """Return whether all fields are equal, columns row by row."""
        if not isinstance(other, Rounds):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    def __hash__(self) -> int:
        """Hash the header and one column."""
        return hash((self.collective, self.nodes, self.units, self.steps, self.block.tobytes()))

    def __repr__(self) -> str:
        """Return a short description."""
        return (
            f"<Rounds {self.collective}, {self.nodes} nodes, {self.steps} steps, "
            f"{len(self)} sends, {self.units} units per shard>"
        )

    def fits(self, topology: Topology) -> bool:
        """Return whether it is for as many nodes."""
        return self.nodes == topology.nodes

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name, ready for a data frame."""
        return {name: getattr(self, name) for name in COLUMNS}

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name; all are of sends."""
        return self.columns()

    def rows(self, chosen: NDArray[Any]) -> Rounds:
        """Return the schedule of some rows, by a mask or their numbers."""
        return self.having(**{name: column[chosen] for name, column in self.columns().items()})

    def having(self, **changes: Any) -> Rounds:
        """Return the schedule with other fields; arrays among them are taken over, and must be nobody else's."""
        arrays = {name: sealed(value) for name, value in changes.items() if isinstance(value, np.ndarray)}
        return replace(self, **(changes | arrays))


def reduce_steps_fit(collective: Collective, steps: int, reduce_steps: int) -> bool:
    """Return whether a collective can add in the first so many of its steps."""
    if len(collective.movements) > 1:
        return True
    return reduce_steps == (steps if collective.reduces else 0)
