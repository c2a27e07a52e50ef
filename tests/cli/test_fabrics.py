"""The commands on fabrics beyond the optimum: frontier, unequal shards, parts and failures, allreduce of any kind."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.samples.tree_tables import forest_schedule
from tests.samples.trees import TREE_COLLECTIVES, TreeCollective
from tests.samples.verdicts import verify_trees
from topodesign.base.errors import InfeasibleError
from topodesign.base.units import parse_size
from topodesign.cli.main import run
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.node_values import as_latency, as_shards
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.optimum import optimum
from topodesign.optima.question import make_question
from topodesign.optima.trees import TreeSolution, limit_trees, smallest_number_of_trees, trade_off_trees
from topodesign.plans.chunk_ops import find_loads
from topodesign.plans.time.chunks import simulate_chunks

GB = 10**9
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def called(*args: str | Path) -> tuple[int, str, str]:
        status = run([str(arg) for arg in args])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return status, out, err

    return called


def document(call: Call, *args: str | Path) -> dict[str, Any]:
    status, out, err = call(*args, "--json")
    assert (status, err) == (0, "")
    result = json.loads(out, parse_constant=pytest.fail)
    assert isinstance(result, dict)
    return result


def root_of(fabric: Fabric, collective: TreeCollective) -> str | None:
    return fabric.names[fabric.compute[-1]] if collective in {"broadcast", "reduce"} else None


# -- numbers of trees -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("collective", TREE_COLLECTIVES)
@pytest.mark.parametrize("spec", ["dgx_a100(2)", pytest.param("mi250(1)", marks=pytest.mark.thorough)])
def test_the_frontier_has_what_no_other_number_beats(spec: str, collective: TreeCollective) -> None:
    fabric = build_fabric(spec)
    root = root_of(fabric, collective)
    question = make_question(fabric, collective, root=root)
    rows, best = trade_off_trees(question), smallest_number_of_trees(question)
    assert rows[0].bandwidth == optimum(fabric, collective, root=root).bandwidth
    assert rows[0].trees == best
    for row, slower in itertools.pairwise(rows):
        assert (row.bandwidth, row.height) > (slower.bandwidth, slower.height)
        assert row.height > slower.height
    for other in limit_trees(question, range(1, min(best, 8) + 1)):
        assert any(row.bandwidth >= other.bandwidth and row.height <= other.height for row in rows)


@pytest.mark.parametrize("collective", TREE_COLLECTIVES)
def test_rows_are_those_of_the_schedules(call: Call, tmp_path: Path, collective: TreeCollective) -> None:
    fabric, path = build_fabric("dgx_a100(2)"), tmp_path / "x.npz"
    root = root_of(fabric, collective)
    common = ("dgx_a100(2)", "--collective", collective, *(("--root", root) if root else ()))
    sizes = ("--alpha", "3us", "--size", "1MiB", "--size", "100MB")
    told = document(
        call,
        "evaluate",
        "--collective",
        "allgather",
        *common,
        "--set",
        "max-trees=2",
        "--set",
        "pareto=yes",
        "--set",
        "trees=3",
        *sizes,
    )
    assert [row["k"] for row in told["scan"]] == [1, 2]
    assert (told["k"], told["sizes_bytes"], told["alpha_s"]) == (3, [2**20, 10**8], 3e-6)
    fixed = {key: told[key] for key in told["scan"][0]}
    for row in (*told["scan"], *told["frontier"], fixed):
        made = document(call, "schedule", *common, "--set", f"trees={row['k']!s}", "-o", path)
        for key in ("inv_x_star", "algorithmic_bandwidth", "height", "k"):
            assert made[key] == row[key]
        runs = document(call, "simulate", path, *sizes)["runs"]
        assert [one["time_s"] for one in runs] == row["times_s"]


def test_a_table_for_people(call: Call) -> None:
    out = call(
        "evaluate",
        "dgx_a100(2)",
        "--fail",
        "box0/gpu3",
        "--set",
        "pareto=yes",
        "--size",
        "1MiB",
        "--size",
        "1PB",
        "--collective",
        "allgather",
    )[1]
    lines = out[out.index("numbers of trees per root that pay") :].splitlines()
    assert lines[1].split() == ["k", "bandwidth", "height", "1MiB", "1PB"]
    best, low = lines[2].split(), lines[3].split()
    assert best[:3] == ["7", "328.125GB/s", "+0.0%"]
    assert int(low[3]) < int(best[3])
    assert low[5] == "*"  # small data go faster over low trees
    assert best[-1] == "*"  # and large data over the best
    assert lines[4].endswith("alpha 10us, gap 200ns, hop 300ns")
    assert (
        "numbers of trees per root that pay"
        in call("evaluate", "dgx_a100(2)", "--size", "1MiB", "--collective", "allgather")[1]
    )


# -- links that fail in one direction ---------------------------------------------------------------------------------


def one_dead_direction(draw: st.DrawFn) -> Fabric:
    specs = ["dgx_a100(2)", "mi250(2)", "fat_tree(3,2,2,3)", "rail_optimised(2,3)"]
    fabric = build_fabric(draw(st.sampled_from(specs)))
    switches = {fabric.names[vertex] for vertex in fabric.topology.switches}
    ends = [(link.src, link.dst) for link in fabric.links() if {link.src, link.dst} & switches]
    return fabric.without(one_way=[draw(st.sampled_from(ends))])


@given(st.composite(one_dead_direction)(), st.sampled_from(["allgather", "reduce-scatter"]))
@settings(max_examples=25, deadline=None)
def test_what_is_as_fast_fills_the_links_that_bind(
    fabric: Fabric, collective: Literal["allgather", "reduce-scatter"]
) -> None:
    """Also where no cut alone says why, as a switch has more in than out, or the reverse."""
    try:
        best = optimum(fabric, collective)
    except InfeasibleError:
        reject()  # it was the only link of a host
    assert best.bandwidth == best.bound
    assert best.solution.links
    words = best.solution.bottleneck
    if best.solution.cut:
        rate = sum((link.bandwidth for link in best.solution.links), Fraction(0))
        assert isinstance(best.solution, TreeSolution)
        assert len(best.solution.owners) * best.bandwidth / len(fabric.compute) == rate
    else:
        assert any(fabric.imbalance(switch) in words for switch in fabric.unequal(fabric.topology.switches))
    schedule = forest_schedule(fabric.topology, collective)
    assert verify_trees(schedule, names=fabric.names).ok
    assert len(fabric.compute) * fabric.unit / schedule.inverse_rate == best.bandwidth
    loads = find_loads(schedule.flow).sum(axis=0).tolist()
    for place in best.solution.binding:
        assert loads[place] * schedule.rate == int(fabric.topology.capacity[place])


def test_what_is_left_is_compared_with_before_also_with_unequal_shards(call: Call) -> None:
    dead, shards = ("--fail", "box0/gpu3"), ("--shards", "box0/gpu0=2")
    whole = document(call, "evaluate", "dgx_a100(2)", *shards, "--collective", "allgather")
    left = document(call, "evaluate", "dgx_a100(2)", *shards, *dead, "--collective", "allgather")
    assert left["before"]["algorithmic_bandwidth"] == whole["algorithmic_bandwidth"]
    listed = ("--shards", ",".join(["1"] * 15))  # fits what is left alone
    assert "before" not in document(call, "evaluate", "dgx_a100(2)", *listed, *dead, "--collective", "allgather")


def test_one_dead_direction_on_the_command_line(call: Call, tmp_path: Path) -> None:
    dead = ("--fail", "box0/gpu0>box0/nvswitch")
    told = document(call, "evaluate", "dgx_a100(2)", *dead, "--collective", "allgather")
    assert Fraction(told["algorithmic_bandwidth"]) == Fraction(16 * 2300 * GB, 8 * 15)  # tests/test_forest_reference.py
    assert told["proven"]
    assert told["bottleneck_cut"] == []
    assert "'box0/nvswitch' has 2100GB/s in but 2400GB/s out" in told["bottleneck"]
    assert sum(Fraction(link["bandwidth"]) for link in told["bottleneck_links"]) == 2300 * GB
    path = tmp_path / "x.npz"
    made = document(call, "schedule", "dgx_a100(2)", *dead, "--collective", "allgather", "-o", path)
    assert made["algorithmic_bandwidth"] == told["algorithmic_bandwidth"]
    assert call("verify", path)[0] == 0
    assert call("compile", path, "-o", tmp_path / "x.xml")[0] == 0
    assert (
        "there is no link from"
        in call("evaluate", "dgx_a100(2)", "--fail", "box0/gpu0>box0/gpu1", "--collective", "allgather")[2]
    )
    left = tmp_path / "left.yaml"
    assert call("convert", "--as", "fabric", "dgx_a100(2)", *dead, "-o", left)[0] == 0
    assert (
        document(call, "evaluate", left, "--collective", "allgather")["algorithmic_bandwidth"]
        == told["algorithmic_bandwidth"]
    )
    left.write_text(left.read_text().replace("unequal: true", "unequal: false"))
    assert "the file says that they do not: 'unequal: true'" in call("evaluate", left, "--collective", "allgather")[2]


# -- unequal shards ---------------------------------------------------------------------------------------------------


@st.composite
def fabrics_with_shards(draw: st.DrawFn) -> tuple[Fabric, list[int]]:
    """One-way circles, the first through all vertices, the last of which may be switches."""
    nodes, switches = draw(st.integers(2, 4)), draw(st.integers(0, 2))
    names = [f"v{at}" for at in range(nodes + switches)]
    circles = [names, *draw(st.lists(st.lists(st.sampled_from(names), min_size=2, unique=True), max_size=3))]
    links = []
    for circle in circles:
        rate = draw(st.fractions(Fraction(1, 3), 5, max_denominator=3))
        links += [FabricLink(a, b, rate) for a, b in zip(circle, circle[1:] + circle[:1], strict=True)]
    shards = draw(st.lists(st.integers(0, 4), min_size=nodes, max_size=nodes).filter(any))
    return Fabric.from_links("small", names[:nodes], names[nodes:], links), shards


def least_time(fabric: Fabric, shards: list[int], *, reduces: bool) -> Fraction:
    """Over all cuts: the shards inside over the bandwidth out, or into it to reduce."""
    size = {fabric.names[node]: shard for node, shard in zip(fabric.compute, shards, strict=True)}
    worst = Fraction(0)
    for count in range(1, len(fabric.names)):
        for side in map(set, itertools.combinations(fabric.names, count)):
            if not size.keys() <= side:
                ends = (
                    (link.dst, link.src, link) if reduces else (link.src, link.dst, link) for link in fabric.links()
                )
                out = sum((k.bandwidth for near, far, k in ends if near in side and far not in side), Fraction(0))
                worst = max(worst, sum(size.get(name, 0) for name in side) / out)
    return worst


@settings(max_examples=40, deadline=None)
@given(fabrics_with_shards(), st.sampled_from(TREE_COLLECTIVES), st.integers(0, 3))
def test_throughput_is_the_bound_over_all_cuts(
    sample: tuple[Fabric, list[int]], collective: TreeCollective, place: int
) -> None:
    fabric, shards = sample
    root = None
    if collective in {"broadcast", "reduce"}:  # all data are those of the root
        shards = [int(at == place % len(shards)) for at in range(len(shards))]
        root = fabric.names[fabric.compute[shards.index(1)]]
    forth, back = (least_time(fabric, shards, reduces=reduces) for reduces in (False, True))
    time = {"allgather": forth, "broadcast": forth, "allreduce": forth + back}.get(collective, back)
    asked: dict[str, Any] = {"root": root} if root else {"shards": shards}
    best = optimum(fabric, collective, **asked)
    assert best.bandwidth == sum(shards) / time
    assert best.inverse_rate == (1 if root else len(shards)) / best.bandwidth
    names = {fabric.names[vertex] for vertex in best.solution.cut}
    out = sum(link.bandwidth for link in best.solution.links)
    assert out == sum(link.bandwidth for link in fabric.links() if link.src in names and link.dst not in names)
    assert isinstance(best.solution, TreeSolution)
    assert best.solution.bottleneck.startswith("the ")
    if collective != "allreduce" and len(set(shards)) == 1:
        assert Fraction(len(best.solution.owners) * shards[0]) / out == time
    question = make_question(fabric, collective, **asked)
    few = limit_trees(question, [1, smallest_number_of_trees(question)])
    assert few[0].bandwidth <= few[1].bandwidth == best.bandwidth
    if root is None:
        report = verify_trees(forest_schedule(fabric.topology, collective, shard=shards))
        whole = sum(shards) if len(set(shards)) > 1 else len(shards)  # equal shards are of size one
        assert report.ok
        assert report.inverse_rate == time * fabric.unit * whole / sum(shards)


def test_shards_are_read_alike_from_everywhere(call: Call, tmp_path: Path) -> None:
    table = tmp_path / "shards.csv"
    table.write_text("node,size\nbox0/*,3/2\n\nbox0/gpu1,2\n")
    texts = ("1.5,2,1.5,1.5,1.5,1.5,1.5,1.5", "box*=1.5,box0/gpu1=4/2", "box0/gpu1=2, box0/gpu[02-7]=1.50", str(table))
    fabric = build_fabric("dgx_a100(1)")
    assert {as_shards(fabric, text) for text in texts} == {(3, 4, 3, 3, 3, 3, 3, 3)}
    assert as_shards(fabric, "box0/gpu7=0") == (1,) * 7 + (0,)
    told = [document(call, "evaluate", "dgx_a100(1)", "--shards", text, "--collective", "allgather") for text in texts]
    assert all(one == told[0] for one in told)
    assert told[0]["shards"]["box0/gpu1"] == 4


def test_shards_go_through_all_commands(call: Call, tmp_path: Path) -> None:
    path, program = tmp_path / "x.npz", tmp_path / "x.xml"
    args = ("dgx_a100(2)", "--shards", "box0/*=2")
    told = document(call, "evaluate", "--collective", "allgather", *args)
    made = document(call, "schedule", *args, "--collective", "allgather", "-o", path)
    assert (made["shards"]["box0/gpu0"], made["shards"]["box1/gpu0"]) == (2, 1)
    checked = document(call, "verify", path)
    for key in ("algorithmic_bandwidth", "inv_x_star", "k", "shards"):
        assert told[key] == made[key] == checked[key]
    (timed,) = document(call, "simulate", path, "--alpha", "0s", "--gap", "0s", "--hop", "0s", "--size", "1PB")["runs"]
    assert timed["algorithmic_bandwidth_GBps"] == pytest.approx(told["algorithmic_bandwidth_GBps"], rel=1e-6)
    status, _, err = call("compile", path, "-o", program)
    assert (status, "unequal shards" in err, program.exists()) == (1, True, False)
    assert document(call, "compile", *args, "-o", program)["verdict"] == "ok"  # an allreduce owns nothing at its ends
    both = document(call, "schedule", *args, "-o", path)
    assert not both["concurrent"]
    assert "with --shards" in both["allreduce"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2", "2 sizes for 8 nodes"),
        ("", "write 2,1,1,..."),
        ("box0/gpu0=2,3", "2 sizes for 8 nodes"),
        ("box0/gpu9=1", "named 'box0/gpu9'"),
        ("box0/nvswitch=1", "is a switch"),
        ("box0/gpu0=-1", "'-1' of box0/gpu0 is not a number"),
        ("box0/gpu0=1/0", "'1/0' of box0/gpu0 is not a number"),
        ("box*=0", "gives no node any data"),
        ("missing.csv", "missing.csv: No such file"),
        ("bad.csv", "line 1: expected the header node,size"),
        ("long.csv", "line 3: expected a row such as"),
    ],
)
def test_bad_shards(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text("gpu0,1\n")
    Path("long.csv").write_text("node,size\nbox0/gpu0,1\nbox0/gpu1,1,1\n")
    for args in (("evaluate", "dgx_a100(1)", "--collective", "allgather"), ("schedule", "dgx_a100(1)", "-o", "x.npz")):
        status, out, err = call(*args, "--shards", text)
        assert (status, out) == (2, "")
        assert words in err
    assert not Path("x.npz").exists()


def test_shards_where_there_is_one(call: Call, tmp_path: Path) -> None:
    rooted = ("dgx_a100(1)", "--collective", "broadcast", "--root", "box0/gpu0", "--shards", "box0/gpu0=2")
    assert "the only shard" in call("evaluate", "--collective", "allgather", *rooted)[2]
    assert "the only shard" in call("schedule", *rooted, "-o", tmp_path / "x.npz")[2]


# -- parts and failures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "part",
    [
        ("--fail", "box0/gpu3"),
        ("--fail", "box0/gpu1-box0/nvswitch"),
        ("--members", "box0/gpu[0-3],box1/gpu[0-3]", "--forward"),
    ],
)
def test_parts_are_scheduled_as_their_file_is(call: Call, tmp_path: Path, part: tuple[str, ...]) -> None:
    left, path = tmp_path / "left.yaml", tmp_path / "x.npz"
    assert call("convert", "--as", "fabric", "dgx_a100(2)", *part, "-o", left)[0] == 0
    made = document(call, "schedule", "dgx_a100(2)", "--collective", "allgather", *part, "-o", path)
    whole, told = (
        document(call, "evaluate", "dgx_a100(2)", "--collective", "allgather"),
        document(call, "evaluate", "dgx_a100(2)", *part, "--collective", "allgather"),
    )
    assert made["algorithmic_bandwidth"] == told["algorithmic_bandwidth"]
    assert told["before"]["algorithmic_bandwidth"] == whole["algorithmic_bandwidth"]
    assert document(call, "verify", path)["spec"] is None
    again = document(call, "schedule", left, "--collective", "allgather", "-o", path)
    assert again == made
    for source in (("dgx_a100(2)", *part), (left,)):
        assert document(call, "compile", *source, "-o", tmp_path / f"{len(source)}.xml")["verdict"] == "ok"
    programs = [one.read_bytes() for one in tmp_path.glob("*.xml")]
    assert programs[0] == programs[1]


def test_what_is_down_is_told_alike(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    assert call("schedule", "dgx_a100(2)", "--collective", "reduce-scatter", "-o", path)[0] == 0
    ends = ("box0/gpu0", "box0/nvswitch")
    one = call("simulate", path, "--fail", "-".join(ends), "--json")
    two = call("simulate", path, "--fail", ">".join(ends), "--fail", ">".join(ends[::-1]), "--json")
    assert one == two
    assert one[0] == 1
    (result,) = json.loads(one[1])["runs"]
    assert result["down"] == [{"from": a, "to": b} for a, b in (ends, ends[::-1])]
    assert not result["completes"]
    assert "box0/gpu0" in result["incomplete_nodes"]
    text = call("simulate", path, "--fail", "-".join(ends))[1]
    assert f"{len(result['incomplete_nodes'])} of 16 nodes never get their whole sum" in text
    assert "lacks the parts of" in text
    dead = json.loads(call("simulate", path, "--fail", "rail0", "--json")[1])["runs"][0]["down"]
    assert len(dead) == 2 * sum(link.dst == "rail0" for link in build_fabric("dgx_a100(2)").links())
    assert "no link from 'rail0' to 'rail1'" in call("simulate", path, "--fail", "rail0>rail1")[2]


def test_a_link_that_no_tree_takes_is_not_missed(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    source = tmp_path / "x.yaml"
    rows = [f"  - {{from: {a}, to: {b}, bandwidth: {r}GB/s, duplex: true}}" for a, b, r in ("ab5", "bc5", "ac5", "sa1")]
    source.write_text("nodes: [a, b, c]\nswitches: [s]\nlinks:\n" + "\n".join(rows) + "\n")
    assert call("schedule", source, "--collective", "allgather", "-o", path)[0] == 0
    status, out, _ = call("simulate", path, "--fail", "s>a")
    assert (status, "still finishes" in out) == (0, True)


def test_options_of_a_part_are_refused_where_they_mean_nothing(call: Call, tmp_path: Path) -> None:
    path, output = tmp_path / "x.npz", ("-o", tmp_path / "y.xml")
    assert call("schedule", "dgx_a100(1)", "-o", path)[0] == 0
    for args, words in (
        (("compile", path, "--fail", "box0/gpu0", *output), "decides --fail"),
        (("compile", path, "--shards", "1", *output), "decides --shards"),
        (("simulate", path, "--fail", "gpu9"), "write a link as A-B"),
    ):
        status, out, err = call(*args)
        assert (status, out) == (2, "")
        assert words in err
    less = ("--algorithm", "spff", "--fail", "0-1", "-o", tmp_path / "z.npz")
    assert call("schedule", "torus(3,3)", *less)[0] == 0
    assert call("verify", tmp_path / "z.npz")[0] == 0
    assert call("schedule", "circulant(12,2,3)", "-o", path)[0] == 0
    assert "no link" in call("simulate", path, "--fail", "0-1")[2]
    assert call("simulate", path, "--fail", "0-2")[0] == 1


@pytest.mark.parametrize("collective", TREE_COLLECTIVES)
def test_what_cannot_be_reached_has_a_name(call: Call, tmp_path: Path, collective: TreeCollective) -> None:
    source = tmp_path / "apart.yaml"
    rows = [f"  - {{from: {a}, to: {b}, bandwidth: 1GB/s, duplex: true}}" for a, b in ("xy", "zw")]
    source.write_text("nodes: [x, y, z, w]\nlinks:\n" + "\n".join(rows) + "\n")
    root = ("--root", "x") if collective in {"broadcast", "reduce"} else ()
    for command in (("evaluate",), ("schedule", "-o", tmp_path / "x.npz"), ("compile", "-o", tmp_path / "x.xml")):
        status, out, err = call(*command, source, "--collective", collective, *root)
        assert (status, out) == (1, "")
        assert "z, w cannot" in err
        assert "x" in err.split()


# -- allreduce --------------------------------------------------------------------------------------------------------


def test_the_best_allreduce_is_told_beside_the_composed_one(call: Call, tmp_path: Path) -> None:
    args = ("genkautz(2,7)", "--collective", "allreduce")
    told = document(call, "evaluate", "--collective", "allgather", *args)
    best, composed = told["best_allreduce"], told["best_allreduce"]["composed"]
    assert best["proven"]
    assert not best["composed_is_best"]
    assert Fraction(best["algorithmic_bandwidth"]) == Fraction(best["bound"])
    assert composed == told["collectives"]["allreduce"]
    assert Fraction(best["algorithmic_bandwidth"]) > Fraction(composed["algorithmic_bandwidth"])
    path = tmp_path / "x.npz"
    fixed = document(call, "schedule", *args, "--algorithm", "forest", "--set", "trees=2", "-o", path)
    assert "with --set trees= no allreduce of another kind is looked for" in fixed["allreduce"]
    assert fixed["algorithmic_bandwidth"] == composed["algorithmic_bandwidth"]
    assert (
        "with --set trees="
        in call("compile", *args, "--algorithm", "forest", "--set", "trees=2", "-o", tmp_path / "x.xml")[1]
    )


def test_what_is_not_proven_is_said(call: Call) -> None:
    args = ("genkautz(3,129)", "--collective", "allreduce")  # above 128 nodes cuts alone give a bound
    many = document(call, "evaluate", "--collective", "allgather", *args)["best_allreduce"]
    assert (many["proven"], many["composed_is_best"]) == (False, False)
    assert many["algorithmic_bandwidth"] == many["composed"]["algorithmic_bandwidth"]
    assert Fraction(many["bound"]) > Fraction(many["algorithmic_bandwidth"])
    assert "of the upper bound: most bandwidth among " in many["in_words"]
    assert "above 128 nodes, here 129" in many["in_words"]
    assert many["in_words"] in call("evaluate", "--collective", "allgather", *args)[1]
    uneven = ("evaluate", "mi250(1)", "--collective", "allreduce", "--shards", "box0/gcd0=2")
    assert "best_allreduce" not in document(call, *uneven)
    assert "not asked with --shards" in call(*uneven)[1]


# -- words ------------------------------------------------------------------------------------------------------------


def test_counts_and_slow_links_are_readable(call: Call, tmp_path: Path) -> None:
    source, path = tmp_path / "slow.yaml", tmp_path / "slow.npz"
    source.write_text("nodes: [a, b]\nlinks: [{from: a, to: b, bandwidth: 3kB/s, duplex: true}]\n")
    out = call("evaluate", source, "--collective", "allgather")[1]
    assert out.startswith("slow: 2 nodes, 0 switches\n")
    assert "allgather       6kB/s" in out
    assert "(1 tree per root reaches the optimum)" in out
    assert "the link of a, 3kB/s, has to" in out
    assert "1 tree per root" in call("schedule", source, "--collective", "allgather", "-o", path)[1]
    assert "bandwidth 6kB/s" in call("verify", path)[1]
    assert "1 switch\n" in call("evaluate", "dgx_a100(1)", "--collective", "allgather")[1]


def test_times_are_those_of_the_simulator() -> None:
    fabric = build_fabric("dgx1_v100(1)")
    latency, size = as_latency("7us"), parse_size("3MB")
    (row,) = limit_trees(make_question(fabric), [2], latency=latency, sizes=[size])
    schedule = forest_schedule(fabric.topology, "allgather", k=2)
    assert row.times == (simulate_chunks(schedule.on(fabric), latency=latency, size=size, unit=8 * fabric.unit).time,)
