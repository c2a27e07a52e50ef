"""Switched programs by threadblock: barriers and multimem operations.

Before anything is loaded or stored all ranks have to have begun, and after it a rank may go on when all are done: every
rank signals every other one and waits for it, 16 of them at most in a threadblock. Packets need none of that.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import replace

from topodesign.collectives import ALLGATHER
from topodesign.compiler.ir import Buffer, Program, Region, Switched
from topodesign.compiler.onesided.blocks import Link, OneSided, Operand, Operation, Part, RankPlan
from topodesign.runtime.mscclpp.limits import EXECUTOR

_ADDED = EXECUTOR.operands - 1  # packets that an operation adds to what is there


def through_switch(program: Program, switched: Switched) -> OneSided:
    """Turn a program through a switch into operations."""
    if switched.trees:
        return _boxes(program, switched)
    ranks = len(program.ranks)
    packets = program.protocol == "LL"
    links = [] if packets else [(one, other, 0) for one in range(ranks) for other in range(one + 1, ranks)]
    make = _packets if packets else _barriers
    plans = [make(rank, program, switched) for rank in range(ranks)]
    return OneSided(plans, links, set(), double=packets)


def _barriers(rank: int, program: Program, switched: Switched) -> RankPlan:
    ranks = len(program.ranks)
    mine = [one for one in switched.steps if one.rank == rank]
    plan = RankPlan(scratch=program.ranks[rank].scratch)
    meetings = _meetings(rank, [(rank + step) % ranks for step in range(1, ranks)], switched.blocks)
    blocks = len(meetings)
    for block, (meet, met) in enumerate(meetings):
        line = [*met, meet]
        for one in mine:
            source = Operand(one.source, one.count, switched=one.adds)
            target = Operand(one.target, one.count, switched=True)
            line.append(Operation("glres" if one.adds else "gstore", (source,), (target,), part=(block, blocks)))
        line += [meet, *met]
        copies = [(one.target, one.after, one.count) for one in mine if one.after is not None]
        if copies:
            line.append(meet)
        for source_at, target_at, count in copies:
            made = Operand(source_at, count), Operand(target_at, count)
            line.append(Operation("copy", made[:1], made[1:], part=(block, blocks)))
        plan.blocks.append(line)
    return plan


def _meetings(rank: int, others: list[int], blocks: int) -> list[tuple[Operation, list[Operation]]]:
    """Return each threadblock's barrier, signals and waits."""
    blocks = max(blocks, -(-len(others) // EXECUTOR.channels))
    share = -(-len(others) // blocks)
    meet = Operation("nop") if blocks == 1 else Operation("barrier", meeting=blocks)
    found = []
    for block in range(blocks):
        links = [(min(rank, peer), max(rank, peer), 0) for peer in others[block * share : (block + 1) * share]]
        found.append((meet, [*_each("signal", links), *_each("wait", links)]))
    return found


def _boxes(program: Program, switched: Switched) -> OneSided:
    members = [[other for other, box in enumerate(switched.box) if box == mine] for mine in switched.box]
    inside = {(one, other, 0) for mine in members for one, other in itertools.combinations(mine, 2)}
    blocks = switched.blocks
    while True:
        leaders = _Leaders(program, switched, blocks)
        plans = []
        for rank, mine in enumerate(members):
            at = mine.index(rank)
            plan = RankPlan(scratch=program.ranks[rank].scratch)
            for meet, met in _meetings(rank, [*mine[at + 1 :], *mine[:at]], blocks):
                plan.blocks.append([*met, meet, *leaders.line(rank, len(plan.blocks)), meet, *met])
            plans.append(plan)
        if blocks >= len(switched.trees) or all(_fits(block) for plan in plans for block in plan.blocks):
            remote = leaders.remote
            return OneSided(plans, sorted(inside | remote), remote, double=False, groups=members)
        blocks += 1


def _fits(block: list[Operation]) -> bool:
    """Return whether a threadblock is within the executor's limits."""
    reached = {(some.rank, some.region.buffer) for one in block for some in one.targets if some.rank is not None}
    return len(block) <= EXECUTOR.operations and len(reached) <= EXECUTOR.channels


class _Leaders:
    """Box leaders' operations for all trees, in a deadlock-free order.

    A sum of a box is loaded and stored in the output, goes up to scratch, and results go down to outputs.
    """

    def __init__(self, program: Program, switched: Switched, blocks: int) -> None:
        self.remote: set[Link] = set()
        self._found: dict[tuple[int, int], list[tuple[int, int, Operation]]] = defaultdict(list)
        self._load: Counter[tuple[int, int]] = Counter()  # trees of a rank in a threadblock
        free: Counter[int] = Counter()  # scratch of a rank, where what comes up lands
        for number, one in enumerate(switched.trees):
            here, given = (Operand(Region(buffer, one.first), one.count) for buffer in (Buffer.OUTPUT, Buffer.INPUT))
            every = replace(here, switched=True)
            depth = dict.fromkeys([one.root, *itertools.chain(*one.up)], 0)
            loads = [max(self._load[leader, block] for leader in depth) for block in range(blocks)]
            at = number, loads.index(min(loads))
            self._load.update((leader, at[1]) for leader in depth)
            for leader in depth:
                source = here if program.inplace else given
                self._add(at, leader, 0, Operation("glres", (replace(source, switched=True),), (every,)))
            landed: dict[tuple[int, int], list[Operand]] = defaultdict(list)
            for src, dst in one.up:
                depth[dst] = max(depth[dst], depth[src] + 1)
                place = Operand(Region(Buffer.SCRATCH, free[dst]), one.count)
                free[dst] += one.count
                landed[dst, depth[src]].append(place)
                self._message(at, (src, dst), 3 * depth[src] + 1, here, place)
            for (dst, when), places in landed.items():
                for first in range(0, len(places), _ADDED):
                    self._add(at, dst, 3 * when + 3, Operation("re", (here, *places[first : first + _ADDED]), (here,)))
            after = {one.root: len(depth)}
            for src, dst in one.down:
                after[dst] = after[src] + 1
                self._message(at, (src, dst), 3 * after[src] + 1, here, here)
            for leader, when in after.items():
                self._add(at, leader, 3 * when + 2, Operation("gstore", (here,), (every,)))

    def _add(self, at: tuple[int, int], rank: int, when: int, one: Operation) -> None:
        self._found[rank, at[1]].append((when, at[0], one))

    def _message(self, at: tuple[int, int], ends: tuple[int, int], when: int, source: Operand, target: Operand) -> None:
        link = (min(ends), max(ends), 1 + at[1])
        self.remote.add(link)
        self._add(at, ends[0], when, Operation("pwsf", (source,), (replace(target, rank=ends[1]),), link))
        self._add(at, ends[1], when + 1, Operation("wait", link=link))

    def line(self, rank: int, block: int) -> list[Operation]:
        part = Part()
        for _, _, one in sorted(self._found[rank, block], key=lambda event: event[:2]):
            if one.name == "gstore" and part.operations[-1].name == "pwsf":
                part.meet()  # what is sent is stored again in the same place
            part.add(one)
        return part.operations


def _each(name: str, links: list[Link]) -> list[Operation]:
    """Return signals to, or waits for, ranks in few operations."""
    most = EXECUTOR.channels_per_operation
    return [Operation(name, link=links[at], more=tuple(links[at + 1 : at + most])) for at in range(0, len(links), most)]


def _packets(rank: int, program: Program, switched: Switched) -> RankPlan:
    """Return a rank's packet program: store own data, then read all.

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
