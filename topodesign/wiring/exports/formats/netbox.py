"""NetBox: a plan as the files that fill an empty one, or its cables alone (Connections, Cables, Import).

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
from pathlib import Path

from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind
from topodesign.base.tables import named_columns
from topodesign.base.text_files import read_text
from topodesign.topology.topology import Topology
from topodesign.wiring.exports.cables import COLOURS, colour_of
from topodesign.wiring.exports.format import Format
from topodesign.wiring.inventory.devices import MODES, Fixed, Mode, PortLabels
from topodesign.wiring.inventory.inventory import format_metres
from topodesign.wiring.netbox import model
from topodesign.wiring.netbox.tables import CABLE_ENDS, cable_file, cable_table, import_files
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import Circuit, topology_as_cabled


def to_netbox(plan: WiringPlan) -> dict[str, str]:
    """Return the import files by their names, which sort in the order of the imports."""
    return import_files(replace(model.as_objects(plan.inventory, plan.mode), cables=tuple(netbox_cables(plan))))


def to_netbox_cables(plan: WiringPlan) -> str:
    """Return the CSV of the cables alone, for a NetBox that has the devices."""
    room = plan.inventory
    places = {name: model.site_of(room.place(name).site) for name in (*room.host, *room.panel)}
    return cable_table(netbox_cables(plan), places)


def netbox_cables(plan: WiringPlan) -> Iterator[model.NetboxCable]:
    """Yield the cables of a plan as NetBox has them."""
    room = plan.inventory
    there = {one.source for one in room.cabling}
    for cable in plan.net.wires:
        if cable.kind == "trunk":
            continue
        status, positions = "planned", 1
        if cable.a.lane is not None:
            fixed = Fixed(cable.a.device, cable.a.port, cable.a.lane, cable.b.device, cable.b.port)
            a, b = model.cable_ends(fixed, room.port[fixed.socket].lanes)
            status = model.CONNECTED if fixed.source in there else status
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


def from_netbox(path: Path, plan: WiringPlan, labels: PortLabels | None = None) -> Topology:
    """Return the links that the cables make by those of them that are fixed.

    Names of panel ports may have lost their zeros; ``labels`` takes note.
    """
    labels = labels or PortLabels(plan.inventory.panel_port)
    fixed: list[Fixed] = []
    made: list[Circuit] = []
    lanes = plan.inventory.interfaces
    fibres, rears = dict(front_port_sides(plan)), dict(rear_port_labels(plan))
    led: dict[tuple[str, str], tuple[str, str]] = {}
    for line, row in named_columns(read_text(cable_file(path), (".csv",)), CABLE_ENDS):
        a, b = (
            (row[f"side_{end}_device"], labels.read(row[f"side_{end}_device"], row[f"side_{end}_name"])) for end in "ab"
        )
        types = row["side_a_type"], row["side_b_type"]
        if types == (model.INTERFACE, model.REAR) and a in lanes:
            fixed.append(Fixed(*lanes[a], *b))
        elif types == (model.FRONT, model.REAR) and a in fibres and b in rears:
            led[fibres[a][:2]] = rears[b]
        elif types == (model.FRONT, model.FRONT) and a in fibres and b in fibres:
            made += _made(fibres[a], fibres[b], line)
        else:
            raise FileFormatError(
                f"line {line}: {' '.join(a)} and {' '.join(b)} are no interface and rear port, or front ports"
            )
    return topology_as_cabled(made, fixed, led, plan)


def front_port_sides(plan: WiringPlan) -> Iterator[tuple[tuple[str, str], tuple[str, str, str]]]:
    """Yield panel and name of every front port that there may be, with panel, label and sides; the plan's own last."""
    modes: tuple[Mode, ...] = ("duplex", "simplex") if plan.mode == "simplex" else ("simplex", "duplex")
    for mode in modes:
        for panel, label in plan.inventory.panel_port:
            ends = model.front_ports(plan.inventory, panel, label, mode)
            for front, side in zip(ends, "AB" if len(ends) > 1 else ["AB"], strict=True):
                yield (panel, front.name), (panel, label, side)


def rear_port_labels(plan: WiringPlan) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Yield panel and name of every rear port that there may be, with panel and label."""
    for mode in MODES:
        for key in plan.inventory.panel_port:
            yield from (((key[0], name), key) for name in model.rear_names(plan.inventory, *key, mode))


def _made(a: tuple[str, str, str], b: tuple[str, str, str], line: int) -> list[Circuit]:
    """Return what a cable between front ports makes: it may have been plugged either way round."""
    there, back = Circuit(a[:2], b[:2]), Circuit(b[:2], a[:2])
    made = {("AB", "AB"): [there, back], ("A", "B"): [there], ("B", "A"): [back]}.get((a[2], b[2]))
    if made is None:
        raise FileFormatError(f"line {line}: a cable from side {a[2]} to side {b[2]} carries no light")
    return made


FORMATS = {
    "netbox": Format(
        "files that fill NetBox, in order (or its cables alone, CSV)",
        to_netbox,
        from_netbox,
        others={".csv": to_netbox_cables},
        reads_labels=True,
        kind=FileKind.NETBOX,
    )
}
