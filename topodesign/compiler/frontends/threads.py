"""Concurrent threadblocks with minimal waits, from serial operations."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import count

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.base.wording import count_noun
from topodesign.compiler.columns import BITS, BUFFERS, NUMBER, RECEIVES, Columns
from topodesign.compiler.frontends.merge import Blocks, Merger, Pairs, get_peers, pair
from topodesign.compiler.frontends.operations import IN, OUT, SCRATCH, Block, Operations
from topodesign.compiler.frontends.packing import pack_scratch
from topodesign.compiler.frontends.progress import ends
from topodesign.compiler.frontends.thread_kernels import dependencies, find_forwards
from topodesign.compiler.instructions import Buffer, Kind
from topodesign.compiler.limits import HELP, Limits
from topodesign.compiler.options import Threadblocks

_ROUNDS = 3  # in which threadblocks that become too long are no longer merged


def assemble(
    operations: Operations,
    reduce_steps: int,
    limits: Limits,
    *,
    chunks: int,
    mode: Threadblocks = "auto",
    concurrent: bool = False,
) -> tuple[Columns, int]:
    """Assign operations to threadblocks, with dependencies that keep the result.

    Operations are in an order that is right when done one after the other. After ``reduce_steps`` no partial sums are
    sent, and if ``concurrent`` a second phase begins that goes on beside the first. The programs, which come with the
    number of channels in use, end whatever the timing, even with the fewest slots and the shortest pieces.
    """
    most, longest = limits.instructions_per_rank, int(np.diff(operations.first).max())
    if longest > most:
        raise InfeasibleError(f"some rank requires {longest} instructions, and {most} are allowed; {HELP}")
    sending = operations.send >= 0
    links = set(zip(operations.rank[sending].tolist(), operations.send[sending].tolist(), strict=True))
    group = _groups(links, limits.blocks_per_channel)
    late, groups = reduce_steps if concurrent else None, max(group.values(), default=0) + 1
    frame = _Frame(reduce_steps, limits, group, limits.piece(chunks), late, groups)
    plain = operations
    if frame.groups == 1:  # a fused instruction needs both of its connections on one channel
        operations = _fuse(operations, reduce_steps, limits.slots // 2, frame.piece)
    ways: list[tuple[Operations, Threadblocks]] = [(operations, "separate"), (plain, "separate")]
    if mode == "merged" or (mode == "auto" and limits.slots > 0):
        ways.insert(0, (operations, mode))
    # sums of an allreduce and its results say what is over only where they are
    halves = 0 < reduce_steps < int(operations.step.max(initial=0))
    reuse = not (concurrent or halves) and limits.settles
    for ops, way, again in [(*one, again) for one in ways for again in ([True, False] if reuse else [False])]:
        made = _thread_operations(ops, frame, way, reuse=again)
        waits = again or bool(((made.send >= 0) & (made.receive >= 0)).any())
        if not _fits(made, limits, steps=again):  # waits for places that are used again are steps, too
            continue
        if not waits or ends(made, limits.slots, frame.piece):
            break
    else:  # the last way is the plainest: the back end names the limit that it exceeds, if it ends at all
        if not ends(made, limits.slots, frame.piece):
            few = count_noun(limits.blocks_per_rank, "threadblock")
            raise InfeasibleError(f"{limits.of} allows {few} per rank, and no program with so few surely ends; {HELP}")
    return made, int(made.channel.max(initial=0)) + 1


def _fits(made: Columns, limits: Limits, *, steps: bool) -> bool:
    """Return whether threadblocks and, if ``steps``, instructions fit the limits."""
    fits = np.diff(made.starts).max() <= limits.blocks_per_rank
    if steps:
        nodes = np.bincount(made.rank, weights=made.steps + 1) + len(made.scratch) + 1
        fits &= made.steps.max() <= limits.instructions_per_block and nodes.max() <= limits.instructions_per_rank
    return bool(fits)


@dataclass(frozen=True)
class _Frame:
    """Common parameters of all ranks, see :func:`assemble`."""

    reduce_steps: int
    limits: Limits
    group: dict[tuple[int, int], int]
    piece: int
    concurrent_from: int | None
    groups: int  # of links, each with channels of its own


def _thread_operations(operations: Operations, frame: _Frame, mode: Threadblocks, *, reuse: bool) -> Columns:
    """Return all ranks' threadblocks, none over the length limit."""
    blocks = Blocks(operations)
    merger = Merger(operations, blocks, frame.limits, frame.piece)
    alone: set[tuple[int, Block]] = set()
    late = frame.concurrent_from
    for turn in range(_ROUNDS):
        shares = mode if turn < _ROUNDS - 1 else "separate"
        pairs = [
            pair(rank, blocks, frame.group, frame.limits, mode=shares, alone=alone, concurrent_from=late)
            for rank in range(len(operations.first) - 1)
        ]
        if mode == "auto":
            for rank, joined in enumerate(pairs):
                for block in merger.overfull(rank, joined):
                    del joined[block]
        made = _lay_out(merger.merge(pairs), frame, reuse=reuse)
        long = {
            (rank, block)
            for at in np.flatnonzero(made.steps > frame.limits.instructions_per_block).tolist()
            for rank in (int(made.rank[at]),)
            for block, joined_to in pairs[rank].items()
            if joined_to[:2] == (made.send[at], made.receive[at])
        }
        if not long:
            break
        alone |= long
    return made


