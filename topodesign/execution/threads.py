"""Single-process transport: one thread and message queue per rank."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from topodesign.execution.workspace import Array, Outcome, Trial, Workspace, coefficients

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
        for batch in space.script:
            if batch.phase:
                meet(batch.phase)
            for at in batch.sends:
                slot = space.sends[at]
                data = slot.gather()
                # What is sent is copied once, since the sender goes on before the receiver has it.
                parcel = rank, slot.message.tag, data.copy() if slot.straight else data
                self._queues[slot.message.peer].put(parcel)
            wanted = {space.receives[at].message.name for at in batch.receives}
            while not wanted <= arrived.keys():
                one = queue.get()
                if one is None:
                    raise _StoppedError
                arrived[one[0], one[1]] = one[2]
            for at in batch.places:
                slot = space.receives[at]
                slot.place(arrived.pop(slot.message.name))
            for at in batch.sums:
                space.add_up(at)

    def stop(self) -> None:
        """Wake all ranks, which end then."""
        for queue in self._queues:
            queue.put(None)


class Crew:
    """Cooperating threads that all stop on a failure or at exit."""

    def __init__(self, count: int, wake: Callable[[], None]) -> None:
        self._count, self._wake = count, wake
        self._barrier = threading.Barrier(count)
        self._failures: list[BaseException] = []

    def meet(self) -> None:
        """Wait for all others."""
        self._barrier.wait()

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
    rounds = trial.warmup + trial.iterations
    begun, ended = ([[0] * trial.ranks for _ in range(rounds)] for _ in range(2))
    wrong = [(0, "")] * trial.ranks

    def work(rank: int) -> None:
        def meet(phase: int) -> None:
            crew.meet()
            trial.change(rank, phase)
            crew.meet()

        for number in range(rounds):
            factor = coefficients(trial.ranks, number)
            spaces[rank].fill(factor)
            trial.change(rank, 0)
            crew.meet()
            begun[number][rank] = time.perf_counter_ns()
            exchange.move(rank, meet)
            ended[number][rank] = time.perf_counter_ns()
            crew.meet()
            count, first = spaces[rank].wrong(factor)
            wrong[rank] = (wrong[rank][0] + count, wrong[rank][1] or first)
            if rank == 0:
                progress((number + 1) / rounds)

    crew.run(work)
    times = [max(last) - min(first) for first, last in zip(begun, ended, strict=True)]
    return Outcome(
        tuple(times[trial.warmup :]), sum(count for count, _ in wrong), next((first for _, first in wrong if first), "")
    )
