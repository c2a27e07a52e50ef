"""Messages over links in order of their urgency: each starts as soon as its data are there and its links are free."""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

_LOOKED_AT = 8  # messages that wait for one port, of which one is taken whose other links are free


class Message(NamedTuple):
    """What goes from node to node as one."""

    way: tuple[int, ...]  # numbers of links, through switches
    units: int
    after: tuple[int, ...]  # messages that bring its data
    urgency: tuple[int, ...]  # the least first
    copied: bool = False  # whether a switch after the first link passes it on over all others at once


class Flights(NamedTuple):
    """When messages are on each link of their ways, in ticks."""

    start: list[tuple[int, ...]]
    end: list[tuple[int, ...]]

    @property
    def last(self) -> int:
        """When the last data have arrived."""
        return max(map(max, self.end), default=0)


def run(  # noqa: C901, PLR0912, PLR0915  one loop of events
    messages: Sequence[Message], latency: list[int], per_unit: list[int], gap: list[int], *, in_turn: bool = False
) -> Flights:
    """Return when each message is where: a link takes the next when it has transmitted, and its gap is over.

    * ``in_turn``: whether what one port sends also leaves the first switch in that order, latencies of links included,
      so that the same is true backwards in time.
    """
    waits = [len(one.after) for one in messages]
    followers: dict[int, list[int]] = defaultdict(list)
    for number, one in enumerate(messages):
        for before in one.after:
            followers[before].append(number)
    free = [0] * len(latency)
    left = [0] * len(latency)  # by port: when the last message that it sent is behind the first switch
    queues: dict[int, list[tuple[tuple[int, ...], int]]] = defaultdict(list)
    start: list[tuple[int, ...]] = [()] * len(messages)
    end: list[tuple[int, ...]] = [()] * len(messages)
    events: list[tuple[int, int, int]] = []  # time, 0 and a message whose data are there, or 1 and a link that is free

    looks: dict[int, int] = {}  # when each port is looked at next

    def arrive(number: int, now: int) -> None:
        port = messages[number].way[0]
        heapq.heappush(queues[port], (messages[number].urgency, number))
        look(port, max(now, free[port]))

    def look(port: int, when: int) -> None:
        """See to it that a port is looked at then, if it is not sooner."""
        if when < looks.get(port, when + 1):
            looks[port] = when
            heapq.heappush(events, (when, 1, port))

    for number, count in enumerate(waits):
        if not count:
            arrive(number, 0)
    while events:
        now, kind, which = heapq.heappop(events)
        if not kind:
            for number in followers[which]:
                waits[number] -= 1
                if not waits[number]:
                    arrive(number, now)
            continue
        if looks.get(which) != now:
            continue  # it was looked at sooner
        del looks[which]
        queue = queues[which]
        if free[which] > now:
            look(which, free[which])
            continue
        passed, soonest = list[tuple[tuple[int, ...], int]](), -1
        while queue and len(passed) < _LOOKED_AT:
            urgency, number = heapq.heappop(queue)
            way, at = messages[number].way, now
            if messages[number].copied:
                ahead = [0] + [latency[way[0]]] * (len(way) - 1)
            else:
                ahead = list(itertools.accumulate((latency[link] for link in way[:-1]), initial=0))
            for link, later in zip(way, ahead, strict=True):
                at = max(at, free[link] - later)
            takes = messages[number].units * max(per_unit[link] for link in way)  # switches keep nothing back
            if in_turn and len(way) > 1:
                at = max(at, left[which] - latency[way[0]] - latency[way[1]] - takes)
            if at > now:
                passed.append((urgency, number))
                soonest = at if soonest < 0 else min(soonest, at)
                continue
            starts = [at + later for later in ahead]
            ends = [begin + takes + latency[link] for link, begin in zip(way, starts, strict=True)]
            for link, begin in zip(way, starts, strict=True):
                free[link] = begin + takes + gap[link]
            left[which] = ends[min(1, len(ends) - 1)]
            start[number], end[number] = tuple(starts), tuple(ends)
            heapq.heappush(events, (max(ends), 0, number))
            soonest = free[which]
            break
        for other in passed:
            heapq.heappush(queue, other)
        if queue:
            look(which, soonest)
    return Flights(start, end)
