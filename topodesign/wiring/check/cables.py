"""Cables from NetBox, patch lists and switches, and the resulting neighbours.

What is reported is a partial net: fixed cables, trunks behind these, and patches, each with whether it is there. A plan
that was exported comes back by the same readers, so that it is compared with the plan as what was wired is.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind, expecting, kind_of
from topodesign.base.tables import read_named_columns
from topodesign.base.text_files import read_text
from topodesign.wiring.check.evidence import Observed
from topodesign.wiring.exports.formats.patches import COLUMNS
from topodesign.wiring.inventory.devices import Lane, Mode, Panel, PortLabels, is_number
from topodesign.wiring.netbox import model
from topodesign.wiring.netbox.model import INTERFACE, CableEnd, NetboxCable
from topodesign.wiring.netbox.paths import CablePaths, EndNames
from topodesign.wiring.netbox.reading import paths_of
from topodesign.wiring.netbox.rest import is_address, read_rest_cables
from topodesign.wiring.netbox.tables import cable_file, read_cables, read_tables
from topodesign.wiring.plan.cross_connects import Fibre
from topodesign.wiring.plan.net import CONNECTED, PanelEnd, PartialNet
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.drivers import DRIVERS

DRIVER_OF = {ending: driver for driver in DRIVERS.values() for ending in driver.answers}
"""The kind of switch by the ending of a file of its answers."""


def observe_wires(told: PartialNet, plan: WiringPlan, notes: tuple[str, ...] = ()) -> Observed:
    """Return what hosts hear over reported wires, with reasons for silent receivers."""
    if not told.fixed and not told.patches:
        raise FileFormatError("there is no cable of the devices of the plan")
    heard = told.heard()
    unbuilt = {lane: words for lane, words in told.lacking(plan.net) if lane not in heard}
    return Observed(heard, unbuilt=unbuilt, faults=tuple(told.faults), notes=notes)


def read_as_built(source: str | Path, plan: WiringPlan, *, exported: bool = False) -> Observed:
    """Read the cables of a plan from NetBox.

    The source is the address of a server, or the path of a CSV, what NetBox exports of its list of cables or its import
    file, or of a directory with one of these. ``exported``: whether what is only planned counts as there.
    """
    names, told = _names_of(plan), PartialNet("NetBox")
    if is_address(source):
        cables: Iterable[NetboxCable] = read_rest_cables(str(source))
    else:
        path = cable_file(as_path(source))
        foreign = _foreign_paths(as_path(source))
        with expecting(path, FileKind.NETBOX):
            cables = read_cables(path, plan.inventory.panel.__contains__) if foreign is None else ()
        told = told if foreign is None else foreign.net(names, "NetBox", exported=exported)
    for cable in cables:
        names.add(told, cable, CONNECTED if exported else cable.status)
    try:
        return observe_wires(told, plan, names.labels.notes)
    except FileFormatError as error:
        raise FileFormatError(f"{source}: {error}") from None


def _foreign_paths(path: Path) -> CablePaths | None:
    """Return the paths in a directory through panels that others modelled.

    None if there are none, or if the directory lacks other tables than that of cables.
    """
    try:
        paths = paths_of(read_tables(path)) if path.is_dir() else None
    except FileFormatError:
        return None
    return paths if paths is not None and paths.foreign else None


def _names_of(plan: WiringPlan) -> EndNames:
    """Return the lanes and panel ports of a plan by their names in NetBox."""
    room = plan.inventory
    lanes: dict[CableEnd, list[Lane]] = {}
    for (host, name), one in room.interfaces.items():
        for alias in {name, f"{name} ({one.port})"}:  # an export shows the label behind the name
            lanes[CableEnd(host, INTERFACE, alias)] = [one]
        if name != one.port:  # or one interface for all lanes, on a breakout cable
            lanes.setdefault(CableEnd(host, INTERFACE, one.port), []).append(one)
    fronts: dict[PanelEnd, Fibre] = {}
    rears: dict[PanelEnd, PanelEnd] = {}
    modes: tuple[Mode, ...] = ("duplex", "simplex") if plan.mode == "simplex" else ("simplex", "duplex")
    for mode in modes:  # the plan's own last
        for panel, label in room.panel_port:
            ends = model.front_ports(room, panel, label, mode)
            for front, side in zip(ends, "AB" if len(ends) > 1 else ["AB"], strict=True):
                fronts[panel, front.name] = Fibre(panel, label, side)
            rears |= dict.fromkeys(
                ((panel, name) for name in model.rear_names(room, panel, label, mode)), (panel, label)
            )
    return EndNames(lanes, fronts, rears, room.leads_to, PortLabels(room.panel_port))


def read_patches(path: Path, plan: WiringPlan) -> Observed:
    """Read a patch list as exported by ``wire export --format patches``."""
    told, labels, room = PartialNet("the list of patches"), PortLabels(plan.inventory.panel_port), plan.inventory
    with expecting(path, FileKind.PATCHES):
        for line, row in read_named_columns(read_text(path, (".csv",)), COLUMNS):
            a, b = ((row[f"{end}_device"], labels.read(row[f"{end}_device"], row[f"{end}_port"])) for end in "ab")
            kind, sides = row["kind"], (row["a_side"].replace("+", ""), row["b_side"].replace("+", ""))
            number = int(row["a_lane"]) if is_number(row["a_lane"]) else 0
            known = b in room.panel_port and (a in room.panel_port if kind != "fixed" else a in room.port)
            if kind == "fixed" and known and 0 < number <= room.port[a].lanes:
                told.fixed[Lane(*a, number), b] = CONNECTED
            elif kind == "trunk" and known and sides == ("AB", "AB"):
                told.trunks[a] = {"AB": (b, CONNECTED)}
            elif kind in {"patch", "circuit"} and known and sides in {("A", "B"), ("AB", "AB")}:
                told.patch(Fibre(*a, sides[0]), Fibre(*b, sides[1]))
            else:
                ends = f"from {' '.join(a)} to {' '.join(b)}, lane {row['a_lane']!r}, sides {sides}"
                raise FileFormatError(f"line {line}: no cable of the plan can be of kind {kind!r} {ends}")
        return observe_wires(told, plan, labels.notes)


def read_switch(path: str | Path, plan: WiringPlan) -> Observed:
    """Read switch circuits and derive what hosts hear over them.

    Patches at patch panels are not seen and count as planned.

    The path is of a file named after its switch, which does not matter if there is only one, or of a directory of them:
    ``NAME.json`` with the table ``OCS_CROSS_CONNECT`` of SONiC's CONFIG_DB, or ``NAME.scpi`` with port lists
    ``(@1,2),(@18,17)`` as a Polatis switch answers.
    """
    path = as_path(path)
    files = [file for file in sorted(path.iterdir()) if file.suffix in DRIVER_OF] if path.is_dir() else [path]
    heard, notes = heard_by_circuits(path, files, plan)
    return Observed(heard, notes=notes)


def heard_by_circuits(path: Path, files: list[Path], plan: WiringPlan) -> tuple[dict[Lane, Lane], tuple[str, ...]]:
    """Return the neighbours of hosts over circuits, and notes on labels.

    Patches at panels count as planned.
    """
    switches = plan.inventory.switches
    if not switches:
        raise FileFormatError(f"{path}: the inventory has no circuit switch (kind: ocs), only patch panels")
    told = PartialNet("the switches")
    told.fixed = {(end.source, place): CONNECTED for place, end in plan.net.end.items()}
    for path_ in plan.net.paths:
        if path_.cross.kind == "patch":
            told.patch(Fibre(*path_.sender.end.place, path_.sides[0]), Fibre(*path_.receiver.end.place, path_.sides[1]))
    seen: set[str] = set()
    spelt = PortLabels(plan.inventory.panel_port)
    for file in files:
        panel = next(iter(switches.values())) if len(switches) == 1 and path == file else switches.get(file.stem)
        if panel is None:
            known = ", ".join(switches)
            raise FileFormatError(f"{file}: the inventory has no circuit switch '{file.stem}'; it has {known}")
        seen.add(panel.name)
        _read_circuits(file, panel, told, spelt)
    missing = sorted(set(switches) - seen)
    if missing:
        raise FileFormatError(f"{path}: there is no file for switch '{missing[0]}'")
    return told.heard(), spelt.notes


def _read_circuits(file: Path, panel: Panel, told: PartialNet, spelt: PortLabels) -> None:
    driver = DRIVER_OF.get(file.suffix, DRIVER_OF[".json"])
    labels = {port.label for port in panel.ports}
    with expecting(file, FileKind.CIRCUITS):
        for pair in driver.circuits(read_text(file, driver.answers), panel):
            a, b = (spelt.read(panel.name, label) for label in pair)
            for label in (a, b):
                if label not in labels:
                    raise FileFormatError(f"switch '{panel.name}' has no port '{label[:40]}'")
            taken = told.patch(Fibre(panel.name, a, "A"), Fibre(panel.name, b, "B"))
            if taken is not None:
                raise FileFormatError(f"two circuits use {taken.panel_port}{taken.side}")


def read_export(path: str | Path, plan: WiringPlan) -> Observed:
    """Read an export of ``wire export``: patches, netbox, sonic or scpi."""
    path = as_path(path)
    if path.is_dir():
        switched = any(
            path.joinpath(name + driver.ending).is_file()
            for name in plan.inventory.switches
            for driver in DRIVERS.values()
        )
        return read_switch(path, plan) if switched else read_as_built(path, plan, exported=True)
    with expecting(path, FileKind.PATCHES, FileKind.NETBOX, FileKind.CIRCUITS):
        kind = kind_of(path)
        if kind is FileKind.CIRCUITS or path.suffix == DRIVERS["scpi"].ending:
            return read_switch(path, plan)
        return read_patches(path, plan) if kind is FileKind.PATCHES else read_as_built(path, plan, exported=True)
