"""The column of all-to-all: what it costs on the topologies of a catalog, in files of their own beside the rows.

A file ``all_to_all_04.tsv`` has a line for as many rows of ``degree_04.tsv`` as were priced so far, and names each by
its number of nodes and its check; so the rows stay as they are, and a row that changes loses its price. The bounds are
proven, and one number where they meet. It starts and ends as the files of rows do.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from topodesign.base.atomic import write_whole
from topodesign.base.declared import Declared
from topodesign.base.errors import CatalogError, FileFormatError
from topodesign.base.text_files import read_text

COLUMNS = ("nodes", "row", "lower", "upper", "version", "check")
"""Columns, separated by tabs; ``row`` is the check of the row that is priced, ``check`` the CRC-32 of all before it."""

VERSION = 1
_TRAILER = re.compile(r"# end: ([0-9]+) rows")

_Line = TypeVar("_Line")
PriceKey = tuple[int, str]  # nodes and check of a row


@dataclass(frozen=True, slots=True)
class Bounds(Declared):
    """What all-to-all costs: time = y * M/B with M the data of one node."""

    lower: Fraction  # what no way of doing it beats, proved
    upper: Fraction  # what a known way reaches

    KEYS = "bandwidth lower upper"
    SHARED = "bounds"

    @property
    def bandwidth(self) -> Fraction | None:
        """Bandwidth factor; null where only its bounds are known."""
        return self.upper if self.exact else None

    @property
    def exact(self) -> bool:
        """Whether they meet."""
        return self.lower == self.upper

    @property
    def words(self) -> str:
        """What tables show."""
        return f"{float(self.upper):.4f}" if self.exact else f"{float(self.lower):.4f} to {float(self.upper):.4f}"


def prices_file(directory: Path, degree: int) -> Path:
    """Return the path of the file of a degree."""
    return directory / f"all_to_all_{degree:02}.tsv"


def read_prices(directory: Path, degree: int, first: int, last: int) -> dict[PriceKey, Bounds]:
    """Return the prices of the rows of a degree with ``first <= nodes <= last``."""
    return dict(read_lines(prices_file(directory, degree), COLUMNS, _read_line, first, last))


def read_lines(
    path: Path, columns: Sequence[str], read: Callable[[list[str]], _Line], first: int, last: int
) -> Iterator[_Line]:
    """Yield what the lines of a file with these columns say, those with ``first <= nodes <= last``.

    * ``read``: reads the cells of a line but its check; a ValueError says what is wrong with them.
    """
    try:
        lines = read_text(path).split("\n")
    except FileFormatError as error:
        raise CatalogError(f"{path}: {error}") from None
    if lines[0] != "\t".join(columns):
        raise CatalogError(f"{path}:1: the first line should name the columns {', '.join(columns)}")
    match = _TRAILER.fullmatch(lines[-2]) if len(lines) > 2 and not lines[-1] else None
    if match is None or int(match[1]) != len(lines) - 3:
        raise CatalogError(f"{path}:{len(lines) - 1}: the last line does not count the rows before it: it is truncated")
    for number, line in enumerate(lines[1:-2], start=2):
        try:
            if first <= int(line[: line.find("\t")]) <= last:
                yield read(_cells(line, len(columns)))
        except (ValueError, ZeroDivisionError) as error:
            raise CatalogError(f"{path}:{number}: the line was edited or torn: {error}") from None


def lines_text(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return the text of a file that :func:`read_lines` reads; lines have no check yet."""
    checked = []
    for cells in lines:
        text = "\t".join(map(str, cells))
        checked.append(f"{text}\t{zlib.crc32(text.encode()):08x}")
    return "\n".join(["\t".join(columns), *checked, f"# end: {len(checked)} rows", ""])


def _cells(line: str, columns: int) -> list[str]:
    text, _, check = line.rpartition("\t")
    if check != f"{zlib.crc32(text.encode()):08x}":
        raise ValueError(f"it does not agree with its check {check[:20]}")
    cells = text.split("\t")
    if len(cells) != columns - 1:
        raise ValueError(f"it has {len(cells) + 1} columns, not {columns}")
    return cells


def known_prices(directory: Path, degree: int, first: int, last: int) -> dict[PriceKey, Bounds]:
    """Return what :func:`read_prices` does, or nothing where there is no file yet."""
    return read_prices(directory, degree, first, last) if prices_file(directory, degree).exists() else {}


def write_prices(directory: Path, degree: int, prices: Mapping[PriceKey, Bounds]) -> Path:
    """Write the file of a degree, whole or not at all, and return its path."""
    path = prices_file(directory, degree)
    write_whole(path, prices_text(prices))
    return path


def prices_text(prices: Mapping[PriceKey, Bounds]) -> str:
    """Return the text of a file."""
    return lines_text(COLUMNS, ((*key, prices[key].lower, prices[key].upper, VERSION) for key in sorted(prices)))


def _read_line(cells: list[str]) -> tuple[PriceKey, Bounds]:
    nodes, row, lower, upper, version = cells
    check_version(version)
    return (int(nodes), row), Bounds(Fraction(lower), Fraction(upper))


def check_version(version: str) -> None:
    """Raise ValueError unless a line is of a version that is known."""
    if version != str(VERSION):
        raise ValueError(f"version {version}, where {VERSION} is known")
