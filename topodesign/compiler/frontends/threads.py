"""From operations in serial order to threadblocks that run at the same time: who waits for whom, and nothing more."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from topodesign.compiler.ir import Buffer, Instruction, Kind, RankProgram, Region, Threadblock
from topodesign.compiler.limits import Limits

Place = tuple[str, int]
"""A chunk in memory: the value of a :class:`Buffer`, or ``ACCUMULATOR``, and the offset."""

ACCUMULATOR = "accumulator"
"""Partial sums at the offsets of the whole collective; ends up in scratch without the gaps."""

Block = tuple[int | None, int | None, int]
"""A threadblock before it has a number: peer to send to, peer to receive from, instance."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An instruction with places instead of regions and with peers instead of a threadblock.

    Attributes
    ----------
    kind, step, count
        As in :class:`Instruction`.
    source, target
        First place that it reads and that it writes.
    send, receive
        Peers of the threadblock that it belongs to.
    instance
        Number of the part of every message that this threadblock carries.
    """

    kind: Kind
    step: int
    count: int
    source: Place | None
    target: Place | None
    send: int | None
    receive: int | None
    instance: int

    @property
    def block(self) -> Block:
        """The threadblock that it belongs to."""
        return self.send, self.receive, self.instance

    def reads(self) -> list[Place]:
        """Return the places whose contents matter to it."""
        places = _places(self.source, self.count)
        return places + _places(self.target, self.count) if self.kind is Kind.REDUCE else places

    def writes(self) -> list[Place]:
        """Return the places that it changes."""
        return _places(self.target, self.count)


def _places(first: Place | None, size: int) -> list[Place]:
    return [] if first is None else [(first[0], at) for at in range(first[1], first[1] + size)]


def assemble(
    operations: list[list[Operation]], reduce_steps: int, limits: Limits, *, join: bool = False
) -> tuple[list[RankProgram], int]:
    """Give every rank its threadblocks with the dependencies that keep the result of the serial order.

    Parameters
    ----------
    operations
        For each rank, what it does, in an order that is right when done one after the other.
    reduce_steps
        Steps after which partial sums are no longer sent.
    limits
        What the target allows: of threadblocks on a channel always, of others where they are joined.
    join
        Whether threadblocks that send and such that receive may be joined where a rank has too many.

    Returns
    -------
    list of RankProgram
        One per rank.
    int
        Number of channels in use.
    """
    links = {(rank, one.send) for rank, ops in enumerate(operations) for one in ops if one.send is not None}
    group = _groups(links, limits.blocks_per_channel)
    groups = max(group.values(), default=0) + 1
    if groups == 1:  # a fused instruction needs both of its connections on one channel
        operations = _fuse(operations, reduce_steps)
    if join:
        operations = [_join(rank, ops, group, limits) for rank, ops in enumerate(operations)]
    ranks = [_rank(rank, ops, reduce_steps, group, groups) for rank, ops in enumerate(operations)]
    used = max((block.channel for rank in ranks for block in rank.threadblocks), default=0) + 1
    return ranks, used


def _groups(links: set[tuple[int, int]], limit: int) -> dict[tuple[int, int], int]:
    """Colour the links so that no node sends or receives on more than ``limit`` of a colour; first fit."""
    load: Counter[tuple[int, str, int]] = Counter()
    group = {}
    for src, dst in sorted(links):
        colour = next(c for c in count() if load[src, "out", c] < limit and load[dst, "in", c] < limit)
        load.update([(src, "out", colour), (dst, "in", colour)])
        group[src, dst] = colour
    return group


def _join(rank: int, operations: list[Operation], group: dict[tuple[int, int], int], limits: Limits) -> list[Operation]:
    """Put what only sends and what only receives on a channel into one threadblock, if there are too many of them.

    Where all ranks do their operations in the order of one list of messages, no deadlock comes of it: the first message
    of the list that is not over waits for none after it, at neither end.
    """
    size = Counter(one.block for one in operations)
    surplus = len(size) - limits.blocks_per_rank
    if surplus <= 0:
        return operations
    free: dict[tuple[int, int], tuple[list[Block], list[Block]]] = defaultdict(lambda: ([], []))
    for block in sorted(size, key=lambda block: (size[block], str(block))):
        send, receive, instance = block
        if send is not None and receive is None:
            free[group[rank, send], instance][0].append(block)
        elif send is None and receive is not None:
            free[group[receive, rank], instance][1].append(block)
    pairs = [pair for senders, receivers in free.values() for pair in zip(senders[::-1], receivers, strict=False)]
    pairs.sort(key=lambda pair: size[pair[0]] + size[pair[1]])
    longest = limits.instructions_per_block
    joined = {block: (a[0], b[1], a[2]) for a, b in pairs[:surplus] if size[a] + size[b] <= longest for block in (a, b)}
    return [
        replace(one, send=block[0], receive=block[1])
        for one in operations
        for block in [joined.get(one.block, one.block)]
    ]


def _rank(
    rank: int, operations: list[Operation], reduce_steps: int, group: dict[tuple[int, int], int], groups: int
) -> RankProgram:
    """Sort the operations of a rank into numbered threadblocks and pack its scratch."""

    def channel(block: Block) -> int:
        send, receive, instance = block
        colour = 0
        if send is not None:
            colour = group[rank, send]
        elif receive is not None:
            colour = group[receive, rank]
        return instance * groups + colour

    def order(block: Block) -> tuple[int, int, int]:
        send, receive, _ = block
        return channel(block), send if send is not None else 2**31, receive if receive is not None else -1

    blocks = sorted({one.block for one in operations} or {(None, None, 0)}, key=order)
    number = {block: at for at, block in enumerate(blocks)}
    depends, position = _dependencies([(number[one.block], one) for one in operations], len(blocks), reduce_steps)
    region, scratch = _pack(operations)
    lines: list[list[Instruction]] = [[] for _ in blocks]
    for one, waits in zip(operations, depends, strict=True):
        source, target = region(one.source), region(one.target)
        where = tuple((block, position[other]) for block, other in sorted(waits.items()))
        lines[number[one.block]].append(Instruction(one.kind, source, target, one.count, where, one.step))
    rows = zip(blocks, lines, strict=True)
    return RankProgram(tuple(Threadblock(b[0], b[1], channel(b), tuple(line)) for b, line in rows), scratch)


def _dependencies(
    operations: list[tuple[int, Operation]], blocks: int, reduce_steps: int
) -> tuple[list[dict[int, int]], list[int]]:
    """Return the operations that each one waits for, by threadblock, and its position in its own threadblock.

    Two operations that touch the same place, one of them writing, keep their order. What the order inside a threadblock
    or another dependency implies is left out. So is what the data implies in an allreduce: the result that a rank
    stores in the second half contains the partial sum that it read and sent in the first.
    """
    position: list[int] = []
    waits: list[dict[int, int]] = []
    done: list[list[int]] = []  # operations of each threadblock that are over when this one is
    latest = [[0] * blocks for _ in range(blocks)]
    writer: dict[Place, int] = {}
    readers: dict[Place, list[int]] = defaultdict(list)
    for at, (block, one) in enumerate(operations):
        conflicts: set[int] = set()
        for place in one.reads():
            if place in writer:
                conflicts.add(writer[place])
            readers[place].append(at)
        for place in one.writes():
            before = readers.pop(place, [])
            if place in writer:
                before.append(writer[place])
            conflicts.update(x for x in before if one.step <= reduce_steps or operations[x][1].step > reduce_steps)
            writer[place] = at
        known = latest[block]
        position.append(known[block])
        mine: dict[int, int] = {}
        for other in sorted(conflicts - {at}, reverse=True):  # the later ones imply earlier ones, never the reverse
            if known[operations[other][0]] <= position[other]:
                mine[operations[other][0]] = other
                known = [max(pair) for pair in zip(known, done[other], strict=True)]
        known = [*known[:block], position[at] + 1, *known[block + 1 :]]
        latest[block] = known
        done.append(known)
        waits.append(mine)
    return waits, position


def _pack(operations: list[Operation]) -> tuple[Callable[[Place | None], Region | None], int]:
    """Return the map from places to regions that closes the gaps in the scratch, and the scratch's size."""
    plain = {Buffer.INPUT.value, Buffer.OUTPUT.value}
    used = {place for one in operations for place in one.reads() + one.writes() if place[0] not in plain}
    offset = {place: at for at, place in enumerate(sorted(used))}

    def region(place: Place | None) -> Region | None:
        if place is None:
            return None
        return Region(Buffer.SCRATCH, offset[place]) if place in offset else Region(Buffer(place[0]), place[1])

    return region, len(used)


