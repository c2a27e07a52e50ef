"""What was really wired: from what hosts hear by LLDP, the circuits that a switch says it has, or the cables of NetBox.

An interface may have several neighbours: network cards speak LLDP themselves, without the name of their host, and what
has gone is remembered for some minutes. So hosts count rather than strangers, and of hosts the last to come. Where
that cannot be told, something may lie between that passes LLDP on; it is said, and counts as planned.

What light arrives, transceivers tell (``ethtool -m``), see :mod:`~topodesign.wiring.check.outputs`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_text
from topodesign.wiring.check.lldp import ENDINGS, neighbours_of_files, neighbours_of_table, read_neighbours
from topodesign.wiring.check.outputs import ETHTOOL, LIGHT_FILE, Neighbour, read_power
from topodesign.wiring.exports.formats.netbox import front_port_sides, netbox_cables, rear_port_labels
from topodesign.wiring.inventory.devices import Lane, Panel, PortLabels, split_name
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.netbox.model import CONNECTED, FRONT, INTERFACE, REAR, CableEnd, NetboxCable
from topodesign.wiring.netbox.rest import is_address, read_rest_cables
from topodesign.wiring.netbox.tables import cable_file, read_cables
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.drivers import DRIVERS

_BY_ENDING = {ending: driver for driver in DRIVERS.values() for ending in driver.answers}


@dataclass(frozen=True)
class Observed:
    """What was seen.

    ``unclear``: what a lane hears where several neighbours are told, or one neighbour at several lanes, in words.
    ``light``: the power that arrives at a lane's receiver in dBm, as far as it is told. ``circuits``: what hosts would
    hear by the circuits of the switches, where these are told beside; None if they are not. ``unbuilt``: why a lane
    hears nothing, in words, where that is known of its cables. ``supposed``: lanes of ``heard`` that tell nothing
    themselves: they hear what the circuits bring by the fixed cabling.
    """

    heard: dict[Lane, Lane]  # the lane whose transmitter a lane's receiver hears; lanes that hear nothing are left out
    strangers: dict[Lane, str]  # what a lane hears that is not in the inventory, in words
    unseen: frozenset[str]  # hosts of which nothing is known
    unclear: dict[Lane, str] = field(default_factory=dict)
    outsiders: tuple[str, ...] = ()  # names that something is told of, and that the inventory lacks
    light: dict[Lane, float] = field(default_factory=dict)
    circuits: dict[Lane, Lane] | None = None
    unbuilt: dict[Lane, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()  # what else is wrong, in words
    supposed: frozenset[Lane] = frozenset()
    notes: tuple[str, ...] = ()  # labels that were read for others, in words


def read_lldp(path: str | Path, plan: WiringPlan) -> Observed:
    """Read what hosts hear.

    The path is of a directory with a file ``HOST.json`` for each host, of one such file, or of a CSV.
    """
    path = as_path(path)
    entries, names = read_neighbours(path)
    return observed_of(path, entries, plan, names)


def read_light(path: str | Path, plan: WiringPlan) -> dict[Lane, float]:
    """Read what power arrives at receivers, in dBm, as :func:`~topodesign.wiring.check.outputs.read_power` does.

    Interfaces are named as for LLDP; those that the inventory lacks do not count. The module of a port tells of all its
    lanes; where a port has one lane and its module several channels, the weakest counts.
    """
    lanes = _interfaces(plan.inventory)
    light: dict[Lane, float] = {}
    for power in read_power(as_path(path)):
        host = _known(plan.inventory, power.host) or power.host
        whole = lanes.get((host, power.interface))
        port = power.interface if whole is None else whole.port
        lane = whole if power.channel is None else lanes.get((host, f"{port}/{power.channel}"))
        if lane is None and power.channel is not None:
            lane = whole
        if lane is not None:
            light[lane] = min(power.dbm, light.get(lane, math.inf))
    return light


def read_dumps(path: str | Path, plan: WiringPlan) -> Observed:
    """Read a directory of all that hosts and switches tell.

    It has ``HOST.json`` of hosts as :func:`read_lldp` takes them, or other CSV files of neighbours; files named after
    circuit switches as :func:`read_switch` takes them, of all switches or none; and ``light.csv`` as :func:`read_light`
    takes it, or ``*.ethtool``.
    """
    path = as_path(path)
    if not path.is_dir():
        raise FileFormatError(f"{path}: this is not a directory")
    switches = plan.inventory.switches
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in {".csv", *ENDINGS, *_BY_ENDING})
    told = [file for file in files if file.stem in switches or file.suffix in _BY_ENDING.keys() - {".json"}]
    tables = [file for file in files if file.suffix.lower() == ".csv" and file.name != LIGHT_FILE and file not in told]
    hosts = [file for file in files if file.suffix.lower() in ENDINGS and file not in told]
    if not told and not tables and not hosts:
        raise FileFormatError(f"{path}: there is nothing in it; expected HOST.json, SWITCH.json or SWITCH.scpi")
    entries, names = neighbours_of_files(hosts)
    for table in tables:
        rows = list(neighbours_of_table(table))
        entries += rows
        names += [row.host for row in rows]
    seen = Observed({}, {}, frozenset(plan.hosts))
    if names:
        seen = observed_of(path, entries, plan, names)
    if told:
        circuits, notes = _circuits_heard(path, told, plan)
        taken = set(seen.heard.values())
        fill = {lane: one for lane, one in circuits.items() if lane.host in seen.unseen and one not in taken}
        supposed = frozenset(fill.keys() - seen.heard.keys())
        seen = replace(
            seen, circuits=circuits, heard=fill | seen.heard, unseen=frozenset(), supposed=supposed, notes=notes
        )
    light = read_light(path, plan) if any(path.glob(f"*{ETHTOOL}")) else {}
    table = path / LIGHT_FILE
    return replace(seen, light=light | (read_light(table, plan) if table.exists() else {}))


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
    return Observed(heard, {}, frozenset(), notes=notes)


def _circuits_heard(path: Path, files: list[Path], plan: WiringPlan) -> tuple[dict[Lane, Lane], tuple[str, ...]]:
    """Return what hosts hear by the circuits that switches tell, and what labels were read for others.

    Patches at panels count as planned.
    """
    switches = plan.inventory.switches
    if not switches:
        raise FileFormatError(f"{path}: the inventory has no circuit switch (kind: ocs), only patch panels")
    heard = {
        receiver.source: sender.source
        for connect in plan.connects
        if connect.a.panel not in switches
        for sender, receiver in connect.ways
    }
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
            sender, receiver = plan.end.get((panel.name, a)), plan.end.get((panel.name, b))
            if sender is None or receiver is None:
                continue  # a circuit between ports that no host is cabled to
            lane = receiver.source
            if lane in heard or a in sent:
                raise FileFormatError(f"two circuits use {f'{b}B' if lane in heard else f'{a}A'}")
            sent.add(a)
            heard[lane] = sender.source


class _Told(NamedTuple):
    """A lane whose receiver hears another's transmitter, and the entry that says so."""

    lane: Lane
    sender: Lane
    entry: Neighbour


