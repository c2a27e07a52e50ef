"""Memory of ranks as cells: contents, accesses, expectations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.memory import check_memory
from topodesign.runtime.memory import Layout
from topodesign.runtime.mscclpp.steps import Place, Program, Work
from topodesign.runtime.report import MAX_FINDINGS, Finding

Span = tuple[int, slice]  # rank, and cells of its memory

_NOBODY = -1
_PER_CELL = 120  # bytes: a value, marks, the last write, and reads of a few


class _Readers(NamedTuple):
    """The readers of each cell of a rank, with their phases."""

    who: NDArray[np.int32]
    when: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Telling:
    """The knowledge of a packet's writer, and its sources.

    * ``origins``: of each source, the tellings that its packets came from, by cell; None where it is no packets.
    """

    actor: int  # who did it, and in which of its phases
    phase: int
    clock: NDArray[np.int32]  # what the writer knew, and what is known besides by one who has read all that it wrote
    whole: NDArray[np.int32]
    sources: Sequence[Span]  # what it read and wrote
    targets: Sequence[Span]
    origins: Sequence[NDArray[np.int32] | None]

    def read(self, rank: int, cell: int, element: int) -> bool:
        """Return whether an element of it was read from a cell."""
        for (where, span), origin in zip(self.sources, self.origins, strict=True):
            at = cell - span.start
            if where == rank and at // (1 if origin is None else 2) == element and cell < span.stop:
                return True
        return False

    def element(self, rank: int, cell: int) -> int:
        """Return which element is at a cell that it wrote."""
        span = next(span for where, span in self.targets if where == rank and span.start <= cell < span.stop)
        return (cell - int(span.start)) // 2


class Memory:
    """Cells of all ranks.

    ``scratch`` and ``halves`` are the cells of scratch of each rank, and how many it adds to addresses in scratch in
    every other launch. ``sent`` are chunks of each block of an
    all-to-all that must arrive, by sender and receiver; None for all. ``judged`` says whether results count.
    """

    judged = True

    def __init__(
        self,
        layout: Layout,
        program: Program,
        *,
        packets: bool,
        scratch: Sequence[int],
        halves: Sequence[int],
        semaphores: Sequence[Sequence[int]],
        seed: int = 0,
        sent: Sequence[int] | None = None,
    ) -> None:
        self.layout = layout
        self.ranks = layout.ranks
        self.cells = program.cells
        self.uninitialised: list[Finding] = []
        self._semaphores = semaphores
        self._seed = seed
        self._wide = 2 if packets else 1
        self.base: list[dict[str, tuple[int, int]]] = []
        sizes = []
        for rank in range(self.ranks):
            (i, i_size), (o, o_size), (_, chunks) = (layout.segment(rank, name) for name in "ios")
            if not layout.inplace:
                o = i_size
            end = max(i + i_size, o + o_size)
            self.base.append(
                {
                    "i": (i * self.cells, i_size * self.cells),
                    "o": (o * self.cells, o_size * self.cells),
                    "s": (end * self.cells, chunks * self._wide * self.cells),
                }
            )
            sizes.append(end * self.cells + scratch[rank])
        self._scratch = scratch
        self._halves = halves
        given = sum(self.base[rank]["i"][1] for rank in range(self.ranks))
        check_memory(_PER_CELL * sum(sizes) + 32 * given, f"{sum(sizes)} cells of memory")
        self.sizes = sizes
        self.values = [np.zeros(size, dtype=np.uint64) for size in sizes]
        self.known = [np.zeros(size, dtype=bool) for size in sizes]
        self.flags = [np.zeros(size, dtype=np.int32) for size in sizes]
        self._inputs: dict[int, list[NDArray[np.uint64]]] = {}
        self._sums: dict[int, NDArray[np.uint64]] = {}
        self._sent = sent
        self.expected = [self._results(rank) for rank in range(self.ranks)]
        self.writer = [np.full(size, _NOBODY, dtype=np.int32) for size in sizes]
        self.written = [np.zeros(size, dtype=np.int32) for size in sizes]
        self._reads: list[list[_Readers]] = [[] for _ in sizes]
        self._fresh = [np.zeros(size, dtype=bool) for size in sizes]  # packets that are not read yet
        self._teller = [np.full(size, -1, dtype=np.int32) for size in sizes]
        self.tellings: list[Telling] = []

    # -- where things are ---------------------------------------------------------------------------------------------

    def span(self, place: Place, size: int, launch: int) -> Span:
        """Return the cells of some elements in a launch."""
        start = self.base[place.rank][place.buffer][0] + place.start + place.shift
        if launch % 2:
            start += self.added(place)
        return place.rank, slice(start, start + size * (1 + place.packets))

    def added(self, place: Place) -> int:
        """Return the cells added to an address in every other launch."""
        return self._halves[place.half] if place.buffer == "s" and place.half >= 0 else 0

    def beyond(self, place: Place, size: int) -> str | None:
        """Return why elements exceed their buffer, or None."""
        _, length = self.base[place.rank][place.buffer]
        name = f"{place.buffer}[{place.start // (self.cells * (1 + place.packets))}] of rank {place.rank}"
        if place.packets and (place.buffer != "s" or self._wide == 1):
            return f"{name}: packets are for scratch of the LL protocol"
        if place.start + size * (1 + place.packets) > length:
            had = length // (self.cells * (1 + place.packets))
            return f"{name} and what follows goes beyond the {had} chunks of the buffer"
        added = self.added(place)
        if added and added + place.start + size * (1 + place.packets) > self._scratch[place.rank]:
            return f"{name} and what follows goes beyond the buffer by the half that rank {place.half} adds"
        if place.shift:
            return (
                f"{name} is {place.shift // self.cells:+d} chunks from where the executor looks, which takes the "
                "buffer's place in its allocation from the wrong rank, or not at all; in place, name the longer buffer"
            )
        return None

    def name(self, rank: int, cell: int) -> str:
        """Return what people call a cell."""
        for buffer in "oi":
            base, size = self.base[rank][buffer]
            if base <= cell < base + size:
                return f"{buffer}[{(cell - base) // self.cells}]"
        half, at = self._halves[rank], cell - self.base[rank]["s"][0]
        second = 0 < half <= at
        return f"s[{(at - half * second) // (self.cells * self._wide)}]{' in its second half' if second else ''}"

    def callers(self, rank: int) -> list[slice]:
        """Return the caller's cells: input and output."""
        (i, i_size), (o, o_size) = self.base[rank]["i"], self.base[rank]["o"]
        if i < o + o_size and o < i + i_size:
            return [slice(min(i, o), max(i + i_size, o + o_size))]
        return [slice(i, i + i_size), slice(o, o + o_size)]

    def semaphore(self, rank: int, number: int) -> int:
        """Return the initial value of a semaphore."""
        return self._semaphores[rank][number]

    # -- what is in them ----------------------------------------------------------------------------------------------

    def input(self, rank: int, launch: int) -> NDArray[np.uint64]:
        """Return the input numbers of a rank for a launch."""
        if launch not in self._inputs:
            random = np.random.default_rng([self._seed, launch])
            sizes = [self.base[one]["i"][1] if self.layout.given[one] else 0 for one in range(self.ranks)]
            self._inputs[launch] = [random.integers(2**64, size=size, dtype=np.uint64) for size in sizes]
        return self._inputs[launch][rank]

    def fill(self, rank: int, launch: int) -> None:
        """Write new numbers into the input, and spoil the output."""
        for span in self.callers(rank):
            self.known[rank][span] = False
            self.flags[rank][span] = 0
        base, size = self.base[rank]["i"]
        if self.layout.given[rank]:
            self.values[rank][base : base + size] = self.input(rank, launch)
            self.known[rank][base : base + size] = True

    def missing(self, work: Work, launch: int) -> tuple[str, int, int] | None:
        """Return the first missing packet cell of some work, or None."""
        for place in work.sources:
            if place.packets:
                rank, span = self.span(place, work.size, launch)
                absent = self.flags[rank][span] != launch + 1
                if absent.any():
                    return "packet", rank, int(span.start + absent.argmax())
        return None

    def move(
        self, work: Work, sources: Sequence[Span], targets: Sequence[Span], launch: int, telling: Telling | None = None
    ) -> None:
        """Add up the sources and store the sum in all targets."""
        total, known = (
            np.zeros(0 if sources else work.size, dtype=np.uint64),
            np.ones(0 if sources else work.size, bool),
        )
        for number, (place, (rank, span)) in enumerate(zip(work.sources, sources, strict=True)):
            values, there = (column[rank][span][:: 1 + place.packets] for column in (self.values, self.known))
            total, known = (total + values, known & there) if number else (values.copy(), there.copy())
            if place.packets:
                self._fresh[rank][span] = False
            elif self._wide > 1:  # what is a packet is read as one, or not at all
                known &= self.flags[rank][span] == 0
        if not known.all() and len(self.uninitialised) < MAX_FINDINGS and work.targets:
            message = f"{work.name} reads what nothing has written"
            self.uninitialised.append(Finding("uninitialised read", message, *work.at))
        if telling is not None:
            self.tellings.append(telling)
        for place, (rank, span) in zip(work.targets, targets, strict=True):
            self.values[rank][span][:: 1 + place.packets] = total
            self.known[rank][span][:: 1 + place.packets] = known
            if self._wide > 1:
                self.flags[rank][span] = launch + 1 if place.packets else 0
            if place.packets:
                self._fresh[rank][span] = True
                self._teller[rank][span] = len(self.tellings) - 1

    # -- who touched them ---------------------------------------------------------------------------------------------

    def told(self, rank: int, span: slice) -> Iterator[NDArray[np.int32]]:
        """Yield what one knows who has read packets."""
        for number in np.unique(self._teller[rank][span]).tolist():
            if number >= 0:
                one = self.tellings[number]
                every = any(
                    where == rank and span.start <= there.start and there.stop <= span.stop
                    for where, there in one.targets
                )
                yield one.whole if every else one.clock

    def origin(self, rank: int, span: slice) -> NDArray[np.int32]:
        """Return by cell the telling that wrote the packets there."""
        return self._teller[rank][span].copy()

    def implied(self, telling: int, element: int, reader: tuple[int, int], rank: int, cell: int) -> bool:
        """Return whether a packet implies that an actor read a cell."""
        seen = set()
        trail = [(telling, element)]
        while trail:
            number, at = trail.pop()
            if number < 0 or (number, at) in seen:
                continue
            seen.add((number, at))
            one = self.tellings[number]
            if one.clock[1, reader[0]] > reader[1] or ((one.actor, one.phase) == reader and one.read(rank, cell, at)):
                return True
            for (where, span), origin in zip(one.sources, one.origins, strict=True):
                if origin is not None:
                    before = int(origin[2 * at])
                    if before >= 0:
                        trail.append((before, self.tellings[before].element(where, span.start + 2 * at)))
        return False

    def unread(self, rank: int, span: slice, launch: int) -> bool:
        """Return whether a launch's packet was never read."""
        return bool((self._fresh[rank][span] & (self.flags[rank][span] == launch + 1)).any())

    def mark_read(self, rank: int, span: slice, actor: int, phase: int) -> None:
        """Note that an actor has read cells in a phase."""
        left = np.ones(span.stop - span.start, dtype=bool)
        for layer in self._reads[rank]:
            who = layer.who[span]
            mine = left & ((who == actor) | (who == _NOBODY))
            who[mine] = actor
            layer.when[span][mine] = phase
            left &= ~mine
            if not left.any():
                return
        layer = _Readers(np.full(self.sizes[rank], _NOBODY, np.int32), np.zeros(self.sizes[rank], np.int32))
        layer.who[span][left] = actor
        layer.when[span][left] = phase
        self._reads[rank].append(layer)

    def readers(self, rank: int, span: slice) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """Yield the readers of cells since their write, with phases.

        There are as many rows as a cell has readers.
        """
        yield from ((layer.who[span], layer.when[span]) for layer in self._reads[rank])

    def clear_reads(self, rank: int, span: slice) -> None:
        """Forget who read cells: they are written anew."""
        for layer in self._reads[rank]:
            layer.who[span] = _NOBODY

    def others_read(self, rank: int, cell: int, owner: Mapping[int, int]) -> bool:
        """Return whether anyone but the writer has read a cell since."""
        readers = {owner.get(int(layer.who[cell]), int(layer.who[cell])) for layer in self._reads[rank]}
        return bool(readers - {_NOBODY, int(self.writer[rank][cell])})

    # -- what has to be there -----------------------------------------------------------------------------------------

    def _results(self, rank: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the result chunk by chunk: place and expected chunk."""
        base = self.base[rank]["o"][0]
        rows = [
            (base + one.offset * self.cells, one.chunk, _NOBODY if one.source is None else one.source)
            for one in self.layout.output(rank)
        ]
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        if self._sent is not None:
            sent = np.array(self._sent, dtype=np.int64)[table[:, 2] * self.ranks + rank]
            table = table[(table[:, 2] == rank) | (table[:, 1] % (len(table) // self.ranks) < sent)]
        return table[:, 0], table[:, 1], table[:, 2]

    def wanted(self, launch: int, chunk: int, source: int) -> NDArray[np.uint64]:
        """Return the numbers of an input chunk, of a rank or all."""
        span = slice(chunk * self.cells, (chunk + 1) * self.cells)
        if source != _NOBODY:
            return self.input(source, launch)[span]
        if launch not in self._sums:
            self._sums[launch] = np.add.reduce([self.input(rank, launch) for rank in range(self.ranks)])
        return self._sums[launch][span]

    def results(self, rank: int, launch: int) -> list[Finding]:
        """Return faults of a rank's output, and of a separate input."""
        found: list[Finding] = []
        for cell, chunk, source in zip(*(column.tolist() for column in self.expected[rank]), strict=True):
            right = self.wanted(launch, chunk, source)
            here = slice(cell, cell + self.cells)
            if not np.array_equal(self.values[rank][here], right) or not self.known[rank][here].all():
                message = f"{self.name(rank, cell)} ends as {self._describe(rank, here, launch, chunk)} instead of "
                message += self._title(chunk, source)
                found.append(Finding("wrong result", message, rank))
                if len(found) == MAX_FINDINGS:
                    return found
        base, size = self.base[rank]["i"]
        if not self.layout.inplace and self.layout.given[rank]:
            changed = np.flatnonzero(self.values[rank][base : base + size] != self.input(rank, launch))
            if len(changed):
                name = self.name(rank, base + int(changed[0]))
                found.append(Finding("wrong result", f"{name}, the caller's, is changed", rank))
        return found

    def from_whom(self, rank: int, launch: int) -> list[int]:
        """Return the possible source ranks of the first output chunk."""
        cells, chunks, _ = self.expected[rank]
        here = slice(int(cells[0]), int(cells[0]) + self.cells)
        if not self.known[rank][here].all():
            return []
        found = self.values[rank][here]
        return [one for one in range(self.ranks) if np.array_equal(found, self.wanted(launch, int(chunks[0]), one))]

    def _title(self, chunk: int, source: int) -> str:
        if source != _NOBODY:
            return f"chunk {chunk} of rank {source}"
        return f"chunk {chunk} of all ranks" if self.ranks > 1 else f"chunk {chunk}"

    def _describe(self, rank: int, here: slice, launch: int, chunk: int) -> str:
        """Describe a place of the result, if simple."""
        if not self.known[rank][here].all():
            return "nothing"
        value = int(self.values[rank][here][0])
        for turn in range(launch, -1, -1):
            said = "" if turn == launch else " of an earlier launch"
            for source in range(self.ranks):
                some = np.flatnonzero(self.input(source, turn)[:: self.cells] == value)
                if len(some):
                    return self._title(int(some[0]), source) + said
        firsts = [int(one[chunk * self.cells]) for one in self._inputs[launch] if len(one) > chunk * self.cells]
        missing = (sum(firsts) - value) % 2**64
        if missing in firsts:
            return f"chunk {chunk} without that of rank {firsts.index(missing)}"
        if 2**64 - missing in firsts:
            return f"chunk {chunk} with that of rank {firsts.index(2**64 - missing)} twice"
        return "another sum"
