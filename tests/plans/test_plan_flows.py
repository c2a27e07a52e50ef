"""Flows of plans send what the tables of transfers say, whatever kind of movement a plan has."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.plans.test_files import PLANS
from topodesign import schedule
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.plans.flow import Flow
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import adds_at_ranks, list_relays, list_transfers
from topodesign.plans.step_ops import unfold
from topodesign.plans.transfers import Transfers

Sent = list[tuple[int, int, int, int, Fraction, Fraction]]

GROUPS = [range(8), range(8, 16)]
HALVES = [[f"box0/gpu{gpu}" for gpu in range(first, first + 4)] for first in (0, 4)]
MORE = {
    "groups": lambda: schedule("torus(4,4)", "allgather", group=GROUPS),
    "tree groups": lambda: schedule("dgx_a100(1)", "allreduce", group=HALVES, method="fluid"),
    "in-network": lambda: schedule("dgx_h100(1)", "allreduce", method="in-network"),
    "switched": lambda: schedule("dgx_a100(2)", "allgather", method="tacos", size="1MiB"),
    "all-to-all": lambda: schedule("torus(3,3)", "all-to-all"),
}


def sent_by(flow: Flow) -> Sent:
    """Return what a flow sends among ranks, in fractions of blocks."""
    topology = flow.topology
    computes = np.ones(topology.nodes, dtype=np.bool_)
    computes[list(topology.switches)] = False
    number = (np.cumsum(computes) - 1).tolist()
    blocks = flow.block[flow.piece]
    units = flow.units_of(blocks.astype(np.int64)).tolist()
    ranks = int(computes.sum())
    named = [
        number[b // topology.nodes] * ranks + number[b % topology.nodes] if flow.collective.pairwise else number[b]
        for b in blocks.tolist()
    ]
    columns = (flow.part, flow.src, flow.dst, flow.lo[flow.piece], flow.hi[flow.piece])
    return sorted(
        (part, number[src], number[dst], block, Fraction(lo, whole), Fraction(hi, whole))
        for part, src, dst, lo, hi, block, whole in zip(*(c.tolist() for c in columns), named, units, strict=True)
    )


def sent_in(found: Transfers) -> Sent:
    """Return the same of a table of transfers."""
    columns = (found.part, found.src, found.dst, found.block, found.lo, found.hi)
    return sorted(
        (part, src, dst, block, Fraction(lo, found.units), Fraction(hi, found.units))
        for part, src, dst, block, lo, hi in zip(*(column.tolist() for column in columns), strict=True)
    )


def unfolded(plan: Plan) -> Plan:
    moved = plan.movement
    return replace(plan, movement=unfold(moved) if isinstance(moved, Flow) else moved)


@pytest.mark.parametrize("name", [*PLANS, *MORE])
def test_flows_send_what_transfers_say(name: str) -> None:
    plan = unfolded((PLANS | MORE)[name]())
    flows = plan.flows
    if len(list_relays(plan)) or adds_at_ranks(plan):  # of which there are no such tables
        assert len(flows) == (3 if name == "stages" else 1)
    else:
        assert [sent_by(one) for one in flows] == [sent_in(one) for one in list_transfers(plan)]


@pytest.mark.parametrize("name", ["orbitrounds", "orbittrees"])
def test_a_folded_flow_sends_of_the_representatives_alone(name: str) -> None:
    plan = PLANS[name]()
    own, whole = plan.flow, unfolded(plan).flow
    assert own.fold is not None
    known = own.fold.represented_by
    assert len(own) * int(np.bincount(known).max()) == len(whole)
    assert own.units == whole.units
    mine = np.isin(whole.block[whole.piece], own.fold.representatives)
    assert int(mine.sum()) == len(own)


def test_routes_lead_from_end_to_end() -> None:
    for name in ("trees", "paths", "routed"):
        flow = PLANS[name]().flow
        send, link = flow.find_links()
        assert link.min() >= 0
        assert flow.routes is not None
        first, last = flow.routes.hop_start[:-1], flow.routes.hop_start[1:] - 1
        assert np.array_equal(flow.routes.hop[first], flow.src[flow.routes.send])
        assert np.array_equal(flow.routes.hop[last], flow.dst[flow.routes.send])
        assert sorted(set(send.tolist())) == list(range(len(flow)))


def test_units_are_those_of_the_whole() -> None:
    assert schedule("torus(3,3)", "allgather").flow.whole_units % 9 == 0
    paths = PLANS["paths"]().flow
    assert paths.whole_units == paths.units * len(paths.members)


def test_form_is_checked() -> None:
    flow = schedule("biring(2,4)", "allgather").flow
    with pytest.raises(ScheduleError, match="lo < hi"):
        replace(flow, hi=flow.lo)
    with pytest.raises(ScheduleError, match="from 0 to 3"):
        replace(flow, dst=flow.dst + 4)
    with pytest.raises(ScheduleError, match="shape"):
        replace(flow, end=flow.end[1:])
    with pytest.raises(InfeasibleError, match="3 flows"):
        _ = PLANS["stages"]().flow
