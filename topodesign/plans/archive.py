"""The container of plan files: a zip with a JSON header and columns.

``header.json`` is a JSON object of at most ``MAX_HEADER`` bytes; every other member is an array in the smallest
little-endian unsigned integer type that holds it, so ``numpy.load`` reads the file too. Members are stored or deflated
and come in a fixed order with a fixed date: the same plan gives the same bytes.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import seal_array
from topodesign.base.atomic import write_whole
from topodesign.base.errors import FileFormatError, ParameterError, ScheduleError, TopodesignError, TopologyError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.memory import check_memory
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import open_input
from topodesign.base.zips import write_zip
from topodesign.topology.topology import MAX_LINKS, MAX_NODES, Topology

MAX_HEADER = 2**20
MAX_ROWS = 2**26  # rows of a schedule: 2 GiB of columns, at 32 bytes a row
LARGEST_ARCHIVE = 2**33  # bytes of a file: more than the longest columns need
MAX_INTEGER = 2**63 - 1  # what a column holds
MAX_STEPS = 2**31 - 1
LINK_COLUMNS = ("link_src", "link_dst", "link_capacity")
_LEVEL = (
    3  # on large schedules half the size of level 1 in the same time; level 6 saves a fifth more in thrice the time
)
_NPY = b"\x93NUMPY\x01\x00"
_NPY_HEADER = 128
_NPY_HEAD = re.compile(
    rb"\x93NUMPY\x01\x00v\x00\{'descr': '(?P<type>\|u1|<u[248])', 'fortran_order': False, "
    rb"'shape': \((?P<rows>[0-9]{1,18}),\), \} *\n"
)
_FRACTION = re.compile(r"[0-9]{1,1000}(/[0-9]{1,1000})?")


def write_archive(target: Path, fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a header and non-negative integer arrays, whole or not at all."""
    try:
        header = json.dumps(fields, indent=1, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise TopodesignError(f"the generator's description does not fit into JSON: {error}") from None
    if len(header) > MAX_HEADER:
        raise TopodesignError(f"the header of a schedule file has at most {MAX_HEADER} bytes, not {len(header)}")
    longest = max(map(len, arrays.values()), default=0)
    if longest > MAX_ROWS:
        raise ScheduleError(f"a schedule file holds at most {MAX_ROWS} rows, not {longest}")

    def write(stream: IO[bytes]) -> None:
        columns = ((f"{name}.npy", _npy(array)) for name, array in arrays.items())
        write_zip(stream, chain([("header.json", header)], columns), zipfile.ZIP_DEFLATED, _LEVEL)

    try:
        write_whole(target, write)
    except FileFormatError as error:
        raise TopodesignError(f"cannot write {error}") from None


@contextmanager
def open_archive(source: Path) -> Iterator[Archive]:
    """Open an archive for reading; faults inside become FileFormatError."""
    with expecting(source, FileKind.PLAN):
        try:
            with open_input(source, LARGEST_ARCHIVE) as stream, zipfile.ZipFile(stream) as members:
                yield Archive(members)
        except FileFormatError:
            raise
        except (ParameterError, ScheduleError, TopologyError) as error:
            raise FileFormatError(str(error)) from None
        except OSError as error:
            raise FileFormatError(f"cannot read {source}: {error.strerror or error}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, KeyError, ValueError) as error:
            raise FileFormatError(f"{source} is damaged or is not a schedule file: {error}") from None


def _npy(array: NDArray[Any]) -> bytes:
    """Return an .npy file of the smallest type for non-negative integers."""
    kind = np.min_scalar_type(int(array.max(initial=0))).newbyteorder("<")
    text = f"{{'descr': '{kind.str}', 'fortran_order': False, 'shape': ({len(array)},), }}"
    size = _NPY_HEADER - len(_NPY) - 2
    head = _NPY + struct.pack("<H", size) + text.ljust(size - 1).encode() + b"\n"
    return head + array.astype(kind).tobytes()


class Header:
    """An object of a header, of which no field may stay unread.

    ``where`` is what messages call it.
    """

    def __init__(self, values: Any, where: str) -> None:
        if not isinstance(values, dict):
            raise FileFormatError(f"{where} must be an object")
        self._values, self._where, self._known = values, where, set[str]()

    def get(self, name: str) -> Any:
        """Return a field as it is, None if it lacks."""
        self._known.add(name)
        return self._values.get(name)

    def part(self, name: str) -> Header | None:
        """Return a field that is an object, None where it is null."""
        value = self.get(name)
        return None if value is None else Header(value, f"'{name}' in header.json")

    def finish(self) -> None:
        """Raise FileFormatError if a field has not been asked for."""
        unknown = sorted(self._values.keys() - self._known)
        if unknown:
            raise FileFormatError(f"{self._where} has the unknown field '{unknown[0][:50]}'")

    def integer(self, name: str, least: int, most: int) -> int:
        """Return an integer of that range."""
        value = self.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise FileFormatError(f"{name!r} in header.json must be an integer from {least} to {most}")
        return value

    def fraction(self, name: str, *, positive: bool = True) -> Fraction:
        """Return a number that is text ``p/q``."""
        return read_fraction(self.get(name), name, positive=positive)

    def fractions(self, name: str) -> dict[str, Fraction]:
        """Return an object of numbers from 0."""
        value = self.get(name)
        if not isinstance(value, dict):
            raise FileFormatError(f"'{name}' in header.json must be an object")
        return {key: read_fraction(one, key, positive=False) for key, one in value.items()}

    def fraction_or_none(self, name: str) -> Fraction | None:
        """Return a number above zero, None where it is null."""
        return None if self.get(name) is None else self.fraction(name)

    def flag(self, name: str) -> bool:
        """Return a true or false."""
        value = self.get(name)
        if not isinstance(value, bool):
            raise FileFormatError(f"'{name}' in header.json must be true or false")
        return value

    def list(self, name: str) -> list[Any]:
        """Return a list; an empty one where it lacks."""
        value = [] if self.get(name) is None else self.get(name)
        if not isinstance(value, list):
            raise FileFormatError(f"'{name}' in header.json must be a list")
        return value

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of integers from 0."""
        value = self.get(name)
        if not isinstance(value, list) or not all(type(one) is int and 0 <= one < 2**62 for one in value):
            raise FileFormatError(f"'{name}' in header.json must be a list of integers")
        return tuple(value)

    def text(self, name: str) -> str:
        """Return a text."""
        return _read_texts([self.get(name)], name)[0]

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return _read_texts(self.get(name), name)


def read_fraction(value: object, name: str, *, positive: bool = True) -> Fraction:
    """Return the number of a text ``p/q``."""
    wrong = FileFormatError(f"'{name}' in header.json must be \"p/q\"{', above zero' if positive else ''}")
    if not isinstance(value, str) or not _FRACTION.fullmatch(value):
        raise wrong
    try:
        number = Fraction(value)
    except ZeroDivisionError:
        raise wrong from None
    if positive and not number:
        raise wrong
    return number


def _read_texts(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise FileFormatError(f"'{name}' in header.json must be text")
    return tuple(value)


class Archive:
    """An open plan file: its header and columns, of which none may stay unread."""

    def __init__(self, members: zipfile.ZipFile) -> None:
        names = members.namelist()
        if "header.json" not in names:
            raise FileFormatError("it has no header.json, so it is not a schedule file")
        if len(names) != len(set(names)):
            raise FileFormatError("a member occurs twice")
        self._members, self._names, self._unread = members, frozenset(names), {*names} - {"header.json"}
        try:
            self.header = Header(parse_json(self._read("header.json", MAX_HEADER)), "header.json")
        except FileFormatError as error:
            raise FileFormatError(f"header.json: {error}") from None

    def finish(self) -> None:
        """Raise FileFormatError if a member has not been read."""
        if self._unread:
            raise FileFormatError(f"{min(self._unread)} does not belong there")

    def topology(self) -> Topology:
        """Return the topology of the file's links, nodes and switches."""
        header = self.header
        nodes, links = header.integer("nodes", 1, MAX_NODES), header.integer("links", 0, MAX_LINKS)
        switches = header.get("switches")
        if not isinstance(switches, list) or not all(type(node) is int for node in switches):
            raise FileFormatError("'switches' in header.json must be a list of nodes")
        src, dst, capacity = (self.column(name, links) for name in LINK_COLUMNS)
        return Topology(nodes, src, dst, capacity, switches=frozenset(switches))

    def column(self, name: str, rows: int, kind: type[np.signedinteger[Any]] = np.int64) -> NDArray[Any]:
        """Return a column, checked for the header's length and its type."""
        member = f"{name}.npy"
        if member not in self._names:
            raise FileFormatError(f"{member} is missing")
        self._unread.discard(member)
        if self._members.getinfo(member).file_size > rows:  # else it is refused for that
            columns = len(self._names) - 1
            check_memory(16 * rows * columns, f"{columns} columns of {rows} rows")  # as stored, and as they are used
        data = self._read(member, _NPY_HEADER + 8 * rows)
        match = _NPY_HEAD.match(data)
        stored = np.dtype(match["type"].decode()) if match else np.dtype(np.uint8)
        if match is None or int(match["rows"]) != rows or len(data) != _NPY_HEADER + rows * stored.itemsize:
            raise FileFormatError(f"{member} is not an array of {rows} unsigned integers")
        array = np.frombuffer(data, dtype=stored, offset=_NPY_HEADER)
        if array.max(initial=0) > np.iinfo(kind).max:
            raise FileFormatError(f"{member} has a number above {np.iinfo(kind).max}")
        return seal_array(array.astype(kind))

    def _read(self, name: str, limit: int) -> bytes:
        """Return a member's bytes, within the limit of declared and real size.

        zipfile checks the CRC, and unpacks no more than is asked for.
        """
        info = self._members.getinfo(name)
        if info.flag_bits & 1 or info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise FileFormatError(f"{name} is encrypted or compressed in an unknown way")
        if info.file_size > limit:
            raise FileFormatError(f"{name} declares {info.file_size} bytes, but at most {limit} make sense")
        with self._members.open(info) as member:
            data = member.read(info.file_size + 1)
        if len(data) != info.file_size:
            raise FileFormatError(f"{name} has {len(data)} bytes, but declares {info.file_size}")
        return data
