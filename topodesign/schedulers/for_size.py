"""Fastest plans for a data size, among all quick methods.

Which method wins depends on the size: for little data the fewest steps, for much the best use of links, between the two
timed sends. ``schedule --size`` and ``methods`` try the same methods in the same way. Times are those of ``simulate``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from topodesign.base.deadline import OutOfTime, Stopwatch, deadline
from topodesign.base.errors import TooLargeError, TopodesignError
from topodesign.base.latency import Latency
from topodesign.base.progress import iterate_with_progress
from topodesign.base.units import format_size, format_time
from topodesign.base.wording import join_words
from topodesign.collectives import ALLREDUCE, BROADCAST, GATHER, REDUCE, REDUCE_SCATTER, Collective
from topodesign.fabrics.fabric import NODE_BANDWIDTH, OWN_LATENCIES, Fabric
from topodesign.fabrics.node_values import as_latency, latency_words
from topodesign.optima.optimum import solve
from topodesign.optima.question import Question
from topodesign.plans.plan import Plan
from topodesign.plans.time.conditions import Run
from topodesign.schedulers.method import Method, Request
from topodesign.topology.link_table import LinkTable

SEARCHES = frozenset({"tacos-ilp", "exact"})
"""Methods that search for as long as they may: what they find depends on the time, so that they have to be named."""
MAX_NODES = 256  # compute nodes up to which a size is chosen by
_MAX_NODES = {
    **dict.fromkeys(("one-shot", "two-level", "direct", "hierarchical", "in-network", "pipeline"), MAX_NODES),
    **dict.fromkeys(("fluid", "boxes"), 32),
}
"""Compute nodes up to which a method is tried: it then takes a second or two at most."""
_MAX_OTHERWISE = 64
_MAX_SWITCHED = 1536  # nodes times switches that copy or add, up to which in-network answers in seconds
_PARTS = 8  # of a block in timed sends, which are made of whole blocks, too, where nodes differ in ports
_LEFT = frozenset({"only", "without", "root"})  # what may be given as well, as all of these support it
_LONGEST_REASON = 100
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


def take_fastest(plans: Iterable[Plan], request: Request, messages: Latency | None = None) -> Plan:
    """Return the plan that is the fastest for the requested size."""
    some = list(plans)
    return some[0] if len(some) == 1 else min(some, key=lambda plan: run_of(plan, request, messages).time)


def chooses_by_size(request: Request) -> bool:
    """Return whether size or latencies are given without special options."""
    if not (request.sized or request.alpha == OWN_LATENCIES) or request.collective.group is not None:
        return False
    return not set(request.list_given()) - _LEFT - ({"alpha", "bandwidth"} if request.plain else {"alpha"})


def gains_by_trees(request: Request) -> bool:
    """Return whether trees may beat rounds on an irregular topology.

    There roots with more ports own more, and an allreduce that reduces and broadcasts at the same time may have less
    bandwidth than a reduce-scatter and then an allgather (ForestColl, appendix F).
    """
    if not request.plain or not request.collective.like(ALLREDUCE) or request.collective.group is not None:
        return False
    return not request.topology.is_regular and request.topology.nodes <= _MAX_OTHERWISE


def explain_unfit(method: Method, request: Request) -> str | None:
    """Return the reason that a method cannot apply, or None."""
    if not method.does(request.collective):
        return f"makes no {request.collective}"
    if not method.fabrics and not request.plain:
        return "is for topologies without switches and names"
    if method.movement == "routed":  # bounds and other times are for nodes that nothing passes through
        return "messages pass through nodes, unlike those of the bound; 'simulate --hop' times its plan"
    return None


def explain_skipped(method: Method, request: Request) -> str | None:
    """Return the reason to skip an unnamed method, or None."""
    fabric = request.fabric
    nodes, switches = len(fabric.compute), len(fabric.multicast | fabric.aggregation)
    if method.name in SEARCHES:
        return "searches as long as it may; name it with --algorithm"
    if method.name == "in-network" and nodes * switches > _MAX_SWITCHED:
        return "takes long with so many switches; name it with --algorithm"
    if nodes > _MAX_NODES.get(method.name, _MAX_OTHERWISE) and not (method.name == "fluid" and gains_by_trees(request)):
        return "takes long for so many nodes; name it with --algorithm"
    return None


@dataclass(frozen=True)
class MethodPlan:
    """Plan of a method for some sizes, or the reason that it has none.

    * ``plan``: for the last size; None if there is no plan.
    * ``runs``: of the plan for each size.
    * ``seconds``: that making the first plan took.
    """

    method: str
    plan: Plan | None = None
    runs: tuple[Run, ...] = ()
    why: str = ""
    seconds: float = 0.0


def plan_method(
    method: Method,
    request: Request,
    sizes: Sequence[Fraction],
    make: Callable[[Request, str], Plan],
    *,
    messages: Latency | None = None,
    limit: Fraction | None = None,
    check: Callable[[Plan], str | None] = lambda _: None,
) -> MethodPlan:
    """Make and time the fastest plan of a method for each size.

    Parameters
    ----------
    request
        What all methods are asked.
    make
        Makes the plan of a method.
    messages
        What messages take beside their bytes; that of the request by default.
    limit
        Seconds for all sizes, or None. A search ends by itself with the best plan that it has then.
    check
        Returns what is wrong with a plan, or None.
    """
    if (reason := explain_unfit(method, request)) is not None:
        return MethodPlan(method.name, why=reason)
    searches = method.name in SEARCHES
    if limit is not None:
        request = request.but(time_limit=limit / len(sizes) if searches else None)  # one search for each size
    plan, runs, seconds, begun = None, list[Run](), 0.0, Stopwatch()
    try:
        with nullcontext() if limit is None else deadline(float(2 * limit if searches else limit)):
            for size in sizes:
                asked = request.but(size=size)
                if plan is None or "alpha" in method.options:  # what knows of latency is made for one size
                    plan = _make_for_size(asked, method, make, messages)
                    seconds = seconds or begun()
                    if (wrong := check(plan)) is not None:
                        return MethodPlan(method.name, why=f"wrong: {wrong}")
                runs.append(run_of(plan, asked, messages))
    except OutOfTime:
        if limit is None:
            raise
        what = "was not verified and timed" if seconds else "made no plan"
        return MethodPlan(method.name, why=f"{what} within {format_time(limit)}")
    except (TopodesignError, MemoryError) as error:
        (words, *_) = str(error).splitlines() or ["not enough memory"]
        words = words.removeprefix(f"the method '{method.name}' has ").removesuffix("; try --algorithm spff")
        return MethodPlan(method.name, why=words if len(words) <= _LONGEST_REASON else f"{words[:_LONGEST_REASON]}...")
    return MethodPlan(method.name, plan, tuple(runs), "", seconds)


def _make_for_size(
    request: Request, method: Method, make: Callable[[Request, str], Plan], messages: Latency | None
) -> Plan:
    """Return a method's fastest plan for a size, with all time options that it accepts."""
    told = messages_of(request) if messages is None else messages
    known: dict[str, Any] = {"alpha": OWN_LATENCIES if told.alpha is None else told.alpha, "overlap": True}
    known |= {"bandwidth": request.bandwidth if request.plain else None}
    known |= {"time_limit": request.time_limit} if method.name in SEARCHES else {}
    fabric = request.fabric
    if fabric.topology.switches and told.alpha is not None and "overlap" in method.options:  # a hop in each switch
        switches = {request.whole.number(fabric.names[node]) for node in fabric.topology.switches}
        hops = {(u, v): told.hop for u, v, _ in request.whole.topology.links() if u in switches}
        known["link_table"] = LinkTable(hops, {})
    asked = request.but(alpha=None, bandwidth=None, time_limit=None, sized=False, progress=None)
    asked = asked.but(**{name: value for name, value in known.items() if name in method.options})
    some = [asked, asked.but(chunks=_PARTS)] if method.name == "tacos" and gains_by_trees(request) else [asked]
    return take_fastest([make(one, method.name) for one in some], request, told)


