"""How plan files keep paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zipfile import ZipFile

import numpy as np

from topodesign.collectives import Collective
from topodesign.plans.archive import read_column, read_integer
from topodesign.plans.paths import COLUMN_GROUPS, MAX_WEIGHT, Paths
from topodesign.plans.rounds_ops import MAX_ROWS
from topodesign.topology.topology import IntArray, Topology

_COUNTS = ("paths", "hop_start", "hops")
COLUMNS = tuple(name for group in COLUMN_GROUPS for name in group)


def fields_of(paths: Paths) -> dict[str, Any]:
    """Return what the header says of paths."""
    columns = paths.columns()
    counts = [len(columns[group[0]]) for group in COLUMN_GROUPS]
    return {"units": paths.units, **dict(zip(_COUNTS, counts, strict=True))}


def read(archive: ZipFile, fields: Mapping[str, Any], topology: Topology, collective: Collective) -> Paths:
    """Return the paths of a plan file."""
    columns: dict[str, IntArray] = {}
    for count, group in zip(_COUNTS, COLUMN_GROUPS, strict=True):
        rows = read_integer(fields, count, 0, MAX_ROWS)
        columns |= {name: read_column(archive, name, rows, np.int64) for name in group}
    return Paths(collective, topology, read_integer(fields, "units", 1, MAX_WEIGHT), **columns)
