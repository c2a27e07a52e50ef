"""Fabrics: nothing is rounded, what fails is gone, and the known ones have the figures of their data sheets."""

from __future__ import annotations

import inspect
import itertools
import math
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.errors import ParameterError, SpecError, TooLargeError, TopodesignError, TopologyError
from topodesign.base.options import collect_options
from topodesign.base.spec import parse
from topodesign.base.wording import join_words
from topodesign.fabrics.contraction import boxes_of, contract_fabric
from topodesign.fabrics.drawing import GB
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.files import write_fabric
from topodesign.fabrics.options import GroupOptions, PartOptions, PlaceOptions
from topodesign.fabrics.part import select_part
from topodesign.fabrics.places import as_fabric, as_place, get_preset_name
from topodesign.fabrics.presets import FABRICS, build_fabric
from topodesign.fabrics.unwinding import replace_switches
from topodesign.fabrics.wording import names_in_words
from topodesign.optima.optimum import optimum
from topodesign.topology.files import write_links
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

RATES = st.fractions(min_value=Fraction(1, 12), max_value=400, max_denominator=12)
SAMPLES = [
    "dgx_a100(1)", "dgx_a100(3)", "dgx_a100_rails(2)", "dgx_a100_pcie(1)", "dgx_a100_pcie(2)", "dgx_a100_links(2)",
    "dgx_h100(2)", "dgx_h200(2)", "dgx1_v100(1)", "dgx1_v100(2)", "mi250(1)", "mi250(2)",
    "mi300x(1)", "mi300x(2)", "tpu_torus(4,2,3)", "rail_optimised(3,5)", "fat_tree(4,6,2,3,2)", "dragonfly(9,4,2)",
    "gb200_nvl72(1)", "gb200_nvl72(2)", "mi325x(2)", "pcie_box(1)", "pcie_box(2)", "tpu_v4(4,4,8)", "tpu_v4(2,2,1)",
    "dgx_b200(2)", "dgx_b300(2)", "gb300_nvl72(2)", "mi350x(2)", "mi355x(1)", "gaudi3(1)", "gaudi3(2)", "trn2(1)",
    "trn2(2)", "trn2_ultra(1)", "trn2_ultra(2)", "tpu_v7(4,4,8)", "tpu_v5e(4,8)", "tpu_v5e(16,2)", "tpu_v6e(16,16)",
    "ualink_pod(9,4)", "sue_pod(5,3)",
    "pcie_pair(1)", "pcie_pair(2)", "boxes(dgx_h100,complete(3))",
    "tpu_v5p(4,4,4)", "rail_spine(3,4,2,2)", "fat_tree3(3,2,4,2,2,3,2)", "dragonfly_plus(3,2,3,4)",
]  # fmt: skip


def both(a: str, b: str, rate: Fraction | int, kind: str = "") -> list[FabricLink]:
    return [FabricLink(a, b, Fraction(rate), kind), FabricLink(b, a, Fraction(rate), kind)]


def star(*rates: Fraction | int) -> Fabric:
    """Nodes n0, n1, ... on a switch s."""
    names = [f"n{number}" for number in range(len(rates))]
    links = [link for name, rate in zip(names, rates, strict=True) for link in both(name, "s", rate)]
    return Fabric.from_links("star", names, ["s"], links)


@given(st.lists(RATES, min_size=2, max_size=8))
def test_capacities_are_the_bandwidths_without_rounding(rates: list[Fraction]) -> None:
    fabric = star(*rates)
    found = {(link.src, link.dst): link.bandwidth for link in fabric.links()}
    assert found == {
        pair: rate for number, rate in enumerate(rates) for pair in ((f"n{number}", "s"), ("s", f"n{number}"))
    }
    assert math.gcd(*fabric.topology.capacity.tolist()) == 1


def test_parallel_links_add_up() -> None:
    links = [*both("a", "b", 5, "NVLink"), *both("a", "b", 10, "PCIe"), *both("a", "b", Fraction(5, 2), "NVLink")]
    fabric = Fabric.from_links("pair", ["a", "b"], [], links)
    assert fabric.links() == sorted(both("a", "b", Fraction(35, 2), "NVLink+PCIe"))
    assert fabric.unit == Fraction(35, 2)


