"""Chunk layout: units that travel together, and their order."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from operator import sub
from typing import NamedTuple

import numpy as np

from topodesign.base.arrays import ranges
from topodesign.base.compiled import Ints
from topodesign.base.errors import TooLargeError
from topodesign.base.wording import count_noun
from topodesign.compiler.frontends.intervals import Rows, lay_intervals
from topodesign.plans.flow import Flow

Message = tuple[int, int, int]  # step, sender, receiver: everything that a link carries in a step
Piece = tuple[int, int]  # owner and number of the piece among the owner's: units of a shard that no row tells apart

_MOVES = 2**19  # chunks that all ranks receive, at least: about two minutes
_WORK = 2_000_000  # pieces looked at while looking for a better order: about a second


class Layout(NamedTuple):
    """Message table: chunks of every shard and every message.

    Any relabelling of the units within an owner's shard, applied to all rows, leaves a schedule valid. So the pieces of
    a shard may lie in any order, and their sizes alone decide how long a chunk is.
    """

    start: Ints  # the first chunk of every owner's shard, and at last how many chunks there are
    step: Ints  # of every message, ordered by step, sender and receiver
    src: Ints
    dst: Ints
    instance: Ints  # which of the connections of these two it goes over
    first: Ints  # where its chunks begin, and at last how many there are
    chunks: Ints  # in ascending order
    rest: Ints | None = None  # of each of them, where data go ways: a number of the rest of its way, NOWHERE at its end

    @property
    def message(self) -> Ints:
        """The message of each of ``chunks``."""
        return np.repeat(np.arange(len(self.step)), np.diff(self.first))

    @property
    def total(self) -> int:
        """Number of chunks."""
        return int(self.start[-1])

    @property
    def shard(self) -> int:
        """Chunks per shard, if equal for all."""
        return int(self.start[1])

    def count_carried(self, chunks: int) -> Ints:
        """Return how many of ``chunks`` chunks each message carries."""
        return np.diff(np.append(0, np.cumsum(np.diff(cut_shards(self.start, chunks))[self.chunks]))[self.first])

    def cut(self, chunks: int | None, split: int = 1) -> Layout:
        """Return messages of ``split`` times so many chunks, without those that have none.

        What a message carries stays contiguous where it was. None: as many chunks as there are.
        """
        edge = cut_shards(self.start, self.total if chunks is None else chunks) * split
        size = np.diff(edge)[self.chunks]
        row, carried = ranges(edge[self.chunks], size)
        first = np.append(0, np.cumsum(size))[self.first]
        some = np.diff(first) > 0
        about = self.step[some], self.src[some], self.dst[some], self.instance[some]
        rest = None if self.rest is None else self.rest[row]
        return Layout(edge[self.start], *about, np.append(first[:-1][some], first[-1]), carried, rest)

    def spread(self, split: int) -> Layout:
        """Return messages divided evenly over ``split`` connections."""
        row, number = ranges(0, np.full(len(self.step), split))
        first = np.append(0, np.cumsum(np.diff(self.first)[row] // split))
        about = self.step[row], self.src[row], self.dst[row], self.instance[row] + number
        return Layout(self.start, *about, first, self.chunks, self.rest)


def cut_shards(start: Ints, chunks: int) -> Ints:
    """Return the boundaries of ``chunks`` chunks of all data.

    ``start`` has those of shards. They are shared out as evenly as can be: a chunk becomes one more or one less than
    another, or none. Shards differ by one chunk where their number does not divide.
    """
    length = np.diff(start)
    owner, unit = ranges(0, length)
    new = start * chunks // int(start[-1])
    return np.append(new[owner] + unit * np.diff(new)[owner] // length[owner], chunks)


def lay_messages(start: Ints, keys: Ints, begin: Ints, size: Ints, rest: Ints | None = None) -> Layout:
    """Return the layout of what moves: chunks from ``begin`` on, ``size`` of them.

    ``keys`` are step, sender, receiver and instance of each row; what has the same is one message. ``rest`` is of rows.
    """
    order = np.lexsort((begin, *keys[::-1]))
    keys = keys[:, order]
    row, chunks = ranges(begin[order], size[order])
    heads = np.flatnonzero(np.any(np.diff(keys, axis=1, prepend=-1), axis=0))
    step, src, dst, instance = keys[:, heads]
    first = np.searchsorted(row, np.append(heads, len(order)))
    rest = None if rest is None else rest[order][row]
    return Layout(start, step, src, dst, instance, first, chunks, rest)


def layout(schedule: Flow) -> Layout:
    """Lay out a valid, lean schedule in the fewest chunks.

    Notes
    -----
    Where a node gets all of a shard in one step, from others
    that have all of it, any of its units may come from any of them; so each sends one interval, and which of them has
    the first and which the last is chosen such that most messages go on into the next shard
    (:mod:`topodesign.compiler.frontends.intervals`). Elsewhere a local search orders the pieces.
    """
    check_size(schedule.nodes, schedule.nodes)  # before any work: a shard is at least one piece
    nodes, units = schedule.nodes, schedule.units
    rows, every = lay_intervals(schedule)
    if every:
        chunk = math.gcd(units, int(np.gcd.reduce(rows.low)), int(np.gcd.reduce(rows.high)))
        shard = units // chunk
        check_size(nodes, nodes * shard)
        keys = np.zeros((4, len(rows.time)), dtype=np.int64)
        keys[:3] = rows[:3]
        begin, end = (rows.block * shard + at // chunk for at in (rows.low, rows.high))
        return lay_messages(np.arange(nodes + 1) * shard, keys, begin, end - begin)
    sizes, messages = _pieces(rows, nodes, units)
    chunk = math.gcd(*(size for shard in sizes for size in shard))
    shard = units // chunk
    check_size(nodes, nodes * shard)
    start: dict[Piece, tuple[int, int]] = {}  # and size
    for owner, pieces in enumerate(_arrange(sizes, messages)):
        at = owner * shard
        for piece in pieces:
            start[owner, piece] = at, sizes[owner][piece] // chunk
            at += sizes[owner][piece] // chunk
    found = [(*message, 0, *start[piece]) for message, pieces in messages.items() for piece in pieces]
    table = np.array(found, dtype=np.int64).reshape(-1, 6).T
    return lay_messages(np.arange(nodes + 1) * shard, table[:4], table[4], table[5])


def check_size(nodes: int, chunks: int, movements: int = 2) -> None:
    """Raise TooLargeError if compilation would take minutes."""
    if chunks * (nodes - 1) * movements > _MOVES:
        raise TooLargeError(
            f"{nodes} nodes with {count_noun(chunks, 'chunk')} of all data or more are too many to compile; use fewer "
            "channels, a schedule with fewer chunks, trees (--set trees=) or parts of them, or a smaller N"
        )


def _pieces(rows: Rows, nodes: int, units: int) -> tuple[list[list[int]], dict[Message, list[Piece]]]:
    """Return piece sizes (units) per owner, and each message's pieces."""
    sizes: list[list[int]] = []
    messages: dict[Message, list[Piece]] = defaultdict(list)
    by_owner = np.argsort(rows.block, kind="stable")
    bounds = np.searchsorted(rows.block[by_owner], np.arange(nodes + 1))
    for owner in range(nodes):
        total: dict[tuple[Message, ...], int] = defaultdict(int)
        for interval, size in carriers(rows.at(by_owner[bounds[owner] : bounds[owner + 1]]), units):
            total[tuple(sorted(interval))] += size
        for piece, signature in enumerate(total):
            for key in signature:
                messages[key].append((owner, piece))
        sizes.append(list(total.values()))
    return sizes, {key: messages[key] for key in sorted(messages)}


