"""Reader of Chakra traces: an ``.et`` file of nodes per rank.

A file is a row of protocol buffer messages, each after its length as a varint: first ``GlobalMetadata``, then ``Node``
after ``Node``. Field numbers and names are those of ``schema/protobuf/et_def.proto`` of mlcommons/chakra (21585d8, May
2026). It is read here without a protocol buffer library, so that nothing is shared with what writes traces.

What a message carries is in attributes that only this package has and that everybody else skips (``DATA``, ``PART``),
and what all of it is for in the header (``COLLECTIVE`` and the others). Traces of others have none, and then only
messages, order and times can be checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from topodesign.base.errors import FileFormatError
from topodesign.base.memory import check_memory
from topodesign.base.text_files import naming, read_bytes

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LARGEST_FIELD = 2**29 - 1


class WireError(FileFormatError):
    """Bytes that are no message."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"byte {offset}: {message}")


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return an unsigned 64-bit varint and its end."""
    value = shift = 0
    for place in range(at, min(end, at + 10)):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 2**64:
                raise WireError("a number has more than 64 bits", at)
            return value, place + 1
        shift += 7
    if at + 10 <= end:
        raise WireError("a number has more than ten bytes", at)
    raise WireError("the file ends within a number", at)


def fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the fields of a message with wire types.

    ``(number, wire type, value, 0)`` or ``(number, BYTES, begin, end)``.

    See the encoding page of the protocol buffers' documentation.
    """
    while at < end:
        start = at
        key, at = varint(data, at, end)
        number, kind = key >> 3, key & 7
        if not 1 <= number <= _LARGEST_FIELD:
            raise WireError(f"no field has the number {number}", start)
        if kind == VARINT:
            value, at = varint(data, at, end)
            yield number, kind, value, 0
        elif kind == BYTES:
            length, at = varint(data, at, end)
            if length > end - at:
                raise WireError(f"a field of {length} bytes where {end - at} are left", start)
            yield number, kind, at, at + length
            at += length
        elif kind in {FIXED64, FIXED32}:
            width = 8 if kind == FIXED64 else 4
            if width > end - at:
                raise WireError("the file ends within a number", at)
            yield number, kind, int.from_bytes(data[at : at + width], "little"), 0
            at += width
        else:
            raise WireError(f"a field of wire type {kind}, which there is not", start)


def numbers(data: bytes, kind: int, value: int, end: int) -> list[int]:
    """Return one or all packed numbers of a repeated field."""
    if kind == VARINT:
        return [value]
    if kind != BYTES:
        raise WireError("a repeated number that is neither a varint nor packed", value)
    found, at = [], value
    while at < end:
        number, at = varint(data, at, end)
        found.append(number)
    return found


def decode_signed(value: int, bits: int = 64) -> int:
    """Return a varint as a signed number.

    Examples
    --------
    >>> decode_signed(2**64 - 3), decode_signed(7)
    (-3, 7)
    """
    value &= 2**bits - 1
    return value - 2**bits if value >> (bits - 1) else value


def text(data: bytes, begin: int, end: int) -> str:
    """Return the text of a field."""
    try:
        return data[begin:end].decode()
    except UnicodeDecodeError:
        raise WireError("a text that is not UTF-8", begin) from None


COMPUTE, SEND, RECEIVE, COLLECTIVE_NODE = 4, 5, 6, 7
KINDS: Mapping[int, str] = {
    0: "invalid",
    1: "metadata",
    2: "memory load",
    3: "memory store",
    COMPUTE: "compute",
    SEND: "send",
    RECEIVE: "receive",
    COLLECTIVE_NODE: "collective",
}
"""Names of ``NodeType``."""

COLLECTIVE, RANKS, UNITS, SIZE, AMOUNTS = (
    f"topodesign_{word}" for word in ("collective", "ranks", "units", "size", "amounts")
)
"""Attributes of the header: the collective as JSON, ranks, units of a block, and bytes of the whole data."""
PHASE = "topodesign_phase"
"""Attribute of the header of traces that are a phase of the collective alone, whose data others bring and take."""
DATA, PART = "topodesign_data", "topodesign_part"
"""Attributes of a send: block, first unit and end of what it carries, again and again; and of which movement it is."""

Value = int | float | bool | str | list[int] | None  # of an attribute; None for a kind that nothing here needs

