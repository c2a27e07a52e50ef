"""Which topology of a size is best for what a step sends, whatever collectives these are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from topodesign.base.claims import Among, Claim, Of, Proof, first_of
from topodesign.base.cost import Cost, lower_bound, lower_bounds, moore_distances
from topodesign.base.declared import Declared, key, keys_of
from topodesign.base.errors import InfeasibleError, TopodesignError
from topodesign.base.progress import Progress, each
from topodesign.base.records import Result, Several, Table, shortened
from topodesign.base.spec import Spec
from topodesign.base.units import Quantity, as_count, format_bandwidth, format_excess, format_time
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.candidates import candidates_for_all_to_all, searched_for_all_to_all
from topodesign.catalog.lookup import Catalog, as_catalog
from topodesign.catalog.pareto import check_question
from topodesign.catalog.rows import Row, how_found
from topodesign.pricing.mix import Mix, Share, questions, single
from topodesign.pricing.workload import Workload, as_workload
from topodesign.search.target import Target

if TYPE_CHECKING:
    from topodesign.topology.topology import Topology

_POOR = Fraction(21, 20)  # times the bound by distances: what is known is as good as a short search finds below that


@dataclass(frozen=True, repr=False)
class Ranked(Result):
    """A topology with what it takes.

    * ``reduce_scatter``, ``allgather``: prices of its best SPFF reduce-scatter and allgather, or those of a deferred
      row of the catalog.
    * ``least``: what it takes at least, for each question; less than ``times`` where all-to-all is not known exactly.
    """

    spec: Spec  # the text that rebuilds it
    reduce_scatter: Cost
    allgather: Cost
    all_to_all: Bounds  # proven bounds on what all-to-all takes
    duplex: bool  # whether duplex cabling can wire it
    times: tuple[Fraction, ...]  # seconds of each question
    least: tuple[Fraction, ...]

    KEYS = (
        "spec",
        key("steps=reduce_scatter.steps", "Steps of a reduce-scatter."),
        "bandwidth",
        key("all_to_all", "All-to-all."),
        key("simplex=not(duplex)", "Whether links go one way only."),
        "found times_s=float(times)",
        key("least_s=float(least)", "What each takes at least, by the bounds of all-to-all."),
    )
    ROW = (
        "spec steps=reduce_scatter.steps bandwidth",
        "all_to_all_lower=all_to_all.lower all_to_all_upper=all_to_all.upper duplex time_s_*=float(by_place)",
    )

    @property
    def by_place(self) -> dict[int, Fraction]:
        """Seconds by the number of the question."""
        return dict(enumerate(self.times))

    @property
    def bandwidth(self) -> Fraction:
        """Bandwidth factor y of reduce-scatter or allgather, whichever is more."""
        return max(self.reduce_scatter.bandwidth, self.allgather.bandwidth)

    @property
    def found(self) -> str:
        """The kind of construction or search that it is from."""
        return how_found(self.spec)

    def heading(self) -> str:
        """Return the spec and its price."""
        return f"{shortened(str(self.spec))}, {self.reduce_scatter.steps} steps, all-to-all {self.all_to_all.words}"


@dataclass(frozen=True, slots=True)
class _Placed(Declared):
    """A topology of a ranking."""

    ranked: Ranked
    best: bool  # whether it is the best for the first question

    KEYS = (*keys_of("*ranked"), "best")


@dataclass(frozen=True, repr=False)
class Ranking(Several[Ranked]):
    """The topologies of a size that no other beats in what was asked, the fastest for the first question first.

    One beats another that has no fewer steps, and takes no less: in bandwidth where a collective was asked for, in time
    where that is a training step. Of those that take as much the plainest is kept.

    * ``allreduce_best``: the one of all that were priced that is fastest for an allreduce of the first question's
      largest size.
    """

    nodes: int  # nodes N
    degree: int  # ports d out of, and into, a node
    bidirectional: bool  # whether only duplex topologies were asked for
    questions: tuple[Mix, ...]  # what the topologies are ranked for: each size, or a training step
    workload: Workload  # latency and bandwidth
    entries: tuple[Ranked, ...]  # the topologies
    beaten: tuple[Ranked, ...]  # what else was priced
    bounds: tuple[Fraction, ...]  # what no topology beats, for each question
    allreduce_best: Spec

    KEYS = (
        "nodes degree bidirectional *workload questions lower_bound_s=float(bounds) topologies=placed compared proven",
        "claims",
        key("allreduce_best", "The spec that is best for an allreduce."),
        "verdict",
    )
    ROWS = "entries"

    @property
    def placed(self) -> tuple[_Placed, ...]:
        """Those that no other beats, the best first."""
        return tuple(_Placed(one, one is self.best) for one in self.entries)

    @property
    def best(self) -> Ranked:
        """The fastest for the first question."""
        return self.entries[0]

    @property
    def compared(self) -> int:
        """How many topologies were priced."""
        return len(self.entries) + len(self.beaten)

    @property
    def proven(self) -> bool:
        """Whether none of the others can be faster for the first question, whatever their bounds leave open."""
        return all(self.best.times[0] <= other.least[0] for other in (*self.entries[1:], *self.beaten))

    def heading(self) -> str:
        """Return the question."""
        work, kind = self.workload, "duplex" if self.bidirectional else "simplex or duplex"
        return (
            f"{self.nodes} nodes of degree {self.degree} ({kind}); alpha {format_time(work.alpha)}, "
            f"{format_bandwidth(work.bandwidth)} per node; {self.questions[0].words}"
        )

    @property
    def verdict(self) -> str:
        """Which is best, how sure that is, and whether it is for allreduce as well."""
        sure = "" if self.proven else f", {self.claims[0].verdict}"
        other = shortened(str(self.allreduce_best))
        also = "for allreduce, too" if self.best.spec == self.allreduce_best else f"where for allreduce it is {other}"
        return f"{first_of(self.compared)}{sure}: {shortened(str(self.best.spec))}, {also}"

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What it is said to be the best of, and by which proof."""
        least = min(one.least[0] for one in (*self.entries, *self.beaten))
        proof = Proof.LISTED if self.proven else Proof.NONE
        return (Claim(Of.TIME, self.best.times[0], Among.FOUND, proof, self.best.times[0] if self.proven else least),)

    def table(self) -> Table:
        """Return the topologies, then the bound."""
        names = [one.words if len(one.shares) == 1 else one.name for one in self.questions]
        fastest = [min(one.times[place] for one in self.entries) for place in range(len(self.questions))]
        rows = []
        for one in self.entries:
            cells = [
                f"{format_time(time)} {format_excess(time / bound):>7} {'*' if time == best else ' '}"
                for time, bound, best in zip(one.times, self.bounds, fastest, strict=True)
            ]
            cabling = "duplex" if one.duplex else "simplex"
            steps = str(one.reduce_scatter.steps)
            rows.append(
                (steps, f"{float(one.bandwidth):.4f}", one.all_to_all.words, *cells, cabling, shortened(str(one.spec)))
            )
        least = lower_bound(self.nodes, self.degree, duplex=self.bidirectional)
        exchange = moore_distances(self.nodes, self.degree, duplex=self.bidirectional)
        plain = [f"{format_time(bound)}{' ' * 10}" for bound in self.bounds]
        factors = (str(least.steps), f"{float(least.bandwidth):.4f}", f"{float(exchange):.4f}")
        rows.append((*factors, *plain, "", "lower bound"))
        return Table(
            self.heading(),
            ("steps", "y", "all-to-all y", *names, "cabling", "topology"),
            tuple(rows),
            words=frozenset(("cabling", "topology")),
            compared=len(self.entries),
            footnote=self.verdict,
        )


