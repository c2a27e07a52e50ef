"""Everyday names: what each stands for has the size that its formula says, and files never depend on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from topodesign import as_fabric, as_topology, build, build_fabric, load_plan, price, save_plan, schedule
from topodesign.base.errors import ParameterError, SpecError
from topodesign.base.spec import parse
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import as_place
from topodesign.fabrics.presets import FABRICS
from topodesign.topology.everyday import SPOKEN, SPOKEN_FABRICS, spelled_out

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
    meaning = spelled_out(parse(text))
    assert meaning == topology.spec
    assert topology.spec is not None
    assert topology.spec.name not in SPOKEN


def test_every_name_is_tried() -> None:
    assert {parse(text).name for text in SIZES} == SPOKEN.keys()
    assert len(SPOKEN) >= 8
    assert spelled_out(parse("torus(4,4)")) is None
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
    with pytest.raises(ParameterError, match=r"is a fabric.*optimum"):
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
