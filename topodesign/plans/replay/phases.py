"""The verifier of phases: every port has one circuit at a time, and every send goes over a circuit of its own phase.

What moves is replayed block by block as rounds are, over the circuits that are up in the step of each send; a send over
another circuit, of an earlier or later phase, has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.declared import key, keys_of
from topodesign.plans.phases import Phases
from topodesign.plans.replay.found import WASTED, Found, marked, wasteful
from topodesign.plans.replay.rounds import bad_links, find_links, replay_problems, schedule_cost
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
