"""Merging catalogs: the best rows of each size, with known prices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from topodesign.base.arguments import as_path, as_several
from topodesign.base.atomic import write_directory
from topodesign.base.declared import key
from topodesign.base.errors import CatalogError, ParameterError
from topodesign.base.records import Result, ResultList, Table
from topodesign.base.wording import count_noun
from topodesign.catalog.all_to_all import PRICES, Bounds, PriceKey
from topodesign.catalog.all_to_all_rows import EXCHANGE, Exchange, unbeaten
from topodesign.catalog.files import catalog_file, rows_text
from topodesign.catalog.lookup import Catalog, add_prices, as_catalog
from topodesign.catalog.rows import Row, worth_keeping


@dataclass(frozen=True, repr=False)
class Share(Result):
    """A merged catalog's rows of one degree from one source catalog."""

    degree: int  # ports of a node
    directory: Path  # where that catalog is
    rows: int  # rows of the degree there
    kept: int  # how many of them were taken; a row that several have counts for the first

    KEYS = ("degree", key("directory", "Where the catalog is that rows came from.", kind=str), "rows kept")


class MergeReport(ResultList[Share]):
    """What came from where, a line per degree and catalog."""

    __slots__ = ()

    def heading(self) -> str:
        """Return how many rows came together."""
        return f"{sum(one.kept for one in self)} rows of {count_noun(len({one.degree for one in self}), 'degree')}"

    def table(self) -> Table:
        """Return the counts."""
        rows = tuple((str(one.degree), str(one.rows), str(one.kept), str(one.directory)) for one in self)
        return Table(self.heading(), ("degree", "rows", "kept", "directory"), rows, words=frozenset(("directory",)))


def merge_catalog(catalogs: Sequence[Catalog | str | Path], directory: str | Path) -> MergeReport:
    """Write a catalog of the undominated rows of several catalogs.

    The prices of all-to-all that any of them has of a row that stays are kept; of two bounds the tighter one. So are
    topologies for all-to-all alone that no other of their size beats.

    Parameters
    ----------
    catalogs
        Catalogs or their directories; of rows that cost the same that of the first is taken.
    directory
        Where the files go: a new directory, or an empty one. It is written whole or not at all.

    Returns
    -------
    list of Share, with ``to_dataframe`` and the like
        How many rows of each degree came from which.

    Raises
    ------
    CatalogError
        If a file is missing, truncated or edited, or if prices of one row exclude each other; nothing is written then.
    FileFormatError
        If the directory is there already, or cannot be written.
    ParameterError
        If there is nothing to merge.

    Examples
    --------
    >>> from topodesign import Effort, build_catalog, merge_catalog
    >>> for name, sizes in (("small", range(3, 5)), ("more", range(4, 7))):
    ...     paths = build_catalog(name, sizes, [2], effort=Effort(percent=0), jobs=1)
    >>> [(str(one.directory), one.rows, one.kept) for one in merge_catalog(["small", "more"], "both")]
    [('small', 2, 2), ('more', 4, 3)]
    """
    sources = [as_catalog(one) for one in as_several("catalogs", catalogs)]  # type: ignore[arg-type]
    if not sources:
        raise ParameterError("there are no catalogs to merge")
    files: dict[str, str | bytes] = {}
    merged = MergeReport()
    for degree in sorted({degree for source in sources for degree in source.select_degrees(None)}):
        parts = [list(source.rows(degree)) if degree in source.degrees else [] for source in sources]
        known = _combine_prices(one for source in sources for one in PRICES.known(source.directory, degree))
        kept = _select_rows(parts)
        path = catalog_file(as_path(directory), degree)
        files[path.name] = rows_text(path, kept)
        if prices := _prices(kept, known):
            files[PRICES.path(path.parent, degree).name] = PRICES.text(prices.items())
        for_all_to_all = [one for source in sources for one in EXCHANGE.known(source.directory, degree)]
        if for_all_to_all:
            files[EXCHANGE.path(path.parent, degree).name] = EXCHANGE.text(_unbeaten(for_all_to_all))
        left = {row.line for row in kept}
        for source, rows in zip(sources, parts, strict=True):
            own = left & {row.line for row in rows}
            left -= own
            if rows:
                merged.append(Share(degree, source.directory, len(rows), len(own)))
    write_directory(as_path(directory), files)
    return merged


def _select_rows(parts: Iterable[Iterable[Row]]) -> list[Row]:
    """Return the rows to keep of each size, with known all-to-all prices."""
    rows: dict[str, Row] = {}
    for row in (row for part in parts for row in part):
        before = rows.get(row.line)
        both = row.all_to_all if before is None else _combine_bounds(before.all_to_all, row.all_to_all, row)
        rows[row.line] = replace(before or row, all_to_all=both)
    ordered = sorted(rows.values(), key=lambda row: row.nodes)  # of each size as they came
    return [row for _, same in groupby(ordered, key=lambda row: row.nodes) for row in worth_keeping(same)]


def _unbeaten(several: Iterable[Exchange]) -> list[Exchange]:
    """Return what is kept of each size for all-to-all alone."""
    ordered = sorted(several, key=lambda one: one.order)
    return [one for _, same in groupby(ordered, key=lambda one: one.nodes) for one in unbeaten(same)]


def _combine_prices(prices: Iterable[tuple[PriceKey, Bounds]]) -> dict[PriceKey, Bounds]:
    found: dict[PriceKey, Bounds] = {}
    for name, bounds in prices:
        found[name] = _combine_bounds(found.get(name), bounds, name) or bounds
    return found


def _combine_bounds(one: Bounds | None, other: Bounds | None, what: Row | PriceKey) -> Bounds | None:
    """Return what two bounds of one price say together."""
    if one is None or other is None:
        return one or other
    both = Bounds(max(one.lower, other.lower), min(one.upper, other.upper))
    if both.lower > both.upper:
        nodes, check = what.price_key if isinstance(what, Row) else what
        raise CatalogError(
            f"all-to-all prices of the row of {nodes} nodes with the check {check} cannot be used together: "
            f"{one.lower} to {one.upper} and {other.lower} to {other.upper}"
        )
    return both


def _prices(rows: Sequence[Row], known: dict[PriceKey, Bounds]) -> dict[PriceKey, Bounds]:
    """Return the lines of prices that rows need.

    A deferred row that had its price from the row by SPFF of the same topology gets a line of its own where that row
    is gone.
    """
    own = {row.price_key: bounds for row in rows if (bounds := known.get(row.price_key)) is not None}
    again = add_prices(rows, own)
    lost = {
        row.price_key: row.all_to_all
        for row, now in zip(rows, again, strict=True)
        if now.all_to_all is None and row.all_to_all is not None
    }
    return own | lost
