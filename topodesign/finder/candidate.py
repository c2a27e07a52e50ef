"""Candidate topologies, and entries with costs and times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from topodesign.base.cost import Basis, Cost
from topodesign.base.declared import Keys, key, keys_of
from topodesign.base.errors import SpecError, TopodesignError
from topodesign.base.records import LONGEST_CELL, Result, shorten_text
from topodesign.base.spec import parse
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.lookup import LONGEST_SHORT
from topodesign.catalog.rows import describe_origin
from topodesign.pricing.efforts import Effort
from topodesign.pricing.workload import FACTORS, TIMES, Runtimes, Workload

if TYPE_CHECKING:
    from topodesign.finder.question import Question
    from topodesign.topology.topology import Topology


@dataclass(frozen=True)
class Candidate:
    """Candidate topology with the facts its source provides.

    * ``spec``: the text that rebuilds it, or a path or a title where there is none.
    * ``source``: where it comes from, if that is not the outermost name of its spec: own, or a package.
    * ``costs``: its reduce-scatter and its allgather; None to price its links.
    """

    spec: str
    source: str | None = None
    given: Topology | None = None
    costs: tuple[Cost, Cost] | None = None
    all_to_all: Bounds | None = None
    duplex: bool | None = None
    basis: Basis = Basis.LINKS
    name: str | None = None

    @cached_property
    def topology(self) -> Topology:
        """Links of the topology."""
        from topodesign.topology.library import build  # noqa: PLC0415  heavy, and looking up needs none of it

        return build(self.spec) if self.given is None else self.given


@dataclass(frozen=True, repr=False)
class Entry(Result):
    """Topology with its costs and times.

    * ``spec``: the text that rebuilds it; of a file or a graph of your own its path or place in the list.
    * ``cost``, ``allgather``: steps and bandwidth factor of the reduce-scatter and of the allgather.
    * ``basis``: what the cost rests on: the links of the rebuilt topology, a theorem or a bound, or a deferred
      schedule.
    * ``name``: a short spec of it, such as ``catalog(200,6,1)``, where it is a row of the default catalog.
    """

    question: Question
    spec: str
    cost: Cost
    allgather: Cost
    duplex: bool  # whether duplex cabling can wire it
    basis: Basis
    times: tuple[Fraction, ...]  # seconds of each column of the objective
    best: tuple[bool, ...] = ()  # for each column, whether no other entry is faster
    all_to_all: Bounds | None = None  # all-to-all; null where it is not worked out
    name: str | None = None
    source: str | None = None
    given: Topology | None = None

    KEYS: ClassVar[Keys] = (
        "spec",
        key("name", "A short spec of it, such as catalog(200,6,1); null if it is no row of the default catalog."),
        FACTORS[0],
        "bandwidth",
        key("bandwidth_float=float(bandwidth)", "The same, rounded."),
        key("allgather_bandwidth=allgather.bandwidth", "Bandwidth factor of the allgather alone."),
        key("mean_bandwidth=mean.bandwidth", "The mean of both, which half an allreduce takes."),
        "all_to_all",
        *TIMES,
        key("times_s=float(times)", "Seconds of each question."),
        key("least_s=float(least)", "What each takes at least, by the bounds of all-to-all."),
        key("simplex=not(duplex)", "Whether links go one way only, so that duplex cabling cannot wire it."),
        "found",
        key("source=basis.words", "How the cost is known: from links, or by which theorem."),
        "best=fastest",
    )
    ROW = (
        "spec name nodes degree steps=cost.steps bandwidth bandwidth_float=float(bandwidth)",
        "allgather_bandwidth=allgather.bandwidth mean_bandwidth=mean.bandwidth duplex found source=basis.words",
        "allreduce_s_*=float(timed.by_size) time_s_*=float(by_place) best=fastest",
        "all_to_all_lower=all_to_all.lower all_to_all_upper=all_to_all.upper",
    )
    SHARED = "topology"

    @property
    def nodes(self) -> int:
        """Number of nodes N."""
        return self.question.nodes

    @property
    def degree(self) -> int:
        """Ports per node."""
        return self.question.degree

    @property
    def workload(self) -> Workload:
        """Latency, sizes and bandwidth for times."""
        return self.question.objective.work

    @property
    def bandwidth(self) -> Fraction:
        """Bandwidth factor y of reduce-scatter or allgather, the greater one."""
        return max(self.cost.bandwidth, self.allgather.bandwidth)

    @property
    def mean(self) -> Cost:
        """Mean cost of reduce-scatter and allgather, half that of an allreduce."""
        return self.cost.average_with(self.allgather)

    @property
    def factor(self) -> Fraction:
        """Bandwidth factor of the requested collective, the mean of both for allreduce."""
        match self.question.objective.collective:
            case "reduce-scatter":
                return self.cost.bandwidth
            case "allgather":
                return self.allgather.bandwidth
            case "all-to-all" if self.all_to_all is not None:
                return self.all_to_all.upper
        return self.mean.bandwidth

    @property
    def deferred(self) -> bool:
        """Whether its costs are those of deferred schedules."""
        return self.basis is Basis.DEFERRED

    @property
    def merit(self) -> tuple[int, Fraction]:
        """Steps, with the bandwidth factor or the time of a training step."""
        return self.cost.steps, self.times[0] if self.question.objective.collective is None else self.factor

    @property
    def allreduce(self) -> tuple[Fraction, ...]:
        """Seconds of an allreduce for each size."""
        return self.workload.allreduce(self.cost, self.allgather)

    @property
    def timed(self) -> Runtimes:
        """Seconds of an allreduce, with sizes."""
        return self.workload.timed(self.allreduce)

    @property
    def by_place(self) -> dict[int, Fraction]:
        """Seconds by number of the question."""
        return dict(enumerate(self.times))

    @property
    def least(self) -> tuple[Fraction, ...]:
        """Lower bounds in seconds; less than ``times`` if all-to-all is inexact."""
        if self.all_to_all is None:
            return self.times
        return self.question.objective.times(self.cost, self.allgather, self.all_to_all.lower)

    @property
    def fastest(self) -> bool:
        """Whether it is the fastest for the first question."""
        return bool(self.best) and self.best[0]

    @property
    def cabling(self) -> str:
        """Duplex or simplex, plus the source of costs not from links and SPFF."""
        word = "duplex" if self.duplex else "simplex"
        return word if self.basis is Basis.LINKS else f"{word}, {self.basis.words}"

    @property
    def label(self) -> str:
        """Name for tables: the spec, or the short spec if very long."""
        return self.spec if len(self.spec) <= LONGEST_CELL or self.name is None else self.name

    @property
    def title(self) -> str:
        """Name for rows: the spec, after the short spec if it is long."""
        plain = self.name in {None, self.label} or len(self.label) <= LONGEST_SHORT
        return self.label if plain else f"{self.name}: {self.label}"

    @property
    def short(self) -> str:
        """Name for pages and plots: the spec, or the row's short name if long."""
        return self.spec if len(self.spec) <= LONGEST_SHORT or self.name is None else self.name

    @property
    def found(self) -> str:
        """Construction or search type, ``own``, or the package of the family."""
        if self.source is not None:
            return self.source
        try:
            return describe_origin(parse(self.spec))
        except SpecError:
            return "own"

    @property
    def rebuilt(self) -> str | Topology:
        """Spec that rebuilds it, or its links if none does."""
        try:
            return str(parse(self.spec))
        except SpecError:
            return self.topology

    @cached_property
    def topology(self) -> Topology:
        """Links of the topology."""
        return self.build()

    def build(self) -> Topology:
        """Build the topology."""
        from topodesign.topology.library import build  # noqa: PLC0415  heavy, and looking up needs none of it

        return build(self.spec) if self.given is None else self.given

    def heading(self) -> str:
        """Return the spec and its cost."""
        return f"{shorten_text(self.label)}, {self.cost.steps} steps, bandwidth factor {self.mean.bandwidth}"


