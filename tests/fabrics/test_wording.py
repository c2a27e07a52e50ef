"""Parts of a fabric in words: rates, lists, and whole groups of nodes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign.base.wording import listed
from topodesign.fabrics.presets import build_fabric
from topodesign.fabrics.wording import brief_speed, names_in_words, speed


@pytest.mark.parametrize(
    ("rate", "exact", "brief"),
    [
        (Fraction(325 * 10**9), "325.000 GB/s", "325 GB/s"),
        (Fraction(5 * 10**8), "0.500 GB/s", "0.5 GB/s"),
        (Fraction(10**8), "0.100 GB/s", "0.1 GB/s"),
        (Fraction(10**8 - 1), "100.000 MB/s", "100 MB/s"),
        (Fraction(10**4, 3), "3.333 kB/s", "3.333 kB/s"),
        (Fraction(1, 2), "0.500 B/s", "0.5 B/s"),
    ],
)
def test_speeds(rate: Fraction, exact: str, brief: str) -> None:
    assert (speed(rate), brief_speed(rate)) == (exact, brief)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c", "d"], "a, b, c and d"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_lists(words: list[str], text: str) -> None:
    assert listed(words) == text


def test_whole_groups_go_by_their_beginning() -> None:
    fabric = build_fabric("dgx_a100(2)")
    of_box = [node for node in fabric.compute if fabric.names[node].startswith("box1/")]
    assert names_in_words(fabric, of_box).strip("/") == "box1"
    assert names_in_words(fabric, of_box[:1]) == fabric.names[of_box[0]]
    assert names_in_words(fabric, fabric.compute).replace("/", "") == "box0 and box1"
