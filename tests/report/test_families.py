"""Reports on every spec: none is omitted, formulas are checked against what is built, pictures against links."""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path

import pytest

from topodesign import build, families, price
from topodesign.base import entry_points
from topodesign.base.errors import ParameterError, SpecError, TopodesignError
from topodesign.base.spec import Spec, parse
from topodesign.cli.main import run
from topodesign.fabrics.presets import FABRICS
from topodesign.report.families import SIZES, SpecDescription, picture
from topodesign.topology.everyday import SPOKEN
from topodesign.topology.family import Family
from topodesign.topology.library import CATALOG_NAMES, generator

EVERY = list(families())
NAMES = [f"{one.name}-{one.kind}" for one in EVERY]


def test_every_name_that_specs_know_is_described_once() -> None:
    found = [(one.kind, one.name) for one in EVERY]
    assert len(set(found)) == len(found)
    known = {name for kind, name in found if kind in {"family", "expansion"}}
    assert known == {*entry_points.FAMILIES, *entry_points.EXPANSIONS}
    assert {name for kind, name in found if kind == "everyday"} == SPOKEN.keys()
    assert {name for kind, name in found if kind == "catalog"} == set(CATALOG_NAMES)
    assert {name for kind, name in found if kind == "fabric"} == FABRICS.keys()
    assert SIZES.keys() == {name for kind, name in found if kind not in {"family", "expansion"}}
    assert all(
        one.size[2].startswith(f"{name}(")
        for name, one in [*entry_points.FAMILIES.items(), *entry_points.EXPANSIONS.items()]
    )


def arguments(one: SpecDescription) -> dict[str, object]:
    """The numbers of the example by the names of the arguments, and N and d of what it expands."""
    spec = parse(one.example)
    if one.kind == "catalog":
        return dict(zip("Ndk", spec.args, strict=True))
    known: dict[str, object] = {}
    if one.kind == "expansion":
        base = build(str(spec.args[0]))
        known = {"N": base.nodes, "d": base.degree}
        function = entry_points.EXPANSIONS[one.name].graph
    elif one.kind == "family":
        entry = generator(one.name)
        assert entry is not None
        assert isinstance(entry, Family)
        function = entry.function
    else:
        function = (SPOKEN if one.kind == "everyday" else FABRICS)[one.name]
    bound = inspect.signature(function).bind(*spec.args)
    bound.apply_defaults()
    return {**{name: value for name, value in bound.arguments.items() if not isinstance(value, Spec)}, **known}


def value(formula: str, names: dict[str, object]) -> object:
    """The value of a formula; None if it is in words."""
    functions = {"binom": math.comb, "factorial": math.factorial, "prod": math.prod, "len": len, "sum": sum}
    try:
        code = compile(formula.replace("^", "**"), "formula", "eval")
    except SyntaxError:
        return None
    return eval(code, {"__builtins__": {}}, {**functions, **names})  # noqa: S307  formulas of our own table


@pytest.mark.parametrize("one", EVERY, ids=NAMES)
def test_formulas_are_those_of_the_example(one: SpecDescription) -> None:
    topology, names = one.topology(), arguments(one)
    nodes, degree = value(one.nodes, names), value(one.degree, names)
    assert nodes in {None, topology.nodes - len(topology.switches)}
    assert one.kind == "fabric" or degree in {None, topology.degree}
    assert (one.cost() is None) == (one.kind == "fabric")
    assert one.example.startswith(f"{one.name}(")
    assert one.about
    assert one.text.startswith(one.about)


def test_few_formulas_are_in_words() -> None:
    words = [one for one in EVERY if one.kind != "fabric" and None in (value(one.nodes, arguments(one)), 0)]
    assert {one.name for one in words} == {"cayley", "delete", "insert", "lift", "multicirculant", "product"}


@pytest.mark.parametrize("text", ["kautz(2,2)", "circulant(12,2,3)", "uniring(1,5)", "genkautz(3,11)"])
def test_a_picture_has_a_mark_for_every_link(text: str) -> None:
    topology = build(text)
    lines = picture(topology)
    assert all(len(line) == topology.nodes for line in lines)
    assert len(lines) == (topology.nodes + 1) // 2
    marked = {
        (2 * place + lower, column)
        for place, line in enumerate(lines)
        for column, mark in enumerate(line)
        for lower in (0, 1)
        if mark == "█" or mark == "▀▄"[lower]
    }
    assert marked == {(u, v) for u, v, _ in topology.links()}
    assert picture(build("torus(10,10)")) == []


def test_a_spec_is_the_example() -> None:
    (one,) = families("torus(3,5)")
    assert (one.example, one.topology().nodes) == ("torus(3,5)", 15)
    assert one.record()["example_bandwidth"] == str(price("torus(3,5)").bandwidth)
    assert [one.kind for one in families("dragonfly")] == ["everyday", "fabric"]
    assert [one.kind for one in families("dragonfly(3,2)")] == ["everyday"]
    assert [one.kind for one in families("dragonfly(3,2,2)")] == ["fabric"]
    assert [one.name for one in families("fattree(2,2,2)")] == ["fat_tree"]


@pytest.mark.parametrize(
    ("name", "error"),
    [("kauz", ParameterError), ("", ParameterError), ("kautz(", SpecError), ("no(1)", ParameterError)],
)
def test_names_that_are_none(name: str, error: type[TopodesignError]) -> None:
    with pytest.raises(error):
        families(name)
    with pytest.raises(ParameterError, match="did you mean 'kautz"):
        families("kauz")


@pytest.mark.parametrize("width", [60, 70, 80])
def test_lists_fit_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for words in (
        ["info", "families"],
        ["info", "families", "kautz"],
        ["info", "families", "successors"],
        ["info", "families", "dragonfly"],
    ):
        assert run(words) == 0
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= width
        assert len(out.splitlines()) > 10
    assert run(["info", "families"]) == 0
    out = capsys.readouterr().out
    for one in EVERY:
        assert re.search(rf"^{one.name} ", out, re.MULTILINE), one.name


def test_the_picture_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kautz.svg"
    assert run(["info", "families", "kautz", "--output", str(path)]) == 0
    assert path.read_text().startswith("<?xml")
    assert run(["info", "families", "--output", str(path)]) == 2
    capsys.readouterr()