def rank(
    nodes: int,
    degree: int,
    *,
    collective: str = "all-to-all",
    workload: Mix | str | Path | None = None,
    bidirectional: bool = False,
    alpha: Quantity = "10us",
    sizes: Quantity | Sequence[Quantity] = "1MiB",
    bandwidth: Quantity = "100Gbps",
    catalog: Catalog | str | Path | None = None,
    progress: Progress | None = None,
) -> Ranking:
    """Rank topologies of a size by a collective other than allreduce, or by all that a training step sends.

    Those are listed that no other beats: one with as few steps and as small a bandwidth factor of the collective, or
    with as few steps and as little time for all that a training step sends.

    Parameters
    ----------
    nodes, degree
        N and d.
    collective
        What is sent, of each size: allreduce, allgather, reduce-scatter or all-to-all.
    workload
        What a step sends instead: a :class:`topodesign.pricing.mix.Mix`, or its file (see docs/all-to-all.md).
    bidirectional
        Only topologies that duplex cabling can wire.
    alpha, sizes, bandwidth
        As for :func:`topodesign.pareto`. An all-to-all takes alpha for each step of the diameter, and y * M/B with the
        bandwidth factor of its best flow.
    catalog
        Where to look, or its directory; the shipped one by default. The known families of that size join in, and
        what it keeps for all-to-all alone. Where all of these take much longer for all-to-all than the bound by
        distances, a search of about a second joins in, whose result depends on nothing but the question.
    progress
        Called now and then with the share of the work that is done.

    Raises
    ------
    ParameterError, UnitError, FileFormatError
        If an argument or the file cannot be read, or no topology of this size can exist.
    InfeasibleError
        If none is known.

    Examples
    --------
    >>> from topodesign import rank
    >>> found = rank(20, 4, sizes="100MiB")
    >>> print(found.best.spec, found.best.all_to_all.upper)
    kautz(4,1) 61/35
    """
    nodes, degree = as_count(nodes, "number of nodes"), as_count(degree, "degree")
    check_question(nodes, degree, bidirectional=bidirectional)
    work = as_workload(alpha, sizes, bandwidth)
    asked = questions(collective, workload, work.sizes)
    found = list(candidates_for_all_to_all(nodes, degree, duplex=bidirectional, catalog=as_catalog(catalog)))
    priced = []
    for spec, row, known in each(found, progress):
        ranked = _ranked(spec, row, known, asked, work)
        if ranked is not None and (ranked.duplex or not bidirectional):
            priced.append(ranked)
    least = moore_distances(nodes, degree, duplex=bidirectional)
    if any(share.collective == "all-to-all" for one in asked for share in one.shares) and all(
        one.all_to_all.upper > _POOR * least for one in priced
    ):
        more = searched_for_all_to_all(Target(nodes, degree, bidirectional), as_catalog(catalog))
        priced += filter(None, (_ranked(spec, None, None, asked, work) for spec in more))
    if not priced:
        raise InfeasibleError(f"no topology with {nodes} nodes and degree {degree} is known; try topodesign pareto")
    entries, beaten = _unbeaten(priced, None if workload is not None else asked[0].shares[0].collective)
    size = max(share.size for share in asked[0].shares)
    allreduce = single("allreduce", size)
    winner = min(priced, key=lambda one: seconds_of(allreduce, one.reduce_scatter, one.allgather, Fraction(0), work))
    costs = lower_bounds(nodes, degree, duplex=bidirectional)
    bounds = tuple(least_seconds_of(one, costs, least, work) for one in asked)
    return Ranking(nodes, degree, bidirectional, asked, work, entries, beaten, bounds, winner.spec)


