"""All-to-all pricing of rows, and checks of these prices."""

from __future__ import annotations

import time
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from topodesign.base.errors import ParameterError
from topodesign.base.progress import Progress, iterate_with_progress
from topodesign.catalog.all_to_all import PRICES, Bounds, PriceKey
from topodesign.catalog.lookup import Catalog, as_catalog
from topodesign.catalog.rows import Row
from topodesign.catalog.sizes import NO_LIMIT
from topodesign.pricing.efforts import Effort

if TYPE_CHECKING:
    from topodesign.topology.topology import Topology

_SAVE = 30.0  # seconds after which what is done is written
_WITHOUT_SYMMETRY = frozenset(("neighbour", "annealed"))
_GAP = Fraction(1, 100)
_ROUGH = Fraction(1, 20)
FINE = Fraction(1, 500)
"""How near bounds are of what is kept for all-to-all; these take some five times as long as those within a percent."""
_UNIT = Fraction(1, 2**20)  # what bounds that are not exact are whole multiples of


def price_row(row: Row, effort: Effort = "quick") -> Bounds | None:
    """Return a row's price, exact or within a certified percent, or None."""
    return price_topology(row.build(), effort)


def price_topology(topology: Topology, effort: Effort = "quick", gap: Fraction = _GAP) -> Bounds | None:
    """Return the price of a topology as :func:`price_row`, to a wanted gap."""
    from topodesign.pricing.all_to_all import all_to_all  # noqa: PLC0415  heavy, and looking up needs none of it

    found = all_to_all(topology, effort=effort, gap=gap)
    if found.upper is None or found.upper > found.lower * (1 + _GAP):
        return None
    if found.exact:
        return Bounds(found.lower, found.upper)
    return Bounds(_round_bound(found.lower, up=False), _round_bound(found.upper, up=True))


def rough_bound(topology: Topology) -> Fraction:
    """Return a lower bound of any all-to-all, near the best of its kind."""
    from topodesign.pricing.all_to_all import all_to_all  # noqa: PLC0415  heavy

    return all_to_all(topology, effort="approximate", gap=_ROUGH).lower


def _round_bound(value: Fraction, *, up: bool) -> Fraction:
    """Return a bound rounded to whole units that remains valid."""
    whole = value / _UNIT
    return _UNIT * (-(-whole.numerator // whole.denominator) if up else whole.numerator // whole.denominator)


def wrong_price(row: Row) -> str | None:
    """Return the fault of a row's all-to-all price, recomputed, or None."""
    return None if row.all_to_all is None else wrong_bounds(row.build(), row.all_to_all)


def wrong_bounds(topology: Topology, known: Bounds) -> str | None:
    """Return the fault of a topology's all-to-all price, recomputed, or None."""
    again = price_topology(topology)
    if known.exact and not (again and again.exact):
        again = price_topology(topology, "exact")
    if again is None:
        return "an all-to-all price, where none comes out"
    if known.exact and again != known:
        return f"all-to-all {again.lower} to {again.upper}, not {known.lower} to {known.upper}"
    if known.upper - _UNIT > (known.lower + _UNIT) * (1 + _GAP):
        return f"all-to-all {known.lower} to {known.upper}, which is wider than a percent"
    if again.lower > known.upper or again.upper < known.lower:
        return f"all-to-all from {again.lower}, which is not within {known.lower} to {known.upper}"
    return None


def price_catalog(
    catalog: Catalog | str | Path,
    *,
    degrees: Iterable[int] | None = None,
    nodes: range | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> dict[int, tuple[int, int]]:
    """Compute and keep all-to-all costs of rows, symmetric ones first.

    What is there already is not worked out again, so a run that ended or was interrupted goes on where it was.

    Parameters
    ----------
    catalog
        The catalog, or its directory, which can be written.
    degrees, nodes
        Which rows; all unless told otherwise.
    seconds
        Time after which no further row is begun.
    progress
        Called after every row with the share of them that is done.

    Returns
    -------
    dict
        For every degree how many rows have a price, and how many there are. Rows without one take longer than about a
        second each; :func:`topodesign.all_to_all` prices those.

    Raises
    ------
    CatalogError, FileFormatError
        If a file is missing or damaged, or cannot be written.
    ParameterError
        If what is given is no catalog, or an argument is out of range.

    Examples
    --------
    >>> from topodesign import Effort, build_catalog, price_catalog
    >>> paths = build_catalog("mine", range(5, 7), [2], effort=Effort(percent=0), jobs=1)
    >>> price_catalog("mine")
    {2: (3, 3)}
    """
    if not isinstance(catalog, Catalog | str | Path):
        raise ParameterError(f"a catalog or its directory is needed, not {catalog!r:.60}")
    source = as_catalog(catalog)
    span = (nodes[0], nodes[-1]) if nodes else (0, NO_LIMIT)
    if seconds is not None and not seconds >= 0:
        raise ParameterError(f"seconds must not be negative, unlike {seconds!r:.60}")
    rows = [(degree, row) for degree in source.select_degrees(degrees) for row in source.rows(degree, *span)]
    left = [(degree, row) for degree, row in rows if row.all_to_all is None]
    left.sort(key=lambda pair: (pair[1].found in _WITHOUT_SYMMETRY, pair[1].nodes))
    found: dict[int, dict[PriceKey, Bounds]] = {}
    begin = saved = time.monotonic()
    try:
        for degree, row in iterate_with_progress(left, progress):
            now = time.monotonic()
            if seconds is not None and now - begin > seconds:
                break
            if now - saved > _SAVE:
                _save(source.directory, found)
                saved = now
            bounds = price_row(row)
            if bounds is not None:
                found.setdefault(degree, {})[row.price_key] = bounds
    finally:
        _save(source.directory, found)
    return {
        degree: (sum(row.all_to_all is not None for row in own), len(own))
        for degree in source.select_degrees(degrees)
        for own in [source.rows(degree, *span)]
    }


def _save(directory: Path, found: dict[int, dict[PriceKey, Bounds]]) -> None:
    """Add prices to the files, and forget them."""
    for degree, prices in found.items():
        PRICES.write(directory, degree, (dict(PRICES.known(directory, degree)) | prices).items())
    found.clear()
