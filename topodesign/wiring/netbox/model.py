"""An inventory as objects of NetBox, and back.

How things are modelled:

* A host is a device; a lane is an interface, named as the port where that has one lane and ``port/lane`` else, and then
  labelled with the port.
* A panel or circuit switch is a device. Each of its ports is a rear port of that name, which takes the fixed cable. A
  simplex port that a plan may patch fibre by fibre has two positions there and two front ports, named with ``A`` and
  ``B`` after the label; else it has one position and one front port of the same name. A blocked port is marked as
  connected.
* Fixed cabling that exists is a connected cable from interface to rear port.
* A trunk is a connected cable from the front port where hosts plug in behind it to the rear port of the port that it
  leads to. Of a simplex port it is two, a fibre each, between ``01A`` and ``1A`` and between ``01B`` and ``1B``; the
  port that it leads to has two rear ports then, each with the front port of its name. So no port needs more than one
  cable, and import forms take them all.

What NetBox has no field for is in lines ``key: value`` of comments: pods, units that a rack has twice, and field, spare
ports and circuit loss of a panel at the device, coordinates at the rack, name, slack, stock and losses of the inventory
at the sites; polarity and budget of a host's port in the description of its interfaces; whether a panel port is
simplex, its loss, which side of which port it is, and whether a trunk leads on, with its loss, in that of its rear
port.

A room that was entered by others is read, too: a device with rear ports is a panel, any other with optical interfaces a
host. An interface is a port with an MPO connector if its type has lanes on parallel fibres, or if its cable ends
at several rear ports, in which case they are its lanes. A port that is cabled to what is no host is blocked.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.units import Quantity, as_bandwidth, format_bandwidth
from topodesign.wiring.inventory.inventory import (
    LANES,
    MODES,
    PANEL_KINDS,
    POLARITIES,
    Fixed,
    Host,
    Inventory,
    InventoryError,
    Losses,
    Mode,
    Panel,
    PanelKind,
    PanelPort,
    Place,
    Port,
    Trunk,
    interface_name,
    lanes_of,
)
from topodesign.wiring.inventory.lengths import exact
from topodesign.wiring.netbox.objects import (
    FRONT,
    INTERFACE,
    REAR,
    CableEnd,
    Device,
    FrontPort,
    Interface,
    NetboxCable,
    NetboxObjects,
    RearPort,
)

NO_SITE = "(no site)"  # the name of the site of what an inventory puts in none; NetBox wants one

NO_RACK = "no rack"  # the rack of a device that NetBox has in none; an inventory wants one

HOST = "host"
ROLES: dict[str, str] = {"host": "00bcd4", "patch panel": "9e9e9e", "ocs": "673ab7"}
"""The roles of devices that are made here, with a colour each."""

CONNECTED = "connected"
PROFILES = {1: "single-1c1p", 2: "single-1c2p"}  # of a cable to a rear port of so many positions

_LOSS = "loss "
_TRUNK = "trunk"
_PART = "side of "
MOST_UNITS = 100  # units of the tallest rack that NetBox knows

_SWITCHES = {"ocs", "circuit switch", "optical circuit switch"}
_MOST_LETTERS = 64
_SORTS = {
    1: "1000base-x-sfp",
    10: "10gbase-x-sfpp",
    25: "25gbase-x-sfp28",
    50: "50gbase-x-sfp56",
    100: "100gbase-x-qsfp28",
    200: "200gbase-x-qsfp56",
    400: "400gbase-x-qsfpdd",
    800: "800gbase-x-osfp",
}
_SORT = re.compile(r"([0-9]{1,4}(?:\.[0-9])?)(g?)base-")
_PARALLEL = re.compile(r"[0-9]gbase-(?:[sdv]r|psm)([48])\b")
_SHOWN = re.compile(r"\(([0-9]{1,4}(?:\.[0-9])?)(g?)m?e\)")  # as an export shows it: sfp28 (25ge)
_NO_PORT = ("virtual", "bridge", "lag", "link aggregation", "ieee", "wireless")
_COPPER = ("t", "k", "c")
_PARTS = tuple(map(str, range(1, max(LANES.values()) + 1)))
_LOSSES = ("connector", "fibre", "splice")
_GIGA = 10**9
_KILO = 1000


def interface_sort(speed: Fraction) -> str:
    """Return NetBox's type of an interface of a speed in bits per second."""
    giga = speed / _GIGA
    return _SORTS.get(int(giga), "other") if giga.denominator == 1 else "other"


