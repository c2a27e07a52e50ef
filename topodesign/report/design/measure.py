"""What a contender takes for a training step: a verified plan of every collective, timed with the request's figures."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from topodesign.base.errors import InfeasibleError
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.kinds import kind_of
from topodesign.plans.plan import Plan
from topodesign.plans.replay.plans import verify
from topodesign.plans.timing.chunked import PipelineSimulation
from topodesign.plans.timing.plans import Simulation, simulate
from topodesign.pricing.deferral import why_not
from topodesign.pricing.mix import Share
from topodesign.report.design.parts import Part
from topodesign.report.design.request import Request
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.topology import Topology


def parts_of(place: Topology | Fabric, request: Request, method: str = "auto") -> tuple[Part, ...]:
    """Return every collective of a step on a place, with its plan, verified, and its time.

    The method is for allreduces.

    Raises
    ------
    InfeasibleError
        If there is no plan of a collective.
    """
    plans: dict[str, tuple[Plan, ...]] = {}
    for share in request.mix.shares:
        if share.collective not in plans:
            plans[share.collective] = _plans(
                place, share.collective, method if share.collective == "allreduce" else "auto"
            )
    return tuple(_part(plans[share.collective], share, request) for share in request.mix.shares)


def run_of(plan: Plan, size: Fraction, request: Request) -> Simulation:
    """Return a simulation: ports that a topology leaves unused carry nothing, and fabrics have their bandwidths."""
    bandwidth = None
    if not isinstance(plan.place, Fabric):
        bandwidth = request.work.bandwidth * plan.topology.degree / request.degree
    return simulate(plan, size=size, bandwidth=bandwidth, **request.work.model)


def in_step(part: Part, request: Request, *, size: Fraction, often: Mapping[str, Fraction]) -> Fraction:
    """Return the seconds of a collective in a step with all sizes times a factor, and others as often as said."""
    if kind_of(part.plan).pace == "steps":
        seconds = part.latency + size * (part.seconds - part.latency)
    else:
        seconds = run_of(part.plan, size * part.share.size, request).time
    return part.share.count * often.get(part.share.collective, Fraction(1)) * seconds


def _plans(place: Topology | Fabric, collective: str, method: str) -> tuple[Plan, ...]:
    """Return the plans of a collective that may be the fastest for some size."""
    first = schedule(place, collective, method=method)
    plans = [first]
    if method == "auto" and isinstance(place, Topology) and collective != "all-to-all" and why_not(place, 1) is None:
        plans.append(schedule(place, collective, method="deferred"))  # auto takes the fewest steps
    for plan in plans:
        verdict = verify(plan)
        if not verdict.ok:
            raise InfeasibleError(f"the {collective} of {plan.spec} is wrong: {verdict}")
    return tuple(plans)


def _part(plans: tuple[Plan, ...], share: Share, request: Request) -> Part:
    runs = [run_of(plan, share.size, request) for plan in plans]
    run = min(runs, key=lambda one: one.time)
    return Part(share, run.plan, run.time, _latency(run, request))


def _latency(found: Simulation, request: Request) -> Fraction:
    """Return what a run would take without any data."""
    latency = request.work.latency
    if isinstance(found.run, PipelineSimulation):
        waits = (one.height * latency.of_step(one.starts, one.switches) for one in found.run.phases)
        return sum(waits, Fraction(0))
    return request.work.alpha * found.plan.claim["steps"]
