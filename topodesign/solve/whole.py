"""Integer solutions of linear rows, found or refuted, and assignments.

HiGHS finds quickly, but what it calls infeasible it concludes from floats. CP-SAT concludes in integers; it is asked
last, and only where it is installed. Whatever is found is multiplied out in integers.

Of all solutions one of least cost is taken, and of these the one with the least sum of fixed weights, drawn once for
all: weights that are drawn from a range much larger than the number of columns have, all but surely, one solution of
least weight (Mulmuley, Vazirani and Vazirani 1987, lemma 1). So it is the same one with every solver and version, where
the search for it comes to its end within a number of nodes. Elsewhere it is one that this solver finds first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from topodesign.base.errors import MissingLibraryError
from topodesign.solve.discrete import MAX, Discrete
from topodesign.solve.program import Entries, Program
from topodesign.topology.topology import IntArray

_FIRST = 0.5  # share of the time for HiGHS
_WEIGHTS = 2**14  # from 1 to this
_NODES = 500  # of the search for one of least cost, and of that for the one of least weight
_MAX_COLUMNS = 2**13  # of programs in which these are searched for


class SearchResult(NamedTuple):
    """What came of a search."""

    values: IntArray | None  # shape ``(columns,)``: what satisfies all rows; None if nothing was found
    proven: bool  # whether it is proven that nothing satisfies them
    settled: bool = False  # whether they are those of least cost and weight, which do not depend on the solver


def find_whole(
    upper: IntArray,
    entries: Entries,
    least: ArrayLike,
    most: ArrayLike,
    *,
    seconds: float,
    seed: int = 0,
    cost: IntArray | None = None,
) -> SearchResult:
    """Find integers with ``0 <= x <= upper`` and ``least <= A x <= most``.

    ``cost`` has what each column costs, none of them less than nothing; None where all solutions are as good.
    """
    row, column, value = (np.asarray(part, dtype=np.int64) for part in entries)
    low, high = np.atleast_1d(np.asarray(least, dtype=np.int64)), np.atleast_1d(np.asarray(most, dtype=np.int64))
    program = Program()
    program.add_columns(len(upper), upper=upper, whole=True)
    program.add_rows(len(low), Entries(row, column, value), lower=low, upper=high)

    def hold(values: IntArray) -> bool:
        total = np.bincount(row, weights=value * values[column], minlength=len(low)).astype(np.int64)
        return bool(np.all((values >= 0) & (values <= upper)) and np.all((total >= low) & (total <= high)))

    said = program.solve(seconds=seconds * _FIRST)
    if program.solved and hold(values := program.values()):
        aims = [_weights(len(upper))] if cost is None else [cost, _weights(len(upper))]
        for aim in aims if len(upper) <= _MAX_COLUMNS else []:
            program.change_columns(np.arange(len(upper)), cost=aim)
            if program.solve(seconds=seconds * _FIRST, nodes=_NODES) != "optimal" or not hold(program.values()):
                return SearchResult(values, proven=False)
            values = program.values()
            some = np.flatnonzero(aim)
            program.add_rows(1, Entries(np.zeros_like(some), some, aim[some]), upper=int(aim @ values))
        return SearchResult(values, proven=False, settled=len(upper) <= _MAX_COLUMNS)
    exact = Discrete()
    names = [exact.number(0, int(most_)) for most_ in upper]
    order = np.argsort(row, kind="stable")
    ends = np.searchsorted(row[order], np.arange(len(low) + 1))
    for number in range(len(low)):
        part = order[ends[number] : ends[number + 1]]
        terms = [(int(factor), names[name]) for factor, name in zip(value[part], column[part], strict=True)]
        exact.row(terms, max(int(low[number]), -MAX), min(int(high[number]), MAX))
    try:
        verdict = exact.solve(seconds=seconds if said == "infeasible" else seconds * (1 - _FIRST), seed=seed)
    except MissingLibraryError:
        return SearchResult(None, proven=False)
    if exact.solved:
        return SearchResult(np.array([exact.value(name) for name in names], dtype=np.int64), proven=False)
    return SearchResult(None, proven=verdict == "infeasible")


def _weights(count: int) -> IntArray:
    """Return fixed pseudo-random weights of columns."""
    stirred = (np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(0x5851F42D4C957F2D)
    stirred = (stirred ^ (stirred >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    stirred = (stirred ^ (stirred >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return 1 + ((stirred ^ (stirred >> np.uint64(31))) % np.uint64(_WEIGHTS)).astype(np.int64)


def guess_places(traffic: Any, distance: Any, rng: np.random.Generator) -> IntArray:
    """Return an assignment of low total traffic times distance.

    It is a permutation, by the fast approximate algorithm of Vogelstein et al. (2015), and seldom the best one.
    """
    from scipy.optimize import quadratic_assignment  # noqa: PLC0415  heavy

    found = quadratic_assignment(traffic.astype(float), distance.astype(float), options={"rng": rng})
    places: IntArray = found.col_ind.astype(np.int64)
    return places
