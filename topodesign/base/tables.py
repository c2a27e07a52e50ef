"""Strict YAML and CSV with line numbers.

Text, lists and mappings, without references.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from topodesign.base.errors import FileFormatError
from topodesign.base.memory import check_memory

_DEEPEST = 8
_QUOTED = re.compile(r'"[^"]*"')
_DECIMAL = re.compile(r"\A(\s*[+-]?[0-9]+),([0-9]+\s*)\Z")
LARGEST_YAML = 16 * 2**20  # letters of a YAML document: its parser takes a second for each MiB
_PER_YAML_LETTER, _PER_LINE = 32, 300  # bytes of memory that a letter of YAML and a line of CSV may become


@dataclass(frozen=True, slots=True)
class LocatedValue:
    """A value of a file with the line that it begins on.

    Text, a list of located values, or a mapping of texts to such.

    ``plain`` says of a text that it stands there without quotes.
    """

    value: Any
    line: int
    plain: bool = False


def parse_yaml(text: str) -> LocatedValue:
    """Return the one document of a text. Every scalar is text."""
    import yaml  # noqa: PLC0415  heavy

    if len(text) > LARGEST_YAML:
        raise FileFormatError(f"{len(text)} letters of YAML, and {LARGEST_YAML} are read; larger files can be JSON")
    check_memory(_PER_YAML_LETTER * len(text), f"{len(text)} letters of YAML")
    try:
        events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        if not any(isinstance(event, yaml.DocumentStartEvent) for event in events):
            raise FileFormatError("the file is empty")
        document = _value(next(events), events, 0)
        next(events)  # the end of the document
        if not isinstance(next(events), yaml.StreamEndEvent):
            raise FileFormatError("there is more than one document")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        raise FileFormatError(f"{line}not YAML: {problem}") from None
    return document


def parse_csv(text: str, required: Sequence[str], optional: Sequence[str]) -> Iterator[dict[str, LocatedValue]]:
    """Yield the rows of a CSV as mappings of columns to text.

    Empty cells and surrounding blanks are omitted.
    """
    rows = csv_rows(text)
    first, names = next(rows, (1, []))
    header = [cell.strip() for cell in names]
    unknown = [name for name in header if name not in {*required, *optional}]
    missing = [name for name in required if name not in header]
    if unknown or missing or len(set(header)) < len(header):
        words = f"unknown {unknown[0][:50]!r}" if unknown else f"missing '{missing[0]}'" if missing else "one twice"
        known = f"{', '.join(required)}, and as needed {', '.join(optional)}"
        raise FileFormatError(f"line {first}: the header has columns {known}; {words}")
    for line, cells in rows:
        if len(cells) != len(header):
            raise FileFormatError(f"line {line}: {len(cells)} cells, the header has {len(header)}")
        row = {name: LocatedValue(cell.strip(), line) for name, cell in zip(header, cells, strict=True) if cell.strip()}
        empty = next((name for name in required if name not in row), None)
        if row and empty is not None:
            raise FileFormatError(f"line {line}: {empty}: the cell is empty")
        if row:
            yield row


def read_named_columns(
    text: str, columns: Sequence[str], name_of: Callable[[str], str] = str.strip
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line and cells of a CSV that has at least these columns."""
    rows = csv_rows(text)
    first, names = next(rows, (1, []))
    header = [name_of(cell) for cell in names]
    count = Counter(header)
    for column in (*columns, *filter(None, header)):
        if count[column] != 1:
            raise FileFormatError(f"line {first}: the column {column} must be there once")
    for line, cells in rows:
        if len(cells) != len(header):
            raise FileFormatError(f"line {line}: expected {len(header)} cells, not {len(cells)}")
        yield line, dict(zip(header, cells, strict=True))


