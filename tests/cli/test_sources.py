"""What files are, and that names of nodes which go no further are reported once."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from topodesign import as_topology, build
from topodesign.cli.main import run


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "named.graphml"
    graph = build("circulant(6,1,2)").to_networkx()
    nx.write_graphml(nx.relabel_nodes(graph, {node: f"host{node}" for node in graph}), path)
    return path


def test_names_are_kept_beside_the_topology(named: Path) -> None:
    found = as_topology(named)
    assert found == build("circulant(6,1,2)")
    assert found.node_names == tuple(f"host{node}" for node in range(6))
    assert as_topology(build("circulant(6,1,2)").to_networkx()).node_names is None
    assert build("circulant(6,1,2)").node_names is None


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "named.graphml"],
        ["convert", "named.graphml", "--as", "links"],
        ["schedule", "named.graphml", "-o", "plan.npz"],
        ["compile", "named.graphml", "-o", "program.xml"],
    ],
)
def test_that_names_are_dropped_is_said_once(words: list[str], named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    err = capsys.readouterr().err
    assert err.count("host0 is node 0, host5 node 5") == 1
    assert "host" not in capsys.readouterr().out
    assert named.exists()
    other = [word.replace("named.graphml", "circulant(6,1,2)") for word in words]
    assert run(other) == 0
    assert "node 0" not in capsys.readouterr().err