def carriers(rows: Rows, units: int) -> Iterator[tuple[list[Message], int]]:
    """Yield the messages and size (units) of each unsplit interval of a shard."""
    step, src, dst, _, low, high = (column.tolist() for column in rows)
    cuts = sorted({0, units, *low, *high})
    number = {cut: at for at, cut in enumerate(cuts)}
    carried: list[list[Message]] = [[] for _ in cuts[1:]]
    for message, begin, end in zip(zip(step, src, dst, strict=True), low, high, strict=True):
        for interval in carried[number[begin] : number[end]]:
            interval.append(message)
    return zip(carried, (end - begin for begin, end in itertools.pairwise(cuts)), strict=True)


def _arrange(sizes: list[list[int]], messages: dict[Message, list[Piece]]) -> list[list[int]]:
    """Order pieces so that messages need few contiguous runs.

    Local search: swap neighbours or turn the whole round as long as that saves runs.
    """
    position = [list(range(len(shard))) for shard in sizes]
    touching: dict[int, list[list[Piece]]] = defaultdict(list)
    for pieces in messages.values():
        if len(pieces) > 1:
            for owner in {owner for owner, _ in pieces}:
                touching[owner].append(pieces)
    work, improved = 0, True
    while improved and work < _WORK:
        improved = False
        for owner, mine in touching.items():
            if len(position[owner]) == 1:  # in one order only
                continue
            cost = _cost(mine, position)
            for candidate in _neighbours(position[owner]):
                work += sum(map(len, mine))
                if work > _WORK:
                    break
                position[owner], previous = candidate, position[owner]
                if (less := _cost(mine, position)) < cost:
                    cost, improved = less, True
                else:
                    position[owner] = previous
    return [sorted(range(len(places)), key=places.__getitem__) for places in position]


def _neighbours(places: list[int]) -> Iterable[list[int]]:
    """Yield neighbouring orders: reversed, and with adjacent places swapped."""
    yield [len(places) - 1 - at for at in places]
    for low in range(len(places) - 1):
        swap = {low: low + 1, low + 1: low}
        yield [swap.get(at, at) for at in places]


def _cost(messages: list[list[Piece]], position: list[list[int]]) -> int:
    """Return the number of runs of these messages."""
    begin = list(itertools.accumulate(map(len, position), initial=0))
    total = 0
    for pieces in messages:
        places = sorted([begin[owner] + position[owner][piece] for owner, piece in pieces])
        total += len(places) - list(map(sub, places[1:], places)).count(1)
    return total
