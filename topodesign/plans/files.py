"""Plan files: a plan and its place in one ``.npz`` with a JSON header.

The container is that of :mod:`topodesign.plans.archive`. Format "topodesign plan", versions 1 to 4, has these members
and nothing else:

``header.json``
    ``format`` ("topodesign plan"), ``version`` (3 of flows, 4 of stages; 1 of other kinds of movement, 2 of
    timed sends of 0.29 and 0.30), ``kind`` of plan (as ``Plan.kind`` says),
    ``collective`` (object of ``name``, ``root``, ``group``; of ``name``, ``groups``, ``roots``;
    or ``together``, a list of such),
    ``nodes``, ``switches`` (list), ``links`` (how many), ``spec`` (text or null),
    ``claim`` (object of "p/q"), ``generator`` (object, free form) and ``notes`` (list of texts); ``fabric``: null for a
    plain topology, or an object of ``name``, ``names`` (one for each vertex), ``unit`` ("p/q", bytes per second of one
    unit of capacity), ``classes`` (one for each link), ``multicast`` and ``aggregation`` (lists of switches), and
    where there are any ``memory`` (another), ``shared`` (a list of objects of ``name``, ``bandwidth``, "p/q", and
    ``links``, a list of their numbers), ``latency`` (an object of "p/q", seconds, by class) and ``prices`` (an object
    of texts such as "900" or "900/25GB/s", by class);
    ``flow`` (versions 3 and 4): an object, or a list of some, see :mod:`topodesign.plans.flow_files`, which names the
    columns;
    ``movement`` (versions 1 and 2): an object with what else belongs to the kind: its ``FIELDS``, and the rows of its
    ``TABLES``.
one ``.npy`` for every column of the flow or movement
    As ``columns()`` of a movement gives them.
``link_src.npy link_dst.npy link_capacity.npy``
    The links of the topology sorted by (src, dst), shape ``(links,)``.

Versions: a key that is not known is refused, since it may be one that is misspelt; so a header with new keys is a new
version, with its own reader in ``READERS``. Readers are never removed: the schedule files (version 1) and tree schedule
files (version 2) of earlier programs, whose headers have the fields of movement, place and plan on one level and whose
unknown keys were ignored, are still read like that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias
from zipfile import ZipFile

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError, UnitError
from topodesign.base.strict_json import parse_json
from topodesign.base.version import __version__
from topodesign.collectives import Collective, as_collective, from_record
from topodesign.fabrics.fabric import Fabric, Price, Shared, format_price, parse_price
from topodesign.plans.archive import (
    LINK_COLUMNS,
    MAX_HEADER,
    MAX_ROWS,
    check_members,
    open_archive,
    read_column,
    read_fraction,
    read_integer,
    read_integers,
    read_links,
    read_member,
    read_texts,
    write_archive,
)
from topodesign.plans.flow_files import check_fields, column_names, read_flows, write_flows
from topodesign.plans.old_columns import MAX_STEPS, read_tables
from topodesign.plans.old_kinds import (
    OLD_KINDS,
    ROUND_FIELDS,
    ROUND_TABLES,
    TREE_FIELDS,
    TREE_TABLES,
    read_rounds,
    read_trees,
)
from topodesign.plans.plan import Plan
from topodesign.topology.topology import Topology

FORMAT = "topodesign plan"
VERSION, OF_STAGES = 3, 4
_FIELDS = frozenset({
    "format", "version", "kind", "collective", "nodes", "switches", "links", "spec", "claim", "generator", "notes",
    "fabric",
})  # fmt: skip


def save_plan(path: str | Path, plan: Plan) -> Path:
    """Write a plan file; the path has the old or the new file at any time.

    Parameters
    ----------
    path
        Where; replaced if it exists. A temporary file is written next to it first.
    plan
        Any plan.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    ScheduleError
        If it is too large for a file.
    TopodesignError
        If the file cannot be written or ``generator`` is not fit for JSON.

    Examples
    --------
    >>> from topodesign import save_plan, schedule
    >>> save_plan("ring.npz", schedule("biring(2,4)")).name
    'ring.npz'
    """
    if not isinstance(plan, Plan):
        order = "; the file comes first: save_plan(FILE, plan)" if isinstance(path, Plan) else ""
        raise ParameterError(f"a plan is required, not {plan!r:.60}{order}")
    target = as_path(path)
    topology = plan.topology
    header, columns = write_flows(plan.movement)
    fields = {
        "format": FORMAT,
        "version": OF_STAGES if plan.kind == "stages" else VERSION,
        "kind": plan.kind,
        "collective": plan.collective.record(),
        "nodes": topology.nodes,
        "switches": sorted(topology.switches),
        "links": len(topology.src),
        "spec": plan.spec,
        "claim": {name: str(Fraction(value)) for name, value in plan.claim.items()},
        "generator": {"program": f"topodesign {__version__}", **plan.generator},
        "notes": list(plan.notes),
        "fabric": _fabric_record(plan.place) if isinstance(plan.place, Fabric) else None,
        "flow": header,
    }
    links = dict(zip(LINK_COLUMNS, (topology.src, topology.dst, topology.capacity), strict=True))
    write_archive(target, fields, columns | links)
    return target


def load_plan(path: str | Path) -> Plan:
    """Read a plan file, also those of earlier programs.

    Parameters
    ----------
    path
        File that :func:`save_plan` wrote, in this version or an earlier one.

    Returns
    -------
    Plan
        On the links in the file. The form is checked, not whether the plan is right: that is
        :func:`topodesign.plans.verify.plans.verify`.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is damaged, or is no plan file of a known version.

    Examples
    --------
    >>> from topodesign import load_plan, save_plan, schedule
    >>> path = save_plan("ring.npz", schedule("biring(2,4)"))
    >>> load_plan(path)
    <Plan: allreduce of 4 nodes on biring(2,4) in rounds: steps 4, bandwidth 3/2>
    """
    with open_archive(as_path(path)) as archive:
        fields = _header(archive)
        versions = READERS[fields["format"]]
        version = read_integer(fields, "version", 1, 10**6)
        if version not in versions:
            known = ", ".join(map(str, versions))
            raise FileFormatError(f"it has format version {version}, this program reads {known}; use a newer program")
        return versions[version](archive, fields)


def as_plan(value: Plan | str | Path) -> Plan:
    """Return a plan, or that in the file of this path."""
    if isinstance(value, Plan):
        return value
    if isinstance(value, str | Path):
        return load_plan(value)
    raise ParameterError(f"a plan or the file of one is needed, not {value!r:.60}")


def _header(archive: ZipFile) -> dict[str, Any]:
    """Return the fields of the header."""
    names = archive.namelist()
    if "header.json" not in names:
        raise FileFormatError("it has no header.json, so it is not a schedule file")
    if len(names) != len(set(names)):
        raise FileFormatError("a member occurs twice")
    try:
        fields = parse_json(read_member(archive, "header.json", MAX_HEADER))
    except FileFormatError as error:
        raise FileFormatError(f"header.json: {error}") from None
    if not isinstance(fields, dict) or fields.get("format") not in tuple(READERS):  # which may be what has no hash
        raise FileFormatError(f"header.json does not say {FORMAT!r}")
    return fields


def _fabric_record(fabric: Fabric) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": fabric.name,
        "names": fabric.names,
        "unit": str(fabric.unit),
        "classes": fabric.classes,
        "multicast": sorted(fabric.multicast),
        "aggregation": sorted(fabric.aggregation),
    }
    if fabric.memory:
        record["memory"] = sorted(fabric.memory)
    if fabric.shared:
        record["shared"] = [
            {"name": limit.name, "bandwidth": str(limit.bandwidth), "links": list(links)}
            for limit, links in zip(fabric.shared, fabric.shared_links, strict=True)
        ]
    if fabric.latency:
        record["latency"] = {kind: str(seconds) for kind, seconds in fabric.latency}
    if fabric.prices:
        record["prices"] = {kind: format_price(price) for kind, price in fabric.prices}
    return record


def _read_fabric(record: object, topology: Topology) -> Fabric:
    if not isinstance(record, dict):
        raise FileFormatError("'fabric' in header.json must be an object or null")
    known = ("name", "names", "unit", "classes", "multicast", "aggregation", "memory", "shared", "latency", "prices")
    check_fields(record, known, "'fabric' in header.json")
    names = read_texts(record.get("names"), "names")
    latency = record.get("latency", {})
    if not isinstance(latency, dict):
        raise FileFormatError("'latency' in header.json must be an object")
    prices = record.get("prices", {})
    if not isinstance(prices, dict):
        raise FileFormatError("'prices' in header.json must be an object")
    return Fabric(
        name=read_texts([record.get("name")], "name")[0],
        names=names,
        topology=topology,
        unit=read_fraction(record, "unit"),
        classes=read_texts(record.get("classes"), "classes"),
        multicast=frozenset(read_integers(record.get("multicast"), "multicast")),
        aggregation=frozenset(read_integers(record.get("aggregation"), "aggregation")),
        memory=frozenset(read_integers(record.get("memory", []), "memory")),
        shared=_read_shared(record.get("shared", []), topology, names),
        latency=tuple((kind, read_fraction(latency, kind, positive=False)) for kind in sorted(latency)),
        prices=tuple(zip(sorted(prices), _read_prices(prices), strict=True)),
    )


def _read_prices(prices: dict[str, Any]) -> Iterator[Price]:
    """Yield prices by the order of their classes."""
    for text in read_texts([prices[kind] for kind in sorted(prices)], "prices"):
        try:
            yield parse_price(text)
        except UnitError as error:
            raise FileFormatError(f"'prices' in header.json: {error}") from None


def _read_shared(value: object, topology: Topology, names: tuple[str, ...]) -> tuple[Shared, ...]:
    if not isinstance(value, list):
        raise FileFormatError("'shared' in header.json must be a list")
    limits, every = [], topology.links()
    for entry in value:
        if not isinstance(entry, dict):
            raise FileFormatError("an entry of 'shared' in header.json must be an object")
        check_fields(entry, ("name", "bandwidth", "links"), "'shared' in header.json")
        places = read_integers(entry.get("links"), "links")
        if not all(0 <= place < min(len(every), len(names) ** 2) for place in places):
            raise FileFormatError("'links' of a shared limit in header.json must be numbers of links")
        ends = [every[place][:2] for place in places]
        if not all(max(pair) < len(names) for pair in ends):
            raise FileFormatError("a fabric requires one name for each vertex")
        limits.append(
            Shared(
                read_texts([entry.get("name")], "name")[0],
                read_fraction(entry, "bandwidth"),
                tuple((names[u], names[v]) for u, v in ends),
            )
        )
    return tuple(limits)


def _read_kind(archive: ZipFile, fields: Mapping[str, Any]) -> Plan:
    """Read versions 1 and 2: a movement with its own columns."""
    name = fields.get("kind")
    if not isinstance(name, str) or name not in OLD_KINDS:
        raise FileFormatError(f"'kind' in header.json must be one of {', '.join(OLD_KINDS)}")
    check_fields(fields, {*_FIELDS, "movement"}, "header.json")
    kind = OLD_KINDS[name]
    check_members(archive, kind.column_names())
    place, collective, rest = _read_place(archive, fields)
    movement = fields.get("movement")
    if not isinstance(movement, dict):
        raise FileFormatError("'movement' in header.json must be an object")
    check_fields(movement, kind.header_names(), "'movement' in header.json")
    return Plan(place, kind.read(archive, movement, place, collective), *rest)


def _read_flow(archive: ZipFile, fields: Mapping[str, Any]) -> Plan:
    """Read versions 3 and 4: a flow or several."""
    check_fields(fields, {*_FIELDS, "flow"}, "header.json")
    header = fields.get("flow")
    check_members(archive, column_names(header))
    place, collective, rest = _read_place(archive, fields)
    moved = read_flows(archive, header, place, collective)
    if fields.get("kind") != moved.kind:
        raise FileFormatError(f"'kind' in header.json must be {moved.kind!r}, as the flow is")
    return Plan(place, moved, *rest)


_Rest: TypeAlias = tuple[dict[str, Fraction], str | None, dict[str, Any], tuple[str, ...]]


def _read_place(archive: ZipFile, fields: Mapping[str, Any]) -> tuple[Topology | Fabric, Collective, _Rest]:
    """Return a plan's place, collective, claim, spec, generator and notes."""
    topology = read_links(archive, fields)
    spec, generator, claim = (fields.get(key) for key in ("spec", "generator", "claim"))
    if not (spec is None or isinstance(spec, str)):
        raise FileFormatError("'spec' in header.json must be text or null")
    if not isinstance(generator, dict) or not isinstance(claim, dict):
        name = "claim" if isinstance(generator, dict) else "generator"
        raise FileFormatError(f"'{name}' in header.json must be an object")
    place = topology if fields.get("fabric") is None else _read_fabric(fields["fabric"], topology)
    claimed = {name: read_fraction(claim, name, positive=False) for name in claim}
    rest = claimed, spec, generator, read_texts(fields.get("notes", []), "notes")
    return place, from_record(fields.get("collective")), rest


