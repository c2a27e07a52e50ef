"""Input files, text and bytes, read after a check of kind and size.

A pipe, a device or a socket may never end, so only regular files are read. The look is at what was opened, so that
nothing can be put in its place in between, and opening does not wait for a writer of a pipe.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, TypeAlias

from topodesign.base.errors import FileFormatError
from topodesign.base.shipped import find_shipped_folder
from topodesign.base.wording import suggest

LARGEST_FILE = 256 * 2**20  # bytes of a file that is read, where the reader says no other limit
_HEAD = 2**16
_LIKE = 0.75  # how like the name of a missing file that of another is that may have been meant, from 0 to 1
_MAX_FILES = 2000  # files of a folder whose names are looked through for that
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

FileState: TypeAlias = tuple[int, int, int]
"""Number, time of change and bytes of a file."""


def open_input(path: Path, largest: int = LARGEST_FILE) -> IO[bytes]:
    """Open a regular file to read its bytes; links are followed."""
    try:
        regular = stat.S_ISREG(path.stat().st_mode)  # opening a device can do something
        stream = os.fdopen(os.open(path, _FLAGS), "rb") if regular else None
    except FileNotFoundError as error:
        raise FileFormatError(f"{error.strerror}{_instead(path)}") from None
    except OSError as error:
        raise FileFormatError(error.strerror or str(error)) from None
    except ValueError:  # a null byte in the name
        stream = None
    if stream is None:
        raise FileFormatError("not a file")
    status = os.fstat(stream.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_size > largest:
        stream.close()
        raise FileFormatError("not a file" if status.st_size <= largest else f"larger than {largest} bytes")
    return stream


def read_bytes(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """Return the content of a regular file."""
    with open_input(path, largest) as stream:
        try:
            data = stream.read(largest + 1)
        except OSError as error:
            raise FileFormatError(error.strerror or str(error)) from None
    if len(data) > largest:  # it has grown
        raise FileFormatError(f"larger than {largest} bytes")
    return data


def file_state(path: Path) -> FileState | None:
    """Return a value that changes when a file changes; None if it is missing."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def read_text(path: Path, endings: Collection[str] | None = None, largest: int = LARGEST_FILE) -> str:
    """Return the text of a UTF-8 file, with any line ends.

    A byte-order mark is dropped.
    """
    with open_input(path, largest):  # first what is worst, then what is not known
        pass
    if endings is not None and path.suffix.lower() not in endings:
        raise FileFormatError(f"unknown ending '{path.suffix}'; known are {', '.join(endings)}")
    try:
        text = read_bytes(path, largest).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError("not a text file in UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _instead(path: Path) -> str:
    """Suggest an example or a similar name for a missing file."""
    if path.name and (find_shipped_folder("configs") / path.name).is_file():
        return f"; it is an example, so copy it first: topodesign examples {path.name}"
    try:
        there = [one.name for one in islice(path.parent.iterdir(), _MAX_FILES)]
    except (OSError, ValueError):
        return ""
    said = suggest(path.name, there, "", like=_LIKE)
    return f"; {said}" if said else ""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Prefix errors with the name of the file."""
    try:
        yield
    except FileFormatError as error:
        said = str(error)
        raise FileFormatError(said if str(path) in said else f"{path}: {said}") from None


def read_head(path: Path) -> bytes:
    """Return how a file begins, whatever its name is."""
    try:
        with open_input(path, 2**63) as stream:
            return stream.read(_HEAD)
    except FileFormatError as error:
        raise FileFormatError(f"cannot read {path}: {error}") from None
    except OSError as error:
        raise FileFormatError(f"cannot read {path}: {error.strerror or error}") from None


def begins_as_xml(path: Path) -> bool:
    """Return whether a file begins as XML, whatever its name."""
    return _begins(path, b"<")


def begins_as_json(path: Path) -> bool:
    """Return whether a file begins as a JSON object, whatever its name."""
    return _begins(path, b"{")


def begins_as_module(path: Path) -> bool:
    """Return whether a file begins as a Python module of ours.

    Its name plays no part.
    """
    return _begins(path, b'"""')


def _begins(path: Path, sign: bytes) -> bool:
    return read_head(path).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(sign)
