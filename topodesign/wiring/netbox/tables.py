"""NetBox CSV: bulk import files and exported lists.

The import files are numbered in the order in which they have to be imported. An export ("All data (CSV)") has other
columns; both are read, from a directory with files named as either calls them: ``06-devices.csv`` or
``netbox_devices.csv``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from topodesign.base.errors import FileFormatError
from topodesign.base.tables import csv_rows, read_named_columns, write_csv
from topodesign.base.text_files import naming, read_text
from topodesign.wiring.inventory.devices import is_number
from topodesign.wiring.netbox import model
from topodesign.wiring.plan.net import CONNECTED

Row = dict[str, str]

CABLE_ENDS = tuple(f"side_{side}_{name}" for side in "ab" for name in ("device", "type", "name"))
"""The columns of an import file that say what a cable joins."""
_CABLE_COLUMNS = (
    *("side_a_site", *CABLE_ENDS[:3], "side_b_site", *CABLE_ENDS[3:]),
    *("profile", "type", "status", "label", "color", "length", "length_unit"),
)
CABLES = "cables"
_TYPE = "smf-os2"
_MAKER = "generic"
_USUAL_UNITS = 42
_COLUMNS: dict[str, tuple[tuple[str, ...], ...]] = {
    "sites": (("name",),),
    "racks": (("site", "name"),),
    "devices": (("name", "role", "site"),),
    "interfaces": (("device", "name", "type"),),
    "rear-ports": (("device", "name", "positions"),),
    "front-ports": (("device", "name", "mappings"), ("device", "name", "rear_port")),
    CABLES: (CABLE_ENDS, ("device_a", "termination_a", "device_b", "termination_b", "status")),
}
"""The columns that a table needs, of import files and of exports, in small letters with _ for blanks."""

_SLUG = re.compile("[^a-z0-9_]+")
_YES = {"true", "yes"}


def cable_table(cables: Iterable[model.NetboxCable], sites: dict[str, str]) -> str:
    """Return the import file of cables.

    Each has one end at either side, since the form takes no more; ``sites`` are those of devices.
    """
    rows: list[tuple[object, ...]] = [_CABLE_COLUMNS]
    for cable in cables:
        ends = []
        for end in (cable.a[0], cable.b[0]):
            model.check_name(end.device)
            model.check_name(end.name)
            ends += [sites[end.device], *end]
        unit = "m" if cable.length else ""
        tail = (cable.profile, _TYPE, cable.status, cable.label, cable.colour, cable.length, unit)
        rows.append((*ends, *tail))
    return write_csv(rows)


def import_files(objects: model.NetboxObjects) -> dict[str, str]:
    """Return the import files by name, sorted in import order."""
    sites = {device.name: device.site for device in objects.devices}
    roles = dict.fromkeys(device.role for device in objects.devices)
    tallest: dict[tuple[str, str], int] = {}
    for device in objects.devices:
        rack = (device.site, device.rack)
        tallest[rack] = max(tallest.get(rack, _USUAL_UNITS), device.position or 0)
    slugs = _slugs(objects.sites)
    tables: dict[str, list[tuple[object, ...]]] = {
        "sites": [
            ("name", "slug", "status", "comments"),
            *((name, slugs[name], "active", text) for name, text in objects.sites.items()),
        ],
        "racks": [
            ("site", "name", "status", "width", "u_height", "comments"),
            *(
                (site, name, "active", 19, tallest.get((site, name), _USUAL_UNITS), text)
                for (site, name), text in objects.racks.items()
            ),
        ],
        "manufacturers": [("name", "slug"), (_MAKER, _MAKER)],
        "device-roles": [
            ("name", "slug", "color", "vm_role"),
            *((role, _slug(role), model.ROLES[role], "false") for role in roles),
        ],
        "device-types": [
            ("manufacturer", "model", "slug", "u_height", "is_full_depth"),
            *((_MAKER, role, _slug(role), 1, "false") for role in roles),
        ],
        "devices": [
            ("name", "role", "manufacturer", "device_type", "status", "site", "rack", "position", "face", "comments"),
            *(
                (
                    *(one.name, one.role, _MAKER, one.role, "active", one.site, one.rack),
                    *("" if one.position is None else one.position, "" if one.position is None else "front"),
                    one.comments,
                )
                for one in objects.devices
            ),
        ],
        "interfaces": [
            ("device", "name", "label", "type", "speed", "description"),
            *((one.device, one.name, one.label, one.sort, one.kbps, one.description) for one in objects.interfaces),
        ],
        "rear-ports": [
            ("device", "name", "type", "positions", "mark_connected", "description"),
            *(
                (one.device, one.name, "lc", one.positions, _flag(one.marked), one.description)
                for one in objects.rear_ports
            ),
        ],
        "front-ports": [
            ("device", "name", "type", "positions", "rear_port", "rear_port_position", "mark_connected"),
            *((one.device, one.name, "lc", 1, *one.behind[0], _flag(one.marked)) for one in objects.front_ports),
        ],
    }
    texts = {name: write_csv(rows) for name, rows in tables.items()} | {CABLES: cable_table(objects.cables, sites)}
    return {f"{number:02}-{name}.csv": text for number, (name, text) in enumerate(texts.items(), start=1)}


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _slug(name: str) -> str:
    return _SLUG.sub("-", name.lower()).strip("-") or "site"


def _slugs(names: Iterable[str]) -> dict[str, str]:
    """Return a unique slug for every name."""
    slugs: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        base = _slug(name)
        slugs[name] = next(slug for i in range(len(taken) + 1) if (slug := f"{base}-{i}" if i else base) not in taken)
        taken.add(slugs[name])
    return slugs


def read_tables(path: Path) -> model.NetboxObjects:
    """Read a directory of CSV import files or NetBox exports."""
    if not path.is_dir():
        raise FileFormatError(f"{path}: this is not a directory")
    tables: dict[str, list[Row]] = {}
    for file in sorted(path.iterdir()):
        kind = _kind(file)
        if kind in tables:
            raise FileFormatError(f"{path}: there are two files of {kind}, {file.name} and another")
        if kind is not None:
            with naming(file):
                tables[kind] = _rows(file, kind)
    for kind in ("devices", "interfaces", "rear-ports", "front-ports"):
        if kind not in tables:
            words = f"there is no file of {kind}, such as netbox_{kind}.csv; expected {', '.join(_COLUMNS)}"
            raise FileFormatError(f"{path}: {words}")
    shown = {
        (row["device"], f"{row['name']} ({row['label']})"): row["name"]
        for row in tables["interfaces"]
        if row.get("label")
    }
    panels = {row["device"] for row in tables["rear-ports"]}
    rears = {(row["device"], row["name"]) for row in tables["rear-ports"]}
    fronts = {(row["device"], row["name"]) for row in tables["front-ports"]}
    cables = list(_told_apart([cable_of(row, panels.__contains__) for row in tables.get(CABLES, ())], rears, fronts))
    return model.NetboxObjects(
        {row["name"]: row.get("comments", "") for row in tables.get("sites", ())},
        {(row["site"], row["name"]): row.get("comments", "") for row in tables.get("racks", ())},
        tuple(map(device_of, tables["devices"])),
        tuple(map(interface_of, tables["interfaces"])),
        tuple(map(rear_port_of, tables["rear-ports"])),
        tuple(map(_front_port, tables["front-ports"])),
        tuple(replace(cable, a=_unlabelled(cable.a, shown), b=_unlabelled(cable.b, shown)) for cable in cables),
    )


def _told_apart(
    cables: Iterable[model.NetboxCable], rears: set[tuple[str, str]], fronts: set[tuple[str, str]]
) -> Iterator[model.NetboxCable]:
    """Yield cables with panel ends resolved to front or rear ports.

    Where both have a name, what a host is cabled to is the rear port, and a second cable is at the other.
    """
    seen: set[model.CableEnd] = set()

    def settled(end: model.CableEnd) -> model.CableEnd:
        if end.kind == model.INTERFACE or (end[::2] in rears) + (end[::2] in fronts) == 0:
            return end
        kind = end.kind
        if end[::2] not in rears or end[::2] not in fronts:
            kind = model.REAR if end[::2] in rears else model.FRONT
        elif end in seen:
            kind = model.FRONT if end.kind == model.REAR else model.REAR
        found = end._replace(kind=kind)
        seen.add(found)
        return found

    rows = list(cables)
    first = sorted(range(len(rows)), key=lambda n: all(e.kind != model.INTERFACE for e in (*rows[n].a, *rows[n].b)))
    told = {n: replace(rows[n], a=tuple(map(settled, rows[n].a)), b=tuple(map(settled, rows[n].b))) for n in first}
    yield from (told[n] for n in range(len(rows)))


def read_cables(path: Path, is_panel: Callable[[str], bool]) -> list[model.NetboxCable]:
    """Read cables from an import file or a NetBox export.

    An export does not tell a rear port from a front port, so ``is_panel`` says which device is one: what a host is
    cabled to is a rear port.
    """
    return [cable_of(row, is_panel) for row in _rows(path, CABLES)]


def cable_file(path: Path) -> Path:
    """Return the cable file at a path or in a directory."""
    if not path.is_dir():
        return path
    found = [file for file in sorted(path.iterdir()) if _kind(file) == CABLES]
    if len(found) != 1:
        raise FileFormatError(f"{path}: there is not one file of cables, such as netbox_cables.csv")
    return found[0]


def _kind(file: Path) -> str | None:
    """Return the object kind of a file by name, or None."""
    stem = file.stem.lower().replace(" ", "-").replace("_", "-")
    found = re.fullmatch(rf"(?:[0-9]+-|netbox-)?({'|'.join(_COLUMNS)})", stem)
    return found[1] if found is not None and file.suffix.lower() == ".csv" else None


def _rows(path: Path, kind: str) -> list[Row]:
    """Return the rows of a table in order of ID."""
    text = read_text(path, (".csv",))
    header = {_column(cell) for cell in next(csv_rows(text), (0, []))[1]}
    wanted = next((columns for columns in _COLUMNS[kind] if header.issuperset(columns)), None)
    if wanted is None:
        words = " or ".join(", ".join(columns) for columns in _COLUMNS[kind])
        raise FileFormatError(f"line 1: a table of {kind} has the columns {words} (export all data)")
    rows = [row for _, row in read_named_columns(text, wanted, _column)]
    if "id" in header:
        rows.sort(key=lambda row: (len(row["id"]), row["id"]))
    return rows


def _column(cell: str) -> str:
    return cell.strip().lower().replace(" ", "_")


def device_of(row: Row) -> model.Device:
    """Return the device of a row."""
    position = row.get("position", "").partition(".")[0]
    number = int(position) if is_number(position) else None
    return model.Device(row["name"], row["role"], row["site"], row.get("rack", ""), number, row.get("comments", ""))


def interface_of(row: Row) -> model.Interface:
    """Return the interface of a row."""
    kbps = row.get("speed_(kbps)", row.get("speed", ""))
    number = int(kbps) if is_number(kbps, 12) else None
    ignored = row.get("management_only", row.get("mgmt_only", "")).lower() in _YES
    words = row.get("description", "")
    return model.Interface(
        row["device"], row["name"], row.get("label", ""), row["type"].lower(), number, ignored, words
    )


def rear_port_of(row: Row) -> model.RearPort:
    """Return the rear port of a row."""
    positions = int(row["positions"]) if is_number(row["positions"]) else 1
    marked = row.get("mark_connected", "").lower() in _YES
    return model.RearPort(row["device"], row["name"], positions, marked, row.get("description", ""))


def _front_port(row: Row) -> model.FrontPort:
    if "mappings" in row:
        pairs = [one.rpartition(":") for one in row["mappings"].split(", ") if one]
        behind = tuple((rear, int(place)) for rear, _, place in pairs if is_number(place))
    else:
        place = row.get("rear_port_position", "")
        behind = ((row["rear_port"], int(place) if is_number(place) else 1),)
    return model.FrontPort(row["device"], row["name"], behind, row.get("mark_connected", "").lower() in _YES)


def cable_of(row: Row, is_panel: Callable[[str], bool]) -> model.NetboxCable:
    """Return the cable of a row of an import file or export."""
    ends: list[tuple[model.CableEnd, ...]]
    if "side_a_device" in row:
        ends = [_import_ends(*(row[name] for name in names)) for names in (CABLE_ENDS[:3], CABLE_ENDS[3:])]
    else:
        devices = [row[f"device_{side}"].split(", ") for side in "ab"]
        panels = [all(map(is_panel, several)) for several in devices]
        kinds = [(model.FRONT if all(panels) else model.REAR) if panel else model.INTERFACE for panel in panels]
        ends = [
            tuple(
                model.CableEnd(device, kind, name)
                for device, name in _paired(names, row[f"termination_{side}"].split(", "))
            )
            for side, names, kind in zip("ab", devices, kinds, strict=True)
        ]
    status = row.get("status", "").lower() or CONNECTED
    return model.NetboxCable(row.get("label", ""), status, ends[0], ends[1], row.get("profile", ""))


def _import_ends(device: str, kind: str, names: str) -> tuple[model.CableEnd, ...]:
    """Return the cable ends in the cells of an import file."""
    kind = kind if kind.startswith("dcim.") else f"dcim.{kind}"
    return tuple(model.CableEnd(device, kind, name.strip()) for name in names.split(","))


def _paired(devices: list[str], names: list[str]) -> list[tuple[str, str]]:
    """Return the device and name of each end."""
    return list(zip(devices * len(names) if len(devices) == 1 else devices, names, strict=False))


def _unlabelled(ends: tuple[model.CableEnd, ...], shown: Mapping[tuple[str, str], str]) -> tuple[model.CableEnd, ...]:
    return tuple(end._replace(name=shown.get((end.device, end.name), end.name)) for end in ends)
