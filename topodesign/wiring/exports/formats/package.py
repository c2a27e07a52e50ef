"""Work package: one HTML page for paper, screens and phones.

What there is to do and to buy, the topology as it will be, where every lane leads (to look up by either end), a picture
of every panel, and the work sheets of the racks. It needs nothing from elsewhere, and its rows have addresses that the
codes of labels lead to.

A large room is too much for one page of a browser. A directory has the same in pages of a rack and of a panel each (or
a part of it), and an index that finds hosts and cables and passes the codes of labels on to the page that has the row.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from html import escape
from pathlib import Path

from topodesign.base.errors import ParameterError
from topodesign.topology.positions import positions_of
from topodesign.wiring.exports.format import Content, Format
from topodesign.wiring.exports.formats import racks as sheets
from topodesign.wiring.exports.formats.panels import figure_of, panel_views
from topodesign.wiring.exports.pages import cell, contents, page, table
from topodesign.wiring.exports.rack_rows import draw_rack_rows, find_rack_rows
from topodesign.wiring.plan.cross_connects import CrossConnect, fibres
from topodesign.wiring.plan.plan import WiringPlan

MAX_LANES = 8192
"""Of a package that is one page."""
MAX_ROWS, MAX_PORTS = 1024, 576
"""Lanes of the hosts on a page of a directory, and ports of a panel there."""

_BY_LANE = ("Lane", "Fixed cable", "Panel port", "Sends through", "to", "Receives through", "from")
_BY_PATCH = ("Patch", "From", "Panel port", "Panel port", "To")
_SEARCH = """<p class="search"><label>Find a host, a port or a cable: <input type="search" id="find"></label></p>
<script>
document.getElementById("find").addEventListener("input", function () {
  var wanted = this.value.toLowerCase();
  document.querySelectorAll("#lanes tbody tr, #patches tbody tr").forEach(function (row) {
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
});
</script>"""


def to_package(plan: WiringPlan, ending: str = ".html") -> Content:
    """Return the package (HTML) as one page or a directory.

    Without an ending it is a directory. One page raises ParameterError above ``MAX_LANES`` lanes.
    """
    if not ending:
        return to_pages(plan)
    if len(plan.fixed) > MAX_LANES:
        raise ParameterError(
            f"one page with {len(plan.fixed)} lanes is more than browsers draw well; a path without an ending becomes "
            "a directory with a page for each rack"
        )
    racks = list(sheets.rack_sections(plan, sheets.racks_of(plan)))
    sections = [
        ("topology", "Racks and links", _overview(plan)),
        ("do", "What to do and to buy", f"<p>{sheets.summary_of(plan)}</p><pre>{escape(str(plan))}</pre>"),
        (
            "lanes",
            "Where every lane leads",
            "\n".join([_SEARCH, *table("by host", _BY_LANE, (row for _, row in _lanes(plan)))]),
        ),
        ("patches", "Where every patch leads", "\n".join(table("by patch", _BY_PATCH, map(_patch, plan.connects)))),
        ("panels", "Panels", "\n".join(figure_of(*one) for one in panel_views(plan))),
    ]
    parts = [f'<section id="{key}"><h2>{escape(name)}</h2>{text}</section>' for key, name, text in sections if text]
    listed = [(key, name) for key, name, text in sections if text] + [(key, site.name) for site, key, _ in racks]
    return page(plan.name_sheet(f"wiring of {plan.job}"), [contents(listed), *parts, *(text for *_, text in racks)])


def _overview(plan: WiringPlan) -> str:
    """Return the racks with their cables, or the topology, and the rack-to-rack table."""
    rows = find_rack_rows(plan)
    drawing = drawing_of(plan) if rows is None else draw_rack_rows(rows)
    return "\n".join([*([] if drawing is None else [f"<figure>{drawing}</figure>"]), *sheets.between_racks(plan)])


_FIND = """<p class="search"><label>Find a host, a cable or a panel: <input type="search" id="find"></label></p>
<ul id="found"></ul>
<script src="places.js"></script>
<script>
var PLACES = {};
NAMES.forEach(function (names, page) {
  names.forEach(function (name) {
    if (typeof name === "string") PLACES[name] = page;
    else for (var n = name[1]; n <= name[2]; n += name[3] || 1)
      PLACES[name[0] + String(n).padStart(name[4], "0") + name[5]] = page;
  });
});
var here = decodeURIComponent(location.hash.slice(1));
if (PLACES[here] !== undefined) location.replace(PAGES[PLACES[here]] + location.hash);
document.getElementById("find").addEventListener("input", function () {
  var wanted = this.value.toLowerCase(), list = document.getElementById("found");
  list.textContent = "";
  if (!wanted) return;
  Object.keys(PLACES).filter(function (name) { return name.toLowerCase().includes(wanted); }).slice(0, 50)
    .forEach(function (name) {
      var link = document.createElement("a");
      link.href = PAGES[PLACES[name]] + "#" + encodeURIComponent(name);
      link.textContent = name;
      list.appendChild(document.createElement("li")).appendChild(link);
    });
});
</script>"""
_BACK = '<nav><a href="index.html">All racks and panels</a></nav>'
_NUMBERED = re.compile(r"(\D*)(\d+)(.*)")


def to_pages(plan: WiringPlan) -> dict[str, str | Callable[[Path], object]]:
    """Return the package as a directory of pages (HTML).

    The directory has an index, and a page for each rack and panel, or for each part of a large one.
    """
    sites = _pages_of(plan)
    rows, joins, title = sheets.rows_of(plan, sites), sheets.joins_of(plan), plan.name_sheet(f"wiring of {plan.job}")
    tables: dict[sheets.Site, list[str]] = {}
    for host, row in _lanes(plan):
        tables.setdefault(sites[host], []).append(row)
    for connect in plan.connects:
        for site in dict.fromkeys(sites[end.place] for end in (connect.a, connect.b)):
            tables.setdefault(site, []).append(_patch(connect))
    heads = {
        sites[panel.name, panel.ports[0].label]: figure_of(panel, svg)
        for panel, svg in panel_views(plan, most=MAX_PORTS)
        if panel.ports
    }
    pages = {
        site: f"{'panel' if site.panel else 'rack'}-{number:03}.html"
        for number, site in enumerate(sorted({*rows, *heads}), start=1)
    }
    names = {site: [site.panel] if site.panel and not site.part else [] for site in pages}
    for host in plan.inventory.host:
        if sites[host] in pages:
            names[sites[host]].append(host)
            heads[sites[host]] = heads.get(sites[host], "") + f'<a id="{escape(host)}"></a>'
    for site, found in rows.items():
        names[site] += [f"{plug.name}.{end}" for plug, both in found for end in ("ab" if both else plug.end)]

    def write(path: Path, *, site: sheets.Site) -> None:
        section = sheets.section_of(plan, sites, site, rows.get(site, ()), key="work", joins=joins)
        columns, heading = (_BY_PATCH, "every patch") if site.panel else (_BY_LANE, "every lane")
        there = table(f"where {heading} leads", columns, tables.get(site, ()))
        text = page(f"{title}: {site.name}", [_BACK, heads.get(site, ""), section, *there])
        path.write_text(text, encoding="utf-8", newline="\n")

    listed = "".join(f'<li><a href="{file}">{escape(site.name)}</a></li>' for site, file in pages.items())
    index = [
        _FIND,
        _overview(plan),
        f"<p>{sheets.summary_of(plan)}</p>",
        f'<nav><ul class="devices">{listed}</ul></nav>',
        f"<pre>{escape(str(plan))}</pre>",
    ]
    tight = json.JSONEncoder(separators=(",", ":")).encode
    called = tight([_runs(names[site]) for site in pages])
    script = f"var PAGES = {tight(list(pages.values()))};\nvar NAMES = {called};\n"
    made: dict[str, str | Callable[[Path], object]] = {"index.html": page(title, index), "places.js": script}
    return made | {file: partial(write, site=site) for site, file in pages.items()}


def _pages_of(plan: WiringPlan) -> sheets.Sites:
    """Return the pages of racks and panels, splitting large ones."""
    inventory = plan.inventory
    lanes = Counter(one.host for one in plan.fixed)
    parts: dict[sheets.Rack, list[list[str]]] = {}
    for host in inventory.host:
        found = parts.setdefault(inventory.place(host)[:2], [[]])
        if sum(lanes[one] for one in found[-1]) + lanes[host] > MAX_ROWS and found[-1]:
            found.append([])
        found[-1].append(host)
    sites: dict[str | tuple[str, str], sheets.Site] = {}
    for rack, found in parts.items():
        for number, hosts in enumerate(found):
            name = sheets.name_of(rack) + (f", {hosts[0]} to {hosts[-1]}" if len(found) > 1 else "")
            sites |= dict.fromkeys(hosts, sheets.Site("", rack, number, name))
    for panel in inventory.panels:
        labels = [port.label for port in panel.ports]
        for number, first in enumerate(range(0, len(labels), MAX_PORTS)):
            some = labels[first : first + MAX_PORTS]
            name = f"Panel {panel.name}" + (f", ports {some[0]} to {some[-1]}" if len(some) < len(labels) else "")
            site = sheets.Site(panel.name, inventory.place(panel.name)[:2], number, name)
            sites |= dict.fromkeys(((panel.name, label) for label in some), site)
    return sites


def _runs(names: Sequence[str]) -> list[object]:
    """Return names, with runs as (prefix, first, last, step, digits, suffix)."""
    plain: list[object] = []
    numbered: dict[tuple[str, str, int], list[tuple[int, int, int]]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            plain.append(name)
            continue
        runs, number = numbered.setdefault((match[1], match[3], len(match[2])), []), int(match[2])
        first, last, step = runs[-1] if runs else (number, number, 0)
        if number > last and step in {0, number - last}:
            runs[-1] = first, number, number - last
        else:
            runs.append((number, number, 0))
    return plain + [(before, *run, digits, after) for (before, after, digits), runs in numbered.items() for run in runs]


def _lanes(plan: WiringPlan) -> Iterator[tuple[str, str]]:
    """Yield host and row of every cabled lane, in order."""
    net = plan.net
    order = {host: number for number, host in enumerate(plan.inventory.host)}
    cable = {wire.name: number for number, wire in enumerate(net.wires)}
    for lead in sorted(net.leads.values(), key=lambda one: (order[one.end.host], cable[one.fixed.name])):
        end = lead.end
        port = " to ".join(map(":".join, lead.places))
        tail = [
            (found[1], plan.lane_name(found[0])) if found is not None else ("", "")
            for found in (net.sends.get(end.source), net.hears.get(end.source))
        ]
        yield end.host, _row([plan.lane_name(end), lead.fixed.name, port, *tail[0], *tail[1]], _BY_LANE)


def _patch(connect: CrossConnect) -> str:
    begin, end = fibres(connect)
    cells = [
        connect.cable,
        f"{connect.a.host}:{connect.a.port}/{connect.a.lane}",
        begin.name,
        end.name,
        f"{connect.b.host}:{connect.b.port}/{connect.b.lane}",
    ]
    return _row(cells, _BY_PATCH)


def _row(cells: Sequence[str], columns: Sequence[str]) -> str:
    tail = zip(cells[1:], columns[1:], strict=True)
    others = "".join(cell(words, column.lower(), "code") for words, column in tail)
    return f"<tr>{cell(cells[0], kind='code name')}{others}</tr>"


FORMATS = {
    "package": Format(
        "all of it to print or for a phone: one page (.html), or a directory with a page for each rack",
        to_package,
        takes=("ending",),
    )
}


MAX_NODES = 160
"""Of what a drawing can show with their names; of larger rooms a table of racks says more."""
_SIZE = 900
_RADIUS = 7
_CROWDED = 64  # hosts from which on circles and names are smaller


def drawing_of(plan: WiringPlan) -> str | None:
    """Return the topology drawing (SVG), or None if too large."""
    topology = plan.topology
    if topology.nodes > MAX_NODES:
        return None
    places = (positions_of(topology).places * (_SIZE / 2 - 60) + _SIZE / 2).round(1).tolist()
    pairs = dict.fromkeys((min(u, v), max(u, v)) for u, v, _ in topology.links() if u != v)
    radius, size = (_RADIUS, 11) if topology.nodes < _CROWDED else (5, 8)
    lines = [
        f'<path d="M{places[u][0]} {places[u][1]}L{places[v][0]} {places[v][1]}" stroke="#808080" stroke-width="0.8"/>'
        for u, v in pairs
    ]
    for (x, y), host in zip(places, plan.hosts, strict=True):
        lines.append(
            f'<circle cx="{x}" cy="{y}" r="{radius}" fill="#0000ff" stroke="#000" stroke-width="0.5">'
            f'<title>{escape(host)}</title></circle><text x="{x}" y="{y - radius - 3}" text-anchor="middle" '
            f'font-size="{size}" paint-order="stroke" stroke="#fff" stroke-width="2.5">'
            f"{escape(host)}</text>"
        )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIZE} {_SIZE}" font-family="sans-serif" font-size="11"'
    )
    return "\n".join([f'{head} role="img" aria-label="the topology">', *lines, "</svg>"]) + "\n"
