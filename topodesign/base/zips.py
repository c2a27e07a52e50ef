"""Zip members with the same bytes whenever and wherever written."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from typing import IO

_DATE = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


def member_info(name: str) -> zipfile.ZipInfo:
    """Return the zip entry of a file, with a fixed date and permissions."""
    info = zipfile.ZipInfo(name, _DATE)
    info.create_system = _UNIX  # wherever it is written
    info.external_attr = 0o644 << 16
    return info


def write_zip(
    stream: IO[bytes], members: Iterable[tuple[str, bytes]], compression: int, level: int | None = None
) -> None:
    """Write a zip archive of files by name, in a :mod:`zipfile` compression."""
    archive = zipfile.ZipFile(stream, "w")
    try:
        for name, data in members:
            archive.writestr(member_info(name), data, compression, level)
        archive.close()
    except BaseException:
        archive.fp = None  # amid a member it cannot be closed, and the error of that would hide what ended the program
        raise
