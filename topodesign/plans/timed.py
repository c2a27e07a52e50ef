"""Timed sends: who sends which part of which block over which link from when to when, in columns.

Where links differ in latency and bandwidth there are no steps to count. Several collectives at the same time, each with
a size of its own and not all from the same moment on, are streams of one plan (TACOS, VIII-G).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import sealed
from topodesign.base.errors import FileFormatError, ScheduleError
from topodesign.base.units import format_time
from topodesign.collectives import Collective, together
from topodesign.plans.archive import MAX_ROWS, read_column, read_integer
from topodesign.plans.movement import (
    FLAG,
    FRACTION,
    FRACTION_OR_NONE,
    LINKS,
    Column,
    Movement,
    check_intervals,
    integer,
)
from topodesign.topology.topology import IntArray, Topology

MAX_TICKS = 2**62  # ticks until the end; twice as many still fit into 64 bits


@dataclass(frozen=True, eq=False)
class Timed(Movement):
    """Columns of sends: who sends what, over which link, from when to when.

    Row i says: node ``src[i]`` starts at ``start[i]`` to send the units ``lo[i] <= unit < hi[i]`` of ``block[i]`` over
    the link to ``dst[i]``, and all of them are there at ``end[i]``. A link needs for them its latency, and for every
    unit the time ``per_unit``; a send may take longer than that. What arrives at a time can be sent on at that time.
    Sends over one link that start at the same time and end at the same time are one message, which takes the latency
    once.

    Where a block is added up, what is sent is the partial sum that the sender has when it starts, and the receiver adds
    it to its own when it is there. Elsewhere the receiver stores it.

    References
    ----------
    TACOS: Topology-Aware Collective Algorithm Synthesizer for Distributed Machine Learning (time-expanded networks).
    """

    kind: ClassVar = "timed"
    FIELDS: ClassVar = {
        "units": integer(1, MAX_TICKS),
        "tick": FRACTION,
        "size": FRACTION,
        "overlap": FLAG,
        "bandwidth": FRACTION_OR_NONE,
    }
    TABLES: ClassVar = {
        "rows": (
            Column("start", "tick at which it starts"),
            Column("end", "tick at which all of it is there"),
            Column("part", "movement of the collective", np.int32),
            Column("src", "node that sends", np.int32),
            Column("dst", "node that receives", np.int32),
            Column("block", "block of the data", np.int32),
            Column("lo", "first unit of it"),
            Column("hi", "the unit after the last"),
        ),
        LINKS: (Column("latency", "ticks of latency"), Column("per_unit", "ticks of a unit")),
    }

    collective: Collective  # what it is for, with root and group if it has them
    nodes: int  # number of nodes N, switches included
    units: int  # equal parts of a block, which ``lo`` and ``hi`` count
    tick: Fraction  # seconds of one tick
    size: Fraction  # bytes of the whole data M that the times are for
    # whether a link is free for the next send as soon as it has transmitted, its latency running on; else when all
    # data have arrived, which is the safe one of the two that TACOS leaves open
    overlap: bool
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    part: NDArray[np.int32]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    block: NDArray[np.int32]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]
    latency: NDArray[np.int64]
    per_unit: NDArray[np.int64]
    # bytes per second of a link of capacity one, the fastest, that the times are for; None where nothing says it, as
    # in files before 0.29
    bandwidth: Fraction | None = None

    def __post_init__(self) -> None:
        self.take_over()
        if "each" in self.collective.ends and len(set(map(len, self.collective.groups or ()))) > 1:
            raise ScheduleError("timed sends in several groups are of groups with as many members each")
        if self.nodes < 1 or self.units < 1 or self.tick <= 0 or self.size <= 0:
            raise ScheduleError("timed sends need at least one node and one unit, and a tick and a size above zero")
        if len(self.latency) and (self.latency.min() < 0 or self.per_unit.min() < 1):
            raise ScheduleError("a link needs a latency from 0 and at least one tick for a unit")
        slowest = int(self.latency.max(initial=0)) + self.units * int(self.per_unit.max(initial=0))
        if max(slowest, int(self.end.max(initial=0))) >= MAX_TICKS:
            raise ScheduleError(f"times must be below {MAX_TICKS} ticks; use longer ones")
        node, blocks = (0, self.nodes - 1), self.collective.block_count(self.nodes)
        parts = len(self.collective.movements)
        self.check_ranges(part=(0, parts - 1), src=node, dst=node, block=(0, blocks - 1))
        if len(self) and (self.start.min() < 0 or np.any(self.start >= self.end)):
            raise ScheduleError("times must satisfy 0 <= start < end")
        check_intervals(self.lo, self.hi, self.units)

    def __repr__(self) -> str:
        return (
            f"<Timed {self.collective}, {self.nodes} nodes, {len(self)} sends, "
            f"{self.units} units per shard, {format_time(self.time)}>"
        )

    def header(self) -> dict[str, Any]:
        """Return what a file says of it beside columns; the bandwidth only if it is known."""
        return {name: one for name, one in super().header().items() if name != "bandwidth"} | _said_bandwidth(self)

    @property
    def time(self) -> Fraction:
        """Seconds until the last data have arrived."""
        return int(self.end.max(initial=0)) * self.tick

    def fits(self, topology: Topology) -> bool:
        """Return whether it is for as many nodes and links."""
        return self.nodes == topology.nodes and len(self.latency) == len(topology.src)

    def rows(self, chosen: NDArray[Any]) -> Self:
        """Return the same with some of the sends, by a mask or their numbers."""
        return self.having(**{name: column[chosen] for name, column in self.table().items()})

    def messages(self, link: IntArray) -> tuple[IntArray, IntArray]:
        """Return an order in which the sends of each message follow one another, and where in it messages begin.

        ``link`` is the index of each; messages come link by link, by their starts.
        """
        order = np.lexsort((self.end, self.start, link))
        new = np.zeros(len(order), dtype=np.bool_)
        for column in (link, self.start, self.end):
            new |= np.diff(column[order], prepend=-2) != 0
        return order, np.flatnonzero(new)

    def busy_until(self, link: IntArray) -> IntArray:
        """Return when the link of every send is free again, in ticks; ``link`` is the index of each, shape ``(rows,)``.

        See ``overlap``.
        """
        return self.end - self.latency[link] if self.overlap else self.end


COLUMNS, LINK_COLUMNS = (tuple(column.name for column in table) for table in Timed.TABLES.values())
"""One entry for every send, and one for every link."""


_FIELDS = frozenset({"units", "size", "begin", "rows"})


def _said_bandwidth(timed: Timed) -> dict[str, str]:
    return {} if timed.bandwidth is None else {"bandwidth": str(timed.bandwidth)}


@dataclass(frozen=True, eq=False)
class Together(Movement):
    """Timed sends of several collectives, which share a clock and links: none carries two sends at a time."""

    kind: ClassVar = "together"
    TABLES: ClassVar = Timed.TABLES

    # of each collective, with its own size and units; nodes, ticks, latencies and ``overlap`` are the same
    streams: tuple[Timed, ...]
    # ticks from the start of the plan until each collective begins: none of its sends is earlier
    begins: tuple[int, ...]

    def __post_init__(self) -> None:
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
            {"units": one.units, "size": str(one.size), "begin": begin, "rows": len(one)} | _said_bandwidth(one)
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
        if not all(isinstance(one, dict) and one.keys() - {"bandwidth"} == _FIELDS for one in streams):
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
            for name, _, dtype, _ in own
        }
        made = [
            Timed(
                own,
                topology.nodes,
                **shared,
                **{name: Timed.FIELDS[name].read(one, name) for name in ("units", "size", "bandwidth")},
                **{name: sealed(column[number].copy()) for name, column in columns.items()},  # type: ignore[arg-type]
            )
            for number, (one, own) in enumerate(zip(streams, collective.several, strict=True))
        ]
        return cls(tuple(made), tuple(read_integer(one, "begin", 0, MAX_TICKS - 1) for one in streams))


class Journeys(NamedTuple):
    """Which sends are one journey."""

    before: IntArray  # the send that each one goes on with, -1 if it comes from a node
    depth: IntArray  # how many there are before each
    # first, last: of every journey its first and its last send
    first: IntArray
    last: IntArray
    lost: IntArray  # sends to a switch that none goes on with, and from one that go on with none
    copied: IntArray  # sends from a switch that go on with what another one has gone on with before

    def kept(self, which: NDArray[np.bool_]) -> Journeys:
        """Return some of the journeys."""
        return self if which.all() else self._replace(first=self.first[which], last=self.last[which])

    def whole(self, timed: Timed) -> Timed:
        """Return journeys as sends from node to node."""
        if len(self.last) == len(timed):
            return timed
        own = timed.rows(self.last)
        return own.having(src=timed.src[self.first].copy(), start=timed.start[self.first].copy())


def journeys(timed: Timed, switches: Collection[int]) -> Journeys:
    """Return the journeys of timed sends; where there are no switches each send is one.

    A switch has no data of its own: it passes on what arrives, as it arrives. A send from a switch goes on with the
    send to it that brought the same units, the earlier first; it starts no earlier than their beginning is there, a
    latency after the other has started, and ends no earlier than a latency after their end is there. Where more sends
    leave than have arrived, as a switch copies, all that are left go on with the last. All sends from a node over
    switches to the next node are one journey, and what counts as sent and delivered are journeys.
    """
    rows = np.arange(len(timed))
    before, depth, nothing = np.full(len(timed), -1), np.zeros(len(timed), dtype=np.int64), rows[:0]
    if not switches:
        return Journeys(before, depth, rows, rows, nothing, nothing)
    switch = np.zeros(timed.nodes, dtype=np.bool_)
    switch[list(switches)] = True
    into, out = np.flatnonzero(switch[timed.dst]), np.flatnonzero(switch[timed.src])
    arriving = _in_turn(timed, into, timed.dst[into])
    leaving = _in_turn(timed, out, timed.src[out])
    _, number = np.unique(np.concatenate((arriving, leaving))[:, :-1], axis=0, return_inverse=True)
    came, went = number[: len(into)], number[len(into) :]
    many = np.bincount(came, minlength=int(number.max(initial=-1)) + 1)
    begin = np.cumsum(many) - many
    place = into[np.lexsort((arriving[:, -1], came))]
    turn, found = leaving[:, -1], many[went] > 0
    before[out[found]] = place[(begin[went] + np.minimum(turn, many[went] - 1))[found]]
    passed = np.zeros(len(timed), dtype=np.bool_)
    passed[before[before >= 0]] = True
    lost = np.concatenate((out[before[out] < 0], into[~passed[into]]))
    first = np.where(before >= 0, before, rows)
    depth[before >= 0] = 1
    for _ in range(len(switches)):  # no journey meets a switch twice and leaves time to do so
        further = before[first] >= 0
        if not further.any():
            break
        depth += further
        first = np.where(further, before[first], first)
    last = np.flatnonzero(~switch[timed.dst] & ~switch[timed.src[first]])
    return Journeys(before, depth, first[last], last, np.sort(lost), np.sort(out[found & (turn >= many[went])]))


def _in_turn(timed: Timed, rows: IntArray, switch: NDArray[np.int32]) -> IntArray:
    """Return for sends at a switch what they carry there, and how many of the same come before."""
    what = np.stack((switch, timed.part[rows], timed.block[rows], timed.lo[rows], timed.hi[rows])).astype(np.int64)
    order = np.lexsort((timed.start[rows], *what[::-1]))
    same = np.append(False, np.all(what[:, order[1:]] == what[:, order[:-1]], axis=0)) if len(rows) else order > 0
    begin = np.maximum.accumulate(np.where(same, 0, np.arange(len(rows))))
    turn = np.empty(len(rows), dtype=np.int64)
    turn[order] = np.arange(len(rows)) - begin
    return np.column_stack((what.T, turn))
