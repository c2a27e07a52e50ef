"""From rounds to the instructions of every rank: few sends per link and step, and hardly a copy."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arguments import require_at_least
from topodesign.base.arrays import distinct
from topodesign.base.compiled import Ints
from topodesign.base.errors import ScheduleError, TopologyError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER
from topodesign.compiler.columns import NUMBER
from topodesign.compiler.frontends import exchange
from topodesign.compiler.frontends.grain import Grain, steps_cost
from topodesign.compiler.frontends.layout import Layout, cut_anew, layout
from topodesign.compiler.frontends.operations import ACCUMULATOR, IN, OUT, Operations, emitters, operations_of
from topodesign.compiler.frontends.rounds_kernels import added
from topodesign.compiler.frontends.sums import Sums
from topodesign.compiler.frontends.threads import assemble
from topodesign.compiler.ir import Kind, Program, Protocol, Threadblocks
from topodesign.compiler.limits import ANY, NO_LIMITS, Limits
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import is_lean
from topodesign.topology.topology import Topology

COLLECTIVES = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, *exchange.COLLECTIVES)  # what this front end can do

_COPIES = 4
"""A rank copies at most the data over this, to save instructions."""

Integers = NDArray[np.integer[Any]]

_Copy = tuple[int, list[int], list[int]]  # the step before or in which chunks are copied, from where, and where to

_SCRATCH = 2
"""Sums that take more than the data over this are laid out again, where a few more instructions save some of it."""


def program_of_rounds(
    topology: Topology,
    schedule: Rounds,
    *,
    inplace: bool = False,
    channels: int = 1,
    protocol: Protocol = "Simple",
    threadblocks: Threadblocks = "separate",
    limits: Limits = NO_LIMITS,
    partly: bool = False,
    chunks: int | None = None,
) -> Program:
    """Turn a schedule into the program of every rank; ``partly``: only what is sent of a block must arrive.

    ``chunks``: into how many the data are cut, a multiple of the channels; as few as lose nothing without it.

    What a link carries in a step is a send for each run of chunks that lies together at both ends: an allgather sends
    from the output and receives into it, a reduce-scatter adds partial sums up where the next message wants them.
    Nothing is gathered or spread; one send more and its receive are as many instructions as a copy at both ends. Where
    sums and what has not been added to lie apart, a rank copies some of the latter before the first step, if that saves
    instructions; where sums take more than half of the data, as late as can be, and the output has some of them as long
    as there are no results (:mod:`topodesign.compiler.frontends.sums`). The order of units in shards is chosen for few
    runs (:mod:`topodesign.compiler.frontends.layout`). A message is split evenly over the channels, each with
    threadblocks of its own, and into what an instruction moves; a node with more links than a channel has threadblocks
    has them on several. The rest of the limits is left to the back end.

    Notes
    -----
    The program cannot deadlock, even if nothing fits into a connection. Sends and receives live in different
    threadblocks. What a receiving threadblock does waits for its sender, and on its own rank only for receiving
    threadblocks in the order of the steps. What a sending threadblock does waits for receiving threadblocks in earlier
    steps, and for its receiver to make room. So, by induction over the steps, all of them end. The exception are fused
    instructions, see :mod:`topodesign.compiler.frontends.threads`.
    """
    made = made_of_rounds(
        topology, schedule, inplace=inplace, channels=channels, limits=limits, partly=partly, chunks=chunks
    )
    collective, total = schedule.collective, made.total
    put = partial(assemble, reduce_steps=schedule.reduce_steps, limits=limits, chunks=total, mode=threadblocks)
    ranks, used = put(made.operations)
    if collective.like(REDUCE_SCATTER) and not inplace and limits.settles:
        most = total // _SCRATCH
        for room in (total, most, 0) if ranks.scratch > most else ():
            again = put(made.again(room))
            ranks, used = min((ranks, used), again, key=lambda made: made[0].scratch)
            if ranks.scratch <= most:
                break
    return Program(collective, inplace, protocol, total, used, ranks)


class Made(NamedTuple):
    """What all ranks do, chunks of all data and of a block, and how sums are laid out again with less room for them."""

    operations: Operations
    total: int
    chunks: int
    again: Callable[[int], Operations]


def made_of_rounds(
    topology: Topology,
    schedule: Rounds,
    *,
    inplace: bool,
    channels: int,
    limits: Limits = NO_LIMITS,
    partly: bool = False,
    chunks: int | None = None,
) -> Made:
    """Return what all ranks do in order, as :func:`program_of_rounds` shares it out among threadblocks."""
    require_at_least("channels", channels, 1)
    _check_links(topology, schedule)
    collective, nodes, longest = schedule.collective, schedule.nodes, limits.chunks_per_instruction
    if collective.like(*exchange.COLLECTIVES):
        if chunks is None:
            journey = exchange.journeys(schedule, channels, partly=partly)
        else:
            journey = exchange.journeys(schedule, 1, partly=partly)
            journey = exchange.cut_anew(journey, chunks // nodes // channels, channels)
        _check_steps(journey.step, journey.src, journey.dst, limits)
        operations = exchange.Writer(collective, nodes, journey, inplace, channels, longest).operations()
        return Made(operations, journey.chunks * nodes, journey.chunks, lambda _: operations)
    if schedule.steps > limits.instructions_per_block and is_lean(schedule):
        _check_steps(schedule.step, schedule.src, schedule.dst, limits)
    plan = layout(schedule, channels if chunks is None else 1)
    if chunks is not None:
        plan = cut_anew(plan, chunks // channels, channels)
    again = partial(_operations, schedule, plan, inplace=inplace, channels=channels, longest=longest)
    return Made(again(), plan.total, plan.shard, lambda room: again(room=room))


def grain_of_rounds(topology: Topology, schedule: Rounds, *, channels: int, partly: bool = False) -> Grain:
    """Return what is known of the chunks of a schedule; arguments are as for :func:`program_of_rounds`."""
    nodes = schedule.nodes
    if schedule.collective.like(*exchange.COLLECTIVES):
        way = exchange.journeys(schedule, 1, partly=partly)

        def cost(chunks: int | None) -> Fraction:
            now = way if chunks is None else exchange.cut_anew(way, chunks // nodes // channels, 1)
            link = topology.link_index(now.src, now.dst)
            size = np.repeat(now.size, np.diff(now.first))
            return steps_cost(now.step, link, size, topology.capacity, now.chunks * nodes)

        return Grain(way.chunks * nodes * channels, cost, nodes * channels)
    plan = layout(schedule, 1)

    def cost_of(chunks: int | None) -> Fraction:
        now = plan if chunks is None else cut_anew(plan, chunks // channels, 1)
        link = topology.link_index(now.src, now.dst)
        return steps_cost(now.step, link, np.diff(now.first), topology.capacity, now.total)

    return Grain(plan.total * channels, cost_of, channels)


def _check_links(topology: Topology, schedule: Rounds) -> None:
    if topology.switches:
        raise TopologyError("a switch runs no program; compile for a topology without switches")
    if topology.nodes != schedule.nodes:
        raise ScheduleError(f"a schedule for {schedule.nodes} nodes does not fit a topology of {topology.nodes}")
    lacking = (topology.link_index(schedule.src, schedule.dst) < 0) | (schedule.src == schedule.dst)
    if lacking.any():
        src, dst = min(zip(schedule.src[lacking].tolist(), schedule.dst[lacking].tolist(), strict=True))
        raise ScheduleError(f"the schedule sends from node {src} to node {dst}, where the topology has no link")


def _check_steps(step: Integers, src: Integers, dst: Integers, limits: Limits) -> None:
    """Refuse, before most of the work, what uses a link in more steps than a threadblock may have instructions."""
    if len(step):
        nodes, steps = int(max(src.max(), dst.max())) + 1, int(step.max()) + 1
        links, uses = np.unique(
            distinct((src.astype(np.int64) * nodes + dst) * steps + step) // steps, return_counts=True
        )
        worst = int(uses.argmax())
        limits.check_threadblock(int(links[worst]) // nodes, int(links[worst]) % nodes, int(uses[worst]))


def _operations(
    schedule: Rounds, plan: Layout, *, inplace: bool, channels: int, longest: int, room: int | None = None
) -> Operations:
    """Return the operations of each rank in serial order: in a step all sends, and then all receives.

    With ``room``, partial sums are in the output, too, until results are there, and copies are made in the step before
    that which needs them, as long as no more chunks are in scratch at once than that.
    """
    collective, nodes, shard, total = schedule.collective, schedule.nodes, plan.shard, plan.total
    message = np.repeat(np.arange(len(plan.step)), channels)
    share = np.diff(plan.first)[message] // channels  # a message is split evenly over the channels
    first = np.append(0, np.cumsum(share))
    step, src, dst = plan.step[message], plan.src[message], plan.dst[message]
    adding = int(np.searchsorted(step, schedule.reduce_steps, side="right"))
    sums, brought = np.full((2, nodes, total), -1)
    when = np.zeros_like(sums)
    starts: list[list[_Copy]] = []
    rows = [_copied(plan.chunks, first, src, adding, 0 if collective.reduces or inplace else shard)]
    if adding:
        copies = collective.copies
        last, mixed = (np.full(total, -1), np.zeros(nodes, dtype=bool)) if copies else _kept(plan, nodes)
        given, apart = OUT if inplace and copies else IN, not inplace
        homes = (-1, OUT if copies else IN, 0) if copies or inplace else (ACCUMULATOR, OUT, shard)
        parts = src[:adding], dst[:adding], first[: adding + 1], plan.chunks, message[:adding]
        most = total // _COPIES
        spared, held = np.full(nodes, -1), np.zeros((nodes, schedule.reduce_steps + 2), dtype=np.int64)
        if room is not None:
            live = Sums(plan, mixed)
            spared = live.spared()
            held = live.held(spared)
        taken = held, step[:adding], ANY if room is None else room
        found = sums, brought, when
        rows.insert(0, added(*parts, plan.owner, last, mixed, spared, *found, given, homes, (apart, most), *taken))
        when *= room is not None
        starts = [_starts(given, *row) for row in zip(brought, when, strict=True)]
    elif not inplace:
        own = np.arange(shard)
        starts = [[(0, (IN + own).tolist(), (OUT + rank * shard + own).tolist())] for rank in range(nodes)]
    part, begin, *places = (np.concatenate(columns) for columns in zip(*rows, strict=True))
    size = np.diff(np.append(begin, first[-1]))
    cuts = -(-size // longest)  # into what an instruction moves
    row = np.repeat(np.arange(len(size)), cuts)
    number = np.arange(len(row)) - (np.cumsum(cuts) - cuts)[row]
    low, high = (at * size[row] // cuts[row] for at in (number, number + 1))
    part, size, nobody = part[row], high - low, np.full(len(row), -1)
    source, before, after = (np.where(column[row] < 0, -1, column[row] + low) for column in places)
    receives = np.where(before < 0, NUMBER[Kind.RECEIVE], NUMBER[Kind.RECEIVE_REDUCE_COPY])
    about = step[part], size
    sends = np.stack((src[part], np.full(len(row), NUMBER[Kind.SEND]), *about, source, nobody, dst[part], nobody))
    arrives = np.stack((dst[part], receives, *about, before, after, nobody, src[part]))
    early = _before(plan, nodes, starts, channels, longest)
    table = np.concatenate(((early.rank, *early[1:8]), sends, arrives), axis=1)
    instance = np.concatenate((early.instance, *[part % channels] * 2))
    turn = np.repeat(np.arange(3), (len(early.kind), len(row), len(row)))
    order = np.lexsort((turn, table[2], table[0]))
    rank, *columns = table[:, order]
    return Operations._make((np.searchsorted(rank, np.arange(nodes + 1)), *columns, instance[order]))


def _kept(plan: Layout, nodes: int) -> tuple[Ints, np.ndarray]:
    """Return the last message of each chunk to its owner, and ranks that get some to keep and some to send on."""
    last, mixed = np.full(plan.total, -1), np.zeros(nodes, dtype=bool)
    of = plan.message
    mine = plan.owner[plan.chunks] == plan.dst[of]
    last[plan.chunks[mine]] = of[mine]
    kept = np.bincount(of[mine], minlength=len(plan.step))
    mixed[plan.dst[(kept > 0) & (kept < np.diff(plan.first))]] = True
    return last, mixed


def _starts(given: int, copied: Ints, when: Ints) -> list[_Copy]:
    """Return what a rank copies in each step, given for each chunk where to, or -1, and when."""
    chunks = np.flatnonzero(copied >= 0)
    steps = [(at, chunks[when[chunks] == at]) for at in distinct(when[chunks]).tolist()]
    return [(at, (given + some).tolist(), copied[some].tolist()) for at, some in steps]


def _copied(chunks: Ints, first: Ints, src: Ints, adding: int, shard: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Return the pieces of what is copied, as of what is added up: from where it is to where it belongs.

    Where ``shard`` is not 0, a rank's own is in an input as long as that.
    """
    begin = int(first[adding])
    x, part = chunks[begin:], np.repeat(np.arange(adding, len(src)), np.diff(first[adding:]))
    own = (x // shard == src[part]) if shard else np.zeros(len(x), dtype=bool)
    source = np.where(own, IN + x - src[part] * shard, OUT + x)
    new = (np.diff(x, prepend=-2) != 1) | (np.diff(source, prepend=-2) != 1) | (np.diff(part, prepend=-1) != 0)
    heads = np.flatnonzero(new)
    return part[heads], begin + heads, source[heads], np.full(len(heads), -1), OUT + x[heads]


def _before(plan: Layout, nodes: int, starts: list[list[_Copy]], channels: int, longest: int) -> Operations:
    """Return what every rank copies first or before a step: from where, and where to."""
    pairs = distinct(plan.dst * nodes + plan.src)
    senders: list[list[int]] = [[] for _ in range(nodes)]
    for dst, src in zip(*(column.tolist() for column in np.divmod(pairs, nodes)), strict=True):
        senders[dst].append(src)
    made = emitters(senders, channels, longest)
    for emitter, copies in zip(made, starts, strict=False):
        for step, source, target in copies:
            emitter.prepare(source, target, step)
    return operations_of([emitter.operations() for emitter in made])
