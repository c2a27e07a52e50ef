"""Pieces of schemas: functions from a description to JSON Schema.

What a class declares is named by its place, ``folder.module:Class``, also where a shape is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

Shape = dict[str, Any]  # A JSON Schema
Keys = Mapping[str, Shape]  # keys of an object; one that ends with a question mark is not always there

_PLAIN: dict[type, Shape] = {
    str: {"type": "string"},
    Fraction: {"type": "string", "pattern": r"^-?[0-9]+(/[1-9][0-9]*)?$"},  # "p/q" or "p"
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
}


def plain(kind: type, about: str = "") -> Shape:
    """Return the shape of a plain value: text, number or boolean."""
    return _describe_shape(_PLAIN[kind], about)


text, fraction, integer, number, flag = (partial(plain, kind) for kind in (str, Fraction, int, float, bool))


def word(*choices: str | None, about: str = "") -> Shape:
    """Return the shape of one of some words; None is null."""
    return _describe_shape({"enum": list(choices)}, about)


def array(item: Shape | str, about: str = "", *, length: int | None = None) -> Shape:
    """Return the shape of a list, of a given length if known."""
    sized = {} if length is None else {"minItems": length, "maxItems": length}
    return _describe_shape({"type": "array", "items": _shape(item), **sized}, about)


def tuple_of(*items: Shape, about: str = "") -> Shape:
    """Return the shape of a list with a meaning for each place."""
    return _describe_shape({"type": "array", "prefixItems": list(items), "items": False, "minItems": len(items)}, about)


def texts(about: str = "") -> Shape:
    """Return the shape of a list of words."""
    return array(text(), about)


def record(keys: Keys, about: str = "", *, patterns: Keys | None = None) -> Shape:
    """Return the shape of an object with exactly these keys and patterns."""
    shape: Shape = {
        "type": "object",
        "properties": {name.removesuffix("?"): inside for name, inside in keys.items()},
        "required": [name for name in keys if not name.endswith("?")],
        "additionalProperties": False,
    }
    return _describe_shape(shape | ({"patternProperties": dict(patterns)} if patterns else {}), about)


def mapping(value: Shape, about: str = "") -> Shape:
    """Return the shape of an object with any keys."""
    return _describe_shape({"type": "object", "additionalProperties": value}, about)


def nullable(shape: Shape, about: str = "") -> Shape:
    """Return the shape of a nullable value; the words must say when."""
    about = about or str(shape.get("description", ""))
    inner = {key: value for key, value in shape.items() if key != "description"}
    if isinstance(inner.get("type"), str):
        return _describe_shape(inner | {"type": [inner["type"], "null"]}, about)
    return _describe_shape({"anyOf": [inner, {"type": "null"}]}, about)


def either(*shapes: Shape, about: str = "") -> Shape:
    """Return the shape of what is one of several."""
    return _describe_shape({"anyOf": list(shapes)}, about)


def variants(places: Mapping[str, str], *, more: Keys | None = None) -> list[Shape]:
    """Return the shapes of several classes, each with its words."""
    return [declare_shape(place, about, more=more) for place, about in places.items()]


def declare_shape(place: str, about: str = "", *, more: Keys | Shape | None = None) -> Shape:
    """Return the shape of a declared class, imported when needed.

    ``more`` are keys that a command adds to it, or the shape of an object that has them.
    """
    added = more if more is None or {"$class", "properties"} & more.keys() else record(more)
    return _describe_shape({"$class": place} | ({"$more": added} if added else {}), about)


def shared(name: str, about: str = "") -> Shape:
    """Return the shape that is described once, under its name."""
    return _describe_shape({"$ref": f"#/$defs/{name}"}, about)


def _shape(shape: Shape | str) -> Shape:
    return declare_shape(shape) if isinstance(shape, str) else shape


def _describe_shape(shape: Shape, about: str) -> Shape:
    return {"description": about, **shape} if about else shape
