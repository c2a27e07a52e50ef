"""Survey of the fastest topologies over a grid of sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack

from topodesign.base.arguments import as_ascending, as_several
from topodesign.base.claims import Scope, fastest_of
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.options import takes
from topodesign.base.progress import Progress, part
from topodesign.base.records import ResultSequence, Table, shorten_text
from topodesign.base.units import format_bandwidth, format_size, format_time
from topodesign.base.wording import count_noun, with_article
from topodesign.catalog.lookup import CatalogLike
from topodesign.finder import sources
from topodesign.finder.answer import Answer
from topodesign.finder.candidate import Entry, OwnEntry
from topodesign.finder.find import pareto
from topodesign.finder.options import FindOptions
from topodesign.finder.pareto import Pareto
from topodesign.finder.question import Objective, read_objective
from topodesign.finder.runners_up import RunnerUp
from topodesign.pricing.workload import Workload

if TYPE_CHECKING:
    from topodesign.topology.library import TopologyLike

_MAX = 4096  # sizes of a grid at most


@dataclass(frozen=True)
class Missing(Declared):
    """Size without a topology, with the reason."""

    nodes: int | None  # nodes N; null for all hosts of a plant
    degree: int | None  # ports d out of, and into, a node; null for all lanes
    why: str  # why there is none

    KEYS = "nodes degree why"


@dataclass(frozen=True, slots=True)
class _Surveyed(Declared):
    """Fastest topology of a size."""

    best: Entry
    answer: Answer
    saved: Fraction | None  # what part of the time of the row before it saves; null without one

    KEYS = (
        key("nodes=best.nodes", "Nodes N."),
        key("degree=best.degree", "Ports d out of, and into, a node."),
        "catalog_version=version *best gain=float(saved)",
        key("runners_up?=or_null(next_best)", "With --top: what comes next to the fastest."),
        key("candidates?=or_null(candidates)", "With --candidates: those of this size."),
    )
    ROW = (
        "nodes=best.nodes degree=best.degree steps=best.cost.steps bandwidth=best.bandwidth",
        "bandwidth_float=float(best.bandwidth) allreduce_s_*=float(best.timed.by_size) gain=float(saved)",
        "time_s_*=float(best.by_place) duplex=best.duplex spec=best.spec name=best.name",
    )

    @property
    def next_best(self) -> tuple[RunnerUp, ...]:
        """Next best topologies."""
        return self.answer.next_best

    @property
    def version(self) -> str | None:
        """Catalog version that defines the short specs; null without a catalog."""
        return self.answer.version if isinstance(self.answer, Pareto) else None

    @property
    def candidates(self) -> tuple[OwnEntry, ...]:
        """User topologies of this size."""
        return self.answer.candidates if isinstance(self.answer, Pareto) else ()


@dataclass(frozen=True, repr=False)
class Survey(ResultSequence[Answer]):
    """Fastest topology of each size, ordered by nodes, then degree."""

    objective: Objective  # what is to be fast; its bandwidth is that of a node, or of a port with ``per_port``
    bidirectional: bool  # whether only duplex topologies were asked for
    per_port: bool  # whether every port adds its bandwidth to the node's; else the ports share what a node has
    frontiers: tuple[Answer, ...]  # the answer for every size that there is something of
    missing: tuple[Missing, ...]  # sizes without a topology

    KEYS = (
        "*workload",
        key("bandwidth_of", "What that is the bandwidth of.", kind=("node", "port")),
        "bidirectional verdict sizes missing",
    )
    ROWS = "sizes"
    MEMBERS = "frontiers"

    @property
    def workload(self) -> Workload:
        """Latency, sizes and bandwidth per node, or per port with ``per_port``."""
        return self.objective.work

    @property
    def bandwidth_of(self) -> str:
        """Owner of the workload's bandwidth: each node, or each port."""
        return "port" if self.per_port else "node"

    @property
    def sizes(self) -> tuple[_Surveyed, ...]:
        """Fastest topology of each size."""
        pairs = zip(self.frontiers, self.gains, strict=True)
        return tuple(_Surveyed(one.fastest, one, None if gain is None else gain[0]) for one, gain in pairs)

    @property
    def gains(self) -> tuple[tuple[Fraction, ...] | None, ...]:
        """Share of time saved over the previous size; negative for a loss.

        Each size has one share for each size of data.

        The one before it has one port less, or as many ports and fewer nodes; None for the first of a series.
        """
        ports = len({one.degree for one in self.frontiers}) > 1
        found: list[tuple[Fraction, ...] | None] = []
        before: Answer | None = None
        for one in self.frontiers:
            if before is None or (ports and before.nodes != one.nodes):
                found.append(None)
            else:
                pairs = zip(_times(before), _times(one), strict=True)
                found.append(tuple(1 - now / then for then, now in pairs))
            before = one
        return tuple(found)

    @property
    def verdict(self) -> str:
        """Recommended size, with the reason."""
        mix = self.objective.mix
        share = mix.shares[0]
        alone = f"{with_article(share.collective)} of {format_size(share.size)}"
        what = alone if len(mix.shares) == 1 else f"a step of {mix.name}"
        gains = [(gain[0], place) for place, gain in enumerate(self.gains) if gain is not None]
        if not gains:
            return ""
        most, place = max(gains, key=lambda pair: (pair[0], -pair[1]))
        first, last = self.frontiers[0], self.frontiers[-1]
        if len({one.nodes for one in self.frontiers}) == 1:
            whole = 1 - _times(last)[0] / _times(first)[0]
            gets = f"{_percent(abs(whole))} {'shorter' if whole >= 0 else 'longer'}"
            if most <= 0:
                return f"More ports save nothing for {what}."
            return (
                f"From {first.degree} to {count_noun(last.degree, 'port')} {what} gets {gets}; "
                f"the step to {self.frontiers[place].degree} saves most, {_percent(most)}."
            )
        fastest = min(self.frontiers, key=lambda one: (_times(one)[0], -one.nodes))
        return (
            f"Fastest of these sizes: {count_noun(fastest.nodes, 'node')} with {count_noun(fastest.degree, 'port')}, "
            f"{what} in {format_time(_times(fastest)[0])}."
        )

    @property
    def among(self) -> Scope:
        """Scope in which each topology is the fastest."""
        looked_up = all(one.among is Scope.CATALOG for one in self.frontiers)
        return Scope.CATALOG if looked_up else Scope.FOUND

    @property
    def what(self) -> str:
        """Collective and size, or mix, that decides the fastest topology."""
        share = self.objective.mix.shares[0]
        one = len(self.objective.mix.shares) == 1
        return f"{share.collective} of {format_size(share.size)}" if one else self.objective.mix.words

    def heading(self) -> str:
        """Return the question."""
        work, kind = self.workload, "duplex" if self.bidirectional else "simplex or duplex"
        return (
            f"{self.what} ({kind}), of each size {fastest_of(self.among)}; "
            f"alpha {format_time(work.alpha)}, {format_bandwidth(work.bandwidth)} per {self.bandwidth_of}; "
            "changes: to the row before"
        )

    def table(self) -> Table:
        """Return a table with the fastest topology of every size."""
        rows = tuple(_row(one.fastest, gain) for one, gain in zip(self.frontiers, self.gains, strict=True))
        without = [f"{one.nodes} nodes, degree {one.degree}: {one.why}" for one in self.missing[:4]]
        if len(self.missing) > len(without):
            without.append(f"and {len(self.missing) - len(without)} more sizes without a topology")
        return Table(
            self.heading(),
            ("nodes", "degree", "steps", "BW factor", *self.objective.titles, "cabling", "topology"),
            rows,
            words=frozenset(("cabling", "topology")),
            spare=frozenset(("cabling",)),
            footnote="\n".join(filter(None, [self.verdict, *without])),
        )


