"""Baselines that people wire today: rings and double binary trees.

By stated models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from topodesign.base.cost import Cost
from topodesign.base.wording import count_noun
from topodesign.pricing.workload import Workload


@dataclass(frozen=True)
class Baseline:
    """A topology and schedule in use today."""

    name: str  # what it is called
    cost: Cost | None  # steps and bandwidth factor of half an allreduce, or None where the two depend on the size
    allreduce: tuple[Fraction, ...]  # seconds, for each size of the workload
    model: str  # how the figure comes about, in words


def baselines(nodes: int, degree: int, workload: Workload) -> list[Baseline]:
    """Return the baselines of a size.

    Efficient Direct-Connect Topologies, section 8.2.
    """
    found = [] if degree % 2 or nodes < 3 else _price_shifted_rings(nodes, degree, workload)
    trees = double_binary_tree(nodes, degree, workload)
    return found if trees is None else [*found, trees]


def _price_shifted_rings(nodes: int, degree: int, workload: Workload) -> list[Baseline]:
    """Return TopoOpt's superposed bidirectional rings.

    With N-1 steps each way, and with SPFF on each (appendix E.3).

    At N = 1024, 10 us, 1 MiB and 100 Gbps the first takes 20628 us; the caption of Table 2 of Efficient Direct-Connect
    Topologies says 20640 us, which N steps and 10^6 bytes give.
    """
    ways = (
        ("shifted ring", nodes - 1, f"each direction reducing M/{degree} in N-1 steps"),
        ("shifted ring, SPFF", nodes // 2, "shards going the shorter way round in N/2 steps"),
    )
    costs = [Cost(steps, Fraction(nodes - 1, nodes)) for _, steps, _ in ways]
    return [
        Baseline(name, cost, workload.allreduce(cost), f"{count_noun(degree // 2, 'two-way ring')}, {model}")
        for cost, (name, _, model) in zip(costs, ways, strict=True)
    ]


def double_binary_tree(nodes: int, degree: int, workload: Workload) -> Baseline | None:
    """Return NCCL's double binary trees with the best number of chunks.

    Reduce, then broadcast.

    Each pair of trees takes four ports, and each of its trees half of the pair's data; k chunks go up a tree of
    ceil(log2 N) levels in ceil(log2 N) + k - 1 steps and down again in as many, so that for d = 4

        T = 2 * (ceil(log2 N) + k - 1) * (alpha + 2M / (k B)).

    The bandwidth term tends to 4M/B, the bound of appendix B.3 of Efficient Direct-Connect Topologies. The caption of
    Table 2 there gives 1800 us at N = 1024 where this model gives 1007 us, without saying how; as a baseline the lower
    figure is the fairer one.
    """
    pairs = degree // 4
    if not pairs or nodes < 2:
        return None
    depth = (nodes - 1).bit_length()
    times = []
    for size in workload.sizes:
        whole = size * 8 * degree / (2 * pairs * workload.bandwidth)  # one tree's data over one link
        times.append(
            min(_time_pipeline(depth, chunks, workload.alpha, whole) for chunks in _chunks(depth, workload, whole))
        )
    trees = f"{count_noun(pairs, 'pair')} of trees of {depth} levels"
    model = f"{trees}, reduce then broadcast, best number of pipelined chunks"
    return Baseline("double binary tree", None, tuple(times), model)


def _time_pipeline(depth: int, chunks: int, alpha: Fraction, whole: Fraction) -> Fraction:
    return 2 * (depth + chunks - 1) * (alpha + whole / chunks)


def _chunks(depth: int, workload: Workload, whole: Fraction) -> range:
    """Return chunk counts around the best real one."""
    if workload.alpha == 0:
        return range(10**6, 10**6 + 1)
    best = math.isqrt(int((depth - 1) * whole / workload.alpha))
    return range(max(1, best), best + 2)
