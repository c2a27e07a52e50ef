"""Kinds whose time is made of steps: rounds, also of one block of an orbit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from topodesign.base.errors import InfeasibleError
from topodesign.plans.kinds.kind import Kind
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.movement import Movement
from topodesign.plans.orbit import OrbitRounds
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
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
