"""Chunk flows unrolled into rounds between nodes.

So they can be replayed as any schedule is, which is a second check: the verifiers share nothing. Switches and the
routes through them are omitted, and so is how much a link can carry. :func:`pipeline_trees` makes rounds on the links
themselves, hop by hop, where nodes that are in no tree store and forward: trees of height h in C chunks take h + C - 1
steps, each what the fullest link carries of a chunk.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arguments import require_at_least
from topodesign.base.arrays import earlier, ranges
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import Collective
from topodesign.plans.build import Part, blocks_named, build_steps, check_rows, check_units, renamed
from topodesign.plans.chunk_ops import (
    count_adding,
    find_parts,
    find_teams,
    list_shards,
    routes_of,
    sort_sends,
    unfold_pieces,
)
from topodesign.plans.flow import Flow, Routes
from topodesign.plans.group_ops import without_gaps
from topodesign.plans.step_ops import canonical
from topodesign.topology.topology import IntArray, Topology


def unroll(flow: Flow, chunks: int = 1) -> Flow:
    """Return a chunk flow's sends between nodes, in steps, on the graph that they make.

    Every piece is cut into chunks. What is copied goes over a send at depth e (1 at its first node) in step e, what is
    added in a tree of height h in step h + 1 - e; every other chunk follows a step behind the one before it. So the
    steps of a movement are the height of its highest piece and the chunks less one, and a link carries for every unit
    of weight the same units in all. Blocks that differ in size are the first units of blocks as large as the largest.
    """
    require_at_least("chunks", chunks, 1)
    flow = sort_sends(unfold_pieces(flow))
    if not len(flow.block):
        raise InfeasibleError(f"without {flow.kind} there is nothing to unroll")
    if flow.concurrent and chunks > 1:
        raise InfeasibleError("rounds add first and copy then; this allreduce does both at the same time")
    most = 1
    if flow.sizes is not None:
        if flow.rate is not None and not flow.free and len(np.unique(flow.sizes[flow.members])) > 1:
            raise InfeasibleError("rounds have blocks of one size; these trees have shards of unequal size")
        most = int(flow.sizes.max())
    units = flow.units * most * chunks
    check_units(units * (1 if flow.rate is None else flow.collective.shards(len(flow.members))))
    check_rows(len(flow) * chunks)
    if flow.rate is None and np.any(flow.hi > flow.units * most):
        raise InfeasibleError("the paths of a block carry more than there is of it")
    adds, piece = np.array([one.adds for one in flow.movements])[flow.part], flow.piece
    depth = _depths(flow, adds)
    height = np.zeros(len(flow.block), dtype=np.int64)
    np.maximum.at(height, piece, depth)
    inward = np.array([one.adds for one in flow.movements])[find_parts(flow)]
    middle = _steps(height[inward], chunks)
    highest = np.zeros(len(flow.collective.single), dtype=np.int64)
    teams = find_teams(flow) if len(highest) > 1 else np.zeros(len(flow.block), dtype=np.int64)
    np.maximum.at(highest, teams[inward], height[inward])
    ends = height + highest.max() - highest[teams]  # what groups add ends together
    first = np.where(adds, ends[piece] + 1 - depth, middle + depth)
    chunk = np.arange(chunks)[:, None]
    lo, width = flow.lo[piece] * chunks, (flow.hi - flow.lo)[piece]
    # Of a root with more weight than its share, what is beyond its shard is omitted: another root lacks it.
    low, high = (np.minimum(lo + at * width, units).ravel() for at in (chunk, chunk + 1))
    ends = (np.tile(column, chunks) for column in (flow.src, flow.dst, flow.block[piece]))
    graph = graph_of(flow.topology, flow.src, flow.dst)
    steps = middle + _steps(height[~inward], chunks)
    rows = ((first + chunk).ravel(), *ends, low, high)
    return build_steps(flow.collective, graph, units, steps, [rows], reduce_steps=middle)


def graph_of(topology: Topology, src: NDArray[np.integer], dst: NDArray[np.integer]) -> Topology:
    """Return the sends between vertices as unit links."""
    return Topology.from_arrays(
        topology.nodes, *np.unique(np.stack((src, dst)), axis=1).astype(np.int64), switches=topology.switches
    )


def ranks_of(rounds: Flow) -> Flow:
    """Return rounds with nodes numbered without switches."""
    if not rounds.topology.switches:
        return rounds
    number, computes = numbers_without(rounds.nodes, rounds.topology.switches)
    count = int(computes.sum())
    block = blocks_named(rounds.collective, rounds.block, number, count)
    src, dst, blocks = (column.astype(np.int32) for column in (number[rounds.src], number[rounds.dst], block))
    named = renamed(rounds.collective, number.tolist())
    graph = Topology.from_arrays(count, *np.unique(np.stack((src, dst)), axis=1).astype(np.int64))
    return rounds.having(collective=named, place=graph, src=src, dst=dst, block=blocks)


def numbers_without(nodes: int, switches: Collection[int]) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return node numbers without switches, and a mask."""
    computes = np.ones(nodes, dtype=np.bool_)
    computes[list(switches)] = False
    return np.cumsum(computes) - 1, computes


