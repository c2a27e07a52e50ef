"""Topologies that a catalog keeps for all-to-all alone, in files of their own beside the rows.

A file ``exchange_04.tsv`` has whatever beats all rows of its size in the steps and the bandwidth factor of all-to-all,
among all topologies or among the duplex ones. Rankings for all-to-all and for training steps look at these, too;
frontiers of allreduce do not. It starts and ends as the files of prices do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from topodesign.base.atomic import write_whole
from topodesign.base.declared import Declared, key
from topodesign.catalog.all_to_all import VERSION, Bounds, check_version, lines_text, read_lines

OBJECTIVES = ("allreduce", "all-to-all")
"""What a catalog can be improved for."""

COLUMNS = ("nodes", "wiring", "steps", "lower", "upper", "version", "spec", "check")
"""Columns, separated by tabs; ``check`` is the CRC-32 of all before it."""

_DUPLEX = {"duplex": True, "simplex": False}


@dataclass(frozen=True, slots=True)
class Exchange(Declared):
    """A topology with what all-to-all takes on it."""

    nodes: int
    duplex: bool  # whether duplex cabling can wire it
    steps: int  # the diameter
    all_to_all: Bounds
    spec: str  # the text that rebuilds it

    KEYS = (
        key("nodes", "N."),
        "duplex",
        key("steps", "The diameter."),
        key("all_to_all", "What all-to-all takes on it."),
        "spec",
    )
    ROW = "nodes steps all_to_all_lower=all_to_all.lower all_to_all_upper=all_to_all.upper duplex spec"

    @property
    def order(self) -> tuple[int, int, Fraction, bool, str]:
        """Order in the file."""
        return self.nodes, self.steps, self.all_to_all.upper, not self.duplex, self.spec

    @property
    def line(self) -> str:
        """The line of the file, but for its check."""
        return "\t".join(map(str, _cells(self)))


def exchange_file(directory: Path, degree: int) -> Path:
    """Return the path of the file of a degree."""
    return directory / f"exchange_{degree:02}.tsv"


def read_exchange(directory: Path, degree: int, first: int, last: int) -> list[Exchange]:
    """Return what is kept of a degree with ``first <= nodes <= last``."""
    return list(read_lines(exchange_file(directory, degree), COLUMNS, _read_cells, first, last))


def known_exchange(directory: Path, degree: int, first: int, last: int) -> list[Exchange]:
    """Return what :func:`read_exchange` does, or nothing where there is no file yet."""
    return read_exchange(directory, degree, first, last) if exchange_file(directory, degree).exists() else []


def write_exchange(directory: Path, degree: int, kept: Iterable[Exchange]) -> Path:
    """Write the file of a degree, whole or not at all, and return its path."""
    path = exchange_file(directory, degree)
    write_whole(path, exchange_text(kept))
    return path


def exchange_text(kept: Iterable[Exchange]) -> str:
    """Return the text of a file."""
    return lines_text(COLUMNS, map(_cells, sorted(kept, key=lambda one: one.order)))


def unbeaten(known: Iterable[Exchange]) -> list[Exchange]:
    """Return those of one size that no other beats in steps and bandwidth factor, among all or among duplex ones."""
    ordered = sorted(known, key=lambda one: one.order)
    kept: dict[str, Exchange] = {}
    for duplex in (False, True):
        least: Fraction | None = None
        for one in ordered:
            if (one.duplex or not duplex) and (least is None or one.all_to_all.upper < least):
                least = one.all_to_all.upper
                kept[one.spec] = one
    return sorted(kept.values(), key=lambda one: one.order)


def _cells(one: Exchange) -> tuple[object, ...]:
    wiring = "duplex" if one.duplex else "simplex"
    return one.nodes, wiring, one.steps, one.all_to_all.lower, one.all_to_all.upper, VERSION, one.spec


def _read_cells(cells: list[str]) -> Exchange:
    nodes, wiring, steps, lower, upper, version, spec = cells
    check_version(version)
    if wiring not in _DUPLEX:
        raise ValueError(f"a wiring {wiring!r:.20}")
    return Exchange(int(nodes), _DUPLEX[wiring], int(steps), Bounds(Fraction(lower), Fraction(upper)), spec)
