"""From rounds to the instructions of every rank: one grouped send per link and step, and few copies."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ScheduleError, TopologyError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER
from topodesign.compiler.frontends import exchange
from topodesign.compiler.frontends.layout import Layout, layout
from topodesign.compiler.frontends.operations import (
    ACCUMULATOR,
    IN,
    OUT,
    Message,
    Operation,
    Part,
    Place,
    cut,
    emitters,
    runs,
)
from topodesign.compiler.frontends.threads import assemble
from topodesign.compiler.ir import Program, Protocol, Threadblocks
from topodesign.compiler.limits import NO_LIMITS, Limits
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import is_lean
from topodesign.topology.topology import Topology

COLLECTIVES = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, *exchange.COLLECTIVES)  # what this front end can do

_COPIES = 4
"""A rank copies at most the data over this, to save instructions."""


def program_of_rounds(
    topology: Topology,
    schedule: Rounds,
    *,
    inplace: bool = False,
    channels: int = 1,
    protocol: Protocol = "Simple",
    threadblocks: Threadblocks = "separate",
    limits: Limits = NO_LIMITS,
) -> Program:
    """Turn a schedule into the program of every rank.

    What a link carries in a step is one send of contiguous chunks. An allgather sends from the output or from where the
    chunks first arrived, or else gathers them into scratch; it receives into the output, or else into scratch and
    copies from there. A reduce-scatter adds partial sums up where the next message wants them; a receiver whose sums
    lie apart receives into scratch and reduces from there. A local search looks for the order of the units in a shard,
    and of the messages that come or go together in scratch, that leaves few copies. A message is split evenly over the
    channels, each with threadblocks of its own, and into what an instruction moves; a node with more links than a
    channel has threadblocks has them on several. The rest of the limits is left to the back end.

    Notes
    -----
    Efficient Direct-Connect Topologies, section 7 (Compiler), for gathering what a link carries into one send.

    The program cannot deadlock, even if nothing fits into a connection. Sends and receives live in different
    threadblocks. What a receiving threadblock does waits for its sender, and on its own rank only for receiving
    threadblocks in the order of the steps. What a sending threadblock does waits for receiving threadblocks in earlier
    steps, and for its receiver to make room. So, by induction over the steps, all of them end. The exception are fused
    instructions, see :mod:`topodesign.compiler.frontends.threads`.
    """
    require_at_least("channels", channels, 1)
    _check_links(topology, schedule)
    collective, nodes, longest = schedule.collective, schedule.nodes, limits.chunks_per_instruction
    if collective.like(*exchange.COLLECTIVES):
        journey = exchange.journeys(schedule, channels)
        hops = {hop for piece in journey.pieces for hop in piece.route}
        _check_steps(Counter((src, dst) for _, src, dst in hops), limits)
        chunks = journey.chunks
        operations = exchange.Writer(collective, nodes, journey, inplace, channels, longest).operations()
    else:
        if schedule.steps > limits.instructions_per_block and is_lean(schedule):
            hops = set(zip(*(getattr(schedule, name).tolist() for name in ("step", "src", "dst")), strict=True))
            _check_steps(Counter((src, dst) for _, src, dst in hops), limits)
        plan = layout(schedule, channels)
        chunks = plan.shard
        operations = _Writer(schedule, plan, inplace, channels, longest).operations()
    ranks, used = assemble(operations, schedule.reduce_steps, limits, chunks=chunks * nodes, mode=threadblocks)
    return Program(collective, inplace, protocol, chunks * nodes, used, tuple(ranks))


def _check_links(topology: Topology, schedule: Rounds) -> None:
    if topology.switches:
        raise TopologyError("a switch runs no program; compile for a topology without switches")
    if topology.nodes != schedule.nodes:
        raise ScheduleError(f"a schedule for {schedule.nodes} nodes does not fit a topology of {topology.nodes}")
    links = {(src, dst) for src, dst, _ in topology.links() if src != dst}
    used = set(zip(schedule.src.tolist(), schedule.dst.tolist(), strict=True))
    if used - links:
        src, dst = min(used - links)
        raise ScheduleError(f"the schedule sends from node {src} to node {dst}, where the topology has no link")


def _check_steps(uses: Counter[tuple[int, int]], limits: Limits) -> None:
    """Refuse, before most of the work, what uses a link in more steps than a threadblock may have instructions."""
    if uses:
        (src, dst), most = max(uses.items(), key=lambda item: (item[1], -item[0][0], -item[0][1]))
        limits.check_threadblock(src, dst, most)


@dataclass
class _Writer:
    """A schedule on its way to operations."""

    schedule: Rounds
    plan: Layout
    inplace: bool
    channels: int
    max_count: int

    def __post_init__(self) -> None:
        count, shard = self.schedule.nodes, self.plan.shard
        senders: list[set[int]] = [set() for _ in range(count)]
        for _, src, dst in self.plan.messages:
            senders[dst].add(src)
        self.ranks = emitters(senders, self.channels, self.max_count)
        self.own = [range(rank * shard, (rank + 1) * shard) for rank in range(count)]
        self.apart = not (self.inplace and self.schedule.collective.copies)  # sums are elsewhere than what is added up
        self.mixed: set[int] = set()  # ranks that get some of a message for themselves, and some to pass on
        self.last: list[dict[int, Message]] = [
            {} for _ in range(count)
        ]  # of the chunks of its own, what completes each
        for message, chunks in self.plan.messages.items() if not self.schedule.collective.copies else ():
            dst = message[2]
            mine = [x for x in chunks if x in self.own[dst]]
            self.last[dst].update(dict.fromkeys(mine, message))
            if 0 < len(mine) < len(chunks):
                self.mixed.add(dst)
        self.sums: list[dict[int, Place]] = [{} for _ in range(count)]  # where partial sums are by now
        self.brought: list[list[int]] = [[] for _ in range(count)]  # chunks copied there before the first step

    def operations(self) -> list[list[Operation]]:
        """Return the operations of each rank in serial order."""
        collective = self.schedule.collective
        for step, group in itertools.groupby(self.plan.messages.items(), key=lambda pair: pair[0][0]):
            move = self._add if step <= self.schedule.reduce_steps else self._copy
            parts = [part for one in group for part in cut(*one, self.channels, len(one[1]))]
            arriving = [piece for part in parts for piece in move(part)]
            for piece, before, after in arriving:  # after all sends of the step
                emitter = self.ranks[piece.message[2]]
                if before is None:
                    emitter.receive(piece, after)
                else:
                    emitter.receive_reduce(piece, before, after)
        stays = not self.inplace and (not collective.reduces or len(self.ranks) == 1)
        for rank, emitter in enumerate(self.ranks):
            if stays:
                emitter.prepare(list(range(IN, IN + self.plan.shard)), [OUT + x for x in self.own[rank]])
            if brought := sorted(self.brought[rank]):
                emitter.prepare([self._given(x) for x in brought], [self._home(rank, x) for x in brought])
        return [emitter.operations() for emitter in self.ranks]

    def _send(self, part: Part, source: list[Place], *other: list[Place]) -> Iterator[tuple[Part, slice]]:
        """Send a part in as few pieces as all these columns of places allow; yield each with where it is in them."""
        for start, stop in runs(part.chunks, source, *other):
            pieces = -(-(stop - start) // self.max_count)
            cuts = [start + piece * (stop - start) // pieces for piece in range(pieces + 1)]
            for piece in itertools.starmap(slice, itertools.pairwise(cuts)):
                one = Part(part.message, part.instance, part.chunks[piece])
                self.ranks[part.message[1]].send(one, source[piece])
                yield one, piece

    def _copy(self, part: Part) -> Iterator[tuple[Part, None, list[Place]]]:
        """Send what a link carries of an allgather from where it is to where it belongs."""
        separate = not self.schedule.collective.reduces and not self.inplace
        own = self.own[part.message[1]]
        source = [IN + x - own.start if separate and x in own else OUT + x for x in part.chunks]
        for one, _ in self._send(part, source):
            yield one, None, [OUT + x for x in one.chunks]

    # -- sums ---------------------------------------------------------------------------------------------------------

    def _given(self, x: int) -> Place:
        """Return where a rank's own contribution to a chunk is from the start."""
        return (OUT if self.inplace and self.schedule.collective.copies else IN) + x

    def _home(self, rank: int, x: int) -> Place:
        """Return where a rank adds a chunk up; input is never written unless it is the output too."""
        apart = x not in self.own[rank] or rank in self.mixed
        return ACCUMULATOR + x if apart and not self.schedule.collective.copies else self._result(rank, x)

    def _result(self, rank: int, x: int) -> Place:
        """Return where the sum of a chunk that the rank owns has to end up."""
        if self.schedule.collective.copies:
            return OUT + x
        return IN + x if self.inplace else OUT + x - self.own[rank].start

    def _add(self, part: Part) -> Iterator[tuple[Part, list[Place], list[Place]]]:
        """Send partial sums from where they are to where the receiver adds to them."""
        _, src, dst = part.message
        last = self.last[dst]
        after = [(self._result if last.get(x) == part.message else self._home)(dst, x) for x in part.chunks]
        for start, stop in runs(part.chunks, after) if self.apart else ():
            self._bring(src, dst, part.chunks[start:stop])
        source, before = ([self.sums[rank].get(x) or self._given(x) for x in part.chunks] for rank in (src, dst))
        for one, piece in self._send(part, source, before, after):
            yield one, before[piece], after[piece]
        self.sums[dst].update(zip(part.chunks, after, strict=True))

    def _bring(self, src: int, dst: int, chunks: list[int]) -> None:
        """Copy own contributions to where sums are, before the first step, if that saves instructions.

        Where some of what moves at once has been added to and some has not, they lie apart, and each piece more is a
        send and a receive.
        """
        most = self.plan.shard * len(self.ranks) // _COPIES
        at = {rank: [self.sums[rank].get(x) or self._given(x) for x in chunks] for rank in (src, dst)}
        if len(runs(*at.values())) == 1:
            return
        fresh = {rank: [x for x in chunks if x not in self.sums[rank]] for rank in (src, dst)}
        homes = {rank: [self._home(rank, x) for x in chunks] for rank in (src, dst)}
        ways: list[tuple[int, int, tuple[int, ...]]] = []
        for bring in ((), (src,), (dst,), (src, dst)):
            if all(len(self.brought[rank]) + len(fresh[rank]) <= most for rank in bring):
                pieces = len(runs(*(homes[rank] if rank in bring else at[rank] for rank in (src, dst))))
                copies = sum(len(runs(fresh[rank])) for rank in bring if fresh[rank])
                ways.append((2 * pieces + copies, sum(len(fresh[rank]) for rank in bring), bring))
        for rank in min(ways)[2]:
            self.brought[rank] += fresh[rank]
            self.sums[rank].update((x, self._home(rank, x)) for x in fresh[rank])
