"""Text files, opened only after a look at them from outside."""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from topodesign.base.errors import FileFormatError
from topodesign.base.shipped import shipped_folder

LARGEST_FILE = 256 * 2**20
"""Bytes of a file that is read, where the reader says no other limit."""
_HEAD = 4096


def read_text(path: Path, endings: Collection[str] | None = None, largest: int = LARGEST_FILE) -> str:
    """Return the text of a file in UTF-8.

    Parameters
    ----------
    path
        A regular file: a pipe or a device may never end.
    endings
        How the name may end, in small letters; None for any way.
    largest
        Bytes that it may have.

    Raises
    ------
    FileFormatError
        If it is missing, no file, too large, not text, or its ending is none of the known ones; the message does not
        name the file.
    """
    try:
        status = path.stat() if "\0" not in str(path) else None
        if status is None or not stat.S_ISREG(status.st_mode):
            raise FileFormatError("not a file")
        if endings is not None and path.suffix.lower() not in endings:
            raise FileFormatError(f"unknown ending '{path.suffix}'; known are {', '.join(endings)}")
        if status.st_size > largest:
            raise FileFormatError(f"larger than {largest} bytes")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise FileFormatError(f"{error.strerror}{_copy_first(path.name)}") from None
    except OSError as error:
        raise FileFormatError(error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise FileFormatError("not a text file in UTF-8") from None


def _copy_first(name: str) -> str:
    """Say how to get a missing file that has the name of an example."""
    if not name or not (shipped_folder("configs") / name).is_file():
        return ""
    return f"; it is an example, so copy it first: topodesign examples {name}"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the name of a file before what is found wrong with it."""
    try:
        yield
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None


def begins_as_xml(path: Path) -> bool:
    """Return whether a file begins as XML does, whatever its name is.

    Raises
    ------
    FileFormatError
        If it cannot be read, or is a directory, a pipe or a device.
    """
    try:
        regular = stat.S_ISREG(path.stat().st_mode)  # a pipe or device may never end
        head = b""
        if regular:
            with path.open("rb") as stream:
                head = stream.read(_HEAD)
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:  # a null byte in the name
        raise FileFormatError(f"cannot read {path}: {error}") from None
    if not regular:
        raise FileFormatError(f"{path} is not a file")
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<")
