"""Front end for local sums: one-shot allreduces and stages.

Sums are added up in the order of the ranks, so that all ranks of a group have the same to the last bit. What is only
added up is added as it comes; what is sent on, too, is kept apart until then. No rank waits with what it receives for
what it sends, so that a program ends whatever connections hold.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import ranges
from topodesign.base.compiled import Ints
from topodesign.compiler.backends.backend import Options
from topodesign.compiler.columns import NUMBER
from topodesign.compiler.frontends.grain import Lowering, steps_cost
from topodesign.compiler.frontends.layout import Layout, cut_shards
from topodesign.compiler.frontends.operations import (
    IN,
    OUT,
    SCRATCH,
    Operations,
    cut_pieces,
    order_operations,
    write,
)
from topodesign.compiler.frontends.threads import assemble
from topodesign.compiler.instructions import Kind
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import NO_LIMITS, Limits
from topodesign.plans.transfers import LocalSum, Transfers


def lower_sums(transfers: Transfers, options: Options, limits: Limits = NO_LIMITS) -> Lowering:
    """Lower valid sends and sums, with ``channels`` threadblocks per neighbour."""
    channels, units, ranks = options.channels, transfers.units, transfers.ranks
    sums = sorted(transfers.list_sums(), key=itemgetter(1, 0))  # by rank and step
    blocks = 1 + max(one.block for one in sums)  # the last is the result
    size = transfers.hi - transfers.lo
    chunks = ranges(transfers.block * units + transfers.lo, size)[1]
    instance, first = np.zeros(len(size), dtype=np.int64), np.append(0, np.cumsum(size))
    ends = transfers.end, transfers.src, transfers.dst
    plan = Layout(np.arange(blocks + 1) * units, *ends, instance, first, chunks)

    def program(chunks: int | None) -> Program:
        cut = plan.cut(None if chunks is None else chunks // channels * blocks, channels)
        edge = (cut_shards(plan.start, cut.total // channels)[: units + 1] * channels).tolist()
        own = [one._replace(lo=edge[one.lo], hi=edge[one.hi]) for one in sums if edge[one.lo] < edge[one.hi]]
        operations = _list_operations(cut.spread(channels), own, limits, ranks, inplace=options.inplace)
        made, used = assemble(operations, 0, limits, chunks=cut.shard, mode="separate")  # no sum is of use later
        return Program(transfers.collective, options.inplace, options.protocol, cut.shard, used, made)

    def cost(chunks: int | None) -> Fraction:
        whole = units if chunks is None else chunks // channels
        link, capacity = plan.src * ranks + plan.dst, np.ones(ranks**2, dtype=np.int64)
        return steps_cost(plan.step, link, plan.count_carried(whole * blocks), capacity, whole)

    return Lowering(program, cost, units * channels, channels)


def _list_operations(plan: Layout, sums: list[LocalSum], limits: Limits, ranks: int, *, inplace: bool) -> Operations:
    """Return the operations of each rank: in every step sends, then what it keeps, then what it adds up.

    Each piece of ``plan`` is of one block. What is done within a rank belongs to the threadblock that receives it.
    """
    row, low, size = cut_pieces(np.diff(plan.first), limits.chunks_per_instruction)
    block, at = np.divmod(plan.chunks[plan.first[row] + low], plan.shard)
    step, src, dst, instance = (column[row] for column in (plan.step, plan.src, plan.dst, plan.instance))
    last, number = len(plan.start) - 2, np.arange(len(row))
    late = _find_kept((step, src, dst, block, at), sums, ranks, last + 1)[dst, block]
    begin = SCRATCH + np.tile(plan.start[:-1], (ranks, 1))  # of what each rank has of each block
    begin[np.arange(ranks), np.arange(ranks)] = OUT if inplace else IN
    steps = np.bincount([rank for _, rank in {one[:2] for one in sums}], minlength=ranks)
    apart = (steps == 1) & inplace  # what is added up must not be where what is sent lies
    begin[~apart, last] = OUT
    stored: dict[tuple[int, int], list[int]] = defaultdict(list)  # pieces by rank and block
    fresh: dict[tuple[int, int, int], list[int]] = defaultdict(list)  # and, of those that are only added up, by step
    for piece, (now, rank, of, kept) in enumerate(
        zip(*(one.tolist() for one in (step, dst, block, late)), strict=True)
    ):
        (stored[rank, of] if kept else fresh[rank, of, now]).append(piece)
    rows: list[tuple[int, ...]] = []

    def add(kind: Kind, piece: int, now: int, source: int, target: int) -> None:
        """Append an operation of a rank on a piece in a turn of a step."""
        order = int(dst[piece]), now, 3, len(rows)
        about = NUMBER[kind], step[piece], size[piece], source, target, -1, src[piece], instance[piece]
        rows.append((*order, *about))

    for now, rank, target, lo, hi, sources in sums:
        begun, done, into = False, list[int](), int(begin[rank, target])
        comes = [[one for one in fresh[rank, source, now] if lo <= at[one] < hi] for source in sources]
        has = [[one for one in stored[rank, source] if lo <= at[one] < hi and step[one] <= now] for source in sources]
        done = next(pieces for both in zip(comes, has, strict=True) for pieces in both if pieces)
        for turn, (source, arriving) in enumerate(zip(sources, comes, strict=True)):
            before = into if begun else int(begin[rank, sources[0]])  # the sum so far
            done = arriving or done
            for piece in done if turn or arriving else ():
                offset = int(at[piece])
                if arriving and not turn:
                    add(Kind.RECEIVE, piece, now, -1, into + offset)
                elif arriving:
                    add(Kind.RECEIVE_REDUCE_COPY, piece, now, before + offset, into + offset)
                else:
                    if not begun:
                        add(Kind.COPY, piece, now, before + offset, into + offset)
                    add(Kind.REDUCE, piece, now, int(begin[rank, source]) + offset, into + offset)
            begun = begun or bool(turn or arriving)
        stored[rank, target] += done
    end = max(int(step.max()), *(one.step for one in sums))
    for rank in np.flatnonzero(apart).tolist():
        for piece in stored[rank, last]:
            offset = int(at[piece])
            add(Kind.COPY, piece, end, int(begin[rank, last]) + offset, OUT + offset)
    source, target = begin[src, block] + at, begin[dst, block] + at
    sends = write(Kind.SEND, (src, step, 1, number), size, (source, -1, dst, -1), instance)
    arrives = write(Kind.RECEIVE, (dst, step, 2, number), size, (-1, target, -1, src), instance)
    return order_operations(ranks, (sends, arrives[:, late], np.array(rows, dtype=np.int64).reshape(-1, 12).T))


def _find_kept(pieces: tuple[Ints, ...], sums: list[LocalSum], ranks: int, blocks: int) -> NDArray[np.bool_]:
    """Return which blocks each rank keeps: those that are sent, or not added up as they come.

    Of what comes in one message all is kept or nothing.
    """
    step, src, dst, block, at = pieces
    kept = np.zeros((ranks, blocks), dtype=bool)
    kept[src, block] = True
    added: dict[tuple[int, ...], list[range]] = defaultdict(list)
    for now, rank, _, lo, hi, sources in sums:
        for source in sources:
            added[now, rank, source].append(range(lo, hi))
    for now, rank, of, first in zip(*(column.tolist() for column in (step, dst, block, at)), strict=True):
        if not any(first in span for span in added[now, rank, of]):
            kept[rank, of] = True
    message = np.unique((step, src, dst), axis=1, return_inverse=True)[1]
    while True:
        some = np.bincount(message, kept[dst, block]) > 0
        more = some[message] & ~kept[dst, block]
        if not more.any():
            return kept
        kept[dst[more], block[more]] = True
