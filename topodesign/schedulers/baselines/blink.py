"""Blink: as many trees of one root as its links allow; an allreduce is a reduce to it and a broadcast from it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from topodesign.collectives import ALLREDUCE, BROADCAST, REDUCE
from topodesign.fabrics.places import named_preset
from topodesign.optima.forest.schedule import forest_schedule
from topodesign.optima.forest.throughput import compute_node
from topodesign.plans.measure import tree_figures
from topodesign.plans.plan import Plan
from topodesign.plans.trees import Trees
from topodesign.schedulers.method import Method, Request


def _make(request: Request) -> list[Plan]:
    """Return the plan over a maximum packing of trees, exact where Blink takes an approximate one.

    References
    ----------
    Wang, Venkataraman, Phanishayee, Thelin, Devanur and Stoica, Blink: Fast and Generic Collectives for Distributed ML
    (2020).
    """
    fabric, collective = request.fabric, request.collective
    topology, names = fabric.topology, fabric.names
    if request.root_name is not None:
        trees = forest_schedule(topology, collective, root=compute_node(fabric, request.root_name), names=names)
    else:
        root = fabric.compute[0]  # all are alike: as much goes into any set of nodes as out of it
        inward, outward = (forest_schedule(topology, one, root=root, names=names) for one in (REDUCE, BROADCAST))
        trees = _joined(inward, outward, tuple(int(node == root) for node in fabric.compute))
    made = {"method": "blink", "root": request.root_name}
    spec = None if request.only or request.without else named_preset(request.place)
    return [Plan(fabric, trees, tree_figures(fabric, trees).claim(), spec, made)]


def _joined(inward: Trees, outward: Trees, shard: tuple[int, ...]) -> Trees:
    """Return the allreduce of in-trees and out-trees of one rate in all: at the same time, if that is no slower."""
    totals = [int(half.weight.sum()) for half in (inward, outward)]
    common = math.lcm(*totals)
    scaled = [
        replace(half, weight=half.weight * (common // total), route_weight=half.route_weight * (common // total))
        for half, total in zip((inward, outward), totals, strict=True)
    ]
    rate = min(half.rate * total for half, total in zip((inward, outward), totals, strict=True)) / common
    first, second = scaled
    columns: dict[str, Any] = {
        name: np.concatenate((getattr(first, name), getattr(second, name) + more))
        for name, more in (
            ("root", 0), ("weight", 0), ("tree", len(first)), ("src", 0), ("dst", 0),
            ("route_edge", len(first.tree)), ("route_weight", 0), ("hop", 0),
        )
    }  # fmt: skip
    columns["hop_start"] = np.concatenate((first.hop_start, second.hop_start[1:] + first.hop_start[-1]))
    trees = replace(first, collective=ALLREDUCE, reduce_trees=len(first), rate=rate, shard=shard, **columns)
    loads = trees.link_loads.sum(axis=0).tolist()
    pairs = zip(loads, trees.topology.capacity.tolist(), strict=True)
    together = min(Fraction(capacity, load) for load, capacity in pairs if load)
    return replace(trees, rate=together, concurrent=True) if 2 * together >= rate else trees


METHOD = Method(
    "blink",
    frozenset({"root", "only", "without"}),
    (BROADCAST, REDUCE, ALLREDUCE),
    _make,
    movement="trees",
    fabrics=True,
    auto=False,
)
