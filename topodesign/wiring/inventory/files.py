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
    losses:                                        # optional: what light loses, for the loss budget
      {connector: 0.3dB, fibre: 0.4dB, splice: 0.1dB, splices: 2}
    cabling:                                       # optional: planned if it is missing
      - {host: "h[01-12]", port: eth0, lane: 1, panel: P1, panel_port: "[1-45:4]"}
    port_table: ports.csv                          # optional: more devices, as below

A *range* ``[first-last]`` or ``[first-last:step]`` in a text stands for a text for each number, with zeros in front as
``first`` has them. Fields of an entry that have ranges go together and must be of the same length.

``site``, ``unit`` (1) and ``lane`` (1) may be left out. The connector is ``LC`` (one lane), ``MPO-12`` (four),
``MPO-16`` (eight) or ``MPO-24`` (twelve); the ``speed`` is that of the whole port. A port may have a ``polarity`` (of
the array cable in it by TIA-568: A, B or C; A if unsaid) and a ``budget``, the loss that its optic stands. A host may
have a ``pod``, and a panel ``pods``, to whose hosts alone it is within reach. A panel is a ``patch panel`` or an
``ocs`` (circuit switch); patch panels of the same ``field`` can be patched to each other. Panel ports are ``simplex``
or ``duplex`` and may have a ``loss``, such as
``1.2dB``; ``blocked: [17, "[20-24]"]`` of a panel lists labels of ports that must not be used, ``spare: 4`` keeps so
many of its ports free, and ``circuit: 1.5dB`` is what light loses inside a circuit switch. Of ``losses``, those of
``connector`` are for panel ports without a loss of their own, ``fibre`` is for a kilometre, and ``splices`` for each
fixed cable.

A *port table* is a CSV file with a header and a port in each row, and can be an inventory by itself. Its columns are
``device``, ``kind`` (``host``, ``patch panel`` or ``ocs``), ``rack`` and ``port`` (its name or label); for hosts
``connector`` and ``speed``, and for those that are cabled ``panel`` and ``panel_ports``, the labels for all lanes with
blanks between; for panels ``mode``; and where they are needed ``site``, ``unit``, ``field``, ``blocked`` (``yes`` or
``no``), ``loss``, ``pod``, ``pods`` (with blanks between), ``spare``, ``circuit``, ``polarity`` and ``budget``. What
the first row of a device says of it, the others repeat or leave empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.tables import Located, parse_csv, parse_yaml
from topodesign.base.text_files import naming, read_text
from topodesign.wiring.inventory.file_fields import (
    MOST,
    Entry,
    choice,
    decibels,
    expand,
    fields,
    items,
    metres,
    speed,
    text,
    texts,
    whole,
)
from topodesign.wiring.inventory.inventory import (
    LANES,
    MODES,
    NOTHING_KNOWN,
    PANEL_KINDS,
    POLARITIES,
    Fixed,
    Host,
    Inventory,
    InventoryError,
    Losses,
    Panel,
    PanelKind,
    PanelPort,
    Polarity,
    Port,
    Trunk,
)
from topodesign.wiring.inventory.lengths import CableType

ENDINGS = (".yaml", ".yml", ".csv")
"""How the name of a file ends that :func:`read_inventory` takes."""

InventoryLike: TypeAlias = Inventory | str | Path
"""An inventory, or the path of its file."""

_LARGEST = 64 * 2**20
_PATH = 4096  # letters that the path of a file may have
_CABLE_TYPES: tuple[CableType, ...] = get_args(CableType)
_KINDS: tuple[Literal["host"] | PanelKind, ...] = ("host", *PANEL_KINDS)
_DEVICE = ("site", "rack", "unit")
_TRUNK = ("panel", "panel_port", "near", "near_port")
_OF_DEVICES = ("kind", "field", "pod", "pods", "spare", "circuit")
_COLUMNS = ("device", "kind", "rack", "port")
_OF_HOSTS = ("connector", "speed", "panel", "panel_ports", "pod", "polarity", "budget")
_OF_PANELS = ("field", "mode", "blocked", "loss", "pods", "spare", "circuit")
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
        return Inventory(
            tuple(draft.hosts),
            tuple(draft.panels),
            tuple(draft.cabling),
            draft.stock,
            draft.racks,
            draft.slack,
            draft.name or path.stem,
            tuple(draft.trunks),
            draft.losses,
        )
    except InventoryError as error:
        part = (error.part, error.row)
        where = draft.origin.get((*part, error.port)) or draft.origin.get((*part, None)) or path
        raise FileFormatError(f"{where}: {error.part}.{error.name}: {error.message}") from None


