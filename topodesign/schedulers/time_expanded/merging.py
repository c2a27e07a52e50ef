"""Improved times of routed sends: merging, repair and shared links.

Merging: many small chunks fill long ways as a pipeline does, and pay for it with a latency each. Where nobody
downstream is kept waiting, or where that is worth it, chunks of a block that leave a node next to one another are one
send of more units.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import LARGEST
from topodesign.base.errors import InfeasibleError
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import join_links
from topodesign.plans.time.clock import list_waits
from topodesign.plans.time.ticks import time_ticks
from topodesign.schedulers.time_expanded.event_kernels import queue_for
from topodesign.schedulers.time_expanded.forward_kernels import Jobs, Piles, share
from topodesign.schedulers.time_expanded.network import Chunks, Network, Sends, first_state, list_missing
from topodesign.schedulers.time_expanded.repair_kernels import Books, Wishes, repair
from topodesign.topology.topology import IntArray, Topology

MAX_SENDS = 2**15  # sends above which nothing is merged: each way to merge is timed exactly
_ROUNDS = 12


def merge_sends(topology: Topology, timed: Flow, opens: IntArray) -> Flow:
    """Merge the sends of a plan without slowing it.

    Links may be used from ``opens`` on.

    With switches nothing is merged, since what passes them is several sends.
    """
    if topology.switches or timed.units == 1 or len(timed) > MAX_SENDS:
        return timed
    best = timed
    for patient in (True, False):
        now = timed
        for _ in range(_ROUNDS):
            fewer = _merge_pairs(topology, now, patient=patient)
            if len(fewer) == len(now):
                break
            run = time_ticks([fewer], opens=opens)  # whose tick is that of the plan
            now = fewer.having(start=run.start, end=run.end)
            if (now.time, len(now)) < (best.time, len(best)):
                best = now
            if patient and now.time > best.time:
                break
    return best


def _merge_pairs(topology: Topology, timed: Flow, *, patient: bool) -> Flow:
    """Merge adjacent pairs of sends; if ``patient``, without delaying others.

    The times of what is merged are no right ones yet; the order of all sends is.
    """
    link = topology.link_index(timed.src, timed.dst)
    order = np.lexsort((timed.start, link))
    first, second = order[:-1], order[1:]
    alike = link[first] == link[second]
    for column in (timed.part, timed.block):
        alike &= column[first] == column[second]
    alike &= (timed.hi[first] == timed.lo[second]) | (timed.lo[first] == timed.hi[second])
    consumer, producer = list_waits(timed)
    ready = np.zeros(len(timed), dtype=np.int64)
    np.maximum.at(ready, consumer, timed.end[producer])
    start = np.maximum(timed.start[first], ready[second])
    units = timed.hi[first] - timed.lo[first] + timed.hi[second] - timed.lo[second]
    end = start + timed.timing.latency[link[first]] + timed.timing.per_unit[link[first]] * units
    alike &= (start == timed.start[first]) & (end <= timed.end[second]) if patient else start < timed.end[first]
    # Of pairs that follow one another every second one.
    places = np.flatnonzero(alike)
    rows = np.arange(len(places))
    turn = rows - np.maximum.accumulate(np.where(np.diff(places, prepend=-2) > 1, rows, 0))
    places = places[turn % 2 == 0]
    # What is added up must be there before it is sent on; a copy may come later, and so do those that wait for it.
    strict = np.array([one.adds for one in timed.collective.movements])[timed.part[consumer]] | patient
    while len(places):
        one, other = first[places], second[places]
        begin, finish = timed.start.copy(), timed.end.copy()
        begin[one] = begin[other] = start[places]
        finish[one] = finish[other] = end[places]
        late = np.where(strict, finish[producer] > begin[consumer], begin[producer] >= begin[consumer])
        wrong = np.zeros(len(timed), dtype=np.bool_)
        wrong[producer[late]] = wrong[consumer[late]] = True
        if not (wrong[one] | wrong[other]).any():
            break
        places = places[~(wrong[one] | wrong[other])]
    if not len(places):
        return timed
    low, high = timed.lo.copy(), timed.hi.copy()
    low[one], high[one] = np.minimum(low[one], low[other]), np.maximum(high[one], high[other])
    kept = np.ones(len(timed), dtype=np.bool_)
    kept[other] = False
    return timed.having(lo=low, hi=high, start=begin, end=finish).some(kept)


MAX_WISHES = 512  # nodes times chunks that they need, above which nothing is repaired
_EFFORT = 2**24  # links that are looked at, over all schedules that are tried
SCHEDULES = 6000  # schedules that are tried at most


def repair_sends(
    network: Network, chunks: Chunks, sends: Sends, seed: int, *, enough: int = 0, schedules: int = SCHEDULES
) -> Sends:
    """Return sends that deliver everything no later.

    No schedule can be below ``enough`` ticks: none is looked for once that is reached.
    """
    node, chunk = list_missing(chunks)
    web, nodes = network.web, network.topology.nodes
    if sends.time <= enough or not 1 < len(node) <= MAX_WISHES:
        return sends
    arrives = np.full((chunks.number, nodes), LARGEST, dtype=np.int64)
    np.minimum.at(arrives, (sends.chunk, network.topology.dst[sends.link]), sends.end)
    ports = len(network.wires.src)
    longest = int(np.bincount(web.port, minlength=1).max()) * chunks.number + 1
    wishes = Wishes(
        node,
        chunk,
        chunks.at,
        chunks.since,
        np.argsort(arrives[chunk, node], kind="stable"),
        np.full(len(node), -1, dtype=np.int64),
    )
    chunked = [(3, chunks.number * nodes), (1,)]
    shapes = [(ports, longest)] * 2 + [(ports,), (chunks.number, nodes)] + [(nodes,)] * 4 + chunked
    books = Books(*(np.zeros(shape, dtype=np.int64) for shape in shapes))
    tries = min(schedules, _EFFORT // (len(node) * (len(web.dst) + nodes)))
    if repair(web, wishes, books, enough, tries, first_state(seed)) >= sends.time:
        return sends
    return Sends(*books.sends[:, : int(books.rows[0])]).in_order()


class SharedLinks:
    """Streams of sends that share the links of one topology.

    All streams are valid plans in the same ticks, each timed as if alone.

    ``least`` are the ticks from when on each stream may use each link, shape ``(streams, links)``; ``streams`` are the
    sends of each over links.
    """

    def __init__(self, topology: Topology, flows: tuple[Flow, ...], least: IntArray) -> None:
        joined = [join_links(one) for one in flows]
        self.streams = streams = tuple(one.over_links() for one in joined)
        self._links = len(topology.src)
        parts, base = [], 0
        for one, whole, early in zip(streams, joined, least, strict=True):
            parts.append(_jobs_of(topology, one, whole, early, base))
            base += len(one)
        starts = np.concatenate([[0], *(np.diff(part.after_start) for part in parts)]).cumsum()
        self._jobs = Jobs(*map(np.concatenate, zip(*parts, strict=True)))._replace(after_start=starts)
        order = np.bincount(self._jobs.link, minlength=self._links)
        self._begin = np.cumsum(order) - order
        self.stream = np.repeat(np.arange(len(streams)), [len(one) for one in streams])
        self.remains = np.concatenate([one.end.max(initial=0) - one.start for one in streams]).astype(np.int64)
        """What is left to do in each stream alone when each send starts."""

    def time_streams(self, urgency: IntArray) -> tuple[Flow, ...]:
        """Return the streams with their times on the shared links.

        If sends wait for a link, the most urgent goes first.
        """
        jobs = self._jobs
        rows = len(jobs.link)
        zeros = [np.zeros(count, dtype=np.int64) for count in (self._links, rows, rows)]
        times = np.zeros((2, rows), dtype=np.int64)
        overlap = self.streams[0].timing.overlap
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


def _jobs_of(topology: Topology, one: Flow, joined: Flow, early: IntArray, base: int) -> Jobs:
    """Return the sends of a stream over links, as numbered jobs."""
    link, clock, last = topology.link_index(one.src, one.dst), one.timing, np.arange(len(joined))
    before, onward = np.full((2, len(one)), -1, dtype=np.int64)
    first = last
    if joined.routes is not None:
        if len(one) < len(joined.routes.hop) - len(joined):
            raise InfeasibleError(
                "what switches copy is not put in another order; take a plan that sends to one at a time"
            )
        last = np.cumsum(joined.routes.lengths) - 1
        first = last - joined.routes.lengths + 1
        inner = np.ones(len(one), dtype=np.bool_)
        inner[first] = False
        after = np.flatnonzero(inner)
        before[after], onward[after - 1] = after - 1 + base, after + base
    consumer, producer = list_waits(joined)
    consumer, producer = first[consumer], last[producer]
    order = np.argsort(producer, kind="stable")
    return Jobs(
        link,
        clock.latency[link] + clock.per_unit[link] * (one.hi - one.lo),
        clock.latency[link],
        early[link],
        before,
        onward,
        np.bincount(consumer, minlength=len(one)),
        np.searchsorted(producer[order], np.arange(len(one) + 1)),
        consumer[order] + base,
    )
