"""The schedule: who sends which part of whose shard over which link at which step, in columns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ScheduleError

Collective = Literal["allgather", "reduce-scatter", "allreduce"]
COLLECTIVES: tuple[Collective, ...] = get_args(Collective)


@dataclass(frozen=True, eq=False)
class Schedule:
    """Columns of sends: who sends what, over which link, at which step.

    Row i says: at ``step[i]``, node ``src[i]`` sends the units ``lo[i] <= unit < hi[i]`` of the shard of ``owner[i]``
    over the link to ``dst[i]``.

    In a reduce-scatter the owner is the node where the shard ends up, what is sent is the sender's partial sum, and the
    receiver adds it to its own. In an allgather the owner is the node where the shard starts and the receiver stores
    it. An allreduce is a reduce-scatter in the steps 1 to ``reduce_steps`` and an allgather in the steps after.

    Attributes
    ----------
    collective
        One of ``allgather``, ``reduce-scatter``, ``allreduce``.
    nodes
        Number of nodes N, each of which owns one shard.
    units
        Number of equal parts of a shard; ``lo`` and ``hi`` count them.
    steps
        Number of communication steps; rows have steps 1 to ``steps``.
    reduce_steps
        Steps in which receivers add: ``steps`` for reduce-scatter, 0 for allgather, between for allreduce.
    step, src, dst, owner
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
    owner: NDArray[np.int32]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Check the form (not the meaning: that is the verifier's) and make the columns read-only.

        Raises
        ------
        ScheduleError
            If a number is out of range or the columns differ in length or type.
        """
        if self.collective not in COLLECTIVES:
            raise ScheduleError(f"unknown collective {self.collective!r}; known are {', '.join(COLLECTIVES)}")
        if self.nodes < 1 or self.units < 1 or self.steps < 0:
            raise ScheduleError("a schedule needs at least one node, one unit and a number of steps")
        right = {"allgather": self.reduce_steps == 0, "reduce-scatter": self.reduce_steps == self.steps}
        if not (0 <= self.reduce_steps <= self.steps and right.get(self.collective, True)):
            raise ScheduleError(f"reduce_steps {self.reduce_steps} does not fit {self.collective}, {self.steps} steps")
        wide, shape = {"lo", "hi"}, (np.size(self.step),)
        for name in COLUMNS:
            column = getattr(self, name)
            kind = np.int64 if name in wide else np.int32
            if not isinstance(column, np.ndarray) or column.dtype != kind or column.shape != shape:
                raise ScheduleError(f"column {name!r} must be a {np.dtype(kind)} array of shape {shape}")
            column.setflags(write=False)
        if len(self.step):
            self._check_ranges()

    def _check_ranges(self) -> None:
        if self.step.min() < 1 or self.step.max() > self.steps:
            raise ScheduleError(f"steps must be from 1 to {self.steps}")
        for name in ("src", "dst", "owner"):
            column = getattr(self, name)
            if column.min() < 0 or column.max() >= self.nodes:
                raise ScheduleError(f"column {name!r} must hold nodes 0 to {self.nodes - 1}")
        if self.lo.min() < 0 or self.hi.max() > self.units or np.any(self.lo >= self.hi):
            raise ScheduleError(f"intervals must satisfy 0 <= lo < hi <= {self.units}")

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.step)

    def __eq__(self, other: object) -> bool:
        """Return whether all fields are equal, columns row by row."""
        if not isinstance(other, Schedule):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    def __hash__(self) -> int:
        """Hash the header and one column."""
        return hash((self.collective, self.nodes, self.units, self.steps, self.owner.tobytes()))

    def __repr__(self) -> str:
        """Return a short description."""
        return (
            f"<Schedule {self.collective}, {self.nodes} nodes, {self.steps} steps, "
            f"{len(self)} sends, {self.units} units per shard>"
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name, ready for a data frame."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = ("step", "src", "dst", "owner", "lo", "hi")
