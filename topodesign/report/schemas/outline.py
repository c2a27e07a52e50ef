"""Schemas for people: a line per key, indented like the objects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from topodesign.report.schemas.documents import FILES, SHAPES, identifier, json_schema
from topodesign.report.schemas.shapes import Shape


@dataclass(frozen=True)
class Line:
    """A key, or a heading of some, at a depth."""

    depth: int
    name: str
    kind: str
    about: str


def outline(command: str) -> str:
    """Return a command's ``--json`` document as an outline in plain text."""
    schema = json_schema(command)
    lines = [identifier(command), *map(_plain, lines_of(schema, 1))]
    for name, shape in schema.get("$defs", {}).items():
        lines += ["", f"{name}: {shape.get('description', '')}", *map(_plain, lines_of(shape, 1))]
    return "\n".join(lines)


def _plain(line: Line) -> str:
    said = [f"{line.name}: {line.kind}" if line.kind else f"{line.name}:", line.about]
    return "  " * line.depth + ("  " if line.about else "").join(said)


def reference_page() -> str:
    """Return the schemas of all commands as one Markdown page."""
    parts = ["# Keys of JSON", "Every key that a command prints with `--json` ([how to read them](json.md))."]
    known, shared = dict[int, str](), dict[str, Any]()
    for command, shape in SHAPES.items():
        parts.append(f"## {command}")
        first = known.setdefault(id(shape), command)
        if first != command:
            parts.append(f"The same keys as [{first}](#{first.replace(' ', '-')}), under its own schema name.")
            continue
        parts.append("A file that other commands read." if command in FILES else f"`{identifier(command)}`")
        schema = json_schema(command)
        shared |= schema.get("$defs", {})
        parts.append(_bullets(line for line in lines_of(schema) if line.name != "schema"))
    parts.append("## Shared")
    for name, inner in sorted(shared.items()):
        parts += [f"### {name}", str(inner["description"]), _bullets(lines_of(inner))]
    return "\n\n".join(filter(None, parts)) + "\n"


def _bullets(lines: Iterable[Line]) -> str:
    """Return the keys of a schema as nested lists."""
    out = []
    for line in lines:
        kind = re.sub(r"<(\w+)>", r"[\1](#\1)", line.kind)
        name = f"`{line.name}`: {kind}" if kind else line.name
        out.append("    " * line.depth + ". ".join(filter(None, [f"* {name}", line.about])))
    return "\n".join(out)


def lines_of(shape: Shape, depth: int = 0) -> Iterator[Line]:
    """Yield the lines of the keys within a shape."""
    if "anyOf" in shape:
        for one in shape["anyOf"]:
            if "properties" in one:
                yield Line(depth, str(one.get("description", "either")), "", "")
                yield from lines_of(one, depth + 1)
        return
    needed = shape.get("required", ())
    for name, inner in {**shape.get("properties", {}), **shape.get("patternProperties", {})}.items():
        matched = name in shape.get("patternProperties", {})
        shown = f"{name.lstrip('^').removesuffix('[0-9]')}..." if matched else name
        kind = _kind(inner) + ("" if name in needed or matched else ", not always there")
        yield Line(depth, shown, kind, str(inner.get("description", "")))
        yield from lines_of(_element(inner), depth + 1)


def _element(shape: Shape) -> Shape:
    """Return the objects within lists."""
    items = shape.get("items")
    return _element(items) if isinstance(items, dict) else shape


def _kind(shape: Shape) -> str:
    """Return the type of a value in words; a shared shape by its name."""
    if "$ref" in shape:
        return f"<{shape['$ref'].rsplit('/', 1)[1]}>"
    if "const" in shape:
        return json.dumps(shape["const"])
    if "enum" in shape:
        return " or ".join(json.dumps(one) for one in shape["enum"])
    if "anyOf" in shape:
        return " or ".join(dict.fromkeys(map(_kind, shape["anyOf"])))
    types = shape["type"] if isinstance(shape["type"], list) else [shape["type"]]
    return " or ".join(_name_shape(one, shape) for one in types)


def _name_shape(kind: str, shape: dict[str, Any]) -> str:
    if kind == "string":
        return "fraction" if "pattern" in shape else "text"
    if kind == "boolean":
        return "true or false"
    if kind == "array":
        items = [shape["items"]] if isinstance(shape["items"], dict) else shape["prefixItems"]
        return "list of " + " or ".join(
            dict.fromkeys("objects" if one == "object" else one for one in map(_kind, items))
        )
    if kind == "object":
        inner = shape.get("additionalProperties")
        return f"object of {_kind(inner)}" if isinstance(inner, dict) else "object"
    return kind
