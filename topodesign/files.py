"""Output files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from topodesign.errors import FileFormatError


def write_whole(path: Path, text: str) -> None:
    """Write a text file under a temporary name beside it, then rename it.

    Raises
    ------
    FileFormatError
        If it cannot be written; an old file is then still there.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror or error}") from None
