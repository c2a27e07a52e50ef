"""Front end for rounds of all-to-all, scatter and gather.

Every part of a block goes a way of its own, from the input of its source over scratch of nodes in between to the output
of its destination. What a link carries in a step is sent in pieces, from where each is to where it belongs or waits in
scratch to be sent on; or, where that takes fewer instructions, as one: gathered in scratch, unless it lies together
already, and received into scratch, from where it is sent on or copied home, unless all of it is for one place.

All is in columns: chunks, the hops of their ways, and a row for every chunk that a link carries in a step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import distinct, ranges
from topodesign.base.compiled import Ints
from topodesign.base.errors import ScheduleError, TooLargeError
from topodesign.base.wording import count_noun
from topodesign.collectives import ALL_TO_ALL, GATHER, SCATTER, Collective
from topodesign.compiler.columns import BITS, NUMBER
from topodesign.compiler.frontends.operations import IN, OUT, SCRATCH, Copies, Operations, prepare
from topodesign.compiler.instructions import Kind
from topodesign.plans.flow import Flow

COLLECTIVES = (ALL_TO_ALL, SCATTER, GATHER)  # what this module can do

MAX_HOPS = 2**19  # chunks times links that they go over: about a minute

_NOWHERE = -(2**62)  # the rank of a way without hops: that of others is larger


class Journey(NamedTuple):
    """Routes of all blocks, with pieces and hops."""

    chunks: int  # of a block
    block: Ints  # of every piece: its block, and where it lies in it, in chunks
    begin: Ints
    size: Ints
    first: Ints  # its first hop, and at last how many there are
    step: Ints  # of every hop
    src: Ints
    dst: Ints
    tail: Ints  # a number of the rest of the way after it, in the order of these

    def cut(self, chunks: int | None, split: int) -> Journey:
        """Return the routes for ``chunks * split`` chunks per block.

        Pieces that are shorter than a chunk may vanish: what they had goes with their neighbours. None: as many as
        there are.
        """
        whole = self.chunks if chunks is None else chunks
        begin, end = (at * whole // self.chunks * split for at in (self.begin, self.begin + self.size))
        some = np.flatnonzero(end > begin)
        length = np.diff(self.first)
        hops = np.repeat(end > begin, length)
        columns = (column[hops] for column in (self.step, self.src, self.dst, self.tail))
        first = np.append(0, np.cumsum(length[some]))
        return Journey(whole * split, self.block[some], begin[some], (end - begin)[some], first, *columns)


def journeys(schedule: Flow, *, partly: bool = False) -> Journey:
    """Return the routes of all pieces, with the fewest chunks.

    Notes
    -----
    Parts of a block that go one way are laid next to each other: any order of the units does. What goes elsewhere than
    to its destination is omitted. ``partly``: units that nobody sends need not arrive; they come last.
    """
    collective, nodes, units = schedule.collective, schedule.nodes, schedule.units
    blocks = collective.blocks(collective.members(nodes), nodes)
    source, goal = collective.places(collective.movements[0], blocks, nodes)
    blocks, source, goal = (column[source != goal] for column in (blocks, source, goal))
    width = schedule.hi - schedule.lo
    least = math.gcd(units, int(np.gcd.reduce(width)) if len(width) else 0)
    check_hops(nodes, units // least, int((width // least).sum()))
    order = np.lexsort((schedule.step, schedule.block))
    of = np.searchsorted(blocks, schedule.block[order])
    known = np.append(blocks, -1)[of] == schedule.block[order]
    order, of = order[known], of[known]
    low, high = (of * (units + 1) + column[order] for column in (schedule.lo, schedule.hi))
    ends = np.arange(len(blocks)) * (units + 1)
    cuts = distinct(np.concatenate((ends, ends + units, low, high)))  # intervals between them go one way
    begin = np.searchsorted(cuts, low)
    times = np.searchsorted(cuts, high) - begin
    row, interval = ranges(begin, times)
    sorting = np.argsort(interval, kind="stable")
    interval, row = interval[sorting], order[row[sorting]]
    step, src, dst = (getattr(schedule, name)[row].astype(np.int64) for name in ("step", "src", "dst"))
    some = np.flatnonzero(cuts % (units + 1) != units)
    of = cuts[some] // (units + 1)
    if partly:
        sent = np.diff(np.searchsorted(interval, np.append(some, len(cuts)))) > 0
        some, of = some[sent], of[sent]
    kept = _followed(some, interval, (step, src, dst), (source[of], goal[of]), nodes)
    step, src, dst = step[kept], src[kept], dst[kept]
    first = np.searchsorted(interval[kept], np.append(some, len(cuts)))
    rank, tail = _ranks(first, step, src * nodes + dst)
    sorting = np.lexsort((rank, of))
    new = np.flatnonzero((np.diff(of[sorting], prepend=-1) != 0) | (np.diff(rank[sorting], prepend=0) != 0))
    size = np.add.reduceat((cuts[some + 1] - cuts[some])[sorting], new) if len(new) else new
    chunk = math.gcd(units, int(np.gcd.reduce(size)) if len(size) else 0)
    size, one = size // chunk, sorting[new]
    begin = np.cumsum(size) - size
    begin -= np.repeat(begin[at := np.searchsorted(of[one], distinct(of))], np.diff(np.append(at, len(one))))
    lengths = first[one + 1] - first[one]
    hops = ranges(first[one], lengths)[1]
    ways = np.append(0, np.cumsum(lengths)), step[hops], src[hops], dst[hops], tail[hops]
    return Journey(units // chunk, blocks[of[one]], begin, size, *ways)


def check_hops(nodes: int, chunks: int, hops: int) -> None:
    """Raise TooLargeError if compilation would take minutes."""
    if hops > MAX_HOPS:
        raise TooLargeError(
            f"{nodes} nodes with {count_noun(chunks, 'chunk')} per block or more are too many to compile; use fewer "
            "channels, a schedule with fewer chunks, or a smaller N"
        )


def _followed(
    some: Ints, interval: Ints, hops: tuple[Ints, Ints, Ints], ends: tuple[Ints, Ints], nodes: int
) -> NDArray[np.bool_]:
    """Return a mask of hops on the intervals' routes.

    Of several deliveries to a node the first counts.
    """
    step, src, dst = hops
    source, node = ends[0], ends[1].copy()
    order = np.lexsort((step, dst, interval))
    key = interval[order] * nodes + dst[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    order, key = np.append(order[first], 0), np.append(key[first], -1)
    kept = np.zeros(len(step), dtype=bool)
    of, before = np.arange(len(some)), np.full(len(some), np.iinfo(np.int64).max)
    while len(of):
        wanted = some[of] * nodes + node[of]
        place = np.searchsorted(key[:-1], wanted)
        hop = order[place]
        if not (len(step) and np.all((key[place] == wanted) & (step[hop] < before[of]))):
            raise ScheduleError("a block does not arrive, or is sent before it has come; 'topodesign verify' says more")
        kept[hop] = True
        before[of], node[of] = step[hop], src[hop]
        of = of[node[of] != source[of]]
    return kept


def _ranks(first: Ints, step: Ints, link: Ints) -> tuple[Ints, Ints]:
    """Return sort ranks of routes and their tails."""
    rank = np.full(len(step) + 1, _NOWHERE)
    tail = np.full(len(step), _NOWHERE)
    last = np.zeros(len(step), dtype=bool)
    last[first[1:] - 1] = True
    base = 0
    for now in distinct(step)[::-1].tolist():  # what begins later comes later
        at = np.flatnonzero(step == now)
        tail[at] = np.where(last[at], _NOWHERE, rank[at + 1])
        order = at[np.lexsort((tail[at], link[at]))]
        new = (np.diff(link[order], prepend=-1) != 0) | (np.diff(tail[order], prepend=1) != 0)
        number = np.cumsum(new)
        base -= int(number[-1])
        rank[order] = base + number
    return rank[first[:-1]], tail


class _Late(NamedTuple):
    """Chunks to copy to the output once it is free."""

    after: Ints  # the step of that
    piece: Ints  # number of what brought them, of all that is received, with its step, ends and instance
    step: Ints
    src: Ints
    dst: Ints
    instance: Ints
    place: Ints
    home: Ints

    def at(self, rows: Ints | NDArray[np.bool_]) -> _Late:
        """Return some of them."""
        return _Late(*(column[rows] for column in self))


@dataclass
class Writer:
    """Pieces on their way to operations."""

    collective: Collective  # what they belong to, with its root if it has one
    ranks: int  # number of ranks
    journey: Journey  # the pieces
    inplace: bool  # whether input and output share memory
    channels: int  # connections that each message is split over
    max_count: int  # the most chunks that one instruction moves

    def operations(self) -> Operations:
        """Return the operations of each rank in serial order."""
        way = self.journey
        self._scratch = np.zeros(self.ranks, dtype=np.int64)
        early = self._settle()
        self._rows = [np.stack((early.rank, *early[1:]))]
        late = _Late(*np.empty((8, 0), dtype=np.int64))
        self._received = 0
        number = np.cumsum(way.size) - way.size
        piece = np.repeat(np.arange(len(way.size)), np.diff(way.first))
        for step in distinct(way.step).tolist():
            hop = np.flatnonzero(way.step == step)
            sizes = way.size[piece[hop]]
            row, chunk = ranges(number[piece[hop]], sizes)
            of = hop[row]
            at = np.where(way.tail[of] == _NOWHERE, self._homes[chunk], self._here[chunk])
            # what goes on together stays together, and lies as it does at the sender
            order = np.lexsort((at, way.tail[of], way.dst[of], way.src[of]))
            arriving = self._move(step, chunk[order], of[order])
            late = _Late(*(np.concatenate(both) for both in zip(late, arriving, strict=True)))
            self._copy_home(late.at(late.after <= step))
            late = late.at(late.after > step)
        self._copy_home(late)
        rank, *columns = np.concatenate(self._rows, axis=1)
        order = np.argsort(rank, kind="stable")
        first = np.searchsorted(rank[order], np.arange(self.ranks + 1))
        return Operations(first, *(column[order] for column in columns))

    def _settle(self) -> Operations:
        """Find chunk places and free times; return the initial copies.

        Out of place these are the blocks that stay where they are. In place the chunks of inputs leave some day, and
        output may be written over them then.
        """
        way, ranks, chunks = self.journey, self.ranks, self.journey.chunks
        given, wanted = np.full((2, ranks**2 if self.collective.pairwise else ranks), -1)
        for rank in range(ranks):
            inputs, outputs = self.collective.inputs(rank, ranks), self.collective.outputs(rank, ranks)
            starts, names = (0, 0), (IN, OUT)
            if self.inplace:
                starts = self.collective.in_place(rank, ranks)
                names = (IN, IN) if len(outputs) < len(inputs) else (OUT, OUT)
            for places, some, start, name in zip((given, wanted), (inputs, outputs), starts, names, strict=True):
                places[np.array(some, dtype=np.int64)] = name + (start + np.arange(len(some))) * chunks
        links, each = distinct(way.dst * ranks + way.src), np.arange(self.channels)
        connections = *np.divmod(np.repeat(links, len(each)), ranks), np.tile(each, len(links))
        copies: list[list[Copies]] = [[] for _ in range(ranks)]
        blocks = self.collective.blocks(np.arange(ranks), ranks)
        source, goal = self.collective.places(self.collective.movements[0], blocks, ranks)
        stay = (source == goal) & (given[blocks] != wanted[blocks])
        for rank, block in zip(source[stay].tolist(), blocks[stay].tolist(), strict=True):
            own = np.arange(chunks)
            copies[rank].append((0, given[block] + own, wanted[block] + own))
        piece, lies = ranges(way.begin, way.size)
        self._here, self._homes = given[way.block[piece]] + lies, wanted[way.block[piece]] + lies
        self._busy = np.zeros(len(piece), dtype=np.int64)  # step in which what is in its home leaves
        if self.inplace and len(piece):
            begin, end = way.first[:-1][piece], way.first[1:][piece] - 1
            offsets = self._here & (1 << BITS) - 1, self._homes & (1 << BITS) - 1
            most = int(max(map(np.max, offsets))) + 1
            here, home = way.src[begin] * most + offsets[0], way.dst[end] * most + offsets[1]
            order = np.argsort(here)
            found = order[np.minimum(np.searchsorted(here[order], home), len(here) - 1)]
            self._busy = np.where(here[found] == home, way.step[begin[found]], 0)
        return prepare(*connections, copies, self.max_count)

    def _move(self, step: int, chunk: Ints, hop: Ints) -> _Late:
        """Send and receive a step's chunks; return copies for later.

        A part of a message goes whole or, if that takes no more instructions, in pieces.
        """
        way = self.journey
        heads = np.flatnonzero(np.diff(way.src[hop], prepend=-1) | np.diff(way.dst[hop], prepend=-1))
        share = np.diff(np.append(heads, len(hop))) // self.channels
        cuts = -(-share // self.max_count)  # of what a channel carries, into what an instruction moves
        message, number = ranges(0, self.channels * cuts)
        instance, number = np.divmod(number, cuts[message])
        low, high = (at * share[message] // cuts[message] for at in (number, number + 1))
        size, src, dst = high - low, way.src[hop[heads]][message], way.dst[hop[heads]][message]
        part, place = ranges(0, size)
        here, homes, final = self._here[chunk], self._homes[chunk], way.tail[hop] == _NOWHERE
        free = final & (self._busy[chunk] < step)  # may go home, as what is there has left

        start = np.cumsum(size) - size

        def count(rows: NDArray[np.bool_], of: Ints = part) -> Ints:
            return np.bincount(of[rows], minlength=len(size))

        gathers = count(_begins(part, here))
        direct = (count(free) == size) & (count(_begins(part, homes)) == 1)
        waiting = np.cumsum(np.append(0, ~free))
        apart = np.where(free, homes, SCRATCH + waiting[:-1] - waiting[start][part])
        at = np.flatnonzero(free)
        spreads = count(_begins(part[at], at, homes[at]), part[at])
        broken = _begins(part, here, apart)
        split = ~direct & (2 * count(broken) <= 2 + np.where(gathers > 1, gathers, 0) + spreads)
        gathered = ~split & (gathers > 1)
        wanted = np.stack((size * ~direct, size * ~(direct | split), size * gathered), axis=1)
        aside, whole, together = self._fresh(np.stack((dst, dst, src), axis=1), wanted).T
        apart = np.where(free, homes, apart + aside[part])
        target = np.where(direct[part], homes, np.where(split[part], apart, SCRATCH + whole[part] + place))
        source = np.where(gathered[part], SCRATCH + together[part] + place, here)
        new = _begins(part) | (split[part] & broken)
        piece = np.cumsum(new) - 1
        src, dst, instance = src[part], dst[part], instance[part]

        self._here[chunk] = target
        copies = np.flatnonzero(gathered[part])
        last = final & (target != homes)
        ready, busy = (np.flatnonzero(last & one) for one in (self._busy[chunk] < step, self._busy[chunk] >= step))

        def rows(kind: Kind, at: Ints, new: NDArray[np.bool_], *ends: Ints | None) -> Ints:
            """Return operation rows for runs of chunks, with their pieces."""
            begin = np.flatnonzero(new)
            some, sizes = at[begin], np.diff(np.append(begin, len(at)))
            columns = (np.full(len(some), -1) if one is None else one[some] for one in (*ends, instance))
            rank = (src if ends[-1] is None else dst)[some]
            return np.stack((piece[some], rank, *np.full((2, len(some)), ((NUMBER[kind],), (step,))), sizes, *columns))

        every = np.arange(len(part))
        gathering = rows(Kind.COPY, copies, _begins(part[copies], here[copies]), here, source, dst, None)
        self._write(gathering, rows(Kind.SEND, every, new, source, None, dst, None))
        home = rows(Kind.COPY, ready, _begins(piece[ready], target[ready], homes[ready]), target, homes, None, src)
        self._write(rows(Kind.RECEIVE, every, new, None, target, None, src), home)
        about = (self._received + piece, np.full(len(part), step), src, dst, instance, target, homes)
        self._received += len(part)
        return _Late(*(column[busy] for column in (self._busy[chunk], *about)))

    def _fresh(self, ranks: Ints, sizes: Ints) -> Ints:
        """Reserve unused scratch and return its start for each rank."""
        order = np.argsort(ranks.ravel(), kind="stable")
        rank, size = ranks.ravel()[order], sizes.ravel()[order]
        before = np.cumsum(size) - size
        begin = np.empty_like(order)
        begin[order] = before - before[np.searchsorted(rank, rank)] + self._scratch[rank]
        self._scratch += np.bincount(rank, weights=size, minlength=self.ranks).astype(np.int64)
        return begin.reshape(ranks.shape)

    def _write(self, *tables: Ints) -> None:
        """Append rows sorted by piece, keeping the order within each."""
        table = np.concatenate(tables, axis=1)
        self._rows.append(table[1:, np.argsort(table[0], kind="stable")])

    def _copy_home(self, late: _Late) -> None:
        """Append copies that waited for sends, after the step's receives."""
        begin = np.flatnonzero(_begins(late.piece, late.place, late.home))
        size, nobody = np.diff(np.append(begin, len(late.piece))), np.full(len(begin), -1)
        some, kind = late.at(begin), np.full(len(begin), NUMBER[Kind.COPY])
        self._rows.append(
            np.stack((some.dst, kind, some.step, size, some.place, some.home, nobody, some.src, some.instance))
        )


def _begins(group: Ints, *places: Ints) -> NDArray[np.bool_]:
    """Return run starts: new groups or places that are not consecutive."""
    begins: NDArray[np.bool_] = np.diff(group, prepend=-1) != 0
    for column in places:
        begins |= np.diff(column, prepend=-2) != 1
    return begins
