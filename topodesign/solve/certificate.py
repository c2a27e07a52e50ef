"""What a solver's floats suggest, decided in whole numbers.

The basis that a solver ends with says which bounds hold with equality. The two systems of linear equations that follow,
for the columns and for the prices of the rows, are solved exactly: floats give some bits of the solution at a time, the
rest that they leave is computed in integers, and when there are enough bits, fractions are read off them and put into
the equations (Wan 2006; Gleixner, Steffy and Wolter 2016). If the columns keep all bounds, and prices stand only where
a bound binds and on its right side, both are optimal, and that is a proof, whatever the solver thinks.

Even prices out of nowhere prove something: :func:`weak_bound`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.topology.topology import IntArray

NO_BOUND = 2**62  # A bound that is none: ``-NO_BOUND`` below, ``NO_BOUND`` above

_BITS = 20  # that one solution in floats adds; what it is wrong by must be less
_ATTEMPTS = (4, 8, 16, 32, 64, 128)  # solutions in floats after which fractions are looked for
_NEARBY = 10**6  # denominators of fractions that are not those of the basis

Numbers = NDArray[Any]  # Python integers of any size, dtype object
Solve = Callable[[NDArray[np.float64]], NDArray[np.float64]]  # the solution in floats of equations with a right side


@dataclass(frozen=True, eq=False)
class Certificate:
    """Columns and prices as fractions."""

    columns: tuple[Fraction, ...]  # value of every column
    # what the optimum gains for each unit that a row's bound is moved; above zero at lower bounds, below at upper
    # ones
    prices: tuple[Fraction, ...]
    # whether the two prove each other optimal for the program without its integrality. If not, they are fractions
    # near to what the solver said, to be judged by whoever asked.
    proven: bool


class Matrix:
    """Integer matrix entries by row; loads faster than scipy's."""

    def __init__(self, row: IntArray, column: IntArray, value: IntArray, shape: tuple[int, int]) -> None:
        order = np.argsort(row, kind="stable")
        self.row, self.column, self.value, self.shape = row[order], column[order], value[order], shape
        self._start = np.flatnonzero(np.diff(self.row, prepend=-1))

    def transpose(self) -> Matrix:
        """Return the entries column by column."""
        return Matrix(self.column, self.row, self.value, self.shape[::-1])

    def part(self, rows: IntArray, columns: IntArray) -> Matrix:
        """Return some rows and columns, which ascend."""
        places = []
        for size, kept in zip(self.shape, (rows, columns), strict=True):
            place = np.full(size, -1, dtype=np.int64)
            place[kept] = np.arange(len(kept))
            places.append(place)
        row, column = places[0][self.row], places[1][self.column]
        inside = (row >= 0) & (column >= 0)
        return Matrix(row[inside], column[inside], self.value[inside], (len(rows), len(columns)))

    def sums(self, entries: NDArray[Any]) -> NDArray[Any]:
        """Return the sum over each row's entries of one number per entry."""
        total = np.zeros(self.shape[0], dtype=entries.dtype)
        total[self.row[self._start]] = np.add.reduceat(entries, self._start) if len(entries) else 0
        return total

    def times(self, vector: Numbers | IntArray) -> Numbers | IntArray:
        """Return the exact product with an integer vector, in 64 bits if safe."""
        width = int(np.diff(self._start, append=len(self.row)).max(initial=0))
        kind = np.int64 if width * _largest(self.value) * _largest(vector) < NO_BOUND // 2 else object
        return self.sums(self.value.astype(kind) * vector.astype(kind)[self.column])


@dataclass(frozen=True, eq=False)
class Data:
    """A program in integers: bounds and costs of columns, rows, and matrix."""

    matrix: Matrix
    cost: IntArray
    lower: IntArray
    upper: IntArray
    row_lower: IntArray
    row_upper: IntArray


@dataclass(frozen=True, eq=False)
class Basis:
    """Columns and row activities that are basic; the others are at a bound."""

    free: NDArray[np.bool_]
    value: IntArray
    row_free: NDArray[np.bool_]
    row_value: IntArray
    # In floats, with the matrix of the rows that are held and the columns that are not: ``M x = right`` and
    # ``M^T y = cost``.
    columns_of: Solve
    prices_of: Solve


def certify(data: Data, basis: Basis | None, columns: NDArray[np.float64], prices: NDArray[np.float64]) -> Certificate:
    """Return the exact solution of an optimal basis, else nearby fractions."""
    exact = None if basis is None else _basic(data, basis)
    if exact is not None and _is_optimal(data, *exact):
        x, y = (_over(common, numbers) for numbers, common in exact)
        return Certificate(x, y, proven=True)
    x, y = (tuple(Fraction(one).limit_denominator(_NEARBY) for one in part.tolist()) for part in (columns, prices))
    return Certificate(x, y, proven=False)


def _over(common: int, numbers: Numbers) -> tuple[Fraction, ...]:
    """Return fractions of one denominator, each made once: few differ."""
    made = {number: Fraction(number, common) for number in set(numbers)}
    return tuple(map(made.__getitem__, numbers))


