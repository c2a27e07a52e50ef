"""Timed sends: who sends which part of which block over which link from when to when, in columns.

Rounds say in which order things happen; where links differ in latency and bandwidth there are no steps to count, and a
plan says for every send when it starts and when its data have arrived.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ScheduleError
from topodesign.base.units import format_time
from topodesign.collectives import Collective
from topodesign.plans.movement import FLAG, FRACTION, LINKS, Column, Movement, check_intervals, integer
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
    FIELDS: ClassVar = {"units": integer(1, MAX_TICKS), "tick": FRACTION, "size": FRACTION, "overlap": FLAG}
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

    def __post_init__(self) -> None:
        """Check the form (not the meaning: that is the verifier's) and take the columns over."""
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
        """Return a short description."""
        return (
            f"<Timed {self.collective}, {self.nodes} nodes, {len(self)} sends, "
            f"{self.units} units per shard, {format_time(self.time)}>"
        )

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
