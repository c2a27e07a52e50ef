"""From trees through the switches of several boxes to what a rank of each box does: in an allreduce, for each root.

In a box all ranks but one send to its switch, which adds up and sends on to that one, the leader; it sends to the
leader of another box, up to the root, and the result goes back in the same manner. A multimem load has the sum of all
ranks of a box, a multimem store goes to all of them, so such trees are loads and stores of leaders and messages between
them.
"""

from __future__ import annotations

import itertools
from collections import defaultdict

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLREDUCE
from topodesign.compiler.ir import BoxTree
from topodesign.plans.trees import Trees

_Edges = list[tuple[int, int]]

_OTHERS = InfeasibleError(
    "MSCCL++ joins ranks by switches that all of them hang on, or all of a box in an allreduce, and these trees go "
    "through others or past them; use --method forest"
)


def box_trees(schedule: Trees) -> tuple[tuple[BoxTree, ...], tuple[int, ...]]:
    """Return the trees of leaders in the order of their chunks, and the box of every rank.

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
    """Return who of the leaders sends to whom, towards the root, those that wait for others after those."""
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
