"""Work sheets for the technician: one HTML page that prints a rack a sheet, with all that has to be plugged there.

The page needs nothing from elsewhere. A cable is listed in the rack of either end; where both are in one rack, once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape

from topodesign.wiring.exports.cables import COLOURS, Cable, Termination, cables
from topodesign.wiring.exports.patches import metres
from topodesign.wiring.plan import Plan

Rack = tuple[str, str]

_STYLE = """
body { font: 11pt/1.35 sans-serif; margin: 1.5em; color: #000; }
h1 { font-size: 1.4em; } h2 { font-size: 1.25em; border-bottom: 2px solid #000; }
table { border-collapse: collapse; width: 100%; margin: .6em 0 1.4em; }
th, td { border: 1px solid #999; padding: .15em .4em; text-align: left; font-size: .85em; }
th { background: #eee; } td.code { font-family: monospace; white-space: nowrap; }
td.done { width: 1.2em; } .colour { display: inline-block; width: .8em; height: .8em; border: 1px solid #000; }
table.devices { width: auto; } .devices td { font-size: .8em; }
@page { size: A4 landscape; margin: 12mm; }
@media print { body { margin: 0; } section { break-before: page; } tr { break-inside: avoid; } nav { display: none; } }
"""
_KINDS = {"fixed": "Fixed cables", "patch": "Patch cords", "circuit": "Circuits (set by software, nothing to plug)"}
_HEAD = (
    "<th></th><th>Cable</th><th>Here</th><th>There</th><th>Fibres</th><th>Colour</th><th>Cable type</th><th>Metres</th>"
)


def to_racks(plan: Plan) -> str:
    """Return the page."""
    racks: dict[Rack, list[tuple[Cable, Termination, Termination]]] = {}
    for cable in cables(plan):
        a, b = (cable.a.place.site, cable.a.place.rack), (cable.b.place.site, cable.b.place.rack)
        racks.setdefault(a, []).append((cable, cable.a, cable.b))
        if a != b:
            racks.setdefault(b, []).append((cable, cable.b, cable.a))
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
        parts += [_devices(plan, rack), *_tables(racks[rack]), "</section>"]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _summary(plan: Plan) -> str:
    patches = Counter(plan.inventory.panel[connect.a.panel].kind for connect in plan.connects)
    cords, circuits = patches["patch panel"], patches["ocs"]
    cables_there = f"{len(plan.fixed)} fixed cables, {cords} patch cords, {circuits} circuits"
    return f"{len(plan.hosts)} hosts, {cables_there}; {plan.mode}."


def _devices(plan: Plan, rack: Rack) -> str:
    """Return the hosts and panels of a rack, from the top unit down."""
    inventory = plan.inventory
    names = [name for name in (*plan.hosts, *inventory.panel) if inventory.place(name)[:2] == rack]
    rows = []
    for name in sorted(names, key=lambda name: (-inventory.place(name).unit, name)):
        role = f"node {plan.node[name]}" if name in plan.node else "panel"
        unit = inventory.place(name).unit
        rows.append(f'<tr><td>unit {unit}</td><td class="code">{escape(name)}</td><td>{role}</td></tr>')
    return f'<table class="devices">{"".join(rows)}</table>'


def _tables(jobs: list[tuple[Cable, Termination, Termination]]) -> Iterator[str]:
    for kind, heading in _KINDS.items():
        rows = [_row(*job) for job in jobs if job[0].kind == kind]
        if rows:
            yield f"<h3>{heading}: {len(rows)}</h3>"
            yield f"<table><thead><tr>{_HEAD}</tr></thead><tbody>"
            yield from rows
            yield "</tbody></table>"


def _row(cable: Cable, here: Termination, there: Termination) -> str:
    swatch = f'<span class="colour" style="background:#{COLOURS[cable.colour]}"></span> {cable.colour}'
    codes = "".join(f'<td class="code">{escape(text)}</td>' for text in (cable.name, here.label, there.label))
    polarity = cable.polarity if here is cable.a or cable.kind == "fixed" else _turned(cable)
    cells = f"<td>{escape(polarity)}</td><td>{swatch}</td><td>{cable.sort or ''}</td><td>{metres(cable.length)}</td>"
    return f'<tr><td class="done">&#9744;</td>{codes}{cells}</tr>'


def _turned(cable: Cable) -> str:
    """Return the polarity as seen from the other end."""
    return cable.polarity if cable.a.side == "A+B" else "B from A"


def _name(rack: Rack) -> str:
    site, name = rack
    return escape(f"Site {site}, rack {name}" if site else f"Rack {name}")
