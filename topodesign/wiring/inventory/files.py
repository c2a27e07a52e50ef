"""Inventories in files: YAML, and CSV for tables of ports, read strictly; an error names the line and the field.

An inventory in YAML is

    name: a room                                   # optional
    slack: 2m                                      # optional: added to every cable, for the ways up and down
    stock:                                         # optional: lengths that there are; whole metres if unsaid
      LC duplex: [2m, 3m, 5m, 10m]                 # also LC simplex (cords) and MPO-12 breakout (four-lane ports)
    racks:                                         # optional: where racks stand; without it lengths are unknown
      - {site: lab, rack: "r[1-4]", x: "[0-1800:600]mm", y: 0m}
    hosts:
      - name: "h[01-12]"
        site: lab
        rack: r1
        unit: "[1-12]"
        ports: [{name: eth0, connector: MPO-12, speed: 4x25Gbps}]
    panels:
      - {name: P1, kind: patch panel, site: lab, rack: r2, unit: 40, ports: [{label: "[1-48]", mode: simplex}]}
    trunks:                                        # optional: ports of a panel that hosts reach at another one
      - {panel: ocs1, port: "[1-48]", near: P1, near_port: "[1-48]", loss: 0.5dB}
    trays:                                         # optional: pathways; cables between racks run there
      - {site: lab, from: r1, to: r2, length: 1m, width: 300mm, depth: 100mm, fill: 40%}
    parts: parts.yaml                              # optional: what cables are bought from
    losses:                                        # optional: what light loses, for the loss budget
      {connector: 0.3dB, fibre: 0.4dB, splice: 0.1dB, splices: 2}
    cabling:                                       # optional: what exists; the rest is planned
      - {host: "h[01-12]", port: eth0, lane: 1, panel: P1, panel_port: "[1-45:4]"}
    port_table: ports.csv                          # optional: more devices, as below

A *range* ``[first-last]`` or ``[first-last:step]`` in a text stands for a text for each number, with zeros in front as
``first`` has them. Fields of an entry that have ranges go together and must be of the same length.

``site``, ``unit`` (1) and ``lane`` (1) may be left out. The connector is ``LC`` (one lane), ``MPO-12`` (four),
``MPO-16`` (eight), ``MPO-24`` (twelve) or ``MPO-32`` (sixteen); the ``speed`` is that of the whole port. A port may
have a ``polarity`` (of the array cable in it by TIA-568: A, B or C; A if unsaid) and a ``budget``, the loss that its
optic stands. A host may have a ``pod``, and a panel ``pods``, to whose hosts alone it is within reach. A panel is a
``patch panel`` or an ``ocs`` (circuit switch); patch panels of the same ``field`` can be patched to each other. Panel
ports are ``simplex`` or ``duplex`` and may have a ``loss``, such as ``1.2dB``; ``blocked: [17, "[20-24]"]`` of a panel
lists labels of ports that must not be used, ``spare: 4`` keeps so many of its ports free, and ``circuit: 1.5dB`` is
what light loses inside a circuit switch. Ports of a switch that joins only ports of one side to ports of the other have
their ``side``, 1 or 2. Of ``losses``, those of ``connector`` are for panel ports without a loss of their own, ``fibre``
is for a kilometre, and ``splices`` for each fixed cable.

The ends of a *tray* are racks of a site, or junctions by any name; ``fill`` (40% if unsaid) is the share of its
cross-section that cables may take. ``parts`` is the path of a list of parts, beside this file.

A *port table* is a CSV file with a header and a port in each row, and can be an inventory by itself. Its columns are
``device``, ``kind`` (``host``, ``patch panel`` or ``ocs``), ``rack`` and ``port`` (its name or label); for hosts
``connector`` and ``speed``, and for those that are cabled ``panel`` and ``panel_ports``, the labels for all lanes with
blanks between; for panels ``mode``; and where they are needed ``site``, ``unit``, ``field``, ``blocked`` (``yes`` or
``no``), ``loss``, ``side``, ``pod``, ``pods`` (with blanks between), ``spare``, ``circuit``, ``polarity`` and
``budget``. What the first row of a device says of it, the others repeat or leave empty.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.tables import Located, parse_csv, parse_yaml
from topodesign.base.text_files import naming, read_text
from topodesign.wiring.inventory import devices
from topodesign.wiring.inventory import fields as parts
from topodesign.wiring.inventory.fields import MOST, FileFields, expand, fields, items, metres, text, texts
from topodesign.wiring.inventory.inventory import CableType, Inventory, InventoryError

ENDINGS = (".yaml", ".yml", ".csv")  # how the name of a file ends that :func:`read_inventory` takes

InventoryLike: TypeAlias = Inventory | str | Path  # an inventory, or the path of its file

_LARGEST = 64 * 2**20
_PATH = 4096  # letters that the path of a file may have
_CABLE_TYPES: tuple[CableType, ...] = get_args(CableType)
_KINDS: tuple[Literal["host"] | devices.PanelKind, ...] = ("host", *devices.PANEL_KINDS)
_OF_DEVICES = ("site", "rack", "unit", "kind", "field", "pod", "pods", "spare", "circuit")
_LISTS = ("hosts", "panels", "trunks", "trays", "cabling")
_FIELDS = ("name", "slack", "stock", "racks", "losses", "parts", "port_table", *_LISTS)
_COLUMNS = ("device", "kind", "rack", "port")
_OF_HOSTS = ("connector", "speed", "panel", "panel_ports", "pod", "polarity", "budget")
_OF_PANELS = ("field", "mode", "blocked", "loss", "pods", "spare", "circuit", "side")
_MORE_COLUMNS = ("site", "unit", *_OF_HOSTS, *_OF_PANELS)


def as_inventory(value: InventoryLike) -> Inventory:
    """Return the inventory that a value is or names."""
    if isinstance(value, Inventory):
        return value
    if isinstance(value, str | Path):
        return read_inventory(value)
    raise ParameterError(f"an inventory or the path of its file is needed, not {value!r:.100}")


def read_inventory(path: str | Path) -> Inventory:
    """Read an inventory from a YAML file, or from a port table in CSV.

    Raises
    ------
    FileFormatError
        If a file is missing, too large, not of its format, or makes no inventory; the message names the file, and
        where it can the line and the field.

    Examples
    --------
    >>> from topodesign import copy_examples, read_inventory
    >>> [path] = copy_examples(["inventory_testbed.yaml"], ".")
    >>> len(read_inventory(path).hosts)
    12
    """
    path = as_path(path)
    draft = _Draft()
    with expecting(path, FileKind.INVENTORY):
        content = read_text(path, ENDINGS, _LARGEST)
        table = None
        if path.suffix.lower() == ".csv":
            _read_table(path, content, draft)
        else:
            table = _read_yaml(path, content, draft)
    if table is not None:
        with naming(table):
            _read_table(table, read_text(table, (".csv",), _LARGEST), draft)
    try:
        made: dict[str, Any] = {part: tuple(getattr(draft, part)) for part in _LISTS}
        made |= {part: getattr(draft, part) for part in ("stock", "racks", "slack", "losses", "parts")}
        return Inventory(**made, name=draft.name or path.stem)
    except InventoryError as error:
        part = (error.part, error.row)
        where = draft.origin.get((*part, error.port)) or draft.origin.get((*part, None)) or path
        raise FileFormatError(f"{where}: {error.part}.{error.name}: {error.message}") from None


@dataclass
class _Draft:
    """An inventory in the making; ``origin`` has file and line by part, row and the port, or None for all of it."""

    hosts: list[devices.Host] = field(default_factory=list)
    panels: list[devices.Panel] = field(default_factory=list)
    cabling: list[devices.Fixed] = field(default_factory=list)
    stock: dict[str, tuple[Fraction, ...]] = field(default_factory=dict)
    racks: dict[str, dict[str, tuple[Fraction, Fraction]]] = field(default_factory=dict)
    slack: Fraction = Fraction(0)
    name: str = ""
    trunks: list[devices.Trunk] = field(default_factory=list)
    losses: devices.Losses = devices.NOTHING_KNOWN
    trays: list[devices.Tray] = field(default_factory=list)
    parts: str = ""
    origin: dict[tuple[str, int, str | None], str] = field(default_factory=dict)

    def came_from(self, path: Path, part: str, entry: Located, ports: Iterable[Located] = ()) -> None:
        """Note where what was appended last to a part comes from, by one of its fields, and each of its ports."""
        row, line = len(getattr(self, part)) - 1, entry.line
        if row >= MOST or len(self.origin) >= 4 * MOST:
            raise FileFormatError(f"line {line}: {part}: too many of them, or of their ports")
        self.origin[part, row, None] = f"{path}: line {line}"
        for port in ports:
            self.origin[part, row, str(port.value)] = f"{path}: line {port.line}"


def _read_yaml(path: Path, content: str, draft: _Draft) -> Path | None:
    """Read a YAML file into a draft; returns the port table that it names."""
    document = FileFields(fields(parse_yaml(content), "inventory", (), _FIELDS), "")
    draft.name = document.text("name", "")
    draft.slack = document.metres("slack") if "slack" in document else Fraction(0)
    if "stock" in document:
        for kind, lengths in fields(document.values["stock"], "stock", (), _CABLE_TYPES).items():
            draft.stock[kind] = _stock(lengths, f"stock.{kind}")
    for entry in _entries(document, "racks", ("rack", "x", "y"), ("site",)):
        rack, there = entry.text("rack"), draft.racks.setdefault(entry.text("site", ""), {})
        if rack in there:
            raise entry.wrong("rack", f"there are two racks '{rack}'")
        there[rack] = entry.metres("x", signed=True), entry.metres("y", signed=True)
    for entry in _entries(document, "hosts", ("name", "rack", "ports"), ("site", "unit", "pod")):
        said = list(_entries(entry, "ports", ("name", "connector", "speed"), ("polarity", "budget")))
        draft.hosts.append(parts.host(entry, map(parts.host_port, said)))
        draft.came_from(path, "hosts", entry.values["name"], (one.values["name"] for one in said))
    optional = ("site", "unit", "field", "blocked", "pods", "spare", "circuit")
    for entry in _entries(document, "panels", ("name", "kind", "rack", "ports"), optional):
        said = list(_entries(entry, "ports", ("label", "mode"), ("loss", "side")))
        ports = [parts.panel_port(one, blocked=False) for one in said]
        closed = _blocked(entry, {port.label for port in ports})
        ports = [replace(port, blocked=True) if port.label in closed else port for port in ports]
        draft.panels.append(parts.panel(entry, ports, _several(entry, "pods")))
        draft.came_from(path, "panels", entry.values["name"], (one.values["label"] for one in said))
    for entry in _entries(document, "trunks", ("panel", "panel_port", "near", "near_port"), ("loss",)):
        draft.trunks.append(parts.trunk(entry))
        draft.came_from(path, "trunks", entry.values["panel"])
    if "losses" in document:
        names = ("connector", "fibre", "splice", "splices")
        draft.losses = parts.losses(FileFields(fields(document.values["losses"], "losses", (), names), "losses"))
    for entry in _entries(document, "trays", ("from", "to", "length", "width", "depth"), ("site", "fill")):
        draft.trays.append(parts.tray(entry))
        draft.came_from(path, "trays", entry.values["from"])
    if "parts" in document:
        draft.parts = str(path.parent / text(document.values["parts"], "parts", _PATH))
    for entry in _entries(document, "cabling", ("host", "port", "panel", "panel_port"), ("lane",)):
        draft.cabling.append(parts.fixed(entry))
        draft.came_from(path, "cabling", entry.values["host"])
    return path.parent / text(document.values["port_table"], "port_table", _PATH) if "port_table" in document else None


def _stock(value: Located, where: str) -> tuple[Fraction, ...]:
    lengths = [(metres(one, where), one.line) for one in items(value, where)]
    wrong = next((line for length, line in lengths if length == 0), None if lengths else value.line)
    if wrong is not None:
        raise FileFormatError(f"line {wrong}: {where}: expected at least one length, all of them above zero")
    return tuple(sorted(length for length, _ in lengths))


def _entries(whole: FileFields, part: str, required: Sequence[str], optional: Sequence[str]) -> Iterator[FileFields]:
    """Yield the entries of a list, those with ranges as many as they stand for."""
    where = whole.at(part)
    for value in items(whole.values[part], where) if part in whole else ():
        for one in expand(fields(value, where, required, optional), where):
            yield FileFields(one, where)


def _several(entry: FileFields, name: str) -> Iterator[str]:
    where = entry.at(name)
    for value in items(entry.values[name], where) if name in entry else ():
        yield from texts(value, where)


def _blocked(panel: FileFields, labels: Collection[str]) -> set[str]:
    """Return the labels of ports that are blocked, all of which must be there."""
    closed = set()
    for value in items(panel.values["blocked"], "panels.blocked") if "blocked" in panel else ():
        for label in texts(value, "panels.blocked"):
            if label not in labels:
                raise FileFormatError(f"line {value.line}: panels.blocked: there is no port '{label}' to block")
            closed.add(label)
    return closed


def _read_table(path: Path, content: str, draft: _Draft) -> None:
    devices: dict[str, list[FileFields]] = {}
    for row in parse_csv(content, _COLUMNS, _MORE_COLUMNS):
        said = FileFields({**row, "name": row["device"]}, "")
        devices.setdefault(said.text("device"), []).append(said)
    for name, rows in devices.items():
        _check_agreement(name, rows)
        first = rows[0]
        if first.choice("kind", _KINDS) == "host":
            _no_columns(rows, _OF_PANELS, "a host")
            ports = [parts.host_port(FileFields({**row.values, "name": row.values["port"]}, "")) for row in rows]
            draft.hosts.append(parts.host(first, ports))
            draft.came_from(path, "hosts", first.values["device"], (row.values["port"] for row in rows))
            for said, port in zip(rows, ports, strict=True):
                _read_cabling(path, said, name, port, draft)
        else:
            _no_columns(rows, _OF_HOSTS, "a panel")
            places = [
                parts.panel_port(
                    FileFields({**row.values, "label": row.values["port"]}, ""),
                    blocked=row.choice("blocked", ("yes", "no"), "no") == "yes",
                )
                for row in rows
            ]
            draft.panels.append(parts.panel(first, places, first.text("pods", "").split()))
            draft.came_from(path, "panels", first.values["device"], (row.values["port"] for row in rows))


def _check_agreement(name: str, rows: Sequence[FileFields]) -> None:
    for row in rows[1:]:
        for column in _OF_DEVICES:
            if column in row and (column not in rows[0] or row.values[column].value != rows[0].values[column].value):
                raise row.wrong(column, f"the first row of '{name}' says otherwise")


def _read_cabling(path: Path, row: FileFields, host: str, port: devices.Port, draft: _Draft) -> None:
    if "panel" not in row and "panel_ports" not in row:
        return
    labels = row.text("panel_ports", "").split()
    if len(labels) != port.lanes or "panel" not in row:
        words = f"expected a panel and a label for each of {port.lanes} lane(s) of '{port.name}'"
        raise FileFormatError(f"line {row.values['port'].line}: panel_ports: {words}")
    for lane, label in enumerate(labels, start=1):
        draft.cabling.append(devices.Fixed(host, port.name, lane, row.text("panel"), label))
        draft.came_from(path, "cabling", row.values["port"])


def _no_columns(rows: Sequence[FileFields], columns: tuple[str, ...], what: str) -> None:
    for row in rows:
        for column in columns:
            if column in row:
                raise row.wrong(column, f"{what} has none; leave it empty")
