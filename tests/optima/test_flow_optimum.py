"""The best all-to-all, scatter and gather of a fabric: closed forms, duality, parts, costs, and words that hold."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError
from topodesign.cli.main import run
from topodesign.collectives import ALL_TO_ALL, GATHER, SCATTER
from topodesign.fabrics.drawing import GB
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.places import as_fabric
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.flows import FLOWS, best_flow, solve_flow
from topodesign.optima.optimum import Optimum, optimum
from topodesign.optima.question import Question
from topodesign.optima.solution import _double
from topodesign.pricing.all_to_all import all_to_all, exact_where_alike


def best(place: str | Fabric, collective: str = "all-to-all", **options: object) -> Optimum:
    return optimum(place, collective, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "rate"),
    [
        ("dgx_a100(1)", Fraction(8 * 300, 7)),
        ("dgx_a100(2)", Fraction(50)),
        ("dgx_h100(4)", Fraction(50 * 32, 24)),
        ("mi250(2)", Fraction(32)),
        ("mi300x(1)", Fraction(8 * 64)),
        ("fat_tree(4,4,2)", Fraction(50 * 16, 15)),
        ("fat_tree(4,4,2,2)", Fraction(25 * 16, 12)),
        ("rail_optimised(2,4)", Fraction(100)),
    ],
)
def test_closed_forms(spec: str, rate: Fraction) -> None:
    """The links of a node, of a box or of a leaf bind: N blocks in the time in which the others' cross."""
    result = best(spec)
    assert result.bandwidth == rate * GB
    assert result.bandwidth == len(result.fabric.compute) / result.inverse_rate
    assert result.solution.cut


@pytest.mark.parametrize("spec", ["dgx_a100(2)", "mi250(1)", "torus(3,4)", "fat_tree(3,4,2,3)", "genkautz(2,9)"])
def test_scatter_and_gather_are_each_others_duals(spec: str) -> None:
    """Both are bound by cuts around the root or farther out, which the flow to all proves: no gap."""
    fabric = as_fabric(spec)
    out, back = best(fabric, "scatter", root=0), best(fabric, "gather", root=0)
    turned = Fabric.from_topology(fabric.topology.transpose(), fabric.unit * max(fabric.topology.out_ports.tolist()))
    if not fabric.topology.switches:
        assert best(turned, "gather", root=0).inverse_rate * turned.unit == out.inverse_rate * fabric.unit
    if fabric.topology.is_duplex:
        assert out.bandwidth == back.bandwidth
    for result in (out, back):
        assert result.solution.cut
    assert (0 in out.solution.cut, 0 in back.solution.cut) == (True, False)


@pytest.mark.parametrize("spec", ["dgx_a100(2)", "mi250(2)", "torus(4,4)", "kautz(2,1)", "fat_tree(3,4,2,3)"])
@pytest.mark.parametrize("collective", FLOWS, ids=str)
def test_bottlenecks_bind(spec: str, collective: object) -> None:
    """The links told are out of the cut, and what has to cross them takes all of the time."""
    fabric = as_fabric(spec)
    result = best(fabric, str(collective), root=None if collective is ALL_TO_ALL else fabric.names[0])
    rate = sum((link.bandwidth for link in result.solution.links), Fraction(0))
    assert result.solution.links
    if result.solution.cut:
        sent = sum(node in result.solution.cut for node in fabric.compute)
        kept = len(fabric.compute) - sent
        blocks = sent * kept if collective is ALL_TO_ALL else kept if collective is SCATTER else sent
        assert blocks / rate == result.inverse_rate
        assert re.search(rf"{blocks} block|bring in block|send out block", result.solution.bottleneck)
        inside = {fabric.names[vertex] for vertex in result.solution.cut}
        assert result.solution.links == [
            link for link in fabric.links() if link.src in inside and link.dst not in inside
        ]
    else:
        assert "no cut alone" in result.solution.bottleneck


