"""Parts of a fabric and shard sizes of its nodes, from Python."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign import build, read_fabric
from topodesign.base.errors import ParameterError, SpecError, TopodesignError
from topodesign.base.spec import Spec, parse
from topodesign.fabrics.boxes import box_of, exchange, get_box, join, wire_boxes
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.groups import as_groups, as_placement, roots_of
from topodesign.fabrics.part import nodes_named, select_part
from topodesign.fabrics.places import as_fabric
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
        ("box0/gpu0-rail0=2", "a number such as 0.5 or 1/2"),
        ("box0/gpu0-rail0=0", "a number such as 0.5 or 1/2"),
        ("box0/gpu0-rail0=0.0", "a number such as 0.5 or 1/2"),
        ("box0/gpu0-rail0=1/0", "a number such as 0.5 or 1/2"),
        ("rail*-rail*", "no link joins 'rail.' and 'rail.'"),
        ("box0/gpu0-rail1=1/2", "there is no link between 'box0/gpu0' and 'rail1'"),
        ("box7/*-rail0=1/2", r"is named .box7"),
        ("box0/gpu3-rail77", "named 'rail77'; links of 'box0/gpu3' go to box0/nvswitch and rail3"),
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


# -- Groups and placements: what is written is what is meant, and what is wrong is reported


FABRIC = as_fabric("dgx_a100(1)")
PLAIN = as_fabric("torus(2,3)")


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_groups_along_axes_cut_the_ranks_into_equal_parts_that_differ_there_alone(
    shape: list[int], data: st.DataObject
) -> None:
    ranks = math.prod(shape)
    fabric = as_fabric(f"complete({ranks})") if ranks > 1 else as_fabric("complete(2)")
    if ranks == 1:
        shape = [2]
        ranks = 2
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1).map(sorted))
    placement = data.draw(st.permutations(range(ranks)))
    groups = as_groups(fabric, f"{'x'.join(map(str, shape))}:{','.join(map(str, axes))}", placement)
    assert sorted(itertools.chain.from_iterable(groups)) == list(range(ranks))
    assert {len(group) for group in groups} == {math.prod(shape[axis] for axis in axes)}

    def place(rank: int) -> list[int]:
        digits = []
        for size in shape:
            rank, digit = divmod(rank, size)
            digits.append(digit)
        return digits

    rank_of = {node: rank for rank, node in enumerate(placement)}
    for group in groups:
        rest = {tuple(d for at, d in enumerate(place(rank_of[node])) if at not in axes) for node in group}
        assert len(rest) == 1


def test_groups_by_names_patterns_files_and_lists(tmp_path: Path) -> None:
    assert as_groups(FABRIC, ["box0/gpu[01]", "box0/gpu7,box0/gpu6"]) == ((0, 1), (7, 6))
    assert as_groups(FABRIC, [["box0/gpu0", 1], (2, 3)]) == ((0, 1), (2, 3))
    path = tmp_path / "groups.csv"
    path.write_text("node,group\n0,a\n1,b\n2,a\n", encoding="utf-8")
    assert as_groups(PLAIN, str(path)) == as_groups(PLAIN, path) == ((0, 2), (1,))
    ranks = tmp_path / "ranks.csv"
    ranks.write_text("rank,node\n" + "".join(f"{5 - node},{node}\n" for node in range(6)), encoding="utf-8")
    assert as_placement(PLAIN, ranks) == (5, 4, 3, 2, 1, 0) == as_placement(PLAIN, "5,4,3,2,1,0")
    assert as_groups(PLAIN, "2x3:0", ranks) == ((5, 4), (3, 2), (1, 0))


def test_roots_of_groups() -> None:
    groups = ((0, 1), (2, 3))
    assert roots_of(PLAIN, "first", groups) == (0, 2)
    assert roots_of(PLAIN, "1,2", groups) == (1, 2) == roots_of(PLAIN, [1, "2"], groups)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: as_groups(PLAIN, "2x4:0"), "2x4 are 8 ranks, and there are 6 nodes"),
        (lambda: as_groups(PLAIN, "2x3:2"), "2x3 has axes 0 to 1, not 2"),
        (lambda: as_groups(PLAIN, "2x3:0,0"), "named twice"),
        (lambda: as_groups(PLAIN, "2x3"), "a shape and axes"),
        (lambda: as_groups(PLAIN, "0,,1"), "names or patterns"),
        (lambda: as_groups(PLAIN, "0,9"), "named '9'"),
        (lambda: as_groups(FABRIC, "box0/nvswitch"), "is a switch"),
        (lambda: as_groups(PLAIN, 7), "groups are text or lists"),  # type: ignore[arg-type]
        (lambda: as_groups(PLAIN, [7]), "a group is a list of nodes"),  # type: ignore[list-item]
        (lambda: as_groups(PLAIN, [[0, 9]]), "from 0 to 5"),
        (lambda: as_placement(PLAIN, "0,1,2,3,4"), "it lacks 5"),
        (lambda: as_placement(PLAIN, "0,1,2,3,4,5,5"), "one is named twice"),
        (lambda: as_placement(PLAIN, 3), "a list of nodes or a .csv file"),  # type: ignore[arg-type]
        (lambda: roots_of(PLAIN, "1", ((0, 1), (2, 3))), "1 root for 2 groups"),
        (lambda: roots_of(PLAIN, 1, ((0, 1), (2, 3))), "1 root for 2 groups"),
    ],
)
def test_what_is_wrong_is_said(call: Any, words: str) -> None:
    with pytest.raises(TopodesignError, match=words):
        call()


@pytest.mark.parametrize("text", ["rank,node\n0,0\n0,1\n", "rank,node\n1,0\n", "rank,node\nx,0\n", "node\n0\n"])
def test_files_that_are_no_placements_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "ranks.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TopodesignError, match=str(path)):
        as_placement(PLAIN, path)


# -- boxes on a topology: what a spec makes, which NIC has which cable, and what is refused ---------------------------


GB = 10**9


def cables(fabric: Fabric) -> Counter[tuple[str, str]]:
    """Return the links from box to box."""
    every = ((one.src, one.dst) for one in fabric.links())
    return Counter(pair for pair in every if pair[0].split("/")[0] != pair[1].split("/")[0])


def test_spec_rebuilds_the_fabric() -> None:
    for text in (
        "boxes(dgx_h100,bipartite(4))",
        "boxes(rail_optimised(3),complete(4),1,2,8)",
        "boxes(pcie_pair,complete(3),2)",
    ):
        fabric = build_fabric(text)
        assert fabric.name == text == str(parse(text))
        assert as_fabric(fabric.name) == fabric


def test_every_link_of_the_topology_is_a_cable_between_nics() -> None:
    graph = build("genkautz(8,32)")
    fabric = join(get_box(Spec("dgx_h100")), graph)
    found = Counter((int(a.split("/")[0][3:]), int(b.split("/")[0][3:])) for a, b in cables(fabric).elements())
    real = {(u, v): c for u, v, c in graph.links() if u != v}
    assert found == real
    out, into = Counter(a for a, _ in cables(fabric)), Counter(b for _, b in cables(fabric))
    assert set(out.values()) == set(into.values()) == {1}
    assert {one.bandwidth for one in fabric.links() if one.kind.endswith("cable")} == {50 * GB}
    assert dict(fabric.latency)["InfiniBand cable"] == Fraction(5, 10**6)


def test_duplex_cables_have_both_ends_at_one_nic_unless_shifted() -> None:
    box, graph = get_box(Spec("dgx_h100")), build("bipartite(8)")
    there = set(cables(join(box, graph)))
    assert there == {(b, a) for a, b in there}
    shifted = set(cables(join(box, graph, 1, 1)))
    assert shifted != {(b, a) for a, b in shifted}
    code = exchange(graph, 8, 0, 3, (0, 5))
    changed = set(cables(join(box, graph, 1, 0, [code])))
    assert changed == {(b, a) for a, b in changed} != there
    assert join(box, graph, 1, 0, [code, code]).links() == join(box, graph).links()


def test_a_circulant_is_rails_with_strides() -> None:
    wiring = wire_boxes(get_box(Spec("mi300x")), build("dicirculant(8,1,1,2,3,4,5,6,7)"))
    strides = {
        (nic, at, (to - box) % 8) for box, nic, to, at in zip(wiring.box, wiring.nic, wiring.to, wiring.at, strict=True)
    }
    assert strides == {(0, 0, 1), (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 5), (6, 6, 6), (7, 7, 7)}


def test_a_file_of_a_box_has_its_nics_at_the_network(tmp_path: Path) -> None:
    path = tmp_path / "box.yaml"
    path.write_text(
        "name: two\nnodes: [a, b]\nswitches: [network]\nlinks:\n"
        "  - {from: a, to: b, bandwidth: 100GB/s, duplex: true}\n"
        "  - {from: a, to: network, bandwidth: 10GB/s, duplex: true}\n"
        "  - {from: b, to: network, bandwidth: 20GB/s, duplex: true}\n"
    )
    box = box_of(read_fabric(path))
    fabric = join(box, build("uniring(2,3)"))
    assert [rate for _, rate in box.nics] == [10 * GB, 20 * GB]
    assert {one.bandwidth for one in fabric.links()} == {100 * GB, 10 * GB, 20 * GB}


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("boxes(dgx_h100,complete(16))", "split each NIC into 2"),
        ("boxes(dgx_h199,complete(4))", "dgx_h100"),
        ("boxes(tpu_v4,complete(4))", "is not a box"),
        ("boxes(dgx_h100,complet(4))", "complete"),
        ("boxes(dgx_h100)", "write boxes"),
        ("boxes(8,complete(4))", "write boxes"),
        ("boxes(dgx_h100,complete(4),0)", "split"),
        ("boxes(dgx_h100,complete(4),1,0,999999999)", "exchange"),
        ("boxes(tpu_torus(2),complete(4))", "not made of boxes"),
        ("torus(dgx_h100,4)", "requires brackets"),
    ],
)
def test_wrong_specs_are_refused(text: str, match: str) -> None:
    with pytest.raises((SpecError, ParameterError), match=match):
        as_fabric(text)
