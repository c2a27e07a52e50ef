"""Output files and directories that appear whole or not at all.

Only a regular file is ever replaced. What is not one keeps being what it is: a pipe that somebody reads and a character
device such as ``/dev/null`` are written to, and everything else is refused. Through a symbolic link what it points to
is written, and the link stays.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from topodesign.base.errors import FileFormatError, ParameterError

_LONGEST_RENAME = 1.0  # seconds that one may be under way

_unfinished: set[Path] = set()
_finishing = threading.Lock()
"""Held while a temporary name is exchanged for the real one; for good when unfinished outputs are removed."""


def write_whole(path: Path, content: str | bytes | Callable[[IO[bytes]], None]) -> None:
    """Write a file to a temporary name, then rename it.

    Existing pipes and devices are written to directly.

    An old file keeps its permissions. What a program prints to (``/dev/stdout``) is written to as it is open, also if
    it is a file.
    """
    try:
        status = _status(path)
        target = Path(os.path.realpath(path))
        regular = status is not None and stat.S_ISREG(status.st_mode) and target.exists()
        if status is None or (regular and _find_handle(status) is None):
            _replace(target, content, None if status is None else stat.S_IMODE(status.st_mode))
        else:
            _pour(path, status, content)
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:  # no name, or a null byte in it
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{path}: {error}") from None


def check_not_input(path: Path, source: Path) -> None:
    """Refuse to write over the file that something is made from."""
    try:
        same = path.samefile(source)
    except (OSError, ValueError):
        same = False
    if same:
        raise ParameterError(f"{path} is read for this; name another file to write")


def clear_unfinished() -> None:
    """Remove temporary files and directories of unfinished outputs.

    For a program that ends at once.

    Nothing gets its name any more from then on, so that no directory does of which a part is removed already.
    """
    _finishing.acquire(timeout=_LONGEST_RENAME)
    for path in list(_unfinished):
        with contextlib.suppress(OSError):
            _clear(path)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a path, following links, or None if it is missing."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _find_handle(status: os.stat_result) -> int | None:
    """Return the handle if it is standard output or error."""
    for handle, stream in ((1, sys.stdout), (2, sys.stderr)):
        with contextlib.suppress(OSError):
            if os.path.samestat(status, os.fstat(handle)):
                if stream is not None:
                    stream.flush()
                return handle
    return None


def _clear(path: Path) -> None:
    """Remove a file or a directory."""
    if not path.is_dir():
        path.unlink()
        return
    import shutil  # noqa: PLC0415  help does without

    shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _unless_finished(temporary: Path) -> Iterator[None]:
    """Remove a temporary file or directory if the context ends with an error."""
    _unfinished.add(temporary)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            _clear(temporary)
        raise
    finally:
        _unfinished.discard(temporary)


def _replace(path: Path, content: str | bytes | Callable[[IO[bytes]], None], mode: int | None) -> None:
    temporary = path.with_name(f".{path.name[:200]}.{os.urandom(6).hex()}")
    with _unless_finished(temporary):
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(handle, "wb") as stream:
            _write(stream, content)
        if mode is not None:
            temporary.chmod(mode)
        with _finishing:
            temporary.replace(path)


def _pour(path: Path, status: os.stat_result, content: str | bytes | Callable[[IO[bytes]], None]) -> None:
    """Write content to a target that cannot be replaced."""
    kinds = (stat.S_ISFIFO, stat.S_ISCHR, stat.S_ISREG)
    if not any(is_kind(status.st_mode) for is_kind in kinds):
        raise FileFormatError(f"{path}: not a file")
    import shutil  # noqa: PLC0415  seldom needed
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryFile() as whole:
        _write(whole, content)
        whole.seek(0)
        printed = _find_handle(status)
        try:  # without waiting for who reads a pipe
            handle = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0)) if printed is None else os.dup(printed)
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise FileFormatError(f"{path}: no program reads this pipe") from None
            raise
        if printed is None:
            os.set_blocking(handle, True)
        with os.fdopen(handle, "wb") as stream:
            shutil.copyfileobj(whole, stream)


def _write(stream: IO[bytes], content: str | bytes | Callable[[IO[bytes]], None]) -> None:
    if callable(content):
        content(stream)
    else:
        stream.write(content.encode(errors="backslashreplace") if isinstance(content, str) else content)


def write_directory(path: Path, files: Mapping[str, str | bytes | Callable[[Path], object]]) -> None:
    """Write a directory to a temporary name, then rename it."""
    names = {name: file_name(name) for name in files}
    if len({name.lower() for name in names.values()}) < len(names):
        raise ParameterError(f"two files in {path} would have the same name; rename what they are named after")
    try:
        if path.is_symlink() or (path.exists() and (not path.is_dir() or any(path.iterdir()))):
            raise FileFormatError(f"{path} already exists; use a new directory")
        temporary = path.with_name(f".{path.name[:200]}.{os.urandom(6).hex()}")
        with _unless_finished(temporary):
            temporary.mkdir()
            for name, text in files.items():
                if callable(text):
                    text(temporary / names[name])
                elif isinstance(text, bytes):
                    (temporary / names[name]).write_bytes(text)
                else:
                    (temporary / names[name]).write_text(text, encoding="utf-8", newline="\n")
            with _finishing:
                temporary.rename(path)
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror or error}") from None


def names_directory(path: Path) -> bool:
    """Return whether a path names a directory.

    It does if it is one, or has no ending that looks like that of a file.

    >>> [names_directory(Path(name)) for name in ("plans", "plans.v2", "plans.html", "1.5-rc")]
    [True, True, False, True]
    """
    return path.is_dir() or re.fullmatch(r"\.[A-Za-z]{2,}\d?", path.suffix) is None


def file_name(name: str) -> str:
    """Replace characters of a name that are unsafe in file names.

    Letters, digits, dots, hyphens and underscores stay; others become underscores.
    """
    safe = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
    return f"_{safe[1:]}" if safe.startswith(".") else safe
