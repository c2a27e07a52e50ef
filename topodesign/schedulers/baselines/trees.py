"""Tree algorithms: double binary trees, MultiTree and Blink."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from topodesign.base.errors import DisconnectedError
from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, REDUCE, REDUCE_SCATTER, Collective
from topodesign.fabrics.contraction import boxes_of
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.forest.schedule import forest_schedule
from topodesign.plans.build import build_steps, check_rows
from topodesign.plans.chunk_ops import find_loads, routes_of
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import concatenate
from topodesign.plans.plan import Plan
from topodesign.schedulers.baselines.baseline import Ranks, baseline, rate_of
from topodesign.schedulers.baselines.messages import FormulaRounds
from topodesign.schedulers.baselines.rings import box_tours
from topodesign.schedulers.method import Method, Request, fabric_root, tree_plan
from topodesign.topology.topology import Topology


def parent(rank: int, ranks: int) -> int:
    """Return the parent of a rank in a binary tree.

    The rank is above 0. The tree has height ceil(log2 N) and rank 0 at the top.

    Below rank 0, which has one child, ranks are numbered in the order of a walk left to right: those with lowest bit b
    are 2^b apart from their children, so that odd ranks are leaves.
    """
    bit = rank & -rank
    above = (rank ^ bit) | (bit << 1)
    return above if above < ranks else rank ^ bit


def two_trees(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return the two binary trees of a collective.

    With a root both trees share it; without one each has its own, as in the allreduce of NCCL.

    In the second tree of a root ranks 1 to N - 1 are turned round if they are even in number, else shifted by one; with
    a root each all ranks are turned round if N is even, else shifted. So a leaf is no leaf in the other, but for one
    rank where their number is odd. C chunks take 2 (ceil(log2 N) + C - 1)(alpha + beta M/(2C)) for a reduce and then a
    broadcast if every edge has a link for itself.

    Where a fabric has boxes the trees are among these, two for every place in them, and each goes on as a chain in
    every box.

    Sanders, Speck and Traff, Two-tree Algorithms for Full Bandwidth Broadcast, Reduction and Scan (2009).
    """
    boxes = boxes_of(fabric)
    if boxes is not None:
        return _among_boxes(box_tours(fabric, boxes), root)
    nodes = fabric.compute
    return [_tree(order) for order in _orders(list(nodes), None if root is None else nodes.index(root))]


def _orders(nodes: list[int], first: int | None) -> tuple[list[int], list[int]]:
    """Return the nodes by rank in each of the two trees."""
    count = len(nodes)
    plain = [*nodes[first or 0 :], *nodes[: first or 0]]
    if first is None:
        return plain, plain[::-1] if count % 2 == 0 else [*plain[1:], plain[0]]
    rest = plain[1:]
    return plain, [plain[0], *(rest[::-1] if count % 2 else [*rest[1:], *rest[:1]])]


def _among_boxes(tours: list[list[int]], root: int | None) -> list[Ranks]:
    """Return trees among boxes with a chain in each box."""
    own = None if root is None else next(at for at, tour in enumerate(tours) if root in tour)
    found = []
    for place in range(len(tours[0])):
        for order in _orders(list(range(len(tours))), own):
            heads = [tours[box][place] for box in order]
            tree = _tree(heads)
            top = tree.root if root is None else root
            edges = [] if top == tree.root else [(top, tree.root)]
            edges += tree.edges
            for tour in tours:
                chain = [node for node in (*tour[place:], *tour[:place]) if node != top or node == tour[place]]
                edges += itertools.pairwise(chain)
            found.append(Ranks(top, 1, edges))
    return found


def _tree(order: list[int]) -> Ranks:
    """Return the tree of ranks in an order, top down."""
    children: list[list[int]] = [[] for _ in order]
    for rank in range(1, len(order)):
        children[parent(rank, len(order))].append(rank)
    edges, waiting = [], [0]
    for rank in waiting:
        edges += [(order[rank], order[child]) for child in children[rank]]
        waiting += children[rank]
    return Ranks(order[0], 1, edges)


