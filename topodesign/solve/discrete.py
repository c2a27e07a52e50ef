"""A program in whole numbers with choices and intervals, over CP-SAT of OR-tools (``pip install 'topodesign[exact]'``).

    minimise  cost . x   with   linear rows, rows that hold only if some flags are set, and intervals that stay apart.

Variables are whole numbers between two bounds; a *flag* is one of 0 and 1. All that the solver concludes it concludes
in integers, so its ``optimal`` and its bound are proofs as far as it has no faults; its solutions are to be replayed by
whoever asked. With one thread the same program has the same answer every time, unless its time runs out.

The solver works in a process of its own (:mod:`~topodesign.solve.discrete_worker`), which serves one program after
another: OR-tools and HiGHS bring libraries of one name, of which a process can load one. So it also ends at once when
this process does, or is interrupted.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from topodesign.base.errors import MissingLibraryError

Verdict = Literal["optimal", "infeasible", "stopped"]
"""What the solver says. ``stopped``: its time was over; there may be a solution all the same."""

Term = tuple[int, int]  # A coefficient and a variable

MOST = 2**50  # largest absolute value of a variable: the solver tells them exactly, and sums are far from 64 bits


class Discrete:
    """A program, empty at first. Variables are called by the numbers that the methods return."""

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {"numbers": [], "rows": [], "any": [], "one": [], "implies": [], "apart": []}
        self._answer: dict[str, Any] = {}

    def number(self, lower: int, upper: int) -> int:
        """Add a whole number between two bounds and return what it is called."""
        if max(abs(lower), abs(upper)) > MOST:
            raise ValueError(f"whole numbers are between -{MOST} and {MOST}")
        self._parts["numbers"].append((lower, upper))
        return len(self._parts["numbers"]) - 1

    def flag(self) -> int:
        """Add a flag and return what it is called."""
        return self.number(0, 1)

    def row(self, terms: Iterable[Term], lower: int, upper: int = MOST, *, when: Sequence[int] = ()) -> None:
        """Hold a sum between two bounds, if all of some flags are set."""
        self._parts["rows"].append((list(terms), lower, upper, list(when)))

    def any_of(self, flags: Iterable[int]) -> None:
        """Have at least one of some flags set."""
        self._parts["any"].append(list(flags))

    def one_of(self, flags: Iterable[int]) -> None:
        """Have exactly one of some flags set."""
        self._parts["one"].append(list(flags))

    def implies(self, flag: int, other: int) -> None:
        """Have a flag set if another is."""
        self._parts["implies"].append((flag, other))

    def apart(
        self, starts: Sequence[int], length: int, flags: Sequence[int], offsets: Sequence[int] | None = None
    ) -> None:
        """Keep intervals apart, all of one length, whose flags are set; each may begin so much after its start."""
        self._parts["apart"].append(
            (list(starts), length, list(flags), [0] * len(starts) if offsets is None else list(offsets))
        )

    def minimise(self, terms: Iterable[Term]) -> None:
        """Say what is to be as small as possible."""
        self._parts["minimise"] = list(terms)

    def solve(self, *, seconds: float | None = None, jobs: int = 1, seed: int = 0) -> Verdict:
        """Solve, and return what the solver says; raises MissingLibraryError if OR-tools is not installed."""
        self._answer = _WORKER.ask(self._parts | {"seconds": seconds, "jobs": jobs, "seed": seed})
        if "missing" in self._answer:
            raise MissingLibraryError(
                f"an exact search needs {self._answer['missing']}: pip install 'topodesign[exact]'"
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
                [sys.executable, "-m", "topodesign.solve.discrete_worker"],
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
