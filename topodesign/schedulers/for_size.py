"""What ``auto`` makes where a size is said: of several plans the one that takes the least time.

Which that is depends on the size: for little data the fewest steps (one-shot, two-shot), for much the best use of links
(trees, rounds, switches that add), and between the two timed sends, where nodes differ in ports. Times are exact in the
model of ``simulate``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from topodesign.base.errors import TopodesignError
from topodesign.base.units import format_size, format_time
from topodesign.collectives import ALLREDUCE
from topodesign.plans.plan import Plan
from topodesign.schedulers.method import Request

BESIDE = ("one-shot", "two-level", "direct", "hierarchical", "in-network")
MOST_NODES = 256  # of one-shot and direct, which have a message for every pair
_MOST_SWITCHED = 1536  # nodes times switches that copy or add, up to which in-network answers in seconds
_MOST_IRREGULAR = 64  # nodes up to which the linear program of an allreduce over trees takes a second or two
_MOST_LIFTED = 32  # nodes of a fabric up to which trees of the best flow and schedules of boxes take a second or two
_PARTS = 8  # of a block, at most, in timed sends
_FOR_TIMES = {  # to choose by
    "boxes": ("alpha",),
    "one-shot": ("alpha",),
    "two-level": ("alpha",),
    "pipeline": ("alpha", "bandwidth"),
}
_LEFT = frozenset({"only", "without"})  # what may be said beside, as all of these understand it


def time_of(plan: Plan, request: Request) -> Fraction:
    """Return the seconds of a plan for the size, latency and bandwidth that are asked for."""
    from topodesign.plans.timing.plans import simulate  # noqa: PLC0415  not for the help of commands

    given = {name: getattr(request, name) for name in ("alpha", "bandwidth") if getattr(request, name) is not None}
    return simulate(plan, size=request.size, **given).time


def chooses_by_size(request: Request) -> bool:
    """Return whether a size is said, and nothing that only one of these methods understands.

    An allreduce is made for a size alone; on a topology another collective is where latency or bandwidth is said, too.
    """
    if not request.sized or request.collective.group is not None:
        return False
    given, timed = set(request.given()), {"alpha", "bandwidth"} if request.plain else {"alpha"}
    if not request.collective.like(ALLREDUCE) and not (request.plain and given & timed):
        return False
    return not given - _LEFT - timed


def gains_by_trees(request: Request) -> bool:
    """Return whether trees may beat rounds: an allreduce of all nodes of a topology whose nodes differ in ports.

    There roots with more ports own more, and an allreduce that reduces and broadcasts at the same time may have less
    bandwidth than a reduce-scatter and then an allgather (ForestColl, appendix F).
    """
    if not request.plain or not request.collective.like(ALLREDUCE) or request.collective.group is not None:
        return False
    return not request.topology.is_regular and request.topology.nodes <= _MOST_IRREGULAR


def fastest_for_size(request: Request, make: Callable[[Request, str], Plan]) -> Plan:
    """Return the plan with the least time; its note has the times of all.

    ``make`` makes the plan of a method, and of ``auto`` what it takes where no size is said.
    """
    asked = request.but(alpha=None, bandwidth=None, sized=False)
    plans = {"auto": make(asked, "auto")}
    fabric, switches = request.fabric, len(request.fabric.multicast | request.fabric.aggregation)
    beside = BESIDE if request.collective.like(ALLREDUCE) else ("pipeline",)
    if gains_by_trees(request):
        beside = (*beside, "forest", "tacos", "fluid")
    elif not request.plain and len(fabric.compute) <= _MOST_LIFTED:
        beside = (*beside, "fluid", "boxes")
    for name in beside:
        many = len(fabric.compute) * switches > _MOST_SWITCHED if name == "in-network" else False
        if many or len(fabric.compute) > MOST_NODES or (name == "in-network" and not switches):
            continue
        more = {name: getattr(request, name) for name in _FOR_TIMES.get(name, ())}
        if name == "tacos":
            more["chunks"] = _PARTS
        try:
            plans[name] = make(asked.but(**more), name)
        except TopodesignError:  # a method that has nothing for this place
            continue
    times = {name: time_of(plan, request) for name, plan in plans.items()}
    chosen = plans[min(times, key=times.__getitem__)]
    said = ", ".join(
        f"{plans[name].generator['method']} {format_time(time)}"
        for name, time in sorted(times.items(), key=lambda one: one[1])
    )
    return replace(chosen, notes=(*chosen.notes, f"for {format_size(request.size)}: {said}"))
