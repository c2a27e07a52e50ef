"""Several collectives at the same time, each in timed sends of its own, on links that they share (TACOS, VIII-G).

Tenants of a cluster, or the axes of a training run, do different things at once: an allgather here, an all-to-all
there, with other sizes and not all from the same moment on. Each of these *streams* is a plan of timed sends like any
other; what makes them one plan is that they share a clock, and that no link ever carries two sends at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import sealed
from topodesign.base.errors import FileFormatError, ScheduleError
from topodesign.base.units import format_time
from topodesign.collectives import Collective, together
from topodesign.plans.archive import MAX_ROWS, read_column, read_integer
from topodesign.plans.movement import LINKS, Movement
from topodesign.plans.timed import COLUMNS, MAX_TICKS, Timed
from topodesign.topology.topology import Topology

_FIELDS = frozenset({"units", "size", "begin", "rows"})


@dataclass(frozen=True, eq=False)
class Together(Movement):
    """Timed sends of several collectives."""

    kind: ClassVar = "together"
    TABLES: ClassVar = Timed.TABLES

    # of each collective, with its own size and units; nodes, ticks, latencies and ``overlap`` are the same
    streams: tuple[Timed, ...]
    # ticks from the start of the plan until each collective begins: none of its sends is earlier
    begins: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the form (not the meaning: that is the verifier's)."""
        if not self.streams or len(self.begins) != len(self.streams):
            raise ScheduleError("there must be at least one stream, and a beginning for each")
        first = self.streams[0]
        for one in self.streams[1:]:
            alike = (one.nodes, one.tick, one.overlap) == (first.nodes, first.tick, first.overlap)
            if not alike or not np.array_equal(one.latency, first.latency):
                raise ScheduleError("streams of one plan have the same nodes, ticks and latencies of links")
        if not all(0 <= begin < MAX_TICKS for begin in self.begins):
            raise ScheduleError(f"a stream begins at a tick from 0 to {MAX_TICKS - 1}")

    def __repr__(self) -> str:
        """Return a short description."""
        return f"<Together {self.collective}, {len(self)} sends, {format_time(self.time)}>"

    @cached_property
    def collective(self) -> Collective:
        """All collectives as one value."""
        return together(one.collective for one in self.streams)

    @property
    def tick(self) -> Fraction:
        """Seconds of one tick."""
        return self.streams[0].tick

    @property
    def overlap(self) -> bool:
        """Whether a link is free as soon as it has transmitted."""
        return self.streams[0].overlap

    @property
    def size(self) -> Fraction:
        """Bytes of the data of all streams."""
        return sum((one.size for one in self.streams), Fraction(0))

    @property
    def time(self) -> Fraction:
        """Seconds until the last data of all have arrived."""
        return max(one.time for one in self.streams)

    def fits(self, topology: Topology) -> bool:
        """Return whether it is for as many nodes and links."""
        return self.streams[0].fits(topology)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name, those of sends first, stream after stream; those of links once for each."""
        return {name: np.concatenate([getattr(one, name) for one in self.streams]) for name in self.column_names()}

    def __len__(self) -> int:
        """Return the number of sends."""
        return sum(map(len, self.streams))

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the columns of sends, and the stream of each."""
        columns = self.columns()
        return {"stream": self.stream, **{name: columns[name] for name in COLUMNS}}

    @property
    def stream(self) -> NDArray[np.int64]:
        """The stream of every send."""
        return np.repeat(np.arange(len(self.streams)), [len(one) for one in self.streams])

    def header(self) -> dict[str, Any]:
        """Return seconds per tick and bytes as "p/q", and an object for every stream."""
        streams = [
            {"units": one.units, "size": str(one.size), "begin": begin, "rows": len(one)}
            for one, begin in zip(self.streams, self.begins, strict=True)
        ]
        return {"tick": str(self.tick), "overlap": self.overlap, "streams": streams}

    @classmethod
    def read(cls, archive: ZipFile, header: Mapping[str, Any], topology: Topology, collective: Collective) -> Self:
        """Return that of a file; its form is checked."""
        shared: dict[str, Any] = {name: Timed.FIELDS[name].read(header, name) for name in ("overlap", "tick")}
        streams = header.get("streams")
        if not isinstance(streams, list) or len(streams) != len(collective.several) or not streams:
            raise FileFormatError("'streams' in header.json must be a list of one object for each collective")
        if not all(isinstance(one, dict) and one.keys() == _FIELDS for one in streams):
            raise FileFormatError("a stream in header.json must have units, size, begin and rows")
        links = len(topology.src)
        counts = {
            table: [links if table == LINKS else read_integer(one, table, 0, MAX_ROWS) for one in streams]
            for table in Timed.TABLES
        }
        if sum(counts["rows"]) > MAX_ROWS:
            raise FileFormatError(f"a plan has at most {MAX_ROWS} sends")
        columns = {
            name: np.split(read_column(archive, name, sum(counts[table]), dtype), np.cumsum(counts[table])[:-1])
            for table, own in Timed.TABLES.items()
            for name, _, dtype in own
        }
        made = [
            Timed(
                own,
                topology.nodes,
                **shared,
                **{name: Timed.FIELDS[name].read(one, name) for name in ("units", "size")},
                **{name: sealed(column[number].copy()) for name, column in columns.items()},  # type: ignore[arg-type]
            )
            for number, (one, own) in enumerate(zip(streams, collective.several, strict=True))
        ]
        return cls(tuple(made), tuple(read_integer(one, "begin", 0, MAX_TICKS - 1) for one in streams))
