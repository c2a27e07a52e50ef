"""What names a topology: its text, a file of its links and a networkx graph of it are the same topology."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from topodesign import as_fabric, build_fabric, load_plan, price, save_plan, schedule
from topodesign.base.errors import FileFormatError, ParameterError, SpecError, TopodesignError
from topodesign.base.spec import Spec, parse
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import as_place, as_topology
from topodesign.fabrics.presets import FABRICS
from topodesign.graphs.expansions.product import graph as product
from topodesign.topology.everyday import SPOKEN, SPOKEN_FABRICS, expand_everyday
from topodesign.topology.factors import factors_of
from topodesign.topology.family import call_signature, make_family, never
from topodesign.topology.files import LINK_FORMATS, write_links
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

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


# -- Families: the arguments of a call become the spec of its result, and errors name the call to write


@make_family()
def ringof(n: int, *jumps: int) -> Topology:
    """Node v to v plus each jump."""
    return Topology.from_links(n, [(v, (v + jump) % n) for v in range(n) for jump in jumps])


def test_the_result_carries_the_call() -> None:
    assert (ringof.name, ringof.signature, ringof.__doc__) == (
        "ringof",
        "ringof(n,jumps,...)",
        "Node v to v plus each jump.",
    )
    assert call_signature(ringof.function) == ringof.signature
    assert ringof(5, 1, 2).spec == Spec("ringof", (5, 1, 2))
    assert str(ringof(np.int64(5), np.int32(1)).spec) == "ringof(5,1)"  # type: ignore[arg-type]
    assert list(ringof.find(5, 1)) == list(never(5, 1)) == []


@pytest.mark.parametrize("args", [(), (5.0, 1), (True, 1), ("5", 1), (Spec("cyclic", (5,)), 1)])
def test_wrong_arguments_are_told_by_the_call_to_write(args: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match=r"ringof\(n,jumps,\.\.\.\)"):
        ringof(*args)


# -- Factors: what they multiply to is the topology itself, and what only looks like a product has none


@pytest.mark.parametrize("spec", ["torus(3,4)", "mesh(2,3,2)", "hypercube(4)", "hamming(2,3)", "power(kautz(2,1),2)"])
def test_they_multiply_to_it(spec: str) -> None:
    topology = build(spec)
    assert product(*factors_of(topology)) == topology


def test_of_none() -> None:
    for spec in ("torus(5)", "genkautz(2,8)", "hypercube(1)"):
        assert not factors_of(build(spec))
    assert not factors_of(replace(build("mesh(2,3)"), spec=None))
    assert not factors_of(replace(build("mesh(2,3)"), spec=build("mesh(3,2)").spec))


# -- Everyday names: what each stands for has the size that its formula says, and files never depend on them


SIZES = {
    "slimfly(5)": (50, 7, 2),
    "slimfly(7)": (98, 11, 2),
    "jellyfish(20,4)": (20, 4, None),
    "jellyfish(20,4,3)": (20, 4, None),
    "hyperx(4,6)": (24, 8, 2),
    "hyperx(3,3,3)": (27, 6, 3),
    "hyperx(5)": (5, 4, 1),
    "dragonfly(4,2)": (36, 5, 3),
    "dragonfly(2,1)": (6, 2, 3),
    "ring(9)": (9, 2, 4),
    "ring(9,4)": (9, 4, 4),
    "fullmesh(6)": (6, 5, 1),
    "torus2d(4,6)": (24, 4, 5),
    "torus3d(3,4,5)": (60, 6, 5),
}


@pytest.mark.parametrize("text", SIZES)
def test_sizes_are_those_of_the_formulas(text: str) -> None:
    nodes, degree, diameter = SIZES[text]
    topology = build(text)
    assert (topology.nodes, topology.degree, topology.is_duplex) == (nodes, degree, True)
    assert diameter in {None, price(topology).steps}
    assert build(str(topology.spec)) == topology == as_topology(parse(text))
    meaning = expand_everyday(parse(text))
    assert meaning == topology.spec
    assert topology.spec is not None
    assert topology.spec.name not in SPOKEN


def test_every_name_is_tried() -> None:
    assert {parse(text).name for text in SIZES} == SPOKEN.keys()
    assert len(SPOKEN) >= 8
    assert expand_everyday(parse("torus(4,4)")) is None
    assert not SPOKEN.keys() & set(FABRICS) - {"dragonfly"}


def test_seeds_make_others() -> None:
    assert build("jellyfish(20,4)") == build("jellyfish(20,4,0)") != build("jellyfish(20,4,1)")


def test_they_are_bases_of_others_and_files_have_the_long_name(tmp_path: Path) -> None:
    assert str(build("line(slimfly(3))").spec) == "line(mms(3))"
    plan = schedule("hyperx(2,3)", "allgather")
    assert plan.spec == "product(complete(2),complete(3))"
    assert load_plan(save_plan(tmp_path / "plan.npz", plan)).spec == plan.spec


def test_a_dragonfly_has_hosts_or_none() -> None:
    assert isinstance(as_place("dragonfly(4,2,2)"), Fabric)
    assert not isinstance(as_place("dragonfly(4,2)"), Fabric)
    assert as_fabric("dragonfly(4,2)").topology == build("dragonfly(4,2)")
    with pytest.raises(ParameterError, match="is a fabric"):
        as_topology("dragonfly(4,2,2)")
    with pytest.raises(SpecError, match="groups,routers,hosts"):
        as_fabric("dragonfly(4)")


@pytest.mark.parametrize("name", SPOKEN_FABRICS)
def test_everyday_fabrics(name: str) -> None:
    text = f"{name}(2,2)" if SPOKEN_FABRICS[name] == "rail_optimised" else f"{name}(2,2,2)"
    fabric = as_fabric(text)
    assert fabric.name.startswith(SPOKEN_FABRICS[name])
    assert build_fabric(fabric.name) == build_fabric(text) == as_place(text) == fabric
    with pytest.raises(ParameterError, match=r"is a fabric.*evaluate"):
        as_topology(text)
    with pytest.raises(SpecError, match="is a fabric"):
        build(f"line({text})")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("slimfly(6)", "mms.*prime power"),
        ("slimfly(5,5)", "write slimfly"),
        ("hyperx(complete(4),3)", "integers"),
        ("slimfy(5)", "slimfly"),
        ("jelyfish(20,4)", "jellyfish"),
        ("fatree(4,4,4)", r"'fattree' \(a fabric\)"),
        ("catalogue(12,4,1)", "catalog"),
    ],
)
def test_what_is_wrong_is_said_with_what_was_meant(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words) as error:
        build(text)
    assert error.value.text == text
