"""Plans of rounds by the package's own schedulers, with what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from topodesign.base.cost import Cost
from topodesign.collectives import Collective
from topodesign.plans.flow import Flow
from topodesign.plans.plan import Plan
from topodesign.schedulers.method import cost_in
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.topology import Topology


@dataclass(frozen=True)
class Scheduled:
    plan: Plan
    schedule: Flow
    cost: Cost

    @property
    def method(self) -> str:
        """What made it."""
        return str(self.plan.generator["method"])

    @property
    def lost(self) -> Fraction:
        """By how much y is larger than without the limit on chunks."""
        return Fraction(self.plan.generator.get("lost", 0))

    @property
    def lost_at_most(self) -> Fraction:
        """What Theorem 21 promises about it."""
        return Fraction(self.plan.generator.get("lost_at_most", 0))

    @property
    def others(self) -> dict[str, Cost]:
        """What other methods reach that it does not dominate."""
        rows = self.plan.generator.get("others", [])
        return {row["method"]: Cost(row["steps"], Fraction(row["bandwidth"])) for row in rows}


def scheduled(topology: Topology, collective: Collective | str, **options: Any) -> Scheduled:
    plan = schedule(topology, collective, **options)
    assert plan.place is topology
    return Scheduled(plan, plan.rounds, cost_in(plan))
