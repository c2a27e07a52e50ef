"""The answer to a planner's question: which topologies of N nodes and degree d are worth wiring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from topodesign.base.cost import Basis, Cost, check_size, lower_bound
from topodesign.base.errors import CatalogError, InfeasibleError, ParameterError
from topodesign.base.spec import Spec, parse
from topodesign.base.units import parse_bandwidth, parse_size, parse_time
from topodesign.catalog.lookup import Catalog, covers
from topodesign.catalog.rows import Row, how_found
from topodesign.pricing.baselines import Baseline, Workload, baselines

if TYPE_CHECKING:
    from topodesign.search.finder import Candidate
    from topodesign.topology.topology import Topology

Origin = Literal["catalog", "search", "catalog and search"]

DEFAULT_SEARCH = 3.0
"""Seconds of Cayley search unless told otherwise, where the catalog has no answer."""

MOST_NODES = 2**14
"""Largest number of nodes that is searched for; it takes half a minute."""

MOST_DEGREE = 64
"""Largest degree that is searched for."""


@dataclass(frozen=True)
class Entry:
    """One topology on the frontier.

    Attributes
    ----------
    spec
        The text that rebuilds it; :meth:`build` does.
    cost
        Steps and bandwidth factor, which hold for reduce-scatter (exactly) and allgather (at most).
    allgather
        Price of its allgather, at most ``cost``.
    duplex
        Whether duplex cabling can wire it.
    basis
        What the cost rests on: the links of the rebuilt topology, a theorem or a bound.
    allreduce
        Seconds, for each size of the workload: twice what ``cost`` takes, which is an upper bound where the
        allgather is cheaper.
    best
        For each size, whether no other entry is faster.
    """

    spec: Spec
    cost: Cost
    allgather: Cost
    duplex: bool
    basis: Basis
    allreduce: tuple[Fraction, ...]
    best: tuple[bool, ...]

    @property
    def found(self) -> str:
        """Where such a topology comes from: see :func:`topodesign.catalog.rows.how_found`."""
        return how_found(self.spec)

    def build(self) -> Topology:
        """Build the topology."""
        from topodesign.expand.library import build  # noqa: PLC0415  heavy, and looking up needs none of it

        return build(self.spec)


@dataclass(frozen=True)
class Pareto:
    """The Pareto frontier of latency against bandwidth for one size.

    Attributes
    ----------
    nodes, degree
        N and d.
    bidirectional
        Whether only duplex topologies were asked for.
    workload
        What the runtimes are for.
    bound
        What no topology can beat: Moore's steps and (N-1)/N.
    entries
        Undominated topologies, steps ascending and bandwidth strictly descending.
    baselines
        What people wire today.
    origin
        Whether the entries were looked up, searched for just now, or both.
    catalog_error
        Why the catalog could not be used, where it should have been.
    """

    nodes: int
    degree: int
    bidirectional: bool
    workload: Workload
    bound: Cost
    entries: tuple[Entry, ...]
    baselines: tuple[Baseline, ...]
    origin: Origin
    catalog_error: str | None = None

    @property
    def best(self) -> Entry:
        """The fastest entry for the first size."""
        return next(entry for entry in self.entries if entry.best[0])

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat dictionary an entry, ready for ``pandas.DataFrame``."""
        return [
            {
                "spec": str(entry.spec),
                "nodes": self.nodes,
                "degree": self.degree,
                "steps": entry.cost.steps,
                "bandwidth": entry.cost.bandwidth,
                "bandwidth_float": float(entry.cost.bandwidth),
                "allgather_bandwidth": entry.allgather.bandwidth,
                "duplex": entry.duplex,
                "found": entry.found,
                "source": entry.basis.words,
                **{
                    f"allreduce_s_{size}": float(time)
                    for size, time in zip(self.workload.sizes, entry.allreduce, strict=True)
                },
                "best": entry.best[0],
            }
            for entry in self.entries
        ]

    def __str__(self) -> str:
        """Return the table that the command line prints."""
        from topodesign.report.table import pareto_text  # noqa: PLC0415  rich, only to print

        return pareto_text(self)


