"""What files say of hosts, panels and cables, field by field, and the values that makes: for YAML, CSV and JSON.

Files for people have a line for each text, ranges that stand for many, and quantities with units (:class:`FileFields`);
plan files have exact numbers (:class:`ExactFields`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

from topodesign.base.errors import FileFormatError, UnitError
from topodesign.base.tables import Located
from topodesign.base.units import parse_bandwidth
from topodesign.base.wording import suggest
from topodesign.wiring.inventory import devices

MOST = 2**17  # how many texts a range may stand for, and how many things of a kind an inventory may have

MOST_LETTERS = 64  # how long the name of anything may be; NetBox takes no longer names of devices and ports either

_bandwidth = lru_cache(256)(parse_bandwidth)  # thousands of ports have few speeds

_RANGE = re.compile(r"\[([0-9]{1,9})-([0-9]{1,9})(?::([0-9]{1,9}))?\]")
_NUMBER = r"(-?[0-9]{1,12}(?:\.[0-9]{1,12})?)\s*"
_LENGTH = re.compile(_NUMBER + "(m|cm|mm)")
_SHARE = re.compile(r"[0-9]{1,3}(\.[0-9]{1,4})?\s*%")
_LOSS = re.compile(_NUMBER + "dB")
_METRES = {"m": Fraction(1), "cm": Fraction(1, 100), "mm": Fraction(1, 1000)}
_Word = TypeVar("_Word", bound=str)


def fields(value: Located, where: str, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Located]:
    """Return the fields of a mapping after a look at their names."""
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


def items(value: Located, where: str) -> list[Located]:
    """Return the items of a list."""
    if not isinstance(value.value, list):
        raise FileFormatError(f"line {value.line}: {where}: expected a list")
    return value.value


def text(value: Located, where: str, most: int = MOST_LETTERS) -> str:
    """Return a text of at most so many letters that can be printed on a label."""
    said = value.value
    if not isinstance(said, str) or not said:
        problem = "expected text"
    elif not said.isprintable():
        letter = next(letter for letter in said if not letter.isprintable())
        problem = f"{said[:50]!r} has a character that cannot be printed, {letter!r}"
    elif said != said.strip():
        problem = f"{said[:50]!r} begins or ends with a blank"
    elif len(said) > most:
        problem = f"'{said[:20]}...' has {len(said)} letters; a label takes at most {most}"
    else:
        return said
    raise FileFormatError(f"line {value.line}: {where}: {problem}")


def expand(entry: Mapping[str, Located], where: str) -> list[dict[str, Located]]:
    """Return the entries that one with ranges ``[first-last:step]`` in its texts stands for."""
    columns: dict[str, list[str]] = {}
    for name, value in entry.items():
        if isinstance(value.value, str) and "[" in value.value:
            columns[name] = texts(value, f"{where}.{name}")
    sizes = {len(column) for column in columns.values()}
    if len(sizes) > 1:
        names = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
        line = min(entry[name].line for name in columns)
        raise FileFormatError(f"line {line}: {where}: ranges of different lengths: {names}")
    return [
        {**entry, **{name: Located(column[row], entry[name].line) for name, column in columns.items()}}
        for row in range(sizes.pop() if sizes else 1)
    ]


def texts(value: Located, where: str) -> list[str]:
    """Return the texts that one with or without a range stands for."""
    whole = text(value, where)
    parts = _RANGE.split(whole)
    if len(parts) == 1 and "[" not in whole:
        return [whole]
    if len(parts) != 5:
        raise FileFormatError(f"line {value.line}: {where}: {whole[:50]!r} should have one range such as [01-12]")
    before, first, last, step, after = parts
    numbers = range(int(first), int(last) + 1, int(step or 1) or MOST)
    if not numbers or len(numbers) > MOST or step == "0":
        raise FileFormatError(f"line {value.line}: {where}: the range in {whole[:50]!r} is empty or too long")
    return [f"{before}{number:0{len(first)}}{after}" for number in numbers]


def metres(value: Located, where: str, *, signed: bool = False) -> Fraction:
    """Return a length such as ``1.5m`` or ``600mm``; below zero only if ``signed``."""
    said = text(value, where)
    match = _LENGTH.fullmatch(said)
    if match is None or (said.startswith("-") and not signed):
        raise FileFormatError(f"line {value.line}: {where}: {said[:50]!r} is no length such as 1.5m or 600mm")
    return Fraction(match[1]) * _METRES[match[2]]


class FileFields:
    """What a file for people says of one thing: texts with their lines, and where they stand, for what is wrong."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = values
        self.where = where

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def at(self, name: str) -> str:
        """Return the name of a field as messages have it."""
        return f"{self.where}.{name}" if self.where else name

    def located(self, name: str) -> Located:
        """Return a field that must be there."""
        if name not in self.values:
            line = next(iter(self.values.values())).line
            raise FileFormatError(f"line {line}: the field '{self.at(name)}' is missing")
        found: Located = self.values[name]
        return found

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text that can be printed on a label."""
        return default if default is not None and name not in self.values else text(self.located(name), self.at(name))

    def whole(self, name: str, least: int, default: int | None = None) -> int:
        """Return an integer of at least ``least``."""
        if default is not None and name not in self.values:
            return default
        said = self.text(name)
        if not (said.isascii() and said.isdecimal() and len(said) <= 9 and int(said) >= least):
            raise self.wrong(name, f"{said[:50]!r} is no integer of at least {least}")
        return int(said)

    def speed(self, name: str, lanes: int) -> Fraction:
        """Return the speed of each lane, where the text, such as ``4x25Gbps``, is of all together."""
        said = self.text(name)
        try:
            return _bandwidth(said) / lanes
        except UnitError as error:
            raise self.wrong(name, str(error)) from None

    def loss(self, name: str) -> Fraction | None:
        """Return a loss such as ``1.2dB``."""
        if name not in self.values:
            return None
        said = self.text(name)
        match = _LOSS.fullmatch(said)
        if match is None or said.startswith("-"):
            raise self.wrong(name, f"{said[:50]!r} is no loss such as 1.2dB")
        return Fraction(match[1])

    def choice(self, name: str, known: Collection[_Word], default: _Word | None = None) -> _Word:
        """Return one of some known words."""
        said = self.text(name, default)
        for word in known:
            if word == said:
                return word
        raise self.wrong(name, f"{said[:50]!r} is none of {', '.join(known)}")

    def place(self) -> tuple[str, str, int]:
        """Return site, rack and unit."""
        return self.text("site", ""), self.text("rack"), self.whole("unit", 0, 1)

    def metres(self, name: str, *, signed: bool = False) -> Fraction:
        """Return a length such as ``1.5m`` or ``600mm``."""
        return metres(self.located(name), self.at(name), signed=signed)

    def wrong(self, name: str, problem: str) -> FileFormatError:
        """Return the error with the line of a field."""
        return FileFormatError(f"line {self.located(name).line}: {self.at(name)}: {problem}")


_FRACTION = re.compile(r"-?[0-9]{1,1000}(/0*[1-9][0-9]{0,999})?")
_WORDS = {
    str: "printable text",
    int: "an integer",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    object: "anything",
}


class ExactFields(FileFields):
    """The same of a plan file, whose types have been looked at; fractions are text ``"p/q"``."""

    @classmethod
    def of_row(cls, row: object, kinds: Mapping[str, type], where: str, short: int | None = None) -> ExactFields:
        """Return a row as fields of these types; one that says no more may end after so many."""
        few = short is not None and (not isinstance(row, list) or len(row) <= short)
        names = list(kinds)[: short if few else None]
        return cls(dict(zip(names, checked_row(row, [kinds[name] for name in names], where), strict=True)), where)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text."""
        return str(self.values.get(name, default))

    def whole(self, name: str, least: int, default: int | None = None) -> int:  # noqa: ARG002  that of files for people
        """Return an integer."""
        return int(self.values.get(name, default))

    def speed(self, name: str, lanes: int) -> Fraction:  # noqa: ARG002  it is told of each
        """Return the speed of each lane."""
        return exact_number(self.values[name], self.where)

    def loss(self, name: str) -> Fraction | None:
        """Return a loss."""
        value = self.values.get(name)
        if value is None:
            return None
        loss = exact_number(value, self.where)
        if loss < 0:
            raise FileFormatError(f"{self.where}: a loss cannot be below zero")
        return loss

    def wrong(self, name: str, problem: str) -> FileFormatError:
        """Return the error for a field."""
        return FileFormatError(f"{self.where}: {name}: {problem}")


