"""Contents of trace messages, executed on integers in a replay.

Every member begins with a random number for each part of a block: its contribution where blocks are added up, and the
content where it is the source. A send reads what its rank has when it starts, and must find the same when it is over; a
receive writes, or hands on to the compute node that depends on it, which adds. In the end every destination must have
the sum, or the source's content. Numbers count modulo 2^64, so that a wrong sum is right by chance once in 2^64.

One replay decides all orders if dependencies order all that a rank does with the same data, which is proven then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import ranges
from topodesign.base.compiled import Ints
from topodesign.base.errors import FileFormatError, TopodesignError
from topodesign.base.memory import check_memory
from topodesign.base.strict_json import parse_json
from topodesign.collectives import Collective, from_record
from topodesign.collectives.collective import EVERYONE
from topodesign.runtime.chakra.replay import Job, Links, Place, Run
from topodesign.runtime.chakra.traces import (
    AMOUNTS,
    COLLECTIVE,
    COMPUTE,
    DATA,
    PART,
    PHASE,
    RANKS,
    SEND,
    SIZE,
    UNITS,
    Node,
)
from topodesign.runtime.report import Finding

Words = NDArray[np.uint64]
Piece = tuple[int, int, int]  # block, and its first part and the end of its parts

_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_MAX_UNITS = 2**62
_MAX_NUMBER = 2**20
_SHOWN = 5


@dataclass(frozen=True)
class Contents:
    """What the messages of traces carry."""

    collective: Collective  # what all of it is for
    ranks: int  # number of ranks
    cuts: dict[int, list[int]]  # for every block the ends of its parts, ascending, from 0 to the units of a block
    pieces: tuple[tuple[Piece, ...], ...]  # for every message what it carries, in parts
    movements: tuple[int, ...]  # for every message the movement of the collective that it belongs to
    job: Job  # the traces

    @cached_property
    def blocks(self) -> list[int]:
        """The blocks of the collective, in their order in memory."""
        blocks: list[int] = self.collective.blocks(self.collective.members(self.ranks), self.ranks).tolist()
        return blocks

    @cached_property
    def first(self) -> Ints:
        """The first part of each block in a rank's memory, and their number."""
        return np.cumsum([0, *(len(self.cuts[block]) - 1 for block in self.blocks)])

    def at(self, cell: int) -> int:
        """Return the index of a part's block."""
        return int(np.searchsorted(self.first, cell, side="right")) - 1

    def block(self, cell: int) -> int:
        """Return the block that a part is of."""
        return self.blocks[self.at(cell)]

    def cells(self, number: int) -> Ints:
        """Return the memory cells of a message at a rank."""
        return self._cells[self._ends[number] : self._ends[number + 1]]

    def adds(self, number: int) -> bool:
        """Return whether a message is added to what its receiver has."""
        return self.collective.movements[self.movements[number]].adds

    @cached_property
    def _ends(self) -> list[int]:
        ends: list[int] = np.cumsum([0, *(sum(end - low for _, low, end in some) for some in self.pieces)]).tolist()
        return ends

    @cached_property
    def _cells(self) -> Ints:
        place = dict(zip(self.blocks, self.first.tolist(), strict=False))
        rows = [(place[block] + low, end - low) for some in self.pieces for block, low, end in some]
        starts, sizes = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        return ranges(starts, sizes)[1]

    @cached_property
    def start(self) -> tuple[Words, NDArray[np.bool_], NDArray[np.bool_], Words]:
        """Initial, present, due and expected numbers of all ranks.

        A rank begins with a hash of rank, block and part.
        """
        blocks, sizes = np.array(self.blocks, dtype=np.int64), np.diff(self.first)
        of = np.repeat(np.arange(len(blocks)), sizes)
        part = np.arange(len(of)) - self.first[of]
        member = np.zeros((self.ranks, 1), dtype=np.bool_)
        member[self.collective.members(self.ranks)] = True
        movements = self.collective.movements
        rank = np.arange(self.ranks)[:, None]
        place, goal = (
            self.collective.places(one, blocks, self.ranks)[end][of]
            for end, one in enumerate((movements[0], movements[-1]))
        )
        there, due = ((one == EVERYONE) & member | (rank == one) for one in (place, goal))
        words = part.astype(np.uint64) + np.uint64(1) + (blocks[of] + 1).astype(np.uint64) * np.uint64(2**20)
        with np.errstate(over="ignore"):
            words = (words + (rank + 1).astype(np.uint64) * np.uint64(2**40)) * _MIX[0]
            for multiplier, shift in ((_MIX[1], 30), (_MIX[2], 27)):
                words = (words ^ (words >> np.uint64(shift))) * multiplier
        words = (words ^ (words >> np.uint64(31))) * there
        return words, there, due, words.sum(axis=0, dtype=np.uint64)


