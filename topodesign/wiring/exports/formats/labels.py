"""Cable labels: A4 sheets of 65 labels, 38.1 mm by 21.2 mm.

A label names the cable, the end it is for, and the far end, and has the cable's colour at its edge; on request also a
QR code that leads to its row of the work package, wherever that page is put. Labels of a device follow one another, in
the order of racks and units. A breakout cable has one plug at the host and one on each leg. Circuits have no cable and
get no label. Sheets are laid out once, as boxes and lines of text, and then written as SVG or PDF.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from topodesign.base.errors import MissingLibraryError, ParameterError
from topodesign.wiring.exports.cables import COLOURS, Plug, plugs
from topodesign.wiring.exports.format import Content, Format
from topodesign.wiring.plan.plan import WiringPlan

PAGE_WIDTH, PAGE_HEIGHT = 210.0, 297.0
_COLUMNS, _ROWS = 5, 13
_WIDTH, _HEIGHT, _PITCH = 38.1, 21.2, 40.6
_LEFT, _TOP = (PAGE_WIDTH - 4 * _PITCH - _WIDTH) / 2, (PAGE_HEIGHT - _ROWS * _HEIGHT) / 2
_MARGIN, _STRIPE = 2.5, 1.5
_ROOM = _WIDTH - _STRIPE - 2 * _MARGIN
_CODE = 14.0  # side of a QR code; with 120 letters a module has 0.34 mm
_LONGEST = 120
_LETTERS = 2.5
_WIDE = 0.6  # advance of a letter of Courier, in its size: so a line's width is known without measuring
_POINT = 72 / 25.4
PER_SHEET = _COLUMNS * _ROWS


@dataclass(frozen=True, slots=True)
class Line:
    """Text line with its left end and letter size (mm)."""

    x: float
    y: float
    size: float
    text: str


@dataclass(frozen=True, slots=True)
class Label:
    """Label on a sheet; lengths are in millimetres."""

    x: float  # of its upper left corner
    y: float  # of the same
    colour: str | None  # the RGB value of its stripe; None without
    lines: tuple[Line, ...]  # its text
    code: tuple[tuple[float, float, float], ...] = ()  # dark modules of its QR code: x, y, width; each ``module`` high
    module: float = 0.0  # how high they are


def sheets(plan: WiringPlan, url: str = "") -> list[list[Label]]:
    """Return the labels of every sheet.

    Each has a code that leads to the work package at ``url``, unless that is empty.
    """
    some = [plug for plug in plugs(plan) if plug.cable.kind != "circuit"]
    if not some:
        raise ParameterError("there are no cables to label: every cross-connect is a circuit of a switch")
    some.sort(key=lambda plug: (*plug.at.place, plug.at.device))
    full = [some[first : first + PER_SHEET] for first in range(0, len(some), PER_SHEET)]
    return [[_label(place, plug, url) for place, plug in enumerate(sheet)] for sheet in full]


def to_labels(plan: WiringPlan, ending: str = "", url: str = "") -> Content:
    """Return an SVG file per sheet, or one PDF.

    SVG files are named ``sheet-001.svg`` and so on. The ending ``.pdf`` selects PDF.
    """
    pages, title = sheets(plan, url), plan.name_sheet(f"labels of {plan.job}")
    if ending == ".pdf":
        return _pdf(pages, title)
    return {
        f"sheet-{number:03}.svg": _svg(sheet, title, _head(title, number, len(pages)))
        for number, sheet in enumerate(pages, start=1)
    }


def _head(title: str, number: int, pages: int) -> Line:
    """Return the line above the labels of a sheet."""
    text = f"{title}, sheet {number} of {pages}"
    return Line(_LEFT, _TOP - 2, min(_LETTERS, (PAGE_WIDTH - 2 * _LEFT) / (_WIDE * len(text))), text)


def _pdf(pages: list[list[Label]], title: str) -> bytes:
    """Return a PDF with a page for each sheet; requires reportlab."""
    try:
        from reportlab.pdfgen.canvas import Canvas  # noqa: PLC0415  heavy and optional
    except ImportError:
        raise MissingLibraryError("PDF requires reportlab: pip install 'topodesign[print]', or export SVG") from None
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(PAGE_WIDTH * _POINT, PAGE_HEIGHT * _POINT), invariant=True)
    canvas.setTitle(title)
    printed = title.encode("latin-1", "replace").decode("latin-1")
    for number, sheet in enumerate(pages, start=1):
        _write(canvas, _head(printed, number, len(pages)))
        for label in sheet:
            if label.colour is not None:
                canvas.setFillColor(f"#{label.colour}")
                canvas.setLineWidth(0.3)
                bottom = PAGE_HEIGHT - label.y - _HEIGHT
                stripe = (label.x, bottom + _MARGIN, _STRIPE, _HEIGHT - 2 * _MARGIN)
                canvas.rect(*(value * _POINT for value in stripe), fill=1)
            canvas.setFillColor("black")
            for x, y, width in label.code:
                box = x, PAGE_HEIGHT - y - label.module, width, label.module
                canvas.rect(*(value * _POINT for value in box), stroke=0, fill=1)
            for line in label.lines:
                _check_latin(line.text)
                _write(canvas, line)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def _write(canvas: Any, line: Line) -> None:
    """Write a line of text on a page of a PDF."""
    canvas.setFont("Courier-Bold", line.size * _POINT)
    canvas.drawString(line.x * _POINT, (PAGE_HEIGHT - line.y) * _POINT, line.text)


def _label(place: int, plug: Plug, url: str) -> Label:
    row, column = divmod(place, _COLUMNS)
    x, y = _LEFT + column * _PITCH, _TOP + row * _HEIGHT
    left = x + _STRIPE + _MARGIN
    room = _ROOM - (_CODE + 1.0 if url else 0.0)
    here, there = _two_rows(9.2, plug.here, room), _two_rows(16.0, plug.there, room)
    rows = ((6.2, 4.0, plug.name), *here, (13.4, 1.8, "to"), *there)
    lines = tuple(Line(left, y + down, min(size, room / (_WIDE * len(text))), text) for down, size, text in rows)
    colour = None if plug.colour is None else COLOURS[plug.colour]
    if not url:
        return Label(x, y, colour, lines)
    modules = _code(f"{url}#{plug.name}.{plug.end}")
    side = _CODE / len(modules)
    corner = x + _WIDTH - _MARGIN - _CODE, y + (_HEIGHT - _CODE) / 2
    dark = tuple(
        (corner[0] + first * side, corner[1] + number * side, count * side)
        for number, bits in enumerate(modules)
        for first, count in _runs(bits)
    )
    return Label(x, y, colour, lines, dark, side)


def _code(text: str) -> Sequence[Sequence[int]]:
    try:
        import segno  # noqa: PLC0415  optional
    except ImportError:
        raise MissingLibraryError("QR codes require segno: pip install 'topodesign[print]'") from None
    if len(text) > _LONGEST:
        raise ParameterError(f"'{text[:40]}...' has {len(text)} letters; a code this small takes at most {_LONGEST}")
    return tuple(segno.make_qr(text, error="m").matrix)


def _runs(bits: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield start and length of each run of dark modules."""
    first = 0
    for bit, group in groupby(bits):
        count = len(list(group))
        if bit:
            yield first, count
        first += count


