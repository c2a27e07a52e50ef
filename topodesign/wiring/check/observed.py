"""What was really wired: from what hosts hear by LLDP, the circuits that a switch says it has, or the cables of NetBox.

Entries become lanes in :mod:`~topodesign.wiring.check.evidence`. What light arrives, transceivers tell
(``ethtool -m``), see :mod:`~topodesign.wiring.check.light`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_text
from topodesign.wiring.check.evidence import Observed, place_neighbours
from topodesign.wiring.check.light import LIGHT_FILE, Power, light_files, read_power
from topodesign.wiring.check.link_tables import LINK_ENDINGS
from topodesign.wiring.check.lldp import ENDINGS, neighbours_of_files, read_neighbours
from topodesign.wiring.check.names import KnownNames
from topodesign.wiring.check.outputs import Neighbour, Told
from topodesign.wiring.exports.formats.netbox import front_port_sides, rear_port_labels
from topodesign.wiring.inventory.devices import Lane, Panel, PortLabels
from topodesign.wiring.inventory.interfaces import read_interfaces
from topodesign.wiring.netbox.model import CONNECTED, FRONT, INTERFACE, REAR, CableEnd, NetboxCable
from topodesign.wiring.netbox.reading import read_foreign_cables
from topodesign.wiring.netbox.rest import is_address, read_rest_cables
from topodesign.wiring.netbox.tables import cable_file, read_cables
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.drivers import DRIVERS

_BY_ENDING = {ending: driver for driver in DRIVERS.values() for ending in driver.answers}


def known_names(plan: WiringPlan, interfaces: str | Path | None = None) -> KnownNames:
    """Return the names of a plan's hosts and interfaces, with those of a table (CSV ``host,port,interface``)."""
    table = None if interfaces is None else read_interfaces(as_path(interfaces), plan.inventory)
    return KnownNames(plan.inventory, table)


def read_lldp(path: str | Path, plan: WiringPlan, names: KnownNames | None = None) -> Observed:
    """Read what hosts hear.

    The path is of a directory with a file ``HOST.json`` for each host, of one such file, or of a CSV. ``names`` are
    those of hosts and interfaces: the plan's if not given.
    """
    path = as_path(path)
    return place_neighbours(path, read_neighbours(path), plan, names or known_names(plan))


def read_light(path: str | Path, plan: WiringPlan) -> dict[Lane, float]:
    """Read what power arrives at receivers, in dBm, as :func:`~topodesign.wiring.check.light.read_power` does.

    The module of a port tells of all its lanes; where a port has one lane and its module several channels, the weakest
    counts.
    """
    return light_with_notes(path, known_names(plan))[0]


def light_with_notes(path: str | Path, names: KnownNames) -> tuple[dict[Lane, float], tuple[str, ...]]:
    """Read it, and say what was passed over: files without power, and names that the inventory lacks."""
    told = read_power(as_path(path))
    light: dict[Lane, float] = {}
    unknown: dict[str, None] = {}
    for power in told.powers:
        host = names.host(power.host)
        lanes = () if host is None else _lit_lanes(names, host, power)
        if not lanes:
            unknown[f"{power.host} {power.interface}"] = None
        for lane in lanes:
            light[lane] = min(power.dbm, light.get(lane, math.inf))
    notes = [f"no light is known by {words}" for words in told.unread]
    if unknown:
        notes.append(f"light is told of what the inventory lacks: {', '.join(unknown)}")
    return light, tuple(notes)


def _lit_lanes(names: KnownNames, host: str, power: Power) -> tuple[Lane, ...]:
    lane = names.lane(host, power.interface)
    whole = names.whole_port(host, power.interface)
    if power.channel is None:
        return whole if lane is None else (lane,)
    if lane is None and not whole:
        return ()
    port = whole[0].port if lane is None else lane.port
    lanes = names.inventory.port[host, port].lanes
    if lanes == 1:
        return (Lane(host, port, 1),)
    return (Lane(host, port, power.channel),) if power.channel <= lanes else ()


