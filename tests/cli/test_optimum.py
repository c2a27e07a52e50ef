"""``optimum`` and ``fabric``: published figures, cuts that prove them, what upgrades and failures do, clear errors."""

from __future__ import annotations

import itertools
import json
import re
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from tests.cli.conftest import Cli, Ended
from tests.samples.trees import TreeCollective
from topodesign import schedule, simulate
from topodesign.base.units import format_rate
from topodesign.cli.main import run
from topodesign.fabrics.drawing import GB
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.files import read_fabric
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.optimum import optimum
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

CONFIGS = Path(__file__).parents[2] / "configs"
KEYS = {
    "k", "inv_x_star", "algorithmic_bandwidth", "algorithmic_bandwidth_GBps", "bottleneck_cut", "bottleneck",
    "sensitivity", "collectives",
}  # fmt: skip


def ratio(fabric: Fabric, cut: set[str]) -> Fraction:
    """Seconds per byte of shard that a set of vertices needs to send the shards inside it out."""
    inside = sum(fabric.names[node] in cut for node in fabric.compute)
    out = sum(link.bandwidth for link in fabric.links() if link.src in cut and link.dst not in cut)
    return Fraction(inside) / out


# -- figures ----------------------------------------------------------------------------------------------------------

PUBLISHED = [
    ("dgx_a100(2)", "346.667", 13),
    ("mi250(2)", "354.133", 83),
]


@pytest.mark.parametrize(("spec", "rate", "trees"), PUBLISHED)
def test_published_optima(cli: Cli, spec: str, rate: str, trees: int) -> None:
    document = cli("evaluate", spec, "--json", "--collective", "allgather").json()
    assert document.keys() >= KEYS
    assert (f"{document['algorithmic_bandwidth_GBps']:.3f}", document["k"]) == (rate, trees)
    fabric = build_fabric(spec)
    assert ratio(fabric, set(document["bottleneck_cut"])) == Fraction(document["inv_x_star"])
    assert Fraction(document["algorithmic_bandwidth"]) * Fraction(document["inv_x_star"]) == len(fabric.compute)
    whole = Fraction(document["algorithmic_bandwidth"])
    others = {name: Fraction(rates["algorithmic_bandwidth"]) for name, rates in document["collectives"].items()}
    assert others == {"allgather": whole, "reduce-scatter": whole, "allreduce": whole / 2}


@pytest.mark.parametrize(
    ("spec", "trees", "rate"),
    [
        pytest.param("mi250(2)", 1, 320, marks=pytest.mark.thorough),
        ("mi250(2)", 2, Fraction(1024, 3)),
        pytest.param("mi250(1)", 2, 320, marks=pytest.mark.thorough),
    ],
)
def test_published_optima_of_few_trees(cli: Cli, spec: str, trees: int, rate: Fraction) -> None:
    document = cli("evaluate", spec, "--set", f"trees={trees!s}", "--json", "--collective", "allgather").json()
    assert document["k"] == trees
    assert Fraction(document["algorithmic_bandwidth"]) == rate * GB
    best = cli("evaluate", spec, "--json", "--collective", "allgather").json()
    assert document["optimum"] == {key: best[key] for key in ("k", *document["optimum"])}


def test_scan(cli: Cli) -> None:
    document = cli("evaluate", "hypercube(3)", "--set", "max-trees=4", "--json", "--collective", "allgather").json()
    assert [row["k"] for row in document["scan"]] == [1, 2, 3, 4]
    best = Fraction(document["algorithmic_bandwidth"])
    rates = [Fraction(row["algorithmic_bandwidth"]) for row in document["scan"]]
    assert all(rate <= best for rate in rates)
    assert [row + 1 for row, rate in enumerate(rates) if rate == best] == [3]
    assert document["k"] == 3


