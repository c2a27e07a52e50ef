"""Running a program on the CPU: exactly once with all orderings accounted for, and many times in random order.

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

import bisect
import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.runtime.memory import Expected, Layout, likely_root
from topodesign.runtime.msccl.flat import Flat
from topodesign.runtime.msccl.operations import RECEIVES, SENDS, Connection, Operation, Thread, Threads
from topodesign.runtime.report import MAX_FINDINGS, Finding

Perform = Callable[[int, Operation, int, int, Any], Any]
"""``perform(thread, operation, lo, hi, received)`` does the chunks lo to hi of an operation, returns what is sent."""

_NEVER = -1


class Wait(NamedTuple):
    """Why a threadblock cannot move: ``flag``, ``data`` or ``slot``; of which threadblock (its index) or connection."""

    kind: str
    of: Hashable


class Network:
    """Threadblocks, queues and flags; what happens to memory is the caller's.

    Every connection has exactly one sending and one receiving threadblock; ``slots`` says how many pieces it holds.
    """

    def __init__(self, threads: Sequence[Thread], slots: Callable[[Connection], int], piece: int = 1) -> None:
        self.threads = threads
        self.piece = piece
        self.queues: dict[Connection, deque[Any]] = defaultdict(deque)
        self._slots = {thread.send: slots(thread.send) for thread in threads if thread.send}
        self._index = {(thread.rank, thread.id): number for number, thread in enumerate(threads)}
        self._announced = [[op.position for op in thread.operations if op.announces] for thread in threads]
        self._next = [0] * len(threads)  # operation
        self._done = [0] * len(threads)  # chunks of it
        self._flags = [_NEVER] * len(threads)
        self._waiting: dict[Wait, list[int]] = defaultdict(list)

    def target(self, operation: Operation, wait: tuple[int, int]) -> tuple[int, int | None]:
        """Return the thread waited for and the first position it announces that ends the wait, None for never."""
        thread = self._index[operation.rank, wait[0]]
        positions = self._announced[thread]  # ascending
        found = bisect.bisect_left(positions, wait[1])
        return thread, positions[found] if found < len(positions) else None

    def unmet(self, operation: Operation) -> tuple[int, int] | None:
        """Return the first wait of an operation whose flag is not high enough, as in ``Operation.waits``."""
        for wait in operation.waits:
            if self._flags[self._index[operation.rank, wait[0]]] < wait[1]:
                return wait
        return None

    def operation(self, thread: int) -> Operation | None:
        """Return the operation a threadblock is at, None if it has finished."""
        operations = self.threads[thread].operations
        return operations[self._next[thread]] if self._next[thread] < len(operations) else None

    def obstacle(self, thread: int, operation: Operation) -> Wait | None:
        """Return what a threadblock waits for, None if it can move."""
        if not self._done[thread] and (wait := self.unmet(operation)):
            return Wait("flag", self._index[operation.rank, wait[0]])
        if operation.count == 0:
            return None
        if operation.type in RECEIVES and not self.queues[self.threads[thread].receive]:  # type: ignore[index]
            return Wait("data", self.threads[thread].receive)
        if operation.type in SENDS:
            connection = self.threads[thread].send
            if len(self.queues[connection]) >= self._slots[connection]:  # type: ignore[index]
                return Wait("slot", connection)
        return None

    def move(self, thread: int, operation: Operation, perform: Perform) -> list[int]:
        """Do one piece of an operation that has no obstacle; return the threadblocks that may now move."""
        woken: list[int] = []
        here = self.threads[thread]
        lo = self._done[thread]
        hi = min(lo + self.piece, operation.count)
        received = None
        if operation.type in RECEIVES and hi > lo and here.receive:
            received = self.queues[here.receive].popleft()
            woken += self._waiting.pop(Wait("slot", here.receive), [])
        sent = perform(thread, operation, lo, hi, received)
        if operation.type in SENDS and hi > lo and here.send:
            self.queues[here.send].append(sent)
            woken += self._waiting.pop(Wait("data", here.send), [])
        self._done[thread] = hi
        if hi == operation.count:
            self._next[thread] += 1
            self._done[thread] = 0
            if operation.announces:
                self._flags[thread] = operation.position
                woken += self._waiting.pop(Wait("flag", thread), [])
        return woken

    def run(self, perform: Perform, rng: random.Random | None = None) -> dict[int, Wait]:
        """Run until nothing can move.

        ``rng`` chooses who moves next and for how long; None is a fixed order. Returned is the obstacle of every
        threadblock that did not finish, by index: none unless there is a deadlock.
        """
        ready = list(range(len(self.threads) - 1, -1, -1))
        stuck: dict[int, Wait] = {}
        while ready:
            if rng is not None:
                chosen = rng.randrange(len(ready))
                ready[chosen], ready[-1] = ready[-1], ready[chosen]
            thread = ready.pop()
            stuck.pop(thread, None)
            budget = rng.choice((1, 1, 2, 5, 50)) if rng is not None else -1
            while (operation := self.operation(thread)) is not None:
                obstacle = self.obstacle(thread, operation)
                if obstacle is not None:
                    stuck[thread] = obstacle
                    self._waiting[obstacle].append(thread)
                    break
                if budget == 0:
                    ready.append(thread)
                    break
                budget -= 1
                ready += self.move(thread, operation, perform)
        return stuck


Sum = tuple[tuple[int, int, int], ...]
"""A sum of input chunks, exact as far as it matters: for every chunk number that occurs, in ascending order, the chunk
number, the set of ranks (bits) that contribute it once, and the set of those that contribute it more than once."""


def add_sums(left: Sum, right: Sum) -> Sum:
    """Add two sums; counting 0, 1, many is closed under addition, so nothing is lost that a correct result needs."""
    if not left:
        return right
    if len(left) == len(right) == 1 and left[0][0] == right[0][0]:
        (chunk, once, more), (_, other_once, other_more) = left[0], right[0]
        more |= other_more | (once & other_once)
        return ((chunk, (once | other_once) & ~more, more),)
    merged = {term[0]: term for term in left}
    for term in right:
        chunk = term[0]
        merged[chunk] = add_sums((merged[chunk],), (term,))[0] if chunk in merged else term
    return tuple(sorted(merged.values()))


class _Access(NamedTuple):
    """Chunk ``piece`` of a thread's ``step``-th operation touched a cell."""

    thread: int
    step: int
    piece: int
    operation: Operation


