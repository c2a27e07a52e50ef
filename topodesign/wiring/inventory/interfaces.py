"""Interface tables: host interface names of inventory ports.

A CSV with the columns ``host,port,interface`` and, as needed, ``device`` (``mlx5_0``, ``rdma_en3``). ``host`` is a host
or ``*`` for all that have no row of their own; ``port`` is ``PORT``, or ``PORT/LANE`` where it has several. A port may
be several interfaces, as one of 200 Gbps with two PCIe functions is: their names have blanks between them, and so have
their devices. A row whose port is ``*`` gives other names of the host itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.tables import parse_csv
from topodesign.base.text_files import read_text
from topodesign.wiring.inventory.inventory import Inventory

LINUX_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}")  # of those that Linux takes, such as need no quotes
_DEVICE = re.compile(r"[A-Za-z0-9_.-]{1,63}")


class Interface(NamedTuple):
    """Host interface and its RDMA device; empty if unknown."""

    name: str
    device: str


@dataclass(frozen=True)
class InterfaceTable:
    """Table of interfaces.

    Attributes
    ----------
    ports
        Interfaces by host (or ``*``) and the name of the lane in the inventory.
    hosts
        Hosts of the inventory by their other names.
    """

    ports: Mapping[tuple[str, str], tuple[Interface, ...]] = field(default_factory=dict)
    hosts: Mapping[str, str] = field(default_factory=dict)

    def interfaces(self, host: str, lane: str) -> tuple[Interface, ...]:
        """Return the interfaces of a lane; empty if not in the table."""
        return self.ports.get((host, lane)) or self.ports.get(("*", lane), ())


def read_interfaces(path: Path, inventory: Inventory, reserved: str = "") -> InterfaceTable:
    """Read a table of interfaces.

    Parameters
    ----------
    path
        Of the CSV.
    inventory
        The hosts and ports that it may name.
    reserved
        If given, interfaces must have names that Linux takes, and not this one.

    Raises
    ------
    FileFormatError
        If it is no such table, or names something that the inventory lacks.
    """
    lanes = {one for host, name in inventory.interfaces for one in ((host, name), ("*", name))}
    ports: dict[tuple[str, str], tuple[Interface, ...]] = {}
    hosts: dict[str, str] = {}
    with expecting(path, FileKind.INTERFACES):
        for row in parse_csv(read_text(path, (".csv",)), ("host", "port", "interface"), ("device",)):
            line, key = row["host"].line, (row["host"].value, row["port"].value)
            names = row["interface"].value.split()
            if key[1] == "*" and key[0] in inventory.host:
                hosts |= dict.fromkeys(names, key[0])
                continue
            if key not in lanes:
                raise FileFormatError(f"line {line}: the inventory has no port {key[1]!r:.60} of host {key[0]!r:.60}")
            if key in ports:
                raise FileFormatError(f"line {line}: there are two rows for port {key[1]} of host {key[0]}")
            devices = row["device"].value.split() if "device" in row else [""] * len(names)
            if len(names) != len(devices):
                raise FileFormatError(f"line {line}: as many devices as interfaces are needed, or none")
            wrong = next(_unfit(names, devices, reserved), None) if reserved else None
            if wrong is not None:
                raise FileFormatError(f"line {line}: {wrong}")
            ports[key] = tuple(map(Interface, names, devices))
    return InterfaceTable(ports, hosts)


def _unfit(names: list[str], devices: list[str], reserved: str) -> Iterator[str]:
    for name in names:
        if not LINUX_NAME.fullmatch(name) or name == reserved:
            yield f"{name[:60]!r} is not a name of an interface"
    for device in filter(None, devices):
        if not _DEVICE.fullmatch(device) or device == reserved:
            yield f"{device[:60]!r} is not a name of a device"
