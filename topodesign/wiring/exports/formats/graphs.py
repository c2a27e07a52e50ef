"""Graph formats for drawing, computing and monitoring.

* ``dot``: Graphviz. ``graphml``, ``json`` (node-link): with hosts, places and cables as attributes; nodes are the
  numbers of the topology, and every command takes these files as one.
* ``ptm``: ``topology.dot`` of the Prescriptive Topology Manager, which holds it against LLDP.
* ``topo``: the topology file of ibdiagnet, which UFM compares with what it discovers; a host is a system of one port
  ``PORT/P1``, or ``PORT/P1`` to ``PORT/P4`` where it has several lanes.
* ``p2p``: the spreadsheet of UFM's cable validation tool.

The last three know no link of one direction, so plans of simplex patches are refused.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from topodesign.base.errors import ParameterError
from topodesign.base.zips import write_zip
from topodesign.wiring.exports.format import Format
from topodesign.wiring.plan.cross_connects import End
from topodesign.wiring.plan.plan import WiringPlan

if TYPE_CHECKING:
    import networkx as nx


def to_graph(plan: WiringPlan) -> nx.DiGraph:
    """Return the links of a plan as a graph.

    Every node has its host and place, every link its capacity and cables.
    """
    import networkx as nx  # noqa: PLC0415  heavy

    spec = plan.topology.spec
    graph = nx.DiGraph(spec="" if spec is None else str(spec), mode=plan.mode)
    for node, name in enumerate(plan.hosts):
        place = plan.inventory.place(name)
        graph.add_node(node, host=name, site=place.site, rack=place.rack, unit=place.unit)
    names: dict[tuple[int, int], list[str]] = {}
    for connect in plan.connects:
        for a, b in connect.ways:
            names.setdefault((plan.node[a.host], plan.node[b.host]), []).append(connect.cable)
    for link, cables in sorted(names.items()):
        graph.add_edge(*link, capacity=len(cables), cables=" ".join(cables))
    return graph


def to_graphml(plan: WiringPlan) -> str:
    """Return GraphML, as networkx writes it."""
    import networkx as nx  # noqa: PLC0415  heavy

    return "\n".join(nx.generate_graphml(to_graph(plan))) + "\n"


def to_node_link(plan: WiringPlan) -> str:
    """Return node-link JSON for ``networkx.node_link_graph(data, edges="links")``."""
    import networkx as nx  # noqa: PLC0415  heavy

    return json.dumps(nx.node_link_data(to_graph(plan), edges="links"), indent=1) + "\n"


def to_dot(plan: WiringPlan) -> str:
    """Return a DOT digraph with racks as clusters.

    A duplex patch is one line without arrowheads.
    """
    lines = [f"digraph {_quote(str(plan.topology.spec or 'wiring'))} {{", "  node [shape=box];"]
    racks: dict[tuple[str, str], list[int]] = {}
    for node, name in enumerate(plan.hosts):
        racks.setdefault(plan.inventory.place(name)[:2], []).append(node)
    for number, ((site, rack), nodes) in enumerate(racks.items()):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quote(f'{site} {rack}'.strip())};"]
        lines += [f"    {node} [label={_quote(f'{node}: {plan.hosts[node]}')}];" for node in nodes]
        lines.append("  }")
    style = ", dir=none" if plan.mode == "duplex" else ""
    for connect in plan.connects:
        u, v = plan.link_of(connect)
        lines.append(f"  {u} -> {v} [tooltip={_quote(connect.cable)}{style}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


P2P_COLUMNS = ("A-Node Name", "A-Type", "A-Port", "Z-Node Name", "Z-Type", "Z-Port")


def to_ptm(plan: WiringPlan) -> str:
    """Return the graph for the Prescriptive Topology Manager (DOT).

    Lanes of a port have the names that Linux gives to the parts of a split port, ``PORTs0`` and so on.
    """
    lines = [f'  "{a.host}":"{plan.split_name(a)}" -- "{b.host}":"{plan.split_name(b)}"' for a, b in _links(plan)]
    return "\n".join(["graph G {", *lines, "}"]) + "\n"


def to_topo(plan: WiringPlan) -> str:
    """Return the ibdiagnet topology, with each link at both ends."""
    ends: dict[str, list[str]] = {host: [] for host in plan.hosts}
    for a, b in _links(plan):
        for here, there in ((a, b), (b, a)):
            ends[here.host].append(f"    {here.port}/P{here.lane} -> {_SYSTEM} {there.host} {there.port}/P{there.lane}")
    return "\n".join("\n".join([f"{_SYSTEM} {host}", *lines, ""]) for host, lines in ends.items())


_SYSTEM = "HCA"


def to_p2p(plan: WiringPlan) -> bytes:
    """Return a spreadsheet (.xlsx) with a row for each link."""
    links = ((a.host, "Host", plan.interface(a), b.host, "Host", plan.interface(b)) for a, b in _links(plan))
    rows = (f"<row>{''.join(map(_cell, row))}</row>" for row in (P2P_COLUMNS, *links))
    sheet = f'<worksheet xmlns="{_MAIN}"><sheetData>{"".join(rows)}</sheetData></worksheet>'
    out = io.BytesIO()
    members = {**_WORKBOOK, "xl/worksheets/sheet1.xml": sheet}
    write_zip(out, ((name, f"{_XML}{text}".encode()) for name, text in members.items()), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _cell(text: str) -> str:
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'


# A workbook of one sheet, as ECMA-376 wants it at least (part 1, 8.3 and 12.3).
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org"
_MAIN = f"{_OFFICE}/spreadsheetml/2006/main"
_RELATIONS = f"{_OFFICE}/package/2006/relationships"
_OF_OFFICE = f"{_OFFICE}/officeDocument/2006/relationships"
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_WORKBOOK = {
    "[Content_Types].xml": f'<Types xmlns="{_OFFICE}/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SHEET_TYPE}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}">'
    f'<Relationship Id="rId1" Type="{_OF_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OF_OFFICE}">'
    '<sheets><sheet name="P2P" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}">'
    f'<Relationship Id="rId1" Type="{_OF_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


def _links(plan: WiringPlan) -> Iterator[tuple[End, End]]:
    if plan.mode == "simplex":
        raise ParameterError("this format cannot hold one-way links; plan with --duplex, or export patches")
    return ((connect.a, connect.b) for connect in plan.connects)


FORMATS = {
    "dot": Format("drawing for Graphviz", to_dot),
    "graphml": Format("graph; also a topology for other commands, as is json (node-link)", to_graphml),
    "json": Format("the same graph as node-link data", to_node_link),
    "ptm": Format("topology.dot for the Prescriptive Topology Manager", to_ptm),
    "topo": Format("topology file for ibdiagnet and UFM", to_topo),
    "p2p": Format("spreadsheet (.xlsx) for UFM's cable validation tool", to_p2p),
}
