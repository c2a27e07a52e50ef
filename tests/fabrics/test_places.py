"""Topologies and fabrics from whatever names them."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import networkx as nx
import pytest

from topodesign.base.errors import ParameterError, SpecError, TopodesignError
from topodesign.base.spec import parse
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.files import write_fabric
from topodesign.fabrics.places import as_fabric, as_place, named_preset
from topodesign.fabrics.presets import build_fabric
from topodesign.topology.files import write_links
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


def test_one_fabric_by_all_its_names(tmp_path: Path) -> None:
    fabric = build_fabric("dgx_h100(1)")
    for ending in ("yaml", "json", "graphml"):
        path = tmp_path / f"x.{ending}"
        path.write_text(write_fabric(fabric, ending))
        for file in (path, str(path)):
            assert as_place(file) == as_fabric(file) == fabric
            assert named_preset(file) is None
    for value in ("dgx_h100(1)", " dgx_h100( 1 )", parse("dgx_h100(1)"), fabric):
        assert as_place(value) == as_fabric(value) == fabric
        assert named_preset(value) == "dgx_h100(1)"


def test_plain_topologies_stay_plain_and_make_fabrics(tmp_path: Path) -> None:
    topology = build("torus(3,3)")
    path = tmp_path / "links.csv"
    path.write_text(write_links(topology, "csv"))
    for value in ("torus(3,3)", parse("torus(3,3)"), topology, path, topology.to_networkx()):
        assert as_place(value) == topology
        fabric = as_fabric(value, "40Gbps")
        assert fabric.topology == topology
        assert fabric.links()[0].bandwidth == Fraction(10**10, 8)
        assert named_preset(value) is None


def test_switches_and_bandwidths_make_a_fabric() -> None:
    star = Topology.from_links(3, [(0, 2), (2, 0), (1, 2), (2, 1)], switches=[2])
    assert isinstance(as_place(star), Fabric)
    graph = nx.Graph()
    graph.add_edge("a", "b", bandwidth="25GB/s")
    place = as_place(graph)
    assert isinstance(place, Fabric)
    assert place.names == ("a", "b")
    assert place.unit == 25 * 10**9
    with pytest.raises(TopodesignError, match="give no other"):
        as_fabric(graph, "1Gbps")


def test_wrong_ones_are_our_errors() -> None:
    with pytest.raises(SpecError, match="did you mean 'dgx_a100'"):
        as_place("dgx_a10(2)")
    with pytest.raises(ParameterError, match="bandwidths of its own"):
        as_fabric("mi250(2)", "1GB/s")
    for value in (7, None, ["torus(3,3)"]):
        for function in (as_place, as_fabric):
            with pytest.raises(ParameterError, match="is needed, not"):
                function(value)
    for name in ("missing.yaml", "missing.csv", Path("missing.json")):
        with pytest.raises(TopodesignError, match="No such file"):
            as_place(name)