class _Cell:
    """A chunk of memory: its value, the last write, and by thread and piece the last read since."""

    __slots__ = ("reads", "value", "write")

    def __init__(self, value: Sum | None) -> None:
        self.value = value
        self.write: _Access | None = None
        self.reads: dict[tuple[int, int], _Access] = {}


class _Message(NamedTuple):
    values: list[Sum | None]  # by chunk
    clock: NDArray[np.int32]
    length: int


@dataclass
class Analysis:
    """What the exact run found.

    * ``findings``: races, then uninitialised reads, then (if there are neither) wrong results; or a deadlock alone.
    """

    findings: list[Finding] = field(default_factory=list)
    longest_chain: int = 0  # messages on the longest chain in which each depends on the one before


class _Tracker:
    """Memory for the exact run: values as sums of inputs, and vector clocks of who touched what when.

    Entry t of a clock says what is known to be over of thread t: 2k for its first k operations, 2k + 1 for these and,
    of the next, the chunk at hand alone.
    """

    def __init__(self, network: Network, layout: Layout, *, unsettled_sends: bool) -> None:
        count = len(network.threads)
        self.layout = layout
        self.races: list[Finding] = []
        self.uninitialised: list[Finding] = []
        self._network = network
        self._unsettled_sends = unsettled_sends
        self._cells: list[dict[int, _Cell]] = [{} for _ in range(layout.ranks)]
        self._clocks = np.zeros((count, count), dtype=np.int32)
        self._steps = [0] * count
        self._lengths = [0] * count  # longest chain of messages that ends here
        self._outgoing = list(self._clocks)  # by thread, the clock that its current step sends
        self._releases: dict[tuple[int, int | None], tuple[NDArray[np.int32], int]] = {}
        self._waiters = Counter(
            network.target(operation, wait)
            for thread in network.threads
            for operation in thread.operations
            for wait in operation.waits
        )

    @property
    def longest_chain(self) -> int:
        return max(self._lengths, default=0)

    def perform(self, thread: int, operation: Operation, lo: int, hi: int, received: _Message | None) -> Any:
        """Do the chunks lo to hi of an operation (none if its cnt is 0); return the message if it sends."""
        if lo == 0:
            self._begin(thread, operation, received)
        values = received.values if received is not None else [()] * (hi - lo)
        values = [
            self._one_chunk(thread, operation, chunk, value) for chunk, value in zip(range(lo, hi), values, strict=True)
        ]
        message = _Message(values, self._outgoing[thread], self._lengths[thread] + 1)
        if hi == operation.count:
            self._end(thread, operation)
        return message

    def _begin(self, thread: int, operation: Operation, received: _Message | None) -> None:
        clock = self._clocks[thread]
        step = self._steps[thread]
        if operation.type in SENDS or operation.waits:
            clock[thread] = 2 * step  # the threads of the block meet before a send and after a wait
        for wait in operation.waits:
            target = self._network.target(operation, wait)
            released, length = self._releases[target]
            np.maximum(clock, released, out=clock)
            self._lengths[thread] = max(self._lengths[thread], length)
            self._waiters[target] -= 1
            if not self._waiters[target]:
                del self._releases[target]
        if received is not None:
            np.maximum(clock, received.clock, out=clock)  # the same for all chunks of a step
            self._lengths[thread] = max(self._lengths[thread], received.length)
        if operation.type in SENDS:
            self._outgoing[thread] = clock.copy()
            self._outgoing[thread][thread] = 2 * step + 1

    def _end(self, thread: int, operation: Operation) -> None:
        clock = self._clocks[thread]
        clock += clock & 1
        self._steps[thread] += 1
        if not (self._unsettled_sends and operation.type == "s"):
            clock[thread] = 2 * self._steps[thread]
        if operation.announces and (thread, operation.position) in self._waiters:
            self._releases[thread, operation.position] = (clock.copy(), self._lengths[thread])

    def _one_chunk(self, thread: int, operation: Operation, chunk: int, value: Sum | None) -> Sum | None:
        """Return what is sent or written, given what is received (the empty sum if nothing)."""
        for read in [self._read(thread, operation, chunk, place) for place in operation.reads]:
            value = None if value is None or read is None else add_sums(value, read)
        if operation.target is not None:
            target = self.layout.address(operation.rank, operation.target)
            # A copy onto itself, as there is in place, writes what is there: it only reads.
            if operation.type != "cpy" or self.layout.address(operation.rank, operation.sources[0]) != target:
                self._write(thread, operation, chunk, value)
        return value

    def _cell(self, rank: int, address: int) -> _Cell:
        cells = self._cells[rank]
        cell = cells.get(address)
        if cell is None:
            chunk = self.layout.input_chunk(rank, address)
            cell = cells[address] = _Cell(None if chunk is None else ((chunk, 1 << rank, 0),))
        return cell

    def _follows(self, access: _Access, thread: int, piece: int) -> bool:
        """Return whether an access happened before the chunk that a thread is at."""
        known = self._clocks[thread, access.thread]
        return bool(known >= 2 * access.step + 2 or (known == 2 * access.step + 1 and access.piece == piece))

    def _read(self, thread: int, operation: Operation, chunk: int, place: tuple[str, int]) -> Sum | None:
        cell = self._cell(operation.rank, self.layout.address(operation.rank, place) + chunk)
        name = f"{place[0]}[{place[1] + chunk}]"
        if cell.write is not None and not self._follows(cell.write, thread, chunk):
            self._report_race(operation, "reads", name, "written", cell.write.operation)
        if cell.value is None and len(self.uninitialised) < MAX_FINDINGS:
            message = f"{operation.type} reads {name}, which nothing has written"
            self.uninitialised.append(
                Finding("uninitialised read", message, operation.rank, operation.threadblock, operation.step)
            )
        cell.reads[thread, chunk] = _Access(thread, self._steps[thread], chunk, operation)
        return cell.value

    def _write(self, thread: int, operation: Operation, chunk: int, value: Sum | None) -> None:
        place = operation.target or ("", 0)
        cell = self._cell(operation.rank, self.layout.address(operation.rank, place) + chunk)
        name = f"{place[0]}[{place[1] + chunk}]"
        if cell.write is not None and not self._follows(cell.write, thread, chunk):
            self._report_race(operation, "writes", name, "written", cell.write.operation)
        for read in cell.reads.values():
            itself = read.operation is operation and read.piece == chunk
            if not itself and not self._follows(read, thread, chunk):
                self._report_race(operation, "writes", name, "read", read.operation)
        cell.value = value
        cell.write = _Access(thread, self._steps[thread], chunk, operation)
        cell.reads = {}

    def _report_race(self, operation: Operation, verb: str, name: str, done: str, other: Operation) -> None:
        if len(self.races) < MAX_FINDINGS:
            message = f"{operation.type} {verb} {name}, which is {done} by {other} in no fixed order"
            self.races.append(Finding("race", message, operation.rank, operation.threadblock, operation.step))

    def results(self) -> list[Finding]:
        """Compare memory with what the collective promises."""
        everyone = (1 << self.layout.ranks) - 1
        findings = []
        for expected in self.layout.results():
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
        """Return what is at a place of the result."""
        return self._cell(expected.rank, expected.address).value

    def wanted(self, expected: Expected) -> Sum:
        """Return what must be there."""
        ranks = (1 << self.layout.ranks) - 1 if expected.source is None else 1 << expected.source
        return ((expected.chunk, ranks, 0),)


