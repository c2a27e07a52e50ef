"""What is kept for all-to-all: read as it was written, unbeaten, and refused where it was damaged."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from topodesign.base.errors import CatalogError
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.exchange import EXCHANGE, Exchange, unbeaten

EXACT = Bounds(Fraction(7, 4), Fraction(7, 4))
KEPT = [Exchange(n, n % 2 == 0, 3, EXACT, f"circulant({n},1,2)") for n in range(9, 15)]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert EXCHANGE.known(tmp_path, 4, 0, 100) == []
    with pytest.raises(CatalogError):
        list(EXCHANGE.lines(tmp_path, 4, 0, 100))
    EXCHANGE.write(tmp_path, 4, reversed(KEPT))
    assert list(EXCHANGE.lines(tmp_path, 4, 0, 100)) == EXCHANGE.known(tmp_path, 4, 0, 100) == KEPT
    assert list(EXCHANGE.lines(tmp_path, 4, 10, 11)) == KEPT[1:3]


def test_of_one_size_what_no_other_beats_is_kept() -> None:
    one = KEPT[0]
    less, longer = Bounds(Fraction(3, 2), Fraction(3, 2)), replace(one, steps=4, spec="a")
    better = replace(longer, all_to_all=less, spec="b")
    assert unbeaten([longer, better, one]) == [one, better]
    duplex = replace(longer, duplex=True, spec="c")
    assert unbeaten([duplex, better, one]) == [one, better, duplex]


@pytest.mark.parametrize("damage", ["cut", "edited", "header", "binary", "wiring", "cells"])
def test_a_damaged_file_is_an_error_that_says_where(tmp_path: Path, damage: str) -> None:
    path = EXCHANGE.write(tmp_path, 4, KEPT)
    assert path == EXCHANGE.path(tmp_path, 4)
    text = path.read_text()
    changed = {
        "binary": "\x00\x01",
        "cut": text[: len(text) // 2],
        "header": "x" + text,
        "edited": text.replace("circulant(9", "circulant(8"),
        "wiring": text.replace("simplex", "both"),
        "cells": text.replace("simplex\t", ""),
    }
    path.write_text(changed[damage])
    with pytest.raises(CatalogError, match=path.name):
        list(EXCHANGE.lines(tmp_path, 4, 0, 100))
