"""Ranges in inventory texts, such as ``[01-12]`` or ``[2-24:2]``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.tables import LocatedValue

MAX = 2**17  # texts that a range may stand for, and things of a kind that an inventory may have

MAX_LETTERS = 64  # of the name of anything; NetBox takes no longer names of devices and ports either

_RANGE = re.compile(r"\[([0-9]{1,9})-([0-9]{1,9})(?::([0-9]{1,9}))?\]")
_DIGITS = re.compile(r"([0-9]{1,9})")


def text(value: LocatedValue, where: str, most: int = MAX_LETTERS) -> str:
    """Return a printable text of up to ``most`` letters."""
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


def texts(value: LocatedValue, where: str) -> list[str]:
    """Return the texts of a range, or the single text."""
    whole = text(value, where)
    parts = _RANGE.split(whole)
    if len(parts) == 1 and "[" not in whole:
        return [whole]
    if len(parts) != 5:
        raise FileFormatError(f"line {value.line}: {where}: {whole[:50]!r} must have one range such as [01-12]")
    before, first, last, step, after = parts
    numbers = range(int(first), int(last) + 1, int(step or 1) or MAX)
    if not numbers or len(numbers) > MAX or step == "0":
        raise FileFormatError(f"line {value.line}: {where}: the range in {whole[:50]!r} is empty or too long")
    return [f"{before}{number:0{len(first)}}{after}" for number in numbers]


def expand(entry: Mapping[str, LocatedValue], where: str) -> list[dict[str, LocatedValue]]:
    """Return an entry's expansion; its ranges must be equally long."""
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
        {**entry, **{name: LocatedValue(column[row], entry[name].line) for name, column in columns.items()}}
        for row in range(sizes.pop() if sizes else 1)
    ]


def runs(rows: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield rows compressed into ranges: the inverse of :func:`expand`."""
    for said in {said for row in rows for said in row}:
        if "[" in said:
            raise ParameterError(f"in a file, [ begins a range; rename {said!r}")
    start = 0
    while start < len(rows):
        entry, count = _run(rows, start)
        yield entry
        start += count


def _run(rows: Sequence[tuple[str, ...]], start: int) -> tuple[tuple[str, ...], int]:
    """Return one entry for the longest run of rows, and its length."""
    if start + 1 == len(rows) or rows[start] == rows[start + 1]:
        return rows[start], 1
    columns = [_column(a, b) for a, b in zip(rows[start], rows[start + 1], strict=True)]
    count = 1
    while start + count < len(rows) and all(
        column is not None and column.text(count) == said
        for column, said in zip(columns, rows[start + count], strict=True)
    ):
        count += 1
    entry = tuple(column.entry(count) for column in columns if column is not None)
    if count == 1 or any(len(said) > MAX_LETTERS for said in entry):
        return rows[start], 1
    return entry, count


class _Column(NamedTuple):
    """Column of texts with a constant step (0 if all are equal)."""

    before: str
    first: str
    after: str
    step: int

    def text(self, number: int) -> str:
        """Return the text that follows the first by ``number`` steps."""
        if not self.step:
            return self.before
        return f"{self.before}{int(self.first) + number * self.step:0{len(self.first)}}{self.after}"

    def entry(self, count: int) -> str:
        """Return the range text for ``count`` texts."""
        if not self.step:
            return self.before
        step = f":{self.step}" if self.step > 1 else ""
        last = int(self.first) + (count - 1) * self.step
        return f"{self.before}[{self.first}-{last:0{len(self.first)}}{step}]{self.after}"


def _column(a: str, b: str) -> _Column | None:
    """Return the column that two texts begin, or None."""
    if a == b:
        return _Column(a, "", "", 0)
    here, there = _DIGITS.split(a), _DIGITS.split(b)
    if len(here) != len(there):
        return None
    differ = [place for place, (x, y) in enumerate(zip(here, there, strict=True)) if x != y]
    place = differ[0]
    if len(differ) > 1 or place % 2 == 0 or int(there[place]) <= int(here[place]):
        return None
    found = _Column(
        "".join(here[:place]), here[place], "".join(here[place + 1 :]), int(there[place]) - int(here[place])
    )
    return found if found.text(1) == b else None
