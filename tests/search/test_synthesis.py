"""Synthesized topologies: right, exactly priced, never below the bound, and the bound against going through all."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from topodesign import all_to_all, as_topology, price, synthesize
from topodesign.base.cost import least_distances
from topodesign.base.errors import TopodesignError
from topodesign.cli.main import run
from topodesign.search.link_swaps import distance_sum, least_sum
from topodesign.search.synthesis import Synthesis
from topodesign.solve.discrete import Discrete
from topodesign.topology.topology import Topology


def check(found: Synthesis, *, duplex: bool = False) -> None:
    topology = found.topology
    assert len(topology.src) == topology.nodes * topology.degree
    assert topology.is_duplex or not duplex
    assert found.bound <= found.bandwidth
    assert (found.proof == "none") or found.bandwidth == found.bound
    if found.collective == "all-to-all":
        assert found.bandwidth == all_to_all(topology).bandwidth
        assert found.bandwidth >= Fraction(found.distances, topology.nodes**2)


@pytest.mark.parametrize(("nodes", "degree", "duplex"), [
    (2, 1, False), (4, 3, True), (5, 2, False), (6, 2, False), (7, 3, False), (6, 3, True), (8, 2, True),
])  # fmt: skip
def test_what_is_made(nodes: int, degree: int, duplex: bool) -> None:
    check(synthesize(nodes, degree, bidirectional=duplex, time_limit="1s"), duplex=duplex)


def test_known_optima() -> None:
    """Where all distances are Moore's and the load is even nothing is better: complete graphs, Petersen's."""
    assert synthesize(5, 4).bandwidth == Fraction(4, 5)
    assert synthesize(10, 3, bidirectional=True, time_limit="20s").bandwidth == Fraction(3, 2)
    found = synthesize(8, 2, collective="allgather", time_limit="20s")
    assert (found.bandwidth, found.diameter, found.proof) == (Fraction(7, 8), 3, "bound")
    check(found)
    assert price(found.topology, all_sources=True).bandwidth == Fraction(7, 8)


def sums(nodes: int, degree: int) -> list[int]:
    """The sums of distances of all regular digraphs."""
    rows = [
        [sum(1 << v for v in ends) for ends in itertools.combinations([v for v in range(nodes) if v != u], degree)]
        for u in range(nodes)
    ]
    return [
        distance_sum(list(out))[0]
        for out in itertools.product(*rows)
        if all(sum(one >> v & 1 for one in out) == degree for v in range(nodes))
    ]


@pytest.mark.parametrize(("nodes", "degree"), [(4, 1), (4, 2), (5, 2), (5, 3)])
def test_the_least_sum_of_distances_is_that_of_all_digraphs(nodes: int, degree: int) -> None:
    least = min(sums(nodes, degree))
    moore = nodes * least_distances(nodes, degree, degree)
    assert moore <= least
    for known in {least, least + nodes}:
        assert least_sum(nodes, degree, False, (moore - 1, known), 20) == least


def test_without_time_or_library_the_bound_is_what_counting_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert least_sum(6, 2, False, (48, 50), 0) == 48
    monkeypatch.setattr(Discrete, "solve", lambda *_, **__: "stopped")
    monkeypatch.setattr(Discrete, "bound", -(10**6))
    assert least_sum(6, 2, False, (48, 50), 9) == 48


def test_distances_are_those_of_topologies() -> None:
    for seed in range(5):
        found = synthesize(7, 2, time_limit="200ms", seed=seed)
        apart = [[min_distance(found.topology, u, v) for v in range(7)] for u in range(7)]
        assert found.distances == sum(map(sum, apart))
        assert found.diameter == max(map(max, apart))


def min_distance(topology: Topology, source: int, goal: int) -> int:
    seen, at = {source}, 0
    while goal not in seen:
        seen |= {v for u, v, _ in topology.links() if u in seen}
        at += 1
    return at


@pytest.mark.parametrize(("options", "words"), [
    ({"nodes": 17}, "nodes must be from 2 to 16"),
    ({"degree": 6}, "degree must be from 1 to 5"),
    ({"collective": "broadcast"}, "collective"),
    ({"nodes": 5, "degree": 3, "bidirectional": True}, "make no topology"),
    ({"time_limit": "0s"}, "above zero"),
    ({"seed": -1}, "seed"),
])  # fmt: skip
def test_bad_input(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TopodesignError, match=words):
        synthesize(**{"nodes": 6, "degree": 2, **options})


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "six.csv"
    command = ["synthesize", "-n", "6", "-d", "2", "--time-limit", "1s", "-o", str(path)]
    assert run([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert Fraction(document["bound"]) <= Fraction(document["bandwidth"])
    assert as_topology(str(path)).links() == [tuple(link) for link in document["links"]]
    assert run(command) == 0
    assert "6 nodes of degree 2 for all-to-all" in capsys.readouterr().out
    assert run([*command[:-1], str(tmp_path / "six.pdf")]) == 2
