"""The optimum: the dissertation's tables, collectives that are each other backwards, and clear errors."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import is_thorough
from tests.optima.fluid.samples import random_fabric
from topodesign import as_fabric, schedule, verify
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.cli.main import run
from topodesign.collectives import ALLGATHER
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.fluid.network import network_of
from topodesign.optima.fluid.problem import problem_of, solve_fluid
from topodesign.optima.optimum import optimum, solve
from topodesign.optima.question import make_question
from topodesign.optima.trees import best_allreduce

RAILS = {"NVLink": 1, "InfiniBand": 2}
PCIE = {"PCIe": 1, "InfiniBand": 1}
ALL = {**PCIE, "NVLink": 1}

# Algorithmic Techniques for Optimal Collective Communication, tables 6.3 to 6.8: nodes and figures as printed, but
# 0.219 for a 0.0219 (table 6.4), and of table 6.5 the costs that are too low for what is as fast as they say.
TABLES: dict[tuple[str, str], dict[int, tuple[str, str | None]]] = {
    ("dgx_a100_rails", "allgather"): {
        1: ("0.0233", "112"), 2: ("0.0462", "516.9"), 4: ("0.12", "2176"), 8: ("0.28", "8960"),
        16: ("0.60", "36350"), 32: ("1.24", "146400"),
    },
    ("dgx_a100_pcie", "allgather"): {
        1: ("0.219", "92"), 2: ("0.469", "424"), 4: ("0.969", "1808"), 8: ("1.97", "7456"), 16: ("3.97", "30270"),
    },
    ("dgx_a100_links", "allgather"): {
        1: ("0.0211", "109.7"), 2: ("0.0452", "504.9"), 4: ("0.12", None), 8: ("0.28", None), 16: ("0.60", None),
    },
    ("dgx_a100_rails", "all-to-all"): {
        1: ("0.0233", "112"), 2: ("0.32", "960"), 4: ("0.96", "4864"), 8: ("2.24", "21500"), 16: ("4.80", "90110"),
        32: ("9.92", "368600"),
    },
    ("dgx_a100_pcie", "all-to-all"): {
        1: ("0.375", "112"), 2: ("0.75", "736"), 4: ("1.5", "3520"), 8: ("3.0", "15230"), 16: ("6.0", "63230"),
        32: ("12.0", "257500"),
    },
    ("dgx_a100_links", "all-to-all"): {
        1: ("0.021", "112"), 2: ("0.32", "764.2"), 4: ("0.96", "3689"), 8: ("2.24", "16020"), 16: ("4.8", "66610"),
        32: ("9.92", "271500"),
    },
}  # fmt: skip


# The same, tables 6.9 to 6.11, by ForestColl's trees, for which memory only forwards; but of table 6.10 0.219 for a
# 0.0219, 7.97 for a 7.87, less than 255 GB at 32 GB/s take, and 2176 for a 2177; and of table 6.9 no cost at 16 GPUs,
# for which they would be slower.
FORESTS: dict[str, dict[int, tuple[str, str | None]]] = {
    "dgx_a100_rails": {**TABLES["dgx_a100_rails", "allgather"], 2: ("0.0462", None)},
    "dgx_a100_pcie": {
        1: ("0.219", "112"), 2: ("0.469", "512"), 4: ("0.969", "2176"), 8: ("1.97", "8960"), 16: ("3.97", "36350"),
        32: ("7.97", "146400"),
    },
    "dgx_a100_links": {
        1: ("0.0211", "112"), 2: ("0.0452", "512"), 4: ("0.12", "2176"), 8: ("0.28", "8960"), 16: ("0.60", "36350"),
        32: ("1.24", "146400"),
    },
}  # fmt: skip


def printed(value: Fraction, like: str) -> bool:
    """Whether a value, rounded to as many digits as are printed, is what is printed."""
    value, wanted = Fraction(value), Fraction(like)
    unit = Fraction(10) ** (-len(like.partition(".")[2]) if "." in like else len(like) - min(len(like), 4))
    return abs(value - wanted) <= unit / 2


@pytest.mark.parametrize(("name", "collective"), TABLES)
def test_the_tables(name: str, collective: str, pytestconfig: pytest.Config) -> None:
    costs = RAILS if name.endswith("rails") else {kind: ALL[kind] for kind in (ALL if name.endswith("links") else PCIE)}
    for boxes, (latency, cost) in TABLES[name, collective].items():
        if boxes > (32 if is_thorough(pytestconfig) else 4):
            break
        fabric = build_fabric(f"{name}({boxes})")
        given = {kind: value for kind, value in costs.items() if kind in fabric.classes}
        best = solve(make_question(fabric, collective, costs=given), "fluid")
        assert best.proven
        assert best.cost is not None
        assert printed(best.inverse_rate * 10**9, latency)
        assert cost is None or printed(best.cost, cost)
    assert boxes > 4


@pytest.mark.parametrize("name", FORESTS)
def test_the_tables_of_trees(name: str, pytestconfig: pytest.Config) -> None:
    """Two ways to the latency, cuts and a program, that for the cost of trees is a packing of fractions of them."""
    costs = RAILS if name.endswith("rails") else ALL
    for boxes, (latency, cost) in FORESTS[name].items():
        if boxes > (32 if is_thorough(pytestconfig) else 4):
            break
        drawn = build_fabric(f"{name}({boxes})")
        fabric = replace(drawn, multicast=frozenset(), aggregation=frozenset(), memory=frozenset())
        given = {kind: Fraction(value) for kind, value in costs.items() if kind in fabric.classes}
        best = solve_fluid(make_question(fabric, "allgather", costs=given))
        assert best.proven
        assert best.cost is not None
        assert best.bandwidth == optimum(fabric, "allgather").bandwidth
        assert printed(best.inverse_rate * 10**9, latency)
        assert cost is None or printed(best.cost, cost)
    assert boxes > 4


@pytest.mark.parametrize("seed", range(6))
def test_backwards_it_is_the_dual_where_whoever_copies_adds(seed: int) -> None:
    fabric = random_fabric(seed, relays=False)
    root = fabric.names[0]
    for one, other, at in (
        ("allgather", "reduce-scatter", None),
        ("broadcast", "reduce", root),
        ("scatter", "gather", root),
    ):
        both = [solve(make_question(fabric, name, root=at), "fluid") for name in (one, other)]
        assert all(best.proven for best in both)
        if not fabric.shared:  # links are as wide both ways
            assert both[0].bandwidth == both[1].bandwidth


def test_trees_of_others() -> None:
    for seed in range(8):
        fabric = random_fabric(seed, relays=False, limits=False)
        assert solve_fluid(make_question(fabric, "allreduce")).bandwidth == best_allreduce(fabric).bandwidth
        root = fabric.names[1]
        found = solve_fluid(make_question(fabric, "broadcast", root=root))
        assert found.bandwidth == optimum(fabric, "broadcast", root=root).bandwidth


@pytest.mark.parametrize(("boxes", "rate"), [(1, 450), (2, 400)])
def test_switches_that_copy_and_add_do_an_allreduce_at_the_rate_of_a_link(boxes: int, rate: int) -> None:
    best = optimum(f"dgx_h100({boxes})", "allreduce", method="fluid")
    assert best.bandwidth == rate * 10**9
    assert best.proven


def test_memory_that_cannot_add_slows_a_reduction_alone() -> None:
    fabric = build_fabric("dgx_a100_pcie(1)")
    costs = {"PCIe": 1}
    gather, scatter = (solve_fluid(make_question(fabric, one, costs=costs)) for one in ("allgather", "reduce-scatter"))
    assert gather.bandwidth == scatter.bandwidth
    assert gather.cost is not None
    assert scatter.cost is not None
    assert gather.cost < scatter.cost == 112


def test_a_shared_limit_is_kept(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "bus.yaml"
    path.write_text(
        "name: bus\nnodes: [a, b, c]\nswitches: [s]\nlinks:\n"
        + "".join(f"  - {{from: {name}, to: s, bandwidth: 10GB/s, duplex: true}}\n" for name in "abc")
        + "shared:\n  - {name: all, bandwidth: 12GB/s, links: ["
        + ", ".join(f"{{from: {name}, to: s}}" for name in "abc")
        + "]}\n"
    )
    assert run(["evaluate", str(path), "--json", "--collective", "allgather"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["algorithmic_bandwidth"] == str(3 * 10**9 * 2)  # six shards over 12 GB/s
    assert document["method"] == "fluid"
    assert document["proven"]
    assert document["bottleneck_limits"] == [{"shared": "all", "bandwidth": str(12 * 10**9), "many": 1}]
    assert run(["evaluate", str(path), "--algorithm", "forest", "--collective", "allgather"]) == 2
    assert "does not know limits that links share" in capfd.readouterr().err
    assert run(["evaluate", str(path), "--tolerance", "5%", "--prices", "*=1", "--collective", "allgather"]) == 0
    assert "shared limit of 12GB/s" in capfd.readouterr().out


def test_what_does_not_fit_is_refused() -> None:
    fabric = build_fabric("dgx_a100(1)")
    for collective, root in (("broadcast", None), ("allgather", "box0/gpu0"), ("broadcast", "box0/nvswitch")):
        with pytest.raises(ParameterError, match="root"):
            solve_fluid(make_question(fabric, collective, root=root))
    wrong: list[dict[str, Any]] = [{"gap": "x"}, {"gap": 2}, {"fixed_k": 1}, {"method": "fluit"}]
    for options in wrong:
        with pytest.raises(ParameterError):
            optimum("dgx_a100(1)", **{"method": "fluid", **options})
    with pytest.raises(ParameterError, match="--tolerance is for --algorithm fluid"):
        optimum("dgx_a100(1)", gap="1%")
    links = [FabricLink(x, y, Fraction(10**9)) for x, y in (("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"))]
    with pytest.raises(InfeasibleError, match="no way leads from 'a' to '"):
        solve_fluid(make_question(Fabric.from_links("two", list("abcd"), [], links)))
    with pytest.raises(ParameterError, match="--set symmetry=no"):
        problem_of(build_fabric("dgx_a100(33)"), ALLGATHER, mirrored=False)


def test_the_network_of_a_reduction_is_turned_round() -> None:
    network = network_of(build_fabric("dgx_a100_pcie(1)"))
    back = network.reverse()
    assert len(network.relays) == 1
    assert len(back.relays) == 0
    assert (back.src == network.dst).all()
    assert back.reverse().arc_prices([1] * len(network.limits)) == [1] * len(network.src)


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter"])
@pytest.mark.parametrize(("spec", "sizes"), [("torus(2,3)", [3, 1, 1, 0, 1, 2]), ("genkautz(2,5)", [2, 1, 1, 4, 0])])
def test_uneven_shards_go_as_fast_as_over_trees_of_nodes(spec: str, sizes: list[int], collective: str) -> None:
    fluid = optimum(spec, collective, shards=sizes, method="fluid")
    assert fluid.bandwidth == optimum(spec, collective, shards=sizes).bandwidth == fluid.bound
    plan = schedule(as_fabric(spec), collective, method="fluid", shards=sizes)
    assert verify(plan).ok
    assert plan.claim["algorithmic_bandwidth"] == fluid.bandwidth
