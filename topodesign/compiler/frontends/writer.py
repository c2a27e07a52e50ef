"""Operations from a message table: direct sends, almost no copies."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from topodesign.base.arrays import distinct, ranges
from topodesign.base.compiled import Ints
from topodesign.collectives import Collective
from topodesign.compiler.columns import NUMBER
from topodesign.compiler.frontends.layout import Layout
from topodesign.compiler.frontends.operations import (
    ACCUMULATOR,
    IN,
    OUT,
    Copies,
    Operations,
    cut_pieces,
    order_operations,
    prepare,
    write,
)
from topodesign.compiler.frontends.rounds_kernels import added
from topodesign.compiler.frontends.sums import Sums
from topodesign.compiler.instructions import Kind
from topodesign.compiler.limits import ANY

_COPIES = 4
"""A rank copies at most the data over this, to save instructions."""


def operations_of_layout(
    collective: Collective,
    plan: Layout,
    reduce_steps: int,
    *,
    inplace: bool,
    longest: int,
    room: int | None = None,
    plain: bool = False,
) -> Operations:
    """Return each rank's serial operations: a step's sends, then receives.

    With ``room``, partial sums are in the output, too, until results are there, and copies are made in the step before
    that which needs them, as long as no more chunks are in scratch at once than that. If ``plain``, nothing is copied,
    and a rank adds up its own where its results are: where messages are many and short, the rest saves nothing.
    """
    nodes, total = len(plan.start) - 1, plan.total
    step, src, dst, first, owner = plan.step, plan.src, plan.dst, plan.first, ranges(0, np.diff(plan.start))[0]
    adding = int(np.searchsorted(step, reduce_steps, side="right"))
    sums, brought = np.full((2, nodes, total), -1)
    when = np.zeros_like(sums)
    starts: list[list[Copies]] = []
    rows = [_find_copied(plan, owner, adding, apart=not (collective.reduces or inplace))]
    if adding:
        copies = collective.copies
        last, mixed = np.full(total, -1), np.zeros(nodes, dtype=bool)
        if not (copies or plain):
            last, mixed = _find_last_messages(plan, owner)
        given = OUT if inplace and copies else IN
        kept = collective.rooted and inplace  # inputs of others than the root are not written
        homes = -1 if copies or (inplace and not kept) else ACCUMULATOR, OUT if copies or not inplace else IN
        offset = np.zeros(total, dtype=np.int64) if copies or inplace else plan.start[owner]
        parts = src[:adding], dst[:adding], first[: adding + 1], plan.chunks
        most = 0 if plain else total // _COPIES
        spared, held = np.full(nodes, -1), np.zeros((nodes, reduce_steps + 2), dtype=np.int64)
        if room is not None:
            live = Sums(plan, mixed)
            spared = live.find_spared()
            held = live.count_held(spared)
        of_chunks = owner, offset, last, mixed, spared
        taken = held, step[:adding], ANY if room is None else room
        rows.insert(0, added(*parts, *of_chunks, sums, brought, when, given, homes, (not inplace, most), *taken))
        when *= room is not None
        for copied, then in zip(brought, when, strict=True):
            times = ((at, np.flatnonzero((copied >= 0) & (then == at))) for at in distinct(then[copied >= 0]).tolist())
            starts.append([(at, given + some, copied[some]) for at, some in times])
    elif not inplace:
        own = (np.arange(begin, end) for begin, end in pairwise(plan.start.tolist()))
        starts = [[(0, IN + some - some[:1], OUT + some)] if len(some) else [] for some in own]
    part, begin, *places = (np.concatenate(columns) for columns in zip(*rows, strict=True))
    row, low, size = cut_pieces(np.diff(np.append(begin, first[-1])), longest)
    part = part[row]
    source, before, after = (np.where(column[row] < 0, -1, column[row] + low) for column in places)
    receives = np.where(before < 0, NUMBER[Kind.RECEIVE], NUMBER[Kind.RECEIVE_REDUCE_COPY])
    number, now, instance = np.arange(len(row)), step[part], plan.instance[part]
    tables = (
        prepare(dst, src, plan.instance, starts or [[]] * nodes, longest),
        write(Kind.SEND, (src[part], now, 1, number), size, (source, -1, dst[part], -1), instance),
        write(receives, (dst[part], now, 2, number), size, (before, after, -1, src[part]), instance),
    )
    return order_operations(nodes, tables)


def _find_last_messages(plan: Layout, owner: Ints) -> tuple[Ints, np.ndarray]:
    """Return each chunk's last message to its owner, and mixed ranks."""
    last, mixed = np.full(plan.total, -1), np.zeros(len(plan.start) - 1, dtype=bool)
    of = plan.message
    mine = owner[plan.chunks] == plan.dst[of]
    last[plan.chunks[mine]] = of[mine]
    kept = np.bincount(of[mine], minlength=len(plan.step))
    mixed[plan.dst[(kept > 0) & (kept < np.diff(plan.first))]] = True
    return last, mixed


def _find_copied(plan: Layout, owner: Ints, adding: int, *, apart: bool) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Return pieces of copied messages with source and target.

    If ``apart``, what a rank has from the start is in an input that has nothing else.
    """
    begin = int(plan.first[adding])
    x, part = plan.chunks[begin:], np.repeat(np.arange(adding, len(plan.src)), np.diff(plan.first[adding:]))
    src = plan.src[part]
    own = (owner[x] == src) & apart
    source = np.where(own, IN + x - plan.start[src], OUT + x)
    new = (np.diff(x, prepend=-2) != 1) | (np.diff(source, prepend=-2) != 1) | (np.diff(part, prepend=-1) != 0)
    heads = np.flatnonzero(new)
    return part[heads], begin + heads, source[heads], np.full(len(heads), -1), OUT + x[heads]
