"""Many seeds, of which the best is kept: the same whatever the number of workers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from typing import TypeVar

from topodesign.base.deadline import Stopwatch
from topodesign.schedulers.method import Progress

_Result = TypeVar("_Result")


def best_of(
    make: Callable[[int], _Result],
    rank: Callable[[_Result], int],
    tries: int,
    *,
    enough: int = 0,
    jobs: int = 1,
    time_limit: Fraction | None = None,
    progress: Progress | None = None,
) -> tuple[_Result, int, int]:
    """Return the first of the best results, by the least rank, its number, and how many were looked at.

    ``enough`` is a rank that nothing is better than: those after the first that has it are not looked at. Kernels leave
    Python's lock alone, so that threads run side by side. The first result is made whatever the time limit.
    """
    watch = Stopwatch()
    best: tuple[_Result, int] | None = None
    looked = 0
    with ThreadPoolExecutor(jobs) as pool:
        waiting: list[Future[_Result]] = [pool.submit(make, 0)] if jobs > 1 else []
        for number in range(tries):
            if number and time_limit is not None and watch() >= time_limit:
                break
            if jobs > 1:
                while len(waiting) < jobs and number + len(waiting) < tries:
                    waiting.append(pool.submit(make, number + len(waiting)))
                result = waiting.pop(0).result()
            else:
                result = make(number)
            if best is None or rank(result) < rank(best[0]):
                best = result, number
            looked += 1
            if progress is not None:
                progress((number + 1) / tries)
            if rank(best[0]) <= enough:
                break
        for one in waiting:
            one.cancel()
    if best is None:
        raise ValueError("there must be at least one try")
    return *best, looked