def read_dumps(path: str | Path, plan: WiringPlan, names: KnownNames | None = None) -> Observed:
    """Read a directory of all that hosts and switches tell.

    It has ``HOST.json`` of hosts as :func:`read_lldp` takes them, or other CSV files of neighbours; files named after
    circuit switches as :func:`read_switch` takes them, of all switches or none; and ``light.csv`` as :func:`read_light`
    takes it, or ``*.ethtool`` and ``*.mlxlink``.
    """
    path, names = as_path(path), names or known_names(plan)
    if not path.is_dir():
        raise FileFormatError(f"{path}: this is not a directory")
    switches = plan.inventory.switches
    known = {".csv", *ENDINGS, *LINK_ENDINGS, *_BY_ENDING}
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in known)
    told = [file for file in files if file.stem in switches or file.suffix in _BY_ENDING.keys() - {*ENDINGS}]
    hosts = [file for file in files if file.name != LIGHT_FILE and file not in told]
    if not told and not hosts:
        raise FileFormatError(f"{path}: there is nothing in it; expected HOST.json, SWITCH.json or SWITCH.scpi")
    seen = Observed({}, unseen=frozenset(plan.hosts))
    neighbours = neighbours_of_files(hosts)
    if neighbours.hosts:
        seen = place_neighbours(path, neighbours, plan, names)
    if told:
        circuits, notes = _circuits_heard(path, told, plan)
        taken = set(seen.heard.values())
        fill = {lane: one for lane, one in circuits.items() if lane.host in seen.unseen and one not in taken}
        supposed = frozenset(fill.keys() - seen.heard.keys())
        seen = replace(
            seen,
            circuits=circuits,
            heard=fill | seen.heard,
            unseen=frozenset(),
            supposed=supposed,
            notes=(*seen.notes, *seen.unread, *notes),
        )
    for source in ([path] if light_files(path) else []) + [file for file in files if file.name == LIGHT_FILE]:
        light, notes = light_with_notes(source, names)
        seen = replace(seen, light=seen.light | light, notes=(*seen.notes, *notes))
    return seen


def read_switch(path: str | Path, plan: WiringPlan) -> Observed:
    """Read the circuits that switches have, and what hosts hear then by the fixed cabling of the plan.

    Patches at patch panels are not seen and count as planned.

    The path is of a file named after its switch, which does not matter if there is only one, or of a directory of them:
    ``NAME.json`` with the table ``OCS_CROSS_CONNECT`` of SONiC's CONFIG_DB, or ``NAME.scpi`` with port lists
    ``(@1,2),(@18,17)`` as a Polatis switch answers.
    """
    path = as_path(path)
    files = [f for f in sorted(path.iterdir()) if f.suffix in _BY_ENDING] if path.is_dir() else [path]
    heard, notes = _circuits_heard(path, files, plan)
    return Observed(heard, notes=notes)


def _circuits_heard(path: Path, files: list[Path], plan: WiringPlan) -> tuple[dict[Lane, Lane], tuple[str, ...]]:
    """Return what hosts hear by the circuits that switches tell, and what labels were read for others.

    Patches at panels count as planned.
    """
    switches = plan.inventory.switches
    if not switches:
        raise FileFormatError(f"{path}: the inventory has no circuit switch (kind: ocs), only patch panels")
    circuits = {wire.name for wire in plan.net.crosses if wire.kind == "circuit"}
    heard = {receiver: sender for receiver, (sender, name) in plan.net.hears.items() if name not in circuits}
    seen: set[str] = set()
    spelt = PortLabels(plan.inventory.panel_port)
    for file in files:
        panel = next(iter(switches.values())) if len(switches) == 1 and path == file else switches.get(file.stem)
        if panel is None:
            known = ", ".join(switches)
            raise FileFormatError(f"{file}: the inventory has no circuit switch '{file.stem}'; it has {known}")
        seen.add(panel.name)
        _switch(file, panel, plan, heard, spelt)
    missing = sorted(set(switches) - seen)
    if missing:
        raise FileFormatError(f"{path}: there is no file for switch '{missing[0]}'")
    return heard, spelt.notes


