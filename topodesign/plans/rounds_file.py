"""Schedule files: a schedule with the links it runs on, in one ``.npz`` with a JSON header.

Format version 1. The file is a zip archive of these members, stored or deflated, and nothing else:

``header.json``
    JSON object of at most ``MAX_HEADER`` bytes: ``format`` ("topodesign schedule"), ``version`` (1), ``collective``,
    ``nodes``, ``units``, ``steps``, ``reduce_steps``, ``rows``, ``links`` (how many), ``switches`` (list of nodes),
    ``spec`` (text or null), ``claim`` (null or ``{"steps": 5, "bandwidth": "p/q"}``, the cost of the whole schedule)
    and ``generator`` (object: what made it, free form).
``step.npy src.npy dst.npy owner.npy lo.npy hi.npy``
    The columns of :class:`~topodesign.plans.rounds.Rounds`, shape ``(rows,)``.
``link_src.npy link_dst.npy link_capacity.npy``
    The links of the topology sorted by (src, dst), shape ``(links,)``.

Every array is in the smallest little-endian unsigned integer type that holds it, so ``numpy.load`` reads the file too.
The same schedule gives the same bytes: members come in this order with a fixed date.

Versions: a header may get new keys without a new version, and readers ignore keys they do not know. Whatever an old
reader would misread is a new version with its own reader in ``_READERS``; readers are never removed.
"""

from __future__ import annotations

import json
import re
import secrets
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import sealed
from topodesign.base.cost import Cost
from topodesign.base.errors import FileFormatError, ParameterError, ScheduleError, TopodesignError, TopologyError
from topodesign.base.version import __version__
from topodesign.collectives import as_collective
from topodesign.plans.rounds import Rounds
from topodesign.topology.topology import MAX_LINKS, MAX_NODES, Topology

FORMAT = "topodesign schedule"
VERSION = 1
MAX_HEADER = 2**20
MAX_ROWS = 2**26
"""Rows that a reader accepts: 2 GiB in memory; an allreduce on 5000 nodes fits."""
MAX_UNITS = 2**63 - 1
MAX_STEPS = 2**31 - 1
FILE_COLUMNS = ("step", "src", "dst", "owner", "lo", "hi")
LINK_COLUMNS = ("link_src", "link_dst", "link_capacity")
_DATE = (1980, 1, 1, 0, 0, 0)
_LEVEL = (
    3  # on large schedules half the size of level 1 in the same time; level 6 saves a fifth more in thrice the time
)
_NPY = b"\x93NUMPY\x01\x00"
_NPY_HEADER = 128
_NPY_HEAD = re.compile(
    rb"\x93NUMPY\x01\x00v\x00\{'descr': '(?P<type>\|u1|<u[248])', 'fortran_order': False, "
    rb"'shape': \((?P<rows>[0-9]{1,18}),\), \} *\n"
)
FRACTION = re.compile(r"[0-9]{1,1000}(/[0-9]{1,1000})?")


@dataclass(frozen=True)
class Header:
    """What a schedule file says about its schedule; none of it is checked against the schedule.

    Attributes
    ----------
    version
        Format version of the file.
    spec
        Text said to rebuild the topology, or None. The topology of the file is made of its links, not of this.
    claim
        Cost said to be that of the whole schedule, or None; the verifier compares it.
    generator
        What made the schedule: program, method, options.
    """

    version: int
    spec: str | None
    claim: Cost | None
    generator: Mapping[str, Any]


def save_schedule(
    path: str | Path,
    schedule: Rounds,
    topology: Topology,
    *,
    spec: str | None = None,
    claim: Cost | None = None,
    generator: Mapping[str, Any] | None = None,
) -> None:
    """Write a schedule file; the path has either the old file or the whole new one at any time.

    Parameters
    ----------
    path
        Where; replaced if it exists. A temporary file is written next to it first.
    schedule, topology
        What; both for the same number of nodes.
    spec
        Text that rebuilds the topology; without it the topology's own spec is used, if it has one.
    claim
        Cost of the whole schedule, as :func:`topodesign.verification.rounds.verify` takes it.
    generator
        Names and values that JSON can hold; ``program`` is added.

    Raises
    ------
    ScheduleError
        If the schedule is for another number of nodes or has more than ``MAX_ROWS`` rows.
    TopodesignError
        If the file cannot be written or ``generator`` is not fit for JSON.
    """
    if schedule.nodes != topology.nodes:
        raise ScheduleError(f"the schedule is for {schedule.nodes} nodes, the topology has {topology.nodes}")
    if len(schedule) > MAX_ROWS:
        raise ScheduleError(f"a schedule file holds at most {MAX_ROWS} rows, not {len(schedule)}")
    if schedule.units > MAX_UNITS or schedule.steps > MAX_STEPS:
        raise ScheduleError(f"a schedule file holds at most {MAX_UNITS} units and {MAX_STEPS} steps")
    named = str(topology.spec) if spec is None and topology.spec is not None else spec
    fields = {
        "format": FORMAT,
        "version": VERSION,
        "collective": schedule.collective.name,
        "nodes": schedule.nodes,
        "units": schedule.units,
        "steps": schedule.steps,
        "reduce_steps": schedule.reduce_steps,
        "rows": len(schedule),
        "links": len(topology.src),
        "switches": sorted(topology.switches),
        "spec": named,
        "claim": None if claim is None else {"steps": claim.steps, "bandwidth": str(claim.bandwidth)},
        "generator": {"program": f"topodesign {__version__}", **(generator or {})},
    }
    arrays = dict(zip(FILE_COLUMNS, schedule.columns().values(), strict=True)) | dict(
        zip(LINK_COLUMNS, (topology.src, topology.dst, topology.capacity), strict=True)
    )
    write_archive(Path(path), fields, arrays)