def fastest_for_size(request: Request, make: Callable[[Request, str], Plan], methods: Mapping[str, Method]) -> Plan:
    """Return the fastest plan, with notes on the other methods.

    ``make`` makes the plan of a method, and of ``auto`` the best one if no size is given.
    """
    usual = make(request.but(alpha=None, bandwidth=None, sized=False), "auto")
    tried, skipped = [MethodPlan("auto", usual, (run_of(usual, request),))], []
    for name, method in iterate_with_progress(methods.items(), request.progress):
        if explain_unfit(method, request) is not None:
            continue
        if len(request.fabric.compute) > MAX_NODES or explain_skipped(method, request) is not None:
            skipped.append(name)
        else:
            tried.append(plan_method(method, request, (request.size,), make))
    order = sorted(((one.runs[0].time, one.plan) for one in tried if one.plan is not None), key=lambda timed: timed[0])
    time, chosen = order[0]
    told = dict.fromkeys(f"{plan.generator['method']} {format_time(taken)}" for taken, plan in order)
    notes = []
    if skipped:
        least = bound_plans(request).time(request.size)
        left = f"at most {float(1 - least / time):.1%} could be left"
        notes.append(f"not tried: {join_words(skipped)}; {left}: no plan takes less than {format_time(least)}")
    conditions = f"{format_size(request.size)}, {latency_words(messages_of(request), request.fabric)}"
    notes.append(f"for {conditions}: {', '.join([*told][:_TOLD])}{', ...' if len(told) > _TOLD else ''}")
    return replace(chosen, notes=(*chosen.notes, *notes))


