"""All methods on the same place and sizes: what each makes of it, beside a bound that is proved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, Unpack

from topodesign.base import doors
from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.cost import Cost
from topodesign.base.deadline import OutOfTime, Stopwatch, deadline
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError, TopodesignError
from topodesign.base.latency import Latency
from topodesign.base.options import read, takes
from topodesign.base.progress import each
from topodesign.base.records import Named, SideBySide, Table
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time, format_bandwidth, format_size, format_time
from topodesign.base.wording import counted, listed
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
from topodesign.report.comparison.timing import GAPS_AND_HOPS, Timing, gaps_and_hops, step_words
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
from topodesign.schedulers.method import Request
from topodesign.topology.topology import Topology

MOST_SECONDS = 10**6  # the largest limit on the time of a method
_LONGEST_REASON = 100
_NONE = Timing(())


@dataclass(frozen=True)
class MethodResult(Declared):
    """What one method makes.

    * ``steps``: steps of rounds, or the height of trees and paths, without chunks that follow one another; None for
      timed sends.
    * ``bandwidth``: the bandwidth factor: y of rounds, and what trees and paths have in its place; None for timed
      sends.
    * ``over_bound``: bandwidth factor over the bound; of timed sends their time at the last size; None if it made
      nothing.
    """

    method: str  # its name
    kind: str = ""  # how data move: ``rounds``, ``trees``, ``paths`` or ``timed``; None if it made nothing
    steps: int | None = None
    bandwidth: Fraction | None = None
    timing: Timing = _NONE  # what the times of trees and paths are made of; empty of others
    chunks: tuple[int, ...] = ()  # of trees and paths, the fastest number of chunks for each size
    times: tuple[Fraction, ...] = ()  # seconds for each size, exactly, as simulated
    seconds: float = 0.0  # seconds that making it took
    verified: bool = False  # whether the plan was found right, and all that it claims
    reason: str = ""  # why it made nothing, or what is wrong; None where all is well
    over_bound: Fraction | None = None

    KEYS = (
        "method kind=or_null(kind) steps bandwidth *timing chunks times",
        key("times_s=float(times)", "The same, rounded."),
        "over_bound=float(over_bound) made_in_s=seconds verified reason=or_null(reason)",
    )


@dataclass(frozen=True, slots=True)
class PlanBound(Cost):
    """What no plan beats, proved."""

    times: tuple[Fraction, ...]  # seconds for each size

    KEYS = "steps bandwidth times_s=float(times)"


@dataclass(frozen=True, repr=False)
class MethodComparison(SideBySide):
    """What all methods make of a collective on the same place.

    * ``messages``, ``bandwidth``: what messages take beside their bytes, and bits per second of all links of a node (of
      the node of a fabric that has most; a switch is none).
    * ``factor``: bandwidth factor that no plan goes below, proved: the best of a flow or of cuts, of an allreduce the
      larger of what must leave a cut and 2 (N-1)/N of the data for every node.
    * ``latency``: seconds that no plan goes below: of so many steps, or of the links of the quickest way where that is
      slowest.
    * ``methods``: those that made something, the fastest at the first size first, and then the others with their
      reasons.
    """

    name: str  # what the place is called
    nodes: int  # nodes that compute
    collective: Collective  # what is done, with its root
    sizes: tuple[Fraction, ...]  # sizes of the whole data, in bytes
    messages: Latency
    bandwidth: Fraction
    factor: Fraction
    steps: int  # steps that no plan goes below: the largest distance that data must go, through switches for one
    latency: Fraction
    methods: tuple[MethodResult, ...]

    KEYS = (
        "place=name nodes",
        key("collective=collective.name", "What is done."),
        key("root=collective.root", "Of a collective that has one; else null."),
        "*messages",
        key("bandwidth_bps=number(bandwidth)", "Bandwidth of all links of a node, in bits per second."),
        "bound sizes_bytes=number(sizes) methods",
    )

    @property
    def bound(self) -> PlanBound:
        """What no plan beats, proved."""
        return PlanBound(self.steps, self.factor, self.bounds)

    @property
    def bounds(self) -> tuple[Fraction, ...]:
        """Seconds that no plan goes below, for each size: the larger of latency and bandwidth alone."""
        return tuple(max(self.latency, self._busy(self.factor, size)) for size in self.sizes)

    def side_by_side(self) -> tuple[str, Sequence[Fraction], Named, Sequence[Fraction], str]:
        """Return what a plot shows: of the methods that made something."""
        what = self.collective.name
        times = [(one.method, one.times) for one in self.methods if one.times]
        return f"{self.name}: {what} over message size", self.sizes, times, self.bounds, what

    def _busy(self, factor: Fraction, size: Fraction) -> Fraction:
        return factor * 8 * size / self.bandwidth

    def heading(self) -> str:
        """Return what is compared, and the bound."""
        what = f"{self.collective} of {self.nodes} nodes on {self.name}"
        least = f"fewer than {counted(self.steps, 'step')} or a bandwidth factor below {self.factor}"
        own, first = self.messages.alpha is None, ""
        given = [] if self.messages.alpha is None else [f"alpha {format_time(self.messages.alpha)}"]
        given += [f"gap {format_time(self.messages.gap)}"] if self.switched else []
        given += [f"hop {format_time(self.messages.hop)}"] if self.switched and not own else []
        if own:
            given.insert(0, "links with their own latencies")
            first = f"ends before {format_time(self.latency)} or "
        else:
            given.append(f"{format_bandwidth(self.bandwidth)} per node")
        return f"{what}; {', '.join(given)}: no plan {first}has {least}"

    @property
    def switched(self) -> bool:
        """Whether messages of some plan pass switches or share a port."""
        return any(one.timing.gaps or one.timing.hops for one in self.methods)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every method and size, one for a method that made nothing."""
        rows = []
        for one in self.methods:
            common = {"method": one.method, "kind": one.kind, "steps": one.steps, "bandwidth": one.bandwidth}
            more = {
                "over_bound": one.over_bound,
                "made_in_s": one.seconds,
                "verified": one.verified,
                "reason": one.reason,
            }
            timed = zip(self.sizes, one.times, strict=True) if one.times else [(None, None)]
            rows += [{**common, "size_bytes": size, "time_s": seconds, **more} for size, seconds in timed]
        return rows

    def table(self) -> Table:
        """Return a row for every method that made a plan, and one for the bound; below, why the others made none."""
        sizes = tuple(format_size(size) for size in self.sizes)
        made = [one for one in self.methods if one.times]
        alike = self.messages.alpha is not None  # else times do not follow from columns
        shared = (GAPS_AND_HOPS,) if alike and self.switched else ()
        cut = ("chunks",) if alike and any(one.timing.phases for one in made) else ()
        columns = ("method", "kind", "steps", "y", *shared, *cut, *sizes, "y / bound")
        best = [min((one.times[at] for one in made), default=None) for at in range(len(sizes))]
        rows = []
        for one in made:
            times = [
                f"{format_time(seconds)}{'*' if seconds == least else ''}"
                for seconds, least in zip(one.times, best, strict=True)
            ]
            steps = "" if one.steps is None else str(one.steps)
            factor = "" if one.bandwidth is None else f"{float(one.bandwidth):.4f}"
            ratio = "" if one.over_bound is None else f"{float(one.over_bound):.3f}"
            more = [gaps_and_hops(one.timing)] if shared else []
            more += [" ".join(map(str, one.chunks))] if cut else []
            rows.append((one.method, one.kind, steps, factor, *more, *times, ratio))
        least_times = map(format_time, self.bounds)
        none = ("",) * len((*shared, *cut))
        rows.append(("at least", "", str(self.steps), f"{float(self.factor):.4f}", *none, *least_times, ""))
        why: dict[str, list[str]] = {}
        for one in self.methods:
            if not one.times:
                why.setdefault(one.reason, []).append(one.method)
        footnote = "\n".join(
            [*self._formulas(made), *(f"{', '.join(names)}: {reason}" for reason, names in why.items())]
        )
        return Table(
            self.heading(),
            columns,
            tuple(rows),
            frozenset({"kind", "method"}),
            frozenset({"kind", "y / bound"}),
            compared=len(made),
            footnote=footnote,
        )

    def _formulas(self, made: Sequence[MethodResult]) -> Iterator[str]:
        """Yield how times follow from the columns."""
        if self.messages.alpha is None:
            yield "times: as simulate has them, with the latencies of the links"
            return
        if any(one.kind == "rounds" for one in made):
            yield "time of rounds = steps alpha + y M/B"
        step = step_words(switched=self.switched)
        halves = {one.method: len(one.timing.phases) == 2 for one in made if one.timing.phases}
        if any(halves.values()):
            yield f"of chunks (steps + 2 (chunks - 1)) ({step} + y M/B / (2 chunks))"
        if whole := [name for name, both in halves.items() if not both]:
            which = f"of {listed(whole)}" if len(whole) < len(halves) else "of chunks"
            yield f"{which} (steps + chunks - 1) ({step} + y M/B / chunks)"
        if any(one.kind == "timed" for one in made):
            yield "of timed sends what simulate has, links being free for the next after gap and bytes"


