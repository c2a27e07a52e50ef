"""A linear or mixed-integer program that grows, over the solver HiGHS.

    minimise  cost . x   with   lower <= x <= upper   and   row_lower <= A x <= row_upper,   some of x whole.

Numbers that go in are whole, so that the program is known exactly; a row of fractions is scaled. What comes out is
never a float of the solver's: either integers, the values rounded to a grid of the caller's choice, which suggest where
to look and prove nothing; or fractions, with the proof that they are optimal (:meth:`Program.certificate`); or a bound
that holds whatever the solver did (:meth:`Program.bound`).

Rows and columns may be added and bounds and costs changed after a solution; the next one starts from the basis of the
last. Cuts are found by the caller: solve, look at :meth:`Program.values`, add the rows that they break, solve again.
New columns likewise, from :meth:`Program.prices`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topodesign.base import deadline
from topodesign.solve.certificate import NO_BOUND, Basis, Certificate, Data, Matrix, certify, weak_bound
from topodesign.topology.topology import IntArray

if TYPE_CHECKING:
    import highspy

__all__ = ["NO_BOUND", "Certificate", "Entries", "Program", "Status"]

Status = Literal["optimal", "infeasible", "unbounded", "stopped"]
"""What the solver says. ``stopped``: a limit was reached, it was stopped, or it gave up."""


class Entries(NamedTuple):
    """Matrix entries, each place once; an array or one number for all."""

    row: ArrayLike
    column: ArrayLike
    value: ArrayLike

    @classmethod
    def of(cls, matrix: Any) -> Entries:
        """Return the entries of a scipy sparse matrix of integers or floats."""
        matrix = matrix.tocoo()
        value = matrix.data.astype(np.int64)
        if np.any(value != matrix.data):
            raise ValueError("the entries must be whole numbers")
        row, column = matrix.coords
        return cls(row, column, value)

    @classmethod
    def sum_equal(cls, row: IntArray, column: IntArray, value: IntArray) -> Entries:
        """Return entries with equal places added up."""
        order = np.lexsort((column, row))
        row, column = row[order], column[order]
        new = np.flatnonzero((np.diff(row, prepend=-1) != 0) | (np.diff(column, prepend=-1) != 0))
        return cls(row[new], column[new], np.add.reduceat(value[order], new))


_NOTHING = Entries((), (), ())


def _silent_solver() -> highspy.Highs:
    """Return a new solver that prints nothing, not its version either."""
    import highspy  # noqa: PLC0415  heavy

    class Silent(highspy.Highs):  # type: ignore[misc]
        """A solver that is silent before callbacks are set.

        HiGHS 1.16 prints its version when they are.
        """

        def enableCallbacks(self) -> None:  # noqa: N802  the name is that of HiGHS
            self.silent()
            super().enableCallbacks()

    return Silent()


class Program:
    """A linear or mixed-integer program, empty at first.

    ``unit`` is about the size that values of the columns have: the solver gets bounds divided by it, since what it
    takes for equal is absolute. It is 1 for a program with whole columns.
    """

    def __init__(self, *, unit: int = 1) -> None:
        self._unit = unit
        self._solver = _silent_solver()
        self._columns = _Table("cost", "lower", "upper", "whole")
        self._rows = _Table("lower", "upper", "size")
        self._entries = _Table("row", "column", "value")
        self._point: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def add_columns(
        self,
        count: int,
        *,
        cost: ArrayLike = 0,
        lower: ArrayLike = 0,
        upper: ArrayLike = NO_BOUND,
        whole: bool = False,
        entries: Entries = _NOTHING,
    ) -> IntArray:
        """Add columns and return their numbers.

        Costs and bounds are arrays, or one number for all.

        Entries are in the rows that there are; columns are counted from the first new one.
        """
        self._point = None
        first = self._columns.size
        new = self._columns.add(count, cost=cost, lower=lower, upper=upper, whole=whole)
        starts, row, value = _compress(entries.column, entries.row, entries.value, count)
        self._entries.add(len(row), row=row, column=first + np.repeat(np.arange(count), np.diff(starts)), value=value)
        cost_, low, high = self._columns["cost"][new], self._columns["lower"][new], self._columns["upper"][new]
        self._check(
            self._solver.addCols(
                count,
                cost_.astype(float),
                self._floats(low),
                self._floats(high),
                len(row),
                starts[:-1],
                row,
                value / self._rows["size"][row],
            )
        )
        if whole:
            self._check(self._solver.changeColsIntegrality(count, _numbers(new), np.ones(count, dtype=np.uint8)))
        return new

    def add_rows(
        self,
        count: int,
        entries: Entries,
        *,
        lower: ArrayLike = -NO_BOUND,
        upper: ArrayLike = NO_BOUND,
        size: ArrayLike = 1,
    ) -> IntArray:
        """Add rows and return their numbers.

        Bounds are arrays, or one number for all.

        Entries are in the columns that there are; rows are counted from the first new one. The solver sees each divided
        by its ``size``, as it goes astray if numbers are of millions and more.
        """
        self._point = None
        first = self._rows.size
        new = self._rows.add(count, lower=lower, upper=upper, size=size)
        starts, column, value = _compress(entries.row, entries.column, entries.value, count)
        self._entries.add(
            len(column), row=first + np.repeat(np.arange(count), np.diff(starts)), column=column, value=value
        )
        low, high = self._row_bounds(new)
        scaled = value / np.repeat(self._rows["size"][new], np.diff(starts))
        self._check(self._solver.addRows(count, low, high, len(column), starts[:-1], column, scaled))
        return new

    def change_columns(
        self,
        columns: IntArray,
        *,
        cost: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        """Change costs or bounds of columns; what is None stays."""
        self._point = None
        self._columns.change(columns, cost=cost, lower=lower, upper=upper)
        if cost is not None:
            costs = self._columns["cost"][columns].astype(float)
            self._check(self._solver.changeColsCost(len(columns), _numbers(columns), costs))
        low, high = (self._floats(self._columns[name][columns]) for name in ("lower", "upper"))
        self._check(self._solver.changeColsBounds(len(columns), _numbers(columns), low, high))

    def change_rows(self, rows: IntArray, *, lower: ArrayLike | None = None, upper: ArrayLike | None = None) -> None:
        """Change bounds of rows; what is None stays."""
        self._point = None
        self._rows.change(rows, lower=lower, upper=upper)
        low, high = self._row_bounds(rows)
        self._check(self._solver.changeRowsBounds(len(rows), _numbers(rows), low, high))

    def solve(
        self, *, seconds: float | None = None, nodes: int | None = None, interior: bool = False, grown: bool = False
    ) -> Status:
        """Solve, from the last basis if there is one, and return the status.

        It is stopped after so much time, or so many nodes of the search tree, and begins with an interior point method
        if asked, which is better for large degenerate programs that are solved once. Where it has only ``grown`` by
        columns the last solution is still one, and the primal simplex goes on from it.
        """
        import highspy  # noqa: PLC0415  heavy

        solver = self._solver
        options = {
            "time_limit": np.inf if seconds is None else solver.getRunTime() + seconds,
            "mip_max_nodes": highspy.kHighsIInf if nodes is None else nodes,
            "mip_rel_gap": 0.0,
            "solver": "ipm" if interior else "choose",
            "simplex_strategy": 4 if grown else 1,  # primal, or dual
        }
        for name, value in options.items():
            self._check(solver.setOptionValue(name, value))
        if deadline.is_limited():
            with deadline.defer_deadline():
                _run_until(solver, deadline.has_passed)
        else:
            solver.run()
        status = solver.getModelStatus()
        # Of large numbers the solver says that a solution is optimal, but not to its tolerance, which is absolute.
        optimal = status == highspy.HighsModelStatus.kOptimal
        found = optimal or solver.getInfo().primal_solution_status == highspy.kSolutionStatusFeasible
        self._point = None
        if found:
            solution = solver.getSolution()
            prices = np.array(solution.row_dual) if solution.dual_valid else np.zeros(self._rows.size)
            prices /= self._rows["size"]
            self._point = np.array(solution.col_value) * self._unit, prices
        said: dict[Any, Status] = {
            highspy.HighsModelStatus.kOptimal: "optimal",
            highspy.HighsModelStatus.kModelEmpty: "optimal",
            highspy.HighsModelStatus.kInfeasible: "infeasible",
            highspy.HighsModelStatus.kUnbounded: "unbounded",
        }
        return said.get(status, "stopped")

    @property
    def solved(self) -> bool:
        """Return whether a solution is at hand and nothing has changed since."""
        return self._point is not None

    def values(self, scale: Fraction | int = 1) -> IntArray:
        """Return columns times a scale, rounded to integers: a suggestion."""
        return _round_values(self._solution()[0], scale)

    def prices(self, scale: Fraction | int = 1) -> IntArray:
        """Return row prices as :meth:`values`; zeros with gaps.

        Signs are those of :class:`Certificate`.
        """
        return _round_values(self._solution()[1], scale)

    def certificate(self) -> Certificate:
        """Return the solution in fractions, proven or not, possibly relaxed."""
        return certify(self._data(), self._basis(), *self._solution())

    def bound(self, scales: Sequence[int]) -> Fraction | None:
        """Return a proven lower bound, by prices in multiples of 1 / scale.

        The best over all scales; None if none proves anything, because columns without bounds remain.
        """
        return weak_bound(self._data(), self._solution()[1], scales)

    def _solution(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self._point is None:
            raise RuntimeError("the program has no solution, or has changed since it was solved")
        return self._point

    def _data(self) -> Data:
        entries, columns, rows = self._entries, self._columns, self._rows
        matrix = Matrix(entries["row"], entries["column"], entries["value"], (rows.size, columns.size))
        return Data(matrix, columns["cost"], columns["lower"], columns["upper"], rows["lower"], rows["upper"])

    def _basis(self) -> Basis | None:
        """Return the solver's basis, if it has one."""
        import highspy  # noqa: PLC0415  heavy

        basis = self._solver.getBasis()
        if not basis.valid:
            return None
        parts = []
        for status, table in ((basis.col_status, self._columns), (basis.row_status, self._rows)):
            codes = np.array([int(one) for one in status], dtype=np.int64)
            lower, upper = table["lower"], table["upper"]
            low = (codes == int(highspy.HighsBasisStatus.kLower)) & (lower != -NO_BOUND)
            high = (codes == int(highspy.HighsBasisStatus.kUpper)) & (upper != NO_BOUND)
            parts += [codes == int(highspy.HighsBasisStatus.kBasic), np.where(low, lower, np.where(high, upper, 0))]
        free, value, row_free, row_value = parts
        self._solver.setBasis(basis)  # so that it is factored anew: of a program that has grown the factors may be old
        status, basic = self._solver.getBasicVariables()
        if status == highspy.HighsStatus.kError:
            return None
        tight = np.flatnonzero(~row_free)
        inside = np.flatnonzero(basic >= 0)  # the others are what rows have left
        place = np.searchsorted(np.flatnonzero(free), basic[inside])
        size = self._rows["size"]

        def columns_of(right: NDArray[np.float64]) -> NDArray[np.float64]:
            whole = np.zeros(len(row_free))
            whole[tight] = right / size[tight]
            found = np.empty(len(place))
            found[place] = self._solver.getBasisSolve(whole)[1][inside]
            return found

        def prices_of(cost: NDArray[np.float64]) -> NDArray[np.float64]:
            whole = np.zeros(len(row_free))
            whole[inside] = cost[place]
            found: NDArray[np.float64] = self._solver.getBasisTransposeSolve(whole)[1][tight] / size[tight]
            return found

        return Basis(free, value, row_free, row_value, columns_of, prices_of)

    def _floats(self, bounds: IntArray) -> NDArray[np.float64]:
        """Return bounds as the solver wants them."""
        result: NDArray[np.float64] = bounds / self._unit
        result[bounds <= -NO_BOUND], result[bounds >= NO_BOUND] = -np.inf, np.inf
        return result

    def _row_bounds(self, rows: IntArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        low, high = (self._floats(self._rows[name][rows]) for name in ("lower", "upper"))
        return low / self._rows["size"][rows], high / self._rows["size"][rows]

    def _check(self, status: Any) -> None:
        import highspy  # noqa: PLC0415  heavy

        if status == highspy.HighsStatus.kError:
            raise ValueError("the solver refuses this: a place twice, a number out of range, or NaN")


class _Table:
    """Columns of int64 that grow together."""

    def __init__(self, *names: str) -> None:
        self.size = 0
        self._parts: dict[str, list[IntArray]] = {name: [np.zeros(0, dtype=np.int64)] for name in names}

    def __getitem__(self, name: str) -> IntArray:
        parts = self._parts[name]
        if len(parts) > 1:
            parts[:] = [np.concatenate(parts)]
        return parts[0]

    def add(self, count: int, **values: ArrayLike) -> IntArray:
        """Add rows and return their numbers."""
        for name, value in values.items():
            self._parts[name].append(np.array(np.broadcast_to(_whole(value), count)))
        self.size += count
        return np.arange(self.size - count, self.size)

    def change(self, rows: IntArray, **values: ArrayLike | None) -> None:
        """Change rows, but not the columns whose value is None."""
        for name, value in values.items():
            if value is not None:
                self[name][rows] = _whole(value)


def _whole(values: ArrayLike) -> IntArray:
    """Return whole numbers as int64; raises TypeError if they are others."""
    array = np.asarray(values)
    return array.astype(np.int64, casting="unsafe" if not array.size else "safe")


def _numbers(indices: ArrayLike) -> NDArray[np.int32]:
    return np.asarray(indices, dtype=np.int32)


def _compress(
    major: ArrayLike, minor: ArrayLike, value: ArrayLike, count: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], IntArray]:
    """Return entries in compressed form: starts, minor indices, values."""
    majors, minors = _whole(major), _whole(minor)
    values = np.broadcast_to(_whole(value), majors.shape)
    order = np.lexsort((minors, majors))
    starts = np.concatenate(([0], np.cumsum(np.bincount(majors, minlength=count))))
    if len(starts) != count + 1:
        raise ValueError(f"entries beyond the {count} that are added")
    return _numbers(starts), _numbers(minors[order]), values[order]


def _round_values(values: NDArray[np.float64], scale: Fraction | int) -> IntArray:
    return np.rint(np.clip(values * float(scale), -NO_BOUND, NO_BOUND)).astype(np.int64)


def _run_until(solver: highspy.Highs, stop: Callable[[], bool]) -> None:
    """Run the solver and ask every now and then whether to stop."""

    def ask(event: highspy.HighsCallbackEvent) -> None:
        if stop():
            event.interrupt()

    moments = (solver.cbSimplexInterrupt, solver.cbIpmInterrupt, solver.cbMipInterrupt)
    for moment in moments:
        moment.subscribe(ask)
    try:
        solver.run()
    finally:
        for moment in moments:
            moment.unsubscribe(ask)
