"""Sources: functions that return candidates for a question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from topodesign.base import entry_points
from topodesign.base.cost import Basis, keeps_port_free, lower_bounds
from topodesign.base.errors import CatalogError, FileFormatError, ParameterError, TopodesignError
from topodesign.base.spec import Spec, parse
from topodesign.base.text_files import naming, read_text
from topodesign.catalog.all_to_all_rows import EXCHANGE
from topodesign.catalog.idle import idle_row
from topodesign.catalog.rows import Row
from topodesign.catalog.sizes import MAX_NODES, covers
from topodesign.finder.candidate import Candidate

if TYPE_CHECKING:
    from topodesign.base.progress import Progress
    from topodesign.finder.question import Question
    from topodesign.search.candidate import Candidate as Found
    from topodesign.search.target import Target
    from topodesign.topology.library import TopologyLike
    from topodesign.topology.topology import Topology

MAX_MEMBERS = 6  # members of a family that has several of a size that are looked at
_SEARCHES = 3  # searches for all-to-all that are made, of some tenths of a second each


def from_row(row: Row) -> Candidate:
    """Return a catalog row as a candidate."""
    costs = row.cost, row.allgather
    return Candidate(row.spec, None, None, costs, row.all_to_all, row.duplex, row.basis, row.name)


def read_catalog(asked: Question, *, exchanges: bool) -> list[Candidate]:
    """Return the catalog rows of a size, each topology once per step count.

    With ``exchanges``, the rows kept for all-to-all are included.

    Raises
    ------
    CatalogError
        If a file is damaged.
    """
    catalog, (nodes, degree) = asked.catalog, (asked.nodes, asked.degree)
    if catalog is None or degree not in catalog.degrees:
        return []
    front = {(row.spec, row.basis): row for row in catalog.frontier(nodes, degree, duplex=asked.duplex)}
    rows = [row for row in catalog.rows(degree, nodes, nodes) if row.duplex or not asked.duplex]
    cheapest = {(row.spec, row.cost.steps): front.get((row.spec, row.basis), row) for row in rows}
    found = [from_row(row) for row in cheapest.values()]
    if not exchanges:
        return found
    kept = EXCHANGE.known(catalog.directory, degree, nodes, nodes)
    closer = {one.spec: one for one in kept if one.duplex or not asked.duplex}
    known = {candidate.spec for candidate in found}
    found = [
        Candidate(**{**vars(one), "all_to_all": closer[one.spec].all_to_all}) if one.spec in closer else one
        for one in found
    ]
    return found + [
        Candidate(spec, all_to_all=one.all_to_all, duplex=one.duplex)
        for spec, one in closer.items()
        if spec not in known
    ]


def find_members(asked: Question) -> Iterator[Candidate]:
    """Yield members of the known families of a size."""
    from topodesign.graphs import FAMILIES  # noqa: PLC0415  heavy

    for family in FAMILIES:
        for args in islice(family.find(asked.nodes, asked.degree), MAX_MEMBERS):
            yield Candidate(str(Spec(family.name, tuple(args))))


def find_known(asked: Question) -> list[Candidate]:
    """Return catalog rows, all-to-all rows and members of known families.

    Members alone where the catalog is damaged.
    """
    try:
        rows = read_catalog(asked, exchanges=True) if asked.nodes > 2 else []
    except CatalogError:
        rows = []
    known = {one.spec for one in rows}
    return [*rows, *(one for one in find_members(asked) if one.spec not in known)]


def find_plugged_in(asked: Question) -> Iterator[Candidate]:
    """Yield family members from other packages."""
    packages = {plugin.name: plugin.package for plugin in entry_points.FAMILIES.plugins}
    for name, family in entry_points.FAMILIES.others.items() if asked.nodes <= MAX_NODES else ():
        for args in islice(family.find(asked.nodes, asked.degree), MAX_MEMBERS):
            topology = family(*args)
            if topology.is_duplex or not asked.duplex:
                yield Candidate(str(Spec(name, tuple(args))), packages[name], topology)


def read_candidates(path: Path) -> list[str]:
    """Read specs and paths from a file, one per line.

    Paths are relative to the directory of the file.
    """
    from topodesign.fabrics.networks import names_file  # noqa: PLC0415  heavy
    from topodesign.fabrics.places import as_topology  # noqa: PLC0415  heavy

    found = []
    with naming(path):
        for number, line in enumerate(read_text(path).splitlines(), 1):
            text = line.partition("#")[0].strip()
            if not text:
                continue
            if names_file(text):
                text = str(path.parent / text)
            try:
                as_topology(text)
            except TopodesignError as error:
                raise FileFormatError(f"line {number}: {error}") from None
            found.append(text)
    return found


def as_candidates(values: Iterable[TopologyLike], nodes: int, degree: int, *, duplex: bool) -> list[Candidate]:
    """Return the user's topologies as candidates of the given size."""
    found = []
    for place, value in enumerate(values, 1):
        from topodesign.fabrics.places import as_topology  # noqa: PLC0415  heavy, and most often there is none

        topology = as_topology(value)
        label = str(value) if isinstance(value, str | Path) else str(topology.spec or f"candidate {place}")
        if topology.switches:
            raise ParameterError(f"{label} has switches; candidates are of nodes that are linked directly")
        if (topology.nodes, topology.degree) != (nodes, degree):
            size = f"{topology.nodes} nodes of degree {topology.degree}"
            raise ParameterError(f"{label} has {size}, and not {nodes} of degree {degree}")
        if duplex and not topology.is_duplex:
            raise ParameterError(f"{label} has links one way only, which duplex cabling cannot wire")
        found.append(Candidate(label, "own", topology))
    return found


