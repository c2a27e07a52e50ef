"""The way in: only regular files, of bounded size, without a wait."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from topodesign.base.errors import FileFormatError
from topodesign.base.text_files import begins_as_xml, open_input, read_bytes, read_head, read_text


@pytest.fixture(params=["directory", "pipe", "socket", "link to a pipe", "device", "endless device"])
def not_a_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "x"
    if request.param == "directory":
        path.mkdir()
    elif "pipe" in request.param:
        os.mkfifo(path)
    elif request.param == "socket":
        os.chdir(tmp_path)  # names of sockets are short
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("x")
    if request.param == "link to a pipe":
        (tmp_path / "link").symlink_to(path)
        return tmp_path / "link"
    return {"device": Path("/dev/null"), "endless device": Path("/dev/zero")}.get(request.param, path)


def test_what_is_not_a_file_is_refused_at_once(not_a_file: Path) -> None:
    for read in (read_text, read_bytes, read_head, begins_as_xml, open_input):
        with pytest.raises(FileFormatError, match="not a file"):
            read(not_a_file)


def test_sizes_are_checked_before_reading(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(FileFormatError, match="larger than 4 bytes"):
        read_bytes(path, 4)
    with path.open("wb") as stream:
        stream.truncate(2**40)  # a hole
    with pytest.raises(FileFormatError, match="larger than"):
        read_text(path)
    assert read_head(path) == bytes(2**16)


def test_text_is_utf_8_with_any_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert read_text(path) == "a\nb\nc\n"
    path.write_bytes(b"\xff\xfea\0")
    with pytest.raises(FileFormatError, match="UTF-8"):
        read_text(path)
    with pytest.raises(FileFormatError, match="No such file"):
        read_text(tmp_path / "y")
    for name in ("a\0b", ""):
        with pytest.raises(FileFormatError, match="not a file"):
            read_text(Path(name))