def weak_bound(data: Data, prices: NDArray[np.float64], scales: Sequence[int]) -> Fraction | None:
    """Return a lower bound on the cost from any prices, rounded to 1 / scale.

    Every row is worth its price times its bound at least, and every column what is left of its cost times the better
    of its bounds (weak duality). The best over all scales is returned; None if all would have some column without a
    bound be infinite.
    """
    columns = data.matrix.transpose()
    lower, upper = (np.concatenate(both) for both in ((data.row_lower, data.lower), (data.row_upper, data.upper)))
    none = lower == -NO_BOUND, upper == NO_BOUND
    best: Fraction | None = None
    for scale in scales:
        price = np.rint(scale * prices).astype(np.int64)
        price[(price > 0) & none[0][: len(price)] | (price < 0) & none[1][: len(price)]] = 0
        left = data.cost.astype(object) * scale if scale * _largest(data.cost) >= NO_BOUND else data.cost * scale
        factor = np.concatenate((price, left - columns.times(price)))
        positive, negative = factor > 0, factor < 0
        if np.any(positive & none[0] | negative & none[1]):
            continue
        bound = Fraction(_dot(factor, np.where(positive, lower, np.where(negative, upper, 0))), scale)
        best = bound if best is None else max(best, bound)
    return best


def _basic(data: Data, basis: Basis) -> tuple[tuple[Numbers, int], tuple[Numbers, int]] | None:
    """Return columns and prices of a basis as integers over a denominator, or None."""
    tight, free = np.flatnonzero(~basis.row_free), np.flatnonzero(basis.free)
    if len(tight) != len(free):
        return None
    fixed = np.where(basis.free, 0, basis.value).astype(object)
    square = data.matrix.part(tight, free)
    wanted = basis.row_value[tight].astype(object) - data.matrix.times(fixed)[tight]
    solved = _refine_solution(square, wanted, basis.columns_of)
    priced = solved and _refine_solution(square.transpose(), data.cost[free].astype(object), basis.prices_of)
    if solved is None or priced is None:
        return None
    (numbers, common), (price, price_common) = solved, priced
    columns, prices = fixed * common, np.zeros(data.matrix.shape[0], dtype=object)
    columns[free], prices[tight] = numbers, price
    return (columns, common), (prices, price_common)


def _is_optimal(data: Data, columns: tuple[Numbers, int], prices: tuple[Numbers, int]) -> bool:
    """Return whether bounds and complementary slackness hold, which proves both."""
    (value, common), (price, scale) = columns, prices
    left = data.cost.astype(object) * scale - data.matrix.transpose().times(price)
    activity = data.matrix.times(value)
    for number, low, high, worth in (
        (value, data.lower, data.upper, left),
        (activity, data.row_lower, data.row_upper, price),
    ):
        least, most = low.astype(object) * common, high.astype(object) * common
        below, above = (low != -NO_BOUND) & (number < least), (high != NO_BOUND) & (number > most)
        loose = (worth > 0) & ((number > least) | (low == -NO_BOUND))
        loose |= (worth < 0) & ((number < most) | (high == NO_BOUND))
        if np.any(below | above | loose):
            return False
    return True


def _refine_solution(matrix: Matrix, right: Numbers, solve: Solve) -> tuple[Numbers, int] | None:
    """Return the exact solution of ``M x = right`` over a denominator, or None."""
    if not len(right):
        return right, 1
    found, rest, rounds = np.zeros(len(right), dtype=object), right, 0
    limit = 2**_BITS * max(_largest(right), int(matrix.sums(np.abs(matrix.value)).max()))
    for attempt in _ATTEMPTS:
        while rounds < attempt:
            rounds += 1
            step = solve(rest.astype(float)) * 2.0**_BITS
            if not np.all(np.isfinite(step)):
                return None
            whole = np.array([int(value) for value in np.rint(step).tolist()], dtype=object)
            found, rest = (found << _BITS) + whole, (rest << _BITS) - matrix.times(whole)
            if _largest(rest) > limit:
                return None
        answer = _fractions(found.tolist(), _BITS * rounds)
        if answer is not None and not np.any(matrix.times(answer[0]) - right * answer[1]):
            return answer
    return None


def _fractions(numbers: Sequence[int], bits: int) -> tuple[Numbers, int] | None:
    """Return fractions with a common denominator near ``number / 2**bits``, or None.

    Two fractions with denominators below the square root of 2^bits that both are so near are the same.
    """
    whole, most, common = 2**bits, 2 ** (bits // 2 - 1), 1
    slack = whole >> (bits // 2)
    for number in numbers:
        nearest = (2 * number * common + whole) // (2 * whole)
        if abs(number * common - nearest * whole) > slack:
            common *= Fraction(number * common, whole).limit_denominator(max(1, most // common)).denominator
            if common > most:
                return None
    return np.array([(2 * number * common + whole) // (2 * whole) for number in numbers], dtype=object), common


def _dot(one: Numbers | IntArray, other: IntArray) -> int:
    """Return the sum of products, exactly."""
    if len(one) * _largest(one) * _largest(other) < NO_BOUND:
        return int(one @ other)
    return sum(map(int.__mul__, one.tolist(), other.tolist()))


def _largest(numbers: Numbers | IntArray) -> int:
    """Return the largest absolute value."""
    return max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))


def common_denominator(fractions: Sequence[Fraction]) -> int:
    """Return the least number that makes all of them whole."""
    return math.lcm(*(fraction.denominator for fraction in fractions))
