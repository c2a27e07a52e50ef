"""Rounds in plan files, and the schedule files of version 1 that earlier programs wrote."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any
from zipfile import ZipFile

import numpy as np

from topodesign.base.errors import FileFormatError
from topodesign.collectives import Collective, as_collective
from topodesign.plans.archive import MAX_INTEGER, check_members, read_column, read_fraction, read_integer, read_links
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import COLUMNS, Rounds
from topodesign.plans.rounds_ops import MAX_ROWS
from topodesign.topology.topology import Topology

FORMAT = "topodesign schedule"
MAX_STEPS = 2**31 - 1
_OLD_COLUMNS = ("step", "src", "dst", "owner", "lo", "hi")


def fields_of(rounds: Rounds) -> dict[str, Any]:
    """Return what the header says of rounds."""
    return {
        "units": rounds.units,
        "steps": rounds.steps,
        "reduce_steps": rounds.reduce_steps,
        "rows": len(rounds),
    }


def read(archive: ZipFile, fields: Mapping[str, Any], topology: Topology, collective: Collective) -> Rounds:
    """Return the rounds of a plan file."""
    return _rounds(archive, fields, topology, collective, COLUMNS)


def read_version_1(archive: ZipFile, fields: Mapping[str, Any]) -> Plan:
    """Read a schedule file of version 1: the columns of rounds with the header's fields all on one level."""
    check_members(archive, _OLD_COLUMNS)
    topology = read_links(archive, fields)
    rounds = _rounds(archive, fields, topology, as_collective(fields.get("collective", "")), _OLD_COLUMNS)
    spec, generator, claim = fields.get("spec"), fields.get("generator"), fields.get("claim")
    if not (spec is None or isinstance(spec, str)):
        raise FileFormatError("'spec' in header.json must be text or null")
    if not isinstance(generator, dict):
        raise FileFormatError("'generator' in header.json must be an object")
    return Plan(topology, rounds, {} if claim is None else _old_claim(claim), spec, generator)


def _old_claim(claim: object) -> dict[str, Fraction]:
    try:
        if isinstance(claim, dict):
            steps = read_integer(claim, "steps", 0, MAX_STEPS)
            return {"steps": Fraction(steps), "bandwidth": read_fraction(claim, "bandwidth", positive=False)}
    except FileFormatError:
        pass
    raise FileFormatError("'claim' in header.json must be null or have 'steps' and 'bandwidth' as \"p/q\"")


def _rounds(
    archive: ZipFile, fields: Mapping[str, Any], topology: Topology, collective: Collective, names: tuple[str, ...]
) -> Rounds:
    rows = read_integer(fields, "rows", 0, MAX_ROWS)
    steps = read_integer(fields, "steps", 0, MAX_STEPS)
    reduce_steps = read_integer(fields, "reduce_steps", 0, steps)
    units = read_integer(fields, "units", 1, MAX_INTEGER)
    narrow = [read_column(archive, name, rows, np.int32) for name in names[:4]]
    wide = [read_column(archive, name, rows, np.int64) for name in names[4:]]
    return Rounds(collective, topology.nodes, units, steps, reduce_steps, *narrow, *wide)
