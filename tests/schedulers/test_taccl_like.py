"""The TACCL-like baseline: its ways are quickest ones, links take turns, and it is never better than what is proved."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.conftest import few
from tests.samples.uneven import mesh, uneven
from topodesign.base.errors import ScheduleError
from topodesign.collectives import COLLECTIVES, Collective
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import concatenate
from topodesign.plans.verify.plans import check_movement, verify
from topodesign.schedulers.scheduling import schedule


@pytest.mark.parametrize("name", list(COLLECTIVES))
def test_it_is_right_and_no_faster_than_what_is_proved(name: str) -> None:
    root = 0 if COLLECTIVES[name].rooted else None
    for seed in range(6):
        topology, table = uneven(5, seed)
        plan = schedule(topology, name, method="taccl-like", link_table=table, root=root, chunks=1 + seed % 2)
        assert verify(plan).ok
        least = schedule(topology, name, method="tacos", link_table=table, root=root, tries=1, chunks=1 + seed % 2)
        assert plan.claim["time"] >= Fraction(least.generator["bound"])


@pytest.mark.dear("dgx_a100(1)-tacos")
@pytest.mark.parametrize("method", ["taccl-like", "tacos"])
@pytest.mark.parametrize("place", ["dgx_a100(1)", "fat_tree(2,2,1,2)", "ualink_pod(4,2)"])
def test_sends_go_from_node_to_node_through_switches(place: str, method: str) -> None:
    """Sends begin and end at nodes, each with a way over links; those of taccl-like turned round take as long."""
    took: dict[Collective, Fraction] = {}
    tries = 1 if method == "tacos" else None
    for collective in few([one for one in COLLECTIVES.values() if len(one.parts) == 1], 3):
        for one in (collective, collective.dual):
            plan = schedule(place, one, method=method, root=0 if one.rooted else None, tries=tries)
            assert verify(plan).ok
            flow = plan.movement
            assert isinstance(flow, Flow)
            assert flow.routes is not None
            assert np.isin((flow.src, flow.dst), flow.members).all()
            took[one] = plan.claim["time"]
        assert method == "tacos" or took[collective] == took[collective.dual]


def test_every_chunk_takes_as_many_links_as_its_way_is_long() -> None:
    """On unit links: from the source of a scatter or along a tree, each node is as far as the graph says."""
    place = mesh(3, 3)
    plan = schedule(place, "allgather", method="taccl-like", alpha=0, bandwidth=8 * 4, size=9)
    timed = plan.movement
    assert isinstance(timed, Flow)
    away = {(block, block): 0 for block in range(9)}
    for row in timed.start.argsort().tolist():
        src, dst, block = int(timed.src[row]), int(timed.dst[row]), int(timed.block[row])
        away[block, dst] = away[block, src] + 1
        assert away[block, dst] == abs(block // 3 - dst // 3) + abs(block % 3 - dst % 3)
    assert len(away) == 81
    assert Fraction(plan.generator["uncrowded"]) == 4
    assert plan.claim["time"] >= 4


def test_sends_with_ways_are_not_put_after_sends_without() -> None:
    """Their allreduce would have lost the ways of one half."""
    first, second = (
        schedule("fat_tree(2,2,1,2)", name, method="taccl-like").flow for name in ("reduce-scatter", "allgather")
    )
    assert check_movement(first.place, concatenate(first, second)).ok
    for halves in ((replace(first, routes=None), second), (first, replace(second, routes=None))):
        with pytest.raises(ScheduleError, match="over the same links"):
            concatenate(*halves)
