"""Lists of the schedules that a method can choose from: all numbers of chunks and steps that pay."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal, Unpack

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.claims import ALL_PROVEN, FASTEST_FROM, NOT_ALL_PROVEN
from topodesign.base.cost import Cost
from topodesign.base.declared import Declared, key, row_of
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.options import flagged, read, takes
from topodesign.base.records import Result, Table
from topodesign.base.units import Quantity, as_size, format_size, format_time, rounded_size
from topodesign.base.wording import counted, with_article
from topodesign.collectives import Collective, as_collective
from topodesign.collectives.collective import InGroups, InOneGroup
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.fabrics.places import PlaceLike
from topodesign.plans.plan import Plan
from topodesign.pricing.groups import in_turn_of
from topodesign.pricing.workload import winners
from topodesign.schedulers import exact, pipeline
from topodesign.schedulers.demands import Asked, asked_of
from topodesign.schedulers.exact_rounds import fewest_steps
from topodesign.schedulers.method import Progress, Request, check_root, planned, sizes_of
from topodesign.schedulers.options import ScheduleOptions
from topodesign.topology.topology import Topology

MOST_LIMIT = 64  # largest limit of the exact method on chunks, and on steps beyond the fewest
_CHUNKS = 6  # the limit on chunks of the exact method, if none is given
_FIRST = 6  # schedules of a pipeline that are always shown


@dataclass(frozen=True)
class ListedSchedule(Declared):
    """Chunks and steps, and the schedule that has them."""

    chunks: int  # equal parts of a block; of pipelines of the data of a tree
    steps: int  # communication steps
    bandwidth: Fraction  # bandwidth factor y: the data take y * M/B
    make: Callable[[], Plan] = field(repr=False, compare=False)
    rounds: Fraction | None = None  # of exact: the sum over the steps of the fullest link's chunks over its capacity
    bound: Fraction | None = None  # of exact: rounds that no schedule of at most so many chunks and steps undercuts
    proof: Literal["bound", "search", "none"] = "none"  # a bound that needs no search, a search, or ``none``
    way: str | None = None  # of pipelines: ``layers``, or how many trees per root
    fastest_from: Fraction | None = None  # bytes of data from which on it is the fastest; None if it never is
    times: tuple[Fraction, ...] = ()  # seconds for each size of the list

    KEYS = (
        "chunks steps rounds bandwidth bound",
        key("gap=float(gap)", "By how much of the bound the rounds are above it; null without a bound."),
        "proof way fastest_from_bytes=float(fastest_from) times_s=float(times)",
    )
    ROW = "chunks steps rounds bandwidth bound proof way fastest_from"

    @property
    def cost(self) -> Cost:
        """Steps and bandwidth factor."""
        return Cost(self.steps, self.bandwidth)

    @property
    def gap(self) -> Fraction | None:
        """By how much of the bound the rounds are above it."""
        return None if self.rounds is None or self.bound is None else self.rounds / self.bound - 1

    @cached_property
    def plan(self) -> Plan:
        """The plan."""
        return self.make()


@dataclass(frozen=True, repr=False)
class ScheduleList(Result):
    """All schedules of a method that no other one of it beats in chunks, steps and bandwidth, up to limits.

    * ``place``, ``collective``: where and what, with its root and groups.
    * ``most_chunks``, ``most_steps``: the limits; of pipelines there is none on steps.
    * ``bound``: bandwidth factor that nothing undercuts, whatever its steps; of a broadcast d over the least cut
      between the root and a node.
    * ``schedules``: the fewest steps first, and then the fewest chunks.
    * ``unsettled``: of exact: where the time was not enough to know; if nothing, the list is complete and proven.
    """

    place: Topology | Fabric
    collective: Collective
    method: str  # ``exact`` or ``pipeline``
    most_chunks: int
    most_steps: int | None
    bound: Fraction
    schedules: tuple[ListedSchedule, ...]
    unsettled: tuple[exact.Unsettled, ...]
    alpha: Fraction  # latency of a step, in seconds
    bandwidth: Fraction  # bandwidth of all links of a node, in bits per second
    sizes: tuple[Fraction, ...]  # sizes of the data, in bytes

    KEYS = (
        "spec method",
        key("collective", "What is done.", kind=InOneGroup | InGroups),
        key("most_chunks", "Chunks that were asked for at most."),
        key("most_steps", "Steps that were asked for at most; null where there is no limit."),
        "bound proven alpha_s=float(alpha) bandwidth_bps=float(bandwidth) sizes_bytes=float(sizes)",
        key("frontier=schedules", "Schedules that none of the method beats."),
        key("unsettled", "What the time was not enough for."),
    )

    @property
    def spec(self) -> str | None:
        """What names and rebuilds the place; None for links that have no spec."""
        topology = self.place.topology if isinstance(self.place, Fabric) else self.place
        return None if topology.spec is None else str(topology.spec)

    @property
    def proven(self) -> bool:
        """Whether all schedules are proven and none is missing."""
        return not self.unsettled and all(one.proof != "none" for one in self.schedules)

    def time(self, one: ListedSchedule, size: Quantity) -> Fraction:
        """Return the seconds that a schedule takes for so much data."""
        return one.cost.runtime(alpha=self.alpha, size=as_size(size), bandwidth=self.bandwidth)

    def best(self, size: Quantity) -> ListedSchedule:
        """Return the fastest for so much data, of equals that with the fewest steps and chunks."""
        return min(self.schedules, key=lambda one: (self.time(one, size), one.steps, one.chunks))

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every schedule; sizes from which it is the fastest are in bytes, None if there are none."""
        names = [f"time_s of {format_size(size)}" for size in self.sizes]
        return [row_of(one) | dict(zip(names, one.times, strict=True)) for one in self.schedules]

    def heading(self) -> str:
        """Return what it is for, and what is proven."""
        where = self.place.name if isinstance(self.place, Fabric) else self.place.spec or "a topology without a spec"
        limits = f"up to {counted(self.most_chunks, 'chunk')}"
        if self.method == "pipeline":
            return f"{self.collective} in rounds on {where}, {limits}; over trees y is not below {self.bound}"
        proven = ALL_PROVEN if self.proven else NOT_ALL_PROVEN
        return f"{self.collective} on {where}, {limits} and {self.most_steps} steps: {proven}"

    def table(self) -> Table:
        """Return the table for people, the fastest for each size marked; of many pipelines some."""
        least = [min(times) for times in zip(*(one.times for one in self.schedules), strict=True)]
        last, pipes = len(self.schedules) - 1, self.method == "pipeline"
        rows = []
        for place, one in enumerate(self.schedules):
            best = [own == fastest for own, fastest in zip(one.times, least, strict=True)]
            if pipes and _FIRST <= place < last and not any(best):
                continue
            proof = f"at least {one.bound}" if one.proof == "none" else one.proof
            rows.append(
                (
                    str(one.chunks),
                    str(one.steps),
                    *([] if pipes else [str(one.rounds)]),
                    f"{float(one.bandwidth):.4f}",
                    str(one.way) if pipes else proof,
                    "" if one.fastest_from is None else rounded_size(one.fastest_from),
                    *(f"{format_time(own)}{'*' * mark}" for own, mark in zip(one.times, best, strict=True)),
                )
            )
        middle = ("y", "trees") if pipes else ("rounds", "y", "proof")
        columns = ("chunks", "steps", *middle, FASTEST_FROM, *map(format_size, self.sizes))
        notes = [f"not settled: {'; '.join(map(str, self.unsettled))}"] if self.unsettled else []
        if len(rows) < len(self.schedules):
            notes.append(f"{len(self.schedules) - len(rows)} more are in --json and --csv")
        return Table(self.heading(), columns, tuple(rows), frozenset({"proof", "trees"}), footnote="\n".join(notes))


