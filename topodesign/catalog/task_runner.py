"""One task of building the catalog, as a process that may be on another machine does it."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Iterable, Sequence

from topodesign.base.cost import Cost
from topodesign.catalog.budgets import Effort
from topodesign.catalog.rows import Row
from topodesign.catalog.tasks import Stage, Task
from topodesign.search.candidate import Candidate
from topodesign.search.finder import Finder
from topodesign.search.target import Found, Target


def run_task(task: Task, known: Sequence[Row], effort: Effort) -> list[Row]:
    """Return all rows that are worth keeping of a size: its frontiers, and what may overtake when it is expanded."""
    candidates = _by_target(known)
    if task.stage is Stage.FIND:
        own = set(task.targets)

        def search(target: Target, costs: Sequence[Cost]) -> Iterable[Found]:
            return effort.find(target, costs) if target in own else ()

        finder = Finder(known=candidates, search=search)
    else:
        finder = Finder(known={target: candidates.get(target, []) for target in task.targets})
        for target in task.targets:
            finder.offer(target, [found.spec for found in effort.refine(target, candidates)])
    kept = [candidate for target in task.targets for candidate in finder.kept(target)]
    rows = {Row.of(task.nodes, task.degree, one): None for one in sorted(kept, key=lambda one: one.rank)}
    return sorted(rows, key=lambda row: row.key)  # the plainest first of those with one price


def _by_target(rows: Iterable[Row]) -> dict[Target, list[Candidate]]:
    """Return candidates by size, those that duplex cabling can wire under both kinds of it."""
    found: dict[Target, list[Candidate]] = {}
    for row in rows:
        candidate = row.candidate
        for duplex in (True, False):
            shelf = found.setdefault(Target(row.nodes, row.degree, duplex), [])
            if row.duplex or not duplex:
                shelf.append(candidate)
    return found


def check_threads() -> None:
    """Raise Python's RuntimeError where no thread can be started, before there are processes that wait for one."""
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def end_with_parent() -> None:
    """Make this process, of a pool, end when the one that started it is gone, however that ended.

    An interrupt of the keyboard goes to both; what becomes of it is the parent's business.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
