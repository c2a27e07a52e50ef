"""Requests: what is wrong is told in one line that says where and what; what is right is read, or taken."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from topodesign import Request, as_topology, copy_examples, design, request_text
from topodesign.base.errors import FileFormatError, ParameterError, TopodesignError
from topodesign.base.shipped import find_shipped_folder
from topodesign.report.design.reading import read_request, request_of

GOOD = """\
nodes: 12
degree: 4
bandwidth: 100Gbps
alpha: 10us
workload:
  collectives:
    - {collective: allreduce, size: 64MiB, count: 4}
rivals: [torus, ring]
prices: {cable: 40, port: 300}
"""
"""Lines: 1 nodes, 2 degree, 3 bandwidth, 4 alpha, 5 workload, 7 the collective, 8 rivals, 9 prices; 10 is added."""
MIX = "  collectives:\n    - {collective: allreduce, size: 64MiB, count: 4}\n"

BAD: list[tuple[str, str, int, str]] = [
    # what stands there, what stands in its place, the line, and what is said
    ("nodes: 12\n", "", 1, "the field 'nodes' is missing"),
    ("degree: 4\n", "", 1, "the field 'degree' is missing"),
    ("bandwidth: 100Gbps\n", "", 1, "the field 'bandwidth' is missing"),
    ("nodes: 12", "nodes: twelve", 1, "nodes must be an integer"),
    ("nodes: 12", "nodes: 12.5", 1, "nodes must be an integer"),
    ("nodes: 12", "nodes: 1", 1, "nodes must be"),
    ("nodes: 12", "nodes: -12", 1, "nodes must be"),
    ("nodes: 12", "nodes: 100000", 1, "nodes must be"),
    ("nodes: 12", "nodes: [12]", 1, "nodes: expected one value"),
    ("nodes: 12", "nodes: {n: 12}", 1, "nodes: expected one value"),
    ("nodes: 12", "hosts: 12", 1, "unknown field 'hosts'; did you mean 'nodes'?"),
    ("nodes: 12", "node: 12", 1, "unknown field 'node'; did you mean 'nodes'?"),
    ("nodes: 12", "nodes: 12\nnodes: 12", 2, "the field 'nodes' is there twice"),
    ("degree: 4", "degree: 0", 2, "degree must be"),
    ("degree: 4", "degree: 65", 2, "degree must be"),
    ("degree: 4", "degree: four", 2, "degree must be an integer"),
    ("degree: 4", "ports: 4", 2, "unknown field 'ports'; did you mean 'degree'?"),
    ("degree: 4", "degree: 1\ncabling: duplex", 2, "one duplex port each cannot connect 12 nodes"),
    ("bandwidth: 100Gbps", "bandwidth: 100", 3, "bandwidth"),
    ("bandwidth: 100Gbps", "bandwidth: 100Gb", 3, "bandwidth"),
    ("bandwidth: 100Gbps", "bandwidth: 0Gbps", 3, "bandwidth"),
    ("bandwidth: 100Gbps", "bandwidth: fast", 3, "bandwidth"),
    ("bandwidth: 100Gbps", "bandwith: 100Gbps", 3, "unknown field 'bandwith'; did you mean 'bandwidth'?"),
    ("bandwidth: 100Gbps", "speed: 100Gbps", 3, "unknown field 'speed'; did you mean 'bandwidth'?"),
    ("alpha: 10us", "alpha: 10", 4, "alpha"),
    ("alpha: 10us", "alpha: -1us", 4, "alpha"),
    ("alpha: 10us", "alpha: 10parsecs", 4, "alpha"),
    ("alpha: 10us", "latency: 10us", 4, "unknown field 'latency'; did you mean 'alpha'?"),
    ("alpha: 10us", "gap: soon", 4, "gap"),
    ("alpha: 10us", "hop: 3", 4, "hop"),
    ("alpha: 10us", "name: ''", 4, "name: expected text"),
    ("allreduce", "allreduse", 7, "no collective 'allreduse' has a price; did you mean 'allreduce'?"),
    ("64MiB", "64", 7, "size"),
    ("64MiB", "lots", 7, "size"),
    ("count: 4", "count: 0", 7, "count: expected a whole number"),
    ("count: 4", "count: many", 7, "count: expected a whole number"),
    ("count: 4", "often: 4", 7, "unknown field 'often'"),
    ("collective: allreduce, ", "", 7, "the field 'collective' is missing"),
    (", size: 64MiB", "", 7, "the field 'size' is missing"),
    (
        "  collectives:\n    - {collective: allreduce, size: 64MiB, count: 4}\n",
        "  collectives: []\n",
        6,
        "at least one",
    ),
    ("  collectives:", "  colectives:", 7, "unknown field 'colectives'; did you mean 'collectives'?"),
    (
        "workload:\n  collectives:\n    - {collective: allreduce, size: 64MiB, count: 4}",
        "workload: none.yaml",
        5,
        "none.yaml",
    ),
    (
        "workload:\n  collectives:\n    - {collective: allreduce, size: 64MiB, count: 4}",
        "workload: [a]",
        5,
        "expected a file",
    ),
    ("workload:", "mix:", 6, "unknown field 'mix'; did you mean 'workload'?"),
    ("torus, ring", "tors", 8, "rivals: 'tors' is not a name, spec or file; did you mean 'torus'"),
    ("torus, ring", "torus, torus", 8, "rivals: torus is there twice"),
    ("torus, ring", "'torus(4,'", 8, "rivals: "),
    ("[torus, ring]", "{torus: 1}", 8, "rivals: expected a list"),
    ("rivals:", "against:", 8, "unknown field 'against'; did you mean 'rivals'?"),
    ("cable: 40", "cabel: 40", 9, "prices: nothing is called 'cabel'; did you mean 'cable'?"),
    ("cable: 40", "cable: -40", 9, "prices: cable: expected a number from 0"),
    ("cable: 40", "cable: cheap", 9, "prices: cable: expected a number, not 'cheap'"),
    ("cable: 40", "cable: 40EUR", 9, "prices: cable: expected a number, not '40EUR'"),
    ("{cable: 40, port: 300}", "40", 9, "prices: expected a number for each of"),
    ("{cable: 40, port: 300}", "{cable: 0}", 9, "prices: all are zero"),
    ("prices:", "costs:", 9, "unknown field 'costs'; did you mean 'prices'?"),
    ("", "watts: {prot: 3}\n", 10, "watts: nothing is called 'prot'; did you mean 'port'?"),
    ("", "cabling: both\n", 10, "cabling"),
    ("", "optimise: speed\n", 10, "optimise"),
    ("", "optimize: time\n", 10, "unknown field 'optimize'; did you mean 'optimise'?"),
    ("prices: {cable: 40, port: 300}\n", "optimise: price\n", 9, "optimise: price needs prices"),
    ("prices: {cable: 40, port: 300}\n", "optimise: both\n", 9, "optimise: both needs prices"),
    ("", "survive: 4\n", 10, "survive: a node of 4 ports is cut off by 4 failures; give at most 3"),
    ("", "survive: -1\n", 10, "survive must be"),
    ("", "failures: 1\n", 10, "unknown field 'failures'; did you mean 'survive'?"),
    ("", "grow: [12]\n", 10, "grow: 12 nodes are no more than the 12 that there are"),
    ("", "grow: [20, 16]\n", 10, "grow: sizes ascend, and 16 comes after 20"),
    ("", "grow: [many]\n", 10, "grow must be an integer"),
    ("", "room: nowhere.yaml\n", 10, "room: "),
    ("", "room: [a]\n", 10, "room: expected the path of an inventory"),
    ("", "room: {pannels: 2}\n", 10, "room: unknown field 'pannels'; did you mean 'panels'?"),
    ("", "room: {kind: cupboard}\n", 10, "room: kind is one of patch panel, ocs"),
    ("", "room: {panels: none}\n", 10, "room: "),
    ("", "room: {panels: 2, panel_ports: 3}\n", 10, "room: 2 panels of 3 ports have no room for 48 lanes"),
    ("nodes: 12", "nodes: 13\nroom: inventory_testbed.yaml", 1, "nodes: the room has 12 hosts, not 13"),
    ("degree: 4", "degree: 5\nroom: inventory_testbed.yaml", 2, "degree: hosts of the room have 4 lanes, not 5"),
    ("", "cube: 4x4x4\n", 10, "field 'cube' was retired: give a slice of a TPU pod as one of the rivals"),
    ("", "boxes: 4\n", 10, "boxes: there are nodes, too; give one of them"),
    ("", "box: dgx_h100\n", 10, "box: say how many 'boxes' there are"),
    ("nodes: 12", "boxes: 4", 1, "the field 'box' is missing"),
    ("", "price: {cable: 3}\n", 10, "unknown field 'price'; did you mean 'prices'?"),
    ("", "xyzzy: 1\n", 10, "unknown field 'xyzzy'; known are"),
    ("", "cabling: &a duplex\n", 10, "anchors and aliases are not accepted"),
    ("", "- a\n", 10, "not YAML"),
    ("", "---\n", 10, "more than one document"),
]


@pytest.fixture
def room(tmp_path: Path) -> Path:
    copy_examples(["inventory_testbed.yaml"], tmp_path)
    return tmp_path


@pytest.mark.parametrize(("old", "new", "line", "said"), BAD)
def test_what_is_wrong_is_told_in_one_line(room: Path, old: str, new: str, line: int, said: str) -> None:
    assert old in GOOD
    path = room / "r.yaml"
    path.write_text(GOOD.replace(old, new, 1) if old else GOOD + new)
    with pytest.raises(TopodesignError) as caught:
        read_request(path)
    text = str(caught.value)
    assert "\n" not in text
    assert said in text, text
    if "more than one document" not in text:
        assert f"line {line}: " in text, text
    assert text.startswith(f"{path}: ")


def test_there_are_sixty_kinds_of_bad_requests() -> None:
    assert len({said for *_, said in BAD}) >= 60


ARGUMENTS: dict[str, Any] = {
    "nodes": 12,
    "degree": 4,
    "bandwidth": "100Gbps",
    "workload": {"collectives": [{"collective": "allreduce", "size": "64MiB", "count": 4}]},
    "rivals": ["torus", "ring"],
    "prices": {"cable": 40, "port": 300},
}


def test_files_and_arguments_make_the_same_request(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(f"name: {request_of(ARGUMENTS).name}\n{GOOD}")
    assert read_request(path) == request_of(ARGUMENTS)
    path.write_text(request_text(**ARGUMENTS, name=request_of(ARGUMENTS).name))
    assert read_request(path) == request_of(ARGUMENTS)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("nodes", "many", "nodes must be an integer"),
        ("bandwidth", "fast", "bandwidth"),
        ("prices", {"cabel": 3}, "prices: nothing is called 'cabel'"),
        ("grow", [16, 14], "grow: sizes ascend"),
        ("rivals", "tors", "rivals: 'tors' is not a name"),
    ],
)
def test_wrong_arguments_are_told_without_lines(name: str, value: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said) as caught:
        request_of(ARGUMENTS | {name: value})
    assert "line " not in str(caught.value)


def test_unknown_arguments_and_nothing_at_all_are_refused() -> None:
    with pytest.raises(ParameterError, match="unknown field 'ports'; did you mean 'degree'"):
        design(**(ARGUMENTS | {"ports": 3}))
    with pytest.raises(ParameterError, match="expected a request, its file"):
        design()


def test_numbers_are_in_the_units_of_the_package() -> None:
    found = request_of(ARGUMENTS | {"bandwidth": 10**11, "alpha": 5e-6})
    assert found.work.bandwidth == 10**11
    assert found.work.alpha == Fraction("5e-6")
    assert isinstance(found, Request)


def test_the_shipped_requests_are_read(tmp_path: Path) -> None:
    names = sorted(path.name for path in find_shipped_folder("configs").glob("request_*.yaml"))
    assert names
    copy_examples([*names, "inventory_testbed.yaml", "model_mixtral.yaml"], tmp_path)
    for name in names:
        assert read_request(tmp_path / name).mix.shares


def test_boxes_are_read_with_their_own_bandwidth(tmp_path: Path) -> None:
    path = tmp_path / "boxes.yaml"
    path.write_text(GOOD.replace("nodes: 12", "boxes: 12\nbox: dgx_h100"))
    with pytest.raises(FileFormatError, match=r"line 4: bandwidth: boxes have bandwidths and latencies of their own"):
        read_request(path)
    own = GOOD.replace("bandwidth: 100Gbps\nalpha: 10us\n", "")
    path.write_text(own.replace("nodes: 12", "boxes: 12\nbox: dgx_h100"))
    found = read_request(path)
    assert (found.nodes, found.degree, found.work.bandwidth) == (12, 4, Fraction(4 * 400 * 10**9))


MODEL = {
    "layers": 4, "hidden": 256, "heads": 4, "vocabulary": 1024, "sequence": 64, "batch": 24, "flops": "1T", "data": 12,
}  # fmt: skip


def test_graphs_and_arrays_are_taken() -> None:
    graph = nx.random_regular_graph(4, 12, seed=1)
    ring = np.roll(np.eye(12, dtype=np.int64), 1, axis=1)
    found = request_of(ARGUMENTS | {"rivals": ["torus", graph, ring + ring.T], "grow": np.array([14, 16])})
    assert found.rivals == ("torus", "rival 2", "rival 3")
    assert {name: as_topology(one).degree for name, one in found.given.items()} == {"rival 2": 4, "rival 3": 2}
    assert found.grow == (14, 16)
    shares = [{"collective": "allreduce", "size": np.int64(2**20)}, {"collective": "allgather", "size": "1MiB"}]
    found = request_of(ARGUMENTS | {"workload": {"collectives": shares}, "grow": range(16, 25, 4)})
    assert {share.size for share in found.mix.shares} == {2**20}
    assert found.grow == (16, 20, 24)
    with pytest.raises(ParameterError, match=r"^collective 1: size: size '0\.5' has no unit"):
        request_of(ARGUMENTS | {"workload": {"collectives": [{"collective": "allreduce", "size": "0.5"}]}})
    with pytest.raises(ParameterError, match="rivals: an array of links is a square matrix"):
        request_of(ARGUMENTS | {"rivals": [np.ones((3, 4))]})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"workload": ARGUMENTS["workload"]}, "model: there is a workload, too; give one of them"),
        ({"grow": [16]}, "grow: a model has as many ranks as there are nodes"),
        ({"nodes": 16}, "model: it has 12 ranks .* and there are 16 nodes"),
        ({"model": {**MODEL, "layer": 3}}, "model: unknown field 'layer'; did you mean 'layers'"),
        ({"model": {**MODEL, "tensor": 5}}, "model: heads 4 is not divided by tensor 5"),
        ({"model": "none.yaml"}, "none.yaml"),
        ({"model": [1]}, "model: expected a file, or the fields"),
    ],
)
def test_models_that_do_not_fit_are_refused(fields: dict[str, Any], said: str) -> None:
    given = {name: one for name, one in ARGUMENTS.items() if name != "workload"} | {"model": MODEL}
    assert request_of(given).step is not None
    with pytest.raises(TopodesignError, match=said) as caught:
        request_of(given | fields)
    assert "\n" not in str(caught.value)
