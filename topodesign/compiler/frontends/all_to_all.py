"""Front end for rounds of all-to-all, scatter and gather.

Every part of a block goes a way of its own, from the input of its source over scratch of nodes in between to the output
of its destination. What a link carries in a step is sent in pieces, from where each is to where it belongs or waits in
scratch to be sent on; or, where that takes fewer instructions, as one: gathered in scratch, unless it lies together
already, and received into scratch, from where it is sent on or copied home, unless all of it is for one place.

All is in columns: chunks, the hops of their ways, and a row for every chunk that a link carries in a step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import distinct, ranges
from topodesign.base.compiled import Ints
from topodesign.base.errors import ScheduleError, TooLargeError
from topodesign.base.wording import count_noun
from topodesign.collectives import ALL_TO_ALL, GATHER, SCATTER, Collective
from topodesign.compiler.columns import BITS
from topodesign.compiler.frontends.layout import Layout, lay_messages
from topodesign.compiler.frontends.operations import (
    IN,
    OUT,
    SCRATCH,
    Copies,
    Operations,
    cut_pieces,
    order_operations,
    prepare,
    write,
)
from topodesign.compiler.instructions import Kind
from topodesign.plans.flow import Flow

COLLECTIVES = (ALL_TO_ALL, SCATTER, GATHER)  # what this module can do

MAX_HOPS = 2**19  # chunks times links that they go over: about a minute

NOWHERE = -(2**62)  # the rank of a way without hops: that of others is larger


def lay_routes(schedule: Flow, *, partly: bool = False) -> Layout:
    """Return the messages of all blocks in the fewest chunks, with the rest of the way of each chunk.

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
    piece = np.repeat(np.arange(len(one)), lengths)
    begin += blocks[of[one]] * (units // chunk)
    keys = np.stack((step[hops], src[hops], dst[hops], np.zeros(len(hops), dtype=np.int64)))
    start = np.arange((nodes**2 if collective.pairwise else nodes) + 1) * (units // chunk)
    return lay_messages(start, keys, begin[piece], size[piece], tail[hops])


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
    rank = np.full(len(step) + 1, NOWHERE)
    tail = np.full(len(step), NOWHERE)
    last = np.zeros(len(step), dtype=bool)
    last[first[1:] - 1] = True
    base = 0
    for now in distinct(step)[::-1].tolist():  # what begins later comes later
        at = np.flatnonzero(step == now)
        tail[at] = np.where(last[at], NOWHERE, rank[at + 1])
        order = at[np.lexsort((tail[at], link[at]))]
        new = (np.diff(link[order], prepend=-1) != 0) | (np.diff(tail[order], prepend=1) != 0)
        number = np.cumsum(new)
        base -= int(number[-1])
        rank[order] = base + number
    return rank[first[:-1]], tail


class Router:
    """Places of chunks on their ways, and the operations that bring them there."""

    def __init__(self, collective: Collective, plan: Layout, ranks: int, *, inplace: bool) -> None:
        self.collective, self.plan, self.ranks, self.inplace = collective, plan, ranks, inplace
        self._scratch = np.zeros(ranks, dtype=np.int64)
        self._number = 0  # of pieces so far
        self._moved, self._chunk = np.unique(plan.chunks, return_inverse=True)

    def list_operations(self, channels: int, longest: int) -> Operations:
        """Return each rank's serial operations, in every step sends before receives.

        Messages are split over ``channels``, and an instruction moves ``longest`` chunks at most.
        """
        plan = self.plan
        links, each = distinct(plan.dst * self.ranks + plan.src), np.arange(channels)
        connections = *np.divmod(np.repeat(links, len(each)), self.ranks), np.tile(each, len(links))
        tables = [prepare(*connections, self._settle(), longest)]
        ends = np.searchsorted(plan.step, now := distinct(plan.step)), np.searchsorted(plan.step, now, side="right")
        for begin, end in zip(*ends, strict=True):
            tables += self._move(begin, end, channels, longest)
        return order_operations(self.ranks, tables)

    def _settle(self) -> list[list[Copies]]:
        """Find chunk places and free times; return the initial copies of each rank.

        Out of place these are the blocks that stay where they are. In place the chunks of inputs leave some day, and
        output may be written over them then.
        """
        plan, ranks, chunks = self.plan, self.ranks, self.plan.shard
        given, wanted = np.full((2, len(plan.start) - 1), -1)
        for rank in range(ranks):
            inputs, outputs = self.collective.inputs(rank, ranks), self.collective.outputs(rank, ranks)
            starts, names = (0, 0), (IN, OUT)
            if self.inplace:
                starts = self.collective.in_place(rank, ranks)
                names = (IN, IN) if len(outputs) < len(inputs) else (OUT, OUT)
            for places, some, start, name in zip((given, wanted), (inputs, outputs), starts, names, strict=True):
                places[np.array(some, dtype=np.int64)] = name + (start + np.arange(len(some))) * chunks
        copies: list[list[Copies]] = [[] for _ in range(ranks)]
        blocks = self.collective.blocks(np.arange(ranks), ranks)
        source, goal = self.collective.places(self.collective.movements[0], blocks, ranks)
        stay = (source == goal) & (given[blocks] != wanted[blocks])
        for rank, block in zip(source[stay].tolist(), blocks[stay].tolist(), strict=True):
            own = np.arange(chunks)
            copies[rank].append((0, given[block] + own, wanted[block] + own))
        block, lies = np.divmod(self._moved, chunks)
        self._here, self._homes = given[block] + lies, wanted[block] + lies
        self._busy = np.zeros(len(block), dtype=np.int64)  # step in which what is in its home leaves
        if self.inplace and len(block):
            message, last = plan.message, plan.rest == NOWHERE
            goal = np.zeros(len(block), dtype=np.int64)
            goal[self._chunk[last]] = plan.dst[message[last]]
            first = np.unique(self._chunk, return_index=True)[1]  # messages are in the order of the steps
            source, leaves = plan.src[message[first]], plan.step[message[first]]
            offsets = self._here & (1 << BITS) - 1, self._homes & (1 << BITS) - 1
            most = int(max(map(np.max, offsets))) + 1
            here, home = source * most + offsets[0], goal * most + offsets[1]
            order = np.argsort(here)
            found = order[np.minimum(np.searchsorted(here[order], home), len(here) - 1)]
            self._busy = np.where(here[found] == home, leaves[found], 0)
        return copies

    def _move(self, begin: int, end: int, channels: int, longest: int) -> Iterator[Ints]:
        """Yield the operations of a step, which has messages from ``begin`` to ``end``.

        A part of a message goes whole or, if that takes no more instructions, in pieces.
        """
        plan, step, bounds = self.plan, int(self.plan.step[begin]), self.plan.first[begin : end + 1]
        chunk, final = self._arrange(bounds)
        row, _, size = cut_pieces(np.repeat(np.diff(bounds) // channels, channels), longest)
        src, dst, instance = plan.src[begin + row // channels], plan.dst[begin + row // channels], row % channels
        part, place = ranges(0, size)
        here, homes, busy = self._here[chunk], self._homes[chunk], self._busy[chunk]
        free = final & (busy < step)  # may go home, as what is there has left
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
        piece = self._number + np.cumsum(new) - 1
        src, dst, instance = src[part], dst[part], instance[part]
        self._number += int(new.sum())
        self._here[chunk] = target

        def rows(kind: Kind, turn: int, at: Ints, new: NDArray[np.bool_], *ends: Ints | None) -> Ints:
            """Return operations for runs of chunks: of the sender in turn 1, what waits for others in turn 3."""
            begin = np.flatnonzero(new)
            some, sizes = at[begin], np.diff(np.append(begin, len(at)))
            source, target, send, receive = (-1 if one is None else one[some] for one in ends)
            order, own = ((src if turn == 1 else dst)[some], step, turn, piece[some]), instance[some]
            when = busy[some] if turn == 3 else None  # what is in its home leaves in that step
            return write(kind, order, sizes, (source, target, send, receive), own, when=when)

        every, copies, last = np.arange(len(part)), np.flatnonzero(gathered[part]), final & (target != homes)
        ready, late = np.flatnonzero(last & (busy < step)), np.flatnonzero(last & (busy >= step))
        late = late[np.argsort(busy[late], kind="stable")]
        yield rows(Kind.COPY, 1, copies, _begins(part[copies], here[copies]), here, source, dst, None)
        yield rows(Kind.SEND, 1, every, new, source, None, dst, None)
        yield rows(Kind.RECEIVE, 2, every, new, None, target, None, src)
        yield rows(Kind.COPY, 2, ready, _begins(piece[ready], target[ready], homes[ready]), target, homes, None, src)
        new = _begins(piece[late], target[late], homes[late]) | _begins(busy[late])
        yield rows(Kind.COPY, 3, late, new, target, homes, None, src)

    def _arrange(self, bounds: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the chunks of messages in the order in which they are sent, and which end their ways.

        What goes on together stays together, and lies as it does at the sender.
        """
        assert self.plan.rest is not None  # noqa: S101  for mypy: lay_routes says it
        carried = slice(bounds[0], bounds[-1])
        chunk, rest = self._chunk[carried], self.plan.rest[carried]
        at = np.where(rest == NOWHERE, self._homes[chunk], self._here[chunk])
        order = np.lexsort((at, rest, ranges(0, np.diff(bounds))[0]))
        return chunk[order], rest[order] == NOWHERE

    def _fresh(self, ranks: Ints, sizes: Ints) -> Ints:
        """Reserve unused scratch and return its start for each rank."""
        order = np.argsort(ranks.ravel(), kind="stable")
        rank, size = ranks.ravel()[order], sizes.ravel()[order]
        before = np.cumsum(size) - size
        begin = np.empty_like(order)
        begin[order] = before - before[np.searchsorted(rank, rank)] + self._scratch[rank]
        self._scratch += np.bincount(rank, weights=size, minlength=self.ranks).astype(np.int64)
        return begin.reshape(ranks.shape)


def _begins(group: Ints, *places: Ints) -> NDArray[np.bool_]:
    """Return run starts: new groups or places that are not consecutive."""
    begins: NDArray[np.bool_] = np.diff(group, prepend=-1) != 0
    for column in places:
        begins |= np.diff(column, prepend=-2) != 1
    return begins
