"""Simulation of messages over links in order of urgency."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topodesign.base.arrays import earlier
from topodesign.base.compiled import Ints, tier_kernel
from topodesign.schedulers.time_expanded.event_kernels import Queue, pop, push, queue_for
from topodesign.schedulers.time_expanded.forward_kernels import Piles, put, take_out

_LOOKED_AT = 8  # messages that wait for one port, of which one is taken whose other links are free


class Messages(NamedTuple):
    """Messages between nodes, in columns."""

    way_start: Ints  # where the links of each begin, and how many there are at last
    way: Ints  # numbers of links, through switches
    units: Ints
    after_start: Ints  # likewise, of the messages that bring its data
    after: Ints
    urgency: Ints  # the least first, then by number
    copied: Ints  # 1 where a switch after the first link passes it on over all others at once, else 0

    def repeat(self, times: int, *, whole: bool) -> Messages:
        """Return the messages as chunks: in sequence if ``whole``, or interleaved."""
        count = len(self.units)

        def starts(some: Ints) -> Ints:
            more = np.arange(times)[:, None] * some[-1] + some[:-1]
            return np.append(more, times * some[-1])

        chunk = np.repeat(np.arange(times), count)
        after = np.tile(self.after, times) + np.repeat(np.arange(times) * count, len(self.after))
        units, urgent, copied = (np.tile(some, times) for some in (self.units, self.urgency, self.copied))
        way = np.tile(self.way, times)
        urgency = chunk * (int(self.urgency.max()) + 1) + urgent if whole else urgent * times + chunk
        return Messages(starts(self.way_start), way, units, starts(self.after_start), after, urgency, copied)


class Flights(NamedTuple):
    """Start and end ticks on every link of every path."""

    start: Ints
    end: Ints

    @property
    def last(self) -> int:
        """Arrival tick of the last data."""
        return int(self.end.max(initial=0))


class _Sky(NamedTuple):
    """Messages in the form of the kernel."""

    first: Ints  # where the way of each begins
    way: Ints
    ahead: Ints  # by link of a way: how much later than the first its data are there
    takes: Ints  # for the slowest link of the way, as switches keep nothing back
    next_start: Ints
    next: Ints  # messages that each brings data for
    waits: Ints  # how many each waits for
    rank: Ints  # the place of each by urgency
    latency: Ints
    gap: Ints  # of each link after a message


def run(messages: Messages, latency: Ints, per_unit: Ints, gap: Ints, *, in_turn: bool = False) -> Flights:
    """Return the start and end of all messages on links.

    A link takes the next message after transmission and its gap.

    * ``in_turn``: whether what one port sends also leaves the first switch in that order, latencies of links included,
      so that the same is true backwards in time.
    """
    first, way, count = messages.way_start, messages.way, len(messages.units)
    own = np.repeat(np.arange(count), np.diff(first))
    ahead = earlier(own, latency[way])
    copies = (messages.copied[own] == 1) & (ahead > 0)
    ahead[copies] = latency[way[first[:-1]]][own][copies]
    order = np.argsort(messages.urgency, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(count)
    waits = np.diff(messages.after_start)
    followers = np.repeat(np.arange(count), waits)[np.argsort(messages.after, kind="stable")]
    sky = _Sky(
        first,
        way,
        ahead,
        messages.units * np.maximum.reduceat(per_unit[way], first[:-1]),
        np.append(0, np.cumsum(np.bincount(messages.after, minlength=count))),
        followers,
        waits,
        rank,
        latency.copy(),  # sealed or not, of one form for the kernel
        gap,
    )
    flights = Flights(np.zeros(len(way), dtype=np.int64), np.zeros(len(way), dtype=np.int64))
    # a look that came to be sooner leaves its first entry behind, once for every message at most
    queue = queue_for(count + len(latency), 2 * count + len(latency))
    many = np.bincount(way[first[:-1]], minlength=len(latency))
    zeros = (np.zeros(size, dtype=np.int64) for size in (len(latency), count, count))
    _fly(sky, queue, Piles(np.cumsum(many) - many, *zeros), flights, in_turn)
    return flights


@tier_kernel(lambda sky, *_: 60 * len(sky.way))
def _fly(  # noqa: C901, PLR0912, PLR0915  one loop of events
    sky: _Sky, queue: Queue, piles: Piles, flights: Flights, in_turn: bool
) -> None:
    """Write the times of each message on its links."""
    count, never = len(sky.takes), np.int64(-1)
    waits = sky.waits.copy()
    free = np.zeros(len(sky.gap), dtype=np.int64)
    left = np.zeros(len(sky.gap), dtype=np.int64)  # by port: when the last message that it sent is behind the switch
    looks = np.full(len(sky.gap), never)  # when each port is looked at next
    passed = np.empty(_LOOKED_AT, dtype=np.int64)
    for number in range(count):
        if not waits[number]:
            push(queue, 0, number - count, number)  # before all that arrives then
    while queue.size[0]:
        now, which, fresh = queue.time[0], queue.what[0], queue.tie[0] < 0
        pop(queue)
        if which < count:
            begin, stop = sky.next_start[which], sky.next_start[which + 1]
            if fresh:
                begin, stop = np.int64(0), np.int64(1)
            for at in range(begin, stop):
                number = which
                if not fresh:
                    number = sky.next[at]
                    waits[number] -= 1
                    if waits[number]:
                        continue
                port = sky.way[sky.first[number]]
                put(piles, port, number, -sky.rank[number])
                when = max(now, free[port])
                if looks[port] == never or when < looks[port]:
                    looks[port] = when
                    push(queue, when, count + port, count + port)
            continue
        port = which - count
        if looks[port] != now:
            continue  # it was looked at sooner
        looks[port] = never
        if free[port] > now:
            looks[port] = free[port]
            push(queue, free[port], which, which)
            continue
        seen, soonest = 0, never
        while piles.size[port] and seen < _LOOKED_AT:
            number, at = take_out(piles, port), now
            begin, stop = sky.first[number], sky.first[number + 1]
            for hop in range(begin, stop):
                at = max(at, free[sky.way[hop]] - sky.ahead[hop])
            if in_turn and stop - begin > 1:
                both = sky.latency[port] + sky.latency[sky.way[begin + 1]]
                at = max(at, left[port] - both - sky.takes[number])
            if at > now:
                passed[seen] = number
                seen += 1
                if soonest == never or at < soonest:
                    soonest = at
                continue
            for hop in range(begin, stop):
                link = sky.way[hop]
                flights.start[hop] = at + sky.ahead[hop]
                flights.end[hop] = flights.start[hop] + sky.takes[number] + sky.latency[link]
            last = now
            for hop in range(begin, stop):
                link = sky.way[hop]
                free[link] = flights.start[hop] + sky.takes[number] + sky.gap[link]
                last = max(last, flights.end[hop])
            left[port] = flights.end[min(begin + 1, stop - 1)]
            push(queue, int(last), number, number)
            soonest = free[port]
            break
        for one in range(seen):
            put(piles, port, passed[one], -sky.rank[passed[one]])
        if piles.size[port]:
            looks[port] = soonest
            push(queue, int(soonest), which, which)
