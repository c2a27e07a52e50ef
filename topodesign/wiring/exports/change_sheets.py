"""Sheets for who changes a wiring: one HTML page with the moves of every stage, and its panels before and after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.atomic import write_whole
from topodesign.base.errors import ParameterError
from topodesign.wiring.change.rewire import Rewiring
from topodesign.wiring.exports.formats.panels import marks_of, panel_views
from topodesign.wiring.exports.pages import cell, contents, page, table
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.plan import WiringPlan

_COLUMNS = ("", "Patch", "What to do", "Date", "By", "Loss dB")


def write_change_sheets(change: Rewiring, path: str | Path) -> None:
    """Write the page of a change; the path has the old file or the whole new one at any time.

    Parameters
    ----------
    change
        What :func:`~topodesign.wiring.change.rewire.rewire` found.
    path
        The file to write (HTML).

    Raises
    ------
    ParameterError
        If that is no change.
    FileFormatError
        If it cannot be written.

    Examples
    --------
    >>> from topodesign import plain_inventory, rewire, wire, write_change_sheets
    >>> plan = wire("circulant(8,1,2)", plain_inventory(8, 4), mode="simplex")
    >>> write_change_sheets(rewire(plan, "circulant(8,1,3)"), "change.html")
    """
    if not isinstance(change, Rewiring):
        raise ParameterError(f"what rewire() found is needed, not {change!r:.100}")
    write_whole(as_path(path), to_change_page(change))


def to_change_page(change: Rewiring) -> str:
    """Return the page."""
    sections = list(_sections(change))
    listed = contents((key, name) for key, name, _ in sections)
    parts = [f'<section id="{key}"><h2>{escape(name)}</h2>{text}</section>' for key, name, text in sections]
    wanted = change.after.topology.spec or f"{change.after.topology.nodes} nodes"
    return page(f"Rewiring to {wanted}", [f"<p>{escape(change.heading())}.</p>", listed, *parts])


def _sections(change: Rewiring) -> Iterator[tuple[str, str, str]]:
    """Yield the id, the name and the text of a section for every stage."""
    now, lines = change.change.before, change.to_records()
    there = set(now.fixed)  # patches at others are not drawn: their panels may be gone
    now = replace(now, connects=tuple(connect for connect in now.connects if {connect.a, connect.b} <= there))
    for number, stage in enumerate(change.stages, start=1):
        rows = (_row(line["instruction"]) for line in lines if line["stage"] == number)
        removed = {connect.cable for connect in stage.removed}
        left = [connect for connect in now.connects if connect.cable not in removed]
        then = replace(now, connects=(*left, *stage.made))
        text = [*table(f"stage {number}: moves", _COLUMNS, rows), *_pictures(now, then, stage.removed, stage.made)]
        yield f"s{number}", f"Stage {number} of {len(change.stages)}", "\n".join(text)
        now = then


def _row(line: str) -> str:
    name, _, words = line.partition(": ")
    write = '<td class="write"></td>' * 3
    return f'<tr><td class="done">&#9744;</td>{cell(name, kind="code name")}{cell(words)}{write}</tr>'


def _pictures(now: WiringPlan, then: WiringPlan, *moved: tuple[CrossConnect, ...]) -> Iterator[str]:
    """Yield the panels that something is pulled from or plugged into, before and after."""
    for words, plan, marks in zip(("before", "after"), (now, then), marks_of(*moved), strict=True):
        for panel, svg in panel_views(plan, marks):
            yield f"<figure><figcaption>{escape(panel.name)} {words}</figcaption>{svg}</figure>"
