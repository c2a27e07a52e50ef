"""Prices of groups: what is known, what must hold between them, and what two programs say of the same."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import few
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.fabrics.part import Others
from topodesign.optima.fluid import packing
from topodesign.optima.forest.allreduce import allreduce_optimum
from topodesign.optima.forest.bottleneck import optimum
from topodesign.optima.group_price import price_groups
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.library import build


@pytest.mark.parametrize("spec", ["torus(3,3)", "circulant(8,1,3)", "line(diamond())", "genkautz(2,7)"])
def test_one_group_of_all_is_the_optimum_of_forests(spec: str) -> None:
    topology = build(spec)
    factor = topology.degree * optimum(topology).inverse_rate / topology.nodes
    assert price_groups(spec, "allgather").bandwidth == factor
    back = topology.degree * optimum(topology.transpose()).inverse_rate / topology.nodes
    assert price_groups(spec, "reduce-scatter").bandwidth == back
    both = price_groups(spec, "allreduce")
    assert both.in_turn == factor + back
    assert both.bandwidth == topology.degree / allreduce_optimum(topology).throughput <= factor + back


@pytest.mark.dear("allgather", "broadcast", "reduce", "reduce-scatter")
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "broadcast", "reduce", "scatter", "all-to-all"])
@given(data=st.data())
@settings(max_examples=len(few(range(6), 2)))
def test_together_is_no_faster_than_alone_nor_slower_than_in_turn(collective: str, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(9)))
    cut = data.draw(st.integers(2, 7))
    some = [sorted(order[:cut]), sorted(order[cut:])]
    root = "first" if collective in {"broadcast", "reduce", "scatter"} else None
    both = price_groups("torus(3,3)", collective, some, root=root)
    single = [price_groups("torus(3,3)", collective, [one], root=root).bandwidth for one in some]
    assert max(single) == both.alone <= both.bandwidth <= sum(single)
    assert both.contention >= 1


@pytest.mark.parametrize(("collective", "factor"), [("allgather", 3), ("all-to-all", 2), ("allreduce", 6)])
def test_rings_that_share_nothing(collective: str, factor: int) -> None:
    """In a ring of 4 with 2 of the 4 ports: an allgather takes 3/4 over half the bandwidth, an all-to-all 1/2 of 2."""
    for others in ("vanish", "forward"):
        found = price_groups("torus(4,4)", collective, "4x4:0", others=others)
        assert found.bandwidth == Fraction(factor, 2 if collective != "all-to-all" else 1)


def test_switches_forward_whatever_others_do() -> None:
    for others in ("vanish", "forward"):
        found = price_groups("dgx_a100(1)", "allgather", "2x4:0", others=others)
        assert found.bandwidth == found.alone == Fraction(1, 2)


@pytest.mark.parametrize("others", ["vanish", "forward"])
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "all-to-all", "scatter", "broadcast"])
def test_links_between_switches_are_shared_even_where_others_vanish(collective: str, others: Others) -> None:
    """Two pairs across leaves that have one uplink each, no wider than a host's link: each has half of it."""
    pairs = ["leaf0/host0,leaf1/host0", "leaf0/host1,leaf1/host1"]
    root = "first" if collective in {"scatter", "broadcast"} else None
    found = price_groups("fat_tree(2,2,1,2)", collective, pairs, others=others, root=root)
    assert found.contention == 2
    alone = price_groups("fat_tree(2,2,1,2)", collective, pairs[:1], others=others, root=root and "leaf0/host0")
    assert found.alone == alone.bandwidth


