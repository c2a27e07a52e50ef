"""What one port or one node more or less buys: the fastest topology of every size of a grid, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Unpack

from topodesign.base.arguments import as_ascending
from topodesign.base.claims import Among, fastest_of
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.options import takes
from topodesign.base.progress import Progress, part
from topodesign.base.records import Several, Table, shortened
from topodesign.base.units import Quantity, as_bandwidth, format_bandwidth, format_size, format_time
from topodesign.base.wording import counted
from topodesign.base.work_options import WorkOptions
from topodesign.catalog.frontier import Entry, Pareto
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.pareto import pareto
from topodesign.pricing.workload import Workload, as_workload

_MOST = 4096  # sizes of a grid at most


@dataclass(frozen=True)
class Missing(Declared):
    """A size of which there is nothing, and why."""

    nodes: int  # nodes N
    degree: int  # ports d out of, and into, a node
    why: str  # why there is none

    KEYS = "nodes degree why"


@dataclass(frozen=True, slots=True)
class _Surveyed(Declared):
    """The fastest topology of a size."""

    best: Entry
    version: str | None  # version of the catalog that short specs are of
    saved: Fraction | None  # what part of the time of the row before it saves; null without one

    KEYS = (
        key("nodes=best.nodes", "Nodes N."),
        key("degree=best.degree", "Ports d out of, and into, a node."),
        "catalog_version=version *best gain=float(saved)",
    )
    ROW = (
        "nodes=best.nodes degree=best.degree steps=best.cost.steps bandwidth=best.cost.bandwidth",
        "bandwidth_float=float(best.cost.bandwidth) allreduce_s_*=float(best.timed.by_size) gain=float(saved)",
        "duplex=best.duplex spec=best.spec name=best.name",
    )


@dataclass(frozen=True, repr=False)
class Survey(Several[Pareto]):
    """The fastest topology of every size of a grid, in the order of nodes, then degrees."""

    workload: Workload  # what times are for; its bandwidth is that of a node, or of a port with ``per_port``
    bidirectional: bool  # whether only duplex topologies were asked for
    per_port: bool  # whether every port adds its bandwidth to the node's; else the ports share what a node has
    frontiers: tuple[Pareto, ...]  # the answer of :func:`topodesign.pareto` for every size that there is something of
    missing: tuple[Missing, ...]  # sizes without a topology

    KEYS = (
        "*workload",
        key("bandwidth_of", "What that is the bandwidth of.", kind=("node", "port")),
        "bidirectional verdict sizes missing",
    )
    ROWS = "sizes"
    MEMBERS = "frontiers"

    @property
    def bandwidth_of(self) -> str:
        """What has the bandwidth of the workload: each node, or each port."""
        return "port" if self.per_port else "node"

    @property
    def sizes(self) -> tuple[_Surveyed, ...]:
        """The fastest topology of each size."""
        pairs = zip(self.frontiers, self.gains, strict=True)
        return tuple(_Surveyed(one.best, one.version, None if gain is None else gain[0]) for one, gain in pairs)

    @property
    def gains(self) -> tuple[tuple[Fraction, ...] | None, ...]:
        """For every size, what part of the time of the one before it is saved, for each size of data; below 0 if lost.

        The one before it has one port less, or as many ports and fewer nodes; None for the first of a series.
        """
        ports = len({one.degree for one in self.frontiers}) > 1
        found: list[tuple[Fraction, ...] | None] = []
        before: Pareto | None = None
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
        """Which size to take, and why."""
        size = format_size(self.workload.sizes[0])
        gains = [(gain[0], place) for place, gain in enumerate(self.gains) if gain is not None]
        if not gains:
            return ""
        most, place = max(gains, key=lambda pair: (pair[0], -pair[1]))
        first, last = self.frontiers[0], self.frontiers[-1]
        if len({one.nodes for one in self.frontiers}) == 1:
            whole = 1 - _times(last)[0] / _times(first)[0]
            gets = f"{_percent(abs(whole))} {'shorter' if whole >= 0 else 'longer'}"
            if most <= 0:
                return f"More ports save nothing for an allreduce of {size}."
            return (
                f"From {first.degree} to {counted(last.degree, 'port')} an allreduce of {size} gets {gets}; "
                f"the step to {self.frontiers[place].degree} saves most, {_percent(most)}."
            )
        fastest = min(self.frontiers, key=lambda one: (_times(one)[0], -one.nodes))
        return (
            f"Of these sizes {counted(fastest.nodes, 'node')} with {counted(fastest.degree, 'port')} are first for an "
            f"allreduce of {size}: {format_time(_times(fastest)[0])}."
        )

    @property
    def among(self) -> Among:
        """What each size has the fastest of."""
        looked_up = all(one.among is Among.CATALOG for one in self.frontiers)
        return Among.CATALOG if looked_up else Among.FOUND

    def heading(self) -> str:
        """Return the question."""
        work, kind = self.workload, "duplex" if self.bidirectional else "simplex or duplex"
        return (
            f"allreduce of {format_size(work.size)} ({kind}), of each size {fastest_of(self.among)}; "
            f"alpha {format_time(work.alpha)}, {format_bandwidth(work.bandwidth)} per {self.bandwidth_of}; "
            "changes: to the row before"
        )

    def table(self) -> Table:
        """Return a row for every size: its fastest topology for the first size of data."""
        sizes = tuple(format_size(size) for size in self.workload.sizes)
        rows = tuple(_row(one.best, gain) for one, gain in zip(self.frontiers, self.gains, strict=True))
        without = [f"{one.nodes} nodes, degree {one.degree}: {one.why}" for one in self.missing[:4]]
        if len(self.missing) > len(without):
            without.append(f"and {len(self.missing) - len(without)} more sizes without a topology")
        return Table(
            self.heading(),
            ("nodes", "degree", "steps", "y", *sizes, "cabling", "topology"),
            rows,
            words=frozenset(("cabling", "topology")),
            spare=frozenset(("cabling",)),
            footnote="\n".join(filter(None, [self.verdict, *without])),
        )


def _times(one: Pareto) -> tuple[Fraction, ...]:
    return one.best.allreduce


def _percent(share: Fraction) -> str:
    return f"{float(share) * 100:.1f}%"


def _change(gain: Fraction) -> str:
    """Return how much more or less than before, for people."""
    return "same" if not gain else f"{-float(gain) * 100:+.1f}%"


def _row(best: Entry, gains: tuple[Fraction, ...] | None) -> tuple[str, ...]:
    saved = ("",) * len(best.allreduce) if gains is None else tuple(map(_change, gains))
    times = [f"{format_time(time)} {change:>7}" for time, change in zip(best.allreduce, saved, strict=True)]
    cost = best.mean
    return (
        str(best.nodes),
        str(best.degree),
        str(cost.steps),
        f"{float(cost.bandwidth):.4f}",
        *times,
        best.cabling,
        shortened(best.label),
    )


@takes(WorkOptions)
def survey(
    nodes: int | Iterable[int],
    degrees: int | Iterable[int],
    *,
    bidirectional: bool = False,
    per_port: bool = False,
    search: Quantity | None = None,
    seed: int | None = None,
    catalog: Catalog | str | Path | bool = True,
    progress: Progress | None = None,
    **given: Unpack[WorkOptions],
) -> Survey:
    """Return the fastest topology of every size of a grid, to see what one port or one node more or less buys.

    Parameters
    ----------
    nodes, degrees
        N and d: one of each, or several that ascend, such as ``range(16, 65, 16)``.
    per_port
        Whether the bandwidth is that of each port, so that more ports are more. Without it they only divide it
        further, and what they buy is fewer steps and a lower bandwidth factor.
    bidirectional, search, seed, catalog
        As for :func:`topodesign.pareto`; sizes that the catalog has not are searched for.
    progress
        Called now and then with the share of the work that is done.
    **given
        As for :func:`topodesign.pareto`.

    Raises
    ------
    ParameterError
        If sizes do not ascend, or are none or too many.
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
    grid = [(n, d) for n in as_ascending("number of nodes", nodes) for d in as_ascending("degree", degrees)]
    if len(grid) > _MOST:
        raise ParameterError(f"{len(grid)} sizes are too many for one table (at most {_MOST}); ask for smaller ranges")
    work = as_workload(**given)
    found: list[Pareto] = []
    missing: list[Missing] = []
    for place, (n, d) in enumerate(grid):
        try:
            one = pareto(
                n,
                d,
                bidirectional=bidirectional,
                alpha=work.alpha,
                sizes=work.sizes,
                bandwidth=as_bandwidth(work.bandwidth * d if per_port else work.bandwidth),
                search=search,
                seed=seed,
                catalog=catalog,
                progress=part(progress, place / len(grid), (place + 1) / len(grid)),
            )
        except (ParameterError, InfeasibleError) as error:
            missing.append(Missing(n, d, str(error)))
            continue
        found.append(replace(one, better=None))  # which the table shows, or hides on purpose
    if not found:
        raise InfeasibleError(f"there is no topology of any of these sizes; {missing[0].why}")
    return Survey(work, bidirectional, per_port, tuple(found), tuple(missing))
