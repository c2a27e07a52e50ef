"""Measured times choose plans: where two measured lines cross, and what cannot be read is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from topodesign import compile_library, read_plan_set
from topodesign.base.errors import FileFormatError
from topodesign.compiler.library import between, read_measured

HEAD = "collective,method,size,time\n"
ROWS = "allreduce,forest,1KiB,10us\nallreduce,forest,1MiB,100us\nallreduce,ring,1KiB,20us\nallreduce,ring,1MiB,60us\n"


def write(tmp_path: Path, rows: str) -> Path:
    path = tmp_path / "measured.csv"
    path.write_text(HEAD + rows)
    return path


def test_plans_change_where_measured_lines_cross(tmp_path: Path) -> None:
    """10 + 90 t and 20 + 40 t microseconds meet at t = 1/5 of the way from 1 KiB to 1 MiB."""
    names = ["allreduce", "allgather"]
    made = compile_library("biring(2,4)", names, targets=[], measured=write(tmp_path, ROWS))
    first, second, other = made.entries
    meet = 1024 + Fraction(2**20 - 1024, 5)
    assert (first.method, first.from_bytes, second.method) == ("forest", 0, "ring")
    assert first.to_bytes == second.from_bytes == -(-meet.numerator // meet.denominator)
    assert (first.measured, second.measured, other.measured) == (True, True, False)
    assert first.time_s == pytest.approx(10e-6)
    assert second.time_s == pytest.approx(28e-6, rel=1e-4)
    made.save(tmp_path / "plans")
    entries = read_plan_set(tmp_path / "plans").entries
    assert [one.measured for one in entries] == [True, True, False]
    assert [one.time_s for one in entries] == [one.time_s for one in made.entries]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("allreduce,best,1KiB,1us\n", "line 2: 'best' is not known"),
        ("all,ring,1KiB,1us\n", "line 2: 'all' is not known"),
        ("allreduce,ring,1KiB,1us\n", "lacks a second size"),
        ("allreduce,ring,1KiB,1us\nallreduce,ring,1024B,1us\n", "line 3: the size 1024B is there already"),
        (ROWS + "allreduce,ring,2MiB,90us\n", "allreduce by forest lacks 2MiB"),
        ("allreduce,ring,1KiB,fast\n", "line 2"),
        ("allreduce,ring,1KiB\n", "line 2"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, rows: str, words: str) -> None:
    with pytest.raises(FileFormatError, match=words):
        read_measured(write(tmp_path, rows), ["ring", "forest"])


def test_beyond_what_was_measured_lines_go_on() -> None:
    times = {10: Fraction(1), 20: Fraction(2), 40: Fraction(6)}
    assert [between(times, size) for size in (0, 15, 30, 50)] == [0, Fraction(3, 2), 4, 8]
