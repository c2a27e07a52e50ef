"""Options, each declared once: meaning, reader, range and default.

A group of options is a ``TypedDict`` whose fields are ``Annotated[type, Option(...)]``. A function takes one as
``**options: Unpack[Group]``, so that type checkers and editors know every keyword; :func:`takes` tells ``help`` and
:mod:`inspect`, and :func:`read` makes values of what was given. The command line offers the same fields as flags
(:func:`topodesign.cli.options.offer`). Types of other folders stand there as text and are never evaluated, so that a
help text imports nothing of them; the file of a group therefore has no ``from __future__ import annotations``.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from topodesign.base import retired
from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.errors import ParameterError
from topodesign.base.units import as_time
from topodesign.base.wording import nearest

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Kind:
    """Type of an option: text, or any value that the function accepts."""

    def read(self, name: str, value: Any) -> Any:
        """Return the value that is meant, or raise ParameterError or UnitError."""
        del name
        return value


class Text(Kind):
    """Text; numbers become it."""

    def read(self, name: str, value: Any) -> str:
        """Return the text."""
        del name
        return str(value)


@dataclass(eq=False, repr=False)
class WholeKind(Kind):
    """A whole number in a range, or a word."""

    least: int = 0
    most: int | None = None
    word: str | None = None

    def read(self, name: str, value: Any) -> Any:
        """Return the number, or the word."""
        if self.word is not None and isinstance(value, str) and value == self.word:
            return value
        return as_integer(name, value, self.least, self.most)


@dataclass(eq=False, repr=False)
class Choice(Kind):
    """One of some words."""

    words: tuple[str, ...]

    def read(self, name: str, value: Any) -> Any:
        """Return the word."""
        return as_choice(name, value, self.words)


@dataclass(eq=False, repr=False)
class Either(Choice):
    """One of two words.

    The command line has a flag for the second and its opposite for the first.
    """


@dataclass(eq=False, repr=False)
class Flag(Kind):
    """A flag; ``other`` is the flag for its opposite."""

    other: str | None = None

    def read(self, name: str, value: Any) -> Any:
        """Return whether it is."""
        del name
        return bool(value)


@dataclass(eq=False, repr=False)
class Amount(Kind):
    """A quantity with a unit, or a word.

    A function of :mod:`topodesign.base.units` reads it.
    """

    parse: Callable[[Any], Any]
    word: str | None = None

    def read(self, name: str, value: Any) -> Any:
        """Return the exact quantity in the package's unit, or the word."""
        del name
        return value if self.word is not None and value == self.word else self.parse(value)


@dataclass(eq=False, repr=False)
class Span(Kind):
    """A time above zero."""

    def read(self, name: str, value: Any) -> Any:
        """Return the seconds."""
        seconds = as_time(value)
        if not seconds:
            raise ParameterError(f"{name} must be above zero")
        return seconds


@dataclass(eq=False, repr=False)
class PathOf(Kind):
    """A file, a directory, or a table that was read already."""

    what: Literal["file", "directory", "any"] = "any"


@dataclass(eq=False, repr=False)
class Option:
    """One option."""

    about: str  # what it means, for help texts and for ``help``
    kind: Kind = field(default_factory=Kind)  # what it is and what reads it
    default: Any = None  # what holds if nothing is given
    metavar: str | None = None  # what stands for its value in help texts
    many: bool = False  # whether the command line takes it several times
    flags: tuple[str, ...] = ()  # what the command line calls it, if not by its name

    def read(self, name: str, value: Any) -> Any:
        """Return the value, or None if the text means no value."""
        return None if value is None and self.default is None else self.kind.read(name, value)


_FLAGS = {
    "bidirectional": "--duplex",
    "grow_from": "--near",
    "method": "--algorithm",
    "only": "--members",
    "others": "--forward",
    "plant": "--inventory",
    "runners_up": "--top",
    "without": "--fail",
}
"""What the command line calls options whose keywords have other names."""

