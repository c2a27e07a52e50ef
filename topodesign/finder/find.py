"""Pipeline from a question to an answer, with its Python functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Unpack

from topodesign.base.arguments import as_several
from topodesign.base.cost import Cost, keeps_port_free, lower_bound, moore_distances
from topodesign.base.dominance import find_unbeaten
from topodesign.base.errors import CatalogError, InfeasibleError, TopodesignError
from topodesign.base.options import read, takes
from topodesign.base.progress import Progress, iterate_with_progress
from topodesign.base.spec import parse
from topodesign.base.units import as_count
from topodesign.catalog.idle import has_idle_ports
from topodesign.catalog.lookup import CatalogLike
from topodesign.catalog.rows import Row
from topodesign.catalog.sizes import DEGREES
from topodesign.catalog.sizes import MAX_NODES as LARGEST_ROW
from topodesign.finder import sources
from topodesign.finder.candidate import Candidate, Entry, OwnEntry, mark_fastest, measure
from topodesign.finder.options import FindOptions
from topodesign.finder.pareto import Origin, Pareto
from topodesign.finder.question import MAX_NODES, MAX_SEARCHED, Question, check_question
from topodesign.finder.runners_up import count_patches, pick_runners_up
from topodesign.search.close_sizes import SMOOTH, better_size, better_smooth
from topodesign.search.target import Target

if TYPE_CHECKING:
    from topodesign.search.candidate import Candidate as Found
    from topodesign.topology.library import TopologyLike

POOR = Fraction(21, 20)  # times the bound by distances from which on a short search may find something better


@takes(FindOptions)
def pareto(
    nodes: int,
    degree: int,
    *,
    bidirectional: bool = False,
    catalog: CatalogLike = True,
    candidates: Iterable[TopologyLike] = (),
    progress: Progress | None = None,
    **options: Unpack[FindOptions],
) -> Pareto:
    """Find the Pareto-optimal topologies with N nodes of degree d.

    The catalog answers if it can; otherwise a search does.

    Parameters
    ----------
    nodes, degree
        N and d, the ports out of (and into) each node.
    bidirectional
        Only topologies whose every link has its reverse, which duplex cabling can wire.
    catalog
        Where to look first, or its directory; True for the shipped one (see :class:`Catalog`), False to search afresh.
    candidates
        Topologies of your own to set beside the others: specs, files of links, graphs.
    progress
        Called now and then with the share of the work that is done.
    **options
        Objective, latency, sizes and bandwidth: text with a unit, or numbers of seconds, bytes and bits per second.

    Returns
    -------
    Pareto
        For an allreduce, every entry that was searched for has been rebuilt from its spec and priced from its links,
        up to 4096 nodes; so were those of the catalog when it was made. Beyond the catalog its rows are expanded, and
        entries that rest on less than their links say so (see :class:`topodesign.base.cost.Basis`). For other
        collectives and workloads, members of the known families join in, and for all-to-all what the catalog keeps for
        it alone; where all of these take much longer than the bound by distances, a search of about a second as well.

    Raises
    ------
    ParameterError
        If no topology of this size can exist, it is too large, or a candidate has another.
    UnitError, FileFormatError
        If a quantity or the file of a workload cannot be read.
    InfeasibleError
        If none is known.

    Examples
    --------
    >>> from topodesign import pareto
    >>> for one in pareto(1024, 4, sizes="25MB"):
    ...     print(one.spec, one.cost.steps, one.cost.bandwidth)
    line(cayley(metacyclic(8,2,7),1,6,8,11),3) 5 277/256
    line(cayley(metacyclic(32,8,3),2,62,96,117)) 6 1023/1024
    >>> found = pareto(20, 4, collective="all-to-all", sizes="100MiB")
    >>> print(found.best.spec, found.best.all_to_all.upper)
    kautz(4,1) 61/35
    """
    nodes, degree = as_count(nodes, "number of nodes"), as_count(degree, "degree")
    most = MAX_SEARCHED if catalog is False else MAX_NODES
    check_question(nodes, degree, bidirectional=bidirectional, most=most)
    given = read(FindOptions, options, "pareto")
    asked = Question.read(nodes, degree, options, duplex=bidirectional, catalog=catalog)
    own = sources.as_candidates(as_several("candidates", candidates), nodes, degree, duplex=bidirectional)
    return find(asked, own, given["runners_up"], progress)


def find(
    asked: Question, own: Iterable[Candidate] = (), runners_up: int = 0, progress: Progress | None = None
) -> Pareto:
    """Answer a question, with the user's topologies and the next best ones."""
    answer = _find_allreduce(asked, progress) if asked.objective.collective == "allreduce" else None
    others: list[Entry] = []
    if answer is None or runners_up:
        answer, others = _rank(asked, answer, progress, every=runners_up > 0)
    mine = [measure(one, asked) for one in (*own, *sources.find_plugged_in(asked))]
    compared = tuple(_compare(one, answer.entries) for one in mine if one is not None)
    answer = replace(answer, candidates=compared, duplex=_find_duplex(asked, answer, others))
    if not runners_up:
        return answer
    return replace(answer, runners_up=pick_runners_up(runners_up, answer.best, others, progress))


