"""What to buy: it reaches what was asked for, nothing cheaper does, and nothing within a budget reaches more."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.forest import fabrics, worst_ratio
from topodesign import as_fabric, read_fabric, upgrade, write_fabric
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.cli.main import run
from topodesign.fabrics.fabric import Fabric, FabricLink, parse_price
from topodesign.fabrics.files import FABRIC_FORMATS, FabricFormat
from topodesign.optima.optimum import optimum
from topodesign.optima.purchase import Purchase
from topodesign.topology.topology import Topology

GB = 10**9


def check(bought: Purchase, collective: str = "allgather", **options: Any) -> None:
    """What is bought is what the upgraded fabric has more, for its cost, and reaches what is reported."""
    old = {(link.src, link.dst): link for link in bought.fabric.links()}
    more = {(k.src, k.dst): k.bandwidth - old[k.src, k.dst].bandwidth for k in bought.upgraded.links()}
    assert len(more) == len(old)
    wanted = dict.fromkeys(old, Fraction(0))
    for one in bought.bought:
        wanted[one.ends] += one.added
        if one.both:
            wanted[one.ends[::-1]] += one.added
    assert more == wanted
    assert bought.cost == sum(one.cost for one in bought.bought)
    assert bought.after == optimum(bought.upgraded, collective, **options).solution
    assert bought.after.bandwidth >= bought.before.bandwidth
    if bought.target is not None:
        assert bought.after.bandwidth >= bought.target
    if bought.budget is not None:
        assert bought.cost <= bought.budget


def test_rails() -> None:
    """Every GPU has to take in the data of 15 others: NVLink and NIC together are too slow, so that all NICs count."""
    bought = upgrade("dgx_a100(2)", {"InfiniBand": 900}, target="350GB/s")
    check(bought)
    assert bought.proven
    assert bought.cost == 16 * 900
    assert {one.kind for one in bought.bought} == {"InfiniBand"}
    cheaper = upgrade("dgx_a100(2)", {"InfiniBand": "900/5GB/s"}, target="350GB/s")
    check(cheaper)
    assert cheaper.cost == 16 * 900  # a smaller step for as much
    assert cheaper.after.bandwidth == 352 * GB
    assert upgrade("dgx_a100(2)", {"*": 1}, target="1GB/s").cost == 0
    with pytest.raises(InfeasibleError):
        upgrade("dgx_a100(2)", {"NVLink": 1}, target="500GB/s")


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce", "broadcast"])
def test_collectives(collective: str) -> None:
    options: dict[str, Any] = {"root": "box0/gpu0"} if collective == "broadcast" else {}
    bought = upgrade("rail_optimised(2,2)", {"*": "3.5/10GB/s"}, collective, budget=40, **options)
    check(bought, collective, **options)
    assert bought.proven
    again = upgrade(
        "rail_optimised(2,2)", {"*": "3.5/10GB/s"}, collective, target=bought.after.bandwidth * 8, **options
    )
    check(again, collective, **options)
    assert again.cost == bought.cost


def boxed(topology: Topology) -> Fabric:
    """A fabric of classes a, b, c with links both ways."""
    names = [f"n{v}" for v in range(topology.nodes)]
    links = [FabricLink(names[u], names[v], Fraction(c * GB), "abc"[(u + v) % 3]) for u, v, c in topology.links()]
    nodes = [name for v, name in enumerate(names) if v not in topology.switches]
    return Fabric.from_links("drawn", nodes, [names[v] for v in sorted(topology.switches)], links)


@pytest.mark.floor(tried=2)
@settings(max_examples=20, deadline=None)
@given(fabrics(most_nodes=4, one_way=False), st.integers(1, 3), st.integers(1, 3), st.integers(2, 9))
def test_budgets_against_trying_all(topology: Topology, first: int, second: int, budget: int) -> None:
    fabric = boxed(topology)
    prices = {kind: f"{cost}/{cost + 1}GB/s" for kind, cost in zip("ab", (first, second), strict=True)}
    prices = {kind: price for kind, price in prices.items() if kind in fabric.classes}
    if not prices:
        return
    bought = upgrade(fabric, prices, budget=budget)
    check(bought)
    assert bought.proven
    graph = fabric.topology
    demand = np.ones(len(fabric.compute), dtype=np.int64)
    pairs = [(u, v) for u, v, _ in graph.links() if u < v]
    kinds = {pair: fabric.classes[int(graph.link_index(*pair))] for pair in pairs}
    sale = [pair for pair in pairs if kinds[pair] in prices]
    cost = [int(prices[kinds[pair]].split("/")[0]) for pair in sale]
    if len(sale) > 4 or budget > 6:
        return
    reached("tried")
    best = Fraction(0)
    least = 10**9
    for times in itertools.product(*(range(budget // one + 1) for one in cost)):
        total = sum(n * c for n, c in zip(times, cost, strict=True))
        if total > budget:
            continue
        capacity = graph.capacity * int(fabric.unit / GB)
        for pair, number, one in zip(sale, times, cost, strict=True):
            for u, v in (pair, pair[::-1]):
                capacity[int(graph.link_index(u, v))] += number * (one + 1)
        rate = len(demand) / worst_ratio(graph, demand, capacity)
        best, least = max((best, -least), (rate, -total))
        least = -least
    assert bought.after.bandwidth == best * GB
    assert bought.cost == least


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    common = ["upgrade", "fat_tree(2,2,1,2)", "--prices", "spine=10", "--collective", "allgather"]
    assert run([*common, "--target", "60GB/s", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    bought = upgrade("fat_tree(2,2,1,2)", {"spine": 10}, target="60GB/s")
    assert document.pop("schema") == "topodesign/upgrade/1"
    assert document == bought.record()
    assert document["proven"]
    assert Fraction(document["algorithmic_bandwidth"]) >= 60 * GB
    assert run([*common, "--budget", "10"]) == 0
    out = capsys.readouterr().out
    assert out == f"{upgrade('fat_tree(2,2,1,2)', {'spine': 10}, budget=10)}\n"
    assert "bottleneck then" in out
    for wrong in (
        ["--target", "1GB/s", "--budget", "1"],
        [],
        ["--budget", "1", "--set", "pareto=yes"],
        ["--budget", "x"],
    ):
        assert run([*common, *wrong]) == 2
    assert run(["upgrade", "torus(3,3)", "--budget", "3", "--collective", "allgather"]) == 2
    assert "--prices" in capsys.readouterr().err
    assert bought.record()["bottleneck"] == bought.after.bottleneck
    assert [row["class"] for row in bought.to_records()] == ["spine"] * len(bought.bought)


@pytest.mark.parametrize("ending", FABRIC_FORMATS)
def test_prices_of_files(ending: FabricFormat, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a file says is for sale, unless other prices are given, and for what is left of the fabric too."""
    said = {"InfiniBand": "900", "NVLink": "12.5/100GB/s"}
    drawn = as_fabric("dgx_a100(2)")
    fabric = replace(drawn, prices=tuple((kind, parse_price(text)) for kind, text in said.items()))
    path = tmp_path / f"priced.{ending}"
    path.write_text(write_fabric(fabric, ending))
    assert read_fabric(path).prices == fabric.prices
    assert run(["upgrade", str(path), "--target", "350GB/s", "--json", "--collective", "allgather"]) == 0
    document = json.loads(capsys.readouterr().out)
    wanted = upgrade(drawn, said, target="350GB/s")
    assert document["cost"] == str(wanted.cost)
    assert [row["class"] for row in document["upgrades"]] == [one.kind for one in wanted.bought]
    other = upgrade(path, {"InfiniBand": 1}, target="350GB/s")  # NVLink is not for sale then
    assert other.cost == 16
    assert {one.kind for one in other.bought} == {"InfiniBand"}
    assert (
        run(
            [
                "upgrade",
                str(path),
                "--prices",
                "InfiniBand=1",
                "--target",
                "350GB/s",
                "--json",
                "--collective",
                "allgather",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["cost"] == "16"
    part: dict[str, Any] = {"only": "box0/*", "without": ["rail0", "rail1"]}
    alone = upgrade(path, target="360GB/s", **part)
    assert alone.cost == upgrade(drawn, {"NVLink": said["NVLink"]}, target="360GB/s", **part).cost > 0
    assert [kind for kind, _ in alone.fabric.prices] == ["NVLink"]


def test_prices_in_json_may_be_numbers(tmp_path: Path) -> None:
    links = [{"from": "a", "to": "b", "bandwidth": "1GB/s", "duplex": True, "class": "x"}]
    path = tmp_path / "f.json"
    for said, cost in ((3, 3), (2.5, Fraction(5, 2))):
        path.write_text(json.dumps({"nodes": ["a", "b"], "links": links, "prices": {"x": said}}))
        assert upgrade(path, target="4GB/s").cost == cost


@pytest.mark.parametrize(
    ("prices", "goal", "words"),
    [
        (None, {"budget": 1}, "says no prices of links"),
        ({}, {"budget": 1}, "no link is for sale"),
        ({"": Fraction(1, 3)}, {"budget": 1}, "six decimals"),
        ({"x": 1}, {"budget": 1}, "no link has the class"),
        ({"": 0}, {"budget": 1}, "above 0"),
        ({"": "many"}, {"budget": 1}, "is a number"),
        ({"": "5/x"}, {"budget": 1}, "bandwidth 'x'"),
        ({"": 1}, {}, "expected a target"),
        ({"": 1}, {"budget": 1, "target": "1GB/s"}, "one of the two"),
        ({"": 1}, {"budget": -3}, "above 0"),
        ("nonsense", {"budget": 1}, "CLASS=COST"),
    ],
)
def test_what_cannot_be_asked(prices: Any, goal: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        upgrade("torus(3,3)", prices, **goal)


def test_links_one_way() -> None:
    bought = upgrade("uniring(1,4)", {"": 5}, target="500Gbps")
    check(bought)
    assert not any(one.both for one in bought.bought)
    with pytest.raises(ParameterError, match="all links go both ways"):
        upgrade("uniring(1,4)", {"": 5}, "allreduce", target="500Gbps")
    one_way = as_fabric("dgx_a100(2)").without(one_way=[("box0/gpu0", "rail0")])
    with pytest.raises(ParameterError):
        upgrade(one_way, {"InfiniBand": 1}, budget=5)
