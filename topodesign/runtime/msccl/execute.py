"""Execution on the CPU: exact for all orders, and random.

**One run decides deadlock.** A threadblock waits only for data in its receive queue, a free slot in its send queue, or
a flag. Once such a wait is over it stays over until the threadblock itself moves: nobody else empties its receive queue
or fills its send queue, and flags only grow. Enabled moves of different threadblocks therefore commute, so all maximal
runs make the same moves (Kahn's determinism, with bounded queues), and one run tells whether every run ends.

**One setting of the queues is the worst.** The runtime cuts a step of ``cnt`` chunks into pieces of as many chunks as
fit a buffer slot: one, when the data is large. Both ends of a connection, and whoever forwards, cut a step alike. Take
longer pieces or more slots, and a cycle of waits among them. A step has no more pieces than before, so number them
within their step and look at the pieces of the same numbers before: the order within a threadblock, the data and the
flags still make them wait for each other, and so do the slots, because between two pieces of a connection there lie at
least as many others, and fewer slots are there. So the cycle was there before: shortest pieces and fewest slots decide.
If even a chunk is larger than a slot, the runtime runs the whole program once for each part of it; as the first round
ends with empty queues in one order, so in all, and so the next.

**Races.** Two accesses to a chunk, at least one a write, race unless one happens before the other: by program order, by
a flag, or because data is received after it was sent. Of this only what holds on every transport, protocol and size is
used. Slots give no order, since there may be more than the guaranteed number. The chunks of one step have no order
among themselves (with LL they move line by line): a step that forwards while it receives knows of each chunk alone, and
of the step before it as a whole only when it has ended. Vector clocks, one entry per threadblock, then find a race in
the one run if there is one in any.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints
from topodesign.runtime.memory import Expected, Layout, likely_root
from topodesign.runtime.msccl.flat import Flat
from topodesign.runtime.msccl.flat_kernels import PLAIN_SEND, RECEIVES, SENDS
from topodesign.runtime.msccl.operations import Table
from topodesign.runtime.msccl.steps import BUFFERS
from topodesign.runtime.report import MAX_FINDINGS, Finding

Sum = tuple[tuple[int, int, int], ...]
"""A sum of input chunks, exact as far as it matters: for every chunk number that occurs, in ascending order, the chunk
number, the set of ranks (bits) that contribute it once, and the set of those that contribute it more than once."""


def add_sums(left: Sum, right: Sum) -> Sum:
    """Add counts in 0, 1, many, which are closed under addition."""
    merged = {chunk: (once, more) for chunk, once, more in left}
    for chunk, once, more in right:
        had_once, had_more = merged.get(chunk, (0, 0))
        several = more | had_more | (once & had_once)
        merged[chunk] = (once | had_once) & ~several, several
    return tuple((chunk, *merged[chunk]) for chunk in sorted(merged))


class _Tracker:
    """Memory of the exact run: sums of inputs and vector clocks.

    Entry t of a clock says what is known to be over of thread t: 2k for its first k operations, 2k + 1 for these and,
    of the next, the chunk at hand alone.
    """

    def __init__(self, flat: Flat, *, unsettled: bool) -> None:
        self.races: list[Finding] = []
        self.uninitialised: list[Finding] = []
        self._flat, self._unsettled = flat, unsettled
        self._first, self._kinds, self._counts, self._thread, _, _, *rest = (one.tolist() for one in flat.columns)
        self._wait_start, self._waits, self._source_start, self._sources, self._targets, _, self._match = rest
        self._given = flat.given
        self._values: dict[int, Sum | None] = {}  # by cell, of those that were written
        self._writes: dict[int, tuple[int, int]] = {}  # by cell, the operation that wrote it last, and its chunk
        self._reads: dict[int, dict[tuple[int, int], int]] = {}  # the last reads since, by thread and chunk
        count = len(self._first) - 1
        self._clocks = np.zeros((count, count), dtype=np.int32)
        self._lengths = [0] * count  # longest chain of messages that ends here
        self._done = [0] * len(self._kinds)  # chunks
        self._sent: dict[int, list[Sum | None]] = {}  # by send, what is under way, and the clock that goes with it
        self._outgoing: dict[int, tuple[NDArray[np.int32], int]] = {}
        self._over: dict[int, tuple[NDArray[np.int32], int]] = {}  # by operation that others wait for
        self._waiters = Counter(self._waits)

    @property
    def longest_chain(self) -> int:
        return max(self._lengths, default=0)

    def follow(self, moves: Ints, piece: int) -> None:
        """Execute all moves of a number of chunks."""
        for move in moves.tolist():
            one = max(move, ~move)
            if move >= 0:
                self._begin(one)
            low, count = self._done[one], self._counts[one]
            high = self._done[one] = min(low + piece, count)
            came = self._sent[self._match[one]] if self._kinds[one] & RECEIVES and count else None
            values = [self._one_chunk(one, chunk, () if came is None else came[chunk]) for chunk in range(low, high)]
            if self._kinds[one] & SENDS:
                self._sent.setdefault(one, []).extend(values)
            if high == count:
                self._end(one)

    def _begin(self, one: int) -> None:
        thread, kind = self._thread[one], self._kinds[one]
        clock, step = self._clocks[thread], one - self._first[thread]
        waits = self._waits[self._wait_start[one] : self._wait_start[one + 1]]
        if kind & SENDS or waits:
            clock[thread] = 2 * step  # the threads of the block meet before a send and after a wait
        known = [self._over[other] for other in waits]
        for other in waits:
            self._waiters[other] -= 1
            if not self._waiters[other]:
                del self._over[other]
        if kind & RECEIVES and self._counts[one]:
            known.append(self._outgoing.pop(self._match[one]))  # the same for all chunks of a step
        for told, length in known:
            np.maximum(clock, told, out=clock)
            self._lengths[thread] = max(self._lengths[thread], length)
        if kind & SENDS:
            told = clock.copy()
            told[thread] = 2 * step + 1
            self._outgoing[one] = told, self._lengths[thread] + 1

    def _end(self, one: int) -> None:
        thread, kind = self._thread[one], self._kinds[one]
        clock = self._clocks[thread]
        clock += clock & 1
        if not (self._unsettled and kind & PLAIN_SEND):
            clock[thread] = 2 * (one - self._first[thread] + 1)
        if one in self._waiters:
            self._over[one] = clock.copy(), self._lengths[thread]
        if kind & RECEIVES and self._counts[one]:
            del self._sent[self._match[one]]

    def _one_chunk(self, one: int, chunk: int, value: Sum | None) -> Sum | None:
        """Return the sent or written value, given the received one."""
        sources = range(self._source_start[one], self._source_start[one + 1])
        for read in [self._read(one, number, self._sources[at] + chunk, chunk) for number, at in enumerate(sources)]:
            value = None if value is None or read is None else add_sums(value, read)
        if self._targets[one] >= 0:
            self._write(one, self._targets[one] + chunk, chunk, value)
        return value

    def _follows(self, access: tuple[int, int], thread: int, piece: int) -> bool:
        """Return whether an access precedes a thread's current chunk."""
        other = self._thread[access[0]]
        known, least = self._clocks[thread, other], 2 * (access[0] - self._first[other]) + 1
        return bool(known > least or (known == least and access[1] == piece))

    def _read(self, one: int, number: int, cell: int, chunk: int) -> Sum | None:
        thread = self._thread[one]
        if cell in self._writes and not self._follows(self._writes[cell], thread, chunk):
            self._report_race(one, "reads", number, chunk, ("written", self._writes[cell][0]))
        value = self._value(cell)
        if value is None and len(self.uninitialised) < MAX_FINDINGS:
            operation = self._flat.table.operation(one)
            message = f"{operation.type} reads {_name(operation.reads[number], chunk)}, which nothing has written"
            self.uninitialised.append(operation.finding("uninitialised read", message))
        self._reads.setdefault(cell, {})[thread, chunk] = one
        return value

    def _value(self, cell: int) -> Sum | None:
        """Return a cell's value: written, or its input."""
        if cell in self._values:
            return self._values[cell]
        chunk, rank = (int(one[cell]) for one in self._given)
        return None if chunk < 0 else ((chunk, 1 << rank, 0),)

    def _write(self, one: int, cell: int, chunk: int, value: Sum | None) -> None:
        thread = self._thread[one]
        if cell in self._writes and not self._follows(self._writes[cell], thread, chunk):
            self._report_race(one, "writes", None, chunk, ("written", self._writes[cell][0]))
        for (_, piece), other in self._reads.pop(cell, {}).items():
            if (other, piece) != (one, chunk) and not self._follows((other, piece), thread, chunk):
                self._report_race(one, "writes", None, chunk, ("read", other))
        self._values[cell] = value
        self._writes[cell] = one, chunk

    def _report_race(self, one: int, verb: str, number: int | None, chunk: int, before: tuple[str, int]) -> None:
        """Report an unordered access of an operation."""
        if len(self.races) < MAX_FINDINGS:
            operation, (done, other) = self._flat.table.operation(one), before
            place = (operation.target or ("", 0)) if number is None else operation.reads[number]
            which = f"{_name(place, chunk)}, which is {done} by {self._flat.table.operation(other)}"
            self.races.append(operation.finding("race", f"{operation.type} {verb} {which} in no fixed order"))

    def results(self) -> list[Finding]:
        everyone = (1 << self._flat.layout.ranks) - 1
        findings = []
        for expected in self._flat.layout.results():
            value, right = self.found(expected), self.wanted(expected)
            if value != right:
                message = (
                    f"{expected.name} ends as {describe_sum(value, everyone)} "
                    f"instead of {describe_sum(right, everyone)}"
                )
                findings.append(Finding("wrong result", message, expected.rank))
                if len(findings) == MAX_FINDINGS:
                    break
        return findings

    def found(self, expected: Expected) -> Sum | None:
        start = int(self._flat.base[expected.rank, BUFFERS.index(expected.buffer)])
        return self._value(start + expected.offset)

    def wanted(self, expected: Expected) -> Sum:
        ranks = (1 << self._flat.layout.ranks) - 1 if expected.source is None else 1 << expected.source
        return ((expected.chunk, ranks, 0),)


