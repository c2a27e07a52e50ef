"""How plan files keep rounds of which only one block of every orbit is written out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zipfile import ZipFile

import numpy as np

from topodesign.collectives import Collective
from topodesign.plans import rounds_file
from topodesign.plans.archive import read_column, read_integer
from topodesign.plans.orbit import OrbitRounds
from topodesign.plans.rounds import COLUMNS as ROW_COLUMNS
from topodesign.plans.rounds_ops import MAX_ROWS
from topodesign.topology.topology import Topology

COLUMNS = (*ROW_COLUMNS, "generators", "representatives")


def fields_of(orbit: OrbitRounds) -> dict[str, Any]:
    """Return what the header says of it: that of its rounds, and how many generators and representatives there are."""
    return {
        **rounds_file.fields_of(orbit.rounds),
        "generators": len(orbit.generators),
        "representatives": len(orbit.representatives),
    }


def read(archive: ZipFile, fields: Mapping[str, Any], topology: Topology, collective: Collective) -> OrbitRounds:
    """Return the orbit of a plan file."""
    nodes = topology.nodes
    count = read_integer(fields, "generators", 0, MAX_ROWS // nodes)
    generators = read_column(archive, "generators", count * nodes, np.int32).reshape(count, nodes)
    chosen = read_column(archive, "representatives", read_integer(fields, "representatives", 0, nodes), np.int64)
    rounds = rounds_file.read(archive, fields, topology, collective)
    return OrbitRounds(generators, tuple(chosen.tolist()), rounds)
