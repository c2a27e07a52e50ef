"""Programs of trees through switches (NVLS): multimem operations between barriers.

Where all ranks hang on one such switch, the trees of a plan say no more than that: what is added up is added by the
switch when some rank loads it, and what goes to all goes there by one store. So a rank does with its own part of the
data what its tree does, and an allreduce, whose trees are the switch's own, is shared out among the ranks. Several
switches that all ranks hang on (planes) are one to a program, which names ranks and no switches.

Boxes with a switch each do an allreduce: in a box all ranks but one send to its switch, which adds up and sends on to
that one, the leader; it sends to the leader of another box, up to the root, and the result goes back in the same
manner. A multimem load has the sum of all ranks of a box, a multimem store goes to all of them, so such trees are loads
and stores of leaders and messages between them.

Before anything is loaded or stored all ranks have to have begun, and after it a rank may go on when all are done: every
rank signals every other one and waits for it, 16 of them at most in a threadblock. Packets need none of that.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, REDUCE, REDUCE_SCATTER, Collective
from topodesign.compiler.backends.backend import Options
from topodesign.compiler.columns import Columns
from topodesign.compiler.instructions import Buffer, Region
from topodesign.compiler.ir import Program
from topodesign.compiler.onesided.blocks import Link, OneSided, Operand, Operation, Part, RankPlan
from topodesign.plans.chunk_ops import count_adding, find_relays, list_shards
from topodesign.plans.flow import Flow
from topodesign.plans.verify.plans import check_movement
from topodesign.runtime.mscclpp.limits import EXECUTOR

_Edges = list[tuple[int, int]]

COLLECTIVES = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, BROADCAST, REDUCE)
_OTHERS = InfeasibleError(
    "MSCCL++ joins ranks by switches that all of them hang on, or all of a box in an allreduce, and these trees go "
    "through others or past them; use --algorithm forest"
)
_ADDED = EXECUTOR.operands - 1  # packets that an operation adds to what is there


@dataclass(frozen=True, eq=False)
class Switched(Program):
    """Program of operations through switches, without instructions."""

    made: OneSided = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class BoxTree:
    """Tree of allreduce chunks among boxes with reducing switches.

    That rank sends the sum of its box up to the root, adding what comes; the sum of all goes down, and the ranks that
    get it have the switches of their boxes store it.
    """

    root: int
    first: int  # of the chunks, and how many there are
    count: int
    up: tuple[tuple[int, int], ...]  # sender and receiver, those that wait for others later
    down: tuple[tuple[int, int], ...]


def program_through_switch(schedule: Flow, options: Options) -> Switched:
    """Lower trees through one switch to all ranks' programs.

    Every rank has ``channels`` threadblocks or more.

    With LL an allgather is one store of packets by every rank, and an allreduce has every rank store all it has and add
    up all it gets (one-shot), for little data: nobody waits for anybody but for packets.
    """
    collective, ranks = schedule.collective, len(schedule.members)
    inplace, channels, protocol = options.inplace, options.channels, options.protocol
    relays = find_relays(schedule).tolist()
    report = check_movement(schedule.topology, schedule, multicast=relays, aggregation=relays)
    if not report.ok:
        raise ScheduleError(f"the tree schedule is invalid: {report.problems[0]}")
    if not collective.like(*COLLECTIVES):
        known = ", ".join(one.name for one in COLLECTIVES)
        raise InfeasibleError(f"{collective} through a switch is not compiled, but {known}; use --algorithm forest")
    inner = np.isin(schedule.src, relays), np.isin(schedule.dst, relays)
    ends, hubs = (axis.ravel() for axis in np.meshgrid(schedule.members, relays))
    joined = [schedule.topology.link_index(*pair).min() >= 0 for pair in ((ends, hubs), (hubs, ends))]
    if not all(joined) or bool((inner[0] == inner[1]).any()):
        trees, box = box_trees(schedule)
        if protocol == "LL":
            raise InfeasibleError(
                "packets through the switches of several boxes are not compiled; use --protocol Simple"
            )
        made, chunks = _boxes(trees, box, inplace=inplace, blocks=channels), sum(one.count for one in trees)
    else:
        if len(set(list_shards(schedule) or ())) > 1 and not collective.like(ALLREDUCE):
            raise InfeasibleError(f"the runtimes know no {collective} of unequal shards; use equal ones")
        if collective.rooted:
            collective = collective.at(schedule.members.tolist().index(collective.root))
        if schedule.one_shot and protocol != "LL":
            raise InfeasibleError("a one-shot allreduce through a switch is of packets; use --protocol LL")
        # packets of an allreduce are not cut by rank, and a root has all that there is
        chunks = 1 if collective.rooted or (protocol == "LL" and collective.like(ALLREDUCE)) else ranks
        if protocol != "LL":
            links = [(one, other, 0) for one in range(ranks) for other in range(one + 1, ranks)]
            plans = [_barriers(collective, rank, ranks, channels, inplace=inplace) for rank in range(ranks)]
            made = OneSided(plans, links, set(), double=False)
        elif collective.like(ALLGATHER, ALLREDUCE):
            gathers = not collective.reduces
            plans = [_packets(rank, ranks, channels, inplace=inplace, gathers=gathers) for rank in range(ranks)]
            made = OneSided(plans, [], set(), double=True)
        else:
            raise InfeasibleError(f"{collective} of packets through a switch is not compiled; use --protocol Simple")
    columns = Columns.empty([plan.scratch for plan in made.ranks])
    return Switched(collective, inplace, protocol, chunks, channels, columns, made=made)


def _step(collective: Collective, rank: int, *, inplace: bool) -> tuple[Region, Region, Region | None]:
    """Return what a rank loads or stores, where, and where it is copied to when all are done.

    A load that adds up has to store what it loads at all ranks. In a reduce-scatter that is in scratch, from where each
    rank takes its own; in place, where its input need not stay, it is in the input. In a reduce it is in scratch, and
    the root alone takes it.
    """
    at = 0 if collective.rooted else rank
    output, whole = Region(Buffer.OUTPUT, at), Region(Buffer.INPUT, at)
    if not collective.reduces:
        return output if inplace else Region(Buffer.INPUT, 0), output, None
    if collective.copies:
        return output if inplace else whole, output, None
    if collective.rooted:
        return whole, Region(Buffer.SCRATCH, 0), whole if inplace else output
    if inplace:
        return whole, whole, None
    return whole, Region(Buffer.SCRATCH, at), Region(Buffer.OUTPUT, 0)


def _barriers(collective: Collective, rank: int, ranks: int, blocks: int, *, inplace: bool) -> RankPlan:
    """Return a rank's program: its operation on the switch between barriers."""
    meetings = _meetings(rank, [(rank + step) % ranks for step in range(1, ranks)], blocks)
    source, target, after = _step(collective, rank, inplace=inplace)
    ends = Operand(source, 1, switched=collective.reduces), Operand(target, 1, switched=True)
    plan = RankPlan(scratch=(1 if collective.rooted else ranks) * (target.buffer is Buffer.SCRATCH))
    for block, (meet, met) in enumerate(meetings):
        part = block, len(meetings)
        line = [*met, meet, meet, *met]
        if collective.root in {None, rank}:
            line.insert(
                len(met) + 1, Operation("glres" if collective.reduces else "gstore", ends[:1], ends[1:], part=part)
            )
            if after is not None:
                line += [meet, Operation("copy", (Operand(target, 1),), (Operand(after, 1),), part=part)]
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
        found.append((meet, [*_make_signals("signal", links), *_make_signals("wait", links)]))
    return found


