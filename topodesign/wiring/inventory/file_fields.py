"""Entries of an inventory file: fields with their lines, ranges that stand for many texts, and quantities."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, TypeVar

from topodesign.base.errors import FileFormatError, UnitError
from topodesign.base.tables import Located
from topodesign.base.units import parse_bandwidth

Entry = Mapping[str, Located]
"""Fields of one thing by name, each a text with its line."""

MOST = 2**17
"""How many texts a range may stand for, and how many things of a kind an inventory may have."""

MOST_LETTERS = 64
"""How long the name of anything may be; NetBox takes no longer names of devices and ports either."""

_RANGE = re.compile(r"\[([0-9]{1,9})-([0-9]{1,9})(?::([0-9]{1,9}))?\]")
_NUMBER = r"(-?[0-9]{1,12}(?:\.[0-9]{1,12})?)\s*"
_LENGTH = re.compile(_NUMBER + "(m|cm|mm)")
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
            close = get_close_matches(name[:50], known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"known are {', '.join(known)}"
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


def expand(entry: Entry, where: str) -> list[dict[str, Located]]:
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


def choice(value: Located, known: Mapping[_Word, Any] | Collection[_Word], where: str) -> _Word:
    """Return one of some known words."""
    said = text(value, where)
    for word in known:
        if word == said:
            return word
    raise FileFormatError(f"line {value.line}: {where}: {said[:50]!r} is none of {', '.join(known)}")


def whole(value: Located, where: str, least: int) -> int:
    """Return an integer of at least ``least``."""
    said = text(value, where)
    if not (said.isascii() and said.isdecimal() and len(said) <= 9 and int(said) >= least):
        raise FileFormatError(f"line {value.line}: {where}: {said[:50]!r} is no integer of at least {least}")
    return int(said)


def metres(value: Located, where: str, *, signed: bool = False) -> Fraction:
    """Return a length such as ``1.5m`` or ``600mm``; below zero only if ``signed``."""
    said = text(value, where)
    match = _LENGTH.fullmatch(said)
    if match is None or (said.startswith("-") and not signed):
        raise FileFormatError(f"line {value.line}: {where}: {said[:50]!r} is no length such as 1.5m or 600mm")
    return Fraction(match[1]) * _METRES[match[2]]


def decibels(value: Located, where: str) -> Fraction:
    """Return a loss such as ``1.2dB``."""
    said = text(value, where)
    match = _LOSS.fullmatch(said)
    if match is None or said.startswith("-"):
        raise FileFormatError(f"line {value.line}: {where}: {said[:50]!r} is no loss such as 1.2dB")
    return Fraction(match[1])


def speed(value: Located, where: str) -> Fraction:
    """Return a speed such as ``100Gbps`` or ``4x25Gbps`` in bits per second, over all lanes."""
    try:
        return parse_bandwidth(text(value, where))
    except UnitError as error:
        raise FileFormatError(f"line {value.line}: {where}: {error}") from None
