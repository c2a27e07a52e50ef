"""Operations of the interpreter from the steps of a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topodesign.base.arrays import distinct
from topodesign.base.compiled import Ints
from topodesign.runtime.msccl.parse import Program
from topodesign.runtime.msccl.profiles import RuntimeProfile
from topodesign.runtime.msccl.steps import BUFFERS, STEP_TYPES
from topodesign.runtime.report import Finding, Verdict, place

Connection = tuple[int, int, int]  # sender, receiver, channel: one FIFO

SENDS = frozenset({"s", "rcs", "rrs", "rrcs"})
RECEIVES = frozenset({"r", "rcs", "rrs", "rrc", "rrcs"})
READS_SOURCE = frozenset({"s", "rrs", "rrc", "rrcs", "cpy", "re"})
WRITES = frozenset({"r", "rcs", "rrc", "rrcs", "cpy", "re"})

NUMBER = {one: number for number, one in enumerate(STEP_TYPES)}
"""The number of a type in columns; that of a buffer is its place in BUFFERS."""


def is_one_of(types: frozenset[str]) -> Ints:
    """Return whether numbers of types are among some."""
    return np.array([one in types for one in STEP_TYPES])


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An interpreted operation: a step, or fused ``re`` steps."""

    rank: int  # where it comes from; ``step`` is the place in the file of the last step
    threadblock: int
    step: int
    type: str  # the step's type; never ``nop``, which only lends its dependency to the next operation
    count: int
    sources: tuple[tuple[str, int], ...]  # buffer and offset of what is read; several for fused ``re``
    target: tuple[str, int] | None  # buffer and offset of what is written (and for ``re`` read first), if anything

    @property
    def reads(self) -> tuple[tuple[str, int], ...]:
        """What is read: the sources, and for ``re`` the target too."""
        return (*self.sources, self.target) if self.type == "re" and self.target else self.sources

    def finding(self, verdict: Verdict, message: str) -> Finding:
        """Return what is wrong with it."""
        return Finding(verdict, message, self.rank, self.threadblock, self.step)

    def __str__(self) -> str:
        return f"rank {self.rank}, threadblock {self.threadblock}, step {self.step} ({self.type})"


class Table(NamedTuple):
    """All threadblocks as columns, with reads and waits."""

    rank: Ints  # of every thread; its id, peers (-1 for none) and channel
    id: Ints
    send: Ints
    receive: Ints
    channel: Ints
    first: Ints  # its first operation, and at last how many there are
    thread: Ints  # of every operation
    step: Ints
    type: Ints
    chunks: Ints
    position: Ints
    announces: Ints
    target: Ints  # number of the buffer, -1 where nothing is written, and offset
    target_at: Ints
    reads: Ints  # of every source: the operation, in ascending order, number of the buffer and offset
    source: Ints
    source_at: Ints
    waits: Ints  # of every wait: the operation, in ascending order, the thread and its position
    other: Ints
    awaited: Ints

    def operation(self, number: int) -> Operation:
        """Return an operation as people see it."""
        thread = self.thread[number]
        low, high = np.searchsorted(self.reads, (number, number + 1))
        places = zip(self.source[low:high].tolist(), self.source_at[low:high].tolist(), strict=True)
        target = int(self.target[number])
        return Operation(
            int(self.rank[thread]),
            int(self.id[thread]),
            int(self.step[number]),
            STEP_TYPES[self.type[number]],
            int(self.chunks[number]),
            tuple((BUFFERS[buffer], at) for buffer, at in places),
            None if target < 0 else (BUFFERS[target], int(self.target_at[number])),
        )


def starts(column: Ints, number: int) -> Ints:
    """Return the starts of entries in an ascending column, and the end."""
    return np.searchsorted(column, np.arange(number + 1))


@dataclass(frozen=True)
class Loaded:
    """All threadblocks of a program, with the parser's changes."""

    table: Table
    findings: list[Finding]
    warnings: list[str]