def multitree(topology: Topology, collective: Collective) -> FormulaRounds:
    """Return an allgather over trees grown step by step.

    In every step the trees take turns, one node each, until none can grow: a node joins from the first node of the tree
    that has a link to it which is free in that step. It is a heuristic; its cost has no formula.

    Huang, Majumder, Kim, Muzahid, Yum and Kim, Communication Algorithm-Architecture Co-Design for Distributed Deep
    Learning (2021).
    """
    nodes = topology.nodes
    check_rows(nodes * (nodes - 1))
    out: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
    for u, v, c in topology.links():
        if u != v:
            out[u].append((v, c))
    inside = [bytearray(node == root for node in range(nodes)) for root in range(nodes)]
    members: list[list[int]] = [[root] for root in range(nodes)]
    rows: list[tuple[int, int, int, int]] = []
    step, growing = 0, list(range(nodes))
    while growing:
        step += 1
        free = {(u, v): c for u in range(nodes) for v, c in out[u]}
        ready = {root: list(members[root]) for root in growing}
        turn, before = list(growing), len(rows)
        while turn:
            still = []
            for root in turn:
                if (edge := _next(ready[root], out, inside[root], free)) is None:
                    continue
                u, v = edge
                free[edge] -= 1
                inside[root][v] = 1
                members[root].append(v)
                rows.append((step, u, v, root))
                if len(members[root]) < nodes:
                    still.append(root)
            turn = still
        growing = [root for root in growing if len(members[root]) < nodes]
        if len(rows) == before:
            raise DisconnectedError(f"not all nodes can be reached from node {growing[0]}")
    at, src, dst, block = np.array(rows, dtype=np.int64).T
    return FormulaRounds(build_steps(collective, topology, 1, step, [(at, src, dst, block, 0, 1)]), None)


def _next(
    ready: list[int], out: list[list[tuple[int, int]]], inside: bytearray, free: dict[tuple[int, int], int]
) -> tuple[int, int] | None:
    """Return the first free link out of a growing tree."""
    while ready:
        u = ready[0]
        for v, _ in out[u]:
            if not inside[v] and free[u, v]:
                return u, v
        ready.pop(0)
    return None


def _blink(request: Request) -> list[Plan]:
    """Return the plan over optimally packed trees of one root.

    Wang, Venkataraman, Phanishayee, Thelin, Devanur and Stoica, Blink: Fast and Generic Collectives for Distributed ML
    (2020).
    """
    fabric, collective = request.fabric, request.collective
    topology, names, root = fabric.topology, fabric.names, fabric_root(request)
    if root is not None:
        trees = forest_schedule(topology, collective, root=root, names=names)
    else:
        root = fabric.compute[0]  # all are alike: as much goes into any set of nodes as out of it
        inward, outward = (forest_schedule(topology, one, root=root, names=names) for one in (REDUCE, BROADCAST))
        trees = _join_trees(inward, outward, root)
    return [tree_plan(request, trees, {"method": "blink", "root": request.root_name})]


def _join_trees(inward: Flow, outward: Flow, root: int) -> Flow:
    """Return the allreduce of in- and out-trees, concurrent if no slower."""
    totals = [int(np.asarray(half.weight).sum()) for half in (inward, outward)]
    common = math.lcm(*totals)
    rate = (
        min((half.rate or Fraction(0)) * total for half, total in zip((inward, outward), totals, strict=True)) / common
    )
    scaled, sizes = [], (np.arange(inward.nodes) == root).astype(np.int64)  # all data belong to the root
    for half, total, part in zip((inward, outward), totals, ALLREDUCE.parts, strict=True):
        routes, times = routes_of(half), common // total
        ways = routes._replace(weight=routes.weight * times)
        weight = np.asarray(half.weight) * times
        scaled.append(replace(half, collective=part, sizes=sizes, weight=weight, rate=rate, routes=ways))
    trees = concatenate(*scaled)
    at_once = rate_of(trees.topology, find_loads(trees).sum(axis=0))
    return replace(trees, rate=at_once, concurrent=True) if 2 * at_once >= rate else trees


_OF_A_ROOT = (BROADCAST, REDUCE, ALLREDUCE)
_SAID = frozenset({"root", "only", "without"})
METHODS = {
    one.name: one
    for one in (
        baseline("double-binary-tree", _OF_A_ROOT, trees=two_trees),
        baseline("multitree", (ALLGATHER, REDUCE_SCATTER, ALLREDUCE), multitree),
        Method("blink", _SAID, _OF_A_ROOT, _blink, movement="trees", fabrics=True, auto=False),
    )
}