@dataclass
class _Draft:
    """An inventory in the making; ``origin`` has file and line by part, row and the port, or None for all of it."""

    hosts: list[Host] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    cabling: list[Fixed] = field(default_factory=list)
    stock: dict[str, tuple[Fraction, ...]] = field(default_factory=dict)
    racks: dict[str, dict[str, tuple[Fraction, Fraction]]] = field(default_factory=dict)
    slack: Fraction = Fraction(0)
    name: str = ""
    trunks: list[Trunk] = field(default_factory=list)
    losses: Losses = NOTHING_KNOWN
    origin: dict[tuple[str, int, str | None], str] = field(default_factory=dict)

    def came_from(self, path: Path, part: str, line: int, ports: dict[str, int] | None = None) -> None:
        """Note where what was appended last to a part comes from, and the line of each of its ports."""
        row = len(getattr(self, part)) - 1
        if row >= MOST or len(self.origin) >= 4 * MOST:
            raise FileFormatError(f"line {line}: {part}: too many of them, or of their ports")
        self.origin[part, row, None] = f"{path}: line {line}"
        for port, its_line in (ports or {}).items():
            self.origin[part, row, port] = f"{path}: line {its_line}"


def _read_yaml(path: Path, content: str, draft: _Draft) -> Path | None:
    """Read a YAML file into a draft; returns the port table that it names."""
    more = ("name", "slack", "stock", "racks", "hosts", "panels", "trunks", "losses", "cabling", "port_table")
    document = fields(parse_yaml(content), "inventory", (), more)
    draft.name = text(document["name"], "name") if "name" in document else ""
    draft.slack = metres(document["slack"], "slack") if "slack" in document else Fraction(0)
    if "stock" in document:
        for kind, lengths in fields(document["stock"], "stock", (), _CABLE_TYPES).items():
            draft.stock[kind] = _stock(lengths, f"stock.{kind}")
    for entry in _entries(document, "racks", ("rack", "x", "y"), ("site",)):
        site, rack = _text(entry, "racks", "site", ""), text(entry["rack"], "racks.rack")
        if rack in draft.racks.setdefault(site, {}):
            raise FileFormatError(f"line {entry['rack'].line}: racks.rack: there are two racks '{rack}'")
        x, y = (metres(entry[name], f"racks.{name}", signed=True) for name in ("x", "y"))
        draft.racks[site][rack] = (x, y)
    for entry in _entries(document, "hosts", ("name", "rack", "ports"), ("site", "unit", "pod")):
        ports = [(port["name"].line, _host_port(port, "hosts.ports")) for port in _ports(entry, "hosts")]
        name, pod = text(entry["name"], "hosts.name"), _text(entry, "hosts", "pod", "")
        draft.hosts.append(Host(name, *_place(entry, "hosts"), tuple(port for _, port in ports), pod))
        draft.came_from(path, "hosts", entry["name"].line, {port.name: line for line, port in ports})
    optional = ("site", "unit", "field", "blocked", "pods", "spare", "circuit")
    for entry in _entries(document, "panels", ("name", "kind", "rack", "ports"), optional):
        _read_panel(path, entry, draft)
    for entry in _entries(document, "trunks", _TRUNK, ("loss",)):
        panel, label, near, at = (text(entry[name], f"trunks.{name}") for name in _TRUNK)
        draft.trunks.append(Trunk(panel, label, near, at, _loss(entry, "trunks", "loss")))
        draft.came_from(path, "trunks", entry["panel"].line)
    if "losses" in document:
        entry = fields(document["losses"], "losses", (), ("connector", "fibre", "splice", "splices"))
        connector, fibre, splice = (_loss(entry, "losses", name) for name in ("connector", "fibre", "splice"))
        count = whole(entry["splices"], "losses.splices", 0) if "splices" in entry else 0
        draft.losses = Losses(connector, fibre, splice, count)
    for entry in _entries(document, "cabling", ("host", "port", "panel", "panel_port"), ("lane",)):
        lane = whole(entry["lane"], "cabling.lane", 1) if "lane" in entry else 1
        host, port, *end = (text(entry[name], f"cabling.{name}") for name in ("host", "port", "panel", "panel_port"))
        draft.cabling.append(Fixed(host, port, lane, *end))
        draft.came_from(path, "cabling", entry["host"].line)
    return path.parent / text(document["port_table"], "port_table", _PATH) if "port_table" in document else None


