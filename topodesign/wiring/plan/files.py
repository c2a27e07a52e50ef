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
    say something: ``pod`` of a host, ``polarity`` and ``budget_db`` behind the speed of its ports, ``pods``, ``spare``
    and ``circuit_db`` of a panel, ``trunks`` (rows ``[panel, port, near panel, its port, loss_db]``) and ``losses``
    (``[connector, fibre, splice, splices]``, in dB).

Fractions are text ``"p/q"``. The same plan gives the same bytes. Keys that are not known are refused, for people edit
these files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from topodesign.base.arguments import as_path
from topodesign.base.atomic import write_whole
from topodesign.base.errors import FileFormatError, ParameterError, SpecError, TopologyError
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_text
from topodesign.topology.library import build
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory import mistaken
from topodesign.wiring.inventory.inventory import (
    LANES,
    MODES,
    NOTHING_KNOWN,
    PANEL_KINDS,
    POLARITIES,
    Fixed,
    Host,
    Inventory,
    Losses,
    Panel,
    PanelPort,
    Port,
    Trunk,
)
from topodesign.wiring.plan.cross_connects import CrossConnect, End
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_hosts, check_plan

FORMAT = "topodesign wiring plan"
VERSION = 1
ENDING = ".json"
WiringLike: TypeAlias = WiringPlan | str | Path
"""A plan, or the path of a plan file."""