class PlanBound(NamedTuple):
    """Lower bounds on all plans of a request.

    * ``bandwidth``: factor y of M/B, where B is ``rate``, in bits per second.
    * ``latency``: in seconds.
    """

    bandwidth: Fraction
    latency: Fraction
    rate: Fraction

    def time(self, size: Fraction) -> Fraction:
        """Return the seconds that no plan undercuts."""
        return max(self.latency, self.bandwidth * 8 * size / self.rate)


def bound_plans(request: Request, messages: Latency | None = None, *, flows_within: float = 0) -> PlanBound:
    """Return lower bounds on all plans, from latencies, data at nodes, flows and cuts.

    Flows and cuts count if they are found within ``flows_within`` seconds.
    """
    fabric, collective = request.fabric, request.collective
    if request.root_name is not None:
        collective = collective.at(fabric.number(request.root_name))
    rate = 8 * fabric.unit * max(1, *(int(fabric.topology.out_ports[node]) for node in fabric.compute))
    if request.plain:
        rate = 8 * NODE_BANDWIDTH if request.bandwidth is None else request.bandwidth
    latency = find_latency(fabric, collective, messages_of(request) if messages is None else messages)
    least = _node_bound(fabric, collective, rate)
    if flows_within and not fabric.unequal(fabric.multicast | fabric.aggregation):
        # What unlike switches get they need not pass on as it is.
        with suppress(OutOfTime, TooLargeError), deadline(flows_within):
            # of an allreduce all data of one side, added up, have to cross every cut
            least_of = BROADCAST.at(fabric.compute[0]) if collective.like(ALLREDUCE) else collective
            least = max(least, rate / (8 * solve(Question(fabric, least_of)).bound))
    return PlanBound(least, latency, rate)


def find_latency(fabric: Fabric, collective: Collective, messages: Latency) -> Fraction:
    """Return the latency of the farthest node, over the paths of least latency.

    A message takes alpha from node to node and a hop in each switch, unless links have latencies of their own. It is
    exact to 2^-50 of itself, and not above it.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  heavy
    from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415

    links, compute = fabric.topology, list(fabric.compute)
    if messages.alpha is None:
        own = fabric.link_latencies()
    else:
        own = tuple(messages.hop if u in links.switches else messages.alpha for u, _, _ in links.links())
    longest = math.ceil(links.nodes * max(own, default=Fraction(0)))
    scale = min(math.lcm(*(one.denominator for one in own)), 2**52 // max(1, longest))
    weight = np.array([int(one * scale) for one in own], dtype=np.float64)  # sums are integers below 2^53
    ends = (links.dst, links.src) if collective.like(REDUCE, GATHER) else (links.src, links.dst)
    sources = compute if collective.root is None else [collective.root]
    far = dijkstra(csr_array((weight, ends), shape=(links.nodes,) * 2), indices=sources)[:, compute]
    return Fraction(int(far[np.isfinite(far)].max(initial=0)), scale)


def _node_bound(fabric: Fabric, collective: Collective, total: Fraction) -> Fraction:
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
