"""``pareto --box``: what is found, that it is told as it is, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from tests.conftest import few
from topodesign import as_fabric, optimum, pareto_boxes, schedule, simulate
from topodesign.base.errors import ParameterError
from topodesign.cli.main import run
from topodesign.collectives import ALL_TO_ALL
from topodesign.optima.flows import solve_flow
from topodesign.optima.question import Question
from topodesign.report.boxes.candidates import graphs_of

GB = 10**9


@pytest.mark.dear("8-51.78")
@pytest.mark.parametrize(
    ("boxes", "least"),
    [
        (4, 62.5),
        (8, 51.78),
        (16, 36.36),
        pytest.param(32, 29.26, marks=pytest.mark.thorough),
        pytest.param(64, 25.3, marks=pytest.mark.thorough),
    ],
)
def test_all_to_all_is_as_fast_as_was_ever_found(boxes: int, least: float) -> None:
    found = pareto_boxes("dgx_h100", boxes)
    best = found.best
    assert best.rates.gbps is not None
    assert best.rates.gbps >= least
    assert best.rates.least is not None
    assert best.rates.least <= best.rates.most <= found.bound
    assert best.rates.allgather == optimum(as_fabric(best.fabric.name)).bandwidth
    assert best.rates.least == found.bound or boxes not in {4, 16, 32}


def test_graphs_and_arrays_are_candidates() -> None:
    """Of several without a spec each has a name, and free ports count."""
    others = 2 * (np.ones((5, 5), dtype=np.int64) - np.eye(5, dtype=np.int64))
    found = pareto_boxes("dgx_h100", 5, candidates=[nx.random_regular_graph(4, 5, seed=1), others])
    specs = {one.spec for one in graphs_of(5, 8, duplex=False, own=[others, others + 0])}
    assert {"candidate 1", "candidate 2"} <= specs
    assert found.best.rates.gbps == pareto_boxes("dgx_h100", 5, candidates=["parallel(complete(5),2)"]).best.rates.gbps


@pytest.mark.dear("4-54")
@pytest.mark.parametrize(("boxes", "least"), few([(4, 54), (8, 41), (16, 32)]))
def test_numbers_of_nics_matter_where_the_inside_is_narrow(boxes: int, least: int) -> None:
    found = pareto_boxes("pcie_pair", boxes)
    assert found.best.rates.gbps is not None
    assert found.best.rates.gbps >= least
    assert found.best.tried > 1
    again = solve_flow(Question(as_fabric(found.best.fabric.name), ALL_TO_ALL))
    assert again.bandwidth == found.best.rates.least


@pytest.mark.dear
def test_a_split_nic_reaches_more_boxes() -> None:
    one, two = (pareto_boxes("dgx_h100", 16, split=k).best.rates.least for k in (1, 2))
    assert one is not None
    assert two is not None
    assert two / one > 1.37


@pytest.mark.dear("16")
@pytest.mark.parametrize("boxes", [16, *(pytest.param(n, marks=pytest.mark.thorough) for n in (32, 64))])
def test_for_large_data_some_wiring_is_as_quick_as_rails_are(boxes: int) -> None:
    found = pareto_boxes("dgx_h100", boxes, sizes="64MiB")
    times = [one.time("allgather", "64MiB") for one in (*found.entries, *found.rivals)]
    assert min(times[:-1]) <= times[-1] * Fraction(102, 100)
    assert (
        found.best.pace == min(one.pace for one in found.entries) or "less for an allreduce of 64MiB" in found.verdict
    )


@pytest.mark.dear
def test_document_and_table_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pareto", "--boxes", "dgx_h100", "-n", "4", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["topologies"][0]["all_to_all_GBps"] == 62.5
    assert [one["collective"] for one in document["topologies"][0]["plans"]] == [
        "allreduce",
        "allgather",
        "reduce-scatter",
        "all-to-all",
    ]
    assert run(["pareto", "--boxes", "dgx_h100", "-n", "4"]) == 0
    text = capsys.readouterr().out
    assert "62.50" in text
    assert "meets the bound" in text


@pytest.mark.dear
def test_a_workload_ranks_by_the_time_of_a_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The step is what plans of each collective take, made and simulated here once more; nothing listed is faster."""
    path = tmp_path / "step.yaml"
    path.write_text(
        "collectives:\n  - {collective: all-to-all, size: 64MiB, count: 3}\n  - {collective: allreduce, size: 1MiB}\n"
    )
    found = pareto_boxes("mi300x", 3, 4, workload=path)
    for one in (*found.entries, *found.rivals):
        name = one.fabric.name
        flow = schedule(name, "all-to-all", method="boxes")
        whole = 3 * simulate(flow, size="64MiB", alpha="fabric").time
        whole += schedule(name, "allreduce", method="boxes", size="1MiB").claim["time"]
        assert one.step == whole
    steps = [one.step for one in found.entries]
    assert steps == sorted(steps, key=lambda step: step or 0)
    assert "a step takes" in str(found)
    asked = ["pareto", "--boxes", "mi300x", "-n", "3", "-d", "4", "--workload", str(path)]
    assert run([*asked, "--size", "1MiB", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["topologies"][0]["step_s"] == float(steps[0] or 0)
    assert [one["count"] for one in document["workload"]["collectives"]] == [3, 1]


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["--alpha", "1us"], "--alpha cannot be combined with --boxes"),
        (["-d", "9"], "has 8 ports, not 9"),
    ],
)
def test_options_without_meaning_are_refused(words: list[str], match: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pareto", "--boxes", "dgx_h100", "-n", "4", *words]) == 2
    assert match in capsys.readouterr().err


@pytest.mark.dear
def test_boxes_of_a_file_are_answered_in_every_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    links = [{"from": "g0", "to": "g1", "bandwidth": "100GB/s", "duplex": True}]
    links += [{"from": f"g{k}", "to": "network", "bandwidth": "25GB/s", "duplex": True} for k in range(2)]
    path = tmp_path / "box.json"
    path.write_text(json.dumps({"nodes": ["g0", "g1"], "switches": ["network"], "links": links}))
    asked = ["pareto", "--boxes", str(path), "-n", "2..3", "--add", "torus,fattree", "--collective", "all-to-all"]
    assert run([*asked, "--json"]) == 0
    sizes = json.loads(capsys.readouterr().out)["sizes"]
    assert [one["degree"] for one in sizes] == [2, 2]
    assert [rival["topology"] for rival in sizes[1]["rivals"]] == ["torus", "fattree, switched"]
    asked[asked.index("2..3")] = "3"
    assert run(asked) == 0
    assert "fattree, switched" in capsys.readouterr().out


def test_wrong_boxes_are_refused() -> None:
    with pytest.raises(ParameterError, match="two or more"):
        pareto_boxes("dgx_h100", 1)
    with pytest.raises(ParameterError, match="dgx_h100"):
        pareto_boxes("dgx_h101", 4)


def test_boxes_without_latencies_of_their_own_have_the_usual_ones(tmp_path: Path) -> None:
    links = "".join(
        f"  - {{from: g{k}, to: {to}, bandwidth: {rate}GB/s, duplex: true}}\n"
        for k in range(2)
        for to, rate in (("s", 100), ("network", 25))
    )
    (tmp_path / "box.yaml").write_text(f"name: box\nnodes: [g0, g1]\nswitches: [s, network]\nlinks:\n{links}")
    best = pareto_boxes(tmp_path / "box.yaml", 2, sizes="1MiB").best
    plan = best.plan("all-to-all", "1MiB")
    assert best.time("all-to-all", "1MiB") == simulate(plan, size="1MiB").time
