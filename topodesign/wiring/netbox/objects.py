"""What NetBox has of a room: its objects as far as a wiring needs them, whichever way they came."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

EndKind = Literal["dcim.interface", "dcim.frontport", "dcim.rearport"]

INTERFACE: EndKind = "dcim.interface"
FRONT: EndKind = "dcim.frontport"
REAR: EndKind = "dcim.rearport"


class CableEnd(NamedTuple):
    """What a cable is plugged into: device, kind and name."""

    device: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Device:
    """A device: what it is called, its role, and where it stands.

    ``name``, ``role``, ``site``, ``rack``: as NetBox tells them; the rack is empty for a device without one.
    ``position``: the lowest unit that it takes, or None if NetBox does not know. ``comments``: lines ``key: value`` are
    what an inventory says and NetBox has no field for.
    """

    name: str
    role: str
    site: str
    rack: str
    position: int | None
    comments: str = ""


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface of a device: a lane, or a port with all of its lanes.

    ``device``, ``name``: which one. ``label``: the name of the port that it is a lane of; empty if it is the port
    itself. ``sort``: NetBox's type, such as ``25gbase-x-sfp28``; empty if it is not told. ``kbps``: speed in kilobits
    per second, None if it is not told. ``ignored``: whether it is for management only, and no part of a wiring.
    ``description``: words with commas between: its polarity, and the budget of its optic.
    """

    device: str
    name: str
    label: str = ""
    sort: str = ""
    kbps: int | None = None
    ignored: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class RearPort:
    """A port that takes a fixed cable: its number of fibres or pairs, and whether it is marked as taken."""

    device: str
    name: str
    positions: int = 1
    marked: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class FrontPort:
    """A port that takes a patch cord, and the rear ports and positions behind it."""

    device: str
    name: str
    behind: tuple[tuple[str, int], ...]
    marked: bool = False


@dataclass(frozen=True, slots=True)
class NetboxCable:
    """A cable; a status of ``connected`` says that it is there, ``planned`` that it shall be."""

    label: str
    status: str
    a: tuple[CableEnd, ...]
    b: tuple[CableEnd, ...]
    profile: str = ""
    colour: str = ""
    length: str = ""


@dataclass(frozen=True, slots=True)
class NetboxObjects:
    """All objects, each kind in the order in which NetBox made them.

    ``sites``, ``racks``: comments by name, of racks by site and name. ``devices``, ``interfaces``, ``rear_ports``,
    ``front_ports``, ``cables``: as they are.
    """

    sites: dict[str, str] = field(default_factory=dict)
    racks: dict[tuple[str, str], str] = field(default_factory=dict)
    devices: tuple[Device, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    rear_ports: tuple[RearPort, ...] = ()
    front_ports: tuple[FrontPort, ...] = ()
    cables: tuple[NetboxCable, ...] = ()

    def at(self, site: str) -> NetboxObjects:
        """Return what is at a site; cables stay, since those to elsewhere take ports."""
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