def _stock(value: Located, where: str) -> tuple[Fraction, ...]:
    lengths = [(metres(one, where), one.line) for one in items(value, where)]
    wrong = next((line for length, line in lengths if length == 0), None if lengths else value.line)
    if wrong is not None:
        raise FileFormatError(f"line {wrong}: {where}: expected at least one length, all of them above zero")
    return tuple(sorted(length for length, _ in lengths))


def _entries(document: Entry, part: str, required: tuple[str, ...], optional: tuple[str, ...]) -> Iterator[Entry]:
    if part in document:
        for value in items(document[part], part):
            yield from expand(fields(value, part, required, optional), part)


def _ports(entry: Entry, part: str) -> Iterator[Entry]:
    required: tuple[str, ...] = ("name", "connector", "speed")
    optional: tuple[str, ...] = ("polarity", "budget")
    if part == "panels":
        required, optional = ("label", "mode"), ("loss",)
    for value in items(entry["ports"], f"{part}.ports"):
        yield from expand(fields(value, f"{part}.ports", required, optional), f"{part}.ports")


def _read_panel(path: Path, entry: Entry, draft: _Draft) -> None:
    ports, lines = {}, {}
    again = []
    for port in _ports(entry, "panels"):
        one = _panel_port(port, "panels.ports")
        again += [one] if one.label in ports else []
        ports[one.label], lines[one.label] = one, port["label"].line
    for value in items(entry["blocked"], "panels.blocked") if "blocked" in entry else ():
        for label in texts(value, "panels.blocked"):
            if label not in ports:
                raise FileFormatError(f"line {value.line}: panels.blocked: there is no port '{label}' to block")
            ports[label] = replace(ports[label], blocked=True)
    kind = choice(entry["kind"], PANEL_KINDS, "panels.kind")
    name = text(entry["name"], "panels.name")
    group = _text(entry, "panels", "field", name)
    said = items(entry["pods"], "panels.pods") if "pods" in entry else ()
    pods = tuple(pod for one in said for pod in texts(one, "panels.pods"))
    spare, circuit = _spare(entry, "panels")
    places = (*ports.values(), *again)
    draft.panels.append(Panel(name, *_place(entry, "panels"), kind, places, group, pods, spare, circuit))
    draft.came_from(path, "panels", entry["name"].line, lines)


def _read_table(path: Path, content: str, draft: _Draft) -> None:
    """Read a port table into a draft."""
    devices: dict[str, list[dict[str, Located]]] = {}
    for row in parse_csv(content, _COLUMNS, _MORE_COLUMNS):
        devices.setdefault(text(row["device"], "device"), []).append(row)
    for name, rows in devices.items():
        _check_agreement(name, rows)
        kind = choice(rows[0]["kind"], _KINDS, "kind")
        if kind == "host":
            _no_columns(rows, _OF_PANELS, "a host")
            ports = tuple(_host_port({**row, "name": row["port"]}, "") for row in rows)
            draft.hosts.append(Host(name, *_place(rows[0], ""), ports, _text(rows[0], "", "pod", "")))
        else:
            _no_columns(rows, _OF_HOSTS, "a panel")
            places = tuple(_panel_port({**row, "label": row["port"]}, "") for row in rows)
            pods = tuple(_text(rows[0], "", "pods", "").split())
            group = _text(rows[0], "", "field", name)
            spare, circuit = _spare(rows[0], "")
            draft.panels.append(Panel(name, *_place(rows[0], ""), kind, places, group, pods, spare, circuit))
        lines = {row["port"].value: row["port"].line for row in rows}
        draft.came_from(path, "hosts" if kind == "host" else "panels", rows[0]["device"].line, lines)
        if kind == "host":
            for row, port in zip(rows, ports, strict=True):
                _read_cabling(path, row, name, port, draft)