ENDING = ".et"
MAX_RANKS = 2**16
_PER_BYTE = 12  # bytes of memory that a byte of a trace takes, read
_NAME = re.compile(r"(?P<prefix>.+)\.(?P<rank>0|[1-9][0-9]{0,4})\.et")
_LISTS = {8: 32, 10: 64, 12: 0, 14: 0}  # field of AttributeProto: bits where it is signed, else 0
_BITS = {7: 32, 9: 64, 11: 0, 13: 0, 19: 0, 21: 0}  # of numbers, likewise
_FIXED_BITS = {23: 32, 25: 64, 11: 0, 13: 0, 19: 0, 21: 0}
_ZIGZAG = frozenset({15, 17})
_BOOL, _TEXT, _NAME_FIELD = 27, 29, 1
_KNOWN_VALUES = range(3, 33)


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a trace."""

    id: int  # its number, unique in the file
    name: str  # for people
    kind: int  # ``NodeType``: see ``KINDS``
    control: tuple[int, ...]  # ids of the nodes that have to be over before it starts
    data: tuple[int, ...]
    micros: int  # its duration as it says itself
    attributes: Mapping[str, Value]  # values by name

    def number(self, name: str) -> int | None:
        """Return an integer attribute, or None."""
        value = self.attributes.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Trace:
    """What one rank does."""

    version: str  # of the schema, as the header says
    nodes: tuple[Node, ...]  # in the order of the file
    header: Mapping[str, Value] = field(default_factory=dict)  # attributes of the header


def parse_trace(data: bytes) -> Trace:
    """Return what the bytes of a trace say."""
    check_memory(_PER_BYTE * len(data), f"a trace of {len(data)} bytes")
    if data.startswith(b"\x1f\x8b"):
        raise FileFormatError("compressed by gzip, which simulators do not read; unpack it first")
    spans, at = [], 0
    while at < len(data):
        start = at
        length, at = varint(data, at, len(data))
        if length > len(data) - at:
            raise WireError(f"a message of {length} bytes where {len(data) - at} are left", start)
        spans.append((at, at + length))
        at += length
    if not spans:
        raise FileFormatError("empty; a trace begins with a header")
    version, header = _header(data, *spans[0])
    if not version and not header:
        raise FileFormatError("its first message says nothing, and the header of a trace says a version")
    return Trace(version, tuple(_node(data, *span) for span in spans[1:]), header)


def read_trace(path: Path) -> Trace:
    """Return what a trace file says."""
    with naming(path):
        return parse_trace(read_bytes(path))


def find_traces(path: Path) -> dict[str, dict[int, Path]]:
    """Return the trace files of a directory or beside a file, by rank.

    Of one of the files of all ranks only those are found that belong to it.
    """
    folder, wanted = path, None
    if not path.is_dir():
        match = _NAME.fullmatch(path.name)
        if match is None:
            raise FileFormatError(f"{path}: traces of a run are named PREFIX.RANK.et, such as collective.0.et")
        folder, wanted = path.parent, match["prefix"]
    found: dict[str, dict[int, Path]] = {}
    try:
        names = sorted(one.name for one in folder.iterdir())
    except OSError as error:
        raise FileFormatError(f"{folder}: {error.strerror or error}") from None
    for name in names:
        match = _NAME.fullmatch(name)
        if match is not None and wanted in {None, match["prefix"]}:
            found.setdefault(match["prefix"], {})[int(match["rank"])] = folder / name
    if not found:
        raise FileFormatError(f"{path}: no trace (PREFIX.RANK.et) is there")
    return found


def is_trace_name(path: Path) -> bool:
    """Return whether a path is a directory or named like a trace."""
    return path.is_dir() or path.suffix == ENDING


def _header(data: bytes, begin: int, end: int) -> tuple[str, dict[str, Value]]:
    version, header = "", {}
    for number, kind, value, stop in fields(data, begin, end):
        if number == 1 and kind == BYTES:
            version = text(data, value, stop)
        elif number == 2 and kind == BYTES:
            name, content = _attribute(data, value, stop)
            header[name] = content
    return version, header


def _node(data: bytes, begin: int, end: int) -> Node:
    whole = [0, 0, 0]  # id, kind, duration
    place = {1: 0, 3: 1, 7: 2}
    name, control, needed = "", list[int](), list[int]()
    attributes: dict[str, Value] = {}
    for number, kind, value, stop in fields(data, begin, end):
        if number in place and kind == VARINT:
            whole[place[number]] = value
        elif number == 2 and kind == BYTES:
            name = text(data, value, stop)
        elif number == 4:
            control += numbers(data, kind, value, stop)
        elif number == 5:
            needed += numbers(data, kind, value, stop)
        elif number == 10 and kind == BYTES:
            key, content = _attribute(data, value, stop)
            if key in attributes:
                raise WireError(f"a node has the attribute {key[:50]!r} twice", value)
            attributes[key] = content
        elif number <= 10:
            expected = {1: "a number", 2: "a text", 3: "a number", 7: "a number", 10: "a message"}
            if number in expected:
                raise WireError(f"field {number} of a node is not {expected[number]}", begin)
    return Node(whole[0], name, whole[1], tuple(control), tuple(needed), whole[2], attributes)


def _attribute(data: bytes, begin: int, end: int) -> tuple[str, Value]:
    name, content = "", None
    for number, kind, value, stop in fields(data, begin, end):
        if number == _NAME_FIELD and kind == BYTES:
            name = text(data, value, stop)
        elif number in _KNOWN_VALUES:
            content = _value(data, number, kind, value, stop)
    return name, content


def _value(data: bytes, number: int, kind: int, value: int, stop: int) -> Value:
    """Return an attribute's value, or None for unused kinds."""
    if kind == BYTES and number == _TEXT:
        return text(data, value, stop)
    if kind == BYTES and number in _LISTS:
        found: list[int] = []
        for inner, wire, first, last in fields(data, value, stop):
            if inner == 1:
                found += numbers(data, wire, first, last)
        return [_whole(one, _LISTS[number]) for one in found]
    if kind == VARINT and number in _ZIGZAG:
        return (value >> 1) ^ -(value & 1)
    if kind == VARINT and number == _BOOL:
        return bool(value)
    bits = {VARINT: _BITS, BYTES: {}}.get(kind, _FIXED_BITS)
    return _whole(value, bits[number]) if number in bits else None


def _whole(value: int, bits: int) -> int:
    return decode_signed(value, bits) if bits else value
