"""Schemas of declared classes, from ``KEYS``, annotations and docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property
from numbers import Real
from types import FunctionType, UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

from topodesign.base.declared import Key, Keys, keys_of
from topodesign.report.schemas import shapes
from topodesign.report.schemas.shapes import Shape

NOTHING = type(None)
_ROLE = re.compile(r":\w+:`[~.]*(?:[\w.]*\.)?(\w+)`")
_KINDS = {"len": int, "not": bool}  # types of what is done with whole values


class Shapes:
    """Makes shapes of classes.

    * ``shared``: shapes that are met in several documents, by the names of their classes' ``SHARED``.
    """

    def __init__(self) -> None:
        self.shared: dict[str, Shape] = {}

    def resolve(self, shape: Any, *, whole: bool = False) -> Any:
        """Return a shape with references replaced; shared ``whole`` ones, too."""
        if isinstance(shape, list):
            return [self.resolve(one, whole=whole) for one in shape]
        if not isinstance(shape, dict):
            return shape
        if "$class" not in shape:
            return {name: self.resolve(one, whole=whole and name == "anyOf") for name, one in shape.items()}
        kind, more, about = load_class(shape["$class"]), shape.get("$more"), shape.get("description", "")
        if not (whole or more):
            return self.of_class(kind, about)
        found = self.of_keys(kind.KEYS, kind, about)
        return with_more(found, self.resolve(more, whole=True)) if more else found

    def collect_references(self, shape: Shape) -> dict[str, Shape]:
        """Return the shared shapes that a shape refers to, directly or not."""
        found: dict[str, Shape] = {}
        new = set(_references(shape))
        while new:
            found |= {name: self.shared[name] for name in new}
            new = {inner for name in new for inner in _references(found[name])} - set(found)
        return found

    def of_class(self, kind: Any, about: str = "") -> Shape:
        """Return the shape of a declared class; a reference if it is shared."""
        name = vars(kind).get("SHARED", "")
        if not name:
            return self.of_keys(kind.KEYS, kind, about)
        if name not in self.shared:
            self.shared[name] = {}  # ends what refers to itself
            self.shared[name] = self.of_keys(kind.KEYS, kind, summary(kind))
        return shapes.shared(name, about)

    def of_keys(self, keys: Keys, owner: Any, about: str = "") -> Shape:
        """Return the shape of an object with keys; several if one has variants."""
        variants = self._variants(keys, owner)
        if len(variants) == 1:
            return shapes.record(variants[0][1], about, patterns=variants[0][2])
        return shapes.either(*(shapes.record(found, words, patterns=some) for words, found, some in variants))

    def _variants(self, keys: Keys, owner: Any) -> list[tuple[str, dict[str, Shape], dict[str, Shape]]]:
        """Return the words, keys and key patterns of each variant."""
        found: list[tuple[str, dict[str, Shape], dict[str, Shape]]] = [("", {}, {})]
        for one in keys_of(keys):
            kind = _hint(one, owner)
            if one.spread and not one.name:
                kinds = [member for member in _members(kind) if member is not NOTHING]
                mark = "?" * (NOTHING in _members(kind))  # there may be nothing to take in
                inner = [(member, more) for member in kinds for more in self._variants(member.KEYS, member)]
                found = [
                    (
                        said or words or (summary(member) if len(inner) > 1 else ""),
                        keys | {name if name.endswith("?") else f"{name}{mark}": shape for name, shape in more.items()},
                        patterns | some,
                    )
                    for said, keys, patterns in found
                    for member, (words, more, some) in inner
                ]
                continue
            shape = self.of_kind(kind, owner, one.about or _meaning(one, owner), one.function)
            for _, known, patterns in found:
                if one.spread:
                    each = shape.get("additionalProperties", shape)
                    said = {"description": shape.get("description", "")}
                    patterns[f"^{one.name}"] = said | each if isinstance(each, dict) else each
                else:
                    known[f"{one.name}{'?' * one.optional}"] = shape
        return found

    def of_kind(self, kind: Any, owner: Any, about: str = "", function: str = "") -> Shape:  # noqa: C901, PLR0911  one for each kind
        """Return the shape of a type's values, after conversion of numbers."""
        if isinstance(kind, str):
            kind = _evaluate_type(kind, owner)
        if isinstance(kind, tuple):
            return shapes.word(*kind, about=about)
        if len(members := _members(kind)) > 1:
            return self._of_union(members, owner, about, function)
        if get_origin(kind) is Literal:
            return shapes.word(*get_args(kind), about=about)
        outer, inner = get_origin(kind) or kind, get_args(kind)
        if not isinstance(outer, type) or (outer is dict and not inner):
            return {"description": about, "type": "object"}
        if getattr(outer, "KEYS", None):
            return self.of_class(outer, about)
        if issubclass(outer, Enum):
            return shapes.word(*(one.value for one in outer), about=about)
        if outer in {bool, NOTHING} or issubclass(outer, Real):
            return _of_number(outer, about, function)
        if hasattr(outer, "tolist"):  # of NumPy
            return shapes.array(_of_number(int if "int" in repr(kind) else float, "", function), about)
        if not inner or not issubclass(outer, Iterable) or issubclass(outer, str):
            return shapes.text(about)
        if issubclass(outer, Mapping):
            return shapes.mapping(self.of_kind(inner[1], owner, "", function), about)
        if issubclass(outer, tuple) and inner[-1] is not ...:
            return shapes.tuple_of(*(self.of_kind(one, owner, "", function) for one in inner), about=about)
        return shapes.array(self.of_kind(inner[0], owner, "", function), about)

    def _of_union(self, members: tuple[Any, ...], owner: Any, about: str, function: str) -> Shape:
        others = [one for one in members if one is not NOTHING]
        words = [summary(one) if len(others) > 1 and getattr(one, "KEYS", None) else "" for one in others]
        found: list[Shape] = []
        for one, said in zip(others, words, strict=True):
            shape = self.of_kind(one, owner, said, function)
            found += [shape] if shape not in found else []
        shape = shapes.either(*found) if len(found) > 1 else found[0]
        shape = ({"description": about} if about else {}) | shape
        return shape if len(others) == len(members) else shapes.nullable(shape, about)


