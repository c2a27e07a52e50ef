"""NetBox: the CSV that its bulk import of cables takes (Connections, Cables, Import).

How things are modelled there, and have to be before the import:

* A host is a device; a lane is an interface, named as the port where that has one lane and ``port/lane`` else.
* A panel or circuit switch is a device. Each of its ports is a rear port of that name, which takes the fixed cable, and
  front ports on it: of simplex panel ports two, named with ``A`` and ``B`` after the label, else one of the same name.
* A patch cord is a cable between front ports; a duplex one between simplex ports is two with the same label. A circuit
  is a cable, too, since NetBox has nothing else that its traces follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.tables import named_columns, write_csv
from topodesign.base.text_files import read_text
from topodesign.topology.topology import Topology
from topodesign.wiring.exports.cables import COLOURS, Cable, cables
from topodesign.wiring.inventory.inventory import Fixed, Inventory, interface_name, lanes_of
from topodesign.wiring.inventory.lengths import format_metres
from topodesign.wiring.plan.circuits import Circuit, recabled, topology_of
from topodesign.wiring.plan.plan import WiringPlan

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


def to_netbox(plan: WiringPlan) -> str:
    """Return the CSV.

    Raises
    ------
    ParameterError
        If a name has a comma, at which NetBox would take it for two, or a duplex patch joins a simplex panel port to a
        duplex one, which is one cable at the one end and two at the other.
    """
    lanes = {(host.name, port.name): port.lanes for host in plan.inventory.hosts for port in host.ports}
    rows: list[tuple[object, ...]] = [COLUMNS]
    for cable in cables(plan):
        length = format_metres(cable.length)
        tail = (_TYPE, "planned", cable.name, COLOURS[cable.colour], length, "m" if length else "")
        for a, b in _terminations(plan, cable, lanes):
            wrong = next((name for name in (*a, *b) if "," in name), None)
            if wrong is not None:
                raise ParameterError(f"NetBox takes a comma for the end of a name; rename {wrong!r}")
            rows.append((*a, *b, *tail))
    return write_csv(rows)


def _terminations(plan: WiringPlan, cable: Cable, lanes: Lanes) -> Iterator[tuple[_End, _End]]:
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


def from_netbox(path: Path, plan: WiringPlan) -> Topology:
    """Return the links that the cables make by those of them that are fixed.

    Raises
    ------
    FileFormatError
        If it cannot be read; the message names the line.
    TopologyError, InventoryError
        If what it says cannot be cabled so.
    """
    fixed: list[Fixed] = []
    made: list[Circuit] = []
    lanes = {
        (host.name, interface_name(port.name, lane, port.lanes)): (port.name, lane)
        for host in plan.inventory.hosts
        for port, lane in lanes_of(host)
    }
    fibres = dict(_front_ports(plan.inventory))
    for line, row in named_columns(read_text(path, (".csv",)), COLUMNS):
        a, b = (row["side_a_device"], row["side_a_name"]), (row["side_b_device"], row["side_b_name"])
        types = row["side_a_type"], row["side_b_type"]
        if types == (INTERFACE, REAR) and a in lanes:
            fixed.append(Fixed(a[0], *lanes[a], *b))
        elif types == (FRONT, FRONT) and a in fibres and b in fibres:
            made += _made(fibres[a], fibres[b], line)
        else:
            raise FileFormatError(
                f"line {line}: {' '.join(a)} and {' '.join(b)} are no interface and rear port, or front ports"
            )
    return topology_of(made, recabled(plan, fixed))


def _front_ports(inventory: Inventory) -> Iterator[tuple[tuple[str, str], tuple[str, str, str]]]:
    """Yield panel and name of every front port, with panel, label and sides."""
    for panel in inventory.panels:
        for port in panel.ports:
            if port.mode == "duplex":
                yield (panel.name, port.label), (panel.name, port.label, "AB")
            else:
                for side in "AB":
                    yield (panel.name, f"{port.label}{side}"), (panel.name, port.label, side)


def _made(a: tuple[str, str, str], b: tuple[str, str, str], line: int) -> list[Circuit]:
    """Return what a cable between front ports makes: it may have been plugged either way round."""
    there, back = Circuit(a[:2], b[:2]), Circuit(b[:2], a[:2])
    made = {("AB", "AB"): [there, back], ("A", "B"): [there], ("B", "A"): [back]}.get((a[2], b[2]))
    if made is None:
        raise FileFormatError(f"line {line}: a cable from side {a[2]} to side {b[2]} carries no light")
    return made