def _find_duplex(asked: Question, answer: Pareto, others: Iterable[Entry]) -> Entry | None:
    """Return the fastest duplex topology that is known without a search."""
    known = [one for one in (*answer.entries, *answer.beaten, *others) if one.duplex]
    looked_up = asked.catalog is not None and answer.origin == "catalog"
    if looked_up and asked.catalog is not None and not answer.best.duplex:
        rows = asked.catalog.frontier(asked.nodes, asked.degree, duplex=True)
        known += _measure(map(sources.from_row, rows), asked)
    return min(known, key=lambda one: one.times[0], default=None)


def rank_from_rows(rows: Iterable[Row], asked: Question) -> Pareto:
    """Return the frontier of catalog rows that are in order and undominated."""
    return Pareto(asked, _mark(_measure(map(sources.from_row, rows), asked), asked), "catalog")


def _mark(entries: list[Entry], asked: Question) -> tuple[Entry, ...]:
    """Mark the fastest entries; raise InfeasibleError if there are none."""
    if not entries:
        raise InfeasibleError(
            f"no known topology with {asked.nodes} nodes and degree {asked.degree} is within --max-steps and --within; "
            "loosen them"
        )
    return mark_fastest(entries)


def _find_allreduce(asked: Question, progress: Progress | None) -> Pareto:
    """Return the allreduce frontier from the catalog, or from a search."""
    nodes, degree, duplex, work = asked.nodes, asked.degree, asked.duplex, asked.objective.work
    target, known = Target(nodes, degree, duplex), list[Row]()
    better = trouble = None
    if asked.catalog is not None and degree in DEGREES and nodes > 2:
        try:
            known = asked.catalog.frontier(nodes, degree, duplex=duplex)
            better = better_size(asked.catalog, known, target, work)
        except CatalogError as error:
            trouble = str(error)
    if known and not asked.searches and _settles(known, asked):
        version = asked.catalog.version(degree) if asked.catalog is not None and known[0].name is not None else None
        return replace(rank_from_rows(known, asked), better=better, version=version)
    found: list[Found] = []
    origin: Origin = "catalog and search" if known else "search"
    if asked.catalog is not None and nodes > LARGEST_ROW:
        try:
            found, origin = sources.compose(asked, known, progress), "composed"
            better = better_size(asked.catalog, found, target, work)
            better = better or better_smooth(
                found, target, work, lambda other: sources.compose(replace(asked, nodes=other.nodes), ())
            )
        except CatalogError as error:
            trouble = str(error)
    if origin != "composed":
        check_question(nodes, degree, bidirectional=duplex, most=MAX_SEARCHED)
        found = sources.search(asked, known, progress)
    if not found:
        raise InfeasibleError(
            f"no {'duplex ' if duplex else ''}topology with {nodes} nodes and degree {degree} is known; "
            f"{_suggest_size(nodes, degree)}"
        )
    entries = _mark(_measure(map(sources.from_found, found), asked), asked)
    return Pareto(asked, entries, origin, trouble, better)


def _rank(
    asked: Question, front: Pareto | None, progress: Progress | None, *, every: bool
) -> tuple[Pareto, list[Entry]]:
    """Return the frontier in steps and factor or time, and all entries.

    A frontier of allreduces stays as it is; then only the rest is priced. What the catalog keeps for all-to-all may be
    the best for other collectives, too. Without ``every``, a topology without a price that takes as many steps as a row
    of least bandwidth is not priced: it cannot be better.
    """
    rows: list[Candidate] = []
    trouble: str | None = None
    try:
        rows = sources.read_catalog(asked, exchanges=front is None) if asked.nodes > 2 else []
    except CatalogError as error:
        trouble = str(error)
    known = {one.spec for one in rows}
    small = asked.nodes <= MAX_SEARCHED
    members = [one for one in sources.find_members(asked) if one.spec not in known] if small else []
    unpriced = [*(one for one in rows if one.costs is None), *members]
    whole = every or asked.objective.exchanges
    kept = unpriced if whole else [one for one in unpriced if not _is_hopeless(one, rows)]
    entries: list[Entry] = []
    for one in iterate_with_progress([*(one for one in rows if one.costs is not None), *kept], progress):
        entry = measure(one, asked) if every or one.costs is not None else _measure_unless_beaten(one, entries, asked)
        entries += [] if entry is None else [entry]
    if front is not None:
        return front, entries
    origin: Origin = "catalog and families"
    if asked.searches or not entries or not small:
        composed = asked.catalog is not None and asked.nodes > LARGEST_ROW
        if not composed:
            check_question(asked.nodes, asked.degree, bidirectional=asked.duplex, most=MAX_SEARCHED)
        found = (sources.compose if composed else sources.search)(asked, (), progress)
        met = {one.spec for one in entries}
        entries += _measure((sources.from_found(one) for one in found if str(one.spec) not in met), asked)
        origin = "composed" if composed else "families and search"
    least = moore_distances(asked.nodes, asked.degree, duplex=asked.duplex)
    if asked.objective.exchanges and all(one.all_to_all and one.all_to_all.upper > POOR * least for one in entries):
        entries += _measure(sources.search_for_all_to_all(asked), asked)
    if not entries:
        raise InfeasibleError(
            f"no topology with {asked.nodes} nodes and degree {asked.degree} is known; "
            f"{_suggest_size(asked.nodes, asked.degree)}"
        )
    entries.sort(key=lambda one: (one.times[0], one.cost.steps, len(one.spec)))
    best = find_unbeaten(entries, lambda one: one.merit, lambda one: len(one.spec))
    marked = mark_fastest(one for one in entries if any(one is other for other in best))
    beaten = tuple(one for one in entries if all(one is not other for other in best))
    ruled_out = len(unpriced) - len(kept)
    return Pareto(asked, marked, origin, trouble, beaten=beaten, ruled_out=ruled_out), entries


