"""Permutations: a program of an array language, in which all ranks exchange rows of one array at the same time.

It is what JAX runs: one program for all ranks, whose only way to send is a permutation, in which a rank sends to one
other at most and receives from one at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from topodesign.compiler.ir import Program

Runs: TypeAlias = tuple[tuple[int, int], ...]
"""Rows one after the other, as pairs of the first and the one after the last; negative ones are rows of zeros."""
Rows: TypeAlias = tuple[Runs, ...]
"""Rows of every rank, or once where they are the same at all ranks."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One permutation."""

    pairs: tuple[tuple[int, int], ...]  # who sends to whom
    take: Rows  # what ranks send
    put: Rows  # where they put or add what they receive; they receive zeros from nobody
    moved: int  # rows that all ranks send; more go where some send fewer than others
    width: int  # rows that every rank sends


@dataclass(frozen=True, slots=True)
class Phase:
    """Steps that store what is received, or that add it."""

    adds: bool  # whether it is added
    start: Rows  # which rows of what is given, or of the phase before, the array begins with
    steps: tuple[tuple[Exchange, ...], ...]  # in every step all is read before anything is written
    finish: Rows  # which rows of the array are the result
    rows: int  # rows of the array
    terms: int = 0  # the result is the sum of so many equal parts of those rows; 0 where nothing says so


@dataclass(frozen=True)
class Permutations(Program):
    """A program of permutations; ``chunks`` are rows of the whole data, circuits change after some of the steps."""

    phases: tuple[Phase, ...] = ()
    changes: tuple[int, ...] = ()

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All permutations, in order."""
        return tuple(one for phase in self.phases for step in phase.steps for one in step)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every step: how many permutations it takes, and rows of every rank."""
        steps = [(phase.adds, step) for phase in self.phases for step in phase.steps]
        return [
            {"step": number, "adds": adds, "permutations": len(step), "rows": sum(one.width for one in step)}
            for number, (adds, step) in enumerate(steps, start=1)
        ]
