"""Movements as columns: common parts of all kinds, and their files.

A kind says once what its columns are: ``TABLES`` has their names, types and meanings, table by table under the name
that the header of a file has for the number of rows, and ``FIELDS`` how the header has what there is beside columns.
From that come the check of their form, the file, equality and copies. What else can be asked of a kind, such as its
replay, is in :mod:`topodesign.plans.plan_ops`.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import Field as DataclassField
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import own_array, seal_array
from topodesign.base.errors import ScheduleError
from topodesign.collectives import Collective
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


class Movement(ABC):
    """A movement: :class:`~topodesign.plans.flow.Flow` or several.

    A subclass is a frozen dataclass with a field for every column. It checks its form when it is made, not its meaning:
    that is the verifier's.
    """

    kind: ClassVar[str]
    """Its name in files and words."""
    FIELDS: ClassVar[Fields] = {}
    TABLES: ClassVar[Tables] = {}

    if TYPE_CHECKING:

        @property
        def collective(self) -> Collective:
            """What it is for."""

    def fits(self, topology: Topology) -> bool:
        """Return whether it suits a topology's nodes or links."""
        own: Any = self
        return bool(own.topology == topology if hasattr(own, "topology") else own.nodes == topology.nodes)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name."""
        return {column.name: getattr(self, column.name) for table in self.TABLES.values() for column in table}

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the columns of its sends or trees, of equal length."""
        first = next(iter(self.TABLES.values()))
        return {column.name: getattr(self, column.name) for column in first}

    def __len__(self) -> int:
        first, *_ = next(iter(self.TABLES.values()))
        return len(getattr(self, first.name))

    @property
    def sends(self) -> int:
        """The number of sends, trees or paths, with images."""
        return len(self)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in _fields(self))
        return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)

    def __hash__(self) -> int:
        some = list(self.table().values())[:2]
        return hash((self.kind, self.collective, *(column.tobytes() for column in some)))

    def having(self, **changes: Any) -> Self:
        """Return a copy with other fields; given arrays are taken over."""
        arrays = {name: seal_array(value) for name, value in changes.items() if isinstance(value, np.ndarray)}
        return replace(self, **(changes | arrays))  # type: ignore[type-var]  # subclasses are dataclasses

    # -- form ---------------------------------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Check and take over the columns."""
        if not isinstance(self.collective, Collective):
            raise ScheduleError(f"the collective of a plan is a value of topodesign.collectives: {self.collective!r}")
        for table in self.TABLES.values():
            shape = (np.size(getattr(self, table[0].name)),)
            for name, _, dtype, _ in table:
                column = getattr(self, name)
                if not isinstance(column, np.ndarray) or column.dtype != dtype or column.shape != shape:
                    raise ScheduleError(f"column {name!r} must be an {np.dtype(dtype)} array of shape {shape}")
                object.__setattr__(self, name, own_array(column))

    def check_ranges(self, **spans: tuple[int, int]) -> None:
        """Check the least and the greatest number of columns."""
        for name, (least, most) in spans.items():
            column = getattr(self, name)
            if len(column) and (column.min() < least or column.max() > most):
                raise ScheduleError(f"column {name!r} must hold numbers from {least} to {most}")

    # -- files --------------------------------------------------------------------------------------------------------

    @classmethod
    def column_names(cls) -> tuple[str, ...]:
        """Return the names of all columns."""
        return tuple(column.name for table in cls.TABLES.values() for column in table)

    @classmethod
    def read(cls, archive: ZipFile, header: Mapping[str, Any], topology: Topology, collective: Collective) -> Self:
        """Return that of a file; its form is checked."""
        values = read_tables(archive, header, topology, cls.FIELDS, cls.TABLES)
        place = {"nodes": topology.nodes, "topology": topology}
        values |= {one.name: place[one.name] for one in _fields(cls) if one.name in place}
        return cls(collective=collective, **values)  # type: ignore[call-arg]  # a dataclass


def _fields(movement: Movement | type[Movement]) -> tuple[DataclassField[Any], ...]:
    return fields(movement)  # type: ignore[arg-type]  # subclasses are dataclasses


def check_cuts(starts: NDArray[np.int64], hop: NDArray[np.int64], pieces: int, what: str) -> None:
    """Raise ScheduleError unless ``starts`` cuts hops into valid routes."""
    if len(starts) != pieces + 1 or starts[0] != 0 or starts[-1] != len(hop) or np.any(np.diff(starts) < 2):
        raise ScheduleError(f"column 'hop_start' must cut 'hop' into {what} of at least two vertices")


def check_intervals(lo: NDArray[np.int64], hi: NDArray[np.int64], units: int) -> None:
    """Raise ScheduleError unless intervals are nonempty and in range."""
    if len(lo) and (lo.min() < 0 or hi.max() > units or np.any(lo >= hi)):
        raise ScheduleError(f"intervals must satisfy 0 <= lo < hi <= {units}")
