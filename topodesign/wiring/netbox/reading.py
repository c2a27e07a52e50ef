"""Inventory from NetBox objects, as exported here or entered by others.

A room that was entered by others is read, too: a device with rear ports is a panel, any other with optical interfaces a
host. An interface is a port with an MPO connector if its type has lanes on parallel fibres, or if its cable ends
at several rear ports, in which case they are its lanes. A port that is cabled to what is no host is blocked.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.units import Quantity, as_bandwidth
from topodesign.wiring.inventory.devices import (
    LANES,
    MODES,
    PANEL_KINDS,
    Fixed,
    Host,
    Lane,
    Mode,
    Panel,
    PanelKind,
    PanelPort,
    Port,
    RackPlace,
    Trunk,
)
from topodesign.wiring.inventory.fields import read_note_lines, read_note_words, table_of
from topodesign.wiring.inventory.inventory import Inventory, InventoryError
from topodesign.wiring.netbox import model
from topodesign.wiring.netbox.paths import CablePaths, EndNames
from topodesign.wiring.netbox.rest import is_address, read_rest
from topodesign.wiring.netbox.tables import read_tables
from topodesign.wiring.plan.cross_connects import Fibre
from topodesign.wiring.plan.net import CONNECTED, PanelEnd

NO_RACK = "no rack"  # the rack of a device that NetBox has in none; an inventory wants one

_SWITCHES = {"ocs", "circuit switch", "optical circuit switch"}
_SORT = re.compile(r"([0-9]{1,4}(?:\.[0-9])?)([gt]?)base-")
_PARALLEL = re.compile(r"[0-9][gt]base-(?:[sdv]r|psm)(4|8|10|16)\b")
_SHOWN = re.compile(r"\(([0-9]{1,4}(?:\.[0-9])?)([gt]?)m?e\)")  # as an export shows it: sfp28 (25ge)
_NO_PORT = ("virtual", "bridge", "lag", "link aggregation", "ieee", "wireless")
_COPPER = ("t", "k", "c")
_PARTS = tuple(map(str, range(1, max(LANES.values()) + 1)))


def inventory_of(
    objects: model.NetboxObjects, *, roles: Collection[str] = (), speed: Quantity | None = None
) -> Inventory:
    """Return the inventory described by NetBox objects.

    Only devices of the roles count, all if there are none; and if a speed is given, only ports of it over all lanes.
    """
    wanted = {role.lower() for role in roles}
    chosen = [device for device in objects.devices if not wanted or device.role.lower() in wanted]
    devices = {device.name: device for device in chosen}
    if len(devices) < len(chosen):
        twice = next(device.name for device in chosen if device is not devices[device.name])
        raise FileFormatError(f"there are two devices {twice!r}; read one site only")
    if not devices:
        known = ", ".join(sorted({device.role for device in objects.devices})) or "none"
        raise FileFormatError(
            f"there are no devices{' of the roles given' if wanted else ''}; roles there are: {known}"
        )
    paths = paths_of(objects)
    room = _Room(objects, paths, devices, None if speed is None else as_bandwidth(speed))
    hosts, panels = room.hosts, tuple(room.panels())
    if not hosts or not panels:
        what = "host (a device with optical interfaces)" if not hosts else "panel (a device with rear ports)"
        raise FileFormatError(f"there is no {what} among {len(devices)} devices; which site and which roles are meant?")
    about = table_of(Inventory).noted(read_note_lines("\n".join(objects.sites.values())))
    racks: defaultdict[str, dict[str, tuple[Fraction, Fraction]]] = defaultdict(dict)
    for (site, rack), comments in objects.racks.items():
        place = table_of(RackPlace).noted(read_note_lines(comments))
        if len(place) > 1:
            racks[_site(site)][rack] = (place["x"], place["y"])
    try:
        return Inventory(
            hosts,
            panels,
            room.cabling(),
            racks=dict(racks),
            trunks=tuple(room.trunks.values()),
            notes=(*paths.notes, *room.net.faults),
            **about,
        )
    except InventoryError as error:
        raise FileFormatError(f"{error.part}.{error.name}: {error.message}") from None
    except ParameterError as error:
        raise FileFormatError(str(error)) from None


def paths_of(objects: model.NetboxObjects) -> CablePaths:
    """Return the cables of NetBox objects, and their paths through foreign panels."""
    lanes = {(one.device, one.name): _lanes(one) for one in objects.interfaces}
    roles = {device.name: device.role.lower().replace("-", " ") for device in objects.devices}
    return CablePaths(objects, lanes, frozenset(name for name, role in roles.items() if role in _SWITCHES))


class _Room:
    """Devices with their ports, and the net of their cables."""

    def __init__(
        self,
        objects: model.NetboxObjects,
        paths: CablePaths,
        devices: Mapping[str, model.Device],
        speed: Fraction | None,
    ) -> None:
        self.devices = devices
        self.speed = speed
        self.interfaces: defaultdict[str, list[model.Interface]] = defaultdict(list)
        for interface in objects.interfaces:
            self.interfaces[interface.device].append(interface)
        self.plugs: dict[model.CableEnd, int] = {}  # ends at the other side of a cable
        for cable in (one for one in paths.cables if one.status == CONNECTED):
            self.plugs |= dict.fromkeys(cable.a, len(cable.b)) | dict.fromkeys(cable.b, len(cable.a))
        self.plugs |= Counter(model.CableEnd(lane.host, model.INTERFACE, lane.port) for lane in paths.heads)
        self.rears: defaultdict[str, dict[str, list[model.RearPort]]] = defaultdict(dict)  # by panel and its port
        self.fronts: defaultdict[PanelEnd, list[model.FrontPort]] = defaultdict(list)
        self.leading: dict[PanelEnd, list[str]] = {}  # words on trunks at ports
        rears = {name: port for name, port in self._index_panels(objects, paths).items() if port[0] in devices}
        self.lanes: dict[model.CableEnd, list[Lane]] = {}
        self.hosts = tuple(self._hosts())
        sides = {
            (front.device, front.name): Fibre(*port, side)
            for port, some in self.fronts.items()
            for front, side in zip(some, "AB" if len(some) > 1 else ["AB"], strict=False)
            if port[0] in devices
        }
        self.net = paths.net(EndNames(self.lanes, sides, rears, self.leading), "NetBox")
        self.trunks: dict[PanelEnd, Trunk] = {}  # by the port where hosts plug in
        for near, cables in self.net.trunks.items():
            said = table_of(Trunk).noted(read_note_words(self.leading.get(near, ())))
            for far in dict.fromkeys(far for far, status in cables.values() if status == CONNECTED):
                if near in self.trunks:  # its fibres part: one way counts, and the other ends are taken
                    self.net.open.add((self.trunks[near].panel, self.trunks[near].panel_port))
                self.trunks[near] = Trunk(*far, *near, **said)

    def _index_panels(self, objects: model.NetboxObjects, paths: CablePaths) -> dict[PanelEnd, PanelEnd]:
        """Return the panel ports by the names of rear ports, after recording the parts of each."""
        rears: dict[PanelEnd, PanelEnd] = {}
        for rear in objects.rear_ports:
            if rear.device not in paths.foreign:
                words = rear.description.split(", ")
                label = next((one.removeprefix(model.PART) for one in words if one.startswith(model.PART)), rear.name)
                self.rears[rear.device].setdefault(label, []).append(rear)
                rears[rear.device, rear.name] = rear.device, label
                trunk = [word.partition(" ")[2] for word in words if word.partition(" ")[0] == model.TRUNK]
                if trunk:
                    self.leading[rear.device, label] = [f"loss {loss}" for loss in trunk if loss]
        for front in objects.front_ports:
            for there in dict.fromkeys(rears.get((front.device, name)) for name, _ in front.behind):
                if there is not None:
                    self.fronts[there].append(front)
        for unit, places in paths.units.items():
            rears[unit] = unit
            behind = [paths.rear.get((unit[0], name)) for name, _ in places]
            marked = any(one is not None and one.marked for one in behind)
            self.rears[unit[0]][unit[1]] = [model.RearPort(*unit, 1, marked, "duplex")]
            self.fronts[unit] = [paths.front[unit]]
        return rears

    def _hosts(self) -> Iterator[Host]:
        """Yield the hosts, and record the lanes of their interfaces."""
        for device in self.devices.values():
            ports = tuple(self._ports(device)) if not self._is_panel(device) else ()
            if ports or (device.role == model.HOST and self.speed is None):
                yield Host(
                    device.name, *_place(device), ports, **table_of(Host).noted(read_note_lines(device.comments))
                )

    def panels(self) -> Iterator[Panel]:
        """Yield the panels; ports cabled to anything but lanes are blocked."""
        for device in filter(self._is_panel, self.devices.values()):
            role = device.role.lower().replace("-", " ")
            kind: PanelKind = "ocs" if role in _SWITCHES else "patch panel"
            said = table_of(Panel).noted(read_note_lines(device.comments))
            ports = tuple(self._panel_port(label, some) for label, some in self.rears[device.name].items())
            yield Panel(device.name, *_place(device), kind, ports, **said)

    def cabling(self) -> tuple[Fixed, ...]:
        """Return the fixed cabling, by the port behind trunks."""
        plugged = [pair for pair, status in self.net.fixed.items() if status == CONNECTED]
        led = {near: (one.panel, one.panel_port) for near, one in self.trunks.items()}
        return tuple(Fixed(*lane, *led.get(port, port)) for lane, port in plugged)

    def _is_panel(self, device: model.Device) -> bool:
        return device.role in PANEL_KINDS or (device.role != model.HOST and device.name in self.rears)

    def _ports(self, device: model.Device) -> Iterator[Port]:
        whole: dict[str, list[tuple[int, model.Interface]]] = {}
        split: dict[str, list[tuple[int, model.Interface]]] = {}
        for one in self.interfaces[device.name]:
            port, _, part = one.name.rpartition("/")
            if one.label and port == one.label and part in _PARTS and not one.ignored:
                split.setdefault(port, []).append((int(part), one))
                whole.setdefault(port, [])  # its place in the order
            elif _is_optical(one) and not one.ignored:
                whole.setdefault(one.name, []).append((0, one))
        for port, parts in (whole | split).items():
            first = parts[0][1]
            count = max(number for number, _ in parts) if port in split else self._parallel(device, first)
            connector = next(known for known, lanes in LANES.items() if lanes >= count)
            speed = _speed(first) / (1 if port in split else LANES[connector])
            if self.speed not in {None, speed * LANES[connector]}:
                continue
            for number, one in parts:
                end = model.CableEnd(device.name, model.INTERFACE, one.name)
                numbers = [number] if number else range(1, LANES[connector] + 1)
                self.lanes[end] = [Lane(device.name, port, lane) for lane in numbers]
            yield Port(port, connector, speed, **table_of(Port).noted(read_note_words(first.description.split(", "))))

    def _parallel(self, device: model.Device, one: model.Interface) -> int:
        """Return an interface's lane count by its cable or type."""
        match = _PARALLEL.search(one.sort)
        ends = self.plugs.get(model.CableEnd(device.name, model.INTERFACE, one.name), 0)
        return ends or (1 if match is None else int(match[1]))

    def _panel_port(self, label: str, rears: Sequence[model.RearPort]) -> PanelPort:
        first = rears[0]
        fronts = self.fronts[first.device, label]
        words = first.description.split(", ")
        mode: Mode = "simplex" if words[0] == "simplex" or (words[0] not in MODES and len(fronts) > 1) else "duplex"
        marked = any(one.marked for one in rears) or any(one.marked for one in fronts)
        taken = marked or (first.device, label) in self.net.open
        return PanelPort(label, mode, taken, **table_of(PanelPort).noted(read_note_words(words)))