@pytest.mark.parametrize("others", ["vanish", "forward"])
@pytest.mark.parametrize(
    ("spec", "group"), [("dgx_a100(2)", "8x2:1"), ("dgx_a100(2)", "4x4:0"), ("fat_tree(4,4,2,3)", "2x8:1")]
)
def test_paths_of_groups_take_the_time_that_is_priced(spec: str, group: str, others: Others) -> None:
    plan = schedule(spec, "all-to-all", group=group, others=others)
    ports = plan.topology.out_ports[list(plan.fabric.compute)].max()
    shards = plan.collective.shards(len(plan.fabric.compute))
    price = price_groups(spec, "all-to-all", group, others=others).bandwidth
    assert price == int(ports) * plan.claim["inv_x_star"] * plan.fabric.unit / shards


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"group": ["0,1", "1,2"]}, "node '1' is in group 0 and in group 1"),
        ({"group": "4x5:0"}, "4x5 are 20 ranks, and there are 16 nodes"),
        ({"group": ["0,x"]}, "named 'x'"),
        ({"collective": "broadcast", "group": "4x4:0"}, "requires a root"),
        ({"collective": "allgather", "root": 0}, "has no root"),
        ({"collective": "broadcast", "group": "4x4:0", "root": "0,1,2,3"}, "root '1' of the broadcast is not one of"),
        ({"collective": "broadcast", "group": "4x4:0", "root": "0"}, "1 root for 4 groups"),
        ({"others": "stay"}, "others 'stay'"),
        ({"collective": "gossip"}, "unknown collective"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        price_groups("torus(4,4)", **options)


@pytest.mark.parametrize(
    ("group", "root", "words"),
    [
        ([[0, 1], [1, 2]], None, "node 'box0/gpu1' is in group 0 and in group 1"),
        ([[0, 1], [2, 16]], None, "'box0/nvswitch' is a switch"),
        ([[0, 1], [2, 3]], [0, 1], "the root 'box0/gpu1' of the broadcast is not one of its members"),
    ],
)
def test_errors_name_nodes(group: list[list[int]], root: list[int] | None, words: str) -> None:
    for ask in (price_groups, schedule):
        with pytest.raises(ParameterError, match=words):
            ask(
                "dgx_a100(2)",
                "allgather" if root is None else "broadcast",
                group=group,
                root=None if root is None else ",".join(f"box0/gpu{at}" for at in root),
            )


def test_members_out_of_reach_and_programs_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for collective, words in (
        ("allgather", "no way leads from '0' to '10'"),
        ("all-to-all", "no way from 0 to 10 over its own group"),
    ):
        with pytest.raises(InfeasibleError, match=words):
            price_groups("torus(4,4)", collective, ["0,10"], others="vanish")
    monkeypatch.setattr(packing, "MAX_SOURCES", 0)
    for collective in ("allgather", "allreduce"):
        with pytest.raises(TooLargeError, match="too many to prove"):
            price_groups("torus(4,4)", collective, "4x4:0")


@pytest.mark.parametrize(
    ("group", "others"), [("4x4:0", "forward"), ("4x4:0", "vanish"), (("0,1,6", "9,2"), "forward")]
)
def test_both_phases_at_once_are_no_slower_and_what_is_said_names_it(group: Any, others: Others) -> None:
    found = price_groups("mesh(4,4)", "allreduce", group, others=others)
    assert found.in_turn is not None
    assert found.floor <= found.bound == found.bandwidth <= found.in_turn
    assert found.alone <= found.bandwidth
    assert "over trees of the members" in found.heading()
    assert [claim.record() for claim in found.claims] == found.record()["claims"]


def test_what_is_too_large_for_both_at_once_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = price_groups("mesh(4,4)", "allreduce", "4x4:0")
    monkeypatch.setattr(packing, "MAX_SOURCES", 4)
    found = price_groups("mesh(4,4)", "allreduce", "4x4:0")
    assert found.bandwidth == found.in_turn == exact.in_turn
    assert found.bound == found.floor <= exact.bandwidth < found.bandwidth
    assert not found.record()["proven"]
    assert " of the lower bound: " in found.heading()


def test_switches_that_copy_and_add_count_where_all_take_part() -> None:
    found = price_groups("dgx_h100(1)", "allreduce")
    assert found.bandwidth == 1
    assert found.in_turn == Fraction(7, 4)
    assert found.bandwidth == found.floor
