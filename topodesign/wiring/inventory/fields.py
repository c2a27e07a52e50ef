"""Fields of inventories: their names, meanings, readers and writers.

A field is specified once, where its value is declared: the classes of :mod:`topodesign.wiring.inventory.devices`
annotate their attributes with a :class:`Field`. Inventories (YAML, CSV), plan files, what NetBox keeps in comments
and descriptions, and the table in ``docs/inventory.md`` derive from that. So a new field is one line there.

Files for people have lines, ranges and quantities with units; an error names the line and the field. Plan files have
JSON with exact numbers, ``"p/q"``; an error names the place.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import groupby
from typing import Any, ClassVar, TypeVar, get_type_hints

from topodesign.base.errors import FileFormatError, ParameterError, TopodesignError
from topodesign.base.tables import LocatedValue, parse_yaml
from topodesign.base.units import parse_bandwidth
from topodesign.base.wording import suggest
from topodesign.wiring.inventory.ranges import MAX, expand, runs, text, texts

REQUIRED: Any = object()
"""The default of a field that must be there."""

_Value = TypeVar("_Value")
_Word = TypeVar("_Word", bound=str)
_GIGA = 10**9
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./ -]*")
_FRACTION = re.compile(r"-?[0-9]{1,1000}(/0*[1-9][0-9]{0,999})?")
_QUANTITY = re.compile(r"(-?[0-9]{1,12}(?:\.[0-9]{1,12})?)\s*(\S*)")
_RATIO = re.compile(r"(-?[0-9]{1,12}/[1-9][0-9]{0,12})(\S*)")
_WORDS = {
    str: "printable text",
    int: "an integer",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    object: "anything",
}


@lru_cache(256)  # thousands of ports have few speeds
def _lane_speed(text: str, lanes: int) -> Fraction:
    """Return the speed per lane from text for the whole port."""
    return parse_bandwidth(text) / lanes


# Files for people: mappings of located texts.


class FileFields:
    """Located values of one entry of an inventory file.

    In a table (CSV) names are those of columns, and ``[`` begins no range. ``room`` is how many more things may follow.
    ``known`` has the lists that were read already: entries of a range share theirs.
    """

    def __init__(
        self, values: Mapping[str, Any], where: str = "", *, table: bool = False, outer: FileFields | None = None
    ) -> None:
        self.values = values
        self.where = where
        self.table = table
        self.room: list[int] = [4 * MAX] if outer is None else outer.room
        self.known: dict[int, tuple[Any, ...]] = {} if outer is None else outer.known

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def at(self, name: str) -> str:
        """Return the full name of a field for messages."""
        return f"{self.where}.{name}" if self.where and not self.table else name

    def get_located(self, name: str) -> LocatedValue:
        """Return a required field."""
        if name not in self.values:
            line = next(iter(self.values.values())).line
            raise FileFormatError(f"line {line}: the field '{self.at(name)}' is missing")
        found: LocatedValue = self.values[name]
        return found

    def text(self, name: str, default: str | None = None) -> str:
        """Return the text of a field if a label can show it."""
        return (
            default if default is not None and name not in self.values else text(self.get_located(name), self.at(name))
        )

    def read(self, name: str, parse: Callable[[str], _Value], default: Any = REQUIRED) -> _Value:
        """Return the parsed value of a field, or its default."""
        if default is not REQUIRED and name not in self.values:
            return default  # type: ignore[no-any-return]
        return read_located(self.get_located(name), self.at(name), parse)

    def entries(self, name: str, required: Collection[str], optional: Collection[str]) -> Iterator[FileFields]:
        """Yield the entries of a list, with ranges expanded."""
        where = f"{self.where}.{name}" if self.where else name
        for value in items(self.values[name], where) if name in self.values else ():
            if self.table:
                yield FileFields(value.value, where, table=True, outer=self)
                continue
            for entry in expand(fields(value, where, required, optional), where):
                yield FileFields(entry, where, outer=self)

    def wrong(self, name: str, problem: str) -> FileFormatError:
        """Return an error with the line of a field."""
        return FileFormatError(f"line {self.get_located(name).line}: {self.at(name)}: {problem}")


def fields(
    value: LocatedValue, where: str, required: Collection[str], optional: Collection[str] = ()
) -> dict[str, LocatedValue]:
    """Return the fields of a mapping after checking their names."""
    known = (*required, *optional)
    if not isinstance(value.value, dict):
        raise FileFormatError(f"line {value.line}: {where}: expected the fields {', '.join(known)}")
    for name, inner in value.value.items():
        if name not in known:
            hint = suggest(name[:50], known, most=1, like=0.6)
            raise FileFormatError(f"line {inner.line}: {where}: unknown field {name[:50]!r}; {hint}")
    for name in required:
        if name not in value.value:
            raise FileFormatError(f"line {value.line}: {where}: the field '{name}' is missing")
    return dict(value.value)


def items(value: LocatedValue, where: str) -> list[LocatedValue]:
    """Return the items of a list."""
    if not isinstance(value.value, list):
        raise FileFormatError(f"line {value.line}: {where}: expected a list")
    return value.value


def read_located(value: LocatedValue, where: str, parse: Callable[[str], _Value]) -> _Value:
    """Return the parsed value of a located text."""
    said = text(value, where)
    try:
        return parse(said)
    except TopodesignError as error:
        raise FileFormatError(f"line {value.line}: {where}: {error}") from None


# Texts that stand for numbers and words.


def parse_whole(said: str, least: int) -> int:
    """Return an integer of at least ``least``."""
    if not (said.isascii() and said.isdecimal() and len(said) <= 9 and int(said) >= least):
        raise FileFormatError(f"{said[:50]!r} is not an integer of at least {least}")
    return int(said)


def parse_choice(words: Collection[_Word]) -> Callable[[str], _Word]:
    """Return a parser that accepts only the given words."""

    def parse(said: str) -> _Word:
        for word in words:
            if word == said:
                return word
        raise FileFormatError(f"{said[:50]!r} is not one of {', '.join(words)}")

    return parse


def exact(value: Fraction) -> str:
    """Return an exact decimal if one exists, otherwise a fraction."""
    places = next((n for n in range(13) if (value * 10**n).denominator == 1), None)
    if not places:
        return str(value)
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}}"
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def scalar(said: str) -> str:
    """Return a text as a YAML scalar, quoted if necessary."""
    return said if _PLAIN.fullmatch(said) and said == said.strip() else json.dumps(said, ensure_ascii=False)


# Plan files: JSON with exact numbers.


def exact_number(value: object, where: str) -> Fraction:
    """Return the exact number in a text such as ``"3/2"``."""
    if isinstance(value, str) and _FRACTION.fullmatch(value):
        return Fraction(value)
    raise FileFormatError(f'{where}: a number must be text such as "3/2"')


def check_row(data: object, kinds: Sequence[type], where: str, least: int | None = None) -> list[Any]:
    """Return a row after checking its length and types.

    Values after the first ``least`` are optional; by default, none are.
    """
    few = len(kinds) if least is None else least
    if not isinstance(data, list) or not few <= len(data) <= len(kinds) or not all(map(is_of, data, kinds)):
        raise FileFormatError(f"{where} must be a row of {', '.join(_WORDS[kind] for kind in kinds)}")
    return data


def check_object(
    data: object, kinds: dict[str, Any], where: str, others: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return an object after checking its fields and their types.

    Fields in ``kinds`` are required; fields in ``others`` are optional.
    """
    if not isinstance(data, dict):
        raise FileFormatError(f"{where} must be an object")
    optional = {key: kind for key, kind in (others or {}).items() if key in data}
    for key, kind in (kinds | optional).items():
        if not is_of(data.get(key), kind):
            raise FileFormatError(f"{where}: '{key}' must be {_WORDS[kind]}")
    unknown = sorted(data.keys() - kinds.keys() - (others or {}).keys())
    if unknown:
        hint = suggest(unknown[0][:50], [*kinds, *(others or {})], most=1, like=0.6)
        raise FileFormatError(f"{where}: unknown field '{unknown[0][:50]}'; {hint}")
    return data


def is_of(value: object, kind: type) -> bool:
    """Return whether a value has a type and any text is printable."""
    return kind is object or (type(value) is kind and (not isinstance(value, str) or value.isprintable()))


# Fields: what follows is all that a kind of value has to say of itself.


@dataclass(frozen=True)
class Field:
    """Field of an inventory: name, meaning and default.

    Attributes
    ----------
    meaning
        In words, with the unit, for the table of the documentation.
    name
        In files; that of the attribute if empty.
    default
        In files for people; that of the attribute if it has one, and else the field must be there.
    always
        Whether plan files have it also where it is the default.
    note
        What it is called in comments and descriptions of NetBox; its name if empty, None if it is not kept there.
    comment
        Above it in a file that is written to begin with.
    attribute, python
        Name and default of the attribute; known once a :class:`Table` has it.
    """

    meaning: str
    _: dataclasses.KW_ONLY
    name: str = ""
    default: Any = REQUIRED
    always: bool = False
    note: str | None = ""
    comment: str = ""
    attribute: str = ""
    python: Any = REQUIRED

    word: ClassVar[str] = "text"  # what its values are called in the documentation
    stored: ClassVar[type] = str  # what its values are in plan files
    ranged: ClassVar[bool] = False  # whether ranges may be drawn together when it is written

    def describe(self) -> str:
        """Return the type of the values for the documentation."""
        return self.word

    def parse(self, said: str, *, exact: bool = False) -> Any:
        """Return the value of a text; fractions are valid if ``exact``."""
        del exact
        return said

    def show(self, value: Any) -> str:
        """Return the text for a value; non-decimal numbers become fractions."""
        return str(value)

    def of(self, owner: Any) -> Any:
        """Return the value of the field for files."""
        return getattr(owner, self.attribute)

    def read(self, said: FileFields) -> Any:
        """Return the value in an inventory file."""
        return said.read(self.name, self.parse, self.default)

    def write(self, value: Any) -> str:
        """Return a value as YAML."""
        shown = self.show(value)
        if "[" in shown:
            raise ParameterError(f"in a file, [ begins a range; rename {shown!r}")
        return scalar(shown)

    def load(self, data: Any, where: str) -> Any:
        """Return the value of plan data, which has the type :attr:`stored`."""
        del where
        return data

    def dump(self, value: Any) -> Any:
        """Return a value for a plan file."""
        return value

    def notes(self, value: Any) -> Iterator[tuple[str, str]]:
        """Yield names and texts of NetBox notes, none for a default."""
        if value != self.default and self.note is not None:
            yield self.note or self.name, self.show(value)

    def noted(self, said: Mapping[str, Sequence[str]]) -> Any:
        """Return the value of the first matching NetBox note."""
        return self.parse(said[self.note or self.name][0], exact=True)

    def is_noted(self, said: Mapping[str, Sequence[str]]) -> bool:
        """Return whether NetBox notes contain the field."""
        return self.note is not None and bool(said.get(self.note or self.name))


class Text(Field):
    """Text that can be printed on a label."""

    ranged = True

    def write(self, value: Any) -> str:
        """Return a value as YAML."""
        return scalar(value)


class OtherName(Text):
    """Name that defaults to the owner's name."""

    def of(self, owner: Any) -> Any:
        """Return the name, or empty text if it equals the owner's."""
        name = getattr(owner, self.attribute)
        return "" if name == owner.name else name


class PathText(Field):
    """Path of another file, relative to this one."""

    word = "path"

    def read(self, said: FileFields) -> Any:
        """Return the value in an inventory file."""
        return text(said.values[self.name], self.name, 4096) if self.name in said else self.default


@dataclass(frozen=True)
class WholeNumber(Field):
    """Non-negative integer with a minimum."""

    least: int = 0
    word = "integer"
    stored = int
    ranged = True

    def parse(self, said: str, *, exact: bool = False) -> int:
        """Return the integer in a text."""
        del exact
        return parse_whole(said, self.least)


@dataclass(frozen=True)
class Choice(Field):
    """Word from a fixed set."""

    words: Collection[str] = ()

    def describe(self) -> str:
        """Return the valid words for the documentation."""
        return ", ".join(f"`{word}`" for word in self.words if word)

    def parse(self, said: str, *, exact: bool = False) -> Any:
        """Return the word if it is valid."""
        del exact
        return parse_choice(self.words)(said)

    def load(self, data: Any, where: str) -> Any:
        """Return the word in a plan file if it is valid."""
        try:
            return parse_choice(self.words)(data)
        except FileFormatError as error:
            raise FileFormatError(f"{where}: {error}") from None

    def is_noted(self, said: Mapping[str, Sequence[str]]) -> bool:
        """Return whether the NetBox note exists and is a valid choice."""
        return super().is_noted(said) and said[self.note or self.name][0] in self.words


@dataclass(frozen=True)
class Flag(Field):
    """Yes or no."""

    word = "`yes` or `no`"
    stored = bool

    def parse(self, said: str, *, exact: bool = False) -> bool:
        """Return the truth value of ``yes`` or ``no``."""
        del exact
        return parse_choice(("yes", "no"))(said) == "yes"

    def show(self, value: Any) -> str:
        """Return ``yes`` or ``no``."""
        return "yes" if value else "no"


class _Number(Field):
    """Exact number."""

    def write(self, value: Any) -> str:
        """Return a value as YAML, which requires a decimal."""
        shown = self.show(value)
        if "/" in shown:
            raise ParameterError(f"{shown} is not a decimal, which a file requires")
        return shown

    def load(self, data: Any, where: str) -> Any:
        """Return the exact number in a plan file."""
        return exact_number(data, where)

    def dump(self, value: Any) -> Any:
        """Return a number for a plan file."""
        return str(value)


@dataclass(frozen=True)
class Quantity(_Number):
    """Exact number with a unit (decimal in files, fraction in NetBox)."""

    signed: bool = False
    units: ClassVar[Mapping[str, Fraction]]  # by what they are called; that of the first is shown
    noun: ClassVar[str]

    def parse(self, said: str, *, exact: bool = False) -> Fraction:
        """Return the number in a text with a unit."""
        match = _QUANTITY.fullmatch(said) or (_RATIO.fullmatch(said) if exact else None)
        if match is None or match[2] not in self.units or (said.startswith("-") and not self.signed):
            raise FileFormatError(f"{said[:50]!r} is not a {self.noun}")
        return Fraction(match[1]) * self.units[match[2]]

    def show(self, value: Any) -> str:
        """Return the text for a value, with its unit."""
        unit, size = next(iter(self.units.items()))
        return f"{exact(value / size)}{unit}"


class Metres(Quantity):
    """Length."""

    word = "such as `1.5m`, `600mm`"
    noun = "length such as 1.5m or 600mm"
    units: ClassVar = {"m": Fraction(1), "cm": Fraction(1, 100), "mm": Fraction(1, 1000)}


class Share(Quantity):
    """Share of a whole."""

    word = "such as `40%`"
    noun = "share such as 40%"
    units: ClassVar = {"%": Fraction(1, 100)}


class Decibels(Quantity):
    """Light loss, or None if unknown."""

    word = "such as `1.2dB`"
    noun = "loss such as 1.2dB"
    stored = object
    units: ClassVar = {"dB": Fraction(1)}

    def load(self, data: Any, where: str) -> Fraction | None:
        """Return the loss in a plan file, or None."""
        loss = None if data is None else exact_number(data, where)
        if loss is not None and loss < 0:
            raise FileFormatError(f"{where}: a loss cannot be below zero")
        return loss

    def dump(self, value: Any) -> str | None:
        """Return a loss for a plan file."""
        return None if value is None else str(value)


parse_metres, parse_decibels = Metres("").parse, Decibels("").parse


@dataclass(frozen=True)
class Speed(_Number):
    """Lane speed, stored in inventory files as the port's total."""

    lanes: Mapping[Any, int] = dataclasses.field(default_factory=dict)
    word = "such as `4x25Gbps`"

    def of(self, owner: Any) -> Any:
        """Return the total speed of all lanes."""
        return owner.speed * owner.lanes

    def read(self, said: FileFields) -> Any:
        """Return the speed of each lane."""
        return said.read(self.name, partial(_lane_speed, lanes=self.lanes[said.values["connector"].value]))

    def show(self, value: Any) -> str:
        """Return the text for the total speed of all lanes."""
        return f"{exact(value / _GIGA)}Gbps"


@dataclass(frozen=True)
class Texts(Field):
    """Several texts, each optionally with a range."""

    word = "list of texts"
    stored = list

    def read(self, said: FileFields) -> Any:
        """Return the texts in an inventory file."""
        if self.name not in said:
            return self.default
        if said.table:
            return tuple(said.text(self.name).split())
        where = said.at(self.name)
        return tuple(one for value in items(said.values[self.name], where) for one in texts(value, where))

    def write(self, value: Any) -> str:
        """Return texts as a YAML list."""
        return f"[{', '.join(super(Texts, self).write(one) for one in value)}]"

    def load(self, data: Any, where: str) -> Any:
        """Return the texts in a plan file."""
        if not all(is_of(one, str) for one in data):
            raise FileFormatError(f"{where} must be a list of printable text")
        return tuple(data)

    def dump(self, value: Any) -> Any:
        """Return texts for a plan file."""
        return list(value)

    def notes(self, value: Any) -> Iterator[tuple[str, str]]:
        """Yield names and texts of NetBox notes, one per text."""
        yield from ((self.note or self.name, one) for one in value)

    def noted(self, said: Mapping[str, Sequence[str]]) -> Any:
        """Return the texts in NetBox notes."""
        return tuple(said[self.note or self.name])


@dataclass(frozen=True)
class Entries(Field):
    """List of entries whose first field is their name."""

    of_kind: type = object
    word = "list"
    stored: ClassVar[type] = list

    @cached_property
    def table(self) -> Table:
        """Fields of an entry."""
        return table_of(self.of_kind)

    def entries(self, said: FileFields) -> Iterator[FileFields]:
        """Yield the entries in an inventory file."""
        return said.entries(self.name, self.table.required, self.table.optional)

    def read(self, said: FileFields) -> Any:
        """Return the parsed entries in an inventory file."""
        known = said.known.get(id(said.values.get(self.name)), ())
        said.room[0] -= len(known)
        found: list[Any] = []
        for entry in self.entries(said) if not known or said.room[0] < 0 else ():
            said.room[0] -= 1
            if len(found) >= MAX or said.room[0] < 0:
                line = next(iter(entry.values.values())).line
                raise FileFormatError(f"line {line}: {said.at(self.name)}: too many of them, or of their ports")
            found.append(self.table.read(entry))
        if found:
            said.known[id(said.values[self.name])] = known = tuple(found)
        return known

    def write(self, value: Any) -> str:
        """Return entries as YAML on one line."""
        return f"[{', '.join(self.table.write(value))}]"

    def load(self, data: Any, where: str) -> Any:
        """Return the entries in a plan file."""
        return tuple(self.table.load(one, f"{where}[{number}]") for number, one in enumerate(data))

    def dump(self, value: Any) -> Any:
        """Return entries for a plan file."""
        return [self.table.dump(one) for one in value]

    def notes(self, value: Any) -> Iterator[tuple[str, str]]:
        """Yield names and texts of NetBox notes, one per entry."""
        if self.note:
            yield from ((self.note, self.table.write_one(one)) for one in value)

    def noted(self, said: Mapping[str, Sequence[str]]) -> Any:
        """Return the entries in NetBox notes; ignore other texts."""
        rows = [LocatedValue(parse_yaml(one).value, 1) for one in said[self.note or ""] if one.startswith("{")]
        return self.read(FileFields({self.name: LocatedValue(rows, 1)}))


class Racks(Entries):
    """Positions of racks, by site and rack."""

    stored = dict

    def of(self, owner: Any) -> Any:
        """Return racks as a list of entries."""
        sites = getattr(owner, self.attribute)
        return [self.of_kind(site, rack, *place) for site, racks in sites.items() for rack, place in racks.items()]

    def read(self, said: FileFields) -> Any:
        """Return rack positions from an inventory file."""
        found: dict[str, dict[str, tuple[Fraction, Fraction]]] = {}
        for entry in self.entries(said):
            site, rack, *place = self.table.read(entry)
            there = found.setdefault(site, {})
            if rack in there:
                raise entry.wrong("rack", f"there are two racks '{rack}'")
            there[rack] = (place[0], place[1])
        return found

    def load(self, data: Any, where: str) -> Any:
        """Return rack positions from a plan file."""
        found: dict[str, dict[str, tuple[Fraction, Fraction]]] = {}
        for site, racks in data.items():
            there = found.setdefault(site, {})
            for rack, row in _object_of(racks, list, f"{where}.{site}").items():
                x, y = check_row(row, (str, str), f"{where}.{site}.{rack}")
                there[rack] = exact_number(x, where), exact_number(y, where)
        return found

    def dump(self, value: Any) -> Any:
        """Return rack positions for a plan file."""
        return {site: {rack: [*map(str, place)] for rack, place in racks.items()} for site, racks in value.items()}


@dataclass(frozen=True)
class Stock(Field):
    """Available cable lengths, by cable type."""

    types: Sequence[str] = ()
    word = "lengths by type"
    stored = dict

    def read(self, said: FileFields) -> Any:
        """Return the lengths in an inventory file, by type."""
        if self.name not in said:
            return self.default
        found = {}
        for kind, value in fields(said.values[self.name], self.name, (), self.types).items():
            where = f"{self.name}.{kind}"
            lengths = [(read_located(one, where, parse_metres), one.line) for one in items(value, where)]
            wrong = next((line for length, line in lengths if length == 0), None if lengths else value.line)
            if wrong is not None:
                raise FileFormatError(f"line {wrong}: {where}: expected at least one length, all of them above zero")
            found[kind] = tuple(sorted(length for length, _ in lengths))
        return found

    def write(self, value: Any) -> str:
        """Return lengths as YAML, one line per type."""
        lines = [f"{kind}: [{', '.join(map(Metres('').write, lengths))}]" for kind, lengths in value.items()]
        return "".join(f"\n  {line}" for line in lines)

    def load(self, data: Any, where: str) -> Any:
        """Return the lengths in a plan file, by type."""
        said = _object_of(data, list, where)
        return {kind: tuple(exact_number(one, f"{where}.{kind}") for one in row) for kind, row in said.items()}

    def dump(self, value: Any) -> Any:
        """Return lengths for a plan file."""
        return {kind: [*map(str, lengths)] for kind, lengths in value.items()}

    def notes(self, value: Any) -> Iterator[tuple[str, str]]:
        """Yield names and texts of NetBox notes, one per type."""
        for kind, lengths in value.items():
            yield f"{self.name} {kind}", " ".join(f"{exact(one)}m" for one in lengths)

    def noted(self, said: Mapping[str, Sequence[str]]) -> Any:
        """Return the lengths in NetBox notes, by type."""
        lines = {key.removeprefix(f"{self.name} "): said[key][0] for key in said if key.startswith(f"{self.name} ")}
        return {kind: tuple(parse_metres(one, exact=True) for one in line.split()) for kind, line in lines.items()}

    def is_noted(self, said: Mapping[str, Sequence[str]]) -> bool:
        """Return whether NetBox notes contain any lengths."""
        return any(key.startswith(f"{self.name} ") for key in said)


@dataclass(frozen=True)
class Inner(Field):
    """Object with fields of its own."""

    of_kind: type = object
    word = "fields"
    stored = list

    @cached_property
    def table(self) -> Table:
        """Fields of the object."""
        return table_of(self.of_kind)

    def read(self, said: FileFields) -> Any:
        """Return the object in an inventory file."""
        if self.name not in said:
            return self.default
        where = said.at(self.name)
        inner = fields(said.values[self.name], where, self.table.required, self.table.optional)
        return self.table.read(FileFields(inner, where))

    def write(self, value: Any) -> str:
        """Return an object as YAML on one line."""
        return self.table.write_one(value)

    def load(self, data: Any, where: str) -> Any:
        """Return the object in a plan file."""
        return self.table.load(data, where)

    def dump(self, value: Any) -> Any:
        """Return an object for a plan file."""
        return self.table.dump(value)

    def notes(self, value: Any) -> Iterator[tuple[str, str]]:
        """Yield names and texts of the NetBox notes of its fields."""
        yield from self.table.notes(value)

    def noted(self, said: Mapping[str, Sequence[str]]) -> Any:
        """Return the object in NetBox notes."""
        return self.of_kind(**self.table.noted(said))

    def is_noted(self, said: Mapping[str, Sequence[str]]) -> bool:
        """Return whether NetBox notes contain any of its fields."""
        return any(one.is_noted(said) for one in self.table.fields)


class Table:
    """Fields of a class, in the order of its attributes."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        only = getattr(kind, "IN_FILES", {})
        self.fields = tuple(_iterate_fields(kind))
        self.read_only = tuple(dataclasses.replace(one, name=name, attribute=name) for name, one in only.items())
        self.make: Callable[..., Any] = getattr(kind, "from_file", kind)
        every = (*self.fields, *self.read_only)
        self.required = tuple(one.name for one in every if one.default is REQUIRED)
        self.optional = tuple(one.name for one in every if one.default is not REQUIRED)
        self.as_row = not any(isinstance(one, Entries) for one in self.fields)
        self.needed = {one.attribute: one.stored for one in self.fields if one.python is REQUIRED}
        self.others = {one.attribute: one.stored for one in self.fields if one.python is not REQUIRED}
        self.kept = sum(one.python is REQUIRED or one.always for one in self.fields)
        self.loaded = [(place, one) for place, one in enumerate(self.fields) if type(one).load is not Field.load]

    def values(self, said: FileFields) -> dict[str, Any]:
        """Return attribute values from an inventory file.

        They include the fields that exist only in files.
        """
        return {one.attribute: one.read(said) for one in (*self.fields, *self.read_only)}

    def read(self, said: FileFields) -> Any:
        """Return an entry from an inventory file."""
        try:
            return self.make(**self.values(said))
        except FieldError as error:
            raise said.wrong(error.name, error.message) from None

    def write(self, things: Iterable[Any]) -> Iterator[str]:
        """Yield entries as YAML; merge consecutive names into ranges."""
        for _, group in groupby(things, key=lambda thing: [one.of(thing) for one in self.fields if not one.ranged]):
            alike = list(group)
            rest = self._format_fixed(alike[0])
            ranged = [one for one in self.fields if one.ranged]
            for row in runs([tuple(one.show(one.of(thing)) for one in ranged) for thing in alike]):
                cells = zip(ranged, row, strict=True)
                said = [f"{one.name}: {scalar(cell)}" for one, cell in cells if _says(one, cell)]
                yield f"{{{', '.join([*said, *rest])}}}"

    def write_one(self, thing: Any) -> str:
        """Return an entry as one line of YAML (``{}`` if all defaults)."""
        return next(self.write([thing]))

    def _format_fixed(self, thing: Any) -> list[str]:
        """Return the fields without ranges as YAML, lists last."""
        fixed = [one for one in self.fields if not one.ranged and one.of(thing) != one.default]
        fixed.sort(key=lambda one: isinstance(one, Entries | Texts))
        return [f"{one.name}: {one.write(one.of(thing))}" for one in fixed]

    def load(self, data: object, where: str) -> Any:
        """Return an entry from a plan file.

        Entries with lists of entries are objects; others are rows.
        """
        if self.as_row:
            row = check_row(data, [one.stored for one in self.fields], where, len(self.needed))
            values = list(row)
            for place, one in self.loaded:
                if place < len(values):
                    values[place] = one.load(values[place], f"{where}.{one.name}")
            return self.kind(*values)
        said = dict(check_object(data, self.needed, where, self.others))
        for _, one in self.loaded:
            if one.attribute in said:
                said[one.attribute] = one.load(said[one.attribute], f"{where}.{one.attribute}")
        return self.kind(**said)

    def dump(self, thing: Any) -> Any:
        """Return an entry for a plan file.

        The last values of a row are omitted if all of them are defaults.
        """
        if self.as_row:
            short = all(getattr(thing, one.attribute) == one.python for one in self.fields[self.kept :])
            return [one.dump(getattr(thing, one.attribute)) for one in self.fields[: self.kept if short else None]]
        values = [(one, getattr(thing, one.attribute)) for one in self.fields]
        return {one.attribute: one.dump(value) for one, value in values if one.always or value != one.python}

    def notes(self, thing: Any, **instead: Any) -> Iterator[tuple[str, str]]:
        """Yield names and texts of an entry's NetBox notes.

        Keyword arguments replace values of attributes.
        """
        for one in self.fields:
            yield from one.notes(instead[one.attribute] if one.attribute in instead else one.of(thing))

    def noted(self, said: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """Return the attribute values in NetBox notes."""
        found = {}
        for one in self.fields:
            if one.is_noted(said):
                try:
                    found[one.attribute] = one.noted(said)
                except FileFormatError as error:
                    raise FileFormatError(f"in a comment or description of NetBox, {error}") from None
        return found


class FieldError(FileFormatError):
    """Invalid field of a file: its name and the reason."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


_TABLES: dict[type, Table] = {}


def table_of(kind: type) -> Table:
    """Return the fields of a class."""
    if kind not in _TABLES:
        _TABLES[kind] = Table(kind)
    return _TABLES[kind]


def read_note_lines(comments: str) -> dict[str, list[str]]:
    """Return texts by name from comment lines ``name: text``."""
    return _read_notes(comments.splitlines(), ": ")


def read_note_words(words: Iterable[str]) -> dict[str, list[str]]:
    """Return texts by name from description words ``name text``."""
    return _read_notes(words, " ")


def _read_notes(lines: Iterable[str], sign: str) -> dict[str, list[str]]:
    said: defaultdict[str, list[str]] = defaultdict(list)
    for line in lines:
        name, found, value = line.partition(sign)
        if found:
            said[name.strip()].append(value.strip())
    return said


def _iterate_fields(kind: type) -> Iterator[Field]:
    defaults = dict(getattr(kind, "_field_defaults", {}))
    if dataclasses.is_dataclass(kind):
        for one in dataclasses.fields(kind):
            made = one.default_factory() if one.default_factory is not dataclasses.MISSING else one.default
            defaults |= {} if made is dataclasses.MISSING else {one.name: made}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for one in getattr(hint, "__metadata__", ()):
            if isinstance(one, Field):
                python = defaults.get(name, REQUIRED)
                default = python if one.default is REQUIRED else one.default
                yield dataclasses.replace(one, attribute=name, name=one.name or name, default=default, python=python)


def _object_of(data: object, kind: type, where: str) -> dict[str, Any]:
    """Return an object after checking the type of its values."""
    return check_object(data, {}, where, dict.fromkeys(data, kind) if isinstance(data, dict) else {})


def _says(one: Field, cell: str) -> bool:
    """Return whether a ranged field differs from its default."""
    return one.default is REQUIRED or cell != one.show(one.default)
