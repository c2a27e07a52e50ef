"""What messages of traces carry, as far as they say it, executed on integers while the traces are replayed.

Every member begins with a random number for each part of a block: its contribution where blocks are added up, and the
content where it is the source. A send reads what its rank has when it starts, and must find the same when it is over; a
receive writes, or hands on to the compute node that depends on it, which adds. In the end every destination must have
the sum, or the source's content. Numbers count modulo 2^64, so that a wrong sum is right by chance once in 2^64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import FileFormatError, TopodesignError
from topodesign.base.memory import check_memory
from topodesign.base.strict_json import parse_json
from topodesign.collectives import Collective, from_record
from topodesign.collectives.collective import EVERYONE
from topodesign.runtime.chakra.replay import Job, Watcher
from topodesign.runtime.chakra.traces import AMOUNTS, COLLECTIVE, DATA, PART, PHASE, RANKS, SIZE, UNITS, Node
from topodesign.runtime.report import Finding

Words = NDArray[np.uint64]
Piece = tuple[int, int, int]  # block, and its first part and the end of its parts

_MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_MOST_UNITS = 2**62
_MOST_NUMBER = 2**20
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

    def memory(self) -> Memory:
        """Return the memory of all ranks at the start."""
        return Memory(self)


def contents_of(job: Job) -> tuple[Contents | None, list[Finding]]:
    """Return what messages carry, None where the traces do not say it; and what is wrong with what they say."""
    headers = [trace.header for trace in job.traces]
    if all(COLLECTIVE not in header or PHASE in header for header in headers):
        return None, []
    if any(header != headers[0] for header in headers):
        return None, [Finding("illegal", "the headers of the ranks do not say the same")]
    record, ranks, units, size = (headers[0].get(name) for name in (COLLECTIVE, RANKS, UNITS, SIZE))
    try:
        collective = from_record(parse_json(record)) if isinstance(record, str) else None
        whole = Fraction(size) if isinstance(size, str) and len(size) <= 2 * _MOST_NUMBER.bit_length() else None
    except (TopodesignError, ValueError, ZeroDivisionError):
        collective = whole = None
    if collective is None or collective.several or collective.groups is not None or whole is None or whole <= 0:
        return None, [Finding("illegal", "the header does not say a collective and a size that are understood")]
    if (
        not isinstance(ranks, int)
        or ranks != len(job.traces)
        or not isinstance(units, int)
        or not 1 <= units <= _MOST_UNITS
    ):
        return None, [Finding("illegal", f"the header says {ranks} ranks and {units} units of a block")]
    try:
        members = collective.members(ranks)
        ends, mean = _ends(collective, collective.blocks(members, ranks).tolist(), units, headers[0].get(AMOUNTS))
    except (TopodesignError, ValueError) as error:
        return None, [Finding("illegal", f"the header: {error}")]
    return _read(job, collective, ends, whole / (mean * collective.shards(len(members))))


def _ends(collective: Collective, blocks: list[int], units: int, said: object) -> tuple[dict[int, int], Fraction]:
    """Return the units of every block, and those of one to another rank in the mean; said are the pieces of blocks."""
    if said is None:
        return dict.fromkeys(blocks, units), Fraction(units)
    found = parse_json(said) if isinstance(said, str) and collective.pairwise else None
    if not isinstance(found, list) or len(found) != len(blocks) or not all(type(one) is int for one in found):
        raise FileFormatError("the pieces of the blocks of an all-to-all are a list of a number for each")
    if min(found) < 0 or not 0 < sum(found) < _MOST_UNITS:
        raise FileFormatError("the pieces of a block are not below 0, and of all blocks not 0")
    others = len(blocks) - math.isqrt(len(blocks))
    ends = {block: units * pieces for block, pieces in zip(blocks, found, strict=True)}
    return ends, Fraction(units * sum(found), others)


def _read(
    job: Job, collective: Collective, units: dict[int, int], unit: Fraction
) -> tuple[Contents | None, list[Finding]]:
    """Return what the sends say that they carry, of blocks of so many units; ``unit`` are the bytes of one."""
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
    """Return what a send says that it carries, or what is wrong with that."""
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


class Memory(Watcher):
    """What every rank has."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.findings: list[Finding] = []
        self._values: dict[tuple[int, int], Words] = {}
        self._held: dict[tuple[int, int], NDArray[np.bool_]] = {}
        self._read: dict[int, list[Words]] = {}
        self._landed: dict[tuple[int, int], int] = {}
        collective, ranks = contents.collective, contents.ranks
        members = collective.members(ranks)
        self._members: list[int] = members.tolist()
        blocks = collective.blocks(members, ranks)
        self._blocks: list[int] = blocks.tolist()
        first, last = collective.movements[0], collective.movements[-1]
        self._sources = dict(zip(self._blocks, collective.places(first, blocks, ranks)[0].tolist(), strict=True))
        self._goals = dict(zip(self._blocks, collective.places(last, blocks, ranks)[1].tolist(), strict=True))

    def sends(self, number: int) -> None:
        """Read what the message carries."""
        message = self._contents.job.messages[number]
        read = []
        for block, first, end in self._contents.pieces[number]:
            values, held = self._at(message.src, block)
            if not held[first:end].all():
                self._find("uninitialised read", number, f"sends block {block}, of which it has not all yet")
            read.append(values[first:end].copy())
        self._read[number] = read

    def sent(self, number: int) -> None:
        """Check that what was read is what is there still."""
        message = self._contents.job.messages[number]
        for (block, first, end), read in zip(self._contents.pieces[number], self._read[number], strict=True):
            if not np.array_equal(self._at(message.src, block)[0][first:end], read):
                self._find("race", number, f"changes block {block} while it is sent")

    def received(self, number: int) -> None:
        """Write what has arrived, or keep it for the compute node that adds it."""
        message = self._contents.job.messages[number]
        if self._contents.collective.movements[self._contents.movements[number]].adds:
            rank, at = message.receive
            self._landed[rank, self._contents.job.traces[rank].nodes[at].id] = number
            return
        for (block, first, end), read in zip(self._contents.pieces[number], self._read[number], strict=True):
            values, held = self._at(message.dst, block)
            values[first:end] = read
            held[first:end] = True

    def computed(self, rank: int, node: Node) -> None:
        """Add what the receives brought that the node depends on."""
        for one in node.data:
            number = self._landed.pop((rank, one), None)
            if number is None:
                continue
            for (block, first, end), read in zip(self._contents.pieces[number], self._read[number], strict=True):
                values, held = self._at(rank, block)
                values[first:end] += read
                held[first:end] = True

    def result(self) -> list[Finding]:
        """Return what is wrong in the end, after what went wrong before."""
        for rank, node in self._landed:
            self.findings.append(Finding("wrong result", f"nothing adds what node {node} receives", rank))
        for block in self._blocks:
            wanted = self._wanted(block)
            goal = self._goals[block]
            for rank in self._members if goal == EVERYONE else [goal]:
                values, held = self._at(rank, block)
                if not held.all():
                    self.findings.append(
                        Finding("wrong result", f"block {block} never arrives, at least in part", rank)
                    )
                elif not np.array_equal(values, wanted):
                    self.findings.append(Finding("wrong result", f"block {block} is wrong in the end", rank))
            if len(self.findings) > _SHOWN:
                break
        return self.findings

    def _wanted(self, block: int) -> Words:
        source = self._sources[block]
        whose = self._members if source == EVERYONE else [source]
        total = self._contribution(whose[0], block)
        for rank in whose[1:]:
            total = total + self._contribution(rank, block)
        return total

    def _contribution(self, rank: int, block: int) -> Words:
        """Return the numbers that a rank begins with: a hash of rank, block and part."""
        parts = len(self._contents.cuts[block]) - 1
        words = np.arange(parts, dtype=np.uint64) + np.uint64((rank + 1) << 40) + np.uint64((block + 1) << 20)
        with np.errstate(over="ignore"):
            words = (words + np.uint64(1)) * _MIX[0]
            for multiplier, shift in ((_MIX[1], 30), (_MIX[2], 27)):
                words = (words ^ (words >> np.uint64(shift))) * multiplier
            return words ^ (words >> np.uint64(31))

    def _at(self, rank: int, block: int) -> tuple[Words, NDArray[np.bool_]]:
        """Return the values of a block at a rank, and which of them are there."""
        key = rank, block
        if key not in self._values:
            source = self._sources[block]
            there = rank in self._members if source == EVERYONE else rank == source
            own = self._contribution(rank, block)
            self._values[key] = own if there else np.zeros_like(own)
            self._held[key] = np.full(len(own), there, dtype=np.bool_)
        return self._values[key], self._held[key]

    def _find(self, verdict: Any, number: int, text: str) -> None:
        message = self._contents.job.messages[number]
        rank, at = message.send
        node = self._contents.job.traces[rank].nodes[at]
        if len(self.findings) < _SHOWN:
            self.findings.append(Finding(verdict, f"node {node.id} ({node.name[:60]}) {text}", rank))
