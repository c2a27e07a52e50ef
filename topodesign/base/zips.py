"""Members of zip archives that are the same bytes whenever and wherever they are written."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from typing import IO

_DATE = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


def member_info(name: str) -> zipfile.ZipInfo:
    """Return what an archive says of a file in it but for its content: a fixed date, and who may read it."""
    info = zipfile.ZipInfo(name, _DATE)
    info.create_system = _UNIX  # wherever it is written
    info.external_attr = 0o644 << 16
    return info


def write_zip(
    stream: IO[bytes], members: Iterable[tuple[str, bytes]], compression: int, level: int | None = None
) -> None:
    """Write an archive of files by name, in one of the compressions of :mod:`zipfile`."""
    archive = zipfile.ZipFile(stream, "w")
    try:
        for name, data in members:
            archive.writestr(member_info(name), data, compression, level)
        archive.close()
    except BaseException:
        archive.fp = None  # amid a member it cannot be closed, and the error of that would hide what ended the program
        raise