def _groups(links: set[tuple[int, int]], limit: int) -> dict[tuple[int, int], int]:
    """Colour links first-fit, up to ``limit`` per node, direction and colour."""
    load: Counter[tuple[int, str, int]] = Counter()
    group = {}
    for src, dst in sorted(links):
        colour = next(c for c in count() if load[src, "out", c] < limit and load[dst, "in", c] < limit)
        load.update([(src, "out", colour), (dst, "in", colour)])
        group[src, dst] = colour
    return group


_NUMBERS = np.zeros(5, dtype=np.int64)  # of buffers, by where they begin; partial sums have none by then
for _place, _buffer in ((IN, Buffer.INPUT), (OUT, Buffer.OUTPUT), (SCRATCH, Buffer.SCRATCH)):
    _NUMBERS[_place >> BITS] = BUFFERS.index(_buffer)


def _lay_out(operations: Operations, frame: _Frame, *, reuse: bool) -> Columns:
    """Sort operations into threadblocks and pack scratch."""
    blocks = Blocks(operations)
    ranks = len(operations.first) - 1
    empty = np.flatnonzero(np.bincount(blocks.rank, minlength=ranks) == 0)
    rank = np.concatenate((blocks.rank, empty))
    send, receive = (np.concatenate((column, np.full(len(empty), -1))) for column in (blocks.send, blocks.receive))
    colours = [
        frame.group[(one, to) if to >= 0 else (other, one)] if max(to, other) >= 0 else 0
        for one, to, other in zip(rank.tolist(), send.tolist(), receive.tolist(), strict=True)
    ]
    channel = np.concatenate((blocks.instance, np.zeros(len(empty), dtype=np.int64))) * frame.groups + colours
    order = np.lexsort((receive, np.where(send < 0, ranks, send), channel, rank))
    rank, send, receive, channel = rank[order], send[order], receive[order], channel[order]
    number = np.argsort(order)[: len(blocks.rank)] - np.searchsorted(rank, blocks.rank)
    block = number[blocks.of]
    operations, scratch = pack_scratch(operations, reuse=reuse)
    source, target, cells = operations.cells()
    reduces = operations.kind == NUMBER[Kind.REDUCE]
    most = int(block.max(initial=0)) + 1
    size, step = map(np.ascontiguousarray, (operations.size, operations.step))  # machine code is of one form
    waits, other, position = dependencies(
        *(operations.first, source, target, size, block, step, reduces, frame.reduce_steps), (cells, most)
    )
    ends = operations.source, operations.target
    regions = [np.where(at < 0, -1, (_NUMBERS[at >> BITS] << BITS) + (at & (1 << BITS) - 1)) for at in ends]
    row = np.argsort(operations.rank * most + block, kind="stable")
    sizes = np.diff(waits)[row]
    begin = np.concatenate(([0], np.cumsum(sizes)))
    moved = np.repeat(waits[row] - begin[:-1], sizes) + np.arange(begin[-1])
    blocks_before = np.searchsorted(rank, operations.rank)
    lengths = np.bincount(blocks_before + block, minlength=len(rank))
    first = np.concatenate(([0], np.cumsum(lengths)))
    blocked = rank, send, receive, channel, first
    moved_rows = (column[row] for column in (operations.kind, *regions, operations.size, operations.step))
    return Columns._make((*blocked, *moved_rows, begin, other[moved], position[moved], scratch))


