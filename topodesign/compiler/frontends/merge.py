"""Sends and receives in one threadblock: half as many of them, at full speed or in turns, and never a circle of waits.

A threadblock has one peer to send to and one to receive from, and does one thing after the other. In a step it sends
first and then receives. That is as fast as two threadblocks while what it sends in a step fits into the connection,
which holds ``slots`` pieces: it leaves without waiting for the receiver, who may be sending too. What does not fit is
treated in one of two ways.

* It is *cut*, at both ends, into parts that fit, and the threadblock sends a part, receives a part, and so on: still
  both ways at once, for more instructions.
* The ends take *turns*: the messages of a step that do not fit are coloured so that those of a threadblock differ, and
  every end does them by colour. That takes the fewest instructions, but such messages then go one way at a time.

**Why it ends.** Order all sends and receives by step; within a step by the number of the part, sends before receives
(cut), or sends that fit, the rest by colour, receives that fit (turns). Every threadblock works in this order. A
receive waits for its send, which is before it or, of a colour, beside it; a send for slots that receives of earlier
steps or parts make free, or of a colour for its own receive, beside it. What a rank does waits, beyond its own
threadblock, for what is before it in the order of that rank. So the first in the order that is not over waits for
nothing. Where a rank would have to change the order of two accesses to one place for this, it is left as it is; that
the whole program ends is then decided by :mod:`topodesign.compiler.frontends.progress`, as it is for every program with
such threadblocks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from topodesign.compiler.frontends.operations import Block, Operation, Place
from topodesign.compiler.ir import Kind, Threadblocks
from topodesign.compiler.limits import Limits

Connection = tuple[int, int, int]  # sender, receiver, instance

Pairs = list[dict[Block, Block]]  # by rank, the threadblock that another one becomes a part of

_Key = tuple[int, int, int]

_MOST_PARTS = 2
"""Parts that a message may be cut into for a threadblock less. Each further part waits for the one before to be there,
as a step waits for the step before: that is most of the time of a small call, and nothing of a large one."""

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


@dataclass
class _Message:
    """What a connection that nothing fused uses carries in a step: pieces, and the ends in shared threadblocks."""

    pieces: int = 0
    parts: int = 1
    colour: int = -1


class Merger:
    """Puts operations into shared threadblocks, in an order in which they end.

    ``piece`` are the chunks that surely fit into a slot.
    """

    def __init__(self, operations: list[list[Operation]], limits: Limits, piece: int) -> None:
        self.operations = operations
        self.slots = limits.slots
        self.most = limits.slots * piece  # chunks of one instruction that go without waiting
        self.piece = piece
        fused = {
            connection
            for rank, ops in enumerate(operations)
            for one in ops
            if one.kind.sends and one.kind.receives
            for connection in _connections(rank, one)
        }
        self.messages: dict[tuple[Connection, int], _Message] = defaultdict(_Message)
        for rank, ops in enumerate(operations):
            for one in ops:
                if one.kind is Kind.SEND and one.send is not None:
                    connection = (rank, one.send, one.instance)
                    if connection not in fused:
                        self.messages[connection, one.step].pieces += -(-one.count // piece)
        self.steps: dict[Connection, set[int]] = defaultdict(set)
        for connection, step in self.messages:
            self.steps[connection].add(step)

    def too_long(self, rank: int, pairs: dict[Block, Block]) -> set[Block]:
        """Return the threadblocks of a rank that would cut a message into too many parts if they were shared."""
        longest = _MOST_PARTS * self.slots
        return {
            block
            for block, (send, receive, instance) in pairs.items()
            for messages in [self._large((rank, send or 0, instance), (receive or 0, rank, instance))]
            if any(self.messages[message].pieces > longest for message in messages)
        }

    def _large(self, out: Connection, into: Connection) -> Iterator[tuple[Connection, int]]:
        """Yield the messages too large for their connection that a threadblock sends in a step in which it receives."""
        for step in self.steps[out] & self.steps[into]:
            for connection in (out, into):
                if self.messages[connection, step].pieces > self.slots:
                    yield connection, step

    def merged(self, pairs: Pairs, *, cut: bool) -> list[list[Operation]]:
        """Return the operations of every rank with the threadblocks that these pairs make, by cuts or in turns."""
        found = sorted(
            {
                message
                for rank, joined in enumerate(pairs)
                for send, receive, instance in set(joined.values())
                for message in self._large((rank, send or 0, instance), (receive or 0, rank, instance))
            }
        )
        large = set(found)
        colour = {} if cut else self._coloured(found, pairs)
        return [self._rank(rank, ops, pairs[rank], large, colour) for rank, ops in enumerate(self.operations)]

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
        large: set[tuple[Connection, int]],
        colour: dict[tuple[Connection, int], int],
    ) -> list[Operation]:
        """Cut or colour the operations of a rank, put them in order and into their threadblocks."""
        if not joined and not large:
            return operations
        keyed: list[tuple[_Key, Operation]] = []
        filled: dict[tuple[Connection, int], tuple[int, int]] = {}  # part, and pieces in it
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
            if message not in large:
                rows = [((one.step, _LAST * phase if colour else 0, phase), one)]
            elif colour:
                rows = [((one.step, 1 + colour[message], 0), one)]
            else:
                rows = [((one.step, part, phase), some) for part, some in self._parts(one, filled, message)]
            if phase:
                last = max(key for key, _ in rows)
            else:
                for at in [at for at in waiting if keyed[at][1].block == one.block]:
                    keyed[at] = (rows[0][0], keyed[at][1])
                    waiting.remove(at)
            keyed += rows
        order = sorted(range(len(keyed)), key=lambda at: keyed[at][0])
        serial = [one for _, one in keyed]
        if order != list(range(len(keyed))) and _keeps_order(serial, order):
            serial = [serial[at] for at in order]
        return in_blocks(serial, joined)

    def _parts(
        self, one: Operation, filled: dict[tuple[Connection, int], tuple[int, int]], message: tuple[Connection, int]
    ) -> Iterator[tuple[int, Operation]]:
        """Yield an operation cut into what fits into the connection, with the number of the part that each is of."""
        for start in range(0, one.count, self.most):
            count = min(self.most, one.count - start)
            pieces = -(-count // self.piece)
            part, full = filled.get(message, (0, 0))
            if full + pieces > self.slots:
                part, full = part + 1, 0
            filled[message] = part, full + pieces
            yield part, replace(one, count=count, source=_after(one.source, start), target=_after(one.target, start))


def in_blocks(operations: list[Operation], joined: Mapping[Block, Block]) -> list[Operation]:
    """Return operations in the threadblocks that theirs have become a part of."""
    moved = ((one, joined.get(one.block)) for one in operations)
    return [one if block is None else replace(one, send=block[0], receive=block[1]) for one, block in moved]


def _after(place: Place | None, chunks: int) -> Place | None:
    return None if place is None else place + chunks


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
