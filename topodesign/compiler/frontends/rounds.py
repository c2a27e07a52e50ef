"""Front end for rounds: few sends, almost no copies."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import distinct
from topodesign.base.errors import TopologyError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER
from topodesign.compiler.backends.backend import Options
from topodesign.compiler.frontends import all_to_all
from topodesign.compiler.frontends.grain import Lowering, steps_cost
from topodesign.compiler.frontends.layout import Layout, check_size, layout
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
    collective, inplace, channels = schedule.collective, options.inplace, options.channels
    plan = lay_rounds(schedule, options, limits, partly=partly)
    times = (len(plan.start) - 1) // schedule.nodes  # all blocks of an all-to-all are the data of so many ranks
    routed = collective.like(*all_to_all.COLLECTIVES)

    def program(chunks: int | None) -> Program:
        cut = plan.cut(None if chunks is None else chunks // channels * times, channels)
        put = partial(
            assemble,
            reduce_steps=schedule.reduce_steps,
            limits=limits,
            chunks=(total := cut.total // times),
            mode=options.threadblocks,
        )
        ranks, used = put(operations_of_rounds(schedule, cut, options, limits))
        if collective.like(REDUCE_SCATTER) and not inplace and limits.settles:
            most = total // _SCRATCH
            for room in (total, most, 0) if ranks.scratch.max() > most else ():
                again = put(operations_of_rounds(schedule, cut, options, limits, room))
                ranks, used = min((ranks, used), again, key=lambda made: made[0].scratch.max())
                if ranks.scratch.max() <= most:
                    break
        return Program(collective, inplace, options.protocol, total, used, ranks)

    def cost(chunks: int | None) -> Fraction:
        if not routed:
            check_size(schedule.nodes, chunks or plan.total)
        whole = plan.total if chunks is None else chunks // channels * times
        link = topology.link_index(plan.src, plan.dst)
        return steps_cost(plan.step, link, plan.count_carried(whole), topology.capacity, whole // times)

    groups = channels * schedule.nodes if routed else channels
    return Lowering(program, None if partly else cost, plan.total // times * channels, groups)


def lay_rounds(schedule: Flow, options: Options, limits: Limits = NO_LIMITS, *, partly: bool = False) -> Layout:
    """Return the message table of valid rounds."""
    if schedule.collective.like(*all_to_all.COLLECTIVES):
        plan = all_to_all.lay_routes(schedule, partly=partly)
        _check_steps(plan.step, plan.src, plan.dst, limits)
        return plan
    if schedule.steps > limits.instructions_per_block:
        _check_steps(schedule.step, schedule.src, schedule.dst, limits)
    plan = layout(schedule)
    check_size(schedule.nodes, plan.total * options.channels)
    return plan


def operations_of_rounds(
    schedule: Flow, plan: Layout, options: Options, limits: Limits, room: int | None = None
) -> Operations:
    """Return the operations of a message table that is cut, with ``room`` for sums if it is short."""
    collective, longest, inplace = schedule.collective, limits.chunks_per_instruction, options.inplace
    if collective.like(*all_to_all.COLLECTIVES):
        all_to_all.check_hops(schedule.nodes, plan.shard, len(plan.chunks))
        routed = all_to_all.Router(collective, plan, schedule.nodes, inplace=inplace)
        return routed.list_operations(options.channels, longest)
    plan, steps = plan.spread(options.channels), schedule.reduce_steps
    return operations_of_layout(collective, plan, steps, inplace=inplace, longest=longest, room=room)


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