def contents_of(job: Job) -> tuple[Contents | None, list[Finding]]:
    """Return the contents of messages, or None, and their faults."""
    headers = [trace.header for trace in job.traces]
    if all(COLLECTIVE not in header or PHASE in header for header in headers):
        return None, []
    if any(header != headers[0] for header in headers):
        return None, [Finding("illegal", "the headers of the ranks do not say the same")]
    record, ranks, units, size = (headers[0].get(name) for name in (COLLECTIVE, RANKS, UNITS, SIZE))
    try:
        collective = from_record(parse_json(record)) if isinstance(record, str) else None
        whole = Fraction(size) if isinstance(size, str) and len(size) <= 2 * _MAX_NUMBER.bit_length() else None
    except (TopodesignError, ValueError, ZeroDivisionError):
        collective = whole = None
    if collective is None or collective.several or collective.groups is not None or whole is None or whole <= 0:
        return None, [Finding("illegal", "the header does not say a collective and a size that are understood")]
    if (
        not isinstance(ranks, int)
        or ranks != len(job.traces)
        or not isinstance(units, int)
        or not 1 <= units <= _MAX_UNITS
    ):
        return None, [Finding("illegal", f"the header says {ranks} ranks and {units} units of a block")]
    try:
        members = collective.members(ranks)
        ends, mean = _ends(collective, collective.blocks(members, ranks).tolist(), units, headers[0].get(AMOUNTS))
    except (TopodesignError, ValueError) as error:
        return None, [Finding("illegal", f"the header: {error}")]
    return _read(job, collective, ends, whole / (mean * collective.shards(len(members))))


def _ends(collective: Collective, blocks: list[int], units: int, said: object) -> tuple[dict[int, int], Fraction]:
    """Return the units of blocks, and the mean per pair."""
    if said is None:
        return dict.fromkeys(blocks, units), Fraction(units)
    found = parse_json(said) if isinstance(said, str) and collective.pairwise else None
    if not isinstance(found, list) or len(found) != len(blocks) or not all(type(one) is int for one in found):
        raise FileFormatError("the pieces of the blocks of an all-to-all are a list of a number for each")
    if min(found) < 0 or not 0 < sum(found) < _MAX_UNITS:
        raise FileFormatError("the pieces of a block are not below 0, and of all blocks not 0")
    others = len(blocks) - math.isqrt(len(blocks))
    ends = {block: units * pieces for block, pieces in zip(blocks, found, strict=True)}
    return ends, Fraction(units * sum(found), others)


