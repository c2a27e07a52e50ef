"""What limits the recommendation: steps or links, which links, and how far the bound of any wiring is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from topodesign.base.cost import Cost, lower_bounds, moore_distances
from topodesign.catalog.ranking import least_seconds_of
from topodesign.optima.boxes import exchange_bound
from topodesign.plans.timing.rounds import SimulationResult
from topodesign.pricing.mix import Mix
from topodesign.pricing.training.timeline import step_seconds
from topodesign.report.design.measure import run_of
from topodesign.report.design.parts import Limit, Part
from topodesign.report.design.request import Request
from topodesign.wiring.plan.plan import WiringPlan

_SHOWN = 3  # links that are named


def limits_of(parts: tuple[Part, ...], request: Request, wiring: WiringPlan) -> tuple[Limit, ...]:
    """Return what limits each collective."""
    alone = (Mix(request.mix.name, (replace(one, count=1),)) for one in request.graph_mix.shares)
    return tuple(_limit(one, bound_of(mix, request), request, wiring) for one, mix in zip(parts, alone, strict=False))


def bound_of(mix: Mix, request: Request) -> Fraction:
    """Return the seconds of a step that no wiring of as many nodes and ports undercuts; of a model what it computes."""
    if request.step is not None:
        return step_seconds(request.step, lambda _: Fraction(0))
    size, duplex = (request.nodes, request.degree), request.cabling == "duplex"
    costs, exchange = lower_bounds(*size, duplex=duplex), moore_distances(*size, duplex=duplex)
    if request.box is not None:
        exchange = max(exchange, exchange_bound(*size))
        costs = (Cost(costs[0].steps, costs[-1].bandwidth),)  # flows need not trade one for the other
    return least_seconds_of(mix, costs, exchange, request.work)


def _limit(one: Part, least: Fraction, request: Request, wiring: WiringPlan) -> Limit:
    plan, fullest, links = one.plan, list[int](), wiring.topology
    run = None if plan is None or request.box is not None else run_of(plan, one.share.size, request).run
    if plan is not None and isinstance(run, SimulationResult):
        links = plan.topology
        pairs = zip(run.link_units.tolist(), links.capacity.tolist(), strict=True)
        loads = [Fraction(units, room) for units, room in pairs]
        most = max(loads)
        fullest = [link for link, load in enumerate(loads) if load == most]
    ends = [(wiring.hosts[links.src[link]], wiring.hosts[links.dst[link]]) for link in fullest[:_SHOWN]]
    return Limit(
        one.share.collective,
        "steps" if 2 * one.latency > one.seconds else "links",
        tuple(f"{sender} > {receiver}" for sender, receiver in ends),
        len(fullest),
        len(links.src) - links.self_loops,
        one.seconds,
        least,
    )
