"""Cables from NetBox, patch lists and switches, and the resulting neighbours.

What is reported is a partial net: fixed cables, trunks behind these, and patches, each with whether it is there. A plan
that was exported comes back by the same readers, so that it is compared with the plan as what was wired is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind, expecting, kind_of
from topodesign.base.tables import named_columns
from topodesign.base.text_files import read_text
from topodesign.wiring.check.evidence import Observed
from topodesign.wiring.exports.formats.patches import COLUMNS
from topodesign.wiring.inventory.devices import MODES, Lane, Mode, Panel, PortLabels, is_number
from topodesign.wiring.netbox import model
from topodesign.wiring.netbox.model import CONNECTED, FRONT, INTERFACE, REAR, CableEnd, NetboxCable
from topodesign.wiring.netbox.reading import read_foreign_cables
from topodesign.wiring.netbox.rest import is_address, read_rest_cables
from topodesign.wiring.netbox.tables import cable_file, read_cables
from topodesign.wiring.plan.cross_connects import Fibre
from topodesign.wiring.plan.net import PanelEnd
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.drivers import DRIVERS

DRIVER_OF = {ending: driver for driver in DRIVERS.values() for ending in driver.answers}
"""The kind of switch by the ending of a file of its answers."""


class ToldCables:
    """Cables reported by ``source``, with status ``connected`` or another.

    Attributes
    ----------
    fixed
        Status of fixed cables, by the lane and the panel port where it is plugged in.
    trunks
        Trunks behind the ports where hosts plug in: by the sides of that port, where they lead and their status.
    patches
        Status of patches and circuits by their two ends.
    faults
        What cannot be, in words.
    """

    def __init__(self, plan: WiringPlan, source: str) -> None:
        self.plan, self.source = plan, source
        self.fixed: dict[tuple[Lane, PanelEnd], str] = {}
        self.trunks: dict[PanelEnd, dict[str, tuple[PanelEnd, str]]] = {}
        self.patches: dict[frozenset[Fibre], str] = {}
        self.faults: list[str] = []
        self._plugged: set[Fibre] = set()

    def patch(self, a: Fibre, b: Fibre, status: str = CONNECTED) -> Fibre | None:
        """Add a patch or circuit; return its first occupied end, if any."""
        ends = [end._replace(side=side) for end in (a, b) for side in end.side]
        taken = next((end for end in ends if end in self._plugged), None)
        self._plugged.update(ends)
        self.patches[frozenset((a, b))] = status
        if taken is not None:
            self.faults.append(f"{self.source} has two cables at {taken.panel} {taken.panel_port}{taken.side}")
        return taken

    def heard(self) -> dict[Lane, Lane]:
        """Return the sender that each lane hears over connected cables."""
        lane_at: dict[PanelEnd, Lane] = {}
        for (lane, port), status in self.fixed.items():
            if status == CONNECTED and lane_at.setdefault(self._behind(port), lane) != lane:
                self.faults.append(f"{self.source} has two lanes at {' '.join(port)}")
        heard: dict[Lane, Lane] = {}
        for patch in (patch for patch, status in self.patches.items() if status == CONNECTED):
            ends = sorted(patch, key=lambda end: end.side)
            sides = tuple(end.side for end in ends)
            if sides not in {("A", "B"), ("AB", "AB")}:
                there = " and ".join(f"{end.panel} {end.panel_port}{end.side}" for end in ends)
                self.faults.append(f"{self.source} has a cable between {there}, which carries no light")
                continue
            for sender, receiver in (ends, ends[::-1])[: 2 if sides == ("AB", "AB") else 1]:
                if sender[:2] in lane_at and receiver[:2] in lane_at:
                    heard[lane_at[receiver[:2]]] = lane_at[sender[:2]]
        return heard

    def observed(self, notes: tuple[str, ...] = ()) -> Observed:
        """Return the observations, with reasons for silent receivers."""
        if not self.fixed and not self.patches:
            raise FileFormatError("there is no cable of the devices of the plan")
        heard = self.heard()
        unbuilt = {lane: words for lane, words in self._unbuilt() if lane not in heard}
        return Observed(heard, unbuilt=unbuilt, faults=tuple(self.faults), notes=notes)

    def _behind(self, port: PanelEnd) -> PanelEnd:
        """Return the port behind a trunk, or the port itself."""
        ends = {there for there, _ in self.trunks.get(port, {}).values()}
        return next(iter(ends)) if len(ends) == 1 and self._trunk_status(port) == CONNECTED else port

    def _trunk_status(self, port: PanelEnd) -> str | None:
        """Return the status of a trunk's cables; None if incomplete."""
        cables = self.trunks.get(port, {})
        if cables.keys() not in ({"A", "B"}, {"AB"}):
            return None
        return next((status for _, status in cables.values() if status != CONNECTED), CONNECTED)

    def _unbuilt(self) -> Iterator[tuple[Lane, str]]:
        """Yield receivers with missing cables on their paths, and these cables."""
        for path in self.plan.net.paths:
            leads = path.sender, path.receiver
            patch = frozenset(Fibre(*lead.end.place, side) for lead, side in zip(leads, path.sides, strict=True))
            told = [(lead.fixed.name, self.fixed.get((lead.end.source, lead.places[0]))) for lead in leads]
            told.insert(1, (path.cross.name, self.patches.get(patch)))
            told += [(one.trunk.name, self._trunk_status(one.places[0])) for one in leads if one.trunk is not None]
            lacking = [
                f"{label} is {'not there' if status is None else status}"
                for label, status in told
                if status != CONNECTED
            ]
            for lane in (one.end.source for one in (leads[1:] if self.plan.mode == "simplex" else leads)):
                if lacking:
                    yield lane, f"in {self.source} {' and '.join(lacking)}"