_FRACTION = re.compile(r"-?[0-9]{1,1000}(/0*[1-9][0-9]{0,999})?")
_WORDS = {
    str: "printable text",
    int: "an integer",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    object: "anything",
}


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
        "fixed": _lines(_fixed_row(fixed) for fixed in plan.fixed),
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
    >>> import tempfile
    >>> from pathlib import Path
    >>> from topodesign.wiring.inventory.plain import plain_inventory
    >>> from topodesign.wiring.plan.wire import wire
    >>> plan = wire("circulant(6,1,2)", plain_inventory(6, 4))
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     save_wiring(plan, Path(directory) / "plan.json")
    ...     load_wiring(Path(directory) / "plan.json") == plan
    True
    """
    source = as_path(path)
    with mistaken.wanted(source, "a wiring plan (.json), which 'topodesign wire plan' writes", mistaken.PLAN):
        try:
            return _plan(_document(read_text(source, (ENDING,))))
        except (FileFormatError, ParameterError, TopologyError, SpecError) as error:
            raise FileFormatError(f"{source}: {error}") from None


def as_wiring(value: WiringLike) -> WiringPlan:
    """Return the plan that a value is or names.

    Raises
    ------
    FileFormatError
        As :func:`load_wiring`.
    ParameterError
        If it is neither a plan nor a path.
    """
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
    _keys(data, kinds, "the plan", ("format", "version", "spec", "alias", "inventory"))
    inventory = _inventory(data.get("inventory"))
    topology = _topology(data)
    fixed = _cabling(data["fixed"], "fixed")
    hosts = tuple(data["hosts"])
    if not all(_is(host, str) for host in hosts):
        raise FileFormatError("hosts must be printable text")
    mode = _choice(data["mode"], MODES, "mode")
    empty = WiringPlan(inventory, topology, hosts, mode, (), fixed)
    check_hosts(empty)
    rows = [_row(row, (str,) * 5, f"connects[{number}]") for number, row in enumerate(data["connects"])]
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
    links = [tuple(_row(row, (int,) * 3, f"links[{number}]")) for number, row in enumerate(data["links"])]
    if any(not -(2**63) <= value < 2**63 for link in links for value in link):
        raise FileFormatError("links must hold integers of at most 64 bits")
    topology = Topology.from_links(data["nodes"], links)
    spec, alias = data.get("spec"), data.get("alias")
    if not (alias is None or _is(alias, str)):
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
    fields = _keys(data, kinds, "inventory", ("trunks", "losses"))
    trunks = fields.get("trunks", [])
    if not isinstance(trunks, list):
        raise FileFormatError("inventory.trunks must be a list")
    return Inventory(
        tuple(_host(host, f"inventory.hosts[{number}]") for number, host in enumerate(fields["hosts"])),
        tuple(_panel(panel, f"inventory.panels[{number}]") for number, panel in enumerate(fields["panels"])),
        _cabling(fields["cabling"], "inventory.cabling"),
        {kind: _fractions(values, f"inventory.stock.{kind}") for kind, values in fields["stock"].items()},
        {site: _places(racks, f"inventory.racks.{site}") for site, racks in fields["racks"].items()},
        _fraction(fields["slack"], "inventory.slack"),
        fields["name"],
        tuple(_trunk(row, f"inventory.trunks[{number}]") for number, row in enumerate(trunks)),
        _losses(fields["losses"], "inventory.losses") if "losses" in fields else NOTHING_KNOWN,
    )


def _trunk(row: object, where: str) -> Trunk:
    panel, port, near, near_port, loss = _row(row, (str, str, str, str, object), where)
    return Trunk(panel, port, near, near_port, _loss(loss, where))


def _losses(row: object, where: str) -> Losses:
    *values, splices = _row(row, (object, object, object, int), where)
    connector, fibre, splice = (_loss(value, where) for value in values)
    if splices < 0:
        raise FileFormatError(f"{where}: there cannot be {splices} splices")
    return Losses(connector, fibre, splice, splices)


def _loss(value: object, where: str) -> Fraction | None:
    if value is None:
        return None
    loss = _fraction(value, where)
    if loss < 0:
        raise FileFormatError(f"{where}: a loss cannot be below zero")
    return loss


def _host(data: object, where: str) -> Host:
    fields = _keys(data, {"name": str, "site": str, "rack": str, "unit": int, "ports": list}, where, ("pod",))
    ports = []
    for number, row in enumerate(fields["ports"]):
        place = f"{where}.ports[{number}]"
        more = isinstance(row, list) and len(row) > 3
        name, connector, speed, *said = _row(row, (str, str, str, *((str, object) if more else ())), place)
        known = _choice(connector, tuple(LANES), place), _fraction(speed, place)
        ports.append(
            Port(name, *known, _choice(said[0], POLARITIES, place), _loss(said[1], place))
            if more
            else Port(name, *known)
        )
    pod = fields.get("pod", "")
    if not _is(pod, str):
        raise FileFormatError(f"{where}: 'pod' must be printable text")
    return Host(fields["name"], fields["site"], fields["rack"], fields["unit"], tuple(ports), pod)


def _panel(data: object, where: str) -> Panel:
    kinds = {"name": str, "site": str, "rack": str, "unit": int, "kind": str, "field": str, "ports": list}
    fields = _keys(data, kinds, where, ("pods", "spare", "circuit_db"))
    pods, spare = fields.get("pods", []), fields.get("spare", 0)
    if not isinstance(pods, list) or not all(_is(pod, str) for pod in pods):
        raise FileFormatError(f"{where}: 'pods' must be a list of printable text")
    if not _is(spare, int):
        raise FileFormatError(f"{where}: 'spare' must be an integer")
    ports = []
    for number, row in enumerate(fields["ports"]):
        place = f"{where}.ports[{number}]"
        if not isinstance(row, list) or len(row) != 4:
            raise FileFormatError(f"{place} must be a row of 4")
        label, mode, blocked = _row(row[:3], (str, str, bool), place)
        loss = None if row[3] is None else _fraction(row[3], place)
        ports.append(PanelPort(label, _choice(mode, MODES, place), blocked, loss))
    kind = _choice(fields["kind"], PANEL_KINDS, f"{where}.kind")
    name, site, rack, unit = (fields[key] for key in ("name", "site", "rack", "unit"))
    circuit = _loss(fields.get("circuit_db"), f"{where}.circuit_db")
    return Panel(name, site, rack, unit, kind, tuple(ports), fields["field"], tuple(pods), spare, circuit)


def _cabling(rows: list[Any], where: str) -> tuple[Fixed, ...]:
    kinds = (str, str, int, str, str)
    return tuple(Fixed(*_row(row, kinds, f"{where}[{number}]")) for number, row in enumerate(rows))


def _places(data: object, where: str) -> dict[str, tuple[Fraction, Fraction]]:
    if not isinstance(data, dict):
        raise FileFormatError(f"{where} must be an object")
    places = {}
    for rack, values in data.items():
        x, y = _row(values, (str, str), f"{where}.{rack}")
        places[rack] = (_fraction(x, where), _fraction(y, where))
    return places


def _keys(data: object, kinds: Mapping[str, type], where: str, others: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of an object, of which these must be there and of these types; there are no more but others."""
    if not isinstance(data, dict):
        raise FileFormatError(f"{where} must be an object")
    for key, kind in kinds.items():
        if not _is(data.get(key), kind):
            raise FileFormatError(f"{where}: '{key}' must be {_WORDS[kind]}")
    unknown = sorted(data.keys() - kinds.keys() - set(others))
    if unknown:
        raise FileFormatError(f"{where}: unknown field '{unknown[0][:50]}'")
    return data


