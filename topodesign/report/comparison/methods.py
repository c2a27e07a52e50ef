"""Comparison of methods on one network, with a proven lower bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple, Unpack

from topodesign.base import doors
from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.cost import Cost
from topodesign.base.deadline import OutOfTime, Stopwatch, deadline
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError, TopodesignError
from topodesign.base.latency import Latency
from topodesign.base.options import read, takes
from topodesign.base.progress import each
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time, format_time
from topodesign.base.work_options import OwnTimingOptions
from topodesign.collectives import ALLREDUCE, BROADCAST, GATHER, REDUCE, Collective, as_collective
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.fabrics.node_values import as_latency
from topodesign.fabrics.part import Some, compute_node
from topodesign.fabrics.places import PlaceLike, as_fabric, as_place, working
from topodesign.optima.optimum import solve
from topodesign.optima.question import Question
from topodesign.plans.plan import Plan
from topodesign.plans.time.chunks import PipelineSimulation
from topodesign.plans.time.conditions import Run
from topodesign.plans.verify.plans import verify
from topodesign.pricing.closed_form import distances
from topodesign.pricing.workload import Workload
from topodesign.report.comparison.compare import MOST_SECONDS, Comparison, TimedBounds
from topodesign.report.comparison.contender import Contender, Factor, Interval, counts_of
from topodesign.report.comparison.measures import Counts
from topodesign.report.comparison.timing import Phase, Timing
from topodesign.schedulers.choice import make_plan
from topodesign.schedulers.for_size import (
    SEARCHES,
    least_latency,
    make_for_size,
    node_bound,
    run_of,
    why_skipped,
    why_unfit,
)
from topodesign.schedulers.method import Method, Request
from topodesign.topology.topology import Topology

_LONGEST_REASON = 100


class _Asked(NamedTuple):
    """Request that all methods share."""

    place: Topology | Fabric
    request: Request
    messages: Latency
    work: Workload  # sizes, and the bandwidth of all links of a node
    counts: Counts
    limit: Fraction  # seconds for each method
    unit: Fraction  # bits per second of a link of capacity 1


@takes(OwnTimingOptions)
def compare_methods(
    place: PlaceLike,
    collective: Collective | str = "allreduce",
    *,
    root: str | int | None = None,
    without: Some = (),
    methods: Sequence[str] = (),
    time_limit: Quantity = "10s",
    progress: Callable[[float], None] | None = None,
    **work: Unpack[OwnTimingOptions],
) -> Comparison:
    """Compare methods on one network by verified, timed plans.

    A lower bound is included.

    Parameters
    ----------
    place
        A topology or a fabric, the spec of one, a file, or a networkx graph.
    collective
        What.
    root
        Name or number of the node of a collective that has one.
    without
        What has failed, as :func:`topodesign.select_part` takes it; the name of a root is then that of the whole.
    methods
        Names of those to compare; if there are none all but ``exact`` and ``tacos-ilp``, which search as long as they
        may.
    time_limit
        For each method, seconds or text with a unit. What is not there then is not waited for: a search ends with the
        best that it has, and any other method without a plan.
    progress
        Called with the share of the methods that are done.
    **work
        Latency (of several links the sum), sizes, bandwidth, and what messages take beside.

    Returns
    -------
    Comparison
        A contender for every method that made a plan, the fastest at the first size first; the others are in
        ``missing`` with their reasons. The lower bound is of plans on this place: of its distances, flows and cuts.

    Raises
    ------
    SpecError, FileFormatError, UnitError, TopologyError
        If the place or a quantity cannot be read.
    ParameterError
        If a method is not known, a root missing or superfluous, or a fabric is given another bandwidth.
    InfeasibleError
        If some node cannot be reached, or no method makes a plan.

    Examples
    --------
    >>> table = compare_methods("torus(4,4)", "allgather", methods=["spff", "ring", "bruck"])
    >>> [(one.method, one.steps, str(one.bandwidth)) for one in table.contenders]
    [('spff', 4, '15/16'), ('ring', 15, '15/16'), ('bruck', 8, '7')]
    """
    collective = as_collective(collective)
    root = collective.root if root is None else root
    collective.check_root(root)
    where, said = as_place(place), read(OwnTimingOptions, work, "compare_methods")
    sizes, rate = said["sizes"], None if said["bandwidth"] is None else as_bandwidth(said["bandwidth"])
    whole = as_fabric(where, rate)
    where, fabric, left = working(where, without, rate)
    several = [sizes] if isinstance(sizes, str | int | float | Fraction) else list(sizes)
    amounts = tuple(as_size(size) for size in several)
    if not amounts:
        raise ParameterError("at least one size is needed")
    messages, limit = as_latency(said["alpha"], said["gap"], said["hop"]), as_time(time_limit)
    if not 0 < limit <= MOST_SECONDS:
        raise ParameterError(f"time_limit must be above zero and at most {MOST_SECONDS} seconds")
    names = [as_choice("method", name, doors.SCHEDULERS) for name in methods] or list(doors.SCHEDULERS)
    if root is not None:
        last = len(whole.names) - 1
        collective = collective.at(
            compute_node(fabric, root if isinstance(root, str) else whole.names[as_integer("root", root, 0, last)])
        )
    total = 8 * fabric.unit * max(1, *(int(fabric.topology.out_ports[node]) for node in fabric.compute))
    if isinstance(where, Topology):
        rate = left if without else rate
        total = 8 * NODE_BANDWIDTH if rate is None else rate
    timed = Workload(messages.alpha or Fraction(0), amounts, total, messages.gap, messages.hop)
    steps, factor = _bound(fabric, collective, total, float(limit))
    latency = least_latency(fabric, collective, messages)
    halves = 2 if collective.like(ALLREDUCE) else 1
    bound = Cost(max(1, steps // halves), factor / halves)
    floor = TimedBounds((bound,), timed.by_size(max(latency, factor * 8 * size / total) for size in amounts))
    request = Request(where, as_collective(collective.name), root=collective.root, bandwidth=rate)
    asked = _Asked(where, request, messages, timed, counts_of(where, failures=False), limit, 8 * fabric.unit)
    found: list[Contender] = []
    missing: list[tuple[str, str]] = []
    for name in each(names, progress):
        made = _try(asked, doors.SCHEDULERS[name], named=bool(methods))
        if isinstance(made, str):
            missing.append((name, made))
        else:
            found.append(made)
    if not found:
        raise InfeasibleError("\n".join(f"{name}: {why}" for name, why in missing))
    found.sort(key=lambda one: one.times)
    name = fabric.name if without else found[0].what
    return Comparison(tuple(found), timed, floor, tuple(missing), collective, messages, name)


def _try(asked: _Asked, method: Method, *, named: bool) -> Contender | str:
    """Return the contender of a method, or the reason it has none."""
    name, request, limit = method.name, asked.request, asked.limit
    reason = why_unfit(method, request)
    if reason is None and name in SEARCHES and not named:
        reason = why_skipped(method, request)
    if reason is not None:
        return reason
    searches, seconds = name in SEARCHES, 0.0
    told = request.but(time_limit=limit / len(asked.work.sizes) if searches else None)  # one search for each size
    runs: list[Run] = []
    plan: Plan | None = None
    begun = Stopwatch()
    try:
        with deadline(float(2 * limit if searches else limit)):  # a search ends by itself, and is verified
            for size in asked.work.sizes:
                if plan is None or "alpha" in method.options:  # what knows of latency is made for one size
                    plan = make_for_size(told.but(size=size), method, _make, asked.messages)
                    seconds = seconds or begun()
                    report = verify(plan)
                    if not report.ok:
                        return f"wrong: {report.problems[0]}"
                runs.append(run_of(plan, request.but(size=size), asked.messages))
    except OutOfTime:
        what = "was not verified and timed" if seconds else "made no plan"
        return f"{what} within {format_time(limit)}"
    except (TopodesignError, MemoryError) as error:
        (words, *_) = str(error).splitlines() or ["not enough memory"]
        words = words.removeprefix(f"the method '{name}' has ").removesuffix("; try --algorithm spff")
        return words if len(words) <= _LONGEST_REASON else f"{words[:_LONGEST_REASON]}..."
    if plan is None:
        return "made no plan"
    halves, figures = 2 if plan.collective.like(ALLREDUCE) else 1, report.figures
    piped = [run for run in runs if isinstance(run, PipelineSimulation)]
    timing = Timing((), None, halves)
    if piped:
        timing = Timing.of_run(piped[0], asked.work.bandwidth, halves)
    elif "steps" in figures and "bandwidth" in figures:
        timing = Timing((Phase(int(figures["steps"]), 1, 0, figures["bandwidth"]),), None, halves)
    return Contender(
        name,
        asked.place,
        name,
        plan,
        timing,
        asked.work,
        tuple(run.time for run in runs),
        tuple(run.chunks if isinstance(run, PipelineSimulation) else 1 for run in runs),
        Factor(None, None),
        Interval(None, None),
        asked.counts,
        None,
        seconds=seconds,
    )


def _make(request: Request, name: str) -> Plan:
    return make_plan(request, name, doors.SCHEDULERS)


def _bound(fabric: Fabric, collective: Collective, total: Fraction, limit: float) -> tuple[int, Fraction]:
    """Return lower bounds on the steps and bandwidth factor of any plan.

    Where the exact optimum takes too long, what enters or leaves a single node is the bound.
    """
    topology, root = fabric.topology, collective.root
    if len(fabric.compute) < 2:
        raise InfeasibleError("one node alone needs no schedule")
    steps = 1
    if not topology.switches:
        way = topology.transpose() if collective.like(REDUCE, GATHER) else topology
        steps = max(
            int(distances(way, source).max()) for source in (range(topology.nodes) if root is None else (root,))
        )
    least = node_bound(fabric, collective, total)
    if fabric.unequal(fabric.multicast | fabric.aggregation):
        return steps, least  # what such switches get they need not pass on as it is
    try:
        with deadline(limit):
            # of an allreduce all data of one side, added up, have to cross every cut
            least_of = BROADCAST.at(fabric.compute[0]) if collective.like(ALLREDUCE) else collective
            fastest = solve(Question(fabric, least_of)).bound
    except (OutOfTime, TooLargeError):
        return steps, least
    return steps, max(least, total / (8 * fastest))
