"""How plan files keep timed sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zipfile import ZipFile

import numpy as np

from topodesign.base.errors import FileFormatError
from topodesign.collectives import Collective
from topodesign.plans.archive import read_column, read_fraction, read_integer
from topodesign.plans.rounds_ops import MAX_ROWS, MAX_UNITS
from topodesign.plans.timed import COLUMNS as SEND_COLUMNS
from topodesign.plans.timed import LINK_COLUMNS, NARROW, Timed
from topodesign.topology.topology import Topology

COLUMNS = (*SEND_COLUMNS, *LINK_COLUMNS)


def fields_of(timed: Timed) -> dict[str, Any]:
    """Return what the header says of timed sends: seconds per tick and bytes as "p/q"."""
    return {
        "units": timed.units,
        "tick": str(timed.tick),
        "size": str(timed.size),
        "overlap": timed.overlap,
        "rows": len(timed),
    }


def read(archive: ZipFile, fields: Mapping[str, Any], topology: Topology, collective: Collective) -> Timed:
    """Return the timed sends of a plan file."""
    rows, links = read_integer(fields, "rows", 0, MAX_ROWS), len(topology.src)
    if not isinstance(fields.get("overlap"), bool):
        raise FileFormatError("'overlap' in header.json must be true or false")
    sends = [read_column(archive, name, rows, np.int32 if name in NARROW else np.int64) for name in SEND_COLUMNS]
    return Timed(
        collective,
        topology.nodes,
        read_integer(fields, "units", 1, MAX_UNITS),
        read_fraction(fields, "tick"),
        read_fraction(fields, "size"),
        fields["overlap"],
        *sends,
        *(read_column(archive, name, links, np.int64) for name in LINK_COLUMNS),
    )
