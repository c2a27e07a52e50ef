"""NetBox objects of an inventory.

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

What NetBox has no field for is in lines ``key: value`` of comments, at the device, the rack (coordinates) or the sites
(what is of the whole inventory, and their trays), or in words of descriptions: of interfaces for a host's port, of rear
ports for a panel port and for whether a trunk leads on, with its loss. Which these are, each field says by its ``note``
(:mod:`topodesign.wiring.inventory.fields`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, NamedTuple

from topodesign.base.errors import ParameterError
from topodesign.base.units import format_bandwidth
from topodesign.wiring.inventory.devices import (
    Fixed,
    Host,
    Mode,
    Panel,
    PanelPort,
    Place,
    Port,
    RackPlace,
    interface_name,
    lanes_of,
)
from topodesign.wiring.inventory.fields import exact, table_of
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.net import CONNECTED

EndKind = Literal["dcim.interface", "dcim.frontport", "dcim.rearport"]

INTERFACE: EndKind = "dcim.interface"
FRONT: EndKind = "dcim.frontport"
REAR: EndKind = "dcim.rearport"


class CableEnd(NamedTuple):
    """Cable end: device, kind and name."""

    device: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Device:
    """NetBox device: name, role and position."""

    name: str
    role: str
    site: str
    rack: str  # empty for a device without one
    position: int | None  # the lowest unit that it takes, or None if NetBox does not know
    comments: str = ""  # lines ``key: value`` are what an inventory says and NetBox has no field for


@dataclass(frozen=True, slots=True)
class Interface:
    """Device interface: a lane, or a port with all its lanes."""

    device: str
    name: str
    label: str = ""  # the name of the port that it is a lane of; empty if it is the port itself
    sort: str = ""  # NetBox's type, such as ``25gbase-x-sfp28``; empty if it is not given
    kbps: int | None = None  # speed in kilobits per second, None if it is not given
    ignored: bool = False  # whether it is for management only, and no part of a wiring
    description: str = ""  # words with commas between: its polarity, and the budget of its optic


@dataclass(frozen=True, slots=True)
class RearPort:
    """Port for fixed cable: positions and whether it is taken."""

    device: str
    name: str
    positions: int = 1
    marked: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class FrontPort:
    """Port for a patch cord, with the rear positions behind it."""

    device: str
    name: str
    behind: tuple[tuple[str, int], ...]
    marked: bool = False


@dataclass(frozen=True, slots=True)
class NetboxCable:
    """Cable with a status: ``connected`` if it exists, ``planned`` if not yet."""

    label: str
    status: str
    a: tuple[CableEnd, ...]
    b: tuple[CableEnd, ...]
    profile: str = ""
    colour: str = ""
    length: str = ""


@dataclass(frozen=True, slots=True)
class NetboxObjects:
    """All NetBox objects, each kind in NetBox order."""

    sites: dict[str, str] = field(default_factory=dict)  # comments by name
    racks: dict[tuple[str, str], str] = field(default_factory=dict)  # comments by site and name
    devices: tuple[Device, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    rear_ports: tuple[RearPort, ...] = ()
    front_ports: tuple[FrontPort, ...] = ()
    cables: tuple[NetboxCable, ...] = ()

    def at(self, site: str) -> NetboxObjects:
        """Return the objects at a site, and all cables.

        Cables to other sites stay because they occupy ports.
        """
        devices = tuple(device for device in self.devices if device.site == site)
        names = {device.name for device in devices}
        return replace(
            self,
            sites={name: comments for name, comments in self.sites.items() if name == site},
            racks={rack: comments for rack, comments in self.racks.items() if rack[0] == site},
            devices=devices,
            interfaces=tuple(one for one in self.interfaces if one.device in names),
            rear_ports=tuple(one for one in self.rear_ports if one.device in names),
            front_ports=tuple(one for one in self.front_ports if one.device in names),
        )


NO_SITE = "(no site)"  # the name of the site of what an inventory puts in none; NetBox wants one

HOST = "host"
ROLES: dict[str, str] = {"host": "00bcd4", "patch panel": "9e9e9e", "ocs": "673ab7"}
"""The roles of devices that are made here, with a colour each."""

PROFILES = {1: "single-1c1p", 2: "single-1c2p"}  # of a cable to a rear port of so many positions

TRUNK = "trunk"
"""What the description of a rear port says whose port leads on."""

PART = "side of "
"""Before the name of the port that a panel port is a side of."""

MAX_UNITS = 100  # units of the tallest rack that NetBox knows
_MAX_LETTERS = 64
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
GIGA = 10**9
KILO = 1000


def interface_sort(speed: Fraction) -> str:
    """Return NetBox's interface type for a speed in bits per second."""
    giga = speed / GIGA
    return _SORTS.get(int(giga), "other") if giga.denominator == 1 else "other"