def _fuse(operations: list[list[Operation]], reduce_steps: int) -> list[list[Operation]]:
    """Join receives with the sends that pass the chunk on, where that is safe and most of a connection gains by it.

    A fused instruction forces a receiving and a sending connection into one threadblock, so it is tried only between
    connections that never carry more than one chunk in a step. With room for two chunks in flight there is no deadlock:
    the send of step t waits at most until the chunk two messages before it, of step t - 2 or earlier, is received; a
    fused receive of step t waits for sends of step t and for plain receives of step t that are before it in the serial
    order. So, by induction over the steps, in each step first the sends end, then receives, then fused instructions.
    """
    large: set[tuple[int | None, int | None, int]] = set()
    for rank, ops in enumerate(operations):
        chunks: Counter[tuple[int | None, int, int]] = Counter()
        for one in ops:
            if one.kind is Kind.SEND:
                chunks[one.send, one.instance, one.step] += one.count
        large |= {(rank, send, instance) for (send, instance, _), number in chunks.items() if number > 1}
    return [_fuse_rank(rank, ops, large, reduce_steps) for rank, ops in enumerate(operations)]


def _fuse_rank(
    rank: int, operations: list[Operation], large: set[tuple[int | None, int | None, int]], reduce_steps: int
) -> list[Operation]:
    pairs: dict[Block, list[tuple[int, int]]] = defaultdict(list)
    holder: dict[Place, int] = {}  # the receive that wrote what is there
    sent: dict[tuple[int | None, int], int] = {}  # the last send of a connection
    size: Counter[Block] = Counter()
    for at, one in enumerate(operations):
        if one.kind is Kind.SEND and (rank, one.send, one.instance) not in large:
            size[one.block] += 1
            source = holder.get(one.source) if one.source is not None else None
            before = sent.get((one.send, one.instance), -1)
            if source is not None and source > before and operations[source].instance == one.instance:
                pairs[one.send, operations[source].receive, one.instance].append((source, at))
            sent[one.send, one.instance] = at
        for place in one.writes():
            holder.pop(place, None)
        if one.kind.receives and (one.receive, rank, one.instance) not in large and one.target is not None:
            size[one.block] += 1
            holder[one.target] = at
    chosen: set[Block] = set()
    joined: dict[Block, Block] = {}
    for block in sorted(pairs, key=lambda block: (-len(pairs[block]), block)):
        send, receive, instance = block
        ends = (send, None, instance), (None, receive, instance)
        if not joined.keys() & set(ends) and 2 * len(pairs[block]) > max(size[end] for end in ends):
            joined |= dict.fromkeys(ends, block)
            chosen.add(block)
    result: list[Operation | None] = [
        replace(one, send=block[0], receive=block[1])
        for one in operations
        for block in [joined.get(one.block, one.block)]
    ]
    for block in chosen:
        for source, at in pairs[block]:
            one = replace(operations[source], send=block[0])
            result[source], result[at] = _passing_on(one, dead=operations[at].step <= reduce_steps), None
    return [one for one in result if one is not None]


def _passing_on(one: Operation, *, dead: bool) -> Operation:
    """Return the fused form of a receive; what it leaves behind is dead when it is a partial sum."""
    if one.kind is Kind.RECEIVE:
        return replace(one, kind=Kind.RECEIVE_COPY_SEND)
    if dead:
        return replace(one, kind=Kind.RECEIVE_REDUCE_SEND, target=None)
    return replace(one, kind=Kind.RECEIVE_REDUCE_COPY_SEND)