def observed_of(path: Path, entries: Iterable[Neighbour], plan: WiringPlan, names: Iterable[str]) -> Observed:
    """Return what hosts of these names hear, by the entries of a file or a directory."""
    hosts: set[str] = set()
    outsiders: dict[str, None] = {}
    for name in names:
        host = _known(plan.inventory, name)
        if host is None:
            outsiders[name] = None
        else:
            hosts.add(host)
    if not hosts:
        raise FileFormatError(f"{path}: there is no host '{next(iter(outsiders))[:40]}' in the inventory")
    told: list[_Told] = []
    strangers: dict[Lane, str] = {}
    nameless: dict[Lane, tuple[Neighbour, str]] = {}  # what hosts say with a name that the inventory lacks
    lanes = _interfaces(plan.inventory)
    for entry in entries:
        lane = lanes.get((_known(plan.inventory, entry.host) or entry.host, entry.interface))
        if lane is None or not entry.chassis:
            continue
        other = _known(plan.inventory, entry.chassis)
        if other is None:
            strangers.setdefault(lane, f"{entry.chassis} {entry.ports[0] if entry.ports else ''}".strip())
            continue
        sender = next((lanes[other, port] for port in entry.ports if (other, port) in lanes), None)
        if sender is None:
            nameless.setdefault(lane, (entry, other))
        else:
            told.append(_Told(lane, sender, entry))
    heard, unclear = _latest(told)
    for lane, (entry, other) in nameless.items():
        ports = " or ".join(filter(None, entry.ports))[:80]
        strangers[lane] = (
            f"{other} {ports!r} (ports must be told by name, lldpcli configure lldp portidsubtype ifname, and lanes as "
            "PORT/LANE or PORTs0)"
        )
    strangers = {lane: words for lane, words in strangers.items() if lane not in heard and lane not in unclear}
    return Observed(heard, strangers, frozenset(plan.hosts) - hosts, unclear, tuple(outsiders))


