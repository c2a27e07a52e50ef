"""Front-view figures of panels: ports in rows, with their plugs.

A port says its label, the lane behind it, and at its foot what is patched there by name and colour: at side A, the
transmitter's, to the left, at side B to the right, or at both together. Ports that are blocked are crossed out, those
that lead to another panel say where. What a change pulls out has a dashed frame and a minus, what it plugs in a heavy
one and a plus.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Literal

from topodesign.wiring.exports.cables import COLOURS, colour_of
from topodesign.wiring.exports.format import Format
from topodesign.wiring.inventory.devices import Panel, PanelPort
from topodesign.wiring.plan.cross_connects import CrossConnect, Fibre, fibres
from topodesign.wiring.plan.plan import WiringPlan

Mark = Literal["pull", "plug"]
Marks = Mapping[Fibre, Mark]
"""What a change does at places where patches are plugged in; both sides of a duplex patch are one place."""

_PAPER = 14  # rows that are legible on a page

PER_ROW = 24  # ports in a row, as panels of a rack unit have them

_WIDTH, _HEIGHT, _FOOT = 56, 52, 15
_EDGE, _HEAD = 6, 30
_ADVANCE = 0.6  # of a letter of the font, in its size
_GROUP = '<g class="rows">'
_DARK = frozenset({"blue", "green", "brown", "slate", "red", "black", "violet"})
_STYLE = (
    ".panel text{font-family:Courier,monospace;text-anchor:middle}"
    ".panel .t{font:bold 14px sans-serif;text-anchor:start}"
    ".pull{fill:none;stroke:#c00000;stroke-width:2.5;stroke-dasharray:4 2}"
    ".plug{fill:none;stroke:#007000;stroke-width:3}"
)


def to_panels(plan: WiringPlan) -> dict[str, str]:
    """Return a figure (SVG) of every panel by file name."""
    return {f"{panel.name}.svg": svg for panel, svg in panel_views(plan)}


def panel_views(
    plan: WiringPlan, marks: Marks | None = None, *, most: int | None = None
) -> Iterator[tuple[Panel, str]]:
    """Yield panels with their figures (SVG).

    With marks, only marked panels are drawn.

    Of a panel with more ports than ``most`` there are several, each with so many of its ports.
    """
    shade = {wire.name: colour_of(wire) for wire in plan.net.crosses}
    marked = {place.panel for place in marks or ()}
    patched = {
        (place.panel, place.panel_port, side): connect
        for place, connect in plan.net.patched.items()
        for side in place.side
    }
    used = plan.net.end.keys() | plan.inventory.leads_to.keys()
    for panel in plan.inventory.panels:
        if marks is not None and panel.name not in marked:
            continue
        drawn = _count_drawn(panel, used)
        title = _counts(plan, panel, patched)
        size = most or max(drawn, 1)
        for first in range(0, max(drawn, 1), size):
            part = replace(panel, ports=panel.ports[first : min(first + size, drawn)])
            cells = []
            for number, port in enumerate(part.ports):
                if number % (PER_ROW * _PAPER) == 0:  # rows of a page together: printing one does not draw all others
                    cells += ["</g>" * (number > 0) + _GROUP]
                row, column = divmod(number, PER_ROW)
                x, y = _EDGE + column * _WIDTH, _HEAD + row * _HEIGHT
                key = panel.name, port.label
                cells.append(_frame(x, y, port, cabled=key in used))
                cells += _texts(x, y, port, _behind(plan, key))
                ends = [patched.get((*key, letter)) for letter in "AB"]
                pale = [
                    marks is not None and not {Fibre(*key, side), Fibre(*key, "AB")} & marks.keys() for side in "AB"
                ]
                cells += _feet(x, y, ends, shade, pale)
                cells += _mark_port(x, y, key, marks or {})
            shown = f"; ports {part.ports[0].label} to {part.ports[-1].label}" if drawn > size else ""
            if first + size >= drawn < len(panel.ports):
                shown += f"; free from {panel.ports[drawn].label} on, not drawn"
            rows = -(-len(part.ports) // PER_ROW)
            yield part, _svg(part, rows, [*cells, "</g>" * (rows > 0)], title + shown)


def marks_of(removed: Iterable[CrossConnect], made: Iterable[CrossConnect]) -> tuple[Marks, Marks]:
    """Return the marks before and after a change.

    The first mark the places that are left, the second those that are taken.

    An end of a patch that stays where it was is in neither.
    """
    old = {(connect.cable, place) for connect in removed for place in fibres(connect)}
    new = {(connect.cable, place) for connect in made for place in fibres(connect)}
    return {place: "pull" for _, place in old - new}, {place: "plug" for _, place in new - old}


def _behind(plan: WiringPlan, key: tuple[str, str]) -> tuple[str, str]:
    """Return a panel port's lane or trunk, in two lines."""
    if key in plan.inventory.leads_to:
        return "to", ":".join(plan.inventory.leads_to[key])
    end = plan.net.end.get(key)
    if end is None:
        return "", ""
    return end.host, plan.interface(end)


def _frame(x: float, y: float, port: PanelPort, *, cabled: bool) -> str:
    fill = "#cccccc" if port.blocked else "#ffffff" if cabled else "#f0f0f0"
    box = f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" fill="{fill}" stroke="#808080"/>'
    if not port.blocked:
        return box
    right, bottom = x + _WIDTH, y + _HEIGHT
    return f'{box}<path d="M{x} {y}L{right} {bottom}M{right} {y}L{x} {bottom}" stroke="#606060"/>'


