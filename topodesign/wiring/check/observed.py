"""Installed wiring as reported by hosts: LLDP, link tests and dumps.

Entries become lanes in :mod:`~topodesign.wiring.check.evidence`; cables and circuits that are reported do so in
:mod:`~topodesign.wiring.check.cables`. What light arrives, transceivers tell (``ethtool -m``), see
:mod:`~topodesign.wiring.check.light`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_text
from topodesign.wiring.check.cables import DRIVER_OF, heard_by_circuits
from topodesign.wiring.check.evidence import Observed, place_neighbours
from topodesign.wiring.check.light import LIGHT_FILE, Power, light_files, read_power
from topodesign.wiring.check.link_tables import LINK_ENDINGS
from topodesign.wiring.check.lldp import ENDINGS, neighbours_of_files, read_neighbours
from topodesign.wiring.check.names import KnownNames
from topodesign.wiring.check.outputs import Neighbour, NeighbourOutput
from topodesign.wiring.inventory.devices import Lane
from topodesign.wiring.inventory.interfaces import read_interfaces
from topodesign.wiring.plan.plan import WiringPlan


def known_names(plan: WiringPlan, interfaces: str | Path | None = None) -> KnownNames:
    """Return known names of a plan's hosts and interfaces.

    ``interfaces`` is a CSV with more names (``host,port,interface``).
    """
    table = None if interfaces is None else read_interfaces(as_path(interfaces), plan.inventory)
    return KnownNames(plan.inventory, table)


def read_lldp(path: str | Path, plan: WiringPlan, names: KnownNames | None = None) -> Observed:
    """Read the LLDP neighbours of hosts.

    The path is of a directory with a file ``HOST.json`` for each host, of one such file, or of a CSV. ``names`` are
    those of hosts and interfaces: the plan's if not given.
    """
    path = as_path(path)
    return place_neighbours(path, read_neighbours(path), plan, names or known_names(plan))


def light_with_notes(path: str | Path, names: KnownNames) -> tuple[dict[Lane, float], tuple[str, ...]]:
    """Read received power (dBm) by lane, with notes.

    The notes name files without power values, and unknown interfaces.

    The module of a port tells of all its lanes; where a port has one lane and its module several channels, the weakest
    counts.
    """
    told = read_power(as_path(path))
    light: dict[Lane, float] = {}
    unknown: dict[str, None] = {}
    for power in told.powers:
        host = names.host(power.host)
        lanes = () if host is None else _lit_lanes(names, host, power)
        if not lanes:
            unknown[f"{power.host} {power.interface}"] = None
        for lane in lanes:
            light[lane] = min(power.dbm, light.get(lane, math.inf))
    notes = [f"no light is known by {words}" for words in told.unread]
    if unknown:
        notes.append(f"light is reported for interfaces that the inventory lacks: {', '.join(unknown)}")
    return light, tuple(notes)


def _lit_lanes(names: KnownNames, host: str, power: Power) -> tuple[Lane, ...]:
    lane = names.lane(host, power.interface)
    whole = names.whole_port(host, power.interface)
    if power.channel is None:
        return whole if lane is None else (lane,)
    if lane is None and not whole:
        return ()
    port = whole[0].port if lane is None else lane.port
    lanes = names.inventory.port[host, port].lanes
    if lanes == 1:
        return (Lane(host, port, 1),)
    return (Lane(host, port, power.channel),) if power.channel <= lanes else ()


def read_dumps(path: str | Path, plan: WiringPlan, names: KnownNames | None = None) -> Observed:
    """Read a directory of reports from hosts and switches.

    It has ``HOST.json`` of hosts as :func:`read_lldp` takes them, or other CSV files of neighbours; files named after
    circuit switches as :func:`~topodesign.wiring.check.cables.read_switch` takes them, of all switches or none; and
    ``light.csv`` as :func:`~topodesign.wiring.check.light.read_power` takes it, or ``*.ethtool`` and ``*.mlxlink``.
    """
    path, names = as_path(path), names or known_names(plan)
    if not path.is_dir():
        raise FileFormatError(f"{path}: this is not a directory")
    switches = plan.inventory.switches
    known = {".csv", *ENDINGS, *LINK_ENDINGS, *DRIVER_OF}
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in known)
    told = [file for file in files if file.stem in switches or file.suffix in DRIVER_OF.keys() - {*ENDINGS}]
    hosts = [file for file in files if file.name != LIGHT_FILE and file not in told]
    if not told and not hosts:
        raise FileFormatError(f"{path}: there is nothing in it; expected HOST.json, SWITCH.json or SWITCH.scpi")
    seen = Observed({}, unseen=frozenset(plan.hosts))
    neighbours = neighbours_of_files(hosts)
    if neighbours.hosts:
        seen = place_neighbours(path, neighbours, plan, names)
    if told:
        circuits, notes = heard_by_circuits(path, told, plan)
        seen = replace(seen, circuits=circuits, notes=(*seen.notes, *seen.unread, *notes))
    for source in ([path] if light_files(path) else []) + [file for file in files if file.name == LIGHT_FILE]:
        light, notes = light_with_notes(source, names)
        seen = replace(seen, light=seen.light | light, notes=(*seen.notes, *notes))
    return seen


def read_link_tests(path: str | Path, plan: WiringPlan, names: KnownNames | None = None) -> Observed:
    """Read link-test outputs of hosts from a directory or a file."""
    path = as_path(path)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    told = neighbours_of_files(files, _read_link_test)
    if not told.hosts:
        raise FileFormatError(
            f"{path}: there is nothing in it; expected HOST.json of each host, as link_test.py prints"
        )
    return place_neighbours(path, told, plan, names or known_names(plan))


def _read_link_test(path: Path) -> NeighbourOutput:
    """Read a link test: neighbours by port, and faults."""
    with expecting(path, FileKind.LINK_TEST):
        document = parse_json(read_text(path, (".json",)))
        try:
            host, rows, faults = (document[name] for name in ("host", "heard", "problems"))
            lists, texts = (rows, faults, *rows), [host, *faults, *(cell for row in rows for cell in row)]
            known = all(isinstance(one, list) for one in lists) and all(isinstance(one, str) for one in texts)
            entries = [Neighbour(host, port, other, (far,), None) for port, other, far in rows]
        except (TypeError, KeyError, ValueError):
            known = False
        if not known or document.get("link test") != 1:
            raise FileFormatError("this is not what link_test.py prints")
        return NeighbourOutput(entries, [host], faults=faults)