def read_fixed_columns(
    text: str, columns: Sequence[str], expected: str, *, optional: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Yield line and cells of a CSV with exactly these columns, in order."""
    headers = [list(columns[:count]) for count in range(len(columns) - optional, len(columns) + 1)]
    rows = csv_rows(text)
    first, names = next(rows, (1, []))
    header = [cell.strip().lower() for cell in names]
    if header not in headers:
        raise FileFormatError(f"line {first}: expected the header {' or '.join(map(','.join, headers))}")
    for line, cells in rows:
        if len(cells) != len(header):
            raise make_row_error(line, cells, expected)
        yield line, [cell.strip() for cell in cells]


def make_row_error(line: int, cells: Sequence[str], expected: str) -> FileFormatError:
    """Return the error for a row that is not as expected."""
    return FileFormatError(f"line {line}: expected {expected}, not {','.join(cells)[:40]!r}")


def write_csv(rows: Iterable[Iterable[object]]) -> str:
    """Return a CSV in which no cell is a formula to a spreadsheet.

    An apostrophe goes before text that begins with ``=``, ``+``, ``-`` or ``@``, perhaps behind apostrophes or blanks;
    :func:`plain_cell` takes it off again. Numbers stay as they are.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    guarded = ([f"'{cell}" if isinstance(cell, str) and _is_formula(cell) else cell for cell in row] for row in rows)
    writer.writerows(guarded)
    return out.getvalue()


def plain_cell(cell: str) -> str:
    """Return what :func:`write_csv` was given for a cell."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell[1:]) else cell


def _is_formula(cell: str) -> bool:
    return cell.lstrip("' \t\r\n").startswith(("=", "+", "-", "@"))


def csv_rows(text: str, *, comments: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield line and cells of every row that :func:`write_csv` wrote.

    Empty lines are omitted, and those that begin with # if asked to.

    Cells are separated by what separates those of the first line: commas, semicolons or tabs. A spreadsheet writes
    semicolons where a decimal has a comma, so with these ``2,5`` is read as ``2.5``.
    """
    check_memory(2 * len(text) + _PER_LINE * text.count("\n"), f"{len(text)} letters of CSV")
    lines: Iterable[str] = io.StringIO(text)
    if comments:
        lines = ("\n" if line.lstrip().startswith("#") else line for line in lines)
    lines = iter(lines)
    empty, first = 0, next(lines, "")
    while first and not first.strip():
        empty, first = empty + 1, next(lines, "")
    separator = separator_of(first)
    reader = csv.reader(itertools.chain([first], lines), strict=True, delimiter=separator)
    try:
        for cells in reader:
            if len(cells) > 1 or (cells and cells[0].strip()):
                decimals = cells if separator == "," else [_DECIMAL.sub(r"\1.\2", cell) for cell in cells]
                yield empty + reader.line_num, [plain_cell(cell) for cell in decimals]
    except csv.Error as error:
        raise FileFormatError(f"line {empty + reader.line_num}: not CSV: {error}") from None


def separator_of(line: str) -> str:
    """Return the separator of a line: comma, semicolon or tab.

    The most frequent one.
    """
    plain = _QUOTED.sub("", line)
    return max(",;\t", key=plain.count)


def _value(event: Any, events: Iterator[Any], depth: int) -> LocatedValue:
    import yaml  # noqa: PLC0415  heavy

    line = event.start_mark.line + 1
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise FileFormatError(f"line {line}: anchors and aliases are not accepted; write it out")
    if event.tag is not None:
        raise FileFormatError(f"line {line}: tags are not accepted")
    if depth > _DEEPEST:
        raise FileFormatError(f"line {line}: nested more than {_DEEPEST} deep")
    if isinstance(event, yaml.ScalarEvent):
        return LocatedValue(event.value, line, plain=event.implicit[0])
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(_value(event, events, depth + 1))
        return LocatedValue(items, line)
    fields: dict[str, LocatedValue] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        key = _value(event, events, depth + 1)
        if not isinstance(key.value, str):
            raise FileFormatError(f"line {key.line}: a field's name must be text")
        if key.value in fields:
            raise FileFormatError(f"line {key.line}: the field '{key.value[:50]}' is there twice")
        fields[key.value] = _value(next(events), events, depth + 1)
    return LocatedValue(fields, line)
