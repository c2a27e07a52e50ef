"""Uneven all-to-all: exact against a linear program, even traffic as all-to-all is priced, and regret."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.samples.paths import Paths
from tests.solve.flows.test_program import by_pairs
from topodesign import as_fabric, schedule, select_part
from topodesign.base.errors import ParameterError
from topodesign.cli.main import run
from topodesign.optima.uneven import price_uneven
from topodesign.pricing.all_to_all import all_to_all
from topodesign.topology.library import build

SPECS = ("torus(3,3)", "genkautz(2,7)", "circulant(8,1,3)", "hypercube(3)")


@pytest.mark.parametrize("seed", range(30))
def test_thirty_matrices_cost_what_a_linear_program_says(seed: int) -> None:
    topology = build(SPECS[seed % 4])
    name = ("zipf:1.2", "dirichlet:0.3")[seed % 2]
    found = price_uneven(topology, name, tokens=60, seed=seed, piece=1, bandwidth=8 * topology.degree)
    least = by_pairs(topology, found.demand.amounts, [0] * len(topology.src))
    assert found.claims[0].proven
    assert float(found.seconds) == pytest.approx(least, rel=1e-7)
    assert found.regret is not None
    assert found.regret >= 1
    assert found.kept_seconds == found.regret * found.seconds


@pytest.mark.parametrize("spec", SPECS)
def test_even_traffic_has_no_regret(spec: str) -> None:
    topology = build(spec)
    even = np.ones((topology.nodes, topology.nodes), dtype=np.int64)
    found = price_uneven(topology, even, piece=1, bandwidth=8 * topology.degree)
    factor = all_to_all(topology).bandwidth or 0
    assert found.regret == found.fullest == 1
    assert found.seconds == found.even_seconds == factor * topology.nodes / topology.degree


@pytest.mark.parametrize(
    ("matrix", "options", "words"),
    [
        ("zipf", {}, "zipf:1.2"),
        ([[1]], {}, "the matrix has 9 lines"),
        (np.zeros((9, 9), dtype=np.int64), {}, "no data leaves its node"),
        (np.full((9, 9), -1), {}, "from 0 to"),
        (np.full((9, 9), 0.5), {}, "whole numbers"),
        ("dirichlet:0", {}, "above zero"),
        ("zipf:1", {"tokens": 0}, "tokens"),
        (np.ones((9, 9), dtype=np.int64), {"seed": 3}, "for distributions"),
        ("zipf:1", {"place": "fat_tree(3,3,3)", "bandwidth": "1Gbps"}, "bandwidths of its own"),
    ],
)
def test_what_is_wrong_is_said(matrix: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        price_uneven(**{"place": "torus(3,3)", "matrix": matrix, **options})


def test_a_file_is_the_matrix(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("# from, to\n0,3,1\n2,0,5\n1,1,0\n")
    found = price_uneven("circulant(3,1)", path)
    assert found.demand.amounts.tolist() == [[0, 3, 1], [2, 0, 5], [1, 1, 0]]
    found.save(tmp_path / "again.csv")
    assert price_uneven("circulant(3,1)", tmp_path / "again.csv").record() == found.record()


@pytest.mark.parametrize("spec", ["dgx_h100(2)", "fat_tree(2,3,2)", "mi250(1)"])
def test_regret_on_fabrics_is_that_of_the_plan_that_schedule_makes(spec: str) -> None:
    found = price_uneven(spec, "zipf:1", tokens=50, seed=7, piece=1)
    plan = schedule(spec, "all-to-all")
    paths = Paths.of(plan.flow)
    pieces = found.demand.amounts.ravel()[paths.block]
    loads = np.zeros(len(paths.topology.src))
    for path, (start, end) in enumerate(pairwise(paths.hop_start.tolist())):
        for u, v in pairwise(paths.hop[start:end].tolist()):
            loads[paths.topology.link_index(u, v)] += pieces[path] * paths.weight[path] / paths.units
    assert float(found.kept_seconds or 0) == pytest.approx(
        max(loads / paths.topology.capacity / float(plan.fabric.unit))
    )
    assert found.regret is not None
    assert found.regret >= 1


def test_shards_of_an_all_to_all_are_its_traffic_among_members(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["dgx_h100(1)", "--members", "box0/gpu[0-3]", "--json"]
    assert run(["evaluate", *words, "--collective", "all-to-all", "--shards", "zipf:1.2"]) == 0
    by_shards = json.loads(capsys.readouterr().out)
    assert run(["evaluate", *words, "--traffic", "zipf:1.2"]) == 0
    assert json.loads(capsys.readouterr().out) == by_shards
    part = select_part(as_fabric("dgx_h100(1)"), "box0/gpu[0-3]")
    assert by_shards["seconds_exact"] == str(price_uneven(part, "zipf:1.2").seconds)
