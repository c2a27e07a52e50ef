"""Work sheets for the technician: one HTML page that prints a rack a sheet, with all that has to be plugged there.

The page needs nothing from elsewhere. A cable is listed in the rack of either end; where both are in one rack, once,
unless its ends differ, as those of a breakout cable do. Circuits are not listed: software sets them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape

from topodesign.wiring.exports.cables import COLOURS, Plug, breakout_of, plugs
from topodesign.wiring.inventory.lengths import format_metres
from topodesign.wiring.plan.plan import WiringPlan

Rack = tuple[str, str]

_STYLE = """
body { font: 11pt/1.35 sans-serif; margin: 1.5em; color: #000; }
h1 { font-size: 1.4em; } h2 { font-size: 1.25em; border-bottom: 2px solid #000; }
table { border-collapse: collapse; width: 100%; margin: .6em 0 1.4em; }
th, td { border: 1px solid #999; padding: .15em .4em; text-align: left; font-size: .85em; }
th { background: #eee; } th.heading { background: #fff; border: 0; font-size: 1em; padding: .4em 0; }
td.code { font-family: monospace; } td.name { white-space: nowrap; }
td.done { width: 1.2em; } .colour { display: inline-block; width: .8em; height: .8em; border: 1px solid #000; }
ul.devices { columns: 15em; list-style: none; margin: 0; padding: 0; font-size: .8em; }
@page { size: A4 landscape; margin: 12mm; }
@media print {
  body { margin: 0; print-color-adjust: exact; -webkit-print-color-adjust: exact; } nav { display: none; }
  section + section { break-before: page; } tr { break-inside: avoid; }
}
"""
_COLUMNS = ("", "Cable", "Here", "There", "Fibres", "Colour", "Cable type", "Metres")
_HEAD = "".join(f"<th>{column}</th>" for column in _COLUMNS)


def to_racks(plan: WiringPlan) -> str:
    """Return the page."""
    racks: dict[Rack, list[Plug]] = {}
    for plug in plugs(plan):
        a, b = plug.cable.a.place[:2], plug.cable.b.place[:2]
        listed = a != b or plug.end == "a" or breakout_of(plug.cable) is not None
        if listed and plug.cable.kind != "circuit":
            racks.setdefault(a if plug.end == "a" else b, []).append(plug)
    order = sorted(racks)
    title = escape(f"Wiring of {plan.topology.spec or f'{plan.topology.nodes} hosts'}")
    nav = "".join(f'<li><a href="#r{row}">{_name(rack)}</a></li>' for row, rack in enumerate(order))
    parts = [
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1><p>{_summary(plan)}</p><nav><ul>{nav}</ul></nav>",
    ]
    for row, rack in enumerate(order):
        parts.append(f'<section id="r{row}"><h2>{_name(rack)}</h2>')
        parts += [_devices(plan, rack), *_tables(plan, _name(rack), racks[rack]), "</section>"]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _summary(plan: WiringPlan) -> str:
    patches = Counter(plan.inventory.panel[connect.a.panel].kind for connect in plan.connects)
    cords, circuits = patches["patch panel"], patches["ocs"]
    fixed = len({(one.host, one.port) for one in plan.fixed})
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


def _tables(plan: WiringPlan, rack: str, jobs: list[Plug]) -> Iterator[str]:
    """Yield the tables of a rack; their headings come again on every printed page."""
    fixed = "fixed cables that exist" if plan.inventory.cabling else "fixed cables"
    for kind, heading in (("fixed", fixed), ("patch", "patch cords")):
        rows = [_row(plug) for plug in jobs if plug.cable.kind == kind]
        if rows:
            title = f'<tr><th class="heading" colspan="{len(_COLUMNS)}">{rack}: {heading}, {len(rows)}</th></tr>'
            yield f"<table><thead>{title}<tr>{_HEAD}</tr></thead><tbody>"
            yield from rows
            yield "</tbody></table>"


def _row(plug: Plug) -> str:
    cable, colour = plug.cable, plug.colour
    swatch = f'<span class="colour" style="background:#{COLOURS[colour]}"></span> {colour}' if colour else ""
    codes = f'<td class="code name">{escape(plug.name)}</td>'
    codes += "".join(f'<td class="code">{escape(text)}</td>' for text in (plug.here, plug.there))
    cells = "".join(f"<td>{text}</td>" for text in (plug.polarity, swatch, cable.sort, format_metres(cable.length)))
    return f'<tr><td class="done">&#9744;</td>{codes}{cells}</tr>'


def _name(rack: Rack) -> str:
    site, name = rack
    return escape(f"Site {site}, rack {name}" if site else f"Rack {name}")