def _ranked(
    spec: Spec, row: Row | None, known: Bounds | None, questions: Iterable[Mix], work: Workload
) -> Ranked | None:
    """Return a topology with its times; None if it cannot be built, or is not connected."""
    from topodesign.pricing.all_to_all import all_to_all  # noqa: PLC0415
    from topodesign.pricing.evaluation import price_both  # noqa: PLC0415
    from topodesign.topology.library import build  # noqa: PLC0415  heavy

    try:
        topology: Topology = build(spec)
        there, back = price_both(topology) if row is None or not row.deferred else (row.cost, row.allgather)
        if known is None:
            found = all_to_all(topology, effort="quick")
            if found.upper is None:
                return None
            known = Bounds(found.lower, found.upper)
    except TopodesignError:
        return None
    times, least = (
        tuple(seconds_of(one, there, back, factor, work) for one in questions) for factor in (known.upper, known.lower)
    )
    return Ranked(spec, there, back, known, topology.is_duplex, times, least)


def _unbeaten(priced: Iterable[Ranked], collective: str | None) -> tuple[tuple[Ranked, ...], tuple[Ranked, ...]]:
    """Return what no other beats in steps and a collective, or in steps and time without one, and what others do.

    Both have the fastest first. What counts is what is known to be reached, also where a bound leaves less open.
    """

    def taken(one: Ranked) -> Fraction:
        return one.times[0] if collective is None else _factor(collective, one)

    kept: list[Ranked] = []
    beaten: list[Ranked] = []
    for one in sorted(priced, key=lambda one: (one.reduce_scatter.steps, taken(one), len(str(one.spec)))):
        (beaten if kept and taken(kept[-1]) <= taken(one) else kept).append(one)
    for some in (kept, beaten):
        some.sort(key=lambda one: (one.times[0], one.reduce_scatter.steps, len(str(one.spec))))
    return tuple(kept), tuple(beaten)


def _factor(collective: str, one: Ranked) -> Fraction:
    """Return the bandwidth factor of a collective, that of both halves for an allreduce."""
    costs = _costs(collective, one.reduce_scatter, one.allgather, one.all_to_all.upper)
    return sum((cost.bandwidth for cost in costs), Fraction(0))


def seconds_of(mix: Mix, there: Cost, back: Cost, exchange: Fraction, work: Workload) -> Fraction:
    """Return how long a step takes."""
    return sum((_share_seconds(share, there, back, exchange, work) for share in mix.shares), Fraction(0))


def least_seconds_of(mix: Mix, bounds: Iterable[Cost], exchange: Fraction, work: Workload) -> Fraction:
    """Return how long a step takes at least, each collective by the bound that is best for it."""
    each = [[_share_seconds(share, cost, cost, exchange, work) for cost in bounds] for share in mix.shares]
    return sum(map(min, each), Fraction(0))


def _costs(collective: str, there: Cost, back: Cost, exchange: Fraction) -> tuple[Cost, ...]:
    return {
        "reduce-scatter": (there,),
        "allgather": (back,),
        "allreduce": (there, back),
        "all-to-all": (Cost(there.steps, exchange),),
    }[collective]


def _share_seconds(share: Share, there: Cost, back: Cost, exchange: Fraction, work: Workload) -> Fraction:
    costs = _costs(share.collective, there, back, exchange)
    return share.count * sum((cost.runtime(work.alpha, share.size, work.bandwidth) for cost in costs), Fraction(0))
