"""Packed row files: pieces between sizes as members of a zip archive.

An installed package has ``degree_04.zip`` where a checkout has ``degree_04.tsv``. The members, one after the other, are
that file byte by byte: ``00000.tsv`` is its first line, ``end.tsv`` its last, and the rows between them are in pieces
named by their first N. Any program for archives unpacks them; here a lookup decompresses the piece that it needs.

Members are compressed by LZMA, and decompressed here: zipfile, which reads the directory, does not bound what comes out
of one.
"""

from __future__ import annotations

import re
import struct
import zlib
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from topodesign.base.errors import CatalogError, FileFormatError
from topodesign.base.text_files import LARGEST_FILE, read_bytes

if TYPE_CHECKING:
    from zipfile import ZipInfo

HEAD, END = "00000.tsv", "end.tsv"
"""Names of the members that are the first line and the last; unpacked, all are in order by name."""

LARGEST_ARCHIVE = LARGEST_MEMBER = 2**24
"""Bytes of an archive, and of what one member decompresses to; many times what there are."""

_PIECE = re.compile(r"([0-9]{5,18})\.tsv")
_ENCRYPTED = 1
_LOCAL = struct.Struct("<4s22xHH")
"""What stands before the bytes of a member: a mark, and at its end the lengths of a name and of more that follow."""
_BEFORE_PROPERTIES = 4
_PROPERTIES = 5
_SMALLEST_DICTIONARY = 4096
_KEPT = 4  # pieces that are kept as they were decompressed, since the next lookup is often of a size nearby


def piece_name(nodes: int) -> str:
    """Return the member name of a piece that begins with a size."""
    return f"{nodes:05}.tsv"


@dataclass(frozen=True)
class PackedArchive:
    """An archive with its directory read, and no member yet."""

    path: Path  # where it is, for messages
    data: bytes  # its bytes
    members: tuple[ZipInfo, ...]  # in the order of the text

    def __post_init__(self) -> None:
        names = [member.filename for member in self.members]
        if len(names) < 2 or (names[0], names[-1]) != (HEAD, END):
            raise CatalogError(f"{self.path}: its first member must be {HEAD} and its last {END}")
        for before, name in pairwise(names[:-1]):
            match = _PIECE.fullmatch(name)
            if match is None or name != piece_name(int(match[1])) or int(match[1]) <= _first(before):
                raise CatalogError(f"{self.path}: the member {name!r:.60} does not belong after {before}")
        for member in self.members:
            self._check(member)
        if self.size > LARGEST_FILE:
            raise CatalogError(f"{self.path}: larger than {LARGEST_FILE} bytes when it is unpacked")

    @property
    def size(self) -> int:
        """Bytes of the whole text."""
        return sum(member.file_size for member in self.members)

    def crc(self) -> int:
        """Return the CRC-32 of the whole text, from those of the members.

        The CRC-32 of a text is linear in that of what stands before it, so zeros tell what becomes of the latter.
        """
        total = 0
        for member in self.members:
            zeros = bytes(member.file_size)
            total = zlib.crc32(zeros, total) ^ zlib.crc32(zeros) ^ member.CRC
        return total

    def text(self, first: int, last: int) -> bytes:
        """Return first line, last line and the pieces of a range of sizes."""
        head, *pieces, end = self.members
        starts = [_first(piece.filename) for piece in pieces]
        wanted = pieces[max(0, bisect_right(starts, first) - 1) : bisect_right(starts, last)]
        texts = [self._read(member) for member in (head, *wanted, end)]
        for member, text in zip(wanted, texts[1:], strict=False):
            if not text.startswith(b"%d\t" % _first(member.filename)):
                raise CatalogError(f"{self.path}: the member {member.filename} does not start with its number of nodes")
        return b"".join(texts)

    def _check(self, member: ZipInfo) -> None:
        """Refuse a member that cannot be read or is too large."""
        from zipfile import ZIP_LZMA  # noqa: PLC0415  most lookups in a checkout do without

        if member.flag_bits & _ENCRYPTED or member.compress_type != ZIP_LZMA:
            raise CatalogError(f"{self.path}: the member {member.filename} is encrypted, or not compressed by LZMA")
        if member.file_size > LARGEST_MEMBER:
            raise CatalogError(
                f"{self.path}: the member {member.filename} declares {member.file_size} bytes, "
                f"but at most {LARGEST_MEMBER} make sense"
            )

    def _read(self, member: ZipInfo) -> bytes:
        start = member.header_offset + _LOCAL.size
        local = self.data[member.header_offset : start] if member.header_offset >= 0 else b""
        if len(local) == _LOCAL.size:
            mark, *lengths = _LOCAL.unpack(local)
            start += sum(lengths)
            text = _decompress(self.data[start : start + member.compress_size], member.file_size)
            if mark == b"PK\3\4" and len(text) == member.file_size and zlib.crc32(text) == member.CRC:
                return text
        raise CatalogError(f"{self.path}: the member {member.filename} is damaged")


def open_packed(path: Path) -> PackedArchive:
    """Return the archive at a path."""
    try:
        data = read_bytes(path, LARGEST_ARCHIVE)
    except FileFormatError as error:
        raise CatalogError(f"{path}: {error}") from None
    return as_packed(path, data)


def as_packed(path: Path, data: bytes) -> PackedArchive:
    """Return the archive that some bytes are; as :func:`open_packed`."""
    from io import BytesIO  # noqa: PLC0415  as in Packed
    from zipfile import BadZipFile, ZipFile  # noqa: PLC0415

    try:
        with ZipFile(BytesIO(data)) as archive:
            members = tuple(archive.infolist())
    except (BadZipFile, NotImplementedError, ValueError, OverflowError, EOFError, struct.error) as error:
        raise CatalogError(f"{path}: damaged, or no zip archive: {error}") from None
    return PackedArchive(path, data, members)


def _first(name: str) -> int:
    """Return the number of nodes that a member is named by."""
    return int(name.removesuffix(".tsv"))


@lru_cache(_KEPT)
def _decompress(packed: bytes, size: int) -> bytes:
    """Return a member's content, never more than a byte above its size.

    In an archive LZMA's properties stand behind a version and their length; ``.lzma`` files have them first and then
    the size, here unknown. The dictionary need not be larger than the text, whatever the archive says.
    """
    try:
        import lzma  # noqa: PLC0415  as in Packed
    except ImportError:
        raise CatalogError("this Python was built without the module lzma, which packed catalogs require") from None
    head = struct.pack("<IQ", max(size, _SMALLEST_DICTIONARY), 2**64 - 1)
    stream = packed[_BEFORE_PROPERTIES : _BEFORE_PROPERTIES + 1] + head + packed[_BEFORE_PROPERTIES + _PROPERTIES :]
    try:
        return lzma.LZMADecompressor(lzma.FORMAT_ALONE).decompress(stream, size + 1)
    except (lzma.LZMAError, EOFError):
        return b""
