"""The topology of a plan, drawn by its structure: hosts where it puts their nodes, in the colour of their rack."""

from __future__ import annotations

from html import escape

from topodesign.topology.positions import positions_of
from topodesign.wiring.exports.cables import COLOURS
from topodesign.wiring.plan.plan import WiringPlan

MOST_NODES, MOST_LINKS = 1024, 8192
"""Of what a drawing can show apart."""
_MOST_NAMED = 160
_SIZE = 900
_RADIUS = 7
_SHADES = [value for name, value in COLOURS.items() if name != "white"]


def drawing_of(plan: WiringPlan) -> str | None:
    """Return the drawing (SVG); None if there are too many nodes or links to tell apart."""
    topology = plan.topology
    if topology.nodes > MOST_NODES or len(topology.src) > MOST_LINKS:
        return None
    places = (positions_of(topology).places * (_SIZE / 2 - 60) + _SIZE / 2).round(1).tolist()
    racks = [plan.inventory.place(host)[:2] for host in plan.hosts]
    shade = {rack: _SHADES[number % len(_SHADES)] for number, rack in enumerate(dict.fromkeys(racks))}
    pairs = dict.fromkeys((min(u, v), max(u, v)) for u, v, _ in topology.links() if u != v)
    lines = [
        f'<path d="M{places[u][0]} {places[u][1]}L{places[v][0]} {places[v][1]}" stroke="#808080" stroke-width="0.8"/>'
        for u, v in pairs
    ]
    for (x, y), host, rack in zip(places, plan.hosts, racks, strict=True):
        lines.append(
            f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="#{shade[rack]}"><title>{escape(host)}</title></circle>'
        )
        if topology.nodes <= _MOST_NAMED:
            lines.append(f'<text x="{x}" y="{y - _RADIUS - 3}" text-anchor="middle">{escape(host)}</text>')
    named = list(shade.items())[: len(_SHADES)] if len(shade) > 1 else []
    for number, (place, colour) in enumerate(named):
        y = 16 + 16 * number
        words = escape(" ".join(place).strip())
        lines.append(f'<circle cx="12" cy="{y}" r="5" fill="#{colour}"/><text x="22" y="{y + 4}">{words}</text>')
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIZE} {_SIZE}" font-family="sans-serif" font-size="11"'
    )
    return "\n".join([f'{head} role="img" aria-label="the topology">', *lines, "</svg>"]) + "\n"