def _is_optical(one: model.Interface) -> bool:
    """Return whether an interface type can be fibre: physical, not copper."""
    return not one.sort.startswith(_NO_PORT) and not one.sort.partition("base-")[2].startswith(_COPPER)


def _lanes(one: model.Interface) -> int:
    """Return an interface's lane count by type or name; 0 if unknown."""
    port, _, part = one.name.rpartition("/")
    if one.label and port == one.label and part in _PARTS:
        return 1
    match = _PARALLEL.search(one.sort)
    return 0 if match is None else int(match[1])


def _speed(one: model.Interface) -> Fraction:
    """Return an interface's speed in bits per second, given or by type."""
    if one.kbps:
        return Fraction(one.kbps * model.KILO)
    match = _SORT.match(one.sort) or _SHOWN.search(one.sort)
    if match is None:
        words = "neither its speed nor a type that tells it; enter the speed, or read devices of fewer roles"
        raise FileFormatError(f"interface {one.name!r} of {one.device!r} has {words}")
    return Fraction(match[1]) * {"t": model.GIGA * model.KILO, "g": model.GIGA, "": model.GIGA // model.KILO}[match[2]]


def _place(device: model.Device) -> tuple[str, str, int]:
    said = read_note_lines(device.comments).get("unit", [""])[0]
    unit = int(said) if re.fullmatch("[0-9]{1,9}", said) else device.position
    return _site(device.site), device.rack or NO_RACK, 1 if unit is None else unit


def _site(name: str) -> str:
    return "" if name == model.NO_SITE else name


def read_netbox(
    source: str | Path,
    *,
    token: str | None = None,
    site: str | None = None,
    roles: Collection[str] = (),
    speed: Quantity | None = None,
) -> Inventory:
    """Read an inventory from NetBox.

    Parameters
    ----------
    source
        The address of a server, or a directory with the CSV files that NetBox exports of its lists of devices,
        interfaces, rear ports, front ports, and as far as they are wanted sites, racks and cables.
    token
        For a server; the variable ``NETBOX_TOKEN`` of the environment if None.
    site
        Name of the only site to read; all if None.
    roles
        Names of the roles of hosts and panels; all if there are none.
    speed
        Only ports of this speed over all lanes count; text such as ``100Gbps``, or bits per second.

    Raises
    ------
    NetboxError, MissingLibraryError
        If a server cannot be read, or pynetbox is not installed.
    FileFormatError
        If files cannot be read, or they do not describe an inventory.
    ParameterError
        If there is no such site, or no token.

    Examples
    --------
    >>> from topodesign import export_wiring, plain_inventory, plan_wiring
    >>> _ = export_wiring(plan_wiring("circulant(6,1,2)", plain_inventory(6, 4)), "netbox", "files")
    >>> read_netbox("files")
    Inventory('plain', 6 hosts with 24 lanes, 1 panel with 24 ports)
    """
    if is_address(source):
        return inventory_of(read_rest(str(source), token, site=site), roles=roles, speed=speed)
    path = as_path(source)
    objects = read_tables(path)
    if site is not None:
        objects = objects.at(site)
    try:
        return inventory_of(objects, roles=roles, speed=speed)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None
