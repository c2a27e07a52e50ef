"""Fastest plans for a data size, among all quick methods.

Which method wins depends on the size: for little data the fewest steps, for much the best use of links, between the two
timed sends. ``schedule --size`` and ``methods`` try the same methods in the same way. Times are those of ``simulate``.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from topodesign.base.errors import TopodesignError
from topodesign.base.latency import Latency
from topodesign.base.progress import each
from topodesign.base.units import format_size, format_time
from topodesign.base.wording import listed
from topodesign.collectives import ALL_TO_ALL, ALLREDUCE, GATHER, REDUCE, REDUCE_SCATTER, Collective
from topodesign.fabrics.fabric import NODE_BANDWIDTH, OWN_LATENCIES, Fabric
from topodesign.fabrics.node_values import as_latency
from topodesign.plans.plan import Plan
from topodesign.plans.time.conditions import Run
from topodesign.schedulers.method import Method, Request
from topodesign.topology.link_table import LinkTable

SEARCHES = frozenset({"tacos-ilp", "exact"})
"""Methods that search for as long as they may: what they find depends on the time, so that they have to be named."""
MOST_NODES = 256  # compute nodes up to which a size is chosen by
_MOST_NODES = {
    **dict.fromkeys(("one-shot", "two-level", "direct", "hierarchical", "in-network", "pipeline"), MOST_NODES),
    **dict.fromkeys(("fluid", "boxes"), 32),
}
"""Compute nodes up to which a method is tried: it then takes a second or two at most."""
_MOST_OTHERWISE = 64
_MOST_SWITCHED = 1536  # nodes times switches that copy or add, up to which in-network answers in seconds
_PARTS = 8  # of a block in timed sends, which are made of whole blocks, too, where nodes differ in ports
_LEFT = frozenset({"only", "without", "root"})  # what may be given as well, as all of these support it
_TOLD = 6  # times that a note has


def messages_of(request: Request) -> Latency:
    """Return the latencies for which a plan is timed."""
    return as_latency("10us" if request.alpha is None else request.alpha)


def run_of(plan: Plan, request: Request, messages: Latency | None = None) -> Run:
    """Return a plan's run for the requested size, latency and bandwidth."""
    from topodesign.plans.time.simulate import simulate  # noqa: PLC0415  not for the help of commands

    told = messages_of(request) if messages is None else messages
    alpha = OWN_LATENCIES if told.alpha is None else told.alpha
    rate = request.bandwidth if request.plain else None
    return simulate(plan, size=request.size, alpha=alpha, gap=told.gap, hop=told.hop, bandwidth=rate).run


def time_of(plan: Plan, request: Request, messages: Latency | None = None) -> Fraction:
    """Return a plan's seconds for the requested size, latency and bandwidth."""
    return run_of(plan, request, messages).time


def chooses_by_size(request: Request) -> bool:
    """Return whether size or latencies are given without special options."""
    if not (request.sized or request.alpha == OWN_LATENCIES) or request.collective.group is not None:
        return False
    return not set(request.given()) - _LEFT - ({"alpha", "bandwidth"} if request.plain else {"alpha"})


def gains_by_trees(request: Request) -> bool:
    """Return whether trees may beat rounds on an irregular topology.

    There roots with more ports own more, and an allreduce that reduces and broadcasts at the same time may have less
    bandwidth than a reduce-scatter and then an allgather (ForestColl, appendix F).
    """
    if not request.plain or not request.collective.like(ALLREDUCE) or request.collective.group is not None:
        return False
    return not request.topology.is_regular and request.topology.nodes <= _MOST_OTHERWISE


def why_unfit(method: Method, request: Request) -> str | None:
    """Return the reason that a method cannot apply, or None."""
    if not method.does(request.collective):
        return f"makes no {request.collective}"
    if not method.fabrics and not request.plain:
        return "is for topologies without switches and names"
    if method.movement == "routed":  # bounds and other times are for nodes that nothing passes through
        return "messages pass through nodes, unlike those of the bound; 'simulate --hop' times its plan"
    return None


def why_skipped(method: Method, request: Request) -> str | None:
    """Return the reason to skip an unnamed method, or None."""
    fabric = request.fabric
    nodes, switches = len(fabric.compute), len(fabric.multicast | fabric.aggregation)
    if method.name in SEARCHES:
        return "searches as long as it may; name it with --algorithm"
    if method.name == "in-network" and nodes * switches > _MOST_SWITCHED:
        return "takes long with so many switches; name it with --algorithm"
    if nodes > _MOST_NODES.get(method.name, _MOST_OTHERWISE) and not (
        method.name == "fluid" and gains_by_trees(request)
    ):
        return "takes long for so many nodes; name it with --algorithm"
    return None


