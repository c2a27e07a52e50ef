"""Programs as columns, executed to decide and at random.

Only that a program is right is decided here. Whatever else is found is found again, and put into words, by
:mod:`topodesign.runtime.msccl.execute`, which follows it move by move.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import distinct
from topodesign.base.compiled import Ints
from topodesign.base.memory import check_memory
from topodesign.runtime.memory import Layout
from topodesign.runtime.msccl.flat_kernels import PLAIN_SEND, RECEIVES, SENDS, Columns, clocks, doubtful, run, sums
from topodesign.runtime.msccl.operations import NUMBER, Connection, Table, is_one_of, starts
from topodesign.runtime.msccl.operations import RECEIVES as RECEIVING
from topodesign.runtime.msccl.operations import SENDS as SENDING
from topodesign.runtime.msccl.steps import BUFFERS

_CLOCKS = 2**25  # bytes of clocks at a time: new memory takes longer than one look more at the operations
_MEMORY = 2**30  # bytes of sums; what needs more is executed cell by cell

_KINDS = SENDS * is_one_of(SENDING) + RECEIVES * is_one_of(RECEIVING) + PLAIN_SEND * is_one_of(frozenset("s"))

Words = NDArray[np.uint64]


class Flat:
    """Operations of threads, cells of ranks and connections.

    Threads of a rank are next to each other; sends and receives match, and every access is within bounds.
    """

    def __init__(self, own: Table, layout: Layout) -> None:
        self.table, self.layout = own, layout
        self.base, self.cells = _cells(layout, own)
        check_memory(64 * self.cells, f"{self.cells} chunks of memory")
        self.rank_of_thread = own.rank
        sends, receives, self.connections = _connections(own)
        kinds, rank = _KINDS[own.type], own.rank[own.thread]
        writing = own.target >= 0
        target = np.where(writing, self.base[rank, own.target] + own.target_at, -1)
        sources = self.base[rank[own.reads], own.source] + own.source_at
        both = np.flatnonzero(writing & (own.type == NUMBER["re"]))  # what adds to its target reads it last
        reads = np.concatenate((own.reads, both))
        order = np.argsort(reads, kind="stable")
        copies = np.flatnonzero(own.type[own.reads] == NUMBER["cpy"])
        onto = own.reads[copies[sources[copies] == target[own.reads[copies]]]]
        sources = np.concatenate((sources, target[both]))[order]
        target[onto] = -1  # a copy onto itself only reads
        number = len(own.type)
        self.columns = Columns(
            *(own.first, kinds, own.chunks, own.thread, sends, receives),
            *(starts(own.waits, number), _awaited(own), starts(reads[order], number), sources, target),
            *_streams(kinds, own.chunks, sends[own.thread], receives[own.thread]),
        )
        self.stream = int(own.chunks[kinds & SENDS > 0].sum())

    def moves(
        self, slots: int | Ints, piece: int, state: int = 0, numbers: tuple[Words, NDArray[np.uint8]] | None = None
    ) -> tuple[Ints, bool]:
        """Run in a seeded order; return the moves, and if all end.

        ``~x`` is where operation x goes on. ``slots`` are those of all connections, or of each.
        """
        number = len(self.columns.kinds)
        found = np.full(int(np.maximum(1, -(-self.columns.counts // piece)).sum()), number)
        stream = np.zeros(self.stream, dtype=np.uint64), np.zeros(self.stream, dtype=np.uint8)
        if numbers is None:
            numbers = np.zeros(self.cells, dtype=np.uint64), np.zeros(self.cells, dtype=np.uint8)
        holds, seed = np.full(len(self.connections), slots), np.array([state], dtype=np.uint64)
        ended = run(self.columns, holds, piece, seed, *numbers, *stream, found)
        return found if ended else found[found < number], ended

    def chain(self, slots: int, piece: int, *, unsettled: bool) -> int | None:
        """Decide correctness in every order; return the longest chain.

        Or if this cannot decide it: see :func:`topodesign.runtime.msccl.execute.analyse` for the parameters.
        """
        words = -(-self.layout.ranks // 64)
        if (self.cells + self.stream) * (words + 1) * 8 > _MEMORY:
            return None
        order, ended = self.moves(slots, piece)
        if not ended:
            return None
        order = order[order >= 0]
        pairs = self._doubtful(order, unsettled=unsettled)
        chunk, owner = self.given
        ranks = np.zeros((self.cells, words), dtype=np.uint64)
        filled = np.flatnonzero(chunk >= 0)
        ranks[filled, owner[filled] // 64] = _bit(owner[filled] % 64)
        streams = np.full(self.stream, -1), np.zeros((self.stream, words), dtype=np.uint64)
        sent = np.full((self.layout.ranks, int(chunk.max(initial=0)) + 1), -1)
        longest = sums(self.columns, order, chunk := chunk.copy(), ranks, *streams, self.rank_of_thread, pairs, sent)
        read = ~np.any(pairs[:, 3] == 1)
        if longest < 0 or self._races(order, pairs[pairs[:, 3] < 2] if read else pairs, unsettled=unsettled):
            return None
        cells, wanted, source = self._expected
        rows = np.zeros((self.layout.ranks + 1, words), dtype=np.uint64)  # the last is all ranks
        every = np.arange(self.layout.ranks)
        rows[every, every // 64] = _bit(every % 64)
        rows[-1] = np.bitwise_or.reduce(rows, axis=0)
        right = (chunk[cells] == wanted).all() and (ranks[cells] == rows[source]).all()
        return int(longest) if right else None

    def _doubtful(self, order: Ints, *, unsettled: bool) -> Ints:
        """Return unordered accesses between threads of one rank."""
        rank, columns = self.rank_of_thread, self.columns
        new = np.flatnonzero(np.diff(rank, prepend=-1))
        lengths = np.diff(np.append(new, len(rank)))
        column = np.arange(len(rank)) - np.repeat(new, lengths)
        clock = np.empty((len(order), int(lengths.max(initial=0))), dtype=self._clock)
        clocks(columns, order, column, unsettled, False, clock)
        accesses = columns.counts @ (2 * np.diff(columns.source_start) + (columns.targets >= 0))
        pairs = np.empty((int(accesses), 4), dtype=np.int64)  # of a read and of a write with one before, at most
        return pairs[: doubtful(columns, order, column, self.cells, clock, pairs)]

    def _races(self, order: Ints, pairs: Ints, *, unsettled: bool) -> bool:
        """Decide races of access pairs, counting messages."""
        most = max(1, _CLOCKS // (np.dtype(self._clock).itemsize * max(1, len(order))))
        thread = self.columns.thread_of[pairs[:, 1]]
        odd = distinct(thread)
        room = np.empty(len(order) * min(most, len(odd)), dtype=self._clock)
        for start in range(0, len(odd), most):
            some = odd[start : start + most]
            column, clock = np.full(len(self.rank_of_thread), -1), room[: len(order) * len(some)].reshape(-1, len(some))
            column[some] = np.arange(len(some))
            clocks(self.columns, order, column, unsettled, True, clock)
            within = column[thread] >= 0
            one, _, least, _ = pairs[within].T
            if np.any(clock[one, column[thread[within]]] < least):
                return True
        return False

    @property
    def _clock(self) -> type[np.signedinteger]:
        """Numbers that clocks have room in."""
        return np.int16 if 2 * int(np.diff(self.columns.first).max(initial=0)) + 2 < 2**15 else np.int32

    @cached_property
    def given(self) -> tuple[Ints, Ints]:
        """The initial input chunk and rank of each cell, -1 for none."""
        chunk, owner = np.full(self.cells, -1), np.zeros(self.cells, dtype=np.int64)
        for rank in range(self.layout.ranks):
            start, size = self.base[rank, BUFFERS.index("i")], self.layout.given[rank]
            chunk[start : start + size] = np.arange(size)
            owner[start : start + size] = rank
        return chunk, owner

    @cached_property
    def _expected(self) -> tuple[Ints, Ints, Ints]:
        """Expected chunks and ranks of result cells; -1 is all added."""
        rows = [
            (self.base[rank, BUFFERS.index(buffer)] + at, chunk, -1 if source is None else source)
            for rank, buffer, at, chunk, source in self.layout.goals()
        ]
        cells, chunks, sources = np.array(rows, dtype=np.int64).reshape(-1, 3, 1).swapaxes(0, 1)
        within = np.arange(self.layout.part)
        return (cells + within).reshape(-1), (chunks + within).reshape(-1), np.repeat(sources, len(within))

    def random(self, slots: Callable[[Connection], int], piece: int, seed: int, state: int) -> tuple[bool, int | None]:
        """Run once in a random order with numbers.

        ``slots`` says how many pieces each connection holds, ``seed`` the numbers, ``state`` (not 0) the order.
        Returned are whether every thread finished, and the place among the results of the first chunk that is wrong.
        """
        chunk, owner = self.given
        memory = _mixed(seed, owner, chunk)
        numbers = memory * (chunk >= 0), (chunk >= 0).astype(np.uint8)
        holds = np.array([slots(connection) for connection in self.connections], dtype=np.int64)
        if not self.moves(holds, piece, state, numbers)[1]:
            return False, None
        cells, wanted, source = self._expected
        right = _mixed(seed, source, wanted)
        added = np.flatnonzero(source < 0)
        if len(added):
            all_of, which = np.unique(wanted[added], return_inverse=True)
            right[added] = _mixed(seed, np.arange(self.layout.ranks)[:, None], all_of).sum(axis=0)[which]
        wrong = np.flatnonzero((numbers[0][cells] != right) | (numbers[1][cells] == 0))
        return True, int(wrong[0]) if len(wrong) else None


def _streams(kinds: Ints, counts: Ints, sends: Ints, receives: Ints) -> tuple[Ints, Ints]:
    """Return the position of sends, and of receives' sends."""
    places, match = np.zeros(len(kinds), dtype=np.int64), np.full(len(kinds), -1)
    sending, receiving = np.flatnonzero(kinds & SENDS), np.flatnonzero(kinds & RECEIVES)
    places[sending] = np.cumsum(counts[sending]) - counts[sending]
    by_sender = sending[np.argsort(sends[sending], kind="stable")]
    match[receiving[np.argsort(receives[receiving], kind="stable")]] = by_sender
    return places, match