@takes(ScheduleOptions)
def list_schedules(
    place: PlaceLike,
    collective: Collective | str = "allgather",
    *,
    method: str = "exact",
    sizes: Quantity | Iterable[Quantity] | None = None,
    progress: Progress | None = None,
    **options: Unpack[ScheduleOptions],
) -> ScheduleList:
    """List the schedules of a method that no other one of it beats in chunks, steps and bandwidth, each as a plan.

    Parameters
    ----------
    place
        A topology, its spec, a file, or a networkx graph, or of ``exact`` a fabric; without switches.
    collective
        Of one movement; an allreduce is a reduce-scatter and then an allgather, each with a list of its own.
    method
        ``exact``: all chunks, steps and rounds of a small place, with a proof of each. ``pipeline``: trees that carry a
        broadcast, reduce, allgather or reduce-scatter in chunks, one behind the other.
    sizes
        Sizes of the data for which times are told; ``size`` if None.
    progress
        Called with the share of the choices that are settled.
    **options
        Root, groups, latency and bandwidth, as :func:`topodesign.schedule` takes them. ``chunks`` and ``steps`` are
        limits: of ``exact`` 6, and two more than the fewest; of ``pipeline`` 256 chunks. ``time_limit`` is for all
        searches together: what they have not settled then is said.

    Returns
    -------
    ScheduleList
        With times for the sizes, and ``best(size)``.

    Raises
    ------
    ParameterError, UnitError
        If the collective, its root or a group does not fit, an option is not for the method, or out of range.
    InfeasibleError
        If some node cannot be reached, the steps are too few, or nothing was found in the time.
    TooLargeError
        If there is too much to choose from for the fewest steps and one chunk.
    MissingLibraryError
        If OR-tools is not installed, which ``exact`` needs.

    Examples
    --------
    >>> found = list_schedules("bipartite(2)", chunks=2)
    >>> [(one.chunks, one.steps, str(one.rounds), one.proof) for one in found.schedules]
    [(1, 2, '2', 'bound'), (2, 2, '3', 'bound')]
    >>> found.proven, found.best("1GiB").chunks
    (True, 2)
    >>> found = list_schedules("torus(4,4)", "broadcast", method="pipeline", root=0)
    >>> [(one.steps, str(one.bandwidth)) for one in found.schedules[:3]]
    [(4, '25/3'), (5, '5'), (6, '3')]
    """
    known = exact.METHOD if as_choice("method", method, ("exact", "pipeline")) == "exact" else pipeline.METHOD
    asked, said = as_collective(collective), read(ScheduleOptions, options, "list_schedules")
    if not asked.like(*known.collectives):
        what = ", ".join(map(str, known.collectives))
        why = "is a reduce-scatter and then an allgather" if len(asked.parts) > 1 else "is none of these"
        raise ParameterError(f"--list of --method {method} is of {what}; {with_article(asked)} {why}")
    said["root"] = asked.root if said["root"] is None else said["root"]
    request = Request(place, asked, progress=progress, **said)
    check_root(asked, request.root)
    if wrong := [name for name in request.given() if name not in _OPTIONS[method]]:
        flags = flagged(wrong).replace("--auto-chunks", "--chunks auto")
        raise ParameterError(f"{flags} cannot be combined with --list of --method {method}")
    asked_sizes = (request.size,) if sizes is None else sizes_of(sizes)
    rate = 8 * NODE_BANDWIDTH if request.bandwidth is None else request.bandwidth
    if isinstance(request.found, Fabric):
        if request.bandwidth is not None:
            raise ParameterError(f"{request.found.name} has bandwidths of its own; leave out --bandwidth")
        rate = 8 * request.found.unit * request.found.topology.degree
    most_steps: int | None = None
    unsettled: list[exact.Unsettled] = []
    if method == "exact":
        where, topology, among = there = asked_of(request)
        least = fewest_steps(topology, among)
        most_chunks = as_integer("chunks", _CHUNKS if request.chunks is None else request.chunks, 1, MOST_LIMIT)
        most_steps = least + 2 if request.steps is None else as_integer("steps", request.steps, 1, least + MOST_LIMIT)
        if most_steps < least:
            raise InfeasibleError(f"{among} needs at least {least} steps on this topology, not {most_steps}")
        rows, unsettled = _exact_rows(there, range(least, most_steps + 1), most_chunks, request)
    else:
        if request.grouped and request.others != "forward":
            raise ParameterError("nodes of other groups forward what pipelines send; add --others forward")
        where = topology = request.topology
        among = request.among
        among.members(topology.nodes)  # says what is no node
        chunks = pipeline.MOST_CHUNKS if request.chunks is None else request.chunks
        most_chunks = as_integer("chunks", chunks, 1, 2**16)
        rows = _pipeline_rows(topology, among, most_chunks, request.fixed_k)
    since = {at: size for size, at in winners([one.cost for one in rows], request.step_alpha * rate / 8)}
    schedules = tuple(
        replace(
            one,
            fastest_from=since.get(at),
            times=tuple(one.cost.runtime(alpha=request.step_alpha, size=size, bandwidth=rate) for size in asked_sizes),
        )
        for at, one in enumerate(rows)
    )
    bound = in_turn_of(topology, among, "forward")
    alpha = request.step_alpha
    return ScheduleList(
        where, among, method, most_chunks, most_steps, bound, schedules, tuple(unsettled), alpha, rate, asked_sizes
    )


