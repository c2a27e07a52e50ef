"""Blink: as many trees of one root as its links allow; an allreduce is a reduce to it and a broadcast from it."""

from __future__ import annotations

import math
from dataclasses import replace

from topodesign.collectives import ALLREDUCE, BROADCAST, REDUCE
from topodesign.optima.forest.schedule import forest_schedule, side_by_side
from topodesign.plans.plan import Plan
from topodesign.plans.trees import Trees
from topodesign.schedulers.baselines.spanning import rate_of
from topodesign.schedulers.method import Method, Request, fabric_root, tree_plan


def _make(request: Request) -> list[Plan]:
    """Return the plan over a maximum packing of trees, exact where Blink takes an approximate one.

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
        trees = _joined(inward, outward, tuple(int(node == root) for node in fabric.compute))
    return [tree_plan(request, trees, {"method": "blink", "root": request.root_name})]


def _joined(inward: Trees, outward: Trees, shard: tuple[int, ...]) -> Trees:
    """Return the allreduce of in-trees and out-trees of one rate in all: at the same time, if that is no slower."""
    totals = [int(half.weight.sum()) for half in (inward, outward)]
    common = math.lcm(*totals)
    rate = min(half.rate * total for half, total in zip((inward, outward), totals, strict=True)) / common
    scaled = [
        half.having(
            weight=half.weight * (common // total), route_weight=half.route_weight * (common // total), rate=rate
        )
        for half, total in zip((inward, outward), totals, strict=True)
    ]
    trees = side_by_side(inward.topology, scaled, concurrent=False).having(shard=shard)
    at_once = rate_of(trees.topology, trees.link_loads.sum(axis=0))
    return replace(trees, rate=at_once, concurrent=True) if 2 * at_once >= rate else trees


OPTIONS = frozenset({"root", "only", "without"})
METHOD = Method("blink", OPTIONS, (BROADCAST, REDUCE, ALLREDUCE), _make, movement="trees", fabrics=True, auto=False)
