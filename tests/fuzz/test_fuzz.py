"""Whatever is done to a file, its reader takes it or refuses it with an error of ours, soon and without much memory."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import topodesign
from tests.conftest import is_thorough
from tests.fuzz import lines, specs, table
from tests.fuzz.defects import DEFECTS, DOES_WITHOUT
from tests.fuzz.outputs import COMMANDS, FEW, SLOW
from tests.fuzz.readers import READERS, Reader
from tests.fuzz.table import tried

ROOT = Path(topodesign.__file__).parent
OPENS = re.compile(r"\b(read_text|read_bytes|read_head|open_input|open_archive)\((?!encoding|\))")
SHIPPED = {
    "runtime/doctor",  # logs, which may be anything and of any size
    "base/shipped",
    "base/text_files",
    "schedulers/stored",
    "wiring/exports/export",
}
"""What reads only files of the package, or is what the others read by, or tell by what they could not read."""

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
every_reader = pytest.mark.parametrize("reader", READERS, ids=lambda one: f"{one.module}-{one.name}")


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
    assert found <= {"base/text_files.py", "base/atomic.py", "cli/main.py", "__main__.py"}


@pytest.mark.dear("runtime/jax/check-m.py")
@every_reader
def test_the_sample_is_taken(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / reader.name
    path.write_bytes(reader.sample())
    assert tried(reader, path)


@every_reader
def test_what_is_no_file_is_refused(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / reader.name
    if reader.module not in DOES_WITHOUT:
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
        assert not taken or not content or reader.module in {"base/file_kinds", "runtime/check", "search/build"}


@every_reader
def test_every_defect_is_taken_or_refused(reader: Reader, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """The table has no empty cell, for every reader's format has all kinds of defects."""
    rounds = 200 if is_thorough(pytestconfig) else 2
    for defect in DEFECTS:
        assert table.cell(reader, defect, tmp_path / "made", rounds=rounds, seed=0).tried >= rounds, defect


def test_the_table_shows_every_cell() -> None:
    cells = {defect: table.Cell(4, 3) for defect in DEFECTS}
    lines = table.text([(reader, cells) for reader in READERS]).splitlines()
    assert len(lines) == len(READERS) + 2
    assert all(line.count("3/4") == len(DEFECTS) for line in lines[1:-1])
    assert lines[-1].split()[1] == f"{3 * len(READERS)}/{4 * len(READERS)}"


def test_specs_are_built_or_refused(pytestconfig: pytest.Config) -> None:
    count = 5000 if is_thorough(pytestconfig) else 250
    seen = specs.tries(count, seed=0)
    assert seen["refused"] > count // 2
    assert seen["taken"] > 0
    assert seen["refused"] + seen["taken"] == count


def test_command_lines_end_in_order(tmp_path: Path) -> None:
    seen = lines.tries(5, seed=0, folder=tmp_path / "made", limited=False)
    assert seen[2] > 1


@pytest.mark.thorough
def test_command_lines_end_in_order_in_processes_with_limits(tmp_path: Path) -> None:
    assert lines.tries(100, seed=1, folder=tmp_path / "made", limited=True).total() == 100


# -- the same command gives the same bytes, whatever the hash seed of the process and however many processes there ----


def sums(folder: Path, seed: int, *words: str) -> str:
    """The checksums of all outputs, made in a process of its own."""
    command = [sys.executable, "-m", "tests.fuzz.outputs", str(folder), *words]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.dear
def test_outputs_depend_on_no_hash_and_no_count_of_jobs(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    thorough = is_thorough(pytestconfig)
    runs = list(itertools.product(range(5), "123")) if thorough else [(0, "1"), (7, "2")]
    seen = {sums(tmp_path / f"{seed} {jobs}", seed, jobs, *([] if thorough else ["quick"])) for seed, jobs in runs}
    (said,) = seen
    lines = said.splitlines()
    ran = [line for line in lines if line[:2] in {"0 ", "1 "}]
    assert len(ran) == sum(thorough or not one.startswith(SLOW) for one in COMMANDS)  # none was refused
    assert len(lines) - len(ran) >= 20


@pytest.mark.budget(8)
def test_a_few_outputs_depend_on_no_hash(tmp_path: Path) -> None:
    first, second = (sums(tmp_path / str(seed), seed, "1", "few") for seed in (0, 7))
    assert first == second
    assert sum(line[:2] in {"0 ", "1 "} for line in first.splitlines()) == len(FEW)