_OPTIONS = {
    "exact": frozenset({"root", "chunks", "steps", "time_limit", "jobs", "seed", "alpha", "bandwidth"}),
    "pipeline": frozenset({"root", "chunks", "fixed_k", "only", "group", "placement", "alpha", "bandwidth"}),
}


def _exact_rows(
    there: Asked, steps: range, most_chunks: int, request: Request
) -> tuple[list[ListedSchedule], list[exact.Unsettled]]:
    where, topology, collective = there
    found, unsettled = exact.search_counts(topology, collective, steps, most_chunks, request)
    y_of_rounds = Fraction(topology.degree, collective.shards(topology.nodes))
    rows = [
        ListedSchedule(
            chunks=one.chunks,
            steps=one.steps,
            bandwidth=y_of_rounds * one.rounds / one.chunks,
            make=partial(exact.plan_in_rounds, where, topology, one),
            rounds=one.rounds,
            bound=one.bound,
            proof=one.proof,
        )
        for one in found
    ]
    return rows, unsettled


def _pipeline_rows(
    topology: Topology, collective: Collective, most_chunks: int, fixed_k: int | None
) -> list[ListedSchedule]:
    place, copied = pipeline.copying(topology, collective)
    points = pipeline.frontier_of(pipeline.pipelines(place, copied, fixed_k), most_chunks)

    def make(point: pipeline.Point) -> Plan:
        moved = pipeline.finished(point, collective)
        return planned(topology, moved, "pipeline", way=point.way.name, pieces=point.chunks)

    if not points:
        raise InfeasibleError("there is nothing to send")
    return [
        ListedSchedule(one.chunks, one.cost.steps, one.cost.bandwidth, partial(make, one), way=one.way.name)
        for one in points
    ]
