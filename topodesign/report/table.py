"""Tables of results for the terminal, in colour and at its width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import rich.table
from rich import box
from rich.console import Console, OverflowMethod
from rich.measure import Measurement
from rich.text import Text

from topodesign.base.fitted import columns_of, wrap_text
from topodesign.base.records import Result, Table
from topodesign.base.wording import count_noun

_PLAIN_WIDTH = 160
_NAME_WIDTH = 40  # columns that a name of fair length takes
_LIST_WIDTH = 24  # columns that a list of words takes where there is little room
_SHORT_NAME = 12  # columns that a name may take and stay in its row


def print_result(result: Result, console: Console | None = None) -> None:
    """Print the table of a result."""
    print_table(result.table(), Console() if console is None else console)


def print_table(table: Table, console: Console) -> None:
    """Print a table, the best values green and comparisons dim.

    Where there is too little room for all columns the figures stay whole: the texts of the last one stand below, by
    number, unless they are short; spare columns without room even then are omitted, which a line reports.
    What is too wide without them comes in several tables. A name without blanks, such as a spec, is one line if it
    fits, so that it can be copied, else it is broken at its commas.
    """
    if not console.is_terminal:
        console.width = columns_of(console.file) or _PLAIN_WIDTH
    if table.heading:
        style = "" if table.titled else "bold"
        heading = "\n".join(wrap_text(table.heading, console.width))
        console.print(heading, style=style, highlight=False, markup=False, soft_wrap=True)
    names = [cells[-1] for cells in table.rows]
    longest = max(map(len, names), default=0)
    whole = max((min(len(name), _NAME_WIDTH) if " " in name else len(name) for name in names), default=0)
    others = _width(table, console) - longest
    if table.titled and whole + others > console.width:
        table = _fold_table(table)
        others = _width(table, console) - longest
    left_out = ""
    if not table.titled or whole + others <= console.width:
        console.print(_draw_table(table, console.width - others), highlight=False)
    else:
        numbered = table if longest <= _SHORT_NAME else _number_texts(table)
        shown = _with_room(numbered, console)
        left_out = _name_hidden(table, shown, min(whole + others, _width(numbered, console)))
        _print_parts(shown, console)
        if numbered is not table:
            _print_names(table, console)
    if table.footnote:
        console.print(table.foot(console.width), highlight=False, markup=False, soft_wrap=True)
    if left_out:
        console.print(replace(table, footnote=left_out).foot(console.width), highlight=False, soft_wrap=True)


def _fold_table(table: Table) -> Table:
    """Wrap long lists of words in all but the last column."""

    def folded(title: str, cell: str) -> str:
        return "\n".join(wrap_text(cell, _LIST_WIDTH)) if title in table.words else cell

    rows = ((*map(folded, table.columns[:-1], cells), cells[-1]) for cells in table.rows)
    return replace(table, rows=tuple(rows))


def _name_hidden(table: Table, shown: Table, width: int) -> str:
    """Name the hidden columns and the width to see them; or return nothing."""
    titles = [title for title in table.columns[:-1] if title not in shown.columns]
    if not titles:
        return ""
    return (
        f"no room for {count_noun(len(titles), 'column')}: {', '.join(titles)}; a terminal of {width} columns "
        f"(COLUMNS={width}) shows {'it' if len(titles) == 1 else 'them'}, and so does --json"
    )


def _print_parts(table: Table, console: Console) -> None:
    """Print a table in parts that fit, each with the last column."""
    *others, last = range(len(table.columns))
    while others:
        count = len(others)
        while count > 1 and _width(_only(table, [*others[:count], last]), console) > console.width:
            count -= 1
        console.print(_draw_table(_only(table, [*others[:count], last])), highlight=False)
        others = others[count:]


def _print_names(table: Table, console: Console) -> None:
    """Print each text of the last column once, with its number."""
    names = [cells[-1] for cells in table.rows]
    first = {name: place for place, name in reversed(list(enumerate(names)))}
    indent = len(str(len(first))) + 2
    for number, name in enumerate(dict.fromkeys(names), start=1):
        text = "\n".join(wrap_text(f"{number:<{indent}}{name}", console.width, indent))
        console.print(Text(text, _style(table, first[name])), soft_wrap=True, highlight=False)


def _with_room(table: Table, console: Console) -> Table:
    """Return the table with the spare columns that fit, in order."""
    kept = [place for place, title in enumerate(table.columns) if title not in table.spare]
    for place in range(len(table.columns)):
        more = sorted({*kept, place})
        if _width(_only(table, more), console) <= console.width:
            kept = more
    return _only(table, kept)


def _only(table: Table, kept: Sequence[int]) -> Table:
    """Return the table with some of its columns."""
    rows = tuple(tuple(cells[place] for place in kept) for cells in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in kept), rows=rows)


def _number_texts(table: Table) -> Table:
    """Replace the last column's texts by numbers, equal for equal texts."""
    number = {name: str(row) for row, name in enumerate(dict.fromkeys(cells[-1] for cells in table.rows), start=1)}
    rows = tuple((*cells[:-1], number[cells[-1]]) for cells in table.rows)
    return replace(table, columns=(*table.columns[:-1], "row"), rows=rows)


def _draw_table(table: Table, room: int | None = None) -> rich.table.Table:
    """Return a rich table; without titles it lists names and meanings."""
    if table.titled:
        drawn = rich.table.Table(box=box.SIMPLE, pad_edge=False, header_style="bold")
    else:
        drawn = rich.table.Table(box=None, show_header=False, pad_edge=False)
    for place, title in enumerate(table.columns):
        left, last = title in table.words or title == "row", place == len(table.columns) - 1
        style = "" if table.titled or place else "bold"
        overflow: OverflowMethod = "fold" if last else "ellipsis"
        drawn.add_column(title, justify="left" if left else "right", no_wrap=not last, overflow=overflow, style=style)
    for place, (*cells, name) in enumerate(table.rows):
        if place and place == table.compared:
            drawn.add_section()
        lines = name if room is None or len(name) <= room else "\n".join(wrap_text(name, room))
        texts = [Text(cell, "bold green" if cell.endswith("*") else "") for cell in (*cells, lines)]
        drawn.add_row(*texts, style=_style(table, place))
    return drawn


def _style(table: Table, place: int) -> str:
    return "dim" if table.compared is not None and place >= table.compared else ""


def _width(table: Table, console: Console) -> int:
    """Return the width of a table without cuts."""
    return Measurement.get(console, console.options.update(max_width=10_000), _draw_table(table)).maximum
