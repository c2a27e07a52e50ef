"""From trees through one switch that copies and adds to what ranks have it do: multimem loads and stores (NVLS).

Where all ranks hang on one such switch, the trees of a plan say no more than that: what is added up is added by the
switch when some rank loads it, and what goes to all goes there by one store. So a rank does with its own part of the
data what its tree does, and an allreduce, whose trees are the switch's own, is shared out among the ranks. Several
switches that all ranks hang on (planes) are one to a program, which names ranks and no switches. Boxes with a switch
each, and links between their ranks, are in :mod:`topodesign.compiler.frontends.boxes`.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, REDUCE, REDUCE_SCATTER, Collective
from topodesign.compiler.frontends.boxes import box_trees
from topodesign.compiler.ir import Buffer, Program, Protocol, RankProgram, Region, Switched, SwitchStep
from topodesign.plans.replay.trees import verify_trees
from topodesign.plans.trees import Trees

COLLECTIVES = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, BROADCAST, REDUCE)


def program_through_switch(schedule: Trees, *, inplace: bool, channels: int, protocol: Protocol) -> Program:
    """Turn trees through one switch into the program of every rank, ``channels`` threadblocks or more each.

    With LL an allgather is one store of packets by every rank, and an allreduce has every rank store all it has and add
    up all it gets (one-shot), for little data: nobody waits for anybody but for packets.
    """
    collective, ranks = schedule.collective, len(schedule.compute_nodes)
    relays = schedule.relays.tolist()
    report = verify_trees(schedule, multicast=frozenset(relays), aggregation=frozenset(relays))
    if not report.ok:
        raise ScheduleError(f"the tree schedule is wrong: {report.problems[0]}")
    if not collective.like(*COLLECTIVES):
        known = ", ".join(one.name for one in COLLECTIVES)
        raise InfeasibleError(f"{collective} through a switch is not compiled, but {known}; use --method forest")
    inner = np.isin(schedule.src, relays), np.isin(schedule.dst, relays)
    ends, hubs = (axis.ravel() for axis in np.meshgrid(schedule.compute_nodes, relays))
    joined = [schedule.topology.link_index(*pair).min() >= 0 for pair in ((ends, hubs), (hubs, ends))]
    if not all(joined) or bool((inner[0] == inner[1]).any()):
        trees, box = box_trees(schedule)
        if protocol == "LL":
            raise InfeasibleError(
                "packets through the switches of several boxes are not compiled; use --protocol Simple"
            )
        chunks = sum(one.count for one in trees)
        slots = Counter(receiver for one in trees for _, receiver in one.up for _ in range(one.count))
        made = tuple(RankProgram((), slots[rank]) for rank in range(ranks))
        return Program(collective, inplace, protocol, chunks, channels, made, Switched((), channels, trees, box))
    if len(set(schedule.shard or ())) > 1 and not collective.like(ALLREDUCE):
        raise InfeasibleError(f"the runtimes know no {collective} of unequal shards; use equal ones")
    if collective.rooted:
        collective = collective.at(schedule.compute_nodes.tolist().index(collective.root))
    if schedule.one_shot and protocol != "LL":
        raise InfeasibleError("a one-shot allreduce through a switch is of packets; use --protocol LL")
    if protocol == "LL":
        if not collective.like(ALLGATHER, ALLREDUCE):
            raise InfeasibleError(f"{collective} of packets through a switch is not compiled; use --protocol Simple")
        return _program(collective, inplace, protocol, [ranks + 1] * ranks, Switched((), channels))
    holders = range(ranks) if collective.root is None else [collective.root]
    steps = tuple(_step(collective, rank, inplace=inplace) for rank in holders)
    apart = {Buffer.SCRATCH} & {step.target.buffer for step in steps}
    return _program(collective, inplace, protocol, [len(steps) * len(apart)] * ranks, Switched(steps, channels))


def _step(collective: Collective, rank: int, *, inplace: bool) -> SwitchStep:
    """Return what a rank has the switch do with its part of the data.

    A load that adds up has to store what it loads at all ranks. In a reduce-scatter that is in scratch, from where each
    rank takes its own; in place, where its input need not stay, it is in the input. In a reduce it is in scratch, and
    the root alone takes it.
    """
    at = 0 if collective.rooted else rank
    output, whole = Region(Buffer.OUTPUT, at), Region(Buffer.INPUT, at)
    if not collective.reduces:
        return SwitchStep(rank, False, output if inplace else Region(Buffer.INPUT, 0), output, 1)
    if collective.copies:
        return SwitchStep(rank, True, output if inplace else whole, output, 1)
    if collective.rooted:
        return SwitchStep(rank, True, whole, Region(Buffer.SCRATCH, 0), 1, whole if inplace else output)
    if inplace:
        return SwitchStep(rank, True, whole, whole, 1)
    return SwitchStep(rank, True, whole, Region(Buffer.SCRATCH, at), 1, Region(Buffer.OUTPUT, 0))


def _program(
    collective: Collective, inplace: bool, protocol: Protocol, scratch: list[int], switched: Switched
) -> Program:
    ranks = tuple(RankProgram((), size) for size in scratch)
    # packets of an allreduce are not cut by rank, and a root has all that there is
    chunks = 1 if collective.rooted or (protocol == "LL" and collective.like(ALLREDUCE)) else len(ranks)
    return Program(collective, inplace, protocol, chunks, switched.blocks, ranks, switched)
