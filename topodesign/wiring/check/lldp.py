"""What hosts hear by LLDP, and the hosts that tell it: ports that lead to a host are those that a topology is made of.

LLDP is told by ``lldpctl -f json`` (or ``json0``), one file a host, named ``HOST.json``; by what programs print as text
(:mod:`~topodesign.wiring.check.outputs`), ``HOST.txt``; or by one CSV with the columns
``host,port,neighbour_host,neighbour_port``, a row with two empty cells where nothing is heard. An interface has the
name of its port, and where the port has several lanes ``PORT/LANE``, or what Linux calls the parts of a split port:
``PORTs0`` for lane 1. Interfaces that are not in the inventory do not count. A neighbour says what transmitter a
receiver hears, so it tells one direction of a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.strict_json import parse_json
from topodesign.base.tables import named_columns
from topodesign.base.text_files import read_text
from topodesign.base.units import Quantity, as_bandwidth
from topodesign.wiring.check.outputs import TEXT_ENDINGS, Neighbour, Told, age_of, read_output
from topodesign.wiring.inventory.answers import PER_RACK, SITE
from topodesign.wiring.inventory.devices import LANES, Connector, Host, Port

ENDINGS = (".json", *TEXT_ENDINGS)
COLUMNS = ("host", "port", "neighbour_host", "neighbour_port")
_LANE = re.compile(r"(.+)(?:/([1-9]|1[0-6])|s([0-9]|1[0-5]))")
_SLOT = re.compile(r"(en|eth|ib|wl)(P[0-9]+)?p[0-9]+")  # what s0 behind is a slot of, as in enp1s0


def heard_hosts(path: str | Path, speed: Quantity = "100Gbps") -> tuple[Host, ...]:
    """Return the hosts that tell what they hear, with the ports that join them to each other.

    An interface counts if its neighbour is one of these hosts, at either end. Interfaces ``PORT/1`` to ``PORT/16`` and
    ``PORTs0`` to ``PORTs15`` are the lanes of one port, whose connector has at least as many. Where hosts stand is not
    told: they are put into racks in order.

    Parameters
    ----------
    path
        A directory with ``lldpctl -f json`` of each host as ``HOST.json`` (or its text as ``HOST.txt``), one such file,
        what ``ibnetdiscover`` or UFM says of a fabric, or a CSV ``host,port,neighbour_host,neighbour_port``.
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
    lanes: dict[str, int] = {}
    for match in parts.values():
        lanes[match[1]] = max(lanes.get(match[1], 2), int(match[2] or int(match[3]) + 1))
    ports = dict.fromkeys(parts[name][1] if name in parts else name for name in interfaces)
    return [(port, next(known for known in LANES if LANES[known] >= lanes.get(port, 1))) for port in ports]


def _order(name: str) -> list[tuple[int, str]]:
    """Return what sorts names as people do, their numbers by value."""
    parts = re.split(r"([0-9]{1,9})", name)
    return [(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts)]


def read_neighbours(path: Path) -> tuple[list[Neighbour], list[str]]:
    """Return all that hosts hear, and the hosts that told something, by the names of their files or rows."""
    if path.suffix.lower() == ".csv":
        entries = list(neighbours_of_table(path))
        names = [entry.host for entry in entries]
        wanted = f"rows under {','.join(COLUMNS)}"
    else:
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in ENDINGS) if path.is_dir() else [path]
        entries, names = neighbours_of_files(files)
        wanted = "files HOST.json with what 'lldpctl -f json' prints, or HOST.txt with what it prints as text"
    if not names:
        raise FileFormatError(f"{path}: there is nothing in it; expected {wanted}")
    return entries, names


def neighbours_of_files(files: Iterable[Path]) -> tuple[list[Neighbour], list[str]]:
    """Return what files say, and of which hosts: those that they are named after, but for files of whole fabrics."""
    told = [_told(file) for file in files]
    return [entry for one in told for entry in one.entries], [host for one in told for host in one.hosts]


def _told(path: Path) -> Told:
    if path.suffix.lower() == ".json":
        return Told(list(_from_lldpctl(path)), [path.stem])
    with expecting(path, FileKind.NEIGHBOURS):
        return read_output(path.stem, read_text(path, ENDINGS))


def neighbours_of_table(path: Path) -> Iterator[Neighbour]:
    """Yield the rows of a CSV."""
    with expecting(path, FileKind.NEIGHBOURS):
        text = read_text(path, (".csv",))
        rows = named_columns(text, COLUMNS, lambda name: name.strip().replace("neighbor", "neighbour"))
        for line, row in rows:
            host, interface, chassis, port = (row[name].strip() for name in COLUMNS)
            if bool(chassis) != bool(port):
                raise FileFormatError(f"line {line}: neighbour_host and neighbour_port go together")
            yield Neighbour(host, interface, chassis, (port,), None)


def _from_lldpctl(path: Path) -> Iterator[Neighbour]:
    with expecting(path, FileKind.NEIGHBOURS):
        document = parse_json(read_text(path, (".json",)))
        try:
            bodies = list(_bodies(document["lldp"]))
        except (TypeError, KeyError, AttributeError):
            raise FileFormatError("this is not what 'lldpctl -f json' prints") from None
        for interface, body in bodies:
            try:
                chassis, name = _chassis(body["chassis"])
                port = _single(body["port"])
                ports = (_value(port["id"]), _value(port.get("descr", "")))
                chassis = name or _value(chassis["id"])
                yield Neighbour(path.stem, interface, chassis, ports, age_of(str(body.get("age"))))
            except (ValueError, TypeError, KeyError, AttributeError, IndexError):
                words = "this is not how lldpctl tells chassis and port of a neighbour"
                raise FileFormatError(f"interface '{interface[:40]}': {words}") from None


def _bodies(lldp: Any) -> Iterator[tuple[str, Any]]:
    """Yield interfaces with what is known of their neighbours, in the keyed, the list and the ``json0`` shape."""
    for part in _listed(lldp):
        for entry in _listed(part.get("interface", [])):
            if isinstance(entry.get("name"), str):
                yield entry["name"], entry
            else:
                yield from ((name, body) for name, bodies in entry.items() for body in _listed(bodies))


def _chassis(data: Any) -> tuple[Any, str]:
    """Return a chassis and its name: the key it is under, or a field of it."""
    chassis = _single(data)
    if "id" in chassis:
        return chassis, _value(chassis.get("name", ""))
    ((name, body),) = chassis.items()
    return body, name


def _listed(data: Any) -> list[Any]:
    return data if isinstance(data, list) else [data]


def _single(data: Any) -> Any:
    return _listed(data)[0]


def _value(data: Any) -> str:
    found = _single(data)
    text = found["value"] if isinstance(found, dict) else found
    if not isinstance(text, str):
        raise TypeError
    return text