def test_the_worked_example_of_the_paper(cli: Cli, tmp_path: Path) -> None:
    """Two boxes of four nodes, ten times faster inside than between them: 1/x* = 1/b (figure 2)."""
    nodes = [f"c{box}.{node}" for box in (1, 2) for node in (1, 2, 3, 4)]
    links = [{"from": n, "to": f"w{n[1]}", "bandwidth": "10GB/s", "duplex": True} for n in nodes]
    links += [{"from": n, "to": "w0", "bandwidth": "1GB/s", "duplex": True} for n in nodes]
    path = tmp_path / "paper.json"
    path.write_text(json.dumps({"nodes": nodes, "switches": ["w0", "w1", "w2"], "links": links}))
    document = cli("evaluate", path, "--json", "--collective", "allgather").json()
    assert Fraction(document["inv_x_star"]) == Fraction(1, GB)
    assert re.match("the four links of c[12], 4GB/s together, have to", document["bottleneck"])


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("fabric_*.yaml")), ids=lambda path: path.stem)
def test_every_file_in_configs_is_explained(cli: Cli, path: Path) -> None:
    document = cli("evaluate", path, "--json", "--collective", "allgather").json()
    fabric = read_fabric(path)
    assert ratio(fabric, set(document["bottleneck_cut"])) == Fraction(document["inv_x_star"])
    kinds = {link["class"] for link in document["bottleneck_links"]}
    assert kinds
    assert all(f"{kind} link" in document["bottleneck"] for kind in kinds)
    text = cli("evaluate", path, "--collective", "allgather")
    assert text.status == 0
    assert document["bottleneck"] in text.out
    assert format_rate(Fraction(document["algorithmic_bandwidth"])) in text.out


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            "dgx_a100(4)",
            "the eight InfiniBand links of box0, 200GB/s together, have to bring in the data of the 24 other",
        ),
        (
            "dgx_a100(2)",
            "the NVLink link and the InfiniBand link of box0/gpu0, 325GB/s together, have to bring in the",
        ),
        ("fat_tree(4,8,1,16)", "the spine link of leaf0, 25GB/s, has to bring in the data of the 24 other nodes"),
    ],
)
def test_words(spec: str, words: str) -> None:
    fabric = build_fabric(spec)
    assert optimum(fabric).solution.bottleneck.startswith(words)


def test_numbers_are_called_nodes() -> None:
    fabric = Fabric.from_topology(build("complete(2)"))
    words = "the link of node 0, 12.5GB/s, has to bring in the data of node 1"
    assert optimum(fabric).solution.bottleneck == words


# -- upgrades, broadcast, allreduce -----------------------------------------------------------------------------------


def scaled(fabric: Fabric, kind: str, factor: Fraction) -> Fabric:
    """The fabric with another bandwidth on the links of a class."""
    links = [k._replace(bandwidth=k.bandwidth * factor) if k.kind == kind else k for k in fabric.links()]
    nodes = [fabric.names[node] for node in fabric.compute]
    return Fabric.from_links("scaled", nodes, [n for n in fabric.names if n not in nodes], links)


@pytest.mark.parametrize("collective", ["allgather", "allreduce"])
@pytest.mark.parametrize("spec", ["dgx_a100(2)", "dgx_a100(3)", "mi250(2)", "dgx1_v100(2)", "fat_tree(3,4,2,3)"])
def test_upgrades_do_what_is_said(spec: str, collective: TreeCollective) -> None:
    fabric = build_fabric(spec)
    now = optimum(fabric, collective).bandwidth
    for upgrade in optimum(fabric, collective).upgrades:

        def reached(factor: Fraction, kind: str = upgrade.kind) -> Fraction:
            return optimum(scaled(fabric, kind, factor), collective).bandwidth

        assert reached(Fraction(2)) == upgrade.doubled >= now
        useful = upgrade.useful
        assert useful is not None
        if useful.limit is None or useful.useful_factor is None:
            assert reached(Fraction(2000)) > reached(Fraction(1000))
            continue
        assert reached(useful.useful_factor) == reached(2 * useful.useful_factor) == useful.limit
        if useful.useful_factor > 1:
            assert reached(useful.useful_factor * Fraction(99, 100)) < useful.limit
        else:
            assert useful.limit == now