def site_of(site: str) -> str:
    """Return the name of a site in NetBox."""
    return site or NO_SITE


def sides_of(inventory: Inventory, panel: str, label: str, mode: Mode | None) -> tuple[str, ...]:
    """Return the sides that a panel port has apart in a plan of a mode; None where there is none yet.

    Where a trunk leads on, those of the port that it leads to.
    """
    port = inventory.panel_port[inventory.leads_to.get((panel, label), (panel, label))]
    return ("A", "B") if port.mode == "simplex" and mode != "duplex" else ("",)


def rear_names(inventory: Inventory, panel: str, label: str, mode: Mode | None) -> tuple[str, ...]:
    """Return the names of the rear ports of a panel port: one, or one a side where a trunk arrives fibre by fibre."""
    sides = sides_of(inventory, panel, label, mode)
    return tuple(f"{label}{side}" for side in sides) if (panel, label) in inventory.trunk_at else (label,)


def front_ports(inventory: Inventory, panel: str, label: str, mode: Mode | None) -> list[FrontPort]:
    """Return the front ports of a panel port in a plan of a mode; None where there is none yet."""
    sides, rears = sides_of(inventory, panel, label, mode), rear_names(inventory, panel, label, mode)
    behind = [(name, 1) for name in rears] if len(rears) > 1 else [(label, n + 1) for n in range(len(sides))]
    blocked = inventory.panel_port[panel, label].blocked
    return [FrontPort(panel, f"{label}{side}", (there,), blocked) for side, there in zip(sides, behind, strict=True)]


def _rear_ports(inventory: Inventory, panel: str, label: str, mode: Mode | None) -> Iterator[RearPort]:
    port, trunk = inventory.panel_port[panel, label], inventory.leads_to.get((panel, label))
    words = [port.mode] + ([] if port.loss_db is None else [f"{_LOSS}{exact(port.loss_db)}dB"])
    if trunk is not None:
        loss = inventory.trunk_at[trunk].loss_db
        words.append(_TRUNK if loss is None else f"{_TRUNK} {exact(loss)}dB")
    names = rear_names(inventory, panel, label, mode)
    positions = 1 if len(names) > 1 else len(sides_of(inventory, panel, label, mode))
    for name in names:
        part = [f"{_PART}{label}"] if name != label else []
        yield RearPort(panel, name, positions, port.blocked, ", ".join([*words, *part]))


def trunk_cables(inventory: Inventory, mode: Mode | None) -> Iterator[NetboxCable]:
    """Yield the cables of trunks, which are there: one a trunk, or one a fibre."""
    for row, one in enumerate(inventory.trunks, start=1):
        sides = sides_of(inventory, one.near, one.near_port, mode)
        far = rear_names(inventory, one.panel, one.panel_port, mode)
        for side, name in zip(sides, far, strict=True):
            a, b = CableEnd(one.near, FRONT, f"{one.near_port}{side}"), CableEnd(one.panel, REAR, name)
            yield NetboxCable(f"T{row}{f'-{side}' if side else ''}", CONNECTED, (a,), (b,), PROFILES[1])


