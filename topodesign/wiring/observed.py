"""What was really wired: from what hosts hear by LLDP, or from the circuits that a switch says it has.

LLDP is told by ``lldpctl -f json`` (or ``json0``), one file a host, named ``HOST.json``; or by one CSV with the columns
``host,port,neighbour_host,neighbour_port``, a row with two empty cells where nothing is heard. An interface has the
name of its port, and ``PORT/LANE`` where the port has several lanes. Interfaces that are not in the inventory do not
count. A neighbour says what transmitter a receiver hears, so it tells one direction of a link.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from topodesign.errors import FileFormatError
from topodesign.topology_file import read_text
from topodesign.wiring.exports.netbox import interface_name
from topodesign.wiring.exports.switch import TABLE, ports_of
from topodesign.wiring.inventory import Inventory, Panel, lanes_of
from topodesign.wiring.plan import Plan

COLUMNS = ("host", "port", "neighbour_host", "neighbour_port")
_SCPI_LISTS = re.compile(r"\(@([0-9]{1,9}(?:,[0-9]{1,9})*)\)\s*,\s*\(@([0-9]{1,9}(?:,[0-9]{1,9})*)\)")


class Lane(NamedTuple):
    """A lane of a host: one transmitter and one receiver."""

    host: str
    port: str
    lane: int


@dataclass(frozen=True)
class Observed:
    """What was seen.

    Attributes
    ----------
    heard
        The lane whose transmitter a lane's receiver hears; lanes that hear nothing are left out.
    strangers
        What a lane hears that is not in the inventory, in words.
    unseen
        Hosts of which nothing is known.
    """

    heard: dict[Lane, Lane]
    strangers: dict[Lane, str]
    unseen: frozenset[str]


class _Neighbour(NamedTuple):
    """One entry: where it was heard (file or line, host, interface), and the names the neighbour gives."""

    where: str
    host: str
    interface: str
    chassis: str
    ports: tuple[str, ...]


def read_lldp(path: Path, plan: Plan) -> Observed:
    """Read what hosts hear.

    Parameters
    ----------
    path
        A directory with a file ``HOST.json`` for each host, one such file, or a CSV.
    plan
        Whose hosts are meant.

    Raises
    ------
    FileFormatError
        If it cannot be read, or names a port that the inventory does not have; the message says where.
    """
    if path.suffix.lower() == ".csv":
        entries = list(_from_csv(path))
        hosts = {_host(plan.inventory, entry.host, entry.where) for entry in entries}
    else:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        entries = [entry for file in files for entry in _from_lldpctl(file)]
        hosts = {_host(plan.inventory, file.stem, str(file)) for file in files}
    return _observed(entries, plan, hosts)


def read_switch(path: Path, plan: Plan) -> Observed:
    """Read the circuits that switches have, and what hosts hear then by the fixed cabling of the plan.

    Parameters
    ----------
    path
        A file named after its switch, or a directory of them: ``NAME.json`` with the table ``OCS_CROSS_CONNECT`` of
        SONiC's CONFIG_DB, or ``NAME.scpi`` with port lists ``(@1,2),(@18,17)`` as a Polatis switch answers.
    plan
        Whose switches are meant. If it has only one, the name of the file does not matter.

    Raises
    ------
    FileFormatError
        If it cannot be read, or has other ports than the switch, or one twice.
    """
    switches = {panel.name: panel for panel in plan.inventory.panels if panel.kind == "ocs"}
    files = [f for f in sorted(path.iterdir()) if f.suffix in {".json", ".scpi"}] if path.is_dir() else [path]
    heard: dict[Lane, Lane] = {}
    seen: set[str] = set()
    for file in files:
        panel = next(iter(switches.values())) if len(switches) == 1 and path == file else switches.get(file.stem)
        if panel is None:
            known = ", ".join(switches) or "none"
            raise FileFormatError(f"{file}: the inventory has no circuit switch '{file.stem}'; it has {known}")
        seen.add(panel.name)
        _switch(file, panel, plan, heard)
    missing = sorted(set(switches) - seen)
    if missing:
        raise FileFormatError(f"{path}: there is no file for switch '{missing[0]}'")
    return Observed(heard, {}, frozenset())


def _switch(file: Path, panel: Panel, plan: Plan, heard: dict[Lane, Lane]) -> None:
    labels = {port.label for port in panel.ports}
    sent: set[str] = set()
    for a, b in _circuits(file, panel):
        for label in (a, b):
            if label not in labels:
                raise FileFormatError(f"{file}: switch '{panel.name}' has no port '{label[:40]}'")
        sender, receiver = plan.end.get((panel.name, a)), plan.end.get((panel.name, b))
        if sender is None or receiver is None:
            continue  # a circuit between ports that no host is cabled to
        lane = Lane(receiver.host, receiver.port, receiver.lane)
        if lane in heard or a in sent:
            raise FileFormatError(f"{file}: two circuits use {f'{b}B' if lane in heard else f'{a}A'}")
        sent.add(a)
        heard[lane] = Lane(sender.host, sender.port, sender.lane)


def _circuits(file: Path, panel: Panel) -> Iterator[tuple[str, str]]:
    """Yield the labels that light enters and leaves by."""
    text = _text(file, ".json", ".scpi")
    if file.suffix == ".scpi":
        size = ports_of(panel)
        for ins, outs in _SCPI_LISTS.findall(text):
            pairs = list(zip(ins.split(","), outs.split(","), strict=False))
            if ins.count(",") != outs.count(","):
                raise FileFormatError(f"{file}: lists of different lengths")
            yield from ((a, str(int(b) - size)) for a, b in pairs)
        return
    try:
        sides = [(entry["a_side"], entry["b_side"]) for entry in json.loads(text)[TABLE].values()]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise FileFormatError(f'{file}: expected {{"{TABLE}": {{"1A-2B": {{"a_side": "1A", ...}}}}}}') from None
    for a, b in sides:
        if not (isinstance(a, str) and isinstance(b, str) and a.endswith("A") and b.endswith("B")):
            raise FileFormatError(f"{file}: a circuit goes from a side like 1A to one like 2B, not {a!r} to {b!r}")
        yield a[:-1], b[:-1]


def _observed(entries: Iterable[_Neighbour], plan: Plan, hosts: set[str]) -> Observed:
    heard: dict[Lane, Lane] = {}
    strangers: dict[Lane, str] = {}
    by: dict[Lane, Lane] = {}
    lanes = _interfaces(plan.inventory)
    for entry in entries:
        host = _host(plan.inventory, entry.host, entry.where)
        lane = lanes.get((host, entry.interface))
        if lane is None or not entry.chassis:
            continue
        if lane in heard or lane in strangers:
            raise FileFormatError(
                f"{entry.where}: {entry.interface} of '{host}' hears two neighbours; wait until the old one ages out"
            )
        other = _known(plan.inventory, entry.chassis)
        if other is None:
            strangers[lane] = f"{entry.chassis} {entry.ports[0] if entry.ports else ''}".strip()
            continue
        sender = next((lanes[other, port] for port in entry.ports if (other, port) in lanes), None)
        if sender is None:
            raise FileFormatError(
                f"{entry.where}: '{other}' has no interface {' or '.join(entry.ports)[:80]!r} in the inventory; ports "
                "must be told by name (lldpcli configure lldp portidsubtype ifname), lanes as PORT/LANE"
            )
        if sender in by:
            raise FileFormatError(
                f"{entry.where}: both {_name(by[sender])} and {_name(lane)} hear {_name(sender)}; wait until old "
                "entries have aged out"
            )
        by[sender], heard[lane] = lane, sender
    return Observed(heard, strangers, frozenset(plan.hosts) - hosts)


def _name(lane: Lane) -> str:
    return f"{lane.host} {lane.port}/{lane.lane}"


def _interfaces(inventory: Inventory) -> dict[tuple[str, str], Lane]:
    return {
        (host.name, interface_name(port.name, number, port.lanes)): Lane(host.name, port.name, number)
        for host in inventory.hosts
        for port, number in lanes_of(host)
    }


def _known(inventory: Inventory, name: str) -> str | None:
    """Return the host of this name, or of its first part if it is a domain name."""
    return next((host for host in (name, name.partition(".")[0]) if host in inventory.host), None)


def _host(inventory: Inventory, name: str, where: str) -> str:
    host = _known(inventory, name)
    if host is None:
        raise FileFormatError(f"{where}: there is no host '{name[:40]}' in the inventory")
    return host


def _from_csv(path: Path) -> Iterator[_Neighbour]:
    rows = csv.reader(io.StringIO(_text(path, ".csv"), newline=""), strict=True)
    try:
        header = [name.strip().replace("neighbor", "neighbour") for name in next(rows, [])]
        missing = [name for name in COLUMNS if header.count(name) != 1]
        if missing:
            raise FileFormatError(f"{path}, line 1: the column {missing[0]} must be there once")
        for row in rows:
            where = f"{path}, line {rows.line_num}"
            if row and len(row) != len(header):
                raise FileFormatError(f"{where}: expected {len(header)} cells, not {len(row)}")
            if row:
                cells = dict(zip(header, map(str.strip, row), strict=True))
                if bool(cells["neighbour_host"]) != bool(cells["neighbour_port"]):
                    raise FileFormatError(f"{where}: neighbour_host and neighbour_port go together")
                host, interface, chassis, port = (cells[name] for name in COLUMNS)
                yield _Neighbour(where, host, interface, chassis, (port,))
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {rows.line_num}: {error}") from None


def _from_lldpctl(path: Path) -> Iterator[_Neighbour]:
    text = _text(path, ".json")
    try:
        for interface, body in _bodies(json.loads(text)["lldp"]):
            chassis, name = _chassis(body["chassis"])
            port = _single(body["port"])
            ports = (_value(port["id"]), _value(port.get("descr", "")))
            yield _Neighbour(str(path), path.stem, interface, name or _value(chassis["id"]), ports)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        raise FileFormatError(f"{path}: this is not what 'lldpctl -f json' prints") from None


def _bodies(lldp: Any) -> Iterator[tuple[str, Any]]:
    """Yield interfaces with what is known of their neighbours, in the keyed, the list and the ``json0`` shape."""
    for part in lldp if isinstance(lldp, list) else [lldp]:
        interfaces = part.get("interface", [])
        for entry in interfaces if isinstance(interfaces, list) else [interfaces]:
            if isinstance(entry.get("name"), str):
                yield entry["name"], entry
            else:
                yield from entry.items()


def _chassis(data: Any) -> tuple[Any, str]:
    """Return a chassis and its name: the key it is under, or a field of it."""
    chassis = _single(data)
    if "id" in chassis:
        return chassis, _value(chassis.get("name", ""))
    ((name, body),) = chassis.items()
    return body, name


def _single(data: Any) -> Any:
    return data[0] if isinstance(data, list) else data


def _value(data: Any) -> str:
    found = _single(data)
    text = found["value"] if isinstance(found, dict) else found
    if not isinstance(text, str):
        raise TypeError
    return text


def _text(path: Path, *endings: str) -> str:
    try:
        return read_text(path, endings)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None
