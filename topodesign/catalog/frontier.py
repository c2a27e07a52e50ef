"""What is worth building of a size: the entries of the frontier, and the answer that has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from topodesign.base.claims import FASTEST_OF_COLUMN, Among, Claim, joined
from topodesign.base.cost import (
    Basis,
    Cost,
    LeastSteps,
    bound_in,
    keeps_port_free,
    least_steps,
    lower_bounds,
    moore_distances,
)
from topodesign.base.cost import Bounds as LowerBounds
from topodesign.base.declared import Declared, key
from topodesign.base.records import LONGEST_CELL, Result, Several, Table, shortened
from topodesign.base.spec import Spec
from topodesign.base.units import format_bandwidth, format_excess, format_size, format_time
from topodesign.base.wording import listed
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.close_sizes import Better
from topodesign.catalog.idle import has_idle_ports
from topodesign.catalog.lookup import LONGEST_SHORT
from topodesign.catalog.own import Own
from topodesign.catalog.rows import how_found
from topodesign.catalog.verdict import claims_on, verdict_on
from topodesign.pricing.baselines import Baseline
from topodesign.pricing.workload import FACTORS, TIMES, Runtimes, Workload

if TYPE_CHECKING:
    from topodesign.catalog.runners_up import RunnersUp, RunnerUp
    from topodesign.topology.topology import Topology

Origin = Literal["catalog", "search", "catalog and search", "composed"]
_ORIGINS: dict[Origin, str] = {
    "catalog": "from the catalog",
    "search": "searched for",
    "catalog and search": "from the catalog and searched for",
    "composed": "composed of rows of the catalog and searched for",
}

DEFERRED_NOTE = "deferred: not by SPFF but by a deferred schedule, which topodesign schedule then makes."
"""What tables say below rows that take a deferred schedule."""


@dataclass(frozen=True, repr=False)
class Entry(Result):
    """A topology worth wiring.

    * ``basis``: what the cost rests on: the links of the rebuilt topology, a theorem or a bound, or a deferred
      schedule.
    * ``allreduce``: seconds, for each size of the workload: of a reduce-scatter and the allgather after it.
    * ``name``: a short spec of it, such as ``catalog(200,6,1)``, where it is a row of the default catalog.
    """

    nodes: int  # N
    degree: int  # ports of a node
    spec: Spec  # what names and rebuilds it
    cost: Cost  # steps and bandwidth factor, which hold for reduce-scatter (exactly) and allgather (at most)
    allgather: Cost  # price of its allgather, at most ``cost``
    duplex: bool  # whether duplex cabling can wire it
    basis: Basis
    workload: Workload  # what the times are for
    allreduce: tuple[Fraction, ...]
    best: tuple[bool, ...]  # for each size, whether no other entry is faster
    all_to_all: Bounds | None = None  # all-to-all; null where it is not worked out
    name: str | None = None

    KEYS = (
        "spec",
        key("name", "A short spec of it, such as catalog(200,6,1); null if it is no row of the default catalog."),
        *FACTORS,
        key("bandwidth_float=float(cost.bandwidth)", "The same, rounded."),
        key("allgather_bandwidth=allgather.bandwidth", "Bandwidth factor of the allgather alone."),
        key("mean_bandwidth=mean.bandwidth", "The mean of both, which tables show as y: half an allreduce takes it."),
        "all_to_all",
        *TIMES,
        key("simplex=not(duplex)", "Whether links go one way only, so that duplex cabling cannot wire it."),
        "found",
        key("source=basis.words", "How the cost is known: from links, or by which theorem."),
        "best=fastest",
    )
    ROW = (
        "spec name nodes degree steps=cost.steps bandwidth=cost.bandwidth bandwidth_float=float(cost.bandwidth)",
        "allgather_bandwidth=allgather.bandwidth mean_bandwidth=mean.bandwidth duplex found source=basis.words",
        "allreduce_s_*=float(timed.by_size) best=fastest",
        "all_to_all_lower=all_to_all.lower all_to_all_upper=all_to_all.upper",
    )
    SHARED = "topology"

    @property
    def timed(self) -> Runtimes:
        """Seconds of an allreduce with their sizes."""
        return self.workload.timed(self.allreduce)

    @property
    def fastest(self) -> bool:
        """Whether it is the fastest at the first size."""
        return self.best[0]

    @property
    def mean(self) -> Cost:
        """The mean of reduce-scatter and allgather, twice which an allreduce takes."""
        return self.cost.averaged(self.allgather)

    @property
    def cabling(self) -> str:
        """What tables show: duplex or simplex, and what the price rests on unless that are links and SPFF."""
        word = "duplex" if self.duplex else "simplex"
        return word if self.basis is Basis.LINKS else f"{word}, {self.basis.words}"

    @property
    def label(self) -> str:
        """What tables show: the spec, or the short one where it is very long."""
        text = str(self.spec)
        return text if len(text) <= LONGEST_CELL or self.name is None else self.name

    @property
    def short(self) -> str:
        """What pages and plots call it: the spec, or the name of its row where it has one and the spec is long."""
        text = str(self.spec)
        return text if len(text) <= LONGEST_SHORT or self.name is None else self.name

    @property
    def found(self) -> str:
        """The kind of construction or search that it is from."""
        return how_found(self.spec)

    def build(self) -> Topology:
        """Build the topology."""
        from topodesign.topology.library import build  # noqa: PLC0415  heavy, and looking up needs none of it

        return build(self.spec)

    def heading(self) -> str:
        """Return the spec and its price."""
        return f"{shortened(self.label)}, {self.cost.steps} steps, bandwidth factor {self.mean.bandwidth}"


@dataclass(frozen=True, slots=True)
class _Floor(Declared):
    """What no topology beats."""

    bounds: LowerBounds
    least: LeastSteps
    timed: Runtimes

    KEYS = (
        "*bounds",
        key("moore_steps=least.moore", "Moore's bound of the steps."),
        key("theorem=least.why", "Why no topology has so few, where the bound is one more; else null."),
        *TIMES,
    )


@dataclass(frozen=True, slots=True)
class _Usual(Declared):
    """What one would do anyway, by formula."""

    baseline: Baseline
    timed: Runtimes

    KEYS = (
        key("name=baseline.name", "What it is called."),
        key("steps=baseline.cost.steps", "Steps; null where the best depends on the size."),
        key("bandwidth=baseline.cost.bandwidth", "Bandwidth factor; null as above."),
        *TIMES,
        key("model=baseline.model", "How it was counted."),
    )
    SHARED = "baseline"


@dataclass(frozen=True, repr=False)
class Pareto(Several[Entry]):
    """The answer for one number of nodes.

    It is the Pareto frontier of latency against bandwidth: entries have ascending steps and strictly descending mean
    bandwidth.
    """

    nodes: int  # nodes N
    degree: int  # ports d out of, and into, a node
    bidirectional: bool  # whether only duplex topologies were asked for
    workload: Workload  # what the runtimes are for
    bound: Cost  # the lower bound: the steps of :func:`topodesign.least_steps` and (N-1)/N
    entries: tuple[Entry, ...]  # the frontier, by ascending steps
    baselines: tuple[Baseline, ...]  # what people wire today
    origin: Origin  # whether the entries were looked up, searched for just now, or both
    catalog_error: str | None = None  # why the catalog could not be used, where it should have been
    better: Better | None = None  # a size close by that is much better; null if there is none
    runners_up: RunnersUp | None = None  # what comes next to the fastest, where that was asked for
    version: str | None = None  # version of the catalog, in which short specs mean this; null without any
    candidates: tuple[Own, ...] = ()  # with --candidates, and families of other packages

    KEYS = (
        "nodes degree bidirectional",
        key("origin", "Where the topologies are from: the catalog, a search.", kind=str),
        "catalog_version=version alpha_s=float(workload.alpha)",
        key("size_bytes=number(workload.size)", "The first size, in bytes."),
        "bandwidth_bps=float(workload.bandwidth) lower_bound=floor verdict claims better_size=better",
        "runners_up=next_best topologies=entries candidates?=or_null(candidates) baselines=usual",
    )
    ROWS = "entries"
    SHARED = "frontier"

    @property
    def floor(self) -> _Floor:
        """What no topology beats."""
        return _Floor(LowerBounds(self.bounds), self.least, self.workload.timed(self.workload.fastest(self.bounds)))

    @property
    def next_best(self) -> tuple[RunnerUp, ...]:
        """With --runners-up: what comes next to the fastest."""
        return () if self.runners_up is None else self.runners_up.entries

    @property
    def usual(self) -> tuple[_Usual, ...]:
        """What rings and trees would take."""
        return tuple(_Usual(one, self.workload.timed(one.allreduce)) for one in self.baselines)

    @property
    def best(self) -> Entry:
        """The fastest entry for the first size."""
        return next(entry for entry in self.entries if entry.fastest)

    @property
    def bounds(self) -> tuple[Cost, ...]:
        """Costs of which every topology has at least one or more: the bound itself, but for more ports than peers."""
        return lower_bounds(self.nodes, self.degree, duplex=self.bidirectional)

    @property
    def least(self) -> LeastSteps:
        """What the bound of the steps rests on."""
        return least_steps(self.nodes, self.degree, duplex=self.bidirectional)

    @property
    def among(self) -> Among:
        """What the entries are the undominated ones of."""
        return Among.CATALOG if self.origin == "catalog" else Among.FOUND

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What it is said to be the best of, and by which proof."""
        means = [entry.mean for entry in self.entries]
        return tuple(claims_on(means, self.bounds, duplex=self.bidirectional))

    @property
    def verdict(self) -> str:
        """What to take, and why, in a sentence or two."""
        offers = [(entry.label, entry.mean) for entry in self.entries]
        said = verdict_on(offers, self.bounds, self.workload, self.among, duplex=self.bidirectional)
        return said if self.better is None else f"{said} {self.better}."

    def __getitem__(self, place: int) -> Entry:
        """Return an entry by its place, the one with the fewest steps first."""
        return self.entries[place]

    def heading(self) -> str:
        """Return the question, and where the answer comes from."""
        work, kind = self.workload, "duplex" if self.bidirectional else "simplex or duplex"
        return (
            f"{self.nodes} nodes of degree {self.degree} ({kind}); alpha {format_time(work.alpha)}, "
            f"{format_bandwidth(work.bandwidth)} per node; allreduce times, y of half one; {_ORIGINS[self.origin]}"
        )

    def table(self) -> Table:
        """Return the entries, then the bound and the baselines to compare them with."""
        bounds = self.workload.fastest(self.bounds)
        sizes = tuple(format_size(size) for size in self.workload.sizes)
        priced = any(entry.all_to_all is not None for entry in self.entries)
        rows = [self._row(entry, bounds, priced) for entry in self.entries]
        rows += [self._own_row(one, bounds, priced) for one in self.candidates]
        nothing = " " * len(_time(bounds[0], bounds[0])[len(format_time(bounds[0])) :])
        least = moore_distances(self.nodes, self.degree, duplex=self.bidirectional)
        exchange = (f"{float(least):.4f}",) if priced else ()
        for bound in self.bounds:
            plain = [format_time(time) + nothing for time in self.workload.allreduce(bound)]
            rows.append((*self._factors(bound), *exchange, *plain, "", "", "lower bound"))
        for baseline in self.baselines:
            factors = self._factors(baseline.cost) if baseline.cost else ("", "", "")
            times = [_time(time, bound) for time, bound in zip(baseline.allreduce, bounds, strict=True)]
            rows.append((*factors, *("",) * priced, *times, "", "", f"{baseline.name}: {baseline.model}"))
        return Table(
            self.heading(),
            ("steps", "y", "y over bound", *("all-to-all y",) * priced, *sizes, "cabling", "found", "topology"),
            tuple(rows),
            words=frozenset(("cabling", "found", "topology")),
            spare=frozenset(("y over bound", "all-to-all y", "found")),
            compared=len(self.entries) + len(self.candidates),
            footnote="\n".join([f"{FASTEST_OF_COLUMN}; percentages are over the lower bound", *self._said()]),
        )

    def _said(self) -> Iterator[str]:
        """Yield the verdict, which factors are means, and which specs are short for the entries."""
        yield self.verdict
        means = [entry.mean for entry in self.entries]
        if self.claims and not all(bound in means for bound in self.bounds):  # which the verdict says then
            yield f"{joined(self.claims)}."
        if self.least.why is not None:
            yield f"The bound of the steps is one above Moore's: {self.least.why}."
        if keeps_port_free(self.nodes, self.degree, duplex=self.bidirectional):
            free = "One port of each node" if has_idle_ports(self.best.spec) else "One port"
            ports = f"{self.nodes}*{self.degree} ports"
            yield f"{free} stays free, a self-loop in the list of links: {ports} are odd, and a cable takes two."
        if any(entry.allgather != entry.cost for entry in self.entries):
            yield "y is the mean of reduce-scatter and allgather where these differ."
        if len({entry.spec for entry in self.entries}) < len(self.entries):
            yield "One wiring has both: topodesign schedule makes the plan of 1 step, with --method deferred that of 2."
        elif any(entry.basis is Basis.DEFERRED for entry in self.entries):
            yield DEFERRED_NOTE
        for one in self.candidates:
            worth = "is on the frontier" if one.dominated_by is None else f"is no better than {one.dominated_by}"
            yield f"{shortened(one.label)} ({one.found}) {worth}."
        names = [entry.name for entry in self.entries if entry.name is not None]
        if names:
            yield f"Short specs, in this order: {listed(names)}."

    def _row(self, entry: Entry, bounds: tuple[Fraction, ...], priced: bool) -> tuple[str, ...]:
        times = zip(entry.allreduce, bounds, entry.best, strict=True)
        cells = [_time(time, bound, "*" if best else " ") for time, bound, best in times]
        exchange = ("" if entry.all_to_all is None else entry.all_to_all.words,) if priced else ()
        factors = self._factors(entry.mean)
        return (*factors, *exchange, *cells, entry.cabling, entry.found, shortened(entry.label))

    def _own_row(self, one: Own, bounds: tuple[Fraction, ...], priced: bool) -> tuple[str, ...]:
        """Return the row of a candidate, with a mark where it is faster than all of the frontier."""
        fastest = [min(times) for times in zip(*(entry.allreduce for entry in self.entries), strict=True)]
        times = zip(one.allreduce, bounds, fastest, strict=True)
        cells = [_time(time, bound, "*" if time < least else " ") for time, bound, least in times]
        cabling = "duplex" if one.duplex else "simplex"
        return (*self._factors(one.mean), *("",) * priced, *cells, cabling, one.found, shortened(one.label))

    def _factors(self, cost: Cost) -> tuple[str, str, str]:
        """Return steps and bandwidth factor, which is held against the bound for so many steps."""
        bound = bound_in(cost.steps, self.bounds)
        return str(cost.steps), f"{float(cost.bandwidth):.4f}", format_excess(cost.bandwidth / bound.bandwidth)


def _time(time: Fraction, bound: Fraction, mark: str = " ") -> str:
    return f"{format_time(time)} {format_excess(time / bound):>7} {mark}"