def pareto(
    nodes: int,
    degree: int,
    *,
    bidirectional: bool = False,
    alpha: str | Fraction = "10us",
    sizes: str | Fraction | Sequence[str | Fraction] = "1MiB",
    bandwidth: str | Fraction = "100Gbps",
    search: float | None = None,
    seed: int | None = None,
    catalog: Catalog | bool = True,
    progress: Callable[[float], None] | None = None,
) -> Pareto:
    """Find every topology worth wiring for N nodes of degree d: look it up, or search where that gives no answer.

    Parameters
    ----------
    nodes, degree
        N and d, the ports out of (and into) each node.
    bidirectional
        Only topologies whose every link has its reverse, which duplex cabling can wire.
    alpha
        Latency of a step: text with a unit, or seconds.
    sizes
        Data sizes M: text with units, or bytes; one runtime each.
    bandwidth
        Egress bandwidth B of a node: text with a unit, or bits per second.
    search
        Seconds to spend on searching Cayley digraphs for more than the catalog has; 0 looks at the known families and
        their expansions only. If neither this nor ``seed`` is given the catalog's answer is enough.
    seed
        Seed of the search.
    catalog
        Where to look first; True for the shipped one (see :class:`Catalog`), False to search afresh.
    progress
        Called now and then with the share of the search time that is used.

    Returns
    -------
    Pareto
        Every entry that was searched for has been rebuilt from its spec and priced from its links, up to 4096 nodes;
        beyond, entries that rest on a closed form say so. So were those of the catalog when it was made.

    Raises
    ------
    ParameterError
        If no topology of this size can exist, or it is too large.
    UnitError
        If a quantity cannot be read.
    InfeasibleError
        If none is known.
    """
    check_question(nodes, degree, bidirectional=bidirectional)
    workload = read_workload(alpha, sizes, bandwidth)
    known: list[Row] = []
    trouble = None
    if catalog is not False and covers(nodes, degree):
        try:
            known = (Catalog() if catalog is True else catalog).frontier(nodes, degree, duplex=bidirectional)
        except CatalogError as error:
            trouble = str(error)
    if known and search is None and seed is None:
        return from_rows(known, workload, bidirectional=bidirectional)
    from topodesign.search.cayley import Found, Target  # noqa: PLC0415
    from topodesign.search.from_scratch import explore  # noqa: PLC0415  heavy, and looking up needs none of it

    front = explore(
        Target(nodes, degree, bidirectional),
        DEFAULT_SEARCH if search is None else search,
        seed=seed or 0,
        known=[Found(parse(row.spec), row.cost) for row in known],
        progress=progress,
    )
    if not front:
        kind = "duplex " if bidirectional else ""
        raise InfeasibleError(f"no {kind}topology with {nodes} nodes and degree {degree} is known; try --search 30")
    return Pareto(
        nodes,
        degree,
        bidirectional,
        workload,
        lower_bound(nodes, degree, duplex=bidirectional),
        rate(front, workload),
        tuple(baselines(nodes, degree, workload)),
        "catalog and search" if known else "search",
        trouble,
    )


def from_rows(rows: Sequence[Row], workload: Workload, *, bidirectional: bool) -> Pareto:
    """Return the frontier that rows of the catalog make, all of one size, in order and undominated."""
    nodes, degree = rows[0].nodes, rows[0].degree
    return Pareto(
        nodes,
        degree,
        bidirectional,
        workload,
        lower_bound(nodes, degree, duplex=bidirectional),
        rate(rows, workload),
        tuple(baselines(nodes, degree, workload)),
        "catalog",
    )


def rate(known: Sequence[Candidate | Row], workload: Workload) -> tuple[Entry, ...]:
    """Return entries with their runtimes, the fastest for each size marked (the first of several)."""
    times = [workload.allreduce(one.cost) for one in known]
    fastest = [min(range(len(times)), key=lambda row: times[row][column]) for column in range(len(workload.sizes))]
    return tuple(
        Entry(
            parse(one.spec) if isinstance(one, Row) else one.spec,
            one.cost,
            one.allgather,
            one.duplex,
            one.basis,
            times[row],
            tuple(row == winner for winner in fastest),
        )
        for row, one in enumerate(known)
    )


def read_workload(
    alpha: str | Fraction, sizes: str | Fraction | Sequence[str | Fraction], bandwidth: str | Fraction
) -> Workload:
    """Read the quantities of a workload: text with units, or exact numbers in seconds, bytes and bits per second."""
    several = [sizes] if isinstance(sizes, str | Fraction | int) else list(sizes)
    if not several:
        raise ParameterError("give at least one size")
    return Workload(
        parse_time(alpha) if isinstance(alpha, str) else Fraction(alpha),
        tuple(parse_size(size) if isinstance(size, str) else Fraction(size) for size in several),
        parse_bandwidth(bandwidth) if isinstance(bandwidth, str) else Fraction(bandwidth),
    )


def check_question(nodes: int, degree: int, *, bidirectional: bool) -> None:
    """Raise ParameterError, with the nearest size that works, unless a topology of this size can exist."""
    check_size(nodes, degree)
    if nodes > MOST_NODES:
        raise ParameterError(
            f"{nodes} nodes are too many to search (at most {MOST_NODES}); evaluate takes larger specs"
        )
    if degree > MOST_DEGREE:
        raise ParameterError(f"degree {degree} is too large (at most {MOST_DEGREE})")
    if not bidirectional:
        return
    if nodes * degree % 2:
        near = [
            f"({n},{d})"
            for n, d in ((nodes, degree - 1), (nodes, degree + 1), (nodes - 1, degree), (nodes + 1, degree))
            if n > 1 and (d > 1 or (d == 1 and n == 2))
        ]
        raise ParameterError(
            f"an odd number of nodes ({nodes}) with an odd degree ({degree}) has no duplex topology: "
            f"each cable takes two ports, and {nodes}*{degree} is odd; nearest sizes (N,d): {', '.join(near)}"
        )
    if degree == 1 and nodes > 2:
        raise ParameterError(
            f"one duplex port each cannot connect {nodes} nodes; nearest sizes (N,d): (2,1), ({nodes},2)"
        )
