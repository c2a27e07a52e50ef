"""From operations in serial order to threadblocks that run at the same time: who waits for whom, and nothing more."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count

from topodesign.compiler.frontends.merge import Merger, in_blocks, pair
from topodesign.compiler.frontends.operations import Block, Operation, Place, lasting
from topodesign.compiler.frontends.progress import ends
from topodesign.compiler.ir import Buffer, Instruction, Kind, RankProgram, Region, Threadblock, Threadblocks
from topodesign.compiler.limits import Limits

_ROUNDS = 3  # of leaving threadblocks alone that turn out too long


def assemble(
    operations: list[list[Operation]],
    reduce_steps: int,
    limits: Limits,
    *,
    chunks: int,
    mode: Threadblocks = "auto",
    concurrent: bool = False,
) -> tuple[list[RankProgram], int]:
    """Give every rank its threadblocks with the dependencies that keep the result of the serial order.

    Operations are in an order that is right when done one after the other. After ``reduce_steps`` no partial sums are
    sent, and if ``concurrent`` a second phase begins that goes on beside the first. The programs, which come with the
    number of channels in use, end whatever the timing, even with the fewest slots and the shortest pieces.
    """
    links = {(rank, one.send) for rank, ops in enumerate(operations) for one in ops if one.send is not None}
    group = _groups(links, limits.blocks_per_channel)
    frame = _Frame(reduce_steps, limits, group, limits.piece(chunks), reduce_steps if concurrent else None)
    plain = operations
    if frame.groups == 1:  # a fused instruction needs both of its connections on one channel
        operations = _fuse(operations, reduce_steps, limits.slots // 2, frame.piece)
    ways: list[tuple[list[list[Operation]], Threadblocks]] = [(operations, "separate"), (plain, "separate")]
    if mode == "merged" or (mode == "auto" and limits.slots > 0):
        ways.insert(0, (operations, mode))
    for ops, way in ways:
        ranks = _threaded(ops, frame, way)
        most = max(len(rank.threadblocks) for rank in ranks)
        shared = any(None not in {block.send, block.receive} for rank in ranks for block in rank.threadblocks)
        if most <= limits.blocks_per_rank and (not shared or ends(ranks, limits.slots, frame.piece)):
            break
    used = max((block.channel for rank in ranks for block in rank.threadblocks), default=0) + 1
    return ranks, used


@dataclass(frozen=True)
class _Frame:
    """What all ranks have in common, see :func:`assemble`."""

    reduce_steps: int
    limits: Limits
    group: dict[tuple[int, int], int]
    piece: int
    concurrent_from: int | None

    @property
    def groups(self) -> int:
        """Groups of links, each with channels of its own."""
        return max(self.group.values(), default=0) + 1


def _threaded(operations: list[list[Operation]], frame: _Frame, mode: Threadblocks) -> list[RankProgram]:
    """Return the threadblocks of all ranks, none longer than may be."""
    merger = Merger(operations, frame.limits, frame.piece)
    alone: set[tuple[int, Block]] = set()
    for turn in range(_ROUNDS):
        shares = mode if turn < _ROUNDS - 1 else "separate"
        pairs = [
            pair(rank, ops, frame.group, frame.limits, mode=shares, alone=alone, concurrent_from=frame.concurrent_from)
            for rank, ops in enumerate(operations)
        ]
        if mode == "auto":
            for rank, joined in enumerate(pairs):
                for block in merger.overfull(rank, joined):
                    alone.add((rank, block))
                    del joined[block]
        ordered = merger.merged(pairs)
        ranks = [_rank(rank, ops, frame) for rank, ops in enumerate(ordered)]
        long = {
            (rank, block)
            for rank, body in enumerate(ranks)
            for merged in body.threadblocks
            if sum(max(1, len(one.depends)) for one in merged.instructions) > frame.limits.instructions_per_block
            for block, joined in pairs[rank].items()
            if joined[:2] == (merged.send, merged.receive)
        }
        if not long:
            break
        alone |= long
    return ranks


def _groups(links: set[tuple[int, int]], limit: int) -> dict[tuple[int, int], int]:
    """Colour the links so that no node sends or receives on more than ``limit`` of a colour; first fit."""
    load: Counter[tuple[int, str, int]] = Counter()
    group = {}
    for src, dst in sorted(links):
        colour = next(c for c in count() if load[src, "out", c] < limit and load[dst, "in", c] < limit)
        load.update([(src, "out", colour), (dst, "in", colour)])
        group[src, dst] = colour
    return group


def _rank(rank: int, operations: list[Operation], frame: _Frame) -> RankProgram:
    """Sort the operations of a rank into numbered threadblocks and pack its scratch."""

    def channel(block: Block) -> int:
        send, receive, instance = block
        colour = 0
        if send is not None:
            colour = frame.group[rank, send]
        elif receive is not None:
            colour = frame.group[receive, rank]
        return instance * frame.groups + colour

    def order(block: Block) -> tuple[int, int, int]:
        send, receive, _ = block
        return channel(block), send if send is not None else 2**31, receive if receive is not None else -1

    blocks = sorted({one.block for one in operations} or {(None, None, 0)}, key=order)
    number = {block: at for at, block in enumerate(blocks)}
    depends, position = _dependencies([(number[one.block], one) for one in operations], len(blocks), frame.reduce_steps)
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
                known = list(map(max, known, done[other]))
        known = [*known[:block], position[at] + 1, *known[block + 1 :]]
        latest[block] = known
        done.append(known)
        waits.append(mine)
    return waits, position


def _pack(operations: list[Operation]) -> tuple[Callable[[Place | None], Region | None], int]:
    """Return the map from places to regions that closes the gaps in the scratch, and the scratch's size."""
    touched = set().union(*(one.reads() for one in operations), *(one.writes() for one in operations))
    used = {place for place in touched if lasting(place) is None}
    offset = {place: at for at, place in enumerate(sorted(used))}

    def region(place: Place | None) -> Region | None:
        if place is None:
            return None
        return Region(Buffer.SCRATCH, offset[place]) if place in offset else lasting(place)

    return region, len(used)


