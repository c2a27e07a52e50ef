"""Whatever is done to a file, its reader takes it or refuses it with an error of ours, soon and without much memory."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import topodesign
from tests.fuzz.readers import READERS, Reader
from topodesign.base.errors import TopodesignError

ROOT = Path(topodesign.__file__).parent
OPENS = re.compile(r"\b(read_text|read_bytes|read_head|open_input|open_archive)\((?!encoding|\))")
SHIPPED = {"base/shipped", "base/text_files", "schedulers/stored", "catalog/budgets", "wiring/exports/formats"}
"""What reads only files of the package, or is what the others read by."""

WRONG = {
    "empty": b"",
    "one byte": b"\0",
    "no encoding": b"\xff\xfe\x80",
    "UTF-16": "{}".encode("utf-16"),
    "deep": b"[" * 100_000,
    "NaN": b'{"nodes": NaN, "links": [[NaN, Infinity, -Infinity]]}',
    "huge number": b'{"nodes": 1' + b"0" * 5000 + b', "links": []}',
    "twice": b'{"nodes": 2, "nodes": 2, "links": [[0, 1], [1, 0]]}',
    "unknown key": b'{"nodes": 2, "links": [[0, 1], [1, 0]], "nonsense": 1}',
    "formula": b"=1+1\n@x,+y\n",
    "lines without end": b"," * 100_000,
    "zip": b"PK\x03\x04" + b"\0" * 100,
    "entities": b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
    "anchors": b"a: &a [1]\nb: [*a, *a]\n",
}
FRAGMENTS = (
    b"NaN",
    b"-1",
    b"1e999",
    b"9" * 40,
    b"null",
    b"{}",
    b"[]",
    b'"',
    b"\0",
    b"\xff",
    b"\n",
    b",",
    b"=",
    "\u20ac".encode(),
)
every_reader = pytest.mark.parametrize("reader", READERS, ids=lambda one: f"{one.module}-{one.name}")


def tried(reader: Reader, path: Path) -> bool:
    """Whether the reader takes a file; it fails in no other way than it says."""
    try:
        reader.read(path)
    except TopodesignError as error:
        return not str(error)
    return True


def test_every_reader_is_in_the_table() -> None:
    found = {
        path.relative_to(ROOT).with_suffix("").as_posix()
        for path in ROOT.rglob("*.py")
        if OPENS.search(path.read_text(encoding="utf-8"))
    }
    assert found - SHIPPED == {reader.module for reader in READERS}


def test_nothing_else_opens_files() -> None:
    """Inputs are opened by one function; what is opened otherwise is a journal to append to, or what is printed to."""
    opens = re.compile(r"\.open\(\"r|[^.\w]open\(|os\.open\(|\.open\(encoding|np\.load\(|json\.load\(")
    found = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if opens.search(path.read_text())}
    assert found <= {"base/text_files.py", "base/atomic.py", "cli/main.py"}


@every_reader
def test_the_sample_is_taken(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / reader.name
    path.write_bytes(reader.sample())
    assert tried(reader, path)


@every_reader
def test_what_is_no_file_is_refused(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / reader.name
    if reader.module not in {"catalog/verify", "catalog/journal"}:  # which make what is missing
        assert not tried(reader, path)
    os.mkfifo(path)
    assert not tried(reader, path)
    path.unlink()
    path.symlink_to("/dev/zero")
    assert not tried(reader, path)


@every_reader
def test_wrong_content_is_refused(reader: Reader, tmp_path: Path) -> None:
    for number, content in enumerate(WRONG.values()):
        (tmp_path / str(number)).mkdir()
        path = tmp_path / str(number) / reader.name
        path.write_bytes(content)
        taken = tried(reader, path)
        assert not taken or not content or reader.module in {"cli/sources", "runtime/check", "catalog/journal"}


@every_reader
def test_mutations(reader: Reader, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    sample = reader.sample()
    random_ = random.Random(reader.module + reader.name)  # noqa: S311
    rounds = 1000 if pytestconfig.getoption("--thorough") else 25
    path = tmp_path / reader.name
    for _ in range(rounds):
        path.write_bytes(mutated(sample, random_))
        tried(reader, path)


def mutated(data: bytes, random_: random.Random) -> bytes:
    """Cut off, turn bits, put in what is unexpected, or repeat or leave out a part."""
    for _ in range(random_.randint(1, 3)):
        a, b = sorted(random_.randrange(len(data) + 1) for _ in range(2))
        kind = random_.randrange(5)
        if kind == 0:
            data = data[:a]
        elif kind == 1 and a < len(data):
            data = data[:a] + bytes([data[a] ^ 1 << random_.randrange(8)]) + data[a + 1 :]
        elif kind == 2:
            data = data[:a] + random_.choice(FRAGMENTS) + data[a + random_.randrange(4) :]
        elif kind == 3:
            data = data[:b] + data[a:b][:2000] + data[b:]
        else:
            data = data[:a] + data[min(b, a + 50) :]
    return data


@pytest.mark.thorough
def test_the_command_line_in_a_process_with_limits(tmp_path: Path) -> None:
    """No traceback, no hang and no more than 3 GiB, whatever stands on the line."""
    random_ = random.Random(1)  # noqa: S311
    words = [
        "evaluate",
        "links",
        "verify",
        "simulate",
        "wire",
        "plan",
        "-o",
        "--json",
        "circulant(",
        "circulant(6,1,2)",
    ]
    words += ["/dev/zero", "/dev/null", "-1", "1e999", "\u20ac", "=1", "a" * 5000, "(" * 500, "--size", "0B", "--help"]
    for _ in range(60):
        line = [sys.executable, "-m", "topodesign", *random_.choices(words, k=random_.randint(1, 6))]
        limited = ["bash", "-c", 'ulimit -v 3145728 -t 30; exec "$@"', "-", *line]
        done = subprocess.run(limited, capture_output=True, timeout=60, check=False, cwd=tmp_path)
        assert done.returncode in {0, 1, 2}, line
        assert b"Traceback" not in done.stderr, line
