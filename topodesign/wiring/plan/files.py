"""Plan files: one JSON document with the inventory, the topology and every cross-connect.

Format version 1, an object with

``format``, ``version``
    ``"topodesign wiring plan"`` and 1.
``spec``, ``nodes``, ``links``
    The topology: text or null, the number of nodes, rows ``[u, v, capacity]``.
``alias``
    Text: the short name that the topology was asked for by, with its version; only where there is one.
``mode``, ``hosts``
    ``simplex`` or ``duplex``; the name of the host that is each node.
``connects``
    Rows ``[cable, panel, port, panel, port]``: from the panel port of the first end to that of the second. Which lanes
    and nodes those are, the fixed cabling says.
``fixed``
    Rows ``[host, port, lane, panel, panel port]``.
``inventory``
    ``name``, ``slack``, ``hosts`` (``name, site, rack, unit, ports`` with rows ``[name, connector, speed]``),
    ``panels`` (``name, site, rack, unit, kind, field, ports`` with rows ``[label, mode, blocked, loss_db]``),
    ``cabling`` (rows as in ``fixed``), ``stock`` (lengths by type), ``racks`` (``[x, y]`` by site and rack). Where they
    say something: ``parts``, ``trays`` (rows ``[site, end, end, length, width, depth, fill]``), ``pod`` of a host,
    ``polarity`` and ``budget_db`` behind the speed of its ports, ``pods``, ``spare`` and ``circuit_db`` of a panel,
    ``trunks`` (rows ``[panel, port, near panel, its port, loss_db]``) and ``losses`` (``[connector, fibre, splice,
    splices]``, in dB).

Fractions are text ``"p/q"``. The same plan gives the same bytes. Keys that are not known are refused, for people edit
these files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from topodesign.base.arguments import as_path
from topodesign.base.atomic import write_whole
from topodesign.base.errors import FileFormatError, ParameterError, SpecError, TopologyError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_text
from topodesign.topology.library import build
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory import fields as parts
from topodesign.wiring.inventory.devices import MODES, NOTHING_KNOWN, Fixed, Host, Losses, Panel, Port, Tray
from topodesign.wiring.inventory.fields import ExactFields, checked_object, checked_row, exact_number, is_of
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cross_connects import CrossConnect, End
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_hosts, check_plan

FORMAT = "topodesign wiring plan"
VERSION = 1
ENDING = ".json"
WiringLike: TypeAlias = WiringPlan | str | Path  # A plan, or the path of a plan file

_HOST = {"name": str, "site": str, "rack": str, "unit": int}
_PANEL = {**_HOST, "kind": str, "field": str}
_TRUNK = {"panel": str, "panel_port": str, "near": str, "near_port": str, "loss": object}
_PORT = {"name": str, "connector": str, "speed": str, "polarity": str, "budget": object}
_PANEL_PORT = {"label": str, "mode": str, "blocked": bool, "loss": object, "side": str}
_FIXED = {"host": str, "port": str, "lane": int, "panel": str, "panel_port": str}
_LOSSES = {"connector": object, "fibre": object, "splice": object, "splices": int}


def save_wiring(plan: WiringLike, path: str | Path) -> None:
    """Write a plan file; the path has either the old file or the whole new one at any time.

    Raises
    ------
    ParameterError
        If the name does not end in .json.
    FileFormatError
        If it cannot be written.

    Examples
    --------
    >>> from topodesign import load_wiring, plain_inventory, save_wiring, wire
    >>> save_wiring(wire("biring(2,6)", plain_inventory(6, 2)), "ring.json")
    >>> load_wiring("ring.json")
    <WiringPlan: biring(2,6), 6 nodes, duplex: 6 cross-connects>
    """
    plan, target = as_wiring(plan), as_path(path)
    if target.suffix.lower() != ENDING:
        raise ParameterError(f"{target} would be a wiring plan; give it the ending {ENDING}")
    write_whole(target, plan_text(plan))


def plan_text(plan: WiringPlan) -> str:
    """Return the text of a plan file."""
    topology = plan.topology
    fields = {
        "format": json.dumps(FORMAT),
        "version": json.dumps(VERSION),
        "spec": json.dumps(None if topology.spec is None else str(topology.spec)),
        **({} if topology.alias is None else {"alias": json.dumps(topology.alias)}),
        "mode": json.dumps(plan.mode),
        "nodes": json.dumps(topology.nodes),
        "links": _lines(topology.links()),
        "hosts": _lines(plan.hosts),
        "connects": _lines((c.cable, c.a.panel, c.a.panel_port, c.b.panel, c.b.panel_port) for c in plan.connects),
        "fixed": _lines((*one.source, *one.place) for one in plan.fixed),
        "inventory": _inventory_text(plan.inventory),
    }
    return "{\n" + ",\n".join(f'"{key}": {value}' for key, value in fields.items()) + "\n}\n"


def load_wiring(path: str | Path) -> WiringPlan:
    """Read a plan file and check it, as :func:`topodesign.wiring.plan.proof.check_plan` does.

    Raises
    ------
    FileFormatError
        If it cannot be read, is no plan file of a known version, or contradicts itself; the message names the field.

    Examples
    --------
    >>> from topodesign import plain_inventory, wire
    >>> plan = wire("circulant(6,1,2)", plain_inventory(6, 4))
    >>> save_wiring(plan, "plan.json")
    >>> load_wiring("plan.json") == plan
    True
    """
    source = as_path(path)
    with expecting(source, FileKind.WIRING):
        try:
            return _plan(_document(read_text(source, (ENDING,))))
        except (ParameterError, TopologyError, SpecError) as error:
            raise FileFormatError(str(error)) from None


def as_wiring(value: WiringLike) -> WiringPlan:
    """Return the plan that a value is or names."""
    if isinstance(value, WiringPlan):
        return value
    if isinstance(value, str | Path):
        return load_wiring(value)
    raise ParameterError(f"a wiring plan or the path of a plan file is needed, not {value!r:.100}")


def names_wiring(path: Path) -> bool:
    """Return whether a file says that it is a wiring plan."""
    try:
        document = parse_json(read_text(path, (ENDING,)))
    except FileFormatError:
        return False
    return isinstance(document, dict) and document.get("format") == FORMAT


def _document(text: str) -> dict[str, Any]:
    data = parse_json(text)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileFormatError(f"it does not say that it is a {FORMAT}")
    if data.get("version") != VERSION:
        raise FileFormatError(f"it has format version {data.get('version')}, this program reads {VERSION}")
    return data


def _plan(data: dict[str, Any]) -> WiringPlan:
    kinds = {"mode": str, "nodes": int, "links": list, "hosts": list, "connects": list, "fixed": list}
    checked_object(data, kinds, "the plan", dict.fromkeys(("format", "version", "spec", "alias", "inventory"), object))
    inventory = _inventory(data.get("inventory"))
    topology = _topology(data)
    fixed = _cabling(data["fixed"], "fixed")
    hosts = tuple(data["hosts"])
    if not all(is_of(host, str) for host in hosts):
        raise FileFormatError("hosts must be printable text")
    mode = ExactFields(data, "the plan").choice("mode", MODES)
    empty = WiringPlan(inventory, topology, hosts, mode, (), fixed)
    check_hosts(empty)
    rows = [checked_row(row, (str,) * 5, f"connects[{number}]") for number, row in enumerate(data["connects"])]
    connects = tuple(_connect(row, empty, f"connects[{number}]") for number, row in enumerate(rows))
    plan = replace(empty, connects=connects)
    check_plan(plan)
    return plan


def _connect(row: list[Any], plan: WiringPlan, where: str) -> CrossConnect:
    ends: list[End] = []
    for panel, port in (row[1:3], row[3:5]):
        end = plan.end.get((panel, port))
        if end is None or end.host not in plan.node:
            raise FileFormatError(f"{where}: no lane of a node is cabled to port '{port}' of panel '{panel}'")
        ends.append(end)
    a, b = ends
    return CrossConnect(row[0], plan.mode, (plan.node[a.host], plan.node[b.host]), a, b)


def _topology(data: dict[str, Any]) -> Topology:
    links = [tuple(checked_row(row, (int,) * 3, f"links[{number}]")) for number, row in enumerate(data["links"])]
    if any(not -(2**63) <= value < 2**63 for link in links for value in link):
        raise FileFormatError("links must hold integers of at most 64 bits")
    topology = Topology.from_links(data["nodes"], links)
    spec, alias = data.get("spec"), data.get("alias")
    if not (alias is None or is_of(alias, str)):
        raise FileFormatError("alias must be printable text")
    topology = replace(topology, alias=alias)
    if spec is None:
        return topology
    if not isinstance(spec, str):
        raise FileFormatError("spec must be text or null")
    named = build(spec)
    if named != topology:
        raise FileFormatError(f"the spec {spec[:100]!r} does not give the links in the file")
    return replace(named, alias=alias)


def _inventory(data: object) -> Inventory:
    kinds = {"name": str, "slack": str, "hosts": list, "panels": list, "cabling": list, "stock": dict, "racks": dict}
    said = checked_object(data, kinds, "inventory", {"trunks": list, "losses": list, "trays": list, "parts": str})
    losses = said.get("losses")
    return Inventory(
        tuple(_host(one, f"inventory.hosts[{number}]") for number, one in enumerate(said["hosts"])),
        tuple(_panel(one, f"inventory.panels[{number}]") for number, one in enumerate(said["panels"])),
        _cabling(said["cabling"], "inventory.cabling"),
        {kind: _numbers(values, f"inventory.stock.{kind}") for kind, values in said["stock"].items()},
        {site: _places(racks, f"inventory.racks.{site}") for site, racks in said["racks"].items()},
        exact_number(said["slack"], "inventory.slack"),
        said["name"],
        tuple(
            parts.trunk(ExactFields.of_row(row, _TRUNK, f"inventory.trunks[{number}]"))
            for number, row in enumerate(said.get("trunks", ()))
        ),
        NOTHING_KNOWN if losses is None else _losses(losses, "inventory.losses"),
        tuple(_tray(row, f"inventory.trays[{number}]") for number, row in enumerate(said.get("trays", ()))),
        said.get("parts", ""),
    )


def _tray(row: object, where: str) -> Tray:
    said = checked_row(row, (str,) * len(Tray._fields), where)
    return Tray(*said[:3], *(exact_number(one, where) for one in said[3:]))


def _losses(row: object, where: str) -> Losses:
    losses = parts.losses(ExactFields.of_row(row, _LOSSES, where))
    if losses.splices < 0:
        raise FileFormatError(f"{where}: there cannot be {losses.splices} splices")
    return losses


def _host(data: object, where: str) -> Host:
    said = checked_object(data, {**_HOST, "ports": list}, where, {"pod": str})
    rows = [ExactFields.of_row(row, _PORT, f"{where}.ports[{n}]", short=3) for n, row in enumerate(said["ports"])]
    return parts.host(ExactFields(said, where), map(parts.host_port, rows))


def _panel(data: object, where: str) -> Panel:
    others = {"pods": list, "spare": int, "circuit_db": object}
    said = checked_object(data, {**_PANEL, "ports": list}, where, others)
    pods = said.get("pods", [])
    if not all(is_of(pod, str) for pod in pods):
        raise FileFormatError(f"{where}: 'pods' must be a list of printable text")
    rows = [ExactFields.of_row(row, _PANEL_PORT, f"{where}.ports[{n}]", short=4) for n, row in enumerate(said["ports"])]
    ports = [parts.panel_port(one, blocked=one.values["blocked"]) for one in rows]
    return parts.panel(ExactFields(said | {"circuit": said.get("circuit_db")}, where), ports, pods)


def _cabling(rows: list[Any], where: str) -> tuple[Fixed, ...]:
    return tuple(parts.fixed(ExactFields.of_row(row, _FIXED, f"{where}[{n}]")) for n, row in enumerate(rows))


def _places(data: object, where: str) -> dict[str, tuple[Fraction, Fraction]]:
    if not isinstance(data, dict):
        raise FileFormatError(f"{where} must be an object")
    rows = {rack: checked_row(values, (str, str), f"{where}.{rack}") for rack, values in data.items()}
    return {rack: (exact_number(x, where), exact_number(y, where)) for rack, (x, y) in rows.items()}


def _numbers(values: object, where: str) -> tuple[Fraction, ...]:
    if not isinstance(values, list):
        raise FileFormatError(f"{where} must be a list")
    return tuple(exact_number(value, where) for value in values)


def _inventory_text(inventory: Inventory) -> str:
    hosts = [
        {
            **{name: getattr(host, name) for name in _HOST},
            "ports": [_port_row(port) for port in host.ports],
            **_said(pod=host.pod),
        }
        for host in inventory.hosts
    ]
    panels = [
        {
            **{name: getattr(panel, name) for name in _PANEL},
            "ports": [
                [port.label, port.mode, port.blocked, _loss_text(port.loss_db), *([port.side] if port.side else [])]
                for port in panel.ports
            ],
            **_said(pods=panel.pods, spare=panel.spare, circuit_db=_loss_text(panel.circuit_db)),
        }
        for panel in inventory.panels
    ]
    racks = {
        site: {rack: [str(value) for value in place] for rack, place in places.items()}
        for site, places in inventory.racks.items()
    }
    fields = {
        "name": json.dumps(inventory.name),
        "slack": json.dumps(str(inventory.slack)),
        "hosts": _lines(hosts),
        "panels": _lines(panels),
        "cabling": _lines((*one.source, *one.place) for one in inventory.cabling),
        "stock": json.dumps({kind: [str(value) for value in values] for kind, values in inventory.stock.items()}),
        "racks": json.dumps(racks),
    }
    if inventory.trunks:
        fields["trunks"] = _lines(
            (one.panel, one.panel_port, one.near, one.near_port, _loss_text(one.loss_db)) for one in inventory.trunks
        )
    if inventory.trays:
        fields["trays"] = _lines([*one[:3], *map(str, one[3:])] for one in inventory.trays)
    if inventory.parts:
        fields["parts"] = json.dumps(inventory.parts)
    if inventory.losses != NOTHING_KNOWN:
        connector, fibre, splice, splices = inventory.losses
        fields["losses"] = json.dumps([*map(_loss_text, (connector, fibre, splice)), splices])
    return "{\n" + ",\n".join(f'"{key}": {value}' for key, value in fields.items()) + "\n}"


def _said(**values: object) -> dict[str, object]:
    """Return the fields that say something."""
    return {name: value for name, value in values.items() if value}


def _port_row(port: Port) -> list[str | None]:
    row: list[str | None] = [port.name, port.connector, str(port.speed)]
    plain = port.polarity == "A" and port.budget_db is None
    return row if plain else [*row, port.polarity, _loss_text(port.budget_db)]


def _loss_text(loss: Fraction | None) -> str | None:
    return None if loss is None else str(loss)


def _lines(rows: Iterable[object]) -> str:
    """Return a JSON array with a line for each row, so that files can be compared by eye and by diff."""
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"