def as_objects(inventory: Inventory, mode: Mode | None = None) -> NetboxObjects:
    """Return the objects that an inventory is in NetBox, without those that only a plan has.

    The mode is that of the plan for it, if there is one: in a duplex plan, all panel ports have one front port.
    """
    stands = [inventory.place(name) for name in (*inventory.host, *inventory.panel)]
    sites = dict.fromkeys(site_of(place.site) for place in stands)
    sites |= dict.fromkeys(map(site_of, inventory.racks))
    racks = dict.fromkeys((site_of(place.site), place.rack) for place in stands)
    places = {
        (site_of(site), rack): f"x: {exact(x)}m\ny: {exact(y)}m"
        for site, racks_there in inventory.racks.items()
        for rack, (x, y) in racks_there.items()
    }
    found = NetboxObjects(
        dict.fromkeys(sites, _about(inventory)),
        {rack: places.get(rack, "") for rack in racks | places},
        tuple(_devices(inventory)),
        tuple(_interface(host, port, lane) for host in inventory.hosts for port, lane in lanes_of(host)),
        tuple(rear for key in inventory.panel_port for rear in _rear_ports(inventory, *key, mode)),
        tuple(front for key in inventory.panel_port for front in front_ports(inventory, *key, mode)),
        (
            *(_fixed_cable(inventory, fixed) for fixed in inventory.cabling),
            *trunk_cables(inventory, mode),
        ),
    )
    _check_names(found)
    return found


def _about(inventory: Inventory) -> str:
    """Return the comments of sites."""
    if inventory.name != inventory.name.strip() or not inventory.name.isprintable():
        raise ParameterError(f"the inventory is called {inventory.name!r}; NetBox takes no blanks around; rename it")
    lines = [f"inventory: {inventory.name}"] if inventory.name else []
    lines += [f"slack: {exact(inventory.slack)}m"] if inventory.slack else []
    for kind, lengths in inventory.stock.items():
        lines.append(f"stock {kind}: {' '.join(f'{exact(one)}m' for one in lengths)}")
    said = inventory.losses._asdict()
    lines += [f"loss {name}: {exact(loss)}dB" for name in _LOSSES if (loss := said[name]) is not None]
    lines += [f"splices: {inventory.losses.splices}"] if inventory.losses.splices else []
    return "\n".join(lines)


def _devices(inventory: Inventory) -> Iterator[Device]:
    taken: set[Place] = set()
    for name in (*inventory.host, *inventory.panel):
        place, panel = inventory.place(name), inventory.panel.get(name)
        fits = 1 <= place.unit <= MOST_UNITS and place not in taken
        taken.add(place)
        lines = [] if fits else [f"unit: {place.unit}"]
        role = HOST if panel is None else panel.kind
        lines += [f"pod: {pod}" for pod in (filter(None, [inventory.host[name].pod]) if panel is None else panel.pods)]
        if panel is not None:
            lines += [f"field: {panel.field}"] if panel.field != name else []
            lines += [f"spare: {panel.spare}"] if panel.spare else []
            lines += [f"circuit: {exact(panel.circuit_db)}dB"] if panel.circuit_db is not None else []
        position = place.unit if fits else None
        yield Device(name, role, site_of(place.site), place.rack, position, "\n".join(lines))


def _interface(host: Host, port: Port, lane: int) -> Interface:
    kbps = port.speed / _KILO
    if kbps.denominator != 1:
        why = f"NetBox tells speeds in whole kilobits per second, not {format_bandwidth(port.speed)}"
        raise ParameterError(f"{host.name} {port.name}: {why}")
    name = interface_name(port.name, lane, port.lanes)
    words = [f"polarity {port.polarity}"] if port.polarity != POLARITIES[0] else []
    words += [f"budget {exact(port.budget_db)}dB"] if port.budget_db is not None else []
    label, sort = port.name if port.lanes > 1 else "", interface_sort(port.speed)
    return Interface(host.name, name, label, sort, kbps.numerator, description=", ".join(words))


def _fixed_cable(inventory: Inventory, fixed: Fixed) -> NetboxCable:
    panel, label = inventory.plugged_at(*fixed.place)
    a, b = cable_ends(fixed, inventory.port[fixed.socket].lanes)
    b = b._replace(device=panel, name=label)
    return NetboxCable("", CONNECTED, (a,), (b,))


def cable_ends(fixed: Fixed, lanes: int) -> tuple[CableEnd, CableEnd]:
    """Return where a fixed cable ends: at the interface of a port with so many lanes, and at the rear port."""
    lane = CableEnd(fixed.host, INTERFACE, interface_name(fixed.port, fixed.lane, lanes))
    return lane, CableEnd(fixed.panel, REAR, fixed.panel_port)


