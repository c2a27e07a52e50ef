"""Flows of plans of other kinds of movement."""

from __future__ import annotations

from dataclasses import replace

from topodesign.base.errors import InfeasibleError
from topodesign.plans.flow import Flow, Flows
from topodesign.plans.flow_ops import flow_of_rounds
from topodesign.plans.kinds import kind_of
from topodesign.plans.plan import Plan


def flows_of(plan: Plan) -> tuple[Flow, ...]:
    """Return what moves in a plan.

    Returns
    -------
    tuple of Flow
        One; of stages one for each, in their order; of several collectives at the same time one for each.

    Examples
    --------
    >>> from topodesign import schedule
    >>> flows_of(schedule("biring(2,4)", "allgather"))
    (<Flow allgather in steps, 16 pieces, 16 sends>,)
    """
    moved = plan.movement
    if isinstance(moved, Flow | Flows):
        each = moved.each if isinstance(moved, Flows) else (moved,)
        place = plan.fabric if each[0].model == "chunks" else plan.place  # shares of links are of their bandwidths
        return tuple(one if one.place is place else replace(one, place=place) for one in each)
    return (flow_of_rounds(plan.place, kind_of(plan).in_rounds()[1]),)  # of another package, which knows its rounds


def flow_of(plan: Plan) -> Flow:
    """Return the one flow of a plan; InfeasibleError if it has several."""
    found = flows_of(plan)
    if len(found) > 1:
        raise InfeasibleError(f"a plan in {plan.kind} is {len(found)} flows")
    return found[0]
