"""The work package: one HTML page with all that people need who wire a plan, on paper, on a screen or on a phone.

What there is to do and to buy, the topology as it will be, where every lane leads (to look up by either end), a picture
of every panel, and the work sheets of the racks. It needs nothing from elsewhere, and its rows have addresses that the
codes of labels lead to.

A large room is too much for one page of a browser. A directory has the same in pages of a rack and of a panel each, and
an index that finds hosts and cables and passes the codes of labels on to the page that has the row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from html import escape

from topodesign.wiring.exports.cables import cables
from topodesign.wiring.exports.drawing import drawing_of
from topodesign.wiring.exports.format import Format
from topodesign.wiring.exports.formats.panels import figure_of, panel_views
from topodesign.wiring.exports.formats.racks import rack_sections, summary_of, title_of
from topodesign.wiring.exports.pages import cell, contents, page, table
from topodesign.wiring.plan.cross_connects import CrossConnect, End, fibres
from topodesign.wiring.plan.plan import WiringPlan

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


def to_package(plan: WiringPlan) -> str:
    """Return the page."""
    racks = list(rack_sections(plan))
    drawing = drawing_of(plan)
    sections = [("do", "What to do and to buy", f"<p>{summary_of(plan)}</p><pre>{escape(str(plan))}</pre>")]
    if drawing is not None:
        sections.append(("topology", "The topology", f"<figure>{drawing}</figure>"))
    sections += [
        ("lanes", "Where every lane leads", "\n".join([_SEARCH, *table("by host", _BY_LANE, _lanes(plan))])),
        ("patches", "Where every patch leads", "\n".join(table("by patch", _BY_PATCH, map(_patch, plan.connects)))),
        ("panels", "Panels", "\n".join(figure_of(*one) for one in panel_views(plan))),
    ]
    parts = [f'<section id="{key}"><h2>{escape(name)}</h2>{text}</section>' for key, name, text in sections]
    listed = [*((key, name) for key, name, _ in sections), *((key, name) for _, key, name, _ in racks)]
    return page(title_of(plan), [contents(listed), *parts, *(text for *_, text in racks)])


_FIND = """<p class="search"><label>Find a host, a cable or a panel: <input type="search" id="find"></label></p>
<ul id="found"></ul>
<script src="places.js"></script>
<script>
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
_ADDRESS = re.compile(r'id="([^"]+\.[ab])"')  # of a row of a work sheet


def to_pages(plan: WiringPlan) -> dict[str, str]:
    """Return the same as pages of a directory: an index, and one for each rack and for each panel."""
    lanes: dict[tuple[str, str], list[str]] = {}
    for host, row in _lanes_by_host(plan):
        lanes.setdefault(plan.inventory.place(host)[:2], []).append(row)
    patches: dict[str, list[str]] = {}
    for connect in plan.connects:
        for name in dict.fromkeys((connect.a.panel, connect.b.panel)):
            patches.setdefault(name, []).append(_patch(connect))
    drawn = {panel.name: figure_of(panel, svg) for panel, svg in panel_views(plan)}
    pages: dict[str, tuple[str, str]] = {}
    places: dict[str, int] = {}
    sections = [(place, name, text) for place, _, name, text in rack_sections(plan, panels_apart=True)]
    worked = {place for place, *_ in sections}
    sections += [(name, f"Panel {name}", "") for name in drawn if name not in worked]  # where only circuits are
    for number, (place, name, text) in enumerate(sections):
        places |= dict.fromkeys(_ADDRESS.findall(text), number)
        if isinstance(place, str):
            head = drawn[place]
            there = table("where every patch leads", _BY_PATCH, patches.get(place, []))
            places[place] = number
        else:
            found = [host for host in plan.inventory.host if plan.inventory.place(host)[:2] == place]
            head = "".join(f'<a id="{escape(host)}"></a>' for host in found)
            there = table("where every lane leads", _BY_LANE, lanes.get(place, []))
            places |= dict.fromkeys(found, number)
        kind = "panel" if isinstance(place, str) else "rack"
        pages[f"{kind}-{number + 1:03}.html"] = name, "\n".join([head, text, *there])
    drawing = drawing_of(plan)
    listed = "".join(f'<li><a href="{file}">{escape(name)}</a></li>' for file, (name, _) in pages.items())
    index = [
        _FIND,
        f"<p>{summary_of(plan)}</p>",
        f'<nav><ul class="devices">{listed}</ul></nav>',
        f"<pre>{escape(str(plan))}</pre>",
        *([f"<figure>{drawing}</figure>"] if drawing is not None else []),
    ]
    script = f"var PAGES = {json.dumps(list(pages))};\nvar PLACES = {json.dumps(places)};\n"
    title = title_of(plan)
    made = {file: page(f"{title}: {name}", [_BACK, text]) for file, (name, text) in pages.items()}
    return {"index.html": page(title, index), "places.js": script} | made


def _lanes(plan: WiringPlan) -> Iterator[str]:
    """Yield a row for every cabled lane, in the order of hosts and their ports."""
    return (row for _, row in _lanes_by_host(plan))


def _lanes_by_host(plan: WiringPlan) -> Iterator[tuple[str, str]]:
    """Yield the same rows, each with its host."""
    sends: dict[tuple[str, str], tuple[str, End]] = {}
    receives: dict[tuple[str, str], tuple[str, End]] = {}
    for connect in plan.connects:
        (a, b), ways = fibres(connect), [(connect.a, connect.b)]
        ways += [(connect.b, connect.a)] if connect.mode == "duplex" else []
        for (here, there), (place, other) in zip(ways, ((a, b), (b, a)), strict=False):
            sends[place[:2]] = connect.cable, there
            receives[other[:2]] = connect.cable, here
    order = {host: number for number, host in enumerate(plan.inventory.host)}
    for cable in sorted(_fixed(plan), key=lambda cable: order[cable[0].host]):
        end, name = cable
        key = end.panel, end.panel_port
        near = plan.inventory.plugged_at(*key)
        port = ":".join(near) + ("" if near == key else f" to {':'.join(key)}")
        tail = [
            (found[0], plan.lane_name(found[1])) if found is not None else ("", "")
            for found in (sends.get(key), receives.get(key))
        ]
        cells = [plan.lane_name(end), name, port, *tail[0], *tail[1]]
        yield end.host, _row(cells, _BY_LANE)


def _fixed(plan: WiringPlan) -> Iterator[tuple[End, str]]:
    """Yield what is at the end of each fixed cable, and its name."""
    for cable in cables(plan):
        if cable.kind == "fixed":
            place = cable.b.device, cable.b.port
            yield plan.end[plan.inventory.leads_to.get(place, place)], cable.name


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
    """Return a row that begins with what it is about."""
    tail = zip(cells[1:], columns[1:], strict=True)
    others = "".join(cell(words, column.lower(), "code") for words, column in tail)
    return f"<tr>{cell(cells[0], kind='code name')}{others}</tr>"


FORMATS = {
    "package": Format(
        "all of it to print or for a phone: one page (.html), or a directory with a page for each rack",
        to_package,
        others={"": to_pages},
    )
}
