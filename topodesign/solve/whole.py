"""Whole numbers that satisfy linear rows: one solver finds them, another proves that there are none; and assignments.

HiGHS finds quickly, but what it calls infeasible it concludes from floats. CP-SAT concludes in integers; it is asked
last, and only where it is installed. Whatever is found is multiplied out in integers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topodesign.base.errors import MissingLibraryError
from topodesign.solve.discrete import MOST, Discrete
from topodesign.solve.program import Entries, Program
from topodesign.topology.topology import IntArray

_FIRST = 0.5  # share of the time for HiGHS


class Whole(NamedTuple):
    """What came of a search."""

    values: IntArray | None  # shape ``(columns,)``: what satisfies all rows; None if nothing was found
    proven: bool  # whether it is proven that nothing satisfies them


def find_whole(
    upper: IntArray, entries: Entries, least: ArrayLike, most: ArrayLike, *, seconds: float, seed: int = 0
) -> Whole:
    """Find whole numbers with ``0 <= x <= upper`` and ``least <= A x <= most``; ``NO_BOUND`` is none."""
    row, column, value = (np.asarray(part, dtype=np.int64) for part in entries)
    low, high = np.atleast_1d(np.asarray(least, dtype=np.int64)), np.atleast_1d(np.asarray(most, dtype=np.int64))
    program = Program()
    program.add_columns(len(upper), upper=upper, whole=True)
    program.add_rows(len(low), Entries(row, column, value), lower=low, upper=high)
    said = program.solve(seconds=seconds * _FIRST)
    if program.solved:
        values = program.values()
        total = np.bincount(row, weights=value * values[column], minlength=len(low)).astype(np.int64)
        if np.all((values >= 0) & (values <= upper)) and np.all((total >= low) & (total <= high)):
            return Whole(values, proven=False)
    exact = Discrete()
    names = [exact.number(0, int(most_)) for most_ in upper]
    order = np.argsort(row, kind="stable")
    ends = np.searchsorted(row[order], np.arange(len(low) + 1))
    for number in range(len(low)):
        part = order[ends[number] : ends[number + 1]]
        terms = [(int(factor), names[name]) for factor, name in zip(value[part], column[part], strict=True)]
        exact.row(terms, max(int(low[number]), -MOST), min(int(high[number]), MOST))
    try:
        verdict = exact.solve(seconds=seconds if said == "infeasible" else seconds * (1 - _FIRST), seed=seed)
    except MissingLibraryError:
        return Whole(None, proven=False)
    if exact.solved:
        return Whole(np.array([exact.value(name) for name in names], dtype=np.int64), proven=False)
    return Whole(None, proven=verdict == "infeasible")


def guess_places(traffic: Any, distance: Any, rng: np.random.Generator) -> IntArray:
    """Return a place for each of n things, such that the sum of traffic times distance over all pairs is small.

    It is a permutation, by the fast approximate algorithm of Vogelstein et al. (2015), and seldom the best one.
    """
    from scipy.optimize import quadratic_assignment  # noqa: PLC0415  heavy

    found = quadratic_assignment(traffic.astype(float), distance.astype(float), options={"rng": rng})
    places: IntArray = found.col_ind.astype(np.int64)
    return places