def _measure(candidates: Iterable[Candidate], asked: Question) -> list[Entry]:
    return [entry for one in candidates if (entry := measure(one, asked)) is not None]


def _measure_unless_beaten(candidate: Candidate, known: Iterable[Entry], asked: Question) -> Entry | None:
    """Measure a candidate, by SPFF alone if a known entry beats all that plans of it can be.

    None has fewer steps than SPFF, or a smaller bandwidth factor than (N-1)/N. The known one has no more cables either.
    """
    from topodesign.pricing.evaluation import price_both  # noqa: PLC0415  heavy

    try:
        if asked.within is not None:
            return measure(candidate, asked)  # a plan may be within what SPFF is not
        costs = price_both(candidate.topology)
    except TopodesignError:
        return None
    quick = measure(replace(candidate, given=candidate.topology, costs=costs), asked)
    if quick is None:
        return None
    least = Cost(quick.cost.steps, Fraction(asked.nodes - 1, asked.nodes))
    exchange = Fraction(0) if quick.all_to_all is None else quick.all_to_all.upper
    best = replace(quick, cost=least, allgather=least, times=asked.objective.times(least, least, exchange))
    steps, factor = best.merit
    for one in known:
        as_good = one.merit[0] <= steps and one.merit[1] <= factor and one.merit != best.merit
        if as_good and count_patches(one.topology)[0] <= count_patches(quick.topology)[0]:
            return quick
    return measure(replace(candidate, given=quick.topology, all_to_all=quick.all_to_all, duplex=quick.duplex), asked)


def _compare(entry: Entry, front: Iterable[Entry]) -> OwnEntry:
    """Return an entry that names the first frontier entry as good as it."""
    steps, factor = entry.merit
    as_good = (one.spec for one in front if one.merit[0] <= steps and one.merit[1] <= factor)
    known = {field.name: getattr(entry, field.name) for field in fields(entry)}
    return OwnEntry(**known, dominated_by=next(as_good, None))


def _is_hopeless(candidate: Candidate, rows: Iterable[Candidate]) -> bool:
    """Return whether a topology has no fewer steps than a bandwidth-optimal row."""
    from topodesign.graphs.expansions.expansion import Base  # noqa: PLC0415  heavy

    costs = [one.costs for one in rows if one.costs is not None]
    try:
        topology = candidate.topology
        least = Fraction(topology.nodes - 1, topology.nodes)
        steps = [there.steps for there, back in costs if there.bandwidth == back.bandwidth == least]
        return bool(steps) and Base(topology, Cost(0, least)).distances(0).max() >= min(steps)
    except TopodesignError:
        return True


def _settles(rows: Iterable[Row], asked: Question) -> bool:
    """Return whether catalog rows answer the question without a search."""
    some, size = list(rows), (asked.nodes, asked.degree)
    if not keeps_port_free(*size, duplex=asked.duplex) or not all(has_idle_ports(parse(row.spec)) for row in some):
        return True
    bound = lower_bound(*size, duplex=asked.duplex)
    return any(row.mean == bound for row in some)


def _suggest_size(nodes: int, degree: int) -> str:
    """Suggest another request if no topology is known."""
    if nodes <= LARGEST_ROW:
        return "try --time-limit 30s"
    sizes = sorted({nodes // SMOOTH * SMOOTH, min(MAX_NODES, -(-nodes // SMOOTH) * SMOOTH)} - {nodes})
    return "nearest sizes (N,d): " + ", ".join(f"({size},{degree})" for size in sizes)
