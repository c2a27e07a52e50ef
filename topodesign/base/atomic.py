"""Output files and directories that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from topodesign.base.errors import FileFormatError, ParameterError


def write_whole(path: Path, content: str | bytes | Callable[[IO[bytes]], None]) -> None:
    """Write a file under a temporary name beside it, then rename it.

    Parameters
    ----------
    path
        Where.
    content
        What, or a function that writes it.

    Raises
    ------
    FileFormatError
        If it cannot be written, an old file being still there then, or the path is a directory, a pipe or a device.
    """
    try:
        if path.exists() and not path.is_file():
            raise FileFormatError(f"{path}: not a file")
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                if callable(content):
                    content(stream)
                else:
                    stream.write(content.encode() if isinstance(content, str) else content)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:  # no name, or a null byte in it
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{path}: {error}") from None


def write_directory(path: Path, files: Mapping[str, str]) -> None:
    """Write a directory of text files under a temporary name beside it, then rename it.

    Parameters
    ----------
    path
        Must not be there yet, or be an empty directory: what is in a directory is never thrown away.
    files
        Texts by name. A slash or another character that file names should not have becomes an underscore.

    Raises
    ------
    ParameterError
        If two names come out the same.
    FileFormatError
        If it cannot be written or there is something already.
    """
    names = {name: file_name(name) for name in files}
    if len({name.lower() for name in names.values()}) < len(names):
        raise ParameterError(f"two files in {path} would have the same name; rename what they are named after")
    try:
        if path.is_symlink() or (path.exists() and (not path.is_dir() or any(path.iterdir()))):
            raise FileFormatError(f"{path} is there already; name a new directory")
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        try:
            for name, text in files.items():
                (temporary / names[name]).write_text(text, encoding="utf-8", newline="\n")
            temporary.chmod(0o755)
            temporary.rename(path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror or error}") from None


def file_name(name: str) -> str:
    """Return the name with an underscore for everything but letters, digits, dots, hyphens and underscores."""
    safe = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name)
    return f"_{safe[1:]}" if safe.startswith(".") else safe
