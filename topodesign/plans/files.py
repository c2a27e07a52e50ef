"""Plan files: a plan and its place in one ``.npz`` with a JSON header.

The container is that of :mod:`topodesign.plans.archive`. ``docs/files.md`` has every field and column of versions 3 and
4 (of stages) of format "topodesign plan"; flows are read by :mod:`topodesign.plans.flow_files`, and versions before by
:mod:`topodesign.plans.old_files`.

Versions: a key that is not known is refused, since it may be one that is misspelt; so a header with new keys is a new
version, with its own reader in ``READERS``. Readers are never removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError, UnitError
from topodesign.base.version import __version__
from topodesign.collectives import from_record
from topodesign.fabrics.fabric import Fabric, Price, Shared, format_price, parse_price
from topodesign.plans.archive import LINK_COLUMNS, Archive, Header, open_archive, write_archive
from topodesign.plans.flow_files import read_flows, write_flows
from topodesign.plans.old_files import read_movement, read_origin, read_schedule, read_trees
from topodesign.plans.plan import Plan
from topodesign.topology.topology import Topology

FORMAT = "topodesign plan"
VERSION, OF_STAGES = 3, 4


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
    with open_archive(as_path(path)) as file:
        known = file.header.get("format"), file.header.get("version")
        versions = [version for name, version in READERS if name == known[0]]
        if not versions:
            raise FileFormatError(f"header.json does not say {FORMAT!r}")
        version = file.header.integer("version", 1, 10**6)
        if version not in versions:
            readable = ", ".join(map(str, versions))
            raise FileFormatError(
                f"it has format version {version}, this program reads {readable}; use a newer program"
            )
        plan = READERS[known](file)
        file.finish()
        return plan


def as_plan(value: Plan | str | Path) -> Plan:
    """Return a plan, or that in the file of this path."""
    if isinstance(value, Plan):
        return value
    if isinstance(value, str | Path):
        return load_plan(value)
    raise ParameterError(f"a plan or the file of one is needed, not {value!r:.60}")


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


def _read_plan(file: Archive) -> Plan:
    """Read versions 1 to 4; in the first two the table of what moves is of its kind."""
    header = file.header
    topology, (spec, generator), claim = file.topology(), read_origin(header), header.fractions("claim")
    record = header.part("fabric")
    place = topology if record is None else _read_fabric(record, topology)
    collective, kind = from_record(header.get("collective")), header.get("kind")
    rest = claim, spec, generator, () if header.get("notes") is None else header.texts("notes")
    if header.integer("version", 1, OF_STAGES) < VERSION:
        return Plan(place, read_movement(file, header, place, collective), *rest)
    moved = read_flows(file, place, collective)
    if kind != moved.kind:
        raise FileFormatError(f"'kind' in header.json must be {moved.kind!r}, as the flow is")
    return Plan(place, moved, *rest)


def _read_fabric(record: Header, topology: Topology) -> Fabric:
    """Return the fabric of a plan."""
    names, latency = record.texts("names"), record.fractions("latency") if record.get("latency") is not None else {}
    limits = [Header(one, "'shared' in header.json") for one in record.list("shared")]
    fabric = Fabric(
        name=record.text("name"),
        names=names,
        topology=topology,
        unit=record.fraction("unit"),
        classes=record.texts("classes"),
        multicast=frozenset(record.integers("multicast")),
        aggregation=frozenset(record.integers("aggregation")),
        memory=frozenset(record.integers("memory") if record.get("memory") is not None else ()),
        shared=tuple(_read_shared(limit, topology, names) for limit in limits),
        latency=tuple(sorted(latency.items())),
        prices=_read_prices(record.get("prices")),
    )
    record.finish()
    return fabric


def _read_prices(prices: object) -> tuple[tuple[str, Price], ...]:
    """Return the prices of classes, in order."""
    if prices is None:
        return ()
    if not isinstance(prices, dict) or not all(isinstance(text, str) for text in prices.values()):
        raise FileFormatError("'prices' in header.json must be an object of texts")
    try:
        return tuple((kind, parse_price(prices[kind])) for kind in sorted(prices))
    except UnitError as error:
        raise FileFormatError(f"'prices' in header.json: {error}") from None


def _read_shared(record: Header, topology: Topology, names: tuple[str, ...]) -> Shared:
    """Return a limit that links share."""
    every, links = topology.links(), record.integers("links")
    if not all(link < min(len(every), len(names) ** 2) for link in links):
        raise FileFormatError("'links' of a shared limit in header.json must be numbers of links")
    ends = [every[link][:2] for link in links]
    if not all(max(pair) < len(names) for pair in ends):
        raise FileFormatError("a fabric requires one name for each vertex")
    limit = Shared(record.text("name"), record.fraction("bandwidth"), tuple((names[u], names[v]) for u, v in ends))
    record.finish()
    return limit


def _refuse(_file: Archive) -> Plan:
    """Refuse trees of version 1, which claimed less and are quickly remade."""
    raise FileFormatError("it was written by an earlier version; make it again with 'topodesign schedule'")


READERS: Mapping[tuple[str, int], Callable[[Archive], Plan]] = MappingProxyType(
    {
        **{(FORMAT, version): _read_plan for version in range(1, OF_STAGES + 1)},
        ("topodesign schedule", 1): read_schedule,
        ("topodesign tree schedule", 1): _refuse,
        ("topodesign tree schedule", 2): read_trees,
    }
)
"""The readers by format and version."""