def site_of(site: str) -> str:
    """Return the name of a site in NetBox."""
    return site or NO_SITE


def sides_of(inventory: Inventory, panel: str, label: str, mode: Mode | None) -> tuple[str, ...]:
    """Return the separate sides of a panel port in a plan mode.

    ``mode`` is None if no plan exists yet.

    If a trunk leads on, the sides are those of the port that it leads to.
    """
    port = inventory.panel_port[inventory.leads_to.get((panel, label), (panel, label))]
    return ("A", "B") if port.mode == "simplex" and mode != "duplex" else ("",)


def rear_names(inventory: Inventory, panel: str, label: str, mode: Mode | None) -> tuple[str, ...]:
    """Return the names of the rear ports of a panel port.

    A port has one, or one per side if a trunk arrives fibre by fibre.
    """
    sides = sides_of(inventory, panel, label, mode)
    return tuple(f"{label}{side}" for side in sides) if (panel, label) in inventory.trunk_at else (label,)


def front_ports(inventory: Inventory, panel: str, label: str, mode: Mode | None) -> list[FrontPort]:
    """Return the front ports of a panel port in a plan mode.

    ``mode`` is None if no plan exists yet.
    """
    sides, rears = sides_of(inventory, panel, label, mode), rear_names(inventory, panel, label, mode)
    behind = [(name, 1) for name in rears] if len(rears) > 1 else [(label, n + 1) for n in range(len(sides))]
    blocked = inventory.panel_port[panel, label].blocked
    return [FrontPort(panel, f"{label}{side}", (there,), blocked) for side, there in zip(sides, behind, strict=True)]


def _rear_ports(inventory: Inventory, panel: str, label: str, mode: Mode | None) -> Iterator[RearPort]:
    port, trunk = inventory.panel_port[panel, label], inventory.leads_to.get((panel, label))
    words = [port.mode, *_words(table_of(PanelPort).notes(port))]
    if trunk is not None:
        loss = inventory.trunk_at[trunk].loss_db
        words.append(TRUNK if loss is None else f"{TRUNK} {exact(loss)}dB")
    names = rear_names(inventory, panel, label, mode)
    positions = 1 if len(names) > 1 else len(sides_of(inventory, panel, label, mode))
    for name in names:
        part = [f"{PART}{label}"] if name != label else []
        yield RearPort(panel, name, positions, port.blocked, ", ".join([*words, *part]))


def trunk_cables(inventory: Inventory, mode: Mode | None) -> Iterator[NetboxCable]:
    """Yield the existing cables of trunks: one per trunk or fibre."""
    for row, one in enumerate(inventory.trunks, start=1):
        sides = sides_of(inventory, one.near, one.near_port, mode)
        far = rear_names(inventory, one.panel, one.panel_port, mode)
        for side, name in zip(sides, far, strict=True):
            a, b = CableEnd(one.near, FRONT, f"{one.near_port}{side}"), CableEnd(one.panel, REAR, name)
            yield NetboxCable(f"T{row}{f'-{side}' if side else ''}", CONNECTED, (a,), (b,), PROFILES[1])