def with_more(shape: Shape, more: Shape) -> Shape:
    """Return the shape of objects with another one's keys appended."""
    if "anyOf" in shape:
        return shape | {"anyOf": [with_more(one, more) for one in shape["anyOf"]]}
    if "anyOf" in more:
        return more | {"anyOf": [with_more(shape, one) for one in more["anyOf"]]}
    properties = shape["properties"] | more["properties"]
    required = [*dict.fromkeys([*shape["required"], *more["required"]])]
    return more | shape | {"properties": properties, "required": required}


def _references(shape: Any) -> Iterator[str]:
    if isinstance(shape, dict):
        if "$ref" in shape:
            yield shape["$ref"].rsplit("/", 1)[1]
        for inside in shape.values():
            yield from _references(inside)
    elif isinstance(shape, list):
        for inside in shape:
            yield from _references(inside)


def _of_number(kind: type, about: str, function: str) -> Shape:
    if kind not in {bool, NOTHING}:
        kind = {"float": float, "number": float, "str": Fraction}.get(function, kind)
        kind = kind if kind in {Fraction, float} else int
    return shapes.plain(kind, about)


def summary(kind: Any) -> str:
    """Return the first paragraph of documentation as one line."""
    return _plain(inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0])


def _plain(text: str) -> str:
    """Return documentation as words about JSON."""
    text = re.sub(r"\bNone\b(?! of)", "null", text)
    return " ".join(_ROLE.sub(r"\1", text).replace("``", "`").split())