# -- the files of earlier programs ------------------------------------------------------------------------------------

_CALLED = MappingProxyType({"block": "owner"})


def _rounds(archive: ZipFile, fields: Mapping[str, Any]) -> Plan:
    table = ROUND_TABLES["rows"]
    check_members(archive, [_CALLED.get(column.name, column.name) for column in table])
    topology = read_links(archive, fields)
    collective = as_collective(fields.get("collective", ""))
    rows = read_integer(fields, "rows", 0, MAX_ROWS)
    columns: dict[str, Any] = {
        name: read_column(archive, _CALLED.get(name, name), rows, dtype) for name, _, dtype, _ in table
    }
    header = {name: field.read(fields, name) for name, field in ROUND_FIELDS.items()}
    rounds = read_rounds(collective, topology, header | columns)
    spec, generator = _about(fields)
    claim = fields.get("claim")
    return Plan(topology, rounds, {} if claim is None else _claim(claim), spec, generator)


def _claim(claim: object) -> dict[str, Fraction]:
    try:
        if isinstance(claim, dict):
            steps = read_integer(claim, "steps", 0, MAX_STEPS)
            return {"steps": Fraction(steps), "bandwidth": read_fraction(claim, "bandwidth", positive=False)}
    except FileFormatError:
        pass
    raise FileFormatError("'claim' in header.json must be null or have 'steps' and 'bandwidth' as \"p/q\"")


