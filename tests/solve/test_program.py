"""The growing program and its proofs: certificates checked from their definition, and against brute force."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from fractions import Fraction
from subprocess import PIPE, Popen

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.floors import reached
from topodesign.base.errors import MissingLibraryError
from topodesign.solve import discrete
from topodesign.solve.certificate import Basis, Certificate
from topodesign.solve.discrete import MAX, Discrete, answer_to
from topodesign.solve.program import NO_BOUND, Entries, Program
from topodesign.solve.whole import find_whole

Random = np.random.Generator


class Dense:
    """A program kept beside the other as plain matrices."""

    def __init__(self, columns: int, rng: Random, unit: int = 1) -> None:
        self.program, self.unit = Program(unit=unit), unit
        self.matrix = np.zeros((0, columns), dtype=np.int64)
        self.cost = rng.integers(-9, 10, columns)
        self.bounds = [np.zeros(columns, dtype=np.int64), rng.integers(1, 9, columns) * unit]
        self.limits = [np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)]
        self.program.add_columns(columns, cost=self.cost, lower=self.bounds[0], upper=self.bounds[1])

    def add_rows(self, count: int, rng: Random) -> None:
        more = rng.integers(-4, 5, (count, self.matrix.shape[1])) * rng.integers(0, 2, (count, self.matrix.shape[1]))
        middle = more @ self.bounds[1] // 2  # so that about half of all columns keeps all rows
        low, high = middle - rng.integers(0, 9, count) * self.unit, middle + rng.integers(0, 9, count) * self.unit
        low, high = np.where(rng.random(count) < 0.3, -NO_BOUND, low), np.where(rng.random(count) < 0.3, NO_BOUND, high)
        row, column = np.nonzero(more)
        size = 10 ** rng.integers(0, 4, count)  # hints to the solver, which proofs do not use
        self.program.add_rows(count, Entries(row, column, more[row, column]), lower=low, upper=high, size=size)
        self.matrix = np.vstack((self.matrix, more))
        self.limits = [np.r_[self.limits[0], low], np.r_[self.limits[1], high]]

    def add_columns(self, count: int, rng: Random) -> None:
        more = rng.integers(-4, 5, (len(self.matrix), count))
        row, column = np.nonzero(more)
        cost, upper = rng.integers(-9, 10, count), rng.integers(1, 9, count) * self.unit
        entries = Entries(row, column, more[row, column])
        self.program.add_columns(count, cost=cost, upper=upper, entries=entries)
        self.matrix = np.hstack((self.matrix, more))
        self.cost = np.r_[self.cost, cost]
        self.bounds = [np.r_[self.bounds[0], np.zeros(count, dtype=np.int64)], np.r_[self.bounds[1], upper]]

    def check(self, found: Certificate) -> Fraction:
        """The definition: all bounds are kept, and the prices prove as much as the columns cost."""
        assert found.proven
        columns, prices = found.columns, found.prices
        activity = [sum((int(a) * x for a, x in zip(row, columns, strict=True)), Fraction(0)) for row in self.matrix]
        for value, low, high in zip((*columns, *activity), *self.all_bounds(), strict=True):
            assert low <= value <= high
        left = [
            int(cost) - sum((int(a) * y for a, y in zip(column, prices, strict=True)), Fraction(0))
            for cost, column in zip(self.cost, self.matrix.T, strict=True)
        ]
        worth = Fraction(0)
        for price, low, high in zip((*left, *prices), *self.all_bounds(), strict=True):
            at = low if price > 0 else high
            assert not price or abs(at) < NO_BOUND
            worth += price * at
        value = sum((int(c) * x for c, x in zip(self.cost, columns, strict=True)), Fraction(0))
        assert worth == value
        return value

    def all_bounds(self) -> tuple[list[int], list[int]]:
        """Lower and upper ones of the columns and then of the rows."""
        low, high = (np.concatenate(both).tolist() for both in zip(self.bounds, self.limits, strict=True))
        return low, high


@pytest.mark.floor(certified=60)
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 8), st.integers(1, 8), st.sampled_from([1, 1000, 10**12]))
def test_certificates_of_programs_that_grow(seed: int, columns: int, rows: int, unit: int) -> None:
    rng = np.random.default_rng(seed)
    dense = Dense(columns, rng, unit)
    value: Fraction | None = None
    for part in range(3):
        dense.add_rows(rows, rng)
        status = dense.program.solve()
        if status == "infeasible":
            return
        assert status == "optimal"
        reached("certified")
        found = dense.program.certificate()
        less = dense.check(found)
        assert value is None or less >= value  # rows only take solutions away
        bound = dense.program.bound([1, 7, 60, 2520])
        assert bound is not None
        assert bound <= less
        scale = Fraction(1000, unit)
        rounded = [round(float(x * scale)) for x in found.columns]
        assert np.all(np.abs(dense.program.values(scale) - rounded) <= 1)
        if part == 1:
            dense.add_columns(2, rng)
            assert dense.program.solve() == "optimal"  # the new ones may be zero
            value = dense.check(dense.program.certificate())
            assert value <= less
        else:
            value = less


@pytest.mark.floor(infeasible=2, optimal=10)
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_whole_columns_against_brute_force(seed: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    cost, rows = rng.integers(-9, 10, columns), rng.integers(-5, 6, (2, columns))
    upper, limit = rng.integers(0, 4, columns), rng.integers(-5, 12, 2)
    points = np.array(list(itertools.product(*(range(high + 1) for high in upper.tolist()))))
    allowed = points[(points @ rows.T <= limit).all(axis=1)]
    program = Program()
    program.add_columns(columns, cost=cost, upper=upper, whole=True)
    row, column = np.nonzero(rows)
    program.add_rows(2, Entries(row, column, rows[row, column]), upper=limit)
    status = program.solve()
    if not len(allowed):
        assert status == "infeasible"
        assert not program.solved
        reached("infeasible")
    else:
        assert status == "optimal"
        assert (program.values() == allowed).all(axis=1).any()
        assert cost @ program.values() == (allowed @ cost).min()
        reached("optimal")


def test_changes_of_costs_and_bounds() -> None:
    program = Program()
    columns = program.add_columns(2, cost=[-3, -2], upper=10)
    rows = program.add_rows(2, Entries([0, 0, 1, 1], [0, 1, 0, 1], [3, 7, 5, 2]), upper=[40, 31])
    assert program.solve() == "optimal"
    assert list(program.certificate().columns) == [Fraction(137, 29), Fraction(107, 29)]
    assert list(program.certificate().prices) == [Fraction(-4, 29), Fraction(-15, 29)]
    assert program.bound([29]) == Fraction(-625, 29)
    program.change_rows(rows[:1], upper=NO_BOUND)
    assert not program.solved
    assert program.solve() == "optimal"
    assert list(program.certificate().columns) == [Fraction(11, 5), 10]
    program.change_columns(columns[1:], cost=1, lower=-5)
    assert program.solve() == "optimal"
    assert list(program.certificate().columns) == [Fraction(41, 5), -5]
    program.change_rows(rows[:1], lower=31, upper=NO_BOUND)
    program.change_columns(columns, upper=[1, 4])
    assert program.solve() == "optimal"
    assert list(program.certificate().columns) == [1, 4]


def test_statuses() -> None:
    program = Program()
    column = program.add_columns(1, cost=-1)
    assert program.solve() == "unbounded"
    row = program.add_rows(1, Entries([0], column, 1), upper=4)
    assert program.solve() == "optimal"
    assert program.values().tolist() == [4]
    program.change_rows(row, lower=-NO_BOUND, upper=-1)
    assert program.solve() == "infeasible"
    with pytest.raises(RuntimeError, match="no solution"):
        program.values()
    with pytest.raises(RuntimeError, match="no solution"):
        program.certificate()


def test_entries_of_one_place_add_up() -> None:
    row, column, value = (np.array(some) for some in ([1, 0, 1, 0], [2, 1, 2, 0], [3, 4, -1, 5]))
    entries = Entries.sum_equal(row, column, value)
    assert [np.asarray(some).tolist() for some in entries] == [[0, 0, 1], [0, 1, 2], [5, 4, 2]]


def test_an_empty_program() -> None:
    program = Program()
    program.add_columns(3, upper=2)
    assert program.solve() == "optimal"
    assert program.certificate().proven
    assert program.bound([1]) == 0


def knapsack(items: int) -> Program:
    """One that takes long: weights and values are the same, two rows, and numbers without a common divisor."""
    rng = np.random.default_rng(1)
    weights = rng.integers(10**5, 10**6, (4, items))
    program = Program()
    program.add_columns(items, cost=-weights[0], upper=1, whole=True)
    row, column = np.indices(weights.shape)
    entries = Entries(row.ravel(), column.ravel(), weights.ravel())
    program.add_rows(4, entries, upper=weights.sum(axis=1) // 2 - 1)
    return program


def test_limits() -> None:
    program = knapsack(60)
    assert program.solve(seconds=0.2) == "stopped"
    assert program.solve(seconds=0.2) == "stopped"  # the clock starts anew
    assert program.solve(nodes=1) == "stopped"


def test_bounds_hold_whatever_the_solver_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices out of nowhere, or the right ones a little off, prove less, never what is wrong."""
    rng = np.random.default_rng(5)
    dense = Dense(6, rng)
    dense.add_rows(5, rng)
    assert dense.program.solve() == "optimal"
    best = dense.check(dense.program.certificate())
    columns, prices = dense.program._solution()
    for sample in range(200):
        wrong = (prices if sample % 2 else 0) + 10.0 ** -rng.integers(0, 6) * rng.normal(size=len(prices))
        dense.program._point = columns, wrong
        bound = dense.program.bound([1, 60])
        assert bound is not None
        assert bound <= best
    monkeypatch.setattr(dense.program, "_basis", lambda: None)
    dense.program._point = columns, prices
    assert not dense.program.certificate().proven