def write_archive(target: Path, fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a header and arrays of non-negative integers; the path has the old file or the whole new one at any time.

    Raises
    ------
    TopodesignError
        If the file cannot be written, or the fields are too many or not fit for JSON.
    """
    try:
        header = json.dumps(fields, indent=1, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise TopodesignError(f"the generator's description does not fit into JSON: {error}") from None
    if len(header) > MAX_HEADER:
        raise TopodesignError(f"the header of a schedule file has at most {MAX_HEADER} bytes, not {len(header)}")
    try:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        try:
            with temporary.open("xb") as stream:
                _write(stream, header, arrays)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise TopodesignError(f"cannot write {target}: {error.strerror or error}") from None
    except ValueError as error:  # no name, or a null byte in it
        raise TopodesignError(f"cannot write {target}: {error}") from None


def load_schedule(path: str | Path) -> tuple[Topology, Rounds, Header]:
    """Read a schedule file of any version.

    Returns
    -------
    tuple
        The topology (from the links in the file, without a spec), the schedule and the header. The form of both is
        checked, not whether the schedule is right: that is :func:`topodesign.verification.rounds.verify`.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is damaged, or is not a schedule file of a known version.
    """
    with open_archive(Path(path)) as archive:
        fields = read_header(archive, FORMAT, _READERS)
        return _READERS[fields["version"]](archive, fields)


def is_format(path: Path, form: str) -> bool:
    """Return whether a file is an archive whose header says this format, whatever else is wrong with it."""
    try:
        with open_archive(path) as archive:
            fields = json.loads(read_member(archive, "header.json", MAX_HEADER))
            return isinstance(fields, dict) and fields.get("format") == form
    except (FileFormatError, RecursionError):
        return False


@contextmanager
def open_archive(source: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive to read it; whatever goes wrong with it inside the context becomes a FileFormatError."""
    try:
        with zipfile.ZipFile(source) as archive:
            yield archive
    except (FileFormatError, ParameterError, ScheduleError, TopologyError) as error:
        raise FileFormatError(f"{source}: {error}") from None
    except OSError as error:
        raise FileFormatError(f"cannot read {source}: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, KeyError, ValueError) as error:
        raise FileFormatError(f"{source} is damaged or is no schedule file: {error}") from None


def _write(stream: IO[bytes], header: bytes, arrays: Mapping[str, NDArray[Any]]) -> None:
    with zipfile.ZipFile(stream, "w") as archive:
        _write_member(archive, "header.json", header)
        for name, array in arrays.items():
            _write_member(archive, f"{name}.npy", _npy(array))


def _write_member(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _DATE)
    info.create_system = 3  # Unix, wherever it is written
    info.external_attr = 0o644 << 16
    archive.writestr(info, data, zipfile.ZIP_DEFLATED, _LEVEL)


def _npy(array: NDArray[Any]) -> bytes:
    """Return an array of non-negative integers as an .npy file in the smallest type."""
    kind = np.min_scalar_type(int(array.max(initial=0))).newbyteorder("<")
    text = f"{{'descr': '{kind.str}', 'fortran_order': False, 'shape': ({len(array)},), }}"
    size = _NPY_HEADER - len(_NPY) - 2
    head = _NPY + struct.pack("<H", size) + text.ljust(size - 1).encode() + b"\n"
    return head + array.astype(kind).tobytes()


def read_member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Return a member's bytes; neither its declared size nor what comes out of it may be above the limit.

    zipfile checks the CRC, and unpacks no more than is asked for.
    """
    info = archive.getinfo(name)
    if info.flag_bits & 1 or info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise FileFormatError(f"{name} is encrypted or compressed in an unknown way")
    if info.file_size > limit:
        raise FileFormatError(f"{name} is said to have {info.file_size} bytes, but at most {limit} make sense")
    with archive.open(info) as member:
        data = member.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise FileFormatError(f"{name} has {len(data)} bytes, but is said to have {info.file_size}")
    return data


def read_header(archive: zipfile.ZipFile, form: str, versions: Collection[int]) -> dict[str, Any]:
    """Return the fields of the header.

    Raises
    ------
    FileFormatError
        If there is no header of this format and one of these versions, or a member occurs twice.
    """
    names = archive.namelist()
    if "header.json" not in names:
        raise FileFormatError("it has no header.json, so it is no schedule file")
    if len(names) != len(set(names)):
        raise FileFormatError("a member occurs twice")
    try:
        fields = json.loads(read_member(archive, "header.json", MAX_HEADER))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"header.json is not JSON: {error}") from None
    if not isinstance(fields, dict) or fields.get("format") != form:
        raise FileFormatError(f"header.json does not say {form!r}")
    version = read_integer(fields, "version", 1, 10**6)
    if version not in versions:
        known = ", ".join(map(str, versions))
        raise FileFormatError(f"it has format version {version}, this program reads {known}; use a newer program")
    return fields


def read_integer(fields: Mapping[str, Any], key: str, least: int, most: int) -> int:
    """Return an integer of the header.

    Raises
    ------
    FileFormatError
        If it is missing or out of range.
    """
    value = fields.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise FileFormatError(f"{key!r} in header.json must be an integer from {least} to {most}")
    return value


def read_links(archive: zipfile.ZipFile, fields: Mapping[str, Any]) -> Topology:
    """Return the topology that the file's links and the header's nodes and switches make."""
    nodes, links = read_integer(fields, "nodes", 1, MAX_NODES), read_integer(fields, "links", 0, MAX_LINKS)
    switches = fields.get("switches")
    if not isinstance(switches, list) or not all(type(node) is int for node in switches):
        raise FileFormatError("'switches' in header.json must be a list of nodes")
    src, dst, capacity = (read_column(archive, name, links, np.int64) for name in LINK_COLUMNS)
    return Topology(nodes, src, dst, capacity, switches=frozenset(switches))


def read_column(archive: zipfile.ZipFile, name: str, rows: int, kind: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """Return one array; its length must be the header's, and its values fit into the type."""
    data = read_member(archive, f"{name}.npy", _NPY_HEADER + 8 * rows)
    match = _NPY_HEAD.match(data)
    stored = np.dtype(match["type"].decode()) if match else np.dtype(np.uint8)
    if match is None or int(match["rows"]) != rows or len(data) != _NPY_HEADER + rows * stored.itemsize:
        raise FileFormatError(f"{name}.npy is not an array of {rows} unsigned integers")
    array = np.frombuffer(data, dtype=stored, offset=_NPY_HEADER)
    if array.max(initial=0) > np.iinfo(kind).max:
        raise FileFormatError(f"{name}.npy has a number above {np.iinfo(kind).max}")
    return sealed(array.astype(kind))


def _claim(value: object) -> Cost | None:
    if value is None:
        return None
    wrong = FileFormatError("'claim' in header.json must be null or have 'steps' and 'bandwidth' as \"p/q\"")
    text = value.get("bandwidth") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(text, str) or not FRACTION.fullmatch(text):
        raise wrong
    try:
        return Cost(read_integer(value, "steps", 0, MAX_STEPS), Fraction(text))
    except ZeroDivisionError:
        raise wrong from None


def check_members(archive: zipfile.ZipFile, columns: Collection[str]) -> None:
    """Raise FileFormatError unless the archive holds a header, these columns and the links, and nothing else."""
    names = {"header.json", *(f"{name}.npy" for name in (*columns, *LINK_COLUMNS))}
    different = sorted(names ^ set(archive.namelist()))
    if different:
        problem = "is missing" if different[0] in names else "does not belong there"
        raise FileFormatError(f"{different[0]} {problem}")


def _read_version_1(archive: zipfile.ZipFile, fields: dict[str, Any]) -> tuple[Topology, Rounds, Header]:
    check_members(archive, FILE_COLUMNS)
    topology = read_links(archive, fields)
    rows = read_integer(fields, "rows", 0, MAX_ROWS)
    steps = read_integer(fields, "steps", 0, MAX_STEPS)
    reduce_steps = read_integer(fields, "reduce_steps", 0, steps)
    units = read_integer(fields, "units", 1, MAX_UNITS)
    collective = as_collective(fields.get("collective", ""))
    spec, generator = fields.get("spec"), fields.get("generator")
    if not (spec is None or isinstance(spec, str)):
        raise FileFormatError("'spec' in header.json must be text or null")
    if not isinstance(generator, dict):
        raise FileFormatError("'generator' in header.json must be an object")
    header = Header(1, spec, _claim(fields.get("claim")), generator)
    narrow = [read_column(archive, name, rows, np.int32) for name in FILE_COLUMNS[:4]]
    wide = [read_column(archive, name, rows, np.int64) for name in FILE_COLUMNS[4:]]
    return topology, Rounds(collective, topology.nodes, units, steps, reduce_steps, *narrow, *wide), header


_READERS: dict[int, Callable[[zipfile.ZipFile, dict[str, Any]], tuple[Topology, Rounds, Header]]] = {
    1: _read_version_1,
}
