"""From rounds to the instructions of every rank: one grouped send per link and step, and few copies."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable
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
    contiguous,
    cut,
    emitters,
    region,
    runs,
)
from topodesign.compiler.frontends.threads import assemble
from topodesign.compiler.ir import Kind, Program, Protocol, Threadblocks
from topodesign.compiler.limits import NO_LIMITS, Limits
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import is_lean
from topodesign.topology.topology import Topology

COLLECTIVES = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, *exchange.COLLECTIVES)  # what this front end can do

Half = list[list[tuple[Message, list[int]]]]  # messages with their chunks, step by step


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


def _ordered(chunks: list[int], views: list[Callable[[int], Place]]) -> list[int]:
    """Order chunks so that they make the fewest runs where one of the views says they are, the runs ascending."""
    orders = [sorted(chunks, key=view) for view in views]
    cuts = [runs([view(x) for x in order]) for view, order in zip(views, orders, strict=True)]
    best = min(range(len(views)), key=lambda at: len(cuts[at]))
    blocks = sorted(orders[best][start:stop] for start, stop in cuts[best])
    return list(itertools.chain.from_iterable(blocks))


def _search(blocks: list[list[int]], must: list[int], cost: Callable[[list[int]], int]) -> list[int]:
    """Return the numbers of the blocks that should lie next to each other in scratch, in order.

    Either only those that must go to scratch or all of them; then neighbours swap as long as that lowers the cost.
    """
    best, lowest = must, cost(must)
    for order in (must, list(range(len(blocks)))):
        current, price = order, cost(order)
        improved = True
        while improved:
            improved = False
            for at in range(len(order) - 1):
                swapped = [*current[:at], current[at + 1], current[at], *current[at + 2 :]]
                if (less := cost(swapped)) < price:
                    current, price, improved = swapped, less, True
        if price < lowest:
            best, lowest = current, price
    return best


@dataclass
class _Writer:
    """A schedule on its way to operations."""

    schedule: Rounds
    plan: Layout
    inplace: bool
    channels: int
    max_count: int

    def __post_init__(self) -> None:
        senders: list[set[int]] = [set() for _ in range(self.schedule.nodes)]
        for _, src, dst in self.plan.messages:
            senders[dst].add(src)
        self.ranks = emitters(senders, self.channels, self.max_count)

    def operations(self) -> list[list[Operation]]:
        """Return the operations of each rank in serial order."""
        if self.schedule.collective.reduces:
            self._reduce_scatter(self._half(reduces=True))
        if not self.inplace and (not self.schedule.collective.reduces or len(self.ranks) == 1):
            for rank, emitter in enumerate(self.ranks):
                emitter.prepare(list(range(IN, IN + self.plan.shard)), [OUT + x for x in self._own(rank)])
        if self.schedule.collective.copies:
            self._allgather(self._half(reduces=False))
        return [emitter.operations() for emitter in self.ranks]

    def _half(self, *, reduces: bool) -> Half:
        half = [pair for pair in self.plan.messages.items() if (pair[0][0] <= self.schedule.reduce_steps) == reduces]
        return [list(group) for _, group in itertools.groupby(half, key=lambda pair: pair[0][0])]

    def _own(self, rank: int) -> range:
        return range(rank * self.plan.shard, (rank + 1) * self.plan.shard)

    # -- allgather ----------------------------------------------------------------------------------------------------

    def _allgather(self, half: Half) -> None:
        """Send from where chunks first arrived or from the output; receive into the output or by way of scratch."""
        separate = not self.schedule.collective.reduces and not self.inplace
        first: list[dict[int, Place]] = [
            {x: IN + at if separate else OUT + x for at, x in enumerate(self._own(rank))}
            for rank in range(len(self.ranks))
        ]
        leaving: list[list[list[int]]] = [[] for _ in self.ranks]
        for message, chunks in itertools.chain.from_iterable(half):
            leaving[message[1]].append(chunks)
        for messages in half:
            arriving: dict[int, list[Part]] = defaultdict(list)
            for message, chunks in messages:
                _, src, dst = message
                views: list[Callable[[int], Place]] = [first[src].__getitem__, OUT.__add__]
                for part in cut(message, _ordered(chunks, views), self.channels, self.max_count):
                    places = [[view(x) for x in part.chunks] for view in views]
                    self.ranks[src].send(part, min(places, key=lambda view: len(runs(view))))
                    arriving[dst].append(part)
            for dst, parts in arriving.items():
                self._arrive(dst, parts, first[dst], leaving[dst])

    def _arrive(self, rank: int, parts: list[Part], first: dict[int, Place], leaving: list[list[int]]) -> None:
        """Receive the parts of a step, so placed that what is sent next is contiguous where possible."""
        emitter = self.ranks[rank]
        blocks = [part.chunks for part in parts]
        cost_of = [len(runs([OUT + x for x in chunks])) for chunks in blocks]
        new = {x for chunks in blocks for x in chunks}
        onward = [
            chunks for chunks in leaving if all(x in new or x in first for x in chunks) and not new.isdisjoint(chunks)
        ]
        known = [
            ([(x, first.get(x) or OUT + x) for x in chunks], len(runs([OUT + x for x in chunks]))) for chunks in onward
        ]

        def cost(order: list[int]) -> int:
            moved = [x for at in order for x in blocks[at]]
            here = dict(zip(moved, region(emitter.scratch, len(moved)), strict=True)).get
            total = sum(cost_of[at] for at in order)
            for chunks, most in known:
                gathers = min(len(runs(sorted([here(x) or place for x, place in chunks]))), most)
                total += gathers if gathers > 1 else 0
            return total

        order = _search(blocks, [at for at, number in enumerate(cost_of) if number > 1], cost)
        first.update((x, OUT + x) for x in new)
        for at in order:
            first.update(zip(blocks[at], emitter.fresh(len(blocks[at])), strict=True))
        for part in parts:
            places, output = [first[x] for x in part.chunks], [OUT + x for x in part.chunks]
            emitter.receive(part, places)
            if places != output:
                emitter.unpack(Kind.COPY, part, places, output)

    # -- reduce-scatter -----------------------------------------------------------------------------------------------

    def _initial(self, x: int) -> Place:
        """Return where a rank's own contribution to a chunk is from the start."""
        return (OUT if self.inplace and self.schedule.collective.copies else IN) + x

    def _natural(self, x: int) -> Place:
        """Return where a partial sum lies if nothing speaks against the order of the input."""
        return (OUT if self.schedule.collective.copies else ACCUMULATOR) + x

    def _result(self, rank: int, x: int) -> Place:
        """Return where the sum of a chunk that the rank owns has to end up."""
        if self.schedule.collective.copies:
            return OUT + x
        return IN + x if self.inplace else OUT + x - rank * self.plan.shard

    def _reduce_scatter(self, half: Half) -> None:
        """Decide backwards in time where partial sums lie, then send and receive forwards."""
        mixed = {  # ranks that own some of the chunks of a message, and pass on others
            message[2]
            for message, chunks in itertools.chain.from_iterable(half)
            if 0 < sum(x in self._own(message[2]) for x in chunks) < len(chunks)
        }
        home = [
            {x: self._natural(x) if rank in mixed else self._result(rank, x) for x in self._own(rank)}
            for rank in range(len(self.ranks))
        ]
        current = [{x: self._initial(x) for x in range(self.plan.shard * len(self.ranks))} for _ in self.ranks]
        received: list[dict[int, Message]] = [{} for _ in self.ranks]  # the last message with each chunk
        arriving: list[list[list[int]]] = [[] for _ in self.ranks]
        for message, chunks in itertools.chain.from_iterable(half):
            received[message[2]].update((x, message) for x in chunks)
            arriving[message[2]].append(chunks)
        ordered: list[list[Part]] = []
        for messages in reversed(half):
            ordered.append([])
            leaving: dict[int, list[list[int]]] = defaultdict(list)
            for message, chunks in messages:
                _, src, dst = message
                for part in cut(message, _ordered(chunks, [home[dst].__getitem__]), self.channels, self.max_count):
                    ordered[-1].append(part)
                    if not received[src].keys().isdisjoint(part.chunks):
                        leaving[src].append(part.chunks)
            for src, blocks in leaving.items():
                self._settle(src, blocks, home[src], received[src], arriving[src])
        for parts in reversed(ordered):
            for part in parts:
                self._send_sum(part, current[part.message[1]], home[part.message[1]])
            for part in parts:
                dst = part.message[2]
                done = [x for x in part.chunks if x in self._own(dst) and received[dst][x] == part.message]
                self._add(part, current[dst], home[dst], done)

    def _settle(
        self,
        rank: int,
        blocks: list[list[int]],
        home: dict[int, Place],
        received: dict[int, Message],
        arriving: list[list[int]],
    ) -> None:
        """Decide where the sums that leave in a step are added up, so that what arrives is contiguous if possible."""
        emitter = self.ranks[rank]
        new = {x: self._natural(x) for chunks in blocks for x in chunks}
        before = [
            chunks
            for chunks in arriving
            if all(x in new or x in home for x in chunks) and not new.keys().isdisjoint(chunks)
        ]

        begin = self._initial(0)
        own = [[(x, new[x]) for x in chunks if x not in received] for chunks in blocks]
        late = [[(x, new.get(x) or home[x]) for x in chunks] for chunks in before]

        def early(places: list[tuple[Place, int]]) -> int:
            away = [one for one in places if one[0] != begin + one[1]]
            return len(runs([place for place, _ in away], [begin + x for _, x in away])) if away else 0

        def cost(order: list[int]) -> int:
            moved = [x for at in order for x in blocks[at]]
            here = dict(zip(moved, region(emitter.scratch, len(moved)), strict=True)).get
            total = sum(early([(here(x) or place, x) for x, place in chunks]) for chunks in own)
            for chunks in late:
                places = sorted([(here(x) or place, x) for x, place in chunks])
                reduces, copies = len(runs([place for place, _ in places])), early(places)
                total += (reduces + copies if reduces > 1 else 0) or (copies if copies > 1 else 0)
            return total

        must = [at for at, chunks in enumerate(blocks) if not contiguous([new[x] for x in chunks])]
        order = _search(blocks, must, cost)
        home.update(new)
        for at in order:
            home.update(zip(blocks[at], emitter.fresh(len(blocks[at])), strict=True))

    def _bring_home(self, rank: int, chunks: list[int], current: dict[int, Place], home: dict[int, Place]) -> None:
        """Copy the rank's own contributions to where they are added up, unless they have been or are there."""
        away = [x for x in chunks if current[x] != home[x]]
        if away:
            self.ranks[rank].prepare([current[x] for x in away], [home[x] for x in away])
            current.update((x, home[x]) for x in away)

    def _send_sum(self, part: Part, current: dict[int, Place], home: dict[int, Place]) -> None:
        """Send a part, after joining what has not been added to with what has."""
        src = part.message[1]
        if part.chunks[0] in home and not contiguous([current[x] for x in part.chunks]):
            self._bring_home(src, part.chunks, current, home)
        self.ranks[src].send(part, [current[x] for x in part.chunks])

    def _add(self, part: Part, current: dict[int, Place], home: dict[int, Place], done: list[int]) -> None:
        """Receive a part and add it to what the receiver has; the sums of the chunks ``done`` are then complete."""
        dst = part.message[2]
        emitter, target = self.ranks[dst], [home[x] for x in part.chunks]
        result = [self._result(dst, x) for x in done]
        if not contiguous(target, [current[x] for x in part.chunks]):
            self._bring_home(dst, part.chunks, current, home)
        if contiguous(target):
            if done == part.chunks and contiguous(result):
                target = result
            emitter.receive_reduce(part, [current[x] for x in part.chunks], target)
        else:
            arrived = emitter.fresh(len(target))
            emitter.receive(part, arrived)
            emitter.unpack(Kind.REDUCE, part, arrived, target)
        current.update(zip(part.chunks, target, strict=True))
        if [current[x] for x in done] != result:
            emitter.unpack(Kind.COPY, part, [current[x] for x in done], result)
            current.update(zip(done, result, strict=True))
