"""What names a topology: its text, a file of its links and a networkx graph of it are the same topology."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from topodesign.base.errors import FileFormatError, ParameterError, SpecError, TopodesignError
from topodesign.base.spec import parse
from topodesign.fabrics.places import as_topology
from topodesign.topology.files import LINK_FORMATS, write_links
from topodesign.topology.library import build

SPECS = ["circulant(12,2,3)", "torus(4,4)", "genkautz(3,11)", "line(complete(4))"]


@pytest.mark.parametrize("text", SPECS)
def test_everything_that_names_a_topology_gives_it(text: str, tmp_path: Path) -> None:
    topology = build(text)
    assert as_topology(topology) is topology
    assert as_topology(text) == as_topology(parse(text)) == as_topology(topology.to_networkx()) == topology
    for file_format in LINK_FORMATS:
        if topology.is_duplex or file_format != "edges":  # which are undirected
            path = tmp_path / f"links.{file_format}"
            path.write_text(write_links(topology, file_format))
            assert as_topology(path) == as_topology(str(path)) == topology


def test_graphs_with_any_names() -> None:
    grid = as_topology(nx.grid_2d_graph(3, 4, periodic=True))  # nodes are pairs
    assert (grid.nodes, grid.degree, grid.is_duplex) == (12, 4, True)
    assert as_topology(nx.cycle_graph(5, create_using=nx.DiGraph)) == build("uniring(1,5)")
    shuffled = nx.DiGraph([("2", "0"), ("0", "1"), ("1", "2")])
    assert as_topology(shuffled) == build("uniring(1,3)")


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("", SpecError),
        ("torus(4,", SpecError),
        ("toros(4,4)", SpecError),
        ("missing.json", FileFormatError),
        ("no/such", FileFormatError),
        (Path("missing.json"), FileFormatError),
        (Path("circulant(12,2,3)"), FileFormatError),
        ("a\0.json", FileFormatError),
        ("dgx_a100(2)", ParameterError),
        (Path("fabric.yaml"), FileFormatError),
        (nx.DiGraph(), ParameterError),
        (nx.DiGraph([(0, 1, {"capacity": 0.5})]), ParameterError),
        (None, ParameterError),
        (5, ParameterError),
        (Fraction(1), ParameterError),
        (np.zeros((3, 3)), ParameterError),
        ([(0, 1)], ParameterError),
    ],
)
def test_what_names_none_is_refused(value: Any, error: type[TopodesignError]) -> None:
    with pytest.raises(error):
        as_topology(value)
