"""When nodes are ready: every form says the same, and what is none is refused."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from topodesign.base.errors import ParameterError, TopodesignError, UnitError
from topodesign.base.latency import HOP, USUAL
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.node_values import Shards, as_costs, as_latency, as_ready, as_shards, latency_words
from topodesign.fabrics.presets import build_fabric
from topodesign.graphs.torus import torus

FABRIC = build_fabric("dgx_a100(1)")


def test_all_forms_say_the_same(tmp_path: Path) -> None:
    late = Fraction(1, 50000)
    wanted = (Fraction(0),) * 6 + (late, late) + (Fraction(0),) * (len(FABRIC.names) - 8)
    table = tmp_path / "ready.csv"
    table.write_text("node,ready\nbox0/gpu[67],20us\n")
    forms: list[Any] = ["box0/*=20us,box0/gpu[0-5]=0s", table, str(table), {"box0/gpu6": "20us", "box0/gpu7": late}]
    forms += [[0, 0, 0, 0, 0, 0, "20us", 2e-5], "0s,0s,0s,0s,0s,0s,20us,0.02ms"]
    for form in forms:
        assert as_ready(FABRIC, form) == wanted
    assert as_ready(FABRIC, "box0/gpu6=20us")[7] == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("nobody=1us", "no node or switch is named"),
        ("1us,2us", "2 times for 8 nodes"),
        ("box0/gpu1=7", "time '7'"),
        (7, "text, times or a mapping"),
        (Path("x.txt"), "ends in .csv"),
        ({"box0/gpu1": -1}, "-1"),
    ],
)
def test_what_is_no_time_is_refused(wrong: Any, words: str) -> None:
    with pytest.raises(TopodesignError, match=words):
        as_ready(FABRIC, wrong)


def test_a_file_says_in_which_line(tmp_path: Path) -> None:
    path = tmp_path / "ready.csv"
    path.write_text("node,ready\nbox0/gpu1,1us\nbox0/gpu2,soon\n")
    with pytest.raises(TopodesignError, match=r"ready\.csv.*line 3"):
        as_ready(FABRIC, path)


def test_shards_in_all_forms(tmp_path: Path) -> None:
    fabric = build_fabric("dgx_a100(1)")
    table = tmp_path / "shards.csv"
    table.write_text("node,size\nbox0/gpu1,2\n")
    wanted = (1, 2, 1, 1, 1, 1, 1, 1)
    halves: Shards = {"*": Fraction(1, 2), "box0/gpu1": "1"}
    forms: list[Shards] = ["box0/gpu1=2", table, {"box0/gpu1": 2}, halves, wanted, list(wanted)]
    for value in forms:
        assert as_shards(fabric, value) == wanted
    assert as_shards(fabric, "1,2,1,1,1,1,1,1") == wanted
    for wrong in ([1, 2], {"box0/gpu1": -1}, {"box0/gpu1": 0.1 + 0.2}, 7, tmp_path, {"*": 0}, [1.5] * 7 + [None]):
        with pytest.raises(TopodesignError):
            as_shards(fabric, wrong)  # type: ignore[arg-type]


def test_what_is_not_given_is_the_usual() -> None:
    assert as_latency() == USUAL
    assert as_latency("2us", "3us", 0).of_step(2, 5) == Fraction(5, 10**6)
    assert as_latency(hop=Fraction(1, 3)).hop == Fraction(1, 3)
    with pytest.raises(UnitError):
        as_latency(gap="soon")


def test_links_with_latencies_of_their_own_have_no_hops_beside() -> None:
    own = as_latency("fabric")
    assert own.alpha is None
    assert (own.gap, own.hop) == (USUAL.gap, Fraction(0))
    assert as_latency("fabric", hop=HOP).hop == HOP


def test_words_are_of_what_counts() -> None:
    switched, wired = build_fabric("fat_tree(2,2,2)"), Fabric.from_topology(torus(3, 3))
    assert latency_words(USUAL, wired) == "alpha 10us"
    assert latency_words(USUAL, switched) == "alpha 10us, gap 200ns, hop 300ns"
    assert latency_words(as_latency("fabric"), switched) == "the fabric's own latencies, gap 200ns"


def test_of_what_fits_a_class_the_last_counts() -> None:
    """A class without a given cost costs nothing; without any input there are no costs at all."""
    fabric = build_fabric("dgx_a100(2)")
    assert as_costs(fabric, ()) == {}
    assert as_costs(fabric, "NVLink=1/2") == {"NVLink": Fraction(1, 2), "InfiniBand": 0}
    assert as_costs(fabric, {"*": 3, "Infini*": 0.5}) == {"NVLink": 3, "InfiniBand": Fraction(1, 2)}


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (["NVLink"], "CLASS=COST"),
        ("NVLnk=1", "no link has the class 'NVLnk'"),
        ({"NVLink": -1}, "from 0 to"),
        ("NVLink=1e9", "from 0 to"),
        ("NVLink=dear", "is a number"),
        ("NVLink=1/0", "is a number"),
        ({"NVLink": float("nan")}, "is a number"),
    ],
)
def test_what_is_no_cost_is_refused(costs: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        as_costs(build_fabric("dgx_a100(1)"), costs)
