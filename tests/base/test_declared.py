"""Keys that are declared: documents, rows and schemas of the same class agree, whatever the values."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import topodesign
from topodesign.base.declared import Declared, key, keys_of, plain, without
from topodesign.base.records import Result
from topodesign.report.schemas.derived import Shapes

FRACTIONS = st.fractions(max_denominator=99)


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Inner(Declared):
    """What is inside.

    Attributes
    ----------
    size, weight
        How much; None where ``nobody`` knows.
    """

    size: Fraction
    weight: Fraction | None

    KEYS = "size weight=float(weight)"
    SHARED = "inner"


@dataclass(frozen=True)
class Left(Declared):
    """to the left

    Attributes
    ----------
    left
        How far.
    """

    left: int

    KEYS = "left"


@dataclass(frozen=True)
class Right(Declared):
    """to the right

    Attributes
    ----------
    right
        How far.
    """

    right: tuple[Fraction, ...]

    KEYS = "right=float(right)"


@dataclass(frozen=True, repr=False)
class Outer(Result):
    """All that there is.

    Attributes
    ----------
    inner, other
        What is inside; None where nothing is.
    way
        Which way.
    counts
        How many of each.
    colour
        Of what.
    places
        Where.
    """

    inner: Inner
    other: Inner | None
    way: Left | Right
    counts: Mapping[str, int]
    colour: Colour
    places: tuple[Path, ...]

    KEYS = (
        "colour inner other? *way places",
        key("found_*=counts", "How many of each."),
        key("sizes", "All sizes.", kind=tuple[Fraction, ...], value=lambda outer: [outer.inner.size]),
        key("other_size=other.size", "Of the other; null without one."),
        key("name=str(colour.name)", "Its name.", kind=("RED",)),
        "many=len(places) none=not(places) some=or_null(places) mode bytes=number(inner.size)",
    )
    ROW = "size=inner.size weight=inner.weight places"

    def mode(self) -> Literal["fast"]:
        """How it goes."""
        return "fast"


INNERS = st.builds(Inner, FRACTIONS, st.none() | FRACTIONS)
OUTERS = st.builds(
    Outer,
    INNERS,
    st.none() | INNERS,
    st.builds(Left, st.integers(0)) | st.builds(Right, st.lists(FRACTIONS).map(tuple)),
    st.dictionaries(st.sampled_from("abc"), st.integers(0)),
    st.just(Colour.RED),
    st.lists(st.sampled_from("xyz").map(Path)).map(tuple),
)


@given(OUTERS)
def test_documents_are_of_their_schema(outer: Outer) -> None:
    maker = Shapes()
    shape = maker.of_class(Outer)
    Draft202012Validator.check_schema(shape)
    found = json.loads(json.dumps(outer.record()))
    Draft202012Validator({"$defs": maker.shared, **shape}).validate(found)
    assert not Draft202012Validator({"$defs": maker.shared, **shape}).is_valid(found | {"more": 1})


@given(OUTERS)
def test_documents_hold_what_results_do(outer: Outer) -> None:
    found = outer.record()
    names = ["colour", "inner", *(["other"] if outer.other else []), *outer.way.record(), "places"]
    names += [*(f"found_{name}" for name in outer.counts), "sizes", "other_size", "name", "many"]
    assert list(found) == [*names, "none", "some", "mode", "bytes"]
    assert Fraction(found["inner"]["size"]) == outer.inner.size
    assert found["inner"]["weight"] == (None if outer.inner.weight is None else float(outer.inner.weight))
    assert found["other_size"] == (None if outer.other is None else str(outer.other.size))
    assert (found["many"], found["none"], found["mode"]) == (len(outer.places), not outer.places, "fast")
    assert found["some"] == ([str(place) for place in outer.places] or None)
    assert isinstance(found["bytes"], int) == (outer.inner.size.denominator == 1)
    [row] = outer.to_records()
    assert row == {
        "size": outer.inner.size,
        "weight": outer.inner.weight,
        "places": ", ".join(map(str, outer.places)),
    }


def test_schemas_say_variants_meanings_and_types() -> None:
    maker = Shapes()
    left, right = maker.of_class(Outer)["anyOf"]
    assert (left["description"], right["description"]) == ("to the left", "to the right")
    assert "other" not in left["required"]
    assert left["properties"]["inner"] == {
        "description": "What is inside; null where nothing is.",
        "$ref": "#/$defs/inner",
    }
    assert maker.shared["inner"]["properties"]["weight"] == {
        "description": "How much; null where `nobody` knows.",
        "type": ["number", "null"],
    }
    assert right["properties"]["right"] == {"description": "How far.", "type": "array", "items": {"type": "number"}}
    assert left["properties"]["mode"] == {"description": "How it goes.", "enum": ["fast"]}
    assert left["properties"]["colour"]["enum"] == ["red"]
    assert left["patternProperties"] == {
        "^found_": {"description": "How many of each.", "type": "integer", "minimum": 0}
    }


def test_declarations_are_taken_over_with_changes() -> None:
    assert [one.name for one in without(Outer.KEYS, "mode", "bytes")][-1] == "some"
    with pytest.raises(ValueError, match="declares no key"):
        key("a b")


def test_what_is_no_attribute_is_found_out() -> None:
    class Wrong(Declared):
        KEYS = "missing"

    with pytest.raises(TypeError, match="from 'missing' on"):
        Shapes().of_class(Wrong)


@pytest.mark.budget(12)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda one: st.lists(one) | st.dictionaries(st.text(), one),
    )
)
def test_what_json_holds_stays_as_it_is(value: Any) -> None:
    assert plain(value) == value


def declared() -> Iterator[Any]:
    """Yield all classes of the package that declare keys."""
    for module in pkgutil.walk_packages(topodesign.__path__, "topodesign."):
        if not module.name.endswith(("__main__", "mpi", "torch_plan")):
            for one in vars(importlib.import_module(module.name)).values():
                if isinstance(one, type) and one.__module__ == module.name and vars(one).get("KEYS"):
                    yield one


@pytest.mark.budget(12)
def test_every_declared_key_has_a_type_and_a_meaning() -> None:
    found, checked = list(declared()), set[str]()
    assert found
    for kind in found:
        maker = Shapes()
        shape = maker.of_keys(kind.KEYS, kind)
        for one in [*shape.get("anyOf", [shape]), *maker.shared.values()]:
            if (said := json.dumps(one, sort_keys=True)) not in checked:
                Draft202012Validator.check_schema(one)
                checked.add(said)
            silent = [name for name, inner in one.get("properties", {}).items() if not inner.get("description")]
            assert not silent, f"{kind.__module__}.{kind.__name__}: say what {silent} are"
        assert len({one.name for one in keys_of(kind.KEYS) if not one.spread}) == sum(
            not one.spread for one in keys_of(kind.KEYS)
        ), kind
