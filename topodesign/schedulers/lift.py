"""Schedules of expanded topologies from schedules of their bases."""

from __future__ import annotations

from topodesign.base.errors import InfeasibleError, ScheduleError, TooLargeError
from topodesign.base.spec import Spec
from topodesign.collectives import ALLGATHER, REDUCE_SCATTER, Collective
from topodesign.graphs.expansions.expansion import Expansion
from topodesign.graphs.expansions.transpose import transpose
from topodesign.plans.flow import Flow
from topodesign.plans.measure import cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import is_lean, prune
from topodesign.schedulers.method import Method, Request, plan_rounds
from topodesign.schedulers.spff import spff
from topodesign.schedulers.stored import get_stored_schedule
from topodesign.topology.library import build, generator
from topodesign.topology.topology import Topology


def lift_schedule(topology: Topology, collective: Collective) -> Flow | None:
    """Return an expansion's schedule lifted from its bases, or None.

    Of each base the schedule with the least bandwidth factor is taken, found in the same way or stored or SPFF: an
    expansion keeps the bandwidth and adds steps of its own.
    """
    if topology.spec is None:
        return None
    entry = generator(topology.spec.name)
    if not isinstance(entry, Expansion) or entry.lift is None:
        return None
    of_bases = collective.dual if entry is transpose else collective
    args: list[Topology | Flow | int] = []
    for argument in topology.spec.args:
        if isinstance(argument, Spec):
            base = build(argument)
            schedule = thriftiest(base, of_bases)
            args += [base, schedule if is_lean(schedule) else prune(schedule)]  # only what is lean can be lifted
        else:
            args.append(argument)
    try:
        return entry.lift(*args)
    except (ScheduleError, InfeasibleError, TooLargeError):
        return None  # the expansion has no lift for such bases, or one of too many units


def thriftiest(topology: Topology, collective: Collective) -> Flow:
    """Return the available schedule with minimum bandwidth, then steps."""
    known = [
        spff(topology, collective),
        get_stored_schedule(topology.spec, collective),
        lift_schedule(topology, collective),
    ]
    made = [(cost_of(topology, schedule), schedule) for schedule in known if schedule is not None]
    return min(made, key=lambda one: (one[0].bandwidth, one[0].steps))[1]


def _make(request: Request) -> list[Plan]:
    schedule = lift_schedule(request.topology, request.collective)
    return [] if schedule is None else [plan_rounds(request.topology, schedule, "lift")]


METHOD = Method("lift", frozenset(), (ALLGATHER, REDUCE_SCATTER), _make)
