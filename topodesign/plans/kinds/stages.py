"""The kind in which groups add up one after the other: trees of groups, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from topodesign.base.errors import InfeasibleError
from topodesign.plans.added import added
from topodesign.plans.kinds.kind import Kind
from topodesign.plans.kinds.pipelines import NO_ROUNDS, check_by_ranks, check_one_part
from topodesign.plans.replay.found import Found
from topodesign.plans.replay.stages import replayed_stages
from topodesign.plans.rounds import Rounds
from topodesign.plans.stages import Stages
from topodesign.plans.timing.conditions import Conditions, Run
from topodesign.plans.timing.stages import run_stages
from topodesign.plans.transfers import Transfers
from topodesign.topology.topology import IntArray, Topology


class OfStages(Kind[Stages]):
    """Trees of groups, stage by stage."""

    movement, words, pace, program, title = Stages, "stages", "pipelines", "stages", ("stages",)

    def replayed(self) -> Found:
        """Return what a check of the trees of every stage, and of what is added up, finds."""
        return replayed_stages(self.plan.fabric, self.moved)

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        """Refuse: rounds have one place for every sum."""
        raise InfeasibleError(NO_ROUNDS)

    @property
    def adds_up(self) -> bool:
        """Whether ranks add up for themselves: they do."""
        return True

    def transfers(self, parts: int = 1) -> tuple[Transfers, ...]:
        """Return what ranks send and add up, if no switch has to do the work of one."""
        check_by_ranks(self)
        check_one_part(parts)
        return (added(self.moved),)

    @property
    def relays(self) -> IntArray:
        """The switches that add or copy, ascending."""
        return self.moved.relays

    def measures(self) -> Mapping[str, Fraction]:
        """Return the height and the rate."""
        return {
            "height": Fraction(self.moved.height),
            "algorithmic_bandwidth": self.plan.fabric.unit / self.moved.inverse_rate,
        }

    def timed(self, now: Conditions) -> Run:
        """Return how long the stages take, one after the other."""
        return run_stages(self.plan, self.moved, now)
