"""What a contender takes for a training step, with the request's figures.

Nodes have a verified plan of every collective, simulated, but for all-to-alls of so many that flows are priced. Boxes
have the price of flows (:mod:`topodesign.report.design.boxed`), a step of a model the prices of groups
(:mod:`topodesign.schedulers.step`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.errors import InfeasibleError
from topodesign.fabrics.boxes import Boxed, join
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.groups import Placement
from topodesign.finder.question import get_seconds
from topodesign.optima.boxes import box_rates
from topodesign.plans.kinds import kind_of
from topodesign.plans.plan import Plan
from topodesign.plans.replay.plans import verify
from topodesign.plans.timing.chunked import PipelineSimulation
from topodesign.plans.timing.plans import Simulation, simulate
from topodesign.pricing.all_to_all import all_to_all
from topodesign.pricing.closed_form import price
from topodesign.pricing.efforts import Effort
from topodesign.pricing.mix import Share
from topodesign.report.design.boxed import rated_parts
from topodesign.report.design.parts import PRICED, Offer, Part
from topodesign.report.design.request import Request
from topodesign.schedulers.group_ways import Wires
from topodesign.schedulers.scheduling import METHODS, schedule
from topodesign.schedulers.step import StepTime, price_on
from topodesign.topology.topology import Topology

MOST_BLOCKS = 2**17  # blocks of an all-to-all, nodes times nodes, up to which a plan is made
_GAP = Fraction(1, 20)  # of the price of a flow to its bound, at most


class Measured(NamedTuple):
    """What a step takes somewhere: its collectives, or the step of a model."""

    parts: tuple[Part, ...]
    step: StepTime | None = None

    @property
    def seconds(self) -> Fraction:
        """Seconds of a step."""
        return self.step.seconds if self.step else sum((one.in_step for one in self.parts), Fraction(0))


def measured(
    place: Topology | Fabric,
    request: Request,
    method: str = "auto",
    *,
    placement: Placement | None = None,
    most_blocks: int = MOST_BLOCKS,
) -> Measured:
    """Return what a step takes on a place; the method is for allreduces, the placement for ranks of a model.

    All-to-alls of more than ``most_blocks`` blocks, nodes times nodes, have the price of their flow and no plan.

    Raises
    ------
    InfeasibleError
        If there is no plan of a collective, or no price.
    """
    if request.box is not None and isinstance(place, Topology):
        return measured_boxes(Boxed(request.box, place), request, placement=placement)
    if request.step is not None:
        used = 1 if isinstance(place, Fabric) else Fraction(place.degree, request.degree)
        wires = Wires.of(place, request.work.latency, request.work.bandwidth * used)
        return Measured((), price_on(request.step, wires, placement=placement))
    plans: dict[str, tuple[Plan, ...]] = {}
    parts = []
    for share in request.mix.shares:
        what = share.collective
        if what == "all-to-all" and request.nodes**2 > most_blocks:
            parts.append(_exchange(place, share, request))
            continue
        if what not in plans:
            plans[what] = _plans(place, what, method if what == "allreduce" else "auto")
        parts.append(_part(plans[what], share, request))
    return Measured(tuple(parts))


def measured_boxes(
    boxed: Boxed, request: Request, *, placement: Placement | None = None, without: Collection[int] = ()
) -> Measured:
    """Return the same of boxes, without cables of some numbers."""
    how = boxed.box, boxed.graph, boxed.split, boxed.shift, boxed.swaps
    fabric = join(*how, without=without)
    if request.step is not None:
        return measured(fabric, request, placement=placement)
    return Measured(rated_parts(fabric, box_rates(*how, without=without), request))


def at_least(
    topology: Topology, request: Request, effort: Effort = "quick", *, exchange: Fraction | None = None
) -> Fraction:
    """Return the seconds of a step that no schedule of a topology undercuts.

    Whatever is sent takes alpha for every step to the farthest node, and the bytes of all others come in, and go out,
    over the links of the node with the fewest. ``exchange`` bounds the bandwidth factor of all-to-alls from below,
    where such a bound is known; otherwise one is computed with the effort.
    """
    real = topology.src != topology.dst
    ends = (
        np.bincount(end[real], topology.capacity[real], topology.nodes).min() for end in (topology.src, topology.dst)
    )
    steps, nodes = price(topology).steps, topology.nodes
    out, into = (Cost(steps, Fraction(topology.degree * (nodes - 1), nodes * int(few))) for few in ends)
    work = replace(request.work, bandwidth=request.work.bandwidth * topology.degree / request.degree)
    exchanged = any(share.collective == "all-to-all" for share in request.mix.shares)
    exchange = all_to_all(topology, effort=effort).lower if exchanged else Fraction(0)
    return get_seconds(request.graph_mix, out, into, exchange, work)


def run_of(plan: Plan, size: Fraction, request: Request) -> Simulation:
    """Return a simulation: ports that a topology leaves unused carry nothing, and fabrics have their bandwidths."""
    bandwidth = None
    if not isinstance(plan.place, Fabric):
        bandwidth = request.work.bandwidth * plan.topology.degree / request.degree
    return simulate(plan, size=size, bandwidth=bandwidth, **request.work.model)


def step_at(
    offer: Offer,
    request: Request,
    *,
    size: Fraction = Fraction(1),
    often: Mapping[str, Fraction],
) -> Fraction:
    """Return the seconds of a step with all sizes times a factor, and collectives as often as said."""
    if offer.step is not None:
        return offer.step.scaled(size=size, often=often)
    times = (_at(one, request, size) * often.get(one.share.collective, Fraction(1)) for one in offer.parts)
    return sum(times, Fraction(0))


def _at(part: Part, request: Request, size: Fraction) -> Fraction:
    """Return the seconds of a collective in a step with its size times a factor."""
    if request.box is None and part.plan is not None and kind_of(part.plan).pace != "steps":
        seconds = run_of(part.plan, size * part.share.size, request).time
    else:
        seconds = part.latency + size * (part.seconds - part.latency)
    return part.share.count * seconds


def _plans(place: Topology | Fabric, collective: str, method: str) -> tuple[Plan, ...]:
    """Return the plans of a collective that may be the fastest for some size."""
    if collective == "all-to-all" and isinstance(place, Topology):
        plans = [schedule(place, collective, steps=price(place).steps)]  # nor is what more steps would reach asked for
    else:
        plans = [schedule(place, collective, method=method)]
        others = (one["method"] for one in plans[0].generator.get("others", ()))  # auto takes the fewest steps
        plans += [schedule(place, collective, method=name) for name in others if name in METHODS]
    for plan in plans:
        verdict = verify(plan)
        if not verdict.ok:
            raise InfeasibleError(f"the {collective} of {plan.spec} is wrong: {verdict}")
    return tuple(plans)


def _exchange(place: Topology | Fabric, share: Share, request: Request) -> Part:
    """Return an all-to-all of so many nodes that flows are priced, and no plan is made."""
    if isinstance(place, Fabric):
        raise InfeasibleError(f"the all-to-all of {request.nodes} nodes behind switches is not worked out")
    found = all_to_all(place, effort="quick")
    if found.upper is None or found.upper > (1 + _GAP) * found.lower:
        found = all_to_all(place, effort="approximate", gap=_GAP)
    if found.upper is None:
        raise InfeasibleError("not all nodes reach each other")
    steps = price(place).steps
    rate = request.work.bandwidth * place.degree / request.degree
    seconds = Cost(steps, found.upper).runtime(request.work.alpha, share.size, rate)
    return Part(share, PRICED, seconds, steps * request.work.alpha)


def _part(plans: tuple[Plan, ...], share: Share, request: Request) -> Part:
    runs = [run_of(plan, share.size, request) for plan in plans]
    run = min(runs, key=lambda one: one.time)
    method = str(run.plan.generator.get("method", run.plan.kind))
    return Part(share, method, run.time, _latency(run, request), run.plan, run.time)


def _latency(found: Simulation, request: Request) -> Fraction:
    """Return what a run would take without any data."""
    latency = request.work.latency
    if isinstance(found.run, PipelineSimulation):
        waits = (one.height * latency.of_step(one.starts, one.switches) for one in found.run.phases)
        return sum(waits, Fraction(0))
    return request.work.alpha * found.plan.claim["steps"]
