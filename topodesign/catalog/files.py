"""Catalog files: one per degree, sorted by size and read by bisection.

So only the requested rows are parsed.

A file starts with a line that names the columns and ends with a line that tells the number of rows and bytes before it,
so that a truncated file is known at once. An installed package has its files packed, :mod:`topodesign.catalog.packed`;
they are read alike, and errors in one are reported by the line of its text. What is written is never packed.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from topodesign.base.arguments import as_integer, as_several
from topodesign.base.atomic import write_whole
from topodesign.base.errors import CatalogError, FileFormatError, ParameterError
from topodesign.base.file_kinds import FileKind, kind_of
from topodesign.base.memory import pause_collector
from topodesign.base.shipped import find_shipped_folder
from topodesign.base.text_files import FileState, file_state, open_input
from topodesign.catalog.packed import open_packed
from topodesign.catalog.rows import COLUMNS, Price, Row, read_price, read_row
from topodesign.catalog.sizes import NO_LIMIT

_HEADER = "\t".join(COLUMNS) + "\n"
_TRAILER = re.compile(rb"# end: ([0-9]+) rows, ([0-9]+) bytes\n")
_LONGEST_TRAILER, _MAX_DIGITS = 80, 18


class _Text(NamedTuple):
    """The text of a file, or the relevant parts of an archive."""

    path: Path  # where the file is
    data: bytes | mmap.mmap  # the text
    left_out: int = 0  # bytes of rows that are not among it

    def error(self, offset: int, message: str) -> CatalogError:
        """Return what is wrong with the line at an offset."""
        line = self.data[:offset].count(b"\n") + 1
        return CatalogError(f"{self.path}:{line}: {message}")


def default_directory() -> Path:
    """Return the directory that ``TOPODESIGN_CATALOG`` names, or the shipped one."""
    return Path(os.environ.get("TOPODESIGN_CATALOG") or find_shipped_folder("catalog"))


def catalog_file(directory: Path, degree: int) -> Path:
    """Return the path that the file of a degree is written to."""
    return directory / f"degree_{degree:02}.tsv"


def get_packed_path(directory: Path, degree: int) -> Path:
    """Return the path of a degree's archive in an installed package."""
    return catalog_file(directory, degree).with_suffix(".zip")


def get_stored_path(directory: Path, degree: int) -> Path:
    """Return the path that a degree's rows are read from, existing or not.

    It is the archive only where there is no file that was written: that has what was put into a directory later.
    """
    plain, packed = catalog_file(directory, degree), get_packed_path(directory, degree)
    is_packed = os.path.exists(packed) and not os.path.exists(plain)  # noqa: PTH110  a path's own method can raise
    return packed if is_packed else plain


def make_directory(directory: Path) -> None:
    """Make the directory of a catalog if it is not there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CatalogError(f"{directory}: {error.strerror or error}") from None


def degrees_of_grid(nodes: range, degrees: Sequence[int]) -> list[int]:
    """Return the degrees of a grid of sizes that a catalog can have."""
    if not isinstance(nodes, range) or not nodes:
        raise ParameterError(f"the sizes of a catalog are a range such as range(3, 65), not {nodes!r:.60}")
    found = [as_integer("a degree", degree, 1) for degree in as_several("degrees", degrees)]
    if nodes.start < 3 or min(found, default=0) < 2:
        raise ParameterError("a catalog is of at least 3 nodes and degree 2")
    return found


def degrees(directory: Path) -> list[int]:
    """Return the degrees that there are files of, ascending."""
    names = (path.name for path in directory.glob("degree_*"))
    return sorted({int(match[1]) for name in names if (match := re.fullmatch(r"degree_([0-9]{2,})\.(tsv|zip)", name))})


def write_rows(directory: Path, degree: int, rows: Iterable[Row]) -> Path:
    """Write the file of a degree, whole or not at all, and return its path."""
    path = catalog_file(directory, degree)
    write_whole(path, rows_text(path, rows))
    return path


def rows_text(path: Path, rows: Iterable[Row]) -> str:
    """Return the text of the file that goes to a path."""
    ordered = sorted(rows, key=lambda row: row.key)
    for before, row in zip([None, *ordered], ordered, strict=False):
        _check_order(path, before, row)
    body = _HEADER + "".join(f"{row.line}\n" for row in ordered)
    return f"{body}# end: {len(ordered)} rows, {len(body.encode())} bytes\n"


def read_rows(directory: Path, degree: int, first: int = 0, last: int = NO_LIMIT) -> list[Row]:
    """Return a degree's rows with ``first <= nodes <= last``, in file order."""
    with _text(directory, degree, first, last) as text:
        if not text.left_out:
            return _rows(text, first, last)
        with contextlib.suppress(CatalogError):
            return _rows(text, first, last)
    with _text(directory, degree) as text:  # which tells the line at fault
        return _rows(text, first, last)


@pause_collector()
def read_prices(directory: Path, degree: int, first: int = 0, last: int = NO_LIMIT) -> list[Price]:
    """Return the prices of :func:`read_rows`, parsing less of each row."""
    with _text(directory, degree, first, last) as text, contextlib.suppress(CatalogError, ValueError):
        low = _first_from(text, first, len(_HEADER), end := _end_of_rows(text))
        high = _first_from(text, last + 1, low, end)
        prices = [read_price(line) for line in text.data[low:high].splitlines()]
        nodes = [one[0] for one in prices]
        if nodes == sorted(nodes):
            return prices
    return [row.price for row in read_rows(directory, degree, first, last)]


