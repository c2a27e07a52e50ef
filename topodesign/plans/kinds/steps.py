"""Kinds whose time is made of steps one after the other: rounds, and rounds of one block of every orbit."""

from __future__ import annotations

from dataclasses import replace

from topodesign.plans.kinds.kind import Kind
from topodesign.plans.movement import Movement
from topodesign.plans.orbit import OrbitRounds
from topodesign.plans.plan import Plan
from topodesign.plans.replay.found import Found
from topodesign.plans.replay.orbit import verify_orbit
from topodesign.plans.replay.rounds import claimed_cost, verify_rounds
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import allreduce, relabel
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