def test_a_bound_needs_bounds() -> None:
    program = Program()
    program.add_columns(2, cost=[1, 1], lower=-NO_BOUND)
    program.add_rows(1, Entries([0, 0], [0, 1], [1, 2]), lower=1, upper=1)
    program.add_rows(1, Entries([0], [1], [1]), lower=-4)
    program.add_rows(1, Entries([0], [1], [1]), upper=5)
    assert program.solve() == "optimal"
    assert list(program.certificate().columns) == [-9, 5]
    assert program.bound([1]) == -4
    program._point = program._solution()[0], np.zeros(3)
    assert program.bound([1]) is None


def test_a_wrong_basis_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    dense = Dense(6, rng)
    dense.add_rows(6, rng)
    assert dense.program.solve() == "optimal"
    best = dense.check(dense.program.certificate())
    right = dense.program._basis()
    assert right is not None
    proven = 0
    for _ in range(200):
        free = rng.permutation(np.concatenate((right.free, right.row_free)))
        inverse = np.linalg.pinv(dense.matrix[~free[6:]][:, free[:6]])
        value, row_value = dense.bounds[rng.integers(2)], dense.limits[rng.integers(2)]
        basis = Basis(free[:6], value, free[6:], row_value, inverse.__matmul__, inverse.T.__matmul__)
        monkeypatch.setattr(dense.program, "_basis", lambda basis=basis: basis)
        found = dense.program.certificate()
        if found.proven:
            proven += 1
            assert dense.check(found) == best
    assert proven < 200