def _switch(file: Path, panel: Panel, plan: WiringPlan, heard: dict[Lane, Lane], spelt: PortLabels) -> None:
    driver = _BY_ENDING.get(file.suffix, _BY_ENDING[".json"])
    labels = {port.label for port in panel.ports}
    sent: set[str] = set()
    with expecting(file, FileKind.CIRCUITS):
        for pair in driver.circuits(read_text(file, driver.answers), panel):
            a, b = (spelt.read(panel.name, label) for label in pair)
            for label in (a, b):
                if label not in labels:
                    raise FileFormatError(f"switch '{panel.name}' has no port '{label[:40]}'")
            sender, receiver = (plan.net.end.get((panel.name, label)) for label in (a, b))
            if sender is None or receiver is None:
                continue  # a circuit between ports that no host is cabled to
            lane = receiver.source
            if lane in heard or a in sent:
                raise FileFormatError(f"two circuits use {f'{b}B' if lane in heard else f'{a}A'}")
            sent.add(a)
            heard[lane] = sender.source


_WRONG = "this is not what link_test.py prints"


def read_link_tests(path: str | Path, plan: WiringPlan, names: KnownNames | None = None) -> Observed:
    """Read what the link tests of hosts printed: a directory of such files, whatever they are called, or one."""
    path = as_path(path)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    entries: list[Neighbour] = []
    hosts: list[str] = []
    problems: list[str] = []
    unread: dict[str, str] = {}
    for file in files:
        try:
            with expecting(file, FileKind.LINK_TEST):
                host, rows, faults = _said(parse_json(read_text(file, (".json",))))
        except FileFormatError as error:
            if len(files) == 1:
                raise
            unread[file.stem] = str(error)
            continue
        hosts.append(host)
        entries += [Neighbour(host, port, other, (far,), None) for port, other, far in rows]
        problems += faults
    if not hosts:
        nothing = f"{path}: there is nothing in it; expected HOST.json of each host, as link_test.py prints"
        raise FileFormatError(next(iter(unread.values()), nothing))
    seen = place_neighbours(path, Told(entries, hosts, unread), plan, names or known_names(plan))
    return replace(seen, faults=(*seen.faults, *problems))


def _said(document: Any) -> tuple[str, list[tuple[str, str, str]], list[str]]:
    """Return the host that said something, what its ports heard of whom, and what is not as written."""
    if not isinstance(document, dict) or document.get("link test") != 1 or not isinstance(document.get("host"), str):
        raise FileFormatError(_WRONG)
    rows, faults = document.get("heard"), document.get("problems")
    if not isinstance(rows, list) or not isinstance(faults, list) or not all(isinstance(one, str) for one in faults):
        raise FileFormatError(_WRONG)
    found = []
    for row in rows:
        if not isinstance(row, list) or len(row) != 3 or not all(isinstance(cell, str) for cell in row):
            raise FileFormatError(_WRONG)
        found.append((row[0], row[1], row[2]))
    return document["host"], found, faults


_Side = tuple[str, str, str]  # panel, label and sides of a front port

_Port = tuple[str, str]


def read_as_built(source: str | Path, plan: WiringPlan) -> Observed:
    """Read what NetBox has of the cables of a plan.

    The source is the address of a server, or the path of a CSV, what NetBox exports of its list of cables or its import
    file, or of a directory with one of these.
    """
    if is_address(source):
        cables: Iterable[NetboxCable] = read_rest_cables(str(source))
    else:
        path = cable_file(as_path(source))
        foreign = read_foreign_cables(as_path(source)) if as_path(source).is_dir() else None
        with expecting(path, FileKind.NETBOX):
            cables = read_cables(path, plan.inventory.panel.__contains__) if foreign is None else foreign
    found = _Built(plan, cables)
    if not found.fixed and not found.patches:
        raise FileFormatError(f"{source}: there is no cable of the devices of the plan")
    return found.observed()


