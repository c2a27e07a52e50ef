"""TACOS-Greedy: timed sends matched event by event (section VI)."""

from __future__ import annotations

from topodesign.base.arguments import as_integer
from topodesign.base.errors import ParameterError
from topodesign.base.units import format_time
from topodesign.base.wording import count_noun
from topodesign.collectives import COLLECTIVES
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import concatenate, join_links
from topodesign.plans.plan import Plan
from topodesign.plans.verify.plans import check_movement
from topodesign.schedulers.demands import collect_demand, quick_sends, setting_of, write_flow
from topodesign.schedulers.method import Method, Request, spec_of
from topodesign.schedulers.time_expanded.greedy import BoundedSends, synthesize
from topodesign.schedulers.time_expanded.network import Network, grain_of, network_of, rounding
from topodesign.schedulers.traffic import plan_traffic
from topodesign.topology.topology import Topology

MAX_CHUNKS = 2**20
_MAX_AUTO = 2**12  # chunks of a block at most, if a number is looked for
_PATIENCE = 2  # larger numbers that are looked at after the best one
_MAX_SENDS = 2**20  # sends above which no larger number is looked at
_LINKS = frozenset({"link_table", "alpha", "bandwidth", "overlap", "tick", "ready", "unwind"})
_PARTS = frozenset({"root", "only", "without", "group", "placement", "traffic", "chunks", "auto_chunks"})
SEARCH = frozenset({"seed", "tries", "symmetric", "time_limit", "jobs"})


def _make(request: Request) -> list[Plan]:
    place = request.unwound
    if request.traffic is not None and request.unwind is not None:
        raise ParameterError(
            "--traffic cannot be combined with --set unwind=: traffic goes through switches as they are; remove one"
        )
    if request.auto_chunks:
        return [_fastest(request, place)]
    return [_make_plan(request, place, as_integer("chunks", request.chunks or 1, 1, MAX_CHUNKS))]


def _make_plan(request: Request, place: Topology | Fabric, units: int) -> Plan:
    """Return the plan in a number of chunks per block."""
    if request.traffic is not None:
        return plan_traffic(request, place, units)
    _, topology, collective = collect_demand(request, forwarding=True)
    times = request.link_times(place, collective, units, grain=grain_of(request))
    wires = network_of(topology, times, step=request.tick, ready=request.ready_unwound, overlap=request.overlap)
    made, further = synthesize(request, wires, collective, units), rounding(request, times.more)
    if topology.switches and not check_movement(topology, join_links(made.timed)).ok:
        made = made._replace(timed=_keeping_turns(request.but(chunks=units), made.timed), before=None, copies=1)
        further = [*further, "in faster sends that were found parts of a block overtake each other in a switch"]
    return _add_notes(request, place, wires, made, further)


def _keeping_turns(request: Request, quick: Flow) -> Flow:
    """Return sends that do not overtake in switches.

    In ``quick``, what was found, partial sums cannot be distinguished.
    """
    parts: list[Flow] = []
    for part in request.collective.parts:
        # Whoever was late is there when the first part of an allreduce is over.
        asked = request.asking(part).but(ready=None if parts else request.ready)
        _, setting = setting_of(asked)
        known = setting.sends(quick) if len(request.collective.parts) == 1 else None
        parts.append(write_flow(setting, quick_sends(setting, known)))
    return concatenate(*parts) if len(parts) > 1 else parts[0]


def _fastest(request: Request, place: Topology | Fabric) -> Plan:
    """Return the fastest plan over doubling numbers of chunks."""
    plans: list[Plan] = []
    best = 0
    while len(plans) < best + 1 + _PATIENCE and 2 ** len(plans) <= _MAX_AUTO:
        plans.append(_make_plan(request.but(progress=None), place, 2 ** len(plans)))
        if plans[-1].claim["time"] < plans[best].claim["time"]:
            best = len(plans) - 1
        if 2 * len(plans[-1].movement.table()["start"]) > _MAX_SENDS:
            break
    tried = ", ".join(f"{2**at}: {format_time(plan.claim['time'])}" for at, plan in enumerate(plans))
    return plans[best].saying(f"{2**best} chunk{'s' * (best > 0)} of a block; tried were {tried}")


def _add_notes(
    request: Request, place: Topology | Fabric, network: Network, made: BoundedSends, further: list[str]
) -> Plan:
    """Return the plan with its notes."""
    bound = made.bound * network.tick
    what = "these chunks over unwound switches" if request.unwind else "these chunks"
    notes = [f"optimal (proven): least time among schedules of {what}"]
    if made.timed.time > bound:
        times = f"{float(made.timed.time / bound):.4f} times " if bound else ""
        notes = [f"{times}{format_time(bound)}, which no schedule of {what} beats"]
    if made.before is not None and made.before > made.timed.time:
        halves = " and all sums before all copies" if len(made.timed.collective.parts) > 1 else ""
        notes.append(f"with every chunk a send{halves} it would be {format_time(made.before)}")
    if made.copies > 1:
        few = count_noun(network.topology.nodes // made.copies, "node")
        notes.append(f"symmetric: what {few} would send is copied by a group of {made.copies} automorphisms")
    notes += further
    generator = {
        "method": "tacos",
        "seed": request.seed or 0,
        "tries": made.tries,
        "copies": made.copies,
        "unmerged": None if made.before is None else str(made.before),
        "chunks": made.timed.units,
        "bound": str(bound),
        "unwind": request.unwind,
        "overlap": request.overlap,
        "tick": None if request.tick is None else str(request.tick),
    }
    return Plan(place, join_links(made.timed), {"time": made.timed.time}, spec_of(request), generator, tuple(notes))


OPTIONS = _LINKS | _PARTS | SEARCH
METHOD = Method("tacos", OPTIONS, tuple(COLLECTIVES.values()), _make, movement="sends", fabrics=True)
