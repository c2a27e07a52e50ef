"""Search in several processes, which share what they find.

Each works at sizes of its own.

Process i of n searches every n-th size of the grid. After a turn that changed rows it sends these, and takes in between
turns what others have found. Rows of a size are the same wherever they come from, so that nothing depends on who was
first but what is looked for next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Protocol

from topodesign.base.declared import Declared
from topodesign.base.errors import CatalogError
from topodesign.base.processes import check_threads, end_with_parent
from topodesign.catalog.rows import Row
from topodesign.search.state import SearchState

_ASK = 0.5  # seconds after which what was done is reported at the latest


@dataclass(frozen=True)
class StrategyEffort(Declared):
    """What turns of one strategy took and gained."""

    name: str  # of the strategy
    searches: int = 0  # turns
    seconds: float = 0.0  # processor seconds
    gain: float = 0.0  # by how much ratios to the bound are lower

    KEYS = "name searches seconds gain"

    def __add__(self, other: StrategyEffort) -> StrategyEffort:
        """Return what both took."""
        return StrategyEffort(
            self.name, self.searches + other.searches, self.seconds + other.seconds, self.gain + other.gain
        )


def sum_spent(several: Iterable[dict[str, StrategyEffort]]) -> dict[str, StrategyEffort]:
    """Return what all took, by strategy."""
    found: dict[str, StrategyEffort] = {}
    for spent in several:
        for name, one in spent.items():
            found[name] = found.get(name, StrategyEffort(name)) + one
    return found


class Run(Protocol):
    """What a process does: turns, one after the other."""

    state: SearchState
    spent: dict[str, StrategyEffort]

    def turn(self) -> bool:
        """Search once; False if there is nothing left to search."""


def search_in_jobs(
    make: Callable[[int], Run],
    jobs: int,
    seconds: float,
    state: SearchState,
    told: Callable[[dict[str, StrategyEffort]], None],
) -> None:
    """Search in several processes for some time, and keep the results.

    ``make`` returns what process i does, and goes there; ``told`` is called now and then with what all have spent.
    """
    check_threads()
    with _processes(make, jobs, seconds) as pipes:
        spent: list[dict[str, StrategyEffort]] = [{} for _ in pipes]
        owed: list[dict[tuple[int, int], list[Row]]] = [{} for _ in pipes]
        while pipes:
            ready = wait(list(pipes), _ASK)
            for pipe, place in list(pipes.items()):
                if pipe not in ready:
                    continue
                try:
                    spent[place], rows, last = pipe.recv()
                    pipe.send(owed[place])  # each waits for an answer, so that none blocks
                except (EOFError, OSError):
                    raise CatalogError("a process that searches died; start again with fewer --jobs") from None
                owed[place] = {}
                if last:
                    del pipes[pipe]
                for size, several in rows.items():
                    state.merge(size, several)
                    for other in pipes.values():
                        if other != place:
                            owed[other][size] = state.rows[size]
            told(sum_spent(spent))


@contextmanager
def _processes(make: Callable[[int], Run], jobs: int, seconds: float) -> Iterator[dict[Connection, int]]:
    """Start processes and end them in any case; yield their pipes."""
    context = get_context("spawn")
    pairs = [context.Pipe() for _ in range(jobs)]
    those = [
        context.Process(target=_search, args=(there, make, place, seconds), daemon=True)
        for place, (_, there) in enumerate(pairs)
    ]
    try:
        for one, (_, there) in zip(those, pairs, strict=True):
            one.start()
            there.close()
        yield {here: place for place, (here, _) in enumerate(pairs)}
    finally:
        for one in those:
            if one.pid is not None:
                one.terminate()
                one.join()


def _search(pipe: Connection, make: Callable[[int], Run], place: int, seconds: float) -> None:
    """Search, in a process of its own."""
    end_with_parent()
    run = make(place)
    start, told = time.monotonic(), 0.0
    going = True
    while going:
        going = time.monotonic() - start < seconds and run.turn()
        fresh = run.state.take_changed()
        if fresh or not going or time.monotonic() - told > _ASK:
            pipe.send((run.spent, fresh, not going))
            for size, rows in pipe.recv().items():
                run.state.merge(size, rows)
            run.state.take_changed()  # which others have already
            told = time.monotonic()