def _trees(archive: ZipFile, fields: Mapping[str, Any]) -> Plan:
    check_members(archive, [column.name for table in TREE_TABLES.values() for column in table])
    topology = read_links(archive, fields)
    (spec, generator), claim = _about(fields), fields.get("claim")
    if not isinstance(claim, dict):
        raise FileFormatError("'claim' in header.json must be an object")
    fabric = Fabric(
        name=read_texts([fields.get("fabric")], "fabric")[0],
        names=read_texts(fields.get("names"), "names"),
        topology=topology,
        unit=read_fraction(fields, "unit"),
        classes=("",) * len(topology.src),
        multicast=frozenset(read_integers(fields.get("multicast"), "multicast")),
        aggregation=frozenset(read_integers(fields.get("aggregation"), "aggregation")),
    )
    claimed = {key: read_fraction(claim, key) for key in ("k", "inv_x_star", "algorithmic_bandwidth")}
    claimed["height"] = Fraction(read_integer(claim, "height", 0, MAX_ROWS))
    values = read_tables(archive, fields, topology, TREE_FIELDS, TREE_TABLES)
    return Plan(fabric, read_trees(_get_collective(archive, fields), fabric, values), claimed, spec, generator)


def _get_collective(archive: ZipFile, fields: Mapping[str, Any]) -> Collective:
    """Return the collective, whose root is that of the first tree."""
    collective = as_collective(fields.get("collective", ""))
    roots = read_column(archive, "root", read_integer(fields, "trees", 0, MAX_ROWS), TREE_TABLES["trees"][0].dtype)
    return collective.at(int(roots[0])) if collective.rooted and len(roots) else collective


def _about(fields: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Return the spec and what made the plan."""
    spec, generator = fields.get("spec"), fields.get("generator")
    if not (spec is None or isinstance(spec, str)):
        raise FileFormatError("'spec' in header.json must be text or null")
    if not isinstance(generator, dict):
        raise FileFormatError("'generator' in header.json must be an object")
    return spec, generator


def _refuse(_archive: ZipFile, _fields: Mapping[str, Any]) -> Plan:
    """Refuse trees of version 1, which claimed less and are quickly remade."""
    raise FileFormatError("it was written by an earlier version; make it again with 'topodesign schedule'")


Reader = Callable[[ZipFile, Mapping[str, Any]], Plan]
READERS: Mapping[str, Mapping[int, Reader]] = MappingProxyType(
    {
        FORMAT: {1: _read_kind, 2: _read_kind, VERSION: _read_flow, OF_STAGES: _read_flow},
        "topodesign schedule": {1: _rounds},
        "topodesign tree schedule": {1: _refuse, 2: _trees},
    }
)
"""The readers by format and version."""
