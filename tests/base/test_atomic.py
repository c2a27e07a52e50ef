"""The way out: whole or not at all, and nothing but regular files replaced."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest

from topodesign.base.atomic import check_not_input, write_directory, write_whole
from topodesign.base.errors import FileFormatError, ParameterError


def kind(path: Path) -> int:
    return stat.S_IFMT(path.lstat().st_mode)


def test_the_old_file_stays_if_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")

    def fail(stream: IO[bytes]) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_whole(path, "new")
    assert path.read_text() == "new"


def test_an_old_file_keeps_its_permissions_and_a_new_one_has_those_of_any(tmp_path: Path) -> None:
    old, new, other = tmp_path / "old", tmp_path / "new", tmp_path / "other"
    old.touch()
    old.chmod(0o640)
    write_whole(old, "x")
    write_whole(new, "x")
    other.touch()
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert new.stat().st_mode == other.stat().st_mode


def test_links_stay_and_what_they_point_to_is_written(tmp_path: Path) -> None:
    target, link, dangling = tmp_path / "target", tmp_path / "link", tmp_path / "dangling"
    target.write_text("old")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "missing")
    write_whole(link, "new")
    write_whole(dangling, "made")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert (tmp_path / "missing").read_text() == "made"


def test_a_pipe_is_written_to_or_refused_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileFormatError, match="no program reads"):
        write_whole(pipe, "x")
    heard: list[bytes] = []
    handle = os.open(pipe, os.O_RDWR)  # a reader that is there before, and hears no end while nobody writes yet
    data = b"x" * 2**18  # more than a pipe holds

    def read() -> None:
        with os.fdopen(handle, "rb", buffering=0) as stream:
            while sum(map(len, heard)) < len(data):
                heard.append(stream.read(len(data)))

    reader = threading.Thread(target=read)
    reader.start()

    def write(stream: IO[bytes]) -> None:
        stream.write(b"?" * len(data))
        stream.seek(0)  # as archives do
        stream.write(data)

    write_whole(pipe, write)
    reader.join(10)
    assert b"".join(heard) == data
    assert kind(pipe) == stat.S_IFIFO
    assert list(tmp_path.iterdir()) == [pipe]


def test_devices_stay() -> None:
    before = Path("/dev/null").stat()
    write_whole(Path("/dev/null"), b"x")
    with pytest.raises(FileFormatError, match="No space left"):
        write_whole(Path("/dev/full"), b"x")
    assert Path("/dev/null").stat().st_rdev == before.st_rdev
    assert Path("/dev/null").is_char_device()


def test_directories_and_sockets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    for path in (tmp_path, tmp_path / "socket"):
        before = kind(path)
        with pytest.raises(FileFormatError, match="not a file"):
            write_whole(path, "x")
        assert kind(path) == before


def test_what_is_printed_is_not_lost(tmp_path: Path) -> None:
    """Standard output is a file here, and comes out before and after what is written to /dev/stdout."""
    words = "import topodesign.base.atomic as a, pathlib; print(1); a.write_whole(pathlib.Path('/dev/stdout'), '2\\n')"
    for path in (tmp_path / "x", None):
        command = [sys.executable, "-c", f"{words}; print(3)"]
        if path is None:
            assert subprocess.run(command, capture_output=True, check=True, timeout=600).stdout == b"1\n2\n3\n"
        else:
            with path.open("wb") as stream:
                subprocess.run(command, stdout=stream, check=True, timeout=600)
            assert path.read_bytes() == b"1\n2\n3\n"


def test_directories_appear_whole(tmp_path: Path) -> None:
    write_directory(tmp_path / "d", {"a/b": "1", "c": "2"})
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["a_b", "c"]
    with pytest.raises(FileFormatError, match="already exists"):
        write_directory(tmp_path / "d", {"a": ""})


def test_inputs_are_not_written_over(tmp_path: Path) -> None:
    path, link = tmp_path / "x", tmp_path / "link"
    path.touch()
    link.symlink_to(path)
    with pytest.raises(ParameterError, match="is read for this"):
        check_not_input(link, path)
    check_not_input(tmp_path / "y", path)


@pytest.mark.parametrize(
    "write",
    [
        'write_directory(path, {"one": "1", "two": lambda file: clear_unfinished()})',
        "write_whole(path, lambda stream: clear_unfinished())",
    ],
)
def test_what_is_unfinished_can_be_removed_and_gets_no_name_then(write: str, tmp_path: Path) -> None:
    code = f"""
import os, sys, threading
from pathlib import Path
from topodesign.base.atomic import clear_unfinished, write_directory, write_whole
threading.Timer(0.5, os._exit, [0]).start()
path = Path(sys.argv[1])
{write}
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "made")], check=True, timeout=600)
    assert not list(tmp_path.iterdir())