def _fuse(operations: Operations, reduce_steps: int, most: int, piece: int) -> Operations:
    """Fuse receives with forwarding sends, if safe and worthwhile.

    A fused instruction forces a receiving and a sending connection into one threadblock, so it is tried only between
    connections that never carry more than ``most`` pieces in a step. With room for those of two steps in flight there
    is no deadlock: the send of step t waits at most until what was sent in step t - 2 or earlier is received; a fused
    receive of step t waits for sends of step t and for plain receives of step t that are before it in the serial order.
    So, by induction over the steps, in each step first the sends end, then receives, then fused instructions.
    """
    blocks, ops = Blocks(operations), operations
    sends, receives = ops.kind == NUMBER[Kind.SEND], RECEIVES[ops.kind]
    line, carried = blocks.carried(sends, piece)
    large = np.zeros(len(carried.ends) + 1, dtype=bool)  # the last is of what moves nothing
    large[carried.line[carried.pieces > most]] = True
    small = (sends | receives) & ~large[line]
    out = np.where(small & sends, line, -1)
    source, target, cells = ops.cells()
    held = find_forwards(
        ops.first, source, target, ops.size, out, small & receives, ops.instance, (cells, len(carried.ends))
    )
    at = np.flatnonzero(held >= 0)
    if not len(at):
        return operations
    size = np.bincount(blocks.of[small], minlength=len(blocks.rank)).tolist()
    number = {key: place for place, key in enumerate(zip(blocks.rank.tolist(), blocks.keys, strict=True))}
    rows = zip(*(column[at].tolist() for column in (ops.rank, ops.send, ops.receive[held], ops.instance)), strict=True)
    pairs = Counter((one, (send, receive, instance)) for one, send, receive, instance in rows)
    joined: Pairs = [{} for _ in range(len(ops.first) - 1)]
    chosen = set()
    for one, block in sorted(pairs, key=lambda key: (key[0], -pairs[key], key[1])):
        send, receive, instance = block
        parts = (send, None, instance), (None, receive, instance)
        if not joined[one].keys() & set(parts) and 2 * pairs[one, block] > max(size[number[one, end]] for end in parts):
            joined[one] |= dict.fromkeys(parts, block)
            chosen.add((one, block))
    if not chosen:
        return operations
    send, receive = get_peers(blocks, joined)
    both = (send[at] >= 0) & (receive[at] >= 0) & (send[held[at]] == send[at]) & (receive[held[at]] == receive[at])
    gone, by = at[both], held[at[both]]
    kind, goal = ops.kind.copy(), ops.target.copy()
    dead = ops.step[gone] <= reduce_steps  # what a fused instruction leaves behind is dead when it is a partial sum
    copies = kind[by] == NUMBER[Kind.RECEIVE]
    sums = np.where(dead, NUMBER[Kind.RECEIVE_REDUCE_SEND], NUMBER[Kind.RECEIVE_REDUCE_COPY_SEND])
    kind[by] = np.where(copies, NUMBER[Kind.RECEIVE_COPY_SEND], sums)
    goal[by[dead & ~copies]] = -1
    keep = np.ones(len(kind), dtype=bool)
    keep[gone] = False
    return ops._replace(kind=kind, target=goal, send=send, receive=receive).at(keep)
