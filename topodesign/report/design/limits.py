"""What limits the recommendation: steps or links, which links, and how far the bound of any wiring is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from topodesign.base.cost import lower_bounds, moore_distances
from topodesign.catalog.ranking import least_seconds_of
from topodesign.plans.timing.rounds import SimulationResult
from topodesign.pricing.mix import Mix
from topodesign.report.design.measure import run_of
from topodesign.report.design.parts import Limit, Part
from topodesign.report.design.request import Request
from topodesign.wiring.plan.plan import WiringPlan

_SHOWN = 3  # links that are named


def limits_of(parts: tuple[Part, ...], request: Request, wiring: WiringPlan) -> tuple[Limit, ...]:
    """Return what limits each collective."""
    return tuple(_limit(one, request, wiring) for one in parts)


def bound_of(mix: Mix, request: Request) -> Fraction:
    """Return the seconds of a step that no wiring of as many nodes and ports undercuts."""
    size, duplex = (request.nodes, request.degree), request.cabling == "duplex"
    costs, exchange = lower_bounds(*size, duplex=duplex), moore_distances(*size, duplex=duplex)
    return least_seconds_of(mix, costs, exchange, request.work)


def _limit(one: Part, request: Request, wiring: WiringPlan) -> Limit:
    topology = one.plan.topology
    run = run_of(one.plan, one.share.size, request).run
    fullest: list[int] = []
    if isinstance(run, SimulationResult):
        pairs = zip(run.link_units.tolist(), topology.capacity.tolist(), strict=True)
        loads = [Fraction(units, room) for units, room in pairs]
        most = max(loads)
        fullest = [link for link, load in enumerate(loads) if load == most]
    ends = [(wiring.hosts[topology.src[link]], wiring.hosts[topology.dst[link]]) for link in fullest[:_SHOWN]]
    alone = Mix(request.mix.name, (replace(one.share, count=1),))
    return Limit(
        one.share.collective,
        "steps" if 2 * one.latency > one.seconds else "links",
        tuple(f"{sender} > {receiver}" for sender, receiver in ends),
        len(fullest),
        len(topology.src) - topology.self_loops,
        one.seconds,
        bound_of(alone, request),
    )
