"""Shared threadblocks for sends and receives, free of deadlock.

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

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints
from topodesign.compiler.columns import NUMBER, RECEIVES, SENDS
from topodesign.compiler.frontends.operations import Block, Operations
from topodesign.compiler.frontends.thread_kernels import keep_order, with_local
from topodesign.compiler.instructions import Kind
from topodesign.compiler.limits import Limits
from topodesign.compiler.options import Threadblocks

Connection = tuple[int, int, int]  # sender, receiver, instance

Shared = tuple[int, int, int]  # a threadblock that sends and receives: peer to send to, peer to receive from, instance

Pairs = list[dict[Block, Shared]]  # by rank, the threadblock that another one becomes a part of

_LAST = 8  # of what has no colour, behind all colours


class ConnectionLoad(NamedTuple):
    """Pieces that connections carry, one row per connection and step."""

    ends: list[Connection]  # of each connection
    line: Ints  # number of the connection of a row
    step: Ints
    pieces: Ints


class Blocks:
    """The threadblocks of operations, by rank."""

    def __init__(self, operations: Operations) -> None:
        self.operations = operations
        rank, ends, most = operations.rank, len(operations.first), int(operations.instance.max(initial=0)) + 1
        key = ((rank * ends + operations.send + 1) * ends + operations.receive + 1) * most + operations.instance
        known, first, self.of = np.unique(key, return_index=True, return_inverse=True)
        self.size = np.bincount(self.of, minlength=len(known))
        self.rank, self.send, self.receive, self.instance = (
            column[first] for column in (rank, operations.send, operations.receive, operations.instance)
        )
        peers = ([None if peer < 0 else peer for peer in column.tolist()] for column in (self.send, self.receive))
        self.keys: list[Block] = list(zip(*peers, self.instance.tolist(), strict=True))
        self.starts = np.searchsorted(self.rank, np.arange(ends)).tolist()

    @cached_property
    def latest(self) -> Ints:
        """Return the last step of each threadblock."""
        found = np.zeros(len(self.keys), dtype=np.int64)
        np.maximum.at(found, self.of, self.operations.step)
        return found

    def carried(self, sends: NDArray[np.bool_], piece: int) -> tuple[Ints, ConnectionLoad]:
        """Return operations' connections (-1: none), and the selected load."""
        ops = self.operations
        rank, ends, most = ops.rank, len(ops.first), int(ops.instance.max(initial=0)) + 1
        out, into = (rank, ops.send), (ops.receive, rank)
        src, dst = (np.where(RECEIVES[ops.kind], b, a) for a, b in zip(out, into, strict=True))
        moves = SENDS[ops.kind] | RECEIVES[ops.kind]
        known, line = np.unique(((src * ends + dst) * most + ops.instance)[moves], return_inverse=True)
        number = np.full(len(rank), -1)
        number[moves] = line
        pairs, instance = np.divmod(known, most)
        named = zip(*(column.tolist() for column in (*np.divmod(pairs, ends), instance)), strict=True)
        steps = int(ops.step.max(initial=0)) + 1
        rows, at = np.unique((number * steps + ops.step)[sends], return_inverse=True)
        pieces = np.bincount(at, weights=-(-ops.size[sends] // piece), minlength=len(rows)).astype(np.int64)
        return number, ConnectionLoad(list(named), rows // steps, rows % steps, pieces)


def pair(
    rank: int,
    blocks: Blocks,
    group: Mapping[tuple[int, int], int],
    limits: Limits,
    *,
    mode: Threadblocks,
    alone: Collection[tuple[int, Block]],
    concurrent_from: int | None = None,
) -> dict[Block, Shared]:
    """Choose send-only and receive-only threadblocks to merge.

    ``group`` is the channel group of every link: a threadblock has one channel. With ``separate`` only so many are
    joined as there are too many. ``alone`` has the ranks and threadblocks that are to stay as they are. What comes
    after step ``concurrent_from`` is a second phase, which shares no threadblock with the first.
    """
    here = slice(blocks.starts[rank], blocks.starts[rank + 1])
    size = dict(zip(blocks.keys[here], blocks.size[here].tolist(), strict=True))
    surplus = len(size) - limits.blocks_per_rank
    if mode == "separate" and surplus <= 0:
        return {}
    second: set[Block] = set()
    if concurrent_from is not None:
        late = (blocks.latest[here] > concurrent_from).tolist()
        second = {block for block, is_late in zip(size, late, strict=True) if is_late}
    free: dict[tuple[int, int, bool], tuple[list[Block], list[Block]]] = defaultdict(lambda: ([], []))
    for block in sorted(size, key=lambda block: (size[block], str(block))):
        send, receive, instance = block
        if (rank, block) in alone:
            continue
        if send is not None and receive is None:
            free[group[rank, send], instance, block in second][0].append(block)
        elif send is None and receive is not None:
            free[group[receive, rank], instance, block in second][1].append(block)
    pairs = [found for senders, receivers in free.values() for found in _match_blocks(senders, receivers)]
    pairs.sort(key=lambda found: size[found[0]] + size[found[1]])
    longest = limits.instructions_per_block
    most = surplus if mode == "separate" else len(pairs)
    chosen = [(a, b) for a, b in pairs[:most] if size[a] + size[b] <= longest]
    return {block: cast("Shared", (a[0], b[1], a[2])) for a, b in chosen for block in (a, b)}


def _match_blocks(senders: list[Block], receivers: list[Block]) -> Iterator[tuple[Block, Block]]:
    """Yield (sender, receiver) pairs, same peer first."""
    by_peer = {block[1]: block for block in receivers}
    for block in senders:
        if block[0] in by_peer:
            yield block, by_peer[block[0]]
    peers = {block[0] for block in senders} & by_peer.keys()
    rest = [block for block in senders if block[0] not in peers]
    yield from zip(rest[::-1], [block for block in receivers if block[1] not in peers], strict=False)


class Merger:
    """Builder of shared threadblocks with a deadlock-free operation order.

    ``piece`` are the chunks that surely fit into a slot.
    """

    def __init__(self, operations: Operations, blocks: Blocks, limits: Limits, piece: int) -> None:
        self.operations, self.blocks = operations, blocks
        self.slots = limits.slots
        self.fused = SENDS[operations.kind] & RECEIVES[operations.kind]
        self.line, carried = blocks.carried(operations.kind == NUMBER[Kind.SEND], piece)
        both = {
            connection
            for rank, send, receive, instance in zip(
                *(x[self.fused].tolist() for x in (operations.rank, *operations[6:])), strict=True
            )
            for connection in ((rank, send, instance), (receive, rank, instance))
        }
        self.number = {connection: at for at, connection in enumerate(carried.ends)}
        self.steps: dict[Connection, set[int]] = defaultdict(set)  # of connections that nothing fused uses
        self.full: dict[Connection, set[int]] = defaultdict(set)  # steps in which more is sent than fits
        for line, step, pieces in zip(*(x.tolist() for x in carried[1:]), strict=True):
            connection = carried.ends[line]
            if connection not in both:
                self.steps[connection].add(step)
                if pieces > self.slots:
                    self.full[connection].add(step)

    def overfull(self, rank: int, pairs: dict[Block, Shared]) -> set[Block]:
        """Return threadblocks that, once shared, would receive during oversized sends."""
        return {
            block
            for block, (send, receive, instance) in pairs.items()
            if any(self._large((rank, send, instance), (receive, rank, instance)))
        }

    def _large(self, out: Connection, into: Connection) -> Iterator[tuple[Connection, int]]:
        """Yield oversized messages sent while their threadblock receives."""
        for connection, other in ((out, into), (into, out)):
            for step in self.full[connection] & self.steps[other] if connection in self.full else ():
                yield connection, step

    def merge(self, pairs: Pairs) -> Operations:
        """Return all operations in merged threadblocks, large messages in turns."""
        if not any(pairs):
            return self.operations
        found = sorted(
            {
                message
                for rank, joined in enumerate(pairs)
                for send, receive, instance in set(joined.values())
                for message in self._large((rank, send, instance), (receive, rank, instance))
            }
        )
        return self._order_operations(pairs, self._colour_messages(found, pairs))

    def _colour_messages(self, large: list[tuple[Connection, int]], pairs: Pairs) -> dict[tuple[Connection, int], int]:
        """Colour messages; those in one step and threadblock differ."""
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

    def _order_operations(self, pairs: Pairs, colour: dict[tuple[Connection, int], int]) -> Operations:
        """Colour operations, put them in order and into their threadblocks."""
        ops = self.operations
        receives = RECEIVES[ops.kind]
        flags = np.where(self.line >= 0, receives.astype(np.int64), 2 + (ops.send >= 0))
        turn = _LAST * receives
        if colour:
            steps = int(ops.step.max()) + 1
            coloured = sorted((self.number[line] * steps + step, 1 + number) for (line, step), number in colour.items())
            known, numbers = np.array(coloured).T
            message = self.line * steps + ops.step
            at = np.minimum(np.searchsorted(known, message), len(known) - 1)
            turn = np.where(known[at] == message, numbers[at], turn)
        key = 2 * _LAST * ops.step + turn
        source, target, cells = ops.cells()
        where = ops.first, source, target, ops.size
        with_local(ops.first, key, flags, self.blocks.of, len(self.blocks.keys))
        rank = ops.rank
        order = np.lexsort((key, rank))
        position = np.argsort(order)
        kept = keep_order(*where, position, ops.kind == NUMBER[Kind.REDUCE], cells)
        if not colour:
            kept &= np.array([bool(joined) for joined in pairs])
        order = np.where(kept[rank], order, np.arange(len(order)))
        send, receive = get_peers(self.blocks, pairs)
        return Operations(ops.first, *(x[order] for x in ops._replace(send=send, receive=receive)[1:]))


def get_peers(blocks: Blocks, pairs: Pairs) -> tuple[Ints, Ints]:
    """Return the peers of each operation's threadblock after merging."""
    found = [
        pairs[rank].get(block, block) if pairs[rank] else block
        for rank, block in zip(blocks.rank.tolist(), blocks.keys, strict=True)
    ]
    peers = np.array([[-1 if peer is None else peer for peer in block[:2]] for block in found], dtype=np.int64)
    send, receive = peers.reshape(-1, 2)[blocks.of].T
    return send, receive
