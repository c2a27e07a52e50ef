"""Trees as rounds on the links themselves: chunk after chunk, hop by hop, with a cost that is known exactly.

:func:`~topodesign.plans.unroll.unroll` says what goes over tree edges, whatever lies under them. Here every hop of a
route takes a step, and what passes a node that is in no tree is stored there and forwarded. So trees become rounds on
the topology, which count steps and bandwidth as all rounds do: trees of height h in C chunks take h + C - 1 steps, and
each of them what the fullest link carries of one chunk.
"""

from __future__ import annotations

import math

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import Collective
from topodesign.plans.group_ops import without_gaps
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import Part, assemble, canonical, check_rows, check_units
from topodesign.plans.trees import Trees
from topodesign.topology.topology import IntArray


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
    taken: dict[int, int] = {}
    begin = np.zeros(len(trees), dtype=np.int64)
    for at, (root, weight) in enumerate(zip(trees.root.tolist(), (trees.weight // common).tolist(), strict=True)):
        begin[at] = taken.get(root, 0)
        taken[root] = taken.get(root, 0) + weight
    share = max(taken.values(), default=1)
    check_units(share * chunks)
    length = np.diff(trees.hop_start) - 1
    check_rows(int(length.sum()) * chunks)
    starts, last = _steps(trees, length)
    route = np.repeat(np.arange(len(length)), length)
    hop = np.arange(len(route)) - np.repeat(np.cumsum(length) - length, length)
    place = trees.hop_start[:-1][route] + hop
    tree = trees.tree[trees.route_edge[route]]
    low = (_offsets(trees) // common)[route]
    width = (trees.weight // common)[tree]
    parts: list[Part] = []
    for chunk in range(chunks):
        first = begin[tree] * chunks + chunk * width + low
        amount = (trees.route_weight // common)[route]
        step = starts[route] + hop + 1 + chunk
        parts.append((step, trees.hop[place], trees.hop[place + 1], trees.root[tree], first, first + amount))
    steps = last + chunks - 1 if last else 0
    done = trees.collective if collective is None else collective
    return without_gaps(canonical(assemble(done, trees.topology.nodes, share * chunks, steps, parts)))


def _steps(trees: Trees, length: IntArray) -> tuple[IntArray, int]:
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


def _offsets(trees: Trees) -> IntArray:
    """Return the weight of the routes of the same edge that come before every route."""
    total = np.cumsum(trees.route_weight) - trees.route_weight
    first = np.searchsorted(trees.route_edge, trees.route_edge)
    offsets: IntArray = total - total[first]
    return offsets
