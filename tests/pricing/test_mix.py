"""What a step sends: the file is read strictly, and errors say the line and what to do."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from topodesign import copy_examples
from topodesign.base.errors import FileFormatError
from topodesign.pricing.mix import Mix, Share, read_mix, single


def test_the_example_is_read(tmp_path: Path) -> None:
    [path] = copy_examples(["workload_moe.yaml"], tmp_path)
    mix = read_mix(path)
    assert mix.name == "mixture of experts, 32 layers"
    assert mix.shares == (
        Share("all-to-all", Fraction(64 * 2**20), 64),
        Share("allreduce", Fraction(48 * 2**20), 32),
    )
    assert mix.words == "64 x all-to-all 64MiB + 32 x allreduce 48MiB"
    assert mix.record()["collectives"][1] == {"collective": "allreduce", "size_bytes": 48 * 2**20, "count": 32}


def test_json_is_read_and_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    path = tmp_path / "step.json"
    path.write_text('{"collectives": [{"collective": "all-to-all", "size": "1MB"}]}')
    assert read_mix(path) == Mix("step", (Share("all-to-all", Fraction(10**6), 1),))
    assert single("all-to-all", Fraction(10**6)).shares == read_mix(path).shares


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "this is an empty file, not a list of collectives"),
        ("[1, 2]", "line 1: workload: expected the fields"),
        ("name: x", "the field 'collectives' is missing"),
        ("collectives: []", "at least one"),
        ("collectives: 3", "at least one"),
        ("collectives:\n  - {collective: alltoall, size: 1MB}", "line 2: .*did you mean 'all-to-all'"),
        ("collectives:\n  - {collective: broadcast, size: 1MB}", "known are allreduce"),
        ("collectives:\n  - {collective: allreduce}", "the field 'size' is missing"),
        ("collectives:\n  - {collective: allreduce, size: large}", "line 2: collective 1: size"),
        ("collectives:\n  - {collective: allreduce, size: 1MB, count: 0}", "whole number"),
        ("collectives:\n  - {collective: allreduce, size: 1MB, count: -2}", "whole number"),
        ("collectives:\n  - {collective: allreduce, size: 1MB, times: 2}", "unknown field 'times'"),
        ("collectives:\n  - {collective: allreduce, size: 1MB, size: 2MB}", "twice|not YAML|same"),
        ("collectives: [allreduce]", "expected the fields"),
        ("a: &x 1\nb: *x", "line"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=said) as error:
        read_mix(path)
    assert str(error.value).startswith(str(path))


def test_other_files_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.yaml", tmp_path, tmp_path / "w.csv"):
        with pytest.raises(FileFormatError):
            read_mix(path)
