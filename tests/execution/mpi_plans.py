"""A program for mpirun: runs the plans that its arguments name, and prints what came of them, on rank 0."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Any

from topodesign import run_plan, schedule
from topodesign.execution.workspace import Workspace


def main() -> None:
    """Run plans given as JSON: lists of a place, a collective and options of ``schedule``."""
    results = []
    for place, collective, options in json.loads(sys.argv[1]):
        if options.pop("fail", False):
            Workspace.wrong = failing  # type: ignore[assignment, method-assign]
        result = run_plan(
            partial(schedule, place, collective, **options),
            size=[100, 3 * 2**14],
            iterations=2,
            warmup=1,
            transport="mpi",
        )
        results.append(result.record())
        if not result.rank:
            print(json.dumps(results[-1]), flush=True)


def failing(space: Workspace, _factor: Any) -> tuple[int, str]:
    """Fail on one rank; the others would wait for it."""
    if space.program.rank == 1:
        raise OSError("the disk is on fire")
    return 0, ""


if __name__ == "__main__":
    main()
