"""Front end for local sums: one-shot allreduces and stages.

Sums are added up in the order of the ranks, so that all ranks of a group have the same to the last bit. What is only
added up is added as it comes; what is sent on, too, is kept apart until then. No rank waits with what it receives for
what it sends, so that a program ends whatever connections hold.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.compiler.backends.backend import Options
from topodesign.compiler.columns import NUMBER
from topodesign.compiler.frontends.grain import Lowering, steps_cost
from topodesign.compiler.frontends.operations import IN, OUT, SCRATCH, Place, Row, operations_of
from topodesign.compiler.frontends.threads import assemble
from topodesign.compiler.instructions import Kind
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import NO_LIMITS, Limits
from topodesign.plans.transfers import Transfers

_Row = tuple[int, int, int]  # block, first unit, and the one after the last
_Link = tuple[int, int, int]  # step, sender, receiver


def lower_sums(transfers: Transfers, options: Options, limits: Limits = NO_LIMITS) -> Lowering:
    """Lower valid sends and sums, with ``channels`` threadblocks per neighbour."""
    inplace, channels = options.inplace, options.channels

    def program(chunks: int | None) -> Program:
        now = transfers if chunks is None else _cut(transfers, chunks // channels)
        assert now.sums is not None  # noqa: S101  for mypy; they are what it is of
        names = ("end", "src", "dst", "block", "lo", "hi")
        rows = list(zip(*(getattr(now, name).tolist() for name in names), strict=True))
        sums: list[list[tuple[int, ...]]] = [[] for _ in range(now.ranks)]
        for step, rank, *row in now.sums.T.tolist():
            sums[rank].append((step, *row))
        last, total = int(now.sums[2].max()), now.units * channels
        made = []
        for rank, own in enumerate(sums):
            one = _Rank(rank, (total, channels, limits.chunks_per_instruction), last, inplace=inplace)
            made.append(one.do([row for row in rows if rank in row[1:3]], own))
        ranks, used = assemble(operations_of(made), 0, limits, chunks=total, mode="separate")  # no sum is of use later
        return Program(now.collective, inplace, options.protocol, total, used, ranks)

    def cost(chunks: int | None) -> Fraction:
        now = transfers if chunks is None else _cut(transfers, chunks // channels)
        link = now.src * now.ranks + now.dst
        return steps_cost(now.end, link, now.hi - now.lo, np.ones(now.ranks**2, dtype=np.int64), now.units)

    return Lowering(program, cost, transfers.units * channels, channels)


def _cut(transfers: Transfers, units: int) -> Transfers:
    """Rescale transfers to other units; pieces below one may vanish."""
    assert transfers.sums is not None  # noqa: S101  for mypy; they are what it is of
    low, high = (at * units // transfers.units for at in (transfers.lo, transfers.hi))
    some = low < high
    columns = {name: getattr(transfers, name)[some] for name in ("start", "end", "part", "src", "dst", "block")}
    sums = transfers.sums.copy()
    sums[-2:] = sums[-2:] * units // transfers.units
    return replace(transfers, units=units, lo=low[some], hi=high[some], sums=sums[:, sums[-2] < sums[-1]], **columns)


class _Part(NamedTuple):
    """Message, or its share on one channel."""

    link: _Link
    instance: int
    first: int  # chunk of the data
    size: int


class _Rank:
    """Places and operations of a rank so far."""

    def __init__(self, rank: int, sizes: tuple[int, int, int], last: int, *, inplace: bool) -> None:
        self.rank = rank
        self._rows: list[Row] = []
        self._scratch = 0
        self._chunks, self._channels, self._max = sizes
        self._begin: dict[int, Place] = {rank: OUT if inplace else IN, last: OUT}
        self._last = last
        self._parts: dict[int, list[_Part]] = defaultdict(list)  # by block, what has come of it

    def do(self, rows: list[tuple[int, ...]], sums: list[tuple[int, ...]]) -> list[Row]:
        """Return all operations, step by step."""
        links: dict[_Link, list[_Row]] = defaultdict(list)
        for step, src, dst, block, lo, hi in rows:  # in order of steps, links and units already
            links[step, src, dst].append((block, lo, hi))
        kept = self._kept(links, sums)
        apart = self._last in self._begin and self._begin[self.rank] == OUT and len({step for step, *_ in sums}) == 1
        if apart:  # what is added up must not be where what is sent lies
            del self._begin[self._last]
        for step in sorted({link[0] for link in links} | {one[0] for one in sums}):
            fresh = self._exchange({link: some for link, some in links.items() if link[0] == step}, kept)
            for (_, target, lo, hi), own in itertools.groupby(
                (one for one in sums if one[0] == step), key=lambda one: (one[0], one[1], one[3], one[4])
            ):
                span = range(lo * self._channels, hi * self._channels)
                self._sum(target, [one[2] for one in own], span, fresh)
        if apart:
            for part in self._parts[self._last]:
                self._emit(Kind.COPY, part, self._place(self._last, part), OUT + part.first)
        return self._rows

    def _exchange(self, links: Mapping[_Link, list[_Row]], kept: set[int]) -> dict[int, list[_Part]]:
        """Send and receive a step's messages; return parts to reduce."""
        for link, some in links.items():
            for part, block in self._cut(link, some) if link[1] == self.rank else ():
                self._emit(Kind.SEND, part, self._place(block, part))
        fresh: dict[int, list[_Part]] = {}
        for link, some in links.items():
            for part, block in self._cut(link, some) if link[2] == self.rank else ():
                if block in kept:
                    self._emit(Kind.RECEIVE, part, -1, self._place(block, part))
                    self._parts[block].append(part)
                else:
                    fresh.setdefault(block, []).append(part)
        return fresh

    def _kept(self, links: Mapping[_Link, list[_Row]], sums: list[tuple[int, ...]]) -> set[int]:
        """Return blocks that are stored, not only reduced on arrival."""
        added: dict[tuple[int, int], list[range]] = defaultdict(list)
        for step, _, source, lo, hi in sums:
            added[step, source].append(range(lo, hi))
        come = {link: some for link, some in links.items() if link[2] == self.rank}
        kept = {block for link, some in links.items() if link[1] == self.rank for block, _, _ in some}
        for (step, *_), some in come.items():
            kept |= {block for block, lo, _ in some if not any(lo in span for span in added[step, block])}
        before = -1
        while len(kept) > before:
            before = len(kept)
            for some in come.values():
                blocks = {block for block, _, _ in some}
                kept |= blocks if blocks & kept else set()
        return kept

    def _cut(self, link: _Link, rows: list[_Row]) -> list[tuple[_Part, int]]:
        """Return a message's parts and blocks, by channel and instruction."""
        found = []
        for block, lo, hi in rows:
            pieces = -(-(hi - lo) // self._max)
            for instance in range(self._channels):
                first = lo * self._channels + instance * (hi - lo)
                cuts = [first + piece * (hi - lo) // pieces for piece in range(pieces + 1)]
                found += [(_Part(link, instance, at, end - at), block) for at, end in itertools.pairwise(cuts)]
        return found

    def _place(self, block: int, part: _Part) -> Place:
        """Return a block's place, reserved at first use."""
        if block not in self._begin:
            self._begin[block] = SCRATCH + self._scratch
            self._scratch += self._chunks
        return self._begin[block] + part.first

    def _emit(self, kind: Kind, part: _Part, source: Place, target: Place = -1) -> None:
        """Append an operation; local ones belong to the receiving threadblock."""
        step, src, dst = part.link
        ends = (dst, -1) if kind is Kind.SEND else (-1, src)
        self._rows.append((NUMBER[kind], step, part.size, source, target, *ends, part.instance))

    def _sum(self, target: int, sources: list[int], span: range, fresh: dict[int, list[_Part]]) -> None:
        """Reduce stored and arriving blocks in the given order."""
        came = ([part for part in fresh.get(one, self._parts[one]) if part.first in span] for one in sources)
        done = next(filter(None, came))  # by which threadblocks what lies here is added up
        held: int | None = None  # the only block that is in the sum so far, if that lies elsewhere
        begun = False
        for source in sources:
            parts = [part for part in fresh.get(source, ()) if part.first in span]
            for part in parts:
                into = self._place(target, part)
                if begun or held is not None:
                    before = self._place(target if held is None else held, part)
                    self._emit(Kind.RECEIVE_REDUCE_COPY, part, before, into)
                else:
                    self._emit(Kind.RECEIVE, part, -1, into)
            if parts:
                held, begun, done = None, True, parts
            elif not begun and held is None:
                held = source
            else:
                for part in done:
                    if held is not None:
                        self._emit(Kind.COPY, part, self._place(held, part), self._place(target, part))
                    self._emit(Kind.REDUCE, part, self._place(source, part), self._place(target, part))
                held, begun = None, True
        self._parts[target] += done