def _boxes(trees: Sequence[BoxTree], box: Sequence[int], *, inplace: bool, blocks: int) -> OneSided:
    """Return what boxes do; trees are shared out among threadblocks until all fit."""
    members = [[other for other, number in enumerate(box) if number == mine] for mine in box]
    inside = {(one, other, 0) for mine in members for one, other in itertools.combinations(mine, 2)}
    slots = Counter(receiver for one in trees for _, receiver in one.up for _ in range(one.count))
    while True:
        leaders = _Leaders(trees, blocks, inplace=inplace)
        plans = []
        for rank, mine in enumerate(members):
            at = mine.index(rank)
            plan = RankPlan(scratch=slots[rank])
            for meet, met in _meetings(rank, [*mine[at + 1 :], *mine[:at]], blocks):
                plan.blocks.append([*met, meet, *leaders.line(rank, len(plan.blocks)), meet, *met])
            plans.append(plan)
        if blocks >= len(trees) or all(_fits(block) for plan in plans for block in plan.blocks):
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

    def __init__(self, trees: Sequence[BoxTree], blocks: int, *, inplace: bool) -> None:
        self.remote: set[Link] = set()
        self._found: dict[tuple[int, int], list[tuple[int, int, Operation]]] = defaultdict(list)
        self._load: Counter[tuple[int, int]] = Counter()  # trees of a rank in a threadblock
        free: Counter[int] = Counter()  # scratch of a rank, where what comes up lands
        for number, one in enumerate(trees):
            here, given = (Operand(Region(buffer, one.first), one.count) for buffer in (Buffer.OUTPUT, Buffer.INPUT))
            every = replace(here, switched=True)
            depth = dict.fromkeys([one.root, *itertools.chain(*one.up)], 0)
            loads = [max(self._load[leader, block] for leader in depth) for block in range(blocks)]
            at = number, loads.index(min(loads))
            self._load.update((leader, at[1]) for leader in depth)
            for leader in depth:
                source = here if inplace else given
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


