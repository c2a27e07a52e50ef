"""Design command: from a request to a decision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from topodesign.base.claims import Claim, Of, Proof, Scope
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.options import takes
from topodesign.base.progress import Progress, part
from topodesign.base.units import Quantity, as_time, format_time
from topodesign.report.design.ahead import in_order, split_beaten, turns
from topodesign.report.design.answer import Decision
from topodesign.report.design.boxed import MAX_PLANNED, with_plans
from topodesign.report.design.contenders import Budget, Gathered, gather_offers
from topodesign.report.design.failures import failures_of
from topodesign.report.design.fields import RequestOptions
from topodesign.report.design.growth import bound_of, limits_of, stages_of
from topodesign.report.design.parts import Offer
from topodesign.report.design.reading import read_request, request_of
from topodesign.report.design.request import Request
from topodesign.wiring.inventory.answers import init_wiring
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.wire import plan_wiring, wire_boxes


@takes(RequestOptions)
def design(
    request: Request | str | Path | None = None,
    *,
    time_limit: Quantity | None = None,
    progress: Progress | None = None,
    **fields: Unpack[RequestOptions],
) -> Decision:
    """Decide which topology to wire for a request.

    A request gives the machines and ports, the training step, the room, and the alternatives to buy.

    Parameters
    ----------
    request
        A request or its file (see docs/design.md); None where its fields are given.
    time_limit
        Seconds of work, or text such as ``20s``; without a limit by default. The decision lists what it was too short
        for: contenders, plans, failures, growth.
    progress
        Called now and then with the share of the work that is done.
    **fields
        As :class:`~topodesign.report.design.fields.RequestOptions` says.

    Returns
    -------
    Decision
        The recommendation with its verified plans and its wiring, what else was compared, where that would win, what
        limits it, what failures cost, stages of growth, the bill, and what is proven. ``save`` writes all of it.

    Raises
    ------
    ParameterError, UnitError, FileFormatError
        If a field is wrong, missing or unknown, or fields contradict each other.
    InfeasibleError
        If nothing is known that could be wired.

    Examples
    --------
    >>> step = {"collectives": [{"collective": "allreduce", "size": "64MiB"}]}
    >>> found = design(nodes=12, degree=4, bandwidth="100Gbps", workload=step, rivals=["torus"])
    >>> found.recommendation.name, found.recommendation.counts.cables
    ('circulant(12,2,3)', 24)
    """
    if (request is None) == (not fields):
        raise ParameterError("expected a request, its file or its fields")
    if request is None:
        asked = request_of(fields)
    else:
        asked = request if isinstance(request, Request) else read_request(request)
    budget = Budget(None if time_limit is None else _read_limit(time_limit))
    found = gather_offers(asked, budget, part(progress, 0, 0.75))
    offers, wiring = _wire_best(found, asked)
    best = budget.do("plans of the recommendation", lambda: with_plans(offers[0], most=MAX_PLANNED), offers[0])
    wins = turns([best, *offers[1:]], asked)
    names = {best.name, *(one.then for one in wins), *(one.name for one in offers[1:2])}
    shown, beaten = split_beaten([best, *offers[1:]], names, asked)
    none: tuple[Any, ...] = ()
    losses = budget.do("failures", lambda: failures_of(best, asked, wiring, part(progress, 0.75, 0.9)), none)
    stages = budget.do("growth", lambda: stages_of(asked, wiring, part(progress, 0.9, 1)), none)
    return Decision(
        asked,
        tuple(shown),
        tuple(found.missing),
        tuple(beaten),
        wins,
        limits_of(best.parts, asked, wiring),
        losses,
        stages,
        wiring,
        _claims(offers, asked, found),
        cut=tuple(budget.cut),
    )


def _read_limit(value: Quantity) -> float:
    seconds = as_time(value)
    if seconds <= 0:
        raise ParameterError(f"time_limit must be above zero, not {format_time(seconds)}")
    return float(seconds)


def _wire_best(found: Gathered, request: Request) -> tuple[list[Offer], WiringPlan]:
    """Return the ranked contenders and the wiring of the first; refuse unwirable ones."""
    room = request.room or plain_room(request)
    offers = in_order(found.offers, request)
    while offers[0].refused is None:
        best = offers[0]
        if best.wiring is not None:
            return offers, best.wiring
        try:
            return offers, plan_wiring(best.topology, room) if best.boxed is None else wire_boxes(best.boxed, room)
        except InfeasibleError as error:
            offers = in_order([replace(best, refused=f"it cannot be wired: {error}"), *offers[1:]], request)
    raise InfeasibleError("\n".join(f"{one.name}: {one.refused}" for one in offers))


def plain_room(request: Request) -> Inventory:
    """Return a default room: hosts in racks, and one panel."""
    most, rate = max((request.nodes, *request.grow)), request.work.bandwidth / request.degree
    return init_wiring(most, ports=request.degree, connector="LC", speed=rate, name="plain room")


def _claims(offers: list[Offer], request: Request, found: Gathered) -> tuple[Claim, ...]:
    """Return the claims on the recommendation, among contenders and all wirings."""
    best, bound = offers[0], bound_of(request.graph_mix, request)
    claims = []
    if request.optimise == "time" and found.whole and not any(one.time < best.time for one in offers):
        claims.append(Claim(Of.TIME, best.time, Scope.FOUND, Proof.LISTED, best.time))
    among = Scope.DUPLEX if request.cabling == "duplex" else Scope.TOPOLOGIES
    met = best.time == bound
    claims.append(Claim(Of.TIME, best.time, among, Proof.BOUND if met else Proof.NONE, bound))
    return tuple(claims)