def _row(data: object, kinds: Sequence[type], where: str) -> list[Any]:
    if not isinstance(data, list) or len(data) != len(kinds) or not all(map(_is, data, kinds)):
        raise FileFormatError(f"{where} must be a row of {', '.join(_WORDS[kind] for kind in kinds)}")
    return data


def _is(value: object, kind: type) -> bool:
    """Whether a value is of a type and, if it is text, can be printed: files and labels hold no control characters."""
    return kind is object or (type(value) is kind and (not isinstance(value, str) or value.isprintable()))


def _choice(value: str, known: Iterable[Any], where: str) -> Any:
    if value not in known:
        raise FileFormatError(f"{where}: {value[:40]!r} is none of {', '.join(known)}")
    return value


def _fraction(value: object, where: str) -> Fraction:
    if isinstance(value, str) and _FRACTION.fullmatch(value):
        return Fraction(value)
    raise FileFormatError(f'{where}: a number must be text such as "3/2"')


def _fractions(values: object, where: str) -> tuple[Fraction, ...]:
    if not isinstance(values, list):
        raise FileFormatError(f"{where} must be a list")
    return tuple(_fraction(value, where) for value in values)


def _inventory_text(inventory: Inventory) -> str:
    hosts = [
        {
            "name": host.name,
            "site": host.site,
            "rack": host.rack,
            "unit": host.unit,
            "ports": [_port_row(port) for port in host.ports],
            **({"pod": host.pod} if host.pod else {}),
        }
        for host in inventory.hosts
    ]
    panels = [
        {
            "name": panel.name,
            "site": panel.site,
            "rack": panel.rack,
            "unit": panel.unit,
            "kind": panel.kind,
            "field": panel.field,
            "ports": [
                [port.label, port.mode, port.blocked, None if port.loss_db is None else str(port.loss_db)]
                for port in panel.ports
            ],
            **({"pods": panel.pods} if panel.pods else {}),
            **({"spare": panel.spare} if panel.spare else {}),
            **({} if panel.circuit_db is None else {"circuit_db": str(panel.circuit_db)}),
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
        "cabling": _lines(_fixed_row(fixed) for fixed in inventory.cabling),
        "stock": json.dumps({kind: [str(value) for value in values] for kind, values in inventory.stock.items()}),
        "racks": json.dumps(racks),
    }
    if inventory.trunks:
        fields["trunks"] = _lines(
            (one.panel, one.panel_port, one.near, one.near_port, _loss_text(one.loss_db)) for one in inventory.trunks
        )
    if inventory.losses != NOTHING_KNOWN:
        connector, fibre, splice, splices = inventory.losses
        fields["losses"] = json.dumps([*map(_loss_text, (connector, fibre, splice)), splices])
    return "{\n" + ",\n".join(f'"{key}": {value}' for key, value in fields.items()) + "\n}"


def _port_row(port: Port) -> list[str | None]:
    row: list[str | None] = [port.name, port.connector, str(port.speed)]
    plain = port.polarity == "A" and port.budget_db is None
    return row if plain else [*row, port.polarity, _loss_text(port.budget_db)]


def _loss_text(loss: Fraction | None) -> str | None:
    return None if loss is None else str(loss)


def _fixed_row(fixed: Fixed) -> tuple[str, str, int, str, str]:
    return fixed.host, fixed.port, fixed.lane, fixed.panel, fixed.panel_port


def _lines(rows: Iterable[object]) -> str:
    """Return a JSON array with a line for each row, so that files can be compared by eye and by diff."""
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"