def _name(place: tuple[str, int], chunk: int) -> str:
    return f"{place[0]}[{place[1] + chunk}]"


def describe_sum(value: Sum | None, everyone: int) -> str:
    """Describe a sum: ``chunk 3 of ranks 0, 2 (twice or more: 2)``."""
    if value is None:
        return "nothing"
    words = []
    for chunk, once, more in value:
        ranks = once | more
        if ranks == everyone and ranks.bit_count() > 1:
            text = f"chunk {chunk} of all ranks"
        else:
            text = f"chunk {chunk} of rank{'s' * (ranks.bit_count() > 1)} {_list_bits(ranks)}"
        words.append(text + (f" (more than once: {_list_bits(more)})" if more else ""))
    return " + ".join(words[:3]) + (" + ..." if len(words) > 3 else "")


def _list_bits(mask: int) -> str:
    bits = [number for number in range(mask.bit_length()) if mask >> number & 1]
    return ", ".join(map(str, bits[:8])) + (", ..." if len(bits) > 8 else "")


def analyse(flat: Flat, slots: int, *, piece: int = 1, unsettled: bool = False) -> tuple[list[Finding], int]:
    """Run once; return all findings and the longest message chain.

    ``slots`` are the fewest pieces that a connection holds, ``piece`` the fewest chunks of a full one. Sends are
    unsettled where the threads of a block do not meet after a plain send (LL on some runtimes), so that its reading may
    go on until they next meet. What is found are races, then uninitialised reads, then (if there are neither) wrong
    results; or a deadlock alone.
    """
    chain = flat.chain(slots, piece, unsettled=unsettled)
    return explained(flat, slots, piece=piece, unsettled=unsettled) if chain is None else ([], chain)