def _read(
    job: Job, collective: Collective, units: dict[int, int], unit: Fraction
) -> tuple[Contents | None, list[Finding]]:
    """Return the declared contents of sends, in bytes of ``unit``."""
    ranks = len(job.traces)
    known = set(units)
    cuts: dict[int, set[int]] = {block: {0, end} for block, end in units.items()}
    raw, movements, findings = [], [], []
    for message in job.messages:
        rank, at = message.send
        node = job.traces[rank].nodes[at]
        said = _data(node, units, len(collective.movements))
        if isinstance(said, str):
            findings.append(Finding("illegal", f"node {node.id}: {said}", rank))
            continue
        width = sum(hi - lo for _, lo, hi in said)
        if message.size != -int(-width * unit // 1):
            text = f"node {node.id} sends {message.size} bytes, and its data are {-int(-width * unit // 1)}"
            findings.append(Finding("mismatch", text, rank))
        for block, lo, hi in said:
            cuts[block].update((lo, hi))
        raw.append(said)
        movements.append(node.number(PART) or 0)
    if findings:
        return None, findings
    ordered = {block: sorted(cuts[block]) for block in known}
    check_memory(32 * ranks * sum(map(len, ordered.values())), f"the data of {ranks} ranks")
    place = {block: {cut: number for number, cut in enumerate(ends)} for block, ends in ordered.items()}
    pieces = tuple(tuple((block, place[block][lo], place[block][hi]) for block, lo, hi in said) for said in raw)
    return Contents(collective, ranks, ordered, pieces, tuple(movements), job), []


def _data(node: Node, units: dict[int, int], movements: int) -> list[Piece] | str:
    """Return a send's declared contents, or their fault."""
    said, part = node.attributes.get(DATA), node.number(PART)
    if not isinstance(said, list) or not said or len(said) % 3 or part is None:
        return "a send that does not say what it carries, where others do"
    if not 0 <= part < movements:
        return f"of movement {part}, and the collective has {movements}"
    found = [(said[at], said[at + 1], said[at + 2]) for at in range(0, len(said), 3)]
    for block, lo, hi in found:
        if not 0 <= lo < hi <= units.get(block, 0):
            return f"units {lo} to {hi} of block {block}, which there are not"
    return found


class Memory(Run):
    """A run with the data of every rank, a row each."""

    def __init__(self, contents: Contents, transport: Links) -> None:
        super().__init__(contents.job, transport)
        self._contents = contents
        self.findings: list[Finding] = []
        values, self._held = contents.start[:2]
        self._values, self._held = values.copy(), self._held.copy()
        self._read: dict[int, Words] = {}
        self._landed: dict[tuple[int, int], int] = {}

    def send(self, number: int) -> None:
        """Read what the message carries."""
        rank, cells = self.job.messages[number].src, self._contents.cells(number)
        there = self._held[rank, cells]
        if not there.all():
            block = self._contents.block(cells[there.argmin()])
            self._find("uninitialised read", number, f"sends block {block}, of which it has not all yet")
        self._read[number] = self._values[rank, cells]
        super().send(number)

    def record_arrival(self, number: int) -> None:
        """Check that what was read is what is there still."""
        rank, cells = self.job.messages[number].src, self._contents.cells(number)
        changed = self._values[rank, cells] != self._read[number]
        if changed.any():
            block = self._contents.block(cells[changed.argmax()])
            self._find("race", number, f"changes block {block} while it is sent")
        super().record_arrival(number)

    def receive(self, number: int) -> None:
        """Write arrived data, or keep them for the adding node."""
        message = self.job.messages[number]
        if self._contents.adds(number):
            rank, at = message.receive
            self._landed[rank, self.job.traces[rank].nodes[at].id] = number
        else:
            cells = self._contents.cells(number)
            self._values[message.dst, cells] = self._read[number]
            self._held[message.dst, cells] = True
        super().receive(number)

    def compute(self, rank: int, at: int) -> None:
        """Add what the receives brought that the node depends on."""
        for one in self.job.traces[rank].nodes[at].data:
            number = self._landed.pop((rank, one), None)
            if number is None:
                continue
            cells = self._contents.cells(number)
            self._values[rank, cells] += self._read[number]
            self._held[rank, cells] = True
        super().compute(rank, at)

    def go(self) -> list[Finding]:
        """Run to the end; return what went wrong, and wrong results."""
        stuck = super().go()
        return stuck + self.findings if stuck else self._result()

    def _result(self) -> list[Finding]:
        for rank, node in self._landed:
            self.findings.append(Finding("wrong result", f"nothing adds what node {node} receives", rank))
        _, _, due, wanted = self._contents.start
        missing = due & ~self._held
        wrong = missing | (due & (self._values != wanted))
        ranks, cells = (one.tolist() for one in np.nonzero(wrong))
        for block, rank in sorted({(self._contents.at(cell), rank) for rank, cell in zip(ranks, cells, strict=True)}):
            name, low, high = self._contents.blocks[block], *self._contents.first[block : block + 2]
            absent = missing[rank, low:high].any()
            said = f"block {name} never arrives, at least in part" if absent else f"block {name} is wrong in the end"
            self.findings.append(Finding("wrong result", said, rank))
            if len(self.findings) > _SHOWN:
                break
        return self.findings

    def _find(self, verdict: Any, number: int, text: str) -> None:
        message = self.job.messages[number]
        rank, at = message.send
        node = self.job.traces[rank].nodes[at]
        if len(self.findings) < _SHOWN:
            self.findings.append(Finding(verdict, f"node {node.id} ({node.name[:60]}) {text}", rank))


def find_races(contents: Contents, order: Sequence[Place]) -> Iterator[Finding]:
    """Yield nodes of a rank that use the same data in an order that nothing fixes.

    A send reads from its start to its end, a receive writes at its end, and a compute node adds at its end; additions
    may change places. If dependencies and messages order all else that uses a part of the data, every order has the
    results of one.

    Parameters
    ----------
    contents
        What messages carry.
    order
        All nodes in the order in which they were over in a replay.
    """
    job = contents.job
    past = [(0, 0, 0)]  # which nodes have written, added and read since: the same for many parts
    known = {past[0]: 0}
    state = np.zeros((contents.ranks, int(contents.first[-1])), dtype=np.int64)  # number of that, by part
    for (rank, at), start, end in _order_nodes(job, order):
        node, bit = job.traces[rank].nodes[at], 1 << at
        if node.kind == SEND:
            uses = [job.sent[rank, at]]
        else:
            brought = [
                job.received.get((rank, one)) for one in (job.needs[rank][at] if node.kind == COMPUTE else (at,))
            ]
            uses = [one for one in brought if one is not None and contents.adds(one) == (node.kind == COMPUTE)]
        for cells in map(contents.cells, uses):
            found, which = np.unique(state[rank, cells], return_inverse=True)
            new: list[int] = []
            for wrote, added, read in (past[one] for one in found.tolist()):
                if node.kind == SEND:
                    unordered, after = (wrote | added) & ~start, (wrote, added, read | bit)
                elif node.kind == COMPUTE:
                    unordered, after = (wrote | read) & ~end, (wrote, added | bit, read)
                else:
                    unordered, after = (wrote | added | read) & ~end, (bit, 0, 0)
                if unordered:
                    other = job.traces[rank].nodes[unordered.bit_length() - 1]
                    both = f"node {node.id} ({node.name[:60]}) and node {other.id} ({other.name[:60]})"
                    block = contents.block(int(cells[which == len(new)][0]))
                    yield Finding("race", f"{both} use block {block}, and nothing fixes their order", rank)
                new.append(known.setdefault(after, len(past)))
                past += [after] * (len(known) - len(past))
            state[rank, cells] = np.array(new)[which]


def _order_nodes(job: Job, order: Sequence[Place]) -> Iterator[tuple[Place, int, int]]:
    """Yield each node with bits of the nodes that are over at its start and end.

    Bits stand for nodes of its rank. Before the end of a node are the ends of those that it depends on, of the send of
    a receive, and what is before these.
    """
    sizes = list(map(len, job.needs))
    first = np.cumsum([0, *sizes]).tolist()
    over: dict[Place, int] = {}  # of nodes that are over and still of use, the nodes of all ranks before their ends
    users = {(rank, at): len(job.children[rank][at]) + ((rank, at) in job.sent) for rank, at in order}
    for rank, at in order:
        needs = [(rank, one) for one in job.needs[rank][at]]
        start = 0
        for one in needs:
            start |= over[one]
        end = start | 1 << first[rank] + at
        number = job.received.get((rank, at))
        if number is not None:
            needs.append(job.messages[number].send)
            end |= over[needs[-1]]
        for one in needs:
            users[one] -= 1
            if not users[one]:
                del over[one]
        if users[rank, at]:
            over[rank, at] = end
        own = (1 << sizes[rank]) - 1
        yield (rank, at), start >> first[rank] & own, end >> first[rank] & own
