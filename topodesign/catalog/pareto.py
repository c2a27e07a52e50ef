"""The answer to a planner's question: which topologies of N nodes and degree d are worth wiring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from topodesign.base.arguments import as_several
from topodesign.base.cost import Basis, check_size, keeps_port_free, lower_bound, lower_bounds
from topodesign.base.errors import CatalogError, InfeasibleError, ParameterError
from topodesign.base.options import takes
from topodesign.base.spec import parse
from topodesign.base.units import Quantity, as_count, as_time
from topodesign.base.work_options import WorkOptions
from topodesign.catalog.close_sizes import SMOOTH, better_multiple, better_size, better_smooth
from topodesign.catalog.frontier import Entry, Origin, Pareto
from topodesign.catalog.idle import has_idle_ports, idle_row
from topodesign.catalog.lookup import Catalog, as_catalog
from topodesign.catalog.own import as_candidates, plugged_in, priced
from topodesign.catalog.rows import Row
from topodesign.catalog.sizes import DEGREES, covers
from topodesign.catalog.sizes import MOST_NODES as LARGEST_ROW
from topodesign.pricing.baselines import baselines
from topodesign.pricing.workload import Workload, as_workload

if TYPE_CHECKING:
    from topodesign.search.candidate import Candidate
    from topodesign.search.target import Target
    from topodesign.topology.library import TopologyLike
    from topodesign.topology.topology import Topology

MOST_NODES = 2**20  # largest number of nodes that is answered for

MOST_SEARCHED = 2**14  # largest number of nodes that is searched for without a catalog; it takes half a minute

MOST_DEGREE = 64  # largest degree that is searched for


@takes(WorkOptions)
def pareto(
    nodes: int,
    degree: int,
    *,
    bidirectional: bool = False,
    search: Quantity | None = None,
    seed: int | None = None,
    catalog: Catalog | str | Path | bool = True,
    runners_up: int = 0,
    candidates: Iterable[TopologyLike] = (),
    progress: Callable[[float], None] | None = None,
    **work: Unpack[WorkOptions],
) -> Pareto:
    """Find every topology worth wiring for N nodes of degree d: look it up, or search where that gives no answer.

    Parameters
    ----------
    nodes, degree
        N and d, the ports out of (and into) each node.
    bidirectional
        Only topologies whose every link has its reverse, which duplex cabling can wire.
    search
        Seconds to spend on searching Cayley digraphs for more than the catalog has; 0 looks at the known families and
        their expansions only. If neither this nor ``seed`` is given the catalog's answer is enough. Where it has none,
        a search of so much work as takes a few seconds is made: then the answer depends on nothing but the question.
    seed
        Seed of the search.
    catalog
        Where to look first, or its directory; True for the shipped one (see :class:`Catalog`), False to search afresh.
    runners_up
        How many topologies to add that come next to the fastest: by time, steps, bandwidth, the fastest that duplex
        cabling wires and that is vertex-transitive, and the easiest to wire
        (see :data:`topodesign.catalog.runners_up.WISHES`).
    candidates
        Topologies of your own to set beside the others: specs, files of links, graphs.
    progress
        Called now and then with the share of the search time that is used.
    **work
        Latency, sizes and bandwidth: text with a unit, or numbers of seconds, bytes and bits per second.

    Returns
    -------
    Pareto
        Every entry that was searched for has been rebuilt from its spec and priced from its links, up to 4096 nodes;
        so were those of the catalog when it was made. Beyond the catalog its rows are expanded, and entries that rest
        on less than their links say so (see :class:`topodesign.base.cost.Basis`).

    Raises
    ------
    ParameterError
        If no topology of this size can exist, it is too large, or a candidate has another.
    UnitError
        If a quantity cannot be read.
    InfeasibleError
        If none is known.

    Examples
    --------
    >>> from topodesign import pareto
    >>> for one in pareto(1024, 4, sizes="25MB"):
    ...     print(one.spec, one.cost.steps, one.cost.bandwidth)
    line(cayley(metacyclic(8,2,7),1,6,8,11),3) 5 277/256
    line(cayley(metacyclic(32,8,3),2,62,96,117)) 6 1023/1024
    """
    nodes, degree = as_count(nodes, "number of nodes"), as_count(degree, "degree")
    check_question(
        nodes, degree, bidirectional=bidirectional, most=MOST_NODES if catalog is not False else MOST_SEARCHED
    )
    workload = as_workload(**work)
    seconds = None if search is None else float(as_time(search))
    seed_of_search = 0 if seed is None else as_count(seed, "seed", 0)
    more = as_count(runners_up, "number of runners-up", 0)
    own = list(as_candidates(as_several("candidates", candidates), nodes, degree, duplex=bidirectional))
    own += plugged_in(nodes, degree, duplex=bidirectional)
    known: list[Row] = []
    better = trouble = None
    if catalog is not False and degree in DEGREES and nodes > 2:
        try:
            known = as_catalog(catalog).frontier(nodes, degree, duplex=bidirectional)
            better = better_size(as_catalog(catalog), nodes, degree, workload, duplex=bidirectional)
        except CatalogError as error:
            trouble = str(error)
    if known and search is None and seed is None and _settles(known, nodes, degree, duplex=bidirectional):
        found = replace(from_rows(known, workload, bidirectional=bidirectional), better=better)
        if found.best.name is not None:
            found = replace(found, version=as_catalog(catalog).version(degree))
        return _with_runners_up(_with_own(found, own), more, catalog, progress)
    from topodesign.search.frontier import search_frontier  # noqa: PLC0415  heavy, and looking up needs none of it
    from topodesign.search.target import Found, Target  # noqa: PLC0415

    target = Target(nodes, degree, bidirectional)
    front: Sequence[Candidate] = ()
    origin: Origin = "catalog and search" if known else "search"
    if catalog is not False and nodes > LARGEST_ROW:
        try:
            source, rest = as_catalog(catalog), (seed_of_search, seconds)
            front, origin = _composed(target, source, *rest, progress), "composed"
            front = _with_deferred(front, known, target)
            better = better_multiple(source, front, target, workload) or better_smooth(
                front, target, workload, lambda other: _composed(other, source, *rest, None)
            )
        except CatalogError as error:
            trouble = str(error)
    if origin != "composed":
        check_question(nodes, degree, bidirectional=bidirectional, most=MOST_SEARCHED)
        known = [*known, *_with_port_free(target, catalog)]
        front = search_frontier(
            target,
            seconds,
            seed=seed_of_search,
            known=[Found(parse(row.spec), row.cost) for row in known],
            near=_near(target, catalog),
            progress=progress,
        )
        front = _with_deferred(front, known, target)
    if not front:
        kind = "duplex " if bidirectional else ""
        raise InfeasibleError(
            f"no {kind}topology with {nodes} nodes and degree {degree} is known; {_way_out(nodes, degree)}"
        )
    found = Pareto(
        nodes,
        degree,
        bidirectional,
        workload,
        lower_bound(nodes, degree, duplex=bidirectional),
        _entries(nodes, degree, front, workload),
        tuple(baselines(nodes, degree, workload)),
        origin,
        trouble,
        better,
    )
    return _with_runners_up(_with_own(found, own), more, catalog, progress)


def _way_out(nodes: int, degree: int) -> str:
    """Return what to ask for where nothing is known."""
    if nodes <= LARGEST_ROW:
        return "try --search 30"
    sizes = sorted({nodes // SMOOTH * SMOOTH, min(MOST_NODES, -(-nodes // SMOOTH) * SMOOTH)} - {nodes})
    return "nearest sizes (N,d): " + ", ".join(f"({size},{degree})" for size in sizes)


def _near(target: Target, catalog: Catalog | str | Path | bool) -> list[Topology]:
    """Return the topologies of the sizes beside one that keeps a port free, which a node more or less makes it."""
    sizes = (target.nodes - 1, target.nodes + 1)
    if catalog is False or not keeps_port_free(target.nodes, target.degree, duplex=target.duplex):
        return []
    try:
        rows = [as_catalog(catalog).frontier(n, target.degree, duplex=True) for n in sizes if covers(n, target.degree)]
    except CatalogError:
        return []  # which the answer tells, if it was to be looked up there
    return [row.build() for front in rows for row in front]


def _settles(rows: Sequence[Row], nodes: int, degree: int, *, duplex: bool) -> bool:
    """Whether rows answer without a search: not where all are of a port less, above the bound, and one stays free."""
    if not keeps_port_free(nodes, degree, duplex=duplex) or not all(has_idle_ports(parse(row.spec)) for row in rows):
        return True
    bound = lower_bound(nodes, degree, duplex=duplex)
    return any(row.mean == bound for row in rows)


def _with_port_free(target: Target, catalog: Catalog | str | Path | bool) -> list[Row]:
    """Return the rows of one port less, which may stay free where one does anyway."""
    nodes, degree = target.size
    if catalog is False or not keeps_port_free(nodes, degree, duplex=target.duplex) or not covers(nodes, degree - 1):
        return []
    try:
        return [idle_row(row) for row in as_catalog(catalog).frontier(nodes, degree - 1, duplex=True)]
    except CatalogError:
        return []  # which the answer tells


def _with_deferred(front: Iterable[Candidate], known: Iterable[Row], target: Target) -> list[Candidate]:
    """Return a frontier by SPFF with what deferred schedules put on it: rows, and two steps where one is possible."""
    from topodesign.pricing.deferral import why_not  # noqa: PLC0415  heavy, and looking up needs none of it
    from topodesign.pricing.evaluation import deferred_both  # noqa: PLC0415
    from topodesign.search.candidate import Candidate, insert  # noqa: PLC0415

    best = list(front)
    if best and best[0].cost.steps < len(lower_bounds(*target.size, duplex=target.duplex)):
        first, topology = best[0], best[0].base.topology
        if why_not(topology, first.cost.steps) is None:
            there, back = sorted(deferred_both(topology), key=lambda cost: -cost.bandwidth)
            best = [one for one in best if one.mean != there.averaged(back)]  # whose wiring is for this alone
            insert(best, Candidate(first.spec, there, back, first.duplex, Basis.DEFERRED))
    for row in known:
        if row.deferred:
            insert(best, row.candidate)
    return best


def _composed(
    target: Target, catalog: Catalog, seed: int, seconds: float | None, progress: Callable[[float], None] | None
) -> list[Candidate]:
    from topodesign.catalog.composed import composed  # noqa: PLC0415  heavy, and looking up needs none of it

    return composed(target, catalog, seed=seed, seconds=seconds, progress=progress)


def _with_own(found: Pareto, own: Sequence[tuple[str, Topology, str]]) -> Pareto:
    """Return the frontier with candidates that are not of the catalog."""
    offers = [(str(entry.spec), entry.mean) for entry in found.entries]
    return replace(found, candidates=priced(own, offers, found.workload)) if own else found


def _with_runners_up(
    found: Pareto, count: int, catalog: Catalog | str | Path | bool, progress: Callable[[float], None] | None
) -> Pareto:
    """Return the frontier with so many topologies that come next to the fastest, for each wish."""
    if not count:
        return found
    from topodesign.catalog.runners_up import runners_up  # noqa: PLC0415  heavy, and looking up needs none of it

    more = runners_up(
        count,
        found.best.spec,
        nodes=found.nodes,
        degree=found.degree,
        workload=found.workload,
        duplex=found.bidirectional,
        catalog=as_catalog(catalog or None),
        progress=progress,
    )
    return replace(found, runners_up=more)


def from_rows(rows: Sequence[Row], workload: Workload, *, bidirectional: bool) -> Pareto:
    """Return the frontier that rows of the catalog make, all of one size, in order and undominated."""
    nodes, degree = rows[0].nodes, rows[0].degree
    return Pareto(
        nodes,
        degree,
        bidirectional,
        workload,
        lower_bound(nodes, degree, duplex=bidirectional),
        _entries(nodes, degree, rows, workload),
        tuple(baselines(nodes, degree, workload)),
        "catalog",
    )


def _entries(nodes: int, degree: int, known: Sequence[Candidate | Row], workload: Workload) -> tuple[Entry, ...]:
    """Return entries with their runtimes, the fastest for each size marked (the first of several)."""
    times = [workload.allreduce(one.cost, one.allgather) for one in known]
    fastest = [min(range(len(times)), key=lambda row: times[row][column]) for column in range(len(workload.sizes))]
    return tuple(
        Entry(
            nodes,
            degree,
            parse(one.spec) if isinstance(one, Row) else one.spec,
            one.cost,
            one.allgather,
            one.duplex,
            one.basis,
            workload,
            times[row],
            tuple(row == winner for winner in fastest),
            one.all_to_all if isinstance(one, Row) else None,
            one.name if isinstance(one, Row) else None,
        )
        for row, one in enumerate(known)
    )


def check_question(nodes: int, degree: int, *, bidirectional: bool, most: int = MOST_SEARCHED) -> None:
    """Raise ParameterError, with the nearest size that works, unless a topology of this size can exist."""
    check_size(nodes, degree)
    if nodes > most:
        raise ParameterError(f"{nodes} nodes are too many to search (at most {most}); evaluate takes larger specs")
    if degree > MOST_DEGREE:
        raise ParameterError(f"degree {degree} is too large (at most {MOST_DEGREE})")
    if not bidirectional:
        return
    if degree == 1 and nodes > 2:
        raise ParameterError(
            f"one duplex port each cannot connect {nodes} nodes; nearest sizes (N,d): (2,1), ({nodes},2)"
        )
