"""Catalog files: one a degree, rows sorted by size, read by bisection so that only what is asked for is parsed.

A file starts with a line that names the columns and ends with a line that tells the number of rows and bytes before it,
so that a truncated file is known at once.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NoReturn

from topodesign.base.atomic import write_whole
from topodesign.base.errors import CatalogError, FileFormatError
from topodesign.base.shipped import shipped_folder
from topodesign.base.text_files import open_input
from topodesign.catalog.rows import COLUMNS, Row, read_row

NO_LIMIT = 2**62
"""More nodes than any row has."""

_HEADER = "\t".join(COLUMNS) + "\n"
_TRAILER = re.compile(rb"# end: ([0-9]+) rows, ([0-9]+) bytes\n")
_LONGEST_TRAILER, _MOST_DIGITS = 80, 18


def default_directory() -> Path:
    """Return the directory that ``TOPODESIGN_CATALOG`` names, or the shipped one."""
    return Path(os.environ.get("TOPODESIGN_CATALOG") or shipped_folder("catalog"))


def catalog_file(directory: Path, degree: int) -> Path:
    """Return the path of the file of a degree."""
    return directory / f"degree_{degree:02}.tsv"


def degrees(directory: Path) -> list[int]:
    """Return the degrees that there are files of, ascending."""
    names = (path.name for path in directory.glob("degree_*.tsv"))
    return sorted(int(match[1]) for name in names if (match := re.fullmatch(r"degree_([0-9]{2,})\.tsv", name)))


def write_rows(directory: Path, degree: int, rows: Iterable[Row]) -> Path:
    """Write the file of a degree, whole or not at all, and return its path.

    Raises
    ------
    CatalogError
        If a row has another degree, or two rows have the same size and price.
    FileFormatError
        If the file cannot be written.
    """
    path = catalog_file(directory, degree)
    ordered = sorted(rows, key=lambda row: row.key)
    for before, row in zip([None, *ordered], ordered, strict=False):
        _check_order(path, before, row)
    body = _HEADER + "".join(f"{row.line}\n" for row in ordered)
    write_whole(path, f"{body}# end: {len(ordered)} rows, {len(body.encode())} bytes\n")
    return path


def read_rows(directory: Path, degree: int, first: int = 0, last: int = NO_LIMIT) -> list[Row]:
    """Return the rows of a degree with ``first <= nodes <= last`` in the order of the file.

    Parameters
    ----------
    directory
        Where the catalog is.
    degree
        d, which tells the file.
    first, last
        Range of N; only its rows are parsed (and checked).

    Raises
    ------
    CatalogError
        If the file is missing, truncated or edited, with the file and the line.
    """
    path = catalog_file(directory, degree)
    with _mapped(path) as data:
        start, end = len(_HEADER), _end_of_rows(path, data)
        low = _first_from(path, data, first, start, end)
        high = _first_from(path, data, last + 1, low, end)
        rows = _parse(path, data, low, high)
        if (low, high) == (start, end):
            _check_count(path, data, end, len(rows))
    return rows


def file_check(directory: Path, degree: int) -> str:
    """Return the CRC-32 of the file of a degree, in eight hexadecimal digits.

    Raises
    ------
    CatalogError
        If it is missing or cannot be read.
    """
    with _mapped(catalog_file(directory, degree)) as data:
        return f"{zlib.crc32(data):08x}"


@contextlib.contextmanager
def _mapped(path: Path) -> Iterator[mmap.mmap]:
    """Yield the bytes of a file without reading them all."""
    try:
        stream = open_input(path)
    except FileFormatError as error:
        raise CatalogError(f"{path}: {error}") from None
    with stream:
        if not os.fstat(stream.fileno()).st_size:
            raise CatalogError(f"{path}:1: the file is empty")
        try:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise CatalogError(f"{path}: {error.strerror or error}") from None
        with data:
            yield data


def _end_of_rows(path: Path, data: mmap.mmap) -> int:
    """Return where the rows end, after a look at the first line and the last."""
    if data[: len(_HEADER)] != _HEADER.encode():
        raise CatalogError(f"{path}:1: the first line should name the columns {', '.join(COLUMNS)}")
    end = data.rfind(b"\n", 0, len(data) - 1) + 1
    match = _TRAILER.fullmatch(data[end : end + _LONGEST_TRAILER])
    if match is None:
        raise CatalogError(
            f"{path}:{_line_number(data, end)}: the file ends without the line that counts its rows: it is truncated"
        )
    if int(match[2]) != end:
        _blame(path, data, end)
    return end


def _blame(path: Path, data: mmap.mmap, end: int) -> NoReturn:
    """Raise the error of a file with more or fewer bytes than were written: at the row at fault if there is one."""
    rows = _parse(path, data, len(_HEADER), end)
    _check_count(path, data, end, len(rows))
    raise CatalogError(f"{path}:{_line_number(data, end)}: the last line gives another number of bytes: it was edited")


def _check_count(path: Path, data: mmap.mmap, end: int, rows: int) -> None:
    match = _TRAILER.fullmatch(data[end:])
    if match is not None and int(match[1]) != rows:
        raise CatalogError(
            f"{path}:{_line_number(data, end)}: the last line counts {int(match[1])} rows, but there are {rows}"
        )


def _first_from(path: Path, data: mmap.mmap, nodes: int, low: int, high: int) -> int:
    """Return the offset between two of the first row with at least so many nodes."""
    while low < high:
        middle = data.rfind(b"\n", low, (low + high) // 2) + 1 or low
        following = data.find(b"\n", middle) + 1
        cell = data[middle : data.find(b"\t", middle)]
        if not cell.isdigit() or len(cell) > _MOST_DIGITS:
            raise CatalogError(f"{path}:{_line_number(data, middle)}: the row does not start with a number of nodes")
        if int(cell) < nodes:
            low = following
        else:
            high = middle
    return low


def _parse(path: Path, data: mmap.mmap, start: int, end: int) -> list[Row]:
    """Return the rows between two offsets, all in order and of the degree that the name of the file says."""
    rows: list[Row] = []
    for place, line in enumerate(data[start:end].splitlines()):
        try:
            row = read_row(line.decode("ascii", "backslashreplace"))
            _check_order(path, rows[-1] if rows else None, row)
        except CatalogError as error:
            raise CatalogError(f"{path}:{_line_number(data, start) + place}: {error}") from None
        rows.append(row)
    return rows


def _check_order(path: Path, before: Row | None, row: Row) -> None:
    if path.name != catalog_file(path.parent, row.degree).name:
        raise CatalogError(f"a row of degree {row.degree} does not belong into {path.name}")
    if before is not None and before.key >= row.key:
        raise CatalogError(
            f"a row of {row.nodes} nodes and {row.cost.steps} steps comes after one of {before.nodes} nodes and "
            f"{before.cost.steps} steps: rows ascend by nodes, then by steps, with falling bandwidth factor"
        )


def _line_number(data: mmap.mmap, offset: int) -> int:
    return data[:offset].count(b"\n") + 1
