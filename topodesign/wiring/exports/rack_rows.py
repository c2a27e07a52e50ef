"""Racks of a room in their rows, with the cables of a plan between them.

Boxes are racks, in the order of their coordinates. Lines are bundles of cables: they run in the aisles between the
boxes, and a box names the bundles that begin there, with their number of cables and metres.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape

from topodesign.base.declared import Declared
from topodesign.base.errors import InfeasibleError
from topodesign.base.wording import count_noun
from topodesign.wiring.inventory.inventory import Inventory, format_metres
from topodesign.wiring.plan.net import Wire
from topodesign.wiring.plan.plan import WiringPlan

MAX_RACKS, MAX_BUNDLES = 24, 60
"""Racks of a legible picture, and bundles of cables between them."""

_WIDTH = 340.0  # of the picture in its own units, which are the pixels of a phone
_GAP, _AISLE, _HEAD = 12.0, 26.0, 15.0
_SIZE, _LINE, _PAD = 9.5, 12.5, 4.0
_ADVANCE = 0.6  # of a letter, in its size, at most on average
_MARK = 10.0  # room of the dash before the name of a bundle
_MAX_ACROSS = 5
_MAX_NAMES = 4  # lines of hosts in a box
_MIN_LETTERS = 8  # of names in one line
_COLOURS = (
    ("one", "#0072b2"),
    ("two", "#d55e00"),
    ("three", "#009e73"),
    ("four", "#b3548f"),
    ("six", "#b07700"),
    ("seven", "#5e3c99"),
)
_INK, _SOFT, _CARD, _EDGE = "var(--ink,#000)", "var(--soft,#444)", "var(--card,#fff)", "var(--muted,#888)"

_HALO = f"paint-order:stroke;stroke:{_CARD};stroke-width:3"  # of words over lines


@dataclass(frozen=True)
class RackBox(Declared):
    """A rack of a room."""

    name: str  # its name, after that of its site if there are several
    row: str  # the row where it stands
    hosts: tuple[str, ...]  # hosts of the plan there
    panels: tuple[str, ...]  # panels and switches there

    KEYS = "name row hosts panels"


@dataclass(frozen=True)
class Bundle(Declared):
    """Cables between two racks, or within one."""

    a: str  # the rack that lists it
    b: str  # the rack where it leads
    cables: int  # cables; a breakout cable is one at each rack where legs of it lead
    metres: Fraction | None  # metres of them all; None if the length of any is not known
    trunks: bool = False  # whether these are trunks between panels, which are there

    KEYS = "from=a to=b cables cable_m=metres trunks"

    @property
    def words(self) -> str:
        """Number, end and metres."""
        size = "" if self.metres is None else f", {format_metres(self.metres)} m"
        kind = f"trunk{'s' * (self.cables > 1)} " if self.trunks else ""
        return f"{self.cables} {kind}{'here' if self.a == self.b else f'to {self.b}'}{size}"


@dataclass(frozen=True)
class RackRows(Declared):
    """Racks in their rows, and the bundles of cables between them."""

    title: str  # the room
    racks: tuple[RackBox, ...]  # racks, row by row
    bundles: tuple[Bundle, ...]  # bundles of cables

    KEYS = "title racks bundles"


def find_rack_rows(plan: WiringPlan) -> RackRows | None:
    """Return the racks of a plan and their cables; None if they are one or too many to read."""
    room = plan.inventory
    wires = [wire for wire in plan.net.wires if wire.kind != "circuit"]
    used = {end.device for wire in plan.net.wires for end in (wire.a, wire.b)}
    places = {name: room.place(name)[:2] for name in (*room.host, *room.panel) if name in used}
    racks = sorted(dict.fromkeys(places.values()), key=lambda rack: _row(room, rack))
    if not 1 < len(racks) <= MAX_RACKS:
        return None
    sites = len({site for site, _ in racks}) > 1
    name = {rack: " ".join(filter(None, rack)) if sites else rack[1] for rack in racks}
    bundles = _count_bundles(plan, wires, {device: name[rack] for device, rack in places.items()})
    if len(bundles) > MAX_BUNDLES:
        return None
    rows = list(dict.fromkeys(_row(room, rack)[:3] for rack in racks))
    boxes = [
        RackBox(
            name[rack],
            _row_name(rows, _row(room, rack)[:3]),
            tuple(host for host in plan.hosts if places.get(host) == rack),
            tuple(panel for panel in room.panel if places.get(panel) == rack),
        )
        for rack in racks
    ]
    return RackRows(plan.name_sheet(f"racks and cables of {plan.job}"), tuple(boxes), bundles)


def _row(room: Inventory, rack: tuple[str, str]) -> tuple[str, bool, Fraction, Fraction]:
    """Return the site of a rack, whether its place is unknown, and its y and x."""
    place = room.racks.get(rack[0], {}).get(rack[1])
    x, y = place or (Fraction(0), Fraction(0))
    return rack[0], place is None, y, x


def _row_name(rows: Sequence[tuple[str, bool, Fraction]], row: tuple[str, bool, Fraction]) -> str:
    site, unknown, _ = row
    number = [one for one in rows if one[0] == site].index(row) + 1
    words = "place not known" if unknown else f"row {number}"
    return f"site {site}, {words}" if site else words


def _count_bundles(plan: WiringPlan, wires: Sequence[Wire], rack: dict[str, str]) -> tuple[Bundle, ...]:
    """Return the bundles, each at the end where fewer are."""
    found: dict[tuple[str, str, bool], dict[str, Fraction | None]] = {}
    for wire in wires:
        a, b = sorted((rack[wire.a.device], rack[wire.b.device]))
        found.setdefault((a, b, wire.kind == "trunk"), {})[wire.breakout or wire.name] = _length(plan, wire)
    ends = Counter(end for a, b, _ in found for end in {a, b})
    bundles = []
    for (a, b, trunks), cables in found.items():
        here, there = (a, b) if ends[a] <= ends[b] else (b, a)
        known = [length for length in cables.values() if length is not None]
        metres = sum(known, Fraction(0)) if len(known) == len(cables) else None
        bundles.append(Bundle(here, there, len(cables), metres, trunks))
    return tuple(bundles)


def _length(plan: WiringPlan, wire: Wire) -> Fraction | None:
    try:
        return plan.net.length(wire)
    except InfeasibleError:  # no cable is that long, as the bill says
        return None


@dataclass(frozen=True, slots=True)
class _Box:
    """A box of the picture."""

    x: float
    y: float
    width: float
    height: float
    shelf: int  # number of its line of boxes


def draw_rack_rows(found: RackRows) -> str:
    """Return the picture (SVG); it fits a phone."""
    longest = max(Counter(rack.row for rack in found.racks).values())
    across = min(_MAX_ACROSS, longest)
    while across > 2 and not _fits(found, across):
        across -= 1
    width = (_WIDTH - _GAP * (across + 1)) / across
    letters = max(_MIN_LETTERS, int((width - 2 * _PAD) / (_ADVANCE * _SIZE)))
    shelves = list(_shelves(found, across))
    boxes: dict[str, _Box] = {}
    labels, y = [], 0.0
    for number, shelf in enumerate(shelves):
        row = shelf[0].row
        if number == 0 or shelves[number - 1][0].row != row:
            y += _HEAD
            labels.append(f'<g style="{_HALO}">{_text(_GAP, y - 4, row, fill=_SOFT)}</g>')
        height = _PAD + _LINE * max(len(_lines(found, rack, letters)) for rack in shelf) + _PAD
        for column, rack in enumerate(shelf):
            boxes[rack.name] = _Box(_GAP + column * (width + _GAP), y, width, height, number)
        y += height + _AISLE
    y -= _AISLE - 18
    lines = [_path(bundle, number, found, boxes) for number, bundle in enumerate(found.bundles)]
    drawn = [text for rack in found.racks for text in _box(found, rack, boxes[rack.name], letters)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="racks" viewBox="0 0 {_WIDTH:g} {y:g}"'
    return "\n".join([
        f'{head} style="max-width:34rem" role="img" aria-label="{escape(found.title)}" font-family="sans-serif">',
        *filter(None, lines),
        *labels,
        *drawn,
        "</svg>",
    ]) + "\n"  # fmt: skip


def _fits(found: RackRows, across: int) -> bool:
    letters = int(((_WIDTH - _GAP * (across + 1)) / across - 2 * _PAD) / (_ADVANCE * _SIZE))
    named = max(len(name) for rack in found.racks for name in (rack.name, *rack.hosts, *rack.panels))
    marked = max((len(bundle.words) for bundle in found.bundles), default=0) + 2
    return max(named, marked) <= letters


def _shelves(found: RackRows, across: int) -> Iterator[list[RackBox]]:
    """Yield the boxes that stand side by side."""
    for row in dict.fromkeys(rack.row for rack in found.racks):
        racks = [rack for rack in found.racks if rack.row == row]
        for first in range(0, len(racks), across):
            yield racks[first : first + across]


def _lines(found: RackRows, rack: RackBox, letters: int) -> list[tuple[str, int | None]]:
    """Return the lines of text of a box; those of bundles with their number."""
    names = textwrap.wrap(" ".join(rack.hosts), letters, break_on_hyphens=False)
    if len(names) > _MAX_NAMES:
        shown = sum(len(line.split()) for line in names[: _MAX_NAMES - 1])
        names = [*names[: _MAX_NAMES - 1], f"+ {len(rack.hosts) - shown} hosts"]
    panels = textwrap.wrap(" ".join(rack.panels), letters, break_on_hyphens=False)
    if len(panels) > _MAX_NAMES:
        panels = [f"{rack.panels[0]} \u2013", f"{rack.panels[-1]}"]
    own = [(one.words, number) for number, one in enumerate(found.bundles) if one.a == rack.name]
    return [(rack.name, None), *((line, None) for line in (*names, *panels)), *own]


def _box(found: RackRows, rack: RackBox, box: _Box, letters: int) -> Iterator[str]:
    """Yield a box and its texts."""
    place = f'x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}"'
    about = escape(f"{rack.name}: {', '.join((*rack.hosts, *rack.panels))}")
    yield f'<rect {place} rx="3" fill="{_CARD}" stroke="{_EDGE}"><title>{about}</title></rect>'
    for row, (words, bundle) in enumerate(_lines(found, rack, letters)):
        x, y = box.x + _PAD, box.y + _PAD + _LINE * (row + 0.8)
        room = box.width - 2 * _PAD
        if bundle is not None:
            dash = f'<path d="M{x:g} {y - 3:g}h6" stroke="{_colour(bundle)}" stroke-width="3"/>'
            yield dash if found.bundles[bundle].b != rack.name else ""
            x, room = x + _MARK, room - _MARK
        size = min(_SIZE, room / (_ADVANCE * max(len(words), 1)))
        yield _text(x, y, words, size=size, weight="bold" if row == 0 else "normal")


def _path(bundle: Bundle, number: int, found: RackRows, boxes: dict[str, _Box]) -> str:
    """Return the line of a bundle, along aisles; empty within a rack."""
    if bundle.a == bundle.b:
        return ""
    upper, lower = sorted((boxes[bundle.a], boxes[bundle.b]), key=lambda box: (box.shelf, box.x))
    shift = 3.0 * (number % 5 - 2)
    begin = upper.x + upper.width / 2 + shift * upper.width / 40
    end = lower.x + lower.width / 2 + shift * lower.width / 40
    aisle = upper.y + upper.height + 5 + 2 * (number % 6)
    ways = [(begin, upper.y + upper.height), (begin, aisle)]
    if lower.shelf == upper.shelf:
        ways += [(end, aisle), (end, lower.y + lower.height)]
    else:
        if lower.shelf > upper.shelf + 1:
            gutter, above = lower.x - _GAP / 2 + shift / 2, lower.y - 4
            ways += [(gutter, aisle), (gutter, above), (end, above)]
        else:
            ways += [(end, aisle)]
        ways.append((end, lower.y))
    width = 1 + 2 * bundle.cables / max(one.cables for one in found.bundles)
    points = "L".join(f"{x:.6g} {y:.6g}" for x, y in ways)
    about = escape(f"{bundle.a} to {bundle.b}: {count_noun(bundle.cables, 'cable')}")
    style = f'fill="none" stroke="{_colour(number)}" stroke-width="{width:.2f}" stroke-linejoin="round"'
    return f'<path class="bundle" d="M{points}" {style}><title>{about}</title></path>'


def _colour(number: int) -> str:
    name, value = _COLOURS[number % len(_COLOURS)]
    return f"var(--{name},{value})"


def _text(x: float, y: float, words: str, *, size: float = _SIZE, weight: str = "normal", fill: str = _INK) -> str:
    where = f'x="{x:.5g}" y="{y:.5g}" font-size="{size:.3g}" font-weight="{weight}"'
    return f'<text {where} style="fill:{fill};text-anchor:start">{escape(words)}</text>'