def _make_signals(name: str, links: list[Link]) -> list[Operation]:
    """Return signals to, or waits for, ranks in few operations."""
    most = EXECUTOR.channels_per_operation
    return [Operation(name, link=links[at], more=tuple(links[at + 1 : at + most])) for at in range(0, len(links), most)]


def _packets(rank: int, ranks: int, blocks: int, *, inplace: bool, gathers: bool) -> RankPlan:
    """Return a rank's packet program: store own data, then read all.

    What is added up is added in the order of the ranks, so that all have the same sum to the last bit.
    """
    own = Region(Buffer.INPUT, 0)
    if inplace:
        own = Region(Buffer.OUTPUT, rank if gathers else 0)

    def slot(first: int, count: int = 1, *, through: bool = False) -> Operand:
        return Operand(Region(Buffer.SCRATCH, first), count, packets=True, switched=through)

    plan = RankPlan(scratch=ranks + 1)
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


def box_trees(schedule: Flow) -> tuple[tuple[BoxTree, ...], tuple[int, ...]]:
    """Return leaders' trees in chunk order, and every rank's box.

    Raises
    ------
    InfeasibleError
        If it is no allreduce, if a node does not hang on one switch that copies and adds, or if trees go otherwise.
    """
    if not schedule.collective.like(ALLREDUCE):
        raise _OTHERS
    hub: dict[int, int] = {}
    links = {(src, dst) for src, dst, _ in schedule.topology.links()}
    for node, relay in itertools.product(schedule.members.tolist(), find_relays(schedule).tolist()):
        if {(node, relay), (relay, node)} <= links:
            if node in hub:
                raise _OTHERS
            hub[node] = relay
    rank = {node: at for at, node in enumerate(schedule.members.tolist())}
    if len(hub) < len(rank):
        raise _OTHERS
    edges: dict[int, _Edges] = defaultdict(list)
    for tree, src, dst in zip(schedule.piece.tolist(), schedule.src.tolist(), schedule.dst.tolist(), strict=True):
        edges[tree].append((src, dst))
    cuts: list[dict[int, list[tuple[int, int, int]]]] = [defaultdict(list), defaultdict(list)]  # first, last, tree
    inward, weights = count_adding(schedule), np.asarray(schedule.weight).tolist()
    for tree, (root, weight) in enumerate(zip(schedule.block.tolist(), weights, strict=True)):
        line = cuts[tree >= inward][root]
        begin = line[-1][1] if line else 0
        line.append((begin, begin + weight, tree))
    made, first = [], 0
    for root in sorted(cuts[0]):
        ends = [[end for _, end, _ in half[root]] for half in cuts]
        for begin, end in itertools.pairwise(sorted({0, *ends[0], *ends[1]})):
            trees = [next(tree for low, high, tree in half[root] if low <= begin < high) for half in cuts]
            up = _leaders(edges[trees[0]], root, hub)
            down = [(dst, src) for src, dst in _leaders([(dst, src) for src, dst in edges[trees[1]]], root, hub)]
            pairs = (tuple((rank[src], rank[dst]) for src, dst in way) for way in (up, down[::-1]))
            made.append(BoxTree(rank[root], first, end - begin, *pairs))
            first += end - begin
    boxes = {relay: at for at, relay in enumerate(dict.fromkeys(hub[node] for node in rank))}
    return tuple(made), tuple(boxes[hub[node]] for node in rank)


def _leaders(edges: _Edges, root: int, hub: dict[int, int]) -> _Edges:
    """Return edges between leaders towards the root, in dependency order."""
    members: dict[int, set[int]] = defaultdict(set)  # of a switch
    leader = {src: dst for src, dst in edges if src not in hub and dst in hub}
    for node, relay in hub.items():
        members[relay].add(node)
    for relay, mine in members.items():
        if {src for src, dst in edges if dst == relay} | {leader.get(relay, -1)} != mine:
            raise _OTHERS
    among = [(src, dst) for src, dst in edges if src in hub and dst in hub]
    ways = dict(among)
    found: _Edges = []
    reached, some = {root}, [root]
    while some:
        some = [src for src, dst in among if dst in some]
        found += [(src, ways[src]) for src in some]
        reached |= set(some)
    if reached != set(leader.values()) or len(found) != len(among) or len(reached) != len(members):
        raise _OTHERS
    return found[::-1]
