"""TACOS-Greedy: timed sends on any network, matched to links event by event (TACOS, section VI, and more)."""

from __future__ import annotations

from fractions import Fraction

from topodesign.base.arguments import as_integer
from topodesign.base.errors import ParameterError
from topodesign.base.units import format_time
from topodesign.collectives import COLLECTIVES, Collective
from topodesign.expand.places import named_preset
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.plan import Plan
from topodesign.schedulers.method import Method, Request
from topodesign.schedulers.ten.greedy import Made, synthesize
from topodesign.schedulers.ten.network import Network, grain_of, network_of, rounding
from topodesign.schedulers.traffic import plan_traffic
from topodesign.topology.topology import Topology

MOST_CHUNKS = 2**20
OPTIONS = frozenset(
    {
        "alpha",
        "bandwidth",
        "chunks",
        "group",
        "jobs",
        "link_table",
        "only",
        "overlap",
        "placement",
        "ready",
        "root",
        "seed",
        "tick",
        "time_limit",
        "traffic",
        "tries",
        "unwind",
        "without",
    }
)


def _make(request: Request) -> list[Plan]:
    place = request.unwound
    topology = place if isinstance(place, Topology) else place.topology
    units = 1 if request.chunks is None else as_integer("chunks", request.chunks, 1, MOST_CHUNKS)
    if request.traffic is not None:
        if request.unwind is not None:
            raise ParameterError("traffic goes through switches as they are; leave --unwind out")
        return [plan_traffic(request, place, units, None if request.without else named_preset(request.place))]
    collective = _there(request, place)
    ready = request.ready_times if request.unwind is None else _ready_nodes(request)
    times = request.link_times(place, collective, units, grain=grain_of(request))
    wires = network_of(topology, times, step=request.tick, ready=ready, overlap=request.overlap)
    return [_told(request, place, wires, synthesize(request, wires, collective, units), rounding(request, times.more))]


def _ready_nodes(request: Request) -> tuple[Fraction, ...]:
    """Return when the nodes are ready, without switches."""
    switches = request.where.topology.switches if isinstance(request.where, Fabric) else ()
    return tuple(time for node, time in enumerate(request.ready_times) if node not in switches)


def _there(request: Request, place: Topology | Fabric) -> Collective:
    """Return the collective with the numbers that its root and its groups have in a place."""
    if request.group not in {"", ()}:
        if request.without or request.unwind is not None:
            raise ParameterError("groups are of all nodes and switches; leave --without and --unwind out")
        if len(set(map(len, request.among.groups or ()))) > 1:
            raise ParameterError("groups of different sizes have blocks of different sizes; say --traffic for each")
        return request.among
    root = request.root
    if root is None:
        return request.collective
    if isinstance(place, Topology) and not isinstance(root, str):
        return request.collective.at(as_integer("root", root, 0, place.nodes - 1))
    name = request.root_name
    return request.collective.at((place if isinstance(place, Fabric) else request.whole).number(str(name)))


def _told(request: Request, place: Topology | Fabric, network: Network, made: Made, further: list[str]) -> Plan:
    """Return the plan with what there is to say of it."""
    bound = made.bound * network.tick
    what = "these chunks over unwound switches" if request.unwind else "these chunks"
    notes = [f"no schedule of {what} is faster"]
    if made.timed.time > bound:
        times = f"{float(made.timed.time / bound):.4f} times " if bound else ""
        notes = [f"{times}{format_time(bound)}, which no schedule of {what} beats"]
    notes += further
    generator = {
        "method": "tacos",
        "seed": 0 if request.seed is None else request.seed,
        "tries": made.tries,
        "chunks": made.timed.units,
        "bound": str(bound),
        "unwind": request.unwind,
        "overlap": request.overlap,
        "tick": None if request.tick is None else str(request.tick),
    }
    spec = None if request.only or request.without else named_preset(request.place)
    return Plan(
        place, made.timed, {"time": made.timed.time}, spec if request.unwind is None else None, generator, tuple(notes)
    )


METHOD = Method("tacos", OPTIONS, tuple(COLLECTIVES.values()), _make, movement="sends", fabrics=True)
