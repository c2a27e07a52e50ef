"""Long loops in pieces, with interrupts and progress between them.

Python hears an interrupt between two of its own instructions, and a kernel has none. So what may take long is handed to
kernels piece by piece, each as long as a blink.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import Self, TypeVar

T = TypeVar("T")

SECONDS = 0.1  # how long a piece is to take; one that turns out longer makes the next ones shorter
_GROWTH = 4
Progress = Callable[[float], None]  # called with the share of the work that is done, from 0 to 1


class Share(float):
    """A finished share of the work, with words on its state."""

    words: str

    def __new__(cls, share: float, words: str) -> Self:
        """Return the share with words."""
        made = super().__new__(cls, share)
        made.words = words
        return made


def part(progress: Progress | None, begin: float, end: float) -> Progress | None:
    """Return a reporter for one part of the work, between two shares."""
    if progress is None:
        return None
    return lambda share: progress(begin + share * (end - begin))


def tell(progress: Progress | None, share: float) -> None:
    """Report the finished share of the work, if there is a listener."""
    if progress is not None:
        progress(share)


def iterate_with_progress(items: Collection[T], progress: Progress | None) -> Iterator[T]:
    """Yield items one by one and report the finished share before each."""
    for place, item in enumerate(items):
        tell(progress, place / len(items))
        yield item


def in_pieces(
    total: int,
    work: Callable[[int, int, int], object],
    *,
    first: int,
    workers: int = 1,
    progress: Progress | None = None,
) -> None:
    """Run a loop over 0 to ``total`` in pieces on several threads.

    ``work(worker, begin, end)`` does a piece; a worker does one at a time, ``first`` items at first, as many as take
    about :data:`SECONDS`. What it raises, or an interrupt, is raised here after all threads have ended.
    """
    queue = _Queue(total)
    errors: list[BaseException] = []

    def help_out(worker: int) -> None:
        try:
            queue.run(worker, work, first, None)
        except BaseException as error:  # noqa: BLE001  it is raised where the others wait
            errors.append(error)
            queue.stop()

    helpers = [threading.Thread(target=help_out, args=(worker,), daemon=True) for worker in range(1, workers)]
    started = []
    try:
        with contextlib.suppress(RuntimeError):  # no more threads are to be had
            for helper in helpers:
                helper.start()
                started.append(helper)
        queue.run(0, work, first, progress)
    except BaseException:
        queue.stop()
        raise
    finally:
        for helper in started:
            helper.join()
    if errors:
        raise errors[0]


class _Queue:
    """Items that are left, from which workers take pieces."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._taken = 0
        self._done = 0
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Let workers end after the piece that they are at."""
        with self._lock:
            self._taken = self._total

    def run(self, worker: int, work: Callable[[int, int, int], object], size: int, progress: Progress | None) -> None:
        """Take and do pieces until none are left."""
        while True:
            with self._lock:
                begin = self._taken
                end = self._taken = min(begin + size, self._total)
            if begin == end:
                return
            start = time.perf_counter()
            work(worker, begin, end)
            spent = time.perf_counter() - start
            size = max(1, min(_GROWTH * size, int((end - begin) * SECONDS / max(spent, 1e-9))))
            with self._lock:
                self._done += end - begin
                share = self._done / self._total
            if progress is not None:
                progress(share)