def make_for_size(
    request: Request, method: Method, make: Callable[[Request, str], Plan], messages: Latency | None = None
) -> Plan:
    """Return a method's fastest plan for a size.

    The method gets all time options that it accepts.
    """
    told = messages_of(request) if messages is None else messages
    known: dict[str, Any] = {"alpha": OWN_LATENCIES if told.alpha is None else told.alpha, "overlap": True}
    known |= {"bandwidth": request.bandwidth if request.plain else None}
    known |= {"time_limit": request.time_limit} if method.name in SEARCHES else {}
    if method.name == "boxes" and request.collective.like(ALL_TO_ALL):
        del known["alpha"]  # its all-to-all is made for any latency
    fabric = request.fabric
    if fabric.topology.switches and told.alpha is not None and "overlap" in method.options:  # a hop in each switch
        switches = {request.whole.number(fabric.names[node]) for node in fabric.topology.switches}
        hops = {(u, v): told.hop for u, v, _ in request.whole.topology.links() if u in switches}
        known["link_table"] = LinkTable(hops, {})
    asked = request.but(alpha=None, bandwidth=None, time_limit=None, sized=False, progress=None)
    asked = asked.but(**{name: value for name, value in known.items() if name in method.options})
    some = [asked]
    if method.name == "tacos" and gains_by_trees(request):
        some.append(asked.but(chunks=_PARTS))
    plans = [make(one, method.name) for one in some]
    return min(plans, key=lambda plan: time_of(plan, request, told)) if len(plans) > 1 else plans[0]


def fastest_for_size(request: Request, make: Callable[[Request, str], Plan], methods: Mapping[str, Method]) -> Plan:
    """Return the fastest plan, with notes on the other methods.

    ``make`` makes the plan of a method, and of ``auto`` the best one if no size is given.
    """
    plans = {"auto": make(request.but(alpha=None, bandwidth=None, sized=False), "auto")}
    skipped = []
    for name, method in each(methods.items(), request.progress):
        if why_unfit(method, request) is not None:
            continue
        if len(request.fabric.compute) > MOST_NODES or why_skipped(method, request) is not None:
            skipped.append(name)
            continue
        try:
            plans[name] = make_for_size(request, method, make)
        except TopodesignError:  # a method that has nothing for this place
            continue
    times = {name: time_of(plan, request) for name, plan in plans.items()}
    order = sorted(times, key=times.__getitem__)
    chosen = plans[order[0]]
    told = dict.fromkeys(f"{plans[name].generator['method']} {format_time(times[name])}" for name in order)
    notes = []
    if skipped:
        least = least_time(request)
        left = f"at most {float(1 - least / times[order[0]]):.1%} could be left"
        notes.append(f"not tried: {listed(skipped)}; {left}: no plan takes less than {format_time(least)}")
    notes.append(f"for {format_size(request.size)}: {', '.join([*told][:_TOLD])}{', ...' if len(told) > _TOLD else ''}")
    return replace(chosen, notes=(*chosen.notes, *notes))


def least_time(request: Request) -> Fraction:
    """Return a lower bound in seconds on any plan."""
    fabric, collective = request.fabric, request.collective
    if request.root_name is not None:
        collective = collective.at(fabric.number(request.root_name))
    rate = fabric.unit * max(1, *(int(fabric.topology.out_ports[node]) for node in fabric.compute))
    if request.plain:
        rate = NODE_BANDWIDTH if request.bandwidth is None else request.bandwidth / 8
    latency = least_latency(fabric, collective, messages_of(request))
    busy: Fraction = node_bound(fabric, collective, 8 * rate) * request.size / rate
    return max(latency, busy)


def least_latency(fabric: Fabric, collective: Collective, messages: Latency) -> Fraction:
    """Return the longest fastest-path latency to a needed node.

    A message takes alpha from node to node and a hop in each switch, unless links have latencies of their own.
    """
    if messages.alpha is None:
        own = fabric.link_latencies()
    else:
        switches = fabric.topology.switches
        own = tuple(messages.hop if u in switches else messages.alpha for u, _, _ in fabric.topology.links())
    common = math.lcm(*(one.denominator for one in own))
    backwards = collective.like(REDUCE, GATHER)
    ways: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (u, v, _), one in zip(fabric.topology.links(), own, strict=True):
        ways[v if backwards else u].append((u if backwards else v, int(one * common)))
    slowest = 0
    for source in fabric.compute if collective.root is None else (collective.root,):
        known: dict[int, int] = {}
        coming = [(0, source)]
        while coming:  # Dijkstra, with integers of any size
            time, at = heapq.heappop(coming)
            if at not in known:
                known[at] = time
                for to, more in ways[at]:
                    if to not in known:
                        heapq.heappush(coming, (time + more, to))
        slowest = max(slowest, *(known.get(node, 0) for node in fabric.compute))
    return Fraction(slowest, common)


def node_bound(fabric: Fabric, collective: Collective, total: Fraction) -> Fraction:
    """Return a bandwidth factor bound from data at nodes."""
    topology, nodes = fabric.topology, len(fabric.compute)
    compute = list(fabric.compute)
    out, into = (ports[compute] for ports in (topology.out_ports, topology.in_ports))
    share, ports = Fraction(nodes - 1, nodes), int(into.min())
    if collective.like(ALLREDUCE) and fabric.multicast | fabric.aggregation:
        share, ports = Fraction(1), int(out.min())
    elif collective.like(ALLREDUCE):  # every item is sent N - 1 times to be added up, and N - 1 times as a sum
        share, ports = 2 * Fraction(nodes - 1), int(out.sum())
    elif collective.like(REDUCE_SCATTER):
        ports = int(out.min())
    elif collective.root is not None:
        share = share if collective.shards(nodes) > 1 else Fraction(1)
        ends = topology.in_ports if collective.like(REDUCE, GATHER) else topology.out_ports
        ports = int(ends[collective.root])
    return share * total / (8 * fabric.unit * max(1, ports))
