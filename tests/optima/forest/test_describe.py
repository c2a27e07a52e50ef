"""The description of trees on a fabric agrees with the trees."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from topodesign.fabrics.presets import build_fabric
from topodesign.optima.forest.describe import TreeFacts, tree_summary
from topodesign.optima.forest.schedule import forest_schedule
from topodesign.plans.measure import flow_claim


def test_record_and_summary_say_the_same() -> None:
    fabric = build_fabric("dgx_h100(1)")
    trees = forest_schedule(fabric.topology, "allgather", shard=[2, *[1] * 7])
    flow = replace(trees, place=fabric)
    record, text, reached = TreeFacts(fabric, flow).record(), tree_summary(fabric, flow), flow_claim(flow)
    assert Fraction(record["algorithmic_bandwidth"]) == reached["algorithmic_bandwidth"]
    assert record["shards"] == {name: 2 if name == "box0/gpu0" else 1 for name in fabric.names[:8]}
    assert f"{record['k']} trees per root and unit of shard size" in text or record["k"] == 1
    assert f"{record['trees']} different ones, height {record['height']}" in text
    assert "--algorithm in-network" in text
    plain = build_fabric("dgx_a100(1)")
    flow = replace(forest_schedule(plain.topology, "allgather"), place=plain)
    assert "in-network" not in tree_summary(plain, flow)
