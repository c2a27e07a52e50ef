"""Programs in whole numbers against all their solutions."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from fractions import Fraction
from subprocess import PIPE, Popen

import numpy as np
import pytest

from topodesign.base.errors import MissingLibraryError
from topodesign.solve import discrete
from topodesign.solve.discrete import MOST, Discrete, answer_to


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
    program.one_of([flags[0], flags[2]])
    program.any_of(flags[:1])
    program.apart(starts, 4, flags)
    for start, flag in zip(starts, flags, strict=True):
        program.row([(1, end), (-1, start)], 4, when=[flag])
    program.minimise([(1, end)])
    assert program.solve(seed=1) == "optimal"
    assert [program.value(flag) for flag in flags] == [1, 1, 0]
    assert {program.value(start) for start in starts[:2]} == {0, 4}
    assert program.bound == program.value(end) == 8


def test_large_numbers_are_exact() -> None:
    program = Discrete()
    one, other = program.number(0, MOST), program.number(0, MOST)
    program.row([(3, one), (-7, other)], MOST - 5, MOST - 5)
    program.minimise([(1, one), (1, other)])
    assert program.solve() == "optimal"
    assert 3 * program.value(one) - 7 * program.value(other) == MOST - 5
    assert program.bound == program.value(one) + program.value(other)
    assert Fraction(float(MOST)) == MOST
    with pytest.raises(ValueError, match="whole numbers"):
        program.number(0, MOST + 1)


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
    big = program.number(0, MOST)
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
    assert subprocess.run(command, stdin=subprocess.DEVNULL, timeout=60, check=False).returncode == 0


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
    with pytest.raises(MissingLibraryError, match=r"needs ortools: pip install 'topodesign\[exact\]'"):
        Discrete().solve()
