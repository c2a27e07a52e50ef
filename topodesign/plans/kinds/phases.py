"""The kind whose circuits change on the way: rounds, over another topology in every phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from topodesign.plans.kinds.kind import Kind
from topodesign.plans.measure import cost_of
from topodesign.plans.phases import Phases
from topodesign.plans.plan import Plan
from topodesign.plans.replay.found import Found
from topodesign.plans.replay.phases import verify_phases
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import relabel
from topodesign.plans.timing.conditions import Conditions, Run
from topodesign.plans.timing.phases import run_phases
from topodesign.topology.topology import IntArray, Topology


class OfPhases(Kind[Phases]):
    """Rounds over circuits that change."""

    movement, words, pace, title = Phases, "phases", "steps", ("phases",)

    def replayed(self) -> Found:
        """Return what the replay of every block over the circuits of each phase finds."""
        return verify_phases(self.moved)

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        """Return its sends over all links that there are at some time."""
        return self.plan.topology, self.moved.rounds

    def measures(self) -> Mapping[str, Fraction]:
        """Return steps, y and changes."""
        moved, factor = self.moved, Fraction(0)
        now = moved.phase_of(moved.step)
        for phase in range(moved.changes + 1):
            graph = moved.topology_of(phase)
            cost = cost_of(graph, moved.rounds.rows(now == phase))
            factor += cost.bandwidth * Fraction(moved.ports, max(1, graph.degree))
        return {"steps": Fraction(moved.steps), "bandwidth": factor, "changes": Fraction(moved.changes)}

    @property
    def changes(self) -> tuple[int, ...]:
        """The last step of each phase but the last."""
        return tuple((self.moved.first_step[1:] - 1).tolist())

    def timed(self, now: Conditions) -> Run:
        """Return how long it takes, with the changes."""
        return run_phases(self.plan, self.moved, now)

    def alone(self, place: Topology, rounds: Rounds, members: Sequence[int]) -> Plan:  # noqa: ARG002
        """Return the plan of what members do by themselves, over the circuits among them."""
        moved, number = self.moved, np.full(self.moved.nodes, -1)
        number[list(members)] = np.arange(len(members))
        circuits = []
        for phase in range(moved.changes + 1):
            rows = moved.circuits_of(phase)
            rows[:, ::2] = number[rows[:, ::2]]
            circuits.append(rows[(rows[:, ::2] >= 0).all(axis=1)])
        how: Any = {name: getattr(moved, name) for name in ("ports", "delay", "moving", "duplex")}
        own = Phases.of(rounds, circuits, moved.first_step, **how)
        plan = Plan(own.union(), own, generator=self.plan.generator)
        return replace(plan, claim=dict(type(self)(plan).measures()))

    def image(self, order: IntArray) -> Plan:
        """Return the plan with node v called ``order[v]``."""
        named = relabel(self.moved.rounds, order)
        rows = {name: getattr(named, name) for name in ("src", "dst", "block")}
        ends = {name: order[getattr(self.moved, name)] for name in ("circuit_src", "circuit_dst")}
        movement = self.moved.having(collective=named.collective, **rows, **ends)
        return replace(self.plan, place=movement.union(), movement=movement, spec=None)
