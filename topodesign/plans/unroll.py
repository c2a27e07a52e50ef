"""Trees and paths unrolled into rounds: what goes from node to node, on the graph of these sends.

So they can be replayed as any schedule is, which is a second check: the verifiers share nothing. Switches and the
routes through them are omitted, and so is how much a link can carry. :func:`pipelined` makes rounds on the links
themselves, hop by hop, where nodes that are in no tree store and forward: trees of height h in C chunks take h + C - 1
steps, each what the fullest link carries of a chunk.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arguments import require_at_least
from topodesign.base.arrays import earlier, ranges, sealed
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import Collective
from topodesign.plans.group_ops import alongside, empty, without_gaps
from topodesign.plans.paths import Paths
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import Part, assemble, blocks_named, canonical, check_rows, check_units, renamed
from topodesign.plans.trees import Trees
from topodesign.topology.topology import IntArray, Topology


def unroll(trees: Trees, chunks: int = 1) -> tuple[Topology, Rounds]:
    """Return what trees send, in steps.

    Every tree takes the part of its root's shard that its weight stands for, and cuts it into chunks. In an out-tree
    the first chunk goes over an edge at depth e (1 at the root) in step e, in an in-tree of height h in step h + 1 - e;
    every other chunk follows a step behind the one before it. So the steps of a phase are the height of its highest
    tree and the chunks less one, and a link carries for every unit of weight the same units in all.
    """
    require_at_least("chunks", chunks, 1)
    if trees.collective.group is not None:
        each = [
            unroll(one, chunks)[1].having(collective=of) if len(one) else empty(of, trees.topology.nodes)
            for one, of in zip(trees.alone(), trees.collective.single, strict=True)
        ]
        return graph_of(trees.topology, trees.src, trees.dst), alongside(each, trees.collective)
    if trees.shard is not None and len(set(trees.shard)) > 1:
        raise InfeasibleError("rounds have blocks of one size; these trees have shards of unequal size")
    if trees.concurrent and chunks > 1:
        raise InfeasibleError("rounds add first and copy then; this allreduce does both at the same time")
    weights = [weight for weight in trees.phase_weights if weight]
    if not weights:
        raise InfeasibleError("without trees there is nothing to unroll")
    owners = trees.collective.shards(len(trees.compute_nodes))
    units = chunks * math.lcm(*(weight // math.gcd(weight, owners) for weight in weights))
    check_units(units * owners)
    check_rows(len(trees.tree) * chunks)
    inward = trees.tree < trees.reduce_trees
    depth = _depths(trees)
    height = np.zeros(len(trees), dtype=np.int64)
    np.maximum.at(height, trees.tree, depth)
    middle = _steps(height[: trees.reduce_trees], chunks)
    first = np.where(inward, height[trees.tree] + 1 - depth, middle + depth)
    phase = (np.arange(len(trees)) >= trees.reduce_trees).astype(np.int64)
    scale = np.array([units * owners // max(1, weight) for weight in trees.phase_weights], dtype=np.int64)
    parts = trees.weight * scale[phase]
    lo = earlier(trees.root + phase * trees.topology.nodes, parts)[trees.tree]
    chunk = np.arange(chunks)[:, None]
    width = parts[trees.tree] // chunks
    # Of a root with more weight than its share, what lies beyond its shard is omitted: another root lacks it.
    low = np.minimum(lo + chunk * width, units).ravel()
    high = np.minimum(lo + (chunk + 1) * width, units).ravel()
    kept = low < high
    src, dst, root = (
        np.tile(column, chunks)[kept].astype(np.int32) for column in (trees.src, trees.dst, trees.root[trees.tree])
    )
    rounds = Rounds(
        trees.collective,
        trees.topology.nodes,
        units,
        middle + _steps(height[trees.reduce_trees :], chunks),
        middle,
        sealed((first + chunk).ravel()[kept].astype(np.int32)),
        *map(sealed, (src, dst, root, low[kept], high[kept])),
    )
    return graph_of(trees.topology, trees.src, trees.dst), rounds


def unroll_paths(paths: Paths, chunks: int = 1) -> tuple[Topology, Rounds]:
    """Return what paths send from node to node, in steps; what passes a switch goes on at once.

    What a path carries is cut into chunks. The first goes from its source in step 1 and on from every node that it
    meets in the step after it has arrived there, and every other chunk follows a step behind the one before it. Blocks
    that differ in size are the first units of blocks as large as the largest.
    """
    require_at_least("chunks", chunks, 1)
    if not len(paths):
        raise InfeasibleError("without paths there is nothing to unroll")
    most = max(paths.amounts or (1,))
    topology, units = paths.topology, paths.units * most * chunks
    check_units(units)
    lo = earlier(paths.block, paths.weight)
    if np.any(lo + paths.weight > paths.units * most):
        raise InfeasibleError("the paths of a block carry more than there is of it")
    at_nodes = np.flatnonzero(numbers_without(topology.nodes, topology.switches)[1][paths.hop])
    path, node = paths.path_of[at_nodes], paths.hop[at_nodes]
    sends = np.flatnonzero(path[1:] == path[:-1])
    check_rows(len(sends) * chunks)
    src, dst, path = node[sends], node[sends + 1], path[sends]
    new = np.diff(path, prepend=-1) != 0
    step = np.arange(len(path)) - np.repeat(np.flatnonzero(new), np.diff(np.append(np.flatnonzero(new), len(path)))) + 1
    chunk = np.arange(chunks)[:, None]
    low = lo[path] * chunks + chunk * paths.weight[path]
    narrow = (np.tile(column, chunks).astype(np.int32) for column in (src, dst, paths.block[path]))
    rounds = Rounds(
        paths.collective,
        topology.nodes,
        units,
        int(step.max()) + chunks - 1,
        0,
        sealed((step + chunk).ravel().astype(np.int32)),
        *map(sealed, (*narrow, low.ravel(), (low + paths.weight[path]).ravel())),
    )
    return graph_of(topology, src, dst), rounds


def graph_of(topology: Topology, src: IntArray, dst: IntArray) -> Topology:
    """Return what goes from one vertex to another as links of capacity one."""
    return Topology.from_arrays(
        topology.nodes, *np.unique(np.stack((src, dst)), axis=1).astype(np.int64), switches=topology.switches
    )


def ranks_of(topology: Topology, rounds: Rounds) -> tuple[Topology, Rounds]:
    """Return rounds with the nodes numbered without switches, which are in no row."""
    if not topology.switches:
        return topology, rounds
    number, computes = numbers_without(topology.nodes, topology.switches)
    count = int(computes.sum())
    block = blocks_named(rounds.collective, rounds.block, number, count)
    src, dst, blocks = (column.astype(np.int32) for column in (number[rounds.src], number[rounds.dst], block))
    named = renamed(rounds.collective, number.tolist())
    rounds = rounds.having(collective=named, nodes=count, src=src, dst=dst, block=blocks)
    return Topology.from_arrays(rounds.nodes, *np.unique(np.stack((src, dst)), axis=1).astype(np.int64)), rounds


def numbers_without(nodes: int, switches: Collection[int]) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return the numbers of nodes among those that compute, and which do."""
    computes = np.ones(nodes, dtype=np.bool_)
    computes[list(switches)] = False
    return np.cumsum(computes) - 1, computes


