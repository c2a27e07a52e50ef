"""Sends and receives in one threadblock: half as many of them, at full speed or in turns, and never a circle of waits.

A threadblock has one peer to send to and one to receive from, and does one thing after the other. In a step it sends
first and then receives. That is as fast as two threadblocks while what it sends in a step fits into the connection,
which holds ``slots`` pieces: it leaves without waiting for the receiver, who may be sending too. What does not fit is
treated in one of two ways.

* The threadblocks stay *apart*, both ways at once, with one more threadblock.
* The ends take *turns*: the messages of a step that do not fit are coloured so that those of a threadblock differ, and
  every end does them by colour. Such messages then go one way at a time.

Neither takes an instruction more. (To cut what does not fit, and to send and receive part by part, would.)

**Why it ends.** Order all sends and receives by step; within a step sends that fit, the rest by colour, receives that
fit. Every threadblock works in this order. A receive waits for its send, which is before it or, of a colour, beside it;
a send for slots that receives of earlier steps make free, or of a colour for its own receive, beside it. What a rank
does waits, beyond its own threadblock, for what is before it in the order of that rank. So the first in the order that
is not over waits for nothing. Where a rank would have to change the order of two accesses to one place for this, it is
left as it is; that the whole program ends is then decided by :mod:`topodesign.compiler.frontends.progress`, as it is
for every program with such threadblocks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from topodesign.compiler.frontends.operations import Block, Operation, Place
from topodesign.compiler.ir import Kind, Threadblocks
from topodesign.compiler.limits import Limits

Connection = tuple[int, int, int]  # sender, receiver, instance

Pairs = list[dict[Block, Block]]  # by rank, the threadblock that another one becomes a part of

_Key = tuple[int, int, int]  # step, colour, and whether it receives

_LAST = 2**31


def pair(
    rank: int,
    operations: list[Operation],
    group: Mapping[tuple[int, int], int],
    limits: Limits,
    *,
    mode: Threadblocks,
    alone: Collection[tuple[int, Block]],
    concurrent_from: int | None = None,
) -> dict[Block, Block]:
    """Choose which threadblocks of a rank become one, of those that only send and those that only receive.

    ``group`` is the channel group of every link: a threadblock has one channel. With ``separate`` only so many are
    joined as there are too many. ``alone`` has the ranks and threadblocks that are to stay as they are. What comes
    after step ``concurrent_from`` is a second phase, which shares no threadblock with the first.
    """
    size = Counter(one.block for one in operations)
    surplus = len(size) - limits.blocks_per_rank
    if mode == "separate" and surplus <= 0:
        return {}
    second = {one.block for one in operations if concurrent_from is not None and one.step > concurrent_from}
    free: dict[tuple[int, int, bool], tuple[list[Block], list[Block]]] = defaultdict(lambda: ([], []))
    for block in sorted(size, key=lambda block: (size[block], str(block))):
        send, receive, instance = block
        if (rank, block) in alone:
            continue
        if send is not None and receive is None:
            free[group[rank, send], instance, block in second][0].append(block)
        elif send is None and receive is not None:
            free[group[receive, rank], instance, block in second][1].append(block)
    pairs = [found for senders, receivers in free.values() for found in _matched(senders, receivers)]
    pairs.sort(key=lambda found: size[found[0]] + size[found[1]])
    longest = limits.instructions_per_block
    most = surplus if mode == "separate" else len(pairs)
    return {block: (a[0], b[1], a[2]) for a, b in pairs[:most] if size[a] + size[b] <= longest for block in (a, b)}


def _matched(senders: list[Block], receivers: list[Block]) -> Iterator[tuple[Block, Block]]:
    """Yield a sender and a receiver each: of the same peer where there is one, else the longest with the shortest."""
    by_peer = {block[1]: block for block in receivers}
    for block in senders:
        if block[0] in by_peer:
            yield block, by_peer[block[0]]
    peers = {block[0] for block in senders} & by_peer.keys()
    rest = [block for block in senders if block[0] not in peers]
    yield from zip(rest[::-1], [block for block in receivers if block[1] not in peers], strict=False)


class Merger:
    """Puts operations into shared threadblocks, in an order in which they end.

    ``piece`` are the chunks that surely fit into a slot.
    """

    def __init__(self, operations: list[list[Operation]], limits: Limits, piece: int) -> None:
        self.operations = operations
        self.slots = limits.slots
        fused = {
            connection
            for rank, ops in enumerate(operations)
            for one in ops
            if one.kind.sends and one.kind.receives
            for connection in _connections(rank, one)
        }
        self.pieces: Counter[tuple[Connection, int]] = Counter()  # that a connection which nothing fused uses carries
        for rank, ops in enumerate(operations):
            for one in ops:
                if one.kind is Kind.SEND and one.send is not None:
                    connection = (rank, one.send, one.instance)
                    if connection not in fused:
                        self.pieces[connection, one.step] += -(-one.count // piece)
        self.steps: dict[Connection, set[int]] = defaultdict(set)
        for connection, step in self.pieces:
            self.steps[connection].add(step)

    def overfull(self, rank: int, pairs: dict[Block, Block]) -> set[Block]:
        """Return the threadblocks of a rank that, if they were shared, would send what does not fit and receive."""
        return {
            block
            for block, (send, receive, instance) in pairs.items()
            if any(self._large((rank, send or 0, instance), (receive or 0, rank, instance)))
        }

    def _large(self, out: Connection, into: Connection) -> Iterator[tuple[Connection, int]]:
        """Yield the messages too large for their connection that a threadblock sends in a step in which it receives."""
        for step in self.steps[out] & self.steps[into]:
            for connection in (out, into):
                if self.pieces[connection, step] > self.slots:
                    yield connection, step

    def merged(self, pairs: Pairs) -> list[list[Operation]]:
        """Return the operations of every rank with the threadblocks that these pairs make, large messages in turns."""
        found = sorted(
            {
                message
                for rank, joined in enumerate(pairs)
                for send, receive, instance in set(joined.values())
                for message in self._large((rank, send or 0, instance), (receive or 0, rank, instance))
            }
        )
        colour = self._coloured(found, pairs)
        return [self._rank(rank, ops, pairs[rank], colour) for rank, ops in enumerate(self.operations)]

    def _coloured(self, large: list[tuple[Connection, int]], pairs: Pairs) -> dict[tuple[Connection, int], int]:
        """Colour messages so that no two of a step share a threadblock and a colour."""
        at: dict[tuple[int, int, Block], list[tuple[Connection, int]]] = defaultdict(list)
        ends: dict[tuple[Connection, int], list[tuple[int, int, Block]]] = {}
        for message in large:
            (src, dst, instance), step = message
            blocks = (src, (dst, None, instance)), (dst, (None, src, instance))
            ends[message] = [(step, rank, pairs[rank].get(block, block)) for rank, block in blocks]
            for end in ends[message]:
                at[end].append(message)
        colour: dict[tuple[Connection, int], int] = {}
        for first in large:
            way = [] if first in colour else [first]
            while way:
                message = way.pop()
                if message in colour:
                    continue
                beside = [other for end in ends[message] for other in at[end] if other != message]
                taken = {colour[other] for other in beside if other in colour}
                colour[message] = next(number for number in range(3) if number not in taken)
                way += beside
        return colour

    def _rank(
        self,
        rank: int,
        operations: list[Operation],
        joined: dict[Block, Block],
        colour: dict[tuple[Connection, int], int],
    ) -> list[Operation]:
        """Colour the operations of a rank, put them in order and into their threadblocks."""
        if not joined and not colour:
            return operations
        keyed: list[tuple[_Key, Operation]] = []
        last: _Key = (0, 0, 0)  # of the last receive
        waiting: list[int] = []  # copies for the next send of their threadblock
        for one in operations:
            if not (one.kind.sends or one.kind.receives):
                keyed.append((last, one))
                if one.send is not None:
                    waiting.append(len(keyed) - 1)
                continue
            message = (_connections(rank, one)[-1], one.step)
            phase = int(one.kind.receives)
            key = (one.step, 1 + colour[message], 0) if message in colour else (one.step, _LAST * phase, phase)
            if phase:
                last = key
            else:
                for at in [at for at in waiting if keyed[at][1].block == one.block]:
                    keyed[at] = (key, keyed[at][1])
                    waiting.remove(at)
            keyed.append((key, one))
        order = sorted(range(len(keyed)), key=lambda at: keyed[at][0])
        serial = [one for _, one in keyed]
        if order != list(range(len(keyed))) and _keeps_order(serial, order):
            serial = [serial[at] for at in order]
        return in_blocks(serial, joined)


def in_blocks(operations: list[Operation], joined: Mapping[Block, Block]) -> list[Operation]:
    """Return operations in the threadblocks that theirs have become a part of."""
    moved = ((one, joined.get(one.block)) for one in operations)
    return [one if block is None else replace(one, send=block[0], receive=block[1]) for one, block in moved]


def _connections(rank: int, one: Operation) -> list[Connection]:
    """Return the connections that an operation uses, first the one that it sends on."""
    found = [(rank, one.send, one.instance)] if one.kind.sends and one.send is not None else []
    if one.kind.receives and one.receive is not None:
        found.append((one.receive, rank, one.instance))
    return found


def _keeps_order(operations: list[Operation], order: list[int]) -> bool:
    """Return whether a new order keeps that of any two accesses to a place of which one is a write."""
    position = [0] * len(order)
    for new, old in enumerate(order):
        position[old] = new
    wrote: dict[Place, int] = {}
    touched: dict[Place, int] = {}  # the last access of any kind
    for at, one in enumerate(operations):
        now = position[at]
        for place in one.reads():
            if wrote.get(place, -1) > now:
                return False
            touched[place] = max(touched.get(place, -1), now)
        for place in one.writes():
            if touched.get(place, -1) > now:
                return False
            wrote[place] = touched[place] = now
    return True
