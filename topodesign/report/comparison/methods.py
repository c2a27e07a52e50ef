"""Comparison of methods on one network, with a proven lower bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Unpack

from topodesign.base import entry_points
from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.cost import Cost
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.options import read, takes
from topodesign.base.progress import iterate_with_progress
from topodesign.base.units import Quantity, as_bandwidth, as_time
from topodesign.base.work_options import OwnTimingOptions
from topodesign.collectives import ALLREDUCE, GATHER, REDUCE, Collective, as_collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.node_values import as_latency
from topodesign.fabrics.part import Some, compute_node
from topodesign.fabrics.places import PlaceLike, as_fabric, as_place, working
from topodesign.plans.plan import Plan
from topodesign.plans.time.chunks import PipelineSimulation
from topodesign.plans.verify.plans import verify
from topodesign.pricing.closed_form import distances
from topodesign.pricing.workload import Workload
from topodesign.report.comparison.compare import MAX_SECONDS, Comparison, TimedBounds
from topodesign.report.comparison.contender import Contender, Factor, Interval, counts_of, timing_of
from topodesign.report.comparison.measures import Counts
from topodesign.schedulers.choice import make_plan
from topodesign.schedulers.for_size import (
    SEARCHES,
    MethodPlan,
    bound_plans,
    explain_skipped,
    explain_unfit,
    plan_method,
)
from topodesign.schedulers.method import Method, Request, sizes_of
from topodesign.topology.topology import Topology


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
    amounts = sizes_of(sizes)
    if not amounts:
        raise ParameterError("at least one size is needed")
    messages, limit = as_latency(said["alpha"], said["gap"], said["hop"]), as_time(time_limit)
    if not 0 < limit <= MAX_SECONDS:
        raise ParameterError(f"time_limit must be above zero and at most {MAX_SECONDS} seconds")
    names = [as_choice("method", name, entry_points.SCHEDULERS) for name in methods] or list(entry_points.SCHEDULERS)
    if root is not None:
        last = len(whole.names) - 1
        collective = collective.at(
            compute_node(fabric, root if isinstance(root, str) else whole.names[as_integer("root", root, 0, last)])
        )
    if isinstance(where, Topology) and without:
        rate = left
    request = Request(where, as_collective(collective.name), root=collective.root, bandwidth=rate)
    if len(fabric.compute) < 2:
        raise InfeasibleError("one node alone requires no schedule")
    bound, halves = bound_plans(request, messages, flows_within=float(limit)), 2 if collective.like(ALLREDUCE) else 1
    timed = Workload(messages.alpha or Fraction(0), amounts, bound.rate, messages.gap, messages.hop)
    half = Cost(max(1, _farthest(fabric.topology, collective) // halves), bound.bandwidth / halves)
    floor = TimedBounds((half,), timed.by_size(map(bound.time, amounts)))
    found: list[Contender] = []
    missing: list[tuple[str, str]] = []
    number = counts_of(where, failures=False)
    for name in iterate_with_progress(names, progress):
        method: Method = entry_points.SCHEDULERS[name]
        if name in SEARCHES and not methods and explain_unfit(method, request) is None:
            missing.append((name, str(explain_skipped(method, request))))
            continue
        made = plan_method(method, request, amounts, _make, messages=messages, limit=limit, check=_find_problem)
        if made.plan is None:
            missing.append((name, made.why))
        else:
            found.append(_contender(made.plan, made, where, timed, number))
    if not found:
        raise InfeasibleError("\n".join(f"{name}: {why}" for name, why in missing))
    found.sort(key=lambda one: one.times)
    name = fabric.name if without else found[0].what
    return Comparison(tuple(found), timed, floor, tuple(missing), collective, messages, name)


def _contender(plan: Plan, made: MethodPlan, place: Topology | Fabric, work: Workload, number: Counts) -> Contender:
    """Return the contender of a verified plan."""
    piped = [run for run in made.runs if isinstance(run, PipelineSimulation)]
    return Contender(
        made.method,
        place,
        made.method,
        plan,
        timing_of(plan, next(iter(piped), None), work.bandwidth),
        work,
        tuple(run.time for run in made.runs),
        tuple(run.chunks if isinstance(run, PipelineSimulation) else 1 for run in made.runs),
        Factor(None, None),
        Interval(None, None),
        number,
        None,
        seconds=made.seconds,
    )


def _make(request: Request, name: str) -> Plan:
    return make_plan(request, name, entry_points.SCHEDULERS)


def _find_problem(plan: Plan) -> str | None:
    return next(iter(verify(plan).problems), None)


def _farthest(topology: Topology, collective: Collective) -> int:
    """Return the steps that no plan undercuts; 1 with switches."""
    if topology.switches:
        return 1
    way = topology.transpose() if collective.like(REDUCE, GATHER) else topology
    sources = range(topology.nodes) if collective.root is None else (collective.root,)
    return max(int(distances(way, source).max()) for source in sources)