class _Given(NamedTuple):
    """For what all methods are asked."""

    messages: Latency
    limit: Fraction  # seconds for each method
    total: Fraction  # bits per second of all links of a node
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
) -> MethodComparison:
    """Schedule a collective with every method there is, verify and time what they make, and set it against a bound.

    Parameters
    ----------
    place
        A topology or a fabric, the spec of one, a file, or a networkx graph.
    collective
        What.
    root
        Name or number of the node of a collective that has one.
    without
        What has failed, as :func:`topodesign.part_of` takes it; the name of a root is then that of the whole.
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
    MethodComparison
        A row for every method; those that made no plan say why.

    Raises
    ------
    SpecError, FileFormatError, UnitError, TopologyError
        If the place or a quantity cannot be read.
    ParameterError
        If a method is not known, a root missing or superfluous, or a fabric is given another bandwidth.
    InfeasibleError
        If some node cannot be reached.

    Examples
    --------
    >>> table = compare_methods("torus(4,4)", "allgather", methods=["spff", "ring", "bruck"])
    >>> [(one.method, one.steps, str(one.bandwidth)) for one in table.methods]
    [('spff', 4, '15/16'), ('ring', 15, '15/16'), ('bruck', 8, '7')]
    """
    asked = as_collective(collective)
    root = asked.root if root is None else root
    if (root is None) == asked.rooted:
        raise ParameterError(f"{asked} {'needs a root' if asked.rooted else 'has no root; omit it'}")
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
        asked = asked.at(
            compute_node(fabric, root if isinstance(root, str) else whole.names[as_integer("root", root, 0, last)])
        )
    total = 8 * fabric.unit * max(1, *(int(fabric.topology.out_ports[node]) for node in fabric.compute))
    if isinstance(where, Topology):
        rate = left if without else rate
        total = 8 * NODE_BANDWIDTH if rate is None else rate
    steps, factor = _bound(fabric, asked, total, float(limit))
    latency = least_latency(fabric, asked, messages)
    request = Request(where, as_collective(asked.name), root=asked.root, bandwidth=rate)
    given = _Given(messages, limit, total, 8 * fabric.unit)
    results = [_tried(request, name, amounts, given, named=bool(methods)) for name in each(names, progress)]
    results.sort(key=lambda one: (not one.times, one.times))
    nodes = len(fabric.compute)
    name = fabric.name if without else _called(where)
    found = MethodComparison(name, nodes, asked, amounts, messages, total, factor, steps, latency, ())
    return replace(found, methods=tuple(replace(one, over_bound=_over_bound(one, found)) for one in results))