def whole_text(directory: Path, degree: int) -> bytes:
    """Return the checked text of a degree's file, packed or not."""
    with _text(directory, degree) as text:
        _rows(text, 0, NO_LIMIT)
        return text.data[:]


def file_check(directory: Path, degree: int) -> str:
    """Return the CRC-32 of a degree's text, as eight hexadecimal digits."""
    path = get_stored_path(directory, degree)
    return _check_file(path, path == get_packed_path(directory, degree), file_state(path))


@functools.lru_cache(maxsize=64)
def _check_file(path: Path, is_packed: bool, _state: FileState | None) -> str:
    """Return the check of a file in some state."""
    if is_packed:
        return f"{open_packed(path).crc():08x}"
    with _map_file(path) as data:
        return f"{zlib.crc32(data):08x}"


@contextlib.contextmanager
def _text(directory: Path, degree: int, first: int = 0, last: int = NO_LIMIT) -> Iterator[_Text]:
    """Yield the text of a degree; of an archive only a range of sizes."""
    path = get_stored_path(directory, degree)
    if path == get_packed_path(directory, degree):
        archive = open_packed(path)
        data = archive.text(first, last)
        yield _Text(path, data, archive.size - len(data))
    else:
        with _map_file(path) as mapped:
            yield _Text(path, mapped)


@contextlib.contextmanager
def _map_file(path: Path) -> Iterator[mmap.mmap]:
    """Yield the bytes of a file without reading them all."""
    try:
        stream = open_input(path)
    except FileFormatError as error:
        other = "; the directory is not a catalog" if kind_of(path.parent) is FileKind.DIRECTORY else ""
        raise CatalogError(f"{path}: {error}{other}") from None
    with stream:
        if not os.fstat(stream.fileno()).st_size:
            raise CatalogError(f"{path}:1: the file is empty")
        try:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise CatalogError(f"{path}: {error.strerror or error}") from None
        with data:
            yield data


def _rows(text: _Text, first: int, last: int) -> list[Row]:
    """Return the rows of a range of sizes; all of them are counted, too."""
    start, end = len(_HEADER), _end_of_rows(text)
    low = _first_from(text, first, start, end)
    high = _first_from(text, last + 1, low, end)
    rows = _parse(text, low, high)
    if (low, high) == (start, end) and not text.left_out:
        _check_count(text, end, len(rows))
    return rows


def _end_of_rows(text: _Text) -> int:
    """Return the offset where rows end, after checks of both end lines."""
    if text.data[: len(_HEADER)] != _HEADER.encode():
        raise text.error(0, f"the first line must name the columns {', '.join(COLUMNS)}")
    end = text.data.rfind(b"\n", 0, len(text.data) - 1) + 1
    match = _TRAILER.fullmatch(text.data[end : end + _LONGEST_TRAILER])
    if match is None:
        raise text.error(end, "the file ends without the line that counts its rows: it is truncated")
    if int(match[2]) != end + text.left_out:
        _blame(text, end)
    return end


def _blame(text: _Text, end: int) -> NoReturn:
    """Raise the error of a file of wrong length, at the faulty row if any."""
    rows = _parse(text, len(_HEADER), end)
    _check_count(text, end, len(rows))
    raise text.error(end, "the last line gives another number of bytes: it was edited")


def _check_count(text: _Text, end: int, rows: int) -> None:
    match = _TRAILER.fullmatch(text.data[end:])
    if match is not None and int(match[1]) != rows:
        raise text.error(end, f"the last line counts {int(match[1])} rows, but there are {rows}")


def _first_from(text: _Text, nodes: int, low: int, high: int) -> int:
    """Return the offset of the first row with at least a number of nodes."""
    while low < high:
        middle = text.data.rfind(b"\n", low, (low + high) // 2) + 1 or low
        following = text.data.find(b"\n", middle) + 1
        cell = text.data[middle : text.data.find(b"\t", middle)]
        if not cell.isdigit() or len(cell) > _MAX_DIGITS:
            raise text.error(middle, "the row does not start with a number of nodes")
        if int(cell) < nodes:
            low = following
        else:
            high = middle
    return low


@pause_collector()
def _parse(text: _Text, start: int, end: int) -> list[Row]:
    """Return the rows between two offsets, checked for order and degree."""
    rows: list[Row] = []
    for line in text.data[start:end].splitlines(keepends=True):
        try:
            row = read_row(line.rstrip(b"\r\n").decode("ascii", "backslashreplace"))
            _check_order(text.path, rows[-1] if rows else None, row)
        except CatalogError as error:
            raise text.error(start, str(error)) from None
        rows.append(row)
        start += len(line)
    return rows


def _check_order(path: Path, before: Row | None, row: Row) -> None:
    same_degree = before is not None and before.degree == row.degree  # whose place is known, which saves time
    if not same_degree and path.stem != catalog_file(path.parent, row.degree).stem:
        raise CatalogError(f"a row of degree {row.degree} does not belong into {path.name}")
    if before is not None and not before.leads(row) and before.key >= row.key:
        raise CatalogError(
            f"a row of {row.nodes} nodes and {row.cost.steps} steps comes after one of {before.nodes} nodes and "
            f"{before.cost.steps} steps: rows ascend by nodes, then by steps, with falling bandwidth factor"
        )
