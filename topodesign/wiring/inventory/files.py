"""Inventory files: YAML, and CSV for port tables.

Which fields there are follows from :mod:`topodesign.wiring.inventory.devices`; ``docs/inventory.md`` lists them.

A *range* ``[first-last]`` or ``[first-last:step]`` in a text of a YAML file stands for a text for each number, with
zeros in front as ``first`` has them. Fields of an entry that have ranges go together and must be of the same length.

A *port table* is a CSV file with a header and a port in each row, and can be an inventory by itself, or what
``port_table`` in one names. Its columns are ``device``, ``kind`` (``host``, ``patch panel`` or ``ocs``) and ``port``
(its name or label), for cabled ports ``panel`` and ``panel_ports`` (the labels for all lanes with blanks between), and
the fields of hosts, panels and their ports. What the first row of a device says of it, others repeat or leave empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.tables import LocatedValue, parse_csv, parse_yaml
from topodesign.base.text_files import naming, read_text
from topodesign.base.wording import count_noun
from topodesign.wiring.inventory import devices
from topodesign.wiring.inventory.fields import Entries, FileFields, Stock, fields, parse_choice, table_of
from topodesign.wiring.inventory.inventory import Inventory, InventoryError

ENDINGS = (".yaml", ".yml", ".csv")  # how the name of a file ends that :func:`read_inventory` takes

InventoryLike: TypeAlias = Inventory | str | Path  # an inventory, or the path of its file

_LARGEST = 64 * 2**20
_CABLED = ("panel", "panel_ports")
_ORDER = ("name", "slack", "stock", "racks", "hosts", "panels", "trunks", "trays", "parts", "losses", "cabling")
_HEAD = """\
# What there is to wire with. Plan with it: topodesign wire plan SPEC --inventory THIS_FILE
# A range such as [01-12] or [2-24:2] stands for an entry for each number; ranges of one entry go together."""


def as_inventory(value: InventoryLike) -> Inventory:
    """Return an inventory, reading it if given a path."""
    if isinstance(value, Inventory):
        return value
    if isinstance(value, str | Path):
        return read_inventory(value)
    raise ParameterError(f"an inventory or the path of its file is needed, not {value!r:.100}")