def _steps(heights: IntArray, chunks: int) -> int:
    """Return the steps of a phase with such trees."""
    highest = int(heights.max(initial=0))
    return highest + chunks - 1 if highest else 0


def _depths(trees: Trees) -> IntArray:
    """Return how many edges it is from the root to the far end of every edge, as far as the order of edges goes.

    An edge that comes before its near end has joined the tree, which is wrong, has depth 1.
    """
    depth = np.ones(len(trees.tree), dtype=np.int64)
    joined: dict[tuple[int, int], int] = {}
    rows = list(zip(trees.tree.tolist(), trees.src.tolist(), trees.dst.tolist(), strict=True))
    inward = int((trees.tree < trees.reduce_trees).sum())
    for row in (*range(inward, len(rows)), *reversed(range(inward))):
        tree, near, far = rows[row] if row >= inward else (rows[row][0], *rows[row][:0:-1])
        depth[row] = joined.get((tree, near), 0) + 1
        if far != trees.root[tree]:
            joined[tree, far] = int(depth[row])
    return depth


def pipelined(trees: Trees, chunks: int = 1, collective: Collective | None = None) -> Rounds:
    """Return out-trees as rounds.

    Of an allgather or a broadcast; ``collective`` is what the rounds are of, where nodes that are none of its
    members forward. Every tree's data is cut into chunks, and one follows a step behind the other.
    """
    require_at_least("chunks", chunks, 1)
    if trees.reduce_trees:
        raise InfeasibleError("only out-trees are pipelined; make those of the transpose and turn the rounds round")
    if trees.shard is not None and len(set(trees.shard)) > 1:
        raise InfeasibleError("rounds have blocks of one size; these trees have shards of unequal size")
    common = math.gcd(*trees.weight.tolist(), *trees.route_weight.tolist()) or 1
    weight = trees.weight // common
    begin = earlier(trees.root, weight)
    share = int((begin + weight).max()) if len(trees) else 1
    check_units(share * chunks)
    length = np.diff(trees.hop_start) - 1
    check_rows(int(length.sum()) * chunks)
    starts, last = _route_steps(trees, length)
    route, hop = ranges(0, length)
    place = trees.hop_start[:-1][route] + hop
    tree = trees.tree[trees.route_edge[route]]
    low = (earlier(trees.route_edge, trees.route_weight) // common)[route]
    parts: list[Part] = []
    for chunk in range(chunks):
        first = begin[tree] * chunks + chunk * weight[tree] + low
        amount = (trees.route_weight // common)[route]
        step = starts[route] + hop + 1 + chunk
        parts.append((step, trees.hop[place], trees.hop[place + 1], trees.root[tree], first, first + amount))
    steps = last + chunks - 1 if last else 0
    done = trees.collective if collective is None else collective
    return without_gaps(canonical(assemble(done, trees.topology.nodes, share * chunks, steps, parts)))


def _route_steps(trees: Trees, length: IntArray) -> tuple[IntArray, int]:
    """Return after how many steps the first chunk starts on every route, and how many it takes to be everywhere."""
    reached: dict[tuple[int, int], int] = {}
    starts = np.zeros(len(length), dtype=np.int64)
    bounds = np.searchsorted(trees.route_edge, np.arange(len(trees.tree) + 1)).tolist()
    last = 0
    edges = zip(trees.tree.tolist(), trees.src.tolist(), trees.dst.tolist(), strict=True)
    for edge, (tree, src, dst) in enumerate(edges):
        ready = reached.get((tree, src), 0)
        own = slice(bounds[edge], bounds[edge + 1])
        starts[own] = ready
        reached[tree, dst] = ready + int(length[own].max(initial=1))
        last = max(last, reached[tree, dst])
    return starts, last
