"""Work sheets of all racks in one printable HTML page.

The page needs nothing from elsewhere. A cable is listed in the rack of either end; where both are in one rack, once,
unless its ends differ, as those of a breakout cable do. Circuits are not listed: software sets them. Every row has an
address on the page, ``#CABLE.a`` or ``#CABLE.b``, that a label can lead to, and room for who did it, when, and what was
measured.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from topodesign.wiring.exports.cables import COLOURS, Plug, plugs
from topodesign.wiring.exports.format import Format
from topodesign.wiring.exports.pages import cell, contents, page, table
from topodesign.wiring.inventory.inventory import format_metres
from topodesign.wiring.plan.plan import WiringPlan

Rack = tuple[str, str]

_COLUMNS = ("", "Cable", "Here", "There", "Joins", "Fibres", "Colour", "Cable type", "Metres", "Date", "By", "Loss dB")


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """Subject of a sheet: a rack, panel or numbered part."""

    panel: str
    rack: Rack
    part: int
    name: str


Sites: TypeAlias = Mapping[str | tuple[str, str], Site]
"""The sheets of devices, or of panel ports (by panel and label) where those of a panel are on several."""


def to_racks(plan: WiringPlan) -> str:
    """Return the work sheets as one page (HTML)."""
    sections = list(rack_sections(plan, racks_of(plan)))
    return page(
        plan.name_sheet(f"wiring of {plan.job}"),
        [
            f"<p>{summary_of(plan)}</p>",
            *between_racks(plan),
            contents((key, site.name) for site, key, _ in sections),
            *(text for *_, text in sections),
        ],
    )


def racks_of(plan: WiringPlan) -> Sites:
    """Return the sheet of each host and panel, one per rack."""
    inventory = plan.inventory
    places = {name: inventory.place(name)[:2] for name in (*inventory.host, *inventory.panel)}
    return {name: Site("", rack, 0, name_of(rack)) for name, rack in places.items()}


def rows_of(plan: WiringPlan, sites: Sites) -> dict[Site, list[tuple[Plug, bool]]]:
    """Return the plugs of each sheet, and their shared rows.

    Each plug has a flag that is true if its row is for both ends. Sheets are in sorted order.
    """
    found: dict[Site, list[tuple[Plug, bool]]] = {}
    for plug in plugs(plan):
        if plug.cable.kind == "circuit":
            continue
        ends = {"a": plug.cable.a, "b": plug.cable.b}
        a, b = (sites.get((end.device, end.port)) or sites[end.device] for end in ends.values())
        both = a == b and plug.cable.breakout is None  # not of breakout cables, whose ends differ
        if plug.end == "a" or not both:
            found.setdefault(a if plug.end == "a" else b, []).append((plug, both))
    return dict(sorted(found.items()))


def rack_sections(plan: WiringPlan, sites: Sites) -> Iterator[tuple[Site, str, str]]:
    """Yield each sheet with work, its section id and text."""
    joins = joins_of(plan)
    for number, (site, rows) in enumerate(rows_of(plan, sites).items()):
        yield site, f"r{number}", section_of(plan, sites, site, rows, key=f"r{number}", joins=joins)


def joins_of(plan: WiringPlan) -> dict[str, str]:
    """Return the lanes that each patch connects, in words."""
    return {
        connect.cable: f"{plan.lane_name(connect.a)} {_ARROW[connect.mode]} {plan.lane_name(connect.b)}"
        for connect in plan.connects
    }


def section_of(
    plan: WiringPlan,
    sites: Sites,
    site: Site,
    rows: Sequence[tuple[Plug, bool]],
    *,
    key: str,
    joins: Mapping[str, str],
) -> str:
    """Return the section of a sheet: devices and plugs."""
    lines = [f'<section id="{key}"><h2>{escape(site.name)}</h2>']
    if not site.panel:
        lines.append(_devices(plan, sites, site))
    fixed = "fixed cables that exist" if plan.inventory.cabling else "fixed cables"
    for kind, heading in (("fixed", fixed), ("patch", "patch cords")):
        made = (
            _row(plan, plug, joins.get(plug.cable.name, ""), both) for plug, both in rows if plug.cable.kind == kind
        )
        columns = [column for column in _COLUMNS if column != "Joins" or kind == "patch"]
        lines += table(f"{site.name}: {heading}", columns, made)
    return "\n".join([*lines, "</section>"])


def between_racks(plan: WiringPlan) -> Iterator[str]:
    """Yield a table of cables and links between racks.

    With a single rack there is no table.
    """
    rack = {name: site.rack for name, site in racks_of(plan).items()}
    cabled = ((one.a.device, one.b.device) for one in plan.net.wires if one.kind in {"fixed", "patch"})
    linked = ((one.a.host, one.b.host) for one in plan.connects)
    counts: list[dict[Rack, Counter[Rack]]] = []
    for pairs in (cabled, linked):
        found: dict[Rack, Counter[Rack]] = defaultdict(Counter)
        for (a, b), count in Counter((rack[a], rack[b]) for a, b in pairs).items():
            found[a][b] += count
            if a != b:
                found[b][a] += count
        counts.append(found)
    racks = [one for one in dict.fromkeys(rack.values()) if any(one in found for found in counts)]
    sites = len({site for site, _ in racks}) > 1
    short = {one: " ".join(one).strip() if sites else one[1] for one in racks}
    if len(racks) > 1:
        rows = (
            cell(short[one], kind="code name")
            + "".join(cell(_leading(found[one], one, short), of) for found, of in zip(counts, _LEADING, strict=True))
            for one in racks
        )
        columns = ["Rack", *(of.capitalize() for of in _LEADING)]
        yield from table("What leads from rack to rack", columns, (f"<tr>{row}</tr>" for row in rows))


_LEADING = ("cables (each leg of a breakout)", "links of its hosts")


def _leading(found: Mapping[Rack, int], here: Rack, short: Mapping[Rack, str]) -> str:
    """Return counts by rack in words, largest first."""
    by_count: dict[int, list[list[str]]] = {}
    last: tuple[int, int] | None = None
    for place, (rack, name) in enumerate(short.items()):
        count = found.get(rack)
        if count is not None:
            runs = by_count.setdefault(count, [])
            follows = rack != here and last == (place - 1, count)
            runs[-1:] = [[*runs[-1], name]] if follows else [*runs[-1:], ["this rack" if rack == here else name]]
            last = None if rack == here else (place, count)
    told = []
    for count, runs in sorted(by_count.items(), reverse=True):
        names = [f"{run[0]} \u2013 {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs]
        told.append(f"{count}{' each' * (sum(map(len, runs)) > 1)} to {', '.join(names)}")
    total = f"{sum(found.values())}: " * (len(found) > 1)
    return total + "; ".join(told)


_ARROW = {"simplex": "\u2192", "duplex": "\u2194"}


def summary_of(plan: WiringPlan) -> str:
    """Return a one-sentence summary of the work."""
    patches = Counter(plan.inventory.panel[connect.a.panel].kind for connect in plan.connects)
    cords, circuits = patches["patch panel"], patches["ocs"]
    fixed = len({one.socket for one in plan.fixed})
    cables_there = f"{fixed} fixed cables, {cords} patch cords"
    set_there = f", {circuits} circuits (set by software, nothing to plug)" if circuits else ""
    return f"{len(plan.hosts)} hosts, {cables_there}{set_there}; {plan.mode}."


def _devices(plan: WiringPlan, sites: Sites, site: Site) -> str:
    """Return a sheet's devices as HTML, top unit first."""
    inventory = plan.inventory
    roles = dict.fromkeys(inventory.host, "spare") | {panel.name: str(panel.kind) for panel in inventory.panels}
    roles |= {host: f"node {node}" for node, host in enumerate(plan.hosts)}
    names = [name for name in roles if sites.get(name, site) == site and inventory.place(name)[:2] == site.rack]
    lines = [
        f"<li>unit {inventory.place(name).unit}: <code>{escape(name)}</code>, {roles[name]}</li>"
        for name in sorted(names, key=lambda name: (-inventory.place(name).unit, name))
    ]
    return f'<ul class="devices">{"".join(lines)}</ul>'


def _row(plan: WiringPlan, plug: Plug, joins: str, both: bool) -> str:
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
        cell(format_metres(plan.net.length(cable)), "metres"),
        *('<td class="write"></td>' for _ in range(3)),
    ]
    return f'<tr id="{escape(plug.name)}.{plug.end}">{"".join(cells)}</tr>'


def name_of(rack: Rack) -> str:
    """Return the name of a rack on its sheet."""
    site, name = rack
    return f"Site {site}, rack {name}" if site else f"Rack {name}"


FORMATS = {"racks": Format("a page of work for every rack (HTML)", to_racks)}
