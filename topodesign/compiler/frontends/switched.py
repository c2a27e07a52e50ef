"""Front end for trees through one switch (NVLS).

Where all ranks hang on one such switch, the trees of a plan say no more than that: what is added up is added by the
switch when some rank loads it, and what goes to all goes there by one store. So a rank does with its own part of the
data what its tree does, and an allreduce, whose trees are the switch's own, is shared out among the ranks. Several
switches that all ranks hang on (planes) are one to a program, which names ranks and no switches.

Boxes with a switch each do an allreduce: in a box all ranks but one send to its switch, which adds up and sends on to
that one, the leader; it sends to the leader of another box, up to the root, and the result goes back in the same
manner. A multimem load has the sum of all ranks of a box, a multimem store goes to all of them, so such trees are loads
and stores of leaders and messages between them.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np

from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, REDUCE, REDUCE_SCATTER, Collective
from topodesign.compiler.ir import BoxTree, Buffer, Program, Protocol, RankProgram, Region, Switched, SwitchStep
from topodesign.plans.trees import Trees
from topodesign.plans.verify.plans import check_movement

_Edges = list[tuple[int, int]]

COLLECTIVES = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, BROADCAST, REDUCE)
_OTHERS = InfeasibleError(
    "MSCCL++ joins ranks by switches that all of them hang on, or all of a box in an allreduce, and these trees go "
    "through others or past them; use --algorithm forest"
)


def program_through_switch(schedule: Trees, *, inplace: bool, channels: int, protocol: Protocol) -> Program:
    """Lower trees through one switch to all ranks' programs.

    Every rank has ``channels`` threadblocks or more.

    With LL an allgather is one store of packets by every rank, and an allreduce has every rank store all it has and add
    up all it gets (one-shot), for little data: nobody waits for anybody but for packets.
    """
    collective, ranks = schedule.collective, len(schedule.compute_nodes)
    relays = schedule.relays.tolist()
    report = check_movement(schedule.topology, schedule, multicast=relays, aggregation=relays)
    if not report.ok:
        raise ScheduleError(f"the tree schedule is wrong: {report.problems[0]}")
    if not collective.like(*COLLECTIVES):
        known = ", ".join(one.name for one in COLLECTIVES)
        raise InfeasibleError(f"{collective} through a switch is not compiled, but {known}; use --algorithm forest")
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
    """Return a rank's switch operation on its share of data.

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


def box_trees(schedule: Trees) -> tuple[tuple[BoxTree, ...], tuple[int, ...]]:
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
    for node, relay in itertools.product(schedule.compute_nodes.tolist(), schedule.relays.tolist()):
        if {(node, relay), (relay, node)} <= links:
            if node in hub:
                raise _OTHERS
            hub[node] = relay
    rank = {node: at for at, node in enumerate(schedule.compute_nodes.tolist())}
    if len(hub) < len(rank):
        raise _OTHERS
    edges: dict[int, _Edges] = defaultdict(list)
    for tree, src, dst in zip(schedule.tree.tolist(), schedule.src.tolist(), schedule.dst.tolist(), strict=True):
        edges[tree].append((src, dst))
    cuts: list[dict[int, list[tuple[int, int, int]]]] = [defaultdict(list), defaultdict(list)]  # first, last, tree
    for tree, (root, weight) in enumerate(zip(schedule.root.tolist(), schedule.weight.tolist(), strict=True)):
        line = cuts[tree >= schedule.reduce_trees][root]
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
