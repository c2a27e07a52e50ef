"""Looking up the best known topologies of a size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from topodesign.catalog.files import NO_LIMIT, default_directory, degrees, read_rows
from topodesign.catalog.rows import Row

MOST_NODES = 2048
"""Largest number of nodes that the shipped catalog is built for; the smallest is 3."""

DEGREES = range(2, 17)
"""Degrees that the shipped catalog is built for."""


@dataclass(frozen=True)
class Catalog:
    """The best known topologies for many sizes, read from text files; only what is asked for is read.

    Attributes
    ----------
    directory
        Where the files are: by default what the environment variable ``TOPODESIGN_CATALOG`` names, else the shipped
        ones.

    Examples
    --------
    >>> from topodesign import Catalog
    >>> for row in Catalog().frontier(1000, 4):
    ...     print(row.spec, row.cost)  # doctest: +SKIP
    """

    directory: Path = field(default_factory=default_directory)

    @cached_property
    def degrees(self) -> list[int]:
        """The degrees that there are files of, ascending."""
        return degrees(self.directory)

    def rows(self, degree: int, first: int = 0, last: int = NO_LIMIT) -> list[Row]:
        """Return the rows of a degree with ``first <= nodes <= last``, by nodes, then steps.

        Raises
        ------
        CatalogError
            If the file is missing, truncated or edited, with the file and the line.
        """
        return read_rows(self.directory, degree, first, last)

    def frontier(self, nodes: int, degree: int, *, duplex: bool = False) -> list[Row]:
        """Return the undominated topologies of a size, steps ascending and bandwidth factor descending.

        Parameters
        ----------
        nodes, degree
            N and d.
        duplex
            Only topologies that duplex cabling can wire.

        Returns
        -------
        list of Row
            Empty where the catalog has none.

        Raises
        ------
        CatalogError
            As :meth:`rows`.
        """
        return undominated(self.rows(degree, nodes, nodes), duplex=duplex)

    def to_records(self, degree: int, first: int = 0, last: int = NO_LIMIT) -> list[dict[str, Any]]:
        """Return one flat dictionary a row, ready for ``pandas.DataFrame``; parameters and errors as :meth:`rows`."""
        return [
            {
                "spec": row.spec,
                "nodes": row.nodes,
                "degree": row.degree,
                "steps": row.cost.steps,
                "bandwidth": row.cost.bandwidth,
                "bandwidth_float": float(row.cost.bandwidth),
                "allgather_bandwidth": row.allgather.bandwidth,
                "duplex": row.duplex,
                "found": row.found,
                "basis": row.basis,
                "version": row.version,
            }
            for row in self.rows(degree, first, last)
        ]


def covers(nodes: int, degree: int) -> bool:
    """Return whether the shipped catalog is built for a size."""
    return 3 <= nodes <= MOST_NODES and degree in DEGREES


def undominated(rows: Iterable[Row], *, duplex: bool) -> list[Row]:
    """Return the frontier among rows of one size in the order of the file, or among the duplex ones."""
    front: list[Row] = []
    lowest: Fraction | None = None
    for row in rows:
        if duplex and not row.duplex:
            continue
        if lowest is None or row.cost.bandwidth < lowest:
            if front and front[-1].cost.steps == row.cost.steps:
                front.pop()
            front.append(row)
            lowest = row.cost.bandwidth
    return front
