"""All that is known of a size, good or not: rows of the catalog and members of the known families."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from topodesign.base.spec import Spec, parse
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.exchange import EXCHANGE
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.rows import Row

_PER_FAMILY = 6  # how many members of a family that has several of a size are looked at


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
        yield spec, row, own.all_to_all if known is None and own is not None else known
    for text, one in kept.items():
        yield parse(text), None, one.all_to_all
