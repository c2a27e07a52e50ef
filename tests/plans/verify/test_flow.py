"""The verifier of flows against sets of units at nodes, for every timing model, and mutants of every column."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.conftest import few
from tests.floors import reached
from tests.plans.test_files import PLANS
from tests.plans.test_plan_flows import MORE
from topodesign import schedule
from topodesign.base.errors import ScheduleError, TopodesignError
from topodesign.collectives.collective import EVERYONE
from topodesign.plans.flow import Flow, Flows
from topodesign.plans.step_ops import unfold
from topodesign.plans.verify.data import replay_data
from topodesign.plans.verify.plans import check_flows

PLANS_HERE = {
    **PLANS,
    **MORE,
    "gather": lambda: schedule("torus(2,3)", "gather", root=1),
    "exchange": lambda: schedule("uniring(1,3)", "all-to-all"),
    "pair": lambda: schedule("biring(2,4)", "allgather", group=[[0, 1], [2, 3]]),
}
COLUMNS = ("block", "lo", "hi", "piece", "src", "dst", "start", "end", "part")


def brute(flow: Flow) -> bool:
    """Whether all data arrive: sets of contributions by node, block and unit, instant by instant."""
    nodes, team = flow.topology.nodes, flow.team
    owner = flow.collective.owners(flow.blocks, nodes)
    size = dict(zip(flow.blocks.tolist(), flow.units_of(flow.blocks).tolist(), strict=True))
    group = {b: {v for v in range(nodes) if team[v] == team[o]} for b, o in zip(size, owner.tolist(), strict=True)}
    complete: dict[tuple[int, int], int] = {}
    for number, movement in enumerate(flow.movements):
        places = [column.tolist() for column in flow.collective.places(movement, flow.blocks, nodes)]
        source, goal = (dict(zip(size, place, strict=True)) for place in places)
        has: Counter[tuple[int, int, int]] = Counter()
        for b, units in size.items():
            for v in group[b] if movement.adds else {source[b]}:
                has.update((v, b, u) for u in range(units))
        flying: dict[int, dict[tuple[int, int], int]] = {}
        rows = np.flatnonzero(flow.part == number).tolist()
        for at, takes, row in sorted(
            [(int(flow.end[r]), 0, r) for r in rows] + [(int(flow.start[r]), 1, r) for r in rows]
        ):
            piece, u, v = int(flow.piece[row]), int(flow.src[row]), int(flow.dst[row])
            cells = [(int(flow.block[piece]), unit) for unit in range(int(flow.lo[piece]), int(flow.hi[piece]))]
            for cell in cells:
                if takes and (not has[u, *cell] or (u == source[cell[0]] and at < complete.get(cell, 0))):
                    return False
                if takes:
                    flying.setdefault(row, {})[cell] = has[u, *cell]
                    has[u, *cell] -= has[u, *cell] if movement.adds else 0
                elif movement.adds:
                    has[v, *cell] += flying[row][cell]
                    complete[cell] = at if v == goal[cell[0]] else complete.get(cell, 0)
                else:
                    has[v, *cell] = 1
        for b, units in size.items():
            wanted = {goal[b]} if goal[b] != EVERYONE else group[b]
            many = len(group[b]) if movement.adds else 1
            if any(has[v, b, u] != many for v in wanted for u in range(units)):
                return False
    return True


def mutant(flow: Flow, random: np.random.Generator) -> Flow:
    """Return a flow with one entry of a column changed, or a send less or twice."""
    name = str(random.choice([*COLUMNS, "less", "twice"]))
    if name in {"less", "twice"}:
        rows, row = np.arange(len(flow)), int(random.integers(len(flow)))
        kept = np.delete(rows, row) if name == "less" else np.append(rows, row)
        changes: dict[str, Any] = {one: getattr(flow, one)[kept] for one in COLUMNS[3:]}
        return replace(flow, **changes)
    column = getattr(flow, name).copy()
    row, other = random.integers(len(column), size=2)
    column[row] = column[other] if random.integers(2) else column[row] + random.choice([-1, 1])
    return replace(flow, **{name: column})


@pytest.mark.floor(right=1, wrong=4)
@pytest.mark.parametrize("name", ["rounds", "timed", "phases", "pair", "exchange", "gather"])
def test_data_arrive_as_sets_of_units_say(name: str) -> None:
    flow = replace(PLANS_HERE[name]().flow, circuits=None, routes=None)
    assert brute(flow)
    for seed in few(range(60)):
        try:
            one = mutant(flow, np.random.default_rng([seed, len(name)]))
        except TopodesignError:  # not even the form is right
            continue
        linked = np.ones(len(one), dtype=np.bool_)
        known = bool(np.isin(one.block, one.blocks).all()) and int(one.hi.max()) <= one.units
        right = known and brute(one)
        assert (not replay_data(one, linked).problems) == right
        reached("right" if right else "wrong")


@pytest.mark.parametrize("name", ["trees", "paths"])
def test_data_of_pipelines_arrive_as_sets_of_units_say(name: str) -> None:
    """What is right besides in pipelines is right by sets of units; what these refuse is refused."""
    flow = replace(PLANS_HERE[name]().flow, routes=None)
    assert brute(flow)
    for seed in few(range(30)):
        try:
            one = mutant(flow, np.random.default_rng([seed, len(name)]))
        except TopodesignError:
            continue
        accepted = not replay_data(one, np.ones(len(one), dtype=np.bool_)).problems
        assert not accepted or brute(one)


@pytest.mark.parametrize("name", PLANS)
def test_every_plan_is_right_and_no_send_can_be_left_out(name: str) -> None:
    plan = PLANS_HERE[name]()
    flows = plan.flows
    assert check_flows(flows, several=isinstance(plan.movement, Flows)).ok
    flow = flows[0]
    random = np.random.default_rng(3)
    for row in random.choice(len(flow), size=min(4, len(flow)), replace=False).tolist():
        kept = np.arange(len(flow)) != row
        rows = {one: getattr(flow, one)[kept] for one in COLUMNS[3:]}
        less = replace(flow, routes=None, **rows)
        data = replay_data(less, np.ones(len(less), dtype=np.bool_))
        assert data.problems or replay_data(flow, np.ones(len(flow), dtype=np.bool_)).redundant or data.refilled


def test_who_waits_for_whom_is_said() -> None:
    flow = schedule("uniring(1,4)", "allgather").flow
    last = flow.start == flow.start.max()
    early = replace(flow, start=np.where(last, 0, flow.start), end=np.where(last, 1, flow.end))
    (first, *_) = replay_data(early, np.ones(len(flow), dtype=np.bool_)).problems
    assert "does not have all of them then: it waits for node" in first
    assert ", which sends in step 2" in first


def carries(flow: Flow) -> bool:
    """Whether routes lead where they should, and links carry what they can, from the definition, hop by hop."""
    routes, weight = flow.routes, flow.weight
    assert routes is not None
    assert weight is not None
    room = {(u, v): capacity for u, v, capacity in flow.topology.links() if u != v}
    load: Counter[tuple[int, int, int]] = Counter()
    left = weight[flow.piece].tolist()
    for route, send in enumerate(routes.send.tolist()):
        way = routes.hop[routes.hop_start[route] : routes.hop_start[route + 1]].tolist()
        inner = set(way[1:-1])
        if (way[0], way[-1]) != (int(flow.src[send]), int(flow.dst[send])) or len(set(way)) < len(way):
            return False
        if not inner <= flow.topology.switches:
            return False
        left[send] -= int(routes.weight[route])
        part = 0 if flow.concurrent else int(flow.part[send])
        for link in pairwise(way):
            if link not in room:
                return False
            load[part, *link] += int(routes.weight[route])
    times = defaultdict[int, set[Fraction]](set)
    for piece, part in dict(zip(flow.piece.tolist(), flow.part.tolist(), strict=True)).items():
        times[part].add(Fraction(int(flow.hi[piece] - flow.lo[piece]), int(weight[piece])))
    full = max(Fraction(many, room[u, v]) for (_, u, v), many in load.items())
    return not any(left) and all(len(one) == 1 for one in times.values()) and full * (flow.rate or 0) <= 1


def chunk_mutant(flow: Flow, random: np.random.Generator) -> Flow:
    """A flow with one number of pieces, routes or the rate changed."""
    assert flow.routes is not None
    assert flow.weight is not None
    name = str(random.choice(["weight", "rate", "send", "route weight", "hop", "lo"]))
    if name == "rate":
        return replace(flow, rate=None if flow.rate is None else flow.rate * Fraction(int(random.integers(1, 6)), 3))
    of: dict[str, Any] = {"weight": flow.weight, "lo": flow.lo, "send": flow.routes.send, "hop": flow.routes.hop}
    column = of.get(name, flow.routes.weight).copy()
    row = random.integers(len(column))
    column[row] = max(0, int(column[row]) + random.choice([-1, 1]))
    if name in {"weight", "lo"}:
        return replace(flow, **{name: column})
    changed: dict[str, Any] = {{"route weight": "weight"}.get(name, name): column}
    return replace(flow, routes=flow.routes._replace(**changed))


@pytest.mark.parametrize("name", ["trees", "paths", "orbittrees"])
@pytest.mark.floor(wrong=5)
def test_shares_of_links_are_as_the_definition_says(name: str) -> None:
    """Mutants of weights, rates, routes and units: right if data arrive and links carry them, and only then."""
    flow = unfold(PLANS_HERE[name]().flow)
    assert brute(flow)
    assert carries(flow)
    for seed in few(range(60)):
        try:
            one = chunk_mutant(flow, np.random.default_rng([seed, len(name)]))
        except TopodesignError:  # not even the form is right
            continue
        known = all(
            int(hi) <= int(most) for hi, most in zip(one.hi, one.units_of(one.block.astype(np.int64)), strict=True)
        )
        right = known and carries(one) and brute(one)
        assert check_flows((one,)).ok == right, check_flows((one,)).problems
        if not right:
            reached("wrong")


SIZED = {
    "shards": lambda: schedule("complete(4)", "allreduce", method="forest", shards="2,1,1,0"),
    "matrix": lambda: schedule("complete(3)", "all-to-all", shards=np.array([[0, 2, 1], [1, 0, 3], [1, 1, 0]])),
    "in-network": lambda: schedule("dgx_h100(1)", "allreduce", method="in-network"),
    "orbittrees": PLANS["orbittrees"],
}


@pytest.mark.parametrize("name", SIZED)
def test_no_other_size_of_a_block_is_right(name: str) -> None:
    """Whatever one size is changed to is found or refused, but for what a node has for itself, which stays there."""
    flow = SIZED[name]().flow
    sizes = flow.sizes
    if sizes is None:  # which says that all are alike
        sizes = np.isin(np.arange(flow.collective.block_count(flow.nodes)), flow.blocks).astype(np.int64)
    figures = check_flows((flow,)).figures
    assert check_flows((replace(flow, sizes=sizes),)).figures == figures != {}
    for block, own in enumerate(sizes.tolist()):
        for size in {0, own - 1, own + 1, 2**40, 2**61} - {own}:
            changed = sizes.copy()
            changed[block] = size
            try:
                found = check_flows((replace(flow, sizes=changed),))
            except TopodesignError:  # not even the form is right
                continue
            stays = flow.collective.pairwise and block % (flow.nodes + 1) == 0
            assert found.ok == stays
            assert found.figures == (figures if stays else {})


def test_a_send_of_a_step_takes_one_step() -> None:
    flow = PLANS_HERE["rounds"]().flow
    with pytest.raises(ScheduleError, match="takes one step"):
        replace(flow, start=np.maximum(flow.start - 1, 0))


def test_sizes_have_a_form() -> None:
    """They are whole numbers that can be added up, one for every block, and of flows in chunks."""
    flow = SIZED["shards"]().flow
    wrong: list[Any] = [np.ones(5, dtype=np.int64), np.zeros(4, dtype=np.int64), np.ones(4), np.full(4, 2**60)]
    for sizes in wrong:
        with pytest.raises(ScheduleError, match="sizes must be 4 numbers from 0"):
            replace(flow, sizes=sizes)
    with pytest.raises(ScheduleError, match="only chunks are of blocks that differ"):
        replace(schedule("complete(4)", "allgather").flow, sizes=np.ones(4, dtype=np.int64))
