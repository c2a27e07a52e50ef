"""The verifier of phases, against a replay of sets of blocks, that of routes, and all that can be wrong with a plan."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.plans.test_phases import moved
from topodesign.plans.flow import Flow
from topodesign.plans.verify.plans import check_flows
from topodesign.plans.verify.verdict import Verdict
from topodesign.schedulers.scheduling import schedule

CIRCUITS = {"first_step": "begin", "circuit_src": "src", "circuit_dst": "dst"}


def check(phases: Flow) -> Verdict:
    return check_flows((phases,))


def changed(phases: Flow, name: str, column: np.ndarray) -> Flow:
    """Return phases with another column of their sends or circuits."""
    if name not in CIRCUITS:
        own: dict[str, Any] = {"start": column - 1, "end": column} if name == "step" else {name: column}
        return replace(phases, **own)
    column = column - 1 if name == "first_step" else column
    ends: dict[str, Any] = {CIRCUITS[name]: column}
    return replace(phases, circuits=phases.switching._replace(**ends))


def column_of(phases: Flow, name: str) -> np.ndarray:
    if name in CIRCUITS:
        return np.array(getattr(phases.switching, CIRCUITS[name])) + (name == "first_step")
    return np.array(phases.end if name == "step" else getattr(phases, name))


def right(phases: Flow) -> bool:
    """Whether an all-to-all or allgather is right, by sets of what every node has."""
    held: dict[int, set[tuple[int, int]]] = defaultdict(set)
    pairwise, nodes = phases.collective.pairwise, phases.nodes
    units = range(phases.units)
    for block in range(nodes * nodes if pairwise else nodes):
        held[block // nodes if pairwise else block] |= {(block, unit) for unit in units}
    number, first = 0, phases.switching.first_step
    for step in range(1, phases.steps + 1):
        while number + 1 < len(first) and first[number + 1] <= step:
            number += 1
        circuits = phases.switching.rows(number).tolist()
        senders, receivers = [(a, p) for a, p, _, _ in circuits], [(b, q) for _, _, b, q in circuits]
        if len(set(senders)) < len(senders) or len(set(receivers)) < len(receivers):
            return False
        now: dict[int, set[tuple[int, int]]] = defaultdict(set)
        for row in np.flatnonzero(phases.end == step):
            src, dst, block = (int(getattr(phases, name)[row]) for name in ("src", "dst", "block"))
            some = {(block, unit) for unit in range(phases.lo[row], phases.hi[row])}
            if not some <= held[src] or not any((a, b) == (src, dst) for a, _, b, _ in circuits):
                return False
            now[dst] |= some
        for dst, some in now.items():
            held[dst] |= some
    goals = {(block % nodes, block) for block in range(nodes * nodes)} if pairwise else {
        (node, block) for node in range(nodes) for block in range(nodes)
    }  # fmt: skip
    return all((block, unit) in held[node] for node, block in goals for unit in units)


@pytest.mark.parametrize("collective", ["all-to-all", "allgather"])
def test_it_finds_what_sets_of_blocks_find(collective: str) -> None:
    phases, draw = moved(collective), random.Random(3)  # noqa: S311
    assert right(phases)
    assert not check(phases).problems
    wrong = 0
    for _ in range(60):
        name = draw.choice(["step", "src", "dst", "first_step", "circuit_dst", "circuit_src"])
        column = column_of(phases, name).copy()
        at = draw.randrange(len(column))
        if name == "first_step":
            column[1] = draw.randint(2, phases.steps)
        elif name == "step":
            column[at] = draw.randint(1, phases.steps)
        else:
            column[at] = draw.randrange(phases.nodes)
        other = changed(phases, name, column)
        found = check(other)
        loops = bool((other.switching.src == other.switching.dst).any())
        assert bool(found.problems) == (not right(other) or loops), name
        wrong += bool(found.problems)
    assert wrong > 20  # a floor


def test_it_counts_steps_loads_and_changes() -> None:
    found = check(moved("all-to-all"))
    # over a ring of two and then one of three: blocks 1, 3, 5 take the first step, 2 and 3 the second, 4 and 5 two
    assert found.figures == {"steps": 3, "bandwidth": Fraction(3 + 4 + 2, 6), "changes": 1}


def test_a_port_has_one_circuit_and_a_duplex_one_leads_back() -> None:
    phases = moved("all-to-all")
    circuits = phases.switching
    twice = changed(phases, "circuit_src", np.where(circuits.phase == 1, 0, circuits.src))
    assert any("two circuits from port 0 of node 0" in line for line in check(twice).problems)
    alone = replace(phases, circuits=circuits._replace(duplex=True))
    assert "phase 0: no circuit back from node 1 to node 0" in check(alone).problems


def test_routes_are_ways_and_loads_are_counted_link_by_link() -> None:
    """One vertex of a route changed: right if and only if it still is a way over links between the same ends."""
    plan = schedule("torus(8)", "allgather", method="swing")  # whose ways have up to three links
    flow, links = plan.flow, {(u, v) for u, v, _ in plan.topology.links()}
    routes = flow.routes
    assert routes is not None
    load: Counter[tuple[int, int, int]] = Counter()
    ways = [routes.hop[a:b].tolist() for a, b in pairwise(routes.hop_start.tolist())]
    longest: dict[int, int] = defaultdict(int)
    for way, step, lo, hi in zip(ways, *(one.tolist() for one in (flow.end, flow.lo, flow.hi)), strict=True):
        longest[step] = max(longest[step], len(way) - 1)
        for u, v in pairwise(way):
            load[step, u, v] += hi - lo
    fullest = sum(max(units for (at, *_), units in load.items() if at == step) for step in longest)
    y = Fraction(plan.topology.degree * fullest, plan.topology.nodes * flow.units)  # of links of capacity 1
    assert check(flow).figures == {"steps": flow.steps, "hops": sum(longest.values()), "bandwidth": y}
    draw = random.Random(3)  # noqa: S311
    for _ in range(40):
        hop = routes.hop.copy()
        at = draw.randrange(len(hop))
        hop[at] = draw.randrange(plan.topology.nodes)
        route = int(np.searchsorted(routes.hop_start, at, side="right")) - 1
        way = hop[routes.hop_start[route] : routes.hop_start[route + 1]].tolist()
        ends = way[0] == ways[route][0] and way[-1] == ways[route][-1]
        right = ends and links >= {*pairwise(way)} and len({*way}) == len(way)
        assert (not check(replace(flow, routes=routes._replace(hop=hop))).problems) == right
    route = next(number for number, way in enumerate(ways) if len(way) > 2)
    there_and_back = np.insert(routes.hop, routes.hop_start[route] + 1, [ways[route][1], ways[route][0]])
    later = routes.hop_start + 2 * (np.arange(len(routes.hop_start)) > route)
    again = replace(flow, routes=routes._replace(hop=there_and_back, hop_start=later))
    (problem,) = check(again).problems
    assert "meets a node twice" in problem
