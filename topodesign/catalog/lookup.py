"""Looking up the best known topologies of a size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from topodesign.base.errors import CatalogError, ParameterError
from topodesign.base.records import ResultList
from topodesign.base.units import as_count
from topodesign.catalog.all_to_all import PRICES, Bounds, PriceKey
from topodesign.catalog.all_to_all_rows import EXCHANGE, of_rows
from topodesign.catalog.files import default_directory, degrees, file_check, read_prices, read_rows
from topodesign.catalog.quality import (
    JUDGED,
    STANDARD,
    Coverages,
    Qualities,
    coverage,
    exchange_quality,
    quality,
)
from topodesign.catalog.rows import VERSION, Row, select_frontier
from topodesign.catalog.sizes import MAX_NODES, NO_LIMIT
from topodesign.pricing.workload import Workload

LONGEST_SHORT = 24  # letters of a spec that is its own short name


@dataclass(frozen=True, repr=False)
class Catalog:
    """The best known topologies by size, read from files on demand.

    Attributes
    ----------
    directory
        Where the files are, a path or its text: by default what the environment variable ``TOPODESIGN_CATALOG`` names,
        else the shipped ones.

    Examples
    --------
    >>> from topodesign import Catalog
    >>> for row in Catalog().frontier(1000, 4):
    ...     print(row.spec, row.cost)  # doctest: +SKIP
    """

    directory: Path = field(default_factory=default_directory)

    def __post_init__(self) -> None:
        if not isinstance(self.directory, str | Path):
            raise ParameterError(f"a catalog is a directory, not {self.directory!r:.100}")
        object.__setattr__(self, "directory", Path(self.directory))

    @cached_property
    def degrees(self) -> list[int]:
        """The degrees that there are files of, ascending."""
        return degrees(self.directory)

    def rows(self, degree: int, first: int = 0, last: int = NO_LIMIT) -> ResultList[Row]:
        """Return a degree's rows with ``first <= nodes <= last``, by nodes and steps.

        Raises
        ------
        CatalogError
            If the file is missing, truncated or edited, with the file and the line.
        """
        wanted = _span(degree, first, last)
        rows = read_rows(self.directory, *wanted)
        prices = dict(PRICES.known(self.directory, *wanted))
        return ResultList(add_prices(rows, prices) if prices else rows)

    def frontier(self, nodes: int, degree: int, *, duplex: bool = False) -> ResultList[Row]:
        """Return a size's frontier, by ascending steps and descending mean factor.

        Parameters
        ----------
        nodes, degree
            N and d.
        duplex
            Only topologies that duplex cabling can wire.

        Returns
        -------
        list of Row, with ``to_dataframe`` and the like
            Empty where the catalog has none.

        Raises
        ------
        CatalogError
            As :meth:`rows`.
        """
        return ResultList(self.named(select_frontier(self.rows(degree, nodes, nodes), duplex=duplex), duplex=duplex))

    def short(self, spec: str, nodes: int, degree: int) -> str:
        """Return a spec, or the name of its row if the spec is long."""
        if len(spec) <= LONGEST_SHORT or degree not in self.degrees:
            return spec
        fronts = (self.frontier(nodes, degree, duplex=duplex) for duplex in (False, True))
        return next((row.name for front in fronts for row in front if row.spec == spec and row.name), spec)

    def named(self, front: Iterable[Row], *, duplex: bool) -> list[Row]:
        """Return a frontier's rows with short names, if of this catalog.

        Specs have the catalog that :func:`topodesign.catalog.files.default_directory` names; others have no names.
        """
        rows = list(front)
        if self.directory != default_directory():
            return rows
        word = "catalog_duplex" if duplex else "catalog"
        return [
            replace(row, name=f"{word}({row.nodes},{row.degree},{place})") for place, row in enumerate(rows, start=1)
        ]

    def row(self, nodes: int, degree: int, place: int, *, duplex: bool = False) -> Row:
        """Return the topology at a place of a frontier; place 1 has fewest steps.

        Raises
        ------
        ParameterError
            If there is none; the message says which there are.
        CatalogError
            As :meth:`rows`.

        Examples
        --------
        >>> Catalog().row(12, 4, 1).spec
        'circulant(12,2,3)'
        """
        kind = "duplex topology" if duplex else "topology"
        if degree not in self.degrees:
            known = f"degrees {self.degrees[0]} to {self.degrees[-1]}" if self.degrees else "no degree"
            raise ParameterError(f"the catalog has {known}, not {degree}")
        front = self.named(select_frontier(self.rows(degree, nodes, nodes), duplex=duplex), duplex=duplex)
        if not front:
            raise ParameterError(f"the catalog has no {kind} of {nodes} nodes and degree {degree}")
        if not 1 <= place <= len(front):
            there = ", ".join(f"{number} ({row.cost.steps} steps)" for number, row in enumerate(front, start=1))
            raise ParameterError(f"of {nodes} nodes and degree {degree} the catalog has {there}; there is no {place}")
        return front[place - 1]

    def version(self, degree: int) -> str:
        """Return the catalog's version: file format and CRC-32 of a degree.

        Names of rows mean the same topologies as long as it is the same.

        Raises
        ------
        CatalogError
            If the file cannot be read.
        """
        return f"{VERSION}.{file_check(self.directory, as_count(degree, 'degree', 1))}"

    def coverage(self, degrees: Iterable[int] | None = None, first: int = 0, last: int = NO_LIMIT) -> Coverages:
        """Return counts by degree, by default of all degrees with files.

        Raises
        ------
        CatalogError
            As :meth:`rows`, and if there are no files at all.
        """
        return Coverages(coverage(degree, rows) for degree, rows in self._read_unpriced(degrees, first, last))

    def quality(
        self, degrees: Iterable[int] | None = None, first: int = 0, last: int = MAX_NODES, work: Workload = STANDARD
    ) -> Qualities:
        """Return the gaps to the lower bound, for any and for duplex cabling.

        The bound of duplex topologies is that for such. Beyond 2048 nodes only some sizes have rows, so these are left
        out unless they are asked for.
        """
        found = Qualities()
        for degree in self.select_degrees(degrees):
            prices = read_prices(self.directory, *_span(degree, first, last))
            judged = (quality(degree, prices, duplex=duplex, work=work) for duplex in (False, True))
            found += filter(None, judged)
        return found

    def exchange_quality(
        self, degrees: Iterable[int] | None = None, first: int = 0, last: int = JUDGED, work: Workload = STANDARD
    ) -> Qualities:
        """Return the gaps of the fastest all-to-all to the bound by distances.

        What counts are rows whose price is known, and what the catalog keeps for all-to-all alone. Beyond 256 nodes
        only some sizes have prices, so these are omitted unless they are asked for.

        Examples
        --------
        >>> for one in Catalog().exchange_quality([4], 5, 64):
        ...     print(one.duplex, one.sizes, one.ratios[0].worst < 1.2)
        False 60 True
        True 60 True
        """
        found = Qualities()
        for degree in self.select_degrees(degrees):
            span = _span(degree, first, last)
            known = [*of_rows(self.rows(*span)), *EXCHANGE.known(self.directory, *span)]
            known.sort(key=lambda one: one.nodes)
            found += filter(None, (exchange_quality(degree, known, duplex=each, work=work) for each in (False, True)))
        return found

    def summary(
        self, degrees: Iterable[int] | None = None, first: int = 0, last: int | None = None
    ) -> tuple[Coverages, Qualities]:
        """Return :meth:`coverage` and :meth:`quality` in one pass over rows."""
        covered, judged = Coverages(), Qualities()
        for degree, rows in self._read_unpriced(degrees, first, NO_LIMIT if last is None else last):
            covered.append(coverage(degree, rows))
            some = [row.price for row in rows if last is not None or row.nodes <= MAX_NODES]
            judged += filter(None, (quality(degree, some, duplex=duplex) for duplex in (False, True)))
        return covered, judged

    def _read_unpriced(self, degrees: Iterable[int] | None, first: int, last: int) -> Iterator[tuple[int, list[Row]]]:
        """Yield the rows of degrees as :meth:`rows`, without what all-to-all costs."""
        for degree in self.select_degrees(degrees):
            yield degree, read_rows(self.directory, *_span(degree, first, last))

    def select_degrees(self, degrees: Iterable[int] | None) -> list[int]:
        """Return some degrees, or all that there are files of.

        Raises
        ------
        CatalogError
            If there are none.
        """
        wanted = self.degrees if degrees is None else list(degrees)
        if not wanted:
            raise CatalogError(f"{self.directory}: there are no catalog files here")
        return wanted

    def __repr__(self) -> str:
        """Return where it is, and of which degrees."""
        span = f"degrees {self.degrees[0]} to {self.degrees[-1]}" if self.degrees else "no files"
        return f"<Catalog: {self.directory}, {span}>"


def _span(degree: int, first: int, last: int) -> tuple[int, int, int]:
    return as_count(degree, "degree", 1), as_count(first, "first size"), as_count(last, "last size")


def add_prices(rows: Iterable[Row], prices: Mapping[PriceKey, Bounds]) -> Iterator[Row]:
    """Yield rows with their all-to-all costs.

    A deferred row has the topology of a row by SPFF, or its transpose.

    All-to-all costs as much on a transpose: every shard goes its way back.
    """
    same: dict[tuple[int, str], Bounds | None] = {}
    for row in rows:
        found = prices.get(row.price_key)
        if found is None and row.deferred:
            found = same.get((row.nodes, row.either_way))
        same[row.nodes, row.either_way] = found
        yield row if found is None and row.all_to_all is None else replace(row, all_to_all=found)


CatalogLike: TypeAlias = "Catalog | str | Path | bool | None"
"""A catalog, its directory, or True or None for the shipped one."""


def as_catalog(value: CatalogLike = None) -> Catalog:
    """Return the catalog of a directory or value; True or None is the shipped one."""
    if isinstance(value, Catalog):
        return value
    return Catalog() if value is None or value is True else Catalog(value)  # type: ignore[arg-type]