def hilbert(size: int) -> Program:
    """Equations so ill-conditioned that floats have no right digit."""
    common = int(np.lcm.reduce(np.arange(1, 2 * size)))
    row, column = (index.ravel() for index in np.indices((size, size)))
    program = Program()
    program.add_columns(size, lower=-NO_BOUND)
    program.add_rows(size, Entries(row, column, common // (row + column + 1)), lower=common, upper=common)
    return program


def test_fractions_where_floats_have_few_digits() -> None:
    program = hilbert(6)
    program.solve()
    found = program.certificate()
    assert found.proven
    assert list(found.columns) == [-6, 210, -1680, 5040, -6300, 2772]


def test_large_fractions() -> None:
    """A chain x(i + 1) = x(i) p(i) / q(i), whose last value takes hundreds of bits."""
    size = 40
    program = Program()
    program.add_columns(size, cost=[1] + [0] * (size - 1), lower=[1] + [-NO_BOUND] * (size - 1))
    p, q = 997 + 2 * np.arange(size - 1), 1009 + 3 * np.arange(size - 1)
    at = np.arange(size - 1)
    entries = Entries(np.concatenate((at, at)), np.concatenate((at, at + 1)), np.concatenate((p, -q)))
    program.add_rows(size - 1, entries, lower=0, upper=0)
    assert program.solve() == "optimal"
    found = program.certificate()
    assert found.proven
    value = Fraction(1)
    for i in range(size - 1):
        value *= Fraction(int(p[i]), int(q[i]))
        assert found.columns[i + 1] == value


def test_numbers_that_are_not_whole_are_refused() -> None:
    program = Program()
    with pytest.raises(TypeError):
        program.add_columns(1, cost=0.5)
    program.add_columns(2)
    with pytest.raises(ValueError, match="twice"):
        program.add_rows(1, Entries([0, 0], [0, 0], [1, 1]))
    with pytest.raises(ValueError, match="beyond"):
        program.add_rows(1, Entries([0, 1], [0, 1], [1, 1]))
    with pytest.raises(ValueError, match="out of range"):
        program.add_rows(1, Entries([0], [2], [1]))


# -- Whole numbers that satisfy rows: found where brute force finds some, and else proven not to be there


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_agrees_with_brute_force(data: st.DataObject) -> None:
    columns, rows = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    upper = np.array(data.draw(st.lists(st.integers(0, 3), min_size=columns, max_size=columns)))
    numbers = st.lists(st.integers(-3, 3), min_size=columns, max_size=columns)
    matrix = np.array(data.draw(st.lists(numbers, min_size=rows, max_size=rows)))
    least = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=rows, max_size=rows)))
    most = least + np.array(data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
    row, column = np.nonzero(matrix)
    found = find_whole(upper, Entries(row, column, matrix[row, column]), least, most, seconds=10)
    every = (np.array(point) for point in itertools.product(*(range(most_ + 1) for most_ in upper)))
    there = any(np.all((matrix @ point >= least) & (matrix @ point <= most)) for point in every)
    assert (found.values is not None) == there
    assert found.proven == (not there)
    if found.values is not None:
        assert np.all((found.values >= 0) & (found.values <= upper))
        assert np.all((matrix @ found.values >= least) & (matrix @ found.values <= most))


def test_rows_without_bounds_hold() -> None:
    found = find_whole(np.array([5]), Entries([0], [0], [1]), [3], [NO_BOUND], seconds=5)
    assert found.values is not None
    assert found.values[0] >= 3


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 3), min_size=3, max_size=5))
def test_of_all_solutions_one_of_least_cost_is_taken_whatever_the_order_of_rows(
    cost: list[int],
) -> None:
    """Two rows, each of which wants three of some columns: the order in which they are given must not matter."""
    columns = len(cost)
    upper, matrix = np.full(columns, 2), np.array([[1] * columns, [1, 1, *[0] * (columns - 2)]])
    every = [np.array(one) for one in itertools.product(range(3), repeat=columns)]
    least = min(int(one @ cost) for one in every if np.all(matrix @ one >= [3, 1]))
    found = []
    for order in ([0, 1], [1, 0]):
        row, column = np.nonzero(matrix[order])
        bounds = np.array([3, 1])[order]
        one = find_whole(upper, Entries(row, column, 1), bounds, [NO_BOUND] * 2, seconds=10, cost=np.array(cost))
        assert one.settled
        assert one.values is not None
        found.append(one.values)
    assert np.array_equal(found[0], found[1])
    assert int(found[0] @ cost) == least


