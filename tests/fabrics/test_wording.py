"""Parts of a fabric in words: lists, and whole groups of nodes."""

from __future__ import annotations

import pytest

from topodesign.base.wording import listed
from topodesign.fabrics.presets import build_fabric
from topodesign.fabrics.wording import names_in_words


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
