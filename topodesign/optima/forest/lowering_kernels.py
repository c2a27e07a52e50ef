"""Loops that make packed trees lower.

A node v of a tree that is too high gets a parent nearer to the root. The link from there is usually taken, by another
tree, which then needs another parent for its v, and so on, until a link has room or the one that the first tree gave up
is reached. Such a chain of trees that change their links into v is found by breadth-first search over these links. No
tree becomes too high by it, and the links stay as full as they were. (Trees of least height are NP-hard to find,
ForestColl, appendix D.3.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, compile_kernel, tier_kernel
from topodesign.optima.forest.packing_kernels import Forest, Network


class Chain(NamedTuple):
    """Scratch of the search: the previous arc and tree per arc."""

    before: Ints
    mover: Ints
    queue: Ints
    below: NDArray[np.bool_]
    start: Ints


@tier_kernel(lambda tree, forest, *_: forest.member.shape[1])
def measure(tree: int, forest: Forest, deepest: Ints, chain: Chain) -> None:
    """Sort a tree's nodes by depth and find subtree depths."""
    member, depth, parent = forest.member[tree], forest.depth[tree], forest.parent[tree]
    nodes, start = len(member), chain.start
    start[:] = 0
    for node in range(nodes):
        start[depth[node] + 1] += 1
    for level in range(nodes):
        start[level + 1] += start[level]
    for node in range(nodes):
        member[start[depth[node]]] = node
        start[depth[node]] += 1
        deepest[tree, node] = depth[node]
    for place in range(nodes - 1, 0, -1):
        node = member[place]
        above = parent[node]
        deepest[tree, above] = max(deepest[tree, above], deepest[tree, node])


@compile_kernel
def _move(tree: int, node: int, above: int, forest: Forest, deepest: Ints, chain: Chain) -> None:
    """Give a node of a tree another parent."""
    member, depth, parent, below = forest.member[tree], forest.depth[tree], forest.parent[tree], chain.below
    change = depth[above] + 1 - depth[node]
    parent[node] = above
    below[:] = False
    below[node] = True
    for place in range(len(member)):
        at = member[place]
        if place > 0 and at != node:
            below[at] = below[parent[at]]
        if below[at]:
            depth[at] += change
    measure(tree, forest, deepest, chain)


@compile_kernel
def _fits(
    node: int, above: int, limit: int, depth: NDArray[np.int32], parent: NDArray[np.int32], deepest: Ints
) -> bool:
    """Return whether a node may get a parent within the height."""
    change = depth[above] + 1 - depth[node]
    if change > 0:
        if deepest[node] + change > limit:
            return False
        at = above
        while depth[at] > depth[node]:
            at = parent[at]
        return at != node
    return True


@compile_kernel
def _search(tree: int, node: int, limit: int, net: Network, forest: Forest, deepest: Ints, chain: Chain) -> int:
    """Search a chain from a lower place; return its last arc, or -1."""
    first, last = net.first[node], net.first[node + 1]
    depth, parent, before, queue = forest.depth, forest.parent, chain.before, chain.queue
    tail = 0
    for arc in range(first, last):
        before[arc] = -3 if net.out[arc] else -2
        if not net.out[arc] and depth[tree, net.other[arc]] + 1 < depth[tree, node]:
            before[arc], chain.mover[arc] = -1, tree
            queue[tail] = arc
            tail += 1
    head = 0
    while head < tail:
        at: int = queue[head]
        head += 1
        above = net.other[at]
        if net.left[net.link[at]] > 0 or above == parent[tree, node]:
            return at
        for other in range(forest.trees[0]):
            if other == tree or parent[other, node] != above:
                continue
            for arc in range(first, last):
                if before[arc] == -2 and _fits(
                    node, net.other[arc], limit, depth[other], parent[other], deepest[other]
                ):
                    before[arc], chain.mover[arc] = at, other
                    queue[tail] = arc
                    tail += 1
    return -1


@compile_kernel
def _apply(tree: int, node: int, end: int, net: Network, forest: Forest, deepest: Ints, chain: Chain) -> None:
    """Apply a chain at its smallest weight, splitting trees."""
    given_up = net.other[end] == forest.parent[tree, node]
    amount = forest.weight[tree] if given_up else net.left[net.link[end]]
    arc = end
    while arc >= 0:
        amount = min(amount, forest.weight[chain.mover[arc]])
        arc = chain.before[arc]
    for arc in range(net.first[node], net.first[node + 1]):
        if not net.out[arc] and net.other[arc] == forest.parent[tree, node]:
            net.left[net.link[arc]] += amount
    net.left[net.link[end]] -= amount
    arc = end
    while arc >= 0:
        mover = chain.mover[arc]
        if forest.weight[mover] > amount:
            rest = forest.trees[0]
            forest.trees[0] += 1
            forest.weight[rest] = forest.weight[mover] - amount
            forest.weight[mover] = amount
            for at in range(len(net.first) - 1):
                forest.member[rest, at] = forest.member[mover, at]
                forest.depth[rest, at] = forest.depth[mover, at]
                forest.parent[rest, at] = forest.parent[mover, at]
                deepest[rest, at] = deepest[mover, at]
        _move(mover, node, net.other[arc], forest, deepest, chain)
        arc = chain.before[arc]


@compile_kernel
def _lower_tree(tree: int, limit: int, net: Network, forest: Forest, deepest: Ints, chain: Chain) -> int:
    """Lower one tree to a height; return chains, or -1 without room."""
    nodes, chains = len(net.first) - 1, 0
    root = forest.member[tree, 0]
    while deepest[tree, root] > limit:
        node, end = forest.member[tree, nodes - 1], -1
        while node != root:
            end = _search(tree, node, limit, net, forest, deepest, chain)
            if end >= 0:
                break
            node = forest.parent[tree, node]
        if end < 0:
            break
        if forest.trees[0] + net.first[node + 1] - net.first[node] > len(forest.weight):
            return -1
        _apply(tree, node, end, net, forest, deepest, chain)
        chains += 1
    return chains


@tier_kernel(lambda limit, net, forest, *_: forest.trees[0] * forest.member.shape[1])
def lower(limit: int, net: Network, forest: Forest, deepest: Ints, chain: Chain) -> bool:
    """Lower all trees to a height; return whether all fit.

    If not, some trees are changed. They still span, and use no more of the links than there is. It fails too if the
    forest may have no room for the trees that splitting makes.
    """
    stuck, moved = 1, 1
    while stuck and moved:
        stuck, moved, tree = 0, 0, -1
        while tree + 1 < forest.trees[0]:  # splitting makes more of them
            tree += 1
            chains = _lower_tree(tree, limit, net, forest, deepest, chain)
            if chains < 0:
                return False
            stuck += deepest[tree, forest.member[tree, 0]] > limit
            moved += chains
    return stuck == 0
