"""A linear program over cuts that grows by those that maximum flows find violated, and is proved in fractions.

As long as integers on a grid find some, they do; then the fractions that are optimal decide.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.solve.certificate import Certificate, common_denominator
from topodesign.solve.maxflow import LARGEST
from topodesign.solve.program import Program
from topodesign.topology.topology import IntArray

_ROUNDS = 1000
_GRID = 2**24
_SLACK = 1e-7

Reached = TypeVar("Reached")


class CutProgram(ABC, Generic[Reached]):
    """What is largest is the sum of the columns ``total``."""

    program: Program
    total: IntArray

    @abstractmethod
    def _add_violated(self, values: IntArray, scale: Fraction, slack: float) -> int:
        """Add the cuts that columns, times a scale, violate by more than some slack; return how many are new."""

    @abstractmethod
    def _reached(self, values: IntArray, scale: Fraction) -> Reached:
        """Return what columns, times a scale, reach, whatever they are: lowered until they are feasible."""

    def settle(self, known: Fraction, bound: Fraction) -> Certificate:
        """Solve and add cuts until none is violated, or no more is left than is known to be reached."""
        scale = Fraction(_GRID) / bound
        for _ in range(_ROUNDS):
            self.program.solve()
            values = self.program.values(scale)
            more_is_left = int(values[self.total].sum()) > known * scale + len(values)
            if more_is_left and self._add_violated(values, scale, _GRID * _SLACK + len(values)):
                continue
            solution = self.program.certificate()
            whole = _whole(solution.columns)
            if not solution.proven or sum(solution.columns[at] for at in self.total.tolist()) <= known or whole is None:
                return solution
            if not self._add_violated(*whole, 0):
                return solution
        return self.program.certificate()

    def reached(self, solution: Certificate) -> Iterator[Reached]:
        """Yield what a solution reaches, exactly as it is if its integers are small enough, or else rounded down."""
        scale = Fraction(_GRID) / max(solution.columns)
        rounded = np.array([int(value * scale) for value in solution.columns], dtype=np.int64), scale
        for whole in (_whole(solution.columns), rounded):
            try:
                if whole is not None:
                    yield self._reached(*whole)
                    return
            except (InfeasibleError, TooLargeError):
                continue


def _whole(columns: Sequence[Fraction]) -> tuple[IntArray, Fraction] | None:
    """Return columns times a number that makes all whole, and the number; None if that takes more than 64 bits."""
    common = common_denominator(columns)
    if common * sum(columns) >= LARGEST:
        return None
    return np.array([int(value * common) for value in columns], dtype=np.int64), Fraction(common)
