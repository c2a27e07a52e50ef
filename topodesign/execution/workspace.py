"""Memory of one rank: layout, message data and result checks.

A block of n elements cut into u units has unit i from element ``i * n // u`` on, so that every size can be cut, into
parts that differ by an element at most; a message without elements is not sent.

What ranks begin with is made so that anything that is lost, counted twice or put elsewhere shows in the results: an
element is the product of a number that depends on its place in the data and one that depends on the rank and on the
iteration. So sums are known without adding, and all numbers on the way are integers that every type holds exactly.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import TooLargeError
from topodesign.collectives import Collective
from topodesign.execution.program import MAX_UNITS, Message, Piece, Program, Sum
from topodesign.plans.transfers import Transfers
from topodesign.topology.topology import IntArray

Array = NDArray[Any]

TYPES: Mapping[str, type] = MappingProxyType(
    {"float32": np.float32, "float64": np.float64, "int32": np.int32, "int64": np.int64}
)
"""Types of elements by name."""
_EXACT = 2**24  # integers below are exact in all of them
_PLACES = 251  # different numbers by place; a prime, so that no stride of a plan hides a shift


@dataclass(frozen=True)
class Extent:
    """Elements per block."""

    # of the blocks of every stream that are as large as a share, see
    # :meth:`~topodesign.collectives.collective.Collective.shares`
    elements: tuple[int, ...]
    units: tuple[int, ...]  # units of a block of every stream


def extent_of(transfers: Sequence[Transfers], size: Fraction, width: int) -> tuple[Extent, int]:
    """Return the smallest extent that holds ``size``, and its actual bytes."""
    elements, whole = [], Fraction(0)
    for one in transfers:
        elements.append(-(-size * one.share // (one.shards * one.mean * width)))
        whole += elements[-1] * one.shards * one.mean * width
    return Extent(tuple(map(int, elements)), tuple(one.units for one in transfers)), int(whole)


def shares_of(transfers: Sequence[Transfers]) -> tuple[Mapping[int, int], ...]:
    """Return each stream's shares per block, if not all one."""
    found: list[dict[int, int]] = []
    for one in transfers:
        if one.sums is not None:  # blocks are as large as all data
            found.append({})
            continue
        members = one.collective.members(one.ranks)
        blocks = one.collective.blocks(members, one.ranks)
        share, _ = one.collective.shares(blocks, one.ranks, len(members))
        pairs = zip(blocks.tolist(), share.tolist() if one.amounts is None else one.amounts, strict=True)
        found.append({block: count for block, count in pairs if count != 1})
    return tuple(found)


def coefficients(ranks: int, iteration: int) -> IntArray:
    """Return every rank's factor, small enough for exact sums.

    Every rank can compute it from the iteration number.
    """
    most = _EXACT // (_PLACES * ranks)
    if most < 2:
        raise TooLargeError(f"{ranks} ranks are too many for sums that short floats hold exactly")
    return np.random.default_rng(iteration).integers(1, most + 1, size=ranks)


def by_place(stream: int, block: int, first: int, last: int) -> IntArray:
    """Return the numbers (from 1) of block elements in a range."""
    place = np.arange(first, last, dtype=np.uint64) + np.uint64((block * 40_503 + stream * 7_919) % 2**32)
    place *= np.uint64(0x9E3779B97F4A7C15)
    place >>= np.uint64(40)
    return (place % np.uint64(_PLACES)).astype(np.int64) + 1


