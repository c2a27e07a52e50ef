"""Parts of a fabric and shard sizes of its nodes, from Python."""

from __future__ import annotations

import numpy as np
import pytest

from topodesign.base.errors import ParameterError
from topodesign.fabrics.part import nodes_named, part_of
from topodesign.fabrics.presets import build_fabric


def test_one_text_or_several() -> None:
    fabric = build_fabric("mi250(1)")
    assert part_of(fabric) is fabric
    some = part_of(fabric, "box0/gcd[0-7]", "forward", without="box0/gcd0-box0/gcd1")
    assert some == part_of(fabric, [f"box0/gcd{i}" for i in range(8)], "forward", ["box0/gcd1-box0/gcd0"])
    assert str(some) == "part of mi250(1): 8 nodes, 8 switches"
    one_way = part_of(fabric, without="box0/gcd0>box0/gcd1")
    assert len(one_way.links()) == len(fabric.links()) - 1
    assert list(nodes_named(fabric, "*/gcd1[0-9]")) == [f"box0/gcd{i}" for i in range(10, 16)]
    assert some == part_of(fabric, np.arange(8), "forward", "box0/gcd0-box0/gcd1")
    assert part_of(fabric, without=[3, "box0/gcd5"]) == part_of(fabric, without=["box0/gcd3", "box0/gcd5"])
    with pytest.raises(ParameterError, match="a node must be from 0 to"):
        part_of(fabric, 99)
    with pytest.raises(ParameterError, match="others 'stay'"):
        part_of(fabric, "box0/gcd0", "stay")  # type: ignore[arg-type]
