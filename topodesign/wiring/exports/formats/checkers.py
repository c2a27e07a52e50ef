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

from topodesign.base.errors import MissingLibraryError, ParameterError
from topodesign.wiring.exports.format import Format
from topodesign.wiring.inventory.inventory import interface_name
from topodesign.wiring.plan.cross_connects import End
from topodesign.wiring.plan.plan import WiringPlan

P2P_COLUMNS = ("A-Node Name", "A-Type", "A-Port", "Z-Node Name", "Z-Type", "Z-Port")

_MIDNIGHT = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can tell


def to_ptm(plan: WiringPlan) -> str:
    """Return a graph in DOT; lanes of a port are named as Linux names the parts of a split port, ``PORTs0``."""
    lines = [f'  "{a.host}":"{_split(plan, a)}" -- "{b.host}":"{_split(plan, b)}"' for a, b in _links(plan)]
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
    """Return a spreadsheet (.xlsx) with a row for each link; needs openpyxl."""
    try:
        from openpyxl import Workbook  # noqa: PLC0415  heavy and optional
    except ImportError:
        raise MissingLibraryError("a spreadsheet needs openpyxl: pip install 'topodesign[spreadsheet]'") from None
    book = Workbook(write_only=True)
    sheet = book.create_sheet("P2P")
    sheet.append(P2P_COLUMNS)
    for a, b in _links(plan):
        sheet.append([a.host, "Host", plan.interface(a), b.host, "Host", plan.interface(b)])
    data = io.BytesIO()
    book.save(data)
    return _timeless(data)


def _timeless(data: io.BytesIO) -> bytes:
    """Return a spreadsheet without the time at which it was made: the same plan is the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(data) as made, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in made.namelist():
            if name != "docProps/core.xml":
                target.writestr(zipfile.ZipInfo(name, _MIDNIGHT), made.read(name), zipfile.ZIP_DEFLATED)
            else:
                target.writestr(zipfile.ZipInfo(name, _MIDNIGHT), _PROPERTIES)
    return out.getvalue()


_PROPERTIES = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator>topodesign</dc:creator></cp:coreProperties>'
)


def _links(plan: WiringPlan) -> Iterator[tuple[End, End]]:
    if plan.mode == "simplex":
        raise ParameterError("links of one direction cannot be told there; plan with --mode duplex, or export patches")
    return ((connect.a, connect.b) for connect in plan.connects)


def _split(plan: WiringPlan, end: End) -> str:
    whole = plan.interface(end) == interface_name(end.port, end.lane, 1)
    return end.port if whole else f"{end.port}s{end.lane - 1}"


FORMATS = {
    "ptm": Format("topology.dot for the Prescriptive Topology Manager", to_ptm),
    "topo": Format("topology file for ibdiagnet and UFM", to_topo),
    "p2p": Format("spreadsheet (.xlsx) for UFM's cable validation tool", to_p2p),
}
