"""Topologies kept for all-to-all alone, in files beside the rows.

A file ``exchange_04.tsv`` has whatever beats all rows of its size in the steps and the bandwidth factor of all-to-all,
among all topologies or among the duplex ones. Rankings for all-to-all and for training steps look at these, too;
frontiers of allreduce do not. It starts and ends as the files of prices do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from topodesign.base.declared import Declared
from topodesign.base.dominance import find_unbeaten
from topodesign.catalog.all_to_all import VERSION, Bounds, SideFiles, check_version
from topodesign.catalog.rows import Row

OBJECTIVES = ("allreduce", "all-to-all")
"""What a catalog can be improved for."""

_DUPLEX = {"duplex": True, "simplex": False}


@dataclass(frozen=True, slots=True)
class Exchange(Declared):
    """A topology with what all-to-all takes on it."""

    nodes: int  # N
    duplex: bool  # whether duplex cabling can wire it
    steps: int  # the diameter
    all_to_all: Bounds  # what all-to-all takes on it
    spec: str  # the text that rebuilds it

    KEYS = "nodes duplex steps all_to_all spec"
    ROW = "nodes steps all_to_all_lower=all_to_all.lower all_to_all_upper=all_to_all.upper duplex spec"

    @property
    def order(self) -> tuple[int, int, Fraction, bool, str]:
        """Order in the file."""
        return self.nodes, self.steps, self.all_to_all.upper, not self.duplex, self.spec

    @property
    def line(self) -> str:
        """The line of the file, but for its check."""
        return "\t".join(map(str, _cells(self)))


def unbeaten(known: Iterable[Exchange]) -> list[Exchange]:
    """Return the undominated of one size, among all or among duplex ones."""
    several = list(known)
    kept: dict[str, Exchange] = {}
    for some in (several, [one for one in several if one.duplex]):
        best = find_unbeaten(some, lambda one: (one.steps, one.all_to_all.upper), lambda one: one.order)
        kept |= {one.spec: one for one in best}
    return sorted(kept.values(), key=lambda one: one.order)


def of_rows(rows: Iterable[Row]) -> list[Exchange]:
    """Return the all-to-all costs of rows with a known price."""
    return [
        Exchange(row.nodes, row.duplex, row.cost.steps, row.all_to_all, row.spec)
        for row in rows
        if row.all_to_all is not None
    ]


def _cells(one: Exchange) -> tuple[object, ...]:
    wiring = "duplex" if one.duplex else "simplex"
    return one.nodes, wiring, one.steps, one.all_to_all.lower, one.all_to_all.upper, VERSION, one.spec


def _read_cells(cells: list[str]) -> Exchange:
    nodes, wiring, steps, lower, upper, version, spec = cells
    check_version(version)
    if wiring not in _DUPLEX:
        raise ValueError(f"a wiring {wiring!r:.20}")
    return Exchange(int(nodes), _DUPLEX[wiring], int(steps), Bounds(Fraction(lower), Fraction(upper)), spec)


EXCHANGE = SideFiles(
    "exchange",
    ("nodes", "wiring", "steps", "lower", "upper", "version", "spec", "check"),
    _read_cells,
    _cells,
    lambda one: one.order,
)
