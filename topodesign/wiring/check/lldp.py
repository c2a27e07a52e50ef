"""Hosts and their ports from what they hear by LLDP: ports that lead to a host are those that a topology is made of."""

from __future__ import annotations

import re
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.units import Quantity, as_bandwidth
from topodesign.wiring.check.observed import read_neighbours
from topodesign.wiring.inventory.inventory import LANES, Connector, Host, Port
from topodesign.wiring.inventory.answers import PER_RACK, SITE

_LANE = re.compile(r"(.+)(?:/([1-4])|s([0-3]))")
_SLOT = re.compile(r"(en|eth|ib|wl)(P[0-9]+)?p[0-9]+")  # what s0 behind is a slot of, as in enp1s0


def heard_hosts(path: str | Path, speed: Quantity = "100Gbps") -> tuple[Host, ...]:
    """Return the hosts that tell what they hear, with the ports that join them to each other.

    An interface counts if its neighbour is one of these hosts, at either end. Interfaces ``PORT/1`` to ``PORT/4`` and
    ``PORTs0`` to ``PORTs3`` are the lanes of one port with an MPO-12 connector. Where hosts stand is not told: they are
    put into racks in order.

    Parameters
    ----------
    path
        A directory with ``lldpctl -f json`` of each host as ``HOST.json``, one such file, or a CSV
        ``host,port,neighbour_host,neighbour_port``.
    speed
        Of a port, over all lanes, since LLDP does not tell it.

    Raises
    ------
    FileFormatError
        If it cannot be read, or no host hears another.
    UnitError
        If the speed is none.

    Examples
    --------
    >>> from topodesign import copy_examples, new_inventory
    >>> [path] = copy_examples(["observed_testbed.csv"], ".")
    >>> new_inventory(heard_hosts(path))
    Inventory('my room', 12 hosts with 48 lanes, 1 panel with 48 ports)
    """
    path = as_path(path)
    entries, told = read_neighbours(path)
    short = {name.partition(".")[0]: name for name in told}
    names = {name: name for name in told} | short
    found: dict[str, dict[str, None]] = {name: {} for name in dict.fromkeys(told)}
    for entry in entries:
        other = names.get(entry.chassis) or short.get(entry.chassis.partition(".")[0])
        if other is None or other == entry.host:
            continue
        found[entry.host][entry.interface] = None
        far = next((port for port in entry.ports if port), None)
        if far is not None:
            found[other][far] = None
    hosts = []
    rate = as_bandwidth(speed)
    for number, (name, interfaces) in enumerate(found.items()):
        rack, place = divmod(number, PER_RACK)
        ports = tuple(
            Port(port, connector, rate / LANES[connector]) for port, connector in _ports(sorted(interfaces, key=_order))
        )
        hosts.append(Host(name, SITE, f"r{rack + 1}", 2 + 2 * place, ports))
    if not any(host.ports for host in hosts):
        words = "no host hears another, so nothing tells which ports are meant; say --hosts and --ports instead"
        raise FileFormatError(f"{path}: {words}")
    return tuple(hosts)


def _ports(interfaces: list[str]) -> list[tuple[str, Connector]]:
    matches = {name: match for name in interfaces if (match := _LANE.fullmatch(name))}
    parts = {name: match for name, match in matches.items() if match[2] or not _SLOT.fullmatch(match[1])}
    split = {match[1] for match in parts.values()}
    found: dict[str, Connector] = {}
    for name in interfaces:
        port = parts[name][1] if name in parts else name
        found[port] = "MPO-12" if port in split else "LC"
    return list(found.items())


def _order(name: str) -> list[tuple[int, str]]:
    """Return what sorts names as people do, their numbers by value."""
    parts = re.split(r"([0-9]{1,9})", name)
    return [(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts)]
