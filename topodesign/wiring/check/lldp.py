"""LLDP neighbours of hosts, and the hosts that report them.

LLDP is reported by ``lldpctl -f json`` (or ``json0``) and ``networkctl --json=short lldp``, one file a host, named
``HOST.json``; by what programs print as text (:mod:`~topodesign.wiring.check.outputs`), ``HOST.txt``; or by one table
of links (:mod:`~topodesign.wiring.check.link_tables`). A neighbour says what transmitter a receiver hears, so it tells
one direction of a link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_text
from topodesign.base.units import Quantity, as_bandwidth
from topodesign.wiring.check.link_tables import COLUMNS, LINK_ENDINGS, read_containerlab, read_link_table
from topodesign.wiring.check.names import sort_key
from topodesign.wiring.check.outputs import TEXT_ENDINGS, Neighbour, NeighbourOutput, age_of, read_output
from topodesign.wiring.inventory.answers import PER_RACK, SITE
from topodesign.wiring.inventory.devices import LANES, Connector, Host, Port

ENDINGS = (".json", *TEXT_ENDINGS)
_LANE = re.compile(r"(.+)(?:/([1-9]|1[0-6])|s([0-9]|1[0-5]))")
_SLOT = re.compile(r"(en|eth|ib|wl)(P[0-9]+)?p[0-9]+")  # what s0 behind is a slot of, as in enp1s0


def hosts_from_lldp(path: str | Path, speed: Quantity = "100Gbps") -> tuple[Host, ...]:
    """Return the reporting hosts with the ports that connect them.

    An interface counts if its neighbour is one of these hosts, at either end. Interfaces ``PORT/1`` to ``PORT/16`` and
    ``PORTs0`` to ``PORTs15`` are the lanes of one port, whose connector has at least as many. LLDP does not
    report where hosts stand: they are put into racks in order.

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
    >>> from topodesign import copy_examples, init_wiring
    >>> [path] = copy_examples(["observed_testbed.csv"], ".")
    >>> init_wiring(hosts_from_lldp(path))
    Inventory('my room', 12 hosts with 48 lanes, 1 panel with 48 ports)
    """
    path = as_path(path)
    entries, told = read_neighbours(path)[:2]
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
            Port(port, connector, rate / LANES[connector])
            for port, connector in _ports(sorted(interfaces, key=sort_key))
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


def read_neighbours(path: Path) -> NeighbourOutput:
    """Return all neighbours and the reporting hosts.

    Hosts have the names of their files or rows.
    """
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in (*ENDINGS, *LINK_ENDINGS))
    else:
        files = [path]
    told = neighbours_of_files(files)
    if not told.hosts:
        wanted = (
            f"rows under {','.join(COLUMNS)}"
            if path.suffix.lower() == ".csv"
            else "files HOST.json with what 'lldpctl -f json' prints, or HOST.txt with what it prints as text"
        )
        raise FileFormatError(f"{path}: there is nothing in it; expected {wanted}")
    return told


def neighbours_of_files(
    files: Sequence[Path], read: Callable[[Path], NeighbourOutput] | None = None
) -> NeighbourOutput:
    """Return the neighbours in files, and the reporting hosts.

    A file's name gives its host, except for files of whole fabrics.

    ``read`` reads one of them: :func:`read_neighbour_file` if not given.

    Of several files those that cannot be read are returned with the reason; if none can, that is raised.
    """
    entries: list[Neighbour] = []
    hosts: list[str] = []
    unread: dict[str, str] = {}
    faults: list[str] = []
    read = read or read_neighbour_file
    for file in files:
        try:
            told = read(file)
        except FileFormatError as error:
            if len(files) == 1:
                raise
            unread[file.stem] = str(error)
        else:
            entries += told.entries
            hosts += told.hosts
            unread |= told.unread
            faults += told.faults
    if unread and not hosts:
        raise FileFormatError(next(iter(unread.values())))
    return NeighbourOutput(entries, hosts, unread, faults)


def read_neighbour_file(path: Path) -> NeighbourOutput:
    """Read one file of neighbours in any supported format."""
    ending = path.suffix.lower()
    with expecting(path, FileKind.NEIGHBOURS):
        if ending == ".csv":
            return read_link_table(read_text(path, (".csv",)))
        if ending in LINK_ENDINGS:
            return read_containerlab(read_text(path, LINK_ENDINGS))
        text = read_text(path, ENDINGS)
        if ending == ".json":
            return NeighbourOutput(list(_from_json(path.stem, text)), [path.stem])
        if not text.strip():
            raise FileFormatError("an empty file")
        return read_output(path.stem, text)


def _from_json(host: str, text: str) -> Iterator[Neighbour]:
    if not text.strip():
        raise FileFormatError("an empty file")
    document = parse_json(text)
    if isinstance(document, dict) and "Neighbors" in document and "lldp" not in document:
        yield from _from_networkctl(host, document)
        return
    try:
        bodies = list(_bodies(document["lldp"]))
    except (TypeError, KeyError, AttributeError):
        raise FileFormatError("this is not what 'lldpctl -f json' or 'networkctl --json=short lldp' print") from None
    for interface, body in bodies:
        try:
            chassis, name = _chassis(body["chassis"])
            port = _single(body["port"])
            ports = (_value(port["id"]), _value(port.get("descr", "")))
            identity = _value(chassis["id"])
            yield Neighbour(host, interface, name or identity, ports, age_of(str(body.get("age"))), identity)
        except (ValueError, TypeError, KeyError, AttributeError, IndexError):
            words = "this is not how lldpctl tells chassis and port of a neighbour"
            raise FileFormatError(f"interface '{interface[:40]}': {words}") from None


def _from_networkctl(host: str, document: dict[str, Any]) -> Iterator[Neighbour]:
    try:
        for link in document["Neighbors"]:
            for one in link["Neighbors"]:
                said = [one.get(name) or "" for name in ("SystemName", "PortID", "PortDescription", "ChassisID")]
                chassis, port, descr, identity = map(_value, said)
                yield Neighbour(host, _value(link["InterfaceName"]), chassis, (port, descr), None, identity)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise FileFormatError("this is not how 'networkctl --json=short lldp' tells neighbours") from None


def _bodies(lldp: Any) -> Iterator[tuple[str, Any]]:
    """Yield interfaces with neighbour data from any lldpctl JSON shape."""
    for part in _listed(lldp):
        for entry in _listed(part.get("interface", [])):
            if isinstance(entry.get("name"), str):
                yield entry["name"], entry
            else:
                yield from ((name, body) for name, bodies in entry.items() for body in _listed(bodies))


def _chassis(data: Any) -> tuple[Any, str]:
    """Return a chassis and its name, from its key or field."""
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