@dataclass(frozen=True, repr=False)
class OwnEntry(Entry):
    """Topology from the user or another package.

    * ``dominated_by``: the first topology of the frontier that is as good in steps and factor; null if there is none.
    """

    dominated_by: str | None = None

    KEYS = (*keys_of(Entry.KEYS), "dominated_by")
    SHARED = "own_topology"


def measure(candidate: Candidate, asked: Question, effort: Effort | None = None) -> Entry | None:
    """Compute costs and times; return None for candidates that do not fit.

    A candidate that cannot be built or is not connected does not fit either.

    All-to-all is priced where the objective has it, or with the ``effort`` that is given. A candidate of your own
    raises what is wrong with it.
    """
    exchange, basis = candidate.all_to_all, candidate.basis
    try:
        if candidate.costs is None:
            (there, back), basis = _price(candidate.topology, asked)
        else:
            there, back = candidate.costs
        if not asked.admits(there, back):
            return None
        wanted: Effort | None = effort or ("quick" if asked.objective.exchanges else None)
        if exchange is None and wanted is not None:
            exchange = _price_all_to_all(candidate.topology, wanted)
            if exchange is None:
                return None
        duplex = candidate.topology.is_duplex if candidate.duplex is None else candidate.duplex
    except TopodesignError:
        if candidate.source == "own":
            raise
        return None
    if asked.duplex and not duplex:
        return None
    times = asked.objective.times(there, back, Fraction(0) if exchange is None else exchange.upper)
    built = vars(candidate).get("topology", candidate.given)
    name, source = candidate.name, candidate.source
    return Entry(asked, candidate.spec, there, back, duplex, basis, times, (), exchange, name, source, built)


def _price(topology: Topology, asked: Question) -> tuple[tuple[Cost, Cost], Basis]:
    """Return the fastest known plan's costs for the question, and their basis."""
    from topodesign.schedulers.price import price_plans  # noqa: PLC0415  heavy

    ways = price_plans(topology).ways
    methods, pair = min(ways, key=lambda way: asked.objective.times(way[1][0], way[1][1], Fraction(0))[0])
    return pair, Basis.DEFERRED if "deferred" in methods else Basis.LINKS


def _price_all_to_all(topology: Topology, effort: Effort) -> Bounds | None:
    from topodesign.schedulers.price import price_all_to_all  # noqa: PLC0415  heavy

    found = price_all_to_all(topology, effort=effort)
    upper = found.upper or price_all_to_all(topology, effort="bounds").upper
    return None if upper is None else Bounds(found.lower, upper)


def mark_fastest(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Mark the fastest entry of each column, the first in a tie."""
    some = list(entries)
    columns = range(len(some[0].times)) if some else ()
    fastest = [min(range(len(some)), key=lambda place: some[place].times[column]) for column in columns]
    return tuple(replace(entry, best=tuple(place == winner for winner in fastest)) for place, entry in enumerate(some))
