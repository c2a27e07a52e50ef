"""Programs as columns: what is executed once to decide that all is right, and again with numbers in random orders.

Only that a program is right is decided here. Whatever else is found is found again, and put into words, by
:mod:`topodesign.runtime.msccl.execute`, which executes object by object.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints
from topodesign.base.memory import check_memory
from topodesign.runtime.memory import Layout
from topodesign.runtime.msccl.flat_kernels import PLAIN_SEND, RECEIVES, SENDS, Columns, races, run, sums
from topodesign.runtime.msccl.operations import RECEIVES as RECEIVING
from topodesign.runtime.msccl.operations import SENDS as SENDING
from topodesign.runtime.msccl.operations import Connection, Operation, Thread
from topodesign.runtime.msccl.parse import STEP_TYPES

_CLOCKS = 2**27  # bytes of clocks at a time
_MEMORY = 2**30  # bytes of sums; what needs more is executed cell by cell

_KINDS = {
    one: SENDS * (one in SENDING) + RECEIVES * (one in RECEIVING) + PLAIN_SEND * (one == "s") for one in STEP_TYPES
}

Words = NDArray[np.uint64]


class Flat:
    """The operations of all threads, the cells of all ranks and the connections between them, by number.

    Threads of a rank are next to each other; sends and receives match, and every access is within bounds.
    """

    def __init__(self, threads: Sequence[Thread], layout: Layout) -> None:
        self.layout = layout
        self.base, self.cells = _cells(layout, threads)
        check_memory(64 * self.cells, f"{self.cells} chunks of memory")
        self.rank_of_thread = np.array([thread.rank for thread in threads], dtype=np.int64)
        number: dict[Connection, int] = {}
        ends = [(thread.send, thread.receive) for thread in threads]
        sends = np.array([number.setdefault(one, len(number)) if one else -1 for one, _ in ends], dtype=np.int64)
        receives = np.array([number.setdefault(one, len(number)) if one else -1 for _, one in ends], dtype=np.int64)
        self.connections = list(number)
        operations = [operation for thread in threads for operation in thread.operations]
        lengths = [len(thread.operations) for thread in threads]
        first = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        waits, wait_start = _ragged(_waits(threads, first.tolist()))
        reads = [[self.base[one.rank, name] + at for name, at in one.reads] for one in operations]
        sources, source_start = _ragged(reads)
        targets = np.array([self._target(one) for one in operations], dtype=np.int64)
        kinds = np.array([_KINDS[one.type] for one in operations], dtype=np.int64)
        counts = np.array([one.count for one in operations], dtype=np.int64)
        thread_of = np.repeat(np.arange(len(threads)), lengths)
        self.columns = Columns(
            *(first, kinds, counts, thread_of, sends, receives),
            *(wait_start, waits, source_start, sources, targets),
            *_streams(kinds, counts, sends[thread_of], receives[thread_of]),
        )
        self.stream = int(counts[kinds & SENDS > 0].sum())

    def _target(self, one: Operation) -> int:
        """Return the first cell that an operation writes, -1 for none: a copy onto itself only reads."""
        if one.target is None:
            return -1
        cell = self.base[one.rank, one.target[0]] + one.target[1]
        if one.type == "cpy" and self.base[one.rank, one.sources[0][0]] + one.sources[0][1] == cell:
            return -1
        return cell

    def _run(self, slots: Ints, piece: int, state: int, numbers: tuple[Words, NDArray[np.uint8]]) -> Ints | None:
        """Run in an order that a state seeds, 0 for a fixed one; return the operations as they began, if it ends."""
        order = np.full(len(self.columns.kinds), -1)
        stream = np.zeros(self.stream, dtype=np.uint64), np.zeros(self.stream, dtype=np.uint8)
        ended = run(self.columns, slots, piece, np.array([state], dtype=np.uint64), *numbers, *stream, order)
        return order if ended else None

    def chain(self, slots: int, piece: int, *, unsettled: bool) -> int | None:
        """Decide whether the program is right, in every order; return the longest chain of messages, None if it is not.

        Or if it cannot be told by this: see :func:`topodesign.runtime.msccl.execute.analyse` for the parameters.
        """
        words = -(-self.layout.ranks // 64)
        if (self.cells + self.stream) * (words + 1) * 8 > _MEMORY:
            return None
        nothing = np.zeros(self.cells, dtype=np.uint64), np.zeros(self.cells, dtype=np.uint8)
        order = self._run(np.full(len(self.connections), slots), piece, 0, nothing)
        if order is None or self._races(order, unsettled=unsettled):
            return None
        chunk, owner = self._given()
        ranks = np.zeros((self.cells, words), dtype=np.uint64)
        filled = np.flatnonzero(chunk >= 0)
        ranks[filled, owner[filled] // 64] = _bit(owner[filled] % 64)
        streams = np.full(self.stream, -1), np.zeros((self.stream, words), dtype=np.uint64)
        longest = sums(self.columns, order, chunk, ranks, *streams)
        if longest < 0:
            return None
        cells, wanted, source = self._expected()
        rows = np.zeros((self.layout.ranks + 1, words), dtype=np.uint64)  # the last is all ranks
        every = np.arange(self.layout.ranks)
        rows[every, every // 64] = _bit(every % 64)
        rows[-1] = np.bitwise_or.reduce(rows, axis=0)
        right = (chunk[cells] == wanted).all() and (ranks[cells] == rows[source]).all()
        return int(longest) if right else None

    def _races(self, order: Ints, *, unsettled: bool) -> bool:
        """Decide whether there is a race, for as many ranks at a time as there is room for."""
        ends = np.flatnonzero(np.diff(self.rank_of_thread, append=-1)) + 1
        most = _CLOCKS // (4 * max(1, len(order)))
        low = 0
        clock = None
        while low < len(self.rank_of_thread):
            fitting = ends[(ends > low) & (ends <= low + most)]
            high = int(fitting[-1] if len(fitting) else ends[ends > low][0])
            if clock is None or clock.shape[1] < high - low:
                clock = np.zeros((len(order), high - low), dtype=np.int32)
            if races(self.columns, order, low, high, self.cells, unsettled, clock):
                return True
            low = high
        return False

    def _given(self) -> tuple[Ints, Ints]:
        """Return the input chunk that each cell holds before the start, -1 for none, and whose it is."""
        chunk, owner = np.full(self.cells, -1), np.zeros(self.cells, dtype=np.int64)
        for rank in range(self.layout.ranks):
            start, size = self.base[rank, "i"], self.layout.given(rank)
            chunk[start : start + size] = np.arange(size)
            owner[start : start + size] = rank
        return chunk, owner

    def _expected(self) -> tuple[Ints, Ints, Ints]:
        """Return cells of the result, and the chunk and the rank that each must be of; rank -1 is all of them added."""
        cells, chunks, sources = [], [], []
        for rank, buffer, at, chunk, source in self.layout.goals():
            cells.append(self.base[rank, buffer] + at + np.arange(self.layout.part))
            chunks.append(chunk + np.arange(self.layout.part))
            sources.append(np.full(self.layout.part, -1 if source is None else source))
        if not cells:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return np.concatenate(cells), np.concatenate(chunks), np.concatenate(sources)

    def random(self, slots: Callable[[Connection], int], piece: int, seed: int, state: int) -> tuple[bool, int | None]:
        """Run once in a random order with numbers.

        ``slots`` says how many pieces each connection holds, ``seed`` the numbers, ``state`` (not 0) the order.
        Returned are whether every thread finished, and the place among the results of the first chunk that is wrong.
        """
        chunk, owner = self._given()
        memory = _mixed(seed, owner, chunk)
        numbers = memory * (chunk >= 0), (chunk >= 0).astype(np.uint8)
        holds = np.array([slots(connection) for connection in self.connections], dtype=np.int64)
        if self._run(holds, piece, state, numbers) is None:
            return False, None
        cells, wanted, source = self._expected()
        right = _mixed(seed, source, wanted)
        added = np.flatnonzero(source < 0)
        right[added] = 0
        for rank in range(self.layout.ranks if len(added) else 0):
            right[added] += _mixed(seed, np.full(len(added), rank), wanted[added])
        wrong = np.flatnonzero((numbers[0][cells] != right) | (numbers[1][cells] == 0))
        return True, int(wrong[0]) if len(wrong) else None


def _streams(kinds: Ints, counts: Ints, sends: Ints, receives: Ints) -> tuple[Ints, Ints]:
    """Return where what an operation sends lies among all that is sent, and for receives the send."""
    places, match = np.zeros(len(kinds), dtype=np.int64), np.full(len(kinds), -1)
    sending, receiving = np.flatnonzero(kinds & SENDS), np.flatnonzero(kinds & RECEIVES)
    places[sending] = np.cumsum(counts[sending]) - counts[sending]
    by_sender = sending[np.argsort(sends[sending], kind="stable")]
    match[receiving[np.argsort(receives[receiving], kind="stable")]] = by_sender
    return places, match


def _cells(layout: Layout, threads: Sequence[Thread]) -> tuple[dict[tuple[int, str], int], int]:
    """Return the first cell of each buffer, so that what has one address has one cell, and how many there are.

    Of scratch there are only as many as are used.
    """
    used = [0] * layout.ranks
    for thread in threads:
        for one in thread.operations:
            for name, at in (*one.sources, *([one.target] if one.target else ())):
                if name == "s":
                    used[thread.rank] = max(used[thread.rank], at + one.count)
    base: dict[tuple[int, str], int] = {}
    total = 0
    for rank in range(layout.ranks):
        end = None
        segments = [(*layout.segment(rank, name), name) for name in "io"]
        for start, size, name in sorted([*segments, (layout.segment(rank, "s")[0], used[rank], "s")]):
            if end is None or start >= end:
                shift, end = total - start, start
            base[rank, name] = start + shift
            end = max(end, start + size)
            total = end + shift
    return base, total


def _waits(threads: Sequence[Thread], first: list[int]) -> list[list[int]]:
    """Return for each operation those that must be over, -1 where none would do."""
    announced: dict[tuple[int, int], tuple[list[int], list[int]]] = {}  # positions ascend
    for number, thread in enumerate(threads):
        places = [at for at, one in enumerate(thread.operations) if one.announces]
        announced[thread.rank, thread.id] = (
            [thread.operations[at].position for at in places],
            [first[number] + at for at in places],
        )
    found = []
    for thread in threads:
        for one in thread.operations:
            row = []
            for other, position in one.waits:
                positions, numbers = announced[thread.rank, other]
                at = bisect_left(positions, position)
                row.append(numbers[at] if at < len(numbers) else -1)
            found.append(row)
    return found


def _ragged(rows: list[list[int]]) -> tuple[Ints, Ints]:
    start = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    return np.array([value for row in rows for value in row], dtype=np.int64), start


def _bit(number: Ints) -> Words:
    return np.left_shift(np.uint64(1), number.astype(np.uint64))


def _mixed(seed: int, rank: Ints, chunk: Ints) -> Words:
    """Return 61-bit integers that look random: input chunks of ranks (splitmix64)."""
    mask = 2**64 - 1
    start = np.uint64((seed * 0x9E3779B97F4A7C15 + 1) & mask)
    with np.errstate(over="ignore"):
        x = start + rank.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03)
        x += chunk.astype(np.uint64) * np.uint64(0xABC98388FB8FAC03)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (x ^ (x >> np.uint64(31))) >> np.uint64(3)