def _fuse(operations: list[list[Operation]], reduce_steps: int, most: int, piece: int) -> list[list[Operation]]:
    """Join receives with the sends that pass all of it on, where that is safe and most of a connection gains by it.

    A fused instruction forces a receiving and a sending connection into one threadblock, so it is tried only between
    connections that never carry more than ``most`` pieces in a step. With room for those of two steps in flight there
    is no deadlock: the send of step t waits at most until what was sent in step t - 2 or earlier is received; a fused
    receive of step t waits for sends of step t and for plain receives of step t that are before it in the serial order.
    So, by induction over the steps, in each step first the sends end, then receives, then fused instructions.
    """
    large: set[tuple[int | None, int | None, int]] = set()
    for rank, ops in enumerate(operations):
        pieces: Counter[tuple[int | None, int, int]] = Counter()
        for one in ops:
            if one.kind is Kind.SEND:
                pieces[one.send, one.instance, one.step] += -(-one.count // piece)
        large |= {(rank, send, instance) for (send, instance, _), number in pieces.items() if number > most}
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
                held = operations[source].target == one.source and operations[source].count == one.count
                if held and all(holder.get(place) == source for place in one.reads()):
                    pairs[one.send, operations[source].receive, one.instance].append((source, at))
            sent[one.send, one.instance] = at
        for place in one.writes():
            holder.pop(place, None)
        if one.kind.receives and (one.receive, rank, one.instance) not in large and one.target is not None:
            size[one.block] += 1
            holder.update((place, at) for place in one.writes())
    chosen: set[Block] = set()
    joined: dict[Block, Block] = {}
    for block in sorted(pairs, key=lambda block: (-len(pairs[block]), block)):
        send, receive, instance = block
        ends_of = (send, None, instance), (None, receive, instance)
        if not joined.keys() & set(ends_of) and 2 * len(pairs[block]) > max(size[end] for end in ends_of):
            joined |= dict.fromkeys(ends_of, block)
            chosen.add(block)
    if not chosen:
        return operations
    result: list[Operation | None] = list(in_blocks(operations, joined))
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
