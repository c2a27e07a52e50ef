"""Fields and columns of files of older kinds of plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ScheduleError
from topodesign.plans.archive import MAX_ROWS, read_column, read_flag, read_fraction, read_integer, read_integers
from topodesign.topology.topology import Topology

MAX_STEPS = 2**31 - 1
LINKS = "links"  # the table with a row for every link of the topology, whose number the header has anyway


class Column(NamedTuple):
    """A column: its name, what it means, and its type."""

    name: str
    meaning: str
    dtype: type[np.signedinteger[Any]] = np.int64
    per_node: bool = False  # whether each row has a number for every node, row after row


class Field(NamedTuple):
    """How the header of a file has something beside columns."""

    read: Callable[[Mapping[str, Any], str], Any]


def integer(least: int, most: int) -> Field:
    """Return the field of an integer of that range."""
    return Field(lambda header, name: read_integer(header, name, least, most))


FLAG = Field(read_flag)
FRACTION = Field(read_fraction)
FRACTION_OR_NONE = Field(lambda header, name: None if header.get(name) is None else read_fraction(header, name))
INTEGERS_OR_NONE = Field(
    lambda header, name: None if header.get(name) is None else read_integers(header.get(name), name)
)


Fields: TypeAlias = Mapping[str, Field]
Tables: TypeAlias = Mapping[str, tuple[Column, ...]]


def read_tables(
    archive: ZipFile, header: Mapping[str, Any], topology: Topology, fields: Fields, tables: Tables
) -> dict[str, Any]:
    """Return a movement's header fields and columns from a file."""
    values = {name: field.read(header, name) for name, field in fields.items()}
    for count, table in tables.items():
        for name, _, dtype, per_node in table:
            each = topology.nodes if per_node else 1
            rows = len(topology.src) if count == LINKS else read_integer(header, count, 0, MAX_ROWS // each)
            values[name] = read_column(archive, name, rows * each, dtype)
    return values


def check_cuts(starts: NDArray[np.int64], hop: NDArray[np.int64], pieces: int, what: str) -> None:
    """Raise ScheduleError unless ``starts`` cuts hops into valid routes."""
    if len(starts) != pieces + 1 or starts[0] != 0 or starts[-1] != len(hop) or np.any(np.diff(starts) < 2):
        raise ScheduleError(f"column 'hop_start' must cut 'hop' into {what} of at least two vertices")
