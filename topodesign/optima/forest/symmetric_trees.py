"""Schedules of symmetric fabrics: low trees of a few roots, shifted for all the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from topodesign.base.errors import TooLargeError
from topodesign.collectives import Collective
from topodesign.optima.forest.low_trees import LowTrees, Seed, find_low_trees
from topodesign.optima.forest.tree_counts import FixedOptimum
from topodesign.plans.trees import Trees
from topodesign.solve.maxflow import compute_nodes
from topodesign.topology.shifts import Shifts, find_shifts
from topodesign.topology.topology import IntArray, Topology

MOST_EDGES = 2**27
"""Tree edges of a schedule; some 100 bytes each."""
_SEEDS = 8
"""Trees of every representative, the lowest, that the search begins with."""


def shifted_trees(
    topology: Topology,
    collective: Collective,
    fixed: FixedOptimum,
    demand: IntArray,
    shard: tuple[int, ...] | None,
    *,
    higher: Trees | None = None,
) -> Trees | None:
    """Return low out-trees with the throughput of an optimum, if the fabric has a symmetry that moves all nodes.

    ``demand`` are the trees of every compute node. Only trees lower than ``higher`` are of use; without these, they are
    looked for only where all nodes are alike.
    """
    known = find_shifts(topology)
    group = None if known is None else known.on(fixed.topology)
    if group is None or not group.keeps(demand) or (len(group.representatives) > 1) == (higher is None):
        return None
    numbers = demand[np.searchsorted(compute_nodes(topology), group.representatives)].tolist()
    low = find_low_trees(group, numbers, *(() if higher is None else (higher.height, list(_seeds(group, higher)))))
    if low is None:
        return None
    return Trees(
        collective=collective,
        topology=topology,
        rate=fixed.tree_rate,
        reduce_trees=0,
        shard=shard,
        concurrent=False,
        **_columns(group, low),
    )


def _seeds(group: Shifts, trees: Trees) -> Iterator[Seed]:
    """Yield the depths of nodes in trees as the representatives see them, whose roots are shifted to them."""
    place, element = np.empty((2, group.topology.nodes), dtype=np.int64)
    for number, representative in enumerate(group.representatives.tolist()):
        place[group.elements[:, representative]] = number
        element[group.elements[:, representative]] = np.arange(group.order)
    first = np.searchsorted(trees.tree, np.arange(len(trees) + 1)).tolist()
    left = dict.fromkeys(range(len(group.representatives)), _SEEDS)
    for tree in np.argsort(trees.heights, kind="stable").tolist():
        root = int(trees.root[tree])
        left[int(place[root])] -= 1
        if left[int(place[root])] < 0:
            continue
        depth = {root: 0}
        for u, v in zip(
            *(column[first[tree] : first[tree + 1]].tolist() for column in (trees.src, trees.dst)), strict=True
        ):
            depth[v] = depth[u] + 1
        image = group.elements[element[root]].tolist()
        yield int(place[root]), {node: depth[image[node]] for node in range(len(image)) if image[node] in depth}


def _columns(group: Shifts, low: LowTrees) -> dict[str, IntArray]:
    """Return the columns of trees of all nodes, by root: those of the representatives shifted by the whole group."""
    count, each = len(low.weight), len(low.ways[0])
    edges = count * group.order * each
    if edges > MOST_EDGES:
        raise TooLargeError(f"trees of all roots have {edges} edges, more than the {MOST_EDGES} of a schedule")
    hops = [np.array([vertex for way in ways for vertex in way], dtype=np.int64) for ways in low.ways]
    lengths = [np.array([len(way) for way in ways], dtype=np.int64) for ways in low.ways]
    ends = [np.cumsum(length) - 1 for length in lengths]
    roots = group.elements[:, [ways[0][0] for ways in low.ways]]
    order = np.argsort(roots.ravel(), kind="stable")
    element, tree = np.divmod(order, count)
    src, dst = np.empty((2, len(order), each), dtype=np.int64)
    hop = np.empty(group.order * sum(map(len, hops)), dtype=np.int64)
    at = 0
    for row, (one, which) in enumerate(zip(element.tolist(), tree.tolist(), strict=True)):
        image = group.elements[one][hops[which]]
        src[row] = image[ends[which] - lengths[which] + 1]
        dst[row] = image[ends[which]]
        hop[at : at + len(image)] = image
        at += len(image)
    weight = np.array(low.weight, dtype=np.int64)[tree]
    hop_start = np.zeros(edges + 1, dtype=np.int64)
    np.cumsum(np.array(lengths)[tree].ravel(), out=hop_start[1:])
    return {
        "root": roots.ravel()[order].astype(np.int64),
        "weight": weight,
        "tree": np.repeat(np.arange(len(order)), each),
        "src": src.ravel(),
        "dst": dst.ravel(),
        "route_edge": np.arange(edges),
        "route_weight": np.repeat(weight, each),
        "hop_start": hop_start,
        "hop": hop,
    }
