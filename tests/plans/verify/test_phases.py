"""The verifier of phases, against a replay of sets of blocks, that of routes, and all that can be wrong with a plan."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from tests.plans.test_phases import moved
from topodesign.plans.rounds import Phases, Routed
from topodesign.plans.verify.plans import check_movement
from topodesign.plans.verify.verdict import Verdict
from topodesign.schedulers.scheduling import schedule


def check(phases: Phases) -> Verdict:
    return check_movement(phases.union(), phases)


def right(phases: Phases) -> bool:
    """Whether an all-to-all or allgather is right, by sets of what every node has."""
    held: dict[int, set[tuple[int, int]]] = defaultdict(set)
    pairwise, nodes = phases.collective.pairwise, phases.nodes
    units = range(phases.units)
    for block in range(nodes * nodes if pairwise else nodes):
        held[block // nodes if pairwise else block] |= {(block, unit) for unit in units}
    number = 0
    for step in range(1, phases.steps + 1):
        while number + 1 < len(phases.first_step) and phases.first_step[number + 1] <= step:
            number += 1
        circuits = phases.circuits_of(number).tolist()
        senders, receivers = [(a, p) for a, p, _, _ in circuits], [(b, q) for _, _, b, q in circuits]
        if len(set(senders)) < len(senders) or len(set(receivers)) < len(receivers):
            return False
        now: dict[int, set[tuple[int, int]]] = defaultdict(set)
        for row in np.flatnonzero(phases.step == step):
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
        column = getattr(phases, name).copy()
        at = draw.randrange(len(column))
        if name == "first_step":
            column[1] = draw.randint(2, phases.steps)
        elif name == "step":
            column[at] = draw.randint(1, phases.steps)
        else:
            column[at] = draw.randrange(phases.nodes)
        other = phases.having(**{name: column})
        found = check(other)
        loops = bool((other.circuit_src == other.circuit_dst).any())
        assert bool(found.problems) == (not right(other) or loops), name
        wrong += bool(found.problems)
    assert wrong > 20  # a floor


def test_it_counts_steps_loads_and_changes() -> None:
    found = check(moved("all-to-all"))
    # over a ring of two and then one of three: blocks 1, 3, 5 take the first step, 2 and 3 the second, 4 and 5 two
    assert found.figures == {"steps": 3, "bandwidth": Fraction(3 + 4 + 2, 6), "changes": 1}


def test_a_port_has_one_circuit_and_a_duplex_one_leads_back() -> None:
    phases = moved("all-to-all")
    twice = phases.having(circuit_src=np.where(phases.phase == 1, 0, phases.circuit_src))
    assert any("two circuits from port 0 of node 0" in line for line in check(twice).problems)
    alone = phases.having(duplex=True)
    assert "phase 0: no circuit back from node 1 to node 0" in check(alone).problems


def test_routes_are_ways_and_loads_are_counted_link_by_link() -> None:
    """One vertex of a route changed: right if and only if it still is a way over links between the same ends."""
    plan = schedule("torus(8)", "allgather", method="swing")  # whose ways have up to three links
    routed, links = plan.moving(Routed), {(u, v) for u, v, _ in plan.topology.links()}
    load: Counter[tuple[int, int, int]] = Counter()
    ways = [routed.hop[a:b].tolist() for a, b in pairwise(routed.hop_start.tolist())]
    rows = zip(*(getattr(routed, name).tolist() for name in ("step", "route", "lo", "hi")), strict=True)
    longest: dict[int, int] = defaultdict(int)
    for step, route, lo, hi in rows:
        longest[step] = max(longest[step], len(ways[route]) - 1)
        for u, v in pairwise(ways[route]):
            load[step, u, v] += hi - lo
    fullest = sum(max(units for (at, *_), units in load.items() if at == step) for step in longest)
    y = Fraction(plan.topology.degree * fullest, plan.topology.nodes * routed.units)  # of links of capacity 1
    found = check_movement(plan.topology, routed)
    assert found.figures == {"steps": routed.steps, "hops": sum(longest.values()), "bandwidth": y}
    draw = random.Random(3)  # noqa: S311
    for _ in range(40):
        hop = routed.hop.copy()
        at = draw.randrange(len(hop))
        hop[at] = draw.randrange(plan.topology.nodes)
        route = int(np.searchsorted(routed.hop_start, at, side="right")) - 1
        way = hop[routed.hop_start[route] : routed.hop_start[route + 1]].tolist()
        ends = way[0] == ways[route][0] and way[-1] == ways[route][-1]
        right = ends and links >= {*pairwise(way)} and len({*way}) == len(way)
        assert (not check_movement(plan.topology, routed.having(hop=hop)).problems) == right
    route = next(number for number, way in enumerate(ways) if len(way) > 2)
    there_and_back = np.insert(routed.hop, routed.hop_start[route] + 1, [ways[route][1], ways[route][0]])
    later = routed.hop_start + 2 * (np.arange(len(routed.hop_start)) > route)
    (problem,) = check_movement(plan.topology, routed.having(hop=there_and_back, hop_start=later)).problems
    assert "meets a node twice" in problem
