"""The topology of a plan, drawn by its structure: hosts where it puts their nodes, in the colour of their rack."""

from __future__ import annotations

from html import escape

from topodesign.topology.positions import positions_of
from topodesign.wiring.exports.cables import COLOURS
from topodesign.wiring.plan.plan import WiringPlan

MOST_NODES = 160
"""Of what a drawing can show with their names; of larger rooms a table of racks says more."""
_SIZE = 900
_RADIUS = 7
_ACROSS, _DOWN = 6, 18
_SHADES = [value for name, value in COLOURS.items() if name != "white"]


def drawing_of(plan: WiringPlan) -> str | None:
    """Return the drawing (SVG); None if there are too many nodes to tell apart.

    Racks have a colour each, which a legend names; all the same if there are more racks than colours.
    """
    topology = plan.topology
    if topology.nodes > MOST_NODES:
        return None
    places = (positions_of(topology).places * (_SIZE / 2 - 60) + _SIZE / 2).round(1).tolist()
    racks = [plan.inventory.place(host)[:2] for host in plan.hosts]
    shade = dict(zip(dict.fromkeys(racks), _SHADES, strict=False))
    if not 1 < len(set(racks)) <= len(_SHADES):
        shade = {}
    pairs = dict.fromkeys((min(u, v), max(u, v)) for u, v, _ in topology.links() if u != v)
    lines = [
        f'<path d="M{places[u][0]} {places[u][1]}L{places[v][0]} {places[v][1]}" stroke="#808080" stroke-width="0.8"/>'
        for u, v in pairs
    ]
    for (x, y), host, rack in zip(places, plan.hosts, racks, strict=True):
        lines.append(
            f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="#{shade.get(rack, _SHADES[0])}">'
            f'<title>{escape(host)}</title></circle><text x="{x}" y="{y - _RADIUS - 3}" text-anchor="middle">'
            f"{escape(host)}</text>"
        )
    above = _DOWN * -(-len(shade) // _ACROSS)  # the legend, in columns
    for number, (place, colour) in enumerate(shade.items()):
        row, column = divmod(number, _ACROSS)
        x, y = 12 + _SIZE * column / _ACROSS, _DOWN * (row + 0.5) - above
        words = escape(" ".join(place).strip())
        lines.append(
            f'<circle cx="{x:g}" cy="{y}" r="5" fill="#{colour}"/><text x="{x + 10:g}" y="{y + 4}">{words}</text>'
        )
    box = f'viewBox="0 {-above} {_SIZE} {_SIZE + above}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="11"'
    return "\n".join([f'{head} role="img" aria-label="the topology">', *lines, "</svg>"]) + "\n"