def _members(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union, None as its type; a single type alone."""
    return get_args(kind) if get_origin(kind) in {UnionType, typing.Union} else (kind,)


def _hint(one: Key, owner: Any) -> Any:
    """Return the type of a key's value, declared or by annotations."""
    if one.kind is not None:
        return _evaluate_type(one.kind, owner) if isinstance(one.kind, str) else one.kind
    if one.value is not None:
        raise TypeError(f"{owner.__name__}: the key {one.name!r} requires a kind")
    kind, empty = owner, False
    for holder, name in _along(one, owner):
        kind = _annotation(holder, name)
        empty = empty or NOTHING in _members(kind)
    empty = empty or one.function == "or_null"
    kind = _KINDS.get(one.function, kind)
    others = tuple(member for member in _members(kind) if member is not NOTHING)
    return typing.Union[(*others, NOTHING) if empty and not one.optional else others]  # noqa: UP007  of as many


def _along(one: Key, owner: Any) -> Iterable[tuple[Any, str]]:
    """Yield each attribute of a path with the class that has it."""
    kind = owner
    for name in one.path:
        holder = next((member for member in map(_class, _members(kind)) if _holds(member, name)), None)
        if holder is None:
            raise TypeError(f"{owner.__name__}: nothing of {'.'.join(one.path)} is known from {name!r} on")
        yield holder, name
        kind = _annotation(holder, name)


def _class(kind: Any) -> Any:
    return get_origin(kind) or kind


def _holds(kind: Any, name: str) -> bool:
    return isinstance(kind, type) and any(name in vars(one) or name in _read_notes(one) for one in kind.__mro__)


def _read_notes(kind: type) -> dict[str, Any]:
    return dict(vars(kind).get("__annotations__", ()))


@cache
def _annotation(kind: type, name: str) -> Any:
    """Return the type of an attribute, a property or a method's result."""
    for one in kind.__mro__:
        if name in _read_notes(one):
            found = _evaluate_type(_read_notes(one)[name], one)
            return get_args(found)[0] if get_origin(found) is Annotated else found
        if name in vars(one):
            found = vars(one)[name]
            function = found.func if isinstance(found, cached_property) else getattr(found, "fget", found)
            return _evaluate_type(inspect.unwrap(function).__annotations__["return"], one)
    raise TypeError(f"{kind.__name__} has no {name}")


def _evaluate_type(text: Any, owner: Any) -> Any:
    """Return the type named in a class's module, or by ``folder.module:Class``."""
    if not isinstance(text, str):
        return text
    if ":" in text:
        return load_class(text)
    names = vars(sys.modules[owner.__module__])
    try:
        return eval(text, names)  # noqa: S307  an annotation of our own
    except NameError:
        return eval(text, names | _collect_type_imports(owner.__module__))  # noqa: S307


@cache
def _collect_type_imports(module: str) -> dict[str, Any]:
    """Return what a module imports for its annotations only."""
    found: dict[str, Any] = {}
    for node in ast.walk(ast.parse(inspect.getsource(sys.modules[module]))):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for line in node.body:
                if isinstance(line, ast.ImportFrom):
                    source = importlib.import_module(line.module or "")
                    found |= {one.asname or one.name: getattr(source, one.name) for one in line.names}
                elif isinstance(line, ast.Import):
                    found |= {one.asname: importlib.import_module(one.name) for one in line.names if one.asname}
    return found


def load_class(place: str) -> Any:
    """Return what ``folder.module:Class`` names in the package."""
    module, name = place.split(":")
    return getattr(importlib.import_module(f"topodesign.{module}"), name)


def _meaning(one: Key, owner: Any) -> str:
    """Return the documentation of the last attribute of the path."""
    along = [] if one.value is not None else _along(one, owner)
    *_, (holder, name) = [(owner, one.name), *along]
    for kind in holder.__mro__:
        if name in attributes(kind):
            return attributes(kind)[name]
        if isinstance(vars(kind).get(name), property | cached_property | FunctionType):
            return summary(vars(kind)[name])
    return ""


@cache
def attributes(kind: type) -> dict[str, str]:
    """Return the documentation of each attribute of a class."""
    words = inspect.cleandoc(kind.__doc__ or "")
    section = words.partition("Attributes\n----------\n")[2]
    found = re.findall(r"^(\w[\w, ]*)\n((?: .*\n|\n)+)", f"{section}\n", re.MULTILINE)
    found += re.findall(r"^\* (``\w+``(?:, ``\w+``)*): (.*(?:\n  .*)*)", words, re.MULTILINE)
    with suppress(TypeError, OSError):  # what has no source says nothing beside its fields
        found += re.findall(r"^    (\w+): [^\n#]*  # (.*)$", inspect.getsource(kind), re.MULTILINE)
    for name, note in _read_notes(kind).items():
        beside = getattr(_evaluate_type(note, kind), "__metadata__", ()) if "Annotated[" in str(note) else ()
        found += [(name, one.meaning) for one in beside if hasattr(one, "meaning")]
    return {name.strip("`"): _sentence(text) for names, text in found for name in names.split(", ")}


def _sentence(text: str) -> str:
    text = _plain(text)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
