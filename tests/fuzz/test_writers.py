"""Writers: an output is whole or not there, whatever its path is, however full the disk, and whenever it is ended."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
from pathlib import Path

import pytest

import topodesign
from tests.conftest import is_thorough
from tests.fuzz.writers import LOGS, WRITERS, Log, Writer, content, content_of, grown, in_child, killed, undisturbed
from topodesign.base.errors import TopodesignError

ROOT = Path(topodesign.__file__).parent
WRITES = re.compile(r"\b(write_whole|write_directory)\((?!path: |\))|\.open\(\"a")
every_writer = pytest.mark.parametrize("writer", WRITERS, ids=lambda one: f"{one.module}-{one.name}")
KILLS = 10


def test_every_writer_is_in_the_table() -> None:
    """All but the module of machine code, whose files nobody names; its own tests damage them."""
    found = {
        path.relative_to(ROOT).with_suffix("").as_posix()
        for path in ROOT.rglob("*.py")
        if WRITES.search(path.read_text(encoding="utf-8"))
    }
    assert found - {"base/atomic", "base/machine"} == {one.module for one in WRITERS} | {one.module for one in LOGS}


@pytest.mark.dear("report/design/answer-decided", "report/figures-f.svg", "report/page/page-r.html")
@every_writer
def test_the_same_is_written_twice(writer: Writer, tmp_path: Path) -> None:
    (once, other), again = undisturbed(writer), content_of(writer, tmp_path, 0)
    assert once == again
    assert once
    assert (tmp_path / writer.name).is_dir() <= writer.makes_directory
    assert once != other


@pytest.mark.dear("report/page/page-r.html")
@every_writer
def test_only_files_are_replaced(writer: Writer, tmp_path: Path) -> None:
    path = tmp_path / writer.name
    os.mkfifo(path)
    refused(writer, path)  # nobody reads it
    assert path.is_fifo()
    path.unlink()
    here = os.open(tmp_path, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(f"/proc/self/fd/{here}/{writer.name}")
        refused(writer, path)
        assert path.is_socket()
    os.close(here)
    path.unlink()
    path.mkdir()
    (path / "mine").write_text("old")
    if writer.module != "base/shipped":  # which puts files beside others
        refused(writer, path)
    assert (path / "mine").read_text() == "old"
    assert {one.name for one in tmp_path.iterdir()} == {writer.name}
    if writer.module != "base/shipped":
        refused(writer, tmp_path / "missing" / writer.name)


@pytest.mark.dear("report/page/page-r.html")
@every_writer
def test_a_device_stays_and_a_link_is_followed(writer: Writer, tmp_path: Path) -> None:
    path = tmp_path / writer.name
    path.symlink_to("/dev/null")
    if writer.makes_directory:
        refused(writer, path)
    else:
        writer.write(path, 0)
    assert path.is_symlink()
    assert Path("/dev/null").is_char_device()


def refused(writer: Writer, path: Path) -> None:
    with pytest.raises((TopodesignError, OSError)) as caught:
        writer.write(path, 0)
    assert str(caught.value)


@pytest.mark.dear("report/page/page-r.html")
@every_writer
def test_a_full_disk_leaves_the_old_file(writer: Writer, tmp_path: Path) -> None:
    path = tmp_path / writer.name
    if not writer.makes_directory:
        writer.write(path, 0)
    before = content(path)

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
        try:
            writer.write(path, 1)
        except (TopodesignError, OSError):
            return
        raise AssertionError

    assert os.waitstatus_to_exitcode(os.waitpid(in_child(work), 0)[1]) == 0
    assert {one.name for one in tmp_path.iterdir()} <= {writer.name}
    assert not any((content(path) or {}).values()) if writer.makes_directory else content(path) == before


@every_writer
def test_a_writer_that_is_killed_leaves_whole_files(
    writer: Writer, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    for kill in range(KILLS if is_thorough(pytestconfig) else 1):
        killed(writer, tmp_path, signal.SIGKILL, kill)


@pytest.mark.once
@every_writer
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_writer_that_is_told_to_end_leaves_nothing_else(
    writer: Writer, number: int, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    for kill in range(KILLS if is_thorough(pytestconfig) else 1):
        assert killed(writer, tmp_path, number, kill) == 0


@pytest.mark.dear("search/build")
@pytest.mark.parametrize("log", LOGS, ids=lambda one: one.module)
def test_a_log_has_all_that_was_written_before_it_was_killed(log: Log, tmp_path: Path) -> None:
    for kill in range(KILLS):
        path = tmp_path / str(kill) / "log"
        path.parent.mkdir()
        written, read = grown(log, path, kill)
        assert written <= read <= written + 1
