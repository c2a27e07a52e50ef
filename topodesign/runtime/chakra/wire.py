"""The wire format of protocol buffers, read without a library: fields of a message, one after the other.

A message is a row of fields, each a key (field number times eight, plus its wire type) and a value: a varint, eight
bytes, four bytes, or a length and so many bytes. Fields that nobody asks for are skipped by their wire type alone. What
cannot be read is a :class:`WireError` with the byte where it is. Source: the encoding page of the protocol buffers'
documentation.
"""

from __future__ import annotations

from collections.abc import Iterator

from topodesign.base.errors import FileFormatError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LARGEST_FIELD = 2**29 - 1


class WireError(FileFormatError):
    """Bytes that are no message."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"byte {offset}: {message}")


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return an unsigned number of at most 64 bits that begins at a byte, and where it ends."""
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
    """Yield the fields of a message: number, wire type, and value; of bytes where they begin and end.

    They are ``(number, wire type, value, 0)``, or ``(number, BYTES, begin, end)``.
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
    """Return what one field of a repeated number adds: itself, or all that are packed into it."""
    if kind == VARINT:
        return [value]
    if kind != BYTES:
        raise WireError("a repeated number that is neither a varint nor packed", value)
    found, at = [], value
    while at < end:
        number, at = varint(data, at, end)
        found.append(number)
    return found


def signed(value: int, bits: int = 64) -> int:
    """Return the number of a varint that may be negative, in two's complement.

    Examples
    --------
    >>> signed(2**64 - 3), signed(7)
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