def _texts(x: float, y: float, port: PanelPort, behind: tuple[str, str]) -> Iterator[str]:
    for down, size, weight, words in (
        (11, 11, "bold", port.label),
        (22, 8, "normal", behind[0]),
        (32, 8, "normal", behind[1]),
    ):
        if words:
            yield _text(
                x + _WIDTH / 2, y + down, min(size, (_WIDTH - 3) / (_ADVANCE * len(words))), words, weight=weight
            )


def _feet(
    x: float, y: float, ends: Sequence[CrossConnect | None], shade: Mapping[str, str], pale: Sequence[bool]
) -> Iterator[str]:
    """Yield the patches at a port's sides, pale if unchanged."""
    together = ends[0] is not None and ends[0] is ends[1]
    wide = _WIDTH if together else _WIDTH / 2
    top = y + _HEIGHT - _FOOT
    for number, connect in enumerate(ends[:1] if together else ends):
        left = x + number * wide
        colour = None if connect is None else shade[connect.cable]
        fill = "none" if colour is None else f"#{COLOURS[colour]}"
        place = f'x="{left:g}" y="{top}" width="{wide:g}" height="{_FOOT}"'
        faint = ' fill-opacity="0.2"' if pale[number] else ""
        yield f'<rect {place} fill="{fill}"{faint} stroke="#b0b0b0" stroke-width="0.5"/>'
        words = "AB"[number] if connect is None else connect.cable
        ink = "#909090" if colour is None or pale[number] else "#ffffff" if colour in _DARK else "#000000"
        size = min(9, (wide - 2) / (_ADVANCE * len(words)))
        yield _text(left + wide / 2, top + _FOOT / 2 + size / 3, size, words, ink=ink)


def _mark_port(x: float, y: float, key: tuple[str, str], marks: Marks) -> Iterator[str]:
    for side in ("A", "B", "AB"):
        mark = marks.get(Fibre(*key, side))
        if mark is not None:
            left, wide = (x, _WIDTH) if side == "AB" else (x + (_WIDTH / 2 if side == "B" else 0), _WIDTH / 2)
            top = y + _HEIGHT - _FOOT
            yield f'<rect class="{mark}" x="{left + 1:g}" y="{top + 1}" width="{wide - 2:g}" height="{_FOOT - 2}"/>'
            corner = x + {"A": 6, "B": _WIDTH - 6, "AB": 6}[side]
            yield _text(corner, y + 12, 15, {"pull": "\u2212", "plug": "+"}[mark], weight="bold")


def _text(x: float, y: float, size: float, words: str, *, weight: str = "normal", ink: str = "#000000") -> str:
    return (
        f'<text x="{x:g}" y="{y:.4g}" font-size="{size:.3g}" font-weight="{weight}" fill="{ink}">{escape(words)}</text>'
    )


def _counts(plan: WiringPlan, panel: Panel, patched: Mapping[tuple[str, str, str], CrossConnect]) -> str:
    used = len({port for name, port, _ in patched if name == panel.name})
    blocked = sum(port.blocked for port in panel.ports)
    more = f", {blocked} blocked" if blocked else ""
    place = plan.inventory.place(panel.name)
    where = ", ".join(
        filter(None, (f"site {place.site}" if place.site else "", f"rack {place.rack}", f"unit {place.unit}"))
    )
    return f"{panel.name} ({panel.kind}; {where}): {len(panel.ports)} ports, {used} patched{more}"


def _count_drawn(panel: Panel, used: Collection[tuple[str, str]]) -> int:
    """Return the number of drawn ports, without trailing free pages."""
    drawn = (n for n, port in enumerate(panel.ports) if port.blocked or (panel.name, port.label) in used)
    rows = max(drawn, default=0) // PER_ROW + 1
    return len(panel.ports) if len(panel.ports) <= (rows + _PAPER) * PER_ROW else rows * PER_ROW


def figure_of(panel: Panel, svg: str) -> str:
    """Return the HTML figure of a panel; tall panels print as strips."""
    name, parts = escape(panel.name), svg.split(_GROUP)
    if len(parts) <= 2:
        return f'<figure id="{name}">{svg}</figure>'
    down = int(parts[0].partition('viewBox="0 0 ')[2].partition('"')[0].split()[1])
    whole, strips = parts[0], []
    for number, part in enumerate(parts[1:]):
        whole += f'<g id="{name}.rows{number}">{part}'
        top = _HEAD + number * _PAPER * _HEIGHT - 1
        high = min(_PAPER * _HEIGHT + 2, down - top - _EDGE + 1)
        head = f'<text class="t" x="{_EDGE}" y="{top - 10}">{name}</text>'
        view = f'<svg class="panel" viewBox="0 {top - _HEAD} {_wide(panel)} {high + _HEAD}">{head}'
        strips.append(f'<figure class="strip">{view}<use href="#{name}.rows{number}"/></svg></figure>')
    return "\n".join([f'<figure id="{name}" class="whole">{whole}</figure>', *strips])


def _wide(panel: Panel) -> int:
    return 2 * _EDGE + max(min(PER_ROW, max(len(panel.ports), 1)) * _WIDTH, 420)


def _svg(panel: Panel, rows: int, cells: Iterable[str], title: str) -> str:
    width, height = _wide(panel), _HEAD + rows * _HEIGHT + _EDGE
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="panel" viewBox="0 0 {width} {height}" role="img"',
        f' aria-label="{escape(title)}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text class="t" x="{_EDGE}" y="20">{escape(title)}</text>',
    ]
    return "\n".join([*lines, *cells, "</svg>"]) + "\n"


FORMATS = {"panels": Format("a picture of every panel (SVG)", to_panels)}
