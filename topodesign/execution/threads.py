"""Single-process transport: one thread and message queue per rank."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from typing import Any

from topodesign.execution.workspace import Array, Outcome, Part, Trial, Workspace, time_parts

_Parcel = tuple[int, int, Array]  # who sends, the tag, and the elements; they stay as they are until all ranks are done


class _StoppedError(Exception):
    """Another rank has failed, or the program is to end."""


class Exchange:
    """The queues of all ranks."""

    def __init__(self, spaces: Sequence[Workspace]) -> None:
        self._spaces = spaces
        self._queues: list[SimpleQueue[_Parcel | None]] = [SimpleQueue() for _ in spaces]

    def move(self, rank: int, meet: Callable[[int], None] = lambda _: None) -> None:
        """Run all operations of a rank in its own thread.

        All ranks must run concurrently; they meet before each phase.
        """
        space, queue = self._spaces[rank], self._queues[rank]
        arrived: dict[tuple[int, int], Array] = {}

        def carry(number: int) -> None:
            batch = space.batches[number]
            for slot in batch.sends:
                # What is sent is copied once, since the sender goes on before the receiver has it.
                data = slot.buffer.copy() if slot.straight else slot.buffer
                self._queues[slot.message.peer].put((rank, slot.message.tag, data))
            for slot in batch.receives:
                while slot.message.name not in arrived:
                    one = queue.get()
                    if one is None:
                        raise _StoppedError
                    arrived[one[0], one[1]] = one[2]
                slot.arrived = arrived.pop(slot.message.name)

        space.move(carry, meet)

    def stop(self) -> None:
        """Wake all ranks, which end then."""
        for queue in self._queues:
            queue.put(None)


class Crew:
    """Cooperating threads that all stop on a failure or at exit."""

    def __init__(self, count: int, wake: Callable[[], None]) -> None:
        self._count, self._wake = count, wake
        self._barrier = threading.Barrier(count)
        self._values: list[Any] = [None] * count
        self._failures: list[BaseException] = []

    def meet(self) -> None:
        """Wait for all others."""
        self._barrier.wait()

    def gather(self, rank: int, value: Any) -> list[Any]:
        """Return the values of all ranks, which all of them call this with."""
        self._values[rank] = value
        self.meet()
        found = list(self._values)
        self.meet()
        return found

    def run(self, work: Callable[[int], None]) -> None:
        """Run the work of every rank and raise the first failure."""

        def guarded(rank: int) -> None:
            try:
                work(rank)
            except (_StoppedError, threading.BrokenBarrierError):
                pass
            except BaseException as error:  # noqa: BLE001  raised again below
                self._failures.append(error)
                self._end()

        threads = [threading.Thread(target=guarded, args=(rank,), daemon=True) for rank in range(self._count)]
        started = []
        try:
            for one in threads:
                one.start()
                started.append(one)
            for one in started:
                one.join()
        except BaseException:
            self._end()
            for one in started:
                one.join()
            raise
        if self._failures:
            raise self._failures[0]

    def _end(self) -> None:
        self._barrier.abort()
        self._wake()


def run_trial(trial: Trial, progress: Callable[[float], None]) -> Outcome:
    """Run a trial in one process; see :class:`~topodesign.execution.workspace.Trial`."""
    spaces = [trial.workspace(rank) for rank in range(trial.ranks)]
    exchange = Exchange(spaces)
    crew = Crew(trial.ranks, exchange.stop)
    found: list[Outcome] = []

    def work(rank: int) -> None:
        def meet(phase: int) -> None:
            crew.meet()
            trial.change(rank, phase)
            crew.meet()

        part = Part(spaces[rank].fill, partial(exchange.move, rank, meet), spaces[rank].wrong)
        tell = progress if rank == 0 else (lambda _: None)
        outcomes = time_parts(trial, rank, [part], crew.meet, partial(crew.gather, rank), progress=tell)
        found.extend(outcomes if rank == 0 else ())

    crew.run(work)
    return found[0]
