"""Kinds whose time is made of steps: rounds, also of one block of an orbit, over routes, or over changing circuits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.plans.kinds.kind import Kind
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.movement import Movement
from topodesign.plans.orbit import OrbitRounds
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Phases, Rounds, Routed
from topodesign.plans.rounds_ops import allreduce, relabel
from topodesign.topology.topology import IntArray, Topology


class OfRounds(Kind[Rounds]):
    """Rounds, in which all other kinds can be said."""

    movement, words, pace = Rounds, "rounds", "steps"

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        return self.plan.topology, self.moved

    def image(self, order: IntArray) -> Plan:
        return replace(self.plan, movement=relabel(self.moved, order))

    def then(self, other: Plan) -> Movement:
        return allreduce(self.moved, self.like(other))


class OfOrbits(Kind[OrbitRounds]):
    """A compressed form of rounds: the replay alone works on the orbits."""

    movement, words, pace = OrbitRounds, "orbits", "steps"

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        return self.plan.topology, self.moved.unfold()

    def measures(self) -> Mapping[str, Fraction]:
        """Return what it costs, without the images where the symmetry is free."""
        topology = self.plan.topology
        free = self.moved.symmetry.is_free
        return cost_claim(cost_of(topology, self.moved.gathered(topology))) if free else super().measures()

    def then(self, other: Plan) -> Movement:
        """Return the allreduce of this reduce-scatter and an allgather after it, by the same symmetry."""
        first, second = self.moved, self.like(other)
        if not first.alike(second):
            raise InfeasibleError("plans of different symmetries are not put after one another")
        return OrbitRounds(first.generators, first.representatives, allreduce(first.own, second.own))


class OfRouted(Kind[Routed]):
    """Rounds whose messages go over routes."""

    movement, words, pace, title = Routed, "routed rounds", "steps", ("routed",)

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        return self.moved.joined, self.moved.rounds

    def measures(self) -> Mapping[str, Fraction]:
        return self.moved.claim

    def ways(self) -> dict[tuple[int, int], tuple[int, ...]]:
        hops = self.moved.hop.tolist()
        found: dict[tuple[int, int], tuple[int, ...]] = {}
        for start, end in pairwise(self.moved.hop_start.tolist()):
            found.setdefault((hops[start], hops[end - 1]), tuple(hops[start:end]))
        return found

    def image(self, order: IntArray) -> Plan:
        moved = self.moved
        block = relabel(moved.rounds, order).block.astype(moved.block.dtype)
        return replace(self.plan, movement=moved.having(block=block, hop=order[moved.hop].astype(moved.hop.dtype)))

    def then(self, other: Plan) -> Movement:
        return after(self.moved, self.like(other))


def after(first: Routed, second: Routed) -> Routed:
    """Return the allreduce of a reduce-scatter and an allgather."""
    both = allreduce(first.rounds, second.rounds)  # checks that they fit, and says what both are
    return first.having(
        collective=both.collective,
        units=both.units,
        steps=both.steps,
        reduce_steps=both.reduce_steps,
        step=both.step.astype(np.int64),
        route=np.concatenate((first.route, second.route + len(first.lengths))),
        block=both.block.astype(np.int64),
        lo=both.lo.copy(),
        hi=both.hi.copy(),
        hop_start=np.concatenate((first.hop_start, second.hop_start[1:] + len(first.hop))),
        hop=np.concatenate((first.hop, second.hop)),
    )


class OfPhases(Kind[Phases]):
    """Rounds over circuits that change."""

    movement, words, pace, title = Phases, "phases", "steps", ("phases",)

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        return self.plan.topology, self.moved.rounds

    def measures(self) -> Mapping[str, Fraction]:
        moved, factor = self.moved, Fraction(0)
        now = moved.phase_of(moved.step)
        for phase in range(moved.changes + 1):
            graph = moved.topology_of(phase)
            cost = cost_of(graph, moved.rounds.rows(now == phase))
            factor += cost.bandwidth * Fraction(moved.ports, max(1, graph.degree))
        return {"steps": Fraction(moved.steps), "bandwidth": factor, "changes": Fraction(moved.changes)}

    @property
    def changes(self) -> tuple[int, ...]:
        return tuple((self.moved.first_step[1:] - 1).tolist())

    def alone(self, place: Topology, rounds: Rounds, members: Sequence[int]) -> Plan:  # noqa: ARG002
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
        named = relabel(self.moved.rounds, order)
        rows = {name: getattr(named, name) for name in ("src", "dst", "block")}
        ends = {name: order[getattr(self.moved, name)] for name in ("circuit_src", "circuit_dst")}
        movement = self.moved.having(collective=named.collective, **rows, **ends)
        return replace(self.plan, place=movement.union(), movement=movement, spec=None)
