"""NetBox: the CSV that its bulk import of cables takes (Connections, Cables, Import).

How things are modelled there, and have to be before the import:

* A host is a device; a lane is an interface, named as the port where that has one lane and ``port/lane`` else.
* A panel or circuit switch is a device. Each of its ports is a rear port of that name, which takes the fixed cable, and
  front ports on it: of simplex panel ports two, named with ``A`` and ``B`` after the label, else one of the same name.
* A patch cord is a cable between front ports; a duplex one between simplex ports is two with the same label. A circuit
  is a cable, too, since NetBox has nothing else that its traces follow.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping

from topodesign.base.errors import ParameterError
from topodesign.wiring.exports.cables import COLOURS, Cable, cables
from topodesign.wiring.inventory.lengths import format_metres
from topodesign.wiring.plan.plan import Plan

COLUMNS = (
    "side_a_device",
    "side_a_type",
    "side_a_name",
    "side_b_device",
    "side_b_type",
    "side_b_name",
    "type",
    "status",
    "label",
    "color",
    "length",
    "length_unit",
)
INTERFACE, FRONT, REAR = "dcim.interface", "dcim.frontport", "dcim.rearport"
_TYPE = "smf-os2"

Lanes = Mapping[tuple[str, str], int]
"""Number of lanes of a port by host and port."""
_End = tuple[str, str, str]


def to_netbox(plan: Plan) -> str:
    """Return the CSV.

    Raises
    ------
    ParameterError
        If a name has a comma, at which NetBox would take it for two, or a duplex patch joins a simplex panel port to a
        duplex one, which is one cable at the one end and two at the other.
    """
    lanes = {(host.name, port.name): port.lanes for host in plan.inventory.hosts for port in host.ports}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for cable in cables(plan):
        length = format_metres(cable.length)
        tail = (_TYPE, "planned", cable.name, COLOURS[cable.colour], length, "m" if length else "")
        for a, b in _terminations(plan, cable, lanes):
            wrong = next((name for name in (*a, *b) if "," in name), None)
            if wrong is not None:
                raise ParameterError(f"NetBox takes a comma for the end of a name; rename {wrong!r}")
            writer.writerow((*a, *b, *tail))
    return out.getvalue()


def interface_name(port: str, lane: int, lanes: int) -> str:
    """Return what the interface of a lane is called."""
    return port if lanes == 1 else f"{port}/{lane}"


def _terminations(plan: Plan, cable: Cable, lanes: Lanes) -> Iterator[tuple[_End, _End]]:
    """Yield the ends of the rows of a cable: one, or one a fibre for a duplex patch between simplex ports."""
    a, b = cable.a, cable.b
    if a.lane is not None:
        yield (a.device, INTERFACE, interface_name(a.port, a.lane, lanes[a.device, a.port])), (b.device, REAR, b.port)
        return
    modes = {plan.inventory.panel_port[end.device, end.port].mode for end in (a, b)}
    if len(modes) > 1:
        raise ParameterError(f"cable {cable.name} joins a simplex to a duplex port, for which NetBox has no cable")
    if modes == {"duplex"}:
        yield (a.device, FRONT, a.port), (b.device, FRONT, b.port)
        return
    for side, other in ("AB", "BA") if plan.mode == "duplex" else ("AB",):
        yield (a.device, FRONT, f"{a.port}{side}"), (b.device, FRONT, f"{b.port}{other}")