def describe_sum(value: Sum | None, everyone: int) -> str:
    """Return a sum in words: ``chunk 3 of ranks 0, 2 (twice or more: 2)``; ``everyone`` has a bit for each rank."""
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


def analyse(
    threads: Threads,
    layout: Layout,
    slots: int,
    *,
    piece: int = 1,
    unsettled_sends: bool = False,
    flat: Flat | None = None,
) -> Analysis:
    """Run once and decide deadlock, races, uninitialised reads and the result.

    Connections match, and every access is within bounds. ``slots`` are the fewest pieces that a connection holds,
    ``piece`` the fewest chunks of a full one. Sends are unsettled where the threads of a block do not meet after a
    plain send (LL on some runtimes), so that its reading may go on until they next meet.
    """
    flat = Flat(threads, layout) if flat is None else flat
    chain = flat.chain(slots, piece, unsettled=unsettled_sends)
    if chain is not None:
        return Analysis([], chain)
    return explained(threads, layout, slots, piece=piece, unsettled_sends=unsettled_sends)


def explained(
    threads: Sequence[Thread], layout: Layout, slots: int, *, piece: int = 1, unsettled_sends: bool = False
) -> Analysis:
    """Return the same as :func:`analyse`, by executing object by object, which can say what is wrong."""
    network = Network(threads, lambda _: slots, piece)
    tracker = _Tracker(network, layout, unsettled_sends=unsettled_sends)
    stuck = network.run(tracker.perform)
    if stuck:
        return Analysis([explain_deadlock(network, stuck, slots)], tracker.longest_chain)
    findings = tracker.races + tracker.uninitialised
    return Analysis(findings or tracker.results(), tracker.longest_chain)


