"""Boxes of accelerators: contenders, costs and plans of the recommendation.

A collective takes the latency of the farthest two accelerators, and its bytes over the rate that is proved
(:mod:`topodesign.optima.boxes`); an allreduce is a reduce-scatter and an allgather. These are prices of flows, the
same for graphs of boxes, for what failures leave of them, and for rails; plans of the recommendation, lifted from boxes
to accelerators, are made and verified beside them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topodesign.base.deadline import OutOfTime, deadline
from topodesign.base.errors import InfeasibleError, TopodesignError
from topodesign.base.latency import Latency
from topodesign.collectives import ALLGATHER
from topodesign.fabrics.boxes import Box
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.boxes import ANY_ORDER, BoxRates, box_rates
from topodesign.plans.plan import Plan
from topodesign.report.boxes.frontier import BoxDesign, find_rails, time_lifted
from topodesign.report.comparison.contender import verified
from topodesign.report.design.parts import PRICED, Offer, Part
from topodesign.report.design.request import Request
from topodesign.schedulers.for_size import find_latency
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.topology import Topology

RAILS = "rails"  # what the same boxes with switches between their NICs are called
MAX_PLANNED = 128  # accelerators up to which a decision has plans; of more they are made as its files are written
_SECONDS = 120.0  # for the plan of a collective


def rails_of(box: Box, boxes: int) -> tuple[BoxDesign, Topology]:
    """Return the switched rails of boxes, and their links between boxes.

    Each box is one node of these links.
    """
    found = find_rails(box, boxes)
    if not found:
        raise InfeasibleError(f"{box.name} is not a preset, so that its rails are not known")
    names = found[0].fabric.names
    whole = [name.partition("/")[0] for name in names]
    place = {name: number for number, name in enumerate(sorted(dict.fromkeys(whole), key=lambda one: one in names))}
    ends = [(place[whole[u]], place[whole[v]]) for u, v, _ in found[0].fabric.topology.links() if whole[u] != whole[v]]
    src, dst = np.array(ends, dtype=np.int64).T
    return found[0], Topology.from_arrays(len(place), src, dst, switches=frozenset(range(boxes, len(place))))


def rate_parts(fabric: Fabric, rates: BoxRates, request: Request) -> tuple[Part, ...]:
    """Return the time of every collective at proven rates."""
    latency = find_latency(fabric, ALLGATHER, Latency(None) if fabric.latency else request.work.latency)
    parts = []
    for share in request.mix.shares:
        rate = rates.least if share.collective == "all-to-all" else rates.allgather
        if rate is None:
            raise InfeasibleError("whether the inside of boxes carries its all-to-all is left open")
        halves = 2 if share.collective == "allreduce" else 1
        waits = halves * latency
        parts.append(Part(share, PRICED, waits + halves * share.size / rate, waits))
    return tuple(parts)


def in_any_order(graph: Topology, request: Request) -> bool:
    """Return whether any assignment of cables to NICs is equivalent."""
    return request.box is None or box_rates(request.box, graph).inside == ANY_ORDER


def with_plans(offer: Offer, *, most: int | None = None) -> Offer:
    """Add verified lifted plans to boxes, as far as time permits.

    * ``most``: accelerators up to which plans are made; None for all.
    """
    if offer.fabric is None or (most is not None and len(offer.fabric.compute) > most):
        return offer
    parts = []
    for part in offer.parts:
        plan = part.plan or _lift_plan(offer.fabric, part)
        parts.append(part if plan is None else replace(part, plan=plan, planned=time_lifted(plan, part.share.size)))
    return replace(offer, parts=tuple(parts))


def _lift_plan(fabric: Fabric, part: Part) -> Plan | None:
    try:
        with deadline(_SECONDS):
            return verified(schedule(fabric, part.share.collective, method="boxes", size=part.share.size))
    except (OutOfTime, TopodesignError):
        return None