def _over_bound(one: MethodResult, found: MethodComparison) -> Fraction | None:
    if one.bandwidth is not None:
        return one.bandwidth / found.factor
    return one.times[-1] / found.bounds[-1] if one.times else None


def _called(where: Topology | Fabric) -> str:
    if isinstance(where, Fabric):
        return where.name
    return "a topology without a spec" if where.spec is None else str(where.spec)


def _tried(request: Request, name: str, sizes: tuple[Fraction, ...], given: _Given, *, named: bool) -> MethodResult:
    """Return what a method makes, or why it makes nothing."""
    method = doors.SCHEDULERS[name]
    reason = why_unfit(method, request)
    if reason is None and name in SEARCHES and not named:
        reason = why_skipped(method, request)
    if reason is not None:
        return MethodResult(name, reason=reason)
    searches, seconds = name in SEARCHES, 0.0
    asked = request.but(time_limit=given.limit / len(sizes) if searches else None)  # one search for each size
    runs: list[Run] = []
    plan: Plan | None = None
    figures: Mapping[str, Fraction] = {}
    begun = Stopwatch()
    try:
        with deadline(float(2 * given.limit if searches else given.limit)):  # a search ends by itself, and is verified
            for size in sizes:
                if plan is None or "alpha" in method.options:  # what knows of latency is made for one size
                    plan = make_for_size(asked.but(size=size), method, _make, given.messages)
                    seconds = seconds or begun()
                    report = verify(plan)
                    if not report.ok:
                        return MethodResult(name, plan.kind, seconds=seconds, reason=f"wrong: {report.problems[0]}")
                    figures = report.figures
                runs.append(run_of(plan, request.but(size=size), given.messages))
    except OutOfTime:
        what = "was not verified and timed" if seconds else "made no plan"
        return MethodResult(name, seconds=seconds, reason=f"{what} within {format_time(given.limit)}")
    except (TopodesignError, MemoryError) as error:
        (words, *_) = str(error).splitlines() or ["not enough memory"]
        words = words.removeprefix(f"the method '{name}' has ").removesuffix("; try --algorithm spff")
        return MethodResult(name, reason=words if len(words) <= _LONGEST_REASON else f"{words[:_LONGEST_REASON]}...")
    steps = figures.get("steps", figures.get("height"))
    factor, kind = figures.get("bandwidth"), ""
    if plan is not None:
        kind = plan.kind
        if "algorithmic_bandwidth" in figures:  # with the bandwidths that the plan has for itself
            factor = given.total / given.unit * plan.fabric.unit / figures["algorithmic_bandwidth"]
    piped = [run for run in runs if isinstance(run, PipelineSimulation)]
    return MethodResult(
        name,
        kind,
        None if steps is None else int(steps),
        factor,
        Timing.of_run(piped[0], given.total) if piped else _NONE,
        tuple(run.chunks for run in piped),
        tuple(run.time for run in runs),
        seconds,
        verified=True,
    )


def _make(request: Request, name: str) -> Plan:
    return make_plan(request, name, doors.SCHEDULERS)


def _bound(fabric: Fabric, collective: Collective, total: Fraction, limit: float) -> tuple[int, Fraction]:
    """Return steps and a bandwidth factor that no plan goes below.

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
