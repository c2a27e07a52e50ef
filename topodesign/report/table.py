"""Tables of results for the terminal, in colour and as wide as it is."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from dataclasses import replace

import rich.table
from rich import box
from rich.console import Console, OverflowMethod
from rich.measure import Measurement
from rich.text import Text

from topodesign.base.fitted import fitted
from topodesign.base.records import Result, Table

_PLAIN_WIDTH = 160
_NAME_WIDTH = 40
"""Columns that a name of fair length takes."""
_SHORT_NAME = 12
"""Columns that a name may take and stay in its row."""


def print_result(result: Result, console: Console | None = None) -> None:
    """Print the table of a result.

    Parameters
    ----------
    result
        Any.
    console
        Where to print, and how wide; standard output unless told otherwise.
    """
    print_table(result.table(), Console() if console is None else console)


def print_table(table: Table, console: Console) -> None:
    """Print a table: what is the best of its column is green, and what is there to compare with is dim.

    Where there is too little room for all columns the figures stay whole: the spare columns are left out, and the texts
    of the last one stand below, by number, unless they are short. What is too wide even then comes in several tables. A
    name without blanks, such as a spec, is one line however long it is, so that it can be copied.
    """
    if not console.is_terminal:
        console.width = _piped_width()
    if table.heading:
        console.print(
            table.heading if table.titled else fitted(table.heading, console.width),
            style="" if table.titled else "bold",
            highlight=False,
            markup=False,
            soft_wrap=not table.titled,
        )
    drawn = _drawn(table)
    names = [cells[-1] for cells in table.rows]
    longest = max(map(len, names), default=0)
    whole = max((min(len(name), _NAME_WIDTH) if " " in name else len(name) for name in names), default=0)
    narrow = table.titled and console.width < whole + _width(drawn, console) - longest
    if not narrow:
        console.print(drawn, highlight=False)
    elif longest <= _SHORT_NAME:
        _print_parts(_without_spare(table), console)
    else:
        _print_parts(_without_names(table), console)
        first = {name: place for place, name in reversed(list(enumerate(names)))}
        for number, name in enumerate(dict.fromkeys(names), start=1):
            _print_name(f"{number:<{len(str(len(first)))}}  ", name, _style(table, first[name]), console)
    if table.footnote:
        console.print(table.foot(console.width), highlight=False, markup=False, soft_wrap=True)


def _piped_width() -> int:
    """Return how wide tables are in a file or pipe, which has no width of its own."""
    told = os.environ.get("COLUMNS", "")
    return int(told) if told.isascii() and told.isdigit() and len(told) < 5 and int(told) else _PLAIN_WIDTH


def _print_parts(table: Table, console: Console) -> None:
    """Print a table, or several with the last column in each and as many of the others as there is room for."""
    *others, last = range(len(table.columns))
    while others:
        count = len(others)
        while count > 1 and _width(_drawn(_only(table, [*others[:count], last])), console) > console.width:
            count -= 1
        console.print(_drawn(_only(table, [*others[:count], last])), highlight=False)
        others = others[count:]


def _print_name(number: str, name: str, style: str, console: Console) -> None:
    """Print what the last column of a row has: words with the lines after the first one set in, a spec in one line."""
    lines = textwrap.wrap(name, max(20, console.width - len(number)), break_long_words=False, break_on_hyphens=False)
    text = f"\n{' ' * len(number)}".join(lines)
    console.print(Text(number + text, style), soft_wrap=True, highlight=False)


def _without_spare(table: Table) -> Table:
    """Return the table without its spare columns."""
    return _only(table, [place for place, title in enumerate(table.columns) if title not in table.spare])


def _only(table: Table, kept: Sequence[int]) -> Table:
    """Return the table with some of its columns."""
    rows = tuple(tuple(cells[place] for place in kept) for cells in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in kept), rows=rows)


def _without_names(table: Table) -> Table:
    """Return the table without its spare columns, and for the texts of the last one numbers, the same for the same."""
    less = _without_spare(table)
    number = {name: str(row) for row, name in enumerate(dict.fromkeys(cells[-1] for cells in less.rows), start=1)}
    rows = tuple((*cells[:-1], number[cells[-1]]) for cells in less.rows)
    return replace(less, columns=(*less.columns[:-1], "row"), rows=rows)


def _drawn(table: Table) -> rich.table.Table:
    """Return rich's table: without titles it is one of names and what they stand for."""
    if table.titled:
        drawn = rich.table.Table(box=box.SIMPLE, pad_edge=False, header_style="bold")
    else:
        drawn = rich.table.Table(box=None, show_header=False, pad_edge=False)
    for place, title in enumerate(table.columns):
        left, last = title in table.words or title == "row", place == len(table.columns) - 1
        style = "" if table.titled or place else "bold"
        overflow: OverflowMethod = "fold" if last else "ellipsis"
        drawn.add_column(title, justify="left" if left else "right", no_wrap=not last, overflow=overflow, style=style)
    for place, cells in enumerate(table.rows):
        if place and place == table.compared:
            drawn.add_section()
        texts = [Text(cell, "bold green" if cell.endswith("*") else "") for cell in cells]
        drawn.add_row(*texts, style=_style(table, place))
    return drawn


def _style(table: Table, place: int) -> str:
    return "dim" if table.compared is not None and place >= table.compared else ""


def _width(drawn: rich.table.Table, console: Console) -> int:
    """Return how wide a table is if nothing is cut."""
    return Measurement.get(console, console.options.update(max_width=10_000), drawn).maximum