def _connections(own: Table) -> tuple[Ints, Ints, list[Connection]]:
    """Return connections of threads' sends and receives, and names."""
    sides = ((own.rank, own.send), (own.receive, own.rank))
    ends = np.array([(*pair, own.channel) for pair in sides]).swapaxes(1, 2).reshape(-1, 3)
    used = np.flatnonzero(ends.min(axis=1) >= 0)
    names, which = np.unique(ends[used], axis=0, return_inverse=True)
    number = np.full(len(ends), -1)
    number[used] = which.reshape(-1)
    return *number.reshape(2, -1), [(a, b, channel) for a, b, channel in names.tolist()]


def _cells(layout: Layout, own: Table) -> tuple[Ints, int]:
    """Return the first cell of buffers, aliases merged, and the total.

    Of scratch there are only as many as are used.
    """
    used = np.zeros(layout.ranks, dtype=np.int64)
    for one, name, at in (
        (own.reads, own.source, own.source_at),
        (np.arange(len(own.type)), own.target, own.target_at),
    ):
        here = name == BUFFERS.index("s")
        np.maximum.at(used, own.rank[own.thread[one[here]]], at[here] + own.chunks[one[here]])
    base = np.zeros((layout.ranks, len(BUFFERS)), dtype=np.int64)
    total = 0
    for rank, scratch in enumerate(used.tolist()):
        end = None
        segments = [(*layout.segment(rank, name), name) for name in "io"]
        for start, size, buffer in sorted([*segments, (layout.segment(rank, "s")[0], scratch, "s")]):
            if end is None or start >= end:
                shift, end = total - start, start
            base[rank, BUFFERS.index(buffer)] = start + shift
            end = max(end, start + size)
            total = end + shift
    return base, total


def _awaited(own: Table) -> Ints:
    """Return the operation that each wait awaits, -1 for none."""
    telling = np.flatnonzero(own.announces)
    reach = int(max(own.position.max(initial=0), own.awaited.max(initial=0))) + 1
    at = np.searchsorted(own.thread[telling] * reach + own.position[telling], own.other * reach + own.awaited)
    telling = np.append(telling, -1)
    found = telling[at]
    return np.where((found >= 0) & (own.thread[found] == own.other), found, -1)


def _bit(number: Ints) -> Words:
    return np.left_shift(np.uint64(1), number.astype(np.uint64))


def _mixed(seed: int, rank: Ints, chunk: Ints) -> Words:
    """Return 61-bit integers that look random: input chunks of ranks (splitmix64)."""
    mask = 2**64 - 1
    start = np.uint64((seed * 0x9E3779B97F4A7C15 + 1) & mask)
    with np.errstate(over="ignore"):
        x = start + rank.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03)
        x = x + chunk.astype(np.uint64) * np.uint64(0xABC98388FB8FAC03)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (x ^ (x >> np.uint64(31))) >> np.uint64(3)
