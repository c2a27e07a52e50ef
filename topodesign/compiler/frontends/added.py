"""From what ranks send and add up for themselves to the program of every rank: one-shot allreduces, and stages.

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

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.compiler.frontends.grain import Grain, steps_cost
from topodesign.compiler.frontends.operations import IN, OUT, Emitter, Part, Place, cut, emitters, operations_of
from topodesign.compiler.frontends.threads import assemble
from topodesign.compiler.frontends.trees import check_length
from topodesign.compiler.ir import Kind, Program, Protocol
from topodesign.compiler.limits import NO_LIMITS, Limits
from topodesign.plans.transfers import Transfers

_Row = tuple[int, int, int]  # block, first unit, and the one after the last
_Link = tuple[int, int, int]  # step, sender, receiver


def program_of_sums(
    transfers: Transfers,
    *,
    inplace: bool,
    channels: int,
    protocol: Protocol,
    limits: Limits = NO_LIMITS,
    chunks: int | None = None,
) -> Program:
    """Return the program of every rank, ``channels`` threadblocks for each neighbour.

    ``chunks``: into how many the data are cut, a multiple of the channels; as few as lose nothing without it.
    """
    require_at_least("channels", channels, 1)
    if chunks is not None:
        transfers = cut_anew(transfers, chunks // channels)
    assert transfers.sums is not None  # noqa: S101  for mypy; they are what it is of
    names = ("end", "src", "dst", "block", "lo", "hi")
    rows = list(zip(*(getattr(transfers, name).tolist() for name in names), strict=True))
    senders: list[set[int]] = [set() for _ in range(transfers.ranks)]
    for _, src, dst, *_ in rows:
        senders[dst].add(src)
    sums: list[list[tuple[int, ...]]] = [[] for _ in range(transfers.ranks)]
    for step, rank, *row in transfers.sums.T.tolist():
        sums[rank].append((step, *row))
    last, total = int(transfers.sums[2].max()), transfers.units * channels
    made = emitters(senders, channels, limits.chunks_per_instruction)
    for rank, emitter in enumerate(made):
        sizes = total, channels, limits.chunks_per_instruction
        _Rank(rank, emitter, sizes, last, inplace=inplace).do([row for row in rows if rank in row[1:3]], sums[rank])
    operations = operations_of([emitter.operations() for emitter in made])
    check_length(operations, limits)
    programs, used = assemble(operations, 0, limits, chunks=total, mode="separate")  # no sum is of no use later
    return Program(transfers.collective, inplace, protocol, total, used, programs)


def cut_anew(transfers: Transfers, units: int) -> Transfers:
    """Return the same with other units, as evenly as can be; what is shorter than one may vanish."""
    assert transfers.sums is not None  # noqa: S101  for mypy; they are what it is of
    low, high = (at * units // transfers.units for at in (transfers.lo, transfers.hi))
    some = low < high
    columns = {name: getattr(transfers, name)[some] for name in ("start", "end", "part", "src", "dst", "block")}
    sums = transfers.sums.copy()
    sums[-2:] = sums[-2:] * units // transfers.units
    return replace(transfers, units=units, lo=low[some], hi=high[some], sums=sums[:, sums[-2] < sums[-1]], **columns)


def grain_of_sums(transfers: Transfers, *, channels: int) -> Grain:
    """Return what is known of the chunks; arguments are as for :func:`program_of_sums`."""

    def cost(chunks: int | None) -> Fraction:
        now = transfers if chunks is None else cut_anew(transfers, chunks // channels)
        link = now.src * now.ranks + now.dst
        return steps_cost(now.end, link, now.hi - now.lo, np.ones(now.ranks**2, dtype=np.int64), now.units)

    return Grain(transfers.units * channels, cost, channels)


class _Rank:
    """What a rank has by now, and how it adds up."""

    def __init__(self, rank: int, emitter: Emitter, sizes: tuple[int, int, int], last: int, *, inplace: bool) -> None:
        self.rank, self._emitter = rank, emitter
        self._chunks, self._channels, self._max = sizes
        self._begin: dict[int, Place] = {rank: OUT if inplace else IN, last: OUT}
        self._last = last
        self._parts: dict[int, list[Part]] = defaultdict(list)  # by block, what has come of it, with chunks of the data

    def do(self, rows: list[tuple[int, ...]], sums: list[tuple[int, ...]]) -> None:
        """Do all of it, step by step."""
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
                self._emitter.unpack(
                    Kind.COPY, part, self._places(self._last, part), [OUT + one for one in part.chunks]
                )

    def _exchange(self, links: Mapping[_Link, list[_Row]], kept: set[int]) -> dict[int, list[Part]]:
        """Send what is sent in a step, and receive what is kept; return the parts of what is to be added at once."""
        for link, some in links.items():
            for part, block in self._cut(link, some) if link[1] == self.rank else ():
                self._emitter.send(part, self._places(block, part))
        fresh: dict[int, list[Part]] = {}
        for link, some in links.items():
            for part, block in self._cut(link, some) if link[2] == self.rank else ():
                if block in kept:
                    self._emitter.receive(part, self._places(block, part))
                    self._parts[block].append(part)
                else:
                    fresh.setdefault(block, []).append(part)
        return fresh

    def _kept(self, links: Mapping[_Link, list[_Row]], sums: list[tuple[int, ...]]) -> set[int]:
        """Return the blocks that are not only added up in the step in which they come, and what comes beside those."""
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

    def _cut(self, link: _Link, rows: list[_Row]) -> list[tuple[Part, int]]:
        """Return the parts of a message, and the block that each is of."""
        found = []
        for block, lo, hi in rows:
            chunks = list(range(lo * self._channels, hi * self._channels))
            found += [(part, block) for part in cut(link, chunks, self._channels, self._max)]
        return found

    def _places(self, block: int, part: Part) -> list[Place]:
        """Return where chunks of a block lie; room for all of it, where it has none yet."""
        if block not in self._begin:
            self._begin[block] = self._emitter.fresh(self._chunks)[0]
        return [self._begin[block] + chunk for chunk in part.chunks]

    def _sum(self, target: int, sources: list[int], span: range, fresh: dict[int, list[Part]]) -> None:
        """Add up, in this order, what lies here and what comes in this step."""
        came = ([part for part in fresh.get(one, self._parts[one]) if part.chunks[0] in span] for one in sources)
        done = next(filter(None, came))  # by which threadblocks what lies here is added up
        held: int | None = None  # the only block that is in the sum so far, if that lies elsewhere
        begun = False
        for source in sources:
            parts = [part for part in fresh.get(source, ()) if part.chunks[0] in span]
            for part in parts:
                into = self._places(target, part)
                if begun or held is not None:
                    before = self._places(target if held is None else held, part)
                    self._emitter.receive_reduce(part, before, into)
                else:
                    self._emitter.receive(part, into)
            if parts:
                held, begun, done = None, True, parts
            elif not begun and held is None:
                held = source
            else:
                for part in done:
                    if held is not None:
                        self._local(Kind.COPY, part, held, target)
                    self._local(Kind.REDUCE, part, source, target)
                held, begun = None, True
        self._parts[target] += done

    def _local(self, kind: Kind, part: Part, source: int, target: int) -> None:
        self._emitter.unpack(kind, part, self._places(source, part), self._places(target, part))
