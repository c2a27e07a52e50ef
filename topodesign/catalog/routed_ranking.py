"""Which topology of a size is best for nodes that let messages pass: by the way that is fastest on each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from topodesign.base.arguments import as_choice
from topodesign.base.claims import FASTEST_OF_COLUMN
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, TooLargeError, TopodesignError
from topodesign.base.progress import Progress, each
from topodesign.base.records import Result, Table, shortened
from topodesign.base.spec import Spec
from topodesign.base.units import Quantity, as_count, format_size, format_time
from topodesign.catalog.candidates import candidates
from topodesign.catalog.lookup import Catalog, as_catalog
from topodesign.catalog.pareto import check_question
from topodesign.optima.routed import Passing, ways_on
from topodesign.pricing.mix import PRICED
from topodesign.pricing.workload import Workload, as_workload

MOST_NODES = 256  # on which the ways of all topologies are counted
_SHOWN = 12  # topologies in a table


@dataclass(frozen=True)
class Passed(Declared):
    """A topology with the ways that are fastest on it."""

    spec: Spec  # the text that rebuilds it
    ways: tuple[Passing, ...]  # the fastest way for each size
    times: tuple[Fraction, ...]  # seconds for each size
    best: bool = False  # whether no other is faster for the first size

    KEYS = "spec ways times_s=float(times) best"
    ROW = "spec time_s=float(first) way=name"

    @property
    def first(self) -> Fraction:
        """Seconds for the first size."""
        return self.times[0]

    @property
    def name(self) -> str:
        """The way for the first size."""
        return self.ways[0].name


@dataclass(frozen=True, repr=False)
class RoutedRanking(Result):
    """The topologies of a size by the time of a collective whose messages may pass through nodes.

    * ``nodes``, ``degree``: N and d.
    """

    nodes: int
    degree: int
    bidirectional: bool  # whether only duplex topologies were asked for
    collective: str  # what is done
    workload: Workload  # latencies, sizes and bandwidth
    topologies: tuple[Passed, ...]  # all that were counted, that with the least time for the first size first

    KEYS = (
        "nodes degree bidirectional collective",
        "*workload",
        key("hop_s=float(workload.hop)", "Seconds for each link that a message goes over."),
        key("sizes_bytes=number(workload.sizes)", "Sizes in bytes."),
        "topologies",
    )
    ROWS = "topologies"

    @property
    def best(self) -> Passed:
        """The one with the least time for the first size."""
        return self.topologies[0]

    def heading(self) -> str:
        """Return the question."""
        what = f"{self.nodes} nodes of degree {self.degree}: {self.collective}, messages pass through"
        return f"{what}; {self.workload.setting_with('hop')}"

    def table(self) -> Table:
        """Return the first topologies, and those that are fastest for some size."""
        sizes = range(len(self.workload.sizes))
        fastest = [min(one.times[at] for one in self.topologies) for at in sizes]
        shown = [
            one
            for place, one in enumerate(self.topologies)
            if place < _SHOWN or any(one.times[at] == fastest[at] for at in sizes)
        ]
        rows = [
            (
                *(f"{format_time(one.times[at])}{' *' if one.times[at] == fastest[at] else '  '}" for at in sizes),
                ", ".join(dict.fromkeys(way.name for way in one.ways)),
                shortened(str(one.spec)),
            )
            for one in shown
        ]
        note = f"{FASTEST_OF_COLUMN}; {len(self.topologies)} topologies were counted"
        titles = (*map(format_size, self.workload.sizes), "ways", "topology")
        return Table(self.heading(), titles, tuple(rows), words=frozenset(("ways", "topology")), footnote=note)


def rank_routed(
    nodes: int,
    degree: int,
    *,
    hop: Quantity = "300ns",
    collective: str = "allreduce",
    bidirectional: bool = False,
    alpha: Quantity = "10us",
    sizes: Quantity | Iterable[Quantity] = "1MiB",
    bandwidth: Quantity = "100Gbps",
    catalog: Catalog | str | Path | None = None,
    progress: Progress | None = None,
) -> RoutedRanking:
    """Rank topologies of a size for nodes that let messages pass.

    On each all ways of :func:`topodesign.routed` are counted, and the fastest taken for every size: schedules from
    neighbour to neighbour among them, whose steps take alpha and one hop.

    Parameters
    ----------
    nodes, degree
        N, at most 256, and d.
    hop
        Latency of a message for each link that it goes over: to a node h links away it takes alpha + h hop.
    collective
        allreduce, allgather, reduce-scatter or all-to-all; the last in one step over shortest paths.
    bidirectional, alpha, sizes, bandwidth, catalog, progress
        As for :func:`topodesign.rank`.

    Raises
    ------
    ParameterError, UnitError, FileFormatError, TooLargeError
        If an argument cannot be read, or no topology of this size can exist, or N is above 256.
    InfeasibleError
        If none is known.

    Examples
    --------
    >>> from topodesign import rank_routed
    >>> found = rank_routed(16, 4, collective="all-to-all", alpha="1us", hop="200ns")
    >>> found.best.times[0] <= min(one.times[0] for one in found.topologies)
    True
    """
    nodes, degree = as_count(nodes, "number of nodes"), as_count(degree, "degree")
    check_question(nodes, degree, bidirectional=bidirectional)
    if nodes > MOST_NODES:
        raise TooLargeError(f"--hop counts the messages of at most {MOST_NODES} nodes, not {nodes}")
    asked = as_choice("collective", collective, PRICED)
    work = as_workload(alpha, sizes, bandwidth, hop=hop)
    known = list(candidates(nodes, degree, duplex=bidirectional, catalog=as_catalog(catalog)))
    found = []
    for spec, _ in each(known, progress):
        passed = _passed(spec, asked, work, duplex=bidirectional)
        found += [] if passed is None else [passed]
    if not found:
        raise InfeasibleError(f"nothing with {nodes} nodes of degree {degree} is known; leave --hop out to search")
    found.sort(key=lambda one: (one.times, len(str(one.spec))))
    best = tuple(Passed(one.spec, one.ways, one.times, one.first == found[0].first) for one in found)
    return RoutedRanking(nodes, degree, bidirectional, asked, work, best)


def _passed(spec: Spec, collective: str, work: Workload, *, duplex: bool) -> Passed | None:
    """Return a topology with its fastest ways; None if it cannot be built, is not connected or not duplex."""
    from topodesign.topology.library import build  # noqa: PLC0415  heavy

    try:
        topology = build(spec)
        if duplex and not topology.is_duplex:
            return None
        ways, _ = ways_on(topology, collective)
    except TopodesignError:
        return None
    chosen = tuple(min(ways, key=lambda one, size=size: one.seconds(work, size)) for size in work.sizes)  # type: ignore[misc]
    return Passed(spec, chosen, tuple(way.seconds(work, size) for way, size in zip(chosen, work.sizes, strict=True)))
