"""Links shared by sends whose ways are settled: when each of them happens.

What every stream would do alone says over which links its data go, and what waits for what. Here the times are decided
anew, for all streams on one network: event by event, each link takes of the sends that wait for it the most urgent one.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.plans.journeys import journeys
from topodesign.plans.timed import Timed
from topodesign.plans.timing.timed import waits_of
from topodesign.schedulers.ten.event_kernels import queue_for
from topodesign.schedulers.ten.forward_kernels import Jobs, Piles, share
from topodesign.topology.topology import IntArray, Topology


class SharedLinks:
    """Streams of sends on one topology: right plans of the same ticks, each as if it were alone.

    ``least`` are the ticks from when on each stream may use each link, shape ``(streams, links)``.
    """

    def __init__(self, topology: Topology, streams: tuple[Timed, ...], least: IntArray) -> None:
        self.streams = streams
        self._links = len(topology.src)
        parts, base = [], 0
        for one, early in zip(streams, least, strict=True):
            parts.append(_jobs_of(topology, one, early, base))
            base += len(one)
        starts = np.concatenate([[0], *(np.diff(part.after_start) for part in parts)]).cumsum()
        self._jobs = Jobs(*map(np.concatenate, zip(*parts, strict=True)))._replace(after_start=starts)
        order = np.bincount(self._jobs.link, minlength=self._links)
        self._begin = np.cumsum(order) - order
        self.stream = np.repeat(np.arange(len(streams)), [len(one) for one in streams])
        self.remains = np.concatenate([one.end.max(initial=0) - one.start for one in streams]).astype(np.int64)
        """What is left to do in each stream alone when each send starts."""

    def timed(self, urgency: IntArray) -> tuple[Timed, ...]:
        """Return the streams with the times that they have together; of sends that wait the most urgent goes first."""
        jobs = self._jobs
        rows = len(jobs.link)
        zeros = [np.zeros(count, dtype=np.int64) for count in (self._links, rows, rows)]
        times = np.zeros((2, rows), dtype=np.int64)
        overlap = self.streams[0].overlap
        free = np.zeros(self._links, dtype=np.int64)
        queue = queue_for(self._links + rows, self._links + rows)
        waits = jobs._replace(waits=jobs.waits.copy())
        if share(waits, urgency.astype(np.int64), overlap, free, queue, Piles(self._begin, *zeros), times) < rows:
            raise InfeasibleError("sends wait for one another")
        cuts = np.cumsum([len(one) for one in self.streams])[:-1]
        starts, ends = np.split(times[0], cuts), np.split(times[1], cuts)
        return tuple(
            one.having(start=start.copy(), end=end.copy())
            for one, start, end in zip(self.streams, starts, ends, strict=True)
        )


def _jobs_of(topology: Topology, one: Timed, early: IntArray, base: int) -> Jobs:
    """Return the sends of a stream, numbered from a base."""
    link = topology.link_index(one.src, one.dst)
    way = journeys(one, topology.switches)
    if len(way.copied):
        raise InfeasibleError("what switches copy is not put in another order; take a plan that sends to one at a time")
    consumer, producer = waits_of(topology, way.whole(one))
    consumer, producer = way.first[consumer], way.last[producer]
    order = np.argsort(producer, kind="stable")
    onward = np.full(len(one), -1, dtype=np.int64)
    on = np.flatnonzero(way.before >= 0)
    onward[way.before[on]] = on + base
    return Jobs(
        link,
        one.latency[link] + one.per_unit[link] * (one.hi - one.lo),
        one.latency[link],
        early[link],
        np.where(way.before >= 0, way.before + base, -1),
        onward,
        np.bincount(consumer, minlength=len(one)),
        np.searchsorted(producer[order], np.arange(len(one) + 1)),
        consumer[order] + base,
    )