def _two_rows(down: float, text: str, room: float) -> Iterator[tuple[float, float, str]]:
    """Yield text in one row, or two broken near the middle."""
    breaks = [place for place, letter in enumerate(text[:-1], start=1) if letter in "-, "]
    if _WIDE * _LETTERS * len(text) <= room or not breaks:
        yield down + 1.4, 3.0, text
        return
    cut = min(breaks, key=lambda place: abs(2 * place - len(text)))
    yield down, _LETTERS, text[:cut].rstrip()
    yield down + 2.6, _LETTERS, text[cut:]


def _svg(sheet: list[Label], title: str, head: Line) -> str:
    size = f'width="{PAGE_WIDTH:g}mm" height="{PAGE_HEIGHT:g}mm" viewBox="0 0 {PAGE_WIDTH:g} {PAGE_HEIGHT:g}"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="Courier, monospace" font-weight="bold">']
    lines += [f"<title>{escape(title)}</title>", _svg_text(head)]
    for label in sheet:
        box = f'x="{label.x:.2f}" y="{label.y + _MARGIN:.2f}" width="{_STRIPE}" height="{_HEIGHT - 2 * _MARGIN:.2f}"'
        if label.colour is not None:
            lines.append(f'<rect {box} fill="#{label.colour}" stroke="black" stroke-width="0.1"/>')
        if label.code:
            runs = "".join(f"M{cx:.3f} {cy:.3f}h{cw:.3f}v{label.module:.3f}h-{cw:.3f}z" for cx, cy, cw in label.code)
            lines.append(f'<path d="{runs}"/>')
        lines += map(_svg_text, label.lines)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _svg_text(line: Line) -> str:
    """Return a line of text as SVG, with its width, so that a wider font cannot leave the label."""
    width = len(line.text) * line.size * _WIDE
    room = f'textLength="{width:.2f}" lengthAdjust="spacingAndGlyphs"'
    where = f'x="{line.x:.2f}" y="{line.y:.2f}" font-size="{line.size:.2f}"'
    return f"<text {where} {room}>{escape(line.text)}</text>"


def _check_latin(text: str) -> None:
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        raise ParameterError(f"the PDF's fonts have no letters for {text!r}; export SVG") from None


FORMATS = {
    "labels": Format(
        "sheets of 65 cable labels on A4 (SVG, or PDF if PATH ends in .pdf)",
        to_labels,
        takes=("ending", "url"),
    )
}
