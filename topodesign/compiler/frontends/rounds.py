"""Front end for rounds: few sends, almost no copies."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import distinct
from topodesign.base.errors import TopologyError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER
from topodesign.compiler.backends.backend import Options
from topodesign.compiler.frontends import all_to_all
from topodesign.compiler.frontends.grain import Lowering, steps_cost
from topodesign.compiler.frontends.layout import check_size, layout
from topodesign.compiler.frontends.operations import Operations
from topodesign.compiler.frontends.threads import assemble
from topodesign.compiler.frontends.writer import operations_of_layout
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import NO_LIMITS, Limits
from topodesign.plans.flow import Flow
from topodesign.plans.step_ops import is_lean, prune
from topodesign.topology.topology import Topology

COLLECTIVES = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, *all_to_all.COLLECTIVES)  # what this front end can do

Integers = NDArray[np.integer[Any]]

_SCRATCH = 2
"""Sums that take more than the data over this are laid out again, where a few more instructions save some of it."""


def lower_rounds(
    topology: Topology, schedule: Flow, options: Options, limits: Limits = NO_LIMITS, *, partly: bool = False
) -> Lowering:
    """Lower a valid schedule of rounds to all ranks' programs.

    If ``partly``, only the units that are sent must arrive.

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
    if not partly:
        schedule = prune_rounds(topology, schedule)
    made = made_of_rounds(topology, schedule, options, limits, partly=partly)
    collective, inplace = schedule.collective, options.inplace

    def program(chunks: int | None) -> Program:
        total, operations = made.operations(chunks, None)
        put = partial(
            assemble, reduce_steps=schedule.reduce_steps, limits=limits, chunks=total, mode=options.threadblocks
        )
        ranks, used = put(operations)
        if collective.like(REDUCE_SCATTER) and not inplace and limits.settles:
            most = total // _SCRATCH
            for room in (total, most, 0) if ranks.scratch.max() > most else ():
                again = put(made.operations(chunks, room)[1])
                ranks, used = min((ranks, used), again, key=lambda made: made[0].scratch.max())
                if ranks.scratch.max() <= most:
                    break
        return Program(collective, inplace, options.protocol, total, used, ranks)

    return Lowering(program, None if partly else made.cost, made.natural, made.groups)


class RoundsLayout(NamedTuple):
    """Rounds that are laid out.

    * ``operations``: from how many chunks and how much room for sums, or None, to how many chunks there are and what
      all ranks do in order.
    """

    operations: Callable[[int | None, int | None], tuple[int, Operations]]
    cost: Callable[[int | None], Fraction]
    natural: int
    groups: int


def made_of_rounds(
    topology: Topology, schedule: Flow, options: Options, limits: Limits = NO_LIMITS, *, partly: bool = False
) -> RoundsLayout:
    """Lay out valid rounds for :func:`lower_rounds` to divide among threadblocks."""
    inplace, channels = options.inplace, options.channels
    collective, nodes, longest = schedule.collective, schedule.nodes, limits.chunks_per_instruction
    if collective.like(*all_to_all.COLLECTIVES):
        way = all_to_all.journeys(schedule, partly=partly)
        _check_steps(way.step, way.src, way.dst, limits)

        def exchanged(chunks: int | None, room: int | None) -> tuple[int, Operations]:  # noqa: ARG001
            now = way.cut(None if chunks is None else chunks // nodes // channels, channels)
            all_to_all.check_hops(nodes, now.chunks, int((now.size * np.diff(now.first)).sum()))
            return now.chunks * nodes, all_to_all.Writer(
                collective, nodes, now, inplace, channels, longest
            ).operations()

        def cost(chunks: int | None) -> Fraction:
            now = way if chunks is None else way.cut(chunks // nodes // channels, 1)
            link, size = topology.link_index(now.src, now.dst), np.repeat(now.size, np.diff(now.first))
            return steps_cost(now.step, link, size, topology.capacity, now.chunks * nodes)

        return RoundsLayout(exchanged, cost, way.chunks * nodes * channels, nodes * channels)
    if schedule.steps > limits.instructions_per_block:
        _check_steps(schedule.step, schedule.src, schedule.dst, limits)
    plan = layout(schedule)
    check_size(nodes, plan.total * channels)

    def moved(chunks: int | None, room: int | None) -> tuple[int, Operations]:
        now, steps = plan.cut(None if chunks is None else chunks // channels, channels), schedule.reduce_steps
        return now.total, operations_of_layout(collective, now, steps, inplace=inplace, longest=longest, room=room)

    def cost_of(chunks: int | None) -> Fraction:
        check_size(nodes, chunks or plan.total)
        now = plan if chunks is None else plan.cut(chunks // channels, 1)
        link = topology.link_index(now.src, now.dst)
        return steps_cost(now.step, link, np.diff(now.first), topology.capacity, now.total)

    return RoundsLayout(moved, cost_of, plan.total * channels, channels)


def prune_rounds(topology: Topology, schedule: Flow) -> Flow:
    """Return rounds without redundant transfers; TopologyError for switches."""
    if topology.switches:
        raise TopologyError("a switch runs no program; compile for a topology without switches")
    one_way = schedule.collective.like(*all_to_all.COLLECTIVES)  # whose ways are followed one by one
    return schedule if one_way or is_lean(schedule) else prune(schedule)


def _check_steps(step: Integers, src: Integers, dst: Integers, limits: Limits) -> None:
    """Reject a link with too many steps for a threadblock."""
    if len(step):
        nodes, steps = int(max(src.max(), dst.max())) + 1, int(step.max()) + 1
        links, uses = np.unique(
            distinct((src.astype(np.int64) * nodes + dst) * steps + step) // steps, return_counts=True
        )
        worst = int(uses.argmax())
        limits.check_threadblock(int(links[worst]) // nodes, int(links[worst]) % nodes, int(uses[worst]))