def test_broadcast_is_the_least_maximum_flow() -> None:
    """Edmonds: as much as can flow to the worst node."""
    fabric = build_fabric("dgx1_v100(2)")
    graph = fabric.topology.to_networkx()
    flows = [nx.maximum_flow_value(graph, 5, node) for node in fabric.compute if node != 5]
    assert optimum(fabric, "broadcast", root=fabric.names[5]).bandwidth == min(flows) * fabric.unit


def test_a_better_allreduce_is_told(cli: Cli) -> None:
    document = cli("evaluate", "genkautz(2,7)", "--collective", "allreduce", "--json").json()
    best = document["best_allreduce"]
    assert not best["composed_is_best"]
    whole = Fraction(document["algorithmic_bandwidth"])
    assert whole < Fraction(best["algorithmic_bandwidth"]) <= Fraction(best["bound"])
    assert "of another kind" in cli("evaluate", "genkautz(2,7)", "--collective", "allreduce").out
    document = cli("evaluate", "mi300x(1)", "--collective", "allreduce", "--json").json()
    assert document["best_allreduce"]["composed_is_best"]
    assert "in-network" not in cli("evaluate", "mi300x(1)", "--collective", "allreduce").out
    assert "in-network" in cli("evaluate", "dgx_h100(1)", "--collective", "allreduce").out
    assert (
        "best_allreduce"
        not in cli("evaluate", "mi300x(1)", "--collective", "allreduce", "--set", "proof=no", "--json").json()
    )


# -- subsets and failures ---------------------------------------------------------------------------------------------


def test_half_the_nodes(cli: Cli) -> None:
    args = ("evaluate", "mi250(2)", "--members", "box0/gcd[0-7],box1/gcd[0-7]", "--json", "--collective", "allgather")
    document = cli(*args).json()
    assert document["nodes"] == 16
    assert Fraction(document["before"]["algorithmic_bandwidth"]) == Fraction(5312, 15) * GB
    forward = cli(*args, "--forward").json()
    assert forward["switches"] == 17
    assert Fraction(forward["algorithmic_bandwidth"]) >= Fraction(document["algorithmic_bandwidth"])
    several = cli(
        "evaluate",
        "mi250(2)",
        *(f"--members=box{b}/gcd{g}" for b in (0, 1) for g in range(8)),
        "--json",
        "--collective",
        "allgather",
    ).json()
    assert several["inv_x_star"] == document["inv_x_star"]


def test_dead_links_and_nodes(cli: Cli) -> None:
    document = cli(
        "evaluate", "torus(8,8)", "--fail", "0-1", "--fail", "9", "--json", "--collective", "allgather"
    ).json()
    graph = build("torus(8,8)")
    kept = [(u, v) for u, v, _ in graph.links() if {u, v} != {0, 1} and 9 not in {u, v}]
    place = {node: row for row, node in enumerate(n for n in range(64) if n != 9)}
    left = Topology.from_links(63, [(place[u], place[v]) for u, v in kept])
    alone = Fabric.from_topology(left, Fraction(100 * GB, 8))
    assert Fraction(document["inv_x_star"]) == optimum(alone).inverse_rate
    assert Fraction(document["before"]["algorithmic_bandwidth"]) > Fraction(document["algorithmic_bandwidth"])
    text = cli("evaluate", "torus(8,8)", "--fail", "0-1", "--fail", "9", "--collective", "allgather")
    assert "before: 12.698GB/s; -50.0% now" in text.out


def test_names_with_hyphens(cli: Cli, tmp_path: Path) -> None:
    names = ["a-1", "a-2", "b", "c"]
    links = [{"from": a, "to": b, "bandwidth": "1GB/s", "duplex": True} for a, b in itertools.combinations(names, 2)]
    path = tmp_path / "hyphens.json"
    path.write_text(json.dumps({"nodes": names, "links": links}))
    document = cli("evaluate", path, "--fail", "a-1-a-2", "--json", "--collective", "allgather").json()
    assert Fraction(document["algorithmic_bandwidth"]) == Fraction(8 * GB, 3)


