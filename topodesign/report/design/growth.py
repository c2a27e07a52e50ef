"""Stages to grow by: of the topology with the fewest moves and the one that promises most, whichever is worth it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from topodesign.base.errors import InfeasibleError
from topodesign.base.progress import Progress, part
from topodesign.report.design.measure import at_least, measured
from topodesign.report.design.parts import Stage
from topodesign.report.design.request import Request
from topodesign.wiring.change.growth import grow
from topodesign.wiring.change.rewire import rewire
from topodesign.wiring.plan.plan import WiringPlan

SLOWER = Fraction(1, 20)  # how much more than with the other a step may take for fewer moves


def stages_of(request: Request, wiring: WiringPlan, progress: Progress | None) -> tuple[Stage, ...]:
    """Return a stage for every size to grow to.

    Raises
    ------
    InfeasibleError
        If nothing is found for a size.
    """
    stages: list[Stage] = []
    now = wiring
    for place, nodes in enumerate(request.grow):
        if place:
            now = rewire(now, stages[-1].topology, inventory=request.room, downtime=True, throughput=False).after
        share = part(progress, place / len(request.grow), (place + 1) / len(request.grow))
        stages.append(_stage(request, now, nodes, share))
    return tuple(stages)


def _stage(request: Request, now: WiringPlan, nodes: int, progress: Progress | None) -> Stage:
    work, larger = request.work, replace(request, nodes=nodes)
    found = grow(
        now, nodes, request.degree, sizes=work.sizes, alpha=work.alpha, bandwidth=work.bandwidth, progress=progress
    )
    able = [one for one in found.topologies if one.topology.is_duplex or request.cabling == "simplex"]
    if not able:
        raise InfeasibleError(f"nothing is known for {nodes} nodes of degree {request.degree} with duplex cables")
    least = [at_least(one.topology, larger, "bounds") for one in able]
    quickest = least.index(min(least))
    nearest = min(range(len(able)), key=lambda place: (able[place].moves, least[place]))
    stages: list[Stage] = []
    for one, bound in [(able[place], least[place]) for place in dict.fromkeys((quickest, nearest))]:
        if stages and bound > (1 + SLOWER) * stages[0].seconds:
            continue
        seconds = measured(one.topology, larger).seconds
        stages.append(Stage(nodes, one.name, one.topology, one.moves, one.at_least, seconds))
    most = (1 + SLOWER) * min(one.seconds for one in stages)
    return min((one for one in stages if one.seconds <= most), key=lambda one: (one.moves, one.seconds))