class Layout:
    """Layout of a rank's units in its memory.

    * ``size``: elements of the memory.
    * ``inputs``, ``outputs``: the pieces that it has at the start and must have in the end, each with its place.
    """

    def __init__(self, program: Program, extent: Extent, shares: Sequence[Mapping[int, int]]) -> None:
        self.program = program
        self._extent, self._shares = extent, shares
        elements = self._elements(program.stream, program.block)
        units = np.array(extent.units, dtype=np.int64)[program.stream]
        self._low = _cut(program.lo, elements, units)
        self._length = _cut(program.hi, elements, units) - self._low
        self._begin = np.cumsum(self._length) - self._length
        self._blocks = int(program.block.max(initial=0)) + 1
        self._keys = self._key(program.stream, program.block, program.lo)
        self.size = int(self._length.sum())
        self.outputs = [(one, self._whole(one)) for one in program.outputs]
        self.inputs = [(one, self._whole(one)) for one in program.inputs]

    # -- where things are ---------------------------------------------------------------------------------------------

    def _elements(self, stream: IntArray, block: IntArray) -> IntArray:
        """Return how many elements blocks have."""
        elements = np.array(self._extent.elements, dtype=np.int64)[stream]
        for number, shares in enumerate(self._shares):
            if shares:
                pairs = zip(stream.tolist(), block.tolist(), strict=True)
                share = [shares.get(one, 1) if own == number else 1 for own, one in pairs]
                elements = elements * np.array(share, dtype=np.int64)
        return elements

    def spans(self, message: Message) -> list[tuple[int, int]]:
        """Return a message's memory ranges, merging adjacent ones."""
        first, last = self._ends(message.stream, message.block, message.lo, message.hi)
        some = first < last
        found: list[tuple[int, int]] = []
        for begin, end in zip(first[some].tolist(), last[some].tolist(), strict=True):
            if found and found[-1][1] == begin:
                found[-1] = (found[-1][0], end)
            else:
                found.append((begin, end))
        return found

    def addends(self, one: Sum) -> list[slice]:
        """Return the memory slices of a sum: target, then addends."""
        block = np.array((one.block, *one.sources), dtype=np.int64)
        zeros = np.zeros_like(block)
        return list(map(slice, *(ends.tolist() for ends in self._ends(zeros, block, zeros + one.lo, zeros + one.hi))))

    def _ends(self, stream: IntArray, block: IntArray, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
        """Return the memory ranges of units."""
        elements = self._elements(stream, block)
        units = np.array(self._extent.units, dtype=np.int64)[stream]
        place = np.searchsorted(self._keys, self._key(stream, block, lo), side="right") - 1
        shift = self._begin[place] - self._low[place]
        return _cut(lo, elements, units) + shift, _cut(hi, elements, units) + shift

    def _whole(self, piece: Piece) -> slice:
        stream, block = np.array([piece.stream], dtype=np.int64), np.array([piece.block], dtype=np.int64)
        place = int(np.searchsorted(self._keys, self._key(stream, block, np.zeros(1, dtype=np.int64))[0]))
        begin = int(self._begin[place])
        return slice(begin, begin + int(self._elements(stream, block)[0]))

    def _key(self, stream: IntArray, block: IntArray, unit: IntArray) -> IntArray:
        """Return numbers that ascend as streams, blocks and units do."""
        keys: IntArray = (stream * self._blocks + block) * MAX_UNITS + unit
        return keys


class Steps(NamedTuple):
    """Messages and sums of a batch that have elements."""

    phase: int
    sends: list[Slot]
    receives: list[Slot]
    places: list[Slot]
    sums: list[list[slice]]


class Runner(Layout):
    """A rank's part of a plan in memory, run by any transport.

    * ``sends``, ``receives``: its messages, in the order of the program.
    * ``batches``: what it does, in order.

    Memory is an array of NumPy or a tensor; ``add`` makes one partial result of two, and puts it into the first, and
    ``nothing`` is what changes nothing.
    """

    def __init__(
        self,
        program: Program,
        extent: Extent,
        shares: Sequence[Mapping[int, int]],
        *,
        add: Callable[[Any, Any], object] = operator.iadd,
        nothing: float = 0,
    ) -> None:
        super().__init__(program, extent, shares)
        self._add, self.nothing = add, nothing
        self.sends, self.receives = (
            [Slot(self, one, sent=sent, add=add, nothing=nothing) for one in some]
            for sent, some in ((True, program.sends), (False, program.receives))
        )
        self.batches = []
        for one in program.script:
            wanted = (self.sends, one.sends), (self.receives, one.receives), (self.receives, one.places)
            sends, receives, places = ([some[at] for at in row if some[at].count] for some, row in wanted)
            sums = [self.addends(program.sums[at]) for at in one.sums]
            self.batches.append(Steps(one.phase, sends, receives, places, sums))

    def bind(self, memory: Any, empty: Callable[[int], Any]) -> None:
        """Run in this memory; ``empty`` allocates elements of its type."""
        self._memory = memory
        for slot in (*self.sends, *self.receives):
            slot.bind(memory, empty)

    def release(self) -> None:
        """Give the memory back."""
        self._memory = None
        for slot in (*self.sends, *self.receives):
            slot.release()

    def move(self, carry: Callable[[int], None], meet: Callable[[int], None] = lambda _: None) -> None:
        """Do the rank's part.

        ``carry`` moves the messages of a batch, by its number, and ends when they are there. ``meet`` waits for all
        ranks, and for circuits to change to a phase.
        """
        for at, batch in enumerate(self.batches):
            if batch.phase:
                meet(batch.phase)
            for slot in batch.sends:
                slot.gather()
            carry(at)
            for slot in batch.places:
                slot.place()
            for places in batch.sums:
                into, first, *others = (self._memory[place] for place in places)
                into[:] = first
                for other in others:
                    self._add(into, other)


class Workspace(Runner):
    """The memory of one rank.

    * ``memory``: all elements that the rank has.
    """

    def __init__(
        self, program: Program, extent: Extent, shares: Sequence[Mapping[int, int]], dtype: str = "float32"
    ) -> None:
        super().__init__(program, extent, shares)
        kind = TYPES[dtype]
        self.memory: Array = np.zeros(self.size, dtype=kind)
        self._pattern: Array = np.empty_like(self.memory)
        for stream, block, low, at, count in zip(
            *(column.tolist() for column in (program.stream, program.block, self._low, self._begin, self._length)),
            strict=True,
        ):
            self._pattern[at : at + count] = by_place(stream, program.pattern(block), low, low + count)
        most = max((where.stop - where.start for _, where in self.outputs), default=0)
        self._wanted: Array = np.empty(most, dtype=kind)
        self.bind(self.memory, partial(np.empty, dtype=kind))

    def fill(self, factor: IntArray) -> None:
        """Write the rank's inputs, scaled by :func:`coefficients`, and zeros elsewhere."""
        self.memory.fill(0)
        own = int(factor[self.program.rank])
        for _, where in self.inputs:
            np.multiply(self._pattern[where], own, out=self.memory[where], casting="unsafe")

    def wrong(self, factor: IntArray) -> tuple[int, str]:
        """Return the number of wrong elements, and the first as text."""
        count, first = 0, ""
        for piece, where in self.outputs:
            wanted = self._wanted[: where.stop - where.start]
            np.multiply(self._pattern[where], int(factor[list(piece.sources)].sum()), out=wanted, casting="unsafe")
            got = self.memory[where]
            if np.array_equal(got, wanted):
                continue
            places = np.flatnonzero(got != wanted)
            count += len(places)
            at = int(places[0])
            first = first or (
                f"rank {self.program.rank} has {got[at]} instead of {wanted[at]} in element {at} of block {piece.block}"
            )
        return count, first


class Slot:
    """Memory location and buffer of one message.

    * ``count``: elements.
    * ``straight``: whether its elements follow one another in memory and may be sent from there, or be received there
      at any time: that place is the buffer then.

    * ``arrived``: what has been received elsewhere than in the buffer.
    """

    def __init__(
        self, layout: Layout, message: Message, *, sent: bool, add: Callable[[Any, Any], object], nothing: float
    ) -> None:
        self.message = message
        self._spans = layout.spans(message)
        ends = np.cumsum([0, *(end - begin for begin, end in self._spans)]).tolist()
        self.count: int = ends[-1]
        self._parts = list(pairwise(ends))
        self.straight = len(self._spans) == 1 and message.special != sent
        self._clears, self._adds = sent and message.special, message.adds
        self._add, self._nothing = add, nothing
        self._views: list[Any] = []
        self._spare: Any = None
        self.arrived: Any = None

    def bind(self, memory: Any, empty: Callable[[int], Any]) -> None:
        """Bind views of memory; ``empty`` allocates elements of its type."""
        self._views, self._empty = [memory[begin:end] for begin, end in self._spans], empty

    def release(self) -> None:
        """Give the memory back."""
        self._views = []

    @property
    def buffer(self) -> Any:
        """Buffer of outgoing or incoming data."""
        if self.straight:
            return self._views[0]
        if self._spare is None:
            self._spare = self._empty(self.count)
        return self._spare

    def gather(self) -> None:
        """Copy outgoing data to the buffer and reset partial sums."""
        for view, (begin, end) in zip(self._views, self._parts, strict=True) if not self.straight else ():
            self.buffer[begin:end] = view
            if self._clears:
                view[:] = self._nothing

    def place(self) -> None:
        """Store or add received data in memory."""
        if self.arrived is None and self.straight:
            return
        source, self.arrived = self.buffer if self.arrived is None else self.arrived, None
        for view, (begin, end) in zip(self._views, self._parts, strict=True):
            if self._adds:
                self._add(view, source[begin:end])
            else:
                view[:] = source[begin:end]


def bytes_of(program: Program, extent: Extent, shares: Sequence[Mapping[int, int]], width: int, *, alone: bool) -> int:
    """Return a rank's approximate memory in bytes, messages included."""
    units, elements = (np.array(one, dtype=np.float64) for one in (extent.units, extent.elements))

    def total(one: Program | Message) -> int:
        pairs = zip(one.stream.tolist(), one.block.tolist(), strict=True)
        share = np.array([shares[stream].get(block, 1) for stream, block in pairs], dtype=np.float64)
        return int(((one.hi - one.lo) * share * elements[one.stream] / units[one.stream]).sum())

    messages = (*program.sends, *program.receives) if alone else program.sends
    return ((4 if alone else 2) * total(program) + sum(map(total, messages))) * width


def _cut(unit: IntArray, elements: IntArray, units: IntArray) -> IntArray:
    """Return each unit's first element, computed without overflow."""
    whole, rest = np.divmod(elements, units)
    cut: IntArray = unit * whole + unit * rest // units
    return cut


@dataclass(frozen=True, eq=False)
class Trial:
    """Programs for one size of the data."""

    programs: Mapping[int, Program]  # by rank; a process that is one rank needs its own alone
    ranks: int  # how many there are
    # extent, shares, dtype: as a :class:`~topodesign.execution.workspace.Workspace` takes them
    extent: Extent
    shares: tuple[Mapping[int, int], ...]
    dtype: str
    # warmup, iterations: how often it is run without being timed, and then with; every result is checked
    warmup: int
    iterations: int
    collective: Collective | None  # what it is, among ranks; None of several at the same time
    # has circuits change to a phase, when all wait for that; rank 0 calls it
    between: Callable[[int], None] | None = None

    def change(self, rank: int, phase: int) -> None:
        """Change circuits by the callback, if there is one."""
        if rank == 0 and self.between is not None:
            self.between(phase)

    def workspace(self, rank: int) -> Workspace:
        """Return the memory of a rank."""
        return Workspace(self.programs[rank], self.extent, self.shares, self.dtype)


@dataclass(frozen=True)
class Outcome:
    """Outcome of a trial."""

    times: tuple[int, ...]  # nanoseconds of every iteration that was timed: until the last rank was done
    wrong: int  # elements that were not what they must be, of all ranks and iterations
    first: str  # the first of them in words; empty if there are none
    own: Outcome | None = None  # the same for the transport's own collective; None where it has none

    @property
    def median(self) -> Fraction:
        """The middle time, in seconds."""
        ordered = sorted(self.times)
        middle = len(ordered) // 2
        pair = ordered[middle - (len(ordered) % 2 == 0) : middle + 1]
        return Fraction(sum(pair), len(pair) * 10**9)

    @property
    def least(self) -> Fraction:
        """The shortest time, in seconds."""
        return Fraction(min(self.times), 10**9)

    @property
    def most(self) -> Fraction:
        """The longest time, in seconds."""
        return Fraction(max(self.times), 10**9)


class Part(NamedTuple):
    """Timed part of a rank.

    * ``fill``, ``wrong``: write its inputs and count its wrong elements, with the first in words, by the factors of
      ranks.
    * ``free``: gives back what it takes.
    """

    fill: Callable[[IntArray], None]
    move: Callable[[], object]
    wrong: Callable[[IntArray], tuple[int, str]]
    free: Callable[[], None] = lambda: None


def time_parts(
    trial: Trial,
    rank: int,
    parts: Sequence[Part],
    meet: Callable[[], object],
    gather: Callable[[Any], list[Any]],
    *,
    progress: Callable[[float], None],
) -> list[Outcome]:
    """Run a rank's parts, which all ranks do together, and return their outcomes on all ranks.

    They take turns, so that all meet the same disturbances. ``meet`` waits for all ranks, ``gather`` returns their
    values.
    """
    tallies: list[list[tuple[int, int, str]]] = [[] for _ in parts]  # times, wrong elements, and the first of them
    rounds = trial.warmup + trial.iterations
    for number in range(rounds):
        factor = coefficients(trial.ranks, number)
        for part, tally in zip(parts, tallies, strict=True):
            part.fill(factor)
            trial.change(rank, 0)
            meet()
            begun = time.perf_counter_ns()
            part.move()
            tally.append((time.perf_counter_ns() - begun, *part.wrong(factor)))
        progress((number + 1) / rounds)
    outcomes = []
    for tally in tallies:
        times, counts, words = zip(*tally, strict=True)
        found = gather((times[trial.warmup :], sum(counts), next(filter(None, words), "")))
        slowest = np.array([times for times, _, _ in found], dtype=np.int64).max(axis=0)
        first = next((text for _, _, text in found if text), "")
        outcomes.append(Outcome(tuple(slowest.tolist()), sum(some for _, some, _ in found), first))
    return outcomes