def read_inventory(path: str | Path) -> Inventory:
    """Read an inventory from YAML or from a CSV port table.

    Parameters
    ----------
    path
        A YAML file with fields of an inventory, or a port table (.csv).

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
    every = table_of(Inventory)
    files: list[tuple[Path, FileFields]] = []
    with expecting(path, FileKind.INVENTORY):
        content = read_text(path, ENDINGS, _LARGEST)
        if path.suffix.lower() == ".csv":
            files.append((path, _port_table(content)))
        else:
            files.append(
                (path, FileFields(fields(parse_yaml(content), "inventory", (), (*every.required, *every.optional))))
            )
        said = every.values(files[0][1])
    table, beside = said.pop("port_table"), path.parent
    if table:
        with naming(beside / table):
            files.append((beside / table, _port_table(read_text(beside / table, (".csv",), _LARGEST))))
            more = every.values(files[1][1])
        said |= {part: said[part] + more[part] for part in ("hosts", "panels", "cabling")}
    said["name"] = said["name"] or path.stem
    said["parts"] = said["parts"] and str(beside / said["parts"])
    try:
        return Inventory(**said)
    except InventoryError as error:
        raise FileFormatError(f"{_origin(files, error) or path}: {error.part}.{error.name}: {error.message}") from None


def _origin(files: list[tuple[Path, FileFields]], error: InventoryError) -> str | None:
    """Return the file and line of an erroneous entry or port."""
    part = next(one for one in table_of(Inventory).fields if one.attribute == error.part)
    row = error.row
    for path, said in files:
        if not isinstance(part, Entries):
            continue
        entries = list(islice(part.entries(said), row + 1))
        row -= len(entries)
        if row >= 0:
            continue
        entry = entries[-1]
        lines = [entry.values[part.table.required[0]].line]
        for inner in part.table.fields:
            for port in inner.entries(entry) if isinstance(inner, Entries) and error.port is not None else ():
                name = port.values[inner.table.required[0]]  # type: ignore[attr-defined]
                lines += [name.line] if name.value == error.port else []
        return f"{path}: line {lines[-1]}"
    return None


# Port tables.

_HOST, _PORT, _PANEL, _PANEL_PORT = map(table_of, (devices.Host, devices.Port, devices.Panel, devices.PanelPort))
_KINDS = ("host", *devices.PANEL_KINDS)
_COLUMNS = ("device", "kind", "rack", "port")
_ROOMS = ("name", "label", "ports", *_COLUMNS)  # what columns have other names for, or are needed by all
_DEVICE_COLUMNS = tuple(dict.fromkeys(one.name for one in (*_HOST.fields, *_PANEL.fields) if one.name not in _ROOMS))
_OF_HOSTS = tuple(one.name for one in (*_HOST.fields, *_PORT.fields) if one.name not in _ROOMS)
_OF_PANELS = tuple(one.name for one in (*_PANEL.fields, *_PANEL_PORT.fields) if one.name not in _ROOMS)


def _port_table(content: str) -> FileFields:
    """Return a port table as fields of a YAML inventory."""
    rows_of: dict[str, list[dict[str, LocatedValue]]] = {}
    columns = tuple(dict.fromkeys((*_OF_HOSTS, *_CABLED, *_OF_PANELS)))
    for row in parse_csv(content, _COLUMNS, columns):
        rows_of.setdefault(row["device"].value, []).append(row)
    found: dict[str, list[LocatedValue]] = {"hosts": [], "panels": [], "cabling": []}
    for name, rows in rows_of.items():
        said = [FileFields(row, table=True) for row in rows]
        said[0].text("device")
        is_host = said[0].read("kind", parse_choice(_KINDS)) == "host"
        _check_rows(name, said, is_host=is_host)
        if is_host:
            found["cabling"] += [cable for row in said for cable in _iterate_cabling(row)]
        ports = [LocatedValue(row | {"name" if is_host else "label": row["port"]}, row["port"].line) for row in rows]
        about = {column: rows[0][column] for column in (*_DEVICE_COLUMNS, "kind", "rack") if column in rows[0]}
        entry = {"name": rows[0]["device"], **about, "ports": LocatedValue(ports, ports[0].line)}
        found["hosts" if is_host else "panels"].append(LocatedValue(entry, ports[0].line))
    return FileFields({part: LocatedValue(some, 1) for part, some in found.items()}, table=True)


def _check_rows(name: str, rows: list[FileFields], *, is_host: bool) -> None:
    """Check that rows of a device agree and use valid columns."""
    own, others, what = (_OF_HOSTS, _OF_PANELS, "a host") if is_host else (_OF_PANELS, _OF_HOSTS, "a panel")
    first = rows[0].values
    for row in rows:
        row.text("port")
        for column in (*_DEVICE_COLUMNS, "kind", "rack"):
            if column in row and (column not in first or row.values[column].value != first[column].value):
                raise row.wrong(column, f"the first row of '{name}' says otherwise")
        for column in (*others, *(() if is_host else _CABLED)):
            if column in row and column not in own:
                raise row.wrong(column, f"{what} has none; leave it empty")


def _iterate_cabling(row: FileFields) -> Iterator[LocatedValue]:
    """Yield the fixed cabling of a row, lane by lane."""
    connector = row.values["connector"].value if "connector" in row else ""
    if not any(column in row for column in _CABLED) or connector not in devices.LANES:
        return
    lanes, line = devices.LANES[connector], row.values["port"].line
    labels = row.values["panel_ports"].value.split() if "panel_ports" in row else []
    if len(labels) != lanes or "panel" not in row:
        words = (
            f"expected a panel and a label for each of the {count_noun(lanes, 'lane')} of '{row.values['port'].value}'"
        )
        raise FileFormatError(f"line {line}: panel_ports: {words}")
    for lane, label in enumerate(labels, start=1):
        said = {"host": row.values["device"], "port": row.values["port"], "panel": row.values["panel"]}
        yield LocatedValue(
            said | {"lane": LocatedValue(str(lane), line), "panel_port": LocatedValue(label, line)}, line
        )


# Writing.


def format_inventory(inventory: InventoryLike) -> str:
    """Return an inventory as YAML for :func:`topodesign.read_inventory`.

    Entries are drawn together into ranges, and comments say what for.

    Parameters
    ----------
    inventory
        What there is, or the path of its file; one without a name gets that of the file.

    Raises
    ------
    ParameterError
        If a file cannot say it: a name has ``[``, which begins a range, or a length no decimal.

    Examples
    --------
    >>> from topodesign.wiring.inventory.answers import plain_inventory
    >>> print(format_inventory(plain_inventory(12, 4)).splitlines()[-1])
      - {name: P0, rack: r0, unit: 0, kind: patch panel, ports: [{label: "[1-48]", mode: simplex}]}
    """
    inventory = as_inventory(inventory)
    sections = [_HEAD]
    for one in sorted(table_of(Inventory).fields, key=lambda one: _ORDER.index(one.attribute)):
        value = one.of(inventory)
        if not value or value == one.default:
            continue
        comment = [f"# {line}" for line in one.comment.splitlines()]
        if isinstance(one, Entries):
            lines = [f"{one.name}:", *(f"  - {entry}" for entry in one.table.write(value))]
        else:
            lines = [f"{one.name}:{'' if isinstance(one, Stock) else ' '}{one.write(value)}"]
        sections.append("\n".join([*comment, *lines]))
    return "\n\n".join(sections) + "\n"
