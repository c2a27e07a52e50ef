"""Packing of spanning out-trees without switches, low ones.

ForestColl, section 5.4 and appendix D.3.

The trees of all roots grow at the same time, level by level, so that every node is reached as early as the other trees
allow: at level h each tree takes all the nodes that it may take next to those it took at level h - 1. What a tree may
not take then it never may, so by Tarjan's theorem the trees are complete when nothing is left to take. After that the
highest trees are lowered as long as trees can be found that change their links with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.optima.forest import lowering_kernels
from topodesign.optima.forest import packing_kernels as kernels
from topodesign.topology.topology import IntArray, Topology

MAX_TREES = 2**31 - 1
_SPLITS = 4  # how many times more different trees there may be for the sake of less height


@dataclass(frozen=True, eq=False)
class Packing:
    """Spanning out-trees; T different ones on N nodes."""

    root: IntArray  # root of every tree, ascending, and how many equal trees it stands for, shape ``(T,)``
    weight: IntArray
    order: IntArray  # nodes of every tree from the root down, parents before their children, shape ``(T, N)``
    parent: IntArray  # parent of every node in every tree, -1 for the root, shape ``(T, N)``

    @cached_property
    def heights(self) -> IntArray:
        """Links on the longest way from the root, shape ``(T,)``."""
        tree = np.arange(len(self.root))
        depth = np.zeros_like(self.parent)
        for node in self.order[:, 1:].T:
            depth[tree, node] = depth[tree, self.parent[tree, node]] + 1
        heights: IntArray = depth.max(axis=1)
        return heights


def pack_trees(topology: Topology, roots: Sequence[tuple[int, int]]) -> Packing:
    """Pack spanning out-trees within capacities, with weights.

    ``roots`` are pairs (root, how many trees) such that for every set S of nodes but all of them, at most as many trees
    are rooted in S as the capacity of the links out of S; any such numbers will do.
    """
    starts = sorted(roots)
    if sum(number for _, number in starts) > MAX_TREES:
        raise TooLargeError(f"at most {MAX_TREES} trees can be packed; fix a small number of trees per root")
    network = _network(topology)
    return _merge_trees(_lower(network, _grow(network, starts)))


def _grow(network: kernels.Network, roots: list[tuple[int, int]]) -> kernels.Forest:
    """Grow trees until all are complete."""
    nodes = len(network.first) - 1
    forest = _empty_forest(nodes, 2 * len(roots) + 62)
    entries, search = _scratch(nodes, len(forest.weight))
    forest.trees[0] = len(roots)
    for tree, (root, number) in enumerate(roots):
        forest.weight[tree], forest.size[tree], forest.member[tree, 0] = number, 1, root
        forest.depth[tree, root] = 0
        forest.within[root, tree // 64] |= np.uint64(1 << tree % 64)
    for level in range(1, nodes):
        for node in range(nodes):
            while (outcome := kernels.grow(node, level, network, forest, entries, search)) == kernels.NO_ROOM:
                forest = _enlarge(forest, 2 * len(forest.weight))
                entries, search = _scratch(nodes, len(forest.weight))
            if outcome == kernels.IMPOSSIBLE:
                raise InfeasibleError("the links cannot carry that many trees")
        if forest.size[: forest.trees[0]].min(initial=nodes) == nodes:
            return forest
    if nodes > 1:
        raise InfeasibleError("the links cannot carry that many trees")
    return forest


def _network(topology: Topology) -> kernels.Network:
    """Return the links as arcs by node, without self-loops."""
    proper = topology.src != topology.dst
    src, dst = topology.src[proper], topology.dst[proper]
    at = np.concatenate((src, dst))
    order = np.argsort(at, kind="stable")
    return kernels.Network(
        first=np.searchsorted(at[order], np.arange(topology.nodes + 1)),
        link=np.tile(np.arange(len(src)), 2)[order],
        other=np.concatenate((dst, src))[order],
        out=np.repeat([1, 0], len(src))[order],
        left=topology.capacity[proper].copy(),
        flow=np.zeros(len(src), dtype=np.int64),
    )


def _empty_forest(nodes: int, trees: int) -> kernels.Forest:
    """Return a forest with room for so many trees."""

    def by_tree() -> NDArray[np.int32]:
        return np.full((trees, nodes), -1, dtype=np.int32)

    return kernels.Forest(
        trees=np.zeros(1, dtype=np.int64),
        weight=np.zeros(trees, dtype=np.int64),
        size=np.zeros(trees, dtype=np.int64),
        member=by_tree(),
        depth=by_tree(),
        parent=by_tree(),
        within=np.zeros((nodes, (trees + 63) // 64), dtype=np.uint64),
    )


def _scratch(nodes: int, trees: int) -> tuple[kernels.Entries, kernels.Search]:
    """Return what the growth of so many trees needs besides."""

    def ints(length: int) -> IntArray:
        return np.empty(length, dtype=np.int64)

    most, vertices = nodes * trees, nodes + trees
    entries = kernels.Entries(
        used=ints(1),
        tree=ints(most),
        node=ints(most),
        amount=ints(most),
        next_of_tree=ints(most),
        next_at_node=ints(most),
        of_tree=ints(trees),
        at_node=ints(nodes),
    )
    search = kernels.Search(
        distance=ints(vertices),
        arc_cursor=ints(vertices),
        entry_cursor=ints(nodes),
        queue=ints(vertices),
        came_from=ints(vertices),
        via=ints(vertices),
        excess=np.zeros(nodes, dtype=np.int64),
        unsent=ints(trees),
        dead=np.zeros(vertices, dtype=np.bool_),
        todo=np.empty((trees + 63) // 64, dtype=np.uint64),
    )
    return entries, search


def _lower(network: kernels.Network, forest: kernels.Forest) -> kernels.Forest:
    """Lower the highest trees level by level, undoing failures."""
    nodes, arcs, trees = len(network.first) - 1, len(network.link), int(forest.trees[0])
    chain = lowering_kernels.Chain(
        before=np.empty(arcs, dtype=np.int64),
        mover=np.empty(arcs, dtype=np.int64),
        queue=np.empty(arcs, dtype=np.int64),
        below=np.empty(nodes, dtype=np.bool_),
        start=np.empty(nodes + 1, dtype=np.int64),
    )
    forest = _enlarge(forest, len(forest.weight) + _SPLITS * trees + arcs)
    deepest = np.empty((len(forest.weight), nodes), dtype=np.int64)
    while True:
        lower = _enlarge(forest, len(forest.weight))
        for tree in range(int(lower.trees[0])):
            lowering_kernels.measure(tree, lower, deepest, chain)
        height = int(lower.depth[: lower.trees[0]].max(initial=0))
        if height <= 1 or not lowering_kernels.lower(height - 1, network, lower, deepest, chain):
            return forest
        forest = lower


def _enlarge(old: kernels.Forest, trees: int) -> kernels.Forest:
    """Return a copy of a forest with room for more trees."""
    new = _empty_forest(old.member.shape[1], trees)
    for name, source in old._asdict().items():
        getattr(new, name)[tuple(slice(length) for length in source.shape)] = source
    return new


def _merge_trees(forest: kernels.Forest) -> Packing:
    """Return the trees sorted by root, equal ones added up."""
    trees = int(forest.trees[0])
    member, parent = forest.member[:trees], forest.parent[:trees]
    key = np.concatenate((member[:, :1], parent), axis=1)
    _, first, which = np.unique(key, axis=0, return_index=True, return_inverse=True)
    weight = np.zeros(len(first), dtype=np.int64)
    np.add.at(weight, which.ravel(), forest.weight[:trees])
    return Packing(
        root=member[first, 0].astype(np.int64),
        weight=weight,
        order=member[first].astype(np.int64),
        parent=parent[first].astype(np.int64),
    )
