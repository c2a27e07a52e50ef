"""Kinds of file, recognised by how a file begins.

Errors name a file of the wrong kind by it.

Readers are strict and know one kind. Where one fails, :func:`expecting` looks at what the file is instead, and says so
with how to get what is wanted: nothing is looked at where reading succeeds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path

from topodesign.base.errors import FileFormatError
from topodesign.base.text_files import begins_as_module, naming, read_head


class FileKind(Enum):
    """A kind of file: its name, and how to make one.

    The second is empty if there is no way.
    """

    PLAN = "a schedule", "'topodesign schedule' writes one"
    PLAN_SET = "a set of plans", "'topodesign compile --for' writes one"
    PHASES = "programs by phase", "'topodesign compile' writes them for circuits that change"
    PROGRAM = "a program", "'topodesign compile' writes one"
    FABRIC = "a fabric", "'topodesign convert' writes one"
    LINKS = "a list of links", "'topodesign convert' writes one"
    INVENTORY = "an inventory", "'topodesign wire init' writes one"
    PARTS = "a list of parts", "'topodesign examples parts_neutral.yaml' copies one"
    WIRING = "a wiring plan", "'topodesign wire plan' writes one"
    REQUEST = "a request", "'topodesign design --init' writes one"
    COLLECTIVES = "a list of collectives", "'topodesign examples workload_moe.yaml' copies one"
    LAYERS = "a list of layers", "'topodesign examples workload_gpt2.csv' copies one"
    MODEL = "a model", "'topodesign examples model_gpt3.yaml' copies one"
    NEIGHBOURS = "a list of neighbours", "'topodesign examples observed_testbed.csv' copies one"
    CIRCUITS = "the circuits of a switch", "'topodesign wire export --format sonic' writes them"
    PATCHES = "a list of patches", "'topodesign wire export --format patches' writes one"
    NETBOX = "a table of NetBox", "NetBox exports its list of cables to CSV; 'topodesign wire export' writes one, too"
    INTERFACES = "a table of interfaces", "it is a CSV with the columns host,port,interface"
    LINK_TEST = "what a host's link test said", "'topodesign wire export --format bringup' writes the test"
    CATALOG = "a catalog", "'topodesign catalog build' writes one"
    TRACES = "traces", "'topodesign compile --target chakra' writes them"
    ANSWER = "an answer of --json", ""
    PICTURE = "a page or a picture", ""
    SPREADSHEET = "a spreadsheet (save it as CSV)", ""
    DIRECTORY = "a directory", ""
    EMPTY = "an empty file", ""

    @property
    def one(self) -> str:
        """What one is called."""
        return self.value[0]

    @property
    def maker(self) -> str:
        """How to get one."""
        return self.value[1]


_TABLES = {
    ("device", "kind", "rack"): FileKind.INVENTORY,
    ("host", "port", "neighbour_host"): FileKind.NEIGHBOURS,
    ("host", "port", "neighbor_host"): FileKind.NEIGHBOURS,
    ("host", "port", "interface"): FileKind.INTERFACES,
    ("cable", "a_label"): FileKind.PATCHES,
    ("side_a_device",): FileKind.NETBOX,
    ("termination_a",): FileKind.NETBOX,
    ("layer", "size"): FileKind.LAYERS,
    ("src", "dst"): FileKind.LINKS,
    ("nodes", "degree", "steps"): FileKind.CATALOG,
}
"""Columns that the first line of a table has that is no comment, in any order."""
_KEYS = {
    "lldp": FileKind.NEIGHBOURS,
    "OCS_CROSS_CONNECT": FileKind.CIRCUITS,
    "connects": FileKind.WIRING,
    "link test": FileKind.LINK_TEST,
}
"""Keys that identify JSON of others, or of ours without its head."""
_FORMATS = {"wiring plan": FileKind.WIRING, "programs by phase": FileKind.PHASES, "plan set": FileKind.PLAN_SET}
"""What JSON of ours says in its head."""
_NEAR = 1000  # letters in which XML has said what it is
_PLACES = frozenset(("hosts", "racks", "panels", "stock"))
_SOLD = frozenset(("cords", "breakouts", "cassettes", "optics"))


def kind_of(path: Path) -> FileKind | None:  # noqa: PLR0911  a sign after the other
    """Return the kind of a file by how it begins, or None if it is unknown.

    Its name plays no part.

    What cannot be read is None, too.
    """
    if os.path.isdir(path):  # noqa: PTH112  which no name is too long for
        return _of_directory(path)
    try:
        head = read_head(path)
    except FileFormatError:
        return None
    if head.startswith(b"\xd0\xcf\x11\xe0") or (head.startswith(b"PK") and re.search(rb"xl/|\[Content_Types\]", head)):
        return FileKind.SPREADSHEET
    if head.startswith(b"PK"):
        return FileKind.PLAN
    text = head.decode("utf-8-sig", errors="replace").lstrip()
    if not text:
        return FileKind.EMPTY
    if text.startswith("<"):
        return _of_xml(text)
    if begins_as_module(path):
        return FileKind.PROGRAM
    return _of_json(text) if text.startswith("{") else _of_lines(text)


@contextmanager
def expecting(path: Path, *wanted: FileKind) -> Iterator[None]:
    """Prefix errors with the file name, and name a file of another kind."""
    try:
        with naming(path):
            yield
    except FileFormatError as error:
        raise FileFormatError(_find_wrong_kind(path, wanted) or str(error)) from None


def refuse_others(path: Path, *wanted: FileKind) -> None:
    """Raise FileFormatError if a file is of another kind of ours."""
    said = _find_wrong_kind(path, wanted)
    if said is not None:
        raise FileFormatError(said)


def _find_wrong_kind(path: Path, wanted: tuple[FileKind, ...]) -> str | None:
    """Return the name of a file's kind if it is a wrong one, else None."""
    kind = kind_of(path)
    if kind is None or kind in wanted:
        return None
    maker = f"; {wanted[0].maker}" if wanted[0].maker else ""
    return f"{path}: this is {kind.one}, not {' or '.join(one.one for one in wanted)}{maker}"


