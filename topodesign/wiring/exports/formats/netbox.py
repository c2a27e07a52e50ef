"""NetBox files of a plan, or of its cables alone.

Devices and ports are as :mod:`topodesign.wiring.netbox.model` has them. Beyond the fixed cables there is:

* A patch cord is a cable between front ports. In a simplex plan it goes from a side ``A`` to a side ``B``; in a duplex
  plan, in which a panel port has one front port, it is one cable, too, so that its length counts once.
* A circuit is a cable as well, since NetBox has nothing else that its traces follow.

Fixed cabling that the inventory has and trunks are ``connected``, all else ``planned``. Every cable has a profile,
without which NetBox 4.5 and later trace none through a rear port of two positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from topodesign.wiring.exports.cables import COLOURS, colour_of
from topodesign.wiring.exports.format import Content, Format
from topodesign.wiring.inventory.devices import Fixed
from topodesign.wiring.inventory.inventory import format_metres
from topodesign.wiring.netbox import model
from topodesign.wiring.netbox.tables import cable_table, import_files
from topodesign.wiring.plan.net import CONNECTED
from topodesign.wiring.plan.plan import WiringPlan


def to_netbox(plan: WiringPlan, ending: str = "") -> Content:
    """Return the import files by name, sorted in import order.

    If the ending is ``.csv``, the table of the cables alone, for a NetBox that has the devices.
    """
    if ending == ".csv":
        return to_netbox_cables(plan)
    return import_files(replace(model.as_objects(plan.inventory, plan.mode), cables=tuple(netbox_cables(plan))))


def to_netbox_cables(plan: WiringPlan) -> str:
    """Return the CSV of the cables alone.

    NetBox imports it under Connections, Cables, Import.
    """
    room = plan.inventory
    places = {name: model.site_of(room.place(name).site) for name in (*room.host, *room.panel)}
    return cable_table(netbox_cables(plan), places)


def netbox_cables(plan: WiringPlan) -> Iterator[model.NetboxCable]:
    """Yield the cables of a plan as NetBox cables."""
    room = plan.inventory
    there = {one.source for one in room.cabling}
    for cable in plan.net.wires:
        if cable.kind == "trunk":
            continue
        status, positions = "planned", 1
        if cable.a.lane is not None:
            fixed = Fixed(cable.a.device, cable.a.port, cable.a.lane, cable.b.device, cable.b.port)
            a, b = model.cable_ends(fixed, room.port[fixed.socket].lanes)
            status = CONNECTED if fixed.source in there else status
            positions = len(model.sides_of(room, fixed.panel, fixed.panel_port, plan.mode))
        else:
            a, b = (
                model.CableEnd(end.device, model.FRONT, f"{end.port}{side if plan.mode == 'simplex' else ''}")
                for end, side in ((cable.a, "A"), (cable.b, "B"))
            )
        profile, colour, metres = (
            model.PROFILES[positions],
            COLOURS[colour_of(cable)],
            format_metres(plan.net.length(cable)),
        )
        yield model.NetboxCable(cable.name, status, (a,), (b,), profile, colour, metres)
    yield from model.trunk_cables(room, plan.mode)


FORMATS = {
    "netbox": Format("files that fill NetBox, in order (or its cables alone, CSV)", to_netbox, takes=("ending",))
}
