"""The keys of a result, declared at its class.

See :mod:`topodesign.base.records`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from types import MethodType
from typing import Any, ClassVar, TypeAlias

from topodesign.base.units import plain_number

EACH: Mapping[str, Callable[[Any], Any]] = {"float": float, "number": plain_number, "str": str}
"""What a declaration may do with a number, or with each of a list or mapping: ``alpha_s=float(alpha)``."""
WHOLE: Mapping[str, Callable[[Any], Any]] = {"len": len, "not": operator.not_, "or_null": lambda value: value or None}
"""What it may do with the value as it is: ``links=len(topology.links)``."""
_FORM = re.compile(r"(?P<name>\w+)?(?P<mark>[?*]?)(=((?P<function>\w+)\()?(?P<path>[\w.]+)\)?)?")


@dataclass(frozen=True, slots=True)
class Key:
    """One or several keys of a JSON document, with where their value is."""

    name: str  # the key; of a spread what the keys begin with
    path: tuple[str, ...]  # attributes to go along, from the result; methods are called
    function: str = ""  # a name of :data:`EACH` or :data:`WHOLE`, or nothing
    about: str = ""  # what it means, with its unit; empty where the documentation of the attribute says it
    kind: Any = None  # its type, a tuple of the words that it may be, or None for what the attribute is annotated with
    value: Callable[[Any], Any] | None = None  # what returns the value, in place of a path
    optional: bool = False  # whether there is no such key where the value is None
    spread: bool = False  # whether the keys of the value stand in place of this one

    def read(self, result: Any) -> Any:
        """Return the value; None where one on the way is."""
        if self.value is not None:
            return self.value(result)
        for name in self.path:
            if result is None:
                return None
            result = getattr(result, name)
            if isinstance(result, MethodType):
                result = result()
        whole = WHOLE.get(self.function) or (None if self.path else EACH.get(self.function))
        return result if whole is None or result is None else whole(result)

    def write(self, result: Any, document: dict[str, Any], form: Callable[..., Any]) -> None:
        """Write the value of the key in a form such as :func:`plain`."""
        value = self.read(result)
        if self.spread:
            inner = {} if value is None else form(value, EACH.get(self.function))
            document |= {f"{self.name}{name}": one for name, one in inner.items()} if self.name else inner
        elif not (self.optional and value is None):
            document[self.name] = form(value, EACH.get(self.function))


Keys: TypeAlias = str | Sequence[str | Key]
"""Declarations in their order; a text is of one or several, with blanks between them."""


def key(form: str, about: str = "", *, kind: Any = None, value: Callable[[Any], Any] | None = None) -> Key:
    """Return the declaration of a key.

    * ``form``: ``name``, ``name=path`` or ``name=function(path)``; ``name?`` for one that is omitted if the value
      is None, ``*path`` for all keys of what is there, and ``name*=path`` for the items of a mapping, after a word.
    * ``about``: what it means, with its unit, and when it is null; else the documentation of the attribute is taken.
    * ``kind``: its type, where the annotation of the attribute does not say it; a tuple is of all words that it may be.
    * ``value``: what returns the value, where no path leads to it.
    """
    found = _FORM.fullmatch(form if not form.startswith("*") else f"*={form[1:]}")
    if found is None:
        raise ValueError(f"{form!r} declares no key")
    name, mark, path = found["name"] or "", found["mark"], found["path"] or found["name"]
    steps = () if path == "self" else tuple(path.split("."))
    return Key(name, steps, found["function"] or "", about, kind, value, mark == "?", mark == "*")


@cache
def keys_of(declarations: Keys) -> tuple[Key, ...]:
    """Return declarations one by one."""
    if isinstance(declarations, str):
        return tuple(map(key, declarations.split()))
    return tuple(one for part in declarations for one in (keys_of(part) if isinstance(part, str) else [part]))


def without(declarations: Keys, *names: str) -> tuple[Key, ...]:
    """Return declarations but for some keys."""
    return tuple(one for one in keys_of(declarations) if one.name not in names)


class Declared:
    """Mixin without state for classes that declare their JSON keys."""

    __slots__ = ()

    KEYS: ClassVar[Keys] = ()
    SHARED: ClassVar[str] = ""
    """What schemas call it where several documents have one; nothing for what stands in one place."""

    def record(self) -> dict[str, Any]:
        """Return the JSON document."""
        return record_of(self)


def record_of(value: Any) -> dict[str, Any]:
    """Return the JSON document of a value whose class has ``KEYS``."""
    document: dict[str, Any] = {}
    for one in keys_of(type(value).KEYS):
        one.write(value, document, plain)
    return document


def plain(value: Any, each: Callable[[Any], Any] | None = None) -> Any:
    """Return a value in JSON's types.

    Fractions become ``"p/q"``; declared classes become their document.

    ``each`` is done with every number within.
    """
    if isinstance(value, Fraction) and each is None:
        return str(value)
    if hasattr(value, "record"):
        return value.record()
    return record_of(value) if hasattr(value, "KEYS") else _inside(value, plain, each)


def exact(value: Any, each: Callable[[Any], Any] | None = None) -> Any:
    """Return a value as a table cell: numbers as they are, lists as one text."""
    if hasattr(value, "KEYS"):
        return row_of(value)
    found = _inside(value, exact, each)
    return ", ".join(found) if isinstance(found, list) and all(isinstance(one, str) for one in found) else found


def _inside(value: Any, form: Callable[..., Any], each: Callable[[Any], Any] | None) -> Any:
    """Convert a value and its contents to a form."""
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float | Fraction):
        return value if each is None else each(value)
    if isinstance(value, Mapping):
        return {str(name): form(one, each) for name, one in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value  # of NumPy
    return [form(one, each) for one in value] if isinstance(value, Iterable) else form(str(value))


def row_of(value: Any) -> dict[str, Any]:
    """Return a declared value as a flat row with exact numbers.

    The keys are those of ``ROW``, or else of ``KEYS``.
    """
    row: dict[str, Any] = {}
    kind = type(value)
    for one in keys_of(getattr(kind, "ROW", ()) or kind.KEYS):
        one.write(value, row, exact)
    return row
