"""Parts of a fabric and shard sizes of its nodes, from Python."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from topodesign.base.errors import ParameterError, TopodesignError
from topodesign.fabrics.part import nodes_named, part_of
from topodesign.fabrics.presets import build_fabric
from topodesign.fabrics.shards import Shards, as_shards, read_shards


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


def test_shards_in_all_forms(tmp_path: Path) -> None:
    fabric = build_fabric("dgx_a100(1)")
    table = tmp_path / "shards.csv"
    table.write_text("node,size\nbox0/gpu1,2\n")
    wanted = (1, 2, 1, 1, 1, 1, 1, 1)
    halves: Shards = {"*": Fraction(1, 2), "box0/gpu1": "1"}
    forms: list[Shards] = ["box0/gpu1=2", table, {"box0/gpu1": 2}, halves, wanted, list(wanted)]
    for value in forms:
        assert as_shards(fabric, value) == wanted
    assert read_shards(fabric, "1,2,1,1,1,1,1,1") == wanted
    for wrong in ([1, 2], {"box0/gpu1": -1}, {"box0/gpu1": 0.1 + 0.2}, 7, tmp_path, {"*": 0}, [1.5] * 7 + [None]):
        with pytest.raises(TopodesignError):
            as_shards(fabric, wrong)  # type: ignore[arg-type]
