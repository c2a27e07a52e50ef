"""Kinds that say themselves when every send starts and ends: timed sends, of one collective or of several."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction

from topodesign.base.errors import InfeasibleError
from topodesign.plans.kinds.kind import Kind, Moved
from topodesign.plans.movement import Movement
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.timed import Timed, Together
from topodesign.plans.timed_ops import in_turn, rounds_of
from topodesign.plans.transfers import Transfers, transfers_of_timed
from topodesign.topology.topology import Topology


class _OfStreams(Kind[Moved]):
    """What the streams of a plan say together."""

    pace = "times"

    def transfers(self, parts: int = 1) -> tuple[Transfers, ...]:
        self.check_parts(parts)
        whole, switches = self.size or Fraction(1), self.plan.topology.switches
        return tuple(transfers_of_timed(one, switches, one.size / whole) for one in self.streams)

    @property
    @abstractmethod
    def begins(self) -> tuple[int, ...]:
        """Ticks until each stream begins."""


class OfTimed(_OfStreams[Timed]):
    """Timed sends of one collective: one stream."""

    movement, words, title = Timed, "timed sends", ("timed",)

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        return self.plan.topology, rounds_of(self.plan.topology, self.moved)

    def measures(self) -> Mapping[str, Fraction]:
        return {"time": self.moved.time}

    @property
    def streams(self) -> tuple[Timed, ...]:
        return (self.moved,)

    @property
    def begins(self) -> tuple[int, ...]:
        return (0,)

    def then(self, other: Plan) -> Movement:
        return in_turn(self.moved, self.like(other))


class OfTogether(_OfStreams[Together]):
    """Timed sends of several collectives on links that they share."""

    movement, words = Together, "timed sends of several collectives"

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        """Refuse: rounds are of one collective."""
        raise InfeasibleError("several collectives at the same time have no steps in common")

    def measures(self) -> Mapping[str, Fraction]:
        each = {f"time_{number}": one.time for number, one in enumerate(self.streams)}
        return {"time": self.moved.time, **each}

    @property
    def streams(self) -> tuple[Timed, ...]:
        return self.moved.streams

    @property
    def begins(self) -> tuple[int, ...]:
        return self.moved.begins
