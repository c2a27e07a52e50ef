"""Plain values of reports beside results: plans, cables, comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from topodesign.base.records import Table
from topodesign.base.wording import count_noun
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.finder.candidate import Entry
from topodesign.finder.question import Objective
from topodesign.plans.plan import Plan
from topodesign.report.comparison.compare import compare_beside
from topodesign.report.page.player import MAX_NODES
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.answers import plain_inventory
from topodesign.wiring.plan.wire import plan_wiring

MAX_WIRED = 20_000  # links of a topology that is wired to count its cables
_OVER = tuple(4**power for power in range(5, 16))  # sizes at which a plot compares designs, from 1 KiB to 1 GiB


@dataclass(frozen=True)
class Cabling:
    """Cabling of a topology on one panel: cross-connects, cables, cords, length."""

    connects: int
    cables: int
    metres: Fraction | None

    def __str__(self) -> str:
        """Return how many cables, and how long."""
        length = "" if self.metres is None else f", {float(self.metres):g} m in all with the hosts in a row"
        return f"{count_noun(self.cables, 'cable')}{length}"


@dataclass(frozen=True)
class PlanAndCabling:
    """A plan to play and the cabling; None if the topology is too large."""

    plan: Plan | None
    cabling: Cabling | None


@dataclass(frozen=True)
class Rivals:
    """A topology beside other designs."""

    # table, record: as ``compare`` shows them, at the sizes that were asked for
    table: Table
    record: dict[str, Any]
    # sizes, names, times: sizes of a plot, and for every design its name and times
    sizes: tuple[Fraction, ...]
    names: tuple[str, ...]
    times: tuple[tuple[Fraction, ...], ...]
    bound: tuple[Fraction, ...]  # what no topology beats at these sizes


def make_plan(graph: Topology) -> PlanAndCabling:
    """Return the plan of an allreduce and the cabling of a topology."""
    return PlanAndCabling(plan_for(graph), _cabling(graph))


def plan_for(place: Topology | Fabric, collective: Collective | str = "allreduce") -> Plan | None:
    """Return a plan to play, or None if it would be too large."""
    nodes = len(place.compute) if isinstance(place, Fabric) else place.nodes
    return schedule(place, collective) if nodes <= MAX_NODES else None


def _cabling(graph: Topology) -> Cabling | None:
    if len(graph.src) > MAX_WIRED:
        return None
    plan = plan_wiring(graph, plain_inventory(graph.nodes, graph.degree))
    bill = plan.bill()
    return Cabling(len(plan.connects), sum(item.count for item in bill.items), bill.metres)


def compare_with(first: Entry | Topology, others: Sequence[object], objective: Objective) -> Rivals:
    """Return a topology beside others, as :func:`topodesign.compare`."""
    every = compare_beside(first, others, objective, _OVER)
    asked = len(objective.work.sizes)
    told = every.first_sizes(asked)
    return Rivals(
        told.table(),
        told.record(),
        every.workload.sizes[asked:],
        tuple(one.name for one in every.contenders),
        tuple(one.times[asked:] for one in every.contenders),
        every.workload.fastest(every.bounds)[asked:],
    )
