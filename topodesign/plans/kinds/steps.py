"""Kinds whose time is made of steps one after the other: rounds, and rounds of one block of every orbit."""

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
from topodesign.plans.replay.found import Found
from topodesign.plans.replay.orbit import verify_orbit
from topodesign.plans.replay.rounds import claimed_cost, verify_rounds
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import allreduce, relabel
from topodesign.plans.timing.conditions import Conditions, Run, links_of
from topodesign.plans.timing.rounds import run_rounds
from topodesign.topology.topology import IntArray, Topology


class OfRounds(Kind[Rounds]):
    """Rounds, in which all other kinds can be said."""

    movement, words, pace = Rounds, "rounds", "steps"

    def replayed(self) -> Found:
        """Return what the replay of every block finds."""
        return verify_rounds(self.plan.topology, self.moved, claimed_cost(self.plan.claim)).found()

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        """Return the rounds themselves."""
        return self.plan.topology, self.moved

    def image(self, order: IntArray) -> Plan:
        """Return the plan with node v called ``order[v]``."""
        return replace(self.plan, movement=relabel(self.moved, order))

    def then(self, other: Plan) -> Movement:
        """Return the allreduce of this reduce-scatter and an allgather after it."""
        return allreduce(self.moved, self.like(other))


class OfOrbits(Kind[OrbitRounds]):
    """A compressed form of rounds: the replay alone works on the orbits."""

    movement, words, pace = OrbitRounds, "orbits", "steps"

    def replayed(self) -> Found:
        """Return what the replay of the representatives' blocks finds, with the symmetry."""
        return verify_orbit(self.plan.topology, self.moved, claimed_cost(self.plan.claim)).found()

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        """Return what they unfold to."""
        return self.plan.topology, self.moved.unfold()

    def measures(self) -> Mapping[str, Fraction]:
        """Return what it costs, without the images where the symmetry is free."""
        topology = self.plan.topology
        free = self.moved.symmetry.is_free
        return cost_claim(cost_of(topology, self.moved.gathered(topology))) if free else super().measures()

    def timed(self, now: Conditions) -> Run:
        """Return how long it takes, without the images where the symmetry is free and links stay alike."""
        topology, symmetry = self.plan.topology, self.moved.symmetry
        if now.mode != "lock-step" or now.failed or links_of(self.plan, now) is not None or not symmetry.is_free:
            return super().timed(now)
        return run_rounds(self.plan, self.moved.gathered(topology), now, symmetry.link_orbits(topology))

    def then(self, other: Plan) -> Movement:
        """Return the allreduce of this reduce-scatter and an allgather after it, by the same symmetry."""
        first, second = self.moved, self.like(other)
        if not first.alike(second):
            raise InfeasibleError("plans of different symmetries are not put after one another")
        return OrbitRounds(first.generators, first.representatives, allreduce(first.own, second.own))
