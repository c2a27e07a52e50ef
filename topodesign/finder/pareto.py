"""Answer for one number of nodes and ports, with baselines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from topodesign.base.claims import FASTEST_OF_COLUMN, Claim, Of, Proof, Scope, first_of, join_claims
from topodesign.base.cost import Bounds as LowerBounds
from topodesign.base.cost import (
    Cost,
    LeastSteps,
    bound_in,
    keeps_port_free,
    least_steps,
    lower_bound,
    moore_distances,
)
from topodesign.base.declared import Declared, key
from topodesign.base.records import ResultSequence, Table, shorten_text
from topodesign.base.spec import parse
from topodesign.base.units import format_bandwidth, format_excess, format_time
from topodesign.catalog.idle import has_idle_ports
from topodesign.finder.answer import Answer
from topodesign.finder.candidate import Entry, OwnEntry
from topodesign.finder.question import Question
from topodesign.finder.verdict import claims_on, verdict_on
from topodesign.pricing.baselines import Baseline, baselines
from topodesign.pricing.workload import TIMES, Runtimes
from topodesign.search.close_sizes import Better

if TYPE_CHECKING:
    from topodesign.finder.runners_up import RunnersUp

Origin = Literal["catalog", "search", "catalog and search", "composed", "catalog and families", "families and search"]
_ORIGINS: dict[Origin, str] = {
    "catalog": "from the catalog",
    "search": "searched for",
    "catalog and search": "from the catalog and searched for",
    "composed": "composed of rows of the catalog and searched for",
    "catalog and families": "from the catalog and the known families",
    "families and search": "from the catalog and the known families, and searched for",
}

DEFERRED_NOTE = "deferred: not by SPFF but by a deferred schedule, which topodesign schedule then makes."
"""What tables say below rows that take a deferred schedule."""


@dataclass(frozen=True, slots=True)
class _Floor(Declared):
    """Lower bounds with their proof and times."""

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
class _StandardRow(Declared):
    """Standard topology and schedule, with costs by formula."""

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
class Pareto(ResultSequence[Entry], Answer):
    """Answer for one number of nodes and ports.

    Of an allreduce, entries have ascending steps and strictly descending mean bandwidth. Of other collectives and of
    workloads, the fastest for the first question comes first, and no other has as few steps and as small a factor of
    the collective, or as little time for all that a training step sends.
    """

    question: Question
    entries: tuple[Entry, ...]  # the frontier
    origin: Origin  # where the entries are from
    catalog_error: str | None = None  # why the catalog could not be used, where it should have been
    better: Better | None = None  # a size close by that is much better; null if there is none
    runners_up: RunnersUp | None = None  # what comes next to the fastest, where that was asked for
    version: str | None = None  # version of the catalog, in which short specs mean this; null without any
    candidates: tuple[OwnEntry, ...] = ()  # with --candidates, and families of other packages
    beaten: tuple[Entry, ...] = ()  # what else was priced for another collective or a workload
    ruled_out: int = 0  # topologies that cannot be better, by bounds, and were not priced
    duplex: Entry | None = None  # the fastest duplex topology that is known

    KEYS = (
        "nodes degree bidirectional",
        key("origin", "Where the topologies are from: the catalog, a search.", kind=str),
        "catalog_version=version alpha_s=float(workload.alpha)",
        key("size_bytes=number(workload.size)", "The first size, in bytes."),
        "bandwidth_bps=float(workload.bandwidth) questions lower_bound=floor",
        key("lower_bound_s=float(question.least)", "What no topology beats, for each question."),
        "verdict claims better_size=better",
        "runners_up=next_best topologies=entries candidates?=or_null(candidates) baselines=usual compared proven",
        key("allreduce_best", "The spec that is best for an allreduce."),
    )
    ROWS = "entries"
    SHARED = "frontier"

    @property
    def bidirectional(self) -> bool:
        """Whether the question is limited to duplex topologies."""
        return self.question.duplex

    @property
    def bounds(self) -> tuple[Cost, ...]:
        """Lower bounds, at least one of which holds for every topology.

        There is one bound unless nodes have more ports than peers.
        """
        return self.question.bounds

    @property
    def bound(self) -> Cost:
        """Lower bound: the steps of :func:`topodesign.least_steps`, and (N-1)/N."""
        return lower_bound(self.nodes, self.degree, duplex=self.bidirectional)

    @property
    def floor(self) -> _Floor:
        """Lower bounds with times."""
        return _Floor(LowerBounds(self.bounds), self.least, self.workload.timed(self.workload.fastest(self.bounds)))

    @property
    def baselines(self) -> tuple[Baseline, ...]:
        """Standard topologies and schedules in use today."""
        return tuple(baselines(self.nodes, self.degree, self.workload))

    @property
    def usual(self) -> tuple[_StandardRow, ...]:
        """Costs and times of rings and trees."""
        return tuple(_StandardRow(one, self.workload.timed(one.allreduce)) for one in self.baselines)

    @property
    def best(self) -> Entry:
        """Fastest entry for the first size."""
        return next(entry for entry in self.entries if entry.fastest)

    @property
    def fastest(self) -> Entry:
        """Fastest entry for the first question."""
        return self.best

    @property
    def allreduce_best(self) -> str:
        """Spec with the fastest allreduce at the first question's largest size."""
        work = replace(self.workload, sizes=(max(share.size for share in self.questions[0].shares),))
        some = (self.best, *self.entries, *self.beaten)
        return min(some, key=lambda one: work.allreduce(one.cost, one.allgather)).spec

    @property
    def compared(self) -> int:
        """Number of topologies compared."""
        return len(self.entries) + len(self.beaten) + self.ruled_out

    @property
    def proven(self) -> bool:
        """Whether no other topology can be faster for the first question."""
        best = self.best
        others = (one for one in (*self.entries, *self.beaten) if one is not best)
        return all(best.times[0] <= other.least[0] for other in others)

    @property
    def least(self) -> LeastSteps:
        """Lower bound on the steps, with its proof."""
        return least_steps(self.nodes, self.degree, duplex=self.bidirectional)

    @property
    def among(self) -> Scope:
        """Scope in which the entries are undominated."""
        return Scope.CATALOG if self.origin == "catalog" else Scope.FOUND

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims on the best entries, with proofs."""
        if self.question.objective.collective == "allreduce":
            means = [entry.mean for entry in self.entries]
            return tuple(claims_on(means, self.bounds, duplex=self.bidirectional))
        time, proof = self.best.times[0], Proof.LISTED if self.proven else Proof.NONE
        least = min(one.least[0] for one in (*self.entries, *self.beaten))
        return (Claim(Of.TIME, time, Scope.FOUND, proof, time if self.proven else least),)

    @property
    def verdict(self) -> str:
        """Recommendation with its reason, in up to three sentences."""
        if self.question.objective.collective == "allreduce":
            offers = [(entry.label, entry.mean) for entry in self.entries]
            said = verdict_on(offers, self.bounds, self.workload, self.among, duplex=self.bidirectional)
            more = [] if self.better is None else [f"{self.better}."]
            return " ".join([said, *more, *self._one_way()])
        sure = "" if self.proven else f", {self.claims[0].verdict}"
        other, best = self.allreduce_best, self.best.spec
        also = "best for allreduce, too" if best == other else f"for allreduce: {shorten_text(other)}"
        return ". ".join([f"{first_of(self.compared)}{sure}: {shorten_text(best)}; {also}", *self._one_way()])

    def _one_way(self) -> Iterator[str]:
        """Yield what a simplex recommendation requires, and the time of the fastest duplex one."""
        if self.best.duplex:
            return
        said = "Simplex: usual NICs do not bring up one-way links"
        if self.duplex is None:
            yield f"{said}; --duplex finds duplex topologies."
        else:
            over = format_excess(self.duplex.times[0] / self.best.times[0])
            yield f"{said}; duplex: {format_time(self.duplex.times[0])}, {over} (--duplex)."

    def __getitem__(self, place: int) -> Entry:
        """Return an entry by its place, starting with the minimum steps."""
        return self.entries[place]

    def heading(self) -> str:
        """Return the question and the origin of the answer."""
        work, kind = self.workload, "duplex" if self.bidirectional else "simplex or duplex"
        return (
            f"{self.nodes} nodes of degree {self.degree} ({kind}); alpha {format_time(work.alpha)}, "
            f"{format_bandwidth(work.bandwidth)} per node; {self.question.objective.words}; {_ORIGINS[self.origin]}"
        )

    def table(self) -> Table:
        """Return a table of entries, user topologies, bounds and baselines."""
        objective, least = self.question.objective, self.question.least
        some = (*self.entries, *self.candidates)
        far = moore_distances(self.nodes, self.degree, duplex=self.bidirectional)
        exchanged = objective.collective == "all-to-all"
        priced = not exchanged and any(one.all_to_all is not None for one in some)
        fastest = [min(one.times[place] for one in self.entries) for place in range(len(least))]

        def factors(steps: int, factor: Fraction) -> tuple[str, str, str]:
            bound = far if exchanged else bound_in(steps, self.bounds).bandwidth
            return str(steps), f"{float(factor):.4f}", format_excess(factor / bound)

        rows = []
        for one in some:
            exchange = ("" if one.all_to_all is None else one.all_to_all.words,) if priced else ()
            own = isinstance(one, OwnEntry)
            marks = ["*" if (time < top if own else best) else " " for time, top, best in zip(
                one.times, fastest, one.best or (False,) * len(least), strict=True
            )]  # fmt: skip
            cells = [_format_time(*cell) for cell in zip(one.times, least, marks, strict=True)]
            rows.append(
                (
                    *factors(one.cost.steps, one.factor),
                    *exchange,
                    *cells,
                    one.cabling,
                    one.found,
                    shorten_text(one.title),
                )
            )
        nothing = " " * len(_format_time(least[0], least[0])[len(format_time(least[0])) :])
        for bound in self.bounds:
            plain = [format_time(time) + nothing for time in objective.times(bound, bound, far)]
            exchange = (f"{float(far):.4f}",) if priced else ()
            factor = far if exchanged else bound.bandwidth
            rows.append((*factors(bound.steps, factor), *exchange, *plain, "", "", "lower bound"))
        for baseline in self.baselines if objective.collective == "allreduce" else ():
            cost = baseline.cost
            cells = [_format_time(time, bound) for time, bound in zip(baseline.allreduce, least, strict=True)]
            told = factors(cost.steps, cost.bandwidth) if cost else ("", "", "")
            rows.append((*told, *("",) * priced, *cells, "", "", f"{baseline.name}: {baseline.model}"))
        return Table(
            self.heading(),
            (
                *("steps", "BW factor", "over bound"),
                *("all-to-all factor",) * priced,
                *objective.titles,
                *("cabling", "found", "topology"),
            ),
            tuple(rows),
            words=frozenset(("cabling", "found", "topology")),
            spare=frozenset(("over bound", "found", *(() if objective.exchanges else ("all-to-all factor",)))),
            compared=len(some),
            footnote="\n".join([f"{FASTEST_OF_COLUMN}; percentages are over the lower bound", *self._notes()]),
        )

    def _notes(self) -> Iterator[str]:
        """Yield notes for the table: verdict, mean factors and short specs."""
        yield self.verdict
        allreduce = self.question.objective.collective == "allreduce"
        means = [entry.mean for entry in self.entries]
        if (
            allreduce and self.claims and not all(bound in means for bound in self.bounds)
        ):  # which the verdict says then
            yield f"{join_claims(self.claims)}."
        if self.least.why is not None:
            yield f"The bound of the steps is one above Moore's: {self.least.why}."
        if keeps_port_free(self.nodes, self.degree, duplex=self.bidirectional):
            free = "One port of each node" if has_idle_ports(parse(self.best.spec)) else "One port"
            ports = f"{self.nodes}*{self.degree} ports"
            yield f"{free} stays free, a self-loop in the list of links: {ports} are odd, and a cable takes two."
        if allreduce and any(entry.allgather != entry.cost for entry in self.entries):
            yield "The BW factor is the mean of reduce-scatter and allgather where these differ."
        if len({entry.spec for entry in self.entries}) < len(self.entries):
            yield "One wiring has both: schedule makes the plan of 1 step, with --algorithm deferred that of 2."
        elif any(entry.deferred for entry in self.entries):
            yield DEFERRED_NOTE
        for one in self.candidates:
            worth = "is on the frontier" if one.dominated_by is None else f"is no better than {one.dominated_by}"
            yield f"{shorten_text(one.label)} ({one.found}) {worth}."


def _format_time(time: Fraction, bound: Fraction, mark: str = " ") -> str:
    return f"{format_time(time)} {format_excess(time / bound):>7} {mark}"
