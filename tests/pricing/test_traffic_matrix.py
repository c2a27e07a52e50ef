"""Matrices of traffic: what is drawn adds up and is the same every time, and files say the line of what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from topodesign.base.errors import FileFormatError
from topodesign.pricing.traffic_matrix import as_matrix


@pytest.mark.parametrize("name", ["zipf:0", "zipf:1.5", "dirichlet:0.2", "dirichlet:5"])
def test_every_node_draws_all_its_tokens(name: str) -> None:
    matrix = as_matrix(name, 12, tokens=500, seed=3)
    assert matrix.sum(axis=1).tolist() == [500] * 12
    assert (matrix == as_matrix(name, 12, tokens=500, seed=3)).all()
    assert (matrix != as_matrix(name, 12, tokens=500, seed=4)).any()


def test_the_popular_are_so_with_all_of_zipf_alone() -> None:
    zipf, own = as_matrix("zipf:2", 8, tokens=9000), as_matrix("dirichlet:0.1", 8, tokens=9000)
    assert len(set(zipf.argmax(axis=1).tolist())) == 1
    assert len(set(own.argmax(axis=1).tolist())) > 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,x\n1,0\n", "line 1: 'x' is no"),
        ("0,1\n1\n", "line 2: 1 numbers"),
        ("# a\n", "no numbers"),
        ("0,-1\n1,0\n", "'-1'"),
    ],
)
def test_files_say_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=words):
        as_matrix(path, 2)