def as_objects(inventory: Inventory, mode: Mode | None = None) -> NetboxObjects:
    """Return an inventory's NetBox objects, without those of a plan.

    The mode is that of the plan for it, if there is one: in a duplex plan, all panel ports have one front port.
    """
    stands = [inventory.place(name) for name in (*inventory.host, *inventory.panel)]
    sites = dict.fromkeys(site_of(place.site) for place in stands)
    sites |= dict.fromkeys(map(site_of, (*inventory.racks, *(tray.site for tray in inventory.trays))))
    racks = dict.fromkeys((site_of(place.site), place.rack) for place in stands)
    places = {
        (site_of(site), rack): _lines(table_of(RackPlace).notes(RackPlace(site, rack, *place)))
        for site, racks_there in inventory.racks.items()
        for rack, place in racks_there.items()
    }
    found = NetboxObjects(
        {site: _about(inventory, site) for site in sites},
        {rack: places.get(rack, "") for rack in racks | places},
        tuple(_devices(inventory)),
        tuple(_interface(host, port, lane) for host in inventory.hosts for port, lane in lanes_of(host)),
        tuple(rear for key in inventory.panel_port for rear in _rear_ports(inventory, *key, mode)),
        tuple(front for key in inventory.panel_port for front in front_ports(inventory, *key, mode)),
        (*(_make_fixed_cable(inventory, fixed) for fixed in inventory.cabling), *trunk_cables(inventory, mode)),
    )
    _check_names(found)
    return found


def _about(inventory: Inventory, site: str) -> str:
    """Return NetBox comments on the inventory and a site's trays."""
    if inventory.name != inventory.name.strip() or not inventory.name.isprintable():
        raise ParameterError(f"the inventory is called {inventory.name!r}; NetBox takes no blanks around; rename it")
    trays = tuple(tray for tray in inventory.trays if site_of(tray.site) == site)
    return _lines(table_of(Inventory).notes(inventory, trays=trays))


def _lines(notes: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"{name}: {text}" for name, text in notes)


def _words(notes: Iterable[tuple[str, str]]) -> list[str]:
    """Return description words, which must not contain commas."""
    words = [f"{name} {text}" for name, text in notes]
    wrong = next((word for word in words if "," in word), None)
    if wrong is not None:
        raise ParameterError(f"NetBox takes a comma for the end of a word of a description; rename {wrong!r}")
    return words


def _devices(inventory: Inventory) -> Iterator[Device]:
    taken: set[Place] = set()
    for name in (*inventory.host, *inventory.panel):
        place, panel = inventory.place(name), inventory.panel.get(name)
        fits = 1 <= place.unit <= MAX_UNITS and place not in taken
        taken.add(place)
        lines = [] if fits else [f"unit: {place.unit}"]
        device: Host | Panel = inventory.host[name] if panel is None else panel
        lines += [_lines(notes)] if (notes := list(table_of(type(device)).notes(device))) else []
        role, position = HOST if panel is None else panel.kind, place.unit if fits else None
        yield Device(name, role, site_of(place.site), place.rack, position, "\n".join(lines))


def _interface(host: Host, port: Port, lane: int) -> Interface:
    kbps = port.speed / KILO
    if kbps.denominator != 1:
        why = f"NetBox tells speeds in whole kilobits per second, not {format_bandwidth(port.speed)}"
        raise ParameterError(f"{host.name} {port.name}: {why}")
    name = interface_name(port.name, lane, port.lanes)
    words = _words(table_of(Port).notes(port))
    label, sort = port.name if port.lanes > 1 else "", interface_sort(port.speed)
    return Interface(host.name, name, label, sort, kbps.numerator, description=", ".join(words))


def _make_fixed_cable(inventory: Inventory, fixed: Fixed) -> NetboxCable:
    panel, label = inventory.find_plugged(*fixed.place)
    a, b = cable_ends(fixed, inventory.port[fixed.socket].lanes)
    b = b._replace(device=panel, name=label)
    return NetboxCable("", CONNECTED, (a,), (b,))


def cable_ends(fixed: Fixed, lanes: int) -> tuple[CableEnd, CableEnd]:
    """Return the interface end and rear-port end of a fixed cable.

    ``lanes`` is the number of lanes of the host's port.
    """
    lane = CableEnd(fixed.host, INTERFACE, interface_name(fixed.port, fixed.lane, lanes))
    return lane, CableEnd(fixed.panel, REAR, fixed.panel_port)


def _check_names(objects: NetboxObjects) -> None:
    """Check for names that NetBox would confuse or reject."""
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
    """Check a name for NetBox."""
    if "," in name:
        raise ParameterError(f"NetBox takes a comma for the end of a name; rename {name!r}")
    if not name or not name.isprintable() or name != name.strip() or len(name) > _MAX_LETTERS:
        raise ParameterError(f"NetBox takes names of up to {_MAX_LETTERS} letters without blanks around; not {name!r}")