def test_unequal_bandwidth_names_the_node_and_the_imbalance() -> None:
    links = [*both("a", "b", 3 * GB), FabricLink("a", "b", Fraction(GB, 2)), *both("b", "c", GB)]
    with pytest.raises(TopologyError, match=r"node 'a' has 3GB/s in but 3\.5GB/s out, 500MB/s more out .and 1 more"):
        Fabric.from_links("uneven", ["a", "b", "c"], [], links).check_balance()
    ring = [FabricLink(a, b, Fraction(1)) for a, b in (("a", "b"), ("b", "c"), ("c", "a"))]
    assert not Fabric.from_links("ring", ["a", "b", "c"], [], ring).topology.is_duplex  # one-way links are fine


@pytest.mark.parametrize(
    ("nodes", "switches", "links", "message"),
    [
        (["a"], [], [], "only one node"),
        ([], ["s"], [], "no node"),
        (["a", "b"], ["s"], both("a", "b", 1), "switch 's' is connected to no node"),
        (["a", "b"], ["s", "t"], [*both("a", "b", 1), *both("s", "t", 1)], "switch 's' is connected to no node"),
        (["a", "b", "a"], [], both("a", "b", 1), "'a' is there twice"),
        (["a", "b"], ["a"], both("a", "b", 1), "'a' is there twice"),
        (["a", "b"], [], both("a", "c", 1), "names no node or switch 'c'"),
        (["a", "b"], [], both("a", "a", 1), "from 'a' to itself"),
        (["a", "b"], [], both("a", "b", 0), "no bandwidth"),
        (["a", ""], [], [], "node name ''"),
        (["a", "b,c"], [], [], "no comma"),
        (["a", "b\n"], [], [], "printable"),
        (["a", "b"], [" s"], [], "switch name ' s'"),
        (["a", "b" * 200], [], [], "1 to 100"),
    ],
)
def test_what_makes_no_fabric(nodes: list[str], switches: list[str], links: list[FabricLink], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        Fabric.from_links("bad", nodes, switches, links)


def test_bandwidths_without_a_common_divisor() -> None:
    with pytest.raises(TooLargeError, match="round them"):
        star(10**12, 10**12 + 1)


def test_fabric_of_a_topology() -> None:
    fabric = Fabric.from_topology(build("circulant(12,2,3)"))
    assert fabric.topology.spec is not None
    assert {link.bandwidth * 4 * 8 for link in fabric.links()} == {Fraction(100 * GB)}
    loops = Fabric.from_topology(build("debruijn(2,3)"), Fraction(2))
    graph = build("debruijn(2,3)")
    assert len(loops.topology.src) == int((graph.src != graph.dst).sum())
    assert {link.bandwidth for link in loops.links()} <= {Fraction(1), Fraction(2)}
    uneven = Topology.from_links(3, [(0, 1), (1, 2)])
    assert Fabric.from_topology(uneven).topology == uneven  # as after a failure, nodes do not mind


# -- fewer nodes, failures --------------------------------------------------------------------------------------------


def test_nodes_that_take_no_part_forward_or_vanish() -> None:
    fabric = build_fabric("mi250(1)")
    chosen = [f"box0/gcd{number}" for number in range(6)]
    forwarding = fabric.only(chosen, forward=True)
    assert [forwarding.names[node] for node in forwarding.compute] == chosen
    assert forwarding.links() == fabric.links()
    vanished = fabric.only(chosen, forward=False)
    assert vanished.names == tuple(chosen)
    assert vanished.links() == [link for link in fabric.links() if {link.src, link.dst} <= set(chosen)]


def test_switches_that_lead_nowhere_vanish_too() -> None:
    fabric = build_fabric("dgx_h100(3)")
    left = fabric.only([f"box1/gpu{number}" for number in range(8)], forward=False)
    assert set(left.names) == {*(f"box1/gpu{n}" for n in range(8)), "box1/nvswitch", *(f"rail{n}" for n in range(8))}
    assert {left.names[node] for node in left.multicast} == {"box1/nvswitch"}
    assert left.multicast == left.aggregation


def test_a_link_fails_in_both_directions() -> None:
    fabric = build_fabric("tpu_torus(4,4)")
    pair = ("chip0.0", "chip1.0")
    left = fabric.without(links=[pair])
    assert {(link.src, link.dst) for link in fabric.links()} - {(link.src, link.dst) for link in left.links()} == {
        pair, pair[::-1],
    }  # fmt: skip
    assert left.without(vertices=["chip2.2"]) == fabric.without(vertices=["chip2.2"], links=[pair])


def test_links_may_fail_in_one_direction() -> None:
    ring = Fabric.from_topology(build("circulant(7,1,2)"))
    assert len(ring.without(links=[("0", "1")]).links()) == len(ring.links()) - 2
    simplex = Fabric.from_topology(build("dicirculant(7,1,2)"))
    left = simplex.without(links=[("1", "0")])
    assert len(left.links()) == len(simplex.links()) - 1
    boxes = build_fabric("dgx_a100(2)")
    switch, gone = boxes.number("box0/nvswitch"), ("box0/gpu0", "box0/nvswitch")
    assert boxes.unequal(range(len(boxes.names))) == []
    half = boxes.without(one_way=[gone])
    assert set(boxes.links()) - set(half.links()) == {link for link in boxes.links() if (link.src, link.dst) == gone}
    assert half.unequal(sorted(half.topology.switches)) == [switch]
    assert half.imbalance(switch) == "switch 'box0/nvswitch' has 2100GB/s in but 2400GB/s out, 300GB/s more out"
    with pytest.raises(ParameterError, match="no link from 'box0/gpu0' to 'box0/gpu1'"):
        boxes.without(one_way=[("box0/gpu0", "box0/gpu1")])


@pytest.mark.parametrize(
    ("vertices", "links", "message"),
    [
        (["box0/gpu9"], [], "no node or switch is named 'box0/gpu9'; did you mean 'box0/gpu"),
        ([], [("box0/gpu0", "box0/gpu1")], "no link between"),
        ([], [("box0/gpu0", "x")], "named 'x'"),
    ],
)
def test_failures_of_what_is_not_there(vertices: list[str], links: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        build_fabric("dgx_a100(1)").without(vertices=vertices, links=links)


def test_too_few_nodes_are_left() -> None:
    fabric = build_fabric("dgx_a100(1)")
    with pytest.raises(TopologyError, match="only one node"):
        fabric.only(["box0/gpu3"], forward=True)
    with pytest.raises(ParameterError, match="is a switch"):
        fabric.only(["box0/gpu3", "box0/nvswitch"], forward=False)


# -- known fabrics ----------------------------------------------------------------------------------------------------


def rate_by_kind(fabric: Fabric, name: str) -> dict[str, Fraction]:
    """GB/s out of a vertex, by class of links."""
    rates: dict[str, Fraction] = {}
    for link in fabric.links():
        if link.src == name:
            rates[link.kind] = rates.get(link.kind, Fraction(0)) + link.bandwidth / GB
    return rates


@pytest.mark.parametrize("spec", SAMPLES)
def test_known_fabrics_are_sound(spec: str) -> None:
    fabric = build_fabric(spec)
    assert fabric.name == spec
    assert fabric == build_fabric(spec)
    assert fabric.topology.is_duplex
    assert fabric.compute == tuple(range(len(fabric.compute)))  # nodes come first
    assert nx.is_strongly_connected(fabric.topology.to_networkx())
    assert "" not in fabric.classes


def test_every_generator_is_sampled() -> None:
    assert {spec.partition("(")[0] for spec in SAMPLES} == set(FABRICS)


@pytest.mark.parametrize(
    ("spec", "name", "rates"),
    [
        ("dgx_a100(1)", "box0/gpu3", {"NVLink": 300}),
        ("dgx_a100(2)", "box1/gpu3", {"NVLink": 300, "InfiniBand": 25}),
        ("dgx_a100(2)", "rail1", {"InfiniBand": 200}),
        ("dgx_h100(2)", "box1/gpu3", {"NVLink": 450, "InfiniBand": 50}),
        ("dgx_h100(2)", "rail7", {"InfiniBand": 100}),
        ("dgx1_v100(1)", "box0/gpu5", {"NVLink": 150}),
        ("dgx1_v100(2)", "box0/pcie2", {"PCIe": 32, "InfiniBand": Fraction(25, 2)}),
        ("mi250(1)", "box0/gcd0", {"Infinity Fabric": 350}),
        ("mi250(2)", "box1/gcd15", {"Infinity Fabric": 350, "InfiniBand": 16}),
        ("mi300x(2)", "box0/gpu0", {"Infinity Fabric": 448, "Ethernet": 50}),
        ("tpu_torus(4,2,3)", "chip1.0.2", {"ICI": 250}),
        ("rail_optimised(3,5)", "rail4", {"InfiniBand": 150}),
        ("fat_tree(4,6,2,3,2)", "leaf2", {"host": 300, "spine": 200}),
        ("fat_tree(4,6,2)", "leaf2", {"host": 300, "spine": 300}),
        ("dragonfly(9,4,2)", "group8/router3", {"host": 50, "local": 75, "global": 50}),
        ("gb200_nvl72(1)", "rack0/gpu71", {"NVLink": 900}),
        ("gb200_nvl72(2)", "rail3", {"InfiniBand": 1800}),
        ("mi325x(2)", "box0/gpu0", {"Infinity Fabric": 448, "Ethernet": 50}),
        ("mi350x(2)", "box1/gpu7", {"Infinity Fabric": Fraction(5376, 10), "Ethernet": 50}),
        ("mi355x(1)", "box0/gpu3", {"Infinity Fabric": Fraction(5376, 10)}),
        ("gaudi3(2)", "box0/gpu0", {"scale-up": 525, "Ethernet": 75}),
        ("gaudi3(2)", "leaf2", {"Ethernet": 400}),
        ("trn2(1)", "instance0/chip3.0", {"NeuronLink": 512}),
        ("trn2(2)", "efa", {"EFA": 800}),
        ("trn2_ultra(1)", "server0/chip3.0.1", {"NeuronLink": 640}),
        ("dgx_b200(2)", "box0/gpu1", {"NVLink": 900, "InfiniBand": 50}),
        ("dgx_b300(2)", "box1/gpu7", {"NVLink": 900, "InfiniBand": 100}),
        ("gb300_nvl72(2)", "rail3", {"InfiniBand": 3600}),
        ("tpu_v7(4,4,4)", "chip0.1.3", {"ICI": 400, "OCS": 200}),
        ("tpu_v5e(16,16)", "chip15.15", {"ICI": 200}),
        ("tpu_v5e(4,8)", "chip0.0", {"ICI": 100}),
        ("tpu_v6e(8,16)", "chip0.0", {"ICI": 300}),
        ("ualink_pod(9,4)", "gpu8", {"UALink": 400}),
        ("sue_pod(5,3)", "switch2", {"scale-up Ethernet": 500}),
        ("pcie_box(1)", "box0/cpu1", {"PCIe": 64, "UPI": Fraction(336, 5)}),
        ("pcie_box(2)", "box1/pcie3", {"PCIe": 96, "Ethernet": 25}),
        ("tpu_v4(4,4,4)", "chip0.1.3", {"ICI": 200, "OCS": 100}),
        ("tpu_v4(2,4,1)", "chip0.1.0", {"ICI": 150}),
        ("tpu_v5p(4,8,4)", "chip1.1.1", {"ICI": 600}),
        ("tpu_v5p(4,8,4)", "chip0.3.0", {"ICI": 300, "OCS": 300}),
        ("rail_spine(3,4,2,2)", "rail1", {"InfiniBand": 150, "spine": 75}),
        ("fat_tree3(3,2,4,2,2,3,2)", "pod1/spine0", {"spine": 200, "core": Fraction(400, 3)}),
        ("fat_tree3(3,2,4,2,2)", "pod1/leaf1", {"host": 200, "spine": 200}),
        ("dragonfly_plus(3,2,3,4)", "group1/spine3", {"local": 50, "global": 50}),
    ],
)
def test_bandwidths_of_known_fabrics(spec: str, name: str, rates: dict[str, Fraction]) -> None:
    assert rate_by_kind(build_fabric(spec), name) == rates


def test_every_gpu_of_a_hybrid_cube_mesh_uses_six_links() -> None:
    fabric = build_fabric("dgx1_v100(1)")
    assert all(rate_by_kind(fabric, name) == {"NVLink": 150} for name in fabric.names)
    quads = [{f"box0/gpu{n}" for n in four} for four in ((0, 1, 2, 3), (4, 5, 6, 7))]
    pairs = {frozenset((link.src, link.dst)) for link in fabric.links()}
    for quad in quads:  # each half is fully connected, and every GPU has one partner in the other half
        assert all(frozenset(pair) in pairs for pair in itertools.combinations(quad, 2))
    across = [pair for pair in pairs if not any(pair <= quad for quad in quads)]
    assert sorted(name for pair in across for name in pair) == sorted(fabric.names)


@pytest.mark.parametrize(("groups", "routers"), [(9, 4), (5, 2), (6, 2), (2, 3), (7, 3)])
def test_dragonfly_has_one_global_link_between_two_groups(groups: int, routers: int) -> None:
    fabric = build_fabric(f"dragonfly({groups},{routers},1)")
    ends = [(link.src, link.dst) for link in fabric.links() if link.kind == "global"]
    pairs = Counter((a.split("/")[0], b.split("/")[0]) for a, b in ends)
    assert pairs == {(f"group{i}", f"group{j}"): 1 for i, j in itertools.permutations(range(groups), 2)}
    per_router = Counter(a for a, _ in ends)
    assert max(per_router.values()) <= -(-(groups - 1) // routers)


@pytest.mark.parametrize(
    ("spec", "side", "rate"),
    [
        ("fat_tree3(4,2,2,2,2)", "pod[01]/", 2 * 4 * 50),  # half of all hosts, nothing blocked
        ("fat_tree3(4,2,2,2,2,4)", "pod[01]/", 2 * 4 * 50 // 4),
        ("dragonfly_plus(4,2,4,3)", "group[01]/", 2 * 2 * 3 * 25),  # a link a spine between two groups
        ("tpu_v4(4,4,4)", "chip[01]", 2 * 16 * 50),  # twice round the ring, 16 chips in a layer
        ("tpu_v5p(4,4,4)", "chip[01]", 2 * 16 * 100),
        ("tpu_v5e(16,16)", r"chip[0-7]\.", 1600),  # as its data sheet says, in each direction
        ("tpu_v6e(16,16)", r"chip[0-7]\.", 3200),
        ("trn2_ultra(1)", "server0/chip[01]", 2 * 16 * 64),
        ("gaudi3(2)", "box0/", 8 * 75),
        ("pcie_box(1)", "box0/gpu[0-3]", 64),  # two switches to their CPU
        ("gb200_nvl72(2)", "rack0/", 72 * 50),
    ],
)
def test_bisections_of_known_fabrics(spec: str, side: str, rate: int | Fraction) -> None:
    """GB/s from one half of the nodes to the other, by a maximum flow."""
    fabric = build_fabric(spec)
    graph = fabric.topology.to_networkx()
    half = [node for node in fabric.compute if re.match(side, fabric.names[node])]
    assert 2 * len(half) == len(fabric.compute)
    for node in fabric.compute:
        graph.add_edge("from", node) if node in half else graph.add_edge(node, "to")
    assert nx.maximum_flow_value(graph, "from", "to") * fabric.unit == rate * GB


@pytest.mark.parametrize(
    ("spec", "rate"),
    [
        ("gb200_nvl72(1)", Fraction(900 * 72, 71)),
        ("tpu_v4(4,4,4)", Fraction(300 * 64, 63)),
        ("tpu_v5p(4,4,8)", Fraction(600 * 128, 127)),
        ("fat_tree3(2,2,2,2,2)", Fraction(50 * 8, 7)),
        ("fat_tree3(2,2,2,2,2,8)", Fraction(50 * 4 * 8, 8 * 4)),  # a pod takes in the other's half
        ("rail_spine(3,4,2)", Fraction(4 * 50 * 12, 8)),
        ("mi325x(1)", Fraction(448 * 8, 7)),
    ],
)
def test_allgathers_of_known_fabrics(spec: str, rate: Fraction) -> None:
    assert optimum(spec).bandwidth == rate * GB


def test_every_spine_reaches_its_like_in_every_group() -> None:
    ends = [(one.src, one.dst) for one in build_fabric("dragonfly_plus(3,2,2,2)").links() if one.kind == "global"]
    like = [
        (f"group{a}/spine{i}", f"group{b}/spine{i}") for a, b in itertools.permutations(range(3), 2) for i in (0, 1)
    ]
    assert sorted(ends) == sorted(like)


def test_in_network_computation_is_where_it_is() -> None:
    fabric = build_fabric("dgx_h200(2)")
    inner = frozenset(number for number, name in enumerate(fabric.names) if name.endswith("nvswitch"))
    assert (fabric.multicast, fabric.aggregation) == (inner, inner)
    assert build_fabric("dgx_a100(2)").multicast == frozenset()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("dgx_a10(2)", "did you mean 'dgx_a100'"),
        ("zzz(2)", "known are dgx_a100"),
        ("dgx_a100(0)", "boxes must be at least 1"),
        ("dgx_a100()", "write dgx_a100.boxes."),
        ("dgx_a100(complete(2))", "requires integers"),
        ("dgx_a100(1000000000)", "too many"),
        ("rail_optimised(1,1)", "only one node"),
        ("rail_optimised(2,1000000000)", "too many"),
        ("fat_tree(2,0,1)", "hosts must be at least 1"),
        ("fat_tree(2,1,1,0)", "over must be at least 1"),
        ("dragonfly(1000000,1000000,1)", "too many"),
        ("tpu_torus()", "at least one side"),
        ("tpu_v4(4,4,6)", "multiples of 4"),
        ("tpu_v5p(0,4,4)", "a side must be at least 1"),
        ("gb200_nvl72(0)", "racks must be at least 1"),
        ("tpu_v5e(17,2)", "16 chips on a side"),
        ("tpu_v6e(0,2)", "a side must be at least 1"),
        ("ualink_pod(1025,4)", "at most 1024"),
        ("ualink_pod(4,0)", "stations must be at least 1"),
        ("sue_pod(1,4)", "accelerators must be at least 2"),
        ("trn2(0)", "instances must be at least 1"),
        ("trn2_ultra(0)", "servers must be at least 1"),
        ("rail_spine(1,4,2)", "boxes must be at least 2"),
        ("fat_tree3(1000000,1000000,1,1,1)", "too many"),
        ("dragonfly_plus(2,2,0,2)", "hosts must be at least 1"),
    ],
)
def test_bad_specs_of_fabrics(spec: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        build_fabric(spec)


# -- Parts of a fabric in words: lists, and whole groups of nodes


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
    assert join_words(words) == text


def test_whole_groups_go_by_their_beginning() -> None:
    fabric = build_fabric("dgx_a100(2)")
    of_box = [node for node in fabric.compute if fabric.names[node].startswith("box1/")]
    assert names_in_words(fabric, of_box).strip("/") == "box1"
    assert names_in_words(fabric, of_box[:1]) == fabric.names[of_box[0]]
    assert names_in_words(fabric, fabric.compute).replace("/", "") == "box0 and box1"


# -- Unwinding: every switch becomes links, and nobody gets more bandwidth than it had


def out_of(fabric: Fabric) -> Counter[str]:
    rates: Counter[str] = Counter()
    for link in fabric.links():
        rates[link.src] += link.bandwidth  # type: ignore[assignment]
    return rates


@pytest.mark.parametrize("name", ["dgx_a100(1)", "dgx_a100(2)", "mi250(2)"])
@pytest.mark.parametrize(("degree", "both_ways"), [(1, False), (1, True), (2, False), (3, True), (None, False)])
def test_bandwidth_is_shared_and_no_more(name: str, degree: int | None, both_ways: bool) -> None:
    whole = build_fabric(name)
    fabric = replace_switches(whole, degree, both_ways=both_ways)
    assert not fabric.topology.switches
    before, after = out_of(whole), out_of(fabric)
    assert all(after[node] == before[node] for node in fabric.names)  # alike ports: nothing is lost, either


def test_degrees_are_those_of_figure_10() -> None:
    switch = build_fabric("dgx_a100(1)")
    counts = [len(replace_switches(switch, degree).links()) for degree in (1, 2, 7, 100)]
    assert counts == [8, 16, 56, 56]
    assert len(replace_switches(switch, 1, both_ways=True).links()) == 16
    assert replace_switches(switch, 2).links()[0].bandwidth == replace_switches(switch, 1).links()[0].bandwidth / 2
    with pytest.raises(ParameterError):
        replace_switches(switch, 0)


# -- Topologies and fabrics from whatever names them


def test_one_fabric_by_all_its_names(tmp_path: Path) -> None:
    fabric = build_fabric("dgx_h100(1)")
    for ending in ("yaml", "json", "graphml"):
        path = tmp_path / f"x.{ending}"
        path.write_text(write_fabric(fabric, ending))
        for file in (path, str(path)):
            assert as_place(file) == as_fabric(file) == fabric
            assert get_preset_name(file) is None
    for value in ("dgx_h100(1)", " dgx_h100( 1 )", parse("dgx_h100(1)"), fabric):
        assert as_place(value) == as_fabric(value) == fabric
        assert get_preset_name(value) == "dgx_h100(1)"


def test_plain_topologies_stay_plain_and_make_fabrics(tmp_path: Path) -> None:
    topology = build("torus(3,3)")
    path = tmp_path / "links.csv"
    path.write_text(write_links(topology, "csv"))
    for value in ("torus(3,3)", parse("torus(3,3)"), topology, path, topology.to_networkx()):
        assert as_place(value) == topology
        fabric = as_fabric(value, "40Gbps")
        assert fabric.topology == topology
        assert fabric.links()[0].bandwidth == Fraction(10**10, 8)
        assert get_preset_name(value) is None


def test_switches_and_bandwidths_make_a_fabric() -> None:
    star = Topology.from_links(3, [(0, 2), (2, 0), (1, 2), (2, 1)], switches=[2])
    assert isinstance(as_place(star), Fabric)
    graph = nx.Graph()
    graph.add_edge("a", "b", bandwidth="25GB/s")
    place = as_place(graph)
    assert isinstance(place, Fabric)
    assert place.names == ("a", "b")
    assert place.unit == 25 * 10**9
    with pytest.raises(TopodesignError, match="give no other"):
        as_fabric(graph, "1Gbps")


def test_wrong_ones_are_our_errors() -> None:
    with pytest.raises(SpecError, match="did you mean 'dgx_a100'"):
        as_place("dgx_a10(2)")
    with pytest.raises(ParameterError, match="bandwidths of its own"):
        as_fabric("mi250(2)", "1GB/s")
    for value in (7, None, ["torus(3,3)"]):
        for function in (as_place, as_fabric):
            with pytest.raises(ParameterError, match="is needed, not"):
                function(value)
    for name in ("missing.yaml", "missing.csv", Path("missing.json")):
        with pytest.raises(TopodesignError, match="No such file"):
            as_place(name)


# -- Options of places: their names and defaults are those of the functions that take them


def test_parts_are_what_the_function_takes() -> None:
    parameters = inspect.signature(select_part).parameters
    assert {name: option.default for name, option in collect_options(PartOptions).items()} == {
        name: one.default for name, one in parameters.items() if name != "fabric"
    }
    assert collect_options(PlaceOptions).keys() == {
        *collect_options(PartOptions),
        *collect_options(GroupOptions),
        "unwind",
    }


# -- Contractions: boxes or their parts become nodes, and what joins them carries what all links between them do


@pytest.mark.parametrize(
    ("spec", "nodes", "each", "parted"),
    [
        ("boxes(dgx_h100,complete(4))", 4, 8, True),
        ("boxes(mi300x,complete(4))", 4, 8, False),
        ("boxes(pcie_pair,complete(4))", 8, 4, True),
        ("dgx_h100(2)", 2, 8, True),
    ],
)
def test_links_between_nodes_add_up(spec: str, nodes: int, each: int, parted: bool) -> None:
    fabric = build_fabric(spec)
    small = contract_fabric(fabric)
    assert small is not None
    assert small.parted == parted
    assert len(small.fabric.compute) == len(small.members) == nodes
    assert {len(some) for some in small.members.values()} == {each}
    assert sorted(node for some in small.members.values() for node in some) == sorted(fabric.compute)
    owner = {fabric.names[node]: at for at, some in small.members.items() for node in some}
    room: dict[tuple[str, str], Fraction] = {}
    for u, v, capacity in fabric.topology.links():
        ends = small.called[u], small.called[v]
        if ends[0] != ends[1]:
            room[ends] = room.get(ends, Fraction(0)) + capacity * fabric.unit
    names = small.fabric.names
    joined = {(names[u], names[v]): many * small.fabric.unit for u, v, many in small.fabric.topology.links()}
    assert joined == room
    assert all(owner[small.called[node]] == owner[fabric.names[node]] for node in fabric.compute)


def test_names_tell_of_boxes() -> None:
    assert boxes_of(build_fabric("dgx_h100(1)")) is None
    assert contract_fabric(build_fabric("dgx_h100(1)")) is None
