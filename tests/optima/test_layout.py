"""Layouts: never dearer than the order of the nodes, told exactly, the same for a seed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from topodesign.base.errors import TopodesignError
from topodesign.fabrics.fabric import Shared
from topodesign.fabrics.places import as_fabric
from topodesign.optima.group_price import price_groups
from topodesign.optima.layout import layout
from topodesign.plans.replay.plans import verify
from topodesign.schedulers.scheduling import schedule


@pytest.mark.parametrize(
    ("place", "traffic"),
    [
        ("torus(4,4)", ["8x2:1=allgather"]),
        ("genkautz(4,12)", ["3x4:1=all-to-all", "3x4:0=allreduce@64MiB"]),
        ("hypercube(3)", ["4x2:1=all-to-all"]),
        ("dgx_a100(2)", ["2x8:1=all-to-all"]),
    ],
)
def test_never_dearer_and_told_exactly(place: str, traffic: list[str]) -> None:
    found = layout(place, traffic, tries=3)
    assert sorted(found.nodes) == sorted(found.place.compute)
    assert found.gain is not None
    assert found.gain >= 1
    for stream, before, after in zip(found.streams, found.before or (), found.after, strict=True):
        ranks = [found.place.names[node] for node in found.nodes]
        assert price_groups(place, stream.collective, stream.group).bandwidth == before
        assert price_groups(place, stream.collective, stream.group, placement=ranks).bandwidth == after
    assert layout(place, traffic, tries=3).nodes == found.nodes
    assert layout(place, traffic, tries=0).gain == 1


def test_partners_far_apart_are_brought_together(tmp_path: Path) -> None:
    found = layout("torus(4,4)", "8x2:1=allgather")
    assert found.gain == 2
    path = found.save(tmp_path / "ranks.csv")
    plan = schedule("torus(4,4)", "allgather", group="8x2:1", placement=path)
    assert verify(plan).ok  # over the links among members alone, which there are now
    assert layout("torus(4,4)", ("8x2:1", "allgather", "1GiB")).nodes == found.nodes


def test_groups_that_could_not_reach_each_other() -> None:
    found = layout("torus(4,4)", "8x2:1=allgather", others="vanish")
    assert found.before is None
    assert found.gain is None
    assert found.record()["gain"] is None


def test_limits_that_links_share() -> None:
    fabric = as_fabric("dgx_a100(1)")
    slow = tuple((fabric.names[gpu], fabric.names[8]) for gpu in (0, 1))  # they send as much together as one does
    shared = replace(fabric, shared=(Shared("bus", fabric.links()[0].bandwidth, slow),))
    found = layout(shared, "2x4:1=allreduce", tries=3)
    ranks = [shared.names[node] for node in found.nodes]
    assert price_groups(shared, "allreduce", "2x4:1", placement=ranks).bandwidth == found.after[0]
    assert found.after[0] > layout(fabric, "2x4:1=allreduce", tries=3).after[0]
    with pytest.raises(TopodesignError, match="the price of all-to-all in groups"):
        layout(shared, ["2x4:1=allreduce", "2x4:0=all-to-all"])


@pytest.mark.parametrize(
    ("traffic", "options", "words"),
    [
        ("4x5:0", {}, "4x5 are 20 ranks, and there are 16 nodes"),
        ("4x4:0=broadcast", {}, "has a root"),
        ("4x4", {}, "say the groups by a shape and axes"),
        ("4x4:0=gossip", {}, "unknown collective"),
        ("4x4:0@lots", {}, "lots"),
        ([], {}, "no traffic"),
        (7, {}, "traffic is text"),
        ([7], {}, "traffic is text"),
        ("4x4:0", {"seed": -1}, "seed must be"),
        ("4x4:0", {"tries": -1}, "tries must be"),
        ("4x4:0", {"others": "stay"}, "others 'stay'"),
    ],
)
def test_what_is_wrong_is_said(traffic: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(TopodesignError, match=words):
        layout("torus(4,4)", traffic, **options)
