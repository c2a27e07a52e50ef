"""Files given where others are wanted: what they are, said in place of what is wrong with them as what they are not."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from topodesign.base.errors import FileFormatError, TopodesignError
from topodesign.base.text_files import open_input

INVENTORY = "an inventory of hosts and panels"
PLAN = "a wiring plan"
TOPOLOGY = "a topology or fabric"
HEARD = "what hosts hear by LLDP"
CIRCUITS = "the circuits of a switch"
PATCHES = "a list of patches"
NETBOX = "a table of NetBox"

_HEAD = 65536
_MOST_NEAR = 2
_JSON = {
    "topodesign wiring plan": PLAN,
    "connects": PLAN,
    "lldp": HEARD,
    "OCS_CROSS_CONNECT": CIRCUITS,
    "links": TOPOLOGY,
}
_YAML = {"hosts": INVENTORY, "panels": INVENTORY, "nodes": TOPOLOGY, "links": TOPOLOGY}
_COLUMNS: dict[tuple[str, ...], str] = {
    ("neighbour_host", "host"): HEARD,
    ("neighbor_host", "host"): HEARD,
    ("cable", "a_label"): PATCHES,
    ("device", "kind", "rack"): INVENTORY,
    ("side_a_device",): NETBOX,
    ("termination_a",): NETBOX,
    ("src", "dst"): TOPOLOGY,
}
_KEY = re.compile(r"^([A-Za-z_]\w*):", re.MULTILINE)


def kind_of(path: Path) -> str | None:
    """Return what a file is by how it begins and what it is called, in words; None if that is not known."""
    try:
        with open_input(path) as file:
            head = file.read(_HEAD)
    except (FileFormatError, OSError):
        return None
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return "a spreadsheet or an archive (save spreadsheets as CSV)"
    text = head.decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    if text.startswith("{"):
        return _named(_JSON, [key for key in _JSON if f'"{key}"' in text])
    ending = path.suffix.lower()
    if ending in {".yaml", ".yml"}:
        return _named(_YAML, _KEY.findall(text))
    header = {cell.strip().strip('"').lower().replace(" ", "_") for cell in text.partition("\n")[0].split(",")}
    return (
        _named(_COLUMNS, [columns for columns in _COLUMNS if header.issuperset(columns)]) if ending == ".csv" else None
    )


_Sign = TypeVar("_Sign", str, tuple[str, ...])


def _named(kinds: Mapping[_Sign, str], found: Collection[_Sign]) -> str | None:
    """Return the first kind of which there is a sign."""
    return next((kind for sign, kind in kinds.items() if sign in found), None)


@contextmanager
def wanted(path: Path, what: str, *own: str) -> Iterator[None]:
    """Say of a file that cannot be read what it is instead, and of one that is missing, what is near."""
    try:
        yield
    except TopodesignError as error:
        kind = kind_of(path)
        if kind is not None and kind not in own:
            raise FileFormatError(f"{path} is {kind}; wanted is {what}") from None
        near = _near(path) if isinstance(error, FileFormatError) else []
        if not near:
            raise
        raise FileFormatError(f"{error}; did you mean {' or '.join(near)}?") from None


def _near(path: Path) -> list[str]:
    """Return the names of files beside a missing one that are spelt like it."""
    try:
        names = [] if path.exists() else [one.name for one in path.parent.iterdir() if one.is_file()]
    except (OSError, ValueError):
        return []
    return [str(path.parent / name) for name in get_close_matches(path.name, names, n=_MOST_NEAR)]