class _Built:
    """The cables between lanes and panel ports, as NetBox has them."""

    def __init__(self, plan: WiringPlan, cables: Iterable[NetboxCable]) -> None:
        self.plan = plan
        self.lanes: dict[CableEnd, list[Lane]] = {}
        for (host, name), one in plan.inventory.interfaces.items():
            for alias in {name, f"{name} ({one.port})"}:  # an export shows the label behind the name
                self.lanes[CableEnd(host, INTERFACE, alias)] = [one]
            if name != one.port:  # or one interface for all lanes, on a breakout cable
                self.lanes.setdefault(CableEnd(host, INTERFACE, one.port), []).append(one)
        self.sides = {CableEnd(panel, FRONT, name): side for (panel, name), side in front_port_sides(plan)}
        self.rears = dict(rear_port_labels(plan))
        self.near = {(trunk.near, trunk.near_port) for trunk in plan.inventory.trunks}
        self.trunks: dict[_Port, dict[str, tuple[_Port, str]]] = {}
        self.fixed: dict[tuple[Lane, _Port], str] = {}
        self.patches: dict[frozenset[_Side], str] = {}
        for cable in cables:
            self._add(cable)
        self.lane_at = {self._behind(port): lane for (lane, port), status in self.fixed.items() if status == CONNECTED}

    def _add(self, cable: NetboxCable) -> None:
        for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
            lanes = [lane for end in near for lane in self.lanes.get(end, ())]
            ports = [(end.device, end.name) for end in far if end.kind == REAR]
            for lane, port in zip(lanes, ports, strict=False):
                self.fixed[lane, port] = cable.status
            for end, other in zip(near, far, strict=False):  # an export does not tell rear from front ports
                panel, label, side = self.sides.get(end, ("", "", ""))
                if (panel, label) in self.near and end.kind == FRONT:
                    there = self.rears.get((other.device, other.name), (other.device, other.name))
                    self.trunks.setdefault((panel, label), {})[side] = there, cable.status
                    return
        sides = [self.sides[end] for end in (*cable.a, *cable.b) if end in self.sides]
        if len(sides) == len(cable.a) + len(cable.b) and len(cable.a) == len(cable.b):
            half = len(cable.a)
            self.patches |= {frozenset(pair): cable.status for pair in zip(sides[:half], sides[half:], strict=True)}

    def _behind(self, port: _Port) -> _Port:
        """Return the port that a lane reaches from where it is plugged in: that of a trunk that is whole."""
        if port not in self.near:
            return port
        ends = {there for there, _ in self.trunks.get(port, {}).values()}
        return next(iter(ends)) if len(ends) == 1 and self._trunk_status(port) == CONNECTED else port

    def _trunk_status(self, port: _Port) -> str | None:
        """Return that of the cables of a trunk, by the port where hosts plug in; None if they are not there."""
        cables = self.trunks.get(port, {})
        if cables.keys() not in ({"A", "B"}, {"AB"}):
            return None
        return next((status for _, status in cables.values() if status != CONNECTED), CONNECTED)

    def observed(self) -> Observed:
        """Return what receivers hear, and why others hear nothing."""
        heard: dict[Lane, Lane] = {}
        faults = []
        for patch in (patch for patch, status in self.patches.items() if status == CONNECTED):
            ends = sorted(patch, key=lambda end: end[2])
            sides = tuple(end[2] for end in ends)
            if sides not in {("A", "B"), ("AB", "AB")}:
                there = " and ".join(f"{panel} {label}{side}" for panel, label, side in ends)
                faults.append(f"NetBox has a cable between {there}, which carries no light")
                continue
            for sender, receiver in (ends, ends[::-1])[: 2 if sides == ("AB", "AB") else 1]:
                if sender[:2] in self.lane_at and receiver[:2] in self.lane_at:
                    heard[self.lane_at[receiver[:2]]] = self.lane_at[sender[:2]]
        return Observed(heard, unbuilt=dict(self._unbuilt(heard)), faults=tuple(faults))

    def _unbuilt(self, heard: Collection[Lane]) -> Iterator[tuple[Lane, str]]:
        """Yield the receivers that should hear something and do not, with the cables on the way that are not there."""
        for path in self.plan.net.paths:
            leads = path.sender, path.receiver
            patch = frozenset((*lead.end.place, side) for lead, side in zip(leads, path.sides, strict=True))
            told = [(lead.fixed.name, self.fixed.get((lead.end.source, lead.places[0]))) for lead in leads]
            told.insert(1, (path.cross.name, self.patches.get(patch)))
            told += [(one.trunk.name, self._trunk_status(one.places[0])) for one in leads if one.trunk is not None]
            lacking = [
                f"{label} is {'not there' if status is None else status}"
                for label, status in told
                if status != CONNECTED
            ]
            for lane in (one.end.source for one in (leads[1:] if self.plan.mode == "simplex" else leads)):
                if lane not in heard and lacking:
                    yield lane, f"in NetBox {' and '.join(lacking)}"