def explained(flat: Flat, slots: int, *, piece: int = 1, unsettled: bool = False) -> tuple[list[Finding], int]:
    """Return :func:`analyse` by following moves, with explanations."""
    moves, ended = flat.moves(slots, piece)
    tracker = _Tracker(flat, unsettled=unsettled)
    tracker.follow(moves, piece)
    if not ended:
        return [explain_deadlock(flat, moves, slots, piece)], tracker.longest_chain
    return tracker.races + tracker.uninitialised or tracker.results(), tracker.longest_chain


def shortest_piece(flat: Flat, slots: int, longest: int) -> int | None:
    """Return the smallest full piece with which runs end, or None.

    Longer pieces never make a run hang that ends with shorter ones, so that halving finds it.
    """
    if not flat.moves(slots, longest)[1]:
        return None
    low, high = 1, longest
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if flat.moves(slots, middle)[1] else (middle + 1, high)
    return low


def find_root(table: Table, layout: Layout) -> int:
    """Return the root of a layout without one, by results."""
    flat = Flat(table, layout)
    tracker = _Tracker(flat, unsettled=False)
    tracker.follow(flat.moves(2**30, 1)[0], 1)

    def from_whom(rank: int) -> list[int]:
        value = tracker.found(next(layout.output(rank)))
        return [value[0][1].bit_length() - 1] if value and value[0][1] else []

    return likely_root(
        layout, lambda rank: all(tracker.found(one) == tracker.wanted(one) for one in layout.output(rank)), from_whom
    )