def read_as_built(source: str | Path, plan: WiringPlan, *, exported: bool = False) -> Observed:
    """Read the cables of a plan from NetBox.

    The source is the address of a server, or the path of a CSV, what NetBox exports of its list of cables or its import
    file, or of a directory with one of these. ``exported``: whether what is only planned counts as there.
    """
    labels = PortLabels(plan.inventory.panel_port)
    if is_address(source):
        cables: Iterable[NetboxCable] = read_rest_cables(str(source))
    else:
        path = cable_file(as_path(source))
        foreign = read_foreign_cables(as_path(source)) if as_path(source).is_dir() else None
        with expecting(path, FileKind.NETBOX):
            cables = read_cables(path, plan.inventory.panel.__contains__) if foreign is None else foreign
    told = _NetboxNames(plan, labels)
    for cable in cables:
        told.add(cable, CONNECTED if exported else cable.status)
    try:
        return told.cables.observed(labels.notes)
    except FileFormatError as error:
        raise FileFormatError(f"{source}: {error}") from None


class _NetboxNames:
    """NetBox cables, interpreted by the names in a plan."""

    def __init__(self, plan: WiringPlan, labels: PortLabels) -> None:
        self.cables, self.labels, self.panels = ToldCables(plan, "NetBox"), labels, plan.inventory.panel
        self.leads_to = plan.inventory.leads_to
        self.lanes: dict[CableEnd, list[Lane]] = {}
        for (host, name), one in plan.inventory.interfaces.items():
            for alias in {name, f"{name} ({one.port})"}:  # an export shows the label behind the name
                self.lanes[CableEnd(host, INTERFACE, alias)] = [one]
            if name != one.port:  # or one interface for all lanes, on a breakout cable
                self.lanes.setdefault(CableEnd(host, INTERFACE, one.port), []).append(one)
        self.sides: dict[CableEnd, Fibre] = {}
        self.rears: dict[PanelEnd, PanelEnd] = {}
        modes: tuple[Mode, ...] = ("duplex", "simplex") if plan.mode == "simplex" else ("simplex", "duplex")
        for mode in modes:  # the plan's own last
            for panel, label in plan.inventory.panel_port:
                ends = model.front_ports(plan.inventory, panel, label, mode)
                for front, side in zip(ends, "AB" if len(ends) > 1 else ["AB"], strict=True):
                    self.sides[CableEnd(panel, FRONT, front.name)] = Fibre(panel, label, side)
        for mode in MODES:
            for key in plan.inventory.panel_port:
                self.rears |= dict.fromkeys(
                    ((key[0], name) for name in model.rear_names(plan.inventory, *key, mode)), key
                )

    def add(self, cable: NetboxCable, status: str) -> None:
        """Add a cable; ignore cables of other devices."""
        told, sides = self.cables, self.sides
        a, b = (tuple(map(self._meant, ends)) for ends in (cable.a, cable.b))
        for near, far in ((a, b), (b, a)):
            lanes = [lane for end in near for lane in self.lanes.get(end, ())]
            ports = [(end.device, end.name) for end in far if end.kind == REAR]
            for lane, port in zip(lanes, ports, strict=False):
                told.fixed[lane, port] = status
            for end, other in zip(near, far, strict=False):  # an export does not tell rear from front ports
                front = sides.get(end)
                if front is not None and front[:2] in self.leads_to and end.kind == FRONT:
                    there = self.rears.get((other.device, other.name), (other.device, other.name))
                    told.trunks.setdefault(front[:2], {})[front.side] = there, status
                    return
        if len(a) == len(b) and all(end in sides for end in (*a, *b)):
            for one, other in zip(a, b, strict=True):
                told.patch(sides[one], sides[other], status)

    def _meant(self, end: CableEnd) -> CableEnd:
        return end._replace(name=self.labels.read(end.device, end.name)) if end.device in self.panels else end


def read_patches(path: Path, plan: WiringPlan) -> Observed:
    """Read a patch list as exported by ``wire export --format patches``."""
    told, labels, room = ToldCables(plan, "the list of patches"), PortLabels(plan.inventory.panel_port), plan.inventory
    with expecting(path, FileKind.PATCHES):
        for line, row in named_columns(read_text(path, (".csv",)), COLUMNS):
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
        return told.observed(labels.notes)


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
    told = ToldCables(plan, "the switches")
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


def _read_circuits(file: Path, panel: Panel, told: ToldCables, spelt: PortLabels) -> None:
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
