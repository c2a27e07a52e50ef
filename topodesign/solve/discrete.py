"""Integer programs with choices and intervals, by CP-SAT of OR-tools.

``pip install 'topodesign[exact]'``.

    minimise  cost . x   with   linear rows, rows that hold only if some flags are set, and intervals that stay apart.

Variables are whole numbers between two bounds; a *flag* is one of 0 and 1. All that the solver concludes it concludes
in integers, so its ``optimal`` and its bound are proofs as far as it has no faults; its solutions are to be replayed by
whoever asked. With one thread the same program has the same answer every time, unless its time runs out.

The solver works in a process of its own, this module's :func:`main`, which reads programs, a line of JSON each, and
writes their answers likewise: OR-tools and HiGHS bring libraries of one name, of which a process can load one. So it
also ends at once when this process does, or is interrupted.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from topodesign.base.errors import MissingLibraryError

Verdict = Literal["optimal", "infeasible", "stopped"]
"""What the solver says. ``stopped``: its time was over; there may be a solution all the same."""

Term = tuple[int, int]  # A coefficient and a variable

MAX = 2**50  # largest absolute value of a variable: the solver tells them exactly, and sums are far from 64 bits


class Discrete:
    """An integer program, empty at first, with numbered variables."""

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {"numbers": [], "rows": [], "any": [], "one": [], "implies": [], "apart": []}
        self._answer: dict[str, Any] = {}

    def number(self, lower: int, upper: int) -> int:
        """Add an integer between two bounds and return its number."""
        if max(abs(lower), abs(upper)) > MAX:
            raise ValueError(f"whole numbers are between -{MAX} and {MAX}")
        self._parts["numbers"].append((lower, upper))
        return len(self._parts["numbers"]) - 1

    def flag(self) -> int:
        """Add a flag and return what it is called."""
        return self.number(0, 1)

    def row(self, terms: Iterable[Term], lower: int, upper: int = MAX, *, when: Sequence[int] = ()) -> None:
        """Bound a sum on both sides, if all of some flags are set."""
        self._parts["rows"].append((list(terms), lower, upper, list(when)))

    def require_any(self, flags: Iterable[int]) -> None:
        """Have at least one of some flags set."""
        self._parts["any"].append(list(flags))

    def require_one(self, flags: Iterable[int]) -> None:
        """Have exactly one of some flags set."""
        self._parts["one"].append(list(flags))

    def implies(self, flag: int, other: int) -> None:
        """Have a flag set if another is."""
        self._parts["implies"].append((flag, other))

    def keep_apart(
        self, starts: Sequence[int], length: int, flags: Sequence[int], offsets: Sequence[int] | None = None
    ) -> None:
        """Keep equal intervals with set flags apart, each within a delay of its start."""
        self._parts["apart"].append(
            (list(starts), length, list(flags), [0] * len(starts) if offsets is None else list(offsets))
        )

    def minimise(self, terms: Iterable[Term]) -> None:
        """Say what is to be as small as possible."""
        self._parts["minimise"] = list(terms)

    def solve(self, *, seconds: float | None = None, jobs: int = 1, seed: int = 0) -> Verdict:
        """Solve, and return the status; MissingLibraryError without OR-tools."""
        self._answer = _WORKER.ask(self._parts | {"seconds": seconds, "jobs": jobs, "seed": seed})
        if "missing" in self._answer:
            raise MissingLibraryError(
                f"an exact search requires {self._answer['missing']}: pip install 'topodesign[exact]'"
            )
        if "fault" in self._answer:
            raise ValueError(f"the solver refuses this: {self._answer['fault']}")
        verdict: Verdict = self._answer["verdict"]
        return verdict

    @property
    def solved(self) -> bool:
        """Whether there are values of a solution, the best or another."""
        return bool(self._answer.get("values"))

    @property
    def bound(self) -> int:
        """What no solution costs less than; a proof like ``optimal``."""
        return int(self._answer["bound"])

    def value(self, variable: int) -> int:
        """Return a variable's value in the solution."""
        if not self.solved:
            raise RuntimeError("the program has no solution, or was not solved")
        return int(self._answer["values"][variable])


class _Worker:
    """The process of the solver, started when it is first asked."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def ask(self, program: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a program."""
        if self._process is not None and self._process.poll() is not None:
            self.end()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "topodesign.solve.discrete"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            atexit.register(self.end)
        process = self._process
        try:
            print(json.dumps(program), file=process.stdin, flush=True)
            line = process.stdout.readline() if process.stdout is not None else ""
            answer: dict[str, Any] = json.loads(line)
        except (OSError, ValueError):
            self.end()
            raise RuntimeError("the process of the solver has ended; was its memory not enough?") from None
        except BaseException:
            self.end()
            raise
        return answer

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


_WORKER = _Worker()


# -- the process of the solver -----------------------------------------------------------------------------------------


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, to all its processes: who asked will say
    waiting: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(waiting,), daemon=True).start()
    while True:
        print(json.dumps(answer_to(json.loads(waiting.get()))), flush=True)


def _listen(waiting: queue.Queue[str]) -> None:
    for line in sys.stdin:
        waiting.put(line)
    os._exit(0)  # even if the solver is at work


def answer_to(program: dict[str, Any]) -> dict[str, Any]:
    """Solve a program as :class:`Discrete` collects it."""
    try:
        from ortools.sat.python import cp_model as cp  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        return {"missing": str(error.name).partition(".")[0]}
    model, solver = cp.CpModel(), cp.CpSolver()
    names = [model.new_int_var(lower, upper, "") for lower, upper in program["numbers"]]

    def total(terms: list[list[int]]) -> Any:
        return cp.LinearExpr.weighted_sum([names[name] for _, name in terms], [factor for factor, _ in terms])

    for terms, lower, upper, when in program["rows"]:
        row = model.add_linear_constraint(total(terms), lower, upper)
        if when:
            row.only_enforce_if([names[flag] for flag in when])
    for flags in program["any"]:
        model.add_bool_or([names[flag] for flag in flags])
    for flags in program["one"]:
        model.add_exactly_one([names[flag] for flag in flags])
    for flag, other in program["implies"]:
        model.add_implication(names[flag], names[other])
    for starts, length, flags, offsets in program["apart"]:
        model.add_no_overlap(
            model.new_optional_fixed_size_interval_var(names[start] + offset, length, names[flag], "")
            for start, flag, offset in zip(starts, flags, offsets, strict=True)
        )
    if "minimise" in program:
        model.minimize(total(program["minimise"]))
    fault = model.validate()
    if fault:
        return {"fault": fault}
    solver.parameters.num_workers = program["jobs"]
    solver.parameters.random_seed = program["seed"]
    solver.parameters.catch_sigint_signal = False
    if program["seconds"] is not None:
        solver.parameters.max_time_in_seconds = program["seconds"]
    status = solver.solve(model)
    found = status in {cp.OPTIMAL, cp.FEASIBLE}
    return {
        "verdict": {cp.OPTIMAL: "optimal", cp.INFEASIBLE: "infeasible"}.get(status, "stopped"),
        "values": [solver.value(name) for name in names] if found else [],
        # Told as a float, but of an integer, which floats hold.
        "bound": round(solver.best_objective_bound) if "minimise" in program else 0,
    }


if __name__ == "__main__":
    main()
