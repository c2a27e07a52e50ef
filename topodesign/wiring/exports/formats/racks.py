"""Work sheets for the technician: one HTML page that prints a rack a sheet, with all that has to be plugged there.

The page needs nothing from elsewhere. A cable is listed in the rack of either end; where both are in one rack, once,
unless its ends differ, as those of a breakout cable do. Circuits are not listed: software sets them. Every row has an
address on the page, ``#CABLE.a`` or ``#CABLE.b``, that a label can lead to, and room for who did it, when, and what was
measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape

from topodesign.wiring.exports.cables import COLOURS, Plug, breakout_of, plugs
from topodesign.wiring.exports.format import Format
from topodesign.wiring.exports.pages import cell, contents, page, table
from topodesign.wiring.inventory.lengths import format_metres
from topodesign.wiring.plan.plan import WiringPlan

Rack = tuple[str, str]

_COLUMNS = ("", "Cable", "Here", "There", "Joins", "Fibres", "Colour", "Cable type", "Metres", "Date", "By", "Loss dB")


def to_racks(plan: WiringPlan) -> str:
    """Return the page."""
    sections = list(rack_sections(plan))
    return page(
        title_of(plan),
        [
            f"<p>{summary_of(plan)}</p>",
            contents((key, name) for _, key, name, _ in sections),
            *(text for *_, text in sections),
        ],
    )


def title_of(plan: WiringPlan) -> str:
    """Return what a page about a plan is called."""
    return f"Wiring of {plan.topology.spec or f'{plan.topology.nodes} hosts'}"


def rack_sections(plan: WiringPlan, *, panels_apart: bool = False) -> Iterator[tuple[Rack | str, str, str, str]]:
    """Yield a section for every rack with work: the rack, its id, its name and its text.

    Panels are parts of their racks, or have sections of their own, by their names.
    """

    def site(device: str, rack: Rack) -> Rack | str:
        return device if panels_apart and device in plan.inventory.panel else rack

    sections: dict[Rack | str, list[tuple[Plug, bool]]] = {}
    for plug in plugs(plan):
        a, b = (site(end.device, end.place[:2]) for end in (plug.cable.a, plug.cable.b))
        both = a == b and breakout_of(plug.cable) is None  # one row is for both ends, but for those of breakout cables
        if plug.cable.kind != "circuit" and (plug.end == "a" or not both):
            sections.setdefault(site(plug.at.device, plug.at.place[:2]), []).append((plug, both))
    joins = {
        connect.cable: f"{plan.lane_name(connect.a)} {_ARROW[connect.mode]} {plan.lane_name(connect.b)}"
        for connect in plan.connects
    }
    for number, place in enumerate(sorted(sections, key=lambda place: (isinstance(place, str), place))):
        key, name = f"r{number}", f"Panel {place}" if isinstance(place, str) else _name(place)
        lines = [f'<section id="{key}"><h2>{escape(name)}</h2>']
        if not isinstance(place, str):
            lines.append(_devices(plan, place))
        fixed = "fixed cables that exist" if plan.inventory.cabling else "fixed cables"
        for kind, heading in (("fixed", fixed), ("patch", "patch cords")):
            rows = (
                _row(plug, joins.get(plug.cable.name, ""), both)
                for plug, both in sections[place]
                if plug.cable.kind == kind
            )
            columns = [column for column in _COLUMNS if column != "Joins" or kind == "patch"]
            lines += table(f"{name}: {heading}", columns, rows)
        yield place, key, name, "\n".join([*lines, "</section>"])


_ARROW = {"simplex": "\u2192", "duplex": "\u2194"}


def summary_of(plan: WiringPlan) -> str:
    """Return what there is to do, in a sentence."""
    patches = Counter(plan.inventory.panel[connect.a.panel].kind for connect in plan.connects)
    cords, circuits = patches["patch panel"], patches["ocs"]
    fixed = len({one.socket for one in plan.fixed})
    cables_there = f"{fixed} fixed cables, {cords} patch cords"
    set_there = f", {circuits} circuits (set by software, nothing to plug)" if circuits else ""
    return f"{len(plan.hosts)} hosts, {cables_there}{set_there}; {plan.mode}."


def _devices(plan: WiringPlan, rack: Rack) -> str:
    """Return the hosts and panels of a rack, from the top unit down."""
    inventory = plan.inventory
    roles = dict.fromkeys(inventory.host, "spare") | {panel.name: str(panel.kind) for panel in inventory.panels}
    roles |= {host: f"node {node}" for node, host in enumerate(plan.hosts)}
    names = [name for name in roles if inventory.place(name)[:2] == rack]
    lines = [
        f"<li>unit {inventory.place(name).unit}: <code>{escape(name)}</code>, {roles[name]}</li>"
        for name in sorted(names, key=lambda name: (-inventory.place(name).unit, name))
    ]
    return f'<ul class="devices">{"".join(lines)}</ul>'


def _row(plug: Plug, joins: str, both: bool) -> str:
    cable, colour = plug.cable, plug.colour
    swatch = f'<span class="colour" style="background:#{COLOURS[colour]}"></span> {colour}' if colour else ""
    other = f'<a id="{escape(plug.name)}.b"></a>' if both else ""
    cells = [
        f'<td class="done">&#9744;{other}</td>',
        cell(plug.name, kind="code name"),
        cell(plug.here, "here", "code"),
        cell(plug.there, "there", "code"),
        *([cell(joins, "joins")] if cable.kind == "patch" else []),
        cell(plug.polarity, "fibres"),
        f"<td>{swatch}</td>",
        cell(cable.sort or ""),
        cell(format_metres(cable.length), "metres"),
        *('<td class="write"></td>' for _ in range(3)),
    ]
    return f'<tr id="{escape(plug.name)}.{plug.end}">{"".join(cells)}</tr>'


def _name(rack: Rack) -> str:
    site, name = rack
    return f"Site {site}, rack {name}" if site else f"Rack {name}"


FORMATS = {"racks": Format("a page of work for every rack (HTML)", to_racks)}
