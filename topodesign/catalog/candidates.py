"""All that is known of a size, good or not: rows of the catalog, members of the known families, what a search finds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from topodesign.base.spec import Spec, parse
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.exchange import EXCHANGE
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.rows import Row

if TYPE_CHECKING:
    from topodesign.search.target import Target

_PER_FAMILY = 6  # how many members of a family that has several of a size are looked at
_SEARCHES = 3  # how many searches for all-to-all are made, of some tenths of a second each


def candidates(nodes: int, degree: int, *, duplex: bool, catalog: Catalog) -> Iterator[tuple[Spec, Row | None]]:
    """Yield the topologies of the catalog, with their rows, and those of the families, each once.

    Of a topology with two rows of as many steps it is the deferred one, which costs less.
    """
    from topodesign.graphs import FAMILIES  # noqa: PLC0415  heavy

    rows = catalog.rows(degree, nodes, nodes) if degree in catalog.degrees else ()
    wanted = [row for row in rows if row.duplex or not duplex]
    cheapest = {(row.spec, row.cost.steps): row for row in wanted}  # of two the cheaper comes later
    for (text, _), row in cheapest.items():
        yield parse(text), row
    met = {row.spec for row in wanted}
    for family in FAMILIES:
        for args in islice(family.find(nodes, degree), _PER_FAMILY):
            spec = Spec(family.name, tuple(args))
            if str(spec) not in met:
                met.add(str(spec))
                yield spec, None


def candidates_for_all_to_all(
    nodes: int, degree: int, *, duplex: bool, catalog: Catalog
) -> Iterator[tuple[Spec, Row | None, Bounds | None]]:
    """Yield the candidates, with what all-to-all takes where that is known, and those kept for that alone."""
    kept = {
        one.spec: one for one in EXCHANGE.known(catalog.directory, degree, nodes, nodes) if one.duplex or not duplex
    }
    for spec, row in candidates(nodes, degree, duplex=duplex, catalog=catalog):
        own = kept.pop(str(spec), None)
        known = None if row is None else row.all_to_all
        yield spec, row, known if own is None else own.all_to_all  # which is priced more closely
    for text, one in kept.items():
        yield parse(text), None, one.all_to_all


def searched_for_all_to_all(target: Target, catalog: Catalog) -> Iterator[Spec]:
    """Yield what short searches for small distances find, and line graphs of what is kept or found of a d-th the size.

    The same always, since all budgets are of work.
    """
    from topodesign.search.candidate import line_spec  # noqa: PLC0415  heavy
    from topodesign.search.order_degree import orbits_to_search, search_low_distances  # noqa: PLC0415
    from topodesign.search.target import Target  # noqa: PLC0415

    nodes, degree = target.size
    for orbits in orbits_to_search(target)[:_SEARCHES]:
        if spec := search_low_distances(target, orbits, 0):
            yield spec
    if not target.duplex and nodes % degree == 0:
        fewer = nodes // degree
        kept = [parse(one.spec) for one in EXCHANGE.known(catalog.directory, degree, fewer, fewer)]
        yield from map(line_spec, kept or searched_for_all_to_all(Target(fewer, degree, duplex=False), catalog))