def _times(one: Answer) -> tuple[Fraction, ...]:
    return one.fastest.times


def _percent(share: Fraction) -> str:
    return f"{float(share) * 100:.1f}%"


def _change(gain: Fraction) -> str:
    """Format the change from the previous size."""
    return "same" if not gain else f"{-float(gain) * 100:+.1f}%"


def _row(best: Entry, gains: tuple[Fraction, ...] | None) -> tuple[str, ...]:
    saved = ("",) * len(best.times) if gains is None else tuple(map(_change, gains))
    times = [f"{format_time(time)} {change:>7}" for time, change in zip(best.times, saved, strict=True)]
    return (
        str(best.nodes),
        str(best.degree),
        str(best.cost.steps),
        f"{float(best.factor):.4f}",
        *times,
        best.cabling,
        shorten_text(best.label),
    )


def _has(size: tuple[int, int], grid: Sequence[tuple[int | None, int | None]]) -> bool:
    return any(n in {None, size[0]} and d in {None, size[1]} for n, d in grid)


@takes(FindOptions)
def survey(
    nodes: int | Iterable[int] | None,
    degrees: int | Iterable[int] | None,
    *,
    bidirectional: bool = False,
    per_port: bool = False,
    catalog: CatalogLike = True,
    candidates: Iterable[TopologyLike] = (),
    answer: Callable[..., Any] = pareto,
    progress: Progress | None = None,
    **options: Unpack[FindOptions],
) -> Survey:
    """Return the fastest topology of every size of a grid.

    The result shows the gain from one more port or node.

    Parameters
    ----------
    nodes, degrees
        N and d: one of each, or several that ascend, such as ``range(16, 65, 16)``.
    per_port
        Whether the bandwidth is that of each port, so that more ports are more. Without it they only divide it
        further, and what they buy is fewer steps and a lower bandwidth factor.
    candidates
        Topologies of your own, each of one of the sizes.
    answer
        Function that answers one size. For a plant it is ``functools.partial(topodesign.carry, inventory)``, near a
        wiring ``functools.partial(topodesign.grow, plan)``.
    bidirectional, catalog
        As for :func:`topodesign.pareto`.
    progress
        Called now and then with the share of the work that is done.
    **options
        As for :func:`topodesign.pareto`.

    Raises
    ------
    ParameterError
        If sizes do not ascend, or are none or too many, or a candidate has none of them.
    UnitError
        If a quantity cannot be read.
    InfeasibleError
        If there is no topology of any of the sizes.

    Examples
    --------
    >>> from topodesign import survey
    >>> for one in survey(12, range(2, 5)):
    ...     print(one.degree, one.best.spec, one.best.cost.steps)
    2 line(uniring(2,3),2) 4
    3 kautz(3,1) 2
    4 circulant(12,2,3) 2
    """
    several = [None] if nodes is None else as_ascending("number of nodes", nodes)  # None: all hosts of a plant
    ports = [None] if degrees is None else as_ascending("degree", degrees)
    grid = [(n, d) for n in several for d in ports]
    if len(grid) > _MAX:
        raise ParameterError(f"{len(grid)} sizes are too many for one table (at most {_MAX}); ask for smaller ranges")
    objective = read_objective(options)
    own = sources.sort_by_size(as_several("candidates", candidates))
    found: list[Answer] = []
    missing: list[Missing] = []
    for place, (n, d) in enumerate(grid):
        rate = objective.work.bandwidth * (d or 1) if per_port else objective.work.bandwidth
        mine = [one for (n2, d2), some in own.items() for one in some if n in {None, n2} and d in {None, d2}]
        try:
            one = answer(
                n,
                d,
                bidirectional=bidirectional,
                catalog=catalog,
                candidates=mine,
                progress=part(progress, place / len(grid), (place + 1) / len(grid)),
                **(options | {"bandwidth": rate}),
            )
        except (ParameterError, InfeasibleError) as error:
            missing.append(Missing(n, d, str(error)))
            continue
        found.append(replace(one, better=None) if isinstance(one, Pareto) else one)  # which the table shows already
    unused = [str(one) for size, some in own.items() for one in some if not _has(size, grid)]
    if unused:
        raise ParameterError(f"{', '.join(unused)}: none of these sizes")
    if not found:
        raise InfeasibleError(f"there is no topology of any of these sizes; {missing[0].why}")
    return Survey(objective, bidirectional, per_port, tuple(found), tuple(missing))


@takes(FindOptions)
def show_catalog(
    nodes: int | Iterable[int],
    degree: int,
    *,
    bidirectional: bool = False,
    catalog: CatalogLike = True,
    **options: Unpack[FindOptions],
) -> Pareto | Survey:
    """Look up the best known topologies of one or several sizes.

    Parameters
    ----------
    nodes, degree
        N, or several that ascend, and d.
    bidirectional, catalog, **options
        As for :func:`topodesign.pareto`.

    Returns
    -------
    Pareto or Survey
        The frontier of one size, or the fastest topology of each.

    Raises
    ------
    TopodesignError
        As :func:`topodesign.pareto` and :func:`survey`.

    Examples
    --------
    >>> from topodesign import show_catalog
    >>> show_catalog(12, 4)[0].spec
    'circulant(12,2,3)'
    >>> [one.best.spec for one in show_catalog(range(11, 13), 4)]
    ['circulant(11,2,3)', 'circulant(12,2,3)']
    """
    sizes = as_ascending("number of nodes", nodes)
    if len(sizes) == 1:
        return pareto(sizes[0], degree, bidirectional=bidirectional, catalog=catalog, **options)
    return survey(sizes, degree, bidirectional=bidirectional, catalog=catalog, **options)
