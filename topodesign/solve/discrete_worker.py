"""The process in which CP-SAT works: reads programs, a line of JSON each, and writes their answers likewise.

:mod:`~topodesign.solve.discrete` starts it and says why. It ends when nobody listens to it any more.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from typing import Any


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
    """Solve a program as :class:`~topodesign.solve.discrete.Discrete` collects it."""
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