def _check_names(objects: NetboxObjects) -> None:
    """Look for names that NetBox would take for another, or not at all."""
    names = [*objects.sites, *(rack for _, rack in objects.racks), *(device.name for device in objects.devices)]
    names += [one.name for part in (objects.interfaces, objects.rear_ports, objects.front_ports) for one in part]
    for name in names:
        check_name(name)
    spelt: dict[tuple[str, str], str] = {}
    for device in objects.devices:
        other = spelt.setdefault((device.site, device.name.lower()), device.name)
        if other != device.name:
            raise ParameterError(f"NetBox takes {device.name!r} and {other!r} for the same name; rename one")
    for part in (objects.interfaces, objects.front_ports):
        twice = [one for one, count in Counter((one.device, one.name) for one in part).items() if count > 1]
        if twice:
            words = f"NetBox would have {twice[0][1]!r} of {twice[0][0]!r} twice, for two ports; rename one"
            raise ParameterError(words)


def check_name(name: str) -> None:
    """Look at a name that goes to NetBox."""
    if "," in name:
        raise ParameterError(f"NetBox takes a comma for the end of a name; rename {name!r}")
    if not name or not name.isprintable() or name != name.strip() or len(name) > _MOST_LETTERS:
        raise ParameterError(f"NetBox takes names of up to {_MOST_LETTERS} letters without blanks around; not {name!r}")