SETTINGS = {
    "by_ranks": "by-ranks",
    "chunks": "chunks",
    "fixed_k": "trees",
    "overlap": "overlap",
    "ready": "ready",
    "steps": "steps",
    "symmetric": "symmetric",
    "tick": "tick",
    "tries": "seeds",
    "unwind": "unwind",
    "box": "ranks-per-box",
    "channels": "channels",
    "dtype": "dtype",
    "max_size": "max-size",
    "min_size": "min-size",
    "parts": "pipeline",
    "threadblocks": "threadblocks",
}
"""Options that are settings of some algorithms or targets, with their names after ``--set``."""

_OWN: dict[str, tuple[str, ...]] = {}
"""Names of the other parameters of functions that take options."""


def flag_of(name: str) -> str:
    """Return what the command line calls an option of a name."""
    return _FLAGS.get(name) or f"--{name.replace('_', '-')}"


def format_option(name: str) -> str:
    """Return the typed form of an option: ``--fail``, or ``--set trees=``.

    Examples
    --------
    >>> format_option("without"), format_option("fixed_k"), format_option("auto_chunks")
    ('--fail', '--set trees=', '--set chunks=auto')
    """
    if name == "auto_chunks":
        return "--set chunks=auto"
    return f"--set {SETTINGS[name]}=" if name in SETTINGS else flag_of(name)


def collect_options(group: type) -> dict[str, Option]:
    """Return the options of a group by name, in their order."""
    found = {}
    for name, kind in group.__annotations__.items():
        option = next((one for one in getattr(kind, "__metadata__", ()) if isinstance(one, Option)), None)
        if option is None:
            raise TypeError(f"{name} of {group.__name__} is not Annotated[type, Option(...)]")
        found[name] = option
    return found


def read(group: type, given: Mapping[str, Any], function: str) -> dict[str, Any]:
    """Return the value of every option of a group, by default where not given."""
    known = collect_options(group)
    for name in given:
        if name not in known:
            for options in retired.OPTIONS.values():
                if format_option(name) in options:
                    raise TypeError(retired.describe_retired(f"{name} of {function}()", options[format_option(name)]))
            near = nearest(name, [*known, *_OWN.get(function, ())], most=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")
    return {name: option.read(name, given.get(name, option.default)) for name, option in known.items()}


def takes(group: type, **defaults: Any) -> Callable[[_Function], _Function]:
    """Add the options of ``**options`` to a function's help and signature.

    * ``group``: the options.
    * ``defaults``: of options for which the function has another one.
    """

    def told(function: _Function) -> _Function:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        _OWN[function.__name__] = tuple(one.name for one in own)
        known = collect_options(group)
        more = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name, option.default),
                annotation=_format_type(group.__annotations__[name].__origin__),
            )
            for name, option in known.items()
        ]
        function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        function.__doc__ = _with_options(function.__doc__ or "", known)
        return function

    return told


def _format_type(kind: Any) -> str:
    """Return a type as it was written."""
    return str(getattr(kind, "__forward_arg__", None) or inspect.formatannotation(kind))


def _with_options(text: str, known: Mapping[str, Option]) -> str:
    """Return a docstring in which ``**options`` is followed by each of them."""
    lines = text.split("\n")
    place = next((number for number, line in enumerate(lines) if line.strip().startswith("**")), None)
    if place is None:
        return text
    indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
    told: list[str] = []
    for name, option in known.items():
        about = re.sub(r"--([a-z][a-z-]*)", lambda flag: flag[1].replace("-", "_"), option.about)
        told.append(indent + name)
        told += textwrap.wrap(about, 116, initial_indent=f"{indent}    ", subsequent_indent=f"{indent}    ")
    rest = place + 1
    while rest < len(lines) and lines[rest].startswith(f"{indent} "):
        rest += 1
    return "\n".join([*lines[:place], *told, *lines[rest:]])


def with_fields(group: type) -> Callable[[type], type]:
    """Give a class a field for each option of a group.

    Before it becomes a dataclass.

    Their types are those that are read, not those that are given, and so are not known to type checkers.
    """

    def added(cls: type) -> type:
        for name, option in collect_options(group).items():
            if name not in cls.__annotations__:
                cls.__annotations__[name] = Any
                setattr(cls, name, option.read(name, option.default))
        return cls

    return added


def format_flags(names: Sequence[str]) -> str:
    """Return options as the command line calls them, with commas between."""
    return ", ".join(map(flag_of, names))