def _latest(told: list[_Told]) -> tuple[dict[Lane, Lane], dict[Lane, str]]:
    """Return who hears whom: of several that a lane hears, or that hear it, the one that does so for the shortest time.

    Where ages do not tell which that is, neither counts, and the second result says so of each lane in words.
    """
    told = sorted(told, key=lambda one: (one.entry.age is None, one.entry.age))
    unclear: dict[Lane, str] = {}
    by_lane: dict[Lane, _Told] = {}
    for one in told:
        first = by_lane.setdefault(one.lane, one)
        if first.sender != one.sender and not _younger(first, one):
            unclear.setdefault(one.lane, f"hears two neighbours, {_name(first.sender)} and {_name(one.sender)}")
    by_sender: dict[Lane, _Told] = {}
    for lane, one in by_lane.items():
        if lane in unclear:
            continue
        first = by_sender.setdefault(one.sender, one)
        if first is not one and not _younger(first, one):
            for here, other in ((first, one), (one, first)):
                unclear.setdefault(here.lane, f"hears {_name(one.sender)}, as {_name(other.lane)} does")
    heard = {one.lane: one.sender for one in by_sender.values() if one.lane not in unclear}
    return heard, unclear


def _younger(one: _Told, other: _Told) -> bool:
    return one.entry.age is not None and (other.entry.age is None or one.entry.age < other.entry.age)


def _name(lane: Lane) -> str:
    return f"{lane.host} {lane.port}/{lane.lane}"


def _interfaces(inventory: Inventory) -> dict[tuple[str, str], Lane]:
    split = {
        (one.host, split_name(one.port, one.lane, inventory.port[one.socket].lanes)): one
        for one in inventory.interfaces.values()
    }
    return split | inventory.interfaces


def _known(inventory: Inventory, name: str) -> str | None:
    """Return the host of this name, or of its first part if it is a domain name."""
    return next((host for host in (name, name.partition(".")[0]) if host in inventory.host), None)


_WRONG = "this is not what link_test.py prints"


def read_link_tests(path: str | Path, plan: WiringPlan) -> Observed:
    """Read what the link tests of hosts printed: a directory of such files, whatever they are called, or one."""
    path = as_path(path)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    heard: list[Neighbour] = []
    names: list[str] = []
    problems: list[str] = []
    for file in files:
        with expecting(file, FileKind.LINK_TEST):
            host, rows, faults = _said(parse_json(read_text(file, (".json",))))
        names.append(host)
        heard += [Neighbour(host, port, other, (far,), None) for port, other, far in rows]
        problems += faults
    if not names:
        raise FileFormatError(
            f"{path}: there is nothing in it; expected HOST.json of each host, as link_test.py prints"
        )
    seen = observed_of(path, heard, plan, names)
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
        with expecting(path, FileKind.NETBOX):
            cables = read_cables(path, plan.inventory.panel.__contains__)
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
                if (panel, label) in self.plan.inventory.leads_to and end.kind == FRONT:
                    there = self.rears.get((other.device, other.name), (other.device, other.name))
                    self.trunks.setdefault((panel, label), {})[side] = there, cable.status
                    return
        sides = [self.sides[end] for end in (*cable.a, *cable.b) if end in self.sides]
        if len(sides) == len(cable.a) + len(cable.b) and len(cable.a) == len(cable.b):
            half = len(cable.a)
            self.patches |= {frozenset(pair): cable.status for pair in zip(sides[:half], sides[half:], strict=True)}

    def _behind(self, port: _Port) -> _Port:
        """Return the port that a lane reaches from where it is plugged in: that of a trunk that is whole."""
        if port not in self.plan.inventory.leads_to:
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
        return Observed(heard, {}, frozenset(), unbuilt=dict(self._unbuilt(heard)), faults=tuple(faults))

    def _unbuilt(self, heard: Collection[Lane]) -> Iterator[tuple[Lane, str]]:
        """Yield the receivers that should hear something and do not, with the cables on the way that are not there."""
        names = {(cable.a[0], cable.b[0]): cable.label for cable in netbox_cables(self.plan)}
        room = self.plan.inventory
        fixed = {
            (end.device, end.name): (self.lanes[lane][0], name)
            for (lane, end), name in names.items()
            if lane.kind == INTERFACE
        }
        trunk = {place: f"T{row}" for row, place in enumerate(room.leads_to, start=1)}
        for (a, b), name in names.items():
            if a not in self.sides or b not in self.sides:
                continue
            ends = [self.sides[end] for end in (a, b)]
            plugged = [room.plugged_at(*end[:2]) for end in ends]
            ways = [(*fixed[place], place) for place in plugged]
            told = [(label, self.fixed.get((lane, port))) for lane, label, port in ways]
            told += [(trunk[place], self._trunk_status(place)) for place in plugged if place in trunk]
            told.insert(1, (name, self.patches.get(frozenset(ends))))
            lacking = [
                f"{label} is {'not there' if status is None else status}"
                for label, status in told
                if status != CONNECTED
            ]
            for lane, _, _ in ways[1:] if self.plan.mode == "simplex" else ways:
                if lane not in heard and lacking:
                    yield lane, f"in NetBox {' and '.join(lacking)}"
