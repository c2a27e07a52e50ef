"""Files of a wiring change: plan, parts, work sheets, switch commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from html import escape
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.atomic import write_directory
from topodesign.base.errors import ParameterError
from topodesign.base.tables import write_csv
from topodesign.wiring.change.rewire import Rewiring
from topodesign.wiring.exports.formats.panels import marks_of, panel_views
from topodesign.wiring.exports.pages import cell, contents, page, table
from topodesign.wiring.inventory.inventory import format_metres
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.files import plan_text
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.kinds import Spelling
from topodesign.wiring.switches.steps import stage_files

_MOVES = ("", "Patch", "What to do", "Cord", "Date", "By", "Loss dB")
_CABLES = (
    "",
    "Cable",
    "Host",
    "Port",
    "Rack",
    "Unit",
    "Panel",
    "Port",
    "Rack",
    "Unit",
    "Type and length",
    "Date",
    "By",
)
_BUY = ("How many", "Use", "Type", "Length")


def write_change(
    change: Rewiring, path: str | Path, *, file_format: str | None = None, spelling: Spelling = "ocs"
) -> tuple[str, ...]:
    """Write a new directory with all files of a change.

    ``plan.json`` is the new plan, ``sheets.html`` the page to work by, and ``buy.csv`` what has to be bought in
    addition. With a format, there is also a file of commands for every stage and circuit switch.

    Parameters
    ----------
    change
        Result of :func:`~topodesign.wiring.change.rewire.change_wiring`.
    path
        The directory.
    file_format
        ``sonic`` or ``scpi``: format of the commands, in files such as ``stage1-ocs1.sh``: what goes from switch
        ``ocs1`` in stage 1, and then what comes. None for no commands.
    spelling
        Of SONiC's commands: ``ocs`` for ``config ocs cross-connect``, ``yang`` for ``config ocs-cross-connect``.

    Returns
    -------
    tuple of str
        Names of the files; those of commands are last, in the order in which they are to be run.

    Raises
    ------
    ParameterError
        If that is no change, or nothing changes in a circuit switch, or its ports are not labelled by numbers.
    FileFormatError
        If it cannot be written, or the directory is not empty.

    Examples
    --------
    >>> from topodesign import plain_inventory, change_wiring, plan_wiring, write_change
    >>> plan = plan_wiring("circulant(8,1,2)", plain_inventory(8, 4), mode="simplex")
    >>> write_change(change_wiring(plan, "circulant(8,1,3)"), "change")
    ('plan.json', 'sheets.html', 'buy.csv')
    """
    if not isinstance(change, Rewiring):
        raise ParameterError(f"what rewire() found is needed, not {change!r:.100}")
    files = {"plan.json": plan_text(change.after), "sheets.html": to_change_page(change), "buy.csv": _buy_text(change)}
    files |= {} if file_format is None else stage_files(change, file_format, spelling)
    write_directory(as_path(path), files)
    return tuple(files)


def _buy_text(change: Rewiring) -> str:
    """Return a CSV of the additional parts to buy."""
    rows = [(item.kind, format_metres(item.length), item.count, item.use) for item in change.bill.items]
    return write_csv([("type", "length_m", "count", "use"), *rows])


def to_change_page(change: Rewiring) -> str:
    """Return the work page of a change (HTML).

    It lists the parts to buy and the fixed cables to lay, then the moves and panels of every stage.
    """
    sections = list(_sections(change))
    listed = contents((key, name) for key, name, _ in sections)
    parts = [f'<section id="{key}"><h2>{escape(name)}</h2>{text}</section>' for key, name, text in sections]
    title = change.change.before.name_sheet(f"rewiring of {change.names}")
    return page(title, [f"<p>{escape(change.heading())}.</p>", listed, *parts])


def _sections(change: Rewiring) -> Iterator[tuple[str, str, str]]:
    """Yield the id, name and text of every section."""
    cells = (_cells((str(item.count), item.use, item.kind, _metres(item.length)), _BUY) for item in change.bill.items)
    bill = [f"<tr>{row}</tr>" for row in cells]
    before = [
        *table("Cables to buy in addition", _BUY, bill),
        *table("Fixed cables to lay", _CABLES, _iterate_laid(change)),
    ]
    if before:
        yield "before", "Before the first stage", "\n".join(before)
    now, lines, cords = change.change.before, change.to_records(), _cords(change)
    there = set(now.fixed)  # patches at others are not drawn: their panels may be gone
    now = replace(now, connects=tuple(connect for connect in now.connects if {connect.a, connect.b} <= there))
    for number, stage in enumerate(change.stages, start=1):
        rows = (_row(line["instruction"], cords) for line in lines if line["stage"] == number)
        removed = {connect.cable for connect in stage.removed}
        left = [connect for connect in now.connects if connect.cable not in removed]
        then = replace(now, connects=(*left, *stage.made))
        text = [*table(f"stage {number}: moves", _MOVES, rows), *_pictures(now, then, stage.removed, stage.made)]
        yield f"s{number}", f"Stage {number} of {len(change.stages)}", "\n".join(text)
        now = then


def _row(line: str, cords: dict[str, str]) -> str:
    name, _, words = line.partition(": ")
    cord = "" if words.startswith("remove") else cords.get(name, "")
    write = '<td class="write"></td>' * 3
    said = cell(name, kind="code name") + cell(words) + cell(cord, of="Cord", kind="name")
    return f'<tr><td class="done">&#9744;</td>{said}{write}</tr>'


def _cords(change: Rewiring) -> dict[str, str]:
    """Return the cord of each new patch, noting changed lengths."""
    before = {wire.name: length for wire, length in change.cords_before}
    found = {}
    for wire, length in change.cords_after:
        was = before.get(wire.name, length)
        more = f", not {_metres(was)}" if was != length and was is not None else ""
        found[wire.name] = f"{_metres(length)}{more}"
    return found


def _iterate_laid(change: Rewiring) -> Iterator[str]:
    """Yield one row per lane of fixed cables to lay."""
    plan, net = change.after, change.after.net
    lengths = change.laid_lengths
    for fixed in change.laid:
        wire = net.leads[fixed.place].fixed
        ends = ((wire.a, plan.interface(fixed)), (wire.b, wire.b.port))
        words = [word for end, port in ends for word in (end.device, port, end.place.rack, str(end.place.unit))]
        words.append(", ".join(filter(None, [str(wire.sort), _metres(lengths.get(fixed.socket))])))
        name, cells = cell(wire.name, kind="code name"), _cells(words, _CABLES[2:11])
        yield f'<tr><td class="done">&#9744;</td>{name}{cells}{"<td></td>" * 2}</tr>'


def _cells(words: Iterable[str], columns: Sequence[str]) -> str:
    """Return HTML cells, each with the name of its column for phones."""
    return "".join(cell(word, column) for word, column in zip(words, columns, strict=True))


def _metres(length: Fraction | None) -> str:
    return "" if length is None else f"{format_metres(length)} m"


def _pictures(now: WiringPlan, then: WiringPlan, *moved: tuple[CrossConnect, ...]) -> Iterator[str]:
    """Yield the figures of changed panels, before and after."""
    for words, plan, marks in zip(("before", "after"), (now, then), marks_of(*moved), strict=True):
        for panel, svg in panel_views(plan, marks):
            yield f"<figure><figcaption>{escape(panel.name)} {words}</figcaption>{svg}</figure>"