def test_one_way_fabrics_lose_links(cli: Cli) -> None:
    spec = "dicirculant(7,1,2)"
    document = cli("evaluate", spec, "--fail", "0-1", "--collective", "reduce-scatter", "--json").json()
    topology = build(spec)
    kept = ~((topology.src == 0) & (topology.dst == 1))
    graph = Topology.from_arrays(7, topology.src[kept], topology.dst[kept])
    worst = max(
        Fraction(len(side), int((np.isin(graph.dst, side) & ~np.isin(graph.src, side)).sum()))
        for size in range(1, 7)
        for side in itertools.combinations(range(7), size)
    )
    assert Fraction(document["inv_x_star"]) == worst / Fraction(50 * GB, 8)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("uniring(1,7)", "--fail", "0-1"), "1 more cannot be reached from 0"),
        (("tpu_torus(2,2)", "--fail", "chip0.0-chip1.0", "--fail", "chip0.0-chip0.1"), "chip0.0"),
        (("dgx_a100(2)", "--fail", "rail0", "--fail", "rail1"), "box0/gpu0"),
    ],
)
def test_what_is_left_does_not_connect(cli: Cli, args: tuple[str, ...], message: str) -> None:
    assert message in cli("evaluate", "--collective", "allgather", *args).message(status=1)


def test_disconnected_fabric(cli: Cli, tmp_path: Path) -> None:
    links = [{"from": a, "to": b, "bandwidth": "1GB/s", "duplex": True} for a, b in ("ab", "cd")]
    path = tmp_path / "apart.yaml"
    path.write_text(json.dumps({"nodes": list("abcd"), "links": links}))
    message = cli("evaluate", path, "--collective", "allgather").message(status=1)
    assert "c, d cannot be reached from a" in message


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("dgx_a10(2)",), "did you mean 'dgx_a100'"),
        (("torsu(8)",), "did you mean 'torus"),
        (("nowhere.yaml",), "nowhere.yaml: No such file"),
        (("complete(1)",), "n must be at least 2"),
        (("dgx_a100(1)", "--members", "box0/gpu0"), "only one node"),
        (("dgx_a100(1)", "--members", "box0/nvswitch,box0/gpu0"), "is a switch"),
        (("dgx_a100(1)", "--members", "box1/*"), "no node or switch is named 'box1/*'"),
        (("dgx_a100(1)", "--members", ""), "no node or switch is named ''"),
        (("dgx_a100(1)", "--fail", "box0/gpu9"), "write a link as A-B"),
        (("dgx_a100(1)", "--fail", "box0/gpu0-box0/gpu9"), "named 'box0/gpu9'; links of 'box0/gpu0' go to"),
        (("dgx_a100(1)", "--fail", "box0/gpu0-box0/gpu1"), "no link between"),
        (("dgx_a100(1)", "--fail", "box0/nvswitch"), "cannot be reached"),
        (("dgx_a100(1)", "--bandwidth", "1GB/s"), "has bandwidths of its own"),
        (("torus(3,3)", "--bandwidth", "fast"), "bandwidth 'fast'"),
        (("torus(3,3)", "--root", "0"), "allgather has no root"),
        (("torus(3,3)", "--collective", "reduce"), "reduce requires a root"),
        (("torus(3,3)", "--collective", "reduce", "--root", "9"), "named '9'"),
        (("dgx_a100(1)", "--collective", "reduce", "--root", "box0/nvswitch"), "is a switch"),
        (("torus(3,3)", "--set", "trees=0"), "range"),
        (("torus(3,3)", "--set", "max-trees=many"), "integer"),
    ],
)
def test_bad_usage(cli: Cli, args: tuple[str, ...], message: str) -> None:
    assert message in cli("evaluate", "--collective", "allgather", *args).message(
        status=1 if message == "cannot be reached" else 2
    )