# -- Programs in whole numbers against all their solutions


@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_all_solutions(seed: int) -> None:
    """Rows, some of which hold if a flag is set, against going through all values."""
    random = np.random.default_rng(seed)
    factors = random.integers(-3, 4, size=(3, 4))
    lower = random.integers(-4, 3, size=3)
    costs = random.integers(-5, 6, size=4)
    program = Discrete()
    names = [*(program.number(-1, 2) for _ in range(3)), program.flag()]
    for place, row in enumerate(factors.tolist()):
        program.row(zip(row, names, strict=True), int(lower[place]), when=[names[3]] if place == 0 else [])
    program.minimise(zip(costs.tolist(), names, strict=True))
    points = [
        point
        for point in itertools.product(*[range(-1, 3)] * 3, range(2))
        if all(factors[at] @ point >= lower[at] for at in range(3) if at or point[3])
    ]
    verdict = program.solve()
    assert verdict == ("optimal" if points else "infeasible")
    assert program.solved == bool(points)
    if points:
        check_best(program, names, points, costs)


def check_best(
    program: Discrete,
    names: list[int],
    points: list[tuple[int, ...]],
    costs: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> None:
    found = tuple(program.value(name) for name in names)
    assert found in points
    assert costs @ found == program.bound == min(int(costs @ point) for point in points)


def test_choices_and_intervals() -> None:
    """Three tasks of 4, two of which are done, one after the other, for one of them must be."""
    program = Discrete()
    flags = [program.flag() for _ in range(3)]
    starts = [program.number(0, 100) for _ in range(3)]
    end = program.number(0, 100)
    program.row([(1, flag) for flag in flags], 2)
    program.implies(flags[0], flags[1])
    program.require_one([flags[0], flags[2]])
    program.require_any(flags[:1])
    program.keep_apart(starts, 4, flags)
    for start, flag in zip(starts, flags, strict=True):
        program.row([(1, end), (-1, start)], 4, when=[flag])
    program.minimise([(1, end)])
    assert program.solve(seed=1) == "optimal"
    assert [program.value(flag) for flag in flags] == [1, 1, 0]
    assert {program.value(start) for start in starts[:2]} == {0, 4}
    assert program.bound == program.value(end) == 8


def test_large_numbers_are_exact() -> None:
    program = Discrete()
    one, other = program.number(0, MAX), program.number(0, MAX)
    program.row([(3, one), (-7, other)], MAX - 5, MAX - 5)
    program.minimise([(1, one), (1, other)])
    assert program.solve() == "optimal"
    assert 3 * program.value(one) - 7 * program.value(other) == MAX - 5
    assert program.bound == program.value(one) + program.value(other)
    assert Fraction(float(MAX)) == MAX
    with pytest.raises(ValueError, match="whole numbers"):
        program.number(0, MAX + 1)


def test_time_is_over() -> None:
    """Pigeons in holes, with nothing to tell them apart."""
    program = Discrete()
    flags = [[program.flag() for _ in range(30)] for _ in range(31)]
    for row in flags:
        program.row([(1, flag) for flag in row], 1)
    for column in zip(*flags, strict=True):
        for one, other in itertools.combinations(column, 2):
            program.row([(1, one), (1, other)], 0, 1)
    assert program.solve(seconds=0.05) in {"stopped", "infeasible"}
    assert not program.solved
    with pytest.raises(RuntimeError, match="no solution"):
        program.value(flags[0][0])


def test_what_the_solver_refuses_is_said() -> None:
    program = Discrete()
    big = program.number(0, MAX)
    program.row([(2**60, big)], 0)
    with pytest.raises(ValueError, match="refuses"):
        program.solve()


@pytest.mark.dear
def test_its_process_ends_with_ours_and_is_started_again() -> None:
    program = Discrete()
    program.minimise([(1, program.number(3, 5))])
    assert program.solve() == "optimal"
    discrete._WORKER.end()
    assert program.solve() == "optimal"
    worker = discrete._WORKER._process
    assert worker is not None
    worker.kill()
    worker.wait()
    assert program.solve() == "optimal"
    command = [sys.executable, "-m", "topodesign.solve.discrete"]
    assert subprocess.run(command, stdin=subprocess.DEVNULL, timeout=600, check=False).returncode == 0


def test_the_process_answers_in_plain_data() -> None:
    asked = {"numbers": [(0, 9)], "rows": [([(1, 0)], 4, 9, [])], "any": [], "one": [], "implies": [], "apart": []}
    asked |= {"minimise": [(1, 0)], "seconds": None, "jobs": 1, "seed": 0}
    command = [sys.executable, "-m", "topodesign.solve.discrete"]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        print(json.dumps(asked), file=worker.stdin, flush=True)
        assert json.loads(worker.stdout.readline()) == {"verdict": "optimal", "values": [4], "bound": 4}
        worker.stdin.close()


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    assert answer_to({}) == {"missing": "ortools"}
    monkeypatch.setattr(discrete._WORKER, "ask", answer_to)
    with pytest.raises(MissingLibraryError, match=r"requires ortools: pip install 'topodesign\[exact\]'"):
        Discrete().solve()


def test_parts_of_numbers_are_no_entries() -> None:
    with pytest.raises(ValueError, match="whole"):
        Entries.of(sparse.coo_array([[1.0, 0.5]]))
    assert np.asarray(Entries.of(sparse.coo_array([[1.0, 2.0]])).value).tolist() == [1, 2]
