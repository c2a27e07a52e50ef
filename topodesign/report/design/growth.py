"""Growth stages: the fewest moves among nearly fastest topologies."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from topodesign.base.cost import Cost, lower_bounds, moore_distances
from topodesign.base.errors import InfeasibleError
from topodesign.base.progress import Progress, part
from topodesign.finder.question import get_least_seconds
from topodesign.optima.boxes import exchange_bound
from topodesign.plans.time.simulate import simulate
from topodesign.plans.time.steps import SimulationResult
from topodesign.pricing.mix import Mix
from topodesign.pricing.training.timeline import step_seconds
from topodesign.report.design.measure import measure_step
from topodesign.report.design.parts import Limit, Part, Stage
from topodesign.report.design.request import Request
from topodesign.wiring.change.growth import grow
from topodesign.wiring.change.rewire import change_wiring
from topodesign.wiring.inventory.answers import extend_room
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
        share = part(progress, place / len(request.grow), (place + 1) / len(request.grow))
        stage = _stage(request, now, nodes, share)
        room, needs = request.room, ""
        if room is not None and nodes > len(room.hosts):
            larger = extend_room(room, nodes, request.degree)
            room, needs = larger.inventory, str(larger)
        if needs or place + 1 < len(request.grow):
            try:
                change = change_wiring(now, stage.topology, inventory=room, downtime=True, throughput=False)
            except InfeasibleError as error:
                raise InfeasibleError(f"grow to {nodes}: {error}{f' ({needs})' if needs else ''}") from None
            now = change.after
            stage = replace(stage, needs=needs, buy=change.bill.items if needs else ())
        stages.append(stage)
    return tuple(stages)


def _stage(request: Request, now: WiringPlan, nodes: int, progress: Progress | None) -> Stage:
    work, larger = request.work, replace(request, nodes=nodes)
    found = grow(
        now, nodes, request.degree, sizes=work.sizes, alpha=work.alpha, bandwidth=work.bandwidth, progress=progress
    )
    able = [one for one in found.topologies if one.topology.is_duplex or request.cabling == "simplex"]
    if not able:
        raise InfeasibleError(f"nothing is known for {nodes} nodes of degree {request.degree} with duplex cables")
    stages: list[Stage] = []
    for one in able:
        costs = one.entry.cost, one.entry.allgather
        seconds = measure_step(one.topology, larger, costs=costs).seconds
        stages.append(Stage(nodes, one.name, one.topology, one.moves, one.at_least, seconds))
    most = (1 + SLOWER) * min(one.seconds for one in stages)
    return min((one for one in stages if one.seconds <= most), key=lambda one: (one.moves, one.seconds))


_SHOWN = 3  # links that are named


def limits_of(parts: tuple[Part, ...], request: Request, wiring: WiringPlan) -> tuple[Limit, ...]:
    """Return the limit of each collective."""
    alone = (Mix(request.mix.name, (replace(one, count=1),)) for one in request.graph_mix.shares)
    return tuple(_limit(one, bound_of(mix, request), request, wiring) for one, mix in zip(parts, alone, strict=False))


def bound_of(mix: Mix, request: Request) -> Fraction:
    """Return a lower bound on the seconds of a step at this size.

    For a model, the bound is its compute time.
    """
    if request.step is not None:
        return step_seconds(request.step, lambda _: Fraction(0))
    size, duplex = (request.nodes, request.degree), request.cabling == "duplex"
    costs, exchange = lower_bounds(*size, duplex=duplex), moore_distances(*size, duplex=duplex)
    if request.box is not None:
        exchange = max(exchange, exchange_bound(*size))
        costs = (Cost(costs[0].steps, costs[-1].bandwidth),)  # flows need not trade one for the other
    return get_least_seconds(mix, costs, exchange, request.work)


def _limit(one: Part, least: Fraction, request: Request, wiring: WiringPlan) -> Limit:
    plan, fullest, links = one.plan, list[int](), wiring.topology
    run = None if plan is None or request.box is not None or plan.cost is None else simulate(plan).run
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
