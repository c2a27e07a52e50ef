"""What capable switches save on real fabrics, counted again link by link, without the columns of the module."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest

from tests.samples.trees import TreeCollective
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.forest.describe import prune
from topodesign.optima.forest.schedule import forest_schedule
from topodesign.plans.trees import Trees

Loads = Counter[tuple[int, int]]


def routes(schedule: Trees, edge: int) -> list[tuple[int, list[int]]]:
    rows = [row for row, owner in enumerate(schedule.route_edge.tolist()) if owner == edge]
    starts = schedule.hop_start.tolist()
    return [(int(schedule.route_weight[row]), schedule.hop[starts[row] : starts[row + 1]].tolist()) for row in rows]


def traffic(schedule: Trees) -> Loads:
    """Weight over every link when switches only forward."""
    loads: Loads = Counter()
    for edge in range(len(schedule.tree)):
        for weight, way in routes(schedule, edge):
            loads.update(dict.fromkeys(pairwise(way), weight))
    return loads


@pytest.mark.once
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize("spec", ["dgx_h100(1)", "mi250(2)", "dgx_h100(2)"])
def test_savings_counted_again(spec: str, collective: TreeCollective) -> None:
    """Every unit enters every node but the root once and every capable switch at most once; the rest is saved."""
    fabric = build_fabric(spec)
    schedule = forest_schedule(fabric.topology, collective, k=1)
    pruned = prune(schedule, fabric.multicast, fabric.aggregation)
    before = traffic(schedule)
    after: Loads = Counter()
    entered: Counter[tuple[int, int, int]] = Counter()
    for tree, src, dst, lo, hi in zip(pruned.tree, pruned.src, pruned.dst, pruned.lo, pruned.hi, strict=True):
        after[int(src), int(dst)] += int(hi - lo)
        end = int(src) if tree < schedule.reduce_trees else int(dst)  # data enter in-trees where they come from
        for unit in range(int(lo), int(hi)):
            entered[int(tree), unit, end] += 1
    assert pruned.saved == 1 - Fraction(after.total(), before.total())
    assert all(after[link] <= before[link] for link in before)
    assert after.keys() <= before.keys()
    for tree, root in enumerate(schedule.root.tolist()):
        capable = fabric.aggregation if tree < schedule.reduce_trees else fabric.multicast
        for unit in range(int(schedule.weight[tree])):
            for node in fabric.compute:
                assert entered[tree, unit, node] == (node != root)
            assert all(entered[tree, unit, switch] <= 1 for switch in capable)
    assert (pruned.saved > 0) == bool(fabric.multicast)


def test_one_box_sends_every_shard_once() -> None:
    """Eight nodes around a switch: 1 + 7 crossings instead of 7 + 7."""
    fabric = build_fabric("dgx_h100(1)")
    pruned = prune(forest_schedule(fabric.topology, "allgather"), fabric.multicast, fabric.aggregation)
    assert pruned.saved == Fraction(3, 7)
    assert pruned.saved_at_nodes == Fraction(6, 7)
