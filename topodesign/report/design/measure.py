"""Time of a step on a network, by costs or verified plans.

Nodes that are wired directly have the price of the finder: of the best plans known, and of flows for all-to-alls. Boxes
have the price of flows (:mod:`topodesign.report.design.boxed`), a step of a model the prices of groups
(:mod:`topodesign.schedulers.step`), and what has switches the times of verified plans.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from topodesign.base.cost import Cost
from topodesign.base.errors import InfeasibleError
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.lookup import as_catalog
from topodesign.collectives import ALL_TO_ALL
from topodesign.fabrics.boxes import BoxSpec, join
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.groups import Placement
from topodesign.finder.candidate import Candidate, Entry, measure
from topodesign.finder.question import Objective, Question
from topodesign.optima.boxes import box_rates
from topodesign.plans.plan import Plan
from topodesign.pricing.all_to_all import all_to_all
from topodesign.pricing.closed_form import price
from topodesign.report.comparison.contender import time_plan, verified
from topodesign.report.comparison.timing import Timing
from topodesign.report.design.boxed import rate_parts
from topodesign.report.design.parts import KNOWN, PRICED, Offer, Part
from topodesign.report.design.request import Request
from topodesign.schedulers.group_ways import Wires
from topodesign.schedulers.price import price_all_to_all
from topodesign.schedulers.scheduling import schedule, schedule_all
from topodesign.schedulers.step import StepTime, price_on
from topodesign.topology.topology import Topology

MAX_BLOCKS = 2**17
"""Blocks of an all-to-all, nodes times nodes, up to which a contender that may be recommended has a plan of it."""
MAX_PLANNED_BESIDE = 32
"""Nodes up to which there are plans of what is left after failures and of sizes to grow to: an all-to-all without
symmetry takes minutes from 96 nodes on."""
_GAP = Fraction(1, 20)  # of the price of an all-to-all to its bound, at most


class Measured(NamedTuple):
    """Time of a step: its collectives, or the step of a model."""

    parts: tuple[Part, ...]
    step: StepTime | None = None

    @property
    def seconds(self) -> Fraction:
        """Seconds of a step."""
        return self.step.seconds if self.step else sum((one.in_step for one in self.parts), Fraction(0))


def measure_step(
    place: Topology | Fabric,
    request: Request,
    *,
    placement: Placement | None = None,
    costs: tuple[Cost, Cost] | None = None,
) -> Measured:
    """Measure a step on remaining links, or on another size.

    Up to 32 nodes have plans, more the price of the finder, where ``costs`` are those of reduce-scatter and allgather
    if known. Boxes are given as their graph, or as the fabric of all.

    Raises
    ------
    InfeasibleError, DisconnectedError
        If there is no plan of a collective, or no price.
    """
    if request.box is not None and isinstance(place, Topology):
        return measure_boxes(BoxSpec(request.box, place), request, placement=placement)
    if request.step is not None:
        used = 1 if isinstance(place, Fabric) else Fraction(place.degree, request.degree)
        wires = Wires.of(place, request.work.latency, request.work.bandwidth * used)
        return Measured((), price_on(request.step, wires, placement=placement))
    if request.nodes > MAX_PLANNED_BESIDE and isinstance(place, Topology):
        return Measured(parts_of(price_nodes(place, request, costs), request))
    return Measured(plan_parts(place, request))


def measure_boxes(
    boxed: BoxSpec, request: Request, *, placement: Placement | None = None, without: Collection[int] = ()
) -> Measured:
    """Measure a step on boxes, without the cables of some numbers."""
    how = boxed.box, boxed.graph, boxed.split, boxed.shift, boxed.swaps
    fabric = join(*how, without=without)
    if request.step is not None:
        return measure_step(fabric, request, placement=placement)
    return Measured(rate_parts(fabric, box_rates(*how, without=without), request))


def ask_for(request: Request, degree: int) -> Question:
    """Return the request as a finder question for a given degree."""
    rate = request.work.bandwidth * degree / request.degree
    objective = Objective.read(workload=request.graph_mix, alpha=request.work.alpha, bandwidth=rate)
    return Question(request.nodes, degree, request.cabling == "duplex", objective, as_catalog(True))


def price_nodes(topology: Topology, request: Request, costs: tuple[Cost, Cost] | None = None) -> Entry:
    """Return the costs of directly wired nodes.

    The cost of an all-to-all is within 5% of its bound.

    Raises
    ------
    InfeasibleError, DisconnectedError
        If not all nodes reach each other, or none of its links may be one-way and some are.
    """
    asked = replace(ask_for(request, topology.degree), duplex=False)
    exchange: Bounds | None = None
    if asked.objective.exchanges:
        found = price_all_to_all(topology)
        if found.upper is None or found.upper > (1 + _GAP) * found.lower:
            found = all_to_all(topology, effort="approximate", gap=_GAP)
        exchange = Bounds(found.lower, found.upper or found.lower)
    entry = measure(Candidate("a topology", "own", topology, costs, exchange), asked)
    if entry is None:
        raise InfeasibleError("not all nodes reach each other")
    return entry


def parts_of(entry: Entry, request: Request) -> tuple[Part, ...]:
    """Return the collectives of a step at the costs of an entry."""
    exchange = entry.all_to_all or Bounds(Fraction(0), Fraction(0))
    costs = {
        "reduce-scatter": (entry.cost,),
        "allgather": (entry.allgather,),
        "allreduce": (entry.cost, entry.allgather),
        "all-to-all": (Cost(entry.cost.steps, exchange.upper),),
    }
    parts = []
    for share in request.mix.shares:
        some, work = costs[share.collective], entry.workload
        seconds = sum((one.runtime(work.alpha, share.size, work.bandwidth) for one in some), Fraction(0))
        method = PRICED if share.collective == ALL_TO_ALL.name else KNOWN
        parts.append(Part(share, method, seconds, sum(one.steps for one in some) * work.alpha))
    return tuple(parts)


def get_least(entry: Entry) -> Fraction:
    """Return a lower bound on the seconds of a step over all plans.

    It follows from the steps, the nodes and the flows of the topology.
    """
    deferred = entry.deferred and entry.cost.steps == 2  # perhaps in one more than the farthest two
    least = Cost(1 if deferred else entry.cost.steps, Fraction(entry.nodes - 1, entry.nodes))
    exchange = Fraction(0) if entry.all_to_all is None else entry.all_to_all.lower
    return entry.question.objective.times(least, least, exchange)[0]


def plan_parts(
    place: Topology | Fabric,
    request: Request,
    method: str = "auto",
) -> tuple[Part, ...]:
    """Return the collectives of a step with verified, simulated plans.

    The method applies to allreduces.

    All-to-alls of more than :data:`MAX_BLOCKS` blocks have a price, within 5% of its bound, and no plan.

    Raises
    ------
    InfeasibleError
        If there is no plan of a collective, or no price.
    """
    timed: dict[str, list[tuple[Plan, Timing]]] = {}
    work = request.work
    # Ports that a topology leaves unused carry nothing; one without links has no plans.
    ports = None if isinstance(place, Fabric) else Fraction(request.degree, max(1, place.degree))
    parts: list[Part] = []
    for number, share in enumerate(request.mix.shares):
        what = share.collective
        if what == ALL_TO_ALL.name and request.nodes**2 > MAX_BLOCKS:
            if isinstance(place, Fabric):
                raise InfeasibleError(f"the all-to-all of {request.nodes} nodes behind switches is not worked out")
            parts.append(parts_of(price_nodes(place, request), request)[number])
            continue
        if what not in timed:
            if what == ALL_TO_ALL.name and isinstance(place, Topology):  # what more steps would reach is not asked for
                plans = [schedule(place, what, steps=price(place).steps)]
            else:
                plans = schedule_all(place, what, method=method if what == "allreduce" else "auto")
            timed[what] = [(plan, time_plan(verified(plan), ports, work)) for plan in plans]
        times = [(timing.time(work.latency, share.size, work.bandwidth), plan, timing) for plan, timing in timed[what]]
        seconds, plan, timing = min(times, key=lambda one: one[0])
        latency = timing.time(work.latency, Fraction(0), work.bandwidth)
        how = str(plan.generator.get("method", plan.kind))
        parts.append(Part(share, how, seconds, latency, plan, seconds, timing))
    return tuple(parts)


def step_at(
    offer: Offer,
    request: Request,
    *,
    size: Fraction = Fraction(1),
    often: Mapping[str, Fraction],
) -> Fraction:
    """Return the seconds of a step with scaled sizes and run counts."""
    if offer.step is not None:
        return offer.step.scale_time(size=size, often=often)
    times = (_at(one, request, size) * often.get(one.share.collective, Fraction(1)) for one in offer.parts)
    return sum(times, Fraction(0))


def _at(part: Part, request: Request, size: Fraction) -> Fraction:
    """Return the seconds of a collective per step, with scaled size."""
    if part.timing is None or not part.timing.pipelined:
        return part.share.count * (part.latency + size * (part.seconds - part.latency))
    work = request.work
    return part.share.count * part.timing.time(work.latency, size * part.share.size, work.bandwidth)