def load(program: Program, profile: RuntimeProfile) -> Loaded:
    """Turn every threadblock into operations exactly as the runtime's parser does.

    A ``nop`` only adds its dependency to the next operation, whose own ``depid`` must then be set. Consecutive ``re``
    steps with the same destination, the same source buffer and no dependency become one operation with the last one's
    ``cnt``. The position of an operation, which is what ``deps`` of others refers to, is not its ``s`` but a count:
    one per operation, plus the dependencies beyond the first, plus the reductions beyond the first.
    """
    blocks = [(gpu.id, tb) for gpu in program.gpus for tb in sorted(gpu.threadblocks, key=lambda tb: tb.id)]
    about = np.array([(rank, tb.id, tb.send, tb.recv, tb.chan) for rank, tb in blocks], dtype=np.int64).reshape(-1, 5)
    rank, block = about[:, 0], about[:, 1]
    lengths = np.array([len(tb.steps) for _, tb in blocks], dtype=np.int64)
    rows = np.concatenate([tb.steps.rows for _, tb in blocks])
    begin = np.cumsum(lengths) - lengths
    thread = np.repeat(np.arange(len(blocks)), lengths)
    s, kind, source, source_at, target, target_at, count, depid, deps, hasdep, _ = rows.T

    acts = np.flatnonzero(kind != NUMBER["nop"])  # the steps that do something; those that continue a chain of re
    adds = kind[acts] == NUMBER["re"]
    same = np.ones(max(0, len(acts) - 1), dtype=bool)
    for column in (thread, kind, source, target, target_at):
        same &= column[acts[1:]] == column[acts[:-1]]
    total = np.cumsum(adds)  # the parser compares all reductions of a threadblock so far, not the length of the chain
    total -= np.concatenate(([0], total))[np.searchsorted(acts, begin)][thread[acts]]
    fusing = adds & (hasdep[acts] == 0) & (total != profile.reductions_per_step)
    chained = np.zeros(len(acts), dtype=bool)
    chained[1:] = same & fusing[:-1] & (depid[acts[1:]] == -1)

    number = np.cumsum(~chained) - 1  # the operation of each
    heads = np.flatnonzero(~chained)
    lasts = acts[np.append(heads[1:], len(acts))[: len(heads)] - 1]
    heads_at = acts[heads]
    waiting = np.flatnonzero(depid >= 0)
    by = np.searchsorted(heads_at, waiting)
    ends = by == len(heads)  # those of nops after the last step
    ends[~ends] = thread[heads_at[by[~ends]]] != thread[waiting[~ends]]
    idle = distinct(thread[waiting[ends]])
    waiting, by = waiting[~ends], by[~ends]
    many = np.bincount(by, minlength=len(heads))
    more = np.zeros(len(acts), dtype=np.int64)
    more[heads] = np.maximum(0, many - 1)
    position = np.cumsum(more + 1) - 1
    before = np.concatenate(([0], position + 1))[np.searchsorted(acts, begin)]
    position -= before[thread[acts]]

    first_of = np.zeros(int(rank.max(initial=-1)) + 1, dtype=np.int64)
    first_of[rank[::-1]] = np.arange(len(blocks))[::-1]
    reading, writing = is_one_of(READS_SOURCE)[kind[acts]], is_one_of(WRITES)[kind[heads_at]]
    table = Table(
        rank=rank,
        id=block,
        send=about[:, 2],
        receive=about[:, 3],
        channel=about[:, 4],
        first=starts(thread[heads_at], len(blocks)),
        thread=thread[heads_at],
        step=lasts - begin[thread[lasts]],
        type=kind[heads_at],
        chunks=count[lasts],
        position=position[np.append(heads[1:], len(acts))[: len(heads)] - 1],
        announces=hasdep[lasts],
        target=np.where(writing, target[heads_at], -1),
        target_at=target_at[heads_at],
        reads=number[reading],
        source=source[acts[reading]],
        source_at=source_at[acts[reading]],
        waits=by,
        other=first_of[rank[thread[waiting]]] + depid[waiting],
        awaited=deps[waiting],
    )

    def where(at: int) -> tuple[int, int, int]:
        one = int(thread[at])
        return int(rank[one]), int(block[one]), at - int(begin[one])

    def wrong() -> Iterator[tuple[int, str]]:
        crowded = chained & (np.arange(len(acts)) - heads[number] == profile.reductions_per_step)
        message = f"more than {profile.reductions_per_step} consecutive re steps into one place"
        yield from ((at, message) for at in acts[crowded].tolist())
        alone = heads_at[(many > 0) & (depid[heads_at] < 0)]
        message = "the nop before it has a dependency, so this step needs one of its own; the file is refused"
        yield from ((at, message) for at in alone.tolist())

    warnings = [
        (int(thread[at]), place(*where(at)) + f"s is {s[at]}, but others must wait for it as step {right}")
        for at, right in zip(acts.tolist(), position.tolist(), strict=True)
        if s[at] != right
    ]
    warnings += [
        (one, place(*about[one, :2].tolist()) + "a nop after the last step does nothing") for one in idle.tolist()
    ]
    return Loaded(
        table,
        [Finding("illegal", message, *where(at)) for at, message in sorted(wrong())],
        [message for _, message in sorted(warnings, key=lambda pair: pair[0])],
    )
