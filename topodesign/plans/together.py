"""Several collectives at the same time, each in timed sends of its own, on links that they share (TACOS, VIII-G).

Tenants of a cluster, or the axes of a training run, do different things at once: an allgather here, an all-to-all
there, with other sizes and not all from the same moment on. Each of these *streams* is a plan of timed sends like any
other; what makes them one plan is that they share a clock, and that no link ever carries two sends at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ScheduleError
from topodesign.base.units import format_time
from topodesign.collectives import Collective, together
from topodesign.plans.timed import COLUMNS, LINK_COLUMNS, MAX_TICKS, Timed
from topodesign.topology.topology import Topology


@dataclass(frozen=True)
class Together:
    """Timed sends of several collectives.

    Attributes
    ----------
    streams
        The sends of each collective, with its own size and number of units; nodes, ticks, latencies of links, and when
        links are free again are the same for all.
    begins
        Ticks from the start of the plan until each collective begins: none of its sends is earlier.
    """

    streams: tuple[Timed, ...]
    begins: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the form (not the meaning: that is the verifier's).

        Raises
        ------
        ScheduleError
            If streams are for other nodes, links or ticks than one another, or a beginning is out of range.
        """
        if not self.streams or len(self.begins) != len(self.streams):
            raise ScheduleError("there must be at least one stream, and a beginning for each")
        first = self.streams[0]
        for one in self.streams[1:]:
            alike = (one.nodes, one.tick, one.overlap) == (first.nodes, first.tick, first.overlap)
            if not alike or not np.array_equal(one.latency, first.latency):
                raise ScheduleError("streams of one plan have the same nodes, ticks and latencies of links")
        if not all(0 <= begin < MAX_TICKS for begin in self.begins):
            raise ScheduleError(f"a stream begins at a tick from 0 to {MAX_TICKS - 1}")

    def __len__(self) -> int:
        """Return the number of sends."""
        return sum(map(len, self.streams))

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
        return {
            name: np.concatenate([getattr(one, name) for one in self.streams]) for name in (*COLUMNS, *LINK_COLUMNS)
        }

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the columns of sends, and the stream of each."""
        columns = self.columns()
        return {"stream": self.stream, **{name: columns[name] for name in COLUMNS}}

    @property
    def stream(self) -> NDArray[np.int64]:
        """The stream of every send."""
        return np.repeat(np.arange(len(self.streams)), [len(one) for one in self.streams])
