"""Inventory from NetBox objects, as exported here or entered by others.

A room that was entered by others is read, too: a device with rear ports is a panel, any other with optical interfaces a
host. An interface is a port with an MPO connector if its type has lanes on parallel fibres, or if its cable ends
at several rear ports, in which case they are its lanes. A port that is cabled to what is no host is blocked.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.units import Quantity, as_bandwidth
from topodesign.wiring.inventory.devices import (
    LANES,
    MODES,
    PANEL_KINDS,
    Fixed,
    Host,
    Mode,
    Panel,
    PanelKind,
    PanelPort,
    Port,
    RackPlace,
    Trunk,
)
from topodesign.wiring.inventory.fields import noted_lines, noted_words, table_of
from topodesign.wiring.inventory.inventory import Inventory, InventoryError
from topodesign.wiring.netbox import model
from topodesign.wiring.netbox.paths import PathReader
from topodesign.wiring.netbox.rest import is_address, read_rest
from topodesign.wiring.netbox.tables import read_tables

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
    paths = _paths_of(objects)
    objects = paths.told()
    room = _Room(objects, devices, None if speed is None else as_bandwidth(speed))
    hosts, panels = tuple(room.hosts()), tuple(room.panels())
    if not hosts or not panels:
        what = "host (a device with optical interfaces)" if not hosts else "panel (a device with rear ports)"
        raise FileFormatError(f"there is no {what} among {len(devices)} devices; which site and which roles are meant?")
    about = table_of(Inventory).noted(noted_lines("\n".join(objects.sites.values())))
    racks: defaultdict[str, dict[str, tuple[Fraction, Fraction]]] = defaultdict(dict)
    for (site, rack), comments in objects.racks.items():
        place = table_of(RackPlace).noted(noted_lines(comments))
        if len(place) > 1:
            racks[_site(site)][rack] = (place["x"], place["y"])
    try:
        return Inventory(
            hosts,
            panels,
            tuple(room.cabling()),
            racks=dict(racks),
            trunks=tuple(room.trunks()),
            notes=tuple(paths.notes),
            **about,
        )
    except InventoryError as error:
        raise FileFormatError(f"{error.part}.{error.name}: {error.message}") from None
    except ParameterError as error:
        raise FileFormatError(str(error)) from None


def _paths_of(objects: model.NetboxObjects) -> PathReader:
    lanes = {(one.device, one.name): _lanes(one) for one in objects.interfaces}
    roles = {device.name: device.role.lower().replace("-", " ") for device in objects.devices}
    return PathReader(objects, lanes, frozenset(name for name, role in roles.items() if role in _SWITCHES))


def read_foreign_cables(path: Path) -> tuple[model.NetboxCable, ...] | None:
    """Return a directory's cables with foreign panels modelled as here.

    None if no panel was modelled by others.

    The result is also None if the directory lacks other tables than that of cables.
    """
    try:
        paths = _paths_of(read_tables(path))
    except FileFormatError:
        return None
    return paths.told().cables if paths.foreign else None


class _Room:
    """Objects by device, and the far ends of cables."""

    def __init__(
        self, objects: model.NetboxObjects, devices: Mapping[str, model.Device], speed: Fraction | None
    ) -> None:
        self.devices = devices
        self.speed = speed
        self.interfaces = _by_device(objects.interfaces)
        self.rears = _by_device(objects.rear_ports)
        self.fronts: defaultdict[tuple[str, str], list[model.FrontPort]] = defaultdict(list)
        for front in objects.front_ports:
            for rear in dict.fromkeys(rear for rear, _ in front.behind):
                self.fronts[front.device, rear].append(front)
        self.cables = [cable for cable in objects.cables if cable.status == model.CONNECTED]
        self.far: dict[model.CableEnd, tuple[model.CableEnd, ...]] = {}
        for cable in self.cables:
            self.far |= dict.fromkeys(cable.a, cable.b) | dict.fromkeys(cable.b, cable.a)
        self.lanes: dict[model.CableEnd, list[tuple[str, int]]] = {}
        words = {(one.device, one.name): one.description.split(", ") for one in objects.rear_ports}
        self.label = {  # of the panel port that a rear port is, or is a side of
            key: next((word.removeprefix(model.PART) for word in said if word.startswith(model.PART)), key[1])
            for key, said in words.items()
        }
        self.leading = {key: said for key, said in words.items() if any(_is_trunk(word) for word in said)}
        self.trunk_fronts = {(one.device, one.name): key for key in self.leading for one in self.fronts.get(key, ())}
        self.led = dict(self._led())

    def hosts(self) -> Iterator[Host]:
        """Yield the hosts, and record the lanes of their interfaces."""
        for device in self.devices.values():
            ports = tuple(self._ports(device)) if not self._is_panel(device) else ()
            if ports or (device.role == model.HOST and self.speed is None):
                yield Host(device.name, *_place(device), ports, **table_of(Host).noted(noted_lines(device.comments)))

    def panels(self) -> Iterator[Panel]:
        """Yield the panels; ports cabled to anything but lanes are blocked."""
        for device in filter(self._is_panel, self.devices.values()):
            role = device.role.lower().replace("-", " ")
            kind: PanelKind = "ocs" if role in _SWITCHES else "patch panel"
            said = table_of(Panel).noted(noted_lines(device.comments))
            parts: dict[str, list[model.RearPort]] = {}
            for rear in self.rears[device.name]:
                parts.setdefault(self.label[device.name, rear.name], []).append(rear)
            ports = tuple(self._panel_port(label, some) for label, some in parts.items())
            yield Panel(device.name, *_place(device), kind, ports, **said)

    def cabling(self) -> Iterator[Fixed]:
        """Yield the fixed cabling."""
        for cable in self.cables:
            for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
                lanes = [lane for end in near for lane in self.lanes.get(end, ())]
                if lanes and all(end.kind == model.REAR and end.device in self.devices for end in far):
                    for (port, lane), end in zip(lanes, far, strict=False):
                        there = self.led.get((end.device, self.label.get((end.device, end.name), end.name)))
                        panel, label = (end.device, end.name) if there is None else (there.panel, there.panel_port)
                        yield Fixed(near[0].device, port, lane, panel, label)

    def trunks(self) -> Iterator[Trunk]:
        """Yield the trunks, in the order of their cables."""
        yield from self.led.values()

    def _led(self) -> Iterator[tuple[tuple[str, str], Trunk]]:
        """Yield the host-side port and trunk of each trunk cable."""
        for cable in self.cables:
            for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
                place = self._trunk_end(near[0]) if near else None
                if place is not None and far and far[0].device in self.devices:
                    there = self.label.get(far[0][::2], far[0].name)
                    said = [f"loss {loss}" for word in self.leading[place] if (loss := _trunk_loss(word))]
                    yield place, Trunk(far[0].device, there, *place, **table_of(Trunk).noted(noted_words(said)))

    def _trunk_end(self, end: model.CableEnd) -> tuple[str, str] | None:
        """Return the port at which the trunk of a front port begins."""
        return self.trunk_fronts.get(end[::2]) if end.kind == model.FRONT else None

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
                self.lanes[end] = [(port, number)] if number else [(port, i + 1) for i in range(LANES[connector])]
            yield Port(port, connector, speed, **table_of(Port).noted(noted_words(first.description.split(", "))))

    def _parallel(self, device: model.Device, one: model.Interface) -> int:
        """Return an interface's lane count by its cable or type."""
        far = self.far.get(model.CableEnd(device.name, model.INTERFACE, one.name), ())
        match = _PARALLEL.search(one.sort)
        return len(far) or (1 if match is None else int(match[1]))

    def _panel_port(self, label: str, rears: Sequence[model.RearPort]) -> PanelPort:
        first = rears[0]
        fronts = [front for rear in rears for front in self.fronts[rear.device, rear.name]]
        words = first.description.split(", ")
        mode: Mode = "simplex" if words[0] == "simplex" or (words[0] not in MODES and len(fronts) > 1) else "duplex"
        ends = [end for rear in rears for end in self.far.get(model.CableEnd(rear.device, model.REAR, rear.name), ())]
        foreign = not all(end in self.lanes or self._leads_here(end, first.device, label) for end in ends)
        leads = (first.device, label) in self.led
        for front in fronts:
            far = self.far.get(model.CableEnd(front.device, model.FRONT, front.name), ())
            foreign |= not leads and not all(end.kind == model.FRONT and end.device in self.devices for end in far)
        marked = any(rear.marked for rear in rears) or any(front.marked for front in fronts)
        return PanelPort(label, mode, foreign or marked, **table_of(PanelPort).noted(noted_words(words)))

    def _leads_here(self, end: model.CableEnd, panel: str, label: str) -> bool:
        near = self._trunk_end(end)
        return near is not None and (self.led[near].panel, self.led[near].panel_port) == (panel, label)


def _is_trunk(word: str) -> bool:
    return word.partition(" ")[0] == model.TRUNK


def _trunk_loss(word: str) -> str:
    """Return the loss in the description of a trunk; empty if absent."""
    return word.partition(" ")[2] if _is_trunk(word) else ""


_Component = TypeVar("_Component", model.Interface, model.RearPort)


def _by_device(components: Sequence[_Component]) -> defaultdict[str, list[_Component]]:
    found: defaultdict[str, list[_Component]] = defaultdict(list)
    for one in components:
        found[one.device].append(one)
    return found


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
    said = noted_lines(device.comments).get("unit", [""])[0]
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
