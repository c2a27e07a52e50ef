"""Programs through a switch, threadblock by threadblock: barriers among all ranks, and multimem operations between.

Before anything is loaded or stored all ranks have to have begun, and after it a rank may go on when all are done: every
rank signals every other one and waits for it, 16 of them at most in a threadblock. Packets need none of that.
"""

from __future__ import annotations

from topodesign.collectives import ALLGATHER
from topodesign.compiler.ir import Buffer, Program, Region, Switched
from topodesign.compiler.onesided.blocks import Link, OneSided, Operand, Operation, RankPlan
from topodesign.runtime.mscclpp.limits import EXECUTOR

_ADDED = EXECUTOR.operands - 1  # packets that an operation adds to what is there


def through_switch(program: Program, switched: Switched) -> OneSided:
    """Turn a program through a switch into operations."""
    ranks = len(program.ranks)
    packets = program.protocol == "LL"
    links = [] if packets else [(one, other, 0) for one in range(ranks) for other in range(one + 1, ranks)]
    make = _packets if packets else _barriers
    plans = [make(rank, program, switched) for rank in range(ranks)]
    return OneSided(plans, links, set(), double=packets)


def _barriers(rank: int, program: Program, switched: Switched) -> RankPlan:
    ranks = len(program.ranks)
    others = [(rank + step) % ranks for step in range(1, ranks)]
    blocks = max(switched.blocks, -(-len(others) // EXECUTOR.channels))
    share = -(-len(others) // blocks)
    mine = [one for one in switched.steps if one.rank == rank]
    plan = RankPlan(scratch=program.ranks[rank].scratch)
    for block in range(blocks):
        peers = others[block * share : (block + 1) * share]
        links = [(min(rank, peer), max(rank, peer), 0) for peer in peers]
        meet = Operation("nop") if blocks == 1 else Operation("barrier", meeting=blocks)
        line = [*_each("signal", links), *_each("wait", links), meet]
        for one in mine:
            source = Operand(one.source, one.count, switched=one.adds)
            target = Operand(one.target, one.count, switched=True)
            line.append(Operation("glres" if one.adds else "gstore", (source,), (target,), part=(block, blocks)))
        line += [meet, *_each("signal", links), *_each("wait", links)]
        copies = [(one.target, one.after, one.count) for one in mine if one.after is not None]
        if copies:
            line.append(meet)
        for source_at, target_at, count in copies:
            made = Operand(source_at, count), Operand(target_at, count)
            line.append(Operation("copy", made[:1], made[1:], part=(block, blocks)))
        plan.blocks.append(line)
    return plan


def _each(name: str, links: list[Link]) -> list[Operation]:
    """Return the signals to, or waits for, all of some ranks: as many in an operation as there may be."""
    most = EXECUTOR.channels_per_operation
    return [Operation(name, link=links[at], more=tuple(links[at + 1 : at + most])) for at in range(0, len(links), most)]


def _packets(rank: int, program: Program, switched: Switched) -> RankPlan:
    """Return what a rank does with packets: it stores what it has at all ranks, and takes what all have stored.

    What is added up is added in the order of the ranks, so that all have the same sum to the last bit.
    """
    ranks, blocks = len(program.ranks), switched.blocks
    gathers = program.collective.like(ALLGATHER)
    own = Region(Buffer.INPUT, 0)
    if program.inplace:
        own = Region(Buffer.OUTPUT, rank if gathers else 0)

    def slot(first: int, count: int = 1, *, through: bool = False) -> Operand:
        return Operand(Region(Buffer.SCRATCH, first), count, packets=True, switched=through)

    plan = RankPlan(scratch=program.ranks[rank].scratch)
    result = Operand(Region(Buffer.OUTPUT, 0), ranks if gathers else 1)
    for block in range(blocks):
        part = block, blocks
        line = [
            Operation("cpkt", (Operand(own, 1),), (slot(ranks),), part=part),
            Operation("nop"),
            Operation("gstorepkt", (slot(ranks),), (slot(rank, through=True),), part=part),
            Operation("nop"),
            Operation("upkt", (slot(0, result.count),), (result,), part=part),
        ]
        for first in range(1, 1 if gathers else ranks, _ADDED):
            added = tuple(slot(one) for one in range(first, min(first + _ADDED, ranks)))
            line += [Operation("nop"), Operation("repkt", (result, *added), (result,), part=part)]
        plan.blocks.append(line)
    return plan