def _check_agreement(name: str, rows: Sequence[Entry]) -> None:
    for row in rows[1:]:
        for column in (*_DEVICE, *_OF_DEVICES):
            if column in row and (column not in rows[0] or row[column].value != rows[0][column].value):
                raise FileFormatError(f"line {row[column].line}: {column}: the first row of '{name}' says otherwise")


def _read_cabling(path: Path, row: Entry, host: str, port: Port, draft: _Draft) -> None:
    if "panel" not in row and "panel_ports" not in row:
        return
    labels = _text(row, "", "panel_ports", "").split()
    if len(labels) != port.lanes or "panel" not in row:
        words = f"expected a panel and a label for each of {port.lanes} lane(s) of '{port.name}'"
        raise FileFormatError(f"line {row['port'].line}: panel_ports: {words}")
    for lane, label in enumerate(labels, start=1):
        draft.cabling.append(Fixed(host, port.name, lane, text(row["panel"], "panel"), label))
        draft.came_from(path, "cabling", row["port"].line)


def _no_columns(rows: Sequence[Entry], columns: tuple[str, ...], what: str) -> None:
    for row in rows:
        for column in columns:
            if column in row:
                raise FileFormatError(f"line {row[column].line}: {column}: {what} has none; leave it empty")


def _host_port(entry: Entry, where: str) -> Port:
    connector = choice(_given(entry, where, "connector"), LANES, _field(where, "connector"))
    rate = speed(_given(entry, where, "speed"), _field(where, "speed"))
    polarity: Polarity = (
        choice(entry["polarity"], POLARITIES, _field(where, "polarity")) if "polarity" in entry else "A"
    )
    name = text(entry["name"], _field(where, "name"))
    return Port(name, connector, rate / LANES[connector], polarity, _loss(entry, where, "budget"))


def _panel_port(entry: Entry, where: str) -> PanelPort:
    mode = choice(_given(entry, where, "mode"), MODES, _field(where, "mode"))
    blocked = "blocked" in entry and choice(entry["blocked"], ("yes", "no"), _field(where, "blocked")) == "yes"
    return PanelPort(text(entry["label"], _field(where, "label")), mode, blocked, _loss(entry, where, "loss"))


def _spare(entry: Entry, where: str) -> tuple[int, Fraction | None]:
    """Return the ports of a panel that stay free, and what a circuit loses."""
    spare = whole(entry["spare"], _field(where, "spare"), 0) if "spare" in entry else 0
    return spare, _loss(entry, where, "circuit")


def _loss(entry: Entry, where: str, name: str) -> Fraction | None:
    return decibels(entry[name], _field(where, name)) if name in entry else None


def _place(entry: Entry, where: str) -> tuple[str, str, int]:
    unit = whole(entry["unit"], _field(where, "unit"), 0) if "unit" in entry else 1
    return _text(entry, where, "site", ""), text(entry["rack"], _field(where, "rack")), unit


def _text(entry: Entry, where: str, name: str, default: str) -> str:
    return text(entry[name], _field(where, name)) if name in entry else default


def _given(entry: Entry, where: str, name: str) -> Located:
    if name not in entry:
        line = next(iter(entry.values())).line
        raise FileFormatError(f"line {line}: the field '{_field(where, name)}' is missing")
    return entry[name]


def _field(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
