"""Lists of a method's schedules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from topodesign.base.claims import ALL_PROVEN, FASTEST_FROM, NOT_ALL_PROVEN
from topodesign.base.cost import Cost
from topodesign.base.declared import Declared, key, row_of
from topodesign.base.records import Result, Table
from topodesign.base.units import Quantity, as_size, format_size, format_size_rounded, format_time
from topodesign.base.wording import count_noun
from topodesign.collectives import Collective
from topodesign.collectives.collective import InGroups, InOneGroup
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.plan import Plan
from topodesign.pricing.workload import winners
from topodesign.topology.topology import Topology

_FIRST = 6  # schedules of a pipeline that are always shown


@dataclass(frozen=True)
class ListedSchedule(Declared):
    """Schedule of a list, with its chunks and steps."""

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
        """Relative excess of the rounds over their bound."""
        return None if self.rounds is None or self.bound is None else self.rounds / self.bound - 1

    @cached_property
    def plan(self) -> Plan:
        """Plan of the schedule."""
        return self.make()


@dataclass(frozen=True)
class Unsettled:
    """Chunks and steps for which a better schedule is not excluded."""

    chunks: int  # equal parts of a block
    steps: int  # communication steps
    bound: Fraction  # rounds that no such plan beats
    below: Fraction  # rounds that a plan has already with as few of both

    KEYS = "chunks steps bound below"

    def __str__(self) -> str:
        chunks = count_noun(self.chunks, "chunk")
        return f"{chunks} in {self.steps} steps may do with {self.bound} rounds or more, below {self.below}"


@dataclass(frozen=True, repr=False)
class ScheduleList(Result):
    """Pareto-optimal schedules of a method in chunks, steps and bandwidth.

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
    unsettled: tuple[Unsettled, ...] = ()
    alpha: Fraction = Fraction(0)  # latency of a step, in seconds
    bandwidth: Fraction = Fraction(1)  # bandwidth of all links of a node, in bits per second
    sizes: tuple[Fraction, ...] = ()  # sizes of the data, in bytes

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
        """Spec that rebuilds the network; None for links without a spec."""
        topology = self.place.topology if isinstance(self.place, Fabric) else self.place
        return None if topology.spec is None else str(topology.spec)

    @property
    def proven(self) -> bool:
        """Whether all schedules are proven and none is missing."""
        return not self.unsettled and all(one.proof != "none" for one in self.schedules)

    def timed(self, alpha: Fraction, bandwidth: Fraction, sizes: tuple[Fraction, ...]) -> ScheduleList:
        """Return a copy with times and fastest-from sizes."""
        since = {at: size for size, at in winners([one.cost for one in self.schedules], alpha * bandwidth / 8)}
        rows = tuple(
            replace(
                one,
                fastest_from=since.get(at),
                times=tuple(one.cost.runtime(alpha=alpha, size=size, bandwidth=bandwidth) for size in sizes),
            )
            for at, one in enumerate(self.schedules)
        )
        return replace(self, schedules=rows, alpha=alpha, bandwidth=bandwidth, sizes=sizes)

    def time(self, one: ListedSchedule, size: Quantity) -> Fraction:
        """Return the seconds of a schedule for a data size."""
        return one.cost.runtime(alpha=self.alpha, size=as_size(size), bandwidth=self.bandwidth)

    def best(self, size: Quantity) -> ListedSchedule:
        """Return the fastest schedule for a size, fewest steps first."""
        return min(self.schedules, key=lambda one: (self.time(one, size), one.steps, one.chunks))

    def to_records(self) -> list[dict[str, Any]]:
        """Return one row per schedule, with ``fastest_from`` in bytes or None."""
        names = [f"time_s of {format_size(size)}" for size in self.sizes]
        return [row_of(one) | dict(zip(names, one.times, strict=True)) for one in self.schedules]

    def heading(self) -> str:
        """Return a title with the state of proof."""
        where = self.place.name if isinstance(self.place, Fabric) else self.place.spec or "a topology without a spec"
        limits = f"up to {count_noun(self.most_chunks, 'chunk')}"
        if self.method == "pipeline":
            return f"{self.collective} in rounds on {where}, {limits}; BW factor over trees at least {self.bound}"
        proven = ALL_PROVEN if self.proven else NOT_ALL_PROVEN
        return f"{self.collective} on {where}, {limits} and {self.most_steps} steps: {proven}"

    def table(self) -> Table:
        """Return the table, with the fastest schedule of each size marked.

        Long lists of pipelines are shortened.
        """
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
                    "" if one.fastest_from is None else format_size_rounded(one.fastest_from),
                    *(f"{format_time(own)}{'*' * mark}" for own, mark in zip(one.times, best, strict=True)),
                )
            )
        middle = ("BW factor", "trees") if pipes else ("rounds", "BW factor", "proof")
        columns = ("chunks", "steps", *middle, FASTEST_FROM, *map(format_size, self.sizes))
        notes = [f"not settled: {'; '.join(map(str, self.unsettled))}"] if self.unsettled else []
        if len(rows) < len(self.schedules):
            notes.append(f"{len(self.schedules) - len(rows)} more are in --json and --csv")
        return Table(self.heading(), columns, tuple(rows), frozenset({"proof", "trees"}), footnote="\n".join(notes))
