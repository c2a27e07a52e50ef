"""Members of zip archives that are the same bytes whenever and wherever they are written."""

from __future__ import annotations

import zipfile

_DATE = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


def member_info(name: str) -> zipfile.ZipInfo:
    """Return what an archive says of a file in it but for its content: a fixed date, and who may read it."""
    info = zipfile.ZipInfo(name, _DATE)
    info.create_system = _UNIX  # wherever it is written
    info.external_attr = 0o644 << 16
    return info