def inventory_of(objects: NetboxObjects, *, roles: Collection[str] = (), speed: Quantity | None = None) -> Inventory:
    """Return the inventory that NetBox's objects make.

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
    room = _Room(objects, devices, None if speed is None else as_bandwidth(speed))
    hosts, panels = tuple(room.hosts()), tuple(room.panels())
    if not hosts or not panels:
        what = "host (a device with optical interfaces)" if not hosts else "panel (a device with rear ports)"
        raise FileFormatError(f"there is no {what} among {len(devices)} devices; which site and which roles are meant?")
    about = _said("\n".join(objects.sites.values()))
    kinds = [key for key in about if key.startswith("stock ")]
    stock = {kind.removeprefix("stock "): tuple(_quantity(one, "m") for one in about[kind].split()) for kind in kinds}
    connector, fibre, splice = (
        _quantity(about[key], "dB") if (key := f"loss {name}") in about else None for name in _LOSSES
    )
    racks: defaultdict[str, dict[str, tuple[Fraction, Fraction]]] = defaultdict(dict)
    for (site, rack), comments in objects.racks.items():
        said = _said(comments)
        if {"x", "y"} <= said.keys():
            racks[_site(site)][rack] = (_quantity(said["x"], "m"), _quantity(said["y"], "m"))
    try:
        return Inventory(
            hosts,
            panels,
            tuple(room.cabling()),
            stock,
            dict(racks),
            _quantity(about.get("slack", "0m"), "m"),
            about.get("inventory", ""),
            tuple(room.trunks()),
            losses=Losses(connector, fibre, splice, int(_quantity(about.get("splices", "0"), ""))),
        )
    except InventoryError as error:
        raise FileFormatError(f"{error.part}.{error.name}: {error.message}") from None
    except ParameterError as error:
        raise FileFormatError(str(error)) from None


class _Room:
    """Objects by device, and what each end is cabled to."""

    def __init__(self, objects: NetboxObjects, devices: Mapping[str, Device], speed: Fraction | None) -> None:
        self.devices = devices
        self.speed = speed
        self.interfaces = _by_device(objects.interfaces)
        self.rears = _by_device(objects.rear_ports)
        self.fronts: defaultdict[tuple[str, str], list[FrontPort]] = defaultdict(list)
        for front in objects.front_ports:
            for rear in dict.fromkeys(rear for rear, _ in front.behind):
                self.fronts[front.device, rear].append(front)
        self.cables = [cable for cable in objects.cables if cable.status == CONNECTED]
        self.far: dict[CableEnd, tuple[CableEnd, ...]] = {}
        for cable in self.cables:
            self.far |= dict.fromkeys(cable.a, cable.b) | dict.fromkeys(cable.b, cable.a)
        self.lanes: dict[CableEnd, list[tuple[str, int]]] = {}
        words = {(one.device, one.name): one.description.split(", ") for one in objects.rear_ports}
        self.label = {key: _label(key[1], said) for key, said in words.items()}
        self.leading = {key: said for key, said in words.items() if any(_is_trunk(word) for word in said)}
        self.trunk_fronts = {(one.device, one.name): key for key in self.leading for one in self.fronts.get(key, ())}
        self.led = dict(self._led())

    def hosts(self) -> Iterator[Host]:
        """Yield the hosts, and note which lanes their interfaces are."""
        for device in self.devices.values():
            ports = tuple(self._ports(device)) if not self._is_panel(device) else ()
            if ports or (device.role == HOST and self.speed is None):
                pod = _said(device.comments).get("pod", "")
                yield Host(device.name, *_place(device), ports, pod)

    def panels(self) -> Iterator[Panel]:
        """Yield the panels; those ports are blocked that are taken by what is no lane of a host."""
        for device in filter(self._is_panel, self.devices.values()):
            role = device.role.lower().replace("-", " ")
            kind: PanelKind = "ocs" if role in _SWITCHES else "patch panel"
            said = _said(device.comments)
            parts: dict[str, list[RearPort]] = {}
            for rear in self.rears[device.name]:
                parts.setdefault(self.label[device.name, rear.name], []).append(rear)
            ports = tuple(self._panel_port(label, some) for label, some in parts.items())
            pods = tuple(line[5:].strip() for line in device.comments.splitlines() if line.startswith("pod: "))
            circuit = _quantity(said["circuit"], "dB") if "circuit" in said else None
            field, spare = said.get("field", device.name), int(_quantity(said.get("spare", "0"), ""))
            yield Panel(device.name, *_place(device), kind, ports, field, pods, spare, circuit)

    def cabling(self) -> Iterator[Fixed]:
        """Yield the fixed cabling."""
        for cable in self.cables:
            for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
                lanes = [lane for end in near for lane in self.lanes.get(end, ())]
                if lanes and all(end.kind == REAR and end.device in self.devices for end in far):
                    for (port, lane), end in zip(lanes, far, strict=False):
                        there = self.led.get((end.device, self.label.get((end.device, end.name), end.name)))
                        panel, label = (end.device, end.name) if there is None else (there.panel, there.panel_port)
                        yield Fixed(near[0].device, port, lane, panel, label)

    def trunks(self) -> Iterator[Trunk]:
        """Yield the trunks, in the order of their cables."""
        yield from self.led.values()

    def _led(self) -> Iterator[tuple[tuple[str, str], Trunk]]:
        """Yield what ports lead to, once for each cable: the port where hosts plug in, and the trunk."""
        for cable in self.cables:
            for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
                place = self._trunk_end(near[0]) if near else None
                if place is not None and far and far[0].device in self.devices:
                    there = self.label.get(far[0][::2], far[0].name)
                    loss = next(_decibels([word], f"{_TRUNK} ") for word in self.leading[place] if _is_trunk(word))
                    yield place, Trunk(far[0].device, there, *place, loss)

    def _trunk_end(self, end: CableEnd) -> tuple[str, str] | None:
        """Return the port from which a trunk leads on, if a front port is of one."""
        return self.trunk_fronts.get(end[::2]) if end.kind == FRONT else None

    def _is_panel(self, device: Device) -> bool:
        return device.role in PANEL_KINDS or (device.role != HOST and device.name in self.rears)

    def _ports(self, device: Device) -> Iterator[Port]:
        whole: dict[str, list[tuple[int, Interface]]] = {}
        split: dict[str, list[tuple[int, Interface]]] = {}
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
                end = CableEnd(device.name, INTERFACE, one.name)
                self.lanes[end] = [(port, number)] if number else [(port, i + 1) for i in range(LANES[connector])]
            words = first.description.split(", ")
            polarity = next((known for known in POLARITIES if f"polarity {known}" in words), POLARITIES[0])
            yield Port(port, connector, speed, polarity, _decibels(words, "budget "))

    def _parallel(self, device: Device, one: Interface) -> int:
        """Return how many lanes an interface has by the ends of its cable, or by its type."""
        far = self.far.get(CableEnd(device.name, INTERFACE, one.name), ())
        match = _PARALLEL.search(one.sort)
        return len(far) or (1 if match is None else int(match[1]))

    def _panel_port(self, label: str, rears: Sequence[RearPort]) -> PanelPort:
        first = rears[0]
        fronts = [front for rear in rears for front in self.fronts[rear.device, rear.name]]
        words = first.description.split(", ")
        mode: Mode = "simplex" if words[0] == "simplex" or (words[0] not in MODES and len(fronts) > 1) else "duplex"
        ends = [end for rear in rears for end in self.far.get(CableEnd(rear.device, REAR, rear.name), ())]
        foreign = not all(end in self.lanes or self._leads_here(end, first.device, label) for end in ends)
        leads = (first.device, label) in self.led
        for front in fronts:
            far = self.far.get(CableEnd(front.device, FRONT, front.name), ())
            foreign |= not leads and not all(end.kind == FRONT and end.device in self.devices for end in far)
        marked = any(rear.marked for rear in rears) or any(front.marked for front in fronts)
        return PanelPort(label, mode, foreign or marked, _decibels(words, _LOSS))

    def _leads_here(self, end: CableEnd, panel: str, label: str) -> bool:
        near = self._trunk_end(end)
        return near is not None and (self.led[near].panel, self.led[near].panel_port) == (panel, label)


def _is_trunk(word: str) -> bool:
    return word.partition(" ")[0] == _TRUNK


def _label(name: str, words: Sequence[str]) -> str:
    """Return the label of the panel port that a rear port is, or is a side of."""
    return next((word.removeprefix(_PART) for word in words if word.startswith(_PART)), name)


_Component = TypeVar("_Component", Interface, RearPort)


def _by_device(components: Sequence[_Component]) -> defaultdict[str, list[_Component]]:
    found: defaultdict[str, list[_Component]] = defaultdict(list)
    for one in components:
        found[one.device].append(one)
    return found


def _is_optical(one: Interface) -> bool:
    """Return whether an interface can be one of fibre, by its type: physical, and not of copper."""
    return not one.sort.startswith(_NO_PORT) and not one.sort.partition("base-")[2].startswith(_COPPER)


def _speed(one: Interface) -> Fraction:
    """Return the speed of an interface in bits per second, as told or else by its type."""
    if one.kbps:
        return Fraction(one.kbps * _KILO)
    match = _SORT.match(one.sort) or _SHOWN.search(one.sort)
    if match is None:
        words = "neither its speed nor a type that tells it; enter the speed, or read devices of fewer roles"
        raise FileFormatError(f"interface {one.name!r} of {one.device!r} has {words}")
    return Fraction(match[1]) * (_GIGA if match[2] else _GIGA // _KILO)


def _decibels(words: Sequence[str], word: str) -> Fraction | None:
    return next((_quantity(one.removeprefix(word), "dB") for one in words if one.startswith(word)), None)


def _place(device: Device) -> tuple[str, str, int]:
    said = _said(device.comments).get("unit", "")
    unit = int(said) if re.fullmatch("[0-9]{1,9}", said) else device.position
    return _site(device.site), device.rack or NO_RACK, 1 if unit is None else unit


def _site(name: str) -> str:
    return "" if name == NO_SITE else name


def _said(comments: str) -> dict[str, str]:
    """Return what lines ``key: value`` say; the first of a key counts."""
    said: dict[str, str] = {}
    for line in comments.splitlines():
        key, colon, value = line.partition(": ")
        if colon:
            said.setdefault(key.strip(), value.strip())
    return said


def _quantity(said: str, unit: str) -> Fraction:
    match = re.fullmatch(rf"(-?[0-9]{{1,12}}(?:\.[0-9]{{1,12}}|/[1-9][0-9]{{0,12}})?){unit}", said)
    if match is None:
        raise FileFormatError(f"{said[:40]!r} in a comment or description of NetBox is no number of {unit}")
    return Fraction(match[1])
