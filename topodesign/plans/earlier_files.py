"""The schedule files (version 1) and tree schedule files (version 2) that earlier programs wrote.

Their header has the fields of movement, place and plan on one level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any
from zipfile import ZipFile

from topodesign.base.errors import FileFormatError
from topodesign.collectives import Collective, as_collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.archive import (
    MAX_ROWS,
    check_members,
    read_column,
    read_fraction,
    read_integer,
    read_integers,
    read_links,
    read_texts,
)
from topodesign.plans.movement import MAX_STEPS
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.trees import Trees

_CALLED = MappingProxyType({"block": "owner"})


def _rounds(archive: ZipFile, fields: Mapping[str, Any]) -> Plan:
    check_members(archive, [_CALLED.get(name, name) for name in Rounds.column_names()])
    topology = read_links(archive, fields)
    collective = as_collective(fields.get("collective", ""))
    rows = read_integer(fields, "rows", 0, MAX_ROWS)
    columns: dict[str, Any] = {
        name: read_column(archive, _CALLED.get(name, name), rows, dtype) for name, _, dtype in Rounds.TABLES["rows"]
    }
    header = {name: field.read(fields, name) for name, field in Rounds.FIELDS.items()}
    rounds = Rounds(collective=collective, nodes=topology.nodes, **header, **columns)
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
    check_members(archive, Trees.column_names())
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
    trees = Trees.read(archive, fields, topology, _rooted(archive, fields))
    return Plan(fabric, trees, claimed, spec, generator)


def _rooted(archive: ZipFile, fields: Mapping[str, Any]) -> Collective:
    """Return the collective, whose root is that of the first tree."""
    collective = as_collective(fields.get("collective", ""))
    roots = read_column(archive, "root", read_integer(fields, "trees", 0, MAX_ROWS), Trees.TABLES["trees"][0].dtype)
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
    """Refuse: version 1 did not always say ``concurrent``, and claimed less; such files are quickly made anew."""
    raise FileFormatError("it was written by an earlier version; make it anew with 'topodesign schedule'")


EARLIER: Mapping[str, Mapping[int, Callable[[ZipFile, Mapping[str, Any]], Plan]]] = MappingProxyType(
    {"topodesign schedule": {1: _rounds}, "topodesign tree schedule": {1: _refuse, 2: _trees}}
)
"""The readers by format and version."""