def shortest_piece(threads: Sequence[Thread], slots: int, longest: int) -> int | None:
    """Return the fewest chunks of a full piece, up to ``longest``, with which every run ends; None if none will do.

    Longer pieces never make a run hang that ends with shorter ones, so that halving finds it.
    """

    def hangs(piece: int) -> bool:
        return bool(Network(threads, lambda _: slots, piece).run(lambda *_: None))

    if hangs(longest):
        return None
    low, high = 1, longest
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if hangs(middle) else (low, middle)
    return low


def find_root(threads: Sequence[Thread], layout: Layout) -> int:
    """Return the root of a collective that has one, of which ``layout`` has none, by what every rank ends up with."""
    tracker = _Tracker(network := Network(threads, lambda _: 2**30), layout, unsettled_sends=False)
    network.run(tracker.perform)

    def from_whom(rank: int) -> list[int]:
        value = tracker.found(next(layout.output(rank)))
        return [value[0][1].bit_length() - 1] if value and value[0][1] else []

    return likely_root(
        layout, lambda rank: all(tracker.found(one) == tracker.wanted(one) for one in layout.output(rank)), from_whom
    )


def explain_deadlock(network: Network, stuck: dict[int, Wait], slots: int) -> Finding:
    """Return who waits for whom, starting on a cycle if there is one."""
    senders = {thread.send: number for number, thread in enumerate(network.threads) if thread.send}
    receivers = {thread.receive: number for number, thread in enumerate(network.threads) if thread.receive}

    sends = "sends" if network.piece == 1 else f"sends of up to {network.piece} chunks"

    def awaited(wait: Wait) -> Any:
        return {"flag": wait.of, "data": senders.get(wait.of), "slot": receivers.get(wait.of)}[wait.kind]  # type: ignore[call-overload]

    def line(number: int) -> str:
        operation = network.operation(number)
        wait = stuck[number]
        if operation is None:  # not reached: who is stuck has not finished
            return ""
        if wait.kind == "data":
            return f"{operation} waits for data from rank {wait.of[0]} on channel {wait.of[2]}"  # type: ignore[index]
        if wait.kind == "slot":
            return f"{operation} waits for rank {wait.of[1]} to receive: {slots} {sends} are in flight"  # type: ignore[index]
        other, deps = network.unmet(operation) or (-1, -1)
        never = network.target(operation, (other, deps))[1] is None
        tail = ', but no step from there on has hasdep="1"' if never else ""
        return f"{operation} waits for step {deps} of threadblock {other}{tail}"

    path: list[int] = []
    number: Any = min(stuck)
    while number in stuck and number not in path:
        path.append(number)
        number = awaited(stuck[number])
    cycle = path[path.index(number) :] if number in path else path
    lines = [line(member) for member in cycle[:MAX_FINDINGS]]
    if len(cycle) > MAX_FINDINGS:
        lines.append(f"and {len(cycle) - MAX_FINDINGS} more")
    first = network.operation(cycle[0])
    what = "these threadblocks wait for each other" if number in path else "a threadblock waits for ever"
    message = f"{len(stuck)} of {len(network.threads)} threadblocks never finish; {what}:\n    " + "\n    ".join(lines)
    return Finding("deadlock", message, first.rank if first else None)


def interleave(flat: Flat, slots: int, seed: int, *, piece: int = 1) -> Finding | None:
    """Run once in a random order with real integers, 64 bits each; return what went wrong, if anything.

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