def exact_number(value: object, where: str) -> Fraction:
    """Return the number that a text such as ``"3/2"`` is."""
    if isinstance(value, str) and _FRACTION.fullmatch(value):
        return Fraction(value)
    raise FileFormatError(f'{where}: a number must be text such as "3/2"')


def checked_row(data: object, kinds: Sequence[type], where: str) -> list[Any]:
    """Return a row of values of these types."""
    if not isinstance(data, list) or len(data) != len(kinds) or not all(map(is_of, data, kinds)):
        raise FileFormatError(f"{where} must be a row of {', '.join(_WORDS[kind] for kind in kinds)}")
    return data


def checked_object(
    data: object, kinds: dict[str, Any], where: str, others: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the fields of an object, of which these must be there and of these types, and others may be."""
    if not isinstance(data, dict):
        raise FileFormatError(f"{where} must be an object")
    optional = {key: kind for key, kind in (others or {}).items() if key in data}
    for key, kind in (kinds | optional).items():
        if not is_of(data.get(key), kind):
            raise FileFormatError(f"{where}: '{key}' must be {_WORDS[kind]}")
    unknown = sorted(data.keys() - kinds.keys() - (others or {}).keys())
    if unknown:
        raise FileFormatError(f"{where}: unknown field '{unknown[0][:50]}'")
    return data


def is_of(value: object, kind: type) -> bool:
    """Whether a value is of a type and, if it is text, can be printed: files and labels hold no control characters."""
    return kind is object or (type(value) is kind and (not isinstance(value, str) or value.isprintable()))


def host_port(said: FileFields) -> devices.Port:
    """Return a port of a host."""
    connector = said.choice("connector", devices.LANES)
    speed = said.speed("speed", devices.LANES[connector])
    return devices.Port(
        said.text("name"), connector, speed, said.choice("polarity", devices.POLARITIES, "A"), said.loss("budget")
    )


def panel_port(said: FileFields, *, blocked: bool) -> devices.PanelPort:
    """Return a port of a panel."""
    return devices.PanelPort(
        said.text("label"),
        said.choice("mode", devices.MODES),
        blocked,
        said.loss("loss"),
        said.choice("side", devices.PORT_SIDES, ""),
    )


def host(said: FileFields, ports: Iterable[devices.Port]) -> devices.Host:
    """Return a host."""
    return devices.Host(said.text("name"), *said.place(), tuple(ports), said.text("pod", ""))


def panel(said: FileFields, ports: Iterable[devices.PanelPort], pods: Iterable[str]) -> devices.Panel:
    """Return a panel or a circuit switch."""
    name, kind = said.text("name"), said.choice("kind", devices.PANEL_KINDS)
    spare, circuit = said.whole("spare", 0, 0), said.loss("circuit")
    return devices.Panel(name, *said.place(), kind, tuple(ports), said.text("field", name), tuple(pods), spare, circuit)


def trunk(said: FileFields) -> devices.Trunk:
    """Return a trunk."""
    panel, port, near, near_port = (said.text(name) for name in ("panel", "panel_port", "near", "near_port"))
    return devices.Trunk(panel, port, near, near_port, said.loss("loss"))


def tray(said: FileFields) -> devices.Tray:
    """Return a tray."""
    ends = said.text("site", ""), said.text("from"), said.text("to")
    length, width, depth = (said.metres(name) for name in ("length", "width", "depth"))
    fill = said.text("fill", "40%")
    if not _SHARE.fullmatch(fill):
        raise said.wrong("fill", f"{fill[:50]!r} is no share such as 40%")
    return devices.Tray(*ends, length, width, depth, Fraction(fill.removesuffix("%").strip()) / 100)


def fixed(said: FileFields) -> devices.Fixed:
    """Return fixed cabling of a lane."""
    host, port, panel, panel_port = (said.text(name) for name in ("host", "port", "panel", "panel_port"))
    return devices.Fixed(host, port, said.whole("lane", 1, 1), panel, panel_port)


def losses(said: FileFields) -> devices.Losses:
    """Return what light loses."""
    return devices.Losses(said.loss("connector"), said.loss("fibre"), said.loss("splice"), said.whole("splices", 0, 0))