def sort_by_size(values: Iterable[TopologyLike]) -> dict[tuple[int, int], list[TopologyLike]]:
    """Group the user's topologies by N and d."""
    found: dict[tuple[int, int], list[TopologyLike]] = {}
    for value in values:
        from topodesign.fabrics.places import as_topology  # noqa: PLC0415  heavy, and most often there is none

        topology = as_topology(value)
        found.setdefault((topology.nodes, topology.degree), []).append(value)
    return found


def search(asked: Question, known: Sequence[Row], progress: Progress | None = None) -> list[Found]:
    """Search for the allreduce frontier, starting from known rows."""
    from topodesign.search.frontier import search_frontier  # noqa: PLC0415  heavy, and looking up needs none of it
    from topodesign.search.target import FoundDigraph, Target  # noqa: PLC0415

    target = Target(asked.nodes, asked.degree, asked.duplex)
    rows = [*known, *_spare_a_port(asked)]
    front = search_frontier(
        target,
        asked.seconds,
        seed=asked.seed or 0,
        known=[FoundDigraph(parse(row.spec), row.cost) for row in rows],
        near=_find_near(asked),
        progress=progress,
    )
    return _add_deferred(front, rows, target)


def compose(asked: Question, known: Sequence[Row], progress: Progress | None = None) -> list[Found]:
    """Return the frontier of expanded catalog rows and searched topologies."""
    from topodesign.search.composed import compose_frontier  # noqa: PLC0415  heavy, and looking up needs none of it
    from topodesign.search.target import Target  # noqa: PLC0415

    if asked.catalog is None:
        return []
    target = Target(asked.nodes, asked.degree, asked.duplex)
    front = compose_frontier(target, asked.catalog, seed=asked.seed or 0, seconds=asked.seconds, progress=progress)
    return _add_deferred(front, known, target)


def search_for_all_to_all(asked: Question) -> Iterator[Candidate]:
    """Yield topologies of low distance from short searches and line graphs.

    The same always, since all budgets are of work.
    """
    from topodesign.search.target import Target  # noqa: PLC0415  heavy

    for spec in _search_low_distances(Target(asked.nodes, asked.degree, asked.duplex), asked):
        yield Candidate(str(spec))


def _search_low_distances(target: Target, asked: Question) -> Iterator[Spec]:
    from topodesign.search.candidate import line_spec  # noqa: PLC0415  heavy
    from topodesign.search.order_degree import orbits_to_search, search_low_distances  # noqa: PLC0415
    from topodesign.search.target import Target  # noqa: PLC0415

    nodes, degree = target.size
    for orbits in orbits_to_search(target)[:_SEARCHES]:
        if spec := search_low_distances(target, orbits, 0):
            yield spec
    if not target.duplex and nodes % degree == 0:
        fewer = nodes // degree
        known = [] if asked.catalog is None else EXCHANGE.known(asked.catalog.directory, degree, fewer, fewer)
        kept = [parse(one.spec) for one in known]
        yield from map(line_spec, kept or _search_low_distances(Target(fewer, degree, duplex=False), asked))


def _find_near(asked: Question) -> list[Topology]:
    """Return topologies with a node more or less, if a port stays free."""
    if asked.catalog is None or not keeps_port_free(asked.nodes, asked.degree, duplex=asked.duplex):
        return []
    sizes = [n for n in (asked.nodes - 1, asked.nodes + 1) if covers(n, asked.degree)]
    try:
        return [row.build() for n in sizes for row in asked.catalog.frontier(n, asked.degree, duplex=True)]
    except CatalogError:
        return []  # which the answer tells, if it was to be looked up there


def _spare_a_port(asked: Question) -> list[Row]:
    """Return rows of degree d-1 if a port stays free in any case."""
    nodes, degree = asked.nodes, asked.degree
    free = keeps_port_free(nodes, degree, duplex=asked.duplex) and covers(nodes, degree - 1)
    if asked.catalog is None or not free:
        return []
    try:
        return [idle_row(row) for row in asked.catalog.frontier(nodes, degree - 1, duplex=True)]
    except CatalogError:
        return []  # which the answer tells


def _add_deferred(front: Iterable[Found], known: Iterable[Row], target: Target) -> list[Found]:
    """Add deferred schedules to an SPFF frontier."""
    from topodesign.pricing.deferral import explain_no_deferral  # noqa: PLC0415  heavy, and looking up needs none of it
    from topodesign.pricing.evaluation import price_both_deferred  # noqa: PLC0415
    from topodesign.search.candidate import Candidate as Found  # noqa: PLC0415
    from topodesign.search.candidate import candidate_of, insert  # noqa: PLC0415

    best = list(front)
    if best and best[0].cost.steps < len(lower_bounds(*target.size, duplex=target.duplex)):
        first, topology = best[0], best[0].base.topology
        if explain_no_deferral(topology, first.cost.steps) is None:
            there, back = sorted(price_both_deferred(topology), key=lambda cost: -cost.bandwidth)
            best = [one for one in best if one.mean != there.average_with(back)]  # whose wiring is for this alone
            insert(best, Found(first.spec, there, back, first.duplex, Basis.DEFERRED))
    for row in known:
        if row.deferred:
            insert(best, candidate_of(row))
    return best


def from_found(one: Found) -> Candidate:
    """Return a search result as a candidate."""
    costs = one.cost, one.allgather
    return Candidate(str(one.spec), None, one.topology, costs, None, one.duplex, one.basis)
