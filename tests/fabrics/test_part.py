"""Parts of a fabric and shard sizes of its nodes, from Python."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign.base.errors import ParameterError
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.part import nodes_named, select_part
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.optimum import optimum


def test_one_text_or_several() -> None:
    fabric = build_fabric("mi250(1)")
    assert select_part(fabric) is fabric
    some = select_part(fabric, "box0/gcd[0-7]", "forward", without="box0/gcd0-box0/gcd1")
    assert some == select_part(fabric, [f"box0/gcd{i}" for i in range(8)], "forward", ["box0/gcd1-box0/gcd0"])
    assert str(some) == "part of mi250(1): 8 nodes, 8 switches"
    one_way = select_part(fabric, without="box0/gcd0>box0/gcd1")
    assert len(one_way.links()) == len(fabric.links()) - 1
    assert list(nodes_named(fabric, "*/gcd1[0-9]")) == [f"box0/gcd{i}" for i in range(10, 16)]
    assert some == select_part(fabric, np.arange(8), "forward", "box0/gcd0-box0/gcd1")
    assert select_part(fabric, without=[3, "box0/gcd5"]) == select_part(fabric, without=["box0/gcd3", "box0/gcd5"])
    with pytest.raises(ParameterError, match="a node must be from 0 to"):
        select_part(fabric, 99)
    with pytest.raises(ParameterError, match="others 'stay'"):
        select_part(fabric, "box0/gcd0", "stay")  # type: ignore[arg-type]


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_a_degraded_link_is_one_that_never_was_faster(data: st.DataObject) -> None:
    """Against a fabric whose links are made with less from the start, and against maximum flows."""
    fabric = build_fabric(data.draw(st.sampled_from(["dgx_a100(2)", "mi250(1)", "rail_optimised(3,2)"])))
    link = data.draw(st.sampled_from(fabric.links()))
    share = data.draw(st.fractions(Fraction(1, 8), Fraction(7, 8), max_denominator=8))
    both = data.draw(st.booleans())
    part = select_part(fabric, without=f"{link.src}{'-' if both else '>'}{link.dst}={share}")
    hit = {(link.src, link.dst)} | ({(link.dst, link.src)} if both else set())
    links = [one._replace(bandwidth=one.bandwidth * (share if one[:2] in hit else 1)) for one in fabric.links()]
    switches = [fabric.names[node] for node in sorted(fabric.topology.switches)]
    nodes = [fabric.names[node] for node in fabric.compute]
    made = Fabric.from_links(part.name, nodes, switches, links)
    assert sorted(part.links()) == sorted(made.links())
    rate = optimum(part).bandwidth
    for root in made.compute:  # n - 1 shards into every node, from all the others
        flow = nx.DiGraph()
        flow.add_weighted_edges_from(
            ((u, v, made.unit * d["capacity"]) for u, v, d in made.topology.to_networkx().edges(data=True)), "capacity"
        )
        shard = rate / len(made.compute)
        flow.add_weighted_edges_from((("all", node, shard) for node in made.compute if node != root), "capacity")
        assert nx.maximum_flow_value(flow, "all", root) == shard * (len(made.compute) - 1)


def test_patterns_and_shares_of_links() -> None:
    fabric = build_fabric("dgx_h100(2)")
    part = select_part(fabric, without=["box0/gpu*-rail*=1/4", "box1/gpu[01]-rail*"])
    rates = {one[:2]: one.bandwidth / 10**9 for one in part.links()}
    assert rates["box0/gpu5", "rail5"] == rates["rail5", "box0/gpu5"] == Fraction(25, 2)
    assert ("box1/gpu0", "rail0") not in rates
    assert rates["box1/gpu2", "rail2"] == 50
    for word, message in [
        ("box0/gpu0-rail0=2", "a share such as 0.5 or 1/2"),
        ("box0/gpu0-rail0=0", "a share such as 0.5 or 1/2"),
        ("box0/gpu0-rail0=1/0", "a share such as 0.5 or 1/2"),
        ("rail*-rail*", "no link joins 'rail.' and 'rail.'"),
        ("box0/gpu0-rail1=1/2", "there is no link between 'box0/gpu0' and 'rail1'"),
        ("box7/*-rail0=1/2", r"is named .box7"),
    ]:
        with pytest.raises(ParameterError, match=message):
            select_part(fabric, without=word)


def test_names_may_have_the_sign_of_a_share() -> None:
    names = ["=a", "b=1/2", "c"]
    links = [FabricLink(u, v, Fraction(10**9), "x") for u in names for v in names if u != v]
    fabric = Fabric.from_links("f", names, (), links)
    assert len(select_part(fabric, without=["=a-b=1/2"]).links()) == 4
    assert len(select_part(fabric, without=["c>b=1/2"]).links()) == 5
    halved = select_part(fabric, without=["=a-c=1/2"])
    assert len(halved.links()) == 6
    assert min(link.bandwidth for link in halved.links()) == Fraction(10**9, 2)
