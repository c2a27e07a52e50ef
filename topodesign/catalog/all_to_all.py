"""All-to-all costs of a catalog's topologies, in files beside the rows.

A file ``all_to_all_04.tsv`` has a line for as many rows of ``degree_04.tsv`` as were priced so far, and names each by
its number of nodes and its check; so the rows stay as they are, and a row that changes loses its price. The bounds are
proven, and one number where they meet. It starts and ends as the files of rows do, and so do all :class:`SideFiles`.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Generic, TypeVar

from topodesign.base.atomic import write_whole
from topodesign.base.declared import Declared
from topodesign.base.errors import CatalogError, FileFormatError
from topodesign.base.text_files import FileState, file_state, read_text
from topodesign.catalog.sizes import NO_LIMIT

VERSION = 1
_TRAILER = re.compile(r"# end: ([0-9]+) rows")

_Line = TypeVar("_Line")
PriceKey = tuple[int, str]  # nodes and check of a row


@dataclass(frozen=True, slots=True)
class Bounds(Declared):
    """Bounds of an all-to-all: time = y * M/B with M the data of one node."""

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


@dataclass(frozen=True)
class SideFiles(Generic[_Line]):
    """Files of a kind beside the rows, one a degree.

    * ``read``: reads the cells of a line but its check; a ValueError says what is wrong with them.
    """

    stem: str  # what their names begin with
    columns: tuple[str, ...]  # separated by tabs; the last one, ``check``, is the CRC-32 of all before it
    read: Callable[[list[str]], _Line]
    cells: Callable[[_Line], tuple[object, ...]]  # what is written of a line, but its check
    order: Callable[[_Line], Any]  # what lines are sorted by

    def path(self, directory: Path, degree: int) -> Path:
        """Return the path of the file of a degree."""
        return directory / f"{self.stem}_{degree:02}.tsv"

    def lines(self, directory: Path, degree: int, first: int = 0, last: int = NO_LIMIT) -> Iterator[_Line]:
        """Yield the entries of a degree with ``first <= nodes <= last``."""
        path = self.path(directory, degree)
        by_nodes = _lines_by_nodes(path, self.columns, file_state(path))
        few = first == last
        sizes = [first] if few else [nodes for nodes in by_nodes if first <= nodes <= last]
        for number, line in (one for nodes in sizes for one in by_nodes.get(nodes, ())):
            try:
                yield self.read(_cells(line, len(self.columns)))
            except (ValueError, ZeroDivisionError) as error:
                raise CatalogError(f"{path}:{number}: the line was edited or truncated: {error}") from None

    def known(self, directory: Path, degree: int, first: int = 0, last: int = NO_LIMIT) -> list[_Line]:
        """Yield the same as :meth:`lines`, or nothing if there is no file yet."""
        there = self.path(directory, degree).exists()
        return list(self.lines(directory, degree, first, last)) if there else []

    def text(self, lines: Iterable[_Line]) -> str:
        """Return the text of a file."""
        checked = []
        for line in sorted(lines, key=self.order):
            text = "\t".join(map(str, self.cells(line)))
            checked.append(f"{text}\t{zlib.crc32(text.encode()):08x}")
        return "\n".join(["\t".join(self.columns), *checked, f"# end: {len(checked)} rows", ""])

    def write(self, directory: Path, degree: int, lines: Iterable[_Line]) -> Path:
        """Write the file of a degree, whole or not at all, and return its path."""
        path = self.path(directory, degree)
        write_whole(path, self.text(lines))
        return path


@functools.lru_cache(maxsize=64)
def _lines_by_nodes(path: Path, columns: tuple[str, ...], _state: FileState | None) -> dict[int, list[tuple[int, str]]]:
    """Return the numbered lines of a file by number of nodes."""
    try:
        lines = read_text(path).split("\n")
    except FileFormatError as error:
        raise CatalogError(f"{path}: {error}") from None
    if lines[0] != "\t".join(columns):
        raise CatalogError(f"{path}:1: the first line must name the columns {', '.join(columns)}")
    match = _TRAILER.fullmatch(lines[-2]) if len(lines) > 2 and not lines[-1] else None
    if match is None or int(match[1]) != len(lines) - 3:
        words = "the last line does not count the rows before it: it is truncated"
        raise CatalogError(f"{path}:{len(lines) - 1}: {words}")
    found: dict[int, list[tuple[int, str]]] = {}
    for number, line in enumerate(lines[1:-2], start=2):
        try:
            found.setdefault(int(line[: line.find("\t")]), []).append((number, line))
        except ValueError as error:
            raise CatalogError(f"{path}:{number}: the line was edited or truncated: {error}") from None
    return found


def _cells(line: str, columns: int) -> list[str]:
    text, _, check = line.rpartition("\t")
    if check != f"{zlib.crc32(text.encode()):08x}":
        raise ValueError(f"it does not agree with its check {check[:20]}")
    cells = text.split("\t")
    if len(cells) != columns - 1:
        raise ValueError(f"it has {len(cells) + 1} columns, not {columns}")
    return cells


def _read_line(cells: list[str]) -> tuple[PriceKey, Bounds]:
    nodes, row, lower, upper, version = cells
    check_version(version)
    return (int(nodes), row), Bounds(Fraction(lower), Fraction(upper))


def check_version(version: str) -> None:
    """Raise ValueError unless a line is of a known version."""
    if version != str(VERSION):
        raise ValueError(f"version {version}, where {VERSION} is known")


PRICES = SideFiles(
    "all_to_all",
    ("nodes", "row", "lower", "upper", "version", "check"),
    _read_line,
    lambda one: (*one[0], one[1].lower, one[1].upper, VERSION),
    lambda one: one[0],
)
"""Prices by row; the column ``row`` is the check of the row that is priced."""
