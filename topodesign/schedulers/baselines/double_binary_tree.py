"""Double binary tree: two trees, each of half of the data, in which no node has children in both; pipelined."""

from __future__ import annotations

import itertools

from topodesign.collectives import ALLREDUCE, BROADCAST, REDUCE
from topodesign.fabrics.contraction import boxes_of
from topodesign.fabrics.fabric import Fabric
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.levels import box_tours
from topodesign.schedulers.baselines.spanning import Ranks


def parent(rank: int, ranks: int) -> int:
    """Return the parent of a rank above 0 in the tree of height ceil(log2 N) with rank 0 at the top.

    Below rank 0, which has one child, ranks are numbered in the order of a walk left to right: those with lowest bit b
    are 2^b apart from their children, so that odd ranks are leaves.
    """
    bit = rank & -rank
    above = (rank ^ bit) | (bit << 1)
    return above if above < ranks else rank ^ bit


def two_trees(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return the two trees of a root, or as NCCL has them for an allreduce with a root each.

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
    """Return the nodes in the order of their ranks in each of the two trees."""
    count = len(nodes)
    plain = [*nodes[first or 0 :], *nodes[: first or 0]]
    if first is None:
        return plain, plain[::-1] if count % 2 == 0 else [*plain[1:], plain[0]]
    rest = plain[1:]
    return plain, [plain[0], *(rest[::-1] if count % 2 else [*rest[1:], *rest[:1]])]


def _among_boxes(tours: list[list[int]], root: int | None) -> list[Ranks]:
    """Return the trees among boxes, which are joined by their nodes of one place, with a chain in each box."""
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


METHOD = baseline("double-binary-tree", (BROADCAST, REDUCE, ALLREDUCE), trees=two_trees)
