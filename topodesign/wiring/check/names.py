"""Names of hosts and interfaces in any spelling.

Of hosts neither case nor domain matters. An interface is a port of the inventory or a lane of one: ``PORT/LANE``, or as
systems call the parts of a split port from 0 on, ``PORTs0`` (Linux) or ``PORT:0``. ``Eth1/47`` is ``Ethernet1/47``. A
table (:mod:`topodesign.wiring.inventory.interfaces`) maps all other names.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from topodesign.wiring.inventory.devices import Lane
from topodesign.wiring.inventory.interfaces import InterfaceTable
from topodesign.wiring.inventory.inventory import Inventory

_PART = re.compile(r"(.+)([s:])([0-9]{1,2})")
_ETHERNET = re.compile(r"e(?:th(?:ernet)?|t)(?=[0-9]+/)")
_ADDRESS = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}|0x[0-9a-f]{12,16}")
_LIKE = 0.5  # how like the nearest name has to be, from 0 to 1


class KnownNames:
    """Names of hosts and interfaces in an inventory and a table.

    Attributes
    ----------
    inventory
        Whose names they are.
    table
        Other names of its interfaces and hosts.
    """

    def __init__(self, inventory: Inventory, table: InterfaceTable | None = None) -> None:
        self.inventory = inventory
        self.table = table or InterfaceTable()
        self._hosts: dict[str, str | None] = {}
        for said, host in [*((name, name) for name in inventory.host), *self.table.hosts.items()]:
            key = said.casefold()
            self._hosts[key] = host if self._hosts.get(key, host) == host else None
        self._lanes: dict[tuple[str, str], Lane | None] = {}
        for (host, name), lane in inventory.interfaces.items():
            parted = inventory.port[lane.socket].lanes > 1
            others = (f"{lane.port}s{lane.lane - 1}", f"{lane.port}:{lane.lane - 1}") if parted else ()
            for other in (name, *others, *(word for one in self.table.interfaces(host, name) for word in one)):
                key_ = host, _spelling(other)
                self._lanes[key_] = lane if self._lanes.get(key_, lane) == lane else None
        self._from_one: set[tuple[str, str, str]] = set()

    def host(self, said: str) -> str | None:
        """Return the host that has a name, or None."""
        for name in (said, said.partition(".")[0]):
            if name in self.inventory.host:
                return name
            found = self._hosts.get(name.casefold()) if name else None
            if found is not None:
                return found
        return None

    def lane(self, host: str, said: str) -> Lane | None:
        """Return the lane of a host's interface by name, or None."""
        exact = self.inventory.interfaces.get((host, said))
        if exact is not None:
            return exact
        part = _PART.fullmatch(said)
        if part is not None and (host, part[1], part[2]) in self._from_one:
            said = f"{part[1]}/{int(part[3])}"
        return self._lanes.get((host, _spelling(said)))

    def whole_port(self, host: str, said: str) -> tuple[Lane, ...]:
        """Return all lanes of an unsplit multi-lane port; empty otherwise."""
        port = self.inventory.port.get((host, said))
        if port is None or port.lanes == 1:
            return ()
        return tuple(Lane(host, said, lane) for lane in range(1, port.lanes + 1))

    def read_numbering(self, names: Iterable[tuple[str, str]]) -> None:
        """Record ports whose lanes are numbered from 1, by interface names.

        Names are pairs of host and name. They count from 1 if a name has the number of the last lane and none has 0.
        """
        numbers: dict[tuple[str, str, str], set[int]] = {}
        for host, said in names:
            part = _PART.fullmatch(said)
            port = part and self.inventory.port.get((host, part[1]))
            if part and port:
                numbers.setdefault((host, part[1], part[2]), set()).add(int(part[3]))
        for (host, name, sign), found in numbers.items():
            if self.inventory.port[host, name].lanes in found and 0 not in found:
                self._from_one.add((host, name, sign))

    def nearest_host(self, said: str, hosts: Sequence[str]) -> str:
        """Return the host with the most similar name; empty if none."""
        return _nearest(said.partition(".")[0], {host: host for host in hosts})

    def nearest_lane(self, said: str, lanes: Sequence[Lane]) -> str:
        """Return the most similar interface name of lanes; empty if none."""
        return _nearest(said, {self.interface(lane): lane for lane in lanes})

    def interface(self, lane: Lane) -> str:
        """Return the inventory's name for the interface of a lane."""
        return f"{lane.port}/{lane.lane}" if self.inventory.port[lane.socket].lanes > 1 else lane.port


def is_address(text: str) -> bool:
    """Return whether a text is a hardware address or GUID."""
    return _ADDRESS.fullmatch(text.strip().lower()) is not None


def sort_key(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts embedded numbers by value."""
    parts = re.split(r"([0-9]{1,9})", name)
    return [(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts)]


def _spelling(name: str) -> str:
    return _ETHERNET.sub("eth", name.casefold())


def _nearest(said: str, known: Iterable[str]) -> str:
    """Return the most similar known name; empty if none or ambiguous."""
    plain = re.sub(r"[^a-z0-9]", "", said.casefold())
    ranked = sorted(((_likeness(plain, name), name) for name in known), reverse=True)
    if not ranked or ranked[0][0] < _LIKE or (len(ranked) > 1 and ranked[1][0] == ranked[0][0]):
        return ""
    return ranked[0][1]


def _likeness(plain: str, name: str) -> float:
    other = re.sub(r"[^a-z0-9]", "", name.casefold())
    if other and plain.endswith(other):  # enp1s0f0np0 is p0
        return 0.9 + (plain == other) / 10
    return difflib.SequenceMatcher(None, plain, other).ratio()