def test_bandwidth_of_a_spec(cli: Cli) -> None:
    default = cli("evaluate", "torus(4,4)", "--json", "--collective", "allgather").json()["algorithmic_bandwidth"]
    double = cli("evaluate", "torus(4,4)", "--bandwidth", "25GB/s", "--json", "--collective", "allgather").json()[
        "algorithmic_bandwidth"
    ]
    assert Fraction(double) == 2 * Fraction(default) == Fraction(16, 15) * 25 * GB


# -- fabric -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.yaml", "a.json", "a.graphml"])
def test_written_fabrics_are_read(cli: Cli, tmp_path: Path, name: str) -> None:
    assert cli("convert", "--as", "fabric", "dgx_h100(2)", "-o", tmp_path / name) == Ended(0, "", "")
    assert read_fabric(tmp_path / name) == build_fabric("dgx_h100(2)")
    assert (
        cli("convert", "--as", "fabric", tmp_path / name, "--json").out
        == cli("convert", "--as", "fabric", "dgx_h100(2)", "--format", "json").out
    )


@pytest.mark.parametrize("fabric", ["mi250(2)", "boxes.yaml"])
def test_commands_for_plain_topologies_say_so(cli: Cli, fabric: str, tmp_path: Path) -> None:
    if fabric == "boxes.yaml":
        fabric = str(tmp_path / fabric)
        cli("convert", "--as", "fabric", "mi250(2)", "-o", fabric)
    assert f"{fabric} is a fabric" in cli("convert", "--as", "links", fabric).message()


def test_what_is_left_is_written(cli: Cli, tmp_path: Path) -> None:
    part = ("mi250(2)", "--members", "box*/gcd[0-7]", "--forward", "--fail", "box0/gcd0-box0/gcd1")
    path = tmp_path / "left.yaml"
    assert cli("convert", "--as", "fabric", *part, "-o", path).status == 0
    written, direct = (
        cli("evaluate", path, "--json", "--collective", "allgather").json(),
        cli("evaluate", "--collective", "allgather", *part, "--json").json(),
    )
    for key in ("nodes", "switches", "links", "collectives", "sensitivity"):
        assert written[key] == direct[key]
    assert written["fabric"] == direct["fabric"] == "part of mi250(2)"
    uneven = tmp_path / "one-way.yaml"
    assert cli("convert", "--as", "fabric", "uniring(1,5)", "--fail", "0-1", "-o", uneven).status == 0
    assert "unequal: true" in uneven.read_text()


def test_bad_usage_of_fabric(cli: Cli, tmp_path: Path) -> None:
    assert "use .yaml, .json" in cli("convert", "--as", "fabric", "mi250(1)", "-o", tmp_path / "a.txt").message()
    assert "cannot be combined" in cli("convert", "--as", "fabric", "mi250(1)", "--format", "yaml", "--json").message()
    assert "a.yaml" in cli("convert", "--as", "fabric", "mi250(1)", "-o", tmp_path / "missing" / "a.yaml").message()
    assert list(tmp_path.iterdir()) == []


def test_a_size_alone_shows_the_numbers_of_trees_that_pay_with_their_times(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each time is that of the plan with so many trees, simulated by itself."""
    assert run(["evaluate", "dgx_a100(1)", "--size", "1MiB", "--json", "--collective", "allgather"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert (
        run(["evaluate", "dgx_a100(1)", "--size", "1MiB", "--set", "pareto=yes", "--json", "--collective", "allgather"])
        == 0
    )
    assert json.loads(capsys.readouterr().out) == alone
    (row,) = alone["frontier"]
    plan = schedule("dgx_a100(1)", "allgather", fixed_k=row["k"])
    assert row["times_s"][0] == pytest.approx(float(simulate(plan, size="1MiB", alpha="10us").time))
    assert run(["evaluate", "dgx_a100(1)", "--collective", "all-to-all", "--size", "1MiB"]) == 2
    assert "--algorithm all' prints all times" in capsys.readouterr().err
