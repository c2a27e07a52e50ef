"""Programs as objects, for tests that look at a few instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from topodesign.compiler.columns import BITS, BUFFERS, KINDS, NUMBER, Columns
from topodesign.compiler.instructions import Kind, Region
from topodesign.compiler.ir import Program


@dataclass(frozen=True)
class Instruction:
    """One instruction; ``depends`` are pairs (threadblock, index there) that must be over before it starts."""

    kind: Kind
    source: Region | None
    target: Region | None
    count: int
    depends: tuple[tuple[int, int], ...]
    step: int


@dataclass(frozen=True)
class Threadblock:
    send: int | None
    receive: int | None
    channel: int
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class RankProgram:
    threadblocks: tuple[Threadblock, ...]
    scratch: int


def ranks_of(program: Program) -> tuple[RankProgram, ...]:
    own = program.columns
    waits = list(zip(own.other.tolist(), own.position.tolist(), strict=True))
    depends = [tuple(waits[low:high]) for low, high in pairwise(own.waits.tolist())]
    regions = [
        [None if at < 0 else Region(BUFFERS[at >> BITS], at & ((1 << BITS) - 1)) for at in column.tolist()]
        for column in (own.source, own.target)
    ]
    kinds = [KINDS[kind] for kind in own.kind.tolist()]
    rows = zip(kinds, *regions, own.size.tolist(), depends, own.step.tolist(), strict=True)
    ones = [Instruction(*row) for row in rows]
    ends = [[None if peer < 0 else peer for peer in column.tolist()] for column in (own.send, own.receive)]
    places = zip(*ends, own.channel.tolist(), pairwise(own.first.tolist()), strict=True)
    blocks = [Threadblock(a, b, channel, tuple(ones[low:high])) for a, b, channel, (low, high) in places]
    sizes = zip(pairwise(own.starts.tolist()), own.scratch.tolist(), strict=True)
    return tuple(RankProgram(tuple(blocks[low:high]), scratch) for (low, high), scratch in sizes)


def columns_of(ranks: Sequence[RankProgram]) -> Columns:
    def place(region: Region | None) -> int:
        return -1 if region is None else (BUFFERS.index(region.buffer) << BITS) + region.offset

    blocks = [(rank, block) for rank, body in enumerate(ranks) for block in body.threadblocks]
    ones = [one for _, block in blocks for one in block.instructions]
    lines: tuple[list[int], ...] = (
        [rank for rank, _ in blocks],
        [-1 if block.send is None else block.send for _, block in blocks],
        [-1 if block.receive is None else block.receive for _, block in blocks],
        [block.channel for _, block in blocks],
        np.cumsum([0, *(len(block.instructions) for _, block in blocks)]).tolist(),
        [NUMBER[one.kind] for one in ones],
        [place(one.source) for one in ones],
        [place(one.target) for one in ones],
        [one.count for one in ones],
        [one.step for one in ones],
        np.cumsum([0, *(len(one.depends) for one in ones)]).tolist(),
        [other for one in ones for other, _ in one.depends],
        [at for one in ones for _, at in one.depends],
        [body.scratch for body in ranks],
    )
    return Columns(*(np.array(line, dtype=np.int64) for line in lines))
