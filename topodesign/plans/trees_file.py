"""Trees in plan files, and the tree schedule files of version 2 that earlier programs wrote."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any
from zipfile import ZipFile

import numpy as np

from topodesign.base.errors import FileFormatError
from topodesign.collectives import Collective, as_collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.archive import (
    check_members,
    read_column,
    read_fraction,
    read_integer,
    read_integers,
    read_links,
    read_texts,
)
from topodesign.plans.plan import Plan
from topodesign.plans.rounds_ops import MAX_ROWS
from topodesign.plans.trees import COLUMN_GROUPS, Trees
from topodesign.topology.topology import IntArray, Topology

FORMAT = "topodesign tree schedule"
_COUNTS = ("trees", "edges", "routes", "hop_start", "hops")
COLUMNS = tuple(name for group in COLUMN_GROUPS for name in group)


def fields_of(trees: Trees) -> dict[str, Any]:
    """Return what the header says of trees."""
    columns = trees.columns()
    counts = [len(columns[group[0]]) for group in COLUMN_GROUPS]
    return {
        "rate": str(trees.rate),
        "reduce_trees": trees.reduce_trees,
        "shard": trees.shard,
        "concurrent": trees.concurrent,
        **dict(zip(_COUNTS, counts, strict=True)),
    }


def read(archive: ZipFile, fields: Mapping[str, Any], topology: Topology, collective: Collective) -> Trees:
    """Return the trees of a plan file."""
    return _trees(fields, topology, collective, _columns(archive, fields))


def read_version_2(archive: ZipFile, fields: Mapping[str, Any]) -> Plan:
    """Read a tree schedule file of version 2: fields of trees and fabric on one level, and the root in the trees."""
    check_members(archive, COLUMNS)
    topology = read_links(archive, fields)
    spec, generator, claim = fields.get("spec"), fields.get("generator"), fields.get("claim")
    if not (spec is None or isinstance(spec, str)):
        raise FileFormatError("'spec' in header.json must be text or null")
    if not isinstance(generator, dict):
        raise FileFormatError("'generator' in header.json must be an object")
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
    columns = _columns(archive, fields)
    collective = as_collective(fields.get("collective", ""))
    if collective.rooted and len(columns["root"]):
        collective = collective.at(int(columns["root"][0]))
    claimed = {key: read_fraction(claim, key) for key in ("k", "inv_x_star", "algorithmic_bandwidth")}
    claimed["height"] = Fraction(read_integer(claim, "height", 0, MAX_ROWS))
    return Plan(fabric, _trees(fields, topology, collective, columns), claimed, spec, generator)


def refuse_version_1(_archive: ZipFile, _fields: Mapping[str, Any]) -> Plan:
    """Refuse: version 1 did not always say ``concurrent``, and claimed less; such files are quickly made anew."""
    raise FileFormatError("it was written by an earlier version; make it anew with 'topodesign schedule'")


def _columns(archive: ZipFile, fields: Mapping[str, Any]) -> dict[str, IntArray]:
    columns: dict[str, IntArray] = {}
    for count, group in zip(_COUNTS, COLUMN_GROUPS, strict=True):
        rows = read_integer(fields, count, 0, MAX_ROWS)
        columns |= {name: read_column(archive, name, rows, np.int64) for name in group}
    return columns


def _trees(
    fields: Mapping[str, Any], topology: Topology, collective: Collective, columns: dict[str, IntArray]
) -> Trees:
    concurrent, shard = fields.get("concurrent"), fields.get("shard")
    if not isinstance(concurrent, bool):
        raise FileFormatError("'concurrent' in header.json must be true or false")
    return Trees(
        collective=collective,
        topology=topology,
        rate=read_fraction(fields, "rate"),
        **columns,
        reduce_trees=read_integer(fields, "reduce_trees", 0, MAX_ROWS),
        shard=None if shard is None else read_integers(shard, "shard"),
        concurrent=concurrent,
    )
