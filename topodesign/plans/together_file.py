"""How plan files keep timed sends of several collectives: columns of all streams, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zipfile import ZipFile

import numpy as np

from topodesign.base.arrays import sealed
from topodesign.base.errors import FileFormatError
from topodesign.collectives import Collective
from topodesign.plans.archive import read_column, read_fraction, read_integer
from topodesign.plans.rounds_ops import MAX_ROWS, MAX_UNITS
from topodesign.plans.timed import COLUMNS as SEND_COLUMNS
from topodesign.plans.timed import LINK_COLUMNS, MAX_TICKS, NARROW, Timed
from topodesign.plans.together import Together
from topodesign.topology.topology import Topology

COLUMNS = (*SEND_COLUMNS, *LINK_COLUMNS)
_FIELDS = frozenset({"units", "size", "begin", "rows"})


def fields_of(plan: Together) -> dict[str, Any]:
    """Return what the header says: seconds per tick and bytes as "p/q", and an object for every stream."""
    streams = [
        {"units": one.units, "size": str(one.size), "begin": begin, "rows": len(one)}
        for one, begin in zip(plan.streams, plan.begins, strict=True)
    ]
    return {"tick": str(plan.tick), "overlap": plan.overlap, "streams": streams}


def read(archive: ZipFile, fields: Mapping[str, Any], topology: Topology, collective: Collective) -> Together:
    """Return the streams of a plan file."""
    if not isinstance(fields.get("overlap"), bool):
        raise FileFormatError("'overlap' in header.json must be true or false")
    streams = fields.get("streams")
    if not isinstance(streams, list) or len(streams) != len(collective.several) or not streams:
        raise FileFormatError("'streams' in header.json must be a list of one object for each collective")
    if not all(isinstance(one, dict) and one.keys() == _FIELDS for one in streams):
        raise FileFormatError("a stream in header.json must have units, size, begin and rows")
    rows = [read_integer(one, "rows", 0, MAX_ROWS) for one in streams]
    if sum(rows) > MAX_ROWS:
        raise FileFormatError(f"a plan has at most {MAX_ROWS} sends")
    links, tick = len(topology.src), read_fraction(fields, "tick")
    sends = {
        name: read_column(archive, name, sum(rows), np.int32 if name in NARROW else np.int64) for name in SEND_COLUMNS
    }
    times = {name: read_column(archive, name, links * len(streams), np.int64) for name in LINK_COLUMNS}
    made, at = [], 0
    for number, (one, own) in enumerate(zip(streams, collective.several, strict=True)):
        made.append(
            Timed(
                own,
                topology.nodes,
                read_integer(one, "units", 1, MAX_UNITS),
                tick,
                read_fraction(one, "size"),
                fields["overlap"],
                *(sealed(sends[name][at : at + rows[number]].copy()) for name in SEND_COLUMNS),
                *(sealed(times[name][number * links : (number + 1) * links].copy()) for name in LINK_COLUMNS),
            )
        )
        at += rows[number]
    return Together(tuple(made), tuple(read_integer(one, "begin", 0, MAX_TICKS - 1) for one in streams))
