"""Allreduces in groups where a switch adds for some: every plan is replayed, and as fast as the program's optimum."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from tests.samples.tree_tables import Trees
from topodesign import schedule, verify
from topodesign.plans.plan_ops import split_groups


def _two_groups(folder: Path, crossing: int) -> Path:
    """Three nodes at a switch that adds, and two that have a link of their own; one of these is at the switch, too."""
    links = [{"from": node, "to": "s", "bandwidth": "25GB/s", "duplex": True} for node in "abc"]
    links += [
        {"from": "p", "to": "q", "bandwidth": "25GB/s", "duplex": True},
        {"from": "p", "to": "s", "bandwidth": f"{crossing}GB/s", "duplex": True},
    ]
    switch = {"name": "s", "multicast": True, "aggregation": True}
    path = folder / "two.json"
    path.write_text(json.dumps({"name": "two", "nodes": list("abcpq"), "switches": [switch], "links": links}))
    return path


@pytest.mark.parametrize("crossing", [10, 25])
def test_shares_of_one_group_are_free_where_a_switch_adds_for_another(tmp_path: Path, crossing: int) -> None:
    """A node has one link, over which all its data go out and the sum comes in: 25 GB/s in both groups."""
    plan = schedule(_two_groups(tmp_path, crossing), "allreduce", group=["a,b,c", "p,q"])
    assert verify(plan).ok
    assert plan.claim["algorithmic_bandwidth"] == Fraction(25 * 10**9)
    for part in split_groups(plan):
        one = Trees.of(part)
        weights = dict.fromkeys(one.root.tolist(), 0)
        for root, weight in zip(one.root[: one.reduce_trees].tolist(), one.weight.tolist(), strict=False):
            weights[root] += weight
        if one.shard is not None:
            assert [weights.get(node, 0) for node in part.fabric.compute] == list(one.shard)
        report = verify(part)
        assert not any("overloaded" in one or "carries" in one for one in report.problems)
