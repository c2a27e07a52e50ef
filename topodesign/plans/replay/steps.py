"""The verifier of phases and of routed rounds: what moves is replayed block by block, as rounds are; exact.

Of phases every port has one circuit at a time, and every send goes over a circuit of its own phase: over another, of
an earlier or later one, it has none. Routed rounds are right if and only if every route goes over links, through no
node twice, and the sends between the ends of routes do what the collective promises, on the graph of these ends.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.declared import key, keys_of
from topodesign.plans.replay.found import WASTED, Found, marked, wasteful
from topodesign.plans.replay.rounds import (
    bad_links,
    find_links,
    fullest_of_steps,
    replay_problems,
    schedule_cost,
    verify_rounds,
)
from topodesign.plans.rounds import Phases, Routed
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True, slots=True)
class PhasesFound(Cost):
    """What phases cost."""

    changes: int
    redundant: int
    refilled: int

    KEYS = (*keys_of(Cost.KEYS), key("changes", "Changes of circuits."), *WASTED)


def verify_phases(phases: Phases) -> Found:
    """Check the ports of every phase, every send and the postcondition, and recompute steps, y and changes.

    y = (d/n) * sum over steps of the largest units / (units * circuits) of a link, d being the ports of a node.
    """
    rounds = phases.rounds
    problems, factor = [], Fraction(0)
    link = np.full(len(rounds), -1, dtype=np.int64)
    now = phases.phase_of(rounds.step)
    for number in range(len(phases.first_step)):
        circuits = phases.circuits_of(number)
        problems += _port_problems(circuits, number, duplex=phases.duplex)
        graph = Topology.from_arrays(phases.nodes, circuits[:, 0], circuits[:, 2])
        mine = now == number
        part = rounds.rows(mine)
        link[mine] = find_links(graph, part)
        if len(part):
            cost = schedule_cost(graph, part, link[mine])
            factor += cost.bandwidth * Fraction(phases.ports, max(1, graph.degree))
    compute = np.ones(phases.nodes, dtype=np.bool_)
    whole = phases.union()
    members = rounds.collective.members(phases.nodes)
    known = np.isin(rounds.block, rounds.collective.blocks(members, phases.nodes))
    problems += bad_links(whole, rounds, link, compute, known)
    more, redundant, refilled = replay_problems(whole, rounds, (link >= 0) & known)
    problems += more
    cost = PhasesFound(rounds.steps, factor, len(phases.first_step) - 1, redundant, refilled)
    return Found(
        tuple(problems),
        {"steps": Fraction(cost.steps), "bandwidth": factor, "changes": Fraction(cost.changes)},
        cost,
        f"{cost.steps} steps, y = {factor}, {cost.changes} changes",
        wasteful(redundant, refilled),
    )


def _port_problems(circuits: IntArray, number: int, *, duplex: bool) -> list[str]:
    """Say which ports of a phase have two circuits, a circuit to themselves, or none back where there must be one."""
    problems: list[str] = []
    for ends, word in ((circuits[:, :2], "from"), (circuits[:, 2:], "to")):
        _, place, count = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
        twice = count[place.ravel()] > 1

        def words(row: int, ends: IntArray = ends, word: str = word) -> str:
            return f"phase {number}: two circuits {word} port {ends[row, 1]} of node {ends[row, 0]}"

        problems += marked(twice, words, "ports with two circuits")
    problems += marked(
        circuits[:, 0] == circuits[:, 2],
        lambda row: f"phase {number}: a circuit from node {circuits[row, 0]} to itself",
        "circuits from a node to itself",
    )
    if duplex:
        there = set(map(tuple, circuits.tolist()))
        alone = np.array([(c, q, a, p) not in there for a, p, c, q in circuits.tolist()], dtype=np.bool_)
        problems += marked(
            alone,
            lambda row: f"phase {number}: no circuit back from node {circuits[row, 2]} to node {circuits[row, 0]}",
            "circuits without one back",
        )
    return problems


@dataclass(frozen=True, slots=True)
class RoutedFound(Cost):
    """What routed rounds cost."""

    hops: int
    redundant: int

    KEYS = ("steps", key("hops", "Links of the longest way of each step, added up."), "bandwidth", WASTED[0])


def replayed_routed(topology: Topology, moved: Routed) -> Found:
    """Replay routed rounds."""
    links = {(u, v): at for at, (u, v, _) in enumerate(topology.links()) if u != v}
    start = moved.hop_start.tolist()
    routes = [moved.hop[a:b].tolist() for a, b in itertools.pairwise(start)]
    over = [[links.get(pair, -1) for pair in itertools.pairwise(way)] for way in routes]
    missing = np.array([-1 in one for one in over], dtype=np.bool_)
    again = np.array([len(set(way)) < len(way) for way in routes], dtype=np.bool_)

    def words(number: int) -> str:
        return f"route {number}: {' -> '.join(map(str, routes[number]))}"

    problems = marked(missing, lambda at: f"{words(at)} goes where there is no link", "such routes")
    problems += marked(again, lambda at: f"{words(at)} meets a node twice", "such routes")
    if problems:
        return Found(tuple(problems))
    report = verify_rounds(moved.joined, moved.rounds)
    members = moved.collective.members(topology.nodes, topology.switches)
    share, shards = moved.collective.shares(moved.block, topology.nodes, len(members))
    carried: dict[tuple[int, int], int] = defaultdict(int)
    far: dict[int, int] = defaultdict(int)
    sent: dict[tuple[int, int], int] = defaultdict(int)
    widths = ((moved.hi - moved.lo) * share).tolist()
    for step, route, width in zip(moved.step.tolist(), moved.route.tolist(), widths, strict=True):
        sent[step, route] += width
    for (step, route), width in sent.items():
        far[step] = max(far[step], len(over[route]))
        for link in over[route]:
            carried[step, link] += width
    keys = np.array([*carried], dtype=np.int64).reshape(-1, 2)
    total = fullest_of_steps(keys[:, 0], topology.capacity[keys[:, 1]], np.array([*carried.values()], dtype=np.int64))
    y, hops = Fraction(topology.degree, shards * moved.units) * total, sum(far.values())
    return Found(
        report.problems,
        {"steps": Fraction(moved.steps), "hops": Fraction(hops), "bandwidth": y},
        RoutedFound(moved.steps, y, hops, report.redundant),
        f"{moved.steps} steps over {hops} links, y = {y}",
        report.found().notes,
    )