def _steps(heights: IntArray, chunks: int) -> int:
    """Return the steps of a phase with such trees."""
    highest = int(heights.max(initial=0))
    return highest + chunks - 1 if highest else 0


def _depths(flow: Flow, adds: NDArray[np.bool_]) -> IntArray:
    """Return the depth of every send within its piece.

    A send that comes before its near end has joined the tree, which is wrong, has depth 1.
    """
    depth = np.ones(len(flow), dtype=np.int64)
    joined: dict[tuple[int, int], int] = {}
    near, far = np.where(adds, flow.dst, flow.src).tolist(), np.where(adds, flow.src, flow.dst).tolist()
    pieces, roots = flow.piece.tolist(), flow.block[flow.piece].tolist()
    for row in (*np.flatnonzero(~adds).tolist(), *np.flatnonzero(adds)[::-1].tolist()):
        depth[row] = joined.get((pieces[row], near[row]), 0) + 1
        if far[row] != roots[row] or flow.rate is None:
            joined[pieces[row], far[row]] = int(depth[row])
    return depth


def pipeline_trees(trees: Flow, place: Topology, chunks: int = 1, collective: Collective | None = None) -> Flow:
    """Return out-trees as rounds.

    Of an allgather or a broadcast, on the links ``place``; ``collective`` is what the rounds are of, where nodes that
    are none of its members forward. Every tree's data is cut into chunks, and one follows a step behind the other.
    """
    require_at_least("chunks", chunks, 1)
    if count_adding(trees):
        raise InfeasibleError("only out-trees are pipelined; make those of the transpose and turn the rounds round")
    if len(set(list_shards(trees) or ())) > 1:
        raise InfeasibleError("rounds have blocks of one size; these trees have shards of unequal size")
    routes, root = routes_of(trees), trees.block
    common = math.gcd(*np.asarray(trees.weight).tolist(), *routes.weight.tolist()) or 1
    weight = np.asarray(trees.weight) // common
    begin = earlier(root, weight)
    share = int((begin + weight).max()) if len(root) else 1
    check_units(share * chunks)
    length = routes.lengths
    check_rows(int(length.sum()) * chunks)
    starts, last = _route_steps(trees, routes)
    route, hop = ranges(0, length)
    at = routes.hop_start[:-1][route] + hop
    tree = trees.piece[routes.send[route]]
    low = (earlier(routes.send, routes.weight) // common)[route]
    parts: list[Part] = []
    for chunk in range(chunks):
        first = begin[tree] * chunks + chunk * weight[tree] + low
        amount = (routes.weight // common)[route]
        step = starts[route] + hop + 1 + chunk
        parts.append((step, routes.hop[at], routes.hop[at + 1], root[tree], first, first + amount))
    steps = last + chunks - 1 if last else 0
    done = trees.collective if collective is None else collective
    return without_gaps(canonical(build_steps(done, place, share * chunks, steps, parts)))


def _route_steps(trees: Flow, routes: Routes) -> tuple[IntArray, int]:
    """Return the first step and duration of every route."""
    reached: dict[tuple[int, int], int] = {}
    length = routes.lengths
    starts = np.zeros(len(length), dtype=np.int64)
    bounds = np.searchsorted(routes.send, np.arange(len(trees) + 1)).tolist()
    last = 0
    edges = zip(trees.piece.tolist(), trees.src.tolist(), trees.dst.tolist(), strict=True)
    for edge, (tree, src, dst) in enumerate(edges):
        ready = reached.get((tree, src), 0)
        own = slice(bounds[edge], bounds[edge + 1])
        starts[own] = ready
        reached[tree, dst] = ready + int(length[own].max(initial=1))
        last = max(last, reached[tree, dst])
    return starts, last