def _of_directory(path: Path) -> FileKind:
    with suppress(OSError):
        for one in path.iterdir():
            if one.name.startswith("degree_"):
                return FileKind.CATALOG
            if one.suffix == ".et":
                return FileKind.TRACES
        if kind_of(path / "phases.json") is FileKind.PHASES:
            return FileKind.PHASES
        if (path / "index.json").is_file() and kind_of(path / "index.json") is FileKind.PLAN_SET:
            return FileKind.PLAN_SET
    return FileKind.DIRECTORY


def _of_xml(text: str) -> FileKind | None:
    for sign, kind in (("<algo", FileKind.PROGRAM), ("<graphml", FileKind.LINKS)):
        if sign in text[:_NEAR]:
            return kind
    return FileKind.PICTURE if re.search(r"<(svg|!doctype html|html)\b", text[:_NEAR], re.IGNORECASE) else None


def _of_json(text: str) -> FileKind | None:
    if re.match(r'\{\s*"schema"\s*:\s*"topodesign/', text):
        return FileKind.ANSWER
    for words, found in _FORMATS.items():
        if f'"topodesign {words}"' in text[:_NEAR]:
            return found
    keys = set(re.findall(r'"([A-Za-z_]+)"\s*:', text))
    for sign, found in (
        ("lldp", FileKind.NEIGHBOURS),
        ("OCS_CROSS_CONNECT", FileKind.CIRCUITS),
        ("connects", FileKind.WIRING),
    ):
        if sign in keys:
            return found
    if {"collective", "protocol"} <= keys:
        return FileKind.PROGRAM
    kind = _of_fields(keys)
    return FileKind.LINKS if kind is FileKind.FABRIC and not {"from", "bandwidth"} & keys else kind


def _of_lines(text: str) -> FileKind | None:
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    cells = re.split(r"[,;\t]", lines[0].lower().replace('"', "")) if lines else []
    columns = {cell.strip().replace(" ", "_") for cell in cells}
    table = next((kind for needed, kind in _TABLES.items() if columns.issuperset(needed)), None)
    if table is not None:
        return table
    if any(re.fullmatch(r"nodes\s*:\s*[0-9]+", line) for line in lines):  # of a fabric they are a list
        return FileKind.REQUEST
    return _of_fields({match[1] for line in lines if (match := re.match(r"([a-z_]+)\s*:(\s|$)", line))})


def _of_fields(fields: set[str]) -> FileKind | None:
    if fields & {"workload", "degree"}:
        return FileKind.REQUEST
    if {"layers", "hidden"} <= fields:
        return FileKind.MODEL
    if "collectives" in fields:
        return FileKind.COLLECTIVES
    if fields & _SOLD:
        return FileKind.PARTS
    if fields & _PLACES:
        return FileKind.INVENTORY
    return FileKind.FABRIC if "nodes" in fields else None
