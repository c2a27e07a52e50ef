"""Plan files: JSON documents with all of a plan.

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
    The attributes of the inventory, as :mod:`topodesign.wiring.inventory.devices` has their fields: hosts and panels
    are objects, what has no lists of things is a row in the order of its fields, of which the last ones may lack;
    ``stock`` has lengths by type, ``racks`` ``[x, y]`` by site and rack.

Fractions are text ``"p/q"``. The same plan gives the same bytes. Keys that are not known are refused, for people edit
these files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
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
from topodesign.wiring.inventory.devices import MODES, Fixed
from topodesign.wiring.inventory.fields import Choice, check_object, check_row, is_of, table_of
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cross_connects import CrossConnect, End
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_hosts, check_plan

FORMAT = "topodesign wiring plan"
VERSION = 1
ENDING = ".json"
WiringLike: TypeAlias = WiringPlan | str | Path  # A plan, or the path of a plan file


def save_wiring(plan: WiringLike, path: str | Path) -> None:
    """Write a plan file atomically.

    At any time the path has either the old file or the whole new one.

    Parameters
    ----------
    plan
        A plan, or the path of its file.
    path
        File to write, ending in .json.

    Raises
    ------
    ParameterError
        If the name does not end in .json.
    FileFormatError
        If it cannot be written.

    Examples
    --------
    >>> from topodesign import load_wiring, plain_inventory, save_wiring, plan_wiring
    >>> save_wiring(plan_wiring("biring(2,6)", plain_inventory(6, 2)), "ring.json")
    >>> load_wiring("ring.json")
    <WiringPlan: biring(2,6), 6 nodes, duplex: 6 cross-connects>
    """
    plan, target = as_wiring(plan), as_path(path)
    if target.suffix.lower() != ENDING:
        raise ParameterError(f"{target} would be a wiring plan; use the ending {ENDING}")
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
        "fixed": _lines(map(table_of(Fixed).dump, plan.fixed)),
        "inventory": _inventory_text(plan.inventory),
    }
    return "{\n" + ",\n".join(f'"{key}": {value}' for key, value in fields.items()) + "\n}\n"


def load_wiring(path: str | Path) -> WiringPlan:
    """Read and check a plan file.

    The checks are those of :func:`topodesign.wiring.plan.proof.check_plan`.

    Parameters
    ----------
    path
        File that :func:`save_wiring` wrote, in this version or an earlier one.

    Raises
    ------
    FileFormatError
        If it cannot be read, is no plan file of a known version, or contradicts itself; the message names the field.

    Examples
    --------
    >>> from topodesign import plain_inventory, plan_wiring
    >>> plan = plan_wiring("circulant(6,1,2)", plain_inventory(6, 4))
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
    """Return a wiring plan from a plan or path."""
    if isinstance(value, WiringPlan):
        return value
    if isinstance(value, str | Path):
        return load_wiring(value)
    raise ParameterError(f"a wiring plan or the path of a plan file is needed, not {value!r:.100}")


def names_wiring(path: Path) -> bool:
    """Return whether a file is a wiring plan."""
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
    check_object(data, kinds, "the plan", dict.fromkeys(("format", "version", "spec", "alias", "inventory"), object))
    inventory = table_of(Inventory).load(data.get("inventory"), "inventory")
    topology = _topology(data)
    fixed = tuple(table_of(Fixed).load(row, f"fixed[{number}]") for number, row in enumerate(data["fixed"]))
    hosts = tuple(data["hosts"])
    if not all(is_of(host, str) for host in hosts):
        raise FileFormatError("hosts must be printable text")
    mode = Choice("", words=MODES).load(data["mode"], "the plan: mode")
    empty = WiringPlan(inventory, topology, hosts, mode, (), fixed)
    check_hosts(empty)
    rows = [check_row(row, (str,) * 5, f"connects[{number}]") for number, row in enumerate(data["connects"])]
    connects = tuple(_connect(row, empty, f"connects[{number}]") for number, row in enumerate(rows))
    plan = replace(empty, connects=connects)
    check_plan(plan)
    return plan


def _connect(row: list[Any], plan: WiringPlan, where: str) -> CrossConnect:
    ends: list[End] = []
    for panel, port in (row[1:3], row[3:5]):
        end = plan.net.end.get((panel, port))
        if end is None or end.host not in plan.node:
            raise FileFormatError(f"{where}: no lane of a node is cabled to port '{port}' of panel '{panel}'")
        ends.append(end)
    a, b = ends
    return CrossConnect(row[0], plan.mode, a, b)


def _topology(data: dict[str, Any]) -> Topology:
    links = [tuple(check_row(row, (int,) * 3, f"links[{number}]")) for number, row in enumerate(data["links"])]
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
        raise FileFormatError(f"the spec {spec[:100]!r} has other links than the file")
    return replace(named, alias=alias)


def _inventory_text(inventory: Inventory) -> str:
    """Return the inventory in JSON, one line per entry."""
    fields = {
        name: _lines(value) if isinstance(value, list) and name != "losses" else json.dumps(value)
        for name, value in table_of(Inventory).dump(inventory).items()
    }
    return "{\n" + ",\n".join(f'"{key}": {value}' for key, value in fields.items()) + "\n}"


def _lines(rows: Iterable[object]) -> str:
    """Return a JSON array with one line per row."""
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"