def explain_deadlock(flat: Flat, moves: Ints, slots: int, piece: int) -> Finding:
    """Return who waits for whom in a deadlock, from a cycle."""
    own, table = flat.columns, flat.table
    done = np.bincount(np.maximum(moves, ~moves), minlength=len(own.kinds))
    over = np.add.reduceat(np.append(done >= np.maximum(1, -(-own.counts // piece)), 0), own.first[:-1])
    at = own.first[:-1] + np.where(np.diff(own.first) > 0, over, 0)
    stuck = set(np.flatnonzero(at < own.first[1:]).tolist())
    sends = "sends" if piece == 1 else f"sends of up to {piece} chunks"

    def waiting(number: int) -> tuple[str, int]:
        """Return what a threadblock waits for, and from whom."""
        one = int(at[number])
        operation = table.operation(one)
        for wait in range(own.wait_start[one], own.wait_start[one + 1]) if not done[one] else ():
            other, awaited = int(table.other[wait]), own.waits[wait]
            if awaited < 0 or at[other] <= awaited:
                tail = ', but no step from there on has hasdep="1"' if awaited < 0 else ""
                where = f"step {table.awaited[wait]} of threadblock {table.id[other]}"
                return f"{operation} waits for {where}{tail}", other
        if own.kinds[one] & RECEIVES and done[own.match[one]] <= done[one]:
            sender = int(own.thread_of[own.match[one]])
            return (
                f"{operation} waits for data from rank {table.rank[sender]} on channel {table.channel[number]}",
                sender,
            )
        (receiver,) = np.flatnonzero(own.receives == own.sends[number]).tolist()
        return f"{operation} waits for rank {table.rank[receiver]} to receive: {slots} {sends} are in flight", receiver

    path: list[int] = []
    number = min(stuck)
    while number in stuck and number not in path:
        path.append(number)
        number = waiting(number)[1]
    cycle = path[path.index(number) :] if number in path else path
    lines = [waiting(member)[0] for member in cycle[:MAX_FINDINGS]]
    if len(cycle) > MAX_FINDINGS:
        lines.append(f"and {len(cycle) - MAX_FINDINGS} more")
    what = "these threadblocks wait for each other" if number in path else "a threadblock waits for ever"
    message = f"{len(stuck)} of {len(at)} threadblocks never finish; {what}:\n    " + "\n    ".join(lines)
    return Finding("deadlock", message, int(table.rank[cycle[0]]))


def interleave(flat: Flat, slots: int, seed: int, *, piece: int = 1) -> Finding | None:
    """Run in a random order with integers; return what went wrong.

    The seed also chooses how many chunks move at once, at least ``piece``, and how many more slots than ``slots`` each
    connection has.
    """
    rng = random.Random(seed)  # noqa: S311 (not for secrets)
    length = piece + rng.choice((0, 1, 2, 2**10))
    extra = rng.choice((0, 0, 1, 5, 2**20))
    ended, wrong = flat.random(lambda _: slots + rng.randint(0, extra), length, seed, rng.randrange(1, 2**64))
    if not ended:
        return Finding("deadlock", f"some threadblocks never finish in a random order of execution (seed {seed})")
    if wrong is None:
        return None
    expected = next(islice(flat.layout.results(), wrong, None))
    message = f"{expected.name} holds the wrong number in a random order of execution (seed {seed})"
    return Finding("wrong result", message, expected.rank)