def test_the_command_prints_the_record_and_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    args = [
        "evaluate",
        "dgx_a100_rails(2)",
        "--collective",
        "all-to-all",
        "--prices",
        "NVLink=1",
        "--prices",
        "Infini*=1/2",
    ]
    args += ["--fail", "box0/gpu0-rail0"]
    result = best("dgx_a100_rails(2)", costs={"NVLink": 1, "InfiniBand": Fraction(1, 2)}, without="box0/gpu0-rail0")
    assert run([*args, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record.pop("schema") == "topodesign/evaluate/1"
    assert record == result.record()
    assert run(args) == 0
    assert capsys.readouterr().out == f"{result}\n"
    assert record["algorithmic_bandwidth"] == str(result.bandwidth)
    assert result.bandwidth == 16 * 7 * 25 * GB / Fraction(64)
    assert record["before"]["algorithmic_bandwidth"] == str(50 * GB)
    assert record["bottleneck_cut"]
    assert {row["class"]: row["doubled_gain"] for row in record["sensitivity"]} == {"NVLink": 0.0, "InfiniBand": 1.0}
    assert repr(result) == "<Optimum: all-to-all on part of dgx_a100_rails(2): 43.75GB/s>"
    assert result.to_records()[0]["cost"] == result.cost
    assert result._repr_html_().startswith("<pre>")


def test_costs_scale_and_cheap_ways_are_taken() -> None:
    """Twice the costs cost twice as much; a way that costs nothing is taken where it costs no time."""
    once, twice = (best("dgx_a100_links(2)", costs=[f"PCIe={n}", f"*={n}", "memory=0"]) for n in (1, 2))
    assert once.bandwidth == twice.bandwidth
    assert once.cost is not None
    assert twice.cost == 2 * once.cost
    assert best("dgx_a100_links(2)", costs={"memory": 1}).cost == 0
    assert best("dgx_a100_links(2)").cost is None
    third = best("dgx_a100(2)", costs={"NVLink": Fraction(1, 3), "InfiniBand": 0.5})
    assert third.cost is not None
    assert third.cost == Fraction(2 * 16 * 7 + 2 * 128 // 2, 3) + 2 * 128 * Fraction(1, 2)


def test_parts_of_a_fabric() -> None:
    """Nodes that take no part pass on, or are gone; failures cost what they cost."""
    whole = best("dgx_a100(2)")
    half = best("dgx_a100(2)", only="box*/gpu[0-3]", others="forward")
    assert half.before == whole.solution
    assert half.bandwidth == 8 * 8 * 25 * GB / Fraction(16)
    gone = best("dgx_a100(2)", only="box*/gpu[0-3]")
    assert gone.bandwidth == half.bandwidth / 2
    one_box = best("dgx_a100(2)", only="box0/*", without="rail0")
    assert one_box.bandwidth == best("dgx_a100_rails(1)").bandwidth + 0
    with pytest.raises(InfeasibleError, match="no way from box0/gpu1 to box1/gpu1"):
        best("dgx_a100(2)", only="box*/gpu1", without="rail1")
    assert best("dgx_a100(2)", without="box0/gpu0>rail0").bandwidth == 16 * 7 * 25 * GB / Fraction(64)


def test_ways_out_of_a_switch_are_worth_what_they_carry() -> None:
    """Switches with more bandwidth in than out lose nothing that could be used."""
    links = [FabricLink("a", "s", Fraction(3)), FabricLink("b", "s", Fraction(3))]
    links += [FabricLink("s", "a", Fraction(3)), FabricLink("s", "b", Fraction(3))]
    fabric = Fabric.from_links("two", ["a", "b"], ["s"], links)
    assert best(fabric).bandwidth == 6
    assert solve_flow(Question(fabric, ALL_TO_ALL)).inverse_rate == Fraction(1, 3)


@pytest.mark.dear
def test_hundreds_of_nodes_at_once() -> None:
    """One number for each class of links: more boxes make no more work for the solver."""
    small, large = best("dgx_h100(2)"), best("dgx_h100(64)")
    numbers = [len(best_flow(one.fabric, ALL_TO_ALL, {}).flow) for one in (small, large)]
    assert numbers[0] == numbers[1] < 50
    assert large.bandwidth == Fraction(512 * 50, 504) * GB


@pytest.mark.parametrize(
    "spec",
    ["torus(4,3)", "torus(2,2,3)", "hypercube(4)", "mesh(3,4)", "hamming(2,3)", "product(genkautz(2,3),ring(4))",
     "circulant(12,2,3)", "genkautz(2,9)", "genkautz(3,10)", "kautz(2,1)", "power(ring(3),2)"],
)  # fmt: skip
def test_what_symmetry_and_factors_say_is_proven_by_prices(spec: str) -> None:
    """The time is that of the program over classes, and prices of the links that bind prove it by shortest ways."""
    fabric = as_fabric(spec)
    topology = fabric.topology
    found = solve_flow(Question(fabric, ALL_TO_ALL))
    assert found.inverse_rate * fabric.unit == best_flow(fabric, ALL_TO_ALL, {}).time
    even = exact_where_alike(topology)
    prices = np.zeros(len(topology.src)) if even is None else even.link_prices.astype(float)
    if even is not None:
        assert set(np.flatnonzero(prices).tolist()) >= set(found.priced)
        graph = nx.DiGraph()
        for (u, v, _), price in zip(topology.links(), prices.tolist(), strict=True):
            graph.add_edge(u, v, weight=price)
        far = sum(sum(row.values()) for _, row in nx.all_pairs_dijkstra_path_length(graph))
        assert far / float(prices @ topology.capacity) == pytest.approx(
            float(found.inverse_rate * fabric.unit), rel=1e-9
        )


@pytest.mark.parametrize(
    "spec", ["torus(16,16,4)", "hypercube(12)", pytest.param("torus(64,64)", marks=pytest.mark.thorough)]
)
def test_large_products_have_the_price_that_evaluate_tells(spec: str) -> None:
    found = best(spec)
    fabric = found.fabric
    ports = int(np.bincount(fabric.topology.src, weights=fabric.topology.capacity).max())
    factor = all_to_all(spec, effort="quick").bandwidth
    assert factor is not None
    assert found.bandwidth == ports * fabric.unit / factor
    assert found.solution.links


@pytest.mark.parametrize(
    ("collective", "options", "message"),
    [
        ("all-to-all", {"root": "box0/gpu0"}, "has no root"),
        ("scatter", {}, "requires a root"),
        ("gather", {"root": "box0/nvswitch"}, "is a switch"),
        ("all-to-all", {"shards": "box0/*=2"}, "--shards is for"),
        ("all-to-all", {"fixed_k": 2}, "--set trees= is for"),
        ("all-to-all", {"compare": True}, "--set pareto=yes is for"),
        ("allgather", {"costs": "NVLink=1"}, "--prices is for"),
    ],
)
def test_what_makes_no_sense_is_refused(collective: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        optimum("dgx_a100(1)", collective, **options)  # type: ignore[arg-type]


def test_trees_and_flows_have_their_own_results() -> None:
    assert optimum("dgx_a100(1)").solution.METHOD == "forest"
    assert optimum("dgx_a100(1)", GATHER.at(None), root=3).solution.METHOD == "flow"
    with pytest.raises(TopodesignError):
        optimum("dgx_a100(1)", "all-to-al")
    assert np.isclose(best("torus(4,4)", bandwidth="1Tbps").record()["algorithmic_bandwidth_GBps"], 62.5)


@pytest.mark.parametrize("spec", ["dgx_a100_pcie(2)", "dgx_a100_links(2)", "dgx_a100_rails(2)"])
def test_presets_of_the_dissertation(spec: str) -> None:
    """Eight rails; GPUs and NICs share their PCIe switch; memory passes on and copies."""
    fabric = build_fabric(spec)
    rates = {(link.kind, link.bandwidth / GB) for link in fabric.links()}
    assert rates <= {("NVLink", 300), ("PCIe", 32), ("memory", 32), ("InfiniBand", 25)}
    rails = [name for name in fabric.names if name.startswith("rail")]
    assert len(rails) == 8
    assert {fabric.names[vertex] for vertex in fabric.multicast} == {
        name for name in fabric.names if name.endswith("memory")
    }
    assert not any(name.startswith("rail") for name in build_fabric(spec.replace("2", "1")).names)


def test_twice_as_much_on_all_links_is_what_the_program_finds() -> None:
    found = best("randomregular(6,2,0)")
    doubled = best(_double(found.fabric, found.fabric.classes[0]))
    assert [upgrade.doubled for upgrade in found.upgrades] == [doubled.bandwidth]
