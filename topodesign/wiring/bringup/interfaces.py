"""What the lanes of hosts are called by their hosts: interfaces, and the RDMA devices behind them.

A port of one lane is the interface of that name, one of several lanes ``PORTs0``, ``PORTs1`` and so on, as Linux calls
the parts of a split port. A table says otherwise: a CSV with the columns ``host,port,interface`` and, as needed,
``device`` (``mlx5_0``, ``rdma_en3``). ``host`` is a host or ``*`` for all that have no row of their own; ``port`` is
``PORT``, or ``PORT/LANE`` where it has several. A port may be several interfaces, as one of 200 Gbps with two PCIe
functions is: their names have blanks between them, and so have their devices.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.tables import parse_csv
from topodesign.base.text_files import read_text
from topodesign.wiring.inventory.devices import Fixed, interface_name, lanes_of
from topodesign.wiring.plan.plan import WiringPlan

NODE = "td0"  # the interface that has the address of a host itself

_INTERFACE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}")  # of those that Linux takes, such as need no quotes
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)*")
_DEVICE = re.compile(r"[A-Za-z0-9_.-]{1,63}")
_ASK = "name them in a table (--interfaces, columns host,port,interface)"


class Interface(NamedTuple):
    """An interface of a host, and the RDMA device behind it; empty where it is not known."""

    name: str
    device: str


def check_interface(what: str, name: str) -> None:
    """Refuse what is no name of an interface."""
    if not _INTERFACE.fullmatch(name):
        raise ParameterError(f"{what} {name!r:.60} is no name of an interface")


class Names:
    """The interfaces of the hosts of a plan."""

    def __init__(self, plan: WiringPlan, table: str | Path | None) -> None:
        self._plan = plan
        self._known = {} if table is None else _read(as_path(table), plan)
        wrong = next((host for host in plan.hosts if not _HOST.fullmatch(host) or len(host) > 253), None)
        if wrong is not None:
            raise ParameterError(f"host {wrong!r:.80} is no name that a network takes; give it one in the inventory")

    def lane(self, end: Fixed) -> str:
        """Return what the lane of a cable is called in tables, such as ``eth0/2``."""
        return self._plan.interface(end)

    def of(self, end: Fixed) -> tuple[Interface, ...]:
        """Return the interfaces at the end of a cable."""
        lane = self.lane(end)
        found = self._known.get((end.host, lane)) or self._known.get(("*", lane))
        if found is not None:
            return found
        name = self._plan.split_name(end)
        if not _INTERFACE.fullmatch(name) or name == NODE:
            raise ParameterError(f"port {end.port!r:.60} of host '{end.host}' is no name of an interface; {_ASK}")
        return (Interface(name, ""),)


def _read(path: Path, plan: WiringPlan) -> dict[tuple[str, str], tuple[Interface, ...]]:
    """Read a table of interfaces."""
    room = plan.inventory
    lanes = {
        (host.name, interface_name(port.name, lane, port.lanes)) for host in room.hosts for port, lane in lanes_of(host)
    }
    lanes |= {("*", lane) for _, lane in lanes}
    found: dict[tuple[str, str], tuple[Interface, ...]] = {}
    with expecting(path, FileKind.INTERFACES):
        for row in parse_csv(read_text(path, (".csv",)), ("host", "port", "interface"), ("device",)):
            line, key = row["host"].line, (row["host"].value, row["port"].value)
            if key not in lanes:
                raise FileFormatError(f"line {line}: the inventory has no port {key[1]!r:.60} of host {key[0]!r:.60}")
            if key in found:
                raise FileFormatError(f"line {line}: there are two rows for port {key[1]} of host {key[0]}")
            names = row["interface"].value.split()
            devices = row["device"].value.split() if "device" in row else [""] * len(names)
            if len(names) != len(devices):
                raise FileFormatError(f"line {line}: as many devices as interfaces are needed, or none")
            for word, pattern in (*((name, _INTERFACE) for name in names), *((one, _DEVICE) for one in devices if one)):
                if not pattern.fullmatch(word) or word == NODE:
                    kind = "an interface" if pattern is _INTERFACE else "a device"
                    raise FileFormatError(f"line {line}: {word[:60]!r} is no name of {kind}")
            found[key] = tuple(map(Interface, names, devices))
    return found
