"""The answer to a planner's question: which topologies of N nodes and degree d are worth wiring."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from topodesign.baselines import Baseline, Workload, baselines
from topodesign.cost import Cost, check_size, lower_bound
from topodesign.errors import InfeasibleError, ParameterError, TopologyError
from topodesign.finder import LARGEST_PRICED, Candidate, Finder, Source
from topodesign.library import build
from topodesign.search import Found, Target, search_cayley
from topodesign.solve.spff import price
from topodesign.spec import Spec
from topodesign.topology import Topology
from topodesign.units import parse_bandwidth, parse_size, parse_time

DEFAULT_SEARCH = 3.0
"""Seconds of Cayley search unless told otherwise."""

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
    source
        ``links`` if the cost was computed from the links of the rebuilt topology, else ``closed form``.
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
    source: Source
    allreduce: tuple[Fraction, ...]
    best: tuple[bool, ...]

    def build(self) -> Topology:
        """Build the topology."""
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
    """

    nodes: int
    degree: int
    bidirectional: bool
    workload: Workload
    bound: Cost
    entries: tuple[Entry, ...]
    baselines: tuple[Baseline, ...]

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
                "source": entry.source,
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
    search: float = DEFAULT_SEARCH,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Pareto:
    """Find every topology worth wiring for N nodes of degree d.

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
        Seconds to spend on searching Cayley digraphs; 0 looks at the known families and their expansions only.
    seed
        Seed of the search.
    progress
        Called now and then with the share of the search time that is used.

    Returns
    -------
    Pareto
        Every entry has been rebuilt from its spec and priced from its links, up to 4096 nodes; beyond, entries that
        rest on a closed form say so.

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
    target = Target(nodes, degree, bidirectional)
    found: dict[Target, list[Found]] = {}
    if search > 0:
        found = search_cayley(search_targets(target), search, seed=seed, progress=progress)
    front = Finder(found).frontier(nodes, degree, duplex=bidirectional)
    if not front:
        kind = "duplex " if bidirectional else ""
        raise InfeasibleError(f"no {kind}topology with {nodes} nodes and degree {degree} is known; try --search 30")
    return Pareto(
        nodes,
        degree,
        bidirectional,
        workload,
        lower_bound(nodes, degree, duplex=bidirectional),
        rate([_rebuilt(candidate) for candidate in front], workload),
        tuple(baselines(nodes, degree, workload)),
    )


def rate(candidates: Sequence[Candidate], workload: Workload) -> tuple[Entry, ...]:
    """Return entries with their runtimes, the fastest for each size marked (the first of several)."""
    times = [workload.allreduce(candidate.cost) for candidate in candidates]
    fastest = [min(range(len(times)), key=lambda row: times[row][column]) for column in range(len(workload.sizes))]
    return tuple(
        Entry(c.spec, c.cost, c.allgather, c.duplex, c.source, times[row], tuple(row == winner for winner in fastest))
        for row, c in enumerate(candidates)
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


def search_targets(target: Target) -> list[Target]:
    """Return the sizes whose Cayley digraphs bear on a target: itself, and the bases of its line graphs and copies."""
    sizes = [target]
    nodes, degree = target.nodes, target.degree
    while not target.duplex and degree > 1 and nodes % degree == 0 and nodes // degree > degree:
        nodes //= degree
        sizes.append(Target(nodes, degree, duplex=False))
    nodes, degree = target.nodes, target.degree
    sizes += [
        Target(nodes // n, degree // n, target.duplex)
        for n in range(2, degree)
        if degree % n == 0 and nodes % n == 0 and nodes // n > degree // n > 1
    ]
    return sizes


def _rebuilt(candidate: Candidate) -> Candidate:
    """Return the candidate after building it again from its spec; the price must come out the same.

    Raises
    ------
    TopologyError
        If it does not, which would be a fault of the library.
    """
    topology = build(str(candidate.spec))
    if candidate.source == "links" and topology.nodes <= LARGEST_PRICED and price(topology) != candidate.cost:
        raise TopologyError(f"{candidate.spec} was priced {candidate.cost}, but rebuilt it costs {price(topology)}")
    return candidate
