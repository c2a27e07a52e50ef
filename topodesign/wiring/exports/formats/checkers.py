"""The wanted links as programs take them that watch a running fabric: who should see whom, port by port.

* ``ptm``: ``topology.dot`` of the Prescriptive Topology Manager, which holds it against LLDP.
* ``topo``: the topology file of ibdiagnet, which UFM compares with what it discovers; a host is a system of one port
  ``PORT/P1``, or ``PORT/P1`` to ``PORT/P4`` where it has several lanes.
* ``p2p``: the spreadsheet of UFM's cable validation tool.

None of them knows a link of one direction, so plans of simplex patches are refused.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from html import escape

from topodesign.base.errors import ParameterError
from topodesign.base.zips import write_zip
from topodesign.wiring.exports.format import Format
from topodesign.wiring.plan.cross_connects import End
from topodesign.wiring.plan.plan import WiringPlan

P2P_COLUMNS = ("A-Node Name", "A-Type", "A-Port", "Z-Node Name", "Z-Type", "Z-Port")


def to_ptm(plan: WiringPlan) -> str:
    """Return a graph in DOT; lanes of a port are named as Linux names the parts of a split port, ``PORTs0``."""
    lines = [f'  "{a.host}":"{plan.split_name(a)}" -- "{b.host}":"{plan.split_name(b)}"' for a, b in _links(plan)]
    return "\n".join(["graph G {", *lines, "}"]) + "\n"


def to_topo(plan: WiringPlan) -> str:
    """Return systems with their links, each link at both of its ends."""
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
        raise ParameterError("links of one direction cannot be told there; plan with --mode duplex, or export patches")
    return ((connect.a, connect.b) for connect in plan.connects)


FORMATS = {
    "ptm": Format("topology.dot for the Prescriptive Topology Manager", to_ptm),
    "topo": Format("topology file for ibdiagnet and UFM", to_topo),
    "p2p": Format("spreadsheet (.xlsx) for UFM's cable validation tool", to_p2p),
}
