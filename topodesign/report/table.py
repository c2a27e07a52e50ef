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

_PLAIN_WIDTH = 160
_NAME_WIDTH = 40  # columns that a name of fair length takes
_LIST_WIDTH = 24  # columns that a list of words takes where there is little room
_LABELS = (28, 20, 17, 12)  # columns that a name may take in its row where there is little room: the first that fits


def print_result(result: Result, console: Console | None = None) -> None:
    """Print the table of a result."""
    print_table(result.table(), Console() if console is None else console)


def print_table(table: Table, console: Console) -> None:
    """Print a table, the best values green and comparisons dim.

    If there is too little room for all columns the figures stay whole: rows are labelled by the part of their name
    before a colon, or by a number if that is long, too, with the names below; spare columns without room even then
    are omitted, which a line reports. What is too wide without them comes in several tables. A name without blanks,
    such as a spec, is one line if it fits, so that it can be copied; otherwise it is broken at its commas.
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
    hidden, room = "", console.width
    if not table.titled or whole + others <= console.width:
        console.print(_draw_table(table, console.width - others), highlight=False)
    else:
        needed = [place for place, title in enumerate(table.columns) if title not in table.spare]
        fitting = (one for most in _LABELS if _width(_only(one := _label_rows(table, most), needed), console) <= room)
        labelled = next(fitting, _label_rows(table, _LABELS[-1]))
        shown = _with_room(labelled, console)
        wide = _width(_label_rows(table, _LABELS[0]), console)
        hidden = _name_hidden(table, shown, min(whole + others, wide))
        _print_parts(shown, console)
        _print_names(table, labelled, console)
    if table.footnote:
        console.print(table.foot(console.width), highlight=False, markup=False, soft_wrap=True)
    if hidden:
        console.print(replace(table, footnote=hidden).foot(console.width), highlight=False, soft_wrap=True)


def _fold_table(table: Table) -> Table:
    """Wrap long lists of words in all but the last column."""

    def folded(title: str, cell: str) -> str:
        return "\n".join(wrap_text(cell, _LIST_WIDTH)) if title in table.words else cell

    rows = ((*map(folded, table.columns[:-1], cells), cells[-1]) for cells in table.rows)
    return replace(table, rows=tuple(rows))


def _name_hidden(table: Table, shown: Table, width: int) -> str:
    """Name the hidden columns and the width to see them; or return nothing."""
    titles = [title for title in table.columns[:-1] if title not in shown.columns]
    return f"hidden: {', '.join(titles)} (COLUMNS={width} shows {'it' if len(titles) == 1 else 'them'})" * bool(titles)


def _print_parts(table: Table, console: Console) -> None:
    """Print a table in parts that fit, each with the last column."""
    *others, last = range(len(table.columns))
    while others:
        count = len(others)
        while count > 1 and _width(_only(table, [*others[:count], last]), console) > console.width:
            count -= 1
        console.print(_draw_table(_only(table, [*others[:count], last])), highlight=False)
        others = others[count:]


def _print_names(table: Table, labelled: Table, console: Console) -> None:
    """Print the name of each label that is not the name, once."""
    named: dict[str, tuple[str, int]] = {}
    for place, (row, short) in enumerate(zip(table.rows, labelled.rows, strict=True)):
        if row[-1] != short[-1]:
            named.setdefault(row[-1], (short[-1], place))
    indent = max((len(label) + 2 for label, _ in named.values()), default=0)
    for name, (label, place) in named.items():
        text = f"{label:<{indent}}{name.removeprefix(f'{label}: ')}"
        lines = "\n".join(wrap_text(text, console.width, indent))
        console.print(Text(lines, _style(table, place)), soft_wrap=True, highlight=False)


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


def _label_rows(table: Table, most: int) -> Table:
    """Replace names of rows by what is before their colon, and long ones by a number."""
    names = list(dict.fromkeys(cells[-1] for cells in table.rows))
    heads = [name.partition(": ")[0] for name in names]
    labels: dict[str, str] = {}
    for name, head in zip(names, heads, strict=True):
        if len(head) <= most and heads.count(head) == 1:
            labels[name] = head
        else:
            labels[name] = f"({1 + sum(label.startswith('(') for label in labels.values())})"
    return replace(table, rows=tuple((*cells[:-1], labels[cells[-1]]) for cells in table.rows))


def _draw_table(table: Table, room: int | None = None) -> rich.table.Table:
    """Return a rich table; without titles it lists names and meanings."""
    if table.titled:
        drawn = rich.table.Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    else:
        drawn = rich.table.Table(box=None, show_header=False, pad_edge=False)
    for place, title in enumerate(table.columns):
        left, last = title in table.words, place == len(table.columns) - 1
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
